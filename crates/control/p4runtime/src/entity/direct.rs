//! Direct counters and meters: those of table entries (P4Runtime §9.1.7, §9.3.1, §9.4.1).

use super::meter::{check_config, configured, counts_of};
use super::{modify_only, table_entry};
use crate::change::{Change, Later};
use crate::schema::TableSchema;
use crate::status::Error;
use forebay_ir::Unit;
use forebay_pipeline::{ColorCounts, CounterValue};
use forebay_protocol::p4::v1::update::Type;
use forebay_protocol::p4::v1::{CounterData, DirectCounterEntry, DirectMeterEntry, MeterCounterData, TableEntry};

/// What an entry says of its counter and meter must suit the table.
pub(crate) fn check(table: &TableSchema, entry: &TableEntry) -> Result<(), Error> {
    if entry.counter_data.is_some() && table.counter_unit.is_none() {
        return Err(Error::invalid(format!("table `{}` has no direct counter", table.name)));
    }
    if (entry.meter_config.is_some() || entry.meter_counter_data.is_some()) && !table.has_meter {
        return Err(Error::invalid(format!("table `{}` has no direct meter", table.name)));
    }
    if let Some(data) = &entry.meter_counter_data
        && counts_of(data) != ColorCounts::default()
    {
        return Err(only_zero(table));
    }
    check_counts(&table.name, entry.counter_data.as_ref())?;
    match &entry.meter_config {
        Some(config) => check_config(&table.name, table.meter_kind, config),
        None => Ok(()),
    }
}

fn only_zero(table: &TableSchema) -> Error {
    Error::invalid(format!(
        "table `{}`: a controller can set what a meter of an entry has counted to 0 only",
        table.name
    ))
}

/// Refuses counts that no counter can have.
pub(crate) fn check_counts(name: &str, data: Option<&CounterData>) -> Result<(), Error> {
    if data.is_some_and(|data| data.packet_count < 0 || data.byte_count < 0) {
        Err(Error::invalid(format!("`{name}`: counts are not negative")))
    } else {
        Ok(())
    }
}

/// Sets the counter and the meter of a new entry.
pub(crate) fn initialise(change: &mut Change<'_, '_>, table: &TableSchema, slot: u64, entry: &TableEntry) {
    if entry.meter_config.is_some() {
        push_meter(change, table, slot, entry);
    }
    push_counter(change, table, slot, entry);
}

/// Changes the counter of an entry if there is a value, and its meter in any case.
pub(crate) fn modify(change: &mut Change<'_, '_>, table: &TableSchema, slot: u64, entry: &TableEntry) {
    if table.has_meter {
        push_meter(change, table, slot, entry);
    }
    if entry.meter_counter_data.is_some() {
        push_counts(change, table, slot, ColorCounts::default());
    }
    push_counter(change, table, slot, entry);
}

/// Makes the counter and the meter of an entry as they were in the beginning.
pub(crate) fn reset(change: &mut Change<'_, '_>, table: &TableSchema, slot: u64) {
    let nothing = TableEntry {
        counter_data: table.counter_unit.map(|_| CounterData::default()),
        meter_counter_data: table.has_meter.then(MeterCounterData::default),
        ..TableEntry::default()
    };
    modify(change, table, slot, &nothing);
}

fn push_counts(change: &mut Change<'_, '_>, table: &TableSchema, slot: u64, counts: ColorCounts) {
    let table = table.index;
    change.later.push(Later::DirectMeterCounts { table, slot, counts });
}

fn push_meter(change: &mut Change<'_, '_>, table: &TableSchema, slot: u64, entry: &TableEntry) {
    change.later.push(Later::DirectMeter {
        table: table.index,
        slot,
        rates: configured(entry.meter_config.as_ref()),
    });
}

fn push_counter(change: &mut Change<'_, '_>, table: &TableSchema, slot: u64, entry: &TableEntry) {
    if let Some(data) = &entry.counter_data {
        change.later.push(Later::DirectCounter {
            table: table.index,
            slot,
            value: counter_value(data),
        });
    }
}

/// A counter's value as the pipeline holds it.
pub(crate) fn counter_value(data: &CounterData) -> CounterValue {
    CounterValue {
        packets: data.packet_count as u64,
        bytes: data.byte_count as u64,
    }
}

/// A counter's value as the protocol says it: only what the counter counts, and 63 bits of it at most.
pub(crate) fn counter_data(value: CounterValue, unit: Unit) -> CounterData {
    let counted = |count: u64, units: &[Unit]| {
        if units.contains(&unit) {
            i64::try_from(count).unwrap_or(i64::MAX)
        } else {
            0
        }
    };
    CounterData {
        packet_count: counted(value.packets, &[Unit::Packets, Unit::PacketsAndBytes]),
        byte_count: counted(value.bytes, &[Unit::Bytes, Unit::PacketsAndBytes]),
    }
}

/// Changes the direct counter of an entry.
pub(crate) fn write_counter(change: &mut Change<'_, '_>, how: Type, written: &DirectCounterEntry) -> Result<(), Error> {
    modify_only(how, "a direct counter")?;
    let (table, entry) = named_entry(change, written.table_entry.as_ref())?;
    if table.counter_unit.is_none() {
        return Err(Error::invalid(format!("table `{}` has no direct counter", table.name)));
    }
    check_counts(&table.name, written.data.as_ref())?;
    let slot = slot(change, table, entry)?;
    if let Some(data) = &written.data {
        change.later.push(Later::DirectCounter {
            table: table.index,
            slot,
            value: counter_value(data),
        });
    }
    Ok(())
}

/// Changes the direct meter of an entry.
pub(crate) fn write_meter(change: &mut Change<'_, '_>, how: Type, written: &DirectMeterEntry) -> Result<(), Error> {
    modify_only(how, "a direct meter")?;
    let (table, entry) = named_entry(change, written.table_entry.as_ref())?;
    if !table.has_meter {
        return Err(Error::invalid(format!("table `{}` has no direct meter", table.name)));
    }
    if let Some(config) = &written.config {
        check_config(&table.name, table.meter_kind, config)?;
    }
    let counted = written.counter_data.as_ref().map(counts_of);
    if counted.is_some_and(|counts| counts != ColorCounts::default()) && !change.writer.writes_again {
        return Err(only_zero(table));
    }
    let slot = slot(change, table, entry)?;
    change.later.push(Later::DirectMeter {
        table: table.index,
        slot,
        rates: configured(written.config.as_ref()),
    });
    if let Some(data) = &written.counter_data {
        push_counts(change, table, slot, counts_of(data));
    }
    Ok(())
}

/// The element of the direct counter and meter that belongs to an entry.
fn slot(change: &Change<'_, '_>, table: &TableSchema, entry: &TableEntry) -> Result<u64, Error> {
    if !entry.is_default_action {
        return Ok(table_entry::find(change, table, entry)?.slot);
    }
    table_entry::check_default(table, entry)?;
    Ok(change.batch.default_slot(table.index))
}

fn named_entry<'a, 'e>(
    change: &Change<'a, '_>,
    entry: Option<&'e TableEntry>,
) -> Result<(&'a TableSchema, &'e TableEntry), Error> {
    let entry = entry.ok_or_else(|| Error::invalid("a direct counter or meter is named by its table entry"))?;
    Ok((change.schema.table(entry.table_id)?, entry))
}
