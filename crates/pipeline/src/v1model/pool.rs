//! Memory that packets leave behind for later ones.

use forebay_interp::State;

/// The most states, and the most buffers, that are kept.
const KEPT_MAX: usize = 1024;

/// States and buffers of packets that are gone.
#[derive(Debug, Default)]
pub(crate) struct Pool {
    // Boxed, since states travel in packets through queues: moving a pointer is enough.
    #[allow(clippy::vec_box)]
    states: Vec<Box<State>>,
    buffers: Vec<Vec<u8>>,
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

    pub(crate) fn recycle(&mut self, mut buffer: Vec<u8>) {
        if self.buffers.len() < KEPT_MAX {
            buffer.clear();
            self.buffers.push(buffer);
        }
    }
}
