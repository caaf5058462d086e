//! A whole program: storage, objects, bodies and the role of each body in the architecture.

use crate::pipeline::Graph;
use crate::{
    Action, ActionProfile, Block, Body, BodyKind, Calculation, Counter, Digest, Expr, Meter, Op, Recipient, Register,
    Statement, Table, Terminator, ValueSet,
};
use std::collections::BTreeMap;

macro_rules! ids {
    ($($(#[$doc:meta])* $name:ident),+ $(,)?) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(pub u32);

        impl $name {
            /// The index into the program's vector.
            pub fn index(self) -> usize {
                self.0 as usize
            }
        }
    )+};
}

ids!(
    /// Index into [`Program::slots`].
    SlotId,
    /// Index into [`Program::headers`].
    HeaderId,
    /// Index into [`Program::bodies`].
    BodyId,
    /// Index into [`Body::blocks`].
    BlockId,
    /// Index into [`Program::actions`].
    ActionId,
    /// Index into [`Program::tables`].
    TableId,
    /// Index into [`Program::action_profiles`].
    ActionProfileId,
    /// Index into [`Program::registers`].
    RegisterId,
    /// Index into [`Program::counters`].
    CounterId,
    /// Index into [`Program::meters`].
    MeterId,
    /// Index into [`Program::value_sets`].
    ValueSetId,
    /// Index into [`Program::digests`].
    DigestId,
    /// Index into [`Program::calculations`].
    CalculationId,
);

/// A program ready to execute.
#[derive(Clone, Debug, PartialEq)]
pub struct Program {
    /// The architecture whose package `main` instantiates.
    pub architecture: Architecture,
    /// Source files, for [`Location::file`].
    pub files: Vec<String>,
    /// Names of `error` values; the index is the value. `NoError` is 0.
    pub errors: Vec<String>,
    /// Storage.
    pub slots: Vec<Slot>,
    /// Header instances (stack elements and union members are separate instances).
    pub headers: Vec<Header>,
    /// Parsers, controls, actions' bodies.
    pub bodies: Vec<Body>,
    /// The body for each role.
    pub stages: BTreeMap<Role, BodyId>,
    /// Slots of the architecture's intrinsic metadata by field name: `ingress_port`, `egress_spec`, ... of
    /// `standard_metadata_t` for v1model; with block and parameter as a prefix (`Ingress.ostd.drop`) for others.
    pub intrinsic: BTreeMap<String, SlotId>,
    /// Fields marked with `@field_list(i)`: what resubmit, recirculate and clone with that index preserve. For PSA,
    /// the metadata that a deparser writes and a later parser reads.
    pub field_lists: BTreeMap<u32, Vec<SlotId>>,
    /// Actions that tables invoke.
    pub actions: Vec<Action>,
    /// Tables.
    pub tables: Vec<Table>,
    /// Action profiles and selectors.
    pub action_profiles: Vec<ActionProfile>,
    /// Register arrays.
    pub registers: Vec<Register>,
    /// Counter arrays and direct counters.
    pub counters: Vec<Counter>,
    /// Meter arrays and direct meters.
    pub meters: Vec<Meter>,
    /// Parser value sets.
    pub value_sets: Vec<ValueSet>,
    /// Digests.
    pub digests: Vec<Digest>,
    /// Hashes whose parameters the control plane may change.
    pub calculations: Vec<Calculation>,
    /// What the architecture does around the bodies, once its builder has made it.
    pub graph: Option<Graph>,
}

impl Program {
    /// An empty program.
    pub fn new(architecture: Architecture) -> Self {
        Program {
            architecture,
            files: Vec::new(),
            errors: Vec::new(),
            slots: Vec::new(),
            headers: Vec::new(),
            bodies: Vec::new(),
            stages: BTreeMap::new(),
            intrinsic: BTreeMap::new(),
            field_lists: BTreeMap::new(),
            actions: Vec::new(),
            tables: Vec::new(),
            action_profiles: Vec::new(),
            registers: Vec::new(),
            counters: Vec::new(),
            meters: Vec::new(),
            value_sets: Vec::new(),
            digests: Vec::new(),
            calculations: Vec::new(),
            graph: None,
        }
    }

    /// The slot's description.
    pub fn slot(&self, id: SlotId) -> &Slot {
        &self.slots[id.index()]
    }

    /// The bodies of a table's actions, in the order of its list.
    pub fn bodies_of_actions(&self, table: TableId) -> impl Iterator<Item = BodyId> {
        let listed = self.tables[table.index()].actions.iter();
        listed.map(|listed| self.actions[listed.action.index()].body)
    }

    /// The same, not as numbers.
    pub fn actions_of(&self, table: TableId) -> impl Iterator<Item = &Body> {
        self.bodies_of_actions(table).map(|body| &self.bodies[body.index()])
    }

    /// The body of an action.
    pub fn body_of(&self, action: ActionId) -> &Body {
        &self.bodies[self.actions[action.index()].body.index()]
    }

    /// The bits of a header's fields of fixed width, and the most bits of its field of variable width (0 without one).
    pub fn header_bits(&self, header: &Header) -> (u64, u64) {
        header.fields.iter().fold((0, 0), |(fixed, variable), field| {
            let width = u64::from(self.slot(field.slot).width);
            match field.length {
                Some(_) => (fixed, variable + width),
                None => (fixed + width, variable),
            }
        })
    }

    /// The body with this role, if the architecture and the program have one.
    pub fn stage(&self, role: Role) -> Option<&Body> {
        self.stages.get(&role).map(|id| &self.bodies[id.index()])
    }

    /// The number of `error.NAME`, if declared.
    pub fn error(&self, name: &str) -> Option<u32> {
        self.errors.iter().position(|e| e == name).map(|i| i as u32)
    }

    /// Whether packets add entries to a table.
    pub fn learns(&self, table: TableId) -> bool {
        self.digests.iter().any(|digest| digest.to.adds_to(table))
    }

    /// Whether a message is for a table, a pool or a quota, and not for a controller.
    pub fn is_for_table(&self, digest: DigestId) -> bool {
        !matches!(self.digests[digest.index()].to, Recipient::Controller)
    }

    /// Whether any body calls `random`.
    pub fn draws_random_numbers(&self) -> bool {
        self.statements()
            .any(|statement| matches!(statement.op, Op::Random { .. }))
    }

    /// The statements of all bodies.
    pub fn statements(&self) -> impl Iterator<Item = &Statement> {
        self.bodies.iter().flat_map(Body::statements)
    }

    /// The statements of all bodies, to be changed.
    pub fn statements_mut(&mut self) -> impl Iterator<Item = &mut Statement> {
        let blocks = self.bodies.iter_mut().flat_map(|body| &mut body.blocks);
        blocks.flat_map(|block| &mut block.statements)
    }
}

/// Architectures that lowering supports.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Architecture {
    /// `v1model.p4`, with the behaviour of BMv2's simple_switch.
    V1Model,
    /// `psa.p4`: the Portable Switch Architecture.
    Psa,
    /// `pna.p4`: the Portable NIC Architecture.
    Pna,
}

