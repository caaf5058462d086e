//! Parameters (§6.8): their types, directions and default values.

use crate::checker::Checker;
use crate::hir::*;
use crate::scope::Entity;
use crate::unify::{Inference, Mode};
use forebay_syntax::ast::{self, Direction};
use forebay_syntax::codes::check as codes;
use forebay_syntax::known::Place;
use std::rc::Rc;

/// Whose parameters they are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Owner {
    /// A function or method.
    Function,
    /// A constructor of an extern.
    ExternConstructor,
    /// An action.
    Action,
    /// `apply` of a parser or control.
    Apply,
    /// The constructor of a parser or control.
    Constructor,
    /// A package.
    Package,
    /// A function with a body: like [`Owner::Function`], but without optional parameters.
    DefinedFunction,
}

impl Owner {
    fn is_constructor(self) -> bool {
        matches!(self, Owner::ExternConstructor | Owner::Constructor | Owner::Package)
    }
}

impl Checker {
    /// Checks parameters and makes their variables, without bringing their names into scope.
    pub(crate) fn declare_params(&mut self, params: &[ast::Param], owner: Owner) -> Vec<Param> {
        params.iter().map(|param| self.declare_param(param, owner)).collect()
    }

    /// Brings the names of parameters into the innermost scope.
    pub(crate) fn define_params(&mut self, declared: &[ast::Param], params: &[Param]) {
        for (declared, param) in declared.iter().zip(params) {
            if self.scopes.find_here(&declared.name.name).is_none() {
                self.define(&declared.name, Entity::Var(param.var));
            }
        }
    }

    fn declare_param(&mut self, param: &ast::Param, owner: Owner) -> Param {
        let mut ty = self.resolve_type(&param.ty);
        let annotations = self.annotations(Place::Parameter, &param.annotations);
        let optional = crate::annotations::has(&annotations, "optional");
        if let Some(problem) = self.param_problem(&ty, param.direction, owner) {
            self.error(codes::INVALID_PARAMETER, param.span, problem);
            ty = Type::Unknown;
        }
        if owner.is_constructor() && param.direction != Direction::None {
            let message = "constructor parameters have no direction: their values are known at compile time";
            self.error_with_hint(
                codes::INVALID_PARAMETER,
                param.span,
                message,
                "leave out `in`, `out` or `inout`",
            );
        }
        if optional && matches!(owner, Owner::Action | Owner::DefinedFunction) {
            self.error(
                codes::INVALID_PARAMETER,
                param.span,
                "only externs, packages and types can have optional parameters",
            );
        }
        let default = param
            .default
            .as_ref()
            .and_then(|value| self.check_default(param, value, &ty, optional));
        let kind = if owner.is_constructor() {
            VarKind::Constructor
        } else {
            VarKind::Param(param.direction)
        };
        let var = self.add_var(&param.name, ty, kind, annotations);
        Param {
            var,
            direction: param.direction,
            optional,
            default,
        }
    }

    fn param_problem(&self, ty: &Type, direction: Direction, owner: Owner) -> Option<String> {
        let text = self.show(ty);
        let directed = direction != Direction::None;
        match ty {
            Type::Void => Some("a parameter cannot have type void".to_string()),
            Type::Extern(..) if owner == Owner::Action => {
                Some(format!("an action cannot have a parameter of the extern type {text}"))
            }
            Type::Extern(..) | Type::String if directed => {
                Some(format!("a parameter of type {text} cannot have a direction"))
            }
            Type::Int if directed => Some("a parameter of type int cannot have a direction".to_string()),
            Type::Int if owner == Owner::Action => Some("an action cannot have a parameter of type int".to_string()),
            Type::Package(..) if owner != Owner::Package => {
                Some("only packages can have packages as parameters".to_string())
            }
            Type::Parser(id, _) if self.program.parsers[id.index()].body.is_some() => Some(format!(
                "{text} is a parser with a body; a parameter needs a parser type"
            )),
            Type::Control(id, _) if self.program.controls[id.index()].body.is_some() => Some(format!(
                "{text} is a control with a body; a parameter needs a control type"
            )),
            Type::Parser(..) | Type::Control(..) if !matches!(owner, Owner::Constructor | Owner::Package) => {
                Some(format!("a parameter cannot have type {text} here"))
            }
            _ => None,
        }
    }

    /// A default object: type parameters of the package are found when it is instantiated.
    fn check_default_object(&mut self, value: &ast::Expr, ty: &Type) -> Expr {
        let checked = self.check_value(value);
        let mut inference = Inference::default();
        for part in ty.parts() {
            if let Type::Var(var) = part {
                inference.add_unknowns(&[*var]);
            }
        }
        if inference.unify(&self.program, ty, &checked.ty, Mode::Exact) {
            checked
        } else {
            self.coerce(checked, ty)
        }
    }

    fn check_default(&mut self, param: &ast::Param, value: &ast::Expr, ty: &Type, optional: bool) -> Option<Rc<Expr>> {
        if matches!(param.direction, Direction::Out | Direction::InOut) {
            let message = "out and inout parameters cannot have default values";
            self.error(codes::INVALID_DEFAULT, value.span, message);
        }
        if optional {
            self.error(
                codes::INVALID_DEFAULT,
                value.span,
                "optional parameters cannot have default values",
            );
        }
        let checked = if ty.is_object() {
            self.check_default_object(value, ty)
        } else {
            self.check_as(value, ty)
        };
        self.require_constant(&checked, "a default value");
        Some(Rc::new(checked))
    }
}
