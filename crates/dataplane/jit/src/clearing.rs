//! Which slots have to be 0 before a packet begins: not those that are written before they are read, or never read.

use crate::gress::Gresses;
use crate::in_place::InPlace;
use forebay_ir::{Block, Body, IndexSet, Program, SlotId, SlotKind, Terminator};

/// Slots that need not be 0 when the function of ingress begins.
pub(crate) fn uncleared(program: &Program, gresses: Option<&Gresses>, in_place: &InPlace) -> IndexSet {
    let mut uncleared = IndexSet::new(program.slots.len());
    if gresses.is_none() {
        return uncleared;
    }
    let mut read_first = IndexSet::new(program.slots.len());
    for body in &program.bodies {
        note_read_first(program, body, &mut read_first);
    }
    let slots = (0..program.slots.len() as u32).map(SlotId);
    for slot in slots {
        // Who declares a variable alone can name it, and does not know what it was in another control.
        let is_local = matches!(program.slot(slot).kind, SlotKind::Local);
        if in_place.is_left(slot) || is_local && !read_first.contains(slot.index()) {
            uncleared.insert(slot.index());
        }
    }
    uncleared
}

/// Notes the slots that a body may read before it has written them. What an action does for the control that applies its table
/// is not looked at.
fn note_read_first(program: &Program, body: &Body, read_first: &mut IndexSet) {
    let slots = program.slots.len();
    let mut written: Vec<Option<IndexSet>> = vec![None; body.blocks.len()];
    written[0] = Some(IndexSet::new(slots));
    let mut pending = vec![0];
    while let Some(index) = pending.pop() {
        let block = &body.blocks[index];
        let mut known = written[index]
            .clone()
            .expect("a block is pending after its set is known");
        pass_block(program, block, &mut known, read_first);
        for next in block.terminator.successors() {
            let before = &mut written[next.index()];
            let joined = match before {
                Some(before) => both(slots, before, &known),
                None => known.clone(),
            };
            if before.as_ref() != Some(&joined) {
                *before = Some(joined);
                pending.push(next.index());
            }
        }
    }
}

fn both(slots: usize, one: &IndexSet, other: &IndexSet) -> IndexSet {
    let mut both = IndexSet::new(slots);
    let common = (0..slots).filter(|slot| one.contains(*slot) && other.contains(*slot));
    common.for_each(|slot| both.insert(slot));
    both
}

fn pass_block(program: &Program, block: &Block, written: &mut IndexSet, read_first: &mut IndexSet) {
    let mut read = |slot: SlotId, written: &IndexSet| {
        if !written.contains(slot.index()) {
            read_first.insert(slot.index());
        }
    };
    for statement in &block.statements {
        statement.op.for_each_slot_read(&mut |slot| read(slot, written));
        let target = statement.op.certain_target();
        target.into_iter().for_each(|slot| written.insert(slot.index()));
    }
    for expr in block.terminator.exprs() {
        expr.for_each_slot(&mut |slot| read(slot, written));
    }
    if let Terminator::Apply {
        table, hit, action_run, ..
    } = &block.terminator
    {
        for key in &program.tables[table.index()].keys {
            key.expr.for_each_slot(&mut |slot| read(slot, written));
        }
        hit.iter()
            .chain(action_run)
            .for_each(|slot| written.insert(slot.index()));
    }
}
