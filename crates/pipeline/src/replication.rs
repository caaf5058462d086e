//! The packet replication engine: multicast groups and clone sessions, written by the control plane.

use std::collections::BTreeMap;

/// A copy that a multicast group makes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Replica {
    /// Where it goes.
    pub egress_port: u32,
    /// `standard_metadata.egress_rid` of the copy.
    pub instance: u16,
}

/// What a clone session does with a clone.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CloneSession {
    /// Copies, each with its port; the instance becomes `egress_rid`.
    pub replicas: Vec<Replica>,
    /// At most so many bytes of the clone leave; `None` for all.
    pub packet_length_bytes: Option<u32>,
}

impl CloneSession {
    /// One clone to a port, as `mirroring_add SESSION PORT` of BMv2's command line.
    pub fn to_port(egress_port: u32) -> Self {
        CloneSession {
            replicas: vec![Replica {
                egress_port,
                instance: 0,
            }],
            packet_length_bytes: None,
        }
    }
}

/// Groups and sessions by number.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct ReplicationEngine {
    pub(crate) multicast_groups: BTreeMap<u16, Vec<Replica>>,
    pub(crate) clone_sessions: BTreeMap<u32, CloneSession>,
}
