//! The paths through a parser, each on its own.
//!
//! ```text
//!   start ─► extract ethernet ─┬─ 0x0800 ─► extract ipv4 ─┬─ 17 ─► extract udp ─► leaf: ethernet, ipv4, udp
//!                              │                          └────► leaf: ethernet, ipv4
//!                              └────► leaf: ethernet
//! ```
//!
//! The graph becomes a tree: a state that is reached on several paths appears once for each of them. Short paths come
//! first. Loops end when a stack is full, or at [`NODES_MAX`]. Packets on paths beyond the limits take the slow path.
//! So do packets that the parser rejects, also those that end before a header does. Each path that is left out has a
//! [name](PathId), so that the paths that packets take can be [requested](Plan::new) when the program is planned again.

use super::coalescing::coalesce;
use super::facts::Facts;
use super::flow::{Flow, FlowBlock, Joint};
use super::jump_threading::{Threading, in_case};
use super::known::Known;
use super::limits::Limits;
use super::live_sets::{Crossings, FlowLiveness, crossings, remove_dead_stores, written_before};
use super::look_up_hoisting::Early;
use super::specialise::{Special, fold, specialise, substitute_op, written};
use super::{BailOut, Notes, Order, Pass, Route, Watch, verify};
use crate::analysis::{CursorFact, varbits_up_to_length};
use forebay_bits::Bits;
use forebay_ir::{BlockId, DataItem, Expr, Header, HeaderId, IndexSet, KeySet, Op, Program, SlotId, Terminator};
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// The most nodes of a plan.
pub(super) const NODES_MAX: usize = 1_000;

/// The most nodes of a plan that wanted paths, and what is below them, may add to [`NODES_MAX`].
const NODES_BELOW_WANTED_MAX: usize = 1_000;

/// The most paths of a plan: each has its own copy of the controls.
pub(super) const LEAVES_MAX: usize = 64;

/// The most statements in all copies of the controls together, those of inlined actions included: they take most of the
/// compilation time. They are counted before jump threading, which leaves out some and copies others.
pub(super) const STATEMENTS_MAX: usize = 6_500;

/// The most statements of one copy. Beyond it, specialised code takes many seconds to compile and is about as fast as
/// general code.
pub(super) const PATH_STATEMENTS_MAX: usize = 18_000;

/// The most statements of copies that turn out not to be compiled, beyond which no more paths are looked at: where one
/// path has too many statements, hundreds of others often have them, too.
const VAIN_STATEMENTS_MAX: usize = 2 * PATH_STATEMENTS_MAX;

/// The most blocks that jump threading may make in all copies of the controls together, and the most statements.
const THREADED_BLOCKS_MAX: usize = 1_000;
const THREADED_STATEMENTS_MAX: usize = 9_000;

/// The most headers of unknown validity for which there is a copy of the deparser for each set of them.
pub(crate) const UNCERTAIN_MAX: usize = 3;

/// The most bits of headers that are put together.
pub(crate) const COMPOSED_BITS_MAX: u64 = 8 * 1024;

/// The tree.
#[derive(Debug, Default)]
pub(crate) struct Plan {
    pub(crate) nodes: Vec<Node>,
    pub(crate) leaves: Vec<Leaf>,
    /// The paths, and beginnings of paths, that are beyond the limits, and those on which the parser rejects.
    pub(crate) left_out: Vec<PathId>,
    /// How much was left out.
    pub(crate) limits: Limits,
}

/// The name of a path through the parser, or of the beginning of paths. It is the same whenever the program is
/// planned: a hash of the branches that the path takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PathId(u64);

impl PathId {
    /// The path that begins at the parser's start.
    const START: PathId = PathId(0x9e37_79b9_7f4a_7c15);

    /// The path of packets that end before this bit, which the parser would read next.
    fn too_short(self, end: u64) -> PathId {
        self.then(usize::MAX - end as usize)
    }

    /// The path after a branch with this number.
    fn then(self, branch: usize) -> PathId {
        let mixed = (self.0.rotate_left(23) ^ branch as u64).wrapping_mul(0xff51_afd7_ed55_8ccd);
        PathId(mixed ^ mixed >> 32)
    }
}

