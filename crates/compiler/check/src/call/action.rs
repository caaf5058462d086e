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
        let values = bound.args.iter().filter_map(Argument::value);
        values.for_each(|value| self.check_no_apply(value));
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
    let mut calls = calls([Node::Expr(expr)]);
    calls.any(|(call, _)| matches!(call.callee, Callee::TableApply(_)))
}
