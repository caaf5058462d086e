//! Pure expressions.

use crate::SlotId;
use forebay_bits::Bits;

/// An expression: a value of a fixed width in bits, without effects. `bool` is a value of width 1.
#[derive(Clone, Debug, PartialEq)]
pub enum Expr {
    /// A constant.
    Const(Bits),
    /// The value in a slot.
    Slot(SlotId),
    /// Action data: the parameter of the action whose body this is.
    Param {
        /// Index into [`crate::Action::params`].
        index: u32,
        /// Its width.
        width: u32,
    },
    /// One operand; the result has its width.
    Unary(UnaryOp, Box<Expr>),
    /// Two operands. Both have the same width, except for shifts, whose right operand may have any width and is
    /// unsigned. A comparison has width 1, anything else the width of the left operand.
    Binary(BinaryOp, Box<Expr>, Box<Expr>),
    /// Bits `hi` down to `lo`, both inclusive, `hi` < width.
    Slice {
        /// The operand.
        operand: Box<Expr>,
        /// Highest bit.
        hi: u32,
        /// Lowest bit.
        lo: u32,
    },
    /// `high ++ low`.
    Concat(Box<Expr>, Box<Expr>),
    /// Zeros in front, to a larger width.
    ZeroExtend(u32, Box<Expr>),
    /// Copies of the highest bit in front, to a larger width.
    SignExtend(u32, Box<Expr>),
    /// The lowest bits only.
    Truncate(u32, Box<Expr>),
    /// `condition ? then_value : else_value`; the two have the same width.
    Mux {
        /// Width 1.
        condition: Box<Expr>,
        /// The value if the condition is 1.
        then_value: Box<Expr>,
        /// The value if the condition is 0.
        else_value: Box<Expr>,
    },
}

/// Operators with one operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum UnaryOp {
    /// Every bit inverted; logical negation for width 1.
    Not,
    /// Two's complement.
    Negate,
}

/// Operators with two operands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum BinaryOp {
    /// Modulo 2^W.
    Add,
    /// Modulo 2^W.
    Sub,
    /// Modulo 2^W.
    Mul,
    /// Unsigned; 0 when the divisor is 0.
    Div,
    /// Unsigned; 0 when the divisor is 0.
    Mod,
    /// Unsigned saturating.
    SatAddUnsigned,
    /// Signed saturating.
    SatAddSigned,
    /// Unsigned saturating.
    SatSubUnsigned,
    /// Signed saturating.
    SatSubSigned,
    /// Bitwise; logical for width 1 (operands have no effects, so both may be evaluated).
    And,
    /// Bitwise; logical for width 1.
    Or,
    /// Bitwise.
    Xor,
    /// Left; 0 if the amount is at least the width.
    Shl,
    /// Logical right; 0 if the amount is at least the width.
    Shr,
    /// Arithmetic right; copies of the sign if the amount is at least the width.
    ShrSigned,
    /// Equal.
    Eq,
    /// Not equal.
    Ne,
    /// Unsigned less than.
    Lt,
    /// Unsigned less or equal.
    Le,
    /// Signed less than.
    LtSigned,
    /// Signed less or equal.
    LeSigned,
}

impl BinaryOp {
    /// Whether the result is a truth value.
    pub fn is_comparison(self) -> bool {
        use BinaryOp::*;
        matches!(self, Eq | Ne | Lt | Le | LtSigned | LeSigned)
    }

    /// Whether the right operand may differ from the left in width.
    pub fn is_shift(self) -> bool {
        matches!(self, BinaryOp::Shl | BinaryOp::Shr | BinaryOp::ShrSigned)
    }
}