/// An index into [`Plan::nodes`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct NodeId(pub(crate) usize);

/// Consecutive operations of the parser, and what follows. Known values have been put into the expressions.
#[derive(Debug)]
pub(crate) struct Node {
    pub(crate) statements: Vec<Planned>,
    pub(crate) next: Next,
    /// The packet has this many bits, as an earlier [`Next::HasBits`] has found.
    pub(crate) bits_assured: u64,
}

/// An operation, and the parser's position before it.
#[derive(Debug)]
pub(crate) struct Planned {
    pub(crate) op: Op,
    pub(crate) cursor: CursorFact,
    /// The path of packets that end before what this operation reads, if it is left out: an index into
    /// [`Plan::left_out`].
    pub(crate) too_short: Option<usize>,
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
    /// Tests whether the packet has this many bits.
    HasBits {
        end: u64,
        then_node: NodeId,
        else_node: NodeId,
    },
    /// The packet goes on to ingress: an index into [`Plan::leaves`].
    Leaf(usize),
    /// The packet takes the slow path.
    BailOut(BailOut),
    /// The packet takes the slow path for this reason, because its path is left out: an index into [`Plan::left_out`].
    LeftOut(BailOut, usize),
}

/// The end of one path through the parser.
#[derive(Debug)]
pub(crate) struct Leaf {
    /// Slots whose value is known here.
    pub(crate) known: BTreeMap<SlotId, Bits>,
    /// The parser's position.
    pub(crate) cursor: CursorFact,
    /// The headers that the deparser emits if they are valid, in order, when it has no conditions.
    pub(crate) emitted: Option<Vec<HeaderId>>,
    /// The headers that were extracted, in order.
    pub(crate) extracted: Vec<HeaderId>,
    /// Whether the extracted headers are consecutive, from the packet's start to the parser's position.
    pub(crate) contiguous: bool,
    /// Whether fields may be changed in the packet at once.
    pub(crate) in_place: bool,
    /// Whether it may become unknown how packets continue: see [`Route::misses`].
    pub(crate) misses: bool,
    /// What is noted; packets that do other things of this kind bail out.
    pub(crate) notes: Notes,
    /// What follows the parser.
    pub(crate) flow: Flow,
    /// By block of the flow: the slots that may have been written between the parser and the block.
    pub(crate) written_before: Vec<IndexSet>,
    /// What packets keep while they wait for their look-ups.
    pub(crate) crossings: Crossings,
    /// The look-ups that can be made where packets wait for others.
    pub(crate) early: Early,
    /// The program, specialised for this path.
    pub(crate) program: Program,
    /// Slots that the bodies after the parser write. They have registers, as have fields that are only read on this
    /// path, so that a field that is read several times is loaded once.
    pub(crate) written: BTreeSet<SlotId>,
    /// Slots whose value as the parser left it may be read.
    pub(crate) needed: IndexSet,
    /// Slots that the parser itself wrote after it extracted their header, if any.
    pub(crate) changed: BTreeSet<SlotId>,
}

/// What is known on a path.
#[derive(Clone)]
struct Path {
    known: Known,
    /// What the parser's decisions imply about fields. They stay in the packet.
    facts: Facts,
    cursor: CursorFact,
    extracted: Vec<HeaderId>,
    /// Whether the extracted headers are consecutive from the packet's start on.
    contiguous: bool,
    /// See [`Leaf::changed`].
    changed: BTreeSet<SlotId>,
    steps: u64,
    /// Whether the parser has rejected the packet, which nevertheless goes on to ingress.
    is_rejected: bool,
    /// See [`Node::bits_assured`].
    bits_assured: u64,
    id: PathId,
    /// The rank of the wanted path that this is, or the longest that it begins with. Packets leave a compiled tree
    /// where it ends, so what is wanted is often the beginning of a path: nodes below it save compiling once for
    /// every branch.
    rank: Option<usize>,
}

/// The point at which the parser continues: a statement of a block.
#[derive(Clone, Copy)]
struct Place {
    block: BlockId,
    statement: usize,
}

