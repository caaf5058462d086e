//! Entries, counters and packets as messages of P4Runtime, by the ids of the program that runs.

use crate::entry::{Action, Key, Match, Table};
use crate::error::AgentError;
use forebay_protocol::p4::config::v1::{ControllerPacketMetadata, P4Info, Preamble};
use forebay_protocol::p4::v1::entity::Entity as Kind;
use forebay_protocol::p4::v1::field_match::{self, FieldMatchType};
use forebay_protocol::p4::v1::{
    self, CounterData, CounterEntry, Entity, FieldMatch, Index, MeterConfig, MeterEntry, P4Data, PacketIn,
    PacketMetadata, PacketOut, RegisterEntry, TableAction, TableEntry, Update, p4_data, table_action, update,
};
use std::collections::HashMap;

/// Tables: name in the program, fields of the key.
const TABLES: &[(Table, &str, &[&str])] = &[
    (Table::OwnIpv4, "own_ipv4", &["hdr.ipv4.dst_addr"]),
    (Table::OwnIpv6, "own_ipv6", &["hdr.ipv6.dst_addr"]),
    (Table::ArpIpv4, "arp_ipv4", &["hdr.arp.target_ip"]),
    (Table::NextHops, "next_hops", &["meta.next_hop"]),
    (Table::RoutesIpv4, "routes_ipv4", &["ipv4_dst"]),
    (Table::RoutesIpv6, "routes_ipv6", &["ipv6_dst"]),
    (Table::Qers, "qers", &["meta.flow_qer"]),
    (Table::Fars, "fars", &["meta.far"]),
    (
        Table::TerminationsUplink,
        "terminations_uplink",
        &["meta.session", "meta.application"],
    ),
    (
        Table::TerminationsDownlink,
        "terminations_downlink",
        &["meta.session", "meta.application"],
    ),
    (Table::ApplicationsIpv4, "applications_ipv4", APPLICATION_V4),
    (Table::ApplicationsIpv6, "applications_ipv6", APPLICATION_V6),
    (Table::SessionsUplink, "sessions_uplink", &["hdr.gtpu.teid"]),
    (
        Table::SessionsDownlinkIpv4,
        "sessions_downlink_ipv4",
        &["hdr.ipv4.dst_addr"],
    ),
    (Table::SessionsDownlinkIpv6, "sessions_downlink_ipv6", &["ue_prefix"]),
];

const APPLICATION_V4: &[&str] = &[
    "meta.rules",
    "meta.remote_ipv4",
    "meta.protocol",
    "meta.remote_port",
    "meta.local_port",
    "meta.qfi",
];
const APPLICATION_V6: &[&str] = &[
    "meta.rules",
    "meta.remote_ipv6",
    "meta.protocol",
    "meta.remote_port",
    "meta.local_port",
    "meta.qfi",
];

const METERS: &[(Table, &str)] = &[
    (Table::UplinkRates, "uplink_rates"),
    (Table::DownlinkRates, "downlink_rates"),
];

/// Actions: name, parameters.
const ACTIONS: &[(&str, &[&str])] = &[
    ("own", &["mac"]),
    ("to_next_hop", &["next_hop"]),
    ("to_port", &["port", "src_mac", "dst_mac", "mtu"]),
    ("uplink_session", &["session", "rules", "ue_ipv4", "ue_prefix"]),
    ("downlink_session", &["session", "rules"]),
    ("set_application", &["application"]),
    (
        "forward",
        &["far", "flow_qer", "session_qer", "flow_urr", "session_urr"],
    ),
    ("set_qer", &["uplink_closed", "downlink_closed", "qfi", "reflective"]),
    ("to_core", &[]),
    (
        "to_tunnel_ipv4",
        &["src_addr", "dst_addr", "tunnel", "src_port", "marking"],
    ),
    (
        "to_tunnel_ipv6",
        &["src_addr", "dst_addr", "tunnel", "src_port", "marking"],
    ),
    ("buffer", &[]),
    ("drop_packet", &[]),
];

