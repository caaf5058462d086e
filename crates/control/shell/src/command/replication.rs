//! `multicast …` and `session …`: copies that the packet replication engine makes (§9.5).

use super::{Change, Command, Form, Place, entity, reading, write, write_named};
use crate::action::port;
use crate::arguments::{Arguments, number};
use crate::mistake::Mistake;
use forebay_protocol::p4::v1::entity::Entity as Kind;
use forebay_protocol::p4::v1::packet_replication_engine_entry::Type as Replication;
use forebay_protocol::p4::v1::replica::PortKind;
use forebay_protocol::p4::v1::update::Type;
use forebay_protocol::p4::v1::{
    BackupReplica, CloneSessionEntry, MulticastGroupEntry, PacketReplicationEngineEntry, Replica,
};

macro_rules! form {
    ($words:literal, $arguments:literal, $about:literal, $options:expr, $read:expr) => {
        Form {
            words: $words,
            arguments: $arguments,
            about: $about,
            places: &[Place::Other],
            options: $options,
            read: $read,
        }
    };
}

const METADATA: &[(&str, Option<&str>)] = &[("metadata", Some("TEXT"))];
const SESSION: &[(&str, Option<&str>)] = &[("length", Some("BYTES")), ("class", Some("N"))];

pub(super) const FORMS: &[Form] = &[
    form!("multicast dump", "[GROUP]", "multicast groups", &[], |_, arguments| {
        Ok(reading([group_entry(asked(arguments)?, Vec::new(), "")]))
    }),
    form!(
        "multicast add",
        "GROUP PORT[:INSTANCE][/BACKUP...]...",
        "adds a multicast group; a backup takes the place of a port that is down",
        METADATA,
        |_, arguments| group(arguments, Type::Insert)
    ),
    form!(
        "multicast modify",
        "GROUP PORT[:INSTANCE][/BACKUP...]...",
        "changes where a group's copies go",
        METADATA,
        |_, arguments| group(arguments, Type::Modify)
    ),
    form!(
        "multicast delete",
        "GROUP",
        "deletes a multicast group",
        &[],
        |_, arguments| {
            arguments.at_most(1)?;
            Ok(write(Type::Delete, group_entry(named(arguments)?, Vec::new(), "")))
        }
    ),
    form!(
        "multicast clear",
        "",
        "deletes all multicast groups",
        &[],
        |_, arguments| {
            arguments.at_most(0)?;
            Ok(Command::Change(
                vec![entity(group_entry(0, Vec::new(), ""))],
                Change::Delete,
            ))
        }
    ),
    form!("session dump", "[SESSION]", "clone sessions", &[], |_, arguments| {
        Ok(reading([session_entry(CloneSessionEntry {
            session_id: asked(arguments)?,
            ..CloneSessionEntry::default()
        })]))
    }),
    form!(
        "session add",
        "SESSION PORT[:INSTANCE][/BACKUP...]...",
        "adds a clone session; --length cuts clones",
        SESSION,
        |_, arguments| session(arguments, Type::Insert)
    ),
    form!(
        "session modify",
        "SESSION PORT[:INSTANCE][/BACKUP...]...",
        "changes where a session's clones go",
        SESSION,
        |_, arguments| session(arguments, Type::Modify)
    ),
    form!(
        "session delete",
        "SESSION",
        "deletes a clone session",
        &[],
        |_, arguments| {
            arguments.at_most(1)?;
            Ok(write(
                Type::Delete,
                session_entry(CloneSessionEntry {
                    session_id: named_session(arguments)?,
                    ..CloneSessionEntry::default()
                }),
            ))
        }
    ),
    form!(
        "session clear",
        "",
        "deletes all clone sessions",
        &[],
        |_, arguments| {
            arguments.at_most(0)?;
            let all = session_entry(CloneSessionEntry::default());
            Ok(Command::Change(vec![entity(all)], Change::Delete))
        }
    ),
];

/// The number that is given, or 0 for all.
fn asked(arguments: &Arguments) -> Result<u32, Mistake> {
    arguments.at_most(1)?;
    if arguments.words.is_empty() {
        Ok(0)
    } else {
        named(arguments)
    }
}

fn named(arguments: &Arguments) -> Result<u32, Mistake> {
    let number = number::<u32>(arguments.at(0, "the number")?, "number")?;
    match number {
        0 => Err(Mistake::new("0 is no number of a group or session").help("numbers begin with 1")),
        number => Ok(number),
    }
}

/// The number of a session. That 0 is one of PSA alone is left to the switch.
fn named_session(arguments: &Arguments) -> Result<u32, Mistake> {
    number(arguments.at(0, "the number")?, "number")
}

fn group(arguments: &Arguments, how: Type) -> Result<Command, Mistake> {
    let metadata = arguments.option("metadata").unwrap_or_default();
    let group = group_entry(named(arguments)?, replicas(arguments)?, metadata);
    Ok(write_named(how, group, arguments))
}

fn group_entry(multicast_group_id: u32, replicas: Vec<Replica>, metadata: &str) -> Kind {
    Kind::PacketReplicationEngineEntry(PacketReplicationEngineEntry {
        r#type: Some(Replication::MulticastGroupEntry(MulticastGroupEntry {
            multicast_group_id,
            replicas,
            metadata: metadata.as_bytes().to_vec(),
        })),
    })
}

fn session(arguments: &Arguments, how: Type) -> Result<Command, Mistake> {
    let session = session_entry(CloneSessionEntry {
        session_id: named_session(arguments)?,
        replicas: replicas(arguments)?,
        class_of_service: arguments.number("class")?.unwrap_or(0),
        packet_length_bytes: arguments.number::<u16>("length")?.unwrap_or(0).into(),
    });
    Ok(write_named(how, session, arguments))
}

fn session_entry(session: CloneSessionEntry) -> Kind {
    Kind::PacketReplicationEngineEntry(PacketReplicationEngineEntry {
        r#type: Some(Replication::CloneSessionEntry(session)),
    })
}

fn replicas(arguments: &Arguments) -> Result<Vec<Replica>, Mistake> {
    arguments.at(1, "a port")?;
    arguments.from(1).iter().map(|word| replica(word)).collect()
}

/// `PORT[:INSTANCE][/PORT[:INSTANCE]...]`
fn replica(word: &str) -> Result<Replica, Mistake> {
    let mut places = word.split('/').map(place);
    let Some(first) = places.next() else {
        return Err(Mistake::new("a port is missing"));
    };
    let (port, instance) = first?;
    let backups = places.map(|place| place.map(|(port, instance)| BackupReplica { port, instance }));
    Ok(Replica {
        port_kind: Some(PortKind::Port(port)),
        instance,
        backup_replicas: backups.collect::<Result<_, _>>()?,
    })
}

fn place(text: &str) -> Result<(Vec<u8>, u32), Mistake> {
    let (port_text, instance) = text.split_once(':').unwrap_or((text, "0"));
    Ok((port(port_text)?, number(instance, "instance")?))
}