impl Architecture {
    /// Every architecture with its name in the text form.
    pub const NAMES: &'static [(Architecture, &'static str)] = &[
        (Architecture::V1Model, "v1model"),
        (Architecture::Psa, "psa"),
        (Architecture::Pna, "pna"),
    ];

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Architecture::V1Model => "v1model",
            Architecture::Psa => "psa",
            Architecture::Pna => "pna",
        }
    }

    /// Its programmable blocks, in the order in which packets pass them.
    pub fn roles(self) -> &'static [Role] {
        match self {
            Architecture::V1Model => &[
                Role::Parser,
                Role::VerifyChecksum,
                Role::Ingress,
                Role::Egress,
                Role::ComputeChecksum,
                Role::Deparser,
            ],
            Architecture::Psa => &[
                Role::IngressParser,
                Role::Ingress,
                Role::IngressDeparser,
                Role::EgressParser,
                Role::Egress,
                Role::EgressDeparser,
            ],
            Architecture::Pna => &[
                Role::MainParser,
                Role::PreControl,
                Role::MainControl,
                Role::MainDeparser,
            ],
        }
    }
}

/// The first port of PNA that leads to the host; those below lead to the network.
pub const PNA_FIRST_HOST_PORT: u32 = 256;

/// The programmable blocks of the architectures.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Role {
    /// v1model `Parser`.
    Parser,
    /// v1model `VerifyChecksum`.
    VerifyChecksum,
    /// v1model and PSA `Ingress`.
    Ingress,
    /// v1model and PSA `Egress`.
    Egress,
    /// v1model `ComputeChecksum`.
    ComputeChecksum,
    /// v1model `Deparser`.
    Deparser,
    /// PSA `IngressParser`.
    IngressParser,
    /// PSA `IngressDeparser`.
    IngressDeparser,
    /// PSA `EgressParser`.
    EgressParser,
    /// PSA `EgressDeparser`.
    EgressDeparser,
    /// PNA `MainParserT`.
    MainParser,
    /// PNA `PreControlT`; an empty body in a program without it.
    PreControl,
    /// PNA `MainControlT`.
    MainControl,
    /// PNA `MainDeparserT`.
    MainDeparser,
}

