//! Expressions (§8): from syntax to typed, folded expressions.

mod aggregate;
mod cast;
mod index;
pub(crate) mod member;
pub(crate) mod operator;

use crate::call::CallSite;
use crate::checker::Checker;
use crate::hir::*;
use crate::scope::Entity;
use forebay_syntax::ast;
use forebay_syntax::codes::check as codes;
use forebay_syntax::diagnostic::Diagnostic;
use forebay_syntax::source::Span;

impl Checker {
    /// Checks an expression that is a value.
    pub(crate) fn check_expr(&mut self, expr: &ast::Expr) -> Expr {
        self.nested(expr.span, |checker| checker.check_nested(expr))
            .unwrap_or_else(|| self.invalid(expr.span))
    }

    fn check_nested(&mut self, expr: &ast::Expr) -> Expr {
        let span = expr.span;
        match &expr.kind {
            ast::ExprKind::Int(literal) => self.check_integer(literal, span),
            ast::ExprKind::Bool(value) => Expr {
                kind: ExprKind::Bool(*value),
                ty: Type::Bool,
                span,
            },
            ast::ExprKind::String(text) => Expr {
                kind: ExprKind::String(text.clone()),
                ty: Type::String,
                span,
            },
            ast::ExprKind::Name(name) => self.check_name(name, span),
            ast::ExprKind::Type(_) => {
                self.error(codes::NOT_A_VALUE, span, "a value is needed here, but this is a type");
                self.invalid(span)
            }
            ast::ExprKind::This => self.check_this(span),
            ast::ExprKind::Member { base, member } => self.check_member(base, member, span),
            ast::ExprKind::Index { base, index } => self.check_index(base, index, span),
            ast::ExprKind::Slice { base, hi, lo } => self.check_slice(base, hi, lo, span),
            ast::ExprKind::PlusSlice { base, lo, width } => self.check_plus_slice(base, lo, width, span),
            ast::ExprKind::Unary { op, operand } => self.check_unary(*op, operand, span),
            ast::ExprKind::Binary { first, links } => self.check_binary(first, links, span),
            ast::ExprKind::Ternary {
                condition,
                then_value,
                else_value,
            } => self.check_ternary(condition, then_value, else_value, span),
            ast::ExprKind::Cast { ty, operand } => self.check_cast(ty, operand, span),
            ast::ExprKind::Call {
                callee,
                type_args,
                args,
            } => self.check_call(callee, CallSite { type_args, args, span }),
            ast::ExprKind::List { elements, has_default } => self.check_list(elements, *has_default, span),
            ast::ExprKind::Struct { fields, has_default } => self.check_struct(fields, *has_default, span),
            ast::ExprKind::Tuple(elements) => self.check_list(elements, false, span),
            ast::ExprKind::InvalidHeader => Expr {
                kind: ExprKind::InvalidHeader,
                ty: Type::Unknown,
                span,
            },
            ast::ExprKind::Default => Expr {
                kind: ExprKind::DefaultValue,
                ty: Type::Unknown,
                span,
            },
            ast::ExprKind::Mask { .. } | ast::ExprKind::Range { .. } | ast::ExprKind::DontCare => {
                self.error(
                    codes::INVALID_KEYSET,
                    span,
                    "a set of values can only stand in a keyset",
                );
                self.invalid(span)
            }
            ast::ExprKind::Error => self.invalid(span),
        }
    }

    fn check_integer(&mut self, literal: &ast::IntLiteral, span: Span) -> Expr {
        let ty = match literal.width {
            None => Type::Int,
            Some((width, ast::Signedness::Unsigned)) => Type::Bit(width),
            Some((width, ast::Signedness::Signed)) => Type::Signed(width),
        };
        let width = ty.width().unwrap_or(1);
        if width > crate::resolve::MAX_WIDTH || ty == Type::Signed(0) {
            let message = format!("the width {width} of this literal is not supported");
            self.error(codes::INVALID_WIDTH, span, message);
            return self.invalid(span);
        }
        if !crate::fold::fits(&ty, &literal.value) {
            self.warn_truncated(span, &literal.value, &ty);
        }
        let value = crate::fold::wrap(&ty, literal.value.clone());
        Expr {
            kind: ExprKind::Int(value),
            ty,
            span,
        }
    }

