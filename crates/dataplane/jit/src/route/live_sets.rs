//! Live slots: what a packet must keep while it waits for a look-up.
//!
//! On the fast path a packet may be suspended at a look-up until all packets of its burst have reached one: see
//! [`crate::translate`]. Registers then have to be stored, but only those of slots that are read later and whose value
//! is no longer in the packet.

use super::flow::{Flow, FlowBlock, Joint};
use super::jump_threading::written_by_actions;
use super::specialise::emitted;
use super::{ClonedFrame, Pass, Route};
use crate::body_liveness::{LiveAtEnds, after_terminator, before_actions, live_before, read_by_terminator, step};
use forebay_ir::{BlockId, Header, HeaderId, IndexSet, Op, Program, SlotId, Terminator};
use std::collections::HashMap;

/// The slots that matter at a look-up, by slot number.
#[derive(Clone, Debug)]
pub(crate) struct Crossing {
    /// The slots that may be read after it.
    pub(crate) live: IndexSet,
    /// The slots that may have been written between the parser and it.
    pub(crate) written: IndexSet,
}

/// Crossings by the block that applies a table. Copies of a packet do not wait.
pub(crate) type Crossings = HashMap<BlockId, Crossing>;

/// The crossings of the flow after the parser. `written` is the result of [`written_before`].
pub(super) fn crossings(program: &Program, live: &FlowLiveness<'_>, flow: &Flow, written: &[IndexSet]) -> Crossings {
    let blocks = flow.blocks.iter().zip(0..);
    let waiting = blocks.filter(|(block, _)| block.exit.is_some() && block.copies.is_none());
    let crossing = |(block, id): (&FlowBlock, u32)| {
        let mut written = written[id as usize].clone();
        write_statements(program, block, &mut written);
        let live = live.after_look_up(block);
        (BlockId(id), Crossing { live, written })
    };
    waiting.map(crossing).collect()
}

/// The slots that are live at the beginning of each block of a flow.
pub(super) struct FlowLiveness<'a> {
    pub(super) program: &'a Program,
    pub(super) route: &'a Route,
    at_start: Vec<IndexSet>,
    /// The slots that the deparser reads.
    at_deparser: IndexSet,
    /// The headers that the deparser emits if they are valid, if it has no conditions and reads nothing else.
    emitted: Option<Vec<HeaderId>>,
}

impl<'a> FlowLiveness<'a> {
    pub(super) fn solved(program: &'a Program, route: &'a Route, flow: &Flow) -> Self {
        let at_start = vec![IndexSet::new(program.slots.len()); flow.blocks.len()];
        let mut liveness = FlowLiveness::with(program, route, at_start);
        // Blocks come after their predecessors.
        for (index, block) in flow.blocks.iter().enumerate().rev() {
            liveness.at_start[index] = liveness.before(block);
        }
        liveness
    }

    /// The liveness of a program for which the live slots at the beginning of each block are known.
    pub(super) fn with(program: &'a Program, route: &'a Route, at_start: Vec<IndexSet>) -> Self {
        let none = IndexSet::new(program.slots.len());
        let ends = LiveAtEnds {
            returned: &none,
            exited: &none,
            rejected: None,
        };
        let deparser = &program.bodies[route.deparser.index()];
        FlowLiveness {
            program,
            route,
            at_start,
            at_deparser: live_before(program, deparser, &ends),
            emitted: emitted(program, route),
        }
    }

    /// The slots live at the beginning of each block.
    pub(super) fn into_sets(self) -> Vec<IndexSet> {
        self.at_start
    }

    /// The slots live at the beginning of a block. Operations whose results are not live read nothing.
    pub(super) fn before(&self, block: &FlowBlock) -> IndexSet {
        let mut live = self.at_end_of_statements(block);
        for statement in block.block.statements.iter().rev() {
            if !is_dead(&statement.op, &live) {
                step(self.program, &statement.op, &mut live);
            }
        }
        live
    }

    /// Removes operations that only compute values which are never read.
    fn remove_dead_stores(&self, block: &mut FlowBlock) {
        let mut live = self.at_end_of_statements(block);
        let mut kept = Vec::with_capacity(block.block.statements.len());
        for statement in std::mem::take(&mut block.block.statements).into_iter().rev() {
            if !is_dead(&statement.op, &live) {
                step(self.program, &statement.op, &mut live);
                kept.push(statement);
            }
        }
        kept.reverse();
        block.block.statements = kept;
    }

    /// The slots live after the statements of a block.
    pub(super) fn at_end_of_statements(&self, block: &FlowBlock) -> IndexSet {
        let mut live = match block.exit {
            Some(_) => self.after_look_up(block),
            None => self.behind(&block.block.terminator),
        };
        if let Some(joint) = block.joint {
            self.before_joint(block, joint, &mut live);
        }
        read_by_terminator(self.program, &block.block.terminator, &mut live);
        live
    }

    /// The slots live after a terminator.
    pub(super) fn behind(&self, terminator: &Terminator) -> IndexSet {
        after_terminator(self.program, terminator, &self.at_start)
    }

    /// The slots live between a look-up and its results.
    pub(super) fn after_look_up(&self, block: &FlowBlock) -> IndexSet {
        let terminator = &block.block.terminator;
        let behind = self.behind(terminator);
        let Terminator::Apply { table, .. } = terminator else {
            return behind;
        };
        let at_exit = block.exit.map_or(&behind, |exit| &self.at_start[exit.index()]);
        let mut live = before_actions(self.program, *table, &behind, at_exit);
        // The direct meter's colour is not always written.
        live.remove_slots(terminator.results());
        live
    }

