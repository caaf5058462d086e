//! `digest …`: messages of the program to its controllers (§9.8).

use super::{Command, Form, Limit, Place, reading, update, write_named};
use crate::arguments::Arguments;
use crate::catalog::{Catalog, Named, find};
use crate::mistake::Mistake;
use forebay_protocol::p4::v1::DigestEntry;
use forebay_protocol::p4::v1::digest_entry::Config;
use forebay_protocol::p4::v1::entity::Entity as Kind;
use forebay_protocol::p4::v1::update::Type;

/// What `digest enable` chooses: lists that come soon.
const MAX_DELAY_NS: i64 = 10_000_000;
const ACK_TIMEOUT_NS: i64 = 1_000_000_000;

pub(super) const FORMS: &[Form] = &[
    Form {
        words: "digest list",
        arguments: "",
        about: "digests that are switched on",
        places: &[],
        options: &[],
        read: list,
    },
    Form {
        words: "digest enable",
        arguments: "DIGEST",
        about: "switches a digest on: lists of at most N messages, none older than TIME",
        places: &[Place::Digest],
        options: CONFIG,
        read: |catalog, arguments| configure(catalog, arguments, Type::Insert),
    },
    Form {
        words: "digest configure",
        arguments: "DIGEST",
        about: "changes how a digest that is on is sent",
        places: &[Place::Digest],
        options: CONFIG,
        read: |catalog, arguments| configure(catalog, arguments, Type::Modify),
    },
    Form {
        words: "digest disable",
        arguments: "DIGEST",
        about: "switches a digest off",
        places: &[Place::Digest],
        options: &[],
        read: disable,
    },
    Form {
        words: "digest watch",
        arguments: "[DIGEST...]",
        about: "shows digests as they come, and acknowledges them",
        places: &[Place::Digest],
        options: &[("count", Some("N"))],
        read: watch,
    },
];

const CONFIG: &[(&str, Option<&str>)] = &[
    ("max-size", Some("N")),
    ("max-delay", Some("TIME")),
    ("ack-timeout", Some("TIME")),
];

/// Lists the digests that are on: to ask for one that is not is an error.
fn list(_: &Catalog, arguments: &Arguments) -> Result<Command, Mistake> {
    arguments.at_most(0)?;
    Ok(reading([Kind::DigestEntry(DigestEntry::default())]))
}

fn named(catalog: &Catalog, arguments: &Arguments) -> Result<u32, Mistake> {
    arguments.at_most(1)?;
    find(arguments.at(0, "the name of the digest")?, &catalog.info.digests).map(Named::id)
}

fn configure(catalog: &Catalog, arguments: &Arguments, how: Type) -> Result<Command, Mistake> {
    let config = Config {
        max_list_size: arguments.number::<u16>("max-size")?.unwrap_or(1).into(),
        max_timeout_ns: arguments.nanoseconds("max-delay")?.unwrap_or(MAX_DELAY_NS),
        ack_timeout_ns: arguments.nanoseconds("ack-timeout")?.unwrap_or(ACK_TIMEOUT_NS),
    };
    let entry = DigestEntry {
        digest_id: named(catalog, arguments)?,
        config: Some(config),
    };
    Ok(write_named(how, Kind::DigestEntry(entry), arguments))
}

fn disable(catalog: &Catalog, arguments: &Arguments) -> Result<Command, Mistake> {
    let entry = DigestEntry {
        digest_id: named(catalog, arguments)?,
        config: None,
    };
    Ok(Command::Write(vec![update(Type::Delete, Kind::DigestEntry(entry))]))
}

fn watch(catalog: &Catalog, arguments: &Arguments) -> Result<Command, Mistake> {
    let ids = arguments
        .words
        .iter()
        .map(|name| find(name, &catalog.info.digests).map(Named::id));
    let limit = Limit {
        count: arguments.number("count")?,
    };
    Ok(Command::Digests(ids.collect::<Result<_, _>>()?, limit))
}
