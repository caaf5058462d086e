//! Instances (§8.23, §11.3, §15.1): named ones, constructor calls as values, and direct application.

use crate::call::{CallSite, Callable, Strictness};
use crate::checker::Checker;
use crate::hir::*;
use crate::scope::Entity;
use crate::types::Substitution;
use crate::unify::Inference;
use forebay_syntax::ast;
use forebay_syntax::codes::check as codes;
use forebay_syntax::diagnostic::Diagnostic;
use forebay_syntax::known::Place;
use forebay_syntax::source::Span;
use std::rc::Rc;

/// A constructor call with everything found out.
struct Construction {
    ty: Type,
    constructor: Option<usize>,
    args: Vec<Option<Expr>>,
}

impl Checker {
    /// `T(args)` as a value.
    pub(crate) fn construct(&mut self, ty: &ast::Type, args: &[ast::Arg], span: Span) -> Expr {
        let resolved = self.resolve_for_instance(ty);
        if resolved.is_unknown() {
            return self.invalid(span);
        }
        if self.context.in_action || self.context.result.is_some() {
            self.error(
                codes::MISPLACED_INSTANTIATION,
                span,
                "constructors cannot be called in actions and functions",
            );
        }
        if let Type::Extern(id, _) = &resolved
            && self.program.externs[id.index()]
                .methods
                .iter()
                .any(|method| method.is_abstract)
        {
            let message = format!(
                "{} has abstract methods, so its instances need a declaration",
                self.show(&resolved)
            );
            self.error(codes::ABSTRACT_METHODS, span, message);
        }
        let name = self.show(&resolved);
        let Some(construction) = self.construct_type(&resolved, args, span) else {
            return self.invalid(span);
        };
        let annotations = self.annotations(Place::Instance, &[]);
        let instance = Instance {
            name,
            ty: construction.ty.clone(),
            constructor: construction.constructor,
            args: construction.args,
            implementations: Vec::new(),
            annotations,
            is_direct: false,
            span,
        };
        Expr {
            kind: ExprKind::Construct(Box::new(instance)),
            ty: construction.ty,
            span,
        }
    }

    /// Among parsers, controls or packages of one name, the one with as many type parameters as there are type
    /// arguments whose constructor takes these arguments. Reports if there are several and none fits.
    fn choose_declaration(&mut self, ty: &Type, args: &[ast::Arg], span: Span) -> Option<Type> {
        let name = match ty {
            Type::Parser(id, _) => &self.program.parsers[id.index()].name,
            Type::Control(id, _) => &self.program.controls[id.index()].name,
            Type::Package(id, _) => &self.program.packages[id.index()].name,
            _ => return Some(ty.clone()),
        };
        let type_args = Checker::type_args(ty);
        let takes_type_args =
            |candidate: &&Type| type_args.is_empty() || self.type_params(candidate).len() == type_args.len();
        let candidates = self.overloads.get(name).into_iter().flatten();
        let candidates: Vec<&Type> = candidates.filter(takes_type_args).collect();
        let takes_args = |candidate: &&&Type| self.fits(self.constructor_params(candidate), args);
        if let Some(found) = candidates.iter().find(takes_args) {
            return Some(with_type_args(found, type_args.to_vec()));
        }
        if candidates.len() < 2 {
            return Some(ty.clone());
        }
        let lists: Vec<Vec<Param>> = candidates
            .iter()
            .map(|candidate| self.constructor_params(candidate).to_vec())
            .collect();
        let what = format!("constructor of `{name}`");
        self.choose_overload(&what, &lists, args, span);
        None
    }

    fn construct_type(&mut self, ty: &Type, args: &[ast::Arg], span: Span) -> Option<Construction> {
        let ty = &self.choose_declaration(ty, args, span)?;
        if let Some(entity) = Entity::of_constructible(ty) {
            self.uses.note(&entity);
        }
        let (what, lists) = match ty {
            Type::Extern(id, _) => {
                let item = &self.program.externs[id.index()];
                let lists = item.constructors.iter().map(|method| method.params.clone()).collect();
                (item.name.clone(), lists)
            }
            Type::Parser(id, _) if self.program.parsers[id.index()].body.is_some() => {
                let parser = &self.program.parsers[id.index()];
                (parser.name.clone(), vec![parser.constructor_params.clone()])
            }
            Type::Control(id, _) if self.program.controls[id.index()].body.is_some() => {
                let control = &self.program.controls[id.index()];
                (control.name.clone(), vec![control.constructor_params.clone()])
            }
            Type::Package(id, _) => {
                let package = &self.program.packages[id.index()];
                (package.name.clone(), vec![package.params.clone()])
            }
            _ => {
                let message = format!("there are no instances of {}", self.show(ty));
                self.error(codes::NOT_INSTANTIABLE, span, message);
                return None;
            }
        };
        let choice = self.choose_constructor(&what, &lists, args, span)?;
        let type_params = self.type_params(ty).to_vec();
        let mut inference = Inference::new(&type_params);
        for (var, arg) in type_params.iter().zip(Checker::type_args(ty)) {
            if !arg.is_unknown() {
                inference.found.bind(*var, arg.clone());
            }
        }
        let callable = Callable {
            what: format!("the constructor of `{what}`"),
            type_params,
            params: lists.into_iter().nth(choice)?,
            result: Type::Void,
            outer: Substitution::default(),
            strictness: Strictness::Constructor,
            wildcards: Checker::type_args(ty).iter().any(Type::is_unknown),
        };
        let bound = self.bind_with(inference, &callable, args, span)?;
        let args = bound.args.into_iter().map(|arg| match arg {
            Argument::Value(value) => Some(value),
            Argument::Discard | Argument::Absent => None,
        });
        let args = args.collect();
        let constructor = matches!(ty, Type::Extern(..)).then_some(choice);
        Some(Construction {
            ty: with_type_args(ty, bound.type_args),
            constructor,
            args,
        })
    }

