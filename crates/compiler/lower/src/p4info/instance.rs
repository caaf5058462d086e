//! The tree of instances.
//!
//! An instance is made once, with the values of its constructor arguments, together with everything that it declares.
//! Its name is the prefix of the names inside it.

use super::value::{self, Value};
use crate::elaborate::instances_in;
use crate::limits::{MAX_INLINE_DEPTH, MAX_OBJECTS, MAX_TYPE_SIZE};
use crate::names;
use forebay_check::hir::{
    ControlId, ExprKind, ExternId, Instance, InstanceId, Local, Param, ParserId, Program, Statement, Type, TypeVarId,
    VarId,
};
use forebay_check::types::Substitution;
use forebay_syntax::ast::Annotation;
use forebay_syntax::source::Span;
use std::collections::HashMap;
use std::rc::Rc;

/// Index into [`Instances`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ObjectId(usize);

/// An instance.
pub struct Object<'a> {
    /// Its control-plane name.
    pub name: String,
    /// Its annotations.
    pub annotations: &'a [Annotation],
    /// The kind of instance.
    pub kind: ObjectKind,
    /// Its source location.
    pub span: Span,
}

/// The kinds of instances.
#[derive(Clone)]
pub enum ObjectKind {
    /// An extern object.
    Extern(Rc<ExternObject>),
    /// A control.
    Control(ControlId, Rc<Scope>),
    /// A parser.
    Parser(ParserId, Rc<Scope>),
    /// A package: its arguments.
    Package(Rc<Vec<Value>>),
}

/// An extern object.
pub struct ExternObject {
    /// Its type.
    pub id: ExternId,
    /// Type arguments.
    pub type_args: Vec<Type>,
    /// Constructor arguments with the names of their parameters.
    pub args: Vec<(String, Value)>,
}

impl ExternObject {
    /// The argument for the first of these parameters that exists.
    pub fn arg(&self, names: &[&str]) -> Option<&Value> {
        self.args
            .iter()
            .find(|(name, _)| names.contains(&name.as_str()))
            .map(|(_, value)| value)
    }
}

/// The meanings of names inside an instance.
#[derive(Clone, Default)]
pub struct Scope {
    /// Name of the instance, the prefix of everything inside.
    pub path: String,
    /// Meaning of type parameters.
    pub types: Substitution,
    values: HashMap<VarId, Value>,
    instances: Rc<HashMap<InstanceId, ObjectId>>,
    locals: HashMap<InstanceId, ObjectId>,
    /// Extern objects that are arguments of the constructor.
    pub argument_objects: Vec<ObjectId>,
}

impl Scope {
    /// The value of a constructor parameter.
    pub fn value(&self, var: VarId) -> Value {
        self.values.get(&var).cloned().unwrap_or(Value::Other)
    }

    /// The object of a declaration, local or at the top level.
    pub fn instance(&self, id: InstanceId) -> Option<ObjectId> {
        self.locals.get(&id).or_else(|| self.instances.get(&id)).copied()
    }

    /// The objects that the instance declares or was given.
    pub fn objects(&self) -> impl Iterator<Item = ObjectId> + '_ {
        self.locals.values().chain(&self.argument_objects).copied()
    }

    /// The control-plane name of something that is declared inside.
    pub fn name(&self, name: &str, annotations: &[Annotation]) -> String {
        names::control_plane_name(&self.path, name, annotations)
    }
}

/// Every instance of a program.
pub struct Instances<'a> {
    program: &'a Program,
    objects: Vec<Object<'a>>,
    top: Rc<HashMap<InstanceId, ObjectId>>,
    depth: usize,
    /// The first declaration that exceeded the limits, if any.
    pub excess: Option<Span>,
    /// The first one whose type is too large.
    pub large_type: Option<Span>,
}

impl<'a> Instances<'a> {
    /// Makes the instances at the top level and everything in them.
    pub fn elaborate(program: &'a Program) -> Instances<'a> {
        let top = Rc::default();
        let mut instances = Instances {
            program,
            objects: Vec::new(),
            top,
            depth: 0,
            excess: None,
            large_type: None,
        };
        for id in &program.top_instances {
            let scope = instances.top_scope();
            let declaration = &program.instances[id.index()];
            let name = instances.top_name(declaration);
            if let Some(object) = instances.make(declaration, &scope, name) {
                Rc::make_mut(&mut instances.top).insert(*id, object);
            }
        }
        instances
    }

    /// An instance.
    pub fn get(&self, id: ObjectId) -> &Object<'a> {
        &self.objects[id.0]
    }

    /// The extern object that an instance is.
    pub fn extern_object(&self, id: ObjectId) -> Option<Rc<ExternObject>> {
        match &self.get(id).kind {
            ObjectKind::Extern(object) => Some(object.clone()),
            _ => None,
        }
    }

    /// The object of a declaration at the top level.
    pub fn top(&self, id: InstanceId) -> Option<ObjectId> {
        self.top.get(&id).copied()
    }

    fn top_scope(&self) -> Scope {
        Scope {
            instances: self.top.clone(),
            ..Scope::default()
        }
    }

    /// The control-plane name of a top-level instance: parsers and controls are known by their type's name.
    fn top_name(&self, declaration: &Instance) -> String {
        match &declaration.ty {
            Type::Control(id, _) => self.program.controls[id.index()].name.clone(),
            Type::Parser(id, _) => self.program.parsers[id.index()].name.clone(),
            _ => names::control_plane_name("", &declaration.name, &declaration.annotations),
        }
    }

