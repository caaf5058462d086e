//! Multicast groups and clone sessions (P4Runtime §9.5).
//!
//! Of a replica with backups the pipeline has the first port that is up; when none is, its own port, which drops the
//! copy.

use crate::change::Change;
use crate::ledger::Ledger;
use crate::ports::Ports;
use crate::schema::Schema;
use crate::schema::dictionary::Dictionary;
use crate::status::Error;
use forebay_pipeline::{Batch, CLASS_OF_SERVICE_MAX, CloneSession};
use forebay_protocol::p4::v1::entity::Entity;
use forebay_protocol::p4::v1::packet_replication_engine_entry::Type as Kind;
use forebay_protocol::p4::v1::replica::PortKind;
use forebay_protocol::p4::v1::update::Type;
use forebay_protocol::p4::v1::{CloneSessionEntry, MulticastGroupEntry, PacketReplicationEngineEntry, Replica};

/// Adds, changes or removes a group or session.
pub(crate) fn write(change: &mut Change<'_, '_>, how: Type, entry: &PacketReplicationEngineEntry) -> Result<(), Error> {
    match &entry.r#type {
        Some(Kind::MulticastGroupEntry(group)) => write_group(change, how, group),
        Some(Kind::CloneSessionEntry(session)) => write_session(change, how, session),
        None => Err(Error::invalid(
            "a replication entry is a multicast group or a clone session",
        )),
    }
}

fn write_group(change: &mut Change<'_, '_>, how: Type, group: &MulticastGroupEntry) -> Result<(), Error> {
    let what = format!("multicast group {}", group.multicast_group_id);
    let number = match u16::try_from(group.multicast_group_id) {
        Ok(number @ 1..) => number,
        _ => return Err(Error::invalid(format!("{what}: groups are numbered 1 to {}", u16::MAX))),
    };
    let exists = change.ledger.multicast_groups().contains_key(&group.multicast_group_id);
    check_existence(how, exists, &what)?;
    if how == Type::Delete {
        change.batch.delete_multicast_group(number)?;
        change.ledger.multicast_groups_mut().remove(&group.multicast_group_id);
        return Ok(());
    }
    let ports = named(change.schema, change.writer.ports);
    check_unique(change, &group.replicas, &what)?;
    let replicas = copies(&group.replicas, ports, &what)?;
    change.batch.set_multicast_group(number, &replicas)?;
    let group = MulticastGroupEntry {
        replicas: canonical(ports, &group.replicas),
        ..group.clone()
    };
    let groups = change.ledger.multicast_groups_mut();
    groups.insert(group.multicast_group_id, group);
    Ok(())
}

fn write_session(change: &mut Change<'_, '_>, how: Type, session: &CloneSessionEntry) -> Result<(), Error> {
    let what = format!("clone session {}", session.session_id);
    let is_there_from_the_start = session.session_id == 0 && change.schema.has_session_0;
    if session.session_id == 0 && !is_there_from_the_start && !change.writer.is_bmv2 {
        return Err(Error::invalid("a clone session is not numbered 0"));
    }
    let exists = change.ledger.clone_sessions().contains_key(&session.session_id);
    // Then it exists, whether a controller has written it or not.
    if !is_there_from_the_start {
        check_existence(how, exists, &what)?;
    }
    if how == Type::Delete {
        change.batch.delete_clone_session(session.session_id)?;
        change.ledger.clone_sessions_mut().remove(&session.session_id);
        return Ok(());
    }
    let ports = named(change.schema, change.writer.ports);
    let config = clone_session(session, ports)?;
    check_unique(change, &session.replicas, &what)?;
    change.batch.set_clone_session(session.session_id, config)?;
    let session = CloneSessionEntry {
        replicas: canonical(ports, &session.replicas),
        ..session.clone()
    };
    change.ledger.clone_sessions_mut().insert(session.session_id, session);
    Ok(())
}

/// The ports with the strings that name them, if strings do.
type NamedPorts<'a> = (&'a Ports, Option<&'a Dictionary>);

fn named<'a>(schema: &'a Schema, ports: &'a Ports) -> NamedPorts<'a> {
    (ports, schema.port_names())
}

/// Replicas as they are read: ports in their shortest form.
fn canonical((_, names): NamedPorts<'_>, replicas: &[Replica]) -> Vec<Replica> {
    let mut replicas = replicas.to_vec();
    for replica in &mut replicas {
        if let Some(PortKind::Port(port)) = &mut replica.port_kind {
            *port = Ports::shortest(names, port);
        }
        for backup in &mut replica.backup_replicas {
            backup.port = Ports::shortest(names, &backup.port);
        }
    }
    replicas
}

fn check_existence(how: Type, exists: bool, what: &str) -> Result<(), Error> {
    match (how, exists) {
        (Type::Insert, true) => Err(Error::already_exists(format!("{what} exists already"))),
        (Type::Modify | Type::Delete, false) => Err(Error::not_found(format!("there is no {what}"))),
        _ => Ok(()),
    }
}

fn clone_session(session: &CloneSessionEntry, ports: NamedPorts<'_>) -> Result<CloneSession, Error> {
    let what = format!("clone session {}", session.session_id);
    let class_of_service = u8::try_from(session.class_of_service).ok();
    let class_of_service = class_of_service.filter(|class| *class <= CLASS_OF_SERVICE_MAX);
    let class_of_service = class_of_service.ok_or_else(|| {
        Error::invalid(format!(
            "{what}: there is no class of service {}; there are 0 to {CLASS_OF_SERVICE_MAX}",
            session.class_of_service
        ))
    })?;
    let length = u32::try_from(session.packet_length_bytes)
        .map_err(|_| Error::invalid(format!("{what}: a packet's length is not negative")))?;
    Ok(CloneSession {
        replicas: copies(&session.replicas, ports, &what)?,
        packet_length_bytes: (length > 0).then_some(length),
        class_of_service,
    })
}

