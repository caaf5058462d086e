//! Arguments and parameters (§6.8): copy-in, copy-out, and when no copy is needed.
//!
//! P4 defines calls by copying. A parameter can nevertheless *be* its argument's storage if the difference cannot be
//! observed: the argument is a plain variable (not one of several, not a slice, not a member of a union), the callee
//! cannot reach that variable in another way, and it overlaps with no other argument that the call writes.
//! Sub-controls that take all headers and metadata, as most do, then cost nothing.

use crate::assign;
use crate::build;
use crate::context::Context;
use crate::environment::Binding;
use crate::expression;
use crate::graph;
use crate::place::{self, Place};
use crate::storage::{self, Storage};
use crate::types;
use crate::value::Value;
use forebay_check::hir::{self, Argument, Param};
use forebay_ir::{Expr, SlotId};
use forebay_syntax::ast::Direction;
use forebay_syntax::source::Span;
use std::collections::HashSet;

/// An evaluated argument.
#[derive(Clone, Debug)]
pub enum Actual {
    /// A value.
    Value(Value),
    /// A variable: for `out` and `inout`, or a value that need not be copied.
    Place(Place),
    /// An `inout` argument that a later argument may change, with the value that was read before.
    ReadPlace(Place, Value),
    /// `_`, or an omitted argument.
    Nothing,
}

/// How parameters may be bound.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Policy {
    /// To the arguments themselves, where that cannot be distinguished from a copy.
    MayShare,
    /// Always to copies.
    Copy,
}

/// Parameters with their meanings, and what must be copied back.
#[derive(Debug, Default)]
pub struct Bound {
    /// Meaning of each parameter.
    pub vars: Vec<(hir::VarId, Binding)>,
    /// Targets of `out` and `inout` arguments and what to copy there.
    pub copy_outs: Vec<(Place, Storage)>,
}

/// Evaluates arguments from left to right.
pub fn evaluate(cx: &mut Context, params: &[Param], args: &[Argument]) -> Vec<Actual> {
    let mut actuals = Vec::new();
    for (index, (param, arg)) in params.iter().zip(args).enumerate() {
        let mut later = args[index + 1..].iter().filter_map(Argument::value);
        let later_effects = later.any(expression::has_effects);
        let Some(expr) = arg.value() else {
            actuals.push(default_argument(cx, param));
            continue;
        };
        actuals.push(evaluate_one(cx, param.direction, expr, later_effects));
    }
    actuals
}

fn evaluate_one(cx: &mut Context, direction: Direction, expr: &hir::Expr, later_effects: bool) -> Actual {
    let stored = place::is_stored(cx, expr);
    match direction {
        Direction::None | Direction::In if stored && !later_effects => Actual::Place(place::place(cx, expr)),
        Direction::None | Direction::In => {
            let value = expression::expression(cx, expr);
            Actual::Value(if later_effects { graph::save(cx, value) } else { value })
        }
        Direction::Out => Actual::Place(place::place(cx, expr)),
        Direction::InOut => {
            let place = place::place(cx, expr);
            if !later_effects {
                return Actual::Place(place);
            }
            let value = place::read(cx, &place, &expr.ty);
            Actual::ReadPlace(place, graph::save(cx, value))
        }
    }
}

fn default_argument(cx: &mut Context, param: &Param) -> Actual {
    match &param.default {
        Some(default) if param.direction != Direction::Out => Actual::Value(expression::expression(cx, default)),
        _ => Actual::Nothing,
    }
}

