//! Checks entries and action data in the program against the program's own constraints: the `@entry_restriction` of
//! their table, and the `@action_restriction` of the action.
//!
//! [`mod@crate::p4info`] reports mistakes in the constraints themselves, because it knows the keys as controllers do.

use crate::context::Context;
use forebay_check::hir;
use forebay_constraints::{Constraint, IrEntry, Key, Kind, Subject, Values, Violation};
use forebay_ir::{self as ir, EntryMatch, MatchKind};
use forebay_syntax::ast::{Annotation, AnnotationBody, AnnotationToken, AnnotationTokenKind};
use forebay_syntax::codes::lower as codes;
use forebay_syntax::diagnostic::Diagnostic;
use forebay_syntax::source::Span;

/// The annotation of tables.
pub const ENTRIES: &str = "entry_restriction";
/// The annotation of actions.
pub const DATA: &str = "action_restriction";

/// The strings of an annotation's body, which together are the constraint; `None` when the body contains anything
/// else.
pub fn strings(annotation: &Annotation) -> Option<&[AnnotationToken]> {
    match &annotation.body {
        AnnotationBody::Unstructured(tokens) if !tokens.is_empty() => {
            let are_strings = tokens.iter().all(|token| token.kind == AnnotationTokenKind::String);
            are_strings.then_some(tokens)
        }
        _ => None,
    }
}

/// Strings as one text.
pub fn joined(strings: &[AnnotationToken]) -> String {
    strings.iter().map(|token| token.text.as_str()).collect()
}

/// Reports entries and default actions of a table that its constraints forbid.
pub fn check(cx: &mut Context, index: usize) {
    let table = &cx.program.tables[index];
    let declared = &cx.hir.tables[cx.table_declarations[index].index()];
    let places = &cx.entry_places[index];
    let mut found = Vec::new();
    for constraint in constraints(&declared.annotations, ENTRIES, Subject::Table, &table_keys(table)) {
        let mut reported = Span::NONE;
        for (entry, place) in table.entries.iter().zip(places) {
            let seen = IrEntry {
                matches: &entry.matches,
                priority: entry.priority,
            };
            // An entry of the program may stand for many.
            if *place != reported
                && let Err(violation) = constraint.check(&seen)
            {
                reported = *place;
                found.push((*place, format!("table `{}`: @{ENTRIES}", table.name), violation));
            }
        }
    }
    let mut calls: Vec<(&ir::ActionCall, Span)> = table
        .entries
        .iter()
        .zip(places)
        .map(|(entry, place)| (&entry.action, *place))
        .collect();
    calls.dedup_by_key(|(_, place)| *place);
    let default = declared.default_action.as_ref();
    let default = default.map(|written| (&table.default_action, written.span));
    for (call, span) in calls.into_iter().chain(default) {
        found.extend(
            forbidden_data(cx, table, declared, call)
                .map(|(name, violation)| (span, format!("action `{name}`: @{DATA}"), violation)),
        );
    }
    for (span, whose, violation) in found {
        report(cx, span, &whose, &violation);
    }
}

fn report(cx: &mut Context, span: Span, whose: &str, violation: &Violation) {
    let warning = Diagnostic::warning(codes::CONSTRAINT_VIOLATED, span, format!("{whose}: {violation}"));
    cx.diagnostics.push(warning);
}

/// The first constraint of an action that its data does not satisfy.
fn forbidden_data(
    cx: &Context,
    table: &ir::Table,
    declared: &hir::Table,
    call: &ir::ActionCall,
) -> Option<(String, Violation)> {
    let listed = declared.actions.get(call.action as usize)?;
    let annotations = &cx.hir.actions[listed.action.index()].annotations;
    let action = &cx.program.actions[table.actions[call.action as usize].action.index()];
    let keys: Vec<Key> = action.params.iter().map(parameter).collect();
    let matches: Vec<EntryMatch> = call.args.iter().cloned().map(EntryMatch::Exact).collect();
    let data = IrEntry {
        matches: &matches,
        priority: 0,
    };
    let constraints = constraints(annotations, DATA, Subject::Action, &keys);
    let violation = constraints
        .iter()
        .find_map(|constraint| constraint.check(&data).err())?;
    Some((action.name.clone(), violation))
}

/// The constraints in these annotations that have no mistakes.
fn constraints(annotations: &[Annotation], name: &str, subject: Subject, keys: &[Key]) -> Vec<Constraint> {
    let written = annotations.iter().filter(|annotation| annotation.name.name == name);
    let texts = written.filter_map(|annotation| Some(joined(strings(annotation)?)));
    texts
        .filter_map(|text| Constraint::new(&text, subject, keys).ok())
        .collect()
}

fn parameter(param: &ir::ActionParam) -> Key {
    Key {
        name: param.name.clone(),
        kind: Kind::Exact,
        values: Values::Bits(param.width),
    }
}

fn table_keys(table: &ir::Table) -> Vec<Key> {
    let keys = table.keys.iter().filter_map(|key| {
        let kind = match key.match_kind {
            MatchKind::Exact => Kind::Exact,
            MatchKind::Ternary => Kind::Ternary,
            MatchKind::Lpm => Kind::Lpm,
            MatchKind::Range => Kind::Range,
            MatchKind::Optional => Kind::Optional,
            MatchKind::Selector => return None,
        };
        Some(Key {
            name: key.name.clone(),
            kind,
            values: Values::Bits(key.width),
        })
    });
    keys.collect()
}
