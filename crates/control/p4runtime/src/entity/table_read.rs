//! Reading table entries (P4Runtime §9.1.6): by key, or all that a filter lets through.

use super::direct::counter_data;
use super::meter::{config_of, counter_data_of};
use super::{action, key, table_entry};
use crate::ledger::{EntryNotes, Ledger};
use crate::schema::{Schema, TableSchema};
use crate::status::{Code, Error};
use forebay_ir::EntryMatch;
use forebay_pipeline::{EntryAction, Pipeline, Record};
use forebay_protocol::p4::v1::entity::Entity;
use forebay_protocol::p4::v1::table_action::Type as ActionType;
use forebay_protocol::p4::v1::table_entry::IdleTimeout;
use forebay_protocol::p4::v1::{
    CounterData, DirectCounterEntry, DirectMeterEntry, MeterConfig, MeterCounterData, TableAction, TableEntry,
};

/// What entries are read from.
pub(crate) struct Source<'a> {
    pub(crate) schema: &'a Schema,
    pub(crate) ledger: &'a Ledger,
    pub(crate) pipeline: &'a Pipeline,
    /// Nanoseconds since the switch started.
    pub(crate) now_ns: u64,
    /// Whether entries are left out that packets have added.
    pub(crate) without_learned: bool,
}

/// Entries of one table or of all.
pub(crate) fn read(source: &Source<'_>, wanted: &TableEntry, sink: &mut dyn FnMut(Entity)) -> Result<(), Error> {
    let mut sink = |_: &Record, entry| sink(Entity::TableEntry(entry));
    if wanted.table_id != 0 {
        let table = source.schema.table(wanted.table_id)?;
        check(table, wanted)?;
        return match read_table(source, table, wanted, &mut sink) {
            // A filter that lets nothing through is no error.
            Err(Error {
                code: Code::NotFound, ..
            }) => Ok(()),
            result => result,
        };
    }
    check_all_tables(wanted)?;
    let mut tables = source.schema.tables.values();
    tables.try_for_each(|table| read_table(source, table, wanted, &mut sink))
}

/// Whether a request without a table makes sense: a key means another thing in each table.
fn check_all_tables(wanted: &TableEntry) -> Result<(), Error> {
    if !wanted.r#match.is_empty() || wanted.action.is_some() || wanted.priority != 0 || !wanted.metadata.is_empty() {
        return Err(Error::invalid(
            "entries of all tables are read without a filter: give a table_id",
        ));
    }
    Ok(())
}

fn check(table: &TableSchema, wanted: &TableEntry) -> Result<(), Error> {
    let invalid = |problem: &str| Err(Error::invalid(format!("table `{}` {problem}", table.name)));
    if wanted.time_since_last_hit.is_some() && !table.supports_timeout {
        return invalid("has no idle time-outs");
    }
    if wanted.counter_data.is_some() && table.counter_unit.is_none() {
        return invalid("has no direct counter");
    }
    if (wanted.meter_config.is_some() || wanted.meter_counter_data.is_some()) && !table.has_meter {
        return invalid("has no direct meter");
    }
    Ok(())
}

fn read_table(
    source: &Source<'_>,
    table: &TableSchema,
    wanted: &TableEntry,
    sink: &mut dyn FnMut(&Record, TableEntry),
) -> Result<(), Error> {
    if wanted.is_default_action {
        table_entry::check_default(table, wanted)?;
        return read_default(source, table, wanted, sink);
    }
    if !wanted.r#match.is_empty() {
        let matches = key::read(table, &wanted.r#match)?;
        if table.has_priorities && wanted.priority == 0 {
            return read_all_priorities(source, table, wanted, &matches, sink);
        }
        let priority = table_entry::priority(table, wanted, false)?;
        let record = source.pipeline.record(table.index, &matches, priority)?;
        give(source, table, wanted, &record, sink);
        return Ok(());
    }
    let each = |record: Record| give(source, table, wanted, &record, sink);
    if source.without_learned {
        source.pipeline.each_written_record(table.index, each)
    } else {
        source.pipeline.each_record(table.index, each)
    }
    Ok(())
}

