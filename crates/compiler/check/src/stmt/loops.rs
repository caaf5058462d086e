//! Loops (§12.8).

use crate::checker::Checker;
use crate::hir::*;
use forebay_syntax::ast;
use forebay_syntax::codes::check as codes;
use forebay_syntax::source::Span;

impl Checker {
    /// `for (init; condition; update) body`
    pub(super) fn check_for(
        &mut self,
        init: &[ast::Statement],
        condition: &ast::Expr,
        update: &[ast::Statement],
        body: &ast::Statement,
    ) -> StatementKind {
        self.scoped(|checker| {
            let init = init
                .iter()
                .filter_map(|statement| checker.check_statement(statement))
                .collect();
            let condition = checker.check_condition(condition);
            let body = checker.check_loop_body(body);
            let update = update
                .iter()
                .filter_map(|statement| checker.check_statement(statement))
                .collect();
            StatementKind::For {
                init,
                condition,
                update,
                body,
            }
        })
    }

    fn check_loop_body(&mut self, body: &ast::Statement) -> Block {
        self.context.loops += 1;
        let body = self.check_branch(body);
        self.context.loops -= 1;
        body
    }

    /// `for (T v in collection) body`
    pub(super) fn check_for_in(
        &mut self,
        ty: Option<&ast::Type>,
        variable: &ast::Ident,
        collection: &ast::Expr,
        body: &ast::Statement,
        span: Span,
    ) -> Option<StatementKind> {
        self.scoped(|checker| {
            let ends = match &collection.kind {
                ast::ExprKind::Range { low, high } => Some((checker.check_value(low), checker.check_value(high))),
                _ => None,
            };
            let whole = if ends.is_none() {
                Some(checker.check_typed_value(collection))
            } else {
                None
            };
            let var = checker.loop_variable(ty, variable)?;
            let var_type = checker.program.vars[var.index()].ty.clone();
            if let Some((low, high)) = ends {
                let low = checker.coerce(low, &var_type);
                let high = checker.coerce(high, &var_type);
                let body = checker.check_loop_body(body);
                return Some(StatementKind::ForRange {
                    variable: var,
                    low,
                    high,
                    body,
                });
            }
            let collection = checker.iterated(whole?, &var_type, span)?;
            let body = checker.check_loop_body(body);
            Some(StatementKind::ForIn {
                variable: var,
                collection,
                body,
            })
        })
    }

    fn loop_variable(&mut self, ty: Option<&ast::Type>, variable: &ast::Ident) -> Option<VarId> {
        if let Some(ty) = ty {
            let item = ast::Variable {
                ty: ty.clone(),
                name: variable.clone(),
                value: None,
            };
            return Some(self.declare_variable(&item, &[]).0);
        }
        let name = ast::Name {
            absolute: false,
            ident: variable.clone(),
        };
        let expr = self.check_expr(&ast::Expr {
            kind: ast::ExprKind::Name(name),
            span: variable.span,
        });
        if matches!(expr.kind, ExprKind::Invalid) || !self.require_lvalue(&expr, "the variable of a loop") {
            return None;
        }
        match expr.kind {
            ExprKind::Var(id) => Some(id),
            _ => None,
        }
    }

    fn iterated(&mut self, collection: Expr, element: &Type, span: Span) -> Option<Expr> {
        let fits = match &collection.ty {
            Type::Stack(inner, _) | Type::List(inner) => self.converts(element, inner),
            Type::Tuple(types) => types.iter().all(|ty| self.converts(element, ty)),
            Type::Unknown => return None,
            other => {
                let message = format!(
                    "a loop runs over ranges, lists, stacks and arrays, not over {}",
                    self.show(other)
                );
                self.error(codes::TYPE_MISMATCH, collection.span, message);
                return None;
            }
        };
        if !fits {
            let message = format!(
                "the elements of {} do not have the variable's type {}",
                self.show(&collection.ty),
                self.show(element)
            );
            self.error(codes::TYPE_MISMATCH, span, message);
            return None;
        }
        match (&collection.kind, &collection.ty) {
            (ExprKind::Aggregate(_), Type::Tuple(_)) => {
                let list = Type::List(std::rc::Rc::new(element.clone()));
                Some(self.coerce(collection, &list))
            }
            _ => Some(collection),
        }
    }
}
