//! Tables that are applied once for all copies of a packet.
//!
//! ```text
//!   ─► Replicate ─► ┌► message 0, 1, 2 .. ─► next_hops.apply() ─► Left ─┐    next_hops: the same for every copy, so
//!                   └───────────────────────────────────────────────────┘    it can be applied before the loop
//! ```
//!
//! Such a table has the same key for all copies, and its actions compute from values that are the same for all copies.
//! Every copy applies it once, with the same slots for the results of the look-up, and what is done for a copy before it
//! neither reads nor writes what its actions write. Then it can be applied before the first copy is made.

use super::flow::{Flow, slots_of_decision};
use super::{Pass, Route, Source};
use forebay_ir::{BlockId, Body, Op, Program, SlotId, Statement, TableId, Terminator};
use std::collections::BTreeSet;

/// The tables that are applied once for the copies that `replicate` makes, with the block that applies each.
pub(crate) fn once_for_copies(
    program: &Program,
    route: &Route,
    flow: &Flow,
    replicate: BlockId,
) -> Vec<(TableId, BlockId)> {
    if route.without.has(Pass::TablesOnce) {
        return Vec::new();
    }
    let blocks = (0..).map(BlockId).zip(&flow.blocks);
    let applied = blocks.filter(|(_, block)| block.copies == Some(replicate));
    let applied = applied.filter_map(|(id, block)| Some((block.block.terminator.applied_table()?, id)));
    let mut known = BTreeSet::new();
    applied
        .filter(|(table, _)| known.insert(*table) && is_once(program, route, flow, replicate, *table))
        .collect()
}

/// Whether a source differs between copies.
pub(crate) fn differs(source: Source) -> bool {
    matches!(source, Source::EgressPort | Source::Instance)
}

fn is_once(program: &Program, route: &Route, flow: &Flow, replicate: BlockId, table: TableId) -> bool {
    let declared = &program.tables[table.index()];
    let has_effects = declared.direct_counter.is_some()
        || declared.direct_meter.is_some()
        || declared.supports_timeout
        || declared.implementation.is_some();
    if has_effects
        || !program.actions_of(table).all(only_computes)
        || !has_one_place_for_results(flow, replicate, table)
    {
        return false;
    }
    let own = Accesses::of_table(program, table, flow);
    let sources = route.before_copy().iter();
    let mut differing = sources.filter(|(_, source)| differs(*source)).map(|(slot, _)| *slot);
    if differing.any(|slot| own.meet(slot)) {
        return false;
    }
    // Blocks that come before the table.
    let mut open = flow.block(replicate).successors();
    let mut before = BTreeSet::new();
    let mut behind = Vec::new();
    while let Some(id) = open.pop() {
        if !before.insert(id) {
            continue;
        }
        let block = flow.block(id);
        let mut accesses = Accesses::default();
        accesses.statements(program, &block.block.statements);
        let successors = block.successors();
        if block.applies(table) {
            behind.extend(successors);
        } else {
            if block.joint.is_some() || successors.is_empty() {
                return false;
            }
            accesses.terminator(program, &block.block.terminator);
            open.extend(successors);
        }
        if own.depend_on(&accesses) {
            return false;
        }
    }
    // Blocks that come after the table.
    let mut seen = BTreeSet::new();
    while let Some(id) = behind.pop() {
        if seen.insert(id) {
            let block = flow.block(id);
            if block.applies(table) {
                return false;
            }
            behind.extend(block.successors());
        }
    }
    true
}

/// Whether all blocks that apply the table for copies write the results of its look-up to the same slots.
fn has_one_place_for_results(flow: &Flow, replicate: BlockId, table: TableId) -> bool {
    let blocks = flow.blocks.iter().filter(|block| block.copies == Some(replicate));
    let mut results = blocks.filter_map(|block| match block.block.terminator {
        Terminator::Apply {
            table: applied,
            hit,
            action_run,
            ..
        } if applied == table => Some((hit, action_run)),
        _ => None,
    });
    let first = results.next();
    results.all(|other| Some(other) == first)
}

/// Whether a body only assigns slots.
fn only_computes(body: &Body) -> bool {
    body.blocks.iter().all(|block| {
        let assigns = block
            .statements
            .iter()
            .all(|statement| matches!(statement.op, Op::Assign { .. }));
        let goes_on = matches!(
            block.terminator,
            Terminator::Jump(_) | Terminator::Branch { .. } | Terminator::Return
        );
        assigns && goes_on
    })
}

/// The slots that are read and written.
#[derive(Default)]
struct Accesses {
    read: BTreeSet<SlotId>,
    written: BTreeSet<SlotId>,
}

impl Accesses {
    /// The accesses of a table, wherever the flow applies it.
    fn of_table(program: &Program, table: TableId, flow: &Flow) -> Accesses {
        let mut accesses = Accesses::default();
        for block in flow.blocks.iter().filter(|block| block.applies(table)) {
            accesses.terminator(program, &block.block.terminator);
        }
        accesses
    }

    fn statements(&mut self, program: &Program, statements: &[Statement]) {
        for Statement { op, .. } in statements {
            op.for_each_slot_read(&mut |slot| {
                self.read.insert(slot);
            });
            self.written.extend(op.slots_written(program));
        }
    }

    /// Adds the accesses of a terminator, including all actions of a table.
    fn terminator(&mut self, program: &Program, terminator: &Terminator) {
        terminator.for_each_slot_read(program, &mut |slot| {
            self.read.insert(slot);
        });
        self.written.extend(terminator.slots_written(program));
        let Terminator::Apply { table, .. } = terminator else {
            return;
        };
        for block in program.actions_of(*table).flat_map(|body| &body.blocks) {
            self.statements(program, &block.statements);
            self.read.extend(slots_of_decision(&block.terminator));
        }
    }

    fn meet(&self, slot: SlotId) -> bool {
        self.read.contains(&slot) || self.written.contains(&slot)
    }

    /// Whether the order of the two matters.
    fn depend_on(&self, other: &Accesses) -> bool {
        let both_write = !self.written.is_disjoint(&other.written);
        both_write || !self.written.is_disjoint(&other.read) || !self.read.is_disjoint(&other.written)
    }
}
