//! `vset …`: parser value sets (§9.6).

use super::{Command, Form, Place, reading, write};
use crate::arguments::Arguments;
use crate::catalog::{Catalog, Named, find};
use crate::key::{Key, kind_name};
use crate::listing::{Cell, Record};
use crate::mistake::Mistake;
use forebay_protocol::p4::config::v1::ValueSet;
use forebay_protocol::p4::v1::entity::Entity as Kind;
use forebay_protocol::p4::v1::update::Type;
use forebay_protocol::p4::v1::{ValueSetEntry, ValueSetMember};

pub(super) const FORMS: &[Form] = &[
    Form {
        words: "vset list",
        arguments: "",
        about: "value sets of the program",
        places: &[],
        options: &[],
        read: list,
    },
    Form {
        words: "vset dump",
        arguments: "[SET]",
        about: "members of value sets",
        places: &[Place::ValueSet],
        options: &[],
        read: dump,
    },
    Form {
        words: "vset set",
        arguments: "SET MEMBER...",
        about: "sets all members; components of one are separated by commas",
        places: &[Place::ValueSet, Place::Other],
        options: &[],
        read: set,
    },
    Form {
        words: "vset clear",
        arguments: "SET",
        about: "takes all members away",
        places: &[Place::ValueSet],
        options: &[],
        read: clear,
    },
];

fn list(catalog: &Catalog, arguments: &Arguments) -> Result<Command, Mistake> {
    arguments.at_most(0)?;
    Ok(Command::Show(records(catalog)))
}

/// What is known of every value set.
pub(super) fn records(catalog: &Catalog) -> Vec<Record> {
    let sets = catalog.info.value_sets.iter().map(|set| {
        let fields = key(catalog, set).fields;
        let fields = fields.iter().map(|field| {
            let kind = kind_name(field.kind);
            format!("{}:{kind} {}", field.value.name, field.value.type_name())
        });
        Record::default()
            .text("value set", set.alias())
            .with("members", Cell::List(fields.collect()))
            .number("size", i64::from(set.size))
    });
    sets.collect()
}

fn key(catalog: &Catalog, set: &ValueSet) -> Key {
    Key::new(catalog, format!("value set `{}`", set.alias()), &set.r#match)
}

fn named<'a>(catalog: &'a Catalog, arguments: &Arguments) -> Result<&'a ValueSet, Mistake> {
    find(arguments.at(0, "the name of the value set")?, &catalog.info.value_sets)
}

fn dump(catalog: &Catalog, arguments: &Arguments) -> Result<Command, Mistake> {
    arguments.at_most(1)?;
    let sets: Vec<&ValueSet> = if arguments.words.is_empty() {
        catalog.info.value_sets.iter().collect()
    } else {
        vec![named(catalog, arguments)?]
    };
    Ok(reading(sets.into_iter().map(|set| entry(set, Vec::new()))))
}

fn entry(set: &ValueSet, members: Vec<ValueSetMember>) -> Kind {
    Kind::ValueSetEntry(ValueSetEntry {
        value_set_id: set.id(),
        members,
    })
}

fn set(catalog: &Catalog, arguments: &Arguments) -> Result<Command, Mistake> {
    let set = named(catalog, arguments)?;
    let key = key(catalog, set);
    if arguments.from(1).is_empty() {
        let mistake = Mistake::new("the members are missing");
        return Err(mistake.help(format!("`vset clear {}` takes all members away", set.alias())));
    }
    let members = arguments.from(1).iter().map(|word| {
        let components: Vec<String> = word.split(',').map(str::to_string).collect();
        key.read(&components).map(|r#match| ValueSetMember { r#match })
    });
    Ok(write(Type::Modify, entry(set, members.collect::<Result<_, _>>()?)))
}

fn clear(catalog: &Catalog, arguments: &Arguments) -> Result<Command, Mistake> {
    arguments.at_most(1)?;
    Ok(write(Type::Modify, entry(named(catalog, arguments)?, Vec::new())))
}