    fn choose_constructor(&mut self, what: &str, lists: &[Vec<Param>], args: &[ast::Arg], span: Span) -> Option<usize> {
        if lists.is_empty() {
            let message = format!("the extern {what} has no constructor");
            self.error(codes::NO_CONSTRUCTOR, span, message);
            return None;
        }
        self.choose_overload(&format!("constructor of `{what}`"), lists, args, span)
    }

    /// `T(args) name = {...};` Returns the instance; the name is declared in the innermost scope.
    pub(crate) fn check_instantiation(
        &mut self,
        item: &ast::Instantiation,
        annotations: &[ast::Annotation],
        span: Span,
    ) -> Option<InstanceId> {
        let resolved = self.resolve_for_instance(&item.ty);
        let element = innermost(&resolved);
        let created = self.create_instance(item, &element, annotations, span);
        match created {
            Some(id) => {
                if let Type::Stack(..) = &resolved {
                    let element = self.program.instances[id.index()].ty.clone();
                    self.program.instances[id.index()].ty = relayer(&resolved, &element);
                }
                self.define(&item.name, Entity::Instance(id));
                self.check_implementations(id, &element, item);
            }
            None => self.define(&item.name, Entity::Broken),
        }
        created
    }

    fn create_instance(
        &mut self,
        item: &ast::Instantiation,
        ty: &Type,
        annotations: &[ast::Annotation],
        span: Span,
    ) -> Option<InstanceId> {
        if ty.is_unknown() {
            return None;
        }
        if !ty.is_object() {
            let text = self.show(ty);
            let message = format!("{text} cannot be instantiated: only externs, parsers, controls and packages can");
            let hint = format!(
                "a variable is declared without parentheses, as in `{text} {};`",
                item.name.name
            );
            self.error_with_hint(codes::NOT_INSTANTIABLE, span, message, hint);
            return None;
        }
        if !self.check_instance_place(ty, span) {
            return None;
        }
        let construction = self.construct_type(ty, &item.args, span)?;
        let instance = Instance {
            name: item.name.name.clone(),
            ty: construction.ty,
            constructor: construction.constructor,
            args: construction.args,
            implementations: Vec::new(),
            annotations: self.annotations(Place::Instance, annotations),
            is_direct: false,
            span: item.name.span,
        };
        Some(self.add_instance(instance))
    }

    fn add_instance(&mut self, instance: Instance) -> InstanceId {
        let id = InstanceId(self.program.instances.len() as u32);
        self.program.instances.push(instance);
        id
    }

    /// Whether instances of a type may be declared here; reports if not.
    fn check_instance_place(&mut self, ty: &Type, span: Span) -> bool {
        let context = &self.context;
        if context.this.is_some() && context.result.is_none() {
            return true;
        }
        let inside = if context.in_action {
            Some(("actions", "declare it in the control, before its actions"))
        } else if context.result.is_some() {
            Some(("functions", "declare it in a control or parser"))
        } else if context.in_apply {
            Some(("an apply block", "declare it in the control, before `apply`"))
        } else if context.in_state {
            Some(("a parser state", "declare it in the parser, before its states"))
        } else {
            None
        };
        if let Some((place, hint)) = inside {
            let message = format!("instances cannot be declared in {place}");
            self.error_with_hint(codes::MISPLACED_INSTANTIATION, span, message, hint);
            return false;
        }
        let message = match (ty, context.parser, context.control) {
            (Type::Parser(..) | Type::Control(..), None, None) => {
                "parsers and controls cannot be instantiated at the top level"
            }
            (Type::Package(..), Some(_), _) | (Type::Package(..), _, Some(_)) => {
                "packages can only be instantiated at the top level"
            }
            (Type::Parser(..), _, Some(_)) => "a parser cannot be instantiated in a control",
            (Type::Control(..), Some(_), _) => "a control cannot be instantiated in a parser",
            _ => return true,
        };
        self.error(codes::MISPLACED_INSTANTIATION, span, message);
        false
    }

