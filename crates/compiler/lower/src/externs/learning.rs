//! Entries that the data plane adds and changes: `add_entry`, `set_entry_expire_time`, `allocate_flow_id` and similar
//! functions of PNA, and `add_entry_pair` of forebay.p4.
//!
//! An action describes an entry for its table in a message ([`Recipient`]): the key that was looked up, the action's
//! data and the number of an expiry profile.

use super::{Args, message};
use crate::build;
use crate::context::Context;
use crate::control;
use crate::graph;
use crate::names;
use crate::object::ObjectId;
use crate::storage;
use crate::table;
use crate::types;
use crate::value::Value;
use forebay_check::annotations;
use forebay_check::hir::{self, Type};
use forebay_ir::{self as ir, BinaryOp, Digest, DigestId, Expr, Op, Recipient, RegisterId, TableId};
use forebay_syntax::ast::{Annotation, CompositeKind, Direction};
use forebay_syntax::codes::lower as codes;
use forebay_syntax::diagnostic::Diagnostic;
use forebay_syntax::source::Span;
use num_traits::ToPrimitive;

/// The property of tables to which the data plane adds entries.
pub const ADD_ON_MISS: &str = "add_on_miss";

/// The property of tables whose entries are deleted when no packet has hit them for a time.
const AUTO_DELETE: &str = "idle_timeout_with_auto_delete";

/// Properties of tables whose actions may change entries.
pub const PROPERTIES: &[&str] = &[ADD_ON_MISS, "pna_idle_timeout", AUTO_DELETE];

/// Width of an expiry profile's number.
const PROFILE_WIDTH: u32 = 8;

/// Width of `AddEntryErrorStatus_t`.
const STATUS_WIDTH: u32 = 1;

/// The result of `add_entry` when an entry is added.
const ADD_ENTRY_SUCCESS: u128 = 0;

/// The result of `add_entry_if` when no entry is to be added.
const ADD_ENTRY_NOT_DONE: u128 = 1;

/// Seconds of the expiry profiles from a table's `@expire_seconds(...)`.
pub fn expire_seconds(given: &[Annotation]) -> Vec<u64> {
    let annotation = annotations::find(given, "expire_seconds");
    let values = annotation.map(annotations::values).unwrap_or_default();
    let seconds = values.into_iter().map(|value| match value {
        annotations::Value::Int(seconds) => seconds.to_u64().unwrap_or(0),
        _ => 0,
    });
    seconds.collect()
}

/// A table while its actions are lowered.
#[derive(Clone, Debug)]
pub struct Learning {
    declared: hir::TableId,
    table: ir::TableId,
    /// Names and widths of the key fields, and the expressions with the key that was looked up.
    keys: Vec<(String, u32, Expr)>,
}

impl Learning {
    /// The table that will have this number.
    pub fn new(declared: hir::TableId, table: ir::TableId, keys: &[ir::TableKey]) -> Learning {
        let key = |key: &ir::TableKey| (key.name.clone(), key.width, key.expr.clone());
        Learning {
            declared,
            table,
            keys: keys.iter().map(key).collect(),
        }
    }
}

/// A pair of entries whose second table had not been lowered when the message was declared.
#[derive(Clone, Debug)]
pub struct PendingPair {
    digest: DigestId,
    owner: ObjectId,
    reverse: hir::TableId,
    /// Widths of the reverse key.
    widths: Vec<u32>,
    span: Span,
}

/// `add_entry(action_name, action_params, expire_time_profile_id)`. The result is true or `ADD_ENTRY_SUCCESS`, because
/// the table decides later.
pub fn add_entry(cx: &mut Context, args: &Args, result: &Type, span: Span) -> Value {
    add(cx, "add_entry", args, 0, span);
    match types::resolve(cx, result) {
        Type::Bool => Value::boolean(true),
        _ => Value::Scalar(build::constant(STATUS_WIDTH, ADD_ENTRY_SUCCESS)),
    }
}

