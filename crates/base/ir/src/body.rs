//! Bodies: control-flow graphs of operations.

use crate::{
    BlockId, CalculationId, CounterId, DigestId, Expr, HeaderId, Location, MeterId, RegisterId, SlotId, TableId,
    ValueSetId,
};
use forebay_bits::Bits;

/// A parser, a control, a deparser or an action: blocks, executed from block 0.
#[derive(Clone, Debug, PartialEq)]
pub struct Body {
    /// Name for people: `MyParser`, `MyIngress`, `MyIngress.forward`.
    pub name: String,
    /// What may stand in it.
    pub kind: BodyKind,
    /// Blocks; the first is the entry.
    pub blocks: Vec<Block>,
}

/// What a body is, and so which operations it may contain (see [`crate::verify`]).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum BodyKind {
    /// Reads a packet.
    Parser,
    /// Match-action.
    Control,
    /// Writes a packet.
    Deparser,
    /// Invoked by a table.
    Action,
}

/// A basic block.
#[derive(Clone, Debug, PartialEq)]
pub struct Block {
    /// Name of the parser state that begins here (`start`, or `sub.start` after inlining).
    pub label: Option<String>,
    /// Operations in order.
    pub statements: Vec<Statement>,
    /// What follows.
    pub terminator: Terminator,
    /// Place of the terminator.
    pub location: Location,
}

/// An operation and its place in the source.
#[derive(Clone, Debug, PartialEq)]
pub struct Statement {
    /// The operation.
    pub op: Op,
    /// Its place.
    pub location: Location,
}

/// How a block ends.
#[derive(Clone, Debug, PartialEq)]
pub enum Terminator {
    /// Go on there.
    Jump(BlockId),
    /// On a condition of width 1.
    Branch {
        /// Condition.
        condition: Expr,
        /// When 1.
        then_block: BlockId,
        /// When 0.
        else_block: BlockId,
    },
    /// The first case whose keysets all match the keys. In a parser `default` usually rejects with `NoMatch`.
    Select {
        /// What is matched.
        keys: Vec<Expr>,
        /// In order; each has as many keysets as there are keys.
        cases: Vec<SelectCase>,
        /// When none matches.
        default: BlockId,
    },
    /// Look the table's key up, execute the action found (or the default action), go on at `next`. When the action ends
    /// with [`Terminator::Exit`], so does this body.
    Apply {
        /// Table.
        table: TableId,
        /// Receives 1 on a hit, 0 on a miss (before the action executes).
        hit: Option<SlotId>,
        /// Receives the index into [`crate::Table::actions`] of the action that ran (width 32).
        action_run: Option<SlotId>,
        /// After it.
        next: BlockId,
    },
    /// The body ends normally: a parser accepts.
    Return,
    /// Ends the whole control that is executing (§12.5 `exit`).
    Exit,
    /// Parser only: ends with this value of `error` (width 32).
    Reject(Expr),
}

/// A case of [`Terminator::Select`].
#[derive(Clone, Debug, PartialEq)]
pub struct SelectCase {
    /// One for each key.
    pub keysets: Vec<KeySet>,
    /// Where to go.
    pub target: BlockId,
}

/// A set of values of one key.
#[derive(Clone, Debug, PartialEq)]
pub enum KeySet {
    /// Everything.
    Any,
    /// One value.
    Exact(Bits),
    /// Values equal to `value` in the bits of `mask`.
    Mask {
        /// Value.
        value: Bits,
        /// Mask.
        mask: Bits,
    },
    /// From `low` to `high`, both inclusive, unsigned (for a signed key, lowering has split or biased the range).
    Range {
        /// Low end.
        low: Bits,
        /// High end.
        high: Bits,
    },
    /// Equal to an expression that is not constant.
    Equals(Expr),
    /// Equal to a dynamic value under a dynamic mask.
    EqualsMasked {
        /// Value.
        value: Expr,
        /// Mask.
        mask: Expr,
    },
    /// Member of a value set, whose element begins with component `first` at this key: a value set over several keys
    /// stands at each of them with `component` counting up; the case matches when one element matches all components.
    ValueSet {
        /// Value set.
        set: ValueSetId,
        /// Which component of the element this key is.
        component: u32,
    },
}

