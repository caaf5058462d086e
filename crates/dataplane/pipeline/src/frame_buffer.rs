//! A frame in memory with room before it: headers are added and removed there, and the payload stays where it is.
//!
//! ```text
//! memory   │ room │ headers │ payload │
//!                 ▲ start
//! ```

use std::fmt;
use std::ops::{Deref, DerefMut};

/// Room for headers that are added.
const HEADROOM_BYTES: usize = 64;

/// See the [module](self). It dereferences to the frame's bytes.
#[derive(Clone, Default)]
pub struct FrameBuffer {
    memory: Vec<u8>,
    /// The index of the frame's first byte, at most the length of the memory.
    start: usize,
}

impl FrameBuffer {
    /// Becomes an empty frame with room before it, reusing the memory.
    pub fn begin(&mut self) {
        self.memory.clear();
        self.memory.resize(HEADROOM_BYTES, 0);
        self.start = HEADROOM_BYTES;
    }

    /// Appends bytes.
    pub fn extend_from_slice(&mut self, bytes: &[u8]) {
        self.memory.extend_from_slice(bytes);
    }

    /// Keeps at most the first `length` bytes.
    #[inline]
    pub fn truncate(&mut self, length: usize) {
        self.memory.truncate(self.start.saturating_add(length));
    }

    /// The frame's bytes.
    pub fn into_vec(mut self) -> Vec<u8> {
        self.memory.drain(..self.start);
        self.memory
    }

    /// The memory, with unspecified contents.
    pub(crate) fn into_memory(self) -> Vec<u8> {
        self.memory
    }

    /// Whether there is no memory.
    pub(crate) fn has_no_memory(&self) -> bool {
        self.memory.capacity() == 0
    }

    /// Replaces the first `length` bytes by other bytes.
    pub(crate) fn replace_front(&mut self, length: usize, front: &[u8]) {
        if self.start + length < front.len() {
            self.make_room(front.len() - length);
        }
        self.start = self.start + length - front.len();
        self.memory[self.start..][..front.len()].copy_from_slice(front);
    }

    /// The frame, to be changed in place: the address of its first byte, its length, and the address of the room
    /// before it.
    pub(crate) fn in_place(&mut self) -> (*mut u8, usize, *const u8) {
        let floor = self.memory.as_mut_ptr();
        (floor.wrapping_add(self.start), self.len(), floor)
    }

    /// Records that the frame was changed in place: it now begins at `start` and has `length` bytes.
    ///
    /// # Panics
    /// If that is not within the frame and the room before it.
    pub(crate) fn changed(&mut self, start: *const u8, length: usize) {
        self.start = start.addr() - self.memory.as_ptr().addr();
        assert!(self.start + length <= self.memory.len(), "it was changed in place");
        self.memory.truncate(self.start + length);
    }

    /// Adds this many bytes to the room before the frame.
    #[cold]
    fn make_room(&mut self, bytes: usize) {
        let end = self.memory.len();
        self.memory.resize(end + bytes, 0);
        self.memory.copy_within(self.start..end, self.start + bytes);
        self.start += bytes;
    }
}

impl From<Vec<u8>> for FrameBuffer {
    /// A frame without room before it.
    fn from(memory: Vec<u8>) -> Self {
        FrameBuffer { memory, start: 0 }
    }
}

impl Deref for FrameBuffer {
    type Target = [u8];

    #[inline]
    fn deref(&self) -> &[u8] {
        &self.memory[self.start..]
    }
}

impl DerefMut for FrameBuffer {
    #[inline]
    fn deref_mut(&mut self) -> &mut [u8] {
        &mut self.memory[self.start..]
    }
}

impl fmt::Debug for FrameBuffer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self[..].fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fronts_become_longer_and_shorter_whatever_room_there_is() {
        let mut frame = FrameBuffer::default();
        frame.begin();
        frame.extend_from_slice(&[1, 2, 3, 4]);
        frame.replace_front(2, &[9, 8, 7]);
        assert_eq!(frame[..], [9, 8, 7, 3, 4]);
        frame.replace_front(3, &[9]);
        assert_eq!(frame[..], [9, 3, 4]);
        frame.replace_front(1, &[5; HEADROOM_BYTES + 10]);
        assert_eq!(
            (frame.len(), &frame[HEADROOM_BYTES + 9..]),
            (HEADROOM_BYTES + 12, &[5, 3, 4][..])
        );
        frame.truncate(1);
        assert_eq!(frame.into_vec(), [5]);
        let mut frame = FrameBuffer::from(vec![1, 2]);
        frame.replace_front(0, &[3]);
        assert_eq!(frame[..], [3, 1, 2]);
    }
}
