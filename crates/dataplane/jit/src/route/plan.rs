//! The ways through a parser, each on its own.
//!
//! ```text
//!   start ─► extract ethernet ─┬─ 0x0800 ─► extract ipv4 ─┬─ 17 ─► extract udp ─► leaf: ethernet, ipv4, udp
//!                              │                          └────► leaf: ethernet, ipv4
//!                              └────► leaf: ethernet
//! ```
//!
//! A graph becomes a tree: a state that several ways reach stands in it once for each of them. Loops end by themselves
//! where a stack is full, or at [`NODES_MAX`]; what is beyond the limits takes the slow path.

use super::coalescing::coalesce;
use super::facts::Facts;
use super::flow::{Flow, FlowBlock, Joint};
use super::jump_threading::Threading;
use super::limits::Limits;
use super::live_sets::{Crossings, crossings, written_before};
use super::look_up_hoisting::Early;
use super::specialise::{Special, fold, specialise, substitute_op, written};
use super::{BailOut, Notes, Order, Route};
use crate::analysis::{CursorFact, header_bits};
use forebay_bits::Bits;
use forebay_ir::{BlockId, Expr, Header, HeaderId, IndexSet, KeySet, Op, Program, SlotId, Terminator};
use std::collections::{BTreeMap, BTreeSet};

/// Nodes that a plan may have.
pub(super) const NODES_MAX: usize = 1_000;

/// Ways that a plan may have: each has its own copy of the controls.
pub(super) const LEAVES_MAX: usize = 64;

/// Statements that all copies of the controls may have together: they take most of the time of compilation.
pub(super) const STATEMENTS_MAX: usize = 6_000;

/// Blocks that all copies of the controls may have together for being taken apart.
const THREADED_BLOCKS_MAX: usize = 1_000;

/// Headers whose validity is not known for which there are copies of the deparser.
pub(crate) const UNCERTAIN_MAX: usize = 3;

/// Headers that are put together have at most so many bits.
pub(crate) const COMPOSED_BITS_MAX: u64 = 8 * 1024;

/// The tree.
#[derive(Debug)]
pub(crate) struct Plan {
    pub(crate) nodes: Vec<Node>,
    pub(crate) leaves: Vec<Leaf>,
    /// What was left out.
    pub(crate) limits: Limits,
}

/// An index into [`Plan::nodes`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct NodeId(pub(crate) usize);

/// Operations of the parser one after the other, and what follows. What is known there stands in the expressions.
#[derive(Debug)]
pub(crate) struct Node {
    pub(crate) statements: Vec<Planned>,
    pub(crate) next: Next,
}

/// An operation, and where the parser stands before it.
#[derive(Debug)]
pub(crate) struct Planned {
    pub(crate) op: Op,
    pub(crate) cursor: CursorFact,
}

/// How a node ends.
#[derive(Debug)]
pub(crate) enum Next {
    Branch {
        condition: Expr,
        then_node: NodeId,
        else_node: NodeId,
    },
    Select {
        keys: Vec<Expr>,
        cases: Vec<(Vec<KeySet>, NodeId)>,
        default: NodeId,
    },
    /// The parser accepts: index into [`Plan::leaves`].
    Leaf(usize),
    /// The packet takes the slow path.
    BailOut(BailOut),
}

/// The end of one way through the parser.
#[derive(Debug)]
pub(crate) struct Leaf {
    /// Slots whose value is known here.
    pub(crate) known: BTreeMap<SlotId, Bits>,
    /// Where the parser stands.
    pub(crate) cursor: CursorFact,
    /// The headers that the deparser emits if they are valid, in order, when it has no conditions.
    pub(crate) emitted: Option<Vec<HeaderId>>,
    /// The headers that were extracted, in order.
    pub(crate) extracted: Vec<HeaderId>,
    /// Whether they follow each other from the packet's start on, up to where the parser stands.
    pub(crate) contiguous: bool,
    /// Whether fields may be changed in the packet at once.
    pub(crate) in_place: bool,
    /// Whether packets may come to where the rest of their way is not known: see [`Route::misses`].
    pub(crate) misses: bool,
    /// What is noted; packets that do something else of the kind bail out.
    pub(crate) notes: Notes,
    /// What follows the parser.
    pub(crate) flow: Flow,
    /// By block of the flow: slots that may have been written behind the parser when it begins.
    pub(crate) written_before: Vec<IndexSet>,
    /// What packets take along to their look-ups.
    pub(crate) crossings: Crossings,
    /// Which look-ups can be made where packets wait for others.
    pub(crate) early: Early,
    /// The program as it is behind this way.
    pub(crate) program: Program,
    /// Slots that the bodies behind the parser write.
    pub(crate) written: BTreeSet<SlotId>,
    /// Slots that the parser itself wrote after it extracted their header, if it did.
    pub(crate) changed: BTreeSet<SlotId>,
}