impl Role {
    /// The kind of body for this role.
    pub fn kind(self) -> BodyKind {
        match self {
            Role::Parser | Role::IngressParser | Role::EgressParser | Role::MainParser => BodyKind::Parser,
            Role::Deparser | Role::IngressDeparser | Role::EgressDeparser | Role::MainDeparser => BodyKind::Deparser,
            Role::VerifyChecksum
            | Role::Ingress
            | Role::Egress
            | Role::ComputeChecksum
            | Role::PreControl
            | Role::MainControl => BodyKind::Control,
        }
    }
}

/// A piece of storage of fixed width.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Slot {
    /// Full name for display: `hdr.ipv4.ttl`, `meta.nexthop`, `standard_metadata.egress_spec`, `MyIngress.tmp`.
    pub name: String,
    /// Width in bits. `bool` has 1; `error` and enums without representation have 32.
    pub width: u32,
    /// Whether its P4 type is `int<W>`. Only printing depends on it; operators determine how bits are interpreted.
    pub signed: bool,
    /// What it stores.
    pub kind: SlotKind,
}

/// What a slot stores.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SlotKind {
    /// A field of a header. A `varbit<W>` field has width W and holds its value right-aligned; see
    /// [`HeaderField::length`].
    Field(HeaderId),
    /// Validity bit of a header.
    Valid(HeaderId),
    /// Current number of bits in a varbit field (width 32).
    VarbitLength(HeaderId),
    /// `nextIndex` of a header stack (width 32).
    NextIndex,
    /// User metadata.
    Metadata,
    /// The architecture's intrinsic metadata.
    Intrinsic,
    /// A local variable or temporary of lowering.
    Local,
    /// A value of the architecture's graph that bodies do not use.
    Request,
}

/// A header instance.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Header {
    /// Full name: `hdr.ipv4`, `hdr.mpls[2]`.
    pub name: String,
    /// Name of its header type.
    pub type_name: String,
    /// Validity slot.
    pub valid: SlotId,
    /// Fields in wire order.
    pub fields: Vec<HeaderField>,
}

/// A field of a header instance.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HeaderField {
    /// Name of the field in its type (`a.b` inside a struct-typed field).
    pub name: String,
    /// Value.
    pub slot: SlotId,
    /// For a varbit field: the slot with its current length in bits.
    pub length: Option<SlotId>,
}

/// A source location, for traces and messages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Location {
    /// Index into [`Program::files`].
    pub file: u32,
    /// Line, from 1; 0 when there is none.
    pub line: u32,
}

