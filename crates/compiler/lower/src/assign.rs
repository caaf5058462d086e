//! Assignment of a value to a place, including copies of whole headers and structs.
//!
//! All slots of one assignment change at once: `s = { s.b, s.a }` swaps. If an expression reads a slot that the same
//! assignment writes earlier, the values are saved first.

use crate::build;
use crate::context::Context;
use crate::graph;
use crate::place::{Choice, Part, Place};
use crate::storage::Storage;
use crate::value::{self, Value};
use forebay_ir::{BinaryOp, Expr, SlotId};
use std::collections::HashSet;

/// `place = value`; the types are equal.
pub fn write(cx: &mut Context, place: &Place, value: Value) {
    let value = match place.choices.len() {
        0 | 1 => value,
        _ => value.map(&mut |expr| graph::simple(cx, expr)),
    };
    let mut writes = Vec::new();
    for choice in &place.choices {
        let mut here = Vec::new();
        match &place.part {
            Some(part) => write_part(cx, part, &choice.storage, &value, &mut here),
            None => write_storage(&choice.storage, &value, &mut here),
        }
        write_siblings(choice, &value, &mut here);
        writes.extend(here.into_iter().map(|(slot, new)| match &choice.guard {
            Some(guard) => (slot, build::mux(guard.clone(), new, Expr::Slot(slot))),
            None => (slot, new),
        }));
    }
    write_at_once(cx, writes);
}

/// `storage = value`
pub fn write_whole(cx: &mut Context, storage: &Storage, value: Value) {
    let mut writes = Vec::new();
    write_storage(storage, &value, &mut writes);
    write_at_once(cx, writes);
}

fn write_storage(storage: &Storage, value: &Value, writes: &mut Vec<(SlotId, Expr)>) {
    match (storage, value) {
        (Storage::Scalar(slot), Value::Scalar(expr)) => writes.push((*slot, expr.clone())),
        (
            Storage::Varbit {
                value: slot,
                length: length_slot,
            },
            Value::Varbit { value, length },
        ) => {
            writes.push((*slot, value.clone()));
            writes.push((*length_slot, length.clone()));
        }
        (Storage::Header { valid, .. }, Value::Header { valid: new, .. }) if build::as_bool(new) == Some(false) => {
            writes.push((*valid, new.clone()));
        }
        (Storage::Header { valid, .. }, Value::Header { valid: new, .. }) => {
            writes.push((*valid, new.clone()));
            write_components(storage, value, writes);
        }
        (Storage::Stack { next_index, .. }, Value::Stack { next_index: new, .. }) => {
            write_components(storage, value, writes);
            writes.push((*next_index, new.clone()));
        }
        (Storage::Stack { .. } | Storage::Group(_) | Storage::Union(_), _) => write_components(storage, value, writes),
        _ => {}
    }
}

fn write_components(storage: &Storage, value: &Value, writes: &mut Vec<(SlotId, Expr)>) {
    for (storage, value) in storage.components().iter().zip(value.components()) {
        write_storage(storage, value, writes);
    }
}

/// Assigning to a member of a union makes the others invalid, even if the assigned value is invalid (§8.21).
fn write_siblings(choice: &Choice, value: &Value, writes: &mut Vec<(SlotId, Expr)>) {
    if matches!(value, Value::Header { .. }) {
        writes.extend(choice.siblings.iter().map(|sibling| (*sibling, build::boolean(false))));
    }
}

fn write_part(cx: &Context, part: &Part, storage: &Storage, value: &Value, writes: &mut Vec<(SlotId, Expr)>) {
    let (Storage::Scalar(slot), Value::Scalar(new)) = (storage, value) else {
        return;
    };
    let width = cx.program.slot(*slot).width;
    let old = Expr::Slot(*slot);
    let whole = match part {
        Part::Fixed { hi, lo } => replace_bits(old, width, *hi, *lo, new.clone()),
        Part::Moving { low, width: part_width } => {
            let ones = build::resize(build::not(build::constant(*part_width, 0)), *part_width, width, false);
            let mask = build::binary(BinaryOp::Shl, ones, low.clone());
            let new = build::resize(new.clone(), *part_width, width, false);
            let moved = build::binary(BinaryOp::Shl, new, low.clone());
            build::binary(BinaryOp::Or, build::binary(BinaryOp::And, old, build::not(mask)), moved)
        }
    };
    writes.push((*slot, whole));
}

/// `old` with bits `hi` to `lo` replaced.
fn replace_bits(old: Expr, width: u32, hi: u32, lo: u32, new: Expr) -> Expr {
    let mut whole = new;
    if hi + 1 < width {
        whole = build::concat(build::slice(old.clone(), width, width - 1, hi + 1), whole);
    }
    if lo > 0 {
        whole = build::concat(whole, build::slice(old, width, lo - 1, 0));
    }
    whole
}

fn write_at_once(cx: &mut Context, mut writes: Vec<(SlotId, Expr)>) {
    writes.retain(|(slot, expr)| *expr != Expr::Slot(*slot));
    let mut written = HashSet::new();
    let conflict = writes.iter().any(|(slot, expr)| {
        let reads_written = value::reads(expr, &|slot| written.contains(&slot));
        written.insert(*slot);
        reads_written
    });
    if conflict {
        for (_, expr) in &mut writes {
            let value = std::mem::replace(expr, build::boolean(false));
            *expr = graph::save_expr(cx, value);
        }
    }
    for (slot, expr) in writes {
        graph::assign(cx, slot, expr);
    }
}
