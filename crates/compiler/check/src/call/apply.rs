//! Applying tables, controls and parsers (§13.10, §14.2.2, §14.4, §26).

use super::{CallSite, Callable, Strictness};
use crate::checker::Checker;
use crate::hir::*;
use crate::types::Substitution;
use forebay_syntax::ast;
use forebay_syntax::codes::check as codes;
use forebay_syntax::source::Span;

impl Checker {
    /// Applying a table, control or parser is not allowed in actions and functions.
    fn check_apply_place(&mut self, what: &str, span: Span) {
        let place = if self.context.in_action {
            "an action"
        } else if self.context.result.is_some() {
            "a function"
        } else {
            return;
        };
        let message = format!("{what} cannot be applied in {place}");
        let hint = "apply it in an `apply` block, and let the block decide by what came out";
        match what {
            "a parser" => self.error(codes::CALL_NOT_ALLOWED, span, message),
            _ => self.error_with_hint(codes::CALL_NOT_ALLOWED, span, message, hint),
        }
    }

    /// `t.apply()`
    pub(super) fn check_table_apply(&mut self, table: Expr, args: &[ast::Arg], span: Span) -> Expr {
        self.check_apply_place("a table", span);
        if !self.context.in_apply && !self.context.in_action && self.context.table.is_none() {
            let message = "a table can only be applied in an apply block";
            self.error(codes::CALL_NOT_ALLOWED, span, message);
        }
        if let Some(first) = args.first() {
            self.error(
                codes::WRONG_ARGUMENTS,
                first.span,
                "apply of a table takes no arguments",
            );
        }
        let Type::Table(id) = table.ty else {
            return self.invalid(span);
        };
        let call = Call {
            callee: Callee::TableApply(Box::new(table)),
            type_args: Vec::new(),
            args: Vec::new(),
            written: Vec::new(),
        };
        Expr {
            kind: ExprKind::Call(Box::new(call)),
            ty: Type::ApplyResult(id),
            span,
        }
    }

    /// `c.apply(...)` of a control or parser.
    pub(crate) fn check_apply(&mut self, receiver: Expr, site: CallSite) -> Expr {
        let CallSite { args, span, .. } = site;
        let block = if matches!(receiver.ty, Type::Parser(..)) {
            "a parser"
        } else {
            "a control"
        };
        self.check_apply_place(block, span);
        let (what, type_params, params) = match &receiver.ty {
            Type::Control(id, _) => {
                let control = &self.program.controls[id.index()];
                (
                    control.name.clone(),
                    control.type_params.clone(),
                    control.params.clone(),
                )
            }
            Type::Parser(id, _) => {
                let parser = &self.program.parsers[id.index()];
                (parser.name.clone(), parser.type_params.clone(), parser.params.clone())
            }
            _ => return self.invalid(span),
        };
        match (&receiver.ty, self.context.parser, self.context.control) {
            (Type::Control(..), Some(_), _) => {
                self.error(codes::CALL_NOT_ALLOWED, span, "a control cannot be applied in a parser");
            }
            (Type::Parser(..), _, Some(_)) => {
                self.error(codes::CALL_NOT_ALLOWED, span, "a parser cannot be applied in a control");
            }
            _ => {}
        }
        if !self.report_misfit(&format!("apply of `{what}`"), &params, args, span) {
            self.check_arguments_only(args);
            return self.invalid(span);
        }
        let callable = Callable {
            what: format!("apply of `{what}`"),
            outer: Substitution::new(&type_params, Checker::type_args(&receiver.ty)),
            type_params: Vec::new(),
            params,
            result: Type::Void,
            strictness: Strictness::Call,
            wildcards: false,
        };
        let Some(bound) = self.bind_call(&callable, site) else {
            return self.invalid(span);
        };
        let call = Call {
            callee: Callee::Apply(Box::new(receiver)),
            type_args: Vec::new(),
            args: bound.args,
            written: bound.written,
        };
        Expr {
            kind: ExprKind::Call(Box::new(call)),
            ty: Type::Void,
            span,
        }
    }
}
