//! Extern objects and functions (§7.2.11).

use super::Owner;
use crate::checker::Checker;
use crate::hir::*;
use crate::scope::Entity;
use forebay_syntax::ast;
use forebay_syntax::codes::check as codes;
use forebay_syntax::known::Place;

impl Checker {
    /// `extern T f<..>(..);`
    pub(super) fn declare_extern_function(&mut self, item: &ast::FunctionPrototype, annotations: &[ast::Annotation]) {
        let annotations = self.annotations(Place::Function, annotations);
        let (type_params, params, result) = self.scoped(|checker| {
            checker.check_prototype_names(item);
            let type_params = checker.declare_type_params(&item.type_params);
            let params = checker.declare_params(&item.params, Owner::Function);
            let result = checker.resolve_result(item.result.as_ref());
            (type_params, params, result)
        });
        self.add_function(Function {
            name: item.name.name.clone(),
            type_params,
            params,
            result,
            body: None,
            annotations,
            span: item.name.span,
        });
    }

    /// Type parameters and parameters have different names.
    pub(crate) fn check_prototype_names(&mut self, item: &ast::FunctionPrototype) {
        self.check_distinct(
            item.type_params
                .iter()
                .chain(item.params.iter().map(|param| &param.name)),
        );
    }

    /// The result type; none (a constructor) is void.
    pub(crate) fn resolve_result(&mut self, result: Option<&ast::Type>) -> Type {
        result.map_or(Type::Void, |ty| self.resolve_type(ty))
    }

    /// Adds a function to those of its name; they must differ in the number or names of their parameters.
    pub(crate) fn add_function(&mut self, function: Function) -> FunctionId {
        let id = FunctionId(self.program.functions.len() as u32);
        let name = ast::Ident {
            name: function.name.clone(),
            span: function.span,
        };
        let mut ids = match self.scopes.find_here(&name.name).map(|entry| entry.entity.clone()) {
            Some(Entity::Functions(ids)) => ids,
            Some(_) => {
                self.program.functions.push(function);
                self.define(&name, Entity::Functions(vec![id]));
                return id;
            }
            None => Vec::new(),
        };
        let is_extern = function.body.is_none();
        for earlier in &ids {
            let other = &self.program.functions[earlier.index()];
            let clash = other.body.is_none() != is_extern;
            if clash {
                let place = other.span;
                self.duplicate(&name.name, name.span, place);
                break;
            }
        }
        self.program.functions.push(function);
        ids.push(id);
        self.scopes.insert(&name.name, Entity::Functions(ids), name.span);
        id
    }

    /// Whether two parameter lists cannot be told apart by number and names of arguments.
    pub(crate) fn same_names(&self, left: &[Param], right: &[Param]) -> bool {
        left.len() == right.len()
            && left
                .iter()
                .zip(right)
                .all(|(left, right)| self.param_name(left) == self.param_name(right))
    }

    /// `extern E<..> { methods }`
    pub(super) fn declare_extern_object(&mut self, item: &ast::ExternObject, annotations: &[ast::Annotation]) {
        let methods = &item.methods;
        let annotations = self.annotations(Place::Extern, annotations);
        let id = ExternId(self.program.externs.len() as u32);
        self.program.externs.push(Extern {
            name: item.name.name.clone(),
            type_params: Vec::new(),
            constructors: Vec::new(),
            methods: Vec::new(),
            annotations,
            span: item.name.span,
        });
        self.context.defining.push(item.name.name.clone());
        self.scoped(|checker| {
            let type_params = checker.declare_type_params(&item.type_params);
            checker.program.externs[id.index()].type_params = type_params;
            for method in methods.iter() {
                checker.declare_method(id, &item.name.name, method);
            }
        });
        self.context.defining.pop();
        self.define(&item.name, Entity::Extern(id));
        self.check_method_overloads(id);
    }

    fn declare_method(&mut self, id: ExternId, extern_name: &str, method: &ast::Method) {
        let prototype = &method.prototype;
        let is_constructor = prototype.name.name == extern_name;
        match (&prototype.result, is_constructor) {
            (_, true) if method.is_abstract => {
                self.error(
                    codes::INVALID_METHOD,
                    prototype.name.span,
                    "a constructor cannot be abstract",
                );
            }
            (Some(_), true) => {
                let message = "a constructor has no result type";
                self.error(codes::INVALID_METHOD, prototype.name.span, message);
            }
            (None, false) => {
                let message = format!("the method `{}` needs a result type", prototype.name.name);
                self.error(codes::INVALID_METHOD, prototype.name.span, message);
            }
            _ => {}
        }
        if is_constructor && let Some(first) = prototype.type_params.first() {
            self.error(
                codes::INVALID_METHOD,
                first.span,
                "a constructor has no type parameters of its own",
            );
        }
        let annotations = self.annotations(Place::Method, &method.annotations);
        let (type_params, params, result) = self.scoped(|checker| {
            checker.check_prototype_names(prototype);
            // What has a result is reported already, and probably meant as a method.
            let written = prototype.result.as_ref().filter(|_| !is_constructor);
            let owner = if is_constructor && prototype.result.is_none() {
                Owner::ExternConstructor
            } else {
                Owner::Function
            };
            let type_params = checker.declare_type_params(&prototype.type_params);
            let params = checker.declare_params(&prototype.params, owner);
            let result = checker.resolve_result(written);
            (type_params, params, result)
        });
        if matches!(result, Type::Int | Type::String) {
            let message = format!("a method cannot have a result of type {}", self.show(&result));
            self.error(codes::INVALID_METHOD, method.span, message);
        }
        let method = Method {
            name: prototype.name.name.clone(),
            type_params,
            params,
            result,
            is_abstract: method.is_abstract,
            annotations,
        };
        let item = &mut self.program.externs[id.index()];
        if is_constructor {
            item.constructors.push(method)
        } else {
            item.methods.push(method)
        }
    }

    fn check_method_overloads(&mut self, id: ExternId) {
        let item = self.program.externs[id.index()].clone();
        for list in [&item.constructors, &item.methods] {
            for (index, method) in list.iter().enumerate() {
                let clash = list[..index]
                    .iter()
                    .any(|other| other.name == method.name && self.same_names(&other.params, &method.params));
                if clash {
                    let message = format!("`{}` is declared twice with the same parameters", method.name);
                    self.error(codes::DUPLICATE_OVERLOAD, item.span, message);
                }
            }
        }
    }
}
