//! Functions (§10), actions (§14.1) and the implementations of abstract methods.

use super::Owner;
use crate::checker::Checker;
use crate::hir::*;
use crate::scope::Entity;
use forebay_syntax::ast::{self, Direction};
use forebay_syntax::codes::check as codes;
use forebay_syntax::known::Place;

impl Checker {
    /// `T f<..>(..) {..}` at the top level.
    pub(super) fn declare_function(&mut self, item: &ast::Function, annotations: &[ast::Annotation]) {
        let annotations = self.annotations(Place::Function, annotations);
        let function = self.check_function(item, annotations);
        self.add_function(function);
    }

    /// The implementation of an abstract method: not visible by name.
    pub(crate) fn check_method_function(
        &mut self,
        item: &ast::Function,
        annotations: &[ast::Annotation],
    ) -> FunctionId {
        let annotations = self.annotations(Place::Function, annotations);
        let function = self.check_function(item, annotations);
        let id = FunctionId(self.program.functions.len() as u32);
        self.program.functions.push(function);
        id
    }

    fn check_function(&mut self, item: &ast::Function, annotations: Annotations) -> Function {
        let prototype = &item.prototype;
        self.scopes.push();
        self.check_prototype_names(prototype);
        let type_params = self.declare_type_params(&prototype.type_params);
        let params = self.declare_params(&prototype.params, Owner::DefinedFunction);
        let result = self.resolve_result(prototype.result.as_ref());
        self.define_params(&prototype.params, &params);
        let name = prototype.name.name.clone();
        let body = self.within(
            |context| {
                context.result = Some(result.clone());
                context.loops = 0;
                context.defining.push(name.clone());
            },
            |checker| checker.check_block(&item.body),
        );
        self.scopes.pop();
        if result != Type::Void && !result.is_unknown() && !crate::validate::always_returns(&body) {
            let message = format!("the function `{name}` does not return a value on all paths");
            self.error(codes::MISSING_RETURN, prototype.name.span, message);
        }
        Function {
            name,
            type_params,
            params,
            result,
            body: Some(body),
            annotations,
            span: prototype.name.span,
        }
    }

    /// `action a(..) {..}`
    pub(crate) fn declare_action(&mut self, item: &ast::Action, annotations: &[ast::Annotation]) -> Option<ActionId> {
        let annotations = self.annotations(Place::Action, annotations);
        self.scopes.push();
        self.check_distinct(item.params.iter().map(|param| &param.name));
        let params = self.declare_params(&item.params, Owner::Action);
        self.check_action_params(&item.params);
        self.define_params(&item.params, &params);
        let name = item.name.name.clone();
        let body = self.within(
            |context| {
                context.in_action = true;
                context.defining.push(name.clone());
            },
            |checker| checker.check_block(&item.body),
        );
        self.scopes.pop();
        let id = ActionId(self.program.actions.len() as u32);
        let control = self.context.control;
        self.program.actions.push(Action {
            name,
            control,
            params,
            body,
            annotations,
            span: item.name.span,
        });
        self.define(&item.name, Entity::Action(id));
        Some(id)
    }

    /// Directional parameters come first, then action data.
    fn check_action_params(&mut self, params: &[ast::Param]) {
        let mut data_seen = false;
        for param in params {
            if param.direction == Direction::None {
                data_seen = true;
            } else if data_seen {
                let message = "parameters without direction must come after those with a direction";
                self.error(codes::INVALID_PARAMETER, param.span, message);
            }
        }
    }
}