impl Plan {
    /// The plan of a program's parser. The paths in `wanted` are preferred to others, earlier ones to later ones.
    pub(crate) fn new(
        program: &Program,
        route: &Route,
        order: Order,
        step_limit: u64,
        wanted: &[PathId],
        watch: &mut Watch<'_>,
    ) -> Plan {
        Planner {
            notes: route.notes(program, order),
            wanted: wanted.iter().copied().zip(0..).collect(),
            ..Planner::new(program, route, step_limit, Depth::Full, watch)
        }
        .plan()
    }

    /// What the [plan](Plan::new) of a program leaves out. Nothing is planned beyond the flows after the parser.
    pub(super) fn outline(program: &Program, route: &Route, step_limit: u64) -> Limits {
        Planner::new(program, route, step_limit, Depth::Limits, &mut |_| ())
            .plan()
            .limits
    }

    /// Whether packets may be copied.
    pub(crate) fn makes_copies(&self) -> bool {
        let mut blocks = self.leaves.iter().flat_map(|leaf| &leaf.flow.blocks);
        blocks.any(|block| block.joint == Some(Joint::Replicate))
    }

    /// The node where the parser begins.
    pub(crate) fn root(&self) -> NodeId {
        NodeId(0)
    }
}

/// Slots that are read as varbit data, in all bodies.
fn varbits(program: &Program) -> BTreeSet<SlotId> {
    let items = program.statements().flat_map(|statement| statement.op.data());
    items
        .flat_map(|item| match item {
            DataItem::Varbit { value, length } => vec![*value, *length],
            DataItem::Value(_) => Vec::new(),
        })
        .collect()
}

/// The live slots after the parser whose values may be observed: of a varbit field, only the bits that it has.
fn needed(program: &Program, mut live: IndexSet) -> IndexSet {
    live.remove_slots(varbits_up_to_length(program).keys());
    live
}

/// What is to be planned.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Depth {
    /// All that is compiled.
    Full,
    /// [`Plan::limits`] only; there are no leaves.
    Limits,
}

struct Planner<'a> {
    watch: &'a mut Watch<'a>,
    program: &'a Program,
    route: &'a Route,
    depth: Depth,
    /// See [`Leaf::notes`].
    notes: Notes,
    /// Slots that operations read as varbit data. These reads are not expressions into which a known value can be put.
    varbits: BTreeSet<SlotId>,
    step_limit: u64,
    /// Paths that are to be in the plan, with their rank.
    wanted: BTreeMap<PathId, usize>,
    /// The number of nodes of wanted paths and of those below them.
    below_wanted: usize,
    /// The number of nodes that have been processed.
    looked_at: usize,
    /// Nodes that have not been processed, each with the point at which it begins.
    pending: VecDeque<(NodeId, Place, Path)>,
    /// Nodes at which the parser ends and the packet goes on to ingress.
    accepting: Vec<(NodeId, Path)>,
    /// The statements of all leaves' flows before jump threading.
    statements: usize,
    /// See [`VAIN_STATEMENTS_MAX`].
    in_vain: usize,
    /// See [`THREADED_BLOCKS_MAX`].
    blocks_left: usize,
    /// See [`THREADED_STATEMENTS_MAX`].
    threaded_left: usize,
    plan: Plan,
}

impl<'a> Planner<'a> {
    fn new(program: &'a Program, route: &'a Route, step_limit: u64, depth: Depth, watch: &'a mut Watch<'a>) -> Self {
        Planner {
            watch,
            program,
            route,
            depth,
            notes: Notes::default(),
            varbits: varbits(program),
            step_limit,
            wanted: BTreeMap::new(),
            below_wanted: 0,
            looked_at: 0,
            pending: VecDeque::new(),
            accepting: Vec::new(),
            statements: 0,
            in_vain: 0,
            blocks_left: THREADED_BLOCKS_MAX,
            threaded_left: THREADED_STATEMENTS_MAX,
            plan: Plan::default(),
        }
    }

    fn plan(mut self) -> Plan {
        let path = Path {
            known: Known::new(self.route.known(self.program)),
            facts: Facts::default(),
            cursor: CursorFact::At(0),
            extracted: Vec::new(),
            contiguous: true,
            changed: BTreeSet::new(),
            steps: 0,
            is_rejected: false,
            bits_assured: 0,
            id: PathId::START,
            rank: None,
        };
        self.node(BlockId(0), path, 0);
        while let Some((id, place, path)) = self.pending.pop_front() {
            self.looked_at += 1;
            self.plan.nodes[id.0] = self.tree(id, place, path);
        }
        (self.watch)("parser");
        self.leaves();
        self.plan
    }

