//! `for` loops (§12.8). They stay loops: blocks that jump back.

use crate::assign;
use crate::build;
use crate::context::Context;
use crate::expression;
use crate::graph::{self, LoopTargets};
use crate::operator;
use crate::place::Place;
use crate::statement;
use crate::storage::{self, Storage};
use crate::types::{self, Scalar};
use crate::value::Value;
use forebay_check::hir::{self, Block, Statement, Type};
use forebay_ir::{BlockId, Expr};
use forebay_syntax::ast::BinaryOp;

/// `for (init; condition; update) body`
pub fn general(cx: &mut Context, init: &[Statement], condition: &hir::Expr, update: &[Statement], body: &Block) {
    statement::statements(cx, init);
    let test = graph::new_block(cx);
    let round = graph::new_block(cx);
    let targets = targets(cx);
    graph::jump(cx, test);
    graph::start(cx, test);
    let condition = expression::scalar(cx, condition);
    graph::branch(cx, condition, round, targets.break_block);
    body_of_loop(cx, round, targets, body);
    graph::start(cx, targets.continue_block);
    statement::statements(cx, update);
    graph::jump(cx, test);
    graph::start(cx, targets.break_block);
}

/// `for (variable in low .. high) body`: both bounds are evaluated once, both are inside.
///
/// The value after the last round is never computed, since it may not be representable.
pub fn range(cx: &mut Context, variable: hir::VarId, low: &hir::Expr, high: &hir::Expr, body: &Block) {
    let storage = statement::declare(cx, variable);
    let signed = types::is_signed(cx, &cx.hir.vars[variable.index()].ty);
    let bounds = expression::in_order(cx, &[low, high]);
    let mut bounds = bounds.into_iter().filter_map(Value::expr);
    let (Some(low), Some(high)) = (bounds.next(), bounds.next()) else {
        return;
    };
    let width = low.width(&cx.program);
    let high = graph::save_expr(cx, high);
    let counter = storage::temporary(cx, width);
    graph::assign(cx, counter, low);
    let counter_value = Expr::Slot(counter);
    let in_range = operator::apply(
        cx,
        BinaryOp::Le,
        Value::Scalar(counter_value.clone()),
        Value::Scalar(high.clone()),
        signed,
        hir_span(cx, variable),
    );
    let round = graph::new_block(cx);
    let advance = graph::new_block(cx);
    let targets = targets(cx);
    graph::branch(
        cx,
        in_range.expr().unwrap_or(build::boolean(false)),
        round,
        targets.break_block,
    );
    graph::start(cx, round);
    assign::write_whole(cx, &storage, Value::Scalar(counter_value.clone()));
    let inner = graph::new_block(cx);
    graph::jump(cx, inner);
    body_of_loop(cx, inner, targets, body);
    graph::start(cx, targets.continue_block);
    graph::branch(
        cx,
        build::equal(counter_value.clone(), high),
        targets.break_block,
        advance,
    );
    graph::start(cx, advance);
    let next = build::binary(forebay_ir::BinaryOp::Add, counter_value, build::constant(width, 1));
    graph::assign(cx, counter, next);
    graph::jump(cx, round);
    graph::start(cx, targets.break_block);
}

fn hir_span(cx: &Context, variable: hir::VarId) -> forebay_syntax::source::Span {
    cx.hir.vars[variable.index()].span
}

/// `for (variable in collection) body`: the elements are those at the start of the loop.
pub fn collection(cx: &mut Context, variable: hir::VarId, collection: &hir::Expr, body: &Block) {
    let storage = statement::declare(cx, variable);
    let value = expression::expression(cx, collection);
    let count = value.components().len();
    if count == 0 {
        return;
    }
    let element_type = types::resolve(cx, &cx.hir.vars[variable.index()].ty);
    let elements = copy_elements(cx, value, &element_type, variable);
    let index_width = u64::BITS - (count as u64).leading_zeros();
    let index = storage::temporary(cx, index_width);
    graph::assign(cx, index, build::constant(index_width, 0));
    let test = graph::new_block(cx);
    let round = graph::new_block(cx);
    let targets = targets(cx);
    graph::jump(cx, test);
    graph::start(cx, test);
    let count = build::constant(index_width, count as u128);
    let more = build::binary(forebay_ir::BinaryOp::Lt, Expr::Slot(index), count);
    graph::branch(cx, more, round, targets.break_block);
    graph::start(cx, round);
    let index_type = Scalar {
        width: index_width,
        signed: false,
    };
    let element = elements.element(&Expr::Slot(index), index_type);
    let current = crate::place::read(cx, &element, &element_type);
    assign::write_whole(cx, &storage, current);
    let inner = graph::new_block(cx);
    graph::jump(cx, inner);
    body_of_loop(cx, inner, targets, body);
    graph::start(cx, targets.continue_block);
    let next = build::binary(
        forebay_ir::BinaryOp::Add,
        Expr::Slot(index),
        build::constant(index_width, 1),
    );
    graph::assign(cx, index, next);
    graph::jump(cx, test);
    graph::start(cx, targets.break_block);
}

/// Copies the elements to storage of their own.
fn copy_elements(cx: &mut Context, value: Value, element_type: &Type, variable: hir::VarId) -> Place {
    let span = hir_span(cx, variable);
    let mut parts = Vec::new();
    for (number, element) in value.components().to_vec().into_iter().enumerate() {
        let name = format!("{}.$each{}.{number}", cx.body.scope(), cx.program.slots.len());
        let part = storage::local(cx, element_type, &name, span);
        let element = match element {
            Value::Integer(number) => expression::integer(cx, &number, element_type),
            other => other,
        };
        assign::write_whole(cx, &part, element);
        parts.push(part);
    }
    Place::whole(Storage::Group(parts.into()))
}

fn targets(cx: &mut Context) -> LoopTargets {
    LoopTargets {
        break_block: graph::new_block(cx),
        continue_block: graph::new_block(cx),
    }
}

fn body_of_loop(cx: &mut Context, entry: BlockId, targets: LoopTargets, body: &Block) {
    graph::start(cx, entry);
    cx.body.loops().push(targets);
    statement::block(cx, body);
    cx.body.loops().pop();
    graph::jump(cx, targets.continue_block);
}

/// `break` and `continue`.
pub fn leave(cx: &mut Context, target: impl Fn(LoopTargets) -> BlockId) {
    if let Some(targets) = cx.body.loops().last().copied() {
        graph::jump(cx, target(targets));
    }
}
