//! Which fields say which flow a packet belongs to, for the [flow cache](crate::flows): those that the keys of its look-ups are made of.

use super::flow::Flow;
use super::{Argument, Route, Source};
use forebay_ir::{ActionId, IndexSet, Op, Program, SlotId, Statement, TableId, Terminator};
use std::collections::{BTreeMap, BTreeSet};

/// Of a way through the parser.
#[derive(Debug, Default)]
pub(crate) struct FlowKeys {
    /// Tables whose keys are the same for all packets of a flow, as far as those go the same way.
    pub(crate) tables: BTreeSet<TableId>,
    /// The slots that their keys are made of, in the order in which they are come upon. That some are not fields, or are
    /// written on the way, is not looked at.
    pub(crate) slots: Vec<SlotId>,
}

impl FlowKeys {
    /// Of packets that take this flow through a program.
    pub(crate) fn of(program: &Program, route: &Route, flow: &Flow) -> FlowKeys {
        let origins = Origins::of(program, route, flow);
        let mut keys = FlowKeys::default();
        let mut known = IndexSet::new(program.slots.len());
        for table in tables(flow) {
            let Some(slots) = origins.of_key(program, table) else {
                continue;
            };
            keys.tables.insert(table);
            for slot in slots {
                if !known.contains(slot.index()) {
                    known.insert(slot.index());
                    keys.slots.push(slot);
                }
            }
        }
        keys
    }
}

/// The tables that packets look up once.
fn tables(flow: &Flow) -> impl Iterator<Item = TableId> + '_ {
    let blocks = flow.blocks.iter().filter(|block| block.copies.is_none());
    blocks.filter_map(|block| match block.block.terminator {
        Terminator::Apply { table, .. } => Some(table),
        _ => None,
    })
}

/// What slots are made of.
#[derive(Default)]
struct Origins {
    /// By slot: those that it is computed from somewhere.
    of: BTreeMap<SlotId, Vec<SlotId>>,
    /// Slots that may have another value for the next packet, although all fields have the same.
    changing: BTreeSet<SlotId>,
}

impl Origins {
    fn of(program: &Program, route: &Route, flow: &Flow) -> Origins {
        let mut origins = Origins::default();
        let all = route.before_parser.iter().chain(&route.before_egress);
        for (slot, source) in all.chain(route.before_copy()) {
            if let Source::Argument(Argument::PacketLength | Argument::Timestamp) = source {
                origins.changing.insert(*slot);
            }
        }
        let mut actions = BTreeSet::new();
        for block in &flow.blocks {
            origins.statements(program, &block.block.statements);
            if let Terminator::Apply { table, .. } = block.block.terminator {
                let table = &program.tables[table.index()];
                origins
                    .changing
                    .extend(table.direct_meter.and_then(|meter| meter.slot));
                actions.extend(table.actions.iter().map(|listed| listed.action));
            }
        }
        actions.into_iter().for_each(|action| origins.action(program, action));
        origins
    }

    fn action(&mut self, program: &Program, action: ActionId) {
        let body = &program.bodies[program.actions[action.index()].body.index()];
        for block in &body.blocks {
            self.statements(program, &block.statements);
        }
    }

    fn statements(&mut self, program: &Program, statements: &[Statement]) {
        for Statement { op, .. } in statements {
            for slot in op.slots_written(program) {
                match op {
                    Op::Assign { .. } | Op::Hash { .. } | Op::UpdateChecksum { .. } => {
                        let of = self.of.entry(slot).or_default();
                        op.for_each_slot_read(&mut |read| of.push(read));
                    }
                    _ => {
                        self.changing.insert(slot);
                    }
                }
            }
        }
    }

    /// All slots that a table's key is made of, directly or not; nothing when it may differ within a flow.
    fn of_key(&self, program: &Program, table: TableId) -> Option<Vec<SlotId>> {
        let mut slots = Vec::new();
        for key in &program.tables[table.index()].keys {
            key.expr.for_each_slot(&mut |slot| slots.push(slot));
        }
        let mut known = BTreeSet::new();
        slots.retain(|slot| known.insert(*slot));
        let mut next = 0;
        while let Some(slot) = slots.get(next) {
            if self.changing.contains(slot) {
                return None;
            }
            let more = self.of.get(slot).into_iter().flatten();
            let more: Vec<SlotId> = more.copied().filter(|slot| known.insert(*slot)).collect();
            slots.extend(more);
            next += 1;
        }
        Some(slots)
    }
}
