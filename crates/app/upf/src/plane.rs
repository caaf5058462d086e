//! The switch: sessions become entries there, counters are read, packets go to and fro.

use crate::buffer::{Buffer, Kept};
use crate::compile::{self, Compiler, TWIN};
use crate::entry::{Difference, Entries};
use crate::error::AgentError;
use crate::gtpu::{self, Message};
use crate::link::{Link, Synchronised};
use crate::rule_sets::{RuleSet, RuleSets};
use crate::schema::{PacketInfo, Schema, Sending};
use forebay_client::{CallError, Client, ClientOptions};
use forebay_pfcp::wire::{Addresses, Cause, OuterHeader, Refusal, Usage};
use forebay_pfcp::{Endpoint, Session, UserPlane};
use forebay_protocol::p4::v1::Update;
use forebay_protocol::p4::v1::get_forwarding_pipeline_config_request::ResponseType;
use forebay_protocol::p4::v1::stream_message_request::Update as Request;
use forebay_protocol::p4::v1::stream_message_response::Update as Response;
use forebay_protocol::p4::v1::write_request::Atomicity;
use std::collections::{HashMap, HashSet};
use std::net::IpAddr;
use std::sync::mpsc::{self, Receiver, TryRecvError};
use std::thread;
use std::time::Duration;

/// Why a packet comes to the controller (`functions/upf/packet.p4`).
const REASON_BUFFER: u32 = 1;
const REASON_GTPU: u32 = 3;

/// Messages of a switch that are taken before SMFs are answered: with more to come than can be taken, there is no last.
const MESSAGES_MAX: usize = 1_024;

/// How long a switch may be silent while its tables are compared, and afterwards: SMFs are not answered meanwhile.
const PATIENCE_AT_FIRST: Duration = Duration::from_secs(30);
const PATIENCE: Duration = Duration::from_secs(5);

/// Something that a packet from the switch says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Happening {
    /// A packet is kept for a session.
    Buffered { seid: u64, pdr: u16 },
    /// A message of GTP-U.
    Gtpu(Message),
}

/// A switch, whether it is there or not.
pub(crate) struct Plane {
    options: ClientOptions,
    link: Option<Link>,
    /// A connection that is being made by a thread.
    coming: Option<Receiver<Result<Link, AgentError>>>,
    tunnels_at: Addresses,
    rule_sets: RuleSets,
    /// Endpoints of sessions by their numbers.
    numbers: HashMap<u32, (u64, Endpoint)>,
    /// URRs whose second number is or was in use. What it has counted belongs to the URR as long as that exists, also
    /// when no PDR of N9 uses it any more; a number that is given anew begins without.
    pub(crate) twins: HashSet<u32>,
    /// Packets that wait.
    pub(crate) buffer: Buffer,
}

impl Plane {
    /// A switch that is not connected yet.
    pub(crate) fn new(options: ClientOptions, tunnels_at: Addresses) -> Plane {
        Plane {
            options,
            link: None,
            coming: None,
            tunnels_at,
            rule_sets: RuleSets::default(),
            numbers: HashMap::new(),
            twins: HashSet::new(),
            buffer: Buffer::default(),
        }
    }

    /// Whether the switch is there.
    pub(crate) fn is_connected(&self) -> bool {
        self.link.is_some()
    }