    /// Makes an instance whose name is known; `None` when there are too many.
    pub fn make(&mut self, declaration: &'a Instance, outer: &Scope, name: String) -> Option<ObjectId> {
        if self.objects.len() >= MAX_OBJECTS || self.depth >= MAX_INLINE_DEPTH {
            self.excess.get_or_insert(declaration.span);
            return None;
        }
        self.depth += 1;
        let kind = self.make_kind(declaration, outer, &name);
        self.depth -= 1;
        self.objects.push(Object {
            name,
            annotations: &declaration.annotations,
            kind: kind?,
            span: declaration.span,
        });
        Some(ObjectId(self.objects.len() - 1))
    }

    /// Makes the instance that is the value of a table property, and has the property's annotations.
    pub fn make_property(
        &mut self,
        declaration: &'a Instance,
        annotations: &'a [Annotation],
        outer: &Scope,
        name: String,
    ) -> Option<ObjectId> {
        let id = self.make(declaration, outer, name)?;
        self.objects[id.0].annotations = annotations;
        Some(id)
    }

    fn make_kind(&mut self, declaration: &'a Instance, outer: &Scope, name: &str) -> Option<ObjectKind> {
        let program = self.program;
        if outer.types.tree_size(&declaration.ty) > MAX_TYPE_SIZE {
            self.large_type.get_or_insert(declaration.span);
            return None;
        }
        match outer.types.apply(&declaration.ty) {
            Type::Extern(id, type_args) => {
                let constructor = program.externs[id.index()]
                    .constructors
                    .get(declaration.constructor.unwrap_or(0));
                let params = constructor.map_or(&[][..], |constructor| &constructor.params);
                let args = self.arguments(declaration, params, outer, name);
                let names = params.iter().map(|param| program.vars[param.var.index()].name.clone());
                let args = names.zip(args).collect();
                Some(ObjectKind::Extern(Rc::new(ExternObject {
                    id,
                    type_args: type_args.to_vec(),
                    args,
                })))
            }
            Type::Control(id, type_args) => {
                let control = &program.controls[id.index()];
                let args = self.arguments(declaration, &control.constructor_params, outer, name);
                let mut scope = self.scope(
                    name,
                    &control.type_params,
                    &type_args,
                    &control.constructor_params,
                    args,
                );
                if let Some(body) = &control.body {
                    self.locals(&body.locals, &mut scope);
                    self.inside(&body.apply.statements, &mut scope);
                }
                Some(ObjectKind::Control(id, Rc::new(scope)))
            }
            Type::Parser(id, type_args) => {
                let parser = &program.parsers[id.index()];
                let args = self.arguments(declaration, &parser.constructor_params, outer, name);
                let mut scope = self.scope(name, &parser.type_params, &type_args, &parser.constructor_params, args);
                if let Some(body) = &parser.body {
                    self.locals(&body.locals, &mut scope);
                    body.states
                        .iter()
                        .for_each(|state| self.inside(&state.statements, &mut scope));
                }
                Some(ObjectKind::Parser(id, Rc::new(scope)))
            }
            Type::Package(id, _) => {
                let args = self.arguments(declaration, &program.packages[id.index()].params, outer, "");
                Some(ObjectKind::Package(Rc::new(args)))
            }
            _ => None,
        }
    }

    /// Constructor arguments. An instance constructed in an argument is named after the parameter or, at the top
    /// level, after its type.
    fn arguments(&mut self, declaration: &'a Instance, params: &[Param], outer: &Scope, path: &str) -> Vec<Value> {
        let mut values = Vec::new();
        for (index, arg) in declaration.args.iter().enumerate() {
            let value = match arg.as_ref().map(|arg| &arg.kind) {
                Some(ExprKind::Construct(inner)) => {
                    let param = params
                        .get(index)
                        .map(|param| self.program.vars[param.var.index()].name.as_str());
                    let name = match path {
                        "" => self.top_name(inner),
                        path => names::control_plane_name(path, param.unwrap_or(&inner.name), &inner.annotations),
                    };
                    self.make(inner, outer, name).map_or(Value::Other, Value::Object)
                }
                _ => arg
                    .as_ref()
                    .map_or(Value::Other, |arg| value::evaluate(self.program, outer, arg)),
            };
            values.push(value);
        }
        values
    }

    fn scope(
        &self,
        path: &str,
        type_params: &[TypeVarId],
        type_args: &[Type],
        params: &[Param],
        args: Vec<Value>,
    ) -> Scope {
        let argument_objects = args.iter().filter_map(|arg| match arg {
            Value::Object(id) if matches!(self.get(*id).kind, ObjectKind::Extern(_)) => Some(*id),
            _ => None,
        });
        Scope {
            argument_objects: argument_objects.collect(),
            path: path.to_string(),
            types: Substitution::new(type_params, type_args),
            values: params.iter().map(|param| param.var).zip(args).collect(),
            ..self.top_scope()
        }
    }

    fn locals(&mut self, locals: &[Local], scope: &mut Scope) {
        for local in locals {
            if let Local::Instance(id) = local {
                self.local(*id, scope);
            }
        }
    }

    fn inside(&mut self, statements: &[Statement], scope: &mut Scope) {
        instances_in(self.program, statements).for_each(|id| self.local(id, scope));
    }

    fn local(&mut self, id: InstanceId, scope: &mut Scope) {
        if scope.locals.contains_key(&id) {
            return;
        }
        let declaration = &self.program.instances[id.index()];
        let name = scope.name(&declaration.name, &declaration.annotations);
        if let Some(object) = self.make(declaration, scope, name) {
            scope.locals.insert(id, object);
        }
    }
}