    /// The entity that a name denotes, if it is declared; this is a use of it.
    pub(crate) fn lookup(&mut self, name: &ast::Name) -> Option<Entity> {
        let entry = if name.absolute {
            self.scopes.find_top(&name.ident.name)
        } else {
            self.scopes.find(&name.ident.name)
        };
        let entity = entry.map(|entry| entry.entity.clone())?;
        self.uses.note(&entity);
        Some(entity)
    }

    fn check_name(&mut self, name: &ast::Name, span: Span) -> Expr {
        let Some(entity) = self.lookup(name) else {
            if let Some(index) = self
                .program
                .match_kinds
                .iter()
                .position(|kind| *kind == name.ident.name)
            {
                return Expr {
                    kind: ExprKind::MatchKind(index),
                    ty: Type::MatchKind,
                    span,
                };
            }
            self.unknown_name(&name.ident, "value", Entity::is_value);
            return self.invalid(span);
        };
        match entity {
            Entity::Constant(value) => Expr {
                span,
                ..self.copy_constant(&value, span)
            },
            Entity::Var(id) => {
                let ty = self.program.vars[id.index()].ty.clone();
                Expr {
                    kind: ExprKind::Var(id),
                    ty,
                    span,
                }
            }
            Entity::Instance(id) => {
                let ty = self.program.instances[id.index()].ty.clone();
                Expr {
                    kind: ExprKind::Instance(id),
                    ty,
                    span,
                }
            }
            Entity::Table(id) => self.check_table_name(id, span),
            Entity::ValueSet(id) => Expr {
                kind: ExprKind::ValueSet(id),
                ty: Type::ValueSet(id),
                span,
            },
            Entity::Broken => self.invalid(span),
            other => {
                let message = format!("`{}` is {}, not a value", name.ident.name, other.describe());
                self.error(codes::NOT_A_VALUE, span, message);
                self.invalid(span)
            }
        }
    }

    fn check_table_name(&mut self, id: TableId, span: Span) -> Expr {
        if self.context.table.as_deref() == Some(&self.program.tables[id.index()].name) {
            self.error(codes::RECURSION, span, "a table cannot refer to itself");
            return self.invalid(span);
        }
        Expr {
            kind: ExprKind::Table(id),
            ty: Type::Table(id),
            span,
        }
    }

    fn check_this(&mut self, span: Span) -> Expr {
        match self.context.this.clone() {
            Some(ty) => Expr {
                kind: ExprKind::This,
                ty,
                span,
            },
            None => {
                let message = "`this` can only stand in the implementation of an abstract method";
                self.error(codes::THIS_OUTSIDE_METHOD, span, message);
                self.invalid(span)
            }
        }
    }

    /// Checks an expression that must be a bool.
    pub(crate) fn check_condition(&mut self, expr: &ast::Expr) -> Expr {
        let condition = self.check_typed_value(expr);
        self.require_bool(&condition);
        condition
    }

    /// Requires a bool.
    pub(crate) fn require_bool(&mut self, expr: &Expr) {
        if expr.ty != Type::Bool && !expr.ty.is_unknown() {
            let message = format!("a condition must be a bool, but this has type {}", self.show(&expr.ty));
            let diagnostic = Diagnostic::error(codes::NOT_BOOLEAN, expr.span, message);
            self.report(match self.conversion_hint(&Type::Bool, &expr.ty) {
                Some(hint) => diagnostic.hint(hint),
                None => diagnostic,
            });
        }
    }

    /// Checks an expression and converts it to a type.
    pub(crate) fn check_as(&mut self, expr: &ast::Expr, wanted: &Type) -> Expr {
        let checked = self.check_value(expr);
        self.coerce(checked, wanted)
    }

    /// Checks an expression that must be data: not void, a table or the result of applying one.
    pub(crate) fn check_value(&mut self, expr: &ast::Expr) -> Expr {
        let checked = self.check_expr(expr);
        if checked.ty == Type::Void {
            self.error(
                codes::VOID_VALUE,
                expr.span,
                "this call returns nothing, so it has no value",
            );
            return self.invalid(expr.span);
        }
        checked
    }

    /// Checks an expression whose type must be known without looking at what it is used for.
    pub(crate) fn check_typed_value(&mut self, expr: &ast::Expr) -> Expr {
        let checked = self.check_value(expr);
        let untyped =
            matches!(checked.kind, ExprKind::DefaultValue | ExprKind::InvalidHeader) && checked.ty.is_unknown();
        if untyped {
            self.error(
                codes::CANNOT_INFER,
                expr.span,
                "the type of this value is not known here",
            );
            return self.invalid(expr.span);
        }
        checked
    }
}
