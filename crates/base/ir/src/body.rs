//! Bodies: control-flow graphs of operations.

use crate::{
    BlockId, CalculationId, CounterId, DigestId, Expr, HeaderId, Location, MeterId, RegisterId, SlotId, TableId,
    ValueSetId,
};
use forebay_bits::Bits;

/// A parser, a control, a deparser or an action: blocks, executed from block 0.
#[derive(Clone, Debug, PartialEq)]
pub struct Body {
    /// Name for display: `MyParser`, `MyIngress`, `MyIngress.forward`.
    pub name: String,
    /// Its kind, which determines what it may contain.
    pub kind: BodyKind,
    /// Blocks; the first is the entry.
    pub blocks: Vec<Block>,
}

/// The kind of a body, which determines the operations that it may contain (see [`crate::verify`]).
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
    /// Source location of the terminator.
    pub location: Location,
}

/// An operation and its place in the source.
#[derive(Clone, Debug, PartialEq)]
pub struct Statement {
    /// The operation.
    pub op: Op,
    /// Its source location.
    pub location: Location,
}

/// How a block ends.
#[derive(Clone, Debug, PartialEq)]
pub enum Terminator {
    /// Continue at a block.
    Jump(BlockId),
    /// Branch on a condition of width 1.
    Branch {
        /// Condition.
        condition: Expr,
        /// Target if it is 1.
        then_block: BlockId,
        /// Target if it is 0.
        else_block: BlockId,
    },
    /// Continue at the first case whose keysets all match the keys. In a parser `default` usually rejects with
    /// `NoMatch`.
    Select {
        /// What is matched.
        keys: Vec<Expr>,
        /// In order; each has as many keysets as there are keys.
        cases: Vec<SelectCase>,
        /// Target if no case matches.
        default: BlockId,
    },
    /// Look up the table's key, execute the action that was found (or the default action), and continue at `next`. If
    /// the action ends with [`Terminator::Exit`], this body ends with it, too.
    Apply {
        /// Table.
        table: TableId,
        /// Set to 1 on a hit, to 0 on a miss (before the action executes).
        hit: Option<SlotId>,
        /// Set to the index into [`crate::Table::actions`] of the action that ran (width 32).
        action_run: Option<SlotId>,
        /// The block after it.
        next: BlockId,
    },
    /// The body ends normally: a parser accepts.
    Return,
    /// Ends the whole control that is executing (`exit`, §12.5).
    Exit,
    /// Parser only: ends with this value of `error` (width 32).
    Reject(Expr),
}

/// A case of [`Terminator::Select`].
#[derive(Clone, Debug, PartialEq)]
pub struct SelectCase {
    /// One keyset for each key.
    pub keysets: Vec<KeySet>,
    /// The target.
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
    /// Member of a value set. A value set over several keys appears at each of them, with `component` counting up. The
    /// case matches when one element matches all components.
    ValueSet {
        /// Value set.
        set: ValueSetId,
        /// The index of this key's component in the element.
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
        /// Slot of its current length in bits.
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
    /// Parser: read the header's fields from the packet, make it valid and advance. Ends the parser with
    /// `PacketTooShort` when the packet has too few bits left (nothing is changed then).
    Extract {
        /// Header.
        header: HeaderId,
        /// Number of bits of its varbit field, of which a header has at most one. Ends the parser with
        /// `HeaderTooShort` when it is larger than the field's maximum, and with `ParserInvalidArgument` when it is
        /// not a multiple of 8.
        varbit_bits: Option<Expr>,
    },
    /// Parser: skip bits. Ends the parser with `PacketTooShort` when too few are left.
    Advance {
        /// The number of bits.
        bits: Expr,
    },
    /// Parser: read the next bits without advancing, as many as the slot is wide. Ends the parser with
    /// `PacketTooShort` when too few are left.
    Lookahead {
        /// Set to these bits.
        slot: SlotId,
    },
    /// Parser: `packet_in.length()`, in bytes.
    PacketLength {
        /// Set to the length (width 32).
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
        /// Set to the element.
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
        /// The packet's colour before: 0 green, 1 yellow, 2 (and more) red. The new colour is no better, and no tokens
        /// are taken from a bucket that this colour excludes (RFC 2698, colour-aware). Without it, every packet counts
        /// as green before.
        before: Option<Expr>,
        /// Set to the colour: 0 green, 1 yellow, 2 red, or [`crate::UNMETERED`].
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
        /// Set to the result.
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
        /// Set to the checksum.
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
        /// Set to the number.
        slot: SlotId,
    },
    /// `digest`: request that the data be sent to the control plane.
    Digest {
        /// The digest.
        digest: DigestId,
        /// Values in order of [`crate::Digest::fields`].
        data: Vec<Expr>,
    },
    /// `clone`, `clone_preserving_field_list`.
    Clone {
        /// Whether it is taken from ingress or from egress.
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
    /// `truncate`: limits the number of bytes that leave.
    Truncate {
        /// Number of bytes.
        bytes: Expr,
    },
    /// Begins an atomic section (P4_16 §18.4.1, `@atomic`): no other packet is in a section with the same lock and
    /// index until this one ends. Sections do not nest: a new section ends the previous one.
    EnterAtomic {
        /// The lock. In a loaded program, it is the [`RegisterId`] of one of the registers that it protects.
        lock: u32,
        /// Sections of one lock with different indices do not exclude each other. Without an index, they do.
        index: Option<Expr>,
    },
    /// Ends the section, if there is one. The end of a body of the architecture also ends it.
    LeaveAtomic,
    /// `log_msg`: each `{}` in the format is replaced by the next argument.
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
    /// `assume`: like [`Op::Assert`], for a condition on the input.
    Assume {
        /// Condition.
        condition: Expr,
        /// Text of the condition.
        text: String,
    },
}

/// The pipeline from which a clone is taken.
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
    /// An algorithm that the target chooses.
    Random,
    /// The data itself.
    Identity,
    /// Ones' complement sum of 16-bit words (RFC 1071).
    Csum16,
    /// Exclusive or of 16-bit words.
    Xor16,
    /// [`HashAlgorithm::Crc32`] of data that comes in pieces: the first 32 bits are the CRC of the previous pieces, or
    /// 0 if there are none. The result is the CRC of all pieces.
    Crc32More,
    /// The same for [`HashAlgorithm::Crc16`], with 16 bits.
    Crc16More,
    /// The Toeplitz hash of receive-side scaling.
    Toeplitz,
}

impl HashAlgorithm {
    /// The names in v1model's `HashAlgorithm`, except the custom ones, and names for algorithms that programs cannot
    /// name.
    pub(crate) const NAMES: &'static [(HashAlgorithm, &'static str)] = &[
        (HashAlgorithm::Crc32, "crc32"),
        (HashAlgorithm::Crc16, "crc16"),
        (HashAlgorithm::Random, "random"),
        (HashAlgorithm::Identity, "identity"),
        (HashAlgorithm::Csum16, "csum16"),
        (HashAlgorithm::Xor16, "xor16"),
        (HashAlgorithm::Crc32More, "crc32_more"),
        (HashAlgorithm::Crc16More, "crc16_more"),
        (HashAlgorithm::Toeplitz, "toeplitz"),
    ];

    /// The algorithm with this name in v1model. `crc16_custom` and `crc32_custom` have none before they become a
    /// calculation.
    pub fn from_name(name: &str) -> Option<HashAlgorithm> {
        let known = HashAlgorithm::NAMES.iter().find(|(_, known)| *known == name)?;
        Some(known.0).filter(|known| !matches!(known, HashAlgorithm::Crc32More | HashAlgorithm::Crc16More))
    }
}
