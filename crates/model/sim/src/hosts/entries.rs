//! Hosts and their flows, as a scenario writes them.

use serde::Deserialize;
use std::net::Ipv4Addr;
use toml::Spanned;

/// A host at a port of a chip.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, expecting = "a table [[host]]")]
pub(crate) struct HostEntry {
    pub(crate) name: Spanned<String>,
    /// `chip:port`.
    pub(crate) at: Spanned<String>,
    pub(crate) address: Ipv4Addr,
    /// `02:00` and the address by default.
    pub(crate) mac: Option<Spanned<String>>,
    /// The rate of its line in both directions; the port's rate when 0.
    #[serde(default)]
    pub(crate) gbps: f64,
    /// The delay of its line in each direction.
    #[serde(default)]
    pub(crate) delay_ns: f64,
    #[serde(default)]
    pub(crate) loss: f64,
}

/// Data from one host to another.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, expecting = "a table [[flow]]")]
pub(crate) struct FlowEntry {
    pub(crate) name: Spanned<String>,
    /// Names of hosts.
    pub(crate) from: Spanned<String>,
    pub(crate) to: Spanned<String>,
    pub(crate) transport: Transport,
    /// Bytes to send; without an end when it is not there.
    pub(crate) bytes: Option<u64>,
    #[serde(default)]
    pub(crate) start_us: f64,
    /// Bytes of data in a packet: 1460 for TCP, 1024 for RoCE by default.
    pub(crate) segment_bytes: Option<Spanned<u32>>,
    /// Whether switches may mark packets in place of dropping them; DCTCP's always may be marked.
    #[serde(default)]
    pub(crate) ecn: bool,
    /// The rate of a RoCE sender on the wire; its line's rate when 0.
    #[serde(default)]
    pub(crate) gbps: f64,
    /// The least time-out.
    #[serde(default = "rto_min_us")]
    pub(crate) rto_min_us: f64,
}

fn rto_min_us() -> f64 {
    1_000.0
}

/// How a flow's sender reacts to what becomes of its packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Transport {
    NewReno,
    Cubic,
    Dctcp,
    /// At a rate, again from the first packet that is missing; stopped by pause frames alone.
    Roce,
}

impl Transport {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Transport::NewReno => "newreno",
            Transport::Cubic => "cubic",
            Transport::Dctcp => "dctcp",
            Transport::Roce => "roce",
        }
    }
}

/// Priority flow control of a chip (IEEE 802.1Qbb).
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, expecting = "a table [chip.pfc]")]
pub(crate) struct PfcEntry {
    /// Queues whose packets are not lost.
    pub(crate) queues: Spanned<Vec<u8>>,
    /// Bytes of a port and queue in the packet buffer from which on the port's other end is paused.
    pub(crate) pause_above_bytes: Spanned<u64>,
    /// Bytes down to which the buffer must empty before the other end may go on.
    pub(crate) resume_below_bytes: u64,
    /// Bytes for what comes after the pause has been sent, of each port and queue.
    pub(crate) headroom_bytes: u64,
}
