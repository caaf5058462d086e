//! Sessions and associations as bytes, so that a UPF goes on after a restart as if there had been none.
//!
//! A snapshot is a sequence of records, and so is a batch of changes: what comes later replaces what came before. A
//! record is its kind, its length and its content. A session is saved as the elements that would create it, with what
//! has no element in front.

use super::sessions::TunnelIndex;
use super::{Association, Node};
use crate::rules::{Bar, Far, Measured, Pdr, Qer, Urr};
use crate::session::{Endpoint, Session};
use crate::wire::{Elements, FSeid, Fault, NodeId, Reader, Refusal, Usage, Value, Writer, kind};
use std::fmt;
use std::time::Duration;

const RECOVERY: u8 = 1;
const ASSOCIATIONS: u8 = 2;
const SESSION: u8 = 3;
const NO_SESSION: u8 = 4;

/// What was saved cannot be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SaveError(String);

impl fmt::Display for SaveError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "what was saved of the sessions is not readable: {}", self.0)
    }
}

impl std::error::Error for SaveError {}

impl From<Fault> for SaveError {
    fn from(_: Fault) -> SaveError {
        SaveError("a record is cut".to_string())
    }
}

impl From<Refusal> for SaveError {
    fn from(refusal: Refusal) -> SaveError {
        SaveError(refusal.to_string())
    }
}

impl Node {
    /// Everything.
    pub fn save(&self) -> Vec<u8> {
        let mut writer = Writer::default();
        record(&mut writer, RECOVERY, |content| content.u32(self.settings.recovery));
        self.save_associations(&mut writer);
        for session in self.sessions.values() {
            record(&mut writer, SESSION, |content| save_session(content, session));
        }
        writer.into_bytes()
    }

    /// The changes since the last call; `None` if there are none.
    pub fn save_changes(&mut self) -> Option<Vec<u8>> {
        let mut writer = Writer::default();
        if std::mem::take(&mut self.has_changed_associations) {
            self.save_associations(&mut writer);
        }
        for seid in std::mem::take(&mut self.changed) {
            match self.sessions.get(&seid) {
                Some(session) => record(&mut writer, SESSION, |content| save_session(content, session)),
                None => record(&mut writer, NO_SESSION, |content| content.u64(seid)),
            }
        }
        let bytes = writer.into_bytes();
        (!bytes.is_empty()).then_some(bytes)
    }

    fn save_associations(&self, writer: &mut Writer) {
        record(writer, ASSOCIATIONS, |content| {
            for (node, association) in &self.associations {
                let mut name = Writer::default();
                node.write(&mut name);
                content.u16(name.as_bytes().len() as u16);
                content.bytes(name.as_bytes());
                association.write(content);
            }
        });
    }

    /// Continues with what was saved: a snapshot and the batches after it. Sessions, numbers and the recovery time
    /// stamp are as they were, so no peer sees that there was a restart.
    ///
    /// # Errors
    /// When what was saved is damaged.
    pub fn restore(&mut self, snapshot: &[u8], batches: &[Vec<u8>]) -> Result<(), SaveError> {
        for records in std::iter::once(snapshot).chain(batches.iter().map(Vec::as_slice)) {
            self.restore_records(records)?;
        }
        for session in self.sessions.values() {
            self.tunnels.add_all(session);
            if !session.reports.is_empty() {
                self.unreported.insert(session.seid);
            }
            self.next_seid = self.next_seid.max(session.seid as u32);
        }
        self.resources.restore(self.sessions.values());
        self.changed.clear();
        self.has_changed_associations = false;
        Ok(())
    }

    fn restore_records(&mut self, records: &[u8]) -> Result<(), SaveError> {
        let mut reader = Reader::new(records);
        while !reader.rest().is_empty() {
            let kind = reader.u8()?;
            let length = reader.u32()? as usize;
            let mut content = Reader::new(reader.bytes(length)?);
            match kind {
                RECOVERY => self.settings.recovery = content.u32()?,
                ASSOCIATIONS => self.restore_associations(content)?,
                SESSION => {
                    let session = restore_session(content)?;
                    self.sessions.insert(session.seid, session);
                }
                NO_SESSION => {
                    self.sessions.remove(&content.u64()?);
                }
                other => return Err(SaveError(format!("a record of kind {other}"))),
            }
        }
        Ok(())
    }

    fn restore_associations(&mut self, mut content: Reader<'_>) -> Result<(), SaveError> {
        self.associations.clear();
        while !content.rest().is_empty() {
            let length = usize::from(content.u16()?);
            let node = NodeId::read(&mut Reader::new(content.bytes(length)?))?;
            self.associations.insert(node, Association::read(&mut content)?);
        }
        Ok(())
    }
}

fn record(writer: &mut Writer, kind: u8, content: impl FnOnce(&mut Writer)) {
    let mut inner = Writer::default();
    content(&mut inner);
    writer.u8(kind);
    writer.u32(inner.as_bytes().len() as u32);
    writer.bytes(inner.as_bytes());
}

