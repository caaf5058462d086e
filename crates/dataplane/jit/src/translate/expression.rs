//! Expressions: values of expression trees, and conditions.
//!
//! Expressions have no effects and cannot fail, so both sides of a [`Expr::Mux`] are computed.

use super::Translator;
use super::value::{ActionData, Place, Value};
use cranelift_codegen::ir::{self, InstBuilder, types};
use forebay_bits::Bits;
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
                let words = self.words_from(operand, *lo, hi - lo + 1);
                self.masked_value(hi - lo + 1, words)
            }
            Expr::Concat(high, low) => {
                if let Some(composed) = self.composed_in_packet(expr) {
                    return composed;
                }
                let (high, low) = (self.value(high, data), self.value(low, data));
                let words = self.concat_words(high, low);
                self.value_of_words(high.width + low.width, words)
            }
            Expr::ZeroExtend(width, operand) | Expr::Truncate(width, operand) => {
                let operand = self.value(operand, data);
                self.resized(*width, operand)
            }
            Expr::SignExtend(width, operand) => {
                let operand = self.value(operand, data);
                let words = self.sign_extended_words(*width, operand);
                self.masked_value(*width, words)
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
        let select = |translator: &mut Self, a, b| translator.ins().select(condition, a, b);
        match (then_value.place, else_value.place) {
            (Place::Word(a), Place::Word(b)) => Value::word(width, select(self, a, b)),
            (Place::Double(a), Place::Double(b)) => {
                // Done in halves: for a comparison's operands, Cranelift would make a minimum or maximum, which it
                // supports only for words.
                let (a_low, a_high) = self.split(a);
                let (b_low, b_high) = self.split(b);
                let (low, high) = (select(self, a_low, b_low), select(self, a_high, b_high));
                Value::register(width, self.ins().iconcat(low, high))
            }
            (Place::Memory(a), Place::Memory(b)) => Value::memory(width, select(self, a, b)),
            _ => unreachable!("alternatives have one width"),
        }
    }

    fn unary(&mut self, operator: UnaryOp, operand: Value) -> Value {
        let (Place::Word(value) | Place::Double(value)) = operand.place else {
            return self.unary_of_wide(operator, operand);
        };
        let result = match operator {
            UnaryOp::Not => self.ins().bnot(value),
            UnaryOp::Negate => self.ins().ineg(value),
        };
        let result = self.masked(operand.width, result);
        Value::register(operand.width, result)
    }

    fn unary_of_wide(&mut self, operator: UnaryOp, operand: Value) -> Value {
        match operator {
            UnaryOp::Not => {
                let ones = self.constant(&Bits::ones(operand.width));
                self.binary(BinaryOp::Xor, operand, ones)
            }
            UnaryOp::Negate => {
                let zero = self.constant(&Bits::zero(operand.width));
                self.binary(BinaryOp::Sub, zero, operand)
            }
        }
    }

    pub(super) fn binary(&mut self, operator: BinaryOp, left: Value, right: Value) -> Value {
        if operator.is_comparison() {
            let condition = self.comparison(operator, left, right);
            let word = self.ins().uextend(types::I64, condition);
            return Value::word(1, word);
        }
        let in_place = match left.place {
            Place::Memory(_) => self.binary_words(operator, left, right),
            _ if operator.is_shift() => {
                let amount = self.saturated(right);
                return self.shift(operator, left, amount);
            }
            _ => return self.binary_in_registers(operator, left, right),
        };
        match in_place {
            Some(words) => self.masked_value(left.width, words),
            None => self.binary_by_runtime(operator, left, right),
        }
    }

    /// The result of a comparison, as an 8-bit value that can be branched on.
    pub(super) fn comparison(&mut self, operator: BinaryOp, left: Value, right: Value) -> ir::Value {
        match left.place {
            Place::Memory(_) => self.compare_words(operator, left, right),
            _ => self.compare_in_registers(operator, left, right),
        }
    }

    /// The low bits of a value, or all of them with zeros above.
    pub(super) fn resized(&mut self, width: u32, value: Value) -> Value {
        let words = self.words_from(value, 0, width);
        if width < value.width {
            self.masked_value(width, words)
        } else {
            self.value_of_words(width, words)
        }
    }

    /// A word shifted right by a constant below 64.
    pub(super) fn shifted_right(&mut self, word: ir::Value, amount: u32) -> ir::Value {
        if amount == 0 {
            return word;
        }
        self.ins().ushr_imm_u(word, i64::from(amount))
    }

    /// A word shifted left by a constant up to 64.
    pub(super) fn shifted_left(&mut self, word: ir::Value, amount: u32) -> ir::Value {
        match amount {
            0 => word,
            64.. => self.number(0),
            _ => self.ins().ishl_imm_u(word, i64::from(amount)),
        }
    }

    /// A word multiplied by a constant.
    pub(super) fn times(&mut self, word: ir::Value, factor: u64) -> ir::Value {
        if factor.is_power_of_two() {
            return self.shifted_left(word, factor.ilog2());
        }
        self.ins().imul_imm_u(word, factor as i64)
    }
}