/// `add_entry_if(do_add_entry, action_name, action_params, expire_time_profile_id)`
pub fn add_entry_if(cx: &mut Context, args: &Args, span: Span) -> Value {
    let condition = args.scalar(cx, 0);
    let condition = graph::save_expr(cx, condition);
    graph::when(cx, condition.clone(), |cx| add(cx, "add_entry_if", args, 1, span));
    let [success, not_done] = [ADD_ENTRY_SUCCESS, ADD_ENTRY_NOT_DONE].map(|value| build::constant(STATUS_WIDTH, value));
    Value::Scalar(build::mux(condition, success, not_done))
}

/// Adds an entry. The action, the data and the profile are in three arguments, from index `first` on.
fn add(cx: &mut Context, function: &str, args: &Args, first: usize, span: Span) {
    let Some(learning) = adding(cx, function, span) else {
        return;
    };
    let Some((action, data)) = action_with_data(cx, learning.declared, args, first) else {
        return;
    };
    let to = Recipient::NewEntry {
        table: learning.table,
        action,
    };
    send(cx, &learning, to, "$add_entry", data, args, first + 2);
}

/// `add_entry_pair(action_name, action_params, reverse_table, reverse_key, reverse_action_name, reverse_params,
/// expire_time_profile_id)`. The result is true, because the tables decide later.
pub fn add_entry_pair(cx: &mut Context, args: &Args, span: Span) -> Value {
    let done = Value::boolean(true);
    let Some(learning) = adding(cx, "add_entry_pair", span) else {
        return done;
    };
    let Some((action, mut data)) = action_with_data(cx, learning.declared, args, 0) else {
        return done;
    };
    let Some(reverse) = learning_table(cx, args, 2) else {
        return done;
    };
    let key = args.value(cx, 3).scalars();
    let widths: Vec<u32> = key.iter().map(|value| value.width(&cx.program)).collect();
    let Some((reverse_action, reverse_data)) = action_with_data(cx, reverse, args, 4) else {
        return done;
    };
    data.extend(key);
    data.extend(reverse_data);
    let to = Recipient::NewPair {
        table: learning.table,
        action,
        reverse: TableId(u32::MAX),
        reverse_action,
    };
    let kind = format!("$add_entry_pair.{}", cx.hir.tables[reverse.index()].name);
    let digest = send(cx, &learning, to, &kind, data, args, 6);
    if let Some(owner) = cx.control {
        cx.pending_pairs.push(PendingPair {
            digest,
            owner,
            reverse,
            widths,
            span,
        });
    }
    done
}

/// Sets the second tables of pairs of entries, after all tables are known.
pub fn complete_pairs(cx: &mut Context) {
    for pair in std::mem::take(&mut cx.pending_pairs) {
        let declared = &cx.hir.tables[pair.reverse.index()];
        let instance = control::instance(cx, pair.owner);
        let Some(id) = instance.and_then(|instance| instance.tables.get(&pair.reverse).copied()) else {
            let message = format!("the table `{}` is never applied", declared.name);
            cx.error(codes::INVALID_ENTRY, pair.span, message);
            continue;
        };
        let keys = cx.program.tables[id.index()].keys.iter();
        if !keys.map(|key| key.width).eq(pair.widths) {
            let message = format!("the values do not fit the key of `{}`", declared.name);
            cx.error(codes::INVALID_ENTRY, pair.span, message);
        }
        if let Recipient::NewPair { reverse, .. } = &mut cx.program.digests[pair.digest.index()].to {
            *reverse = id;
        }
    }
}

/// The table with add_on_miss of the current control that an argument names.
fn learning_table(cx: &mut Context, args: &Args, index: usize) -> Option<hir::TableId> {
    let Value::Text(name) = args.value(cx, index) else {
        return None;
    };
    let tables = cx.hir.tables.iter();
    let owner = cx
        .control
        .and_then(|owner| control::instance(cx, owner))
        .map(|instance| instance.control);
    let found = (0..)
        .zip(tables)
        .find(|(_, table)| table.name == name && Some(table.control) == owner);
    let Some((id, _)) = found else {
        let message = format!("this control has no table `{name}`");
        cx.error(codes::INVALID_ENTRY, args.span(index), message);
        return None;
    };
    if !table::property_is(cx, hir::TableId(id), ADD_ON_MISS, true) {
        let message = format!("the table `{name}` does not have `{ADD_ON_MISS} = true`");
        cx.error(codes::INVALID_ENTRY, args.span(index), message);
        return None;
    }
    Some(hir::TableId(id))
}

