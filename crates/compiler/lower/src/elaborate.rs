//! The instance tree.
//!
//! An instance is evaluated once, with the values of its constructor arguments; the instances declared in it become
//! its children. This happens before lowering, so that it is known how many times each control is applied.

use crate::context::Context;
use crate::environment::Binding;
use crate::expression;
use crate::externs;
use crate::limits;
use crate::names;
use crate::object::{ControlInstance, Object, ObjectId, ParserInstance, Scope};
use crate::types;
use crate::value::Value;
use forebay_check::hir::{self, Callee, ExprKind, Local, Node, Param, StatementKind, Type};
use forebay_syntax::codes::lower as codes;
use std::collections::{HashMap, HashSet};

/// Elaborates the instances at the top level; of packages only those that `main` is made from.
pub fn top_level(cx: &mut Context, main: hir::InstanceId) {
    let hir = cx.hir;
    let mut in_main = HashSet::from([main]);
    note_parts(&hir.instances[main.index()], hir, &mut in_main);
    for id in &hir.top_instances {
        let declaration = &hir.instances[id.index()];
        if matches!(declaration.ty, Type::Package(..)) && !in_main.contains(id) {
            continue;
        }
        let path = top_level_name(cx, declaration);
        if let Some(object) = make(cx, declaration, path) {
            cx.environment.bind_instance(*id, object);
        }
    }
}

/// Takes note of the instances that are arguments of an instance's constructor, directly and through others.
fn note_parts(instance: &hir::Instance, hir: &hir::Program, found: &mut HashSet<hir::InstanceId>) {
    for arg in instance.args.iter().flatten() {
        match &arg.kind {
            ExprKind::Instance(id) if found.insert(*id) => note_parts(&hir.instances[id.index()], hir, found),
            ExprKind::Construct(inner) => note_parts(inner, hir, found),
            _ => {}
        }
    }
}

/// The control-plane name of a top-level instance: parsers and controls are known by their type's name.
fn top_level_name(cx: &Context, declaration: &hir::Instance) -> String {
    match &declaration.ty {
        Type::Control(id, _) => cx.hir.controls[id.index()].name.clone(),
        Type::Parser(id, _) => cx.hir.parsers[id.index()].name.clone(),
        _ => names::control_plane_name("", &declaration.name, &declaration.annotations),
    }
}

/// Elaborates a declared instance inside `scope`.
fn declared(cx: &mut Context, id: hir::InstanceId, scope: &str) -> Option<ObjectId> {
    let hir = cx.hir;
    let declaration = &hir.instances[id.index()];
    let path = names::control_plane_name(scope, &declaration.name, &declaration.annotations);
    let object = make(cx, declaration, path)?;
    cx.environment.bind_instance(id, object);
    Some(object)
}

/// Elaborates an instance without a declaration: a constructor argument (named after the parameter, or at the top
/// level after its type) or the value of a table property.
pub fn anonymous(cx: &mut Context, declaration: &hir::Instance, scope: &str, name: &str) -> Option<ObjectId> {
    let path = if scope.is_empty() && !is_extern(&declaration.ty) {
        top_level_name(cx, declaration)
    } else {
        names::control_plane_name(scope, name, &declaration.annotations)
    };
    make(cx, declaration, path)
}

fn is_extern(ty: &Type) -> bool {
    matches!(ty, Type::Extern(..))
}

fn make(cx: &mut Context, declaration: &hir::Instance, path: String) -> Option<ObjectId> {
    if cx.objects.len() > limits::MAX_OBJECTS {
        let message = format!("the program has more than {} instances", limits::MAX_OBJECTS);
        cx.abort(codes::TOO_MANY_INSTANCES, declaration.span, message);
    }
    limits::inlined(cx, declaration.span, |cx| make_inside(cx, declaration, path))?
}

fn make_inside(cx: &mut Context, declaration: &hir::Instance, path: String) -> Option<ObjectId> {
    let hir = cx.hir;
    if types::resolved_size(cx, &declaration.ty) > limits::MAX_TYPE_SIZE {
        cx.abort(codes::PROGRAM_TOO_LARGE, declaration.span, limits::type_too_large());
        return None;
    }
    let ty = types::resolve(cx, &declaration.ty);
    match &ty {
        Type::Extern(id, type_args) => {
            let constructors = &hir.externs[id.index()].constructors;
            let params = declaration.constructor.and_then(|index| constructors.get(index));
            let args = arguments(cx, declaration, params.map_or(&[], |method| &method.params), &path);
            let object = externs::construct(cx, *id, type_args, declaration, args, path);
            Some(cx.add_object(object))
        }
        Type::Control(id, type_args) => {
            let args = arguments(cx, declaration, &hir.controls[id.index()].constructor_params, &path);
            Some(control(cx, *id, type_args, args, path))
        }
        Type::Parser(id, type_args) => {
            let args = arguments(cx, declaration, &hir.parsers[id.index()].constructor_params, &path);
            Some(parser(cx, *id, type_args, args, path))
        }
        Type::Package(id, _) => {
            let args = arguments(cx, declaration, &hir.packages[id.index()].params, "");
            Some(cx.add_object(Object::Package(args)))
        }
        _ => None,
    }
}

/// Constructor arguments, in the environment of the declaration.
fn arguments(cx: &mut Context, declaration: &hir::Instance, params: &[Param], path: &str) -> Vec<Option<Value>> {
    let mut values = Vec::new();
    for (index, arg) in declaration.args.iter().enumerate() {
        let Some(arg) = arg else {
            values.push(None);
            continue;
        };
        let value = match &arg.kind {
            ExprKind::Construct(inner) => {
                let param = params
                    .get(index)
                    .map(|param| cx.hir.vars[param.var.index()].name.clone());
                let name = param.unwrap_or_else(|| inner.name.clone());
                anonymous(cx, inner, path, &name).map_or(Value::Void, Value::Object)
            }
            _ => expression::expression(cx, arg),
        };
        values.push(Some(value));
    }
    values
}

