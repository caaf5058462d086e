//! Controls: the blocks of the architecture, and sub-controls inlined into them.

use crate::binding::{self, Bound, Policy};
use crate::call;
use crate::context::Context;
use crate::elaborate;
use crate::environment::Binding;
use crate::externs;
use crate::graph;
use crate::object::{ControlInstance, Object, ObjectId};
use crate::statement;
use forebay_check::hir::{self, Call, ControlBody, Local};
use forebay_ir::{Body, BodyKind};
use forebay_syntax::source::Span;

/// The instance that an object is. Callers have already checked that it is a control.
pub fn instance<'c>(cx: &'c mut Context, id: ObjectId) -> Option<&'c mut ControlInstance> {
    match &mut cx.objects[id.0] {
        Object::Control(instance) => Some(instance),
        _ => None,
    }
}

/// Lowers a block of the architecture, whose parameters have the given meanings.
pub fn lower_top(cx: &mut Context, id: ObjectId, params: Vec<Binding>, kind: BodyKind) -> Option<Body> {
    let instance = instance(cx, id)?;
    instance.is_top = true;
    let (declaration, scope) = (instance.control, instance.scope.clone());
    let control = &cx.hir.controls[declaration.index()];
    let body = control.body.as_ref()?;
    let interrupted = graph::begin(cx, scope.path.clone(), kind);
    elaborate::install(cx, &scope);
    let vars = control
        .params
        .iter()
        .map(|param| param.var)
        .zip(params)
        .collect::<Vec<_>>();
    binding::install(cx, &vars);
    remember(cx, id, &vars, body);
    in_control(cx, id, |cx| {
        statement::atomically(cx, &control.annotations, |cx| apply_body(cx, body));
    });
    Some(graph::end(cx, interrupted))
}

/// Inlines the application of a sub-control.
pub fn inline(cx: &mut Context, id: ObjectId, call: &Call, span: Span) {
    let Some(instance) = instance(cx, id) else { return };
    let (declaration, scope) = (instance.control, instance.scope.clone());
    let (is_bound, sites) = (instance.is_bound, instance.apply_sites);
    let control = &cx.hir.controls[declaration.index()];
    let Some(body) = &control.body else { return };
    let (params, args) = call.in_written_order(&control.params);
    let actuals = binding::evaluate(cx, &params, &args);
    elaborate::install(cx, &scope);
    let policy = if sites > 1 { Policy::Copy } else { Policy::MayShare };
    let previous = if is_bound { scope.vars.as_slice() } else { &[] };
    let outer_scope = cx.body.enter_scope(scope.path.clone());
    let bound = binding::bind(cx, &params, actuals, policy, previous, span);
    if !is_bound {
        binding::install(cx, &bound.vars);
        remember(cx, id, &bound.vars, body);
    }
    let Bound { vars, copy_outs } = bound;
    in_control(cx, id, |cx| {
        call::inline(cx, Bound { vars, copy_outs }, None, |cx| {
            externs::portable::clear_checksums(cx, &scope.instances);
            statement::atomically(cx, &control.annotations, |cx| apply_body(cx, body));
        });
    });
    cx.body.enter_scope(outer_scope);
}

/// Gives the local variables storage, and stores their bindings and those of the parameters with the instance.
fn remember(cx: &mut Context, id: ObjectId, params: &[(hir::VarId, Binding)], body: &ControlBody) {
    let mut vars = params.to_vec();
    for local in &body.locals {
        if let Local::Var(var, _) = local {
            let storage = statement::declare(cx, *var);
            vars.push((*var, Binding::Storage(storage)));
        }
    }
    if let Some(instance) = instance(cx, id) {
        instance.scope.vars.extend(vars);
        instance.is_bound = true;
    }
}

fn in_control(cx: &mut Context, id: ObjectId, inner: impl FnOnce(&mut Context)) {
    let outer = cx.control.replace(id);
    inner(cx);
    cx.control = outer;
}

fn apply_body(cx: &mut Context, body: &ControlBody) {
    for local in &body.locals {
        if let Local::Var(var, value) = local {
            cx.location = cx.locate(cx.hir.vars[var.index()].span);
            if let Some(Binding::Storage(storage)) = cx.environment.var(*var).cloned() {
                statement::initialise(cx, &storage, value.as_ref());
            }
        }
    }
    statement::block(cx, &body.apply);
}
