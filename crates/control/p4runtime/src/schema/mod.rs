//! A program's objects by the ids of its P4Info.
//!
//! A [`Schema`] joins what a controller knows (P4Info: ids, names, widths) with what runs (the IR: indices, order of
//! fields). It is made once for a program; all that a request may name is looked up here.

mod consistent;
pub(crate) mod dictionary;
mod objects;
mod packets;
pub(crate) mod restriction;
mod tables;
pub(crate) mod value;
mod widths;

pub(crate) use objects::{CounterSchema, DigestSchema, MeterSchema, ProfileSchema, RegisterSchema, ValueSetSchema};
pub(crate) use packets::PacketSchema;
pub(crate) use tables::{ActionSchema, ActionScope, Field, TableSchema};

use crate::status::Error;
use dictionary::Dictionary;
use forebay_ir::{Architecture, DigestId, Program};
use forebay_protocol::p4::config::v1::{P4Info, P4TypeInfo};
use std::collections::BTreeMap;
use std::sync::Arc;
use value::Translations;

/// What a controller can name, by id.
#[derive(Debug)]
pub(crate) struct Schema {
    pub(crate) tables: BTreeMap<u32, TableSchema>,
    pub(crate) actions: BTreeMap<u32, ActionSchema>,
    pub(crate) profiles: BTreeMap<u32, ProfileSchema>,
    pub(crate) counters: BTreeMap<u32, CounterSchema>,
    pub(crate) meters: BTreeMap<u32, MeterSchema>,
    pub(crate) registers: BTreeMap<u32, RegisterSchema>,
    pub(crate) value_sets: BTreeMap<u32, ValueSetSchema>,
    pub(crate) digests: BTreeMap<u32, DigestSchema>,
    /// The id of each digest of the program.
    pub(crate) digest_ids: Vec<Option<u32>>,
    /// Headers of packets to the controller and from it, if the program has them.
    pub(crate) packet_in: Option<PacketSchema>,
    pub(crate) packet_out: Option<PacketSchema>,
    pub(crate) types: Types,
    /// Action ids by name, for entries that are read back.
    pub(crate) action_ids: BTreeMap<String, u32>,
    /// Whether clone session 0 is one as others: PSA has it for clones to the CPU port.
    pub(crate) has_session_0: bool,
}

/// The types of a program that have names.
#[derive(Debug)]
pub(crate) struct Types {
    pub(crate) info: P4TypeInfo,
    pub(crate) translations: Translations,
}

impl Schema {
    /// The schema of a program.
    ///
    /// # Errors
    /// `INVALID_ARGUMENT` when the P4Info is not that of the program; the message names the object that differs.
    pub(crate) fn new(info: &P4Info, program: &Program) -> Result<Schema, Error> {
        consistent::check(info, program)?;
        let mut headers = info.controller_packet_metadata.iter();
        headers.try_for_each(|header| packets::check(program, header))?;
        let port_type = packets::port_type(info, program);
        let translations = Translations::new(info, port_type, widths::widths(info, program));
        let mut actions = tables::actions(info, program, &translations)?;
        actions.extend(tables::hidden_actions(info, program, &actions, &translations));
        let digests = objects::digests(info, program)?;
        let digest_id = |id: DigestId| {
            let name = &program.digests[id.index()].name;
            let same = digests.iter().find(|(_, digest)| digest.name == *name);
            same.map(|(id, _)| *id)
        };
        Ok(Schema {
            tables: tables::tables(info, program, &translations, &actions)?,
            profiles: objects::profiles(info, program)?,
            counters: objects::counters(info, program)?,
            meters: objects::meters(info, program)?,
            registers: objects::registers(info, program)?,
            value_sets: objects::value_sets(info, program, &translations)?,
            digest_ids: (0..program.digests.len() as u32)
                .map(|index| digest_id(DigestId(index)))
                .collect(),
            digests,
            packet_in: packets::header(info, program, "packet_in", &translations),
            packet_out: packets::header(info, program, "packet_out", &translations),
            action_ids: actions.iter().map(|(id, action)| (action.name.clone(), *id)).collect(),
            actions,
            has_session_0: program.architecture == Architecture::Psa,
            types: Types {
                info: info.type_info.clone().unwrap_or_default(),
                translations,
            },
        })
    }