/// The index in a table's list of the action that an argument names, and the data in the next argument.
fn action_with_data(cx: &mut Context, table: hir::TableId, args: &Args, index: usize) -> Option<(u32, Vec<Expr>)> {
    let Value::Text(name) = args.value(cx, index) else {
        return None;
    };
    let hir = cx.hir;
    let declared = &hir.tables[table.index()];
    let named = |listed: &hir::TableAction| cx.hir.actions[listed.action.index()].name == name;
    let Some(action) = declared.actions.iter().position(named) else {
        let message = format!("the table `{}` has no action `{name}`", declared.name);
        cx.error(codes::INVALID_ENTRY, args.span(index), message);
        return None;
    };
    if annotations::has(&declared.actions[action].annotations, "defaultonly") {
        let message = format!("`{name}` is marked @defaultonly");
        cx.error(codes::INVALID_ENTRY, args.span(index), message);
        return None;
    }
    let params = &hir.actions[declared.actions[action].action.index()].params;
    let (names, widths): (Vec<&str>, Vec<u32>) = params
        .iter()
        .filter(|param| param.direction == Direction::None)
        .map(|param| &hir.vars[param.var.index()])
        .filter_map(|var| types::scalar(cx, &var.ty).map(|scalar| (var.name.as_str(), scalar.width)))
        .unzip();
    let data = data_of(cx, args, index + 1, &name, &names)?;
    let given: Vec<u32> = data.iter().map(|value| value.width(&cx.program)).collect();
    if given != widths {
        let message = format!("the values do not fit the parameters of `{name}`");
        cx.error(codes::INVALID_ENTRY, args.span(index + 1), message);
        return None;
    }
    Some((action as u32, data))
}

/// The values that an argument passes to an action: the members of a struct by the names of the parameters, as in PNA
/// 7.1; otherwise all values in order.
fn data_of(cx: &mut Context, args: &Args, index: usize, action: &str, params: &[&str]) -> Option<Vec<Expr>> {
    let value = args.value(cx, index);
    let ty = types::resolve(cx, &args.ty(index));
    let fields = match &ty {
        Type::Composite(id, type_args) if types::composite_kind(cx, &ty) == Some(CompositeKind::Struct) => {
            types::fields(cx, *id, type_args)
        }
        Type::Record(fields) => fields.to_vec(),
        _ => return Some(value.scalars()),
    };
    let place = |param: &str| fields.iter().position(|(field, _)| field == param);
    let places: Option<Vec<usize>> = params.iter().map(|param| place(param)).collect();
    let Some(places) = places.filter(|places| places.len() == fields.len()) else {
        let message = format!("the members of this struct are not named as the parameters of `{action}`");
        let listed = params.iter().map(|param| format!("`{param}`")).collect::<Vec<_>>();
        let hint = format!("the parameters are ({})", listed.join(", "));
        let diagnostic = Diagnostic::error(codes::INVALID_ENTRY, args.span(index), message);
        cx.diagnostics.push(diagnostic.hint(hint));
        return None;
    };
    let member = |place: usize| value.components().get(place).map(Value::scalars).unwrap_or_default();
    Some(places.into_iter().flat_map(member).collect())
}

/// `update_expire_info(update_aging_info, update_expire_time, expire_time_profile_id)`. Every hit restarts the timer,
/// so only a change of the profile needs an operation.
pub fn update_expire_info(cx: &mut Context, args: &Args, span: Span) {
    let (ages, changes) = (args.scalar(cx, 0), args.scalar(cx, 1));
    graph::when(cx, build::and(ages, changes), |cx| {
        set_entry_expire_time(cx, args, 2, span)
    });
}

/// `set_entry_expire_time(expire_time_profile_id)`; the profile is the argument with this index.
pub fn set_entry_expire_time(cx: &mut Context, args: &Args, profile: usize, span: Span) {
    let function = "set_entry_expire_time";
    if let Some(learning) = learning(cx, function, span).filter(|it| may(cx, it, function, AUTO_DELETE, span)) {
        let to = Recipient::NewTimeout { table: learning.table };
        send(cx, &learning, to, "$set_entry_expire_time", Vec::new(), args, profile);
    }
}

