//! Calls about tables.

use super::Answer;
use super::arguments::{Arguments, parameter};
use crate::codes::Failure;
use crate::key::{from_action, from_match, from_priority, has_priorities, to_match, to_priority};
use crate::runtime::Runtime;
use crate::switch::Switch;
use crate::tables::{Does, handle_of};
use crate::wire::{Fields, Value};
use forebay_protocol::p4::config::v1::Table;
use forebay_protocol::p4::v1::{TableAction, TableEntry, table_action};
use forebay_shell::catalog::Named;

pub(super) fn call<S: Switch>(runtime: &mut Runtime<S>, method: &str, arguments: &Arguments) -> Option<Answer> {
    let nothing = |done: Result<(), Failure>| done.map(|()| None);
    Some(match method {
        "bm_mt_get_num_entries" => number(runtime, arguments),
        "bm_mt_clear_entries" => nothing(clear(runtime, arguments)),
        "bm_mt_add_entry" => add(runtime, arguments, |arguments| action(arguments, 4), 6),
        "bm_mt_indirect_add_entry" => add(runtime, arguments, |arguments| member(arguments, 4), 5),
        "bm_mt_indirect_ws_add_entry" => add(runtime, arguments, |arguments| group(arguments, 4), 5),
        "bm_mt_set_default_action" => nothing(default(runtime, arguments, |arguments| action(arguments, 3))),
        "bm_mt_indirect_set_default_member" => nothing(default(runtime, arguments, |arguments| member(arguments, 3))),
        "bm_mt_indirect_ws_set_default_group" => nothing(default(runtime, arguments, |arguments| group(arguments, 3))),
        "bm_mt_reset_default_entry" | "bm_mt_indirect_reset_default_entry" => {
            nothing(arguments.text(2).and_then(|table| runtime.reset_default(table)))
        }
        "bm_mt_delete_entry" | "bm_mt_indirect_delete_entry" => nothing(delete(runtime, arguments)),
        "bm_mt_modify_entry" => nothing(modify(runtime, arguments, |arguments| action(arguments, 4))),
        "bm_mt_indirect_modify_entry" => nothing(modify(runtime, arguments, |arguments| member(arguments, 4))),
        "bm_mt_indirect_ws_modify_entry" => nothing(modify(runtime, arguments, |arguments| group(arguments, 4))),
        "bm_mt_set_entry_ttl" | "bm_mt_indirect_set_entry_ttl" => nothing(set_timeout(runtime, arguments)),
        "bm_mt_get_entries" => entries(runtime, arguments),
        "bm_mt_get_entry" => entry(runtime, arguments),
        "bm_mt_get_entry_from_key" => entry_from_key(runtime, arguments),
        "bm_mt_get_default_entry" => default_entry(runtime, arguments),
        _ => return None,
    })
}

fn action(arguments: &Arguments, number: i16) -> Result<Does, Failure> {
    Ok(Does::Action(
        arguments.text(number)?.to_string(),
        arguments.data(number + 1)?,
    ))
}

fn member(arguments: &Arguments, number: i16) -> Result<Does, Failure> {
    arguments.i32(number).map(Does::Member)
}

fn group(arguments: &Arguments, number: i16) -> Result<Does, Failure> {
    arguments.i32(number).map(Does::Group)
}

fn add<S: Switch>(
    runtime: &mut Runtime<S>,
    arguments: &Arguments,
    does: impl Fn(&Arguments) -> Result<Does, Failure>,
    options: i16,
) -> Answer {
    let key = arguments.key(3)?;
    let priority = arguments.priority(options)?;
    let handle = runtime.add_entry(arguments.text(2)?, &key, &does(arguments)?, priority)?;
    Ok(Some(Value::I32(handle)))
}

fn modify<S: Switch>(
    runtime: &mut Runtime<S>,
    arguments: &Arguments,
    does: impl Fn(&Arguments) -> Result<Does, Failure>,
) -> Result<(), Failure> {
    runtime.modify_entry(arguments.text(2)?, arguments.i32(3)?, &does(arguments)?)
}

fn default<S: Switch>(
    runtime: &mut Runtime<S>,
    arguments: &Arguments,
    does: impl Fn(&Arguments) -> Result<Does, Failure>,
) -> Result<(), Failure> {
    runtime.set_default(arguments.text(2)?, &does(arguments)?)
}

fn delete<S: Switch>(runtime: &mut Runtime<S>, arguments: &Arguments) -> Result<(), Failure> {
    runtime.delete_entry(arguments.text(2)?, arguments.i32(3)?)
}

fn set_timeout<S: Switch>(runtime: &mut Runtime<S>, arguments: &Arguments) -> Result<(), Failure> {
    runtime.set_timeout(arguments.text(2)?, arguments.i32(3)?, arguments.i32(4)?)
}

