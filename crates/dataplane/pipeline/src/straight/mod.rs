//! Converts programs to *straight* ones, for specialised code: a straight program parses the frame once, before its
//! controls, and puts it together once, after them.
//!
//! ```text
//!  PSA    parser ─► ingress ─► deparser ─► frame ─► queue ─► parser ─► egress ─► deparser ─► frame
//!  here   parser ─► ingress ─► hand over ────────► decide ──────────► egress ─► end ──────► emit
//! ```
//!
//! [`forebay_jit::route`] supports one parser, one deparser and controls between them, which v1model programs have
//! already. Here, what the first deparser of a PSA program emits and the second parser extracts becomes assignments
//! between headers ([`reparse`]). *Hand over* is the first deparser without its emits, and the second parser over the
//! headers that were emitted. *End* is the second deparser without its emits. *Emit* emits what both emitted: first the
//! headers that egress emits, then those of ingress that its parser left in the frame.
//!
//! The resulting program has all of the original's tables, actions and objects with the same numbers, and further
//! bodies and slots. For a packet that arrives at a port and finds its queue empty, it has the same effects as the
//! architecture's graph. A request for a clone becomes an operation, as in v1model ([`cloning`]), if the clone can be
//! noted. A recirculation becomes the value of a slot ([`sends_back`]) if nothing else may be requested. Any other packet
//! that is cloned or sent back leaves specialised code after ingress, before its first deparser, and continues in the
//! graph ([`side_exit`]).

pub(crate) mod clone_head;
pub(crate) mod clones;
mod cloning;
mod deparsed;
pub(crate) mod kept;

mod pna;
mod psa;
pub(crate) mod psa_clones;
mod reparse;
pub(crate) mod returns;
mod sends_back;
pub(crate) mod side_exit;
mod sides;
mod state;
pub(crate) mod v1model;
mod validities;

use forebay_ir::{
    Architecture, Block, BlockId, Body, BodyId, BodyKind, Expr, HeaderId, Location, Op, Program, Role, Slot, SlotId,
    SlotKind, Statement, Terminator,
};
use forebay_jit::route::{Obstacle, ObstacleKind, Route, Stops};

/// A program for specialised code.
pub(crate) struct Straight {
    pub(crate) program: Program,
    pub(crate) route: Route,
}

/// Why a program has no straight path.
pub(crate) struct Refusal {
    location: Location,
    text: String,
}

impl Refusal {
    pub(crate) fn new(location: Location, text: impl Into<String>) -> Refusal {
        Refusal {
            location,
            text: text.into(),
        }
    }

    /// The obstacle that users are told about.
    pub(crate) fn obstacle(self) -> Obstacle {
        Obstacle {
            kind: ObstacleKind::Architecture,
            stops: Stops::All,
            location: self.location,
            text: self.text,
        }
    }
}

/// The straight path through a program. Not for v1model, whose programs are straight already.
///
/// # Panics
/// If the architecture is v1model.
pub(crate) fn straight(program: &Program) -> Result<Straight, Refusal> {
    match program.architecture {
        Architecture::V1Model => unreachable!("v1model has one parser and one deparser"),
        Architecture::Psa => psa::straight(program),
        Architecture::Pna => pna::straight(program),
    }
}

/// The port by which packets that go round again leave specialised code without values of their own, if the program has
/// such a port.
pub(crate) fn loop_port(program: &Program) -> Option<u32> {
    match program.architecture {
        Architecture::Psa => psa::loop_port(program),
        Architecture::V1Model | Architecture::Pna => None,
    }
}

/// A slot of the architecture that every program must have.
fn intrinsic(program: &Program, name: &str) -> Result<SlotId, Refusal> {
    let slot = program.intrinsic.get(name).copied();
    slot.ok_or_else(|| Refusal::new(Location::default(), format!("has no `{name}`")))
}

/// A new slot of the architecture, which is 0 when a packet arrives.
fn new_slot(program: &mut Program, name: &str, width: u32) -> SlotId {
    let id = SlotId(program.slots.len() as u32);
    program.slots.push(Slot {
        name: name.to_string(),
        width,
        signed: false,
        kind: SlotKind::Intrinsic,
    });
    id
}

fn new_body(program: &mut Program, name: &str, kind: BodyKind, blocks: Vec<Block>) -> BodyId {
    let id = BodyId(program.bodies.len() as u32);
    let mut body = Body {
        name: name.to_string(),
        kind,
        blocks,
    };
    forebay_ir::passes::tidy(&mut body);
    program.bodies.push(body);
    id
}

/// A new control that does nothing.
fn new_empty_control(program: &mut Program) -> BodyId {
    new_body(program, "nothing", BodyKind::Control, vec![ends(Vec::new())])
}

/// A new deparser that emits these headers, in order.
fn new_deparser(program: &mut Program, headers: impl IntoIterator<Item = HeaderId>) -> BodyId {
    let emits = headers.into_iter().map(|header| Statement::new(Op::Emit { header }));
    let blocks = vec![ends(emits.collect())];
    new_body(program, "emit", BodyKind::Deparser, blocks)
}

/// A block after which the body ends.
fn ends(statements: Vec<Statement>) -> Block {
    Block::new(statements, Terminator::Return)
}

/// A block after which `next` comes.
fn jumps(statements: Vec<Statement>, next: BlockId) -> Block {
    Block::new(statements, Terminator::Jump(next))
}

fn branch(condition: Expr, then_block: BlockId, else_block: BlockId) -> Block {
    let terminator = Terminator::Branch {
        condition,
        then_block,
        else_block,
    };
    Block::new(Vec::new(), terminator)
}

fn assign(slot: SlotId, value: Expr) -> Statement {
    Statement::new(Op::Assign { slot, value })
}

/// Appends blocks whose ids are relative to them. Blocks that end the body lead to `behind`, which is an absolute id.
fn append(blocks: &mut Vec<Block>, more: Vec<Block>, behind: BlockId) {
    let first = blocks.len() as u32;
    for mut block in more {
        for successor in block.terminator.successors_mut() {
            successor.0 += first;
        }
        if matches!(block.terminator, Terminator::Return | Terminator::Exit) {
            block.terminator = Terminator::Jump(behind);
        }
        blocks.push(block);
    }
}

/// The bodies of roles, and of the actions of their tables.
fn with_actions(program: &Program, roles: &[Role]) -> Vec<BodyId> {
    let mut bodies: Vec<BodyId> = roles.iter().map(|role| program.stages[role]).collect();
    let tables: Vec<_> = bodies
        .iter()
        .flat_map(|id| program.bodies[id.index()].applied_tables())
        .collect();
    for table in tables {
        bodies.extend(program.bodies_of_actions(table));
    }
    bodies.sort();
    bodies.dedup();
    bodies
}

/// Where an action of a control exits, if one does.
fn exit_in_action(program: &Program, role: Role) -> Option<Location> {
    let control = program.stages[&role];
    let actions = with_actions(program, &[role]).into_iter().filter(|id| *id != control);
    let mut blocks = actions.flat_map(|id| &program.bodies[id.index()].blocks);
    let exit = blocks.find(|block| block.terminator == Terminator::Exit);
    exit.map(|block| block.location)
}