    /// `T.apply(args)`: an anonymous instance, applied once.
    pub(crate) fn direct_apply(&mut self, ty: &Type, args: &[ast::Arg], span: Span) -> Expr {
        if !matches!(ty, Type::Parser(..) | Type::Control(..)) {
            self.error(
                codes::NOT_CALLABLE,
                span,
                format!("{} cannot be applied", self.show(ty)),
            );
            return self.invalid(span);
        }
        let Some(construction) = self.construct_type(ty, &[], span) else {
            return self.invalid(span);
        };
        match (ty, self.context.parser, self.context.control) {
            (Type::Parser(..), None, _) | (Type::Control(..), _, None) => {
                self.error(
                    codes::CALL_NOT_ALLOWED,
                    span,
                    format!("{} cannot be applied here", self.show(ty)),
                );
            }
            _ => {}
        }
        let name = match ty {
            Type::Parser(id, _) => self.program.parsers[id.index()].name.clone(),
            Type::Control(id, _) => self.program.controls[id.index()].name.clone(),
            _ => self.show(ty),
        };
        let annotations = self.annotations(Place::Instance, &[]);
        let id = self.add_instance(Instance {
            name,
            ty: construction.ty.clone(),
            constructor: construction.constructor,
            args: construction.args,
            implementations: Vec::new(),
            annotations,
            is_direct: true,
            span,
        });
        let receiver = Expr {
            kind: ExprKind::Instance(id),
            ty: construction.ty,
            span,
        };
        self.check_apply(
            receiver,
            CallSite {
                type_args: &[],
                args,
                span,
            },
        )
    }

    /// The block after `T(args) name =`: implementations of the abstract methods of an extern.
    fn check_implementations(&mut self, id: InstanceId, ty: &Type, item: &ast::Instantiation) {
        let Type::Extern(extern_id, _) = ty else {
            if item.initializer.is_some() {
                let message = "only instances of externs have a block of methods";
                self.error(codes::ABSTRACT_METHODS, item.name.span, message);
            }
            return;
        };
        let methods = &self.program.externs[extern_id.index()].methods;
        let abstract_methods: Vec<usize> = (0..methods.len()).filter(|index| methods[*index].is_abstract).collect();
        let Some(declarations) = &item.initializer else {
            if !abstract_methods.is_empty() {
                self.missing_implementations(*extern_id, &abstract_methods, item.name.span);
            }
            return;
        };
        if abstract_methods.is_empty() {
            let message = format!("the extern {} has no abstract methods to implement", self.show(ty));
            self.error(codes::ABSTRACT_METHODS, item.name.span, message);
            return;
        }
        let instance_type = innermost(&self.program.instances[id.index()].ty);
        let implementations = self.scoped(|checker| {
            checker.within(
                |context| {
                    context.this = Some(instance_type.clone());
                    context.in_action = false;
                    context.in_apply = false;
                },
                |checker| checker.check_method_block(&instance_type, *extern_id, declarations),
            )
        });
        let missing: Vec<usize> = abstract_methods
            .into_iter()
            .filter(|index| implementations.iter().all(|(method, _)| method != index))
            .filter(|index| {
                let method = &self.program.externs[extern_id.index()].methods[*index];
                !crate::annotations::has(&method.annotations, "optional")
            })
            .collect();
        if !missing.is_empty() {
            self.missing_implementations(*extern_id, &missing, item.name.span);
        }
        self.program.instances[id.index()].implementations = implementations;
    }

    fn missing_implementations(&mut self, id: ExternId, methods: &[usize], span: Span) {
        let item = &self.program.externs[id.index()];
        let names: Vec<&str> = methods.iter().map(|index| item.methods[*index].name.as_str()).collect();
        let message = match names.as_slice() {
            [one] => format!("the abstract method `{one}` of {} is not implemented", item.name),
            several => format!(
                "the abstract methods `{}` of {} are not implemented",
                several.join("`, `"),
                item.name
            ),
        };
        let prototypes: Vec<String> = methods
            .iter()
            .map(|index| &item.methods[*index])
            .map(|method| {
                format!(
                    "{} {}{} {{ ... }}",
                    self.show(&method.result),
                    method.name,
                    self.params_text(&method.params)
                )
            })
            .collect();
        let hint = format!(
            "implement it with the instance: `{}(...) name = {{ {} }};`",
            item.name,
            prototypes.join(" ")
        );
        self.error_with_hint(codes::ABSTRACT_METHODS, span, message, hint);
    }

