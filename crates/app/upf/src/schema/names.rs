//! The names of `functions/upf`, and their ids in the program that runs.

use super::values::bytes;
use crate::entry::{Action, Table};
use crate::error::AgentError;
use forebay_protocol::p4::config::v1::{ControllerPacketMetadata, P4Info, Preamble};
use forebay_protocol::p4::v1::{self, TableAction, table_action};

/// Tables: name in the program, fields of the key.
pub(super) const TABLES: &[(Table, &str, &[&str])] = &[
    (Table::OwnIpv4, "own_ipv4", &["hdr.ipv4.dst_addr"]),
    (Table::OwnIpv6, "own_ipv6", &["hdr.ipv6.dst_addr"]),
    (Table::ArpIpv4, "arp_ipv4", &["hdr.arp.target_ip"]),
    (Table::NdIpv6, "nd_ipv6", &["hdr.neighbour.target"]),
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

pub(super) const METERS: &[(Table, &str)] = &[
    (Table::UplinkRates, "uplink_rates"),
    (Table::DownlinkRates, "downlink_rates"),
];

/// Actions: name, parameters.
const ACTIONS: &[(&str, &[&str])] = &[
    ("own", &["mac"]),
    ("to_next_hop", &["next_hop"]),
    ("to_port", &["port", "src_mac", "dst_mac", "mtu"]),
    ("uplink_session", &["session", "rules", "ue_ipv4", "ue_prefix", "to_ue"]),
    ("downlink_session", &["session", "rules"]),
    ("set_application", &["application"]),
    (
        "forward",
        &[
            "far",
            "flow_qer",
            "session_qer",
            "flow_urr",
            "session_urr",
            "third_urr",
            "fourth_urr",
            "before_qos",
            "closed",
        ],
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
pub(super) struct TableIds {
    pub(super) id: u32,
    pub(super) fields: Vec<(u32, u32)>,
    pub(super) actions: Vec<(u32, &'static str, Vec<u32>)>,
}

impl TableIds {
    pub(super) fn action(&self, action: &Action) -> Option<TableAction> {
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

pub(super) fn id_of<'a>(
    preambles: impl Iterator<Item = Option<&'a Preamble>>,
    what: &str,
    name: &str,
) -> Result<u32, AgentError> {
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

pub(super) fn table_ids(info: &P4Info, name: &str, fields: &[&str]) -> Result<TableIds, AgentError> {
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

pub(super) fn header(
    info: &P4Info,
    name: &str,
    fields: &[&'static str],
) -> Result<Vec<(u32, &'static str)>, AgentError> {
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
