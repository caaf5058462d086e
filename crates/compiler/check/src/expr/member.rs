//! What stands after a dot: fields, members of enums and `error`, parts of stacks and of apply results
//! (§8.2, §8.3, §8.17, §8.20, §14.2.2). Methods are in `call`.

use crate::advice::IS_VALID;
use crate::checker::Checker;
use crate::hir::*;
use crate::whereabouts::in_another_v1model;
use forebay_syntax::ast;
use forebay_syntax::codes::check as codes;
use forebay_syntax::diagnostic::Diagnostic;
use forebay_syntax::source::Span;
use num_bigint::BigInt;

impl Checker {
    /// The type that the expression before a dot denotes, if it denotes one.
    pub(crate) fn type_before_dot(&mut self, base: &ast::Expr) -> Option<Type> {
        match &base.kind {
            ast::ExprKind::Type(ty) => Some(self.resolve_for_instance(ty)),
            ast::ExprKind::Name(name) => {
                let is_type = self.lookup(name).is_some_and(|entity| entity.is_type());
                if !is_type {
                    return None;
                }
                let kind = ast::TypeKind::Named {
                    name: name.clone(),
                    args: Vec::new(),
                };
                Some(self.resolve_for_instance(&ast::Type { kind, span: base.span }))
            }
            _ => None,
        }
    }

    /// `e.member`
    pub(super) fn check_member(&mut self, base: &ast::Expr, member: &ast::Ident, span: Span) -> Expr {
        if let Some(ty) = self.type_before_dot(base) {
            return self.check_type_member(&ty, member, span);
        }
        let base = self.check_expr(base);
        match base.ty.clone() {
            Type::Unknown => self.invalid(span),
            Type::Composite(id, args) => self.check_field(base, id, &args, member, span),
            Type::Record(fields) => self.check_record_field(base, &fields, member, span),
            Type::Stack(element, size) => self.check_stack_member(base, &element, size, member, span),
            Type::ApplyResult(table) => self.check_apply_result(base, table, member, span),
            ty => {
                let message = format!("a value of type {} has no member `{}`", self.show(&ty), member.name);
                let mut diagnostic = Diagnostic::error(codes::UNKNOWN_MEMBER, member.span, message);
                if let Type::Table(table) = &ty
                    && APPLY_RESULTS.contains(&member.name.as_str())
                {
                    let table = &self.program.tables[table.index()].name;
                    diagnostic = diagnostic.hint(format!("apply the table: `{table}.apply().{}`", member.name));
                } else if matches!(
                    ty,
                    Type::Extern(..) | Type::Table(_) | Type::Parser(..) | Type::Control(..)
                ) {
                    diagnostic = diagnostic.hint("methods can only be called: write the arguments in parentheses");
                } else if ty.width().is_some() {
                    diagnostic = diagnostic.hint("bits of a number are taken by a slice: `[hi:lo]`");
                }
                self.report(diagnostic);
                self.invalid(span)
            }
        }
    }

    fn check_type_member(&mut self, ty: &Type, member: &ast::Ident, span: Span) -> Expr {
        let (names, what) = match ty {
            Type::Error => (self.program.errors.clone(), "error".to_string()),
            Type::MatchKind => (self.program.match_kinds.clone(), "match_kind".to_string()),
            Type::Enum(id) => {
                let item = &self.program.enums[id.index()];
                (
                    item.members.iter().map(|(name, _)| name.clone()).collect(),
                    format!("enum {}", item.name),
                )
            }
            Type::Unknown => return self.invalid(span),
            other => {
                self.report_type_before_dot(other, member, span);
                return self.invalid(span);
            }
        };
        let Some(index) = names.iter().position(|name| *name == member.name) else {
            let message = format!("{what} has no member `{}`", member.name);
            let diagnostic = Diagnostic::error(codes::UNKNOWN_MEMBER, member.span, message)
                .did_you_mean(&member.name, names.iter().map(String::as_str))
                .options(names.iter().take(OPTIONS_SHOWN).cloned());
            self.report(match ty {
                Type::Error if diagnostic.hint.is_none() => diagnostic
                    .hint(format!("`error {{ {} }}` would declare it", member.name))
                    .absent(&member.name),
                _ => diagnostic,
            });
            return Expr {
                kind: ExprKind::Invalid,
                ty: ty.clone(),
                span,
            };
        };
        let kind = match ty {
            Type::Error => ExprKind::Error(index),
            Type::MatchKind => ExprKind::MatchKind(index),
            Type::Enum(id) => ExprKind::EnumMember(*id, index),
            _ => ExprKind::Invalid,
        };
        Expr {
            kind,
            ty: ty.clone(),
            span,
        }
    }

    /// Reports a member of a type that has none. Probably a value of the type is meant.
    fn report_type_before_dot(&mut self, ty: &Type, member: &ast::Ident, span: Span) {
        let message = format!("the type {} has no members", self.show(ty));
        let diagnostic = Diagnostic::error(codes::UNKNOWN_MEMBER, span, message);
        self.report(match self.value_of_type(ty) {
            Some(value) => diagnostic.hint(format!("did you mean `{value}.{}`?", member.name)),
            None => diagnostic,
        });
    }

