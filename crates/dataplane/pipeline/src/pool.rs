//! Reuses the memory of earlier packets.

use crate::frame_buffer::FrameBuffer;
use crate::packet::Contents;
use forebay_exec::State;
use std::sync::Arc;

/// The most packets, and the most buffers, that are kept.
const KEPT_MAX: usize = 1024;

/// Memory of packets that have ended. What was returned last is used first, because it is likely to be in a cache.
#[derive(Debug, Default)]
pub(crate) struct Pool {
    // Boxed, as they are in packets.
    #[allow(clippy::vec_box)]
    packets: Vec<Box<Contents>>,
    #[allow(clippy::vec_box)]
    states: Vec<Box<State>>,
    buffers: Vec<FrameBuffer>,
    /// Handles without a buffer. Each is the only one of its allocation.
    handles: Vec<Arc<FrameBuffer>>,
}

impl Pool {
    /// A packet without frame and state. Its other fields may have values of an earlier packet.
    pub(crate) fn packet(&mut self) -> Box<Contents> {
        self.packets.pop().unwrap_or_default()
    }

    /// A copy of a packet, which shares its frame.
    pub(crate) fn copy_of(&mut self, original: &mut Contents) -> Box<Contents> {
        let mut copy = self.packet();
        copy.copy_facts(original);
        copy.state = original.state.as_ref().map(|state| self.state_like(state));
        copy.shared = Some(match &original.shared {
            Some(shared) => Arc::clone(shared),
            None => {
                let shared = self.share(std::mem::take(&mut original.bytes));
                Arc::clone(original.shared.insert(shared))
            }
        });
        copy
    }

    /// A state with the values of another one.
    #[inline]
    pub(crate) fn state_like(&mut self, original: &State) -> Box<State> {
        match self.states.pop() {
            Some(mut state) => {
                state.as_mut().clone_from(original);
                state
            }
            None => Box::new(original.clone()),
        }
    }

    /// Gives a packet a state with these values.
    #[inline]
    pub(crate) fn renew_state(&mut self, packet: &mut Contents, values: &State) {
        match &mut packet.state {
            Some(state) => state.as_mut().clone_from(values),
            none => *none = Some(self.state_like(values)),
        }
    }

    /// Gives a packet a state of the same program, with unspecified values.
    #[inline]
    pub(crate) fn give_state(&mut self, packet: &mut Contents, values: &State) {
        let has_one = packet.state.as_ref().is_some_and(|state| state.is_like(values));
        if !has_one {
            packet.state = Some(self.any_state(values));
        }
    }

    /// A state of the same program as another one, with unspecified values.
    #[inline]
    pub(crate) fn any_state(&mut self, like: &State) -> Box<State> {
        match self.states.pop() {
            Some(state) if state.is_like(like) => state,
            _ => Box::new(like.clone()),
        }
    }

    /// Takes back a state.
    #[inline]
    pub(crate) fn recycle_state_alone(&mut self, state: Box<State>) {
        if self.states.len() < KEPT_MAX {
            self.states.push(state);
        }
    }

    /// Takes back the state of a packet that needs none.
    #[inline]
    pub(crate) fn recycle_state(&mut self, packet: &mut Contents) {
        if let Some(state) = packet.state.take() {
            self.recycle_state_alone(state);
        }
    }

    /// Takes back a packet that has ended, with its buffer and its state.
    pub(crate) fn recycle_packet(&mut self, mut packet: Box<Contents>) {
        self.recycle_state(&mut packet);
        if let Some(shared) = packet.shared.take() {
            self.recycle_shared(shared);
        }
        self.recycle(std::mem::take(&mut packet.bytes));
        packet.preserved.0.clear();
        packet.kept_bytes.clear();
        if self.packets.len() < KEPT_MAX {
            self.packets.push(packet);
        }
    }

    /// An empty frame.
    pub(crate) fn buffer(&mut self) -> FrameBuffer {
        let mut buffer = self.buffers.pop().unwrap_or_default();
        buffer.begin();
        buffer
    }

    /// Makes bytes that copies of a packet can share.
    pub(crate) fn share(&mut self, bytes: FrameBuffer) -> Arc<FrameBuffer> {
        let mut handle = self.handles.pop().unwrap_or_default();
        match Arc::get_mut(&mut handle) {
            Some(place) => *place = bytes,
            None => handle = Arc::new(bytes),
        }
        handle
    }

    /// Takes back a shared frame. Its buffer is reused when this was the last copy.
    pub(crate) fn recycle_shared(&mut self, mut handle: Arc<FrameBuffer>) {
        if let Some(place) = Arc::get_mut(&mut handle) {
            let buffer = std::mem::take(place);
            self.recycle(buffer);
            if self.handles.len() < KEPT_MAX {
                self.handles.push(handle);
            }
        }
    }

    pub(crate) fn recycle(&mut self, buffer: FrameBuffer) {
        if !buffer.has_no_memory() && self.buffers.len() < KEPT_MAX {
            self.buffers.push(buffer);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_copies_share_is_used_again_after_the_last() {
        let mut pool = Pool::default();
        let first = pool.share(vec![1, 2, 3].into());
        let second = Arc::clone(&first);
        let place = Arc::as_ptr(&first);
        pool.recycle_shared(first);
        assert!(pool.buffers.is_empty());
        assert_eq!(second[..], [1, 2, 3]);
        pool.recycle_shared(second);
        assert_eq!(pool.buffers.len(), 1);
        let again = pool.share(FrameBuffer::default());
        assert_eq!(Arc::as_ptr(&again), place);
    }
}