/// What is known on a way.
#[derive(Clone)]
struct Way {
    known: BTreeMap<SlotId, Bits>,
    cursor: CursorFact,
    extracted: Vec<HeaderId>,
    /// Whether the headers follow each other from the packet's start on.
    contiguous: bool,
    /// See [`Leaf::changed`].
    changed: BTreeSet<SlotId>,
    steps: u64,
}

impl Plan {
    /// The plan of a program's parser.
    pub(crate) fn new(program: &Program, route: &Route, order: Order, step_limit: u64) -> Plan {
        Planner {
            notes: route.notes(program, order),
            ..Planner::new(program, route, step_limit, Depth::Full)
        }
        .plan()
    }

    /// What the [plan](Plan::new) of a program leaves out. What follows the parser is planned as far as that is needed to tell.
    pub(super) fn outline(program: &Program, route: &Route, step_limit: u64) -> Limits {
        Planner::new(program, route, step_limit, Depth::Limits).plan().limits
    }

    /// Whether packets may become copies.
    pub(crate) fn makes_copies(&self) -> bool {
        let mut blocks = self.leaves.iter().flat_map(|leaf| &leaf.flow.blocks);
        blocks.any(|block| block.joint == Some(Joint::Replicate))
    }

    /// The node where the parser begins.
    pub(crate) fn root(&self) -> NodeId {
        NodeId(0)
    }
}

/// What is to be found out.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Depth {
    /// All that is compiled.
    Full,
    /// [`Plan::limits`] only; there are no leaves.
    Limits,
}

struct Planner<'a> {
    program: &'a Program,
    route: &'a Route,
    depth: Depth,
    /// See [`Leaf::notes`].
    notes: Notes,
    step_limit: u64,
    /// Statements of all leaves' programs.
    statements: usize,
    /// See [`THREADED_BLOCKS_MAX`].
    blocks_left: usize,
    plan: Plan,
}

impl<'a> Planner<'a> {
    fn new(program: &'a Program, route: &'a Route, step_limit: u64, depth: Depth) -> Self {
        Planner {
            program,
            route,
            depth,
            notes: Notes::default(),
            step_limit,
            statements: 0,
            blocks_left: THREADED_BLOCKS_MAX,
            plan: Plan {
                nodes: Vec::new(),
                leaves: Vec::new(),
                limits: Limits::default(),
            },
        }
    }

    fn plan(mut self) -> Plan {
        let way = Way {
            known: self.route.known(self.program),
            cursor: CursorFact::At(0),
            extracted: Vec::new(),
            contiguous: true,
            changed: BTreeSet::new(),
            steps: 0,
        };
        self.node(BlockId(0), way);
        self.plan
    }

    /// The tree from a block on.
    fn node(&mut self, block: BlockId, mut way: Way) -> NodeId {
        let id = NodeId(self.plan.nodes.len());
        let bail_out = Node {
            statements: Vec::new(),
            next: Next::BailOut(BailOut::TooLarge),
        };
        self.plan.nodes.push(bail_out);
        if id.0 >= NODES_MAX {
            self.plan.limits.nodes_left_out += 1;
            return id;
        }
        let mut statements = Vec::new();
        let next = self.follow(block, &mut way, &mut statements);
        self.plan.nodes[id.0] = Node { statements, next };
        id
    }