/// Entries with this match: in a read, priority 0 stands for all (§9.1.6).
fn read_all_priorities(
    source: &Source<'_>,
    table: &TableSchema,
    wanted: &TableEntry,
    matches: &[EntryMatch],
    sink: &mut dyn FnMut(&Record, TableEntry),
) -> Result<(), Error> {
    let mut is_there = false;
    source.pipeline.each_record(table.index, |record| {
        if record.entry.matches == matches {
            is_there = true;
            give(source, table, wanted, &record, sink);
        }
    });
    if is_there {
        return Ok(());
    }
    Err(Error::not_found(format!(
        "table `{}` has no entry with this key",
        table.name
    )))
}

/// Gives an entry if the filter lets it through.
#[allow(deprecated, reason = "old controllers filter by controller_metadata")]
fn give(
    source: &Source<'_>,
    table: &TableSchema,
    wanted: &TableEntry,
    record: &Record,
    sink: &mut dyn FnMut(&Record, TableEntry),
) {
    let notes = source.ledger.entry(table.id, record.id);
    let (metadata, controller_metadata) = notes.map_or((&[][..], 0), |notes| {
        (notes.metadata.as_slice(), notes.controller_metadata)
    });
    if (!wanted.metadata.is_empty() && wanted.metadata != metadata)
        || (wanted.controller_metadata != 0 && wanted.controller_metadata != controller_metadata)
        || (wanted.priority != 0 && i64::from(wanted.priority) != record.entry.priority)
    {
        return;
    }
    let mut entry = identity(table, record, notes);
    entry.action = Some(TableAction {
        r#type: written_action(source.schema, &record.entry.action, notes),
    });
    if !has_action(wanted, &entry) {
        return;
    }
    entry.is_const = record.is_const;
    add_resources(source, table, wanted, record.slot, &mut entry);
    if wanted.time_since_last_hit.is_some() && table.supports_timeout {
        entry.time_since_last_hit = Some(IdleTimeout {
            elapsed_ns: source.now_ns.saturating_sub(record.idle.last_hit_ns) as i64,
        });
    }
    sink(record, entry);
}

/// Adds the requested data of the entry's counter and meter.
fn add_resources(source: &Source<'_>, table: &TableSchema, wanted: &TableEntry, slot: u64, entry: &mut TableEntry) {
    if wanted.counter_data.is_some() {
        entry.counter_data = counter(source, table, slot);
    }
    if wanted.meter_config.is_some() {
        entry.meter_config = meter(source, table, slot);
    }
    if wanted.meter_counter_data.is_some() {
        entry.meter_counter_data = meter_counts(source, table, slot);
    }
}

/// What names an entry, and what a controller has noted of it.
#[allow(deprecated, reason = "old controllers read controller_metadata")]
pub(crate) fn identity(table: &TableSchema, record: &Record, notes: Option<&EntryNotes>) -> TableEntry {
    TableEntry {
        table_id: table.id,
        r#match: key::write(&table.fields, &record.entry.matches),
        priority: if table.has_priorities {
            record.entry.priority as i32
        } else {
            0
        },
        idle_timeout_ns: record.idle.timeout_ns as i64,
        metadata: notes.map(|notes| notes.metadata.clone()).unwrap_or_default(),
        controller_metadata: notes.map_or(0, |notes| notes.controller_metadata),
        ..TableEntry::default()
    }
}

fn written_action(schema: &Schema, action: &EntryAction, notes: Option<&EntryNotes>) -> Option<ActionType> {
    if let Some(one_shot) = notes.and_then(|notes| notes.one_shot.as_ref()) {
        return Some(ActionType::ActionProfileActionSet(one_shot.set.clone()));
    }
    Some(match action {
        EntryAction::Call { .. } => ActionType::Action(action::write(schema, action)?),
        EntryAction::Member(member) => ActionType::ActionProfileMemberId(*member),
        EntryAction::Group(group) => ActionType::ActionProfileGroupId(*group),
    })
}

/// Whether the entry has the requested action, if there is one.
fn has_action(wanted: &TableEntry, entry: &TableEntry) -> bool {
    let action_id = |entry: &TableEntry| match entry.action.as_ref()?.r#type.as_ref()? {
        ActionType::Action(action) => Some(action.action_id),
        _ => None,
    };
    match action_id(wanted) {
        None | Some(0) => true,
        wanted => action_id(entry) == wanted,
    }
}