    /// The strings of each translated type, by its name.
    pub(crate) fn dictionaries(&self) -> &BTreeMap<String, Arc<Dictionary>> {
        &self.types.translations.dictionaries
    }

    /// The strings that name ports, if the program has such.
    pub(crate) fn port_names(&self) -> Option<&Dictionary> {
        self.types.translations.ports.as_deref()
    }

    /// The name of the object with an id, of whatever kind.
    pub(crate) fn name(&self, id: u32) -> Option<&str> {
        fn of<T: Named>(objects: &BTreeMap<u32, T>, id: u32) -> Option<&str> {
            objects.get(&id).map(Named::name)
        }
        of(&self.tables, id)
            .or_else(|| of(&self.actions, id))
            .or_else(|| of(&self.profiles, id))
            .or_else(|| of(&self.counters, id))
            .or_else(|| of(&self.meters, id))
            .or_else(|| of(&self.registers, id))
            .or_else(|| of(&self.value_sets, id))
            .or_else(|| of(&self.digests, id))
    }

    /// A table.
    ///
    /// # Errors
    /// `INVALID_ARGUMENT` when there is none with this id.
    pub(crate) fn table(&self, id: u32) -> Result<&TableSchema, Error> {
        find(&self.tables, id, "table")
    }

    /// An action.
    ///
    /// # Errors
    /// `INVALID_ARGUMENT` when there is none with this id.
    pub(crate) fn action(&self, id: u32) -> Result<&ActionSchema, Error> {
        find(&self.actions, id, "action")
    }

    /// What has this id, for messages: ``table `ingress.routes` ``.
    pub(crate) fn describe(&self, id: u32) -> Option<String> {
        fn named<T: Named>(what: &str, objects: &BTreeMap<u32, T>, id: u32) -> Option<String> {
            objects.get(&id).map(|object| format!("{what} `{}`", object.name()))
        }
        named("table", &self.tables, id)
            .or_else(|| named("action profile", &self.profiles, id))
            .or_else(|| named("counter", &self.counters, id))
            .or_else(|| named("meter", &self.meters, id))
            .or_else(|| named("register", &self.registers, id))
            .or_else(|| named("value set", &self.value_sets, id))
            .or_else(|| named("digest", &self.digests, id))
    }
}

/// The object with an id; the error says what there is.
pub(crate) fn find<'a, T: Named>(objects: &'a BTreeMap<u32, T>, id: u32, kind: &str) -> Result<&'a T, Error> {
    objects.get(&id).ok_or_else(|| {
        let known: Vec<String> = objects
            .iter()
            .take(8)
            .map(|(id, object)| format!("{id:#010x} `{}`", object.name()))
            .collect();
        let known = if known.is_empty() {
            format!("the program has no {kind}")
        } else {
            format!("there is {}", known.join(", "))
        };
        Error::invalid(format!("there is no {kind} with id {id:#010x}; {known}"))
    })
}

/// What has a name in the program.
pub(crate) trait Named {
    /// The name.
    fn name(&self) -> &str;
}

macro_rules! named {
    ($($type:ty),*) => {$(
        impl Named for $type {
            fn name(&self) -> &str {
                &self.name
            }
        }
    )*};
}

named!(
    TableSchema,
    ActionSchema,
    ProfileSchema,
    CounterSchema,
    MeterSchema,
    RegisterSchema,
    ValueSetSchema,
    DigestSchema
);

/// Says that a P4Info is not that of the program.
pub(crate) fn differs(what: impl std::fmt::Display) -> Error {
    Error::invalid(format!("the P4Info is not that of the program: {what}"))
}