    /// A node for the tree from a block on, to which the branch with this number leads. Nodes are processed in the
    /// order in which they are made, so it is known here whether this one is beyond the limit.
    fn node(&mut self, block: BlockId, path: Path, branch: usize) -> NodeId {
        let id = path.id.then(branch);
        let path = Path {
            id,
            rank: self.wanted.get(&id).copied().or(path.rank),
            ..path
        };
        self.node_at(Place { block, statement: 0 }, path)
    }

    /// A node for the tree from a statement on. The path has its name already.
    fn node_at(&mut self, place: Place, path: Path) -> NodeId {
        let id = NodeId(self.plan.nodes.len());
        let is_wanted = self.wanted.contains_key(&path.id);
        let is_within = is_wanted
            || self.looked_at + self.pending.len() < NODES_MAX
            || (path.rank.is_some() && self.below_wanted < NODES_BELOW_WANTED_MAX);
        self.below_wanted += usize::from(path.rank.is_some());
        let next = if is_within {
            Next::BailOut(BailOut::TooLarge)
        } else {
            self.plan.limits.nodes_left_out += 1;
            self.left_out(BailOut::TooLarge, &path)
        };
        self.plan.nodes.push(Node {
            statements: Vec::new(),
            next,
            bits_assured: 0,
        });
        if is_within {
            self.pending.push_back((id, place, path));
        }
        id
    }

    /// Builds the tree from a point down to the next branches.
    fn tree(&mut self, id: NodeId, place: Place, mut path: Path) -> Node {
        let mut statements = Vec::new();
        let bits_assured = path.bits_assured;
        let next = match self.follow(place, &mut path, &mut statements) {
            Some(next) => next,
            None => {
                self.accepting.push((id, path));
                Next::BailOut(BailOut::TooLarge)
            }
        };
        Node {
            statements,
            next,
            bits_assured,
        }
    }

    /// Plans the flows after the parser: first for wanted paths, then for paths below a wanted one, then for others,
    /// shorter ones first. Paths on which the parser rejects are planned only if they are wanted: many programs have
    /// one for each state, and few packets take them.
    fn leaves(&mut self) {
        let mut accepting = std::mem::take(&mut self.accepting);
        accepting.sort_by_key(|(_, path)| match (self.wanted.get(&path.id), path.rank) {
            (Some(rank), _) => (0, *rank),
            (None, Some(rank)) => (1, rank),
            (None, None) => (2, 0),
        });
        for (id, path) in accepting {
            let is_left_out = path.is_rejected && !self.wanted.contains_key(&path.id);
            self.plan.nodes[id.0].next = if is_left_out {
                self.left_out(BailOut::ParserError, &path)
            } else {
                self.leaf(&path)
            };
        }
    }

    fn left_out(&mut self, reason: BailOut, path: &Path) -> Next {
        self.plan.left_out.push(path.id);
        Next::LeftOut(reason, self.plan.left_out.len() - 1)
    }

