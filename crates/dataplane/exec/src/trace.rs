//! What happened to a packet, step by step.
//!
//! An executor reports [`Event`]s to a [`Tracer`]. With [`NoTrace`] the compiler removes the reports altogether, so a
//! trace costs nothing when nobody reads it.

use forebay_bits::Bits;
use forebay_ir::{BodyKind, HeaderId, KeySet, Location, SlotId, TableId};

/// Receives events.
pub trait Tracer {
    /// Whether events are wanted. When false, [`Tracer::event`] is never called and no event is built.
    const ON: bool;

    /// Something happened.
    fn event(&mut self, event: Event<'_>);
}

/// Reports nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoTrace;

impl Tracer for NoTrace {
    const ON: bool = false;

    fn event(&mut self, _event: Event<'_>) {}
}

/// A step of a packet's way through a program. Names are found in the [`forebay_ir::Program`] by id.
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
        /// The place of what it does first.
        location: Location,
    },
    /// A header was extracted.
    Extract {
        /// Header.
        header: HeaderId,
        /// Values in order of the header's fields.
        fields: &'a [Bits],
        /// Position in the packet, in bits, behind it.
        cursor: usize,
        /// Place.
        location: Location,
    },
    /// The parser skipped bits.
    Advance {
        /// How many.
        bits: u64,
        /// Place.
        location: Location,
    },
    /// A select expression chose.
    Select {
        /// Values of the keys.
        keys: &'a [Bits],
        /// Index of the case; `None` for the default.
        case: Option<usize>,
        /// What the case matches, a set for each key; nothing for the default.
        keysets: &'a [KeySet],
        /// How many cases there are without the default.
        cases: usize,
        /// The parser's state that follows, `accept` or `reject`; empty when what follows is no state.
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
        /// Whether an entry matched.
        hit: bool,
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
        /// Before.
        old: &'a Bits,
        /// After.
        new: &'a Bits,
        /// Place.
        location: Location,
    },
    /// An extern was called (register, counter, meter, hash, checksum, random, clone, digest, ...).
    Extern {
        /// What it is called in P4: `register.read`.
        name: &'static str,
        /// P4 name of the instance; empty for a function.
        instance: &'a str,
        /// Index into the array, or the first number given.
        index: Option<u64>,
        /// What came back, or was written.
        value: Option<&'a Bits>,
        /// Place.
        location: Location,
    },
    /// A header was emitted, or not because it is invalid.
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
        /// How.
        exit: bool,
    },
    /// The architecture decided something: `enqueue to port 3`, `drop: ingress_drop`.
    Verdict {
        /// Text.
        text: &'a str,
    },
}
