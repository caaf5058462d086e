//! The control plane's access to a loaded program: everything is written and read by P4 names.
//!
//! A name may be shortened to any suffix that begins after a dot and is not ambiguous, as on BMv2's command line
//! (`ipv4_lpm` for `MyIngress.ipv4_lpm`). Values may have any width as long as the number fits.
//!
//! [`batch`] says what packets see while something is written, and how several writes become one.

mod batch;
pub(crate) mod convert;
mod direct;
pub(crate) mod learning;
pub(crate) mod names;
mod objects;
mod parts;
mod profiles;
mod records;
mod replication;
mod tables;
mod value_sets;

pub use batch::{Batch, EndedEntries};
use forebay_bits::Bits;
use forebay_ir::EntryMatch;
use forebay_tables::TokenRate;
pub use learning::{AdoptedEntry, Held, LearnedEntries, LearnedEntry, LearningCounters};
pub use records::{IdleTime, Record};

/// A table entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// One match for each key field that is not of kind `selector`, in order.
    pub matches: Vec<EntryMatch>,
    /// The larger priority wins. It has no meaning, and is read back as 0, in tables whose fields are all exact or
    /// lpm.
    pub priority: i64,
    /// What it invokes.
    pub action: EntryAction,
}

/// What a table entry invokes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EntryAction {
    /// An action with its data.
    Call {
        /// Name of the action.
        action: String,
        /// One argument for each parameter.
        args: Vec<Bits>,
    },
    /// A member of the table's action profile.
    Member(u32),
    /// A group of the table's action selector.
    Group(u32),
}

impl EntryAction {
    /// An action with its data.
    pub fn call(action: &str, args: Vec<Bits>) -> Self {
        EntryAction::Call {
            action: action.to_string(),
            args,
        }
    }
}

/// Configuration of a two-rate three-colour meter (RFC 2698), in packets or bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MeterRates {
    /// Committed information rate.
    pub committed_rate: TokenRate,
    /// Committed burst size.
    pub committed_burst: u64,
    /// Peak information rate.
    pub peak_rate: TokenRate,
    /// Peak burst size.
    pub peak_burst: u64,
}

/// Parameters of a CRC in the usual model (polynomial without its highest term).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CrcParameters {
    /// Polynomial.
    pub polynomial: u64,
    /// Start value.
    pub initial: u64,
    /// Exclusive or of the result.
    pub final_xor: u64,
    /// Whether the bits of each byte are taken from the least significant.
    pub reflect_input: bool,
    /// Whether the bits of the result are reversed.
    pub reflect_output: bool,
}

/// The memory that a table needs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TableMemory {
    /// The name of the table.
    pub table: String,
    /// Entries that it holds.
    pub entries: usize,
    /// Bytes that look-ups read: the index and the records. What the control plane keeps about each entry is not
    /// included.
    pub bytes: usize,
}
