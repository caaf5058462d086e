//! Constants (§11.1) and variables (§11.2).

use crate::checker::Checker;
use crate::hir::*;
use crate::scope::Entity;
use forebay_syntax::ast;
use forebay_syntax::codes::check as codes;
use forebay_syntax::diagnostic::Diagnostic;
use forebay_syntax::known::Place;
use std::rc::Rc;

impl Checker {
    /// `const T N = e;`
    pub(crate) fn declare_constant(&mut self, item: &ast::Constant) {
        let ty = self.resolve_type(&item.ty);
        if ty.is_object() || ty == Type::Void {
            let message = format!("there are no constants of type {}", self.show(&ty));
            self.error(codes::INVALID_VARIABLE_TYPE, item.name.span, message);
        }
        let value = self.check_as(&item.value, &ty);
        self.require_constant(&value, "the value of a constant");
        let value = Expr {
            ty: if ty.is_unknown() { value.ty.clone() } else { ty },
            ..value
        };
        self.define(&item.name, Entity::Constant(Rc::new(value)));
    }

    /// `T v = e;` The name is declared after the value: it is not visible in it.
    pub(crate) fn declare_variable(
        &mut self,
        item: &ast::Variable,
        annotations: &[ast::Annotation],
    ) -> (VarId, Option<Expr>) {
        let declared = self.resolve_type(&item.ty);
        let is_object = declared.is_object();
        let ty = self.check_variable_type(declared, item);
        let value = item.value.as_ref().filter(|_| !is_object);
        let value = value.map(|value| self.check_as(value, &ty));
        let annotations = self.annotations(Place::Variable, annotations);
        let var = self.add_var(&item.name, ty, VarKind::Local, annotations);
        self.define(&item.name, Entity::Var(var));
        (var, value)
    }

    fn check_variable_type(&mut self, ty: Type, item: &ast::Variable) -> Type {
        let objects = ty.any(&|ty| ty.is_object());
        let compile_time = matches!(ty, Type::String | Type::Int);
        if !objects && !compile_time && ty != Type::Void {
            return ty;
        }
        let message = format!("there are no variables of type {}", self.show(&ty));
        let mut diagnostic = Diagnostic::error(codes::INVALID_VARIABLE_TYPE, item.name.span, message);
        if objects {
            diagnostic = diagnostic.hint(format!("instantiate it: {}(...) {};", self.show(&ty), item.name.name));
        } else if compile_time {
            diagnostic = diagnostic.hint("use `const`, or give the type a width");
        }
        self.report(diagnostic);
        Type::Unknown
    }
}
