//! Calls (§8.22): which function, method or action is meant, and whether it may be called here.

mod action;
mod apply;
mod arguments;
mod built_in;
mod core_library;
mod method;
mod overload;

pub(crate) use arguments::{Callable, Strictness};

use crate::checker::Checker;
use crate::hir::*;
use crate::scope::Entity;
use crate::types::Substitution;
use forebay_syntax::ast;
use forebay_syntax::codes::check as codes;
use forebay_syntax::diagnostic::Diagnostic;
use forebay_syntax::source::Span;

/// What stands at a call after the name.
#[derive(Clone, Copy)]
pub(crate) struct CallSite<'a> {
    /// Type arguments.
    pub(crate) type_args: &'a [ast::Type],
    /// Arguments.
    pub(crate) args: &'a [ast::Arg],
    /// The whole call.
    pub(crate) span: Span,
}

impl Checker {
    /// `callee<type_args>(args)`
    pub(crate) fn check_call(&mut self, callee: &ast::Expr, site: CallSite) -> Expr {
        let CallSite { args, span, .. } = site;
        if self.context.in_keyset && !is_built_in_without_effect(callee) {
            self.error(codes::CALL_NOT_ALLOWED, span, "functions cannot be called in a keyset");
            return self.invalid(span);
        }
        match &callee.kind {
            ast::ExprKind::Type(ty) => self.construct(ty, args, span),
            ast::ExprKind::Name(name) => self.check_named_call(name, site),
            ast::ExprKind::Member { base, member } => self.check_member_call(base, member, site),
            _ => {
                let callee = self.check_expr(callee);
                if !matches!(callee.kind, ExprKind::Invalid) {
                    self.error(
                        codes::NOT_CALLABLE,
                        span,
                        "only functions, methods and actions can be called",
                    );
                }
                self.invalid(span)
            }
        }
    }

    fn check_named_call(&mut self, name: &ast::Name, site: CallSite) -> Expr {
        let CallSite { type_args, args, span } = site;
        let Some(entity) = self.lookup(name) else {
            self.unknown_callee(&name.ident);
            self.check_arguments_only(args);
            return self.invalid(span);
        };
        match entity {
            Entity::Functions(ids) => self.check_function_call(&name.ident, &ids, site),
            Entity::Action(id) => self.check_action_call(id, site),
            Entity::Broken => {
                self.check_arguments_only(args);
                self.invalid(span)
            }
            entity if entity.is_type() => {
                let kind = ast::TypeKind::Named {
                    name: name.clone(),
                    args: type_args.to_vec(),
                };
                self.construct(
                    &ast::Type {
                        kind,
                        span: name.ident.span,
                    },
                    args,
                    span,
                )
            }
            other => {
                let message = format!("`{}` is {} and cannot be called", name.ident.name, other.describe());
                let diagnostic = Diagnostic::error(codes::NOT_CALLABLE, span, message);
                self.report(match other {
                    Entity::Table(_) => diagnostic.hint(format!("a table is applied: `{}.apply()`", name.ident.name)),
                    Entity::Instance(_) => diagnostic.hint("write the method after a dot, as in `.apply(...)`"),
                    _ => diagnostic,
                });
                self.invalid(span)
            }
        }
    }

    /// Reports a name that is not declared and is called: outside of bodies it constructs an argument of a package.
    fn unknown_callee(&mut self, name: &ast::Ident) {
        use Entity::{Action, Control, Extern, Functions, Package, Parser};
        let context = &self.context;
        let in_block = context.parser.is_some() || context.control.is_some();
        if in_block || context.in_action || context.result.is_some() {
            self.unknown_name(name, "function or action", |entity| {
                matches!(entity, Functions(_) | Action(_))
            })
        } else {
            // Types of parsers and controls have no body, and no instances.
            let (parsers, controls) = (&self.program.parsers, &self.program.controls);
            let parsers: Vec<bool> = parsers.iter().map(|it| it.body.is_some()).collect();
            let controls: Vec<bool> = controls.iter().map(|it| it.body.is_some()).collect();
            let what = "parser, control, package, extern object or function";
            self.unknown_name(name, what, |entity| match entity {
                Parser(id) => parsers[id.index()],
                Control(id) => controls[id.index()],
                _ => matches!(entity, Package(_) | Extern(_) | Functions(_)),
            })
        }
    }

    /// Looks for errors in the arguments of a call that cannot be understood.
    pub(super) fn check_arguments_only(&mut self, args: &[ast::Arg]) {
        for arg in args {
            if !matches!(arg.value.kind, ast::ExprKind::DontCare) {
                self.check_expr(&arg.value);
            }
        }
    }