    /// Connects, and makes the tables of the switch those of `sessions`. What is right there is not touched.
    ///
    /// # Errors
    /// When the switch cannot be reached, runs another program, or another controller is primary.
    pub(crate) fn connect<'a>(
        &mut self,
        common: &Entries,
        sessions: impl Iterator<Item = &'a Session>,
    ) -> Result<Synchronised, AgentError> {
        let link = open(self.options.clone())?;
        self.take_up(link, common, sessions)
    }

    /// As [`Plane::connect`], without waiting for a host that may have vanished: to be called again while the result is
    /// `None`.
    ///
    /// # Errors
    /// As those of [`Plane::connect`].
    pub(crate) fn connect_beside<'a>(
        &mut self,
        common: &Entries,
        sessions: impl Iterator<Item = &'a Session>,
    ) -> Result<Option<Synchronised>, AgentError> {
        let Some(coming) = &self.coming else {
            let options = self.options.clone();
            let (opened, coming) = mpsc::channel();
            let thread = thread::Builder::new().name("connect".to_string());
            // When the agent ends, it does not wait for this thread.
            let spawned = thread.spawn(move || drop(opened.send(open(options))));
            self.coming = spawned.is_ok().then_some(coming);
            return Ok(None);
        };
        let opened = match coming.try_recv() {
            Err(TryRecvError::Empty) => return Ok(None),
            opened => opened,
        };
        self.coming = None;
        match opened {
            Ok(link) => self.take_up(link?, common, sessions).map(Some),
            Err(_) => Ok(None),
        }
    }

    /// Makes the tables of a switch those of `sessions`.
    fn take_up<'a>(
        &mut self,
        mut link: Link,
        common: &Entries,
        sessions: impl Iterator<Item = &'a Session>,
    ) -> Result<Synchronised, AgentError> {
        let wanted = self.wanted(common, sessions);
        let done = link.synchronise(&wanted)?;
        link.client.set_patience(PATIENCE);
        self.link = Some(link);
        Ok(done)
    }

    /// All entries that the switch is to have.
    fn wanted<'a>(&mut self, common: &Entries, sessions: impl Iterator<Item = &'a Session>) -> Entries {
        let mut wanted = common.clone();
        self.rule_sets = RuleSets::default();
        self.numbers.clear();
        for session in sessions {
            // Sessions that exist were compiled before.
            let Ok((_, entries)) = self.compile(session) else {
                continue;
            };
            wanted.extend(entries);
            self.note(session);
        }
        wanted.extend(self.rule_sets.entries());
        wanted
    }

    /// Takes up the rule sets of a session, and compiles it: its sets, each with whether it is new, and its entries.
    fn compile(&mut self, session: &Session) -> Result<(Vec<(RuleSet, bool)>, Entries), Refusal> {
        let sets = compile::rule_sets(session)?;
        let acquired: Vec<(RuleSet, bool)> = sets
            .into_iter()
            .map(|set| {
                let is_new = self.rule_sets.acquire(&set);
                (set, is_new)
            })
            .collect();
        let compiler = Compiler {
            tunnels_at: self.tunnels_at,
            rule_sets: &self.rule_sets,
        };
        match compiler.entries(session) {
            Ok(entries) => Ok((acquired, entries)),
            Err(refusal) => {
                self.give_up(&acquired);
                Err(refusal)
            }
        }
    }

    fn give_up(&mut self, sets: &[(RuleSet, bool)]) {
        for (set, _) in sets {
            self.rule_sets.release(set);
        }
    }

    /// Notes the endpoints of a session, and which of its URRs are counted twice.
    pub(crate) fn note(&mut self, session: &Session) {
        let endpoints = session.endpoints.iter();
        self.numbers
            .extend(endpoints.map(|(endpoint, number)| (*number, (session.seid, *endpoint))));
        self.twins.extend(twins(session));
    }

    /// Forgets the endpoints of a session. The last usage of its URRs is still to be read.
    pub(crate) fn forget(&mut self, session: &Session) {
        for number in session.endpoints.values() {
            self.numbers.remove(number);
        }
    }

    /// Second numbers that come into use: what they have counted is of earlier URRs. `new` are URRs that did not exist
    /// before.
    pub(crate) fn new_seconds(&self, new: &[u32], after: Option<&Session>) -> Vec<u32> {
        let numbers = after.into_iter().flat_map(twins);
        let come = numbers.filter(|number| new.contains(number) || !self.twins.contains(number));
        come.map(|number| number + TWIN).collect()
    }

    /// Adds what the switch has sent, or a part of it, to `happenings`. `sessions` finds a session by its SEID.
    ///
    /// # Errors
    /// When the connection has ended, after what came before.
    pub(crate) fn poll<'a>(
        &mut self,
        sessions: impl Fn(u64) -> Option<&'a Session>,
        happenings: &mut Vec<Happening>,
    ) -> Result<(), CallError> {
        for _ in 0..MESSAGES_MAX {
            let Some(link) = &mut self.link else { break };
            match link.client.next_message(Duration::ZERO) {
                Ok(None) => break,
                Ok(Some(Response::Packet(packet))) => {
                    let info = link.schema.read_packet(&packet);
                    happenings.extend(self.receive(info, packet.payload, &sessions));
                }
                Ok(Some(_)) => {}
                Err(error) => {
                    self.link = None;
                    return Err(error);
                }
            }
        }
        Ok(())
    }

    fn receive<'a>(
        &mut self,
        info: PacketInfo,
        frame: Vec<u8>,
        sessions: &impl Fn(u64) -> Option<&'a Session>,
    ) -> Option<Happening> {
        match info.reason {
            REASON_BUFFER => {
                let (seid, endpoint) = *self.numbers.get(&info.session)?;
                let session = sessions(seid)?;
                let pdr = compile::pdr_of(session, endpoint, info.application)?;
                let far = session.far_of(pdr)?;
                let bar = far.bar.and_then(|bar| session.bars.get(&bar));
                if !far.buffers() {
                    // The rules have changed while the packet was on its way.
                    self.send(frame, Sending::Processed(info.ingress_port));
                    return None;
                }
                let packets_max = bar.and_then(|bar| bar.packets);
                let packet = Kept {
                    pdr: pdr.id,
                    port: info.ingress_port,
                    frame,
                };
                self.buffer.keep(seid, packet, packets_max);
                Some(Happening::Buffered { seid, pdr: pdr.id })
            }
            REASON_GTPU => {
                let message = gtpu::read(&frame)?;
                if message == Message::EndMarker {
                    self.pass_end_marker_on(info.session, sessions);
                }
                Some(Happening::Gtpu(message))
            }
            _ => None,
        }
    }

    /// Passes an end marker of another UPF on, into the tunnels of the PDRs that match packets of its tunnel.
    fn pass_end_marker_on<'a>(&mut self, number: u32, sessions: &impl Fn(u64) -> Option<&'a Session>) {
        let Some((seid, endpoint)) = self.numbers.get(&number).copied() else {
            return;
        };
        if let Some(session) = sessions(seid) {
            self.send_end_markers(&compile::tunnels_behind(session, endpoint));
        }
    }

    /// Sends a frame. It is lost when the switch is not there.
    fn send(&mut self, frame: Vec<u8>, sending: Sending) {
        if let Some(link) = &mut self.link {
            let packet = link.schema.packet_out(frame, sending);
            if link.client.send(Request::Packet(packet)).is_err() {
                self.link = None;
            }
        }
    }

    /// Sends an echo request to a GTP-U peer.
    pub(crate) fn send_echo_request(&mut self, peer: IpAddr, sequence: u16) {
        let own = own_address(self.tunnels_at, peer);
        if let Some(frame) = own.and_then(|own| gtpu::echo_request(own, peer, sequence)) {
            self.send(frame, Sending::Routed);
        }
    }

    /// Packets that are kept go on, when the FAR of their PDR does not keep them any more, whether that FAR has changed
    /// or the PDR has another one: they are processed once more.
    fn release_buffered(&mut self, session: &Session) {
        let goes_on = |pdr: u16| {
            let far = session.pdrs.get(&pdr).and_then(|pdr| session.far_of(pdr));
            far.is_none_or(|far| !far.buffers())
        };
        for packet in self.buffer.take_of(session.seid, goes_on) {
            self.send(packet.frame, Sending::Processed(packet.port));
        }
    }

    fn write(&mut self, updates: Vec<Update>) -> Result<(), Refusal> {
        if updates.is_empty() {
            return Ok(());
        }
        let link = self.link.as_mut().ok_or_else(unreachable)?;
        let written = link.client.write(updates, Atomicity::RollbackOnError);
        written.map_err(|error| {
            if !error.is_refusal() {
                // It is unknown what has been done: the tables are compared when the switch is there again.
                self.link = None;
            }
            refusal_of(&error)
        })
    }

    /// Updates that make the entries of a session others, those of rule sets among them.
    fn updates(
        &self,
        entries: (&Entries, &Entries),
        new_sets: &[(RuleSet, bool)],
        old_sets: &[RuleSet],
        new_urrs: &[u32],
    ) -> Result<Vec<Update>, Refusal> {
        let link = self.link.as_ref().ok_or_else(unreachable)?;
        let (mut before, mut after) = (entries.0.clone(), entries.1.clone());
        for (set, _) in new_sets.iter().filter(|(_, is_new)| *is_new) {
            after.extend(set.entries(self.rule_sets.number(set)));
        }
        for set in old_sets {
            before.extend(set.entries(self.rule_sets.number(set)));
        }
        let resets = new_urrs.iter().flat_map(|number| link.schema.usage_resets(*number));
        let mut updates: Vec<Update> = resets.collect();
        updates.extend(link.updates(&Difference::between(&before, &after)));
        Ok(updates)
    }
}