/// Ids of a table: its own, those of its fields with their widths, those of its actions with their parameters.
#[derive(Debug)]
struct TableIds {
    id: u32,
    fields: Vec<(u32, u32)>,
    actions: Vec<(u32, &'static str, Vec<u32>)>,
}

/// The ids of a program.
#[derive(Debug)]
pub(crate) struct Schema {
    tables: HashMap<u32, Table>,
    of_table: Vec<(Table, TableIds)>,
    meters: Vec<(Table, u32)>,
    uplink_usage: u32,
    downlink_usage: u32,
    uplink_bytes: u32,
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
        let registers = info.registers.iter().map(|register| register.preamble.as_ref());
        Ok(Schema {
            tables: of_table.iter().map(|(table, ids)| (ids.id, *table)).collect(),
            of_table,
            meters,
            uplink_usage: id_of(counters(), "counter", "uplink_usage")?,
            downlink_usage: id_of(counters(), "counter", "downlink_usage")?,
            uplink_bytes: id_of(registers, "register", "uplink_bytes")?,
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

    /// An entry as the switch has it; none when it is no entry, or a default action.
    pub(crate) fn read(&self, entity: &Entity) -> Option<(Key, Action)> {
        let Some(Kind::TableEntry(entry)) = &entity.entity else {
            return None;
        };
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
    pub(crate) fn usage_questions(&self, index: u32) -> [Entity; 3] {
        [
            entity(Kind::CounterEntry(self.counter(self.uplink_usage, index))),
            entity(Kind::CounterEntry(self.counter(self.downlink_usage, index))),
            entity(Kind::RegisterEntry(self.register(index))),
        ]
    }

    /// Updates that set them to zero.
    pub(crate) fn usage_resets(&self, index: u32) -> [Update; 3] {
        let zeroed = |counter: CounterEntry| CounterEntry {
            data: Some(CounterData::default()),
            ..counter
        };
        let register = RegisterEntry {
            data: Some(P4Data {
                data: Some(p4_data::Data::Bitstring(vec![0])),
            }),
            ..self.register(index)
        };
        [
            Kind::CounterEntry(zeroed(self.counter(self.uplink_usage, index))),
            Kind::CounterEntry(zeroed(self.counter(self.downlink_usage, index))),
            Kind::RegisterEntry(register),
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

    fn register(&self, index: u32) -> RegisterEntry {
        RegisterEntry {
            register_id: self.uplink_bytes,
            index: Some(Index { index: index.into() }),
            data: None,
        }
    }

    /// What a counter says: its index, and packets and bytes of one direction of the program, or the bytes of the register.
    pub(crate) fn read_usage(&self, entity: &Entity) -> Option<(u32, Counted)> {
        match entity.entity.as_ref()? {
            Kind::CounterEntry(entry) => {
                let data = entry.data.unwrap_or_default();
                let (packets, bytes) = (data.packet_count as u64, data.byte_count as u64);
                let counted = match entry.counter_id == self.uplink_usage {
                    true => Counted::Uplink { packets },
                    // Frames have 14 bytes of Ethernet.
                    false => Counted::Downlink {
                        packets,
                        bytes: bytes.saturating_sub(14 * packets),
                    },
                };
                Some((entry.index?.index as u32, counted))
            }
            Kind::RegisterEntry(entry) => {
                let Some(p4_data::Data::Bitstring(bytes)) = entry.data.as_ref()?.data.as_ref() else {
                    return None;
                };
                Some((entry.index?.index as u32, Counted::UplinkBytes(number(bytes) as u64)))
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
    Uplink { packets: u64 },
    UplinkBytes(u64),
    Downlink { packets: u64, bytes: u64 },
}

impl TableIds {
    fn action(&self, action: &Action) -> Option<TableAction> {
        let (id, _, parameters) = self.actions.iter().find(|(_, name, _)| *name == action.name)?;
        let params = parameters
            .iter()
            .zip(&action.values)
            .map(|(id, value)| v1::action::Param {
                param_id: *id,
                value: bytes(*value),
            });
        Some(TableAction {
            r#type: Some(table_action::Type::Action(v1::Action {
                action_id: *id,
                params: params.collect(),
            })),
        })
    }
}

fn is_named(preamble: Option<&Preamble>, name: &str) -> bool {
    let Some(preamble) = preamble else { return false };
    let is_last = preamble
        .name
        .strip_suffix(name)
        .is_some_and(|rest| rest.is_empty() || rest.ends_with('.'));
    is_last || preamble.alias == name
}

fn id_of<'a>(preambles: impl Iterator<Item = Option<&'a Preamble>>, what: &str, name: &str) -> Result<u32, AgentError> {
    let mut named = preambles.filter(|preamble| is_named(*preamble, name));
    named
        .next()
        .flatten()
        .map(|preamble| preamble.id)
        .ok_or_else(|| missing(what, name))
}

fn missing(what: &str, name: &str) -> AgentError {
    AgentError::Program(format!("{what} `{name}`"))
}

fn table_ids(info: &P4Info, name: &str, fields: &[&str]) -> Result<TableIds, AgentError> {
    let table = info.tables.iter().find(|table| is_named(table.preamble.as_ref(), name));
    let table = table.ok_or_else(|| missing("table", name))?;
    let field = |wanted: &&str| {
        let found = table.match_fields.iter().find(|field| field.name == *wanted);
        let found = found.ok_or_else(|| missing(&format!("field in the key of `{name}`:"), wanted))?;
        Ok((found.id, found.bitwidth as u32))
    };
    let fields: Result<Vec<_>, AgentError> = fields.iter().map(field).collect();
    let mut actions = Vec::new();
    for (action_name, parameters) in ACTIONS {
        let is_of_table = |id: u32| table.action_refs.iter().any(|reference| reference.id == id);
        let mut candidates = info
            .actions
            .iter()
            .filter(|action| is_named(action.preamble.as_ref(), action_name));
        let Some(action) = candidates.find(|action| action.preamble.as_ref().is_some_and(|one| is_of_table(one.id)))
        else {
            continue;
        };
        let parameter = |wanted: &&str| {
            let found = action.params.iter().find(|parameter| parameter.name == *wanted);
            found
                .map(|found| found.id)
                .ok_or_else(|| missing(&format!("parameter of `{action_name}`:"), wanted))
        };
        let parameters: Result<Vec<u32>, AgentError> = parameters.iter().map(parameter).collect();
        actions.push((
            action.preamble.as_ref().map_or(0, |one| one.id),
            *action_name,
            parameters?,
        ));
    }
    Ok(TableIds {
        id: table.preamble.as_ref().map_or(0, |preamble| preamble.id),
        fields: fields?,
        actions,
    })
}

fn header(info: &P4Info, name: &str, fields: &[&'static str]) -> Result<Vec<(u32, &'static str)>, AgentError> {
    let mut headers = info.controller_packet_metadata.iter();
    let is_it = |header: &&ControllerPacketMetadata| is_named(header.preamble.as_ref(), name);
    let header = headers.find(is_it).ok_or_else(|| missing("header", name))?;
    let field = |wanted: &&'static str| {
        let found = header.metadata.iter().find(|field| field.name == **wanted);
        found
            .map(|found| (found.id, *wanted))
            .ok_or_else(|| missing(&format!("field of `{name}`:"), wanted))
    };
    fields.iter().map(field).collect()
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

/// A number as P4Runtime writes it: without leading zeros, at least a byte.
fn bytes(value: u128) -> Vec<u8> {
    let bytes = value.to_be_bytes();
    let first = bytes.iter().position(|byte| *byte != 0).unwrap_or(bytes.len() - 1);
    bytes[first..].to_vec()
}

fn number(bytes: &[u8]) -> u128 {
    bytes.iter().fold(0, |number, byte| number << 8 | u128::from(*byte))
}

fn field_match(id: u32, field: &Match) -> Option<FieldMatch> {
    let kind = match *field {
        Match::Any => return None,
        Match::Exact(value) => FieldMatchType::Exact(field_match::Exact { value: bytes(value) }),
        Match::Prefix(value, length) => FieldMatchType::Lpm(field_match::Lpm {
            value: bytes(value),
            prefix_len: length.into(),
        }),
        Match::Ternary(value, mask) => FieldMatchType::Ternary(field_match::Ternary {
            value: bytes(value),
            mask: bytes(mask),
        }),
        Match::Range(low, high) => FieldMatchType::Range(field_match::Range {
            low: bytes(low),
            high: bytes(high),
        }),
    };
    Some(FieldMatch {
        field_id: id,
        field_match_type: Some(kind),
    })
}

fn read_match(said: &FieldMatch, width: u32) -> Match {
    match &said.field_match_type {
        Some(FieldMatchType::Exact(exact)) => Match::Exact(number(&exact.value)),
        Some(FieldMatchType::Lpm(lpm)) => Match::prefix(number(&lpm.value), lpm.prefix_len as u8, width as u8),
        Some(FieldMatchType::Ternary(ternary)) => Match::Ternary(number(&ternary.value), number(&ternary.mask)),
        Some(FieldMatchType::Range(range)) => Match::Range(number(&range.low), number(&range.high)),
        _ => Match::Any,
    }
}

fn meter_entry(id: u32, key: &Key, action: &Action) -> MeterEntry {
    let config = match action.values.as_slice() {
        [rate, burst] => {
            let (rate, burst) = (
                (*rate).min(i64::MAX as u128) as i64,
                (*burst).min(i64::MAX as u128) as i64,
            );
            Some(MeterConfig {
                cir: rate,
                cburst: burst,
                pir: rate,
                pburst: burst,
                eburst: 0,
            })
        }
        _ => None,
    };
    let index = match key.fields.first() {
        Some(Match::Exact(index)) => *index as i64,
        _ => 0,
    };
    MeterEntry {
        meter_id: id,
        index: Some(Index { index }),
        config,
        counter_data: None,
    }
}
