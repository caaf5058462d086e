//! Memory that packets leave behind for later ones.

use forebay_interp::State;
use std::sync::Arc;

/// The most states, and the most buffers, that are kept.
const KEPT_MAX: usize = 1024;

/// States and buffers of packets that are gone.
#[derive(Debug, Default)]
pub(crate) struct Pool {
    // Boxed, since states travel in packets through queues: moving a pointer is enough.
    #[allow(clippy::vec_box)]
    states: Vec<Box<State>>,
    buffers: Vec<Vec<u8>>,
    /// Handles without a buffer, each the only one to its place.
    handles: Vec<Arc<Vec<u8>>>,
}

impl Pool {
    /// A copy of a state.
    pub(crate) fn state(&mut self, original: &State) -> Box<State> {
        match self.states.pop() {
            Some(mut state) => {
                state.copy_from(original);
                state
            }
            None => Box::new(original.clone()),
        }
    }

    pub(crate) fn recycle_state(&mut self, state: Box<State>) {
        if self.states.len() < KEPT_MAX {
            self.states.push(state);
        }
    }

    /// An empty buffer.
    pub(crate) fn buffer(&mut self) -> Vec<u8> {
        self.buffers.pop().unwrap_or_default()
    }

    /// A copy of bytes.
    pub(crate) fn copy(&mut self, bytes: &[u8]) -> Vec<u8> {
        let mut copy = self.buffer();
        copy.extend_from_slice(bytes);
        copy
    }

    /// Bytes that copies of a packet can share.
    pub(crate) fn share(&mut self, bytes: Vec<u8>) -> Arc<Vec<u8>> {
        let mut handle = self.handles.pop().unwrap_or_default();
        match Arc::get_mut(&mut handle) {
            Some(place) => *place = bytes,
            None => handle = Arc::new(bytes),
        }
        handle
    }

    /// Takes back what was shared; the buffer is used again when this was the last copy.
    pub(crate) fn recycle_shared(&mut self, mut handle: Arc<Vec<u8>>) {
        if let Some(place) = Arc::get_mut(&mut handle) {
            let buffer = std::mem::take(place);
            self.recycle(buffer);
            if self.handles.len() < KEPT_MAX {
                self.handles.push(handle);
            }
        }
    }

    pub(crate) fn recycle(&mut self, mut buffer: Vec<u8>) {
        if self.buffers.len() < KEPT_MAX {
            buffer.clear();
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
        let first = pool.share(vec![1, 2, 3]);
        let second = Arc::clone(&first);
        let place = Arc::as_ptr(&first);
        pool.recycle_shared(first);
        assert!(pool.buffers.is_empty());
        assert_eq!(*second, [1, 2, 3]);
        pool.recycle_shared(second);
        assert_eq!(pool.buffers.len(), 1);
        let again = pool.share(Vec::new());
        assert_eq!(Arc::as_ptr(&again), place);
    }
}
