//! Constant folding: constant expressions are computed, and decisions with a known outcome become jumps.

use crate::{BinaryOp, Expr, KeySet, Op, Program, SelectCase, Terminator, UnaryOp};
use forebay_bits::Bits;

/// Simplifies every expression of bodies and table keys, then branches and selects whose outcome is known.
pub fn fold_constants(program: &mut Program) -> bool {
    let mut bodies = std::mem::take(&mut program.bodies);
    let mut tables = std::mem::take(&mut program.tables);
    let mut changed = false;
    for key in tables.iter_mut().flat_map(|table| &mut table.keys) {
        changed |= fold_expr(&mut key.expr, program);
    }
    for block in bodies.iter_mut().flat_map(|body| &mut body.blocks) {
        for statement in &mut block.statements {
            for expr in statement.op.exprs_mut() {
                changed |= fold_expr(expr, program);
            }
        }
        let before = block.statements.len();
        block.statements.retain(|statement| !is_self_assignment(&statement.op));
        changed |= block.statements.len() != before;
        for expr in block.terminator.exprs_mut() {
            changed |= fold_expr(expr, program);
        }
        changed |= fold_terminator(&mut block.terminator);
    }
    program.bodies = bodies;
    program.tables = tables;
    changed
}

fn is_self_assignment(op: &Op) -> bool {
    matches!(op, Op::Assign { slot, value: Expr::Slot(source) } if slot == source)
}

/// Simplifies an expression from the inside out.
pub fn fold_expr(expr: &mut Expr, program: &Program) -> bool {
    let mut changed = false;
    expr.for_each_operand_mut(&mut |operand| changed |= fold_expr(operand, program));
    while let Some(simpler) = simplify(expr, program) {
        *expr = simpler;
        changed = true;
    }
    changed
}

/// A simpler expression with the same value. The operands must already be simplified.
pub fn simplify(expr: &Expr, program: &Program) -> Option<Expr> {
    match expr {
        Expr::Const(_) | Expr::Slot(_) | Expr::Param { .. } => None,
        Expr::Unary(op, operand) => simplify_unary(*op, operand),
        Expr::Binary(op, left, right) => simplify_binary(*op, left, right),
        Expr::Slice { operand, hi, lo } => match operand.as_ref() {
            Expr::Const(value) => Some(Expr::Const(value.slice(*hi, *lo))),
            Expr::Slice { operand, lo: inner, .. } => Some(Expr::Slice {
                operand: operand.clone(),
                hi: hi + inner,
                lo: lo + inner,
            }),
            _ if *lo == 0 && hi + 1 == operand.width(program) => Some((**operand).clone()),
            _ => None,
        },
        Expr::Concat(high, low) => match (high.as_ref(), low.as_ref()) {
            (Expr::Const(high), Expr::Const(low)) => Some(Expr::Const(Bits::concat(high, low))),
            (Expr::Const(high), _) if high.width() == 0 => Some((**low).clone()),
            (_, Expr::Const(low)) if low.width() == 0 => Some((**high).clone()),
            _ => None,
        },
        Expr::ZeroExtend(width, operand) => resize(*width, operand, program, Bits::zext),
        Expr::SignExtend(width, operand) => resize(*width, operand, program, Bits::sext),
        Expr::Truncate(width, operand) => resize(*width, operand, program, Bits::truncate),
        Expr::Mux {
            condition,
            then_value,
            else_value,
        } => match condition.as_ref() {
            Expr::Const(condition) => Some((**if condition.is_zero() { else_value } else { then_value }).clone()),
            _ if then_value == else_value => Some((**then_value).clone()),
            _ => None,
        },
    }
}

fn resize(width: u32, operand: &Expr, program: &Program, resized: fn(&Bits, u32) -> Bits) -> Option<Expr> {
    match operand {
        Expr::Const(value) => Some(Expr::Const(resized(value, width))),
        _ => (operand.width(program) == width).then(|| operand.clone()),
    }
}

fn simplify_unary(op: UnaryOp, operand: &Expr) -> Option<Expr> {
    match (op, operand) {
        (_, Expr::Const(value)) => Some(Expr::Const(op.apply(value))),
        (_, Expr::Unary(inner, operand)) if *inner == op => Some((**operand).clone()),
        (UnaryOp::Not, Expr::Binary(comparison, left, right)) => {
            // The opposite comparison; if the order is reversed, the operands are swapped.
            let (opposite, swap) = match comparison {
                BinaryOp::Eq => (BinaryOp::Ne, false),
                BinaryOp::Ne => (BinaryOp::Eq, false),
                BinaryOp::Lt => (BinaryOp::Le, true),
                BinaryOp::Le => (BinaryOp::Lt, true),
                BinaryOp::LtSigned => (BinaryOp::LeSigned, true),
                BinaryOp::LeSigned => (BinaryOp::LtSigned, true),
                _ => return None,
            };
            let (left, right) = if swap { (right, left) } else { (left, right) };
            Some(Expr::Binary(opposite, left.clone(), right.clone()))
        }
        _ => None,
    }
}

