//! Expressions.
//!
//! An expression becomes a [`Value`] of pure IR expressions. Calls in it are hoisted: they are appended to the current
//! block in the order of evaluation (left to right), and what was evaluated before a call with effects is saved first.

use crate::build;
use crate::call;
use crate::cast;
use crate::context::Context;
use crate::elaborate;
use crate::environment::Binding;
use crate::graph;
use crate::limits;
use crate::operator;
use crate::place;
use crate::stack;
use crate::storage;
use crate::table;
use crate::types::{self, NAME_WIDTH, Scalar};
use crate::value::{self, Value};
use forebay_bits::Bits;
use forebay_check::hir::{self, Callee, ExprKind, Type};
use forebay_ir::{BinaryOp, Expr};
use forebay_syntax::ast::{self, UnaryOp};
use forebay_syntax::codes::lower as codes;
use forebay_syntax::diagnostic::Diagnostic;
use forebay_syntax::source::Span;
use num_bigint::BigInt;

/// Evaluates an expression.
pub fn expression(cx: &mut Context, expr: &hir::Expr) -> Value {
    let value = limits::deeper(cx, expr.span, |cx| evaluate(cx, expr)).unwrap_or(Value::Void);
    bounded(cx, value, &expr.ty, expr.span)
}

/// A value that is, if it is a scalar, neither too wide nor too deep.
pub fn bounded(cx: &mut Context, value: Value, ty: &Type, span: Span) -> Value {
    let Value::Scalar(scalar) = value else { return value };
    if types::scalar(cx, ty).is_some_and(|ty| ty.width > limits::MAX_WIDTH) {
        let message = format!("this value is wider than {} bits", limits::MAX_WIDTH);
        cx.abort(codes::UNSUPPORTED_TYPE, span, message);
    }
    Value::Scalar(if build::is_deeper(&scalar, limits::MAX_EXPRESSION_DEPTH) {
        graph::save_expr(cx, scalar)
    } else {
        scalar
    })
}

fn evaluate(cx: &mut Context, expr: &hir::Expr) -> Value {
    forebay_budget::check();
    if place::is_stored(cx, expr) {
        let place = place::place(cx, expr);
        return place::read(cx, &place, &expr.ty);
    }
    match &expr.kind {
        ExprKind::Int(number) => integer(cx, number, &expr.ty),
        ExprKind::Bool(value) => Value::boolean(*value),
        ExprKind::String(text) => Value::Text(text.clone()),
        ExprKind::EnumMember(id, member) => enum_member(cx, *id, *member),
        ExprKind::Error(index) => Value::Scalar(build::constant(NAME_WIDTH, u128::from(cx.error_number(*index)))),
        ExprKind::MatchKind(index) => Value::Scalar(build::constant(NAME_WIDTH, *index as u128)),
        ExprKind::Var(var) => match cx.environment.var(*var) {
            Some(Binding::Value(value)) => value.clone(),
            Some(Binding::Storage(storage)) => storage.read(),
            None => unknown(cx, expr),
        },
        ExprKind::Instance(instance) => match cx.environment.instance(*instance) {
            Some(object) => Value::Object(object),
            None => unknown(cx, expr),
        },
        ExprKind::Field(base, index) | ExprKind::TupleElement(base, index) => {
            let base = expression(cx, base);
            base.components().get(*index).cloned().unwrap_or(Value::Void)
        }
        ExprKind::Index(base, index) => element(cx, base, index),
        ExprKind::StackLastIndex(base) => {
            let base = place::place(cx, base);
            Value::Scalar(stack::last_index(&base))
        }
        ExprKind::Slice(base, hi, lo) => {
            let whole = scalar(cx, base);
            let width = whole.width(&cx.program);
            Value::Scalar(build::slice(whole, width, *hi, *lo))
        }
        ExprKind::PlusSlice(base, low, width) => plus_slice(cx, base, low, *width),
        ExprKind::Unary(op, operand) => match expression(cx, operand) {
            operand @ Value::Scalar(_) if *op == UnaryOp::Negate && expr.ty == Type::Int => {
                let zero = Value::Integer(BigInt::ZERO);
                operator::without_width(cx, ast::BinaryOp::Sub, zero, operand, expr.span)
            }
            operand => operator::unary(cx, *op, operand, expr.span),
        },
        ExprKind::Binary(first, links) => operator::chain(cx, first, links),
        ExprKind::Ternary(condition, then_value, else_value) => {
            ternary(cx, condition, then_value, else_value, &expr.ty, expr.span)
        }
        ExprKind::Cast(operand) => match operator::with_width(cx, operand, &expr.ty) {
            Some(converted) => expression(cx, &converted),
            None => {
                let value = expression(cx, operand);
                cast::cast(cx, value, &operand.ty, &expr.ty, expr.span)
            }
        },
        ExprKind::Aggregate(elements) => aggregate(cx, elements, &expr.ty),
        ExprKind::Reordered(elements, written) => reordered(cx, elements, written, &expr.ty),
        ExprKind::InvalidHeader | ExprKind::DefaultValue => {
            let ty = types::resolve(cx, &expr.ty);
            value::zero(cx, &ty)
        }
        ExprKind::Call(inner) => call::call(cx, inner, expr.span),
        ExprKind::Construct(instance) => {
            let name = instance.name.clone();
            elaborate::anonymous(cx, instance, "", &name).map_or(Value::Void, Value::Object)
        }
        ExprKind::TableHit(apply) => Value::Scalar(table::apply_for_hit(cx, apply)),
        ExprKind::TableMiss(apply) => Value::Scalar(build::not(table::apply_for_hit(cx, apply))),
        // `this` only occurs in methods of externs that cannot be executed.
        ExprKind::StackNext(_) | ExprKind::StackLast(_) | ExprKind::This => unknown(cx, expr),
        ExprKind::Table(_) | ExprKind::ValueSet(_) | ExprKind::Invalid => Value::Void,
    }
}

