//! Calls: functions and actions are inlined; other calls are passed to the modules for them.

use crate::assign;
use crate::binding::{self, Actual, Policy};
use crate::build;
use crate::context::Context;
use crate::control;
use crate::environment::Binding;
use crate::expression;
use crate::externs;
use crate::graph::{self, InlinedCall};
use crate::limits;
use crate::object::Object;
use crate::parser;
use crate::place::{self, Place};
use crate::stack;
use crate::statement;
use crate::storage::{self, Storage};
use crate::table;
use crate::types;
use crate::value::Value;
use forebay_check::hir::{self, Call, Callee, Type};
use forebay_ir::Expr;
use forebay_syntax::codes::lower as codes;
use forebay_syntax::source::Span;

/// Evaluates a call.
pub fn call(cx: &mut Context, call: &Call, span: Span) -> Value {
    match &call.callee {
        Callee::Function(id) if cx.hir.functions[id.index()].body.is_none() => externs::function(cx, *id, call, span),
        Callee::Function(id) => limits::inlined(cx, span, |cx| function(cx, *id, call, span)).unwrap_or(Value::Void),
        Callee::Action(id) => {
            limits::inlined(cx, span, |cx| direct_action(cx, *id, call, span));
            Value::Void
        }
        Callee::Method {
            receiver,
            extern_type,
            method,
        } => externs::method(cx, receiver, *extern_type, *method, call, span),
        Callee::TableApply(table) => {
            table::apply(cx, table, None, None);
            Value::Void
        }
        Callee::Apply(receiver) => {
            apply(cx, receiver, call, span);
            Value::Void
        }
        Callee::IsValid(receiver) => Value::Scalar(is_valid(cx, receiver)),
        Callee::SetValid(receiver) => set_validity(cx, receiver, true),
        Callee::SetInvalid(receiver) => set_validity(cx, receiver, false),
        Callee::PushFront(receiver, count) => {
            let place = place::place(cx, receiver);
            let count = stack::shift_count(cx, count);
            stack::push_front(cx, &place, &receiver.ty, count);
            Value::Void
        }
        Callee::PopFront(receiver, count) => {
            let place = place::place(cx, receiver);
            let count = stack::shift_count(cx, count);
            stack::pop_front(cx, &place, &receiver.ty, count);
            Value::Void
        }
    }
}

fn function(cx: &mut Context, id: hir::FunctionId, call: &Call, span: Span) -> Value {
    let hir = cx.hir;
    let function = &hir.functions[id.index()];
    let Some(body) = &function.body else { return Value::Void };
    let mut type_args = call.type_args.iter();
    if type_args.any(|ty| types::resolved_size(cx, ty) > limits::MAX_TYPE_SIZE) {
        cx.abort(codes::PROGRAM_TOO_LARGE, span, limits::type_too_large());
        return Value::Void;
    }
    let (params, args) = call.in_written_order(&function.params);
    let actuals = binding::evaluate(cx, &params, &args);
    let type_args: Vec<Type> = call.type_args.iter().map(|ty| types::resolve(cx, ty)).collect();
    for (var, ty) in function.type_params.iter().zip(type_args) {
        cx.environment.bind_type(*var, ty);
    }
    let result_type = types::resolve(cx, &function.result);
    let result = (result_type != Type::Void).then(|| {
        let name = format!("{}.{}.$result", cx.body.scope(), function.name);
        storage::local(cx, &result_type, &name, span)
    });
    let bound = binding::bind(cx, &params, actuals, Policy::MayShare, &[], span);
    let block = result.clone();
    inline(cx, bound, block, |cx| statement::block(cx, body));
    result.map_or(Value::Void, |storage| storage.read())
}

/// A direct call of an action: all of its parameters are arguments.
fn direct_action(cx: &mut Context, id: hir::ActionId, call: &Call, span: Span) {
    let action = &cx.hir.actions[id.index()];
    let (params, args) = call.in_written_order(&action.params);
    let actuals = binding::evaluate(cx, &params, &args);
    inline_action(cx, id, &params, actuals, span);
}

/// Inlines an action's body. An action of a control can reach the control's variables, so its arguments are copied.
pub fn inline_action(cx: &mut Context, id: hir::ActionId, params: &[hir::Param], actuals: Vec<Actual>, span: Span) {
    let hir = cx.hir;
    let action = &hir.actions[id.index()];
    let policy = if action.control.is_some() {
        Policy::Copy
    } else {
        Policy::MayShare
    };
    let (params, actuals, data) = split_data(params, actuals);
    let bound = binding::bind(cx, &params, actuals, policy, &[], span);
    for (var, value) in data {
        cx.environment.bind(var, Binding::Value(value));
    }
    inline(cx, bound, None, |cx| statement::block(cx, &action.body));
}

