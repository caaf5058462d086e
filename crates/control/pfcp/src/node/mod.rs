//! The UPF's side of N4 as a state machine: datagrams, the time and events of the data plane in; datagrams out.
//!
//! * `mod.rs`: which message is which, and who may send it.
//! * `associations.rs`: associations, heartbeats, peers that are lost or have restarted.
//! * `sessions.rs`: sessions are established, modified, deleted.
//! * `reports.rs`: reports to the SMF: usage, packets that wait, errors of tunnels.
//! * `requests.rs`: requests of this side, which are repeated until they are answered.
//! * `answers.rs`: answers that are given again when a request is repeated.
//! * `events.rs`: events for the log, and counters.
//! * `save.rs`: sessions and associations as bytes, for a restart.
//!
//! Every number that grows is bounded: sessions and rules ([`Limits`]), associations, requests without answer, answers
//! that are kept.

mod answers;
mod associations;
mod events;
mod reports;
mod requests;
mod save;
mod sessions;
#[cfg(test)]
mod tests;

pub use associations::Association;
pub use events::{Counters, Event};
pub use save::SaveError;

use crate::plane::UserPlane;
use crate::resources::{Limits, Pools, Resources};
use crate::rules::Network;
use crate::session::Session;
use crate::wire::{Addresses, Cause, Elements, Header, HeaderError, MessageType, NodeId, OuterHeader, Refusal, Writer};
use answers::{Answers, Key};
use requests::Pending;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet, VecDeque};
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

/// The port of PFCP.
pub const PORT: u16 = 8805;

/// The settings of a node.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Its name.
    pub node: NodeId,
    /// Its address on N4, which SMFs send messages about sessions to.
    pub address: IpAddr,
    /// Where tunnels end that it chooses.
    pub tunnels_at: Addresses,
    /// Addresses of UEs that it chooses.
    pub pools: Pools,
    /// How many there are of everything.
    pub limits: Limits,
    /// When it last lost its sessions: seconds of NTP.
    pub recovery: u32,
    /// The number of its first request, of 24 bits. It must differ from the last ones of an earlier life, whose answers
    /// peers may still keep (§6.4): take it from the clock.
    pub first_sequence: u32,
    /// T1: a request is repeated after this time.
    pub retry: Duration,
    /// N1: how often a request is sent.
    pub attempts: u32,
    /// The interval between heartbeats to a peer.
    pub heartbeat: Duration,
    /// Networks of peers; all if there is none.
    pub peers: Vec<Network>,
}

/// A request that is being done.
pub(crate) struct Request<'a> {
    now: Duration,
    from: SocketAddr,
    header: Header,
    elements: Elements<'a>,
}

impl Request<'_> {
    /// The answer to it; `seid` is that of the peer.
    fn answer(&self, seid: Option<u64>, elements: impl FnOnce(&mut Writer)) -> Vec<u8> {
        let header = Header {
            message: answer_to(self.header.message),
            seid,
            sequence: self.header.sequence,
        };
        header.message(elements)
    }
}

fn answer_to(request: MessageType) -> MessageType {
    match request {
        MessageType::HeartbeatRequest => MessageType::HeartbeatResponse,
        MessageType::PfdManagementRequest => MessageType::PfdManagementResponse,
        MessageType::AssociationSetupRequest => MessageType::AssociationSetupResponse,
        MessageType::AssociationUpdateRequest => MessageType::AssociationUpdateResponse,
        MessageType::AssociationReleaseRequest => MessageType::AssociationReleaseResponse,
        MessageType::SessionSetDeletionRequest => MessageType::SessionSetDeletionResponse,
        MessageType::SessionEstablishmentRequest => MessageType::SessionEstablishmentResponse,
        MessageType::SessionModificationRequest => MessageType::SessionModificationResponse,
        MessageType::SessionDeletionRequest => MessageType::SessionDeletionResponse,
        other => other,
    }
}

