//! Operators.

use crate::build;
use crate::compare;
use crate::context::Context;
use crate::expression::{self, expression};
use crate::graph;
use crate::limits;
use crate::storage;
use crate::types;
use crate::value::Value;
use forebay_bits::Bits;
use forebay_check::hir;
use forebay_ir::{BinaryOp as Op, Expr, UnaryOp as IrUnaryOp};
use forebay_syntax::ast::{BinaryOp, UnaryOp};
use forebay_syntax::codes::lower as codes;
use forebay_syntax::diagnostic::Diagnostic;
use forebay_syntax::source::Span;
use num_bigint::BigInt;
use num_traits::{Signed, ToPrimitive, Zero};

/// Shifts of `int` values beyond this are refused.
const MAX_INTEGER_SHIFT: u64 = 1 << 16;

/// `op operand`
pub fn unary(cx: &mut Context, op: UnaryOp, operand: Value, span: Span) -> Value {
    match (op, operand) {
        (UnaryOp::Plus, operand) => operand,
        (UnaryOp::Negate, Value::Integer(number)) => Value::Integer(-number),
        (UnaryOp::Negate, Value::Scalar(expr)) => Value::Scalar(build::unary(IrUnaryOp::Negate, expr)),
        (UnaryOp::Complement | UnaryOp::Not, Value::Scalar(expr)) => Value::Scalar(build::not(expr)),
        (_, operand) => {
            unsupported(cx, span);
            operand
        }
    }
}

/// Operators from the left.
pub fn chain(cx: &mut Context, first: &hir::Expr, links: &[hir::Link]) -> Value {
    let mut value = expression(cx, first);
    let mut ty = &first.ty;
    for link in links {
        forebay_budget::check();
        value = operation(cx, value, ty, link);
        value = expression::bounded(cx, value, &link.ty, link.span);
        ty = &link.ty;
    }
    value
}

/// `left op right`, the left operand of type `ty`.
fn operation(cx: &mut Context, mut left: Value, ty: &hir::Type, link: &hir::Link) -> Value {
    if matches!(link.op, BinaryOp::And | BinaryOp::Or) {
        let left = expression::scalar_of(cx, left, ty, link.span);
        return Value::Scalar(short_circuit(cx, link.op == BinaryOp::And, left, &link.right));
    }
    if expression::has_effects(&link.right) {
        left = graph::save(cx, left);
    }
    let right = expression(cx, &link.right);
    if *ty == hir::Type::Int {
        return without_width(cx, link.op, left, right, link.span);
    }
    let signed = types::is_signed(cx, ty);
    apply(cx, link.op, left, right, signed, link.span)
}

/// An operator whose left operand is an `int`. Numbers that are known only at run time are in two's complement, and the
/// result has as many bits as it needs.
pub fn without_width(cx: &mut Context, op: BinaryOp, left: Value, right: Value, span: Span) -> Value {
    let is_shift = matches!(op, BinaryOp::Shl | BinaryOp::Shr);
    let right = match right {
        Value::Scalar(Expr::Const(amount)) if is_shift => Value::Integer(BigInt::from(amount.to_biguint())),
        right => right,
    };
    if let (Value::Integer(_), Value::Integer(_)) = (&left, &right) {
        return apply(cx, op, left, right, true, span);
    }
    let (Some(left), Some(number)) = (twos_complement(left), twos_complement(right.clone())) else {
        unsupported(cx, span);
        return right;
    };
    let (left_width, right_width) = (left.width(&cx.program), number.width(&cx.program));
    let larger = left_width.max(right_width);
    let width = match (op, &right) {
        (BinaryOp::Shr, _) => left_width,
        (BinaryOp::Shl, Value::Integer(amount)) => left_width.saturating_add(amount.to_u32().unwrap_or(u32::MAX)),
        (BinaryOp::Shl, _) => {
            let message =
                "a number without width cannot be shifted to the left by an amount that is known only at run time";
            let diagnostic = Diagnostic::error(codes::UNSUPPORTED_EXPRESSION, span, message);
            cx.diagnostics
                .push(diagnostic.hint("give it a width, as in 8w1 << amount"));
            return right;
        }
        (BinaryOp::Add | BinaryOp::Sub, _) => larger + 1,
        (BinaryOp::Mul, _) => left_width + right_width,
        _ => larger,
    };
    if width > limits::MAX_WIDTH {
        unsupported(cx, span);
        return right;
    }
    let left = build::resize(left, left_width, width, true);
    let number = if is_shift {
        number
    } else {
        build::resize(number, right_width, width, true)
    };
    Value::Scalar(scalars(op, left, number, true))
}

