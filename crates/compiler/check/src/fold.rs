//! Arithmetic on constants (§8.5 to §8.10).
//!
//! Values are [`BigInt`]s; a [`Type`] says how they wrap: `bit<W>` modulo 2^W, `int<W>` in two's complement, `int` not
//! at all. The checker folds with these functions, and elaboration uses them again for what depends on constructor
//! parameters. Types passed in are [`Type::Bit`], [`Type::Signed`] or [`Type::Int`]; a `type` or an enum with
//! representation stands for its underlying type.

use crate::hir::Type;
use forebay_syntax::ast::{BinaryOp, UnaryOp};
use num_bigint::{BigInt, Sign};
use num_traits::{One, Signed, ToPrimitive, Zero};

/// Shifts of `int` values to the left may produce at most this many bits.
pub const MAX_INT_BITS: u64 = 1 << 16;

/// Why an operation has no result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FoldError {
    /// The right operand of `/` or `%` is zero.
    DivisionByZero,
    /// `/` or `%` with a negative operand.
    NegativeDivision,
    /// A shift by a negative amount.
    NegativeShift,
    /// The result has more than [`MAX_INT_BITS`] bits.
    TooLarge,
    /// The operator does not take numbers, or not of this type.
    NotDefined,
}

/// 2^width - 1.
pub fn mask(width: u32) -> BigInt {
    (BigInt::one() << width) - 1
}

/// The value reduced to the range of its type.
pub fn wrap(ty: &Type, value: BigInt) -> BigInt {
    match ty {
        Type::Bit(width) => low_bits(&value, *width),
        Type::Signed(width) => sign_extend(low_bits(&value, *width), *width),
        _ => value,
    }
}

/// Whether the value is in the range of its type.
pub fn fits(ty: &Type, value: &BigInt) -> bool {
    match ty {
        Type::Bit(width) => !value.is_negative() && value.bits() <= u64::from(*width),
        Type::Signed(0) => value.is_zero(),
        Type::Signed(width) => {
            let half = BigInt::one() << (width - 1);
            *value < half && *value >= -half
        }
        _ => true,
    }
}

/// The lowest bits as a number that is not negative (two's complement).
pub fn low_bits(value: &BigInt, width: u32) -> BigInt {
    if value.sign() != Sign::Minus && value.bits() <= u64::from(width) {
        return value.clone();
    }
    value & mask(width)
}

fn sign_extend(value: BigInt, width: u32) -> BigInt {
    if width > 0 && value.bit(u64::from(width) - 1) {
        value - (BigInt::one() << width)
    } else {
        value
    }
}

/// `-v`, `+v`, `~v`.
pub fn unary(op: UnaryOp, ty: &Type, value: &BigInt) -> Result<BigInt, FoldError> {
    match (op, ty) {
        (UnaryOp::Plus, _) => Ok(value.clone()),
        (UnaryOp::Negate, _) => Ok(wrap(ty, -value)),
        (UnaryOp::Complement, Type::Bit(_) | Type::Signed(_)) => Ok(wrap(ty, !value)),
        (UnaryOp::Complement | UnaryOp::Not, _) => Err(FoldError::NotDefined),
    }
}

/// Arithmetic, bitwise and shift operators; both operands and the result have type `ty`
/// (for shifts the left operand and the result).
pub fn binary(op: BinaryOp, ty: &Type, left: &BigInt, right: &BigInt) -> Result<BigInt, FoldError> {
    let value = match op {
        BinaryOp::Add => left + right,
        BinaryOp::Sub => left - right,
        BinaryOp::Mul => multiply(left, right)?,
        BinaryOp::Div => divide(left, right)?.0,
        BinaryOp::Mod => divide(left, right)?.1,
        BinaryOp::SatAdd => return saturate(ty, left + right),
        BinaryOp::SatSub => return saturate(ty, left - right),
        BinaryOp::Shl => shift_left(ty, left, right)?,
        BinaryOp::Shr => shift_right(left, right)?,
        BinaryOp::BitAnd => left & right,
        BinaryOp::BitOr => left | right,
        BinaryOp::BitXor => left ^ right,
        _ => return Err(FoldError::NotDefined),
    };
    Ok(wrap(ty, value))
}

fn multiply(left: &BigInt, right: &BigInt) -> Result<BigInt, FoldError> {
    if left.bits() + right.bits() > 2 * MAX_INT_BITS {
        return Err(FoldError::TooLarge);
    }
    Ok(left * right)
}

fn divide(left: &BigInt, right: &BigInt) -> Result<(BigInt, BigInt), FoldError> {
    if right.is_zero() {
        return Err(FoldError::DivisionByZero);
    }
    if left.is_negative() || right.is_negative() {
        return Err(FoldError::NegativeDivision);
    }
    Ok((left / right, left % right))
}

fn saturate(ty: &Type, value: BigInt) -> Result<BigInt, FoldError> {
    let (low, high) = match ty {
        Type::Bit(width) => (BigInt::zero(), mask(*width)),
        Type::Signed(width) => {
            let half = BigInt::one() << width.saturating_sub(1);
            (-half.clone(), half - 1)
        }
        _ => return Err(FoldError::NotDefined),
    };
    Ok(value.clamp(low, high))
}