/// A piece of data for a hash, a checksum or a digest.
#[derive(Clone, Debug, PartialEq)]
pub enum DataItem {
    /// A value of fixed width.
    Value(Expr),
    /// A varbit field: the low `length` bits of `value`.
    Varbit {
        /// Slot of the value.
        value: SlotId,
        /// Slot of its present length in bits.
        length: SlotId,
    },
}

/// An operation with an effect.
#[derive(Clone, Debug, PartialEq)]
pub enum Op {
    /// `slot = value`; the widths are equal.
    Assign {
        /// Target.
        slot: SlotId,
        /// Value.
        value: Expr,
    },
    /// Parser: take the header's fields from the packet, make it valid and move on. Ends the parser with
    /// `PacketTooShort` when the packet has too few bits left (nothing is changed then).
    Extract {
        /// Header.
        header: HeaderId,
        /// Number of bits of its varbit field, of which a header has at most one. Ends the parser with `HeaderTooShort`
        /// when larger than its maximum, `ParserInvalidArgument` when not a multiple of 8.
        varbit_bits: Option<Expr>,
    },
    /// Parser: skip bits. Ends the parser with `PacketTooShort` when there are fewer.
    Advance {
        /// How many.
        bits: Expr,
    },
    /// Parser: read the next bits without moving on, as many as the slot is wide. Ends the parser with `PacketTooShort`
    /// when there are fewer.
    Lookahead {
        /// Receives them.
        slot: SlotId,
    },
    /// Parser: `packet_in.length()`, in bytes.
    PacketLength {
        /// Receives it (width 32).
        slot: SlotId,
    },
    /// Deparser: append the header if it is valid.
    Emit {
        /// Header.
        header: HeaderId,
    },
    /// `register.read`; 0 when the index is out of range.
    RegisterRead {
        /// Register array.
        register: RegisterId,
        /// Index.
        index: Expr,
        /// Receives the element.
        slot: SlotId,
    },
    /// `register.write`; nothing happens when the index is out of range.
    RegisterWrite {
        /// Register array.
        register: RegisterId,
        /// Index.
        index: Expr,
        /// Value.
        value: Expr,
    },
    /// `counter.count`; nothing happens when the index is out of range.
    Count {
        /// Counter array.
        counter: CounterId,
        /// Index.
        index: Expr,
    },
    /// `meter.execute_meter`.
    ExecuteMeter {
        /// Meter array.
        meter: MeterId,
        /// Index.
        index: Expr,
        /// The colour that the packet has before: 0 green, 1 yellow, 2 (and more) red. It gets no better one, and takes no tokens of a
        /// bucket that this colour does not stand for (RFC 2698, colour-aware). Without it every packet is green before.
        before: Option<Expr>,
        /// Receives the colour: 0 green, 1 yellow, 2 red, or [`crate::UNMETERED`].
        slot: SlotId,
    },
    /// `hash`: `base + H(data) mod max` when `range` is given, `H(data)` reduced to the slot's width otherwise.
    Hash {
        /// Algorithm.
        algorithm: HashAlgorithm,
        /// Data in order.
        data: Vec<DataItem>,
        /// Base and max, of any widths.
        range: Option<(Expr, Expr)>,
        /// Receives the result.
        slot: SlotId,
    },
    /// `verify_checksum[_with_payload]`: if `condition` and the checksum differs, sets `checksum_error`.
    VerifyChecksum {
        /// Condition.
        condition: Expr,
        /// Data in order.
        data: Vec<DataItem>,
        /// The checksum to compare with.
        checksum: Expr,
        /// Algorithm.
        algorithm: HashAlgorithm,
        /// Whether the payload (what the parser left) is part of the data.
        payload: bool,
    },
    /// `update_checksum[_with_payload]`: if `condition`, computes the checksum into `slot`.
    UpdateChecksum {
        /// Condition.
        condition: Expr,
        /// Data in order.
        data: Vec<DataItem>,
        /// Receives the checksum.
        slot: SlotId,
        /// Algorithm.
        algorithm: HashAlgorithm,
        /// Whether the payload is part of the data.
        payload: bool,
    },
    /// `random`: uniform between two inclusive bounds.
    Random {
        /// Low end.
        low: Expr,
        /// High end.
        high: Expr,
        /// Receives it.
        slot: SlotId,
    },
    /// `digest`: ask that the data be sent to the control plane.
    Digest {
        /// Which.
        digest: DigestId,
        /// Values in order of [`crate::Digest::fields`].
        data: Vec<Expr>,
    },
    /// `clone`, `clone_preserving_field_list`.
    Clone {
        /// From ingress or from egress.
        kind: CloneKind,
        /// Clone session.
        session: Expr,
        /// Index into [`crate::Program::field_lists`] (width 8), if fields are preserved.
        field_list: Option<Expr>,
    },
    /// `resubmit_preserving_field_list`.
    Resubmit {
        /// Index into [`crate::Program::field_lists`] (width 8).
        field_list: Option<Expr>,
    },
    /// `recirculate_preserving_field_list`.
    Recirculate {
        /// Index into [`crate::Program::field_lists`] (width 8).
        field_list: Option<Expr>,
    },
    /// `truncate`: at most so many bytes leave.
    Truncate {
        /// Number of bytes.
        bytes: Expr,
    },
    /// Begins an atomic section (P4_16 §18.4.1, `@atomic`): no other packet is in a section of the same lock and index
    /// until this one ends. Sections do not nest: one that begins ends the one before.
    EnterAtomic {
        /// Which lock; in a program that is loaded, the [`RegisterId`] of one of the registers that it protects.
        lock: u32,
        /// Sections of one lock whose indices differ do not exclude each other. Without, they do.
        index: Option<Expr>,
    },
    /// Ends the section, if there is one. The end of a body of the architecture does too.
    LeaveAtomic,
    /// `log_msg`: `{}` in the format are replaced by the arguments in order.
    LogMessage {
        /// Format.
        format: String,
        /// Arguments.
        args: Vec<Expr>,
    },
    /// `assert`: a packet for which the condition is 0 is reported and dropped.
    Assert {
        /// Condition.
        condition: Expr,
        /// Text of the condition, for the report.
        text: String,
    },
    /// `assume`: like [`Op::Assert`], said of the input.
    Assume {
        /// Condition.
        condition: Expr,
        /// Text of the condition.
        text: String,
    },
}