fn clear<S: Switch>(runtime: &mut Runtime<S>, arguments: &Arguments) -> Result<(), Failure> {
    runtime.clear_entries(arguments.text(2)?, arguments.bool(3)?)
}

fn number<S: Switch>(runtime: &mut Runtime<S>, arguments: &Arguments) -> Answer {
    let table = runtime.table(arguments.text(2)?)?;
    let entries = runtime.entries_of(table.id())?;
    Ok(Some(Value::I64(entries.len() as i64)))
}

fn entries<S: Switch>(runtime: &mut Runtime<S>, arguments: &Arguments) -> Answer {
    let table = runtime.table(arguments.text(2)?)?;
    let entries = runtime.entries_of(table.id())?;
    let written = entries.iter().map(|entry| written(runtime, &table, entry));
    Ok(Some(Value::List(written.collect::<Result<_, _>>()?)))
}

fn entry<S: Switch>(runtime: &mut Runtime<S>, arguments: &Arguments) -> Answer {
    let table = runtime.table(arguments.text(2)?)?;
    let entry = runtime.entry_by_handle(table.id(), arguments.i32(3)?)?;
    written(runtime, &table, &entry).map(Some)
}

fn entry_from_key<S: Switch>(runtime: &mut Runtime<S>, arguments: &Arguments) -> Answer {
    let table = runtime.table(arguments.text(2)?)?;
    let key = arguments.key(3)?;
    if key.is_empty() {
        let action = runtime.default_action(&table)?;
        let entry = Fields::default()
            .with(1, Value::List(Vec::new()))
            .with(2, Value::Struct(Fields::default()))
            .with(3, Value::I32(-1))
            .with(4, written_action(runtime, action.as_ref()));
        return Ok(Some(Value::Struct(entry)));
    }
    let priority = arguments.priority(4)?;
    let wanted = TableEntry {
        table_id: table.id(),
        r#match: to_match(&table, &key)?,
        priority: to_priority(&table, priority),
        ..TableEntry::default()
    };
    let entry = runtime.entry_by_key(wanted)?;
    written(runtime, &table, &entry).map(Some)
}

fn default_entry<S: Switch>(runtime: &mut Runtime<S>, arguments: &Arguments) -> Answer {
    let table = runtime.table(arguments.text(2)?)?;
    let action = runtime.default_action(&table)?;
    Ok(Some(written_action(runtime, action.as_ref())))
}

/// `BmMtEntry`
fn written<S: Switch>(runtime: &mut Runtime<S>, table: &Table, entry: &TableEntry) -> Result<Value, Failure> {
    let key = from_match(table, &entry.r#match);
    let priority = if has_priorities(table) {
        from_priority(entry.priority)
    } else {
        -1
    };
    let options = Fields::default().with(1, Value::I32(priority));
    let mut fields = Fields::default()
        .with(1, Value::List(key.iter().map(parameter).collect()))
        .with(2, Value::Struct(options))
        .with(3, Value::I32(runtime.handle_of_entry(entry)?))
        .with(4, written_action(runtime, entry.action.as_ref()));
    if table.idle_timeout_behavior != 0 {
        let milliseconds = |nanoseconds: i64| Value::I32(i32::try_from(nanoseconds / 1_000_000).unwrap_or(i32::MAX));
        let elapsed = entry.time_since_last_hit.as_ref().map_or(0, |time| time.elapsed_ns);
        let life = Fields::default()
            .with(1, milliseconds(entry.idle_timeout_ns))
            .with(2, milliseconds(elapsed));
        fields = fields.with(5, Value::Struct(life));
    }
    Ok(Value::Struct(fields))
}

/// `BmActionEntry`
fn written_action<S: Switch>(runtime: &Runtime<S>, action: Option<&TableAction>) -> Value {
    let fields = match action.and_then(|action| action.r#type.as_ref()) {
        Some(table_action::Type::Action(action)) => match runtime.catalog.action_by_id(action.action_id) {
            Some(info) => Fields::default()
                .with(1, Value::I32(1))
                .with(2, Value::text(info.name()))
                .with(3, data(from_action(info, action))),
            None => Fields::default().with(1, Value::I32(0)),
        },
        Some(table_action::Type::ActionProfileMemberId(number)) => Fields::default()
            .with(1, Value::I32(2))
            .with(4, Value::I32(handle_of(*number))),
        Some(table_action::Type::ActionProfileGroupId(number)) => Fields::default()
            .with(1, Value::I32(3))
            .with(5, Value::I32(handle_of(*number))),
        _ => Fields::default().with(1, Value::I32(0)),
    };
    Value::Struct(fields)
}

/// `BmActionData`
pub(super) fn data(data: Vec<Vec<u8>>) -> Value {
    Value::List(data.into_iter().map(Value::Bytes).collect())
}
