//! Memory that another process maps too, and may change at any time.
//!
//! Nothing here hands out a reference to shared bytes. They are copied out and in; words by which both sides tell each
//! other something are accessed atomically or with volatile reads, so that a value that was checked is the value that
//! is used. Every access is checked against the length of the mapping.
//!
//! The owner of a file may make it shorter, and an access beyond its end would end the process (SIGBUS). [`lost`] puts
//! empty memory in its place: the ring is garbage from then on, [`SharedMemory::is_lost`] says so, and the process goes
//! on.

mod lost;

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::os::unix::fs::MetadataExt;
use std::ptr::{self, NonNull};
use std::sync::atomic::{AtomicU16, AtomicU32, AtomicU64};

use forebay_packet::prefetch;
use libc::c_void;

use super::check;

/// The smallest page, in bytes.
const PAGE: usize = 4096;

/// A mapping, undone when it is dropped.
#[derive(Debug)]
pub(crate) struct SharedMemory {
    start: NonNull<u8>,
    /// What may be accessed.
    length: usize,
    /// What is mapped: whole pages, which may be huge ones.
    mapped: usize,
    watch: lost::Watch,
}

// SAFETY: a mapping belongs to the process, not to a thread; shared bytes are only copied, or accessed atomically.
unsafe impl Send for SharedMemory {}
// SAFETY: as above; other processes write at any time, so that other threads make no difference.
unsafe impl Sync for SharedMemory {}

impl SharedMemory {
    /// Maps `length` bytes of a file from `offset` on.
    ///
    /// # Errors
    /// When the file is shorter than that, when `length` is zero, or when the system refuses.
    pub(crate) fn map(file: BorrowedFd<'_>, offset: u64, length: usize) -> io::Result<SharedMemory> {
        let metadata = File::from(file.try_clone_to_owned()?).metadata()?;
        let end = offset.checked_add(length as u64);
        if length == 0 || end.is_none_or(|end| end > metadata.len()) {
            return Err(io::Error::from(io::ErrorKind::UnexpectedEof));
        }
        // The block of a file in huge pages is such a page, and only whole ones can be unmapped.
        let page = usize::try_from(metadata.blksize()).unwrap_or(PAGE).max(PAGE);
        let mapped = length
            .checked_next_multiple_of(page)
            .ok_or(io::ErrorKind::InvalidInput)?;
        let offset = libc::off_t::try_from(offset).map_err(|_| io::ErrorKind::InvalidInput)?;
        let protection = libc::PROT_READ | libc::PROT_WRITE;
        // SAFETY: without MAP_FIXED a new mapping disturbs no other memory.
        let start = unsafe {
            libc::mmap(
                ptr::null_mut(),
                mapped,
                protection,
                libc::MAP_SHARED,
                file.as_raw_fd(),
                offset,
            )
        };
        if start == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let start = NonNull::new(start.cast::<u8>()).ok_or_else(|| io::Error::other("mapped at address zero"))?;
        match lost::Watch::new(start.addr().get(), mapped) {
            Ok(watch) => Ok(SharedMemory {
                start,
                length,
                mapped,
                watch,
            }),
            Err(error) => {
                // SAFETY: it is ours, and nothing points into it.
                unsafe { libc::munmap(start.as_ptr().cast::<c_void>(), mapped) };
                Err(error)
            }
        }
    }

