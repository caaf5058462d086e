//! What was kept, in figures: for people who look at a folder of state. No program is loaded for it.

use crate::learned::Learned;
use crate::save::{Batch, Snapshot, State, unreadable};
use crate::status::Error;
use forebay_protocol::p4::config::v1::{P4Info, Preamble};
use forebay_protocol::p4::v1::entity::Entity as Kind;
use forebay_protocol::p4::v1::packet_replication_engine_entry::Type as Replication;
use forebay_protocol::p4::v1::update::Type;
use forebay_protocol::p4::v1::{FieldMatch, Index, TableEntry, Update};
use prost::Message;
use std::collections::{BTreeMap, BTreeSet};

/// What was kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Summary {
    /// The program that ran.
    pub running: Option<ProgramSummary>,
    /// A program that waited for its commit.
    pub saved: Option<ProgramSummary>,
}

/// A program and what was written to it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProgramSummary {
    /// Its name in the P4Info; empty when it has none.
    pub name: String,
    /// What was pushed, such as "P4 source".
    pub form: &'static str,
    /// Bytes of that.
    pub bytes: usize,
    /// The mark that its controller gave it.
    pub cookie: Option<u64>,
    /// How many entities of each object there are.
    pub objects: Vec<ObjectSummary>,
}

/// Entities of one object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ObjectSummary {
    /// The kind of entity, such as "table entries".
    pub kind: &'static str,
    /// The object; empty for what belongs to none.
    pub name: String,
    /// How many there are.
    pub count: usize,
}

/// What a snapshot and the batches after it hold.
///
/// # Errors
/// When they are not what a device has kept.
pub fn summary(snapshot: &[u8], batches: &[Vec<u8>]) -> Result<Summary, Error> {
    let Snapshot { running, saved, .. } = Snapshot::decode(snapshot).map_err(unreadable)?;
    let mut running = running.as_ref().map(Contents::new);
    let mut saved = saved.as_ref().map(Contents::new);
    for batch in batches {
        let batch = Batch::decode(&batch[..]).map_err(unreadable)?;
        if let Some(contents) = saved.as_mut().or(running.as_mut()) {
            batch.updates.iter().for_each(|update| contents.apply(update));
        }
    }
    Ok(Summary {
        running: running.map(Contents::summary),
        saved: saved.map(Contents::summary),
    })
}

/// A program, and the keys of what was written to each object.
struct Contents<'a> {
    state: &'a State,
    keys: BTreeMap<(&'static str, u32), BTreeSet<Vec<u8>>>,
}

impl<'a> Contents<'a> {
    fn new(state: &'a State) -> Contents<'a> {
        let mut contents = Contents {
            state,
            keys: BTreeMap::new(),
        };
        state.updates.iter().for_each(|update| contents.apply(update));
        contents
    }

    fn apply(&mut self, update: &Update) {
        let kind = update.entity.as_ref().and_then(|entity| entity.entity.as_ref());
        let Some((kind, object, key)) = kind.and_then(key_of) else {
            return;
        };
        let keys = self.keys.entry((kind, object)).or_default();
        match update.r#type() {
            Type::Delete => keys.remove(&key),
            _ => keys.insert(key),
        };
    }

    fn summary(self) -> ProgramSummary {
        let config = self.state.config.clone().unwrap_or_default();
        let info = config.p4info.unwrap_or_default();
        let names = names(&info);
        let present = self.keys.into_iter().filter(|(_, keys)| !keys.is_empty());
        let objects = present.map(|((kind, object), keys)| ObjectSummary {
            kind,
            name: names.get(&object).cloned().unwrap_or_default(),
            count: keys.len(),
        });
        let learned = self.state.learned.as_ref().map(Learned::by_table).unwrap_or_default();
        let learned = learned.into_iter().map(|(name, count)| ObjectSummary {
            kind: "learned entries",
            name,
            count,
        });
        ProgramSummary {
            objects: objects.chain(learned).collect(),
            name: info.pkg_info.map(|package| package.name).unwrap_or_default(),
            form: form(&config.p4_device_config),
            bytes: config.p4_device_config.len(),
            cookie: config.cookie.map(|cookie| cookie.cookie),
        }
    }
}

fn form(blob: &[u8]) -> &'static str {
    match std::str::from_utf8(blob) {
        Ok(text) if forebay_bmv2::is_json(text) => "JSON for BMv2",
        Ok(text) if forebay_ir::text::is_program(text) => "compiled by forebay build",
        Ok(_) => "P4 source",
        Err(_) => "unknown",
    }
}

/// The kind of an entity, its object, and what identifies it among the entities of that object.
fn key_of(entity: &Kind) -> Option<(&'static str, u32, Vec<u8>)> {
    let index = |index: &Option<Index>| {
        let index = index.map_or(0, |index| index.index);
        index.to_be_bytes().to_vec()
    };
    let number = |number: u32| number.to_be_bytes().to_vec();
    let keyed = match entity {
        Kind::TableEntry(entry) if entry.is_default_action => ("default actions written", entry.table_id, Vec::new()),
        Kind::TableEntry(entry) => ("table entries", entry.table_id, entry_key(entry)),
        Kind::ActionProfileMember(member) => ("profile members", member.action_profile_id, number(member.member_id)),
        Kind::ActionProfileGroup(group) => ("profile groups", group.action_profile_id, number(group.group_id)),
        Kind::RegisterEntry(entry) => ("register elements written", entry.register_id, index(&entry.index)),
        Kind::CounterEntry(entry) => ("counter elements written", entry.counter_id, index(&entry.index)),
        Kind::MeterEntry(entry) => ("meter elements written", entry.meter_id, index(&entry.index)),
        Kind::DigestEntry(entry) => ("digests", entry.digest_id, Vec::new()),
        Kind::ValueSetEntry(entry) => ("value sets written", entry.value_set_id, Vec::new()),
        Kind::PacketReplicationEngineEntry(entry) => match entry.r#type.as_ref()? {
            Replication::MulticastGroupEntry(group) => ("multicast groups", 0, number(group.multicast_group_id)),
            Replication::CloneSessionEntry(session) => ("clone sessions", 0, number(session.session_id)),
        },
        _ => return None,
    };
    Some(keyed)
}

/// A key in one form: fields in order. Values are as they were sent.
fn entry_key(entry: &TableEntry) -> Vec<u8> {
    let mut matches = entry.r#match.clone();
    matches.sort_by_key(|field: &FieldMatch| field.field_id);
    let key = TableEntry {
        r#match: matches,
        priority: entry.priority,
        ..TableEntry::default()
    };
    key.encode_to_vec()
}

fn names(info: &P4Info) -> BTreeMap<u32, String> {
    let preambles = (info.tables.iter().map(|object| &object.preamble))
        .chain(info.action_profiles.iter().map(|object| &object.preamble))
        .chain(info.registers.iter().map(|object| &object.preamble))
        .chain(info.counters.iter().map(|object| &object.preamble))
        .chain(info.meters.iter().map(|object| &object.preamble))
        .chain(info.digests.iter().map(|object| &object.preamble))
        .chain(info.value_sets.iter().map(|object| &object.preamble));
    let named = preambles
        .flatten()
        .map(|preamble: &Preamble| (preamble.id, preamble.name.clone()));
    named.collect()
}
