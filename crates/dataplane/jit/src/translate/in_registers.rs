//! Operators on values of up to 128 bits. Those of more than 64 bits without a Cranelift instruction are the runtime's.

use super::Translator;
use super::value::{Value, low_mask};
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{self, InstBuilder};
use forebay_bits::Bits;
use forebay_ir::BinaryOp;

/// The Cranelift condition of a comparison operator.
fn condition_code(operator: BinaryOp) -> IntCC {
    match operator {
        BinaryOp::Eq => IntCC::Equal,
        BinaryOp::Ne => IntCC::NotEqual,
        BinaryOp::Lt => IntCC::UnsignedLessThan,
        BinaryOp::Le => IntCC::UnsignedLessThanOrEqual,
        BinaryOp::LtSigned => IntCC::SignedLessThan,
        BinaryOp::LeSigned => IntCC::SignedLessThanOrEqual,
        other => unreachable!("{other:?} is no comparison"),
    }
}

/// Whether a comparison takes its operands in two's complement.
pub(super) fn is_signed(operator: BinaryOp) -> bool {
    matches!(operator, BinaryOp::LtSigned | BinaryOp::LeSigned)
}

impl Translator<'_, '_, '_> {
    /// An operator that is neither comparison nor shift.
    pub(super) fn binary_in_registers(&mut self, operator: BinaryOp, left: Value, right: Value) -> Value {
        let (width, a, b) = (left.width, left.in_register(), right.in_register());
        let result = match operator {
            BinaryOp::And => return Value::register(width, self.ins().band(a, b)),
            BinaryOp::Or => return Value::register(width, self.ins().bor(a, b)),
            BinaryOp::Xor => return Value::register(width, self.ins().bxor(a, b)),
            BinaryOp::Add => self.ins().iadd(a, b),
            BinaryOp::Sub => self.ins().isub(a, b),
            BinaryOp::Mul => self.ins().imul(a, b),
            _ if width > 64 => return self.binary_by_runtime(operator, left, right),
            BinaryOp::Div => return Value::word(width, self.word_division(a, b, false)),
            BinaryOp::Mod => return Value::word(width, self.word_division(a, b, true)),
            BinaryOp::SatAddUnsigned => self.saturating_add(width, a, b),
            BinaryOp::SatSubUnsigned => self.saturating_sub(a, b),
            BinaryOp::SatAddSigned | BinaryOp::SatSubSigned => self.saturating_signed(operator, width, a, b),
            other => unreachable!("{other:?} is handled elsewhere"),
        };
        let result = self.masked(width, result);
        Value::register(width, result)
    }

    /// A quotient or remainder; 0 when the divisor is 0.
    fn word_division(&mut self, a: ir::Value, b: ir::Value, remainder: bool) -> ir::Value {
        let (zero, one) = (self.number(0), self.number(1));
        let by_zero = self.ins().icmp(IntCC::Equal, b, zero);
        let divisor = self.ins().select(by_zero, one, b);
        let result = if remainder {
            self.ins().urem(a, divisor)
        } else {
            self.ins().udiv(a, divisor)
        };
        self.ins().select(by_zero, zero, result)
    }

    fn saturating_add(&mut self, width: u32, a: ir::Value, b: ir::Value) -> ir::Value {
        let sum = self.ins().iadd(a, b);
        let largest = self.number(low_mask(width));
        if width < 64 {
            return self.ins().umin(sum, largest);
        }
        let carried = self.ins().icmp(IntCC::UnsignedLessThan, sum, a);
        self.ins().select(carried, largest, sum)
    }

    fn saturating_sub(&mut self, a: ir::Value, b: ir::Value) -> ir::Value {
        let zero = self.number(0);
        let borrows = self.ins().icmp(IntCC::UnsignedLessThan, a, b);
        let difference = self.ins().isub(a, b);
        self.ins().select(borrows, zero, difference)
    }

    /// Computed in the high bits of the word, so that an overflow of the value overflows the word.
    fn saturating_signed(&mut self, operator: BinaryOp, width: u32, a: ir::Value, b: ir::Value) -> ir::Value {
        if width == 0 {
            return a;
        }
        let unused = 64 - width;
        let (a, b) = (self.shifted_left(a, unused), self.shifted_left(b, unused));
        let subtracts = operator == BinaryOp::SatSubSigned;
        let result = if subtracts {
            self.ins().isub(a, b)
        } else {
            self.ins().iadd(a, b)
        };
        // It overflows when the operands' signs (for a difference, after negating the right operand) are equal and the
        // result's sign differs.
        let signs = self.ins().bxor(a, b);
        let signs = if subtracts { signs } else { self.ins().bnot(signs) };
        let changed = self.ins().bxor(a, result);
        let overflow = self.ins().band(signs, changed);
        let zero = self.number(0);
        let overflows = self.ins().icmp(IntCC::SignedLessThan, overflow, zero);
        let bound = self.signed_bound(a);
        let result = self.ins().select(overflows, bound, result);
        self.shifted_right(result, unused)
    }

    /// The largest signed 64-bit number, or the smallest when `like` is negative.
    fn signed_bound(&mut self, like: ir::Value) -> ir::Value {
        let largest = self.number(i64::MAX);
        let amount = self.number(63);
        let sign = self.ins().sshr(like, amount);
        self.ins().bxor(sign, largest)
    }

    /// The result of a comparison.
    pub(super) fn compare_in_registers(&mut self, operator: BinaryOp, left: Value, right: Value) -> ir::Value {
        let [a, b] = [left, right].map(|value| {
            if is_signed(operator) {
                self.at_top(value.width, value.in_register())
            } else {
                value.in_register()
            }
        });
        match condition_code(operator) {
            code @ (IntCC::Equal | IntCC::NotEqual) => self.words_equal(code, a, b),
            code => self.ins().icmp(code, a, b),
        }
    }

    /// Bits above a value of this width in its register.
    fn unused_bits(&self, width: u32, value: ir::Value) -> u32 {
        self.builder.func.dfg.value_type(value).bits() - width
    }

    /// A value shifted to the high end of its register.
    fn at_top(&mut self, width: u32, value: ir::Value) -> ir::Value {
        let amount = self.number(self.unused_bits(width, value).into());
        self.ins().ishl(value, amount)
    }

    /// A two's complement value, sign-extended to its register.
    pub(super) fn sign_extended(&mut self, width: u32, value: ir::Value) -> ir::Value {
        let moved = self.at_top(width, value);
        let amount = self.number(self.unused_bits(width, value).into());
        self.ins().sshr(moved, amount)
    }

    /// A shift by any amount.
    pub(super) fn shift(&mut self, operator: BinaryOp, left: Value, amount: ir::Value) -> Value {
        let (width, value) = (left.width, left.in_register());
        if operator == BinaryOp::ShrSigned {
            let most = self.number(self.unused_bits(1, value).into());
            let amount = self.ins().umin(amount, most);
            let extended = self.sign_extended(width, value);
            let result = self.ins().sshr(extended, amount);
            let result = self.masked(width, result);
            return Value::register(width, result);
        }
        let shifted = if operator == BinaryOp::Shl {
            let shifted = self.ins().ishl(value, amount);
            self.masked(width, shifted)
        } else {
            self.ins().ushr(value, amount)
        };
        let (limit, zero) = (
            self.number(width.into()),
            self.constant(&Bits::zero(width)).in_register(),
        );
        let stays = self.ins().icmp(IntCC::UnsignedLessThan, amount, limit);
        Value::register(width, self.ins().select(stays, shifted, zero))
    }
}
