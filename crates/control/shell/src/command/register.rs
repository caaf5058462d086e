//! `register …`: elements of register arrays.

use super::{Command, Form, Place, elements, reading, update};
use crate::arguments::Arguments;
use crate::catalog::{Catalog, Named, find};
use crate::data::Shape;
use crate::listing::{Cell, Record};
use crate::mistake::Mistake;
use forebay_protocol::p4::config::v1::Register;
use forebay_protocol::p4::v1::entity::Entity as Kind;
use forebay_protocol::p4::v1::update::Type;
use forebay_protocol::p4::v1::{Index, P4Data, RegisterEntry};

pub(super) const FORMS: &[Form] = &[
    Form {
        words: "register list",
        arguments: "",
        about: "registers of the program",
        places: &[],
        options: &[],
        read: list,
    },
    Form {
        words: "register read",
        arguments: "REGISTER [INDEX | FROM..TO]",
        about: "values",
        places: &[Place::Register, Place::Other],
        options: &[],
        read,
    },
    Form {
        words: "register write",
        arguments: "REGISTER INDEX | FROM..TO | all VALUE",
        about: "sets an element, or several to the same value; NAME=VALUE... where it is a struct",
        places: &[Place::Register, Place::Other],
        options: &[],
        read: write,
    },
];

fn list(catalog: &Catalog, arguments: &Arguments) -> Result<Command, Mistake> {
    arguments.at_most(0)?;
    Ok(Command::Show(records(catalog)))
}

/// What is known of every register.
pub(super) fn records(catalog: &Catalog) -> Vec<Record> {
    let registers = catalog.info.registers.iter().map(|register| {
        let record = Record::default().text("register", register.alias());
        let record = record.number("size", i64::from(register.size));
        let names = shape(catalog, register).map(|shape| shape.names()).unwrap_or_default();
        let is_struct = names.iter().any(|name| !name.is_empty());
        record.maybe("values", is_struct.then_some(Cell::List(names)))
    });
    registers.collect()
}

fn shape(catalog: &Catalog, register: &Register) -> Option<Shape> {
    Shape::new(&catalog.types(), register.type_spec.as_ref()?, register.alias())
}

fn entry(register: &Register, index: Option<i64>, data: Option<P4Data>) -> Kind {
    Kind::RegisterEntry(RegisterEntry {
        register_id: register.id(),
        index: index.map(|index| Index { index }),
        data,
    })
}

fn chosen<'a>(
    catalog: &'a Catalog,
    arguments: &Arguments,
) -> Result<(&'a Register, Option<std::ops::RangeInclusive<i64>>), Mistake> {
    let register = find(arguments.at(0, "the name of the register")?, &catalog.info.registers)?;
    let index = arguments.words.get(1).map(String::as_str);
    let what = format!("register `{}`", register.alias());
    Ok((register, elements(index, &what, i64::from(register.size))?))
}

fn read(catalog: &Catalog, arguments: &Arguments) -> Result<Command, Mistake> {
    arguments.at_most(2)?;
    Ok(match chosen(catalog, arguments)? {
        (register, None) => reading([entry(register, None, None)]),
        (register, Some(range)) => reading(range.map(|index| entry(register, Some(index), None))),
    })
}

fn write(catalog: &Catalog, arguments: &Arguments) -> Result<Command, Mistake> {
    arguments.at(1, "the index")?;
    let (register, range) = chosen(catalog, arguments)?;
    let what = format!("register `{}`", register.alias());
    let Some(shape) = shape(catalog, register) else {
        return Err(Mistake::new(format!("{what} has a type that cannot be written")));
    };
    let data = shape.read(&what, arguments.from(2))?;
    let write = |index| update(Type::Modify, entry(register, index, Some(data.clone())));
    // Without an index all elements are meant, however many there are.
    Ok(Command::Write(match range {
        None => vec![write(None)],
        Some(range) => range.map(|index| write(Some(index))).collect(),
    }))
}
