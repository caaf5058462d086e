//! Entries, counters and packets as messages of P4Runtime, by the ids of the program that runs.

mod names;
mod values;

use crate::entry::{Action, Key, Match, Table};
use crate::error::AgentError;
use forebay_protocol::p4::config::v1::P4Info;
use forebay_protocol::p4::v1::entity::Entity as Kind;
use forebay_protocol::p4::v1::{
    CounterData, CounterEntry, Entity, Index, MeterEntry, P4Data, PacketIn, PacketMetadata, PacketOut, RegisterEntry,
    TableEntry, Update, p4_data, table_action, update,
};
use names::{METERS, TABLES, TableIds, header, id_of, table_ids};
use std::collections::HashMap;
use values::{bytes, field_match, meter_entry, number, read_match};

/// The ids of a program.
#[derive(Debug)]
pub(crate) struct Schema {
    tables: HashMap<u32, Table>,
    of_table: Vec<(Table, TableIds)>,
    meters: Vec<(Table, u32)>,
    uplink_usage: u32,
    downlink_usage: u32,
    uplink_bytes: u32,
    downlink_padding: u32,
    packet_in: Vec<(u32, &'static str)>,
    packet_out: Vec<(u32, &'static str)>,
}

/// What the header of a packet to the controller says.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct PacketInfo {
    pub(crate) ingress_port: u32,
    pub(crate) reason: u32,
    pub(crate) session: u32,
    pub(crate) application: u16,
}

/// What becomes of a packet of the controller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sending {
    /// It is processed as if it had come in by this port.
    Processed(u32),
    /// It leaves by the route to its destination.
    Routed,
}

impl Schema {
    /// Finds the names of `functions/upf`.
    ///
    /// # Errors
    /// When one is missing.
    pub(crate) fn new(info: &P4Info) -> Result<Schema, AgentError> {
        let mut of_table = Vec::new();
        for (table, name, fields) in TABLES {
            of_table.push((*table, table_ids(info, name, fields)?));
        }
        let mut meters = Vec::new();
        for (table, name) in METERS {
            let preambles = info.meters.iter().map(|meter| meter.preamble.as_ref());
            meters.push((*table, id_of(preambles, "meter", name)?));
        }
        let counters = || info.counters.iter().map(|counter| counter.preamble.as_ref());
        let registers = || info.registers.iter().map(|register| register.preamble.as_ref());
        Ok(Schema {
            tables: of_table.iter().map(|(table, ids)| (ids.id, *table)).collect(),
            of_table,
            meters,
            uplink_usage: id_of(counters(), "counter", "uplink_usage")?,
            downlink_usage: id_of(counters(), "counter", "downlink_usage")?,
            uplink_bytes: id_of(registers(), "register", "uplink_bytes")?,
            downlink_padding: id_of(registers(), "register", "downlink_padding")?,
            packet_in: header(info, "packet_in", &["ingress_port", "reason", "session", "application"])?,
            packet_out: header(info, "packet_out", &["egress_port", "process", "route", "padding"])?,
        })
    }

    fn ids(&self, table: Table) -> Option<&TableIds> {
        self.of_table.iter().find(|(one, _)| *one == table).map(|(_, ids)| ids)
    }

    /// An update that inserts or modifies an entry. Rates are always modified: meters have an entry for each index.
    pub(crate) fn write(&self, kind: update::Type, key: &Key, action: &Action) -> Update {
        match self.meter(key.table) {
            Some(id) => update_of(update::Type::Modify, Kind::MeterEntry(meter_entry(id, key, action))),
            None => update_of(kind, Kind::TableEntry(self.entry(key, Some(action)))),
        }
    }

    /// An update that deletes an entry; none for rates, which stay until the index is used again.
    pub(crate) fn delete(&self, key: &Key) -> Option<Update> {
        match self.meter(key.table) {
            Some(_) => None,
            None => Some(update_of(update::Type::Delete, Kind::TableEntry(self.entry(key, None)))),
        }
    }

    fn meter(&self, table: Table) -> Option<u32> {
        self.meters.iter().find(|(one, _)| *one == table).map(|(_, id)| *id)
    }

