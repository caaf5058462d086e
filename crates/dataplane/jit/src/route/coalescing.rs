//! Copy coalescing: one slot for two slots that have the same value wherever both are live.
//!
//! A header may be assigned to another one and not be used afterwards, as with a PSA program's frame between its two
//! parsers. The fields of both then become one, so the header stays where it is in the packet instead of being copied.
//!
//! A slot and its source become one if neither is written, except by the copy, while the other is live, and if the
//! slot is not read before the copy. Fields that are already in the packet keep their position: they do not become
//! others.

use super::flow::{Flow, FlowBlock};
use super::jump_threading::written_by_actions;
use super::live_sets::FlowLiveness;
use super::{Pass, Route};
use crate::body_liveness::step;
use forebay_ir::{Expr, HeaderId, IndexSet, Op, Program, SlotId, SlotKind, Terminator};
use std::collections::{BTreeMap, BTreeSet};

/// Coalesces fields of headers where possible, in the program and in the flow after its parser, which has no dead
/// stores. `live` and the result are the slots that are live at the beginning of each block, before and after the
/// change.
pub(super) fn coalesce(
    program: &mut Program,
    route: &Route,
    flow: &mut Flow,
    extracted: &[HeaderId],
    live: Vec<IndexSet>,
) -> Vec<IndexSet> {
    if [Pass::DeadStores, Pass::Coalescing]
        .iter()
        .any(|pass| route.without.has(*pass))
    {
        return live;
    }
    let liveness = FlowLiveness::with(program, route, live);
    let pairs = pairs(&liveness, flow, extracted);
    let live = liveness.into_sets();
    if pairs.is_empty() {
        return live;
    }
    let mut rename = |slot: &mut SlotId| {
        if let Some(other) = pairs.get(slot) {
            *slot = *other;
        }
    };
    for header in &mut program.headers {
        header.fields.iter_mut().for_each(|field| rename(&mut field.slot));
    }
    for table in &mut program.tables {
        for key in &mut table.keys {
            key.expr.for_each_slot_mut(&mut rename);
        }
        let color = table.direct_meter.as_mut().and_then(|meter| meter.slot.as_mut());
        color.into_iter().for_each(&mut rename);
    }
    let bodies = program.bodies.iter_mut().flat_map(|body| &mut body.blocks);
    for block in bodies.chain(flow.blocks.iter_mut().map(|block| &mut block.block)) {
        for statement in &mut block.statements {
            statement.op.for_each_slot_mut(&mut rename);
        }
        block.statements.retain(|statement| !is_to_itself(&statement.op));
        for expr in block.terminator.exprs_mut() {
            expr.for_each_slot_mut(&mut rename);
        }
        if let Terminator::Apply { hit, action_run, .. } = &mut block.terminator {
            hit.iter_mut().chain(action_run).for_each(&mut rename);
        }
    }
    // What was known about one of them need not hold for both.
    let merged: BTreeSet<SlotId> = pairs.iter().flat_map(|(one, other)| [*one, *other]).collect();
    for block in &mut flow.blocks {
        block.facts.retain(|slot| !merged.contains(&slot));
    }
    FlowLiveness::solved(program, route, flow).into_sets()
}

/// Slots that are copies, with their sources. No slot is in two pairs.
fn pairs(liveness: &FlowLiveness<'_>, flow: &Flow, extracted: &[HeaderId]) -> BTreeMap<SlotId, SlotId> {
    let program = liveness.program;
    let mut candidates = candidates(program, liveness.route, flow);
    candidates.retain(|(copy, _)| match program.slot(*copy).kind {
        SlotKind::Field(header) => !extracted.contains(&header),
        _ => false,
    });
    if candidates.is_empty() {
        return BTreeMap::new();
    }
    let mut apart = BTreeSet::new();
    let live_first = liveness.before(&flow.blocks[0]);
    apart.extend(
        candidates
            .iter()
            .filter(|(copy, _)| live_first.contains(copy.index()))
            .copied(),
    );
    for block in &flow.blocks {
        interferences(program, liveness, block, &candidates, &mut apart);
    }
    let (mut pairs, mut taken) = (BTreeMap::new(), BTreeSet::new());
    for (copy, origin) in candidates {
        let is_free = !apart.contains(&(copy, origin)) && !taken.contains(&copy) && !taken.contains(&origin);
        if is_free {
            taken.extend([copy, origin]);
            pairs.insert(copy, origin);
        }
    }
    pairs
}

/// Fields that are assigned fields of the same width.
fn candidates(program: &Program, route: &Route, flow: &Flow) -> BTreeSet<(SlotId, SlotId)> {
    let is_field =
        |slot: SlotId| matches!(program.slot(slot).kind, SlotKind::Field(_)) && !route.kept().any(|kept| *kept == slot);
    // The values of these slots go with a packet that leaves.
    let is_taken_along = |slot: SlotId| route.leaving.iter().flatten().any(|taken| *taken == slot);
    let has_varbit = |slot: SlotId| match program.slot(slot).kind {
        SlotKind::Field(header) => {
            let fields = &program.headers[header.index()].fields;
            fields.iter().any(|field| field.length.is_some())
        }
        _ => false,
    };
    let statements = flow.blocks.iter().flat_map(|block| &block.block.statements);
    let copies = statements.filter_map(|statement| copied(&statement.op));
    copies
        .filter(|(copy, origin)| copy != origin && is_field(*copy) && is_field(*origin))
        .filter(|(copy, origin)| !has_varbit(*copy) && !has_varbit(*origin))
        .filter(|(copy, _)| !is_taken_along(*copy))
        .collect()
}

