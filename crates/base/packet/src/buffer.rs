//! The memory of a packet, and where in it the data is.
//!
//! ```text
//!   memory                start                                        memory + size
//!   | headroom .......... | data, `length` bytes ..... | tailroom ...... |
//! ```
//!
//! The memory begins at a cache line, and so does the data after the default headroom, so the headers of a received
//! frame are in as few cache lines as possible. `start` and `length` come first, in this order, for compiled programs
//! that read them: see [`crate::Packet::PLACE_OFFSET`].
#![allow(unsafe_code)]

use std::alloc::{Layout, alloc_zeroed, dealloc, handle_alloc_error};
use std::ptr::NonNull;

/// Alignment of the memory in bytes.
pub(crate) const ALIGNMENT: usize = 64;

/// Bytes kept free in front of a received frame.
pub const DEFAULT_HEADROOM: usize = 128;

/// Bytes after the headroom: enough for a full Ethernet frame with tags.
pub const DEFAULT_ROOM: usize = 1920;

/// No memory is smaller.
const SIZE_MIN: usize = DEFAULT_HEADROOM + DEFAULT_ROOM;

/// See the [module](self). Between calls, `memory` comes from the allocator and has `size` initialised bytes, at least
/// [`SIZE_MIN`]; only this buffer uses them, and the data lies within them.
#[repr(C)]
pub(crate) struct Buffer {
    start: NonNull<u8>,
    length: usize,
    memory: NonNull<u8>,
    size: usize,
}

// SAFETY: the buffer owns its memory exclusively, as a vector does.
unsafe impl Send for Buffer {}
// SAFETY: as above; through a shared buffer it is only read.
unsafe impl Sync for Buffer {}

impl Buffer {
    /// A buffer of at least `size` bytes, all zero, with no data, which would begin after `headroom` bytes.
    pub(crate) fn new(size: usize, headroom: usize) -> Buffer {
        let size = size.max(SIZE_MIN);
        let layout = layout(size);
        // SAFETY: the layout has bytes.
        let memory = NonNull::new(unsafe { alloc_zeroed(layout) }).unwrap_or_else(|| handle_alloc_error(layout));
        let mut buffer = Buffer {
            start: memory,
            length: 0,
            memory,
            size,
        };
        buffer.place(headroom, 0);
        buffer
    }

    /// Bytes of the memory.
    #[cfg(test)]
    pub(crate) fn size(&self) -> usize {
        self.size
    }

    /// Bytes of data.
    #[inline]
    pub(crate) fn len(&self) -> usize {
        self.length
    }

    /// Bytes before the data.
    #[inline]
    pub(crate) fn headroom(&self) -> usize {
        self.start.addr().get() - self.memory.addr().get()
    }

    /// The data.
    #[inline]
    pub(crate) fn data(&self) -> &[u8] {
        // SAFETY: they are bytes of our memory.
        unsafe { std::slice::from_raw_parts(self.start.as_ptr(), self.length) }
    }

    /// The data, to be changed.
    #[inline]
    pub(crate) fn data_mut(&mut self) -> &mut [u8] {
        // SAFETY: they are bytes of our memory, and the borrow is exclusive.
        unsafe { std::slice::from_raw_parts_mut(self.start.as_ptr(), self.length) }
    }

    /// The whole memory, to be changed.
    #[inline]
    pub(crate) fn memory_mut(&mut self) -> &mut [u8] {
        // SAFETY: they are our bytes, and the borrow is exclusive.
        unsafe { std::slice::from_raw_parts_mut(self.memory.as_ptr(), self.size) }
    }

    /// Sets where the data is: `length` bytes after the first `headroom` bytes of the memory.
    ///
    /// # Panics
    /// If the memory is too small.
    #[inline]
    pub(crate) fn place(&mut self, headroom: usize, length: usize) {
        let fits = headroom <= self.size && length <= self.size - headroom;
        assert!(fits, "data lies within the buffer");
        // SAFETY: the address is within the memory, or just after its end.
        self.start = unsafe { self.memory.add(headroom) };
        self.length = length;
    }

    /// Sets the length of the data, to at most what fits into the memory.
    #[inline]
    pub(crate) fn set_length(&mut self, length: usize) {
        self.length = length.min(self.size - self.headroom());
    }

