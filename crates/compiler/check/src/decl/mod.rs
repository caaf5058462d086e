//! Declarations (§7.2, §10 to §14), one after the other: names are declared before they are used.

mod annotation;
mod composite;
mod control;
mod enums;
mod externs;
mod function;
mod params;
mod parser;
mod value;

pub(crate) use params::Owner;

use crate::checker::Checker;
use crate::hir::*;
use crate::scope::Entity;
use forebay_syntax::ast::{self, DeclarationKind};
use forebay_syntax::codes::check as codes;
use forebay_syntax::known::Place;

impl Checker {
    /// Checks all top-level declarations.
    pub(crate) fn declare_all(&mut self, declarations: &[ast::Declaration]) {
        self.with_upcoming(declarations, |checker| {
            for declaration in declarations {
                checker.declare_top(declaration);
                if checker.diagnostics.is_full() {
                    return;
                }
            }
        });
    }

    fn declare_top(&mut self, declaration: &ast::Declaration) {
        let annotations = &declaration.annotations;
        match &declaration.kind {
            DeclarationKind::Constant(item) => {
                self.annotations(Place::Constant, annotations);
                self.declare_constant(item);
            }
            DeclarationKind::Error(names) => self.declare_errors(names),
            DeclarationKind::MatchKind(names) => self.declare_match_kinds(names),
            DeclarationKind::ExternFunction(item) => self.declare_extern_function(item, annotations),
            DeclarationKind::ExternObject(item) => self.declare_extern_object(item, annotations),
            DeclarationKind::Action(item) => {
                if let Some(id) = self.declare_action(item, annotations) {
                    self.program.top_actions.push(id);
                }
            }
            DeclarationKind::Parser(item) => self.declare_parser(item, annotations),
            DeclarationKind::Control(item) => self.declare_control(item, annotations),
            DeclarationKind::Package(item) => self.declare_package(item, annotations),
            DeclarationKind::Composite(item) => {
                self.declare_composite(item, annotations);
            }
            DeclarationKind::Enum(item) => {
                self.declare_enum(item, annotations);
            }
            DeclarationKind::Typedef(item) => self.declare_typedef(item, annotations),
            DeclarationKind::Instantiation(item) => self.declare_top_instance(item, declaration),
            DeclarationKind::Function(item) => self.declare_function(item, annotations),
            DeclarationKind::Variable(item) => {
                let message = "variables cannot be declared at the top level";
                self.error(codes::INVALID_VARIABLE_TYPE, item.name.span, message);
            }
            DeclarationKind::Table(item) => {
                self.error(
                    codes::MISPLACED_INSTANTIATION,
                    item.name.span,
                    "tables can only be declared in controls",
                );
            }
            DeclarationKind::ValueSet(item) => {
                let message = "value sets can only be declared in parsers";
                self.error(codes::MISPLACED_INSTANTIATION, item.name.span, message);
            }
        }
    }

    fn declare_top_instance(&mut self, item: &ast::Instantiation, declaration: &ast::Declaration) {
        let Some(id) = self.check_instantiation(item, &declaration.annotations, declaration.span) else {
            return;
        };
        self.program.top_instances.push(id);
        if item.name.name != "main" {
            return;
        }
        if matches!(self.program.instances[id.index()].ty, Type::Package(..)) {
            self.program.main = Some(id);
        } else {
            self.error(
                codes::INVALID_MAIN,
                item.name.span,
                "`main` must be an instance of a package",
            );
        }
    }

    fn declare_package(&mut self, item: &ast::Package, annotations: &[ast::Annotation]) {
        let annotations = self.annotations(Place::Package, annotations);
        let (type_params, params) = self.scoped(|checker| {
            checker.check_distinct(
                item.type_params
                    .iter()
                    .chain(item.params.iter().map(|param| &param.name)),
            );
            let type_params = checker.declare_type_params(&item.type_params);
            let params = checker.declare_params(&item.params, Owner::Package);
            (type_params, params)
        });
        let id = PackageId(self.program.packages.len() as u32);
        self.program.packages.push(Package {
            name: item.name.name.clone(),
            type_params,
            params,
            annotations,
            span: item.name.span,
        });
        self.define_constructible(&item.name, Entity::Package(id));
    }
}
