//! Actions as tables invoke them.
//!
//! Action data are parameters of the IR action. Directional parameters are bound in the table's list of actions and
//! disappear. So an action has one instance in the IR for each control instance, and one more for each table that
//! binds arguments.

use crate::binding::{self, Actual};
use crate::call;
use crate::context::Context;
use crate::control;
use crate::graph::{self, ExitMode};
use crate::names;
use crate::object::ObjectId;
use crate::storage;
use crate::types::{self, Scalar};
use crate::value::Value;
use forebay_check::annotations;
use forebay_check::hir::{self, Callee, Node, StatementKind};
use forebay_ir::{self as ir, BodyId, BodyKind, Expr, SlotKind};
use forebay_syntax::ast::Direction;
use forebay_syntax::codes::lower as codes;
use std::collections::HashSet;

/// The IR action for an entry of a table's list.
pub fn for_table(cx: &mut Context, owner: ObjectId, listed: &hir::TableAction) -> ir::ActionId {
    // An action that changes the table's entries belongs to that table alone.
    let shared = listed.args.is_empty() && cx.learning.is_none();
    if shared && let Some(known) = control::instance(cx, owner).and_then(|it| it.actions.get(&listed.action).copied()) {
        return known;
    }
    let id = lower(cx, owner, listed);
    if shared && let Some(instance) = control::instance(cx, owner) {
        instance.actions.insert(listed.action, id);
    }
    id
}

/// The action that does nothing, for tables without a default action in programs without `NoAction`.
pub fn do_nothing(cx: &mut Context) -> ir::ActionId {
    let interrupted = graph::begin(cx, "NoAction".to_string(), BodyKind::Action);
    let body = graph::end(cx, interrupted);
    add(cx, "NoAction".to_string(), Vec::new(), body)
}

fn add(cx: &mut Context, name: String, params: Vec<ir::ActionParam>, body: ir::Body) -> ir::ActionId {
    let body_id = BodyId(cx.program.bodies.len() as u32);
    cx.program.bodies.push(body);
    let id = ir::ActionId(cx.program.actions.len() as u32);
    cx.program.actions.push(ir::Action {
        name,
        params,
        body: body_id,
    });
    id
}

/// Control-plane name of an action used in a control.
pub fn name(scope: &str, action: &hir::Action) -> String {
    let scope = if action.control.is_some() { scope } else { "" };
    names::control_plane_name(scope, &action.name, &action.annotations)
}

fn lower(cx: &mut Context, owner: ObjectId, listed: &hir::TableAction) -> ir::ActionId {
    let id = listed.action;
    let action = &cx.hir.actions[id.index()];
    let scope = control::instance(cx, owner).map_or(String::new(), |instance| instance.scope.path.clone());
    let name = name(&scope, action);
    let mode = exit_mode(cx, owner, id);
    let interrupted = graph::begin(cx, name.clone(), BodyKind::Action);
    let location = cx.location;
    cx.location = cx.locate(action.span);
    cx.body.exit = mode;
    let mut params = Vec::new();
    let (data, bound): (Vec<_>, Vec<_>) =
        (action.params.iter().cloned()).partition(|param| param.direction == Direction::None);
    let data_values = data
        .iter()
        .map(|param| Actual::Value(data_param(cx, param, &mut params)));
    let mut actuals: Vec<Actual> = data_values.collect();
    let in_written_order = |index: &usize| Some((bound.get(*index)?.clone(), listed.args.get(*index)?.clone()));
    let (bound, args): (Vec<_>, Vec<_>) = listed.written.iter().filter_map(in_written_order).unzip();
    let args: Vec<_> = args.into_iter().map(hir::Argument::Value).collect();
    actuals.extend(binding::evaluate(cx, &bound, &args));
    let all: Vec<hir::Param> = data.into_iter().chain(bound).collect();
    call::inline_action(cx, id, &all, actuals, listed.span);
    let body = graph::end(cx, interrupted);
    cx.location = location;
    add(cx, name, params, body)
}

/// A parameter whose value the control plane provides: it must fit one field of a table entry.
fn data_param(cx: &mut Context, param: &hir::Param, params: &mut Vec<ir::ActionParam>) -> Value {
    let var = &cx.hir.vars[param.var.index()];
    let Some(Scalar { width, signed }) = types::scalar(cx, &var.ty) else {
        let message = format!("the control plane cannot give `{}` a value of this type", var.name);
        cx.error(codes::UNSUPPORTED_TYPE, var.span, message);
        let ty = types::resolve(cx, &var.ty);
        return crate::value::zero(cx, &ty);
    };
    let index = params.len() as u32;
    params.push(ir::ActionParam {
        name: annotations::name(&var.annotations).unwrap_or(&var.name).to_string(),
        width,
        signed,
    });
    Value::Scalar(Expr::Param { index, width })
}

/// How an action exits. An action of a control that is inlined into another one cannot leave both at once, because the
/// application must first copy out. It sets a flag of the control instead.
fn exit_mode(cx: &mut Context, owner: ObjectId, id: hir::ActionId) -> ExitMode {
    let is_top = control::instance(cx, owner).is_none_or(|instance| instance.is_top);
    if is_top || !may_exit(cx, id, &mut HashSet::new()) {
        return ExitMode::Plain;
    }
    ExitMode::Flag(exit_flag(cx, owner))
}

fn exit_flag(cx: &mut Context, owner: ObjectId) -> ir::SlotId {
    if let Some(flag) = control::instance(cx, owner).and_then(|instance| instance.exit_flag) {
        return flag;
    }
    let path = control::instance(cx, owner).map_or(String::new(), |instance| instance.scope.path.clone());
    let bit = Scalar {
        width: 1,
        signed: false,
    };
    let flag = storage::slot(cx, format!("{path}.$exit"), bit, SlotKind::Local);
    if let Some(instance) = control::instance(cx, owner) {
        instance.exit_flag = Some(flag);
    }
    flag
}

/// Whether an action, or one that it calls, contains `exit`.
fn may_exit(cx: &Context, id: hir::ActionId, seen: &mut HashSet<hir::ActionId>) -> bool {
    if !seen.insert(id) {
        return false;
    }
    let mut nodes = hir::nodes([Node::Block(&cx.hir.actions[id.index()].body)]);
    nodes.any(|node| match node {
        Node::Statement(statement) => matches!(statement.kind, StatementKind::Exit),
        Node::Block(_) | Node::Expr(_) => node
            .call()
            .is_some_and(|(call, _)| matches!(call.callee, Callee::Action(id) if may_exit(cx, id, seen))),
    })
}