/// Connects to a switch that runs the program, and becomes primary there.
fn open(options: ClientOptions) -> Result<Link, AgentError> {
    let mut client = Client::connect(options)?;
    client.set_patience(PATIENCE_AT_FIRST);
    let config = match client.pipeline(ResponseType::P4infoAndCookie) {
        Err(error) if error.is_failed_precondition() => return Err(AgentError::Program("program".to_string())),
        config => config?,
    };
    let schema = Schema::new(&config.p4info.unwrap_or_default())?;
    client.become_primary()?;
    Ok(Link { client, schema })
}

impl UserPlane for Plane {
    fn change(&mut self, before: Option<&Session>, after: Option<&Session>) -> Result<(), Refusal> {
        let (sets, wanted) = match after {
            Some(after) => self.compile(after)?,
            None => Default::default(),
        };
        let compiler = Compiler {
            tunnels_at: self.tunnels_at,
            rule_sets: &self.rule_sets,
        };
        let present = before
            .map(|before| compiler.entries(before))
            .transpose()?
            .unwrap_or_default();
        let left = before.map(compile::rule_sets).transpose()?.unwrap_or_default();
        let unused: Vec<RuleSet> = left
            .iter()
            .filter(|set| self.rule_sets.is_last_use(set))
            .cloned()
            .collect();
        let new = new_urrs(before, after);
        let resets = [&new[..], &self.new_seconds(&new, after)].concat();
        let updates = self.updates((&present, &wanted), &sets, &unused, &resets);
        if let Err(refusal) = updates.and_then(|updates| self.write(updates)) {
            self.give_up(&sets);
            return Err(refusal);
        }
        for set in &left {
            self.rule_sets.release(set);
        }
        if let Some(before) = before {
            self.forget(before);
        }
        for number in &new {
            self.twins.remove(number);
        }
        match (before, after) {
            (_, None) => drop(before.map(|before| self.buffer.take(before.seid))),
            (_, Some(after)) => {
                self.note(after);
                self.release_buffered(after);
            }
        }
        Ok(())
    }

