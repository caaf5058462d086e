//! Checks on the finished program that no single declaration could make: objects that belong to one table only,
//! actions that stand where their annotations allow it, entries that the constraints of their tables allow.

use crate::constraint;
use crate::context::Context;
use forebay_ir as ir;
use forebay_syntax::codes::lower as codes;
use std::collections::HashSet;

/// Reports what is wrong.
pub fn check(cx: &mut Context) {
    direct_objects_have_one_table(cx);
    for index in 0..cx.program.tables.len() {
        actions_are_allowed(cx, index);
        constraint::check(cx, index);
    }
}

fn direct_objects_have_one_table(cx: &mut Context) {
    let mut counters = HashSet::new();
    let mut meters = HashSet::new();
    let mut shared = Vec::new();
    for (table, declaration) in cx.program.tables.iter().zip(&cx.table_declarations) {
        let counter_is_shared = table.direct_counter.is_some_and(|counter| !counters.insert(counter));
        let meter_is_shared = table.direct_meter.is_some_and(|direct| !meters.insert(direct.meter));
        if counter_is_shared || meter_is_shared {
            shared.push(cx.hir.tables[declaration.index()].span);
        }
    }
    for span in shared {
        cx.error(
            codes::INVALID_PROPERTY,
            span,
            "the direct counter or meter of this table belongs to another table too",
        );
    }
}

fn actions_are_allowed(cx: &mut Context, index: usize) {
    let table = &cx.program.tables[index];
    let span = cx.hir.tables[cx.table_declarations[index].index()].span;
    let listed = |call: &ir::ActionCall| table.actions.get(call.action as usize);
    let message = if table
        .actions
        .iter()
        .any(|action| action.table_only && action.default_only)
    {
        "an action of this table is both @tableonly and @defaultonly"
    } else if listed(&table.default_action).is_some_and(|action| action.table_only) {
        "the default action of this table is @tableonly"
    } else if table
        .entries
        .iter()
        .any(|entry| listed(&entry.action).is_some_and(|action| action.default_only))
    {
        "the action of an entry of this table is @defaultonly"
    } else {
        return;
    };
    cx.error(codes::ACTION_SCOPE, span, message);
}
