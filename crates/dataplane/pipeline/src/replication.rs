//! The packet replication engine: multicast groups and clone sessions, written by the control plane.

use forebay_arch::psa;
use forebay_ir::Architecture;
pub use forebay_jit::route::Replica;
use std::collections::BTreeMap;

/// The copies that a clone session makes of a clone.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CloneSession {
    /// The copies, each with its port; the instance becomes `egress_rid`.
    pub replicas: Vec<Replica>,
    /// The clone is cut to at most this number of bytes; `None` leaves it whole.
    pub packet_length_bytes: Option<u32>,
    /// `standard_metadata.priority` of the copies, and so their queue: 1 to [`CLASS_OF_SERVICE_MAX`]. With 0 they have
    /// the priority that the clone keeps by the program's field list, or 0 without one.
    pub class_of_service: u8,
}

/// The highest class of service: `standard_metadata.priority` has three bits.
pub const CLASS_OF_SERVICE_MAX: u8 = 7;

impl CloneSession {
    /// One clone to a port, like `mirroring_add SESSION PORT` of BMv2's command line.
    pub fn to_port(egress_port: u32) -> Self {
        CloneSession {
            replicas: vec![Replica {
                egress_port,
                instance: 0,
            }],
            packet_length_bytes: None,
            class_of_service: 0,
        }
    }
}

/// Groups and sessions by number.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct ReplicationEngine {
    pub(crate) multicast_groups: BTreeMap<u16, Vec<Replica>>,
    pub(crate) clone_sessions: BTreeMap<u32, CloneSession>,
    /// Members of the largest group.
    largest_group: usize,
    /// Ports of the largest session.
    largest_session: usize,
    /// Whether a group has a member with PSA's port for recirculation.
    recirculates: bool,
}

impl ReplicationEngine {
    /// The initial state: for PSA, a session to the controllers (PSA 1.2 §6.8).
    pub(crate) fn of(architecture: Architecture) -> ReplicationEngine {
        let mut engine = ReplicationEngine::default();
        if architecture == Architecture::Psa {
            engine.change_session(psa::SESSION_TO_CPU, Some(CloneSession::to_port(psa::PORT_CPU)));
        }
        engine
    }

    /// Adds, replaces or (without members) removes a group.
    pub(crate) fn change_group(&mut self, group: u16, replicas: Option<Vec<Replica>>) {
        match replicas {
            Some(replicas) => self.multicast_groups.insert(group, replicas),
            None => self.multicast_groups.remove(&group),
        };
        self.largest_group = self.multicast_groups.values().map(Vec::len).max().unwrap_or(0);
        let mut members = self.multicast_groups.values().flatten();
        self.recirculates = members.any(|member| member.egress_port == psa::PORT_RECIRCULATE);
    }

    /// The members of a group; empty when it does not exist.
    pub(crate) fn members(&self, group: u16) -> &[Replica] {
        self.multicast_groups.get(&group).map_or(&[], Vec::as_slice)
    }

    /// Whether copies may have PSA's port for recirculation.
    pub(crate) fn recirculates(&self) -> bool {
        self.recirculates
    }

    /// Adds, replaces or (without a session) removes a session.
    pub(crate) fn change_session(&mut self, number: u32, session: Option<CloneSession>) {
        match session {
            Some(session) => self.clone_sessions.insert(number, session),
            None => self.clone_sessions.remove(&number),
        };
        let sizes = self.clone_sessions.values().map(|session| session.replicas.len());
        self.largest_session = sizes.max().unwrap_or(0);
    }

    /// The most clones of a packet.
    pub(crate) fn largest_session(&self) -> usize {
        self.largest_session
    }

    /// The most copies of a packet.
    pub(crate) fn largest_group(&self) -> usize {
        self.largest_group
    }
}