    /// Follows blocks as long as the successor is certain. Returns the decision that ends this, or `None` when the
    /// parser accepts.
    fn follow(&mut self, place: Place, path: &mut Path, statements: &mut Vec<Planned>) -> Option<Next> {
        let Place {
            mut block,
            mut statement,
        } = place;
        loop {
            let current = &self.program.bodies[self.route.parser.index()].blocks[block.index()];
            if statement == 0 {
                path.steps += current.statements.len() as u64 + 1;
            }
            if path.steps > self.step_limit {
                self.plan.limits.endless_paths += 1;
                return Some(Next::BailOut(BailOut::TooLarge));
            }
            for index in std::mem::take(&mut statement)..current.statements.len() {
                let op = &current.statements[index].op;
                let end = self.end_of_read(op, path).filter(|end| *end > path.bits_assured);
                let too_short = match end {
                    Some(end) if self.wanted.contains_key(&path.id.too_short(end)) => {
                        let statement = index;
                        return Some(self.has_bits(end, Place { block, statement }, path));
                    }
                    Some(end) if self.plan.left_out.len() < NODES_MAX => {
                        self.plan.left_out.push(path.id.too_short(end));
                        Some(self.plan.left_out.len() - 1)
                    }
                    _ => None,
                };
                let cursor = path.cursor;
                if let Some(op) = self.statement(op, path) {
                    statements.push(Planned { op, cursor, too_short });
                }
            }
            block = match &current.terminator {
                Terminator::Jump(next) => *next,
                Terminator::Branch {
                    condition,
                    then_block,
                    else_block,
                } => match fold(condition, &path.known, self.program) {
                    Expr::Const(value) => *if value.is_zero() { else_block } else { then_block },
                    condition => {
                        let [then_path, else_path] = [true, false].map(|holds| {
                            let mut path = path.clone();
                            path.facts.learn(&condition, holds);
                            path
                        });
                        let then_node = self.node(*then_block, then_path, 0);
                        let else_node = self.node(*else_block, else_path, 1);
                        return Some(Next::Branch {
                            condition,
                            then_node,
                            else_node,
                        });
                    }
                },
                Terminator::Select { keys, cases, default } => return Some(self.select(keys, cases, *default, path)),
                Terminator::Return => return None,
                Terminator::Reject(error) => return self.reject(error, path),
                Terminator::Exit | Terminator::Apply { .. } => return Some(Next::BailOut(BailOut::ParserError)),
            };
        }
    }

    /// The end of what an operation reads of the packet, if it is known and packets that end before it go on to
    /// ingress.
    fn end_of_read(&self, op: &Op, path: &Path) -> Option<u64> {
        let CursorFact::At(position) = path.cursor else {
            return None;
        };
        self.route.parser_error?;
        let bits = match op {
            Op::Extract {
                header,
                varbit_bits: None,
            } => self.program.header_bits(&self.program.headers[header.index()]).0,
            Op::Lookahead { slot } => self.program.slot(*slot).width.into(),
            Op::Advance { bits } => match fold(bits, &path.known, self.program) {
                Expr::Const(bits) => bits.try_to_u64()?,
                _ => return None,
            },
            _ => return None,
        };
        position.checked_add(bits)
    }

    /// Packets with at least this many bits continue here; the parser rejects others.
    fn has_bits(&mut self, end: u64, place: Place, path: &Path) -> Next {
        let too_short = self.program.error("PacketTooShort").unwrap_or(0);
        let mut shorter = Path {
            id: path.id.too_short(end),
            ..path.clone()
        };
        let longer = Path {
            bits_assured: end,
            ..path.clone()
        };
        let then_node = self.node_at(place, longer);
        let else_node = NodeId(self.plan.nodes.len());
        let error = Expr::Const(Bits::new(32, too_short.into()));
        let next = self.reject(&error, &mut shorter);
        self.plan.nodes.push(Node {
            statements: Vec::new(),
            next: next.unwrap_or(Next::BailOut(BailOut::TooLarge)),
            bits_assured: 0,
        });
        self.accepting.push((else_node, shorter));
        Next::HasBits {
            end,
            then_node,
            else_node,
        }
    }

    /// `None` when the packet goes on to ingress with an error that is known here.
    fn reject(&self, error: &Expr, path: &mut Path) -> Option<Next> {
        let error = fold(error, &path.known, self.program);
        let (Some(slot), Expr::Const(error)) = (self.route.parser_error, error) else {
            return Some(Next::BailOut(BailOut::ParserError));
        };
        path.known.set(slot, Some(error.zext(self.program.slot(slot).width)));
        path.is_rejected = true;
        None
    }

    fn select(&mut self, keys: &[Expr], cases: &[forebay_ir::SelectCase], default: BlockId, path: &Path) -> Next {
        let keys: Vec<Expr> = keys.iter().map(|key| fold(key, &path.known, self.program)).collect();
        let mut planned = Vec::new();
        let mut otherwise = path.clone();
        for (branch, case) in cases.iter().enumerate() {
            let keysets = case.keysets.iter().map(|keyset| self.keyset(keyset, path)).collect();
            let facts = in_case(&keys, case, &otherwise.facts);
            let path = Path { facts, ..path.clone() };
            planned.push((keysets, self.node(case.target, path, branch)));
            if let ([key], [KeySet::Exact(value)]) = (&keys[..], &case.keysets[..]) {
                otherwise.facts.learn_equality(key, &Expr::Const(value.clone()), false);
            }
        }
        let default = self.node(default, otherwise, cases.len());
        Next::Select {
            keys,
            cases: planned,
            default,
        }
    }

