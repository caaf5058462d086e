//! Tables: match fields, action references, the default action, properties.

use super::action::{action_data, action_data_ids};
use super::catalog::{Catalog, ListedAction, UsedTable};
use super::instance::ObjectId;
use super::number::field_ids;
use super::value::{self, Value};
use super::{Context, annotation, restriction, types};
use crate::names::key_name;
use forebay_check::annotations;
use forebay_check::hir::{self, TableKey};
use forebay_check::size::size_in_bits;
use forebay_p4info::ids::SymbolKind;
use forebay_p4info::model::{
    ActionRef, Argument, Bytes, IdleTimeoutBehavior, Match, MatchField, MatchType, Scope, Table, TableActionCall,
};
use forebay_syntax::ast::Annotation;
use forebay_syntax::source::Span;

/// The size of a table without a `size` property.
const DEFAULT_SIZE: i64 = 1024;

/// The message of a table; `None` when it is hidden.
pub fn table(cx: &mut Context, catalog: &Catalog, used: &UsedTable) -> Option<Table> {
    if annotations::has(&used.table.annotations, "hidden") {
        return None;
    }
    let mut preamble = cx.symbols.preamble(SymbolKind::Table, &used.name);
    annotation::annotate(&mut preamble, &used.table.annotations, &[]);
    let default_action = default_action(cx, used);
    let is_const = used
        .table
        .default_action
        .as_ref()
        .is_some_and(|default| default.is_const);
    let const_default = default_action.as_ref().filter(|_| is_const).map(|call| call.action_id);
    let direct = [used.counter, used.meter].into_iter().flatten();
    let match_fields = match_fields(cx, used);
    restriction::check_entries(cx, &used.table.annotations, &match_fields);
    Some(Table {
        preamble,
        match_fields,
        action_refs: used.actions.iter().map(|action| action_ref(cx, action)).collect(),
        const_default_action_id: const_default.unwrap_or(0),
        initial_default_action: default_action,
        implementation_id: used.implementation.map_or(0, |id| object_id(cx, catalog, id)),
        direct_resource_ids: direct.map(|id| object_id(cx, catalog, id)).collect(),
        size: size(cx, used),
        idle_timeout_behavior: idle_timeout(cx, used),
        is_const_table: used.table.entries_are_const,
        has_initial_entries: !used.table.entries.is_empty(),
        ..Table::default()
    })
}

/// The id of an extern object of the catalog.
fn object_id(cx: &Context, catalog: &Catalog, id: ObjectId) -> u32 {
    let kind = catalog.externs[&id];
    cx.symbols.id(kind.symbol(), &catalog.instances.get(id).name)
}

/// The size; the default also for tables with size 0.
fn size(cx: &Context, used: &UsedTable) -> i64 {
    let written = used.table.size.as_ref();
    let written = written.and_then(|size| value::evaluate(cx.program, &used.scope, size).size(cx.program));
    written.filter(|size| *size != 0).unwrap_or(DEFAULT_SIZE)
}

fn idle_timeout(cx: &Context, used: &UsedTable) -> IdleTimeoutBehavior {
    let (name, notify) = cx.architecture.idle_timeout;
    let property = used.table.properties.iter().find(|property| property.name == name);
    let value = property.map_or(Value::Other, |property| {
        value::evaluate(cx.program, &used.scope, &property.value)
    });
    let notifies = match value {
        Value::Bool(value) => value,
        Value::Member(id, member) => {
            let members = &cx.program.enums[id.index()].members;
            members
                .get(member)
                .is_some_and(|(name, _)| Some(name.as_str()) == notify)
        }
        _ => false,
    };
    if notifies {
        IdleTimeoutBehavior::NotifyControl
    } else {
        IdleTimeoutBehavior::NoTimeout
    }
}

fn match_fields(cx: &mut Context, used: &UsedTable) -> Vec<MatchField> {
    let keys = &used.table.keys;
    let fields: Vec<(&[Annotation], Span)> = keys.iter().map(|key| (key.annotations.as_slice(), key.span)).collect();
    let ids = field_ids(cx, &fields);
    let mut matched = Vec::new();
    for (key, id) in keys.iter().zip(ids) {
        if let Some(kind) = match_kind(&key.match_kind) {
            matched.push(match_field(cx, used, key, id, kind));
        }
    }
    matched
}

