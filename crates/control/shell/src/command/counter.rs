//! `counter …`: arrays, and the counters of table entries.

use super::{Change, Command, DEFAULT, Form, Place, elements, entity, reading};
use crate::arguments::Arguments;
use crate::catalog::{Catalog, Named, find};
use crate::listing::Record;
use crate::mistake::Mistake;
use forebay_protocol::p4::config::v1::counter_spec::Unit;
use forebay_protocol::p4::config::v1::{Counter, CounterSpec, DirectCounter};
use forebay_protocol::p4::v1::entity::Entity as Kind;
use forebay_protocol::p4::v1::{CounterData, CounterEntry, DirectCounterEntry, Index, TableEntry};

pub(super) const FORMS: &[Form] = &[
    Form {
        words: "counter list",
        arguments: "",
        about: "counters of the program",
        places: &[],
        options: &[],
        read: list,
    },
    Form {
        words: "counter read",
        arguments: "COUNTER [INDEX | FROM..TO | default]",
        about: "what was counted; of a direct counter, for each entry of its table",
        places: &[Place::Counter, Place::Other],
        options: &[],
        read,
    },
    Form {
        words: "counter reset",
        arguments: "COUNTER [INDEX | FROM..TO | default]",
        about: "sets it to 0",
        places: &[Place::Counter, Place::Other],
        options: &[],
        read: reset_command,
    },
];

/// A counter that a name means.
enum Found<'a> {
    Array(&'a Counter),
    Direct(&'a DirectCounter),
}

fn found<'a>(catalog: &'a Catalog, name: &str) -> Result<Found<'a>, Mistake> {
    let (arrays, directs) = (&catalog.info.counters, &catalog.info.direct_counters);
    let direct = find(name, directs).map(Found::Direct);
    direct.or_else(|_| find(name, arrays).map(Found::Array)).map_err(|_| {
        let known = arrays.iter().map(Named::alias).chain(directs.iter().map(Named::alias));
        Mistake::unknown("counter", name, known)
    })
}

/// What to read of a counter.
pub(super) fn questions(catalog: &Catalog, name: &str, index: Option<&str>) -> Result<Vec<Kind>, Mistake> {
    match (found(catalog, name)?, index) {
        (Found::Array(counter), index) => {
            let chosen = elements(index, &format!("counter `{}`", counter.alias()), counter.size)?;
            Ok(array_questions(counter, chosen))
        }
        (Found::Direct(direct), None) => Ok(vec![direct_question(direct, false)]),
        (Found::Direct(direct), Some(DEFAULT)) => Ok(vec![direct_question(direct, true)]),
        (Found::Direct(direct), Some(index)) => {
            let table = catalog.table_by_id(direct.direct_table_id).map_or("", Named::alias);
            let mistake = Mistake::new(format!("`{index}`: a direct counter has no indices but entries"));
            let help =
                format!("`table dump {table} FIELD=MATCH` shows that of an entry, `default` that of the default entry");
            Err(mistake.help(help))
        }
    }
}

fn array_questions(counter: &Counter, chosen: Option<std::ops::RangeInclusive<i64>>) -> Vec<Kind> {
    let one = |index| {
        Kind::CounterEntry(CounterEntry {
            counter_id: counter.id(),
            index,
            data: None,
        })
    };
    match chosen {
        None => vec![one(None)],
        Some(range) => range.map(|index| one(Some(Index { index }))).collect(),
    }
}

/// All counters of a table's entries, or that of its default entry.
pub(super) fn direct_question(direct: &DirectCounter, is_default_action: bool) -> Kind {
    Kind::DirectCounterEntry(DirectCounterEntry {
        table_entry: Some(TableEntry {
            table_id: direct.direct_table_id,
            is_default_action,
            ..TableEntry::default()
        }),
        data: None,
    })
}

fn list(catalog: &Catalog, arguments: &Arguments) -> Result<Command, Mistake> {
    arguments.at_most(0)?;
    Ok(Command::Show(records(catalog)))
}

/// What is known of every counter.
pub(super) fn records(catalog: &Catalog) -> Vec<Record> {
    let arrays = catalog.info.counters.iter().map(|counter| {
        let record = Record::default().text("counter", counter.alias()).text("of", "index");
        record
            .text("unit", unit(counter.spec.as_ref()))
            .number("size", counter.size)
    });
    let directs = catalog.info.direct_counters.iter().map(|counter| {
        let table = catalog.table_by_id(counter.direct_table_id).map_or("", Named::alias);
        let record = Record::default()
            .text("counter", counter.alias())
            .text("of", format!("table {table}"));
        record.text("unit", unit(counter.spec.as_ref()))
    });
    arrays.chain(directs).collect()
}

fn unit(spec: Option<&CounterSpec>) -> &'static str {
    match spec.map(CounterSpec::unit) {
        Some(Unit::Bytes) => "bytes",
        Some(Unit::Packets) => "packets",
        Some(Unit::Both) => "packets and bytes",
        _ => "unknown",
    }
}

fn read(catalog: &Catalog, arguments: &Arguments) -> Result<Command, Mistake> {
    arguments.at_most(2)?;
    let name = arguments.at(0, "the name of the counter")?;
    questions(catalog, name, arguments.words.get(1).map(String::as_str)).map(reading)
}

fn reset_command(catalog: &Catalog, arguments: &Arguments) -> Result<Command, Mistake> {
    arguments.at_most(2)?;
    let name = arguments.at(0, "the name of the counter")?;
    let kinds = questions(catalog, name, arguments.words.get(1).map(String::as_str))?;
    Ok(Command::Change(kinds.into_iter().map(entity).collect(), Change::Reset))
}

/// An entity with nothing counted, or no rates set.
pub(super) fn reset(kind: Kind) -> Kind {
    match kind {
        Kind::CounterEntry(entry) => Kind::CounterEntry(CounterEntry {
            data: Some(CounterData::default()),
            ..entry
        }),
        Kind::DirectCounterEntry(entry) => Kind::DirectCounterEntry(DirectCounterEntry {
            data: Some(CounterData::default()),
            ..entry
        }),
        Kind::MeterEntry(mut entry) => {
            entry.config = None;
            Kind::MeterEntry(entry)
        }
        Kind::DirectMeterEntry(mut entry) => {
            entry.config = None;
            Kind::DirectMeterEntry(entry)
        }
        other => other,
    }
}