    fn keyset(&self, keyset: &KeySet, path: &Path) -> KeySet {
        let fold = |expr: &Expr| fold(expr, &path.known, self.program);
        match keyset {
            KeySet::Equals(value) => KeySet::Equals(fold(value)),
            KeySet::EqualsMasked { value, mask } => KeySet::EqualsMasked {
                value: fold(value),
                mask: fold(mask),
            },
            constant => constant.clone(),
        }
    }

    /// The operation with known values put in; `None` when it only makes a value known.
    fn statement(&self, op: &Op, path: &mut Path) -> Option<Op> {
        let mut op = op.clone();
        substitute_op(&mut op, &path.known, self.program);
        path.changed.extend(op.target());
        for slot in op.slots_written(self.program) {
            path.facts.forget(slot);
        }
        match &op {
            Op::LogMessage { .. } => return None,
            Op::Assign {
                slot,
                value: Expr::Const(value),
            } => {
                path.known.set(*slot, Some(value.clone()));
                if !self.varbits.contains(slot) {
                    return None;
                }
            }
            Op::Extract { header, .. } => {
                for slot in self.program.headers[header.index()].slots() {
                    path.known.set(slot, None);
                    path.changed.remove(&slot);
                }
                let valid = self.program.headers[header.index()].valid;
                path.known.set(valid, Some(Bits::from_bool(true)));
                path.extracted.push(*header);
            }
            Op::Advance { .. } => path.contiguous = false,
            other => {
                if let Some(slot) = other.target() {
                    path.known.set(slot, None);
                }
            }
        }
        path.cursor = path.cursor.after(self.program, &op);
        Some(op)
    }

    fn leaf(&mut self, path: &Path) -> Next {
        if self.plan.limits.paths >= LEAVES_MAX || self.in_vain > VAIN_STATEMENTS_MAX {
            self.plan.limits.paths_left_out += 1;
            return self.left_out(BailOut::TooLarge, path);
        }
        if self.statements > STATEMENTS_MAX {
            self.plan.limits.paths_without_statements += 1;
            return self.left_out(BailOut::TooLarge, path);
        }
        let known = path.known.values();
        let mut special = specialise(self.program, self.route, &known);
        (self.watch)(Pass::Folding.name());
        let program = &special.program;
        let replicates = self.route.may_replicate(program);
        let plain = Flow::of_bodies(program, self.route);
        let plain_size = plain.size(program);
        let Some(mut flow) = self.flow(&special, plain, (path, &known), replicates) else {
            self.in_vain += plain_size;
            return Next::BailOut(BailOut::Copies);
        };
        let misses = flow.may_set(self.route.misses);
        if misses && self.route.changes_state_in_ingress(program) {
            self.plan.limits.paths_that_miss += 1;
            self.in_vain += plain_size;
            return Next::BailOut(BailOut::EgressParser);
        }
        let size = flow.size(program);
        if size > PATH_STATEMENTS_MAX {
            self.plan.limits.paths_too_large += 1;
            self.in_vain += plain_size;
            return Next::BailOut(BailOut::TooLarge);
        }
        self.plan.limits.paths += 1;
        self.statements += plain_size;
        self.blocks_left = self.blocks_left.saturating_sub(flow.blocks.len());
        self.threaded_left = self.threaded_left.saturating_sub(size);
        if self.depth == Depth::Limits {
            return Next::BailOut(BailOut::TooLarge);
        }
        let live = remove_dead_stores(program, self.route, &mut flow);
        self.ran(Pass::DeadStores, &flow);
        let live = coalesce(&mut special.program, self.route, &mut flow, &path.extracted, live);
        let program = &special.program;
        self.ran(Pass::Coalescing, &flow);
        verify::code_after("coalescing", program, &flow);
        let liveness = FlowLiveness::with(program, self.route, live);
        let written_before = written_before(program, self.route, &flow);
        let early = if self.route.without.has(Pass::LookUpHoisting) {
            Early::default()
        } else {
            Early::of(program, self.route, &flow)
        };
        self.ran(Pass::LookUpHoisting, &flow);
        self.plan.leaves.push(Leaf {
            known,
            cursor: path.cursor,
            emitted: special.emitted,
            extracted: path.extracted.clone(),
            contiguous: path.contiguous,
            in_place: !replicates
                && !misses
                && !self.route.may_bail_out(program, self.notes)
                && !self.route.clones(program)[0]
                && self.route.leaving.is_none()
                && !self.route.resubmits_in_ingress(program),
            misses,
            notes: self.notes,
            crossings: crossings(program, &liveness, &flow, &written_before),
            early,
            written_before,
            written: written(program, self.route),
            needed: needed(program, liveness.into_sets().swap_remove(0)),
            flow,
            program: special.program,
            changed: path.changed.clone(),
        });
        Next::Leaf(self.plan.leaves.len() - 1)
    }

