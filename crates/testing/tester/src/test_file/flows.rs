//! The key `flows` of a stream.

use serde::Deserialize;

/// The flows of a stream.
#[derive(Clone, Debug, Deserialize)]
#[serde(
    deny_unknown_fields,
    expecting = "flows, as in { count = 1000, vary = \"destination\" },"
)]
pub struct FlowsEntry {
    /// How many.
    pub count: Option<u32>,
    /// In place of a number, a table: a flow for each of its entries.
    pub entries: Option<String>,
    /// The share of flows that hit no entry.
    #[serde(default)]
    pub misses: f64,
    /// What differs between them: the destination address, unless it is told.
    pub vary: Option<VaryEntry>,
    /// In what order they send.
    #[serde(default)]
    pub order: OrderEntry,
    /// The exponent of `order = "zipf"`, 1 when it is not there; other orders have none.
    pub exponent: Option<f64>,
}

/// What differs between flows: counted up from the value of the stream.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum VaryEntry {
    /// The source address.
    Source,
    /// The destination address.
    #[default]
    Destination,
    /// The source port.
    SourcePort,
    /// The destination port.
    DestinationPort,
    /// The source MAC address.
    SourceMac,
    /// The destination MAC address.
    DestinationMac,
}

/// In what order flows send.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum OrderEntry {
    /// In turns.
    #[default]
    RoundRobin,
    /// Each frame is of a random flow.
    Random,
    /// Random, flow n with a share of 1/n to the power of the exponent.
    Zipf,
}
