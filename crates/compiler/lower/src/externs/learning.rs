//! Entries that the data plane adds and changes: `add_entry`, `set_entry_expire_time`, `allocate_flow_id` of PNA.
//!
//! An action says of its table's entries what a controller would: as a message ([`Recipient`]) with the key that was
//! looked up, the action's data and the number of an expiry profile.

use super::{Args, message};
use crate::build;
use crate::context::Context;
use crate::graph;
use crate::names;
use crate::storage;
use crate::types;
use crate::value::Value;
use forebay_check::hir::{self, Type};
use forebay_ir::{self as ir, BinaryOp, Digest, Expr, Op, Recipient, RegisterId};
use forebay_syntax::codes::lower as codes;
use forebay_syntax::source::Span;

/// The property of tables that the data plane adds entries to.
pub const ADD_ON_MISS: &str = "add_on_miss";

/// Properties of tables of which actions may change entries.
pub const PROPERTIES: &[&str] = &[ADD_ON_MISS, "pna_idle_timeout", "idle_timeout_with_auto_delete"];

/// Width of an expiry profile's number.
const PROFILE_WIDTH: u32 = 8;

/// A table while its actions are lowered.
#[derive(Clone, Debug)]
pub struct Learning {
    declared: hir::TableId,
    table: ir::TableId,
    /// Names and widths of the key fields, and where the key that was looked up is stored.
    keys: Vec<(String, u32, Expr)>,
}

impl Learning {
    /// A table that will have this number.
    pub fn new(declared: hir::TableId, table: ir::TableId, keys: &[ir::TableKey]) -> Learning {
        let key = |key: &ir::TableKey| (key.name.clone(), key.width, key.expr.clone());
        Learning {
            declared,
            table,
            keys: keys.iter().map(key).collect(),
        }
    }
}

/// `add_entry(action_name, action_params, expire_time_profile_id)`: true, for the table decides later.
pub fn add_entry(cx: &mut Context, args: &Args, span: Span) -> Value {
    let done = Value::boolean(true);
    let Some(learning) = learning(cx, "add_entry", span) else {
        return done;
    };
    let Value::Text(name) = args.value(cx, 0) else {
        return done;
    };
    let declared = &cx.hir.tables[learning.declared.index()];
    let named = |listed: &hir::TableAction| cx.hir.actions[listed.action.index()].name == name;
    let Some(index) = declared.actions.iter().position(named) else {
        let message = format!("the table `{}` has no action `{name}`", declared.name);
        cx.error(codes::INVALID_ENTRY, args.span(0), message);
        return done;
    };
    let params = &cx.hir.actions[declared.actions[index].action.index()].params;
    let widths: Vec<u32> = params
        .iter()
        .filter_map(|param| types::scalar(cx, &cx.hir.vars[param.var.index()].ty))
        .map(|scalar| scalar.width)
        .collect();
    let data = args.value(cx, 1).scalars();
    let given: Vec<u32> = data.iter().map(|value| value.width(&cx.program)).collect();
    if given != widths {
        let message = format!("the values do not fit the parameters of `{name}`");
        cx.error(codes::INVALID_ENTRY, args.span(1), message);
        return done;
    }
    let to = Recipient::NewEntry {
        table: learning.table,
        action: index as u32,
    };
    send(cx, &learning, to, "$add_entry", data, args, 2);
    done
}

/// `set_entry_expire_time(expire_time_profile_id)`
pub fn set_entry_expire_time(cx: &mut Context, args: &Args, span: Span) {
    if let Some(learning) = learning(cx, "set_entry_expire_time", span) {
        let to = Recipient::NewTimeout { table: learning.table };
        send(cx, &learning, to, "$set_entry_expire_time", Vec::new(), args, 0);
    }
}

/// The table whose action is being lowered; an error where there is none whose entries actions may change.
fn learning(cx: &mut Context, function: &str, span: Span) -> Option<Learning> {
    if cx.learning.is_none() && !cx.aborted {
        let message = format!("`{function}` cannot be called here: it is for actions of tables with `add_on_miss`");
        cx.error(codes::MISPLACED_CALL, span, message);
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
) {
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
