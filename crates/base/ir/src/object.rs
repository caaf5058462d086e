//! Objects that the control plane sees: tables and stateful externs, under their control-plane names.

use crate::{
    ActionId, ActionProfileId, BodyId, CounterId, Expr, HashAlgorithm, Location, MeterId, RegisterId, SlotId, TableId,
};
use forebay_bits::Bits;

/// An action as a table invokes it. If several tables list a P4 action with different directional arguments, it has an
/// instance here for each of them, all with the same name.
#[derive(Clone, Debug, PartialEq)]
pub struct Action {
    /// Control-plane name: `MyIngress.forward`.
    pub name: String,
    /// Action data: the directionless parameters.
    pub params: Vec<ActionParam>,
    /// The body that it executes ([`crate::BodyKind::Action`]).
    pub body: BodyId,
}

/// A parameter whose value the control plane provides.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ActionParam {
    /// Name.
    pub name: String,
    /// Width in bits.
    pub width: u32,
    /// Whether its type is `int<W>`.
    pub signed: bool,
}

/// A match-action table.
#[derive(Clone, Debug, PartialEq)]
pub struct Table {
    /// Control-plane name: `MyIngress.ipv4_lpm`.
    pub name: String,
    /// Key fields in order.
    pub keys: Vec<TableKey>,
    /// Actions in order.
    pub actions: Vec<TableAction>,
    /// The default action; `NoAction` when the program names none.
    pub default_action: ActionCall,
    /// Whether the control plane may not change it.
    pub default_is_const: bool,
    /// Entries in the program.
    pub entries: Vec<TableEntry>,
    /// Whether the control plane may not change the entries (`const entries`).
    pub entries_are_const: bool,
    /// The number of entries that it must be able to hold.
    pub size: u64,
    /// Action profile or selector.
    pub implementation: Option<ActionProfileId>,
    /// The action to run when an entry names a group of the selector without members. Without it, nothing runs.
    pub empty_group_action: Option<ActionCall>,
    /// Direct counter, counted on every hit.
    pub direct_counter: Option<CounterId>,
    /// Direct meter, executed on every hit before the action.
    pub direct_meter: Option<DirectMeter>,
    /// Whether entries may have idle time-outs.
    pub supports_timeout: bool,
    /// Whether idle entries are deleted.
    pub deletes_idle: bool,
    /// Seconds of the expiry profiles by number; empty for those of the architecture. An entry with a profile that is
    /// not listed never expires.
    pub expire_seconds: Vec<u64>,
    /// Whether it is hidden from controllers: its P4Info may leave it out.
    pub is_hidden: bool,
    /// Source location of its declaration.
    pub location: Location,
}

impl Table {
    /// The slot for the colour of its direct meter, if the program reads it.
    pub fn color_slot(&self) -> Option<SlotId> {
        self.direct_meter.and_then(|meter| meter.slot)
    }
}

/// The colour that meters return when they are not configured, in programs for PSA and PNA: green, whatever colour the
/// packet had (PSA 1.2 §7.7). For v1model it is plain green, 0.
pub const UNMETERED: u8 = 3;

/// A direct meter of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DirectMeter {
    /// Meter.
    pub meter: MeterId,
    /// Set to the colour (argument of `direct_meter.read`), if the program reads it.
    pub slot: Option<SlotId>,
}

/// A key field.
#[derive(Clone, Debug, PartialEq)]
pub struct TableKey {
    /// Control-plane name: `hdr.ipv4.dstAddr`, or the name from `@name`.
    pub name: String,
    /// Value, evaluated when the table is applied.
    pub expr: Expr,
    /// Width in bits.
    pub width: u32,
    /// Match kind. Fields of kind [`MatchKind::Selector`] are not matched: they are the input of the selector's hash,
    /// and have no meaning in a table without a selector.
    pub match_kind: MatchKind,
}

/// Match kinds of core, v1model and PSA.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum MatchKind {
    /// `exact`
    Exact,
    /// `lpm`
    Lpm,
    /// `ternary`
    Ternary,
    /// `range`
    Range,
    /// `optional`
    Optional,
    /// `selector`
    Selector,
}