fn save_session(writer: &mut Writer, session: &Session) {
    writer.u64(session.seid);
    let numbers = |writer: &mut Writer, numbers: &mut dyn Iterator<Item = u32>| {
        numbers.for_each(|number| writer.u32(number));
    };
    writer.u16(session.endpoints.len() as u16);
    for (endpoint, number) in &session.endpoints {
        let teid = match endpoint {
            Endpoint::Network => 0,
            Endpoint::Tunnel(teid) => *teid,
        };
        writer.u8(u8::from(*endpoint != Endpoint::Network));
        writer.u32(teid);
        writer.u32(*number);
    }
    for count in [session.fars.len(), session.qers.len(), session.urrs.len()] {
        writer.u16(count as u16);
    }
    numbers(writer, &mut session.fars.values().map(|far| far.number));
    numbers(writer, &mut session.qers.values().map(|qer| qer.number));
    numbers(writer, &mut session.urrs.values().map(|urr| urr.number));
    session
        .urrs
        .values()
        .for_each(|urr| save_measured(writer, &urr.measured));
    writer.element(kind::NODE_ID, |value| session.node.write(value));
    writer.element(kind::F_SEID, |value| session.peer.write(value));
    session.bars.values().for_each(|bar| bar.write(writer));
    session.fars.values().for_each(|far| far.write(writer));
    session.qers.values().for_each(|qer| qer.write(writer));
    session.urrs.values().for_each(|urr| urr.write(writer));
    session.pdrs.values().for_each(|pdr| pdr.write(writer));
    for report in &session.reports {
        writer.element(kind::USAGE_REPORT, |element| element.bytes(report));
    }
}

fn restore_session(mut reader: Reader<'_>) -> Result<Session, SaveError> {
    let seid = reader.u64()?;
    let mut endpoints = Vec::new();
    for _ in 0..reader.u16()? {
        let (is_tunnel, teid, number) = (reader.u8()? != 0, reader.u32()?, reader.u32()?);
        endpoints.push((
            if is_tunnel {
                Endpoint::Tunnel(teid)
            } else {
                Endpoint::Network
            },
            number,
        ));
    }
    let counts = [reader.u16()?, reader.u16()?, reader.u16()?];
    let mut numbers = |count: u16| (0..count).map(|_| reader.u32()).collect::<Result<Vec<u32>, Fault>>();
    let (fars, qers, urrs) = (numbers(counts[0])?, numbers(counts[1])?, numbers(counts[2])?);
    let measured: Result<Vec<Measured>, Fault> = urrs.iter().map(|_| restore_measured(&mut reader)).collect();
    let elements = Elements::new(reader.rest())?;
    let mut session = Session::new(
        seid,
        elements.mandatory::<FSeid>(kind::F_SEID)?,
        elements.mandatory(kind::NODE_ID)?,
    );
    session.endpoints.extend(endpoints);
    restore_rules(&mut session, elements)?;
    session
        .reports
        .extend(elements.all(kind::USAGE_REPORT).map(<[u8]>::to_vec));
    for (far, number) in session.fars.values_mut().zip(fars) {
        far.number = number;
    }
    for (qer, number) in session.qers.values_mut().zip(qers) {
        qer.number = number;
    }
    for (urr, (number, measured)) in session.urrs.values_mut().zip(urrs.into_iter().zip(measured?)) {
        urr.number = number;
        urr.measured = measured;
    }
    Ok(session)
}

fn restore_rules(session: &mut Session, elements: Elements<'_>) -> Result<(), SaveError> {
    for group in elements.groups(kind::CREATE_BAR) {
        let bar = Bar::create(group?)?;
        session.bars.insert(bar.id, bar);
    }
    for group in elements.groups(kind::CREATE_FAR) {
        let far = Far::create(group?)?;
        session.fars.insert(far.id, far);
    }
    for group in elements.groups(kind::CREATE_QER) {
        let qer = Qer::create(group?)?;
        session.qers.insert(qer.id, qer);
    }
    for group in elements.groups(kind::CREATE_URR) {
        let urr = Urr::create(group?, Duration::ZERO)?;
        session.urrs.insert(urr.id, urr);
    }
    for group in elements.groups(kind::CREATE_PDR) {
        let pdr = Pdr::create(group?)?;
        session.pdrs.insert(pdr.id, pdr);
    }
    Ok(())
}

fn save_measured(writer: &mut Writer, measured: &Measured) {
    writer.u32(measured.sequence);
    for time in [measured.began, measured.quota_began] {
        writer.u64(time.as_millis() as u64);
    }
    for usage in [&measured.base, &measured.quota_base] {
        let parts = [
            usage.uplink_bytes,
            usage.uplink_packets,
            usage.downlink_bytes,
            usage.downlink_packets,
        ];
        parts.into_iter().for_each(|part| writer.u64(part));
    }
    let flags = [
        measured.is_exhausted,
        measured.has_started,
        measured.is_told,
        measured.timed_from.is_some(),
    ];
    writer.u8(flags
        .into_iter()
        .enumerate()
        .map(|(bit, flag)| u8::from(flag) << bit)
        .sum());
    if let Some(from) = measured.timed_from {
        writer.u64(from.as_millis() as u64);
    }
}

fn restore_measured(reader: &mut Reader<'_>) -> Result<Measured, Fault> {
    let sequence = reader.u32()?;
    let mut time = || Ok(Duration::from_millis(reader.u64()?));
    let (began, quota_began) = (time()?, time()?);
    let mut usage = || {
        Ok(Usage {
            uplink_bytes: reader.u64()?,
            uplink_packets: reader.u64()?,
            downlink_bytes: reader.u64()?,
            downlink_packets: reader.u64()?,
        })
    };
    let (base, quota_base) = (usage()?, usage()?);
    let flags = reader.u8()?;
    let timed_from = match flags & 8 {
        0 => None,
        _ => Some(Duration::from_millis(reader.u64()?)),
    };
    Ok(Measured {
        sequence,
        began,
        timed_from,
        base,
        quota_began,
        quota_base,
        is_exhausted: flags & 1 != 0,
        has_started: flags & 2 != 0,
        is_told: flags & 4 != 0,
    })
}
