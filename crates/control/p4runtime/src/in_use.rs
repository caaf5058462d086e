//! Which strings of translated types the state of a program names, so that the numbers of others can be given again.
//!
//! What packets have stored beside registers of such types (header fields, registers of plain numbers) is not seen.

use crate::data;
use crate::schema::{ActionSchema, Schema, TableSchema};
use forebay_ir::EntryMatch;
use forebay_pipeline::{EntryAction, Pipeline};

/// Keeps the numbers that a program begins with from other strings.
pub(crate) fn reserve(schema: &Schema, pipeline: &Pipeline) {
    if schema.dictionaries().is_empty() {
        return;
    }
    mark_all(schema, pipeline);
    schema.dictionaries().values().for_each(|words| words.reserve());
}

/// Frees the numbers that nothing uses; gives whether there is room now that was not.
pub(crate) fn sweep(schema: &Schema, pipeline: &Pipeline) -> bool {
    mark_all(schema, pipeline);
    let freed = schema.dictionaries().values().filter(|words| words.sweep());
    freed.count() > 0
}

fn mark_all(schema: &Schema, pipeline: &Pipeline) {
    for table in schema.tables.values().filter(|table| has_strings(schema, table)) {
        for record in pipeline.records(table.index) {
            mark_key(&table.fields, &record.entry.matches);
            mark_call(schema, &record.entry.action);
        }
        if let Ok(action) = pipeline.default_action(&table.name) {
            mark_call(schema, &action);
        }
    }
    for profile in schema.profiles.values() {
        let members = pipeline.members(&profile.name).unwrap_or_default();
        members.iter().for_each(|(_, action)| mark_call(schema, action));
    }
    for set in schema.value_sets.values() {
        let elements = pipeline.value_set(&set.name).unwrap_or_default();
        elements.iter().for_each(|element| mark_key(&set.fields, element));
    }
    let registers = schema.registers.values();
    for register in registers.filter(|register| data::has_strings(&schema.types, &register.spec)) {
        let elements = (0..register.size).filter_map(|index| pipeline.read_register(&register.name, index).ok());
        elements.for_each(|element| data::mark_joined(&schema.types, &register.spec, &element));
    }
}

fn has_strings(schema: &Schema, table: &TableSchema) -> bool {
    let of_action = |action: &ActionSchema| action.params.iter().any(|(.., value)| value.is_text());
    let mut actions = table.actions.iter().filter_map(|(id, _)| schema.actions.get(id));
    table.fields.iter().any(|field| field.value.is_text()) || actions.any(of_action)
}

fn mark_key(fields: &[crate::schema::Field], matches: &[EntryMatch]) {
    for (field, condition) in fields.iter().zip(matches) {
        match condition {
            EntryMatch::Exact(value) | EntryMatch::Optional(Some(value)) => field.value.mark(value),
            EntryMatch::Lpm { value, prefix_length } if *prefix_length > 0 => field.value.mark(value),
            EntryMatch::Ternary { value, mask } if !mask.is_zero() => field.value.mark(value),
            EntryMatch::Range { low, high } if low == high => field.value.mark(low),
            _ => {}
        }
    }
}

fn mark_call(schema: &Schema, action: &EntryAction) {
    let EntryAction::Call { action, args } = action else {
        return;
    };
    let declared = schema.action_ids.get(action).and_then(|id| schema.actions.get(id));
    let params = declared.into_iter().flat_map(|declared| &declared.params);
    params.zip(args).for_each(|((.., value), arg)| value.mark(arg));
}