    /// The flow after the parser on this path, from the plain one. If packets cannot be copied, those that would be
    /// copied bail out after ingress; `None` when that is too late.
    fn flow(
        &mut self,
        special: &Special,
        plain: Flow,
        (path, known): (&Path, &BTreeMap<SlotId, Bits>),
        replicates: bool,
    ) -> Option<Flow> {
        let (program, route) = (&special.program, self.route);
        let (blocks_max, size_max) = if route.without.has(Pass::JumpThreading) {
            (0, 0)
        } else {
            let size_max = plain.size(program) + self.threaded_left;
            (plain.blocks.len() + self.blocks_left, size_max)
        };
        let threading = Threading {
            program,
            route,
            emitted: special.emitted.as_deref().unwrap_or(&[]),
            blocks_max,
            size_max,
        };
        let mut facts = path.facts.clone();
        facts.extend(known);
        verify::after("sequence of bodies", &plain, false);
        let thread = |planner: &mut Self, flow: &Flow, facts| {
            let threaded = threading.thread(flow, facts);
            planner.ran(Pass::JumpThreading, &threaded);
            threaded
        };
        if !replicates {
            return Some(thread(self, &plain, facts));
        }
        let with_copies = plain.clone().with_copies();
        verify::after("addition of copies", &with_copies, false);
        let copied = thread(self, &with_copies, facts.clone());
        if self.can_copy(special, path, &copied) {
            return Some(copied);
        }
        if route.changes_state_in_ingress(program) {
            self.plan.limits.paths_with_state_and_copies += 1;
            return None;
        }
        self.plan.limits.paths_without_copies += 1;
        Some(thread(self, &plain, facts))
    }

    /// Verifies the flow that a pass has made, and reports the pass.
    fn ran(&mut self, pass: Pass, flow: &Flow) {
        verify::after(pass.name(), flow, true);
        (self.watch)(pass.name());
    }

    /// Whether all copies can be put together in their memory: the headers that may be emitted consist of whole bytes,
    /// have fixed lengths, and fit.
    fn can_copy(&self, special: &Special, path: &Path, flow: &Flow) -> bool {
        let program = &special.program;
        let Some(emitted) = &special.emitted else { return false };
        let headers = || emitted.iter().map(|id| &program.headers[id.index()]);
        let is_plain = |header: &Header| {
            let has_varbit = header.fields.iter().any(|field| field.length.is_some());
            !has_varbit && program.header_bits(header).0.is_multiple_of(8)
        };
        let bits_at = |block: &FlowBlock| -> u64 {
            let emitted = headers().filter(|header| block.facts.value(header.valid) != Some(0));
            emitted.map(|header| program.header_bits(header).0).sum()
        };
        let mut deparsed = flow
            .blocks
            .iter()
            .filter(|block| block.copies.is_some() && block.joint == Some(Joint::Deparse));
        self.route.copies_can_be_processed(program)
            && headers().all(is_plain)
            && path.cursor.bit_in_byte() == Some(0)
            && deparsed.all(|block| bits_at(block) <= COMPOSED_BITS_MAX)
    }
}
