//! Operators on values of up to 64 bits.

use super::Translator;
use super::value::low_mask;
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{self, InstBuilder};
use forebay_ir::BinaryOp;

/// The Cranelift condition of a comparison operator.
pub(super) fn condition_code(operator: BinaryOp) -> IntCC {
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

/// Whether an operator takes its operands in two's complement.
pub(super) fn is_signed(operator: BinaryOp) -> bool {
    use BinaryOp::*;
    matches!(operator, LtSigned | LeSigned | ShrSigned | SatAddSigned | SatSubSigned)
}

impl Translator<'_, '_, '_> {
    /// An operator that is neither comparison nor shift.
    pub(super) fn word_binary(&mut self, operator: BinaryOp, width: u32, a: ir::Value, b: ir::Value) -> ir::Value {
        let result = match operator {
            BinaryOp::And => return self.builder.ins().band(a, b),
            BinaryOp::Or => return self.builder.ins().bor(a, b),
            BinaryOp::Xor => return self.builder.ins().bxor(a, b),
            BinaryOp::Div => return self.word_division(a, b, false),
            BinaryOp::Mod => return self.word_division(a, b, true),
            BinaryOp::Add => self.builder.ins().iadd(a, b),
            BinaryOp::Sub => self.builder.ins().isub(a, b),
            BinaryOp::Mul => self.builder.ins().imul(a, b),
            BinaryOp::SatAddUnsigned => self.saturating_add(width, a, b),
            BinaryOp::SatSubUnsigned => self.saturating_sub(a, b),
            BinaryOp::SatAddSigned | BinaryOp::SatSubSigned => self.saturating_signed(operator, width, a, b),
            other => unreachable!("{other:?} is handled elsewhere"),
        };
        self.masked(width, result)
    }

    /// A quotient or remainder; 0 when the divisor is 0.
    fn word_division(&mut self, a: ir::Value, b: ir::Value, remainder: bool) -> ir::Value {
        let (zero, one) = (self.number(0), self.number(1));
        let by_zero = self.builder.ins().icmp(IntCC::Equal, b, zero);
        let divisor = self.builder.ins().select(by_zero, one, b);
        let result = if remainder {
            self.builder.ins().urem(a, divisor)
        } else {
            self.builder.ins().udiv(a, divisor)
        };
        self.builder.ins().select(by_zero, zero, result)
    }

    fn saturating_add(&mut self, width: u32, a: ir::Value, b: ir::Value) -> ir::Value {
        let sum = self.builder.ins().iadd(a, b);
        let largest = self.number(low_mask(width));
        if width < 64 {
            return self.builder.ins().umin(sum, largest);
        }
        let carried = self.builder.ins().icmp(IntCC::UnsignedLessThan, sum, a);
        self.builder.ins().select(carried, largest, sum)
    }

    fn saturating_sub(&mut self, a: ir::Value, b: ir::Value) -> ir::Value {
        let zero = self.number(0);
        let borrows = self.builder.ins().icmp(IntCC::UnsignedLessThan, a, b);
        let difference = self.builder.ins().isub(a, b);
        self.builder.ins().select(borrows, zero, difference)
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
            self.builder.ins().isub(a, b)
        } else {
            self.builder.ins().iadd(a, b)
        };
        // It overflows when the operands' signs (for a difference, after negating the right operand) are equal and the
        // result's sign differs.
        let signs = self.builder.ins().bxor(a, b);
        let signs = if subtracts {
            signs
        } else {
            self.builder.ins().bnot(signs)
        };
        let changed = self.builder.ins().bxor(a, result);
        let overflow = self.builder.ins().band(signs, changed);
        let zero = self.number(0);
        let overflows = self.builder.ins().icmp(IntCC::SignedLessThan, overflow, zero);
        let bound = self.signed_bound(a);
        let result = self.builder.ins().select(overflows, bound, result);
        self.shifted_right(result, unused)
    }

    /// The largest signed 64-bit number, or the smallest when `like` is negative.
    fn signed_bound(&mut self, like: ir::Value) -> ir::Value {
        let largest = self.number(i64::MAX);
        let amount = self.number(63);
        let sign = self.builder.ins().sshr(like, amount);
        self.builder.ins().bxor(sign, largest)
    }

    /// The result of a comparison.
    pub(super) fn word_comparison(&mut self, operator: BinaryOp, width: u32, a: ir::Value, b: ir::Value) -> ir::Value {
        let (a, b) = if is_signed(operator) {
            (self.sign_extended(width, a), self.sign_extended(width, b))
        } else {
            (a, b)
        };
        match condition_code(operator) {
            code @ (IntCC::Equal | IntCC::NotEqual) => self.words_equal(code, a, b),
            code => self.builder.ins().icmp(code, a, b),
        }
    }

    /// A two's complement value, sign-extended to 64 bits.
    pub(super) fn sign_extended(&mut self, width: u32, word: ir::Value) -> ir::Value {
        if width == 0 || width >= 64 {
            return word;
        }
        let moved = self.shifted_left(word, 64 - width);
        let amount = self.number((64 - width).into());
        self.builder.ins().sshr(moved, amount)
    }

    /// A shift by any amount.
    pub(super) fn word_shift(
        &mut self,
        operator: BinaryOp,
        width: u32,
        word: ir::Value,
        amount: ir::Value,
    ) -> ir::Value {
        if operator == BinaryOp::ShrSigned {
            let most = self.number(63);
            let amount = self.builder.ins().umin(amount, most);
            let extended = self.sign_extended(width, word);
            let result = self.builder.ins().sshr(extended, amount);
            return self.masked(width, result);
        }
        let shifted = if operator == BinaryOp::Shl {
            let shifted = self.builder.ins().ishl(word, amount);
            self.masked(width, shifted)
        } else {
            self.builder.ins().ushr(word, amount)
        };
        let (limit, zero) = (self.number(width.into()), self.number(0));
        let stays = self.builder.ins().icmp(IntCC::UnsignedLessThan, amount, limit);
        self.builder.ins().select(stays, shifted, zero)
    }
}
