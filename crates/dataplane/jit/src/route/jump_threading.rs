//! Jump threading: separates paths through a [`Flow`] that differ in what is known.
//!
//! A block of the result is a block of the original together with the [`Facts`] that are certain there, as far as a
//! later decision depends on them. A test that has been made is not repeated, what one branch assigned stays known
//! after the branches meet, and where the deparser begins it is known which headers are valid:
//!
//! ```text
//!   if (count == 8) { agg.setValid(); }                count == 8 ─┬─► agg valid ──► sum over agg ─► eight headers
//!   ...                                        becomes             │
//!   if (agg.isValid()) { sum over agg }                            └─► agg invalid ────────────────► one header
//! ```
//!
//! When the number of blocks reaches its limit, paths are no longer separated: what is known about a further block is
//! then what is certain on all paths to it.

use super::facts::Facts;
use super::flow::{Flow, FlowBlock, Joint, slots_of, slots_of_decision};
use super::{ClonedFrame, DropWhen, Route, Source};
use crate::analysis::solve;
use forebay_bits::Bits;
use forebay_ir::{
    BlockId, Expr, HeaderId, KeySet, Op, Program, SelectCase, SlotId, SlotKind, TableId, Terminator, build,
};
use std::collections::{BTreeMap, BTreeSet};

/// An expression that reads more slots says little about each of them.
const SLOTS_OF_VALUE_MAX: usize = 4;

/// The input of jump threading: the program, and what decides in it.
pub(super) struct Threading<'a> {
    pub(super) program: &'a Program,
    pub(super) route: &'a Route,
    /// The headers that the deparser emits if they are valid.
    pub(super) emitted: &'a [HeaderId],
    /// With this number of blocks, further paths are not separated.
    pub(super) blocks_max: usize,
    /// The same for statements, those of the actions of tables included.
    pub(super) size_max: usize,
}

/// A block with the facts at its beginning.
type State = (BlockId, Option<BlockId>, Facts);

/// The construction of the new blocks.
struct Threader<'a> {
    threading: &'a Threading<'a>,
    original: &'a Flow,
    /// By block: the slots on which later decisions depend.
    relevant: Vec<BTreeSet<SlotId>>,
    /// By block, and whether it is for a copy: the facts that are certain on all paths to it, among the relevant ones.
    certain: BTreeMap<(BlockId, bool), Facts>,
    /// Whether only `certain` is being computed.
    joins: bool,
    made: BTreeMap<State, BlockId>,
    pending: Vec<(BlockId, State)>,
    blocks: Vec<Option<FlowBlock>>,
    /// The statements of the blocks so far.
    size: usize,
}

