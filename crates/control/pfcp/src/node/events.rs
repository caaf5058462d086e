//! Events for the log, and counters.

use crate::wire::NodeId;
use std::fmt;
use std::net::SocketAddr;

/// Something that is worth telling.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "`Display` says it")]
pub enum Event {
    Associated(NodeId),
    Released(NodeId),
    Lost(NodeId),
    Back(NodeId),
    Restarted(NodeId),
    SessionUnknownToPeer(u64),
    Refused { peer: SocketAddr, why: String },
    PlaneFailed(String),
}

impl fmt::Display for Event {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Event::Associated(node) => write!(formatter, "{node}: association"),
            Event::Released(node) => write!(formatter, "{node}: association released"),
            Event::Lost(node) => write!(formatter, "{node}: no answer; its sessions stay"),
            Event::Back(node) => write!(formatter, "{node}: answers again"),
            Event::Restarted(node) => write!(formatter, "{node}: has restarted; its sessions end"),
            Event::SessionUnknownToPeer(seid) => write!(formatter, "session {seid:#x}: unknown to its SMF; it ends"),
            Event::Refused { peer, why } => write!(formatter, "{peer}: request refused: {why}"),
            Event::PlaneFailed(why) => write!(formatter, "data plane: {why}"),
        }
    }
}

/// What has happened, counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Datagrams that came.
    pub received: u64,
    /// Datagrams that were sent.
    pub sent: u64,
    /// Datagrams shorter than they say.
    pub short: u64,
    /// Messages of another version.
    pub other_version: u64,
    /// Messages of an unknown type, or with a SEID where none belongs.
    pub unknown: u64,
    /// Datagrams of peers that may not send any.
    pub not_allowed: u64,
    /// Answers to which there is no request, and requests that a UPF does not take.
    pub unexpected: u64,
    /// Requests that came again.
    pub repeated: u64,
    /// Requests that were refused.
    pub refused: u64,
    /// Requests of this side that were sent again.
    pub retransmissions: u64,
    /// Requests of this side that have never been answered.
    pub unanswered: u64,
    /// Usage reports that no answer came to: they are sent again when the SMF is there.
    pub reports_kept: u64,
    /// Sessions that have been established.
    pub established: u64,
    /// Sessions that have ended.
    pub ended: u64,
}

impl Counters {
    pub(super) fn count(counter: &mut u64) {
        *counter += 1;
    }

    /// All counters by name, for printing.
    pub fn named(&self) -> [(&'static str, u64); 14] {
        [
            ("received", self.received),
            ("sent", self.sent),
            ("short", self.short),
            ("other_version", self.other_version),
            ("unknown", self.unknown),
            ("not_allowed", self.not_allowed),
            ("unexpected", self.unexpected),
            ("repeated", self.repeated),
            ("refused", self.refused),
            ("retransmissions", self.retransmissions),
            ("unanswered", self.unanswered),
            ("reports_kept", self.reports_kept),
            ("established", self.established),
            ("ended", self.ended),
        ]
    }
}
