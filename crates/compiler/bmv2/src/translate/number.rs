//! How many bits the numbers of the JSON need.
//!
//! The JSON computes with whole numbers: `a + b` has no width, and p4c writes `(a + b) & 0xff` where a program adds
//! bytes. A [`Shape`] bounds the values of an operand: a number of bits, with or without a sign. With that many bits,
//! the IR represents the operand exactly.

use super::place::Fields;
use super::{ActionData, Translator};
use crate::error::{Error, Result, options};
use crate::model::{BinaryOp, Named, Operand, UnaryOp};
use num_bigint::{BigInt, Sign};
use num_traits::ToPrimitive;

/// The possible values of an operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// Bits.
    pub bits: u32,
    /// Whether they are in two's complement; not negative otherwise.
    pub signed: bool,
}

/// Numbers of more bits are never computed exactly.
pub const MAX_BITS: u32 = 1 << 14;

impl Shape {
    /// From 0 to 2^bits - 1.
    pub fn unsigned(bits: u32) -> Shape {
        Shape {
            bits: bits.min(MAX_BITS + 1),
            signed: false,
        }
    }

    /// From -2^(bits-1) to 2^(bits-1) - 1.
    pub fn signed(bits: u32) -> Shape {
        Shape {
            bits: bits.min(MAX_BITS + 1),
            signed: true,
        }
    }

    /// A constant's.
    pub fn of(number: &BigInt) -> Shape {
        match number.sign() {
            Sign::Minus => Shape::signed((-number - 1u8).bits() as u32 + 1),
            _ => Shape::unsigned((number.bits() as u32).max(1)),
        }
    }

    /// Bits with a sign.
    fn with_sign(self) -> u32 {
        self.bits + u32::from(!self.signed)
    }

    /// Numbers of both shapes.
    pub fn union(self, other: Shape) -> Shape {
        if self.signed || other.signed {
            Shape::signed(self.with_sign().max(other.with_sign()))
        } else {
            Shape::unsigned(self.bits.max(other.bits))
        }
    }

    fn wider(self, by: u32) -> Shape {
        Shape {
            bits: self.bits.saturating_add(by).min(MAX_BITS + 1),
            ..self
        }
    }

    fn narrower(self, by: u32) -> Shape {
        Shape {
            bits: self.bits.saturating_sub(by).max(1),
            ..self
        }
    }

    fn product(self, other: Shape) -> Shape {
        if self.signed || other.signed {
            Shape::signed(self.with_sign() + other.with_sign())
        } else {
            Shape::unsigned(self.bits + other.bits)
        }
    }

    /// The shape of `self & other`: a number that is not negative bounds the result.
    fn masked_by(self, other: Shape) -> Shape {
        match (self.signed, other.signed) {
            (false, false) => Shape::unsigned(self.bits.min(other.bits)),
            (false, true) => self,
            (true, false) => other,
            (true, true) => Shape::signed(self.bits.max(other.bits)),
        }
    }
}

/// A constant operand as a number of bits or places.
pub fn constant(operand: &Operand) -> Option<u32> {
    match operand {
        Operand::Number(number) => number.to_u32(),
        _ => None,
    }
}