    fn entry(&self, key: &Key, action: Option<&Action>) -> TableEntry {
        let Some(ids) = self.ids(key.table) else {
            return TableEntry::default();
        };
        let fields = key.fields.iter().zip(&ids.fields);
        TableEntry {
            table_id: ids.id,
            r#match: fields.filter_map(|(field, (id, _))| field_match(*id, field)).collect(),
            action: action.and_then(|action| ids.action(action)),
            priority: key.priority,
            ..TableEntry::default()
        }
    }

    /// Questions for all entries of all tables.
    pub(crate) fn all_entries(&self) -> Vec<Entity> {
        let question = |(_, ids): &(Table, TableIds)| TableEntry {
            table_id: ids.id,
            ..TableEntry::default()
        };
        self.of_table
            .iter()
            .map(question)
            .map(|entry| entity(Kind::TableEntry(entry)))
            .collect()
    }

    /// Questions for the rates among entries.
    pub(crate) fn rates_of<'a>(&self, keys: impl Iterator<Item = &'a Key>) -> Vec<Entity> {
        let question = |key: &Key| {
            let id = self.meter(key.table)?;
            Some(entity(Kind::MeterEntry(meter_entry(id, key, &Action::new("rate", [])))))
        };
        keys.filter_map(question).collect()
    }

    /// An entry as the switch has it; none when it is no entry, or a default action.
    pub(crate) fn read(&self, entity: &Entity) -> Option<(Key, Action)> {
        match entity.entity.as_ref()? {
            Kind::TableEntry(entry) => self.read_entry(entry),
            Kind::MeterEntry(entry) => self.read_rate(entry),
            _ => None,
        }
    }

    fn read_rate(&self, entry: &MeterEntry) -> Option<(Key, Action)> {
        let (table, _) = self.meters.iter().find(|(_, id)| *id == entry.meter_id)?;
        let key = Key::new(*table, [Match::Exact(entry.index?.index as u128)]);
        let values = entry
            .config
            .as_ref()
            .map(|config| [config.cir as u128, config.cburst as u128]);
        Some((key, Action::new("rate", values.map_or(Vec::new(), Vec::from))))
    }

    fn read_entry(&self, entry: &TableEntry) -> Option<(Key, Action)> {
        let table = *self.tables.get(&entry.table_id)?;
        let ids = self.ids(table)?;
        if entry.is_default_action {
            return None;
        }
        let field = |(id, width): &(u32, u32)| {
            let said = entry.r#match.iter().find(|said| said.field_id == *id);
            said.map_or(Match::Any, |said| read_match(said, *width))
        };
        let key = Key::new(table, ids.fields.iter().map(field).collect::<Vec<Match>>()).with_priority(entry.priority);
        let Some(table_action::Type::Action(action)) = entry.action.as_ref().and_then(|action| action.r#type.as_ref())
        else {
            return None;
        };
        let (_, name, parameters) = ids.actions.iter().find(|(id, _, _)| *id == action.action_id)?;
        let value = |id: &u32| {
            let said = action.params.iter().find(|said| said.param_id == *id);
            said.map_or(0, |said| number(&said.value))
        };
        Some((
            key,
            Action::new(name, parameters.iter().map(value).collect::<Vec<u128>>()),
        ))
    }

    /// Questions for the counters of a URR.
    pub(crate) fn usage_questions(&self, index: u32) -> [Entity; 4] {
        [
            entity(Kind::CounterEntry(self.counter(self.uplink_usage, index))),
            entity(Kind::CounterEntry(self.counter(self.downlink_usage, index))),
            entity(Kind::RegisterEntry(self.register(self.uplink_bytes, index))),
            entity(Kind::RegisterEntry(self.register(self.downlink_padding, index))),
        ]
    }

    /// Updates that set them to zero.
    pub(crate) fn usage_resets(&self, index: u32) -> [Update; 4] {
        let zeroed = |counter: CounterEntry| CounterEntry {
            data: Some(CounterData::default()),
            ..counter
        };
        let zeroed_register = |register: RegisterEntry| RegisterEntry {
            data: Some(P4Data {
                data: Some(p4_data::Data::Bitstring(vec![0])),
            }),
            ..register
        };
        [
            Kind::CounterEntry(zeroed(self.counter(self.uplink_usage, index))),
            Kind::CounterEntry(zeroed(self.counter(self.downlink_usage, index))),
            Kind::RegisterEntry(zeroed_register(self.register(self.uplink_bytes, index))),
            Kind::RegisterEntry(zeroed_register(self.register(self.downlink_padding, index))),
        ]
        .map(|kind| update_of(update::Type::Modify, kind))
    }

    fn counter(&self, id: u32, index: u32) -> CounterEntry {
        CounterEntry {
            counter_id: id,
            index: Some(Index { index: index.into() }),
            data: None,
        }
    }

    fn register(&self, id: u32, index: u32) -> RegisterEntry {
        RegisterEntry {
            register_id: id,
            index: Some(Index { index: index.into() }),
            data: None,
        }
    }

    /// What a counter says: its index, and packets and bytes of one direction of the program, or the bytes of a
    /// register.
    pub(crate) fn read_usage(&self, entity: &Entity) -> Option<(u32, Counted)> {
        match entity.entity.as_ref()? {
            Kind::CounterEntry(entry) => {
                let data = entry.data.unwrap_or_default();
                let (packets, bytes) = (data.packet_count as u64, data.byte_count as u64);
                let counted = if entry.counter_id == self.uplink_usage {
                    Counted::Uplink { packets }
                } else {
                    // Frames have 14 bytes of Ethernet.
                    Counted::Downlink {
                        packets,
                        bytes: bytes.saturating_sub(14 * packets),
                    }
                };
                Some((entry.index?.index as u32, counted))
            }
            Kind::RegisterEntry(entry) => {
                let Some(p4_data::Data::Bitstring(bytes)) = entry.data.as_ref()?.data.as_ref() else {
                    return None;
                };
                let bytes = number(bytes) as u64;
                let counted = if entry.register_id == self.uplink_bytes {
                    Counted::UplinkBytes(bytes)
                } else {
                    Counted::DownlinkPadding(bytes)
                };
                Some((entry.index?.index as u32, counted))
            }
            _ => None,
        }
    }

    /// The header of a packet to the controller.
    pub(crate) fn read_packet(&self, packet: &PacketIn) -> PacketInfo {
        let field = |name: &str| {
            let id = self.packet_in.iter().find(|(_, one)| *one == name).map(|(id, _)| *id);
            let said = packet.metadata.iter().find(|said| Some(said.metadata_id) == id);
            said.map_or(0, |said| number(&said.value))
        };
        PacketInfo {
            ingress_port: field("ingress_port") as u32,
            reason: field("reason") as u32,
            session: field("session") as u32,
            application: field("application") as u16,
        }
    }

    /// A packet of the controller.
    pub(crate) fn packet_out(&self, frame: Vec<u8>, sending: Sending) -> PacketOut {
        let value = |name: &str| match (name, sending) {
            ("egress_port", Sending::Processed(port)) => u128::from(port),
            ("process", Sending::Processed(_)) | ("route", Sending::Routed) => 1,
            _ => 0,
        };
        let metadata = self.packet_out.iter().map(|(id, name)| PacketMetadata {
            metadata_id: *id,
            value: bytes(value(name)),
        });
        PacketOut {
            payload: frame,
            metadata: metadata.collect(),
        }
    }
}

/// A part of a usage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Counted {
    Uplink {
        packets: u64,
    },
    UplinkBytes(u64),
    Downlink {
        packets: u64,
        bytes: u64,
    },
    /// Bytes that are among those of the downlink and belong to no packet.
    DownlinkPadding(u64),
}

fn entity(kind: Kind) -> Entity {
    Entity { entity: Some(kind) }
}

fn update_of(kind: update::Type, value: Kind) -> Update {
    Update {
        r#type: kind.into(),
        entity: Some(entity(value)),
    }
}
