//! `table …`: entries and default actions.

use super::{Change, Command, Form, Place, Reading, entity, write, write_named};
use crate::action;
use crate::arguments::Arguments;
use crate::catalog::{Catalog, Named};
use crate::key::{Key, kind_name};
use crate::listing::{Cell, Record};
use crate::mistake::Mistake;
use forebay_protocol::p4::config::v1::Table;
use forebay_protocol::p4::v1::entity::Entity as Kind;
use forebay_protocol::p4::v1::table_entry::IdleTimeout;
use forebay_protocol::p4::v1::update::Type;
use forebay_protocol::p4::v1::{CounterData, MeterConfig, TableEntry};

const ENTRY: &[(&str, Option<&str>)] = &[
    ("priority", Some("N")),
    ("idle", Some("TIME")),
    ("metadata", Some("TEXT")),
];

pub(super) const FORMS: &[Form] = &[
    Form {
        words: "table list",
        arguments: "",
        about: "tables with their keys and actions",
        places: &[],
        options: &[],
        read: list,
    },
    Form {
        words: "table dump",
        arguments: "[TABLE [FIELD=MATCH...]]",
        about: "the entries of a table, or of all; with counters and times if it has them",
        places: &[Place::Table, Place::Key],
        options: &[("priority", Some("N")), ("limit", Some("N"))],
        read: dump,
    },
    Form {
        words: "table add",
        arguments: "TABLE FIELD=MATCH... do ACTION [PARAMETER=VALUE...]",
        about: "adds an entry",
        places: &[Place::Table, Place::Key],
        options: ENTRY,
        read: add,
    },
    Form {
        words: "table modify",
        arguments: "TABLE FIELD=MATCH... do ACTION [PARAMETER=VALUE...]",
        about: "changes what an entry does, and what options name; the rest of it stays",
        places: &[Place::Table, Place::Key],
        options: ENTRY,
        read: modify,
    },
    Form {
        words: "table delete",
        arguments: "TABLE FIELD=MATCH...",
        about: "deletes an entry",
        places: &[Place::Table, Place::Key],
        options: &[("priority", Some("N"))],
        read: delete,
    },
    Form {
        words: "table default",
        arguments: "TABLE [do ACTION [PARAMETER=VALUE...] | reset]",
        about: "shows, sets or resets the default action",
        places: &[Place::Table, Place::Key],
        options: &[],
        read: default,
    },
    Form {
        words: "table clear",
        arguments: "TABLE | all",
        about: "deletes every entry that is not const",
        places: &[Place::Table],
        options: &[],
        read: clear,
    },
];

/// The key of a table.
pub(super) fn key(catalog: &Catalog, table: &Table) -> Key {
    Key::new(catalog, format!("table `{}`", table.alias()), &table.match_fields)
}

fn list(catalog: &Catalog, arguments: &Arguments) -> Result<Command, Mistake> {
    arguments.at_most(0)?;
    Ok(Command::Show(records(catalog)))
}

/// What is known of every table.
pub(super) fn records(catalog: &Catalog) -> Vec<Record> {
    catalog.info.tables.iter().map(|table| record(catalog, table)).collect()
}

fn record(catalog: &Catalog, table: &Table) -> Record {
    let key = key(catalog, table);
    let fields = key.short_names().into_iter().zip(&key.fields);
    let fields = fields.map(|(name, field)| format!("{name}:{} {}", kind_name(field.kind), field.value.type_name()));
    let actions = catalog
        .actions_of(table)
        .into_iter()
        .map(|action| action.alias().to_string());
    Record::default()
        .text("table", table.alias())
        .with("key", Cell::List(fields.collect()))
        .with("actions", Cell::List(actions.collect()))
        .number("size", table.size)
        .with("const", Cell::Flag(table.is_const_table))
}

