//! Values of expressions (P4_16 §8).

use crate::state::State;
use forebay_bits::Bits;
use forebay_ir::{BinaryOp, Expr, UnaryOp};
use std::cmp::Ordering;

/// The value of an expression. `action_data` are the arguments of the action that executes.
pub fn eval(expr: &Expr, state: &State, action_data: &[Bits]) -> Bits {
    match expr {
        Expr::Const(value) => value.clone(),
        Expr::Slot(slot) => state.get(*slot).clone(),
        Expr::Param { index, .. } => action_data[*index as usize].clone(),
        Expr::Unary(op, operand) => unary(*op, &eval(operand, state, action_data)),
        Expr::Binary(op, left, right) => binary(
            *op,
            &eval(left, state, action_data),
            &eval(right, state, action_data),
        ),
        Expr::Slice { operand, hi, lo } => eval(operand, state, action_data).slice(*hi, *lo),
        Expr::Concat(high, low) => Bits::concat(
            &eval(high, state, action_data),
            &eval(low, state, action_data),
        ),
        Expr::ZeroExtend(width, operand) => eval(operand, state, action_data).zext(*width),
        Expr::SignExtend(width, operand) => eval(operand, state, action_data).sext(*width),
        Expr::Truncate(width, operand) => eval(operand, state, action_data).truncate(*width),
        Expr::Mux {
            condition,
            then_value,
            else_value,
        } => {
            let chosen = if eval(condition, state, action_data).is_zero() {
                else_value
            } else {
                then_value
            };
            eval(chosen, state, action_data)
        }
    }
}

/// Applies an operator with one operand.
pub fn unary(op: UnaryOp, operand: &Bits) -> Bits {
    match op {
        UnaryOp::Not => operand.not(),
        UnaryOp::Negate => operand.neg(),
    }
}

/// Applies an operator with two operands.
pub fn binary(op: BinaryOp, left: &Bits, right: &Bits) -> Bits {
    match op {
        BinaryOp::Add => left.add(right),
        BinaryOp::Sub => left.sub(right),
        BinaryOp::Mul => left.mul(right),
        BinaryOp::Div => left.udiv(right).unwrap_or_else(|| Bits::zero(left.width())),
        BinaryOp::Mod => left.urem(right).unwrap_or_else(|| Bits::zero(left.width())),
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
        BinaryOp::Lt => Bits::from_bool(left.cmp_unsigned(right) == Ordering::Less),
        BinaryOp::Le => Bits::from_bool(left.cmp_unsigned(right) != Ordering::Greater),
        BinaryOp::LtSigned => Bits::from_bool(left.cmp_signed(right) == Ordering::Less),
        BinaryOp::LeSigned => Bits::from_bool(left.cmp_signed(right) != Ordering::Greater),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn apply(op: BinaryOp, left: u128, right: u128) -> u128 {
        binary(op, &Bits::new(8, left), &Bits::new(8, right)).to_u128()
    }

    #[test]
    fn every_binary_operator() {
        use BinaryOp::*;
        let cases = [
            (Add, 250, 10, 4),
            (Sub, 4, 10, 250),
            (Mul, 20, 20, 144),
            (Div, 200, 7, 28),
            (Div, 200, 0, 0),
            (Mod, 200, 7, 4),
            (Mod, 200, 0, 0),
            (SatAddUnsigned, 250, 10, 255),
            (SatAddSigned, 120, 10, 127),
            (SatSubUnsigned, 4, 10, 0),
            (SatSubSigned, 0x80, 1, 0x80),
            (And, 0b1100, 0b1010, 0b1000),
            (Or, 0b1100, 0b1010, 0b1110),
            (Xor, 0b1100, 0b1010, 0b0110),
            (Shl, 0x81, 1, 2),
            (Shl, 1, 8, 0),
            (Shr, 0x81, 1, 0x40),
            (Shr, 0x81, 200, 0),
            (ShrSigned, 0x80, 1, 0xC0),
            (ShrSigned, 0x80, 200, 0xFF),
            (Eq, 5, 5, 1),
            (Ne, 5, 5, 0),
            (Lt, 5, 0xFF, 1),
            (Le, 5, 5, 1),
            (LtSigned, 5, 0xFF, 0),
            (LeSigned, 0xFF, 5, 1),
        ];
        for (op, left, right, expected) in cases {
            assert_eq!(apply(op, left, right), expected, "{left} {op:?} {right}");
        }
    }

    #[test]
    fn shift_amounts_have_any_width() {
        let wide = Bits::ones(200);
        assert!(binary(BinaryOp::Shl, &Bits::new(8, 1), &wide).is_zero());
        assert_eq!(
            binary(BinaryOp::Shr, &Bits::new(8, 4), &Bits::new(2, 1)),
            Bits::new(8, 2)
        );
    }

    #[test]
    fn unary_operators() {
        assert_eq!(
            unary(UnaryOp::Not, &Bits::new(4, 0b1010)),
            Bits::new(4, 0b0101)
        );
        assert_eq!(unary(UnaryOp::Negate, &Bits::new(4, 1)), Bits::new(4, 15));
    }

    #[test]
    fn structure_of_expressions() {
        let program = forebay_ir::Program::new(forebay_ir::Architecture::V1Model);
        let state = State::new(&program);
        let data = [Bits::new(16, 0xABCD)];
        let param = || {
            Box::new(Expr::Param {
                index: 0,
                width: 16,
            })
        };
        let constant = |width, value| Box::new(Expr::Const(Bits::new(width, value)));
        let value = |expr: Expr| eval(&expr, &state, &data);
        assert_eq!(
            value(Expr::Slice {
                operand: param(),
                hi: 11,
                lo: 4
            }),
            Bits::new(8, 0xBC)
        );
        assert_eq!(
            value(Expr::Concat(param(), constant(4, 0xE))),
            Bits::new(20, 0xABCDE)
        );
        assert_eq!(value(Expr::ZeroExtend(20, param())), Bits::new(20, 0xABCD));
        assert_eq!(value(Expr::SignExtend(20, param())), Bits::new(20, 0xFABCD));
        assert_eq!(value(Expr::Truncate(8, param())), Bits::new(8, 0xCD));
        let mux = |condition| Expr::Mux {
            condition: constant(1, condition),
            then_value: constant(4, 1),
            else_value: constant(4, 2),
        };
        assert_eq!(value(mux(1)), Bits::new(4, 1));
        assert_eq!(value(mux(0)), Bits::new(4, 2));
    }
}