/// Two values of type `int` in two's complement, with the same number of bits.
pub fn of_one_width(cx: &Context, left: Value, right: Value) -> (Value, Value) {
    let (Some(one), Some(other)) = (twos_complement(left.clone()), twos_complement(right.clone())) else {
        return (left, right);
    };
    let (one_width, other_width) = (one.width(&cx.program), other.width(&cx.program));
    let width = one_width.max(other_width);
    let wide = |expr, from| Value::Scalar(build::resize(expr, from, width, true));
    (wide(one, one_width), wide(other, other_width))
}

/// An `int` in two's complement; `None` for what is no number.
fn twos_complement(value: Value) -> Option<Expr> {
    match value {
        Value::Scalar(expr) => Some(expr),
        Value::Integer(number) => Some(Expr::Const(Bits::from_bigint(number.bits() as u32 + 1, &number))),
        _ => None,
    }
}

/// A computed `int` that is converted to a type with a width, as an expression whose last operators have this width: the
/// result is the same modulo 2^W. `None` when there are no such operators.
pub fn with_width(cx: &Context, operand: &hir::Expr, to: &hir::Type) -> Option<hir::Expr> {
    let hir::ExprKind::Binary(first, links) = &operand.kind else {
        return None;
    };
    if operand.ty != hir::Type::Int || types::resolve(cx, to) == hir::Type::Bool {
        return None;
    }
    let to = types::scalar(cx, to)?;
    let ty = if to.signed {
        hir::Type::Signed(to.width)
    } else {
        hir::Type::Bit(to.width)
    };
    let start = links
        .iter()
        .rposition(|link| !is_modular(link.op))
        .map_or(0, |last| last + 1);
    let before = match start {
        0 => hir::Expr::clone(first),
        _ if start == links.len() => return None,
        _ => hir::Expr {
            kind: hir::ExprKind::Binary(first.clone(), links[..start].to_vec()),
            ty: hir::Type::Int,
            span: links[start - 1].span,
        },
    };
    let converted = |expr: hir::Expr| hir::Expr {
        span: expr.span,
        kind: hir::ExprKind::Cast(Box::new(expr)),
        ty: ty.clone(),
    };
    let links = links[start..].iter().map(|link| hir::Link {
        op: link.op,
        right: match link.op {
            BinaryOp::Shl => link.right.clone(),
            _ => converted(link.right.clone()),
        },
        ty: ty.clone(),
        span: link.span,
    });
    Some(hir::Expr {
        kind: hir::ExprKind::Binary(Box::new(converted(before)), links.collect()),
        ty: ty.clone(),
        span: operand.span,
    })
}

/// Whether the lowest bits of the result depend on the same bits of the operands alone (for shifts, of the left one).
fn is_modular(op: BinaryOp) -> bool {
    use BinaryOp::*;
    matches!(op, Add | Sub | Mul | Shl | BitAnd | BitOr | BitXor)
}

/// Applies the operator to values; `signed` says how the left operand is interpreted.
pub fn apply(cx: &mut Context, op: BinaryOp, left: Value, right: Value, signed: bool, span: Span) -> Value {
    match op {
        BinaryOp::Eq => Value::Scalar(compare::equal(cx, &left, &right)),
        BinaryOp::Ne => Value::Scalar(build::not(compare::equal(cx, &left, &right))),
        _ => match (left, right) {
            (Value::Scalar(left), Value::Scalar(right)) => Value::Scalar(scalars(op, left, right, signed)),
            (Value::Scalar(left), Value::Integer(amount))
                if matches!(op, BinaryOp::Shl | BinaryOp::Shr) && !amount.is_negative() =>
            {
                let width = (amount.bits() as u32 + 1).max(8);
                let amount = Expr::Const(Bits::from_bigint(width, &amount));
                Value::Scalar(scalars(op, left, amount, signed))
            }
            (Value::Integer(left), Value::Integer(right)) => integers(cx, op, left, right, span),
            (left, _) => {
                unsupported(cx, span);
                left
            }
        },
    }
}

