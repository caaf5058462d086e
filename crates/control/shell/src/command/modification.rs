//! Changes of a part of an entity: what the words do not name stays as it is.
//!
//! A `MODIFY` of P4Runtime replaces the whole entity (§9.1), so that the rest of it has to be read before.

use super::{entity, update};
use crate::catalog::Catalog;
use crate::key::Key;
use forebay_protocol::p4::v1::entity::Entity as Kind;
use forebay_protocol::p4::v1::packet_replication_engine_entry::Type as Replication;
use forebay_protocol::p4::v1::update::Type;
use forebay_protocol::p4::v1::{
    ActionProfileGroup, CloneSessionEntry, DigestEntry, Entity, MeterConfig, MulticastGroupEntry,
    PacketReplicationEngineEntry, TableEntry, Update,
};

/// An entity with what is to change, and the options that say so.
#[derive(Clone, Debug, PartialEq)]
pub struct Modification {
    kind: Box<Kind>,
    named: Vec<&'static str>,
}

impl Modification {
    /// A change of what the words have named of an entity, and of the options with these names.
    pub(super) fn new(kind: Kind, named: Vec<&'static str>) -> Modification {
        Modification {
            kind: Box::new(kind),
            named,
        }
    }

    /// What to read first.
    pub fn question(&self, catalog: &Catalog) -> Entity {
        let Kind::TableEntry(entry) = &*self.kind else {
            return entity(named_only(&self.kind));
        };
        let mut meters = catalog.info.direct_meters.iter();
        let has_meter = meters.any(|meter| meter.direct_table_id == entry.table_id);
        entity(Kind::TableEntry(TableEntry {
            table_id: entry.table_id,
            r#match: entry.r#match.clone(),
            priority: entry.priority,
            meter_config: has_meter.then(MeterConfig::default),
            ..TableEntry::default()
        }))
    }

    /// What it changes: the [`identity`] of that entity.
    pub fn identity(&self, catalog: &Catalog) -> String {
        identity_of(catalog, &self.kind)
    }

    /// The change of the entity as it was found; of one that was not, the switch says so.
    pub fn update(mut self, catalog: &Catalog, found: &[Entity]) -> Update {
        let own = Some(self.identity(catalog));
        let before = found.iter().find(|entity| identity(catalog, entity) == own);
        if let Some(before) = before.and_then(|before| before.entity.as_ref()) {
            self.keep(before);
        }
        update(Type::Modify, *self.kind)
    }

    fn keep(&mut self, before: &Kind) {
        let named = &self.named;
        let is_kept = |option: &str| named.iter().all(|name| *name != option);
        match (&mut *self.kind, before) {
            (Kind::TableEntry(entry), Kind::TableEntry(before)) => {
                entry.meter_config = before.meter_config;
                if is_kept("idle") {
                    entry.idle_timeout_ns = before.idle_timeout_ns;
                }
                if is_kept("metadata") {
                    entry.metadata.clone_from(&before.metadata);
                }
            }
            (Kind::ActionProfileGroup(group), Kind::ActionProfileGroup(before)) if is_kept("max-size") => {
                group.max_size = before.max_size;
            }
            (Kind::DigestEntry(entry), Kind::DigestEntry(before)) => {
                let (Some(config), Some(before)) = (&mut entry.config, &before.config) else {
                    return;
                };
                if is_kept("max-size") {
                    config.max_list_size = before.max_list_size;
                }
                if is_kept("max-delay") {
                    config.max_timeout_ns = before.max_timeout_ns;
                }
                if is_kept("ack-timeout") {
                    config.ack_timeout_ns = before.ack_timeout_ns;
                }
            }
            (Kind::PacketReplicationEngineEntry(entry), Kind::PacketReplicationEngineEntry(before)) => {
                match (&mut entry.r#type, &before.r#type) {
                    (Some(Replication::MulticastGroupEntry(group)), Some(Replication::MulticastGroupEntry(before)))
                        if is_kept("metadata") =>
                    {
                        group.metadata.clone_from(&before.metadata);
                    }
                    (Some(Replication::CloneSessionEntry(session)), Some(Replication::CloneSessionEntry(before))) => {
                        if is_kept("length") {
                            session.packet_length_bytes = before.packet_length_bytes;
                        }
                        if is_kept("class") {
                            session.class_of_service = before.class_of_service;
                        }
                    }
                    _ => {}
                }
            }
            _ => {}
        }
    }
}

/// What tells an entity from others, whatever it has.
pub fn identity(catalog: &Catalog, entity: &Entity) -> Option<String> {
    let kind = entity.entity.as_ref();
    kind.map(|kind| identity_of(catalog, kind))
}

fn identity_of(catalog: &Catalog, kind: &Kind) -> String {
    match kind {
        Kind::TableEntry(entry) => {
            let (table, is_default, priority) = (entry.table_id, entry.is_default_action, entry.priority);
            format!("{table} {is_default} {priority} {:?}", matched(catalog, entry))
        }
        other => format!("{:?}", named_only(other)),
    }
}

/// What an entry matches, in words: switches may write the same value with more bytes.
fn matched(catalog: &Catalog, entry: &TableEntry) -> Vec<(String, String)> {
    let table = catalog.table_by_id(entry.table_id);
    let key = table.map(|table| Key::new(catalog, String::new(), &table.match_fields));
    key.map_or_else(Vec::new, |key| key.write(&entry.r#match))
}

/// The numbers by which an entity is known, without what it has.
fn named_only(kind: &Kind) -> Kind {
    match kind {
        Kind::ActionProfileGroup(group) => Kind::ActionProfileGroup(ActionProfileGroup {
            action_profile_id: group.action_profile_id,
            group_id: group.group_id,
            ..ActionProfileGroup::default()
        }),
        Kind::DigestEntry(entry) => Kind::DigestEntry(DigestEntry {
            digest_id: entry.digest_id,
            config: None,
        }),
        Kind::PacketReplicationEngineEntry(entry) => {
            let replication = entry.r#type.as_ref().map(|replication| match replication {
                Replication::MulticastGroupEntry(group) => Replication::MulticastGroupEntry(MulticastGroupEntry {
                    multicast_group_id: group.multicast_group_id,
                    ..MulticastGroupEntry::default()
                }),
                Replication::CloneSessionEntry(session) => Replication::CloneSessionEntry(CloneSessionEntry {
                    session_id: session.session_id,
                    ..CloneSessionEntry::default()
                }),
            });
            Kind::PacketReplicationEngineEntry(PacketReplicationEngineEntry { r#type: replication })
        }
        other => other.clone(),
    }
}
