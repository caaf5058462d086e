//! Tables and action profiles.

use crate::errors;
use crate::values::{self, Field, Invoked, ReadField};
use forebay_entries::{EntryKey, table_index};
use forebay_ir::Table;
use forebay_pipeline::{Entry, EntryAction, Pipeline};
use pyo3::prelude::*;

/// An entry as it is read: key fields in the order of the table, priority, and what it invokes.
pub(crate) type ReadEntry = (Vec<ReadField>, i64, Invoked);

/// Writes an entry: `insert`s or `modify`s it.
pub(crate) fn write(
    pipeline: &Pipeline,
    change: &str,
    table: &str,
    fields: Vec<Field>,
    priority: Option<i64>,
    invoked: Invoked,
) -> PyResult<()> {
    let program = pipeline.program();
    let EntryKey {
        table,
        matches,
        priority,
    } = values::key(program, table, fields, priority).map_err(errors::control)?;
    let table = &program.tables[table];
    let entry = Entry {
        matches,
        priority,
        action: values::action(program, table, invoked).map_err(errors::control)?,
    };
    let written = match change {
        "modify" => pipeline.modify_entry(&table.name, &entry),
        _ => pipeline.insert_entry(&table.name, &entry),
    };
    written.map_err(errors::control)
}

/// The full name of a table and the key of one of its entries.
pub(crate) fn key<'p>(
    pipeline: &'p Pipeline,
    table: &str,
    fields: Vec<Field>,
    priority: Option<i64>,
) -> PyResult<(&'p str, EntryKey)> {
    let program = pipeline.program();
    let key = values::key(program, table, fields, priority).map_err(errors::control)?;
    Ok((&program.tables[key.table].name, key))
}

fn declared<'p>(pipeline: &'p Pipeline, table: &str) -> PyResult<&'p Table> {
    let program = pipeline.program();
    let index = table_index(program, table).map_err(errors::control)?;
    Ok(&program.tables[index])
}

/// The full name of the table that a name means.
pub(crate) fn name<'p>(pipeline: &'p Pipeline, table: &str) -> PyResult<&'p str> {
    Ok(&declared(pipeline, table)?.name)
}

/// All entries of a table.
pub(crate) fn entries(pipeline: &Pipeline, table: &str) -> PyResult<Vec<ReadEntry>> {
    let entries = pipeline
        .entries(&declared(pipeline, table)?.name)
        .map_err(errors::control)?;
    let read = |entry: &Entry| {
        let fields = entry.matches.iter().map(values::read_field);
        let invoked = values::invoked(pipeline.program(), &entry.action);
        (fields.collect(), entry.priority, invoked)
    };
    Ok(entries.iter().map(read).collect())
}

/// Sets the default action, or restores that of the program.
pub(crate) fn set_default(pipeline: &Pipeline, table: &str, invoked: Option<Invoked>) -> PyResult<()> {
    let table = declared(pipeline, table)?;
    let Some(invoked) = invoked else {
        return pipeline.reset_default_action(&table.name).map_err(errors::control);
    };
    match values::action(pipeline.program(), table, invoked).map_err(errors::control)? {
        EntryAction::Call { action, args } => {
            let set = pipeline.set_default_action(&table.name, &action, &args);
            set.map_err(errors::control)
        }
        _ => Err(errors::control(
            "a default action is an action, not a member or a group",
        )),
    }
}

/// The default action.
pub(crate) fn default(pipeline: &Pipeline, table: &str) -> PyResult<Invoked> {
    let action = pipeline.default_action(&declared(pipeline, table)?.name);
    let action = action.map_err(errors::control)?;
    Ok(values::invoked(pipeline.program(), &action))
}

/// Writes a member of an action profile; its actions are those of the first table that uses it.
pub(crate) fn write_member(
    pipeline: &Pipeline,
    change: &str,
    profile: &str,
    member: u32,
    invoked: Invoked,
) -> PyResult<()> {
    let program = pipeline.program();
    let profile = &pipeline.action_profile(profile).map_err(errors::control)?.name;
    let uses = |table: &&Table| {
        let implementation = table.implementation.map(|id| &program.action_profiles[id.index()].name);
        implementation == Some(profile)
    };
    let Some(table) = program.tables.iter().find(uses) else {
        return Err(errors::control(format!("no table uses action profile `{profile}`")));
    };
    let EntryAction::Call { action, args } = values::action(program, table, invoked).map_err(errors::control)? else {
        return Err(errors::control("a member is an action, not another member or a group"));
    };
    let written = match change {
        "modify" => pipeline.modify_member(profile, member, &action, &args),
        _ => pipeline.insert_member(profile, member, &action, &args),
    };
    written.map_err(errors::control)
}
