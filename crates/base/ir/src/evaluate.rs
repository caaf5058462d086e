//! The values of operators applied to constants. All executors and passes share these definitions.

use crate::{BinaryOp, UnaryOp};
use forebay_bits::Bits;

impl UnaryOp {
    /// The operator's value.
    pub fn apply(self, operand: &Bits) -> Bits {
        match self {
            UnaryOp::Not => operand.not(),
            UnaryOp::Negate => operand.neg(),
        }
    }
}

impl BinaryOp {
    /// The operator's value. The widths must agree as [`crate::Expr::Binary`] says; no value makes it fail.
    pub fn apply(self, left: &Bits, right: &Bits) -> Bits {
        let zero = || Bits::zero(left.width());
        match self {
            BinaryOp::Add => left.add(right),
            BinaryOp::Sub => left.sub(right),
            BinaryOp::Mul => left.mul(right),
            BinaryOp::Div => left.udiv(right).unwrap_or_else(zero),
            BinaryOp::Mod => left.urem(right).unwrap_or_else(zero),
            BinaryOp::SatAddUnsigned => left.saturating_add_unsigned(right),
            BinaryOp::SatAddSigned => left.saturating_add_signed(right),
            BinaryOp::SatSubUnsigned => left.saturating_sub_unsigned(right),
            BinaryOp::SatSubSigned => left.saturating_sub_signed(right),
            BinaryOp::And => left.and(right),
            BinaryOp::Or => left.or(right),
            BinaryOp::Xor => left.xor(right),
            BinaryOp::Shl => left.shl(right.to_u64_saturating()),
            BinaryOp::Shr => left.shr(right.to_u64_saturating()),
            BinaryOp::ShrSigned => left.ashr(right.to_u64_saturating()),
            BinaryOp::Eq => Bits::from_bool(left == right),
            BinaryOp::Ne => Bits::from_bool(left != right),
            BinaryOp::Lt => Bits::from_bool(left.cmp_unsigned(right).is_lt()),
            BinaryOp::Le => Bits::from_bool(left.cmp_unsigned(right).is_le()),
            BinaryOp::LtSigned => Bits::from_bool(left.cmp_signed(right).is_lt()),
            BinaryOp::LeSigned => Bits::from_bool(left.cmp_signed(right).is_le()),
        }
    }
}
