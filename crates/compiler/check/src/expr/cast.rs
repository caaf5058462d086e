//! Explicit casts (§8.12.1).

use crate::checker::Checker;
use crate::hir::*;
use forebay_syntax::ast;
use forebay_syntax::codes::check as codes;
use forebay_syntax::diagnostic::Diagnostic;
use forebay_syntax::source::Span;

impl Checker {
    /// `(T) e`
    pub(super) fn check_cast(&mut self, ty: &ast::Type, operand: &ast::Expr, span: Span) -> Expr {
        let to = self.resolve_type(ty);
        let operand = self.check_value(operand);
        if to.is_unknown() || matches!(operand.kind, ExprKind::Invalid) {
            return Expr {
                kind: ExprKind::Invalid,
                ty: to,
                span,
            };
        }
        let initialises = matches!(
            operand.kind,
            ExprKind::Aggregate(_) | ExprKind::InvalidHeader | ExprKind::DefaultValue
        ) && matches!(
            to,
            Type::Composite(..) | Type::Stack(..) | Type::List(_) | Type::Tuple(_)
        );
        if initialises {
            if matches!(to, Type::Tuple(_)) && !self.same_type(&to, &operand.ty) {
                return self.illegal_cast(&to, &operand.ty, span);
            }
            return Expr {
                span,
                ..self.coerce(operand, &to)
            };
        }
        if operand.ty.is_unknown() {
            return Expr {
                kind: ExprKind::Invalid,
                ty: to,
                span,
            };
        }
        if !self.cast_allowed(&to, &operand.ty) {
            return self.illegal_cast(&to, &operand.ty, span);
        }
        if to == Type::Bool && operand.ty == Type::Int {
            return self.int_to_bool(operand, span);
        }
        self.explicit_convert(operand, &to, span)
    }

    fn illegal_cast(&mut self, to: &Type, from: &Type, span: Span) -> Expr {
        let message = format!(
            "a value of type {} cannot be cast to {}",
            self.show(from),
            self.show(to)
        );
        let mut diagnostic = Diagnostic::error(codes::INVALID_CAST, span, message);
        if let Some(casts) = self.two_casts(to, from) {
            diagnostic = diagnostic.hint(format!("write two casts: {casts} ..."));
        } else if *to == Type::Bool && from.is_number() {
            diagnostic = diagnostic.hint("compare it with a number: ... != 0");
        }
        self.report(diagnostic);
        Expr {
            kind: ExprKind::Invalid,
            ty: to.clone(),
            span,
        }
    }

    fn int_to_bool(&mut self, operand: Expr, span: Span) -> Expr {
        let value = match &operand.kind {
            ExprKind::Int(value) => value.clone(),
            _ => {
                return Expr {
                    kind: ExprKind::Cast(Box::new(operand)),
                    ty: Type::Bool,
                    span,
                };
            }
        };
        if value > 1.into() || value < 0.into() {
            let message = format!("only 0 and 1 can be cast to bool, not {value}");
            self.error(codes::INVALID_CAST, span, message);
        }
        Expr {
            kind: ExprKind::Bool(value == 1.into()),
            ty: Type::Bool,
            span,
        }
    }

    fn explicit_convert(&mut self, operand: Expr, to: &Type, span: Span) -> Expr {
        if operand.ty == *to {
            return Expr { span, ..operand };
        }
        Expr {
            span,
            ..self.convert(operand, to)
        }
    }

    /// Whether an explicit cast from one type to the other exists.
    pub(crate) fn cast_allowed(&self, to: &Type, from: &Type) -> bool {
        if self.same_type(to, from) {
            return true;
        }
        match (to, from) {
            (Type::NewType(_), _) | (_, Type::NewType(_)) => {
                let made_from = |ty: &Type| match ty {
                    Type::NewType(id) => Some(&self.program.new_types[id.index()].ty),
                    _ => None,
                };
                let is_number = *from == Type::Int && made_from(to).is_some_and(|inner| self.cast_allowed(inner, from));
                made_from(to) == Some(from) || made_from(from) == Some(to) || is_number
            }
            (Type::Bit(left), Type::Bit(right)) => left != right,
            (Type::Signed(left), Type::Signed(right)) => left != right,
            (Type::Bit(left), Type::Signed(right)) | (Type::Signed(left), Type::Bit(right)) => left == right,
            (Type::Bool, Type::Bit(1)) | (Type::Bit(1), Type::Bool) => true,
            (Type::Bit(_) | Type::Signed(_) | Type::Bool, Type::Int) => true,
            (Type::Int, Type::Bit(_) | Type::Signed(_)) => true,
            (Type::Enum(left), Type::Enum(_)) => {
                let left = &self.program.enums[left.index()].representation;
                left.is_some() && left.as_ref() == Some(&self.program.representation(from))
            }
            (Type::Enum(id), _) => match &self.program.enums[id.index()].representation {
                Some(representation) => representation == from || *from == Type::Int,
                None => false,
            },
            (_, Type::Enum(id)) => match &self.program.enums[id.index()].representation {
                Some(representation) => representation == to || to.is_number() && self.cast_allowed(to, representation),
                None => false,
            },
            _ => false,
        }
    }
}