/// The copies that a group makes now.
fn copies(replicas: &[Replica], ports: NamedPorts<'_>, what: &str) -> Result<Vec<forebay_pipeline::Replica>, Error> {
    replicas.iter().map(|replica| present(replica, ports, what)).collect()
}

/// The first of a replica and its backups whose port is up.
fn present(replica: &Replica, ports: NamedPorts<'_>, what: &str) -> Result<forebay_pipeline::Replica, Error> {
    let mut candidates = candidates(replica, ports, what)?.into_iter();
    let own = candidates.next();
    let chosen = own
        .into_iter()
        .chain(candidates)
        .find(|(port, _)| ports.0.is_up(*port))
        .or(own);
    let (egress_port, instance) = chosen.ok_or_else(|| Error::invalid(format!("{what}: a replica has no port")))?;
    Ok(forebay_pipeline::Replica { egress_port, instance })
}

/// Port and instance of a replica and its backups, in their order.
#[allow(deprecated, reason = "old controllers write egress_port")]
fn candidates(replica: &Replica, ports: NamedPorts<'_>, what: &str) -> Result<Vec<(u32, u16)>, Error> {
    let own = match &replica.port_kind {
        Some(PortKind::Port(port)) => ports.0.read(ports.1, port, what)?,
        Some(PortKind::EgressPort(port)) => ports.0.check((*port).into(), what)?,
        // Before 1.4 a replica's port was a number of its own, of which 0 is not sent.
        None => {
            return Err(Error::invalid(format!(
                "{what}: a replica has no port; a controller of P4Runtime before 1.4 that means port 0 cannot say so: use other ports"
            )));
        }
    };
    let mut candidates = vec![(own, instance(replica.instance, what)?)];
    for backup in &replica.backup_replicas {
        let port = ports.0.read(ports.1, &backup.port, what)?;
        if port == own {
            return Err(Error::invalid(format!(
                "{what}: a backup has the port {port} of its replica"
            )));
        }
        candidates.push((port, instance(backup.instance, what)?));
    }
    Ok(candidates)
}

fn instance(number: u32, what: &str) -> Result<u16, Error> {
    u16::try_from(number).map_err(|_| Error::invalid(format!("{what}: instances are at most {}", u16::MAX)))
}

/// No port and instance may stand twice in a group of a controller; in those of BMv2's interface, and those that came
/// with the entries that the switch was started with, they may.
fn check_unique(change: &Change<'_, '_>, replicas: &[Replica], what: &str) -> Result<(), Error> {
    if change.writer.is_bmv2 {
        return Ok(());
    }
    let ports = named(change.schema, change.writer.ports);
    let mut seen = std::collections::BTreeSet::new();
    for replica in replicas {
        for (port, instance) in candidates(replica, ports, what)? {
            if !seen.insert((port, instance)) {
                return Err(Error::invalid(format!(
                    "{what}: port {port} with instance {instance} is given twice"
                )));
            }
        }
    }
    Ok(())
}

/// Gives the pipeline the replicas whose ports are up now, after a port has changed.
pub(crate) fn refresh(schema: &Schema, ledger: &Ledger, ports: &Ports, batch: &mut Batch<'_>) -> Result<(), Error> {
    let ports = named(schema, ports);
    let has_backups = |replicas: &[Replica]| replicas.iter().any(|replica| !replica.backup_replicas.is_empty());
    for (number, group) in ledger.multicast_groups() {
        if has_backups(&group.replicas) {
            let replicas = copies(&group.replicas, ports, "multicast group")?;
            batch.set_multicast_group(*number as u16, &replicas)?;
        }
    }
    for (number, session) in ledger.clone_sessions() {
        if has_backups(&session.replicas) {
            batch.set_clone_session(*number, clone_session(session, ports)?)?;
        }
    }
    Ok(())
}

/// One group or session, or all.
pub(crate) fn read(
    ledger: &Ledger,
    wanted: &PacketReplicationEngineEntry,
    sink: &mut dyn FnMut(Entity),
) -> Result<(), Error> {
    let mut give = |kind| {
        sink(Entity::PacketReplicationEngineEntry(PacketReplicationEngineEntry {
            r#type: Some(kind),
        }));
    };
    match &wanted.r#type {
        Some(Kind::MulticastGroupEntry(MulticastGroupEntry {
            multicast_group_id: 0, ..
        })) => {
            let groups = ledger.multicast_groups().values();
            groups.for_each(|group| give(Kind::MulticastGroupEntry(group.clone())));
        }
        Some(Kind::MulticastGroupEntry(group)) => {
            let found = ledger.multicast_groups().get(&group.multicast_group_id);
            let missing = || Error::not_found(format!("there is no multicast group {}", group.multicast_group_id));
            give(Kind::MulticastGroupEntry(found.ok_or_else(missing)?.clone()));
        }
        Some(Kind::CloneSessionEntry(CloneSessionEntry { session_id: 0, .. })) => {
            let sessions = ledger.clone_sessions().values();
            sessions.for_each(|session| give(Kind::CloneSessionEntry(session.clone())));
        }
        Some(Kind::CloneSessionEntry(session)) => {
            let found = ledger.clone_sessions().get(&session.session_id);
            let missing = || Error::not_found(format!("there is no clone session {}", session.session_id));
            give(Kind::CloneSessionEntry(found.ok_or_else(missing)?.clone()));
        }
        None => {
            return Err(Error::invalid(
                "say whether multicast groups or clone sessions are wanted",
            ));
        }
    }
    Ok(())
}
