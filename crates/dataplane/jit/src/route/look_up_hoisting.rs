//! Look-ups that are made early, at a point at which packets wait for another look-up.
//!
//! ```text
//!   src_mac.apply()      packets wait; src_mac and dst_mac are looked up
//!        │               nothing here writes the key of dst_mac
//!   dst_mac.apply()      packets do not wait: the result is known
//! ```
//!
//! Packets then wait once, and the memory of both tables is prefetched at the same time. A look-up is hoisted only if
//! every remaining path performs it (it post-dominates the hoisting point up to bail-outs) and if its engine makes a
//! single memory access at an address computed from the key.

use super::Route;
use super::flow::{Flow, FlowBlock};
use super::live_sets::{write_statements, written_at_end};
use crate::tables::TableLayout;
use forebay_ir::{BlockId, IndexSet, Program, SlotId, TableId};
use forebay_tables::{Search, TOGETHER_MAX};
use std::collections::{BTreeMap, BTreeSet};

/// See the [module](self).
#[derive(Debug, Default)]
pub(crate) struct Early {
    /// By the block that applies a table: the tables that can be looked up with it.
    asked: BTreeMap<BlockId, Vec<TableId>>,
    /// By the block that applies a table: blocks at which the table may have been looked up early. Every packet has
    /// passed one of them.
    found: BTreeMap<BlockId, BTreeSet<BlockId>>,
}

/// Tables that have been looked up early, and the blocks at which this was done.
type Known = BTreeMap<TableId, BTreeSet<BlockId>>;

impl Early {
    /// Analyses the flow after the parser. Its blocks are in topological order.
    pub(crate) fn of(program: &Program, route: &Route, flow: &Flow) -> Early {
        let mut early = Early::default();
        let mut before: Vec<Option<Known>> = vec![None; flow.blocks.len()];
        before[0] = Some(Known::new());
        for (index, block) in flow.blocks.iter().enumerate() {
            let id = BlockId(index as u32);
            let Some(mut known) = before[index].take() else {
                continue;
            };
            let mut written = IndexSet::new(program.slots.len());
            write_statements(program, block, &mut written);
            forget(program, &mut known, &written);
            if let Some(table) = waiting(block) {
                match known.get(&table) {
                    Some(places) => drop(early.found.insert(id, places.clone())),
                    None => {
                        let company = company(program, flow, id, table);
                        known.extend(company.iter().map(|other| (*other, [id].into())));
                        early.asked.insert(id, company);
                    }
                }
            }
            let mut written = IndexSet::new(program.slots.len());
            written_at_end(program, route, block, &mut written);
            forget(program, &mut known, &written);
            for successor in block.successors() {
                let before = &mut before[successor.index()];
                match before {
                    None => *before = Some(known.clone()),
                    Some(before) => meet(before, &known),
                }
            }
        }
        early.leave_out_what_nobody_uses(flow);
        early
    }

    fn leave_out_what_nobody_uses(&mut self, flow: &Flow) {
        let mut used = BTreeSet::new();
        for (id, places) in &self.found {
            let table = waiting(flow.block(*id)).expect("it applies one");
            used.extend(places.iter().map(|place| (*place, table)));
        }
        for (place, tables) in &mut self.asked {
            tables.retain(|table| used.contains(&(*place, *table)));
        }
    }

    /// The tables that can be looked up together with the table of a block.
    pub(crate) fn asked_at(&self, block: BlockId) -> &[TableId] {
        self.asked.get(&block).map_or(&[], Vec::as_slice)
    }

    /// The blocks at which the table of a block was looked up early; every packet has passed one of them. `None` if it
    /// was not.
    pub(crate) fn found_at(&self, block: BlockId) -> Option<&BTreeSet<BlockId>> {
        self.found.get(&block)
    }
}

/// The table for which packets wait at the end of a block.
fn waiting(block: &FlowBlock) -> Option<TableId> {
    let table = block.block.terminator.applied_table();
    table.filter(|_| block.copies.is_none())
}

/// The tables that every path from a block applies next, in order, except paths that apply no table at all.
fn company(program: &Program, flow: &Flow, from: BlockId, own: TableId) -> Vec<TableId> {
    let mut company = Vec::new();
    let mut ends = BTreeSet::from([from]);
    while company.len() + 1 < TOGETHER_MAX {
        ends = next_look_ups(flow, &ends);
        let mut tables: Vec<TableId> = ends.iter().filter_map(|end| waiting(flow.block(*end))).collect();
        tables.dedup();
        match tables[..] {
            [table] if table != own && !company.contains(&table) && reads_one_place(program, table) => {
                company.push(table);
            }
            _ => break,
        }
    }
    company
}

/// The first blocks after the given ones at whose ends packets wait.
fn next_look_ups(flow: &Flow, behind: &BTreeSet<BlockId>) -> BTreeSet<BlockId> {
    let mut open: Vec<BlockId> = behind.iter().flat_map(|id| flow.block(*id).successors()).collect();
    let mut seen = BTreeSet::new();
    let mut next = BTreeSet::new();
    while let Some(id) = open.pop() {
        if !seen.insert(id) {
            continue;
        }
        match waiting(flow.block(id)) {
            Some(_) => drop(next.insert(id)),
            None => open.extend(flow.block(id).successors()),
        }
    }
    next
}

/// Whether a look-up reads memory only at an address that the key determines.
fn reads_one_place(program: &Program, table: TableId) -> bool {
    let search = TableLayout::new(program, table, false).search;
    matches!(search, Some(Search::Exact { .. } | Search::Prefix { .. }))
}

/// Removes the tables whose keys have been written.
fn forget(program: &Program, known: &mut Known, written: &IndexSet) {
    known.retain(|table, _| {
        let mut is_same = true;
        let mut look = |slot: SlotId| is_same &= !written.contains(slot.index());
        let keys = &program.tables[table.index()].keys;
        keys.iter().for_each(|key| key.expr.for_each_slot(&mut look));
        is_same
    });
}

/// Keeps what is known on both of two paths that meet.
fn meet(known: &mut Known, other: &Known) {
    known.retain(|table, places| match other.get(table) {
        Some(more) => {
            places.extend(more);
            true
        }
        None => false,
    });
}