/// The table whose action is being lowered, for a function that adds an entry to it.
fn adding(cx: &mut Context, function: &str, span: Span) -> Option<Learning> {
    learning(cx, function, span).filter(|learning| may(cx, learning, function, ADD_ON_MISS, span))
}

/// Whether a function may be used in actions of a table; an error if this property of the table is `false`.
fn may(cx: &mut Context, learning: &Learning, function: &str, property: &str, span: Span) -> bool {
    let is_forbidden = table::property_is(cx, learning.declared, property, false);
    if is_forbidden && !cx.aborted {
        let table = &cx.hir.tables[learning.declared.index()].name;
        let message = format!("`{function}` cannot be called here: the table `{table}` has `{property} = false`");
        cx.error(codes::MISPLACED_CALL, span, message);
    }
    !is_forbidden
}

/// The table whose action is being lowered; an error if there is no such table, or actions may not change its entries.
fn learning(cx: &mut Context, function: &str, span: Span) -> Option<Learning> {
    if cx.learning.is_none() && !cx.aborted {
        let message = format!("`{function}` cannot be called here: it is for actions of tables with `add_on_miss`");
        let diagnostic = Diagnostic::error(codes::MISPLACED_CALL, span, message);
        cx.diagnostics
            .push(diagnostic.hint("write `add_on_miss = true;` in the table whose action this is"));
    }
    cx.learning.clone()
}

fn send(
    cx: &mut Context,
    learning: &Learning,
    to: Recipient,
    kind: &str,
    values: Vec<Expr>,
    args: &Args,
    profile: usize,
) -> DigestId {
    let profile = args.scalar(cx, profile);
    let width = profile.width(&cx.program);
    let profile = build::resize(profile, width, PROFILE_WIDTH, false);
    let table = cx.hir.tables[learning.declared.index()].name.clone();
    let keys = learning.keys.iter().map(|(name, width, _)| (name.clone(), *width));
    let mut fields: Vec<(String, u32)> = keys.collect();
    let numbered = (0..).zip(&values).map(|(index, value): (usize, _)| {
        let width = value.width(&cx.program);
        (format!("$value{index}"), width)
    });
    fields.extend(numbered);
    fields.push(("$profile".to_string(), PROFILE_WIDTH));
    let digest = Digest {
        name: format!("{table}.{kind}"),
        receiver: 0,
        fields,
        to,
    };
    let digest = message::declare(cx, digest);
    let keys = learning.keys.iter().map(|(_, _, key)| key.clone());
    let data = keys.chain(values).chain([profile]).collect();
    graph::emit(cx, Op::Digest { digest, data });
    digest
}

/// `allocate_flow_id()`: the next number.
pub fn allocate_flow_id(cx: &mut Context, result: &Type) -> Value {
    const NAME: &str = "$flow_ids";
    let width = types::scalar(cx, result).map_or(32, |scalar| scalar.width);
    let known = cx.program.registers.iter().position(|register| register.name == NAME);
    let index = known.unwrap_or_else(|| {
        names::declare(cx, "registers", NAME, Span::NONE);
        cx.program.registers.push(ir::Register {
            name: NAME.to_string(),
            width,
            signed: false,
            size: 1,
            initial: forebay_bits::Bits::zero(width),
        });
        cx.program.registers.len() - 1
    });
    let register = RegisterId(index as u32);
    let zero = || build::constant(1, 0);
    let slot = storage::temporary(cx, width);
    if cx.body.atomic_depth == 0 {
        graph::emit(cx, Op::EnterAtomic { lock: 0, index: None });
    }
    graph::emit(
        cx,
        Op::RegisterRead {
            register,
            index: zero(),
            slot,
        },
    );
    let next = build::binary(BinaryOp::Add, Expr::Slot(slot), build::constant(width, 1));
    graph::emit(
        cx,
        Op::RegisterWrite {
            register,
            index: zero(),
            value: next,
        },
    );
    if cx.body.atomic_depth == 0 {
        graph::emit(cx, Op::LeaveAtomic);
    }
    Value::Scalar(Expr::Slot(slot))
}
