//! Calls of extern objects' methods (§8.24).

use super::{CallSite, Callable, Strictness};
use crate::checker::Checker;
use crate::hir::*;
use crate::types::Substitution;
use forebay_syntax::ast;
use forebay_syntax::codes::check as codes;
use forebay_syntax::diagnostic::Diagnostic;

impl Checker {
    /// `object.method(..)`
    pub(super) fn check_method_call(
        &mut self,
        receiver: Expr,
        id: ExternId,
        extern_args: &[Type],
        member: &ast::Ident,
        site: CallSite,
    ) -> Expr {
        let CallSite { args, span, .. } = site;
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
        let Some(bound) = self.bind_call(&callable, site) else {
            return self.invalid(span);
        };
        self.check_core_method(&extern_name, &member.name, &bound, span);
        if !self.check_result_type(&bound.result, &bound.args, span) {
            return self.invalid(span);
        }
        let callee = Callee::Method {
            receiver: Box::new(receiver),
            extern_type: id,
            method: found[choice],
        };
        bound.call(callee, span)
    }
}