impl MatchKind {
    /// Its name in P4.
    pub const fn name(self) -> &'static str {
        match self {
            MatchKind::Exact => "exact",
            MatchKind::Lpm => "lpm",
            MatchKind::Ternary => "ternary",
            MatchKind::Range => "range",
            MatchKind::Optional => "optional",
            MatchKind::Selector => "selector",
        }
    }
}

/// An action in a table's list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TableAction {
    /// Action.
    pub action: ActionId,
    /// `@tableonly`: may not be the default action.
    pub table_only: bool,
    /// `@defaultonly`: may not be an entry's action.
    pub default_only: bool,
}

/// An action with its data.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ActionCall {
    /// Index into [`Table::actions`].
    pub action: u32,
    /// One argument for each of [`Action::params`].
    pub args: Vec<Bits>,
}

/// An entry in the program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TableEntry {
    /// One match for each key field that is not a selector.
    pub matches: Vec<EntryMatch>,
    /// The larger priority wins, as in P4Runtime; 0 in tables whose match kinds need none.
    pub priority: i64,
    /// The action that it invokes.
    pub action: ActionCall,
    /// Whether this one is `const`.
    pub is_const: bool,
    /// Source location.
    pub location: Location,
}

/// The condition of an entry on one key field.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum EntryMatch {
    /// `exact`
    Exact(Bits),
    /// `lpm`: the value's first `prefix_length` bits.
    Lpm {
        /// Value.
        value: Bits,
        /// Bits that count, from the most significant.
        prefix_length: u32,
    },
    /// `ternary`: bits set in the mask count.
    Ternary {
        /// Value.
        value: Bits,
        /// Mask.
        mask: Bits,
    },
    /// `range`, both ends inclusive.
    Range {
        /// Low end.
        low: Bits,
        /// High end.
        high: Bits,
    },
    /// `optional`: a value, or anything.
    Optional(Option<Bits>),
}

/// An action profile; with `selector`, an action selector.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ActionProfile {
    /// Control-plane name.
    pub name: String,
    /// The number of members that it must be able to hold.
    pub size: u64,
    /// For a selector: the algorithm over the table's selector fields and the width of its result in bits.
    pub selector: Option<(HashAlgorithm, u32)>,
}

/// `register<bit<W>>(size)`
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Register {
    /// Control-plane name.
    pub name: String,
    /// Width of an element in bits.
    pub width: u32,
    /// Whether its type is `int<W>`.
    pub signed: bool,
    /// Number of elements.
    pub size: u64,
    /// Initial value of every element.
    pub initial: Bits,
}

/// What a counter counts, or a meter measures.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Unit {
    /// Packets.
    Packets,
    /// Bytes.
    Bytes,
    /// Both (counters only).
    PacketsAndBytes,
}

/// A counter array, or a direct counter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Counter {
    /// Control-plane name.
    pub name: String,
    /// What is counted.
    pub unit: Unit,
    /// Number of elements; `None` for a direct counter.
    pub size: Option<u64>,
    /// The name of each element; empty when they have none.
    pub element_names: Vec<String>,
}

/// A meter array, or a direct meter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Meter {
    /// Control-plane name.
    pub name: String,
    /// What is measured.
    pub unit: Unit,
    /// Number of elements; `None` for a direct meter.
    pub size: Option<u64>,
}

/// A CRC whose parameters the control plane may set: one use of `crc16_custom` or `crc32_custom` in a program. Until
/// then, its parameters are those of [`HashAlgorithm::Crc16`] or [`HashAlgorithm::Crc32`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Calculation {
    /// Name for the control plane: that of p4c's calculation.
    pub name: String,
    /// The custom CRC.
    pub crc: CustomCrc,
}

/// The CRCs whose parameters can be changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CustomCrc {
    /// `crc16_custom`
    Crc16,
    /// `crc32_custom`
    Crc32,
}

impl CustomCrc {
    /// The custom CRC with this name in v1model.
    pub fn from_name(name: &str) -> Option<CustomCrc> {
        [CustomCrc::Crc16, CustomCrc::Crc32]
            .into_iter()
            .find(|crc| crc.name() == name)
    }