/// A match kind by name; `None` for a selector's fields, which the control plane does not see.
pub fn match_kind(name: &str) -> Option<Match> {
    Some(match name {
        "exact" => Match::MatchType(MatchType::Exact),
        "lpm" => Match::MatchType(MatchType::Lpm),
        "ternary" => Match::MatchType(MatchType::Ternary),
        "range" => Match::MatchType(MatchType::Range),
        "optional" => Match::MatchType(MatchType::Optional),
        "selector" => return None,
        other => Match::OtherMatchType(other.to_string()),
    })
}

fn match_field(cx: &mut Context, used: &UsedTable, key: &TableKey, id: u32, kind: Match) -> MatchField {
    let ty = used.scope.types.apply(&key.expr.ty);
    types::describe(cx, &ty);
    let (annotations, structured_annotations) = annotation::written(&key.annotations, &[]);
    MatchField {
        id,
        name: key_name(cx.program, cx.sources, key),
        annotations,
        bitwidth: types::control_plane_width(cx.program, &ty),
        doc: annotation::documentation(&key.annotations),
        type_name: types::new_type_reference(cx.program, &ty),
        structured_annotations,
        match_kind: Some(kind),
        ..MatchField::default()
    }
}

fn action_ref(cx: &Context, action: &ListedAction) -> ActionRef {
    let id = cx.symbols.id(SymbolKind::Action, &action.name);
    let Some(listed) = action.listed else {
        let annotations = vec!["@defaultonly".to_string()];
        return ActionRef {
            id,
            annotations,
            scope: Scope::DefaultOnly,
            ..ActionRef::default()
        };
    };
    let (annotations, structured_annotations) = annotation::written(&listed.annotations, &[]);
    let scope = match () {
        () if annotations::has(&listed.annotations, "tableonly") => Scope::TableOnly,
        () if annotations::has(&listed.annotations, "defaultonly") => Scope::DefaultOnly,
        () => Scope::TableAndDefault,
    };
    ActionRef {
        id,
        annotations,
        scope,
        structured_annotations,
        ..ActionRef::default()
    }
}

/// The default action with its data: the one in the program, or `NoAction`.
fn default_action(cx: &mut Context, used: &UsedTable) -> Option<TableActionCall> {
    let Some(default) = &used.table.default_action else {
        let no_action = used.actions.iter().find(|action| action.name == "NoAction")?;
        let action_id = cx.symbols.id(SymbolKind::Action, &no_action.name);
        return Some(TableActionCall {
            action_id,
            arguments: Vec::new(),
        });
    };
    let listed = used.actions.get(default.action)?;
    let action_id = cx.symbols.id(SymbolKind::Action, &listed.name);
    let action = &cx.program.actions[listed.listed?.action.index()];
    let ids = action_data_ids(cx, action);
    let data = action_data(cx.program, action);
    let mut arguments = Vec::new();
    for ((arg, var), param_id) in default.args.iter().zip(data).zip(ids) {
        let ty = used.scope.types.apply(&var.ty);
        arguments.extend(argument(cx, used, arg, &ty).map(|value| Argument { param_id, value }));
    }
    Some(TableActionCall { action_id, arguments })
}

/// A value for an action's parameter; `None` for one without bits, such as a member of an enum without representation.
fn argument(cx: &Context, used: &UsedTable, arg: &hir::Expr, ty: &hir::Type) -> Option<Bytes> {
    let seen = types::control_plane_width(cx.program, ty);
    let stored = || size_in_bits(cx.program, ty).and_then(|size| u32::try_from(size.max).ok());
    let width = u32::try_from(seen).ok().filter(|width| *width != 0).or_else(stored)?;
    value::evaluate(cx.program, &used.scope, arg)
        .bytes(cx.program, width)
        .map(Bytes)
}
