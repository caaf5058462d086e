//! Expressions: as many of their lowest bits as are wanted, or all.

use super::number::{MAX_BITS, Shape, cast_width, constant, describe, is_truth};
use super::place::{Choice, Fields, select};
use super::{ActionData, Translator};
use crate::error::{Error, Result};
use crate::model::{BinaryOp, Named, Operand, UnaryOp};
use forebay_bits::Bits;
use forebay_ir::{self as ir, Expr, Op, RegisterId, UnaryOp as IrUnary, build};

/// A number, exactly.
pub struct Number {
    /// Its bits.
    pub expr: Expr,
    /// How to read them.
    pub shape: Shape,
}

/// Deeper expressions are split with temporaries.
const MAX_DEPTH: usize = 48;

impl Translator<'_> {
    /// The lowest `width` bits of a number.
    pub(super) fn low(&mut self, operand: &Operand, width: u32) -> Result<Expr> {
        forebay_budget::check();
        let shape = self.shape(operand)?;
        // A value that fits into fewer bits is computed there: adding two bytes for a word takes nine bits.
        let inner = width.min(shape.bits);
        let expr = self.low_bits(operand, inner)?;
        Ok(build::resize(expr, inner, width, shape.signed))
    }

    /// A number, exactly.
    pub(super) fn exact(&mut self, operand: &Operand) -> Result<Number> {
        let shape = self.shape(operand)?;
        if shape.bits > MAX_BITS {
            return Err(Error::new(format!(
                "this number can have more than {MAX_BITS} bits, which is not supported"
            )));
        }
        let expr = self.low_bits(operand, shape.bits)?;
        Ok(Number { expr, shape })
    }

    /// A number that is known while the program is translated.
    pub(super) fn constant(&self, operand: &Operand) -> Result<u32> {
        let value = match (operand, &self.data) {
            (Operand::Parameter(index), ActionData::Constants(values)) => {
                let value = values.get(*index as usize).and_then(Bits::try_to_u64);
                value.and_then(|value| u32::try_from(value).ok())
            }
            _ => constant(operand),
        };
        value.ok_or_else(|| Error::new(format!("a constant is needed here, not {}", describe(operand))))
    }

    /// The expression, or a temporary with its value if it is deep.
    fn split(&mut self, expr: Expr) -> Expr {
        if build::is_deeper(&expr, MAX_DEPTH) {
            self.save(expr)
        } else {
            expr
        }
    }

    /// The lowest bits of a number, not more than its shape has.
    fn low_bits(&mut self, operand: &Operand, width: u32) -> Result<Expr> {
        let expr = self.whole_low_bits(operand, width)?;
        Ok(self.split(expr))
    }

    fn whole_low_bits(&mut self, operand: &Operand, width: u32) -> Result<Expr> {
        match operand {
            Operand::Number(number) => Ok(Expr::Const(Bits::from_bigint(width, number))),
            Operand::Parameter(index) => self.action_data(*index, width),
            Operand::Field(..) | Operand::FieldAt(..) | Operand::StackField(..) | Operand::UnionStackField(..) => {
                let value = self.read_field(operand)?;
                Ok(build::resize(value.clone(), value.width(&self.program), width, false))
            }
            Operand::Lookahead(offset, bits) => {
                let slot = self.temporary(offset + bits);
                self.body.emit(Op::Lookahead { slot });
                Ok(build::resize(Expr::Slot(slot), offset + bits, width, false))
            }
            Operand::Register(name, index) => self.read_register(name, index, width),
            Operand::Choice(condition, left, right) => {
                let condition = self.truth(condition)?;
                let (left, right) = (self.low(left, width)?, self.low(right, width)?);
                Ok(build::mux(condition, left, right))
            }
            Operand::Unary(op, operand) => self.unary(*op, operand, width),
            Operand::Binary(op, left, right) => self.binary(*op, left, right, width),
            Operand::Bool(_) => self.truth(operand),
            Operand::Text(_)
            | Operand::Named(..)
            | Operand::Vector(_)
            | Operand::Element(..)
            | Operand::MemberAt(..) => Err(Error::new(format!(
                "a number is needed here, not {}",
                describe(operand)
            ))),
        }
    }

    fn action_data(&self, index: u32, width: u32) -> Result<Expr> {
        let given = self.parameter_width(index)?;
        let value = match &self.data {
            ActionData::Constants(values) => Expr::Const(values[index as usize].clone()),
            ActionData::None | ActionData::Parameters(_) => Expr::Param { index, width: given },
        };
        Ok(build::resize(value, given, width, false))
    }

    /// The value of a field, or whether a header is valid.
    fn read_field(&mut self, operand: &Operand) -> Result<Expr> {
        let choices: Vec<Choice<Expr>> = match (self.fields(operand)?, operand) {
            (Fields::Valid, Operand::Field(header, _)) => {
                let headers = self.headers(header)?;
                headers
                    .iter()
                    .map(|choice| choice.with(self.is_valid(choice.what)))
                    .collect()
            }
            _ => {
                let fields = self.field_slots(operand)?;
                fields
                    .iter()
                    .map(|choice| choice.with(Expr::Slot(choice.what.slot)))
                    .collect()
            }
        };
        let value = select(choices).ok_or_else(|| Error::new("the stack has no elements"))?;
        Ok(self.as_numbered(value))
    }

    /// The error of the parser has in the JSON the numbers that the JSON lists.
    fn as_numbered(&self, value: Expr) -> Expr {
        match value {
            Expr::Slot(slot) if self.program.intrinsic.get("parser_error") == Some(&slot) => {
                let width = self.program.slot(slot).width;
                let first = build::constant(width, u128::from(self.first_error));
                build::binary(ir::BinaryOp::Add, Expr::Slot(slot), first)
            }
            value => value,
        }
    }

    fn read_register(&mut self, name: &str, index: &Operand, width: u32) -> Result<Expr> {
        let register = self.register(name)?;
        let bits = self.program.registers[register.index()].width;
        let index = self.exact(index)?.expr;
        let slot = self.temporary(bits);
        self.body.emit(Op::RegisterRead { register, index, slot });
        Ok(build::resize(Expr::Slot(slot), bits, width, false))
    }

    pub(super) fn register(&self, name: &str) -> Result<RegisterId> {
        self.register_width(name)?;
        let position = self.program.registers.iter().position(|register| register.name == name);
        Ok(RegisterId(position.unwrap_or(0) as u32))
    }

    fn unary(&mut self, op: UnaryOp, operand: &Operand, width: u32) -> Result<Expr> {
        match op {
            UnaryOp::Invert => Ok(build::not(self.low(operand, width)?)),
            UnaryOp::Negate => Ok(build::unary(IrUnary::Negate, self.low(operand, width)?)),
            UnaryOp::BoolToData => self.truth(operand),
            UnaryOp::Size => Ok(truncated(Expr::Slot(self.next_index(operand)?), 32, width)),
            UnaryOp::LastIndex => {
                let next = Expr::Slot(self.next_index(operand)?);
                let last = build::binary(ir::BinaryOp::Sub, next, build::constant(32, 1));
                Ok(truncated(last, 32, width))
            }
            UnaryOp::Not | UnaryOp::DataToBool | UnaryOp::Valid | UnaryOp::ValidUnion => {
                self.truth_of_unary(op, operand)
            }
        }
    }

    fn next_index(&self, stack: &Operand) -> Result<ir::SlotId> {
        match stack {
            Operand::Named(Named::Stack, name) => Ok(self.storage.stack(name)?.next),
            Operand::Named(Named::UnionStack, name) => Ok(self.storage.union_stack(name)?.next),
            other => Err(Error::new(format!("a stack is needed here, not {}", describe(other)))),
        }
    }

    fn binary(&mut self, op: BinaryOp, left: &Operand, right: &Operand, width: u32) -> Result<Expr> {
        use BinaryOp::*;
        let modular = match op {
            Add => ir::BinaryOp::Add,
            Subtract => ir::BinaryOp::Sub,
            Multiply => ir::BinaryOp::Mul,
            BitAnd => ir::BinaryOp::And,
            BitOr => ir::BinaryOp::Or,
            BitXor => ir::BinaryOp::Xor,
            ShiftLeft => return self.shift_left(left, right, width),
            ShiftRight => return self.shift_right(left, right, width),
            Divide => return self.divide(ir::BinaryOp::Div, left, right, width),
            Modulo => return self.divide(ir::BinaryOp::Mod, left, right, width),
            TwosComplement => return self.low(left, width),
            SaturateSigned | SaturateUnsigned => return self.saturate(op, left, cast_width(right)?, width),
            Equal | NotEqual | Less | LessEqual | Greater | GreaterEqual | And | Or => {
                return self.truth_of_binary(op, left, right);
            }
        };
        let (left, right) = (self.low(left, width)?, self.low(right, width)?);
        Ok(build::binary(modular, left, right))
    }

    fn shift_left(&mut self, left: &Operand, right: &Operand, width: u32) -> Result<Expr> {
        let left = self.low(left, width)?;
        let places = self.places(right)?;
        Ok(build::binary(ir::BinaryOp::Shl, left, places))
    }

    fn shift_right(&mut self, left: &Operand, right: &Operand, width: u32) -> Result<Expr> {
        let shape = self.shape(left)?;
        if let Some(places) = constant(right).filter(|places| *places < shape.bits) {
            // Only the bits that remain are needed.
            let needed = (places + width).min(shape.bits);
            let low = self.low_bits(left, needed)?;
            let rest = build::slice(low, needed, needed - 1, places);
            return Ok(build::resize(rest, needed - places, width, shape.signed));
        }
        let number = self.exact(left)?.expr;
        let places = self.places(right)?;
        let op = if shape.signed {
            ir::BinaryOp::ShrSigned
        } else {
            ir::BinaryOp::Shr
        };
        Ok(truncated(build::binary(op, number, places), shape.bits, width))
    }

    /// By how many places to shift.
    fn places(&mut self, operand: &Operand) -> Result<Expr> {
        let places = self.exact(operand)?;
        if places.shape.signed {
            Err(Error::new("a shift by a number that can be negative is not supported"))
        } else {
            Ok(places.expr)
        }
    }

    fn divide(&mut self, op: ir::BinaryOp, left: &Operand, right: &Operand, width: u32) -> Result<Expr> {
        let (left, right, shape) = self.common(left, right)?;
        if shape.signed {
            Err(Error::new("dividing numbers that can be negative is not supported"))
        } else {
            Ok(truncated(build::binary(op, left, right), shape.bits, width))
        }
    }

    /// Two numbers in as many bits as both need.
    fn common(&mut self, left: &Operand, right: &Operand) -> Result<(Expr, Expr, Shape)> {
        let shape = self.shape(left)?.union(self.shape(right)?);
        if shape.bits > MAX_BITS {
            return Err(Error::new(format!(
                "these numbers can have more than {MAX_BITS} bits, which is not supported"
            )));
        }
        Ok((self.low(left, shape.bits)?, self.low(right, shape.bits)?, shape))
    }

    /// The nearest number of `to` bits.
    fn saturate(&mut self, op: BinaryOp, operand: &Operand, to: u32, width: u32) -> Result<Expr> {
        let target = match op {
            BinaryOp::SaturateSigned => Shape::signed(to),
            _ => Shape::unsigned(to),
        };
        if let Some(expr) = self.saturating_sum(operand, target)? {
            return Ok(truncated(expr, to, width));
        }
        let number = self.exact(operand)?;
        let wide = number.shape.union(target);
        let value = build::resize(number.expr, number.shape.bits, wide.bits, number.shape.signed);
        let value = self.save(value);
        let (low, high) = bounds(target);
        let [low, high] = [low, high].map(|bits| {
            Expr::Const(if target.signed {
                bits.sext(wide.bits)
            } else {
                bits.zext(wide.bits)
            })
        });
        let less = if wide.signed {
            ir::BinaryOp::LtSigned
        } else {
            ir::BinaryOp::Lt
        };
        let below = build::binary(less, value.clone(), low.clone());
        let above = build::binary(less, high.clone(), value.clone());
        let clamped = build::mux(below, low, build::mux(above, high, value));
        Ok(truncated(clamped, wide.bits, width))
    }

    /// `|+|` and `|-|`, which p4c writes as a cast of a sum of numbers of the cast's width.
    fn saturating_sum(&mut self, operand: &Operand, target: Shape) -> Result<Option<Expr>> {
        let Operand::Binary(op @ (BinaryOp::Add | BinaryOp::Subtract), left, right) = operand else {
            return Ok(None);
        };
        let fits = |shape: Shape| shape.union(target) == target;
        if !fits(self.shape(left)?) || !fits(self.shape(right)?) {
            return Ok(None);
        }
        let op = match (op, target.signed) {
            (BinaryOp::Add, true) => ir::BinaryOp::SatAddSigned,
            (BinaryOp::Add, false) => ir::BinaryOp::SatAddUnsigned,
            (_, true) => ir::BinaryOp::SatSubSigned,
            (_, false) => ir::BinaryOp::SatSubUnsigned,
        };
        let (left, right) = (self.low(left, target.bits)?, self.low(right, target.bits)?);
        Ok(Some(build::binary(op, left, right)))
    }

    /// A condition, of one bit. A number where a condition is needed holds when it is not zero.
    pub(super) fn truth(&mut self, operand: &Operand) -> Result<Expr> {
        let expr = self.whole_truth(operand)?;
        Ok(self.split(expr))
    }

    fn whole_truth(&mut self, operand: &Operand) -> Result<Expr> {
        match operand {
            Operand::Bool(value) => Ok(build::boolean(*value)),
            Operand::Unary(op, inner) if is_truth(operand) => self.truth_of_unary(*op, inner),
            Operand::Binary(op, left, right) if is_truth(operand) => self.truth_of_binary(*op, left, right),
            Operand::Choice(condition, left, right) if is_truth(operand) => {
                let condition = self.truth(condition)?;
                let (left, right) = (self.truth(left)?, self.truth(right)?);
                Ok(build::mux(condition, left, right))
            }
            number => {
                let Number { expr, shape } = self.exact(number)?;
                Ok(match shape.bits {
                    1 => expr,
                    bits => build::binary(ir::BinaryOp::Ne, expr, build::constant(bits, 0)),
                })
            }
        }
    }

    fn truth_of_unary(&mut self, op: UnaryOp, operand: &Operand) -> Result<Expr> {
        match op {
            UnaryOp::Not => Ok(build::not(self.truth(operand)?)),
            UnaryOp::Valid => {
                let headers = self.headers(operand)?;
                let valid = headers.iter().map(|choice| choice.with(self.is_valid(choice.what)));
                select(valid.collect()).ok_or_else(|| Error::new("the stack has no elements"))
            }
            UnaryOp::ValidUnion => {
                let unions = self.unions(operand)?;
                let valid = unions
                    .iter()
                    .map(|choice| choice.with(self.is_union_valid(choice.what)));
                select(valid.collect()).ok_or_else(|| Error::new("the stack has no elements"))
            }
            _ => self.truth(operand),
        }
    }

    fn is_union_valid(&self, union: usize) -> Expr {
        let members = self.storage.unions[union].members.iter();
        members.fold(build::boolean(false), |any, member| {
            build::or(any, self.is_valid(*member))
        })
    }

    fn truth_of_binary(&mut self, op: BinaryOp, left: &Operand, right: &Operand) -> Result<Expr> {
        use BinaryOp::*;
        match op {
            And => Ok(build::and(self.truth(left)?, self.truth(right)?)),
            Or => Ok(build::or(self.truth(left)?, self.truth(right)?)),
            Equal => self.equal(left, right),
            NotEqual => Ok(build::not(self.equal(left, right)?)),
            Less => self.less(left, right, false),
            LessEqual => self.less(left, right, true),
            Greater => self.less(right, left, false),
            _ => self.less(right, left, true),
        }
    }

    fn equal(&mut self, left: &Operand, right: &Operand) -> Result<Expr> {
        match left {
            _ if is_truth(left) => Ok(build::equal(self.truth(left)?, self.truth(right)?)),
            Operand::Named(Named::Header, _) | Operand::MemberAt(..) | Operand::Element(..) => {
                self.equal_headers(left, right)
            }
            Operand::Named(Named::Union, _) => self.equal_unions(left, right),
            _ => {
                let (left, right, _) = self.common(left, right)?;
                Ok(build::equal(left, right))
            }
        }
    }

    fn less(&mut self, left: &Operand, right: &Operand, or_equal: bool) -> Result<Expr> {
        let (left, right, shape) = self.common(left, right)?;
        let op = match (or_equal, shape.signed) {
            (false, false) => ir::BinaryOp::Lt,
            (false, true) => ir::BinaryOp::LtSigned,
            (true, false) => ir::BinaryOp::Le,
            (true, true) => ir::BinaryOp::LeSigned,
        };
        Ok(build::binary(op, left, right))
    }
}

/// The lowest bits of a value that has at least as many.
fn truncated(expr: Expr, from: u32, to: u32) -> Expr {
    build::resize(expr, from, to.min(from), false)
}

/// The least and the greatest number.
fn bounds(shape: Shape) -> (Bits, Bits) {
    if shape.signed {
        let greatest = Bits::ones(shape.bits).shr(1);
        (greatest.not(), greatest)
    } else {
        (Bits::zero(shape.bits), Bits::ones(shape.bits))
    }
}