fn shift_left(ty: &Type, left: &BigInt, right: &BigInt) -> Result<BigInt, FoldError> {
    if right.is_negative() {
        return Err(FoldError::NegativeShift);
    }
    let limit = match ty {
        Type::Bit(width) | Type::Signed(width) => u64::from(*width),
        _ => MAX_INT_BITS,
    };
    match right.to_u64() {
        Some(amount) if amount <= limit && (left.bits() + amount <= MAX_INT_BITS || limit < MAX_INT_BITS) => {
            Ok(left << amount)
        }
        _ if left.is_zero() || limit < MAX_INT_BITS => Ok(BigInt::zero()),
        _ => Err(FoldError::TooLarge),
    }
}

fn shift_right(left: &BigInt, right: &BigInt) -> Result<BigInt, FoldError> {
    if right.is_negative() {
        return Err(FoldError::NegativeShift);
    }
    let all_gone = if left.is_negative() {
        BigInt::from(-1)
    } else {
        BigInt::zero()
    };
    Ok(right
        .to_u64()
        .filter(|amount| *amount < left.bits() + 1)
        .map_or(all_gone, |amount| left >> amount))
}

/// `==`, `!=`, `<`, `<=`, `>`, `>=`; none for other operators.
pub fn compare(op: BinaryOp, left: &BigInt, right: &BigInt) -> Option<bool> {
    match op {
        BinaryOp::Eq => Some(left == right),
        BinaryOp::Ne => Some(left != right),
        BinaryOp::Lt => Some(left < right),
        BinaryOp::Le => Some(left <= right),
        BinaryOp::Gt => Some(left > right),
        BinaryOp::Ge => Some(left >= right),
        _ => None,
    }
}

/// `left ++ right`, where the right operand has `right_width` bits; `ty` is the type of the result.
pub fn concat(ty: &Type, left: &BigInt, right: &BigInt, right_width: u32) -> BigInt {
    wrap(ty, (left << right_width) | low_bits(right, right_width))
}

/// `value[hi:lo]`, of type `bit<hi - lo + 1>`.
pub fn slice(value: &BigInt, hi: u32, lo: u32) -> BigInt {
    low_bits(&(value >> lo), hi.saturating_sub(lo) + 1)
}

/// A number converted to a numeric type: between widths and signednesses, from and to `int` (§8.12).
pub fn cast(to: &Type, value: &BigInt) -> BigInt {
    wrap(to, value.clone())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn int(value: i64) -> BigInt {
        BigInt::from(value)
    }

    #[test]
    fn values_wrap_to_their_type() {
        assert_eq!(wrap(&Type::Bit(8), int(-1)), int(255));
        assert_eq!(wrap(&Type::Signed(8), int(200)), int(-56));
        assert_eq!(wrap(&Type::Int, int(-300)), int(-300));
        assert_eq!(wrap(&Type::Bit(0), int(5)), int(0));
        assert!(fits(&Type::Signed(8), &int(-128)) && !fits(&Type::Signed(8), &int(128)));
    }

    #[test]
    fn saturating_operators_stop_at_the_ends() {
        assert_eq!(binary(BinaryOp::SatAdd, &Type::Bit(4), &int(12), &int(9)), Ok(int(15)));
        assert_eq!(binary(BinaryOp::SatSub, &Type::Bit(4), &int(1), &int(9)), Ok(int(0)));
        assert_eq!(binary(BinaryOp::SatAdd, &Type::Signed(4), &int(5), &int(5)), Ok(int(7)));
        assert_eq!(
            binary(BinaryOp::SatSub, &Type::Int, &int(5), &int(5)),
            Err(FoldError::NotDefined)
        );
    }

    #[test]
    fn division_refuses_zero_and_negatives() {
        assert_eq!(
            binary(BinaryOp::Div, &Type::Int, &int(7), &int(0)),
            Err(FoldError::DivisionByZero)
        );
        assert_eq!(
            binary(BinaryOp::Mod, &Type::Int, &int(7), &int(-2)),
            Err(FoldError::NegativeDivision)
        );
        assert_eq!(binary(BinaryOp::Mod, &Type::Int, &int(7), &int(4)), Ok(int(3)));
    }

    #[test]
    fn shifts_are_bounded() {
        assert_eq!(binary(BinaryOp::Shl, &Type::Bit(8), &int(3), &int(7)), Ok(int(128)));
        assert_eq!(binary(BinaryOp::Shl, &Type::Bit(8), &int(3), &int(1 << 40)), Ok(int(0)));
        assert_eq!(
            binary(BinaryOp::Shl, &Type::Int, &int(3), &int(1 << 40)),
            Err(FoldError::TooLarge)
        );
        assert_eq!(
            binary(BinaryOp::Shr, &Type::Signed(8), &int(-128), &int(20)),
            Ok(int(-1))
        );
        assert_eq!(
            binary(BinaryOp::Shr, &Type::Signed(8), &int(-128), &int(6)),
            Ok(int(-2))
        );
    }

    #[test]
    fn concatenation_and_slices() {
        assert_eq!(concat(&Type::Bit(12), &int(0xA), &int(0xBC), 8), int(0xABC));
        assert_eq!(concat(&Type::Signed(8), &int(-1), &int(0), 4), int(-16));
        assert_eq!(slice(&int(0xABC), 7, 4), int(0xB));
        assert_eq!(slice(&int(-1), 3, 0), int(15));
    }
}
