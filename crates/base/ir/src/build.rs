//! Builds IR expressions. Constants are folded, and expressions that trivially equal an operand are replaced by it, so
//! that inlined calls with constant arguments leave no arithmetic behind.

use crate::{BinaryOp, Expr, UnaryOp};
use forebay_bits::Bits;

/// A constant.
pub fn constant(width: u32, value: u128) -> Expr {
    Expr::Const(Bits::new(width, value))
}

/// A truth value.
pub fn boolean(value: bool) -> Expr {
    Expr::Const(Bits::from_bool(value))
}

/// Whether the expression is the constant 1 or 0 of width 1; `None` when it is not constant.
pub fn as_bool(expr: &Expr) -> Option<bool> {
    match expr {
        Expr::Const(bits) if bits.width() == 1 => Some(bits.bit(0)),
        _ => None,
    }
}

/// An expression with one operand.
pub fn unary(op: UnaryOp, operand: Expr) -> Expr {
    match (op, operand) {
        (UnaryOp::Not, Expr::Const(bits)) => Expr::Const(bits.not()),
        (UnaryOp::Negate, Expr::Const(bits)) => Expr::Const(bits.neg()),
        (UnaryOp::Not, Expr::Unary(UnaryOp::Not, inner)) => *inner,
        (op, operand) => Expr::Unary(op, Box::new(operand)),
    }
}

/// Logical or bitwise negation.
pub fn not(operand: Expr) -> Expr {
    unary(UnaryOp::Not, operand)
}

/// An expression with two operands.
pub fn binary(op: BinaryOp, left: Expr, right: Expr) -> Expr {
    if let (Expr::Const(left), Expr::Const(right)) = (&left, &right) {
        return Expr::Const(op.apply(left, right));
    }
    match (op, &left, &right) {
        (BinaryOp::Add | BinaryOp::Sub | BinaryOp::Or | BinaryOp::Xor, _, Expr::Const(zero)) if zero.is_zero() => left,
        (BinaryOp::Shl | BinaryOp::Shr | BinaryOp::ShrSigned, _, Expr::Const(zero)) if zero.is_zero() => left,
        (BinaryOp::Add | BinaryOp::Or | BinaryOp::Xor, Expr::Const(zero), _) if zero.is_zero() => right,
        (BinaryOp::And, _, Expr::Const(mask)) if is_ones(mask) => left,
        (BinaryOp::And, Expr::Const(mask), _) if is_ones(mask) => right,
        (BinaryOp::And, _, Expr::Const(zero)) if zero.is_zero() => right,
        (BinaryOp::And, Expr::Const(zero), _) if zero.is_zero() => left,
        _ => Expr::Binary(op, Box::new(left), Box::new(right)),
    }
}

/// Conjunction of truth values.
pub fn and(left: Expr, right: Expr) -> Expr {
    binary(BinaryOp::And, left, right)
}

/// Disjunction of truth values.
pub fn or(left: Expr, right: Expr) -> Expr {
    match (as_bool(&left), as_bool(&right)) {
        (Some(true), _) => left,
        (_, Some(true)) => right,
        _ => binary(BinaryOp::Or, left, right),
    }
}

/// Equality.
pub fn equal(left: Expr, right: Expr) -> Expr {
    binary(BinaryOp::Eq, left, right)
}

/// `condition ? then_value : else_value`
pub fn mux(condition: Expr, then_value: Expr, else_value: Expr) -> Expr {
    match as_bool(&condition) {
        Some(true) => then_value,
        Some(false) => else_value,
        None if then_value == else_value => then_value,
        None => Expr::Mux {
            condition: Box::new(condition),
            then_value: Box::new(then_value),
            else_value: Box::new(else_value),
        },
    }
}

/// Bits `hi` to `lo` of an operand that is `width` bits wide.
pub fn slice(operand: Expr, width: u32, hi: u32, lo: u32) -> Expr {
    match operand {
        Expr::Const(bits) => Expr::Const(bits.slice(hi, lo)),
        operand if lo == 0 && hi + 1 == width => operand,
        Expr::Slice { operand, lo: inner, .. } => Expr::Slice {
            operand,
            hi: hi + inner,
            lo: lo + inner,
        },
        operand => Expr::Slice {
            operand: Box::new(operand),
            hi,
            lo,
        },
    }
}

/// `high ++ low`
pub fn concat(high: Expr, low: Expr) -> Expr {
    match (high, low) {
        (Expr::Const(high), Expr::Const(low)) => Expr::Const(Bits::concat(&high, &low)),
        (Expr::Const(high), low) if high.width() == 0 => low,
        (high, Expr::Const(low)) if low.width() == 0 => high,
        (high, low) => Expr::Concat(Box::new(high), Box::new(low)),
    }
}

/// An operand in another width: zero-extended, sign-extended, or truncated to the lowest bits.
pub fn resize(operand: Expr, from: u32, to: u32, signed: bool) -> Expr {
    match operand {
        operand if from == to => operand,
        Expr::Const(bits) if to < from => Expr::Const(bits.truncate(to)),
        Expr::Const(bits) if signed => Expr::Const(bits.sext(to)),
        Expr::Const(bits) => Expr::Const(bits.zext(to)),
        operand if to < from => Expr::Truncate(to, Box::new(operand)),
        operand if signed => Expr::SignExtend(to, Box::new(operand)),
        operand => Expr::ZeroExtend(to, Box::new(operand)),
    }
}

/// Whether an expression is deeper than `limit` levels.
pub fn is_deeper(expr: &Expr, limit: usize) -> bool {
    let Some(limit) = limit.checked_sub(1) else { return true };
    match expr {
        Expr::Const(_) | Expr::Slot(_) | Expr::Param { .. } => false,
        Expr::Unary(_, operand) | Expr::Slice { operand, .. } => is_deeper(operand, limit),
        Expr::ZeroExtend(_, operand) | Expr::SignExtend(_, operand) | Expr::Truncate(_, operand) => {
            is_deeper(operand, limit)
        }
        Expr::Binary(_, left, right) | Expr::Concat(left, right) => is_deeper(left, limit) || is_deeper(right, limit),
        Expr::Mux {
            condition,
            then_value,
            else_value,
        } => is_deeper(condition, limit) || is_deeper(then_value, limit) || is_deeper(else_value, limit),
    }
}

fn is_ones(bits: &Bits) -> bool {
    bits.not().is_zero()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::SlotId;

    #[test]
    fn constants_fold() {
        assert_eq!(binary(BinaryOp::Add, constant(8, 255), constant(8, 2)), constant(8, 1));
        assert_eq!(binary(BinaryOp::Div, constant(8, 255), constant(8, 0)), constant(8, 0));
        assert_eq!(resize(constant(4, 0xF), 4, 8, true), constant(8, 0xFF));
    }

    #[test]
    fn trivial_operands_disappear() {
        let slot = Expr::Slot(SlotId(3));
        assert_eq!(mux(boolean(false), constant(8, 1), slot.clone()), slot);
        assert_eq!(and(boolean(true), slot.clone()), slot);
        assert_eq!(slice(slot.clone(), 8, 7, 0), slot);
        let nested = slice(slice(slot.clone(), 16, 11, 4), 8, 5, 2);
        assert_eq!(
            nested,
            Expr::Slice {
                operand: Box::new(slot),
                hi: 9,
                lo: 6
            }
        );
    }
}