/// Separates constants and action data, which need no storage even where other arguments are copied.
fn split_data(params: &[hir::Param], actuals: Vec<Actual>) -> (Vec<hir::Param>, Vec<Actual>, Vec<(hir::VarId, Value)>) {
    let mut kept = Vec::new();
    let mut stored = Vec::new();
    let mut data = Vec::new();
    for (param, actual) in params.iter().zip(actuals) {
        match actual {
            Actual::Value(Value::Scalar(leaf @ (Expr::Const(_) | Expr::Param { .. }))) => {
                data.push((param.var, Value::Scalar(leaf)));
            }
            actual => {
                kept.push(param.clone());
                stored.push(actual);
            }
        }
    }
    (kept, stored, data)
}

/// Appends a callee's body between the binding of its parameters and the copying out.
pub fn inline(cx: &mut Context, bound: binding::Bound, result: Option<Storage>, body: impl FnOnce(&mut Context)) {
    binding::install(cx, &bound.vars);
    let location = cx.location;
    let return_block = graph::new_block(cx);
    let copy_outs = bound.copy_outs;
    cx.body.calls.push(InlinedCall {
        return_block,
        result,
        copy_outs,
        loops: Vec::new(),
    });
    body(cx);
    let call = cx.body.calls.pop();
    cx.location = location;
    graph::jump(cx, return_block);
    graph::start(cx, return_block);
    if let Some(call) = call {
        binding::copy_out(cx, &call.copy_outs);
    }
}

fn apply(cx: &mut Context, receiver: &hir::Expr, call: &Call, span: Span) {
    let Value::Object(id) = expression::expression(cx, receiver) else {
        return;
    };
    match cx.object(id) {
        Object::Control(_) => {
            limits::inlined(cx, span, |cx| control::inline(cx, id, call, span));
        }
        Object::Parser(_) => {
            limits::inlined(cx, span, |cx| parser::inline(cx, id, call, span));
        }
        _ => cx.error(
            codes::UNSUPPORTED_EXPRESSION,
            span,
            "only a parser or a control can be applied",
        ),
    }
}

/// `h.isValid()` of a header or union.
fn is_valid(cx: &mut Context, receiver: &hir::Expr) -> Expr {
    let value = if place::is_stored(cx, receiver) {
        let place = place::place(cx, receiver);
        let ty = hir::Type::Bool;
        place::read(cx, &validity(&place), &ty)
    } else {
        expression::expression(cx, receiver)
    };
    value_is_valid(&value)
}

fn value_is_valid(value: &Value) -> Expr {
    match value {
        Value::Scalar(valid) => valid.clone(),
        Value::Header { valid, .. } => valid.clone(),
        Value::Union(members) | Value::Group(members) => members
            .iter()
            .map(value_is_valid)
            .fold(build::boolean(false), build::or),
        _ => build::boolean(false),
    }
}

/// The place of the validity bit of a header or union.
fn validity(place: &Place) -> Place {
    let choices = place.choices.iter().map(|choice| {
        let storage = match &choice.storage {
            Storage::Header { valid, .. } => Storage::Scalar(*valid),
            Storage::Union(members) => Storage::Group(
                members
                    .iter()
                    .filter_map(|member| match member {
                        Storage::Header { valid, .. } => Some(Storage::Scalar(*valid)),
                        _ => None,
                    })
                    .collect(),
            ),
            other => other.clone(),
        };
        place::Choice {
            storage,
            guard: choice.guard.clone(),
            siblings: Vec::new(),
        }
    });
    Place {
        choices: choices.collect(),
        part: None,
    }
}

/// `setValid()` and `setInvalid()`: both make the other members of the header's union invalid (§8.21).
///
/// The fields of a header that becomes valid are set to zero. The specification leaves them open; BMv2 clears them,
/// and so earlier contents of the header do not leak into the packet.
fn set_validity(cx: &mut Context, receiver: &hir::Expr, valid: bool) -> Value {
    let place = place::place(cx, receiver);
    if valid {
        clear_unless_valid(cx, &place);
    }
    assign::write(cx, &validity(&place), Value::boolean(valid));
    invalidate_siblings(cx, &place);
    Value::Void
}

/// Sets every field of a header that is invalid now to zero.
fn clear_unless_valid(cx: &mut Context, place: &Place) {
    for choice in &place.choices {
        let Storage::Header { valid, .. } = &choice.storage else {
            continue;
        };
        let kept = match &choice.guard {
            Some(guard) => build::or(Expr::Slot(*valid), build::not(guard.clone())),
            None => Expr::Slot(*valid),
        };
        for slot in choice.storage.slots().into_iter().filter(|slot| slot != valid) {
            let zero = build::constant(cx.program.slot(slot).width, 0);
            graph::assign(cx, slot, build::mux(kept.clone(), Expr::Slot(slot), zero));
        }
    }
}

/// Makes the other members of a header's union invalid.
pub fn invalidate_siblings(cx: &mut Context, place: &Place) {
    for choice in &place.choices {
        let siblings = choice
            .siblings
            .iter()
            .map(|slot| Storage::Scalar(*slot))
            .collect::<Vec<_>>();
        for storage in siblings {
            let sibling = place::Choice {
                guard: choice.guard.clone(),
                storage,
                siblings: Vec::new(),
            };
            assign::write(
                cx,
                &Place {
                    choices: vec![sibling],
                    part: None,
                },
                Value::boolean(false),
            );
        }
    }
}
