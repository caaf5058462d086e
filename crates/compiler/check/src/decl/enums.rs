//! Enums (§7.2.1), errors (§7.1.2) and match kinds (§7.1.3).

use crate::checker::Checker;
use crate::fold;
use crate::hir::*;
use crate::scope::Entity;
use forebay_syntax::ast;
use forebay_syntax::codes::check as codes;
use forebay_syntax::diagnostic::Diagnostic;
use forebay_syntax::known::Place;
use num_bigint::BigInt;

impl Checker {
    /// `enum E { A, B }` and `enum bit<8> E { A = 1 }`
    pub(super) fn declare_enum(&mut self, item: &ast::Enum, annotations: &[ast::Annotation]) -> EnumId {
        let annotations = self.annotations(Place::Enum, annotations);
        self.check_distinct(item.members.iter().map(|(name, _)| name));
        let representation = item.representation.as_ref().map(|ty| self.enum_representation(ty));
        let id = EnumId(self.program.enums.len() as u32);
        self.program.enums.push(Enum {
            name: item.name.name.clone(),
            representation: representation.clone(),
            members: Vec::new(),
            annotations,
            span: item.name.span,
        });
        self.scoped(|checker| checker.declare_members(id, item, representation.as_ref()));
        let is_broken = representation.is_some_and(|ty| ty.is_unknown());
        let entity = if is_broken { Entity::Broken } else { Entity::Enum(id) };
        self.define(&item.name, entity);
        id
    }

    /// The values of members may name members before them.
    fn declare_members(&mut self, id: EnumId, item: &ast::Enum, representation: Option<&Type>) {
        for (index, (name, value)) in item.members.iter().enumerate() {
            let value = self.member_value(representation, name, value.as_ref());
            self.program.enums[id.index()].members.push((name.name.clone(), value));
            let member = Expr {
                kind: ExprKind::EnumMember(id, index),
                ty: Type::Enum(id),
                span: name.span,
            };
            self.scopes
                .insert(&name.name, Entity::Constant(std::rc::Rc::new(member)), name.span);
        }
    }

    fn enum_representation(&mut self, ty: &ast::Type) -> Type {
        let resolved = self.resolve_type(ty);
        if matches!(resolved, Type::Bit(_) | Type::Signed(_) | Type::Unknown) {
            return resolved;
        }
        let message = format!(
            "an enum can be represented by bit<W> and int<W> only, not by {}",
            self.show(&resolved)
        );
        let mut diagnostic = Diagnostic::error(codes::INVALID_REPRESENTATION, ty.span, message);
        match resolved {
            Type::Int => diagnostic = diagnostic.hint("give the type a width, as in bit<8>"),
            Type::NewType(_) => diagnostic = diagnostic.hint("use a typedef in place of `type`"),
            _ => {}
        }
        self.report(diagnostic);
        Type::Unknown
    }

    fn member_value(
        &mut self,
        representation: Option<&Type>,
        name: &ast::Ident,
        value: Option<&ast::Expr>,
    ) -> Option<BigInt> {
        match (representation, value) {
            (None, None) => None,
            (None, Some(value)) => {
                let message = "the members of an enum without underlying type have no values";
                self.error(codes::INVALID_REPRESENTATION, value.span, message);
                None
            }
            (Some(_), None) => {
                let message = format!("the member `{}` needs a value", name.name);
                self.error(codes::INVALID_REPRESENTATION, name.span, message);
                None
            }
            (Some(ty), Some(value)) => self.checked_member_value(ty, value),
        }
    }

    fn checked_member_value(&mut self, ty: &Type, value: &ast::Expr) -> Option<BigInt> {
        let checked = self.check_value(value);
        let checked = self.number_of(checked);
        if let ExprKind::Int(number) = &checked.kind
            && matches!(checked.ty, Type::Int | Type::Bit(_) | Type::Signed(_))
            && !fold::fits(ty, number)
        {
            let message = format!("the value {number} does not fit the underlying type {}", self.show(ty));
            self.error(codes::INVALID_REPRESENTATION, value.span, message);
            return None;
        }
        let checked = self.coerce(checked, ty);
        match checked.kind {
            ExprKind::Int(number) => Some(number),
            ExprKind::Invalid => None,
            _ if ty.is_unknown() => None,
            _ => {
                self.error(
                    codes::NOT_CONSTANT,
                    value.span,
                    "the value of an enum member must be a compile-time constant",
                );
                None
            }
        }
    }

    /// `error { A, B }`
    pub(super) fn declare_errors(&mut self, names: &[ast::Ident]) {
        for name in names {
            if self.program.errors.contains(&name.name) {
                let message = format!("the error `{}` is declared twice", name.name);
                self.error(codes::DUPLICATE_DECLARATION, name.span, message);
            } else {
                self.program.errors.push(name.name.clone());
            }
        }
    }

    /// `match_kind { a, b }`
    pub(super) fn declare_match_kinds(&mut self, names: &[ast::Ident]) {
        for name in names {
            if self.program.match_kinds.contains(&name.name) {
                let message = format!("the match kind `{}` is declared twice", name.name);
                self.error(codes::DUPLICATE_DECLARATION, name.span, message);
            } else {
                self.program.match_kinds.push(name.name.clone());
            }
        }
    }
}