/// A UPF as its SMFs see it.
pub struct Node {
    settings: Settings,
    associations: BTreeMap<NodeId, Association>,
    sessions: HashMap<u64, Session>,
    /// Which session sends into a tunnel.
    tunnels: HashMap<OuterHeader, u64>,
    resources: Resources,
    next_seid: u32,
    next_sequence: u32,
    pending: BTreeMap<u32, Pending>,
    /// Sessions with usage reports that were not acknowledged.
    unreported: BTreeSet<u64>,
    answers: Answers,
    /// PDRs of sessions for which the SMF was notified that packets wait.
    notified: HashSet<(u64, u16)>,
    /// Sessions whose rules or measurements differ from what was saved.
    changed: BTreeSet<u64>,
    has_changed_associations: bool,
    outputs: VecDeque<(SocketAddr, Vec<u8>)>,
    events: VecDeque<Event>,
    counters: Counters,
}

/// The largest sequence number.
const SEQUENCE_MAX: u32 = 0xff_ffff;

/// The most events that wait to be taken; beyond it, the oldest are discarded.
const EVENTS_MAX: usize = 1024;

impl Node {
    /// A node without associations and sessions.
    pub fn new(settings: Settings) -> Node {
        let resources = Resources::new(
            settings.limits,
            settings.tunnels_at,
            settings.pools,
            settings.recovery << 8,
        );
        Node {
            next_sequence: settings.first_sequence % SEQUENCE_MAX,
            settings,
            associations: BTreeMap::new(),
            sessions: HashMap::new(),
            tunnels: HashMap::new(),
            resources,
            next_seid: 0,
            pending: BTreeMap::new(),
            unreported: BTreeSet::new(),
            answers: Answers::default(),
            notified: HashSet::new(),
            changed: BTreeSet::new(),
            has_changed_associations: false,
            outputs: VecDeque::new(),
            events: VecDeque::new(),
            counters: Counters::default(),
        }
    }

    /// A datagram has come. `now` is a time since 1970 that never goes back; so everywhere here.
    pub fn receive(&mut self, now: Duration, from: SocketAddr, datagram: &[u8], plane: &mut dyn UserPlane) {
        self.counters.received += 1;
        if !self.is_allowed(from.ip()) {
            self.counters.not_allowed += 1;
            return;
        }
        match Header::read(datagram) {
            Ok((header, elements)) => self.take(now, from, header, elements, plane),
            Err(HeaderError::Short) => self.counters.short += 1,
            Err(HeaderError::Length(header)) => {
                self.counters.short += 1;
                let refusal = Refusal::new(Cause::InvalidLength, "the message is shorter than its header says");
                let key = Key::new(from, &header, &[]);
                self.answer_refused(now, from, (header, key), &refusal, 0);
            }
            Err(HeaderError::UnknownType(_) | HeaderError::Seid) => self.counters.unknown += 1,
            Err(HeaderError::Version(sequence)) => {
                self.counters.other_version += 1;
                let header = Header {
                    message: MessageType::VersionNotSupportedResponse,
                    seid: None,
                    sequence,
                };
                self.send(from, header.message(|_| {}));
            }
        }
        self.events.drain(..self.events.len().saturating_sub(EVENTS_MAX));
    }

    fn is_allowed(&self, peer: IpAddr) -> bool {
        self.settings.peers.is_empty() || self.settings.peers.iter().any(|network| network.has(peer))
    }

    fn take(&mut self, now: Duration, from: SocketAddr, header: Header, bytes: &[u8], plane: &mut dyn UserPlane) {
        let key = Key::new(from, &header, bytes);
        if let Some(answer) = self.answers.find(&key) {
            self.counters.repeated += 1;
            self.send(from, answer.clone());
            return;
        }
        let elements = match Elements::new(bytes) {
            Ok(elements) => elements,
            Err(refusal) => return self.answer_refused(now, from, (header, key), &refusal, 0),
        };
        let request = Request {
            now,
            from,
            header,
            elements,
        };
        let done = match header.message {
            MessageType::HeartbeatRequest => self.heartbeat(&request, plane),
            MessageType::AssociationSetupRequest => self.set_up(&request, plane),
            MessageType::AssociationUpdateRequest => self.update_association(&request),
            MessageType::AssociationReleaseRequest => self.release(&request, plane),
            MessageType::PfdManagementRequest | MessageType::SessionSetDeletionRequest => {
                Err(Refusal::new(Cause::ServiceNotSupported, "this UPF does not do that"))
            }
            MessageType::SessionEstablishmentRequest => self.establish(&request, plane),
            MessageType::SessionModificationRequest => self.modify(&request, plane),
            MessageType::SessionDeletionRequest => self.delete(&request, plane),
            MessageType::HeartbeatResponse | MessageType::NodeReportResponse | MessageType::SessionReportResponse => {
                return self.answered(now, from, &header, elements, plane);
            }
            _ => return Counters::count(&mut self.counters.unexpected),
        };
        match done {
            Ok(answer) => self.finish(now, (from, header.message), key, answer),
            Err(refusal) => self.answer_refused(now, from, (header, key), &refusal, self.peer_seid(&request)),
        }
    }

