//! List expressions (§8.13) and structure-valued expressions (§8.14).
//!
//! Both become [`ExprKind::Aggregate`]s whose type is a [`Type::Tuple`] or [`Type::Record`] until it is known what they
//! initialise. A `...` at the end is an element [`ExprKind::DefaultValue`] of unknown type, which `coerce` expands.

use crate::checker::Checker;
use crate::hir::*;
use forebay_syntax::ast;
use forebay_syntax::codes::check as codes;
use forebay_syntax::source::Span;
use std::rc::Rc;

impl Checker {
    /// `{ a, b, ... }`
    pub(super) fn check_list(&mut self, elements: &[ast::Expr], has_default: bool, span: Span) -> Expr {
        let mut checked: Vec<Expr> = elements.iter().map(|element| self.check_value(element)).collect();
        self.check_dots_last(&checked);
        if has_default {
            checked.push(dots(span));
        }
        let types = checked.iter().map(|element| element.ty.clone()).collect();
        Expr {
            kind: ExprKind::Aggregate(checked),
            ty: Type::Tuple(Rc::new(types)),
            span,
        }
    }

    fn check_dots_last(&mut self, elements: &[Expr]) {
        let Some((_, rest)) = elements.split_last() else { return };
        for element in rest {
            if crate::coerce::is_dots(element) {
                self.error(codes::WRONG_SHAPE, element.span, "`...` must be the last element");
            }
        }
    }

    /// `{ f = a, g = b, ... }`
    pub(super) fn check_struct(&mut self, fields: &[(ast::Ident, ast::Expr)], has_default: bool, span: Span) -> Expr {
        let duplicates = self.check_distinct(fields.iter().map(|(name, _)| name));
        let mut names = Vec::new();
        let mut checked = Vec::new();
        for (name, value) in fields {
            let value = self.check_value(value);
            names.push((name.name.clone(), value.ty.clone()));
            checked.push(value);
        }
        if has_default {
            names.push(("...".to_string(), Type::Unknown));
            checked.push(dots(span));
        }
        if duplicates {
            return self.invalid(span);
        }
        Expr {
            kind: ExprKind::Aggregate(checked),
            ty: Type::Record(Rc::new(names)),
            span,
        }
    }
}

fn dots(span: Span) -> Expr {
    Expr {
        kind: ExprKind::DefaultValue,
        ty: Type::Unknown,
        span,
    }
}