impl Threading<'_> {
    /// The threaded flow, with `facts` at its beginning.
    pub(super) fn thread(&self, original: &Flow, facts: Facts) -> Flow {
        let mut threader = Threader {
            threading: self,
            original,
            relevant: self.relevant(original),
            certain: BTreeMap::new(),
            joins: true,
            made: BTreeMap::new(),
            pending: Vec::new(),
            blocks: Vec::new(),
            size: 0,
        };
        threader.join(facts.clone());
        threader.block_of(BlockId(0), None, facts);
        while let Some((id, state)) = threader.pending.pop() {
            threader.blocks[id.index()] = Some(threader.threaded(id, state));
        }
        let blocks = threader.blocks.into_iter();
        let flow = Flow {
            blocks: blocks.map(|block| block.expect("every block is finished")).collect(),
        };
        flow.in_order()
    }

    /// By block: the slots on which decisions in it and after it depend.
    fn relevant(&self, flow: &Flow) -> Vec<BTreeSet<SlotId>> {
        solve(vec![BTreeSet::new(); flow.blocks.len()], |index, relevant| {
            let block = &flow.blocks[index];
            let mut slots = BTreeSet::new();
            for successor in block.successors() {
                slots.extend(relevant[successor.index()].iter().copied());
            }
            self.before(block, &mut slots);
            slots
        })
    }

    /// Computes what is relevant at a block's beginning from what is relevant at its end.
    fn before(&self, block: &FlowBlock, slots: &mut BTreeSet<SlotId>) {
        if let Some(joint) = block.joint {
            self.before_joint(joint, slots);
        }
        slots.extend(slots_of_decision(&block.block.terminator));
        for statement in block.block.statements.iter().rev() {
            let is_relevant = statement.op.target().is_some_and(|slot| slots.remove(&slot));
            if let (Op::Assign { value, .. }, true) = (&statement.op, is_relevant) {
                let mut read = Vec::new();
                slots_of(value, &mut read);
                if read.len() <= SLOTS_OF_VALUE_MAX {
                    slots.extend(read);
                }
            }
        }
    }

    fn before_joint(&self, joint: Joint, slots: &mut BTreeSet<SlotId>) {
        let route = self.route;
        match joint {
            Joint::Verified => {
                route.checksum_error.iter().for_each(|slot| _ = slots.remove(slot));
            }
            Joint::Decide { .. } => {
                route.before_egress.iter().for_each(|(slot, _)| _ = slots.remove(slot));
                slots.extend([route.egress_spec, route.ingress_drop.slot]);
                slots.extend(route.requested().chain(route.misses));
                slots.extend(route.sends_back.as_ref().map(|back| back.resubmit));
                slots.extend(route.group());
                let matters = route.cloning.leave || route.cloning.frames[0] == ClonedFrame::Deparsed;
                slots.extend(route.cloning.marker.filter(|_| matters));
            }
            Joint::Replicate => {
                route.before_copy().iter().for_each(|(slot, _)| _ = slots.remove(slot));
            }
            Joint::Left => {
                slots.insert(route.egress_drop.slot);
                slots.extend(route.cloning.marker);
            }
            Joint::Deparse => {
                let headers = self.emitted.iter().map(|id| &self.program.headers[id.index()]);
                slots.extend(headers.map(|header| header.valid));
                slots.extend(self.route.sends_back.as_ref().map(|back| back.recirculate));
            }
        }
    }
}

impl Threader<'_> {
    /// Computes what is certain on all paths to each block, first for blocks before copies are made.
    fn join(&mut self, facts: Facts) {
        let order = self.original.walk().order;
        self.block_of(BlockId(0), None, facts);
        for copies in [None, Some(BlockId(0))] {
            for &block in &order {
                if let Some(facts) = self.certain.get(&(block, copies.is_some())).cloned() {
                    self.threaded(BlockId(0), (block, copies, facts));
                }
            }
        }
        self.joins = false;
    }

    /// The new block for an original block with these facts.
    fn block_of(&mut self, original: BlockId, copies: Option<BlockId>, mut facts: Facts) -> BlockId {
        let relevant = &self.relevant[original.index()];
        facts.retain(|slot| relevant.contains(&slot));
        let place = (original, copies.is_some());
        if self.joins {
            let known = self.certain.get(&place).map(|known| known.common(&facts));
            self.certain.insert(place, known.unwrap_or(facts));
            return original;
        }
        if self.blocks.len() >= self.threading.blocks_max || self.size >= self.threading.size_max {
            facts = self
                .certain
                .get(&place)
                .map_or_else(Facts::default, |known| known.common(&facts));
        }
        let state = (original, copies, facts);
        if let Some(&known) = self.made.get(&state) {
            return known;
        }
        let id = BlockId(self.blocks.len() as u32);
        self.size += self.original.block(original).size(self.threading.program);
        self.blocks.push(None);
        self.made.insert(state.clone(), id);
        self.pending.push((id, state));
        id
    }

    fn threaded(&mut self, id: BlockId, (original, copies, mut facts): State) -> FlowBlock {
        let mut made = self.original.block(original).clone();
        made.copies = copies;
        for statement in &mut made.block.statements {
            simplify(&mut statement.op, &facts, self.threading.program);
            learn_from(&statement.op, &mut facts);
        }
        made.facts.clone_from(&facts);
        match made.joint {
            Some(joint) => self.thread_joint(id, &mut made, joint, facts),
            None => {
                let program = self.threading.program;
                let block_of = |target, facts| self.block_of(target, copies, facts);
                let behind = thread_terminator(program, &mut made.block.terminator, facts, block_of);
                made.exit = made.exit.map(|exit| self.block_of(exit, copies, behind));
            }
        }
        made
    }

    fn thread_joint(&mut self, id: BlockId, made: &mut FlowBlock, joint: Joint, mut facts: Facts) {
        let route = self.threading.route;
        let is_dropped = |facts: &Facts, when: DropWhen| facts.value(when.slot) == Some(when.value);
        let mut copies = made.copies;
        let ends = match joint {
            Joint::Verified => {
                route.checksum_error.iter().for_each(|slot| facts.forget(*slot));
                false
            }
            Joint::Decide { replicate } => {
                let ends = is_dropped(&facts, route.ingress_drop);
                let is_possible = route.group().is_some_and(|group| facts.value(group) != Some(0));
                let replicate = replicate.filter(|_| is_possible);
                let replicate = replicate.map(|block| self.block_of(block, None, facts.clone()));
                made.joint = Some(Joint::Decide { replicate });
                self.set_sources(&route.before_egress, &mut facts);
                ends
            }
            Joint::Replicate => {
                copies = Some(id);
                self.set_sources(route.before_copy(), &mut facts);
                false
            }
            Joint::Left => is_dropped(&facts, route.egress_drop),
            Joint::Deparse => true,
        };
        made.block.terminator = match &made.block.terminator {
            Terminator::Jump(next) if !ends => Terminator::Jump(self.block_of(*next, copies, facts)),
            _ => Terminator::Return,
        };
    }

    fn set_sources(&self, sources: &[(SlotId, Source)], facts: &mut Facts) {
        for (slot, source) in sources {
            let number = match source {
                Source::Number(number) => Some(Bits::new(self.threading.program.slot(*slot).width, (*number).into())),
                _ => None,
            };
            facts.becomes(*slot, number.as_ref());
        }
    }
}