/// The target and the source of a copy.
fn copied(op: &Op) -> Option<(SlotId, SlotId)> {
    match op {
        Op::Assign {
            slot,
            value: Expr::Slot(origin),
        } => Some((*slot, *origin)),
        _ => None,
    }
}

fn is_to_itself(op: &Op) -> bool {
    copied(op).is_some_and(|(copy, origin)| copy == origin)
}

/// Records the pairs that interfere in a block: one is written while the other is live.
fn interferences(
    program: &Program,
    liveness: &FlowLiveness<'_>,
    block: &FlowBlock,
    candidates: &BTreeSet<(SlotId, SlotId)>,
    apart: &mut BTreeSet<(SlotId, SlotId)>,
) {
    let mut note = |written: &mut dyn Iterator<Item = SlotId>, but: Option<(SlotId, SlotId)>, live: &IndexSet| {
        for slot in written {
            let concerned = candidates.iter().filter(|pair| Some(**pair) != but);
            for pair in concerned {
                let other = match *pair {
                    (copy, origin) if copy == slot => origin,
                    (copy, origin) if origin == slot => copy,
                    _ => continue,
                };
                if live.contains(other.index()) {
                    apart.insert(*pair);
                }
            }
        }
    };
    let mut live = liveness.behind(&block.block.terminator);
    if let Terminator::Apply { table, .. } = &block.block.terminator {
        live.extend(&liveness.after_look_up(block));
        let results = block.block.terminator.results();
        note(&mut results.chain(written_by_actions(program, *table)), None, &live);
    }
    let mut live = liveness.at_end_of_statements(block);
    for statement in block.block.statements.iter().rev() {
        let mut written = statement.op.slots_written(program).into_iter();
        note(&mut written, copied(&statement.op), &live);
        step(program, &statement.op, &mut live);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::route::example;

    /// The names of the fields of `copy` after coalescing, when the control does this to headers `from` and `copy`,
    /// both of which are emitted only if they are valid afterwards.
    fn fields_of_copy(control: &str, extracted: &[HeaderId]) -> Vec<String> {
        let header = |name: &str| {
            format!(
                "header {name} h_t {{\n  valid {name}.$valid\n  field a = {name}.a\n  field b = {name}.b\n}}\n\
                 slot {name}.$valid: bit<1> valid {name}\nslot {name}.a: bit<16> field {name}\n\
                 slot {name}.b: bit<16> field {name}\n"
            )
        };
        let text = format!(
            "program v1model\n{}{}slot port: bit<16> intrinsic\nbody P parser {{\nblock0:\n  return\n}}\n\
             body E control {{\nblock0:\n  return\n}}\nbody D deparser {{\nblock0:\n  emit copy\n  emit from\n  return\n}}\n\
             body I control {{\nblock0:\n{control}  return\n}}\n",
            header("from"),
            header("copy"),
        );
        let mut program = forebay_ir::text::read(&text).expect("it is a program");
        let route = example::route(&program, "port");
        let mut flow = Flow::of_bodies(&program, &route);
        let zero = forebay_bits::Bits::from_bool(false);
        let from = example::slot(&program, "from.$valid");
        // After the copy the other header is invalid, and jump threading has recorded this.
        for block in &mut flow.blocks {
            block.facts.becomes(from, Some(&zero));
        }
        let live = FlowLiveness::solved(&program, &route, &flow).into_sets();
        coalesce(&mut program, &route, &mut flow, extracted, live);
        let fields = program.headers[1].fields.iter();
        fields.map(|field| program.slot(field.slot).name.clone()).collect()
    }

    const COPIES: &str = "  copy.a = from.a\n  copy.b = from.b\n  copy.$valid = 1w0x1\n  from.$valid = 1w0x0\n";

    #[test]
    fn a_header_that_is_copied_and_used_no_more_becomes_its_copy() {
        assert_eq!(fields_of_copy(COPIES, &[]), ["from.a", "from.b"]);
        let changed = format!("{COPIES}  copy.a = copy.a + 16w0x1\n");
        assert_eq!(fields_of_copy(&changed, &[]), ["from.a", "from.b"]);
    }

    #[test]
    fn fields_of_which_one_changes_while_the_other_is_read_stay_apart() {
        let origin = format!("{COPIES}  from.a = 16w0x7\n");
        assert_eq!(fields_of_copy(&origin, &[]), ["copy.a", "from.b"]);
        let copy = format!("{COPIES}  copy.a = 16w0x7\n  copy.b = from.a\n");
        assert_eq!(fields_of_copy(&copy, &[]), ["copy.a", "from.b"]);
        let read_before = format!("  port = copy.a\n{COPIES}");
        assert_eq!(fields_of_copy(&read_before, &[]), ["copy.a", "from.b"]);
    }

    #[test]
    fn a_header_that_is_in_the_packet_stays_what_it_is() {
        assert_eq!(fields_of_copy(COPIES, &[HeaderId(1)]), ["copy.a", "copy.b"]);
    }
}
