//! A worker's memory for the packets that it executes.

use forebay_exec::{BitBuffer, Buffers, Requests};

/// Memory that the passes of different packets use one after another.
#[derive(Debug, Default)]
pub(crate) struct Scratch {
    /// The program's requests in the current pass.
    pub(crate) requests: Requests,
    /// The deparser's output, and memory of the interpreter.
    pub(crate) buffers: Buffers,
    /// Memory of compiled code.
    pub(crate) memory: forebay_jit::Memory,
    /// A packet whose headers do not end on a byte boundary.
    pub(crate) rewritten: BitBuffer,
}