fn dump(catalog: &Catalog, arguments: &Arguments) -> Result<Command, Mistake> {
    let tables: Vec<&Table> = match arguments.words.first() {
        None => catalog.info.tables.iter().collect(),
        Some(name) => {
            let table = catalog.table(name)?;
            if arguments
                .number::<i32>("priority")?
                .is_some_and(|priority| priority > 0)
                && !key(catalog, table).needs_priority()
            {
                return Err(without_priorities(table));
            }
            vec![table]
        }
    };
    let mut entities = Vec::new();
    for table in tables {
        entities.extend(
            questions(catalog, table, arguments)?
                .into_iter()
                .map(Kind::TableEntry)
                .map(entity),
        );
    }
    Ok(Command::Read(Reading {
        entities,
        limit: arguments.number::<u32>("limit")?.map(|limit| limit as usize),
        is_of_priority_0: arguments.number::<i32>("priority")? == Some(0),
    }))
}

/// The requests to read a table: its entries, and if no entry is named its default action.
fn questions(catalog: &Catalog, table: &Table, arguments: &Arguments) -> Result<Vec<TableEntry>, Mistake> {
    let has_counter = resource_is(table, |id| {
        catalog.info.direct_counters.iter().any(|counter| counter.id() == id)
    });
    let has_meter = resource_is(table, |id| {
        catalog.info.direct_meters.iter().any(|meter| meter.id() == id)
    });
    let priority: Option<i32> = arguments.number("priority")?;
    let entries = TableEntry {
        table_id: table.id(),
        r#match: key(catalog, table).read_filter(arguments.from(1))?,
        priority: priority.unwrap_or(0),
        counter_data: has_counter.then(CounterData::default),
        meter_config: has_meter.then(MeterConfig::default),
        time_since_last_hit: (table.idle_timeout_behavior != 0).then(IdleTimeout::default),
        ..TableEntry::default()
    };
    let is_filtered = !arguments.from(1).is_empty() || priority.is_some();
    let default = TableEntry {
        table_id: table.id(),
        is_default_action: true,
        ..TableEntry::default()
    };
    Ok(if is_filtered {
        vec![entries]
    } else {
        vec![entries, default]
    })
}

fn resource_is(table: &Table, is_kind: impl Fn(u32) -> bool) -> bool {
    table.direct_resource_ids.iter().any(|id| is_kind(*id))
}

/// The table, its key and priority: what names an entry. Entries of the program may have priority 0.
///
/// # Errors
/// When the key is not complete, or a priority is missing or out of place.
pub(super) fn entry(catalog: &Catalog, arguments: &Arguments, key_words: &[String]) -> Result<TableEntry, Mistake> {
    let table = catalog.table(arguments.at(0, "the name of the table")?)?;
    let key = key(catalog, table);
    let priority = arguments.number::<i32>("priority")?;
    match (key.needs_priority(), priority) {
        (true, None) => return Err(no_priority(table)),
        (false, Some(_)) => return Err(without_priorities(table)),
        _ => {}
    }
    Ok(TableEntry {
        table_id: table.id(),
        r#match: key.read(key_words)?,
        priority: priority.unwrap_or(0),
        ..TableEntry::default()
    })
}

fn without_priorities(table: &Table) -> Mistake {
    let mistake = Mistake::new(format!("entries of table `{}` have no priority", table.alias()));
    mistake.help("only ternary, range and optional fields make one necessary")
}

fn no_priority(table: &Table) -> Mistake {
    let mistake = Mistake::new(format!("entries of table `{}` have a priority", table.alias()));
    mistake.help("add `--priority N`, 1 or more; the entry with the highest one wins")
}

fn add(catalog: &Catalog, arguments: &Arguments) -> Result<Command, Mistake> {
    if arguments.number::<i32>("priority")? == Some(0) {
        // Where there are priorities; the others have none at all, which is said later.
        let table = catalog.table(arguments.at(0, "the name of the table")?)?;
        if key(catalog, table).needs_priority() {
            return Err(no_priority(table));
        }
    }
    with_action(catalog, arguments, Type::Insert)
}

fn modify(catalog: &Catalog, arguments: &Arguments) -> Result<Command, Mistake> {
    with_action(catalog, arguments, Type::Modify)
}