    fn check_function_call(&mut self, name: &ast::Ident, ids: &[FunctionId], site: CallSite) -> Expr {
        let CallSite { args, span, .. } = site;
        let lists: Vec<Vec<Param>> = ids
            .iter()
            .map(|id| self.program.functions[id.index()].params.clone())
            .collect();
        let Some(choice) = self.choose_overload(&format!("function `{}`", name.name), &lists, args, span) else {
            self.check_arguments_only(args);
            return self.invalid(span);
        };
        let id = ids[choice];
        let function = &self.program.functions[id.index()];
        let callable = Callable {
            what: format!("`{}`", function.name),
            type_params: function.type_params.clone(),
            params: function.params.clone(),
            result: function.result.clone(),
            outer: Substitution::default(),
            strictness: Strictness::Call,
            wildcards: false,
        };
        let is_extern = function.body.is_none();
        let Some(bound) = self.bind_call(&callable, site) else {
            return self.invalid(span);
        };
        if is_extern {
            self.check_core_function(&name.name, &bound.args, span);
            if name.name == "static_assert" {
                return Expr {
                    kind: ExprKind::Bool(true),
                    ty: Type::Bool,
                    span,
                };
            }
        }
        if !self.check_result_type(&bound.result, &bound.args, span) {
            return self.invalid(span);
        }
        bound.call(Callee::Function(id), span)
    }

    /// Parsers, controls and packages cannot be results; externs only of calls with constant arguments.
    pub(super) fn check_result_type(&mut self, result: &Type, args: &[Argument], span: Span) -> bool {
        let forbidden = match result {
            Type::Parser(..) | Type::Control(..) | Type::Package(..) => true,
            Type::Extern(..) => {
                let mut values = args.iter().filter_map(Argument::value);
                values.any(|value| !self.is_constant(value))
            }
            _ => false,
        };
        if forbidden {
            let message = format!("a call cannot have a result of type {}", self.show(result));
            self.error(codes::CALL_NOT_ALLOWED, span, message);
        }
        !forbidden
    }

    fn check_member_call(&mut self, base: &ast::Expr, member: &ast::Ident, site: CallSite) -> Expr {
        let CallSite { args, span, .. } = site;
        if let Some(ty) = self.type_before_dot(base) {
            return self.check_type_call(&ty, member, args, span);
        }
        let receiver = self.check_expr(base);
        match receiver.ty.clone() {
            Type::Unknown => {
                self.check_arguments_only(args);
                self.invalid(span)
            }
            Type::Extern(id, extern_args) => self.check_method_call(receiver, id, &extern_args, member, site),
            Type::Table(_) if member.name == "apply" => self.check_table_apply(receiver, args, span),
            Type::Control(..) | Type::Parser(..) if member.name == "apply" => self.check_apply(receiver, site),
            _ => self.check_built_in_call(receiver, member, args, span),
        }
    }

    /// `T.apply(...)` and `T.minSizeInBits()`.
    fn check_type_call(&mut self, ty: &Type, member: &ast::Ident, args: &[ast::Arg], span: Span) -> Expr {
        match ty {
            Type::Unknown => self.invalid(span),
            Type::Control(..) | Type::Parser(..) if member.name == "apply" => self.direct_apply(ty, args, span),
            _ => match self.check_size_call(ty, member, args, span) {
                Some(result) => result,
                None => {
                    let message = format!("the type {} has no method `{}`", self.show(ty), member.name);
                    let diagnostic = Diagnostic::error(codes::UNKNOWN_MEMBER, member.span, message);
                    self.report(match self.value_of_type(ty) {
                        Some(value) => diagnostic.hint(format!("did you mean `{value}.{}`?", member.name)),
                        None => diagnostic,
                    });
                    self.invalid(span)
                }
            },
        }
    }
}

/// Whether it is a method call that is allowed in a keyset: the size methods and isValid.
fn is_built_in_without_effect(callee: &ast::Expr) -> bool {
    match &callee.kind {
        ast::ExprKind::Member { member, .. } => {
            built_in::SIZE_METHODS.contains(&member.name.as_str()) || member.name == "isValid"
        }
        _ => false,
    }
}

/// `1 argument is`, `2 arguments are`.
pub(crate) fn given_text(count: usize, what: &str) -> String {
    format!("{} {}", count_text(count, what), if count == 1 { "is" } else { "are" })
}

/// `1 is given`, `2 are given`.
pub(crate) fn are_given(count: usize) -> String {
    format!("{count} {} given", if count == 1 { "is" } else { "are" })
}

/// `1 argument`, `2 arguments`.
pub(crate) fn count_text(count: usize, what: &str) -> String {
    if count == 1 {
        format!("1 {what}")
    } else {
        format!("{count} {what}s")
    }
}