    fn counters(&mut self, urrs: &[u32]) -> Result<Vec<Usage>, String> {
        let Some(link) = &mut self.link else {
            return Err(unreachable().why);
        };
        link.counters(urrs, &self.twins).map_err(|error| {
            if !error.is_refusal() {
                self.link = None;
            }
            error.to_string()
        })
    }

    fn send_end_markers(&mut self, tunnels: &[OuterHeader]) {
        for tunnel in tunnels {
            let own = own_address(self.tunnels_at, tunnel.peer);
            if let Some(frame) = own.and_then(|own| gtpu::end_marker(own, tunnel)) {
                self.send(frame, Sending::Routed);
            }
        }
    }

    fn drop_buffered(&mut self, session: &Session) {
        self.buffer.take(session.seid);
    }
}

/// The address of this UPF from which a peer is reached.
fn own_address(tunnels_at: Addresses, peer: IpAddr) -> Option<IpAddr> {
    match peer {
        IpAddr::V4(_) => tunnels_at.v4.map(IpAddr::V4),
        IpAddr::V6(_) => tunnels_at.v6.map(IpAddr::V6),
    }
}

/// The numbers of URRs that PDRs of N9 use.
fn twins(session: &Session) -> impl Iterator<Item = u32> {
    let pdrs = session.pdrs.values().filter(|pdr| compile::is_from_core(pdr));
    let ids = pdrs.flat_map(|pdr| pdr.urrs.iter());
    ids.filter_map(|id| Some(session.urrs.get(id)?.number))
}

/// The numbers of URRs that did not exist before.
fn new_urrs(before: Option<&Session>, after: Option<&Session>) -> Vec<u32> {
    let is_known = |number: u32| before.is_some_and(|before| before.urrs.values().any(|urr| urr.number == number));
    let urrs = after.into_iter().flat_map(|after| after.urrs.values());
    urrs.map(|urr| urr.number).filter(|number| !is_known(*number)).collect()
}

fn unreachable() -> Refusal {
    Refusal::new(Cause::SystemFailure, "the switch is not reachable")
}

fn refusal_of(error: &CallError) -> Refusal {
    let cause = if error.is_resource_exhausted() {
        Cause::NoResources
    } else {
        Cause::SystemFailure
    };
    Refusal::new(cause, format!("the switch: {error}"))
}