/// Evaluates an expression of a scalar type. `int` values, which may occur where any width is allowed, get 32 bits, or
/// more if they need them.
pub fn scalar(cx: &mut Context, expr: &hir::Expr) -> Expr {
    let value = expression(cx, expr);
    scalar_of(cx, value, &expr.ty, expr.span)
}

/// The same of a value whose type is known.
pub fn scalar_of(cx: &mut Context, value: Value, ty: &Type, span: Span) -> Expr {
    match value {
        Value::Scalar(expr) => expr,
        Value::Integer(number) => {
            let width = (number.bits() as u32 + 1).max(32);
            Expr::Const(Bits::from_bigint(width, &number))
        }
        _ => {
            if !cx.aborted {
                not_scalar(cx, ty, span);
            }
            build::constant(types::scalar(cx, ty).map_or(32, |scalar| scalar.width), 0)
        }
    }
}

/// Reports that an expression has several values, or none of a fixed width, where a single number or truth value is
/// needed.
pub fn not_scalar(cx: &mut Context, ty: &Type, span: Span) {
    let ty = types::resolve(cx, ty);
    let message = format!("a number or truth value is needed here, not `{}`", cx.hir.display(&ty));
    let mut diagnostic = Diagnostic::error(codes::UNSUPPORTED_EXPRESSION, span, message);
    if matches!(ty, Type::Composite(..) | Type::Tuple(_) | Type::Record(_)) {
        diagnostic =
            diagnostic.hint("make one number of its fields: concatenate them (`a ++ b`), or compute a hash of them");
    }
    cx.diagnostics.push(diagnostic);
}

/// Evaluates several expressions from left to right. Values are saved, so that later expressions cannot change them.
pub fn in_order(cx: &mut Context, exprs: &[&hir::Expr]) -> Vec<Value> {
    let mut values = Vec::new();
    let last_effect = exprs.iter().rposition(|expr| has_effects(expr));
    for (index, expr) in exprs.iter().enumerate() {
        let value = expression(cx, expr);
        let disturbed = last_effect.is_some_and(|last| last > index);
        values.push(if disturbed { graph::save(cx, value) } else { value });
    }
    values
}

fn unknown(cx: &mut Context, expr: &hir::Expr) -> Value {
    if !cx.aborted {
        cx.error(
            codes::UNSUPPORTED_EXPRESSION,
            expr.span,
            "this has no value at this place",
        );
    }
    let ty = types::resolve(cx, &expr.ty);
    value::zero(cx, &ty)
}

/// An integer literal as a value of its type.
pub fn integer(cx: &Context, number: &num_bigint::BigInt, ty: &Type) -> Value {
    match types::scalar(cx, ty) {
        Some(scalar) => Value::Scalar(Expr::Const(Bits::from_bigint(scalar.width, number))),
        None => Value::Integer(number.clone()),
    }
}

fn enum_member(cx: &Context, id: hir::EnumId, member: usize) -> Value {
    let declaration = &cx.hir.enums[id.index()];
    let number = declaration.members.get(member).and_then(|(_, value)| value.clone());
    match number {
        Some(number) => integer(cx, &number, &Type::Enum(id)),
        None => Value::Scalar(build::constant(NAME_WIDTH, member as u128)),
    }
}

/// An element of a value that is not stored.
fn element(cx: &mut Context, base: &hir::Expr, index: &hir::Expr) -> Value {
    let signed = types::scalar(cx, &index.ty).is_some_and(|scalar| scalar.signed);
    let mut values = in_order(cx, &[base, index]).into_iter();
    let (Some(base), Some(index)) = (values.next(), values.next()) else {
        return Value::Void;
    };
    match index {
        Value::Integer(number) => {
            let index = usize::try_from(number).unwrap_or(usize::MAX);
            base.components().get(index).cloned().unwrap_or(Value::Void)
        }
        Value::Scalar(index) => {
            let index = graph::simple(cx, index);
            let width = index.width(&cx.program);
            let elements = base.components().iter().enumerate();
            let elements = elements.take_while(|(number, _)| place::is_value_of(*number, Scalar { width, signed }));
            let guarded = elements.map(|(number, element)| {
                let here = build::equal(index.clone(), build::constant(width, number as u128));
                (Some(here), element.clone())
            });
            let mut candidates: Vec<_> = guarded.collect();
            let last = candidates.pop().map_or(Value::Void, |(_, element)| element);
            place::select(candidates, last)
        }
        _ => Value::Void,
    }
}