impl Location {
    /// `FILE:LINE`, without the file's folder; `files` are those of the program. None for a place that is in no file.
    pub fn short(self, files: &[String]) -> Option<String> {
        if self.line == 0 {
            return None;
        }
        let file = files.get(self.file as usize)?;
        let name = file.rsplit('/').next().unwrap_or(file);
        Some(format!("{name}:{}", self.line))
    }
}

impl Statement {
    /// A statement without a location.
    pub fn new(op: Op) -> Self {
        Statement {
            op,
            location: Location::default(),
        }
    }
}

impl Block {
    /// A block that has no name and no place in the source.
    pub fn new(statements: Vec<Statement>, terminator: Terminator) -> Block {
        Block {
            label: None,
            statements,
            terminator,
            location: Location::default(),
        }
    }

    /// The expressions that its operations and its terminator evaluate, to be changed.
    pub fn exprs_mut(&mut self) -> impl Iterator<Item = &mut Expr> {
        let statements = self.statements.iter_mut();
        let of_statements = statements.flat_map(|statement| statement.op.exprs_mut());
        of_statements.chain(self.terminator.exprs_mut())
    }
}

impl Terminator {
    /// The blocks that may follow.
    pub fn successors(&self) -> Vec<BlockId> {
        match self {
            Terminator::Jump(next) | Terminator::Apply { next, .. } => vec![*next],
            Terminator::Branch {
                then_block, else_block, ..
            } => vec![*then_block, *else_block],
            Terminator::Select { cases, default, .. } => cases
                .iter()
                .map(|case| case.target)
                .chain(std::iter::once(*default))
                .collect(),
            Terminator::Return | Terminator::Exit | Terminator::Reject(_) => Vec::new(),
        }
    }
}

impl Expr {
    /// The width in bits of the expression's value.
    pub fn width(&self, program: &Program) -> u32 {
        match self {
            Expr::Const(bits) => bits.width(),
            Expr::Slot(slot) => program.slot(*slot).width,
            Expr::Param { width, .. } => *width,
            Expr::Unary(_, operand) => operand.width(program),
            Expr::Binary(op, left, _) => {
                if op.is_comparison() {
                    1
                } else {
                    left.width(program)
                }
            }
            Expr::Slice { hi, lo, .. } => hi - lo + 1,
            Expr::Concat(high, low) => high.width(program) + low.width(program),
            Expr::ZeroExtend(width, _) | Expr::SignExtend(width, _) | Expr::Truncate(width, _) => *width,
            Expr::Mux { then_value, .. } => then_value.width(program),
        }
    }
}

impl Body {
    /// The statements of all blocks.
    pub fn statements(&self) -> impl Iterator<Item = &Statement> {
        self.blocks.iter().flat_map(|block| &block.statements)
    }

    /// Every slot that its operations and its tables write; not those that actions write.
    pub fn slots_written(&self, program: &Program) -> impl Iterator<Item = SlotId> {
        self.blocks.iter().flat_map(|block| {
            let statements = block.statements.iter();
            let by_statements = statements.flat_map(|statement| statement.op.slots_written(program));
            by_statements.chain(block.terminator.slots_written(program))
        })
    }

    /// The tables that its blocks apply, in the order of the blocks.
    pub fn applied_tables(&self) -> impl Iterator<Item = TableId> {
        self.blocks.iter().filter_map(|block| block.terminator.applied_table())
    }

    /// For each block, whether a path leads to it from the entry.
    pub fn reachable_blocks(&self) -> Vec<bool> {
        let mut reached = vec![false; self.blocks.len()];
        let mut pending = vec![BlockId(0)];
        while let Some(block) = pending.pop() {
            if let Some(seen) = reached.get_mut(block.index())
                && !std::mem::replace(seen, true)
            {
                pending.extend(self.blocks[block.index()].terminator.successors());
            }
        }
        reached
    }
}
