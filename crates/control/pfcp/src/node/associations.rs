//! Associations with peers, and whether these are there (§6.2).

use super::requests::Purpose;
use super::{Event, Node, PORT, Request, UserPlane};
use crate::wire::{Addresses, Cause, Elements, MessageType, NodeId, Refusal, Value, Writer, kind};
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

/// Peers with an association.
const ASSOCIATIONS_MAX: usize = 256;

/// A peer with an association.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Association {
    /// Where its messages come from.
    pub address: IpAddr,
    /// When it last lost its sessions, according to itself.
    pub recovery: u32,
    /// Whether it does not answer any more.
    pub is_lost: bool,
    pub(super) next_heartbeat: Duration,
}

impl Node {
    /// A new association takes the place of one that there is. Its sessions end, unless the peer wants to retain them
    /// (§6.2.6.2.2).
    pub(super) fn set_up(&mut self, request: &Request<'_>, plane: &mut dyn UserPlane) -> Result<Vec<u8>, Refusal> {
        let node: NodeId = request.elements.mandatory(kind::NODE_ID)?;
        let recovery = request.elements.mandatory(kind::RECOVERY_TIME_STAMP)?;
        if self.associations.len() >= ASSOCIATIONS_MAX && !self.associations.contains_key(&node) {
            let why = format!("there are {ASSOCIATIONS_MAX} associations");
            return Err(Refusal::new(Cause::NoResources, why));
        }
        let wants_retention = request.elements.has(kind::PFCP_SESSION_RETENTION_INFORMATION);
        if !wants_retention {
            self.end_sessions_of(&node, plane);
        }
        let association = Association {
            address: request.from.ip(),
            recovery,
            is_lost: false,
            next_heartbeat: request.now + self.settings.heartbeat,
        };
        let is_retained = wants_retention && self.associations.contains_key(&node);
        // After its restart, the peer may send the same requests again.
        self.answers.forget(request.from.ip());
        self.associations.insert(node.clone(), association);
        self.has_changed_associations = true;
        self.events.push_back(Event::Associated(node));
        Ok(request.answer(None, |answer| {
            self.write_node(answer);
            answer.cause(Cause::Accepted);
            self.write_recovery(answer);
            self.write_features(answer);
            if is_retained {
                answer.u8_element(kind::PFCPASRSP_FLAGS, 1);
            }
        }))
    }

    /// Features of the peer have changed, none of which matters here.
    pub(super) fn update_association(&mut self, request: &Request<'_>) -> Result<Vec<u8>, Refusal> {
        self.associated(request)?;
        Ok(request.answer(None, |answer| {
            self.write_node(answer);
            answer.cause(Cause::Accepted);
            self.write_features(answer);
        }))
    }

    /// The association ends with its sessions.
    pub(super) fn release(&mut self, request: &Request<'_>, plane: &mut dyn UserPlane) -> Result<Vec<u8>, Refusal> {
        let node = self.associated(request)?;
        self.end_sessions_of(&node, plane);
        self.associations.remove(&node);
        self.has_changed_associations = true;
        self.events.push_back(Event::Released(node));
        Ok(request.answer(None, |answer| {
            self.write_node(answer);
            answer.cause(Cause::Accepted);
        }))
    }

    /// The node of a request, which must have an association.
    pub(super) fn associated(&self, request: &Request<'_>) -> Result<NodeId, Refusal> {
        let node: NodeId = request.elements.mandatory(kind::NODE_ID)?;
        if self.associations.contains_key(&node) {
            Ok(node)
        } else {
            Err(Refusal::new(
                Cause::NoAssociation,
                format!("there is no association with {node}"),
            ))
        }
    }

    /// A heartbeat of a peer, which may say that the peer has restarted.
    pub(super) fn heartbeat(&mut self, request: &Request<'_>, plane: &mut dyn UserPlane) -> Result<Vec<u8>, Refusal> {
        let recovery = request.elements.mandatory(kind::RECOVERY_TIME_STAMP)?;
        let address = request.from.ip();
        let of_address = self.associations.iter().filter(|(_, one)| one.address == address);
        let of_address: Vec<(NodeId, u32)> = of_address.map(|(node, one)| (node.clone(), one.recovery)).collect();
        // A heartbeat does not name its node. If several nodes have its address, it is the one with the same time
        // stamp, or the node is unknown.
        let is_alone = of_address.len() == 1;
        for (node, known) in of_address {
            if is_alone || known == recovery {
                self.is_there(request.now, &node, recovery, plane);
            }
        }
        Ok(request.answer(None, |answer| self.write_recovery(answer)))
    }

    /// The answer to a heartbeat.
    pub(super) fn heard(&mut self, now: Duration, node: &NodeId, elements: Elements<'_>, plane: &mut dyn UserPlane) {
        if let Ok(recovery) = elements.mandatory(kind::RECOVERY_TIME_STAMP) {
            self.is_there(now, node, recovery, plane);
        }
    }

    fn is_there(&mut self, now: Duration, node: &NodeId, recovery: u32, plane: &mut dyn UserPlane) {
        let next_heartbeat = now + self.settings.heartbeat;
        let Some(association) = self.associations.get_mut(node) else {
            return;
        };
        if is_before(recovery, association.recovery) {
            // A message of the peer's former life that comes late (TS 23.007 §19A).
            return;
        }
        association.next_heartbeat = next_heartbeat;
        if std::mem::take(&mut association.is_lost) {
            self.events.push_back(Event::Back(node.clone()));
        }
        if association.recovery != recovery {
            // The peer has forgotten its sessions and the association (§6.2.2.2).
            let address = association.address;
            self.end_sessions_of(node, plane);
            self.associations.remove(node);
            self.answers.forget(address);
            self.has_changed_associations = true;
            self.events.push_back(Event::Restarted(node.clone()));
        }
    }