fn simplify_binary(op: BinaryOp, left: &Expr, right: &Expr) -> Option<Expr> {
    match (left, right) {
        (Expr::Const(left), Expr::Const(right)) => Some(Expr::Const(op.apply(left, right))),
        (operand, Expr::Const(constant)) => with_constant(op, operand, constant),
        (Expr::Const(constant), operand) if is_commutative(op) => {
            // With the constant on the right, later rules find it.
            Some(Expr::Binary(
                op,
                Box::new(operand.clone()),
                Box::new(Expr::Const(constant.clone())),
            ))
        }
        _ if left == right => with_itself(op, left),
        _ => None,
    }
}

fn is_commutative(op: BinaryOp) -> bool {
    use BinaryOp::*;
    matches!(op, Add | Mul | SatAddUnsigned | SatAddSigned | And | Or | Xor | Eq | Ne)
}

/// `operand op constant`
fn with_constant(op: BinaryOp, operand: &Expr, constant: &Bits) -> Option<Expr> {
    use BinaryOp::*;
    let is_zero = constant.is_zero();
    let is_ones = *constant == Bits::ones(constant.width());
    match op {
        Add | Sub | SatAddUnsigned | SatAddSigned | SatSubUnsigned | SatSubSigned | Or | Xor | Shl | Shr
        | ShrSigned
            if is_zero =>
        {
            Some(operand.clone())
        }
        And | Mul if is_zero => Some(Expr::Const(constant.clone())),
        And if is_ones => Some(operand.clone()),
        Or if is_ones => Some(Expr::Const(constant.clone())),
        Eq | Ne if constant.width() == 1 => {
            // A truth value compared with a constant is the value itself or its negation.
            let same = (op == Eq) != is_zero;
            Some(if same {
                operand.clone()
            } else {
                Expr::Unary(UnaryOp::Not, Box::new(operand.clone()))
            })
        }
        Lt if is_zero => Some(Expr::Const(Bits::from_bool(false))),
        Le if is_ones => Some(Expr::Const(Bits::from_bool(true))),
        _ => None,
    }
}

/// `operand op operand`
fn with_itself(op: BinaryOp, operand: &Expr) -> Option<Expr> {
    use BinaryOp::*;
    match op {
        And | Or => Some(operand.clone()),
        Eq | Le | LeSigned => Some(Expr::Const(Bits::from_bool(true))),
        Ne | Lt | LtSigned => Some(Expr::Const(Bits::from_bool(false))),
        _ => None,
    }
}

fn fold_terminator(terminator: &mut Terminator) -> bool {
    match terminator {
        Terminator::Branch {
            condition: Expr::Const(condition),
            then_block,
            else_block,
        } => {
            *terminator = Terminator::Jump(if condition.is_zero() { *else_block } else { *then_block });
            true
        }
        Terminator::Branch {
            condition,
            then_block,
            else_block,
        } => {
            let Expr::Unary(UnaryOp::Not, opposite) = condition else {
                return false;
            };
            *condition = std::mem::replace(opposite, Expr::Const(Bits::zero(0)));
            std::mem::swap(then_block, else_block);
            true
        }
        Terminator::Select { keys, cases, default } => {
            let before = cases.len();
            cases.retain(|case| case_matches(keys, case) != Some(false));
            if let Some(certain) = cases.iter().position(|case| case_matches(keys, case) == Some(true)) {
                *default = cases[certain].target;
                cases.truncate(certain);
            }
            let changed = cases.len() != before;
            if cases.is_empty() {
                *terminator = Terminator::Jump(*default);
                return true;
            }
            changed
        }
        Terminator::Jump(_)
        | Terminator::Apply { .. }
        | Terminator::Return
        | Terminator::Exit
        | Terminator::Reject(_) => false,
    }
}

/// Whether the case matches, if that is known.
fn case_matches(keys: &[Expr], case: &SelectCase) -> Option<bool> {
    let outcomes: Vec<Option<bool>> = keys
        .iter()
        .zip(&case.keysets)
        .map(|(key, keyset)| keyset_matches(key, keyset))
        .collect();
    if outcomes.contains(&Some(false)) {
        return Some(false);
    }
    outcomes.iter().all(|outcome| *outcome == Some(true)).then_some(true)
}

fn keyset_matches(key: &Expr, keyset: &KeySet) -> Option<bool> {
    if *keyset == KeySet::Any {
        return Some(true);
    }
    let Expr::Const(key) = key else {
        return None;
    };
    match keyset {
        KeySet::Exact(value) | KeySet::Equals(Expr::Const(value)) => Some(key == value),
        KeySet::Mask { value, mask } => Some(key.and(mask) == value.and(mask)),
        KeySet::Range { low, high } => Some(!key.cmp_unsigned(low).is_lt() && !key.cmp_unsigned(high).is_gt()),
        KeySet::Any | KeySet::Equals(_) | KeySet::EqualsMasked { .. } | KeySet::ValueSet { .. } => None,
    }
}