fn plus_slice(cx: &mut Context, base: &hir::Expr, low: &hir::Expr, width: u32) -> Value {
    let mut whole = scalar(cx, base);
    if has_effects(low) {
        whole = graph::save_expr(cx, whole);
    }
    let low = scalar(cx, low);
    let whole_width = whole.width(&cx.program);
    let moved = build::binary(BinaryOp::Shr, whole, low);
    Value::Scalar(build::resize(moved, whole_width, width, false))
}

fn aggregate(cx: &mut Context, elements: &[hir::Expr], ty: &Type) -> Value {
    let values = in_order(cx, &elements.iter().collect::<Vec<_>>());
    shaped(cx, values, ty)
}

/// An aggregate whose elements are evaluated in an order other than their own.
fn reordered(cx: &mut Context, elements: &[hir::Expr], written: &[usize], ty: &Type) -> Value {
    let in_written_order: Vec<&hir::Expr> = written.iter().map(|index| &elements[*index]).collect();
    let values = in_order(cx, &in_written_order);
    let mut placed: Vec<(usize, Value)> = written.iter().copied().zip(values).collect();
    placed.sort_by_key(|(index, _)| *index);
    shaped(cx, placed.into_iter().map(|(_, value)| value).collect(), ty)
}

/// Components as a value of a type; a header is valid.
pub fn shaped(cx: &Context, values: Vec<Value>, ty: &Type) -> Value {
    use forebay_syntax::ast::CompositeKind;
    let ty = types::resolve(cx, ty);
    match types::composite_kind(cx, &ty) {
        Some(CompositeKind::Header) => Value::Header {
            valid: build::boolean(true),
            fields: values,
        },
        Some(CompositeKind::HeaderUnion) => Value::Union(values),
        _ => match &ty {
            Type::Stack(element, size) if types::is_stack_element(cx, element) => Value::Stack {
                next_index: build::constant(32, u128::from(*size)),
                elements: values,
            },
            _ => Value::Group(values),
        },
    }
}

fn ternary(
    cx: &mut Context,
    condition: &hir::Expr,
    then_value: &hir::Expr,
    else_value: &hir::Expr,
    ty: &Type,
    span: Span,
) -> Value {
    let condition = scalar(cx, condition);
    if let Some(known) = build::as_bool(&condition) {
        return expression(cx, if known { then_value } else { else_value });
    }
    if !has_effects(then_value) && !has_effects(else_value) {
        let then_value = expression(cx, then_value);
        let else_value = expression(cx, else_value);
        let (then_value, else_value) = match ty {
            Type::Int => operator::of_one_width(cx, then_value, else_value),
            _ => (then_value, else_value),
        };
        if let (Value::Text(first), Value::Text(second)) = (&then_value, &else_value)
            && first != second
        {
            let message = "which of the two strings this is, is known only at run time";
            let diagnostic = Diagnostic::error(codes::UNSUPPORTED_EXPRESSION, span, message);
            cx.diagnostics
                .push(diagnostic.hint("choose by `if` between two statements, each with one of them"));
        }
        let leaves = then_value.components().len();
        let condition = if leaves > 1 {
            graph::simple(cx, condition)
        } else {
            condition
        };
        return value::mux(&condition, then_value, else_value);
    }
    let ty = types::resolve(cx, ty);
    let name = format!("{}.$choice{}", cx.body.scope(), cx.program.slots.len());
    let result = storage::local(cx, &ty, &name, span);
    branches(cx, condition, |cx, side| {
        let value = expression(cx, if side { then_value } else { else_value });
        crate::assign::write_whole(cx, &result, value);
    });
    result.read()
}

/// Appends two alternatives, between which a condition decides.
pub fn branches(cx: &mut Context, condition: Expr, mut side: impl FnMut(&mut Context, bool)) {
    let then_block = graph::new_block(cx);
    let else_block = graph::new_block(cx);
    let after = graph::new_block(cx);
    graph::branch(cx, condition, then_block, else_block);
    for (block, which) in [(then_block, true), (else_block, false)] {
        graph::start(cx, block);
        side(cx, which);
        graph::jump(cx, after);
    }
    graph::start(cx, after);
}

/// Whether evaluating an expression may have effects: whether it contains a call other than `isValid()`.
pub fn has_effects(expr: &hir::Expr) -> bool {
    match &expr.kind {
        ExprKind::Call(call) => match &call.callee {
            Callee::IsValid(receiver) => has_effects(receiver),
            _ => true,
        },
        ExprKind::TableHit(_) | ExprKind::TableMiss(_) | ExprKind::StackNext(_) | ExprKind::StackLast(_) => true,
        ExprKind::Construct(_) => false,
        _ => expr.operands().into_iter().any(has_effects),
    }
}