    fn check_field(&mut self, base: Expr, id: CompositeId, args: &[Type], member: &ast::Ident, span: Span) -> Expr {
        let composite = &self.program.composites[id.index()];
        let Some(index) = composite.fields.iter().position(|field| field.name == member.name) else {
            if self.incomplete.contains(&composite.name) {
                return self.invalid(span);
            }
            let names: Vec<String> = composite.fields.iter().map(|field| field.name.clone()).collect();
            let message = format!("{} has no field `{}`", self.show(&base.ty), member.name);
            let diagnostic = Diagnostic::error(codes::UNKNOWN_FIELD, member.span, message)
                .cause(format!("{} has no field {}", composite.name, member.name))
                .did_you_mean(&member.name, names.iter().map(String::as_str))
                .options(names.iter().take(OPTIONS_SHOWN).cloned());
            let asks_validity = ["valid", "isvalid"].contains(&member.name.to_lowercase().as_str());
            let hint = if asks_validity && self.program.is_header(&base.ty) {
                Some(IS_VALID)
            } else {
                in_another_v1model(&composite.name, &member.name)
            };
            self.report(match hint {
                Some(hint) => diagnostic.hint(hint),
                None => diagnostic,
            });
            return self.invalid(span);
        };
        let ty = self.program.field_type(id, args, index);
        if let ExprKind::Aggregate(elements) = &base.kind
            && self.is_constant(&base)
            && let Some(element) = elements.get(index)
        {
            return Expr {
                span,
                ..element.clone()
            };
        }
        Expr {
            kind: ExprKind::Field(Box::new(base), index),
            ty,
            span,
        }
    }

    fn check_record_field(&mut self, base: Expr, fields: &[(String, Type)], member: &ast::Ident, span: Span) -> Expr {
        let Some(index) = fields.iter().position(|(name, _)| *name == member.name) else {
            let message = format!("this structure has no field `{}`", member.name);
            let diagnostic = Diagnostic::error(codes::UNKNOWN_FIELD, member.span, message)
                .did_you_mean(&member.name, fields.iter().map(|(name, _)| name.as_str()))
                .options(fields.iter().take(OPTIONS_SHOWN).map(|(name, _)| name.clone()));
            self.report(diagnostic);
            return self.invalid(span);
        };
        Expr {
            kind: ExprKind::Field(Box::new(base), index),
            ty: fields[index].1.clone(),
            span,
        }
    }

    fn check_stack_member(&mut self, base: Expr, element: &Type, size: u32, member: &ast::Ident, span: Span) -> Expr {
        if !self.program.is_header(element) && !self.program.is_union(element) && !element.is_unknown() {
            let message = format!(
                "`{}` exists only on header stacks, not on {}",
                member.name,
                self.show(&base.ty)
            );
            self.error(codes::STACK_OPERATION, member.span, message);
            return self.invalid(span);
        }
        let base = Box::new(base);
        let (kind, ty) = match member.name.as_str() {
            "size" => {
                return Expr {
                    kind: ExprKind::Int(BigInt::from(size)),
                    ty: Type::Bit(32),
                    span,
                };
            }
            "next" => (ExprKind::StackNext(base), element.clone()),
            "last" => (ExprKind::StackLast(base), element.clone()),
            "lastIndex" => (ExprKind::StackLastIndex(base), Type::Bit(32)),
            name => {
                let message = format!("a header stack has no member `{name}`");
                let options = ["next", "last", "lastIndex", "size", "push_front", "pop_front"];
                let diagnostic = Diagnostic::error(codes::UNKNOWN_MEMBER, member.span, message);
                let is_of_element = matches!(element, Type::Composite(id, _)
                    if self.program.composites[id.index()].fields.iter().any(|field| field.name == name));
                self.report(if is_of_element {
                    self.of_an_element(diagnostic, &base.ty, &format!("[0].{name}"))
                } else {
                    diagnostic.did_you_mean(name, options).options(options)
                });
                return self.invalid(span);
            }
        };
        if self.context.parser.is_none() {
            let message = format!("`{}` of a header stack can only be used in a parser", member.name);
            self.error(codes::STACK_OPERATION, member.span, message);
            return self.invalid(span);
        }
        Expr { kind, ty, span }
    }

    fn check_apply_result(&mut self, base: Expr, table: TableId, member: &ast::Ident, span: Span) -> Expr {
        let base = Box::new(base);
        match member.name.as_str() {
            "hit" => Expr {
                kind: ExprKind::TableHit(base),
                ty: Type::Bool,
                span,
            },
            "miss" => Expr {
                kind: ExprKind::TableMiss(base),
                ty: Type::Bool,
                span,
            },
            "action_run" => {
                let message = "action_run can only stand in `switch (t.apply().action_run)`";
                let hint = "branch on the action: `switch (t.apply().action_run) { ACTION: { ... } }`";
                self.error_with_hint(codes::INVALID_LABEL, member.span, message, hint);
                Expr {
                    kind: ExprKind::Invalid,
                    ty: Type::ActionRun(table),
                    span,
                }
            }
            name => {
                let message = format!("the result of applying a table has no member `{name}`");
                let diagnostic = Diagnostic::error(codes::UNKNOWN_MEMBER, member.span, message);
                self.report(diagnostic.did_you_mean(name, APPLY_RESULTS).options(APPLY_RESULTS));
                self.invalid(span)
            }
        }
    }
}

/// The members of what applying a table returns.
pub(crate) const APPLY_RESULTS: [&str; 3] = ["hit", "miss", "action_run"];

/// How many valid names a message lists at most.
const OPTIONS_SHOWN: usize = 20;