    fn check_method_block(
        &mut self,
        ty: &Type,
        id: ExternId,
        declarations: &[ast::Declaration],
    ) -> Vec<(usize, FunctionId)> {
        let mut implementations = Vec::new();
        for declaration in declarations {
            match &declaration.kind {
                ast::DeclarationKind::Function(function) => {
                    let implemented = self.check_implementation(ty, id, function, declaration);
                    if let Some((method, _)) = implemented
                        && implementations.iter().any(|(earlier, _)| *earlier == method)
                    {
                        let name = &function.prototype.name;
                        self.error(
                            codes::DUPLICATE_DECLARATION,
                            name.span,
                            format!("`{}` is implemented twice", name.name),
                        );
                    }
                    implementations.extend(implemented);
                }
                ast::DeclarationKind::Instantiation(item) => {
                    self.check_instantiation(item, &declaration.annotations, declaration.span);
                }
                _ => {
                    let message = "only methods and instances can stand in this block";
                    self.error(codes::ABSTRACT_METHODS, declaration.span, message);
                }
            }
        }
        implementations
    }

    fn check_implementation(
        &mut self,
        ty: &Type,
        id: ExternId,
        function: &ast::Function,
        declaration: &ast::Declaration,
    ) -> Option<(usize, FunctionId)> {
        let name = &function.prototype.name;
        let item = &self.program.externs[id.index()];
        let candidates: Vec<usize> = (0..item.methods.len())
            .filter(|index| {
                let method = &item.methods[*index];
                let given = function.prototype.params.len();
                let required = method.params.iter().filter(|param| !param.optional).count();
                method.is_abstract && method.name == name.name && (required..=method.params.len()).contains(&given)
            })
            .collect();
        let function_id = self.check_method_function(function, &declaration.annotations);
        let Some(method) = candidates.first().copied() else {
            let item = &self.program.externs[id.index()];
            let message = format!(
                "{} has no abstract method `{}` with these parameters",
                item.name, name.name
            );
            let options: Vec<String> = item
                .methods
                .iter()
                .filter(|method| method.is_abstract)
                .map(|method| method.name.clone())
                .collect();
            let diagnostic = Diagnostic::error(codes::ABSTRACT_METHODS, name.span, message)
                .did_you_mean(&name.name, options.iter().map(String::as_str));
            self.report(diagnostic.options(options.clone()));
            return None;
        };
        if !function.prototype.type_params.is_empty() {
            self.error(
                codes::ABSTRACT_METHODS,
                name.span,
                "the implementation of a method cannot be generic",
            );
        }
        self.check_same_signature(ty, id, method, function_id, name);
        Some((method, function_id))
    }

    fn check_same_signature(
        &mut self,
        ty: &Type,
        id: ExternId,
        method: usize,
        function: FunctionId,
        name: &ast::Ident,
    ) {
        let item = &self.program.externs[id.index()];
        let substitution = Substitution::new(&item.type_params, Checker::type_args(ty));
        let method = &item.methods[method];
        let function = &self.program.functions[function.index()];
        let same_params = method.params.iter().zip(&function.params).all(|(wanted, given)| {
            wanted.direction == given.direction
                && self.same_type(&substitution.apply(self.param_type(wanted)), self.param_type(given))
        });
        if same_params && self.same_type(&substitution.apply(&method.result), &function.result) {
            return;
        }
        let wanted = self.params_text(&method.params);
        let result = self.show(&method.result);
        let message = format!(
            "`{}` does not have the parameters and result of the abstract method",
            name.name
        );
        let diagnostic = Diagnostic::error(codes::ABSTRACT_METHODS, name.span, message);
        self.report(diagnostic.note(format!("the method is {result} {}{wanted}", name.name)));
    }
}

/// The element of an array of instances, or the type itself.
fn innermost(ty: &Type) -> Type {
    match ty {
        Type::Stack(element, _) => innermost(element),
        _ => ty.clone(),
    }
}

/// The array type with another innermost element.
fn relayer(ty: &Type, element: &Type) -> Type {
    match ty {
        Type::Stack(inner, size) => Type::Stack(Rc::new(relayer(inner, element)), *size),
        _ => element.clone(),
    }
}

/// The generic type with these type arguments.
fn with_type_args(ty: &Type, args: Vec<Type>) -> Type {
    let args = Rc::new(args);
    match ty {
        Type::Extern(id, _) => Type::Extern(*id, args),
        Type::Parser(id, _) => Type::Parser(*id, args),
        Type::Control(id, _) => Type::Control(*id, args),
        Type::Package(id, _) => Type::Package(*id, args),
        _ => ty.clone(),
    }
}