    /// Whether the data of every buffer begins after the default headroom, with room for `bytes` bytes.
    #[inline]
    pub(crate) fn all_begin_with_room<'b>(buffers: impl Iterator<Item = &'b Buffer> + Clone, bytes: usize) -> bool {
        let has_room = |buffer: &Buffer| bytes <= buffer.size - DEFAULT_HEADROOM;
        Buffer::all_begin_as_usual(buffers.clone()) && (bytes <= DEFAULT_ROOM || { buffers }.all(has_room))
    }

    /// Whether the data of every buffer begins after the default headroom.
    #[inline]
    pub(crate) fn all_begin_as_usual<'b>(buffers: impl Iterator<Item = &'b Buffer>) -> bool {
        // Without a branch for each buffer, because usually all do.
        let differ = |differences, buffer: &Buffer| differences | (buffer.headroom() ^ DEFAULT_HEADROOM);
        buffers.fold(0, differ) == 0
    }

    /// Removes the data; new data begins after the default headroom.
    #[inline]
    pub(crate) fn clear(&mut self) {
        // SAFETY: the memory has at least `SIZE_MIN` bytes.
        self.start = unsafe { self.memory.add(DEFAULT_HEADROOM) };
        self.length = 0;
    }

    /// Replaces the data by a copy of `data`, after the default headroom.
    #[inline]
    pub(crate) fn set(&mut self, data: &[u8]) {
        self.grow(DEFAULT_HEADROOM + data.len());
        self.clear();
        self.length = data.len();
        crate::copy::frame(self.data_mut(), data);
    }

    /// Shortens the data to at most `length` bytes.
    #[inline]
    pub(crate) fn truncate(&mut self, length: usize) {
        self.length = self.length.min(length);
    }

    /// Makes the memory at least `size` bytes large. New bytes are zero; data and headroom stay.
    #[inline]
    pub(crate) fn grow(&mut self, size: usize) {
        if size > self.size {
            self.move_to_larger(size);
        }
    }

    #[cold]
    fn move_to_larger(&mut self, size: usize) {
        // Grows by at least half, so that appending bytes one by one does not move the data each time.
        let mut larger = Buffer::new(size.max(self.size + self.size / 2), 0);
        larger.memory_mut()[..self.size].copy_from_slice(self.memory_mut());
        larger.place(self.headroom(), self.length);
        *self = larger;
    }
}

impl Clone for Buffer {
    fn clone(&self) -> Buffer {
        let mut copy = Buffer::new(self.size, self.headroom());
        copy.place(self.headroom(), self.length);
        copy.data_mut().copy_from_slice(self.data());
        copy
    }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        // SAFETY: it was allocated with this layout.
        unsafe { dealloc(self.memory.as_ptr(), layout(self.size)) }
    }
}

fn layout(size: usize) -> Layout {
    Layout::from_size_align(size, ALIGNMENT).expect("a packet is far smaller than the address space")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn growing_keeps_what_is_there() {
        let mut buffer = Buffer::new(3000, 10);
        buffer.place(10, 3);
        buffer.data_mut().copy_from_slice(b"abc");
        buffer.grow(50);
        assert_eq!(buffer.size(), 3000);
        buffer.grow(5000);
        assert_eq!(
            (buffer.headroom(), buffer.data(), buffer.size()),
            (10, &b"abc"[..], 5000)
        );
        assert!(buffer.memory_mut()[13..].iter().all(|byte| *byte == 0));
        assert_eq!(buffer.start.addr().get() - 10, buffer.memory.addr().get());
    }

    #[test]
    fn memory_begins_at_a_cache_line() {
        for size in [0, 1, 129, 2048, 2049] {
            let buffer = Buffer::new(size, 0);
            assert_eq!(buffer.memory.addr().get() % ALIGNMENT, 0);
            assert_eq!(buffer.size(), size.max(SIZE_MIN));
            assert_eq!(buffer.clone().data(), b"");
        }
    }

    #[test]
    fn data_that_is_set_fits() {
        let mut buffer = Buffer::new(0, 0);
        for length in [0, 1, 1000, 10] {
            let data = vec![7; length];
            buffer.set(&data);
            assert_eq!((buffer.headroom(), buffer.data()), (DEFAULT_HEADROOM, &data[..]));
        }
    }

    #[test]
    fn buffers_that_begin_with_room() {
        let begin = |buffers: &[Buffer], bytes| Buffer::all_begin_with_room(buffers.iter(), bytes);
        let ready = || [0, 5000].map(|size| Buffer::new(size, DEFAULT_HEADROOM));
        let [_, larger] = ready();
        assert!(begin(&[], usize::MAX) && begin(&ready(), DEFAULT_ROOM) && begin(&[larger], 4872));
        assert!(!begin(&ready(), DEFAULT_ROOM + 1) && !begin(&ready(), usize::MAX));
        let mut moved = ready();
        moved[1].place(DEFAULT_HEADROOM - 1, 1);
        assert!(!begin(&moved, 1));
    }

    #[test]
    #[should_panic(expected = "within the buffer")]
    fn data_behind_the_end_is_refused() {
        Buffer::new(200, 0).place(8, usize::MAX);
    }
}
