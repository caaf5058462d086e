//! switch (§12.7), on the action that a table ran and on values.

use crate::checker::{Checker, Context};
use crate::expr::operator::constant_equal;
use crate::hir::*;
use crate::scope::Entity;
use forebay_syntax::ast;
use forebay_syntax::codes::check as codes;
use forebay_syntax::diagnostic::Diagnostic;
use forebay_syntax::source::Span;

impl Checker {
    /// `switch (e) {..}`
    pub(super) fn check_switch(
        &mut self,
        expr: &ast::Expr,
        cases: &[ast::SwitchCase],
        span: Span,
    ) -> Option<StatementKind> {
        self.check_default_last(cases);
        if let ast::ExprKind::Member { base, member } = &expr.kind
            && member.name == "action_run"
            && self.type_before_dot(base).is_none()
        {
            let apply = self.check_expr(base);
            match apply.ty {
                Type::ApplyResult(table) => {
                    let in_switch = |context: &mut Context| context.in_switch = true;
                    return Some(self.within(in_switch, |checker| checker.check_action_switch(apply, table, cases)));
                }
                Type::Unknown => return None,
                _ => {
                    self.error(
                        codes::INVALID_LABEL,
                        span,
                        "action_run exists only on the result of applying a table",
                    );
                    return None;
                }
            }
        }
        let value = self.check_typed_value(expr);
        if matches!(value.kind, ExprKind::Invalid) && value.ty.is_unknown() {
            // Whether the labels are actions or values is not known.
            for body in cases.iter().filter_map(|case| case.body.as_ref()) {
                self.check_block(body);
            }
            return None;
        }
        let allowed = matches!(
            value.ty,
            Type::Bit(_) | Type::Signed(_) | Type::Int | Type::Enum(_) | Type::Error | Type::NewType(_) | Type::Unknown
        );
        if !allowed {
            let message = format!("switch takes numbers, enums and errors, not {}", self.show(&value.ty));
            let diagnostic = Diagnostic::error(codes::INVALID_LABEL, expr.span, message);
            self.report(match value.ty {
                Type::ApplyResult(_) => diagnostic.hint("write `.action_run` after `apply()`"),
                _ => diagnostic,
            });
            return None;
        }
        let in_switch = |context: &mut Context| context.in_switch = true;
        Some(self.within(in_switch, |checker| checker.check_value_switch(value, cases)))
    }

    fn check_default_last(&mut self, cases: &[ast::SwitchCase]) {
        let default = cases
            .iter()
            .position(|case| matches!(case.label.kind, ast::ExprKind::Default));
        if let Some(case) = default.and_then(|index| cases.get(index + 1)) {
            self.error(
                codes::INVALID_LABEL,
                case.span,
                "`default` must be the last label of a switch",
            );
        }
    }

    fn check_action_switch(&mut self, apply: Expr, table: TableId, cases: &[ast::SwitchCase]) -> StatementKind {
        let mut groups = Vec::new();
        let mut labels: Vec<Option<usize>> = Vec::new();
        let mut seen: Vec<(usize, Span)> = Vec::new();
        for case in cases {
            if matches!(case.label.kind, ast::ExprKind::Default) {
                labels.push(None);
            } else if let Some(action) = self.action_label(&case.label, table) {
                if let Some((_, earlier)) = seen.iter().find(|(earlier, _)| *earlier == action) {
                    self.repeated_label(case.label.span, *earlier);
                }
                seen.push((action, case.label.span));
                labels.push(Some(action));
            }
            if let Some(body) = &case.body {
                groups.push((std::mem::take(&mut labels), self.check_block(body)));
            }
        }
        if !labels.is_empty() {
            groups.push((labels, Block::default()));
        }
        StatementKind::SwitchAction { apply, cases: groups }
    }

    fn repeated_label(&mut self, span: Span, earlier: Span) {
        let message = "this label stands twice in the switch";
        let diagnostic = Diagnostic::error(codes::INVALID_LABEL, span, message);
        self.report(diagnostic.secondary(earlier, "the first time"));
    }

    /// The action's index in the table's list. A table without a default action has `NoAction` too: its index is the
    /// list's length.
    fn action_label(&mut self, label: &ast::Expr, table: TableId) -> Option<usize> {
        let has_default = self.program.tables[table.index()].default_action.is_some();
        let actions: Vec<ActionId> = self.program.tables[table.index()]
            .actions
            .iter()
            .map(|action| action.action)
            .collect();
        let names: Vec<String> = actions
            .iter()
            .map(|id| self.program.actions[id.index()].name.clone())
            .collect();
        if let ast::ExprKind::Name(name) = &label.kind {
            let index = match self.lookup(name) {
                Some(Entity::Action(id)) => {
                    let action = &self.program.actions[id.index()];
                    let stands_in = !has_default && action.control.is_none() && action.name == "NoAction";
                    let listed = actions.iter().position(|action| *action == id);
                    listed.or(stands_in.then_some(actions.len()))
                }
                _ => None,
            };
            if index.is_some() {
                return index;
            }
        }
        let text = crate::text::expr_text(label);
        let message = format!("`{text}` is not an action of the table");
        let diagnostic = Diagnostic::error(codes::INVALID_LABEL, label.span, message)
            .did_you_mean(&text, names.iter().map(String::as_str))
            .options(names.clone());
        self.report(diagnostic);
        None
    }

    fn check_value_switch(&mut self, value: Expr, cases: &[ast::SwitchCase]) -> StatementKind {
        let mut groups = Vec::new();
        let mut labels: Vec<Option<Expr>> = Vec::new();
        let mut seen: Vec<Expr> = Vec::new();
        for case in cases {
            if matches!(case.label.kind, ast::ExprKind::Default) {
                labels.push(None);
            } else if let Some(label) = self.value_label(&case.label, &value) {
                let same = |earlier: &&Expr| self.is_same_label(earlier, &label);
                if let Some(earlier) = seen.iter().find(same).map(|earlier| earlier.span) {
                    self.repeated_label(case.label.span, earlier);
                }
                seen.push(label.clone());
                labels.push(Some(label));
            }
            if let Some(body) = &case.body {
                groups.push((std::mem::take(&mut labels), self.check_block(body)));
            }
        }
        if !labels.is_empty() {
            groups.push((labels, Block::default()));
        }
        StatementKind::Switch {
            expr: value,
            cases: groups,
        }
    }

    /// Two members of an enum with representation are one label when they have one value.
    fn is_same_label(&self, left: &Expr, right: &Expr) -> bool {
        constant_equal(left, right) == Some(true)
            || self
                .constant_number(left)
                .is_some_and(|number| self.constant_number(right) == Some(number))
    }

    fn value_label(&mut self, label: &ast::Expr, value: &Expr) -> Option<Expr> {
        let checked = self.check_value(label);
        let fitted = self.coerce(checked, &value.ty.clone());
        if matches!(fitted.kind, ExprKind::Invalid) {
            return None;
        }
        self.require_constant(&fitted, "a label").then_some(fitted)
    }
}
