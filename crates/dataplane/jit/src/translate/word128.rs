//! Operators on values of 65 to 128 bits. Those without a Cranelift instruction are computed in memory.

use super::Translator;
use super::value::{Place, Value};
use super::word64::{condition_code, is_signed};
use crate::runtime::WideOperator;
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{self, InstBuilder, InstructionData, Opcode, types};
use forebay_ir::{BinaryOp, UnaryOp};

impl Translator<'_, '_, '_> {
    pub(super) fn double_masked(&mut self, width: u32, double: ir::Value) -> ir::Value {
        if width >= 128 {
            return double;
        }
        let mask = self.double_constant((1 << width) - 1);
        self.builder.ins().band(double, mask)
    }

    pub(super) fn double_unary(&mut self, operator: UnaryOp, width: u32, double: ir::Value) -> Value {
        let result = match operator {
            UnaryOp::Not => self.builder.ins().bnot(double),
            UnaryOp::Negate => {
                let zero = self.double_constant(0);
                self.builder.ins().isub(zero, double)
            }
        };
        let result = self.double_masked(width, result);
        Value::double(width, result)
    }

    /// An operator that is neither comparison nor shift.
    pub(super) fn double_binary(&mut self, operator: BinaryOp, width: u32, a: ir::Value, b: ir::Value) -> Value {
        let result = match operator {
            BinaryOp::And => self.builder.ins().band(a, b),
            BinaryOp::Or => self.builder.ins().bor(a, b),
            BinaryOp::Xor => self.builder.ins().bxor(a, b),
            BinaryOp::Add => self.builder.ins().iadd(a, b),
            BinaryOp::Sub => self.builder.ins().isub(a, b),
            BinaryOp::Mul => self.builder.ins().imul(a, b),
            _ => {
                let (left, right) = (Value::double(width, a), Value::double(width, b));
                return self.wide_operation(WideOperator::Binary(operator), width, left, Some(right));
            }
        };
        let result = self.double_masked(width, result);
        Value::double(width, result)
    }

    pub(super) fn double_comparison(
        &mut self,
        operator: BinaryOp,
        width: u32,
        a: ir::Value,
        b: ir::Value,
    ) -> ir::Value {
        let (a, b) = if is_signed(operator) {
            (self.double_at_top(width, a), self.double_at_top(width, b))
        } else {
            (a, b)
        };
        self.builder.ins().icmp(condition_code(operator), a, b)
    }

    /// The value shifted left so that its sign bit is the register's highest bit.
    fn double_at_top(&mut self, width: u32, double: ir::Value) -> ir::Value {
        let amount = self.number((128 - width).into());
        self.builder.ins().ishl(double, amount)
    }

    /// A two's complement value, sign-extended to 128 bits.
    fn double_sign_extended(&mut self, width: u32, double: ir::Value) -> ir::Value {
        let moved = self.double_at_top(width, double);
        let amount = self.number((128 - width).into());
        self.builder.ins().sshr(moved, amount)
    }

    /// A shift by any amount.
    pub(super) fn double_shift(
        &mut self,
        operator: BinaryOp,
        width: u32,
        double: ir::Value,
        amount: ir::Value,
    ) -> ir::Value {
        if operator == BinaryOp::ShrSigned {
            let most = self.number(127);
            let amount = self.builder.ins().umin(amount, most);
            let extended = self.double_sign_extended(width, double);
            let result = self.builder.ins().sshr(extended, amount);
            return self.double_masked(width, result);
        }
        let shifted = if operator == BinaryOp::Shl {
            let shifted = self.builder.ins().ishl(double, amount);
            self.double_masked(width, shifted)
        } else {
            self.builder.ins().ushr(double, amount)
        };
        let limit = self.number(width.into());
        let zero = self.double_constant(0);
        let stays = self.builder.ins().icmp(IntCC::UnsignedLessThan, amount, limit);
        self.builder.ins().select(stays, shifted, zero)
    }

    /// The low and the high 64 bits. If the value was built from two words, those words.
    pub(super) fn split(&mut self, double: ir::Value) -> (ir::Value, ir::Value) {
        let dfg = &self.builder.func.dfg;
        if let Some(inst) = dfg.value_def(double).inst()
            && let InstructionData::Binary {
                opcode: Opcode::Iconcat,
                args: [low, high],
            } = dfg.insts[inst]
        {
            return (low, high);
        }
        self.builder.ins().isplit(double)
    }

    /// `width` bits from bit `lo` on.
    pub(super) fn double_slice(&mut self, width: u32, double: ir::Value, lo: u32) -> Value {
        let (low, high) = self.split(double);
        if lo >= 64 {
            let word = self.shifted_right(high, lo - 64);
            let word = self.masked(width, word);
            return Value::word(width, word);
        }
        let first = self.joined(high, low, lo);
        if width <= 64 {
            let word = self.masked(width, first);
            return Value::word(width, word);
        }
        let second = self.shifted_right(high, lo);
        let second = self.masked(width - 64, second);
        let result = self.builder.ins().iconcat(first, second);
        Value::double(width, result)
    }

    /// The low word of two words shifted right by less than a word.
    fn joined(&mut self, high: ir::Value, low: ir::Value, amount: u32) -> ir::Value {
        if amount == 0 {
            return low;
        }
        let low = self.shifted_right(low, amount);
        let high = self.shifted_left(high, 64 - amount);
        self.builder.ins().bor(high, low)
    }

    /// `high ++ low`, of 65 to 128 bits in total.
    pub(super) fn double_concat(&mut self, width: u32, high: Value, low: Value) -> Value {
        if low.width == 0 || high.width == 0 {
            let whole = if low.width == 0 { high } else { low };
            let double = self.low_double(whole);
            return Value::double(width, double);
        }
        let first_of_high = self.limb(high, 0);
        let first_of_low = self.limb(low, 0);
        let (first, second) = if low.width < 64 {
            let moved = self.shifted_left(first_of_high, low.width);
            let first = self.builder.ins().bor(moved, first_of_low);
            let rest = self.shifted_right(first_of_high, 64 - low.width);
            let second = match high.place {
                Place::Double(_) => {
                    let second = self.limb(high, 1);
                    let moved = self.shifted_left(second, low.width);
                    self.builder.ins().bor(moved, rest)
                }
                _ => rest,
            };
            (first, second)
        } else {
            let moved = self.shifted_left(first_of_high, low.width - 64);
            let second = match low.place {
                Place::Double(_) => {
                    let second = self.limb(low, 1);
                    self.builder.ins().bor(moved, second)
                }
                _ => moved,
            };
            (first_of_low, second)
        };
        let result = self.builder.ins().iconcat(first, second);
        Value::double(width, result)
    }

    /// A sign-extension to 65 to 128 bits.
    pub(super) fn double_sign_extend(&mut self, width: u32, operand: Value) -> Value {
        let extended = match operand.place {
            Place::Word(word) => {
                let word = self.sign_extended(operand.width, word);
                self.builder.ins().sextend(types::I128, word)
            }
            Place::Double(double) => self.double_sign_extended(operand.width, double),
            Place::Memory(_) => unreachable!("an extension makes no value narrower"),
        };
        let result = self.double_masked(width, extended);
        Value::double(width, result)
    }
}