fn read_default(
    source: &Source<'_>,
    table: &TableSchema,
    wanted: &TableEntry,
    sink: &mut dyn FnMut(&Record, TableEntry),
) -> Result<(), Error> {
    let action = source.pipeline.default_action(&table.name)?;
    let record = Record {
        id: 0,
        slot: source.pipeline.default_slot(table.index),
        entry: forebay_pipeline::Entry {
            matches: Vec::new(),
            priority: 0,
            action,
        },
        is_const: table.default_is_const,
        idle: forebay_pipeline::IdleTime::default(),
    };
    let notes = source.ledger.default_entry(table.id);
    let mut entry = identity(table, &record, notes);
    entry.is_default_action = true;
    entry.is_const = table.default_is_const;
    entry.action = Some(TableAction {
        r#type: written_action(source.schema, &record.entry.action, notes),
    });
    add_resources(source, table, wanted, record.slot, &mut entry);
    sink(&record, entry);
    Ok(())
}

fn counter(source: &Source<'_>, table: &TableSchema, slot: u64) -> Option<CounterData> {
    let value = source.pipeline.direct_counter_at(table.index, slot)?;
    Some(counter_data(value, table.counter_unit?))
}

fn meter(source: &Source<'_>, table: &TableSchema, slot: u64) -> Option<MeterConfig> {
    source.pipeline.direct_meter_at(table.index, slot).map(config_of)
}

fn meter_counts(source: &Source<'_>, table: &TableSchema, slot: u64) -> Option<MeterCounterData> {
    let counts = source.pipeline.direct_meter_counts_at(table.index, slot);
    counts.map(counter_data_of)
}

/// Tables whose entries a request for a direct counter or meter names.
fn for_entries(
    source: &Source<'_>,
    wanted: Option<&TableEntry>,
    has: impl Fn(&TableSchema) -> bool,
    what: &str,
    give: &mut dyn FnMut(&TableSchema, &Record, TableEntry),
) -> Result<(), Error> {
    let everything = TableEntry::default();
    let wanted = wanted.unwrap_or(&everything);
    if wanted.table_id == 0 {
        check_all_tables(wanted)?;
        let mut tables = source.schema.tables.values().filter(|table| has(table));
        return tables
            .try_for_each(|table| read_table(source, table, wanted, &mut |record, entry| give(table, record, entry)));
    }
    let table = source.schema.table(wanted.table_id)?;
    if !has(table) {
        return Err(Error::invalid(format!("table `{}` has no direct {what}", table.name)));
    }
    read_table(source, table, wanted, &mut |record, entry| give(table, record, entry))
}

/// Only what names the entry.
fn key_of(entry: TableEntry) -> TableEntry {
    TableEntry {
        table_id: entry.table_id,
        r#match: entry.r#match,
        priority: entry.priority,
        is_default_action: entry.is_default_action,
        ..TableEntry::default()
    }
}

/// Direct counters.
pub(crate) fn read_counters(
    source: &Source<'_>,
    wanted: &DirectCounterEntry,
    sink: &mut dyn FnMut(Entity),
) -> Result<(), Error> {
    let has = |table: &TableSchema| table.counter_unit.is_some();
    for_entries(
        source,
        wanted.table_entry.as_ref(),
        has,
        "counter",
        &mut |table, record, entry| {
            sink(Entity::DirectCounterEntry(DirectCounterEntry {
                table_entry: Some(key_of(entry)),
                data: counter(source, table, record.slot),
            }));
        },
    )
}

/// Direct meters.
pub(crate) fn read_meters(
    source: &Source<'_>,
    wanted: &DirectMeterEntry,
    sink: &mut dyn FnMut(Entity),
) -> Result<(), Error> {
    let has = |table: &TableSchema| table.has_meter;
    for_entries(
        source,
        wanted.table_entry.as_ref(),
        has,
        "meter",
        &mut |table, record, entry| {
            sink(Entity::DirectMeterEntry(DirectMeterEntry {
                table_entry: Some(key_of(entry)),
                config: meter(source, table, record.slot),
                counter_data: match wanted.counter_data {
                    Some(_) => meter_counts(source, table, record.slot),
                    None => None,
                },
            }));
        },
    )
}