    /// The SEID of the peer for a refusal, as far as the request says it.
    fn peer_seid(&self, request: &Request<'_>) -> u64 {
        let known = request.header.seid.and_then(|seid| self.sessions.get(&seid));
        let said = || {
            request
                .elements
                .optional::<crate::wire::FSeid>(crate::wire::kind::F_SEID)
                .ok()
                .flatten()
        };
        known
            .map(|session| session.peer)
            .or_else(said)
            .map_or(0, |peer| peer.seid)
    }

    fn answer_refused(
        &mut self,
        now: Duration,
        from: SocketAddr,
        (header, key): (Header, Key),
        refusal: &Refusal,
        seid: u64,
    ) {
        self.refuse(from, refusal);
        let message = answer_to(header.message);
        if message == header.message || message == MessageType::HeartbeatResponse {
            return;
        }
        let is_of_session = message.is_of_session();
        let names_node = !is_of_session && message != MessageType::PfdManagementResponse;
        let answer = Header {
            message,
            seid: is_of_session.then_some(seid),
            sequence: header.sequence,
        };
        let answer = answer.message(|answer| {
            if names_node || message == MessageType::SessionEstablishmentResponse {
                self.write_node(answer);
            }
            refusal.write(answer);
            if message == MessageType::AssociationSetupResponse {
                answer.u32_element(crate::wire::kind::RECOVERY_TIME_STAMP, self.settings.recovery);
            }
            if is_of_session {
                refusal.write_rule(answer);
            }
        });
        self.finish(now, (from, header.message), key, answer);
    }

    fn finish(&mut self, now: Duration, (to, request): (SocketAddr, MessageType), key: Key, answer: Vec<u8>) {
        self.send(to, answer.clone());
        if request != MessageType::HeartbeatRequest {
            self.answers.keep(now, key, answer);
        }
    }

    fn send(&mut self, to: SocketAddr, datagram: Vec<u8>) {
        self.counters.sent += 1;
        self.outputs.push_back((to, datagram));
    }

    /// What is due by time: heartbeats, requests that are repeated, answers that are forgotten. Ten times a second is
    /// often enough.
    pub fn tick(&mut self, now: Duration) {
        self.answers.expire(now);
        self.retransmit(now);
        self.send_heartbeats(now);
    }

    /// The next datagram to be sent.
    pub fn next_output(&mut self) -> Option<(SocketAddr, Vec<u8>)> {
        self.outputs.pop_front()
    }

    /// Takes the next event for the log.
    pub fn next_event(&mut self) -> Option<Event> {
        self.events.pop_front()
    }

    /// What has happened.
    pub fn counters(&self) -> &Counters {
        &self.counters
    }

    /// All sessions.
    pub fn sessions(&self) -> impl Iterator<Item = &Session> + Clone {
        self.sessions.values()
    }

    /// A session by its SEID.
    pub fn session(&self, seid: u64) -> Option<&Session> {
        self.sessions.get(&seid)
    }

    /// Peers with an association.
    pub fn associations(&self) -> impl Iterator<Item = (&NodeId, &Association)> {
        self.associations.iter()
    }

    /// GTP-U peers of all sessions.
    pub fn gtpu_peers(&self) -> BTreeSet<IpAddr> {
        self.tunnels.keys().map(|tunnel| tunnel.peer).collect()
    }
}
