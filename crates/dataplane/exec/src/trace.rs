//! What happened to a packet, step by step.
//!
//! An executor reports [`Event`]s to a [`Tracer`]. With [`NoTrace`] the compiler removes the reports entirely, so
//! tracing costs nothing when it is off.

use forebay_bits::Bits;
use forebay_ir::{BodyKind, HeaderId, KeySet, Location, SlotId, TableId};

/// Receives events.
pub trait Tracer {
    /// Whether events are wanted. When false, [`Tracer::event`] is never called and no event is built.
    const ON: bool;

    /// Receives an event.
    fn event(&mut self, event: Event<'_>);
}

/// Reports nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoTrace;

impl Tracer for NoTrace {
    const ON: bool = false;

    fn event(&mut self, _event: Event<'_>) {}
}

/// A step of a packet's path through a program. Names are found in the [`forebay_ir::Program`] by id.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Event<'a> {
    /// A parser, control, deparser or action begins.
    Enter {
        /// Its name.
        body: &'a str,
        /// What it is.
        kind: BodyKind,
    },
    /// A parser state begins.
    ParserState {
        /// Its name.
        name: &'a str,
        /// The location of its first operation.
        location: Location,
    },
    /// A header was extracted.
    Extract {
        /// Header.
        header: HeaderId,
        /// Values in order of the header's fields.
        fields: &'a [Bits],
        /// Position in the packet after the header, in bits.
        cursor: usize,
        /// Place.
        location: Location,
    },
    /// The parser skipped bits.
    Advance {
        /// The number of bits.
        bits: u64,
        /// Place.
        location: Location,
    },
    /// A select expression chose a case.
    Select {
        /// Values of the keys.
        keys: &'a [Bits],
        /// Index of the case; `None` for the default.
        case: Option<usize>,
        /// The case's keysets, one for each key; empty for the default.
        keysets: &'a [KeySet],
        /// The number of cases without the default.
        cases: usize,
        /// The next parser state, `accept` or `reject`; empty when the target is not a state.
        target: &'a str,
        /// Place.
        location: Location,
    },
    /// A condition was evaluated.
    Branch {
        /// Its value.
        taken: bool,
        /// Place.
        location: Location,
    },
    /// A table was looked up.
    Lookup {
        /// Table.
        table: TableId,
        /// Values of the key fields.
        key: &'a [Bits],
        /// The entry that matched, by the number under which its table knows it; `None` for a miss.
        hit: Option<u64>,
        /// P4 name of the action that runs.
        action: &'a str,
        /// Its action data.
        args: &'a [Bits],
        /// Place.
        location: Location,
    },
    /// A slot was assigned.
    Assign {
        /// Slot.
        slot: SlotId,
        /// The value before.
        old: &'a Bits,
        /// The value after.
        new: &'a Bits,
        /// Place.
        location: Location,
    },
    /// An extern was called (register, counter, meter, hash, checksum, random, clone, digest, ...).
    Extern {
        /// Its name in P4, for example `register.read`.
        name: &'static str,
        /// P4 name of the instance; empty for a function.
        instance: &'a str,
        /// Index into the array, or the first number given.
        index: Option<u64>,
        /// The value returned or written.
        value: Option<&'a Bits>,
        /// Place.
        location: Location,
    },
    /// A header was emitted, or skipped because it is invalid.
    Emit {
        /// Header.
        header: HeaderId,
        /// Whether it was valid.
        valid: bool,
        /// Place.
        location: Location,
    },
    /// `log_msg`.
    Log {
        /// Text, with its arguments filled in.
        text: &'a str,
        /// Place.
        location: Location,
    },
    /// `assert` or `assume` did not hold.
    AssertionFailed {
        /// Text of the condition.
        text: &'a str,
        /// Place.
        location: Location,
    },
    /// The parser ended with an error.
    ParserError {
        /// Name of the error.
        error: &'a str,
        /// Place.
        location: Location,
    },
    /// A body ended.
    Leave {
        /// Its name.
        body: &'a str,
        /// Whether it ended by `exit`.
        exit: bool,
    },
    /// The architecture decided something, for example `enqueue to port 3` or `drop: ingress_drop`.
    Verdict {
        /// Text.
        text: &'a str,
    },
}