/// Which pipeline a clone is taken from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CloneKind {
    /// `CloneType.I2E`
    IngressToEgress,
    /// `CloneType.E2E`
    EgressToEgress,
}

/// Hash algorithms of the architectures.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum HashAlgorithm {
    /// CRC-32 (IEEE 802.3).
    Crc32,
    /// CRC-16 (ARC).
    Crc16,
    /// A CRC of [`Program::calculations`](crate::Program::calculations), whose parameters the control plane may change.
    Custom(CalculationId),
    /// The target's choice.
    Random,
    /// The data itself.
    Identity,
    /// Ones' complement sum of 16-bit words (RFC 1071).
    Csum16,
    /// Exclusive or of 16-bit words.
    Xor16,
    /// [`HashAlgorithm::Crc32`] of data that comes piece by piece: the first 32 bits are the check of what came before, 0 of nothing;
    /// the result is that of all.
    Crc32More,
    /// The same of [`HashAlgorithm::Crc16`], with 16 bits.
    Crc16More,
}

impl HashAlgorithm {
    /// The names of v1model's `HashAlgorithm`, but for the custom ones, and those of the algorithms that no program names.
    pub(crate) const NAMES: &'static [(HashAlgorithm, &'static str)] = &[
        (HashAlgorithm::Crc32, "crc32"),
        (HashAlgorithm::Crc16, "crc16"),
        (HashAlgorithm::Random, "random"),
        (HashAlgorithm::Identity, "identity"),
        (HashAlgorithm::Csum16, "csum16"),
        (HashAlgorithm::Xor16, "xor16"),
        (HashAlgorithm::Crc32More, "crc32_more"),
        (HashAlgorithm::Crc16More, "crc16_more"),
    ];

    /// The algorithm that v1model gives this name. `crc16_custom` and `crc32_custom` are none before they are a calculation.
    pub fn from_name(name: &str) -> Option<HashAlgorithm> {
        let known = HashAlgorithm::NAMES.iter().find(|(_, known)| *known == name)?;
        Some(known.0).filter(|known| !matches!(known, HashAlgorithm::Crc32More | HashAlgorithm::Crc16More))
    }
}
