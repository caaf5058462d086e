//! Expressions: values of expression trees, and conditions.
//!
//! Expressions have no effects and cannot fail, so both sides of a [`Expr::Mux`] are computed.

use super::Translator;
use super::value::{ActionData, Place, Value};
use crate::runtime::{WideOperator, words};
use cranelift_codegen::ir::{self, InstBuilder};
use forebay_ir::{BinaryOp, Expr, UnaryOp};

impl Translator<'_, '_, '_> {
    /// The value of an expression.
    pub(super) fn value(&mut self, expr: &Expr, data: Option<&ActionData>) -> Value {
        match expr {
            Expr::Const(value) => self.constant(value),
            Expr::Slot(slot) => self.read_slot(*slot),
            Expr::Param { index, width } => {
                let data = data.expect("the verifier finds parameters in bodies of actions only");
                self.parameter(data, *index, *width)
            }
            Expr::Unary(operator, operand) => {
                let operand = self.value(operand, data);
                self.unary(*operator, operand)
            }
            Expr::Binary(operator, left, right) => {
                let (left, right) = (self.value(left, data), self.value(right, data));
                self.binary(*operator, left, right)
            }
            Expr::Slice { operand, hi, lo } => {
                let operand = self.value(operand, data);
                self.slice(operand, *hi, *lo)
            }
            Expr::Concat(high, low) => {
                if let Some(composed) = self.composed_in_packet(expr) {
                    return composed;
                }
                let (high, low) = (self.value(high, data), self.value(low, data));
                self.concat(high, low)
            }
            Expr::ZeroExtend(width, operand) => {
                let operand = self.value(operand, data);
                self.zero_extend(*width, operand)
            }
            Expr::SignExtend(width, operand) => {
                let operand = self.value(operand, data);
                self.sign_extend(*width, operand)
            }
            Expr::Truncate(width, operand) => {
                let operand = self.value(operand, data);
                self.truncate(*width, operand)
            }
            Expr::Mux {
                condition,
                then_value,
                else_value,
            } => {
                if let Some(element) = self.element_of_stack(expr, data) {
                    return element;
                }
                let condition = self.condition(condition, data);
                let (then_value, else_value) = (self.value(then_value, data), self.value(else_value, data));
                self.select_value(condition, then_value, else_value)
            }
        }
    }

    /// The low 64 bits of an expression.
    pub(super) fn word_of(&mut self, expr: &Expr, data: Option<&ActionData>) -> ir::Value {
        let value = self.value(expr, data);
        self.low_word(value)
    }

    /// An expression used as an index, an amount or a bound: numbers that are too large become the largest.
    pub(super) fn saturated_of(&mut self, expr: &Expr, data: Option<&ActionData>) -> ir::Value {
        let value = self.value(expr, data);
        self.saturated(value)
    }

    /// An expression of width 1 as a value that can be branched on.
    pub(super) fn condition(&mut self, expr: &Expr, data: Option<&ActionData>) -> ir::Value {
        match expr {
            Expr::Binary(operator, left, right) if operator.is_comparison() => {
                let (left, right) = (self.value(left, data), self.value(right, data));
                self.comparison(*operator, left, right)
            }
            _ => self.word_of(expr, data),
        }
    }

    fn select_value(&mut self, condition: ir::Value, then_value: Value, else_value: Value) -> Value {
        let width = then_value.width;
        let select = |translator: &mut Self, a, b| translator.builder.ins().select(condition, a, b);
        match (then_value.place, else_value.place) {
            (Place::Word(a), Place::Word(b)) => Value::word(width, select(self, a, b)),
            (Place::Double(a), Place::Double(b)) => {
                // Done in halves: for a comparison's operands, Cranelift would make a minimum or maximum, which it
                // supports only for words.
                let (a_low, a_high) = self.split(a);
                let (b_low, b_high) = self.split(b);
                let (low, high) = (select(self, a_low, b_low), select(self, a_high, b_high));
                Value::double(width, self.builder.ins().iconcat(low, high))
            }
            (Place::Memory(a), Place::Memory(b)) => Value::memory(width, select(self, a, b)),
            _ => unreachable!("alternatives have one width"),
        }
    }

    fn unary(&mut self, operator: UnaryOp, operand: Value) -> Value {
        let width = operand.width;
        match operand.place {
            Place::Word(word) => {
                let result = match operator {
                    UnaryOp::Not => self.builder.ins().bnot(word),
                    UnaryOp::Negate => self.builder.ins().ineg(word),
                };
                let result = self.masked(width, result);
                Value::word(width, result)
            }
            Place::Double(double) => self.double_unary(operator, width, double),
            Place::Memory(_) => self.wide_operation(WideOperator::Unary(operator), width, operand, None),
        }
    }

    pub(super) fn binary(&mut self, operator: BinaryOp, left: Value, right: Value) -> Value {
        if operator.is_comparison() {
            let condition = self.comparison(operator, left, right);
            return self.truth(condition);
        }
        if operator.is_shift() && !matches!(left.place, Place::Memory(_)) {
            let amount = self.saturated(right);
            return self.shift(operator, left, amount);
        }
        match (left.place, right.place) {
            (Place::Word(a), Place::Word(b)) => {
                let result = self.word_binary(operator, left.width, a, b);
                Value::word(left.width, result)
            }
            (Place::Double(a), Place::Double(b)) => self.double_binary(operator, left.width, a, b),
            _ => self.wide_operation(WideOperator::Binary(operator), left.width, left, Some(right)),
        }
    }

    /// The result of a comparison, as an 8-bit value that can be branched on.
    pub(super) fn comparison(&mut self, operator: BinaryOp, left: Value, right: Value) -> ir::Value {
        match (left.place, right.place) {
            (Place::Word(a), Place::Word(b)) => self.word_comparison(operator, left.width, a, b),
            (Place::Double(a), Place::Double(b)) => self.double_comparison(operator, left.width, a, b),
            _ => {
                let result = self.wide_operation(WideOperator::Binary(operator), 1, left, Some(right));
                self.truth_of_word(result)
            }
        }
    }

    fn shift(&mut self, operator: BinaryOp, left: Value, amount: ir::Value) -> Value {
        match left.place {
            Place::Word(word) => {
                let result = self.word_shift(operator, left.width, word, amount);
                Value::word(left.width, result)
            }
            Place::Double(double) => {
                let result = self.double_shift(operator, left.width, double, amount);
                Value::double(left.width, result)
            }
            Place::Memory(_) => unreachable!("values in memory are shifted by the runtime"),
        }
    }

    fn slice(&mut self, operand: Value, hi: u32, lo: u32) -> Value {
        let width = hi - lo + 1;
        match operand.place {
            Place::Word(word) => {
                let shifted = self.shifted_right(word, lo);
                let result = self.masked(width, shifted);
                Value::word(width, result)
            }
            Place::Memory(_) if width <= 64 => {
                let result = self.word_of_wide(operand, lo);
                let result = self.masked(width, result);
                Value::word(width, result)
            }
            Place::Double(double) => self.double_slice(width, double, lo),
            Place::Memory(_) => self.wide_operation(WideOperator::Slice { hi, lo }, width, operand, None),
        }
    }

    /// The 64 bits of a value in memory from bit `lo` on, with zeros after its last word.
    pub(super) fn word_of_wide(&mut self, value: Value, lo: u32) -> ir::Value {
        let index = (lo / 64) as usize;
        let word = self.limb(value, index);
        let low = self.shifted_right(word, lo % 64);
        if lo.is_multiple_of(64) || index + 1 == words(value.width) {
            return low;
        }
        let next = self.limb(value, index + 1);
        let amount = self.number((64 - lo % 64).into());
        let high = self.builder.ins().ishl(next, amount);
        self.builder.ins().bor(low, high)
    }

    /// A word shifted right by a constant below 64.
    pub(super) fn shifted_right(&mut self, word: ir::Value, amount: u32) -> ir::Value {
        if amount == 0 {
            return word;
        }
        let amount = self.number(amount.into());
        self.builder.ins().ushr(word, amount)
    }

    /// A word shifted left by a constant up to 64.
    pub(super) fn shifted_left(&mut self, word: ir::Value, amount: u32) -> ir::Value {
        match amount {
            0 => word,
            64.. => self.number(0),
            _ => {
                let amount = self.number(amount.into());
                self.builder.ins().ishl(word, amount)
            }
        }
    }

    /// A word multiplied by a constant.
    pub(super) fn times(&mut self, word: ir::Value, factor: u64) -> ir::Value {
        if factor.is_power_of_two() {
            return self.shifted_left(word, factor.ilog2());
        }
        let factor = self.number(factor as i64);
        self.builder.ins().imul(word, factor)
    }

    fn concat(&mut self, high: Value, low: Value) -> Value {
        let width = high.width + low.width;
        match (high.place, low.place) {
            (Place::Word(a), Place::Word(b)) if width <= 64 => {
                let moved = self.shifted_left(a, low.width);
                let result = self.builder.ins().bor(moved, b);
                Value::word(width, result)
            }
            _ if width <= 128 => self.double_concat(width, high, low),
            _ => self.wide_operation(WideOperator::Concat, width, high, Some(low)),
        }
    }

    pub(super) fn zero_extend(&mut self, width: u32, operand: Value) -> Value {
        match operand.place {
            Place::Word(word) => self.value_of_u64(width, word),
            Place::Double(double) if width <= 128 => Value::double(width, double),
            _ => self.wide_operation(WideOperator::ZeroExtend(width), width, operand, None),
        }
    }

    fn sign_extend(&mut self, width: u32, operand: Value) -> Value {
        match operand.place {
            Place::Word(word) if width <= 64 => {
                let extended = self.sign_extended(operand.width, word);
                let result = self.masked(width, extended);
                Value::word(width, result)
            }
            Place::Word(_) | Place::Double(_) if width <= 128 => self.double_sign_extend(width, operand),
            _ => self.wide_operation(WideOperator::SignExtend(width), width, operand, None),
        }
    }

    pub(super) fn truncate(&mut self, width: u32, operand: Value) -> Value {
        match operand.place {
            _ if width <= 64 => {
                let word = self.low_word(operand);
                let word = self.masked(width, word);
                Value::word(width, word)
            }
            _ if width <= 128 => {
                let double = self.low_double(operand);
                let double = self.double_masked(width, double);
                Value::double(width, double)
            }
            _ => self.wide_operation(WideOperator::Truncate(width), width, operand, None),
        }
    }
}