fn scalars(op: BinaryOp, left: Expr, right: Expr, signed: bool) -> Expr {
    let choose = |unsigned, signed_op| if signed { signed_op } else { unsigned };
    let op = match op {
        BinaryOp::Mul => Op::Mul,
        BinaryOp::Div => Op::Div,
        BinaryOp::Mod => Op::Mod,
        BinaryOp::Add => Op::Add,
        BinaryOp::Sub => Op::Sub,
        BinaryOp::SatAdd => choose(Op::SatAddUnsigned, Op::SatAddSigned),
        BinaryOp::SatSub => choose(Op::SatSubUnsigned, Op::SatSubSigned),
        BinaryOp::Shl => Op::Shl,
        BinaryOp::Shr => choose(Op::Shr, Op::ShrSigned),
        BinaryOp::Le => choose(Op::Le, Op::LeSigned),
        BinaryOp::Lt => choose(Op::Lt, Op::LtSigned),
        BinaryOp::Ge => return build::binary(choose(Op::Le, Op::LeSigned), right, left),
        BinaryOp::Gt => return build::binary(choose(Op::Lt, Op::LtSigned), right, left),
        BinaryOp::Eq => Op::Eq,
        BinaryOp::Ne => Op::Ne,
        BinaryOp::BitAnd | BinaryOp::And => Op::And,
        BinaryOp::BitXor => Op::Xor,
        BinaryOp::BitOr | BinaryOp::Or => Op::Or,
        BinaryOp::Concat => return build::concat(left, right),
    };
    build::binary(op, left, right)
}

/// Operators on compile-time integers that depend on constructor parameters. The checker has folded all others.
fn integers(cx: &mut Context, op: BinaryOp, left: BigInt, right: BigInt, span: Span) -> Value {
    let shift = right.to_u64().filter(|amount| *amount <= MAX_INTEGER_SHIFT);
    let number = match op {
        BinaryOp::Mul => left * right,
        BinaryOp::Div if !right.is_zero() => left / right,
        BinaryOp::Mod if !right.is_zero() => left % right,
        BinaryOp::Add => left + right,
        BinaryOp::Sub => left - right,
        BinaryOp::BitAnd => left & right,
        BinaryOp::BitOr => left | right,
        BinaryOp::BitXor => left ^ right,
        BinaryOp::Shl if shift.is_some() => left << shift.unwrap_or(0),
        BinaryOp::Shr if shift.is_some() => left >> shift.unwrap_or(0),
        BinaryOp::Le => return Value::boolean(left <= right),
        BinaryOp::Ge => return Value::boolean(left >= right),
        BinaryOp::Lt => return Value::boolean(left < right),
        BinaryOp::Gt => return Value::boolean(left > right),
        _ => {
            unsupported(cx, span);
            left
        }
    };
    Value::Integer(number)
}

/// `&&` and `||`: the right operand is evaluated only if the left one does not determine the result (§8.5).
fn short_circuit(cx: &mut Context, is_and: bool, left: Expr, right: &hir::Expr) -> Expr {
    if let Some(known) = build::as_bool(&left) {
        return if known == is_and {
            expression::scalar(cx, right)
        } else {
            left
        };
    }
    if !expression::has_effects(right) {
        let right = expression::scalar(cx, right);
        return match build::as_bool(&right) {
            Some(known) if known != is_and => right,
            _ if is_and => build::and(left, right),
            _ => build::or(left, right),
        };
    }
    let result = storage::temporary(cx, 1);
    graph::assign(cx, result, left);
    let open = if is_and {
        Expr::Slot(result)
    } else {
        build::not(Expr::Slot(result))
    };
    graph::when(cx, open, |cx| {
        let right = expression::scalar(cx, right);
        graph::assign(cx, result, right);
    });
    Expr::Slot(result)
}

/// The sum of two unsigned values of any widths, wide enough for both.
pub fn add_wide(cx: &Context, left: Expr, right: Expr) -> Expr {
    let (left_width, right_width) = (left.width(&cx.program), right.width(&cx.program));
    let width = left_width.max(right_width) + 1;
    let left = build::resize(left, left_width, width, false);
    let right = build::resize(right, right_width, width, false);
    build::binary(Op::Add, left, right)
}

fn unsupported(cx: &mut Context, span: Span) {
    if !cx.aborted {
        cx.error(
            codes::UNSUPPORTED_EXPRESSION,
            span,
            "this operator cannot be evaluated on these operands",
        );
    }
}