    /// Blocks as long as one certainly follows the other, and then what decides.
    fn follow(&mut self, mut block: BlockId, way: &mut Way, statements: &mut Vec<Planned>) -> Next {
        loop {
            let current = &self.program.bodies[self.route.parser.index()].blocks[block.index()];
            way.steps += current.statements.len() as u64 + 1;
            if way.steps > self.step_limit {
                self.plan.limits.endless_ways += 1;
                return Next::BailOut(BailOut::TooLarge);
            }
            for statement in &current.statements {
                let cursor = way.cursor;
                if let Some(op) = self.statement(&statement.op, way) {
                    statements.push(Planned { op, cursor });
                }
            }
            block = match &current.terminator {
                Terminator::Jump(next) => *next,
                Terminator::Branch {
                    condition,
                    then_block,
                    else_block,
                } => match fold(condition, &way.known, self.program) {
                    Expr::Const(value) => *if value.is_zero() { else_block } else { then_block },
                    condition => {
                        let then_node = self.node(*then_block, way.clone());
                        let else_node = self.node(*else_block, way.clone());
                        return Next::Branch {
                            condition,
                            then_node,
                            else_node,
                        };
                    }
                },
                Terminator::Select { keys, cases, default } => return self.select(keys, cases, *default, way),
                Terminator::Return => return self.leaf(way),
                Terminator::Exit | Terminator::Apply { .. } | Terminator::Reject(_) => {
                    return Next::BailOut(BailOut::ParserError);
                }
            };
        }
    }

    fn select(&mut self, keys: &[Expr], cases: &[forebay_ir::SelectCase], default: BlockId, way: &Way) -> Next {
        let keys = keys.iter().map(|key| fold(key, &way.known, self.program)).collect();
        let mut planned = Vec::new();
        for case in cases {
            let keysets = case.keysets.iter().map(|keyset| self.keyset(keyset, way)).collect();
            planned.push((keysets, self.node(case.target, way.clone())));
        }
        let default = self.node(default, way.clone());
        Next::Select {
            keys,
            cases: planned,
            default,
        }
    }

    fn keyset(&self, keyset: &KeySet, way: &Way) -> KeySet {
        let fold = |expr: &Expr| fold(expr, &way.known, self.program);
        match keyset {
            KeySet::Equals(value) => KeySet::Equals(fold(value)),
            KeySet::EqualsMasked { value, mask } => KeySet::EqualsMasked {
                value: fold(value),
                mask: fold(mask),
            },
            constant => constant.clone(),
        }
    }

    /// The operation with what is known in it; nothing when it only makes something known.
    fn statement(&self, op: &Op, way: &mut Way) -> Option<Op> {
        let mut op = op.clone();
        substitute_op(&mut op, &way.known, self.program);
        way.changed.extend(op.target());
        match &op {
            Op::LogMessage { .. } => return None,
            Op::Assign {
                slot,
                value: Expr::Const(value),
            } => {
                way.known.insert(*slot, value.clone());
                return None;
            }
            Op::Extract { header, .. } => {
                for slot in self.program.headers[header.index()].slots() {
                    way.known.remove(&slot);
                    way.changed.remove(&slot);
                }
                way.known
                    .insert(self.program.headers[header.index()].valid, Bits::from_bool(true));
                way.extracted.push(*header);
            }
            Op::Advance { .. } => way.contiguous = false,
            other => {
                if let Some(slot) = other.target() {
                    way.known.remove(&slot);
                }
            }
        }
        way.cursor = way.cursor.after(self.program, &op);
        Some(op)
    }

