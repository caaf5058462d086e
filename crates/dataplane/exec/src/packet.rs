//! An executor's input for one packet, and the ways in which the execution of a body ends.

use crate::bit_buffer::BitBuffer;
use crate::objects::PacketFacts;
use forebay_bits::Bits;

/// How a body ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// At its end: a parser accepted.
    Returned,
    /// By `exit` (P4_16 §12.5).
    Exited,
    /// A parser rejected with this value of `error`.
    Rejected(u32),
    /// It took more steps than allowed.
    StepLimit,
    /// `assert` or `assume` did not hold.
    AssertFailed,
}

/// Memory that executions reuse.
#[derive(Clone, Debug, Default)]
pub struct Buffers {
    /// What the deparser emitted.
    pub output: BitBuffer,
    /// The key of the table that is being applied.
    pub keys: Vec<Bits>,
    /// The input of the hash or checksum that is being computed.
    pub hash_input: BitBuffer,
}

/// The input for one packet.
#[derive(Clone, Copy, Debug)]
pub struct Input<'a> {
    /// The packet.
    pub packet: &'a [u8],
    /// The parser's position, in bits from the packet's start.
    pub cursor: usize,
    /// Length and time for counters and meters.
    pub facts: PacketFacts,
    /// The seed of the sequence for `random`.
    pub random_seed: u64,
    /// Statements and terminators that one body may execute.
    pub step_limit: u64,
}