/// Binds parameters to arguments, and copies in. `previous` are the meanings that the parameters must keep: those of a
/// control that was applied before.
pub fn bind(
    cx: &mut Context,
    params: &[Param],
    actuals: Vec<Actual>,
    policy: Policy,
    previous: &[(hir::VarId, Binding)],
    span: Span,
) -> Bound {
    let written = Written::new(params, &actuals);
    let mut bound = Bound::default();
    let mut resets = Vec::new();
    for (index, (param, actual)) in params.iter().zip(actuals).enumerate() {
        let earlier = previous
            .iter()
            .find(|(var, _)| *var == param.var)
            .map(|(_, binding)| binding);
        let writable = matches!(param.direction, Direction::Out | Direction::InOut);
        let shared = match &actual {
            Actual::Place(place) => place.as_storage().filter(|storage| match earlier {
                Some(Binding::Storage(earlier)) => earlier == *storage,
                Some(Binding::Value(_)) => false,
                None => policy == Policy::MayShare && !written.by_others(index, storage),
            }),
            _ => None,
        };
        if let Some(storage) = shared {
            if param.direction == Direction::Out {
                resets.push(storage.clone());
            }
            bound.vars.push((param.var, Binding::Storage(storage.clone())));
            continue;
        }
        if let Some(value) = known_value(&actual, policy, earlier) {
            bound.vars.push((param.var, Binding::Value(value)));
            continue;
        }
        let storage = match earlier {
            Some(Binding::Storage(storage)) => storage.clone(),
            _ => own_storage(cx, param, span),
        };
        copy_in(
            cx,
            param.direction,
            &actual,
            &storage,
            &cx.hir.vars[param.var.index()].ty.clone(),
        );
        if let (true, Actual::Place(place) | Actual::ReadPlace(place, _)) = (writable, actual) {
            bound.copy_outs.push((place, storage.clone()));
        }
        bound.vars.push((param.var, Binding::Storage(storage)));
    }
    for storage in resets {
        storage::reset(cx, &storage);
    }
    bound
}

/// Makes these bindings the current ones.
pub fn install(cx: &mut Context, vars: &[(hir::VarId, Binding)]) {
    for (var, binding) in vars {
        cx.environment.bind(*var, binding.clone());
    }
}

/// Copies `out` and `inout` parameters back, from left to right.
pub fn copy_out(cx: &mut Context, copies: &[(Place, Storage)]) {
    for (place, storage) in copies {
        assign::write(cx, place, storage.read());
    }
}

fn own_storage(cx: &mut Context, param: &Param, span: Span) -> Storage {
    let var = &cx.hir.vars[param.var.index()];
    let name = format!("{}.{}", cx.body.scope(), var.name);
    let ty = types::resolve(cx, &var.ty);
    storage::local(cx, &ty, &name, span)
}

/// The value of an argument that need not be stored: objects, strings and `int`s always; constants unless another
/// application may pass others.
fn known_value(actual: &Actual, policy: Policy, earlier: Option<&Binding>) -> Option<Value> {
    let Actual::Value(value) = actual else { return None };
    match value {
        Value::Object(_) | Value::Text(_) | Value::Integer(_) => Some(value.clone()),
        Value::Void => None,
        _ if policy == Policy::Copy || matches!(earlier, Some(Binding::Storage(_))) => None,
        _ => {
            let mut is_known = true;
            value.visit(&mut |leaf| is_known &= matches!(leaf, Expr::Const(_) | Expr::Param { .. }));
            is_known.then(|| value.clone())
        }
    }
}

fn copy_in(cx: &mut Context, direction: Direction, actual: &Actual, storage: &Storage, ty: &hir::Type) {
    match (direction, actual) {
        (Direction::Out, _) => storage::reset(cx, storage),
        (_, Actual::Value(value) | Actual::ReadPlace(_, value)) => assign::write_whole(cx, storage, value.clone()),
        (_, Actual::Place(place)) => {
            let value = place::read(cx, place, ty);
            assign::write_whole(cx, storage, value);
        }
        (_, Actual::Nothing) => {
            for slot in storage.slots() {
                let width = cx.program.slot(slot).width;
                graph::assign(cx, slot, build::constant(width, 0));
            }
        }
    }
}

/// The slots that each `out` and `inout` argument of a call may change.
struct Written(Vec<(usize, HashSet<SlotId>)>);

impl Written {
    fn new(params: &[Param], actuals: &[Actual]) -> Written {
        let pairs = params.iter().zip(actuals).enumerate();
        let writable = pairs.filter(|(_, (param, _))| matches!(param.direction, Direction::Out | Direction::InOut));
        let written = writable.filter_map(|(index, (_, actual))| match actual {
            Actual::Place(place) | Actual::ReadPlace(place, _) => Some((index, place.slots().into_iter().collect())),
            Actual::Value(_) | Actual::Nothing => None,
        });
        Written(written.collect())
    }

    /// Whether another argument changes a part of this one's storage, so that sharing it could be observed.
    fn by_others(&self, index: usize, storage: &Storage) -> bool {
        let slots = storage.slots();
        let mut others = self.0.iter().filter(|(other, _)| *other != index);
        others.any(|(_, written)| slots.iter().any(|slot| written.contains(slot)))
    }
}
