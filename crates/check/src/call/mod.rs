//! Calls (§8.19 to §8.21, §9): which function, method or action is meant, and whether it may be called here.

mod action;
mod arguments;
mod built_in;
mod core_library;

pub(crate) use arguments::{Callable, Strictness};

use crate::checker::Checker;
use crate::hir::*;
use crate::scope::Entity;
use crate::types::Substitution;
use forebay_syntax::ast;
use forebay_syntax::codes::check as codes;
use forebay_syntax::diagnostic::Diagnostic;
use forebay_syntax::source::Span;

impl Checker {
    /// `callee<type_args>(args)`
    pub(crate) fn check_call(
        &mut self,
        callee: &ast::Expr,
        type_args: &[ast::Type],
        args: &[ast::Arg],
        span: Span,
    ) -> Expr {
        if self.context.in_keyset && !is_built_in_without_effect(callee) {
            self.error(codes::CALL_NOT_ALLOWED, span, "functions cannot be called in a keyset");
            return self.invalid(span);
        }
        match &callee.kind {
            ast::ExprKind::Type(ty) => self.construct(ty, args, span),
            ast::ExprKind::Name(name) => self.check_named_call(name, type_args, args, span),
            ast::ExprKind::Member { base, member } => self.check_member_call(base, member, type_args, args, span),
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

    fn check_named_call(&mut self, name: &ast::Name, type_args: &[ast::Type], args: &[ast::Arg], span: Span) -> Expr {
        let Some(entity) = self.lookup(name) else {
            self.unknown_name(&name.ident, "function or action", |entity| {
                matches!(entity, Entity::Functions(_) | Entity::Action(_))
            });
            self.check_arguments_only(args);
            return self.invalid(span);
        };
        match entity {
            Entity::Functions(ids) => self.check_function_call(&name.ident, &ids, type_args, args, span),
            Entity::Action(id) => self.check_action_call(id, type_args, args, span),
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
                self.error(codes::NOT_CALLABLE, span, message);
                self.invalid(span)
            }
        }
    }

    /// Looks for errors in the arguments of a call that cannot be understood.
    fn check_arguments_only(&mut self, args: &[ast::Arg]) {
        for arg in args {
            if !matches!(arg.value.kind, ast::ExprKind::DontCare) {
                self.check_expr(&arg.value);
            }
        }
    }

    fn check_function_call(
        &mut self,
        name: &ast::Ident,
        ids: &[FunctionId],
        type_args: &[ast::Type],
        args: &[ast::Arg],
        span: Span,
    ) -> Expr {
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
        let Some(bound) = self.bind_call(&callable, type_args, args, span) else {
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
        self.check_result_type(&bound.result, &bound.args, span);
        let call = Call {
            callee: Callee::Function(id),
            type_args: bound.type_args,
            args: bound.args,
        };
        Expr {
            kind: ExprKind::Call(Box::new(call)),
            ty: bound.result,
            span,
        }
    }

    /// Parsers, controls and packages cannot be results; externs only of calls with constant arguments.
    fn check_result_type(&mut self, result: &Type, args: &[Argument], span: Span) {
        let forbidden = match result {
            Type::Parser(..) | Type::Control(..) | Type::Package(..) => true,
            Type::Extern(..) => args.iter().any(|arg| match arg {
                Argument::Value(value) => !self.is_constant(value),
                Argument::Discard | Argument::Absent => false,
            }),
            _ => false,
        };
        if forbidden {
            let message = format!("a call cannot have a result of type {}", self.show(result));
            self.error(codes::CALL_NOT_ALLOWED, span, message);
        }
    }

    /// The one among overloaded functions that takes this number of arguments with these names (§8.20).
    pub(crate) fn choose_overload(
        &mut self,
        what: &str,
        lists: &[Vec<Param>],
        args: &[ast::Arg],
        span: Span,
    ) -> Option<usize> {
        if let [only] = lists {
            return self.report_misfit(what, only, args, span).then_some(0);
        }
        let fitting: Vec<usize> = (0..lists.len())
            .filter(|index| self.fits(&lists[*index], args))
            .collect();
        match fitting.as_slice() {
            [one] => Some(*one),
            [] => {
                let message = format!(
                    "no {what} takes {} with these names",
                    count_text(args.len(), "argument")
                );
                let options: Vec<String> = lists.iter().map(|params| self.params_text(params)).collect();
                self.report(Diagnostic::error(codes::NO_MATCHING_OVERLOAD, span, message).options(options));
                None
            }
            several => {
                let exact: Vec<usize> = several
                    .iter()
                    .copied()
                    .filter(|index| lists[*index].len() == args.len())
                    .collect();
                if let [one] = exact.as_slice() {
                    return Some(*one);
                }
                let message = format!("several declarations of {what} fit this call");
                let options: Vec<String> = several.iter().map(|index| self.params_text(&lists[*index])).collect();
                self.report(Diagnostic::error(codes::AMBIGUOUS_CALL, span, message).options(options));
                None
            }
        }
    }

    /// A parameter list as text, for messages.
    pub(crate) fn params_text(&self, params: &[Param]) -> String {
        let texts: Vec<String> = params
            .iter()
            .map(|param| {
                let direction = match param.direction {
                    ast::Direction::None => "",
                    ast::Direction::In => "in ",
                    ast::Direction::Out => "out ",
                    ast::Direction::InOut => "inout ",
                };
                format!(
                    "{direction}{} {}",
                    self.show(self.param_type(param)),
                    self.param_name(param)
                )
            })
            .collect();
        format!("({})", texts.join(", "))
    }

    fn check_member_call(
        &mut self,
        base: &ast::Expr,
        member: &ast::Ident,
        type_args: &[ast::Type],
        args: &[ast::Arg],
        span: Span,
    ) -> Expr {
        if let Some(ty) = self.type_before_dot(base) {
            return self.check_type_call(&ty, member, args, span);
        }
        let in_size = built_in::SIZE_METHODS.contains(&member.name.as_str());
        let receiver = self.within(|context| context.in_size = in_size, |checker| checker.check_expr(base));
        match receiver.ty.clone() {
            Type::Unknown => {
                self.check_arguments_only(args);
                self.invalid(span)
            }
            Type::Extern(id, extern_args) => {
                self.check_method_call(receiver, id, &extern_args, member, type_args, args, span)
            }
            Type::Table(_) if member.name == "apply" => self.check_table_apply(receiver, args, span),
            Type::Control(..) | Type::Parser(..) if member.name == "apply" => {
                self.check_apply(receiver, type_args, args, span)
            }
            _ => self.check_built_in_call(receiver, member, args, span),
        }
    }

    #[allow(clippy::too_many_arguments)]
    fn check_method_call(
        &mut self,
        receiver: Expr,
        id: ExternId,
        extern_args: &[Type],
        member: &ast::Ident,
        type_args: &[ast::Type],
        args: &[ast::Arg],
        span: Span,
    ) -> Expr {
        let item = &self.program.externs[id.index()];
        let found: Vec<usize> = (0..item.methods.len())
            .filter(|i| item.methods[*i].name == member.name)
            .collect();
        if found.is_empty() {
            let names: Vec<String> = item.methods.iter().map(|method| method.name.clone()).collect();
            let message = format!("the extern {} has no method `{}`", item.name, member.name);
            let diagnostic = Diagnostic::error(codes::UNKNOWN_MEMBER, member.span, message)
                .did_you_mean(&member.name, names.iter().map(String::as_str))
                .options(names.clone());
            self.report(diagnostic);
            self.check_arguments_only(args);
            return self.invalid(span);
        }
        let lists: Vec<Vec<Param>> = found.iter().map(|index| item.methods[*index].params.clone()).collect();
        let what = format!("method `{}` of {}", member.name, item.name);
        let Some(choice) = self.choose_overload(&what, &lists, args, span) else {
            self.check_arguments_only(args);
            return self.invalid(span);
        };
        let item = &self.program.externs[id.index()];
        let method = &item.methods[found[choice]];
        let callable = Callable {
            what: format!("`{}.{}`", item.name, method.name),
            type_params: method.type_params.clone(),
            params: method.params.clone(),
            result: method.result.clone(),
            outer: Substitution::new(&item.type_params, extern_args),
            strictness: Strictness::Call,
            wildcards: false,
        };
        let extern_name = item.name.clone();
        let Some(bound) = self.bind_call(&callable, type_args, args, span) else {
            return self.invalid(span);
        };
        self.check_core_method(&extern_name, &member.name, &bound, span);
        self.check_result_type(&bound.result, &bound.args, span);
        let callee = Callee::Method {
            receiver: Box::new(receiver),
            extern_type: id,
            method: found[choice],
        };
        let call = Call {
            callee,
            type_args: bound.type_args,
            args: bound.args,
        };
        Expr {
            kind: ExprKind::Call(Box::new(call)),
            ty: bound.result,
            span,
        }
    }

    /// Applying a table, control or parser is not allowed in actions and functions.
    fn check_apply_place(&mut self, span: Span) {
        let place = if self.context.in_action {
            "an action"
        } else if self.context.result.is_some() {
            "a function"
        } else {
            return;
        };
        self.error(
            codes::CALL_NOT_ALLOWED,
            span,
            format!("apply cannot be called from {place}"),
        );
    }

    fn check_table_apply(&mut self, table: Expr, args: &[ast::Arg], span: Span) -> Expr {
        self.check_apply_place(span);
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
        };
        Expr {
            kind: ExprKind::Call(Box::new(call)),
            ty: Type::ApplyResult(id),
            span,
        }
    }

    /// `c.apply(...)` of a control or parser.
    pub(crate) fn check_apply(
        &mut self,
        receiver: Expr,
        type_args: &[ast::Type],
        args: &[ast::Arg],
        span: Span,
    ) -> Expr {
        self.check_apply_place(span);
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
        let Some(bound) = self.bind_call(&callable, type_args, args, span) else {
            return self.invalid(span);
        };
        let call = Call {
            callee: Callee::Apply(Box::new(receiver)),
            type_args: Vec::new(),
            args: bound.args,
        };
        Expr {
            kind: ExprKind::Call(Box::new(call)),
            ty: Type::Void,
            span,
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
                    self.error(codes::UNKNOWN_MEMBER, member.span, message);
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

/// `1 argument`, `2 arguments`.
pub(crate) fn count_text(count: usize, what: &str) -> String {
    if count == 1 {
        format!("1 {what}")
    } else {
        format!("{count} {what}s")
    }
}
