//! Values as words: slices and the like of any width, and operators on values of 129 to 512 bits. Operators on wider
//! values, multiplication, saturation and shifts by amounts that are not constant are the runtime's.

use super::Translator;
use super::in_registers::is_signed;
use super::value::{Value, WORDS_IN_PLACE_MAX};
use crate::runtime::words;
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{self, InstBuilder, types};
use forebay_ir::BinaryOp;

const WORD_BITS: u32 = u64::BITS;

impl Translator<'_, '_, '_> {
    pub(super) fn words_of(&mut self, value: Value) -> Vec<ir::Value> {
        (0..words(value.width)).map(|index| self.limb(value, index)).collect()
    }

    /// The value of these words, the least significant first: without those that it is too narrow for, and with zeros
    /// for those that are missing.
    pub(super) fn value_of_words(&mut self, width: u32, mut result: Vec<ir::Value>) -> Value {
        let count = words(width);
        let zero = self.number(0);
        result.resize(count, zero);
        match result[..] {
            [] => Value::word(0, zero),
            [word] => Value::word(width, word),
            [low, high] => Value::register(width, self.ins().iconcat(low, high)),
            _ => {
                let address = self.temporary_address(count);
                self.store_limbs(&result, address, 0);
                Value::memory(width, address)
            }
        }
    }

    /// The low bits of these words.
    pub(super) fn masked_value(&mut self, width: u32, mut result: Vec<ir::Value>) -> Value {
        if let (Some(last), 1..) = (result.get_mut(words(width).wrapping_sub(1)), width % WORD_BITS) {
            *last = self.masked(width % WORD_BITS, *last);
        }
        self.value_of_words(width, result)
    }

    /// The 64 bits of a value from bit `lo` on, with zeros after its last word.
    fn word_from(&mut self, value: Value, lo: u32) -> ir::Value {
        let index = (lo / 64) as usize;
        let word = self.limb(value, index);
        let low = self.shifted_right(word, lo % 64);
        if lo.is_multiple_of(64) || index + 1 == words(value.width) {
            return low;
        }
        let next = self.limb(value, index + 1);
        let high = self.shifted_left(next, 64 - lo % 64);
        self.ins().bor(low, high)
    }

    /// The words of the result, if it is computed in place.
    pub(super) fn binary_words(&mut self, operator: BinaryOp, left: Value, right: Value) -> Option<Vec<ir::Value>> {
        if words(left.width) > WORDS_IN_PLACE_MAX {
            return None;
        }
        if operator.is_shift() {
            return self.shifted_words(operator, left, right);
        }
        let (left, right) = (self.words_of(left), self.words_of(right));
        let bitwise = |combine: &mut dyn FnMut(ir::Value, ir::Value) -> ir::Value| {
            left.iter().zip(&right).map(|(a, b)| combine(*a, *b)).collect()
        };
        match operator {
            BinaryOp::And => Some(bitwise(&mut |a, b| self.ins().band(a, b))),
            BinaryOp::Or => Some(bitwise(&mut |a, b| self.ins().bor(a, b))),
            BinaryOp::Xor => Some(bitwise(&mut |a, b| self.ins().bxor(a, b))),
            BinaryOp::Add => Some(self.sum_of_words(&left, &right)),
            BinaryOp::Sub => Some(self.difference_of_words(&left, &right).0),
            _ => None,
        }
    }

    fn sum_of_words(&mut self, left: &[ir::Value], right: &[ir::Value]) -> Vec<ir::Value> {
        let mut carry: Option<ir::Value> = None;
        let mut words = Vec::new();
        for (&a, &b) in left.iter().zip(right) {
            let both = self.ins().iadd(a, b);
            let over = self.ins().icmp(IntCC::UnsignedLessThan, both, a);
            let (word, over) = match carry {
                None => (both, over),
                Some(carry) => {
                    let carry = self.ins().uextend(types::I64, carry);
                    let word = self.ins().iadd(both, carry);
                    let again = self.ins().icmp(IntCC::UnsignedLessThan, word, carry);
                    (word, self.ins().bor(over, again))
                }
            };
            words.push(word);
            carry = Some(over);
        }
        words
    }

    /// The words of `left - right`, and whether `left` is less.
    fn difference_of_words(&mut self, left: &[ir::Value], right: &[ir::Value]) -> (Vec<ir::Value>, ir::Value) {
        let mut borrow = self.ins().iconst(types::I8, 0);
        let mut words = Vec::new();
        for (&a, &b) in left.iter().zip(right) {
            let both = self.ins().isub(a, b);
            let under = self.ins().icmp(IntCC::UnsignedLessThan, a, b);
            let taken = self.ins().uextend(types::I64, borrow);
            let again = self.ins().icmp(IntCC::UnsignedLessThan, both, taken);
            words.push(self.ins().isub(both, taken));
            borrow = self.ins().bor(under, again);
        }
        (words, borrow)
    }

    pub(super) fn compare_words(&mut self, operator: BinaryOp, left: Value, right: Value) -> ir::Value {
        let width = left.width;
        if words(width) > WORDS_IN_PLACE_MAX {
            let holds = self.binary_by_runtime(operator, left, right);
            let holds = self.low_word(holds);
            return self.ins().icmp_imm_u(IntCC::NotEqual, holds, 0);
        }
        let (mut left, mut right) = (self.words_of(left), self.words_of(right));
        match operator {
            BinaryOp::Eq | BinaryOp::Ne => {
                let mut different = self.number(0);
                for (a, b) in left.into_iter().zip(right) {
                    let bits = self.ins().bxor(a, b);
                    different = self.ins().bor(different, bits);
                }
                let condition = if operator == BinaryOp::Eq {
                    IntCC::Equal
                } else {
                    IntCC::NotEqual
                };
                self.ins().icmp_imm_u(condition, different, 0)
            }
            _ => {
                if is_signed(operator) {
                    // With the sign turned over, numbers have the order of unsigned ones.
                    for words in [&mut left, &mut right] {
                        let last = words.last_mut().expect("a wide value has words");
                        *last = self.ins().bxor_imm_u(*last, (1u64 << ((width - 1) % WORD_BITS)) as i64);
                    }
                }
                match operator {
                    BinaryOp::Lt | BinaryOp::LtSigned => self.difference_of_words(&left, &right).1,
                    _ => {
                        let greater = self.difference_of_words(&right, &left).1;
                        self.ins().icmp_imm_u(IntCC::Equal, greater, 0)
                    }
                }
            }
        }
    }

    /// The words that hold up to `bits` bits of a value, starting at its bit `lo`.
    pub(super) fn words_from(&mut self, value: Value, lo: u32, bits: u32) -> Vec<ir::Value> {
        let count = words(bits.min(value.width - lo));
        (0..count as u32)
            .map(|index| self.word_from(value, lo + WORD_BITS * index))
            .collect()
    }

    pub(super) fn concat_words(&mut self, high: Value, low: Value) -> Vec<ir::Value> {
        let mut joined = self.words_of(low);
        let high = self.words_of(high);
        let moved = low.width % WORD_BITS;
        if moved == 0 {
            joined.extend(high);
            return joined;
        }
        for word in high {
            let last = joined.last_mut().expect("it has bits");
            let part = self.shifted_left(word, moved);
            *last = self.ins().bor(*last, part);
            joined.push(self.shifted_right(word, WORD_BITS - moved));
        }
        joined
    }

    /// The words of a two's complement value with at least this width.
    pub(super) fn sign_extended_words(&mut self, width: u32, value: Value) -> Vec<ir::Value> {
        let mut extended = self.words_of(value);
        if let Some(last) = extended.last_mut() {
            *last = self.sign_extended(value.width - WORD_BITS * (words(value.width) as u32 - 1), *last);
            let sign = self.ins().sshr_imm_u(*last, 63);
            extended.resize(words(width), sign);
        }
        extended
    }

    /// Shifts by a constant.
    fn shifted_words(&mut self, operator: BinaryOp, left: Value, amount: Value) -> Option<Vec<ir::Value>> {
        if operator == BinaryOp::ShrSigned || words(amount.width) != 1 {
            return None;
        }
        let amount = self.low_word(amount);
        let amount = u32::try_from(self.constant_of(amount)?)
            .ok()
            .filter(|amount| *amount < left.width)?;
        if operator == BinaryOp::Shr {
            return Some(self.words_from(left, amount, left.width));
        }
        let zero = self.number(0);
        let (whole, rest) = ((amount / WORD_BITS) as usize, amount % WORD_BITS);
        let mut result = vec![zero; whole];
        let mut below = zero;
        for word in self.words_of(left) {
            let moved = self.shifted_left(word, rest);
            let carried = if rest == 0 {
                zero
            } else {
                self.shifted_right(below, WORD_BITS - rest)
            };
            result.push(self.ins().bor(moved, carried));
            below = word;
        }
        result.truncate(words(left.width));
        Some(result)
    }
}