/// Leads a terminator to the blocks for what is certain at each of its targets, and leaves out targets that cannot be
/// reached. Returns what is certain after the actions of a table.
pub(super) fn thread_terminator(
    program: &Program,
    terminator: &mut Terminator,
    mut facts: Facts,
    mut block_of: impl FnMut(BlockId, Facts) -> BlockId,
) -> Facts {
    match terminator {
        Terminator::Branch {
            condition,
            then_block,
            else_block,
        } => {
            let simpler = facts.simplified(condition, program);
            if let Expr::Const(value) = simpler {
                let target = if value.is_zero() { *else_block } else { *then_block };
                *terminator = Terminator::Jump(block_of(target, facts.clone()));
                return facts;
            }
            let mut otherwise = facts.clone();
            facts.learn(&simpler, true);
            otherwise.learn(&simpler, false);
            *then_block = block_of(*then_block, facts.clone());
            *else_block = block_of(*else_block, otherwise);
            *condition = simpler;
        }
        Terminator::Select { keys, cases, default } => {
            let (listed, mut possible) = (std::mem::take(cases), Vec::new());
            for mut case in listed {
                let condition = condition_of(keys, &case).map(|condition| facts.simplified(&condition, program));
                match &condition {
                    Some(Expr::Const(value)) if value.is_zero() => continue,
                    Some(Expr::Const(_)) => {
                        *default = case.target;
                        facts = in_case(keys, &case, &facts);
                        break;
                    }
                    _ => {}
                }
                case.target = block_of(case.target, in_case(keys, &case, &facts));
                condition.iter().for_each(|condition| facts.learn(condition, false));
                possible.push(case);
            }
            let otherwise = block_of(*default, facts.clone());
            if possible.is_empty() {
                *terminator = Terminator::Jump(otherwise);
            } else {
                (*cases, *default) = (possible, otherwise);
            }
        }
        Terminator::Apply {
            table,
            hit,
            action_run,
            next,
        } => {
            let results = [*hit, *action_run].into_iter().flatten();
            let forgotten: Vec<SlotId> = results.chain(changed_by_actions(program, *table, &facts)).collect();
            forgotten.into_iter().for_each(|slot| facts.forget(slot));
            *next = block_of(*next, facts.clone());
        }
        Terminator::Jump(next) => *next = block_of(*next, facts.clone()),
        Terminator::Return | Terminator::Exit | Terminator::Reject(_) => {}
    }
    facts
}

