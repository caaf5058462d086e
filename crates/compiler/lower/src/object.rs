//! The objects of the instance tree.

use crate::environment::Binding;
use crate::value::Value;
use forebay_check::hir::{ActionId, ControlId, InstanceId, ParserId, TableId, Type, TypeVarId, ValueSetId, VarId};
use forebay_ir as ir;
use std::collections::HashMap;

/// Index into [`crate::context::Context::objects`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ObjectId(pub usize);

/// An object.
#[derive(Clone, Debug)]
pub enum Object {
    /// A control.
    Control(ControlInstance),
    /// A parser.
    Parser(ParserInstance),
    /// A package: its arguments.
    Package(Vec<Option<Value>>),
    /// `counter`
    Counter(ir::CounterId),
    /// `direct_counter`
    DirectCounter(ir::CounterId),
    /// `meter`
    Meter(ir::MeterId),
    /// `direct_meter`: the slot receives the colour in the actions of its table.
    DirectMeter(ir::MeterId, Option<ir::SlotId>),
    /// `register` and the type of its elements.
    Register(ir::RegisterId, Type),
    /// `action_profile`, `action_selector`
    ActionProfile(ir::ActionProfileId),
    /// `Checksum16`
    Checksum16,
    /// `Hash` and the type of its results.
    Hash(ir::HashAlgorithm, Type),
    /// `Checksum`, the type of its results, and the slot with its current value.
    Checksum(ir::HashAlgorithm, Type, ir::SlotId),
    /// `InternetChecksum`: the slot of its sum.
    InternetChecksum(ir::SlotId),
    /// `Random`
    Random {
        /// Low end, inclusive.
        low: ir::Expr,
        /// High end, inclusive.
        high: ir::Expr,
        /// Bits of its results.
        width: u32,
    },
    /// `Digest`
    Digest(ir::DigestId),
    /// `NumberPool`: its free numbers, their counts, and the message of a packet that takes one.
    NumberPool {
        /// Ring.
        ring: ir::RegisterId,
        /// Counts.
        counts: ir::RegisterId,
        /// Message.
        digest: ir::DigestId,
    },
    /// `Quota`: the shares that are taken, and the message of a packet that takes one.
    Quota {
        /// Shares.
        taken: ir::RegisterId,
        /// Message.
        digest: ir::DigestId,
    },
    /// A part of the switch that programs can only name.
    Engine,
    /// The packet a parser reads.
    PacketIn,
    /// The packet a deparser writes.
    PacketOut,
    /// An extern object that the target passes to a block. Calls of its methods are reported.
    OfTarget,
    /// An extern that this architecture does not have. Its instantiation was reported.
    Unsupported,
}

/// The bindings of a parser or control instance. They are installed whenever it is applied.
#[derive(Clone, Debug, Default)]
pub struct Scope {
    /// Name, the prefix of everything inside.
    pub path: String,
    /// Type parameters.
    pub types: Vec<(TypeVarId, Type)>,
    /// Constructor parameters; for a control, after its first application, also parameters and local variables.
    pub vars: Vec<(VarId, Binding)>,
    /// Local instances.
    pub instances: Vec<(InstanceId, ObjectId)>,
}

/// An instance of a control.
#[derive(Clone, Debug)]
pub struct ControlInstance {
    /// Its declaration.
    pub control: ControlId,
    /// Its bindings.
    pub scope: Scope,
    /// The number of its applications in the elaborated program.
    pub apply_sites: usize,
    /// Whether it has been applied, so that its parameters and variables have storage.
    pub is_bound: bool,
    /// Whether it is a block of the architecture, whose actions can leave it with a plain exit.
    pub is_top: bool,
    /// Its tables that were applied.
    pub tables: HashMap<TableId, ir::TableId>,
    /// Actions without bound arguments, shared by its tables.
    pub actions: HashMap<ActionId, ir::ActionId>,
    /// Set by actions that exit, if it is not a block of the architecture.
    pub exit_flag: Option<ir::SlotId>,
}

/// An instance of a parser.
#[derive(Clone, Debug)]
pub struct ParserInstance {
    /// Its declaration.
    pub parser: ParserId,
    /// Its bindings.
    pub scope: Scope,
    /// Its value sets.
    pub value_sets: HashMap<ValueSetId, ir::ValueSetId>,
}
