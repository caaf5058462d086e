//! Tables.

use super::{Builder, actions, annotations, types};
use forebay_check::hir;
use forebay_ir::{self as ir, MatchKind};
use forebay_p4info::ids::SymbolKind;
use forebay_p4info::model::{
    ActionRef, Argument, Bytes, IdleTimeoutBehavior, Match, MatchField, MatchType, P4NamedType, Scope, Table,
    TableActionCall,
};

/// What p4c puts as the size of a table that says 0.
const DEFAULT_SIZE: i64 = 1024;

/// Every table that is not hidden.
pub fn all(builder: &mut Builder) -> Vec<Table> {
    let hir = builder.cx.hir;
    let mut tables = Vec::new();
    for index in 0..builder.cx.program.tables.len() {
        let origin = &hir.tables[builder.cx.origins.tables[index].index()];
        if !annotations::is_hidden(&origin.annotations) {
            let table = builder.cx.program.tables[index].clone();
            tables.push(describe(builder, &table, origin));
        }
    }
    tables
}

fn describe(builder: &mut Builder, table: &ir::Table, origin: &hir::Table) -> Table {
    let default = default_action(builder, table);
    let program = &builder.cx.program;
    let profile = table
        .implementation
        .map(|profile| program.action_profiles[profile.index()].name.clone());
    let counter = table
        .direct_counter
        .map(|counter| program.counters[counter.index()].name.clone());
    let meter = table
        .direct_meter
        .map(|meter| program.meters[meter.meter.index()].name.clone());
    let symbols = &builder.symbols;
    let direct_counter = counter.map(|name| symbols.id(SymbolKind::DirectCounter, &name));
    let direct_meter = meter.map(|name| symbols.id(SymbolKind::DirectMeter, &name));
    let preamble = symbols.preamble(SymbolKind::Table, &table.name);
    Table {
        preamble: annotations::annotate(preamble, &origin.annotations, &[]),
        implementation_id: profile.map_or(0, |name| symbols.id(SymbolKind::ActionProfile, &name)),
        direct_resource_ids: direct_counter.into_iter().chain(direct_meter).collect(),
        match_fields: match_fields(builder, table, origin),
        action_refs: action_refs(builder, table, origin),
        const_default_action_id: if table.default_is_const { default.action_id } else { 0 },
        initial_default_action: Some(default),
        size: if table.size == 0 {
            DEFAULT_SIZE
        } else {
            table.size as i64
        },
        idle_timeout_behavior: match table.supports_timeout {
            true => IdleTimeoutBehavior::NotifyControl,
            false => IdleTimeoutBehavior::NoTimeout,
        },
        is_const_table: table.entries_are_const,
        has_initial_entries: !table.entries.is_empty(),
        ..Table::default()
    }
}

fn match_fields(builder: &mut Builder, table: &ir::Table, origin: &hir::Table) -> Vec<MatchField> {
    let user: Vec<_> = origin
        .keys
        .iter()
        .map(|key| annotations::id(&key.annotations))
        .collect();
    let ids = actions::numbers(builder, &user, origin.span);
    let mut fields = Vec::new();
    for ((key, written), id) in table.keys.iter().zip(&origin.keys).zip(ids) {
        let Some(match_type) = match_type(key.match_kind) else {
            continue;
        };
        let ty = crate::types::resolve(builder.cx, &written.expr.ty);
        types::mention(builder, &ty);
        fields.push(MatchField {
            id,
            name: key.name.clone(),
            annotations: annotations::texts(&written.annotations, &[]),
            structured_annotations: annotations::structured(&written.annotations),
            doc: annotations::documentation(&written.annotations),
            bitwidth: types::width(builder.cx, &ty),
            type_name: types::new_type_name(builder.cx, &ty).map(|name| P4NamedType { name }),
            match_kind: Some(Match::MatchType(match_type)),
            ..MatchField::default()
        });
    }
    fields
}

/// The match type; none for selector fields, which entries do not mention.
pub fn match_type(kind: MatchKind) -> Option<MatchType> {
    match kind {
        MatchKind::Exact => Some(MatchType::Exact),
        MatchKind::Lpm => Some(MatchType::Lpm),
        MatchKind::Ternary => Some(MatchType::Ternary),
        MatchKind::Range => Some(MatchType::Range),
        MatchKind::Optional => Some(MatchType::Optional),
        MatchKind::Selector => None,
    }
}

fn action_refs(builder: &Builder, table: &ir::Table, origin: &hir::Table) -> Vec<ActionRef> {
    let mut references = Vec::new();
    for (index, listed) in table.actions.iter().enumerate() {
        let name = &builder.cx.program.actions[listed.action.index()].name;
        let written = origin.actions.get(index).map(|listed| &listed.annotations[..]);
        references.push(ActionRef {
            id: builder.symbols.id(SymbolKind::Action, name),
            // An action that the compiler has added may only be the default.
            annotations: written.map_or_else(|| vec!["@defaultonly".to_string()], |it| annotations::texts(it, &[])),
            structured_annotations: written.map_or_else(Vec::new, annotations::structured),
            scope: match (listed.table_only, listed.default_only) {
                (true, _) => Scope::TableOnly,
                (false, true) => Scope::DefaultOnly,
                (false, false) => Scope::TableAndDefault,
            },
            ..ActionRef::default()
        });
    }
    references
}

fn default_action(builder: &mut Builder, table: &ir::Table) -> TableActionCall {
    let Some(listed) = table.actions.get(table.default_action.action as usize) else {
        return TableActionCall::default();
    };
    let name = builder.cx.program.actions[listed.action.index()].name.clone();
    let origin = builder.cx.origins.actions[listed.action.index()];
    let ids = origin.map_or(Vec::new(), |origin| actions::param_ids(builder, origin));
    let argument = |(param_id, value): (u32, &forebay_bits::Bits)| Argument {
        param_id,
        value: Bytes(value.to_bytes_be()),
    };
    TableActionCall {
        action_id: builder.symbols.id(SymbolKind::Action, &name),
        arguments: ids.into_iter().zip(&table.default_action.args).map(argument).collect(),
    }
}
