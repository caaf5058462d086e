//! The fields that identify a packet's flow for the [flow cache](crate::flows): those from which the keys of its
//! look-ups are computed.

use super::flow::Flow;
use super::{Argument, Route, Source};
use forebay_ir::{IndexSet, Op, Program, SlotId, Statement, TableId, Terminator};
use std::collections::{BTreeMap, BTreeSet};

/// The flow keys of one path through the parser.
#[derive(Debug, Default)]
pub(crate) struct FlowKeys {
    /// Tables whose keys are the same for all packets of a flow, as long as these packets take the same path.
    pub(crate) tables: BTreeSet<TableId>,
    /// The slots from which the keys are computed, in the order in which they are found. Some may not be fields, or
    /// may be written on the path: that is not examined here.
    pub(crate) slots: Vec<SlotId>,
}

impl FlowKeys {
    /// The flow keys of packets that take this flow through a program.
    pub(crate) fn of(program: &Program, route: &Route, flow: &Flow) -> FlowKeys {
        let origins = Origins::of(program, route, flow);
        let keys = tables(flow).map(|table| (table, origins.of_key(program, table)));
        let mut keys: Vec<(TableId, Vec<SlotId>)> = keys.filter_map(|(table, slots)| Some((table, slots?))).collect();
        // What an action writes is the same within a flow only if the result of its table's look-up is the same.
        loop {
            let same: BTreeSet<TableId> = keys.iter().map(|(table, _)| *table).collect();
            let before = keys.len();
            keys.retain(|(_, slots)| {
                slots
                    .iter()
                    .all(|slot| origins.writers(*slot).all(|table| same.contains(&table)))
            });
            if keys.len() == before {
                break;
            }
        }
        let mut known = IndexSet::new(program.slots.len());
        let mut slots: Vec<SlotId> = keys.iter().flat_map(|(_, slots)| slots).copied().collect();
        slots.retain(|slot| {
            let is_new = !known.contains(slot.index());
            known.insert(slot.index());
            is_new
        });
        FlowKeys {
            tables: keys.into_iter().map(|(table, _)| table).collect(),
            slots,
        }
    }
}

/// The tables that packets look up once, before copies are made.
fn tables(flow: &Flow) -> impl Iterator<Item = TableId> + '_ {
    let blocks = flow.blocks.iter().filter(|block| block.copies.is_none());
    blocks.filter_map(|block| block.block.terminator.applied_table())
}

/// The slots from which slots are computed.
#[derive(Default)]
struct Origins {
    /// By slot: the slots from which it is computed somewhere.
    of: BTreeMap<SlotId, Vec<SlotId>>,
    /// By slot: the tables whose actions write it.
    by_actions: BTreeMap<SlotId, BTreeSet<TableId>>,
    /// Slots whose value may differ between packets with the same fields.
    changing: BTreeSet<SlotId>,
}

impl Origins {
    fn of(program: &Program, route: &Route, flow: &Flow) -> Origins {
        let mut origins = Origins::default();
        for (slot, source) in route.before_parser.iter().chain(&route.before_egress) {
            if let Source::Argument(Argument::PacketLength | Argument::Timestamp)
            | Source::Queue(_)
            | Source::NewLength
            | Source::Payload(_)
            | Source::BeforeFrame(_) = source
            {
                origins.changing.insert(*slot);
            }
        }
        // What is done for copies comes after every look-up whose result is kept.
        for block in flow.blocks.iter().filter(|block| block.copies.is_none()) {
            origins.statements(program, &block.block.statements, None);
            if let Terminator::Apply { table, .. } = block.block.terminator {
                origins.changing.extend(program.tables[table.index()].color_slot());
                for slot in block.block.terminator.results() {
                    origins.by_actions.entry(slot).or_default().insert(table);
                }
                for block in program.actions_of(table).flat_map(|action| &action.blocks) {
                    origins.statements(program, &block.statements, Some(table));
                }
            }
        }
        origins
    }

    fn statements(&mut self, program: &Program, statements: &[Statement], table: Option<TableId>) {
        for Statement { op, .. } in statements {
            for slot in op.slots_written(program) {
                match op {
                    Op::Assign { .. } | Op::Hash { .. } | Op::UpdateChecksum { .. } => {
                        let of = self.of.entry(slot).or_default();
                        op.for_each_slot_read(&mut |read| of.push(read));
                        self.by_actions.entry(slot).or_default().extend(table);
                    }
                    _ => {
                        self.changing.insert(slot);
                    }
                }
            }
        }
    }

    fn writers(&self, slot: SlotId) -> impl Iterator<Item = TableId> + '_ {
        self.by_actions.get(&slot).into_iter().flatten().copied()
    }

    /// All slots from which a table's key is computed, directly or indirectly. `None` when the key may differ within a
    /// flow.
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::route::example;

    #[test]
    fn keys_that_differ_within_a_flow_are_none_of_its() {
        let action = |name: &str, slot: &str| {
            format!(
                "action {name}(to: bit<16>) = {name}\nbody {name} action {{\nblock0:\n  {slot} = $to\n  return\n}}\n"
            )
        };
        let table = |name: &str, key: &str, action: &str| {
            format!(
                "table {name} {{\n  key k: bit<16> exact = {key}\n  action {action}\n  action NoAction\n  default NoAction()\n  size 16\n}}\n"
            )
        };
        let empty = ["P parser", "E control", "D deparser", "NoAction action"];
        let empty: String = empty
            .map(|body| format!("body {body} {{\nblock0:\n  return\n}}\n"))
            .concat();
        let text = format!(
            "program v1model\nheader h h_t {{\n  valid h.$valid\n  field a = h.a\n  field b = h.b\n}}\n\
             slot h.$valid: bit<1> valid h\nslot h.a: bit<16> field h\nslot h.b: bit<16> field h\n\
             slot found: bit<16> local\nslot copied: bit<16> local\nslot now: bit<16> local\nslot late: bit<16> local\n\
             action NoAction() = NoAction\n{empty}{}{}{}{}{}{}{}\
             body I control {{\nblock0:\n  copied = h.b\n  apply by_field -> block1\nblock1:\n  apply by_found -> block2\n\
             block2:\n  apply by_time -> block3\nblock3:\n  apply by_late -> block4\nblock4:\n  apply by_copy -> block5\n\
             block5:\n  return\n}}\n",
            action("find", "found"),
            action("delay", "late"),
            table("by_field", "h.a", "find"),
            table("by_found", "found", "NoAction2"),
            table("by_time", "now", "delay"),
            table("by_late", "late", "NoAction2"),
            table("by_copy", "copied", "NoAction2"),
        )
        .replace("  action NoAction2\n", "");
        let program = forebay_ir::text::read(&text).expect("it is a program");
        let slot = |name: &str| example::slot(&program, name);
        let route = Route {
            before_parser: vec![(slot("now"), Source::Argument(Argument::Timestamp))],
            ..example::route(&program, "found")
        };
        let keys = FlowKeys::of(&program, &route, &Flow::of_bodies(&program, &route));
        let names = |name: &TableId| program.tables[name.index()].name.as_str();
        let tables: Vec<&str> = keys.tables.iter().map(names).collect();
        assert_eq!(tables, ["by_field", "by_found", "by_copy"]);
        assert_eq!(keys.slots, ["h.a", "found", "copied", "h.b"].map(slot));
    }
}
