//! The rings that an AF_XDP socket shares with the kernel: each has one writer and one reader, one of them is us.
//!
//! Positions count up for ever and are cut to an index by a mask. The writer publishes its position with release order
//! after the entries are written, the reader loads it with acquire order before it reads them, and the other way round
//! for giving entries back (Documentation/networking/af_xdp.rst).

use std::io;
use std::os::fd::BorrowedFd;
use std::sync::atomic::{AtomicU32, Ordering};

use libc::xdp_ring_offset;

use super::mapping::Mapping;

/// What both sorts of ring are made of.
struct Ring<T> {
    mapping: Mapping,
    offsets: RingOffsets,
    mask: u32,
    /// Our position: entries before it are done with. Not yet told to the kernel.
    ours: u32,
    /// The kernel's position when we looked last.
    theirs: u32,
    entries: std::marker::PhantomData<T>,
}

/// Where the parts of a ring lie in its mapping.
struct RingOffsets {
    producer: usize,
    consumer: usize,
    flags: usize,
    entries: usize,
}

impl<T: Copy> Ring<T> {
    fn map(socket: BorrowedFd<'_>, page: libc::off_t, offsets: &xdp_ring_offset, size: u32) -> io::Result<Ring<T>> {
        let entries = offsets.desc as usize;
        let mapping = Mapping::shared(socket, entries + size as usize * size_of::<T>(), page)?;
        let offsets = RingOffsets {
            producer: offsets.producer as usize,
            consumer: offsets.consumer as usize,
            flags: offsets.flags as usize,
            entries,
        };
        Ok(Ring {
            mapping,
            offsets,
            mask: size - 1,
            ours: 0,
            theirs: 0,
            entries: std::marker::PhantomData,
        })
    }

    fn position(&self, offset: usize) -> &AtomicU32 {
        // SAFETY: the pointer lies in the mapping, which lives as long as `self`, and is aligned; both sides access the
        // word only atomically.
        unsafe { &*self.mapping.at::<AtomicU32>(offset) }
    }

    fn entry(&self, position: u32) -> *mut T {
        let index = (position & self.mask) as usize;
        self.mapping.at(self.offsets.entries + index * size_of::<T>())
    }

    fn needs_wakeup(&self) -> bool {
        self.position(self.offsets.flags).load(Ordering::Relaxed) & libc::XDP_RING_NEED_WAKEUP != 0
    }
}

/// A ring that we write and the kernel reads.
pub(super) struct ToKernel<T>(Ring<T>);

impl<T: Copy> ToKernel<T> {
    pub(super) fn map(
        socket: BorrowedFd<'_>,
        page: libc::off_t,
        offsets: &xdp_ring_offset,
        size: u32,
    ) -> io::Result<ToKernel<T>> {
        Ring::map(socket, page, offsets, size).map(ToKernel)
    }

    /// Whether `count` more entries fit.
    #[inline]
    pub(super) fn has_room(&mut self, count: u32) -> bool {
        let ring = &mut self.0;
        let fits = |ring: &Ring<T>| ring.ours.wrapping_sub(ring.theirs) + count <= ring.mask + 1;
        if !fits(ring) {
            ring.theirs = ring.position(ring.offsets.consumer).load(Ordering::Acquire);
        }
        fits(ring)
    }

    /// Writes an entry. It is not the kernel's before [`ToKernel::publish`].
    ///
    /// # Panics
    /// When there is no room.
    #[inline]
    pub(super) fn push(&mut self, entry: T) {
        assert!(self.has_room(1), "asked before");
        // SAFETY: the entry lies in the mapping; the kernel does not read it before it is published.
        unsafe { self.0.entry(self.0.ours).write(entry) };
        self.0.ours = self.0.ours.wrapping_add(1);
    }

    /// Gives all written entries to the kernel.
    #[inline]
    pub(super) fn publish(&self) {
        self.0
            .position(self.0.offsets.producer)
            .store(self.0.ours, Ordering::Release);
    }

    /// The kernel's position: every entry before it was taken.
    pub(super) fn taken(&mut self) -> u32 {
        self.0.theirs = self.0.position(self.0.offsets.consumer).load(Ordering::Acquire);
        self.0.theirs
    }

    /// Whether the kernel has not taken all entries, as of the last look.
    #[inline]
    pub(super) fn is_pending(&self) -> bool {
        self.0.theirs != self.0.ours
    }

    /// An entry that was written and not yet overwritten.
    pub(super) fn written(&self, position: u32) -> T {
        // SAFETY: the entry lies in the mapping; only we write it, and any bits are a valid entry.
        unsafe { self.0.entry(position).read() }
    }

    /// Whether the kernel waits for a system call before it looks at this ring.
    #[inline]
    pub(super) fn needs_wakeup(&self) -> bool {
        self.0.needs_wakeup()
    }
}

/// A ring that the kernel writes and we read.
pub(super) struct FromKernel<T>(Ring<T>);

impl<T: Copy> FromKernel<T> {
    pub(super) fn map(
        socket: BorrowedFd<'_>,
        page: libc::off_t,
        offsets: &xdp_ring_offset,
        size: u32,
    ) -> io::Result<FromKernel<T>> {
        Ring::map(socket, page, offsets, size).map(FromKernel)
    }

    /// How many entries can be read.
    #[inline]
    pub(super) fn available(&mut self) -> u32 {
        let ring = &mut self.0;
        ring.theirs = ring.position(ring.offsets.producer).load(Ordering::Acquire);
        ring.theirs.wrapping_sub(ring.ours)
    }

    /// An entry by its distance from the first that can be read.
    ///
    /// # Panics
    /// When it is not available.
    #[inline]
    pub(super) fn peek(&self, index: u32) -> T {
        assert!(index < self.0.theirs.wrapping_sub(self.0.ours), "asked before");
        // SAFETY: the entry lies in the mapping, the kernel has published it and does not write it again before it is
        // released; any bits are a valid entry.
        unsafe { self.0.entry(self.0.ours.wrapping_add(index)).read() }
    }

    /// Gives the first `count` entries back to the kernel.
    #[inline]
    pub(super) fn release(&mut self, count: u32) {
        self.0.ours = self.0.ours.wrapping_add(count);
        self.0
            .position(self.0.offsets.consumer)
            .store(self.0.ours, Ordering::Release);
    }
}
