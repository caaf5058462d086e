//! Header stacks (§8.20, §13.9): `next`, `last`, `lastIndex`, `push_front`, `pop_front`.
//!
//! Each stack has a slot `nextIndex`. In a parser, `next` of a full stack and `last` of an empty stack end the parser
//! with `error.StackOutOfBounds`.

use crate::assign;
use crate::build;
use crate::context::Context;
use crate::graph;
use crate::place::{self, Place};
use crate::storage::Storage;
use crate::types::{NAME_WIDTH, Scalar};
use crate::value::{self, Value};
use forebay_check::hir::{self, Type};
use forebay_ir::{BinaryOp, BodyKind, Expr, Terminator};

/// Width of `nextIndex` and of indices derived from it.
const INDEX_WIDTH: u32 = 32;

/// The type of indices.
const INDEX: Scalar = Scalar {
    width: INDEX_WIDTH,
    signed: false,
};

fn index(value: usize) -> Expr {
    build::constant(INDEX_WIDTH, value as u128)
}

/// `base.next` as a place.
pub fn next(cx: &mut Context, base: &Place) -> Place {
    let next = graph::save_expr(cx, next_index(base));
    let in_range = build::binary(BinaryOp::Lt, next.clone(), index(size(base)));
    require(cx, in_range, "StackOutOfBounds");
    base.element(&next, INDEX)
}

/// `base.last` as a place.
pub fn last(cx: &mut Context, base: &Place) -> Place {
    let next = next_index(base);
    require(
        cx,
        build::binary(BinaryOp::Ne, next.clone(), index(0)),
        "StackOutOfBounds",
    );
    let last = graph::save_expr(cx, build::binary(BinaryOp::Sub, next, index(1)));
    base.element(&last, INDEX)
}

/// `base.lastIndex`
pub fn last_index(base: &Place) -> Expr {
    build::binary(BinaryOp::Sub, next_index(base), index(1))
}

/// `nextIndex` grows by one, after an extraction into `base.next`.
pub fn advance(cx: &mut Context, base: &Place) {
    let grown = build::binary(BinaryOp::Add, next_index(base), index(1));
    set_next_index(cx, base, grown);
}

fn set_next_index(cx: &mut Context, base: &Place, new: Expr) {
    let slots = base.choices.iter().filter_map(|choice| match &choice.storage {
        Storage::Stack { next_index, .. } => Some(place::Choice {
            storage: Storage::Scalar(*next_index),
            ..choice.clone()
        }),
        _ => None,
    });
    let place = Place {
        choices: slots.collect(),
        part: None,
    };
    assign::write(cx, &place, Value::Scalar(new));
}

fn next_index(base: &Place) -> Expr {
    let mut candidates = base.choices.iter().rev().filter_map(|choice| match &choice.storage {
        Storage::Stack { next_index, .. } => Some((choice.guard.clone(), Expr::Slot(*next_index))),
        _ => None,
    });
    let last = candidates.next().map_or(index(0), |(_, slot)| slot);
    candidates.fold(last, |rest, (guard, slot)| {
        build::mux(guard.unwrap_or(build::boolean(true)), slot, rest)
    })
}

fn size(base: &Place) -> usize {
    base.choices
        .first()
        .map_or(0, |choice| choice.storage.components().len())
}

/// In a parser: rejects with the named error of the core library unless the condition holds.
pub fn require(cx: &mut Context, condition: Expr, error: &str) {
    if cx.body.kind() != BodyKind::Parser {
        return;
    }
    let number = cx.program.error(error).unwrap_or(0);
    let good = graph::new_block(cx);
    let bad = graph::new_block(cx);
    graph::branch(cx, condition, good, bad);
    graph::start(cx, bad);
    graph::terminate(cx, Terminator::Reject(build::constant(NAME_WIDTH, u128::from(number))));
    graph::start(cx, good);
}

/// The argument of `push_front` and `pop_front`, within the bits of an index: a larger count empties every stack, too.
pub fn shift_count(cx: &mut Context, count: &hir::Expr) -> usize {
    let count = crate::table::constant_size(cx, count);
    count.min(u64::from(u32::MAX)) as usize
}

/// `base.push_front(count)`: elements move up, the first ones become invalid.
pub fn push_front(cx: &mut Context, base: &Place, ty: &Type, count: usize) {
    shift(cx, base, ty, |elements, blank| {
        let kept = elements.len().saturating_sub(count);
        let mut moved = vec![blank.clone(); elements.len() - kept];
        moved.extend_from_slice(&elements[..kept]);
        moved
    });
    let size = size(base);
    let grown = build::binary(BinaryOp::SatAddUnsigned, next_index(base), index(count));
    let too_large = build::binary(BinaryOp::Lt, index(size), grown.clone());
    set_next_index(cx, base, build::mux(too_large, index(size), grown));
}

/// `base.pop_front(count)`: elements move down, the last ones become invalid.
pub fn pop_front(cx: &mut Context, base: &Place, ty: &Type, count: usize) {
    shift(cx, base, ty, |elements, blank| {
        let dropped = elements.len().min(count);
        let mut moved = elements[dropped..].to_vec();
        moved.resize(elements.len(), blank.clone());
        moved
    });
    let shrunk = build::binary(BinaryOp::SatSubUnsigned, next_index(base), index(count));
    set_next_index(cx, base, shrunk);
}

fn shift(cx: &mut Context, base: &Place, ty: &Type, rearrange: impl Fn(&[Value], &Value) -> Vec<Value>) {
    let ty = crate::types::resolve(cx, ty);
    let Type::Stack(element, _) = &ty else { return };
    let blank = value::zero(cx, element);
    let Value::Stack { elements, next_index } = place::read(cx, base, &ty) else {
        return;
    };
    let elements = rearrange(&elements, &blank);
    assign::write(cx, base, Value::Stack { elements, next_index });
}