impl Translator<'_> {
    /// Which numbers an operand can be. Nothing is appended to the body.
    pub(super) fn shape(&self, operand: &Operand) -> Result<Shape> {
        Ok(match operand {
            Operand::Number(number) => Shape::of(number),
            Operand::Parameter(index) => Shape::unsigned(self.parameter_width(*index)?),
            Operand::Field(..) | Operand::StackField(..) | Operand::UnionStackField(..) | Operand::FieldAt(..) => {
                match self.fields(operand)? {
                    Fields::Valid => Shape::unsigned(1),
                    Fields::Of { width, signed } => Shape { bits: width, signed },
                }
            }
            Operand::Lookahead(_, width) => Shape::unsigned(*width),
            Operand::Register(name, _) => Shape::unsigned(self.register_width(name)?),
            Operand::Unary(op, operand) => self.shape_of_unary(*op, operand)?,
            Operand::Binary(op, left, right) => self.shape_of_binary(*op, left, right)?,
            Operand::Choice(_, left, right) => self.shape(left)?.union(self.shape(right)?),
            Operand::Bool(_) => Shape::unsigned(1),
            Operand::Text(_)
            | Operand::Named(..)
            | Operand::Vector(_)
            | Operand::Element(..)
            | Operand::MemberAt(..) => {
                return Err(Error::new(format!(
                    "a number is needed here, not {}",
                    describe(operand)
                )));
            }
        })
    }

    fn shape_of_unary(&self, op: UnaryOp, operand: &Operand) -> Result<Shape> {
        Ok(match op {
            UnaryOp::Invert => Shape::signed(self.shape(operand)?.with_sign()),
            UnaryOp::Negate => Shape::signed(self.shape(operand)?.bits + 1),
            UnaryOp::LastIndex | UnaryOp::Size => Shape::unsigned(32),
            UnaryOp::Not | UnaryOp::DataToBool | UnaryOp::BoolToData | UnaryOp::Valid | UnaryOp::ValidUnion => {
                Shape::unsigned(1)
            }
        })
    }

    fn shape_of_binary(&self, op: BinaryOp, left: &Operand, right: &Operand) -> Result<Shape> {
        use BinaryOp::*;
        if is_truth_operator(op) {
            return Ok(Shape::unsigned(1));
        }
        let width = || cast_width(right);
        match op {
            TwosComplement | SaturateSigned => return Ok(Shape::signed(width()?)),
            SaturateUnsigned => return Ok(Shape::unsigned(width()?)),
            _ => {}
        }
        let (left, right_shape) = (self.shape(left)?, self.shape(right)?);
        Ok(match op {
            Add => left.union(right_shape).wider(1),
            Subtract => Shape::signed(left.union(right_shape).bits + 1),
            Multiply => left.product(right_shape),
            Modulo => left.masked_by(right_shape),
            BitAnd => left.masked_by(right_shape),
            BitOr | BitXor => left.union(right_shape),
            ShiftLeft => left.wider(match constant(right) {
                Some(places) => places,
                None => 1u32.checked_shl(right_shape.bits).map_or(MAX_BITS, |places| places - 1),
            }),
            ShiftRight => left.narrower(constant(right).unwrap_or(0)),
            _ => left,
        })
    }

    pub(super) fn parameter_width(&self, index: u32) -> Result<u32> {
        let width = match &self.data {
            ActionData::None => None,
            ActionData::Parameters(widths) => widths.get(index as usize).copied(),
            ActionData::Constants(values) => values.get(index as usize).map(|value| value.width()),
        };
        width.ok_or_else(|| Error::new(format!("there is no action data number {index} here")))
    }

    pub(super) fn register_width(&self, name: &str) -> Result<u32> {
        let register = self.program.registers.iter().find(|register| register.name == name);
        register.map(|register| register.width).ok_or_else(|| {
            let known = options(self.program.registers.iter().map(|register| register.name.as_str()));
            Error::new(format!("there is no register array `{name}`; {known}"))
        })
    }
}

/// Whether the result is true or false.
pub fn is_truth_operator(op: BinaryOp) -> bool {
    use BinaryOp::*;
    matches!(
        op,
        Equal | NotEqual | Less | LessEqual | Greater | GreaterEqual | And | Or
    )
}

/// The width that a cast is to.
pub fn cast_width(operand: &Operand) -> Result<u32> {
    let width = constant(operand).filter(|width| (1..=MAX_BITS).contains(width));
    width.ok_or_else(|| Error::new(format!("a cast needs a constant width from 1 to {MAX_BITS}")))
}

/// Whether an operand is true or false, and no number.
pub fn is_truth(operand: &Operand) -> bool {
    match operand {
        Operand::Bool(_) => true,
        Operand::Unary(op, _) => {
            matches!(
                op,
                UnaryOp::Not | UnaryOp::DataToBool | UnaryOp::Valid | UnaryOp::ValidUnion
            )
        }
        Operand::Binary(op, ..) => is_truth_operator(*op),
        Operand::Choice(_, left, _) => is_truth(left),
        _ => false,
    }
}

/// What an operand is, for messages.
pub fn describe(operand: &Operand) -> String {
    match operand {
        Operand::Text(text) => format!("the string `{text}`"),
        Operand::Named(named, name) => {
            let kind = match named {
                Named::Header => "header",
                Named::Stack => "header stack",
                Named::Union => "header union",
                Named::UnionStack => "stack of header unions",
                Named::Calculation => "calculation",
                Named::Meter => "meter array",
                Named::Counter => "counter array",
                Named::Register => "register array",
                Named::Extern => "extern object",
            };
            format!("the {kind} `{name}`")
        }
        Operand::Vector(_) => "a list".to_owned(),
        Operand::Element(..) | Operand::MemberAt(..) => "a header".to_owned(),
        _ => "a value".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn constants_have_the_least_bits() {
        assert_eq!(Shape::of(&BigInt::from(0)), Shape::unsigned(1));
        assert_eq!(Shape::of(&BigInt::from(255)), Shape::unsigned(8));
        assert_eq!(Shape::of(&BigInt::from(-1)), Shape::signed(1));
        assert_eq!(Shape::of(&BigInt::from(-128)), Shape::signed(8));
        assert_eq!(Shape::of(&BigInt::from(-129)), Shape::signed(9));
    }

    #[test]
    fn masks_bound_and_signs_cost_a_bit() {
        let difference = Shape::signed(9);
        assert_eq!(difference.masked_by(Shape::unsigned(8)), Shape::unsigned(8));
        assert_eq!(Shape::unsigned(8).union(Shape::signed(4)), Shape::signed(9));
        assert_eq!(Shape::unsigned(8).product(Shape::unsigned(4)), Shape::unsigned(12));
    }
}
