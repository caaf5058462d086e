//! Expressions: their widths, bottom up.

use super::{MAX_EXPRESSION_DEPTH, MAX_WIDTH, Place, Rule, Verifier};
use crate::{BinaryOp, BodyKind, Expr, SlotId};

impl Verifier<'_> {
    /// Checks an expression and that it has this width.
    pub(super) fn expr_of_width(&mut self, what: &str, expr: &Expr, expected: u32) {
        if let Some(width) = self.expr(expr) {
            self.same_width(what, width, expected);
        }
    }

    /// Checks an expression, and returns its width; `None` if it has no meaningful width.
    pub(super) fn expr(&mut self, expr: &Expr) -> Option<u32> {
        if deeper_than(expr, MAX_EXPRESSION_DEPTH) {
            self.report(Rule::ExpressionDepth, format!("deeper than {MAX_EXPRESSION_DEPTH}"));
            return None;
        }
        self.shallow_expr(expr)
    }

    /// The width of a slot, if it exists.
    pub(super) fn slot_width(&mut self, slot: SlotId) -> Option<u32> {
        let known = self.in_range("slot", slot.0, self.program.slots.len());
        known.then(|| self.program.slot(slot).width)
    }

    fn shallow_expr(&mut self, expr: &Expr) -> Option<u32> {
        match expr {
            Expr::Const(value) => {
                self.width_limit(value.width());
                Some(value.width())
            }
            Expr::Slot(slot) => self.slot_width(*slot),
            Expr::Param { index, width } => {
                self.param(*index, *width);
                Some(*width)
            }
            Expr::Unary(_, operand) => self.shallow_expr(operand),
            Expr::Binary(op, left, right) => self.binary(*op, left, right),
            Expr::Slice { operand, hi, lo } => {
                let width = self.shallow_expr(operand)?;
                let inside = lo <= hi && *hi < width;
                self.require(inside, Rule::SliceRange, || format!("[{hi}:{lo}] of {width} bits"))
                    .then(|| hi - lo + 1)
            }
            Expr::Concat(high, low) => {
                let (high, low) = (self.shallow_expr(high), self.shallow_expr(low));
                let width = high?.saturating_add(low?);
                self.width_limit(width);
                (width <= MAX_WIDTH).then_some(width)
            }
            Expr::ZeroExtend(width, operand) | Expr::SignExtend(width, operand) => {
                self.width_limit(*width);
                let from = self.shallow_expr(operand)?;
                self.require(from <= *width, Rule::ResizeDirection, || {
                    format!("{from} bits extended to {width}")
                });
                Some(*width)
            }
            Expr::Truncate(width, operand) => {
                let from = self.shallow_expr(operand)?;
                self.require(from >= *width, Rule::ResizeDirection, || {
                    format!("{from} bits truncated to {width}")
                });
                Some(*width)
            }
            Expr::Mux {
                condition,
                then_value,
                else_value,
            } => {
                if let Some(width) = self.shallow_expr(condition) {
                    self.same_width("a condition", width, 1);
                }
                let (then_width, else_width) = (self.shallow_expr(then_value), self.shallow_expr(else_value));
                self.same_width("an alternative", else_width?, then_width?);
                then_width
            }
        }
    }

    fn binary(&mut self, op: BinaryOp, left: &Expr, right: &Expr) -> Option<u32> {
        let (left, right) = (self.shallow_expr(left), self.shallow_expr(right));
        let (left, right) = (left?, right?);
        if !op.is_shift() {
            self.same_width("the right operand", right, left);
        }
        Some(if op.is_comparison() { 1 } else { left })
    }

    fn param(&mut self, index: u32, width: u32) {
        self.width_limit(width);
        let Place::Code { body, .. } = self.place else {
            return self.report(Rule::ParamOutsideAction, "action data outside an action");
        };
        let in_action = self.program.bodies[body.index()].kind == BodyKind::Action;
        let owners = std::mem::take(&mut self.owners[body.index()]);
        self.require(in_action && !owners.is_empty(), Rule::ParamOutsideAction, || {
            "action data outside an action".to_owned()
        });
        for action in &owners {
            let action = &self.program.actions[action.index()];
            let declared = action.params.get(index as usize).map(|param| param.width);
            self.require(declared == Some(width), Rule::ParamMismatch, || {
                format!("action {} has no parameter {index} of {width} bits", action.name)
            });
        }
        self.owners[body.index()] = owners;
    }
}

/// Whether an expression has more than `limit` levels. Needs at most `limit` levels of stack.
fn deeper_than(expr: &Expr, limit: usize) -> bool {
    if limit == 0 {
        return true;
    }
    match expr {
        Expr::Const(_) | Expr::Slot(_) | Expr::Param { .. } => false,
        Expr::Unary(_, operand)
        | Expr::Slice { operand, .. }
        | Expr::ZeroExtend(_, operand)
        | Expr::SignExtend(_, operand)
        | Expr::Truncate(_, operand) => deeper_than(operand, limit - 1),
        Expr::Binary(_, left, right) | Expr::Concat(left, right) => {
            deeper_than(left, limit - 1) || deeper_than(right, limit - 1)
        }
        Expr::Mux {
            condition,
            then_value,
            else_value,
        } => [condition, then_value, else_value]
            .into_iter()
            .any(|operand| deeper_than(operand, limit - 1)),
    }
}