    /// Memory of our own to share: the mapping, and the descriptor to give away. It cannot be made shorter.
    pub(crate) fn create(name: &str, length: usize) -> io::Result<(SharedMemory, OwnedFd)> {
        let name = std::ffi::CString::new(name).map_err(|_| io::ErrorKind::InvalidInput)?;
        let flags = libc::MFD_CLOEXEC | libc::MFD_ALLOW_SEALING;
        // SAFETY: the name is a string that the kernel only reads; the descriptor returned is new, and has no other
        // owner.
        let file = unsafe { OwnedFd::from_raw_fd(check(libc::memfd_create(name.as_ptr(), flags))?) };
        let bytes = libc::off_t::try_from(length).map_err(|_| io::ErrorKind::InvalidInput)?;
        // SAFETY: no pointers.
        check(unsafe { libc::ftruncate(file.as_raw_fd(), bytes) })?;
        let seals = libc::F_SEAL_SHRINK | libc::F_SEAL_GROW | libc::F_SEAL_SEAL;
        // SAFETY: no pointers.
        check(unsafe { libc::fcntl(file.as_raw_fd(), libc::F_ADD_SEALS, seals) })?;
        Ok((SharedMemory::map(file.as_fd(), 0, length)?, file))
    }

    /// Whether the file was made shorter, so that there is other, empty memory in its place.
    pub(crate) fn is_lost(&self) -> bool {
        self.watch.is_lost()
    }

    /// Whether `length` bytes from `at` on are in it.
    #[inline]
    pub(crate) fn contains(&self, at: usize, length: usize) -> bool {
        at <= self.length && length <= self.length - at
    }

    /// The address of `length` bytes from `at` on.
    ///
    /// # Panics
    /// When they are not all in it: what peers say is checked before it comes here.
    #[inline]
    fn pointer(&self, at: usize, length: usize) -> *mut u8 {
        assert!(
            self.contains(at, length),
            "{length} bytes at {at} are outside of {}",
            self.length
        );
        // SAFETY: it lies within the mapping, or just after it for no bytes.
        unsafe { self.start.as_ptr().add(at) }
    }

    /// As [`SharedMemory::pointer`] for a value of type `T`, which must be aligned.
    #[inline]
    fn place<T>(&self, at: usize) -> *mut T {
        let pointer = self.pointer(at, size_of::<T>()).cast::<T>();
        assert!(pointer.is_aligned(), "{at} is not aligned");
        pointer
    }

    /// The 16-bit word at `at`.
    #[inline]
    pub(crate) fn word16(&self, at: usize) -> &AtomicU16 {
        // SAFETY: within the mapping, which lives as long as `self`, and aligned; accessed only atomically.
        unsafe { &*self.place::<AtomicU16>(at) }
    }

    /// The 32-bit word at `at`.
    #[inline]
    pub(crate) fn word32(&self, at: usize) -> &AtomicU32 {
        // SAFETY: within the mapping, which lives as long as `self`, and aligned; accessed only atomically.
        unsafe { &*self.place::<AtomicU32>(at) }
    }

    /// The 64-bit word at `at`.
    #[inline]
    pub(crate) fn word64(&self, at: usize) -> &AtomicU64 {
        // SAFETY: within the mapping, which lives as long as `self`, and aligned; accessed only atomically.
        unsafe { &*self.place::<AtomicU64>(at) }
    }

    /// Two words of 64 bits: a descriptor. Read once; the peer may change them meanwhile, so that they need not belong
    /// together.
    #[inline]
    pub(crate) fn read_pair(&self, at: usize) -> [u64; 2] {
        let first = self.place::<u64>(at);
        let second = self.place::<u64>(at + 8);
        // SAFETY: within the mapping and aligned; any bits are valid.
        unsafe { [first.read_volatile(), second.read_volatile()] }
    }

    /// Writes two words of 64 bits.
    #[inline]
    pub(crate) fn write_pair(&self, at: usize, pair: [u64; 2]) {
        let first = self.place::<u64>(at);
        let second = self.place::<u64>(at + 8);
        // SAFETY: within the mapping and aligned.
        unsafe {
            first.write_volatile(pair[0]);
            second.write_volatile(pair[1]);
        }
    }

    /// Copies bytes out.
    #[inline]
    pub(crate) fn copy_out(&self, at: usize, to: &mut [u8]) {
        let from = self.pointer(at, to.len());
        // SAFETY: both are as long; ours is borrowed exclusively, so they do not overlap. What the peer writes
        // meanwhile may be in the copy or not: the bytes mean nothing before they are copied.
        unsafe { ptr::copy_nonoverlapping(from, to.as_mut_ptr(), to.len()) };
    }

