//! Checks of the finished program that involve more than one declaration: objects that belong to a single table,
//! actions that are used as their annotations allow, entries that satisfy the constraints of their tables, and
//! selectors that tables share.

use crate::constraint;
use crate::context::Context;
use forebay_check::hir;
use forebay_ir as ir;
use forebay_syntax::codes::lower as codes;
use forebay_syntax::diagnostic::Diagnostic;
use std::collections::{HashMap, HashSet};

/// Reports the violations.
pub fn check(cx: &mut Context) {
    direct_objects_have_one_table(cx);
    selectors_and_their_keys_come_together(cx);
    if cx.program.architecture != ir::Architecture::V1Model {
        shared_selectors_are_alike(cx);
    }
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

/// The declarations of tables, each with its action selector, if it has one.
fn selectors<'a>(cx: &Context<'a>) -> Vec<(&'a hir::Table, Option<ir::ActionProfileId>)> {
    let hir = cx.hir;
    let tables = cx.program.tables.iter().zip(&cx.table_declarations);
    let selectors = tables.map(|(table, declaration)| {
        let has_groups = |profile: &ir::ActionProfileId| {
            let profile = &cx.program.action_profiles[profile.index()];
            profile.selector.is_some()
        };
        (
            &hir.tables[declaration.index()],
            table.implementation.filter(has_groups),
        )
    });
    selectors.collect()
}

fn selector_keys(table: &hir::Table) -> impl Iterator<Item = &hir::TableKey> {
    table.keys.iter().filter(|key| key.match_kind == "selector")
}

/// A key of match kind `selector` is hashed to choose a member of a group (PSA 1.2 §7.12).
fn selectors_and_their_keys_come_together(cx: &mut Context) {
    let object = match cx.program.architecture {
        ir::Architecture::V1Model => "action_selector",
        _ => "ActionSelector",
    };
    for (table, selector) in selectors(cx) {
        let name = &table.name;
        let warning = match (selector_keys(table).next(), selector) {
            (Some(key), None) => {
                let message = format!("the table `{name}` has a selector key, but no action selector");
                let hint = format!("give the table an {object}; without one the key has no effect");
                Diagnostic::warning(codes::KEY_WITHOUT_SELECTOR, key.span, message).hint(hint)
            }
            (None, Some(_)) => {
                let message = format!("the table `{name}` has an action selector, but no selector key");
                let hint = "add what tells flows apart to the key, as in `hdr.ipv4.src_addr: selector;`; \
                            without it all packets of an entry take the same member";
                Diagnostic::warning(codes::SELECTOR_WITHOUT_KEY, table.span, message).hint(hint)
            }
            _ => continue,
        };
        cx.diagnostics.push(warning);
    }
}

/// Checks that tables which share an action selector have the same actions, and the same selector keys in the same
/// order (PSA 1.2 §7.12).
fn shared_selectors_are_alike(cx: &mut Context) {
    let mut first = HashMap::new();
    for (table, selector) in selectors(cx) {
        let Some(selector) = selector else { continue };
        let other = *first.entry(selector).or_insert(table);
        let actions = |table: &hir::Table| table.actions.iter().map(|listed| listed.action).collect::<HashSet<_>>();
        let keys = |table: &hir::Table| {
            selector_keys(table)
                .map(|key| key.source_text.clone())
                .collect::<Vec<_>>()
        };
        let differ = match (actions(table) == actions(other), keys(table) == keys(other)) {
            (false, _) => "actions",
            (true, false) => "selector keys",
            (true, true) => continue,
        };
        let (name, other_name) = (&table.name, &other.name);
        let message =
            format!("the tables `{other_name}` and `{name}` share an action selector, but not their {differ}");
        let diagnostic = Diagnostic::error(codes::INVALID_PROPERTY, table.span, message);
        let hint = format!("give both the same {differ}, or each a selector of its own");
        cx.diagnostics
            .push(diagnostic.secondary(other.span, "the other table").hint(hint));
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
