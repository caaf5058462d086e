//! Values of expressions (P4_16 §8).

use crate::state::State;
use forebay_bits::Bits;
use forebay_ir::Expr;

/// The value of an expression. `action_data` are the arguments of the action that executes.
pub fn eval(expr: &Expr, state: &State, action_data: &[Bits]) -> Bits {
    match expr {
        Expr::Const(value) => value.clone(),
        Expr::Slot(slot) => state.get(*slot),
        Expr::Param { index, .. } => action_data[*index as usize].clone(),
        Expr::Unary(op, operand) => op.apply(&eval(operand, state, action_data)),
        Expr::Binary(op, left, right) => op.apply(&eval(left, state, action_data), &eval(right, state, action_data)),
        Expr::Slice { operand, hi, lo } => eval(operand, state, action_data).slice(*hi, *lo),
        Expr::Concat(high, low) => Bits::concat(&eval(high, state, action_data), &eval(low, state, action_data)),
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

#[cfg(test)]
mod tests {
    use super::*;
    use forebay_ir::{BinaryOp, UnaryOp};

    #[test]
    fn structure_of_expressions() {
        let program = forebay_ir::Program::new(forebay_ir::Architecture::V1Model);
        let state = State::new(&program);
        let data = [Bits::new(16, 0xABCD)];
        let param = || Box::new(Expr::Param { index: 0, width: 16 });
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
        assert_eq!(value(Expr::Unary(UnaryOp::Not, param())), Bits::new(16, 0x5432));
        assert_eq!(
            value(Expr::Binary(BinaryOp::Shl, param(), constant(3, 4))),
            Bits::new(16, 0xBCD0)
        );
        assert_eq!(value(Expr::Concat(param(), constant(4, 0xE))), Bits::new(20, 0xABCDE));
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