/// Simplifies an operation by what is known. The data of checksums stays, because it is often loaded from the packet
/// as a whole.
pub(super) fn simplify(op: &mut Op, facts: &Facts, program: &Program) {
    match op {
        Op::VerifyChecksum { condition, .. } | Op::UpdateChecksum { condition, .. } => {
            *condition = facts.simplified(condition, program);
        }
        // Assignments between header fields stay, because the fields may be coalesced: see [`super::coalescing`].
        op if is_copy_of_field(op, program) => {}
        Op::Hash { .. } => {}
        _ => {
            for expr in op.exprs_mut() {
                *expr = facts.simplified(expr, program);
            }
        }
    }
}

pub(super) fn learn_from(op: &Op, facts: &mut Facts) {
    match op {
        Op::Assign {
            slot,
            value: Expr::Const(value),
        } => facts.becomes(*slot, Some(value)),
        Op::Assign {
            slot,
            value: Expr::Slot(from),
        } => facts.copy(*slot, *from),
        _ => op.target().into_iter().for_each(|slot| facts.forget(slot)),
    }
}

/// Whether an operation assigns a header field to another one.
fn is_copy_of_field(op: &Op, program: &Program) -> bool {
    let is_field = |slot: &SlotId| matches!(program.slot(*slot).kind, SlotKind::Field(_));
    match op {
        Op::Assign {
            slot,
            value: Expr::Slot(from),
        } => is_field(slot) && is_field(from),
        _ => false,
    }
}

/// The condition on which a case of a selection is chosen after the previous cases failed, if its keysets are single
/// values.
fn condition_of(keys: &[Expr], case: &SelectCase) -> Option<Expr> {
    let equals = keys.iter().zip(&case.keysets).map(|(key, keyset)| match keyset {
        KeySet::Exact(value) => Some(build::equal(key.clone(), Expr::Const(value.clone()))),
        KeySet::Any => Some(build::boolean(true)),
        _ => None,
    });
    let equals = equals.collect::<Option<Vec<_>>>()?;
    Some(equals.into_iter().fold(build::boolean(true), build::and))
}

/// What is certain at the target of a case of a selection.
pub(super) fn in_case(keys: &[Expr], case: &SelectCase, facts: &Facts) -> Facts {
    let mut facts = facts.clone();
    for pair in keys.iter().zip(&case.keysets) {
        if let (Expr::Slot(slot), KeySet::Exact(value)) = pair {
            facts.becomes(*slot, Some(value));
        }
    }
    facts
}

/// The slots that some action of a table writes, and the slot for the colour of its meter.
pub(super) fn written_by_actions(program: &Program, table: TableId) -> impl Iterator<Item = SlotId> {
    let written = operations_of_actions(program, table).flat_map(|op| op.slots_written(program));
    written.chain(program.tables[table.index()].color_slot())
}

/// These slots without those that are only set to the value that they certainly have.
fn changed_by_actions(program: &Program, table: TableId, facts: &Facts) -> impl Iterator<Item = SlotId> {
    let keeps = |op: &Op| match op {
        Op::Assign {
            slot,
            value: Expr::Const(value),
        } => facts.value(*slot) == Some(value.to_u64()),
        _ => false,
    };
    let changes = operations_of_actions(program, table).filter(move |op| !keeps(op));
    let changed = changes.flat_map(|op| op.slots_written(program));
    changed.chain(program.tables[table.index()].color_slot())
}

fn operations_of_actions(program: &Program, table: TableId) -> impl Iterator<Item = &Op> {
    let statements = program.actions_of(table).flat_map(|action| action.statements());
    statements.map(|statement| &statement.op)
}
