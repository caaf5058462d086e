//! Controls (§14).

use super::Owner;
use crate::checker::Checker;
use crate::hir::*;
use crate::scope::Entity;
use forebay_syntax::ast::{self, DeclarationKind};
use forebay_syntax::codes::check as codes;
use forebay_syntax::known::Place;

/// What the declarations of parsers and controls share.
pub(super) struct BlockHead {
    pub(super) type_params: Vec<TypeVarId>,
    pub(super) params: Vec<Param>,
    pub(super) constructor_params: Vec<Param>,
}

impl Checker {
    /// Declares the type parameters and parameters of a parser or control in the innermost scope.
    pub(super) fn declare_block_head(
        &mut self,
        type_params: &[ast::Ident],
        params: &[ast::Param],
        constructor_params: &[ast::Param],
    ) -> BlockHead {
        self.check_param_names(type_params, params, constructor_params);
        let head = BlockHead {
            type_params: self.declare_type_params(type_params),
            params: self.declare_params(params, Owner::Apply),
            constructor_params: self.declare_params(constructor_params, Owner::Constructor),
        };
        self.define_params(params, &head.params);
        self.define_params(constructor_params, &head.constructor_params);
        head
    }

    /// A control or control type.
    pub(super) fn declare_control(&mut self, item: &ast::Control, annotations: &[ast::Annotation]) {
        let annotations = self.annotations(Place::Control, annotations);
        self.scopes.push();
        let BlockHead {
            type_params,
            params,
            constructor_params,
        } = self.declare_block_head(&item.type_params, &item.params, &item.constructor_params);
        let id = ControlId(self.program.controls.len() as u32);
        self.program.controls.push(Control {
            name: item.name.name.clone(),
            type_params,
            params,
            constructor_params,
            body: None,
            annotations,
            span: item.name.span,
        });
        if let Some(body) = &item.body {
            self.no_optional_params(&item.constructor_params);
            let name = item.name.name.clone();
            let body = self.within(
                |context| {
                    context.control = Some(id);
                    context.defining.push(name);
                },
                |checker| checker.scoped(|checker| checker.check_control_body(body)),
            );
            self.program.controls[id.index()].body = Some(body);
        }
        self.scopes.pop();
        self.define_constructible(&item.name, Entity::Control(id));
    }

    /// Type parameters, parameters and constructor parameters have different names.
    pub(super) fn check_param_names(
        &mut self,
        type_params: &[ast::Ident],
        params: &[ast::Param],
        constructor_params: &[ast::Param],
    ) {
        let params = params.iter().map(|param| &param.name);
        let constructor_params = constructor_params.iter().map(|param| &param.name);
        self.check_distinct(type_params.iter().chain(params).chain(constructor_params));
    }

    /// The constructors of declarations with a body have no optional parameters.
    pub(super) fn no_optional_params(&mut self, params: &[ast::Param]) {
        for param in params {
            if crate::annotations::has(&param.annotations, "optional") {
                let message = "only externs, packages and types can have optional parameters";
                self.error(codes::INVALID_PARAMETER, param.span, message);
            }
        }
    }

    fn check_control_body(&mut self, body: &ast::ControlBody) -> ControlBody {
        let mut locals = Vec::new();
        self.duplicates = 0;
        self.renamed.clear();
        self.with_upcoming(&body.locals, |checker| {
            for declaration in &body.locals {
                checker.declare_control_local(declaration, &mut locals);
            }
        });
        self.annotations(Place::Block, &body.apply_annotations);
        let apply = self.within(
            |context| context.in_apply = true,
            |checker| checker.check_block(&body.apply),
        );
        ControlBody { locals, apply }
    }

    fn declare_control_local(&mut self, declaration: &ast::Declaration, locals: &mut Vec<Local>) {
        let annotations = &declaration.annotations;
        match &declaration.kind {
            DeclarationKind::Constant(item) => self.declare_constant(item),
            DeclarationKind::Variable(item) => {
                let (var, value) = self.declare_variable(item, annotations);
                locals.push(Local::Var(var, value));
            }
            DeclarationKind::Instantiation(item) => {
                let instance = self.check_instantiation(item, annotations, declaration.span);
                locals.extend(instance.map(Local::Instance));
            }
            DeclarationKind::Action(item) => {
                let action = self.declare_action(item, annotations);
                locals.extend(action.map(Local::Action));
            }
            DeclarationKind::Table(item) => {
                let table = self.declare_table(item, annotations);
                locals.extend(table.map(Local::Table));
            }
            _ => {
                let message = "this cannot be declared in a control";
                self.error(codes::MISPLACED_INSTANTIATION, declaration.span, message);
            }
        }
    }
}
