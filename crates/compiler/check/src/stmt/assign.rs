//! Assignments (§12.1), also with an operator: `l op= e` is checked as `l = l op e`.

use crate::checker::Checker;
use crate::coerce::not_assignable;
use crate::expr::operator::binary_text;
use crate::hir::*;
use crate::scope::Entity;
use forebay_syntax::ast::{self, BinaryOp};
use forebay_syntax::codes::check as codes;
use forebay_syntax::source::Span;

impl Checker {
    /// `target = value` and `target op= value`
    pub(super) fn check_assignment(
        &mut self,
        target: &ast::Expr,
        op: Option<BinaryOp>,
        value: &ast::Expr,
        span: Span,
    ) -> StatementKind {
        let constant = self.constant_name(target);
        let target = self.check_expr(target);
        let what = "the left side of an assignment";
        match constant {
            Some(name) => self.report(not_assignable(
                target.span,
                what,
                Some(format!("`{name}` is a constant")),
            )),
            None => {
                self.require_lvalue(&target, what);
            }
        }
        let value = self.check_value(value);
        let value = match op {
            None => value,
            Some(op) => self.combine(op, &target, value, span),
        };
        let ty = target.ty.clone();
        let value = self.coerce(value, &ty);
        StatementKind::Assign {
            target,
            value,
            compound: op.is_some(),
        }
    }

    /// The name of the constant of which the expression is a part.
    fn constant_name(&mut self, target: &ast::Expr) -> Option<String> {
        match &target.kind {
            ast::ExprKind::Name(name) => {
                let is_constant = matches!(self.lookup(name), Some(Entity::Constant(_)));
                is_constant.then(|| name.ident.name.clone())
            }
            ast::ExprKind::Member { base, .. }
            | ast::ExprKind::Index { base, .. }
            | ast::ExprKind::Slice { base, .. }
            | ast::ExprKind::PlusSlice { base, .. } => self.constant_name(base),
            _ => None,
        }
    }

    fn combine(&mut self, op: BinaryOp, target: &Expr, value: Expr, span: Span) -> Expr {
        let number = matches!(target.ty, Type::Bit(_) | Type::Signed(_) | Type::Unknown);
        if !number {
            let message = format!("`{}=` is not defined on {}", binary_text(op), self.show(&target.ty));
            self.error(codes::INVALID_OPERANDS, span, message);
            return self.invalid(span);
        }
        self.apply_binary(op, target.clone(), value, span)
    }
}
