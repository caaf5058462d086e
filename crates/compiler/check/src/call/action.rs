//! Direct calls of actions (§14.1).

use super::{CallSite, Callable, Strictness};
use crate::checker::Checker;
use crate::hir::*;
use crate::types::Substitution;
use forebay_syntax::codes::check as codes;

impl Checker {
    /// `a(args)` as a statement: all parameters are given.
    pub(super) fn check_action_call(&mut self, id: ActionId, site: CallSite) -> Expr {
        let CallSite { type_args, span, .. } = site;
        if self.context.parser.is_some() {
            self.error(codes::CALL_NOT_ALLOWED, span, "actions cannot be called in parsers");
        } else if self.context.result.is_some() {
            self.error(codes::CALL_NOT_ALLOWED, span, "functions cannot call actions");
        }
        if let Some(first) = type_args.first() {
            self.error(codes::TYPE_ARGUMENTS, first.span, "actions have no type parameters");
        }
        let action = &self.program.actions[id.index()];
        let callable = Callable {
            what: format!("action `{}`", action.name),
            type_params: Vec::new(),
            params: action.params.clone(),
            result: Type::Void,
            outer: Substitution::default(),
            strictness: Strictness::Action,
            wildcards: false,
        };
        let Some(bound) = self.bind_call(&callable, CallSite { type_args: &[], ..site }) else {
            return self.invalid(span);
        };
        for arg in &bound.args {
            if let Argument::Value(value) = arg {
                self.check_no_apply(value);
            }
        }
        bound.call(Callee::Action(id), span)
    }

    /// The argument of an action must not apply a table.
    pub(crate) fn check_no_apply(&mut self, value: &Expr) {
        if contains_apply(value) {
            self.error(
                codes::CALL_NOT_ALLOWED,
                value.span,
                "a table cannot be applied in the argument of an action",
            );
        }
    }
}

/// Whether evaluating the expression applies a table.
fn contains_apply(expr: &Expr) -> bool {
    match &expr.kind {
        ExprKind::TableHit(_) | ExprKind::TableMiss(_) => true,
        ExprKind::Call(call) => {
            matches!(call.callee, Callee::TableApply(_))
                || call
                    .args
                    .iter()
                    .any(|arg| matches!(arg, Argument::Value(value) if contains_apply(value)))
        }
        ExprKind::Field(base, _)
        | ExprKind::TupleElement(base, _)
        | ExprKind::Slice(base, _, _)
        | ExprKind::Unary(_, base)
        | ExprKind::Cast(base) => contains_apply(base),
        ExprKind::Binary(first, links) => operands(first, links).any(contains_apply),
        ExprKind::Index(left, right) | ExprKind::PlusSlice(left, right, _) => {
            contains_apply(left) || contains_apply(right)
        }
        ExprKind::Ternary(condition, left, right) => {
            contains_apply(condition) || contains_apply(left) || contains_apply(right)
        }
        ExprKind::Aggregate(elements) | ExprKind::Reordered(elements, _) => elements.iter().any(contains_apply),
        _ => false,
    }
}