fn with_action(catalog: &Catalog, arguments: &Arguments, how: Type) -> Result<Command, Mistake> {
    let table = catalog.table(arguments.at(0, "the name of the table")?)?;
    let (key, does) = action::split(arguments.from(1));
    let entry = entry(catalog, arguments, key)?;
    let Some(does) = does else {
        let mistake = Mistake::new("it is not said what the entry does");
        return Err(mistake.help("add `do ACTION PARAMETER=VALUE...`"));
    };
    let entry = TableEntry {
        action: Some(action::read(catalog, table, does)?),
        idle_timeout_ns: arguments.nanoseconds("idle")?.unwrap_or(0),
        metadata: arguments.option("metadata").unwrap_or_default().as_bytes().to_vec(),
        ..entry
    };
    if entry.idle_timeout_ns > 0 && table.idle_timeout_behavior == 0 {
        let mistake = Mistake::new(format!("entries of table `{}` do not time out", table.alias()));
        return Err(mistake.help("its declaration needs `support_timeout = true;`"));
    }
    Ok(write_named(how, Kind::TableEntry(entry), arguments))
}

fn delete(catalog: &Catalog, arguments: &Arguments) -> Result<Command, Mistake> {
    let entry = entry(catalog, arguments, arguments.from(1))?;
    Ok(write(Type::Delete, Kind::TableEntry(entry)))
}

fn default(catalog: &Catalog, arguments: &Arguments) -> Result<Command, Mistake> {
    let table = catalog.table(arguments.at(0, "the name of the table")?)?;
    let mut entry = TableEntry {
        table_id: table.id(),
        is_default_action: true,
        ..TableEntry::default()
    };
    let words = match action::split(arguments.from(1)) {
        ([], None) => return Ok(super::reading([Kind::TableEntry(entry)])),
        ([reset], None) if reset == "reset" => return Ok(write(Type::Modify, Kind::TableEntry(entry))),
        ([], Some(words)) | (words, None) => words,
        ([word, ..], Some(_)) => {
            return Err(Mistake::new(format!("`{word}`: a default action has no key")));
        }
    };
    entry.action = Some(action::read(catalog, table, words)?);
    Ok(write(Type::Modify, Kind::TableEntry(entry)))
}

fn clear(catalog: &Catalog, arguments: &Arguments) -> Result<Command, Mistake> {
    arguments.at_most(1)?;
    let name = arguments.at(0, "the name of the table")?;
    let table_id = if name == "all" { 0 } else { catalog.table(name)?.id() };
    let entries = TableEntry {
        table_id,
        ..TableEntry::default()
    };
    Ok(Command::Change(vec![entity(Kind::TableEntry(entries))], Change::Delete))
}

/// Whether something that was read can be deleted.
pub(super) fn is_deletable(catalog: &Catalog, kind: &Kind) -> bool {
    let Kind::TableEntry(entry) = kind else { return true };
    let is_const = catalog
        .table_by_id(entry.table_id)
        .is_some_and(|table| table.is_const_table);
    !entry.is_default_action && !entry.is_const && !is_const
}

#[cfg(test)]
mod tests {
    use super::super::update;
    use super::*;

    #[test]
    fn const_entries_stay() {
        let catalog = Catalog::default();
        let entry = TableEntry {
            is_const: true,
            ..TableEntry::default()
        };
        assert!(!is_deletable(&catalog, &Kind::TableEntry(entry)));
        assert!(is_deletable(&catalog, &Kind::TableEntry(TableEntry::default())));
        let updates = Change::Delete.updates(&catalog, vec![entity(Kind::TableEntry(TableEntry::default()))]);
        assert_eq!(updates, [update(Type::Delete, Kind::TableEntry(TableEntry::default()))]);
    }

    #[test]
    fn priority_0_is_not_all_priorities() {
        let of_priority = |priority| {
            entity(Kind::TableEntry(TableEntry {
                priority,
                ..TableEntry::default()
            }))
        };
        let found = vec![of_priority(0), of_priority(5), of_priority(0)];
        let mut reading = Reading {
            entities: Vec::new(),
            limit: None,
            is_of_priority_0: false,
        };
        assert_eq!(reading.wanted(found.clone()), found);
        reading.is_of_priority_0 = true;
        assert_eq!(reading.wanted(found.clone()), [of_priority(0), of_priority(0)]);
        reading.limit = Some(1);
        assert_eq!(reading.wanted(found), [of_priority(0)]);
    }
}
