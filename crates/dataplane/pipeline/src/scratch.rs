//! Memory of a worker for the packets that it executes.

use forebay_exec::{BitBuffer, Buffers, Requests};

/// Memory that passes of different packets use one after the other.
#[derive(Debug, Default)]
pub(crate) struct Scratch {
    /// What the program asked for in the present pass.
    pub(crate) requests: Requests,
    /// The deparser's output, and memory of the interpreter.
    pub(crate) buffers: Buffers,
    /// Memory of compiled code.
    pub(crate) memory: forebay_jit::Memory,
    /// A packet whose headers do not end with whole bytes.
    pub(crate) rewritten: BitBuffer,
}