    fn before_joint(&self, block: &FlowBlock, joint: Joint, live: &mut IndexSet) {
        let route = self.route;
        match joint {
            Joint::Verified => live.remove_slots(route.checksum_error),
            Joint::Decide { replicate } => {
                self.before_sources(&route.before_egress, live);
                if let Some(block) = replicate {
                    live.extend(&self.at_start[block.index()]);
                }
                if route.may_note_clone_from_ingress(self.program, &block.facts) {
                    live.insert_slots(route.kept_by_clones());
                    if route.cloning.frames[0] == ClonedFrame::Deparsed {
                        self.before_deparser(block, live);
                    }
                }
                if route.may_leave(&block.facts) {
                    live.insert_slots(route.leaving.iter().flatten());
                }
                self.sent_back(route.resubmits(&block.facts), live);
                live.insert_slots(route.requested().chain(route.misses).chain(route.group()));
                live.insert_slots([route.egress_spec, route.ingress_drop.slot]);
            }
            Joint::Replicate => {
                self.before_sources(route.before_copy(), live);
                live.insert_slots(route.group());
            }
            Joint::Left => {
                live.insert_slots([route.egress_drop.slot]);
                live.insert_slots(route.counted_length);
                if route.may_note_clone_from_egress(self.program, &block.facts) {
                    live.insert_slots(self.program.headers.iter().flat_map(Header::slots));
                    live.insert_slots(route.kept_by_clones());
                }
            }
            Joint::Deparse => {
                self.before_deparser(block, live);
                live.insert_slots(route.counted_length);
                self.sent_back(route.recirculates(&block.facts), live);
            }
        }
    }

    /// Updates the live slots from after sources are put into slots to before it.
    fn before_sources(&self, sources: &[(SlotId, super::Source)], live: &mut IndexSet) {
        let wanted = sources.iter().filter(|(slot, _)| live.contains(slot.index()));
        let read = wanted.flat_map(|(_, source)| source.slots_read(self.program));
        let read: Vec<SlotId> = read.collect();
        live.remove_slots(sources.iter().map(|(slot, _)| slot));
        live.insert_slots(read);
    }

    /// Adds the slot that says that a packet is sent back, and what it keeps then.
    fn sent_back(&self, when: Option<SlotId>, live: &mut IndexSet) {
        if let (Some(slot), Some(back)) = (when, &self.route.sends_back) {
            live.insert_slots(back.kept.iter().chain([&slot]));
        }
    }

    /// Adds the slots that the deparser reads. Headers that are certainly invalid are not emitted.
    fn before_deparser(&self, block: &FlowBlock, live: &mut IndexSet) {
        let Some(emitted) = &self.emitted else {
            return live.extend(&self.at_deparser);
        };
        for header in emitted.iter().map(|id| &self.program.headers[id.index()]) {
            if block.facts.value(header.valid) == Some(0) {
                live.insert_slots([header.valid]);
            } else {
                live.insert_slots(header.slots());
            }
        }
    }
}

/// Removes dead stores from the flow after the parser. Returns the slots live at the beginning of each block.
pub(super) fn remove_dead_stores(program: &Program, route: &Route, flow: &mut Flow) -> Vec<IndexSet> {
    let liveness = FlowLiveness::solved(program, route, flow);
    if !route.without.has(Pass::DeadStores) {
        flow.blocks
            .iter_mut()
            .for_each(|block| liveness.remove_dead_stores(block));
    }
    liveness.into_sets()
}

/// Whether an operation only writes a slot that is not live afterwards.
fn is_dead(op: &Op, live: &IndexSet) -> bool {
    op.only_writes() && op.target().is_some_and(|slot| !live.contains(slot.index()))
}

/// The slots that may have been written between the parser and the beginning of each block.
pub(crate) fn written_before(program: &Program, route: &Route, flow: &Flow) -> Vec<IndexSet> {
    let mut at_start = vec![IndexSet::new(program.slots.len()); flow.blocks.len()];
    // Blocks come after their predecessors.
    for (index, block) in flow.blocks.iter().enumerate() {
        let mut written = at_start[index].clone();
        write_statements(program, block, &mut written);
        written_at_end(program, route, block, &mut written);
        for successor in block.successors() {
            at_start[successor.index()].extend(&written);
        }
    }
    at_start
}

/// Adds what the statements of a block may write.
pub(super) fn write_statements(program: &Program, block: &FlowBlock, written: &mut IndexSet) {
    for statement in &block.block.statements {
        written.insert_slots(statement.op.slots_written(program));
    }
}

/// Adds what the architecture may write at the end of a block, or a look-up and its actions.
pub(super) fn written_at_end(program: &Program, route: &Route, block: &FlowBlock, written: &mut IndexSet) {
    match block.joint {
        Some(Joint::Decide { .. }) => written.insert_slots(route.before_egress.iter().map(|(slot, _)| slot)),
        Some(Joint::Replicate) => written.insert_slots(route.before_copy().iter().map(|(slot, _)| slot)),
        Some(Joint::Verified) => written.insert_slots(route.checksum_error),
        Some(Joint::Left | Joint::Deparse) | None => {}
    }
    let terminator = &block.block.terminator;
    if let Terminator::Apply { table, .. } = terminator {
        written.insert_slots(terminator.results().chain(written_by_actions(program, *table)));
    }
}