    /// A peer that does not answer. Its sessions stay, and packets go on; reports wait.
    pub(super) fn lose(&mut self, now: Duration, node: &NodeId) {
        let next_heartbeat = now + self.settings.heartbeat;
        if let Some(association) = self.associations.get_mut(node) {
            association.next_heartbeat = next_heartbeat;
            if !std::mem::replace(&mut association.is_lost, true) {
                self.events.push_back(Event::Lost(node.clone()));
            }
        }
    }

    /// Sends heartbeats to peers from which nothing has arrived for a while.
    pub(super) fn send_heartbeats(&mut self, now: Duration) {
        let due = self.associations.iter().filter(|(_, one)| one.next_heartbeat <= now);
        let due: Vec<(NodeId, IpAddr)> = due.map(|(node, one)| (node.clone(), one.address)).collect();
        for (node, address) in due {
            if let Some(association) = self.associations.get_mut(&node) {
                // The answer, or the last attempt without one, sets it again.
                association.next_heartbeat =
                    now + self.settings.heartbeat + self.settings.retry * self.settings.attempts;
            }
            let recovery = self.settings.recovery;
            let kind = (MessageType::HeartbeatRequest, None);
            self.request(
                now,
                SocketAddr::new(address, PORT),
                kind,
                Purpose::Heartbeat(node),
                |request| {
                    request.u32_element(kind::RECOVERY_TIME_STAMP, recovery);
                },
            );
        }
    }

    /// Tells every peer that the path to a GTP-U peer has failed or is there again (§6.2.9).
    pub fn path_changed(&mut self, now: Duration, gtpu_peer: IpAddr, is_up: bool) {
        let peers: Vec<IpAddr> = self
            .associations
            .values()
            .filter(|one| !one.is_lost)
            .map(|one| one.address)
            .collect();
        for peer in peers {
            if !self.may_request() {
                return;
            }
            let mut own = Writer::default();
            self.write_node(&mut own);
            let kind = (MessageType::NodeReportRequest, None);
            self.request(now, SocketAddr::new(peer, PORT), kind, Purpose::Path, |request| {
                request.bytes(own.as_bytes());
                write_path(request, gtpu_peer, is_up);
            });
        }
    }

    pub(super) fn write_node(&self, writer: &mut Writer) {
        writer.element(kind::NODE_ID, |value| self.settings.node.write(value));
    }

    fn write_recovery(&self, writer: &mut Writer) {
        writer.u32_element(kind::RECOVERY_TIME_STAMP, self.settings.recovery);
    }

    /// What this UPF can do beyond the mandatory (§8.2.25): FTUP; EMPU; UEIP if it has addresses, MNOP.
    fn write_features(&self, writer: &mut Writer) {
        let pools = self.settings.pools;
        let chooses_addresses = u8::from(pools.v4.is_some() || pools.v6.is_some()) << 2;
        writer.element(kind::UP_FUNCTION_FEATURES, |value| {
            value.bytes(&[0x10, 0x01, 0x10 | chooses_addresses, 0])
        });
    }
}

/// Whether a time stamp is older than another; they go round in 136 years.
fn is_before(one: u32, other: u32) -> bool {
    (one.wrapping_sub(other) as i32) < 0
}

/// The elements of a Node Report about a path.
fn write_path(request: &mut Writer, gtpu_peer: IpAddr, is_up: bool) {
    let (flag, report) = if is_up {
        (2, kind::USER_PLANE_PATH_RECOVERY_REPORT)
    } else {
        (1, kind::USER_PLANE_PATH_FAILURE_REPORT)
    };
    request.u8_element(kind::NODE_REPORT_TYPE, flag);
    request.element(report, |report| {
        report.element(kind::REMOTE_GTPU_PEER, |value| match gtpu_peer {
            IpAddr::V4(address) => {
                value.u8(2);
                value.bytes(&address.octets());
            }
            IpAddr::V6(address) => {
                value.u8(1);
                value.bytes(&address.octets());
            }
        });
    });
}

/// Where requests about a session go: the address of the SMF's F-SEID, of the family of this side if there are two.
pub(super) fn address_of(addresses: Addresses, own: IpAddr) -> Option<SocketAddr> {
    let v6 = addresses.v6.filter(|_| own.is_ipv6()).map(IpAddr::V6);
    v6.or(addresses.any()).map(|address| SocketAddr::new(address, PORT))
}

impl Value for Association {
    /// As it is saved.
    fn read(reader: &mut crate::wire::Reader<'_>) -> Result<Association, crate::wire::Fault> {
        let address = Addresses {
            v4: None,
            v6: Some(reader.array::<16>()?.into()),
        };
        let mapped = address.v6.ok_or(crate::wire::Fault::Wrong)?;
        Ok(Association {
            address: mapped.to_ipv4_mapped().map_or(IpAddr::V6(mapped), IpAddr::V4),
            recovery: reader.u32()?,
            is_lost: false,
            next_heartbeat: Duration::ZERO,
        })
    }
}

impl Association {
    /// Saves it.
    pub(super) fn write(&self, writer: &mut Writer) {
        let mapped = match self.address {
            IpAddr::V4(address) => address.to_ipv6_mapped(),
            IpAddr::V6(address) => address,
        };
        writer.bytes(&mapped.octets());
        writer.u32(self.recovery);
    }
}