    /// Its name in v1model.
    pub fn name(self) -> &'static str {
        match self {
            CustomCrc::Crc16 => "crc16_custom",
            CustomCrc::Crc32 => "crc32_custom",
        }
    }

    /// Bits of the result.
    pub fn width(self) -> u32 {
        match self {
            CustomCrc::Crc16 => 16,
            CustomCrc::Crc32 => 32,
        }
    }

    /// The CRC that it is until its parameters are set.
    pub fn plain(self) -> HashAlgorithm {
        match self {
            CustomCrc::Crc16 => HashAlgorithm::Crc16,
            CustomCrc::Crc32 => HashAlgorithm::Crc32,
        }
    }
}

/// `value_set<T>(size)` of a parser.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ValueSet {
    /// Control-plane name.
    pub name: String,
    /// The number of elements that it must be able to hold.
    pub size: u64,
    /// Components of an element: name, width, match kind (`@match`).
    pub components: Vec<ValueSetComponent>,
}

/// A component of a value set's elements.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ValueSetComponent {
    /// Name; empty when the element is a plain value.
    pub name: String,
    /// Width in bits.
    pub width: u32,
    /// Match kind.
    pub match_kind: MatchKind,
}

/// A `digest`: a kind of message, to the control plane or to a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Digest {
    /// Control-plane name (the struct type's name).
    pub name: String,
    /// Its first argument in v1model: the receiver.
    pub receiver: u32,
    /// Fields: name and width.
    pub fields: Vec<(String, u32)>,
    /// Its recipient.
    pub to: Recipient,
}

/// The recipient of the messages of a [`Digest`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Recipient {
    /// The control plane.
    #[default]
    Controller,
    /// A table, which gets a new entry that may expire. There is one field for each key field (all of which are
    /// exact), one for each parameter of the action, and one for the number of an expiry profile.
    NewEntry {
        /// Table.
        table: TableId,
        /// Index into [`Table::actions`].
        action: u32,
    },
    /// Two tables, each of which gets a new entry; the two expire and are deleted together. The fields are those of
    /// two [`Recipient::NewEntry`] with a common profile.
    NewPair {
        /// Table whose action sends the message.
        table: TableId,
        /// Index into its [`Table::actions`].
        action: u32,
        /// The other table.
        reverse: TableId,
        /// Index into the other's [`Table::actions`].
        reverse_action: u32,
    },
    /// A table, one of whose entries gets another idle time-out. There is one field for each key field, and one for
    /// the number of an expiry profile.
    NewTimeout {
        /// Table.
        table: TableId,
    },
    /// A pool from which a packet has taken a number. The number belongs to the next entry that the packet adds, and
    /// is given back when that entry ends. The fields are the number, and whether there was one.
    Number {
        /// Register of the free numbers, a ring.
        ring: RegisterId,
        /// Register of the ring's first and last place, and of the number of taken numbers.
        counts: RegisterId,
    },
    /// A quota of which a packet has taken a share. The share belongs to the next entry that the packet adds, and is
    /// given back when that entry ends. The fields are an index, and whether there was a share.
    Share {
        /// Register of the numbers of shares taken, by index.
        taken: RegisterId,
    },
}

impl Recipient {
    /// The table whose action sends the message, if it is for one.
    pub fn table(self) -> Option<TableId> {
        match self {
            Recipient::Controller | Recipient::Number { .. } | Recipient::Share { .. } => None,
            Recipient::NewEntry { table, .. } | Recipient::NewPair { table, .. } | Recipient::NewTimeout { table } => {
                Some(table)
            }
        }
    }

    /// Whether the message adds an entry to a table.
    pub fn adds_to(self, wanted: TableId) -> bool {
        match self {
            Recipient::NewEntry { table, .. } => table == wanted,
            Recipient::NewPair { table, reverse, .. } => [table, reverse].contains(&wanted),
            Recipient::Controller
            | Recipient::NewTimeout { .. }
            | Recipient::Number { .. }
            | Recipient::Share { .. } => false,
        }
    }
}