    /// Copies bytes in, unless they are there already: a line that does not change stays in the caches of both sides.
    #[inline]
    pub(crate) fn replace<const BYTES: usize>(&self, at: usize, from: &[u8; BYTES]) {
        let mut present = [0; BYTES];
        self.copy_out(at, &mut present);
        if present != *from {
            self.copy_in(at, from);
        }
    }

    /// Asks the memory system for the line at `at`, if there is one. A hint.
    #[inline]
    pub(crate) fn prefetch(&self, at: usize) {
        if self.contains(at, 1) {
            prefetch::line_to_read(self.pointer(at, 1));
        }
    }

    /// As [`SharedMemory::prefetch`] for a line that is written next: another processor's cache gives it up at once,
    /// not only when the first store asks for it again.
    #[inline]
    pub(crate) fn prefetch_to_write(&self, at: usize) {
        if self.contains(at, 1) {
            prefetch::line_to_write(self.pointer(at, 1));
        }
    }

    /// Copies bytes in.
    #[inline]
    pub(crate) fn copy_in(&self, at: usize, from: &[u8]) {
        let to = self.pointer(at, from.len());
        // SAFETY: both are as long, and ours is not in shared memory.
        unsafe { ptr::copy_nonoverlapping(from.as_ptr(), to, from.len()) };
    }
}

impl Drop for SharedMemory {
    fn drop(&mut self) {
        // Before the addresses can belong to something else.
        self.watch.end();
        // SAFETY: it is ours, and no reference into it outlives it.
        unsafe { libc::munmap(self.start.as_ptr().cast::<c_void>(), self.mapped) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::Ordering;

    #[test]
    fn two_mappings_see_the_same_bytes() {
        let (ours, file) = SharedMemory::create("test", 8192).expect("memory");
        let theirs = SharedMemory::map(file.as_fd(), 4096, 4096).expect("the second page");
        ours.copy_in(4100, b"bytes");
        ours.word16(4098).store(7, Ordering::Release);
        ours.write_pair(4096 + 16, [1, u64::MAX]);
        let mut copy = [0; 5];
        theirs.copy_out(4, &mut copy);
        assert_eq!(&copy, b"bytes");
        assert_eq!(theirs.word16(2).load(Ordering::Acquire), 7);
        assert_eq!(theirs.read_pair(16), [1, u64::MAX]);
        assert!(theirs.contains(4096, 0) && !theirs.contains(4096, 1) && !theirs.contains(usize::MAX, 2));
    }

    #[test]
    fn a_file_must_be_as_long_as_its_owner_says() {
        let file = tempfile::tempfile().expect("a file");
        file.set_len(4096).expect("can be made longer");
        assert!(SharedMemory::map(file.as_fd(), 0, 4097).is_err());
        assert!(SharedMemory::map(file.as_fd(), 4096, 0).is_err());
        assert!(SharedMemory::map(file.as_fd(), u64::MAX, 1).is_err());
        assert!(SharedMemory::map(file.as_fd(), 0, 4096).is_ok());
    }

    #[test]
    fn a_file_that_is_made_shorter_is_noticed_and_survived() {
        let file = tempfile::tempfile().expect("a file");
        file.set_len(65_536).expect("can be made longer");
        let memory = SharedMemory::map(file.as_fd(), 0, 65_536).expect("memory");
        memory.copy_in(0, &[9; 65_536]);
        file.set_len(0).expect("can be made shorter");
        assert!(!memory.is_lost());
        let mut bytes = [1; 64];
        memory.copy_out(60_000, &mut bytes);
        assert_eq!(bytes, [0; 64]);
        assert!(memory.is_lost());
        memory.copy_in(0, &[3; 100]);
    }
}