    fn leaf(&mut self, way: &Way) -> Next {
        if self.plan.limits.ways >= LEAVES_MAX {
            self.plan.limits.ways_left_out += 1;
            return Next::BailOut(BailOut::TooLarge);
        }
        if self.statements > STATEMENTS_MAX {
            self.plan.limits.ways_without_statements += 1;
            return Next::BailOut(BailOut::TooLarge);
        }
        let mut special = specialise(self.program, self.route, &way.known);
        self.statements += special.statements;
        let program = &special.program;
        let replicates = self.route.may_replicate(program);
        if self.depth == Depth::Limits && !replicates && self.route.misses.is_none() {
            self.plan.limits.ways += 1;
            return Next::BailOut(BailOut::TooLarge);
        }
        let Some(mut flow) = self.flow(&special, way, replicates) else {
            return Next::BailOut(BailOut::Copies);
        };
        let misses = flow.may_set(self.route.misses);
        if misses && self.route.changes_state_in_ingress(program) {
            self.plan.limits.ways_that_miss += 1;
            return Next::BailOut(BailOut::Unknown);
        }
        self.plan.limits.ways += 1;
        self.blocks_left = self.blocks_left.saturating_sub(flow.blocks.len());
        if self.depth == Depth::Limits {
            return Next::BailOut(BailOut::TooLarge);
        }
        coalesce(&mut special.program, self.route, &mut flow, &way.extracted);
        special.written = written(&special.program, self.route);
        let program = &special.program;
        let written_before = written_before(program, self.route, &flow);
        self.plan.leaves.push(Leaf {
            known: way.known.clone(),
            cursor: way.cursor,
            emitted: special.emitted,
            extracted: way.extracted.clone(),
            contiguous: way.contiguous,
            in_place: !replicates
                && !misses
                && !self.route.may_bail_out(program, self.notes)
                && !self.route.clones(program),
            misses,
            notes: self.notes,
            crossings: crossings(program, self.route, &flow, &written_before),
            early: Early::of(program, self.route, &flow),
            written_before,
            flow,
            program: special.program,
            written: special.written,
            changed: way.changed.clone(),
        });
        Next::Leaf(self.plan.leaves.len() - 1)
    }

    /// What follows the parser on this way. Where packets cannot be copied, those that would have to be give up behind
    /// ingress; nothing when that is too late.
    fn flow(&mut self, special: &Special, way: &Way, replicates: bool) -> Option<Flow> {
        let (program, route) = (&special.program, self.route);
        let plain = Flow::of_bodies(program, route);
        let threading = Threading {
            program,
            route,
            emitted: special.emitted.as_deref().unwrap_or(&[]),
            blocks_max: plain.blocks.len() + self.blocks_left,
        };
        let facts = Facts::of(&way.known);
        if !replicates {
            return Some(threading.thread(&plain, facts));
        }
        let copied = threading.thread(&plain.clone().with_copies(), facts.clone());
        if self.can_copy(special, way, &copied) {
            return Some(copied);
        }
        self.plan.limits.ways_without_copies += 1;
        (!route.changes_state_in_ingress(program)).then(|| threading.thread(&plain, facts))
    }

    /// Whether all copies can be put together: their headers are known, and have whole bytes.
    fn can_copy(&self, special: &Special, way: &Way, flow: &Flow) -> bool {
        let program = &special.program;
        let Some(emitted) = &special.emitted else { return false };
        let headers = || emitted.iter().map(|id| &program.headers[id.index()]);
        let is_plain = |header: &Header| {
            let has_varbit = header.fields.iter().any(|field| field.length.is_some());
            !has_varbit && header_bits(program, header).0.is_multiple_of(8)
        };
        let bits_at = |block: &FlowBlock| -> u64 {
            let emitted = headers().filter(|header| block.facts.value(header.valid) != Some(0));
            emitted.map(|header| header_bits(program, header).0).sum()
        };
        let mut deparsed = flow
            .blocks
            .iter()
            .filter(|block| block.copies.is_some() && block.joint == Some(Joint::Deparse));
        let is_known = |block: &FlowBlock, valid: SlotId| {
            let stays = !special.written.contains(&valid) && way.known.contains_key(&valid);
            stays || block.facts.value(valid).is_some()
        };
        let are_known = |block: &FlowBlock| {
            let uncertain = headers().filter(|header| !is_known(block, header.valid));
            uncertain.count() <= UNCERTAIN_MAX && bits_at(block) <= COMPOSED_BITS_MAX
        };
        self.route.copies_can_be_processed(program)
            && headers().all(is_plain)
            && way.cursor.bit_in_byte() == Some(0)
            && deparsed.all(are_known)
    }
}