/// The scope of an instance: its type and constructor arguments. They are bound while it is made.
fn scope(
    cx: &mut Context,
    path: String,
    type_params: &[hir::TypeVarId],
    type_args: &[Type],
    params: &[Param],
    args: Vec<Option<Value>>,
) -> Scope {
    let types: Vec<_> = type_params.iter().copied().zip(type_args.iter().cloned()).collect();
    let values = args.into_iter().map(|arg| Binding::Value(arg.unwrap_or(Value::Void)));
    let vars: Vec<_> = params.iter().map(|param| param.var).zip(values).collect();
    let scope = Scope {
        path,
        types,
        vars,
        instances: Vec::new(),
    };
    install(cx, &scope);
    scope
}

/// Makes a scope's bindings the current ones.
pub fn install(cx: &mut Context, scope: &Scope) {
    for (var, ty) in &scope.types {
        cx.environment.bind_type(*var, ty.clone());
    }
    for (var, binding) in &scope.vars {
        cx.environment.bind(*var, binding.clone());
    }
    for (instance, object) in &scope.instances {
        cx.environment.bind_instance(*instance, *object);
    }
}

fn control(
    cx: &mut Context,
    id: hir::ControlId,
    type_args: &[Type],
    args: Vec<Option<Value>>,
    path: String,
) -> ObjectId {
    let control = &cx.hir.controls[id.index()];
    let mut scope = scope(
        cx,
        path,
        &control.type_params,
        type_args,
        &control.constructor_params,
        args,
    );
    if let Some(body) = &control.body {
        locals(cx, &body.locals, &mut scope);
        statement_instances(cx, &body.apply.statements, &mut scope);
        count_applications(cx, &body.apply.statements);
    }
    cx.add_object(Object::Control(ControlInstance {
        control: id,
        scope,
        apply_sites: 0,
        is_bound: false,
        is_top: false,
        tables: HashMap::new(),
        actions: HashMap::new(),
        exit_flag: None,
    }))
}

fn parser(cx: &mut Context, id: hir::ParserId, type_args: &[Type], args: Vec<Option<Value>>, path: String) -> ObjectId {
    let parser = &cx.hir.parsers[id.index()];
    let mut scope = scope(
        cx,
        path,
        &parser.type_params,
        type_args,
        &parser.constructor_params,
        args,
    );
    let mut value_sets = HashMap::new();
    if let Some(body) = &parser.body {
        locals(cx, &body.locals, &mut scope);
        for state in &body.states {
            statement_instances(cx, &state.statements, &mut scope);
            count_applications(cx, &state.statements);
        }
        for local in &body.locals {
            if let Local::ValueSet(set) = local {
                let lowered = crate::select::declare_value_set(cx, *set, &scope.path);
                value_sets.insert(*set, lowered);
            }
        }
    }
    cx.add_object(Object::Parser(ParserInstance {
        parser: id,
        scope,
        value_sets,
    }))
}

fn locals(cx: &mut Context, locals: &[Local], scope: &mut Scope) {
    for local in locals {
        if let Local::Instance(id) = local {
            child(cx, *id, scope);
        }
    }
}

fn statement_instances(cx: &mut Context, statements: &[hir::Statement], scope: &mut Scope) {
    let hir = cx.hir;
    instances_in(hir, statements).for_each(|id| child(cx, id, scope));
}

/// The instances that blocks and parser states declare, and those that direct applications make.
pub fn instances_in(hir: &hir::Program, statements: &[hir::Statement]) -> impl Iterator<Item = hir::InstanceId> {
    let nodes = hir::nodes(statements.iter().map(Node::Statement));
    nodes.filter_map(|node| match node {
        Node::Statement(statement) => match statement.kind {
            StatementKind::Instance(id) => Some(id),
            _ => None,
        },
        Node::Block(_) | Node::Expr(_) => match &node.call()?.0.callee {
            Callee::Apply(receiver) => match receiver.kind {
                ExprKind::Instance(id) => hir.instances[id.index()].is_direct.then_some(id),
                _ => None,
            },
            _ => None,
        },
    })
}

fn child(cx: &mut Context, id: hir::InstanceId, scope: &mut Scope) {
    let path = scope.path.clone();
    if let Some(object) = declared(cx, id, &path) {
        scope.instances.push((id, object));
    }
}

/// Counts the applications of controls: a control that is applied several times cannot share the storage of its
/// arguments.
fn count_applications(cx: &mut Context, statements: &[hir::Statement]) {
    for (call, _) in hir::calls(statements.iter().map(Node::Statement)) {
        let Callee::Apply(receiver) = &call.callee else {
            continue;
        };
        let object = match &receiver.kind {
            ExprKind::Instance(id) => cx.environment.instance(*id),
            ExprKind::Var(var) => match cx.environment.var(*var) {
                Some(Binding::Value(Value::Object(object))) => Some(*object),
                _ => None,
            },
            _ => None,
        };
        if let Some(Object::Control(control)) = object.map(|id| &mut cx.objects[id.0]) {
            control.apply_sites += 1;
        }
    }
}

/// Elaborates the instance that is the value of a table property. Its name is the property's `@name` without the
/// control's name in front, or else the table's name.
pub fn property(
    cx: &mut Context,
    declaration: &hir::Instance,
    written: &hir::Annotations,
    table: &str,
) -> Option<ObjectId> {
    let path = names::control_plane_name("", table, written);
    make(cx, declaration, path)
}
