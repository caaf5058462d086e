//! The data path.

use crate::counters::{Counters, PortReport};
use crate::port_table::{PortTable, Presence};
use crate::traffic_manager::{QUEUES_MAX, QueueReport, Service, TrafficManager};
use forebay_packet::{Burst, DEFAULT_BURST, Port, PortError, SplitMix64};
use forebay_pipeline::{
    Decided, DigestMessage, DropReason, EgressDecision, EgressPacket, FrameBuffer, IngressArguments, IngressDecision,
    IngressPacket, Passed, PathCounters, Pipeline, QueuedPacket, SlowReason, Tracer, Worker,
};
use std::collections::VecDeque;
use std::sync::Arc;

/// Sizes of a switch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Config {
    /// Packets that go through a stage together.
    pub burst: usize,
    /// Queues of every port, one for each priority from 0 on: one to [`QUEUES_MAX`].
    pub queues: usize,
    /// How they are served.
    pub queue_service: [Service; QUEUES_MAX],
    /// Packets that a queue holds.
    pub queue_capacity: usize,
    /// Packets that may wait to enter ingress again: resubmitted or recirculated.
    pub loop_capacity: usize,
    /// Digests that may wait for [`Switch::take_digests`]; further ones are counted and lost.
    pub digest_capacity: usize,
    /// Begins the sequence of random numbers that programs see.
    pub random_seed: u64,
    /// The time, in nanoseconds of the caller's clock, from which programs' timestamps count.
    pub start_ns: u64,
}

impl Default for Config {
    fn default() -> Config {
        Config {
            burst: DEFAULT_BURST,
            queues: QUEUES_MAX,
            queue_service: [Service::Strict; QUEUES_MAX],
            queue_capacity: 1024,
            loop_capacity: 4096,
            digest_capacity: 1024,
            random_seed: 0,
            start_ns: 0,
        }
    }
}

/// What a poll did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Activity {
    /// Packets that ports delivered.
    pub received: u64,
    /// Packets that entered ingress: those received, and those that came around.
    pub ingress: u64,
    /// Packets that entered egress.
    pub egress: u64,
}

impl Activity {
    /// Whether nothing moved.
    pub fn is_idle(&self) -> bool {
        self.ingress == 0 && self.egress == 0
    }
}

/// How [`Switch::settle`] ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Settled {
    /// Nothing moves any more.
    Idle,
    /// Packets still go round and round after that many polls.
    Busy,
}

/// A switch: a pipeline's worker, its ports and its queues. See the [crate's picture](crate).
pub struct Switch {
    pub(crate) worker: Worker,
    pub(crate) stays_pinned: bool,
    pub(crate) config: Config,
    pub(crate) ports: PortTable,
    queues: TrafficManager,
    /// Packets on their way back to ingress. They go before new ones, as in BMv2.
    looping: VecDeque<IngressPacket>,
    /// Packets that were resubmitted and go before all others.
    resubmitted: VecDeque<IngressPacket>,
    /// Packets that go through ingress together.
    ingress_burst: usize,
    /// Packets that ports delivered in this poll.
    arrived: VecDeque<IngressPacket>,
    digests: Vec<DigestMessage>,
    digests_lost: u64,
    pub(crate) counters: Counters,
    /// Of programs that ran before.
    pub(crate) paths_before: PathCounters,
    random: SplitMix64,
    next_tag: u64,
    pub(crate) stages: Stages,
}

/// Buffers of the stages, kept so that nothing is allocated for a burst.
pub(crate) struct Stages {
    /// There but while packets are on the fast path. In a box, since what has just been written is slow to move.
    pub(crate) received: Option<Box<Burst>>,
    pub(crate) passed: Vec<Passed>,
    ingress: Vec<IngressPacket>,
    ingress_ports: Vec<u32>,
    ingress_decisions: Vec<Decided<IngressDecision>>,
    egress: Vec<EgressPacket>,
    egress_ports: Vec<u32>,
    egress_decisions: Vec<Decided<EgressDecision>>,
}

impl Switch {
    /// A switch without ports.
    pub fn new(pipeline: Arc<Pipeline>, config: Config) -> Switch {
        Switch {
            ingress_burst: ingress_burst(pipeline.resubmits(), &config),
            resubmitted: VecDeque::new(),
            worker: Worker::new(pipeline),
            stays_pinned: false,
            config,
            ports: PortTable::default(),
            queues: TrafficManager::new(
                &config.queue_service[..config.queues.clamp(1, QUEUES_MAX)],
                config.queue_capacity,
            ),
            looping: VecDeque::new(),
            arrived: VecDeque::new(),
            digests: Vec::new(),
            digests_lost: 0,
            counters: Counters::default(),
            paths_before: PathCounters::default(),
            random: SplitMix64::new(config.random_seed),
            next_tag: 0,
            stages: Stages::new(config.burst),
        }
    }

    /// Connects a port under its P4 number, in place of what was there. A port that gives back what it was sent
    /// ([`forebay_packet::MemoryPort::loopback`]) is a loopback port.
    pub fn attach(&mut self, number: u32, port: Box<dyn Port>) {
        self.ports.insert(number, port, self.config.burst);
        self.queues.add_port(number);
    }

    /// Moves a burst through the switch: receive, ingress, traffic manager, egress, transmit.
    ///
    /// At most [`Config::burst`] packets from every port enter; of those that wait in queues when egress begins, as many
    /// leave them as their ports have room for. `now_ns` never goes back from call to call.
    pub fn poll<T: Tracer>(&mut self, now_ns: u64, tracer: &mut T) -> Activity {
        let activity = self.move_packets(now_ns, tracer);
        if self.stays_pinned && activity.is_idle() {
            self.worker.rest();
        }
        activity
    }

    /// Whether tables stay pinned from a poll in which something moved to the next one, which saves a fence for each burst:
    /// for whoever polls on until nothing moves. Before he waits for anybody who waits for packets that are under way, as
    /// those who change tables do, he says that it is over. At first they do not.
    pub fn stay_pinned(&mut self, stays: bool) {
        self.stays_pinned = stays;
        self.worker.stay_pinned(stays);
    }

    #[inline]
    fn move_packets<T: Tracer>(&mut self, now_ns: u64, tracer: &mut T) -> Activity {
        let mut activity = Activity::default();
        if let Some(room) = self.room_to_pass::<T>() {
            self.pass_through(room, now_ns, tracer, &mut activity);
            if self.is_empty() && self.arrived.is_empty() && self.resubmitted.is_empty() {
                self.transmit(now_ns);
                return activity;
            }
        } else {
            activity.received = self.receive(now_ns);
            if activity.received > 0 {
                self.worker.count_slow(self.reason_not_to_pass(), activity.received);
            }
        }
        activity.ingress += self.ingress(now_ns, tracer);
        activity.egress += self.egress(now_ns, tracer);
        self.transmit(now_ns);
        activity
    }

    /// Packets that every port would accept, if those that come now may take the fast path: nobody waits, and any port has room for
    /// all of them.
    #[inline]
    fn room_to_pass<T: Tracer>(&self) -> Option<usize> {
        if T::ON || !self.worker.has_fast_path() || !self.is_empty() {
            return None;
        }
        let room = self.ports.least_room();
        (room >= self.config.burst * self.ports.count()).then_some(room)
    }

    /// Why packets that were received are not taken the fast path.
    fn reason_not_to_pass(&self) -> SlowReason {
        match self.worker.has_fast_path() {
            true => SlowReason::Queued,
            false if self.worker.pipeline().is_compiling() => SlowReason::Compiling,
            false => SlowReason::NoFastPath,
        }
    }

    /// Packets that ports delivered, by the way that they took.
    pub fn paths(&self) -> PathCounters {
        let mut all = self.paths_before;
        all += self.worker.paths();
        all
    }

    /// Whether no packet waits anywhere in the switch.
    pub(crate) fn is_empty(&self) -> bool {
        self.queues.len() == 0 && self.looping.is_empty()
    }

    /// Polls until nothing moves, but at most `polls` times.
    pub fn settle<T: Tracer>(&mut self, now_ns: u64, polls: u32, tracer: &mut T) -> Settled {
        for _ in 0..polls {
            if self.poll(now_ns, tracer).is_idle() {
                return Settled::Idle;
            }
        }
        Settled::Busy
    }

    /// From now on timers deliver their last round, and ports nothing that comes from outside: see [`Port::begin_last_round`].
    pub fn begin_last_round(&mut self) {
        self.ports.begin_last_round();
    }

    /// The pipeline.
    pub fn pipeline(&self) -> &Arc<Pipeline> {
        self.worker.pipeline()
    }

    /// The switch's books.
    pub fn counters(&self) -> Counters {
        self.counters
    }

    /// The ports with what they carried and dropped, in order of their numbers.
    pub fn ports(&self) -> Vec<PortReport> {
        self.ports.reports(&self.worker.pipeline().program().errors)
    }

    /// The queues of all ports, in order of ports and priorities.
    pub fn queues(&self) -> Vec<QueueReport> {
        self.queues.reports()
    }

    /// The ports that are in order, for waiting on them.
    pub fn working_ports(&self) -> impl Iterator<Item = &dyn Port> {
        self.ports.working()
    }

    /// Ports that reported since the last call that they are out of order.
    pub fn take_failures(&mut self) -> Vec<(u32, PortError)> {
        self.ports.take_failures()
    }

    /// Tells of every port, by number and name, whose interface has vanished or come back since the last call.
    pub fn presence_changes(&mut self, tell: impl FnMut(u32, &str, Presence)) {
        self.ports.presence_changes(tell);
    }

    /// Messages to the control plane since the last call, and how many more were lost since the switch was made.
    pub fn take_digests(&mut self) -> (Vec<DigestMessage>, u64) {
        (std::mem::take(&mut self.digests), self.digests_lost)
    }

    /// Makes the files complete that ports write. A port that cannot has failed: see [`Switch::take_failures`].
    pub fn flush(&mut self) {
        self.ports.flush_files();
    }

    fn receive(&mut self, now_ns: u64) -> u64 {
        let before = self.counters.received;
        let timestamp_us = self.microseconds(now_ns);
        let Switch {
            ports,
            stages,
            worker,
            counters,
            next_tag,
            config,
            arrived,
            ..
        } = self;
        let received = stages.received.as_mut().expect("nobody is on the fast path");
        ports.receive(received, config.burst, now_ns, |ingress_port, burst| {
            for packet in burst.iter() {
                arrived.push_back(arriving(worker, next_tag, packet.data(), ingress_port, timestamp_us));
            }
            counters.received += burst.len() as u64;
        });
        self.counters.received - before
    }

    /// A packet that came alone.
    pub(crate) fn arrive(&mut self, frame: &[u8], ingress_port: u32, timestamp_us: u64) {
        let packet = arriving(&mut self.worker, &mut self.next_tag, frame, ingress_port, timestamp_us);
        self.arrived.push_back(packet);
    }

    /// The number of the next packet that enters.
    pub(crate) fn take_tag(&mut self) -> u64 {
        self.take_tags(1)
    }

    /// The first of so many tags in a row.
    pub(crate) fn take_tags(&mut self, count: u64) -> u64 {
        self.next_tag += count;
        self.next_tag - count
    }

    pub(crate) fn ingress<T: Tracer>(&mut self, now_ns: u64, tracer: &mut T) -> u64 {
        // What goes round from here on waits for the next poll.
        let mut going_round = self.looping.len();
        let entering = going_round + self.arrived.len();
        let mut left = entering;
        while left > 0 {
            let mut burst = std::mem::take(&mut self.stages.ingress);
            let old = going_round.min(self.ingress_burst);
            burst.extend(self.looping.drain(..old));
            let new = self.arrived.len().min(self.ingress_burst - old);
            burst.extend(self.arrived.drain(..new));
            going_round -= old;
            left -= burst.len();
            self.ingress_pass(&mut burst, now_ns, tracer);
            while let Some(packet) = self.resubmitted.pop_front() {
                burst.clear();
                burst.push(packet);
                self.ingress_pass(&mut burst, now_ns, tracer);
            }
            burst.clear();
            self.stages.ingress = burst;
        }
        entering as u64
    }

    fn ingress_pass<T: Tracer>(&mut self, packets: &mut Vec<IngressPacket>, now_ns: u64, tracer: &mut T) {
        let timestamp_us = self.microseconds(now_ns);
        let mut ports = std::mem::take(&mut self.stages.ingress_ports);
        let mut decisions = std::mem::take(&mut self.stages.ingress_decisions);
        for packet in packets.iter_mut() {
            packet.arguments.timestamp_us = timestamp_us;
            packet.arguments.random_seed = self.random.next_u64();
            ports.push(packet.arguments.ingress_port);
        }
        let entered = packets.len() as u64;
        self.worker.ingress(packets, &mut decisions, tracer);
        let mut fates = 0;
        for Decided { packet, decision } in decisions.drain(..) {
            fates += u64::from(!matches!(decision, IngressDecision::Digest(_)));
            self.after_ingress(decision, ports[packet], timestamp_us);
        }
        self.count_copies(fates, entered);
        ports.clear();
        self.stages.ingress_ports = ports;
        self.stages.ingress_decisions = decisions;
    }

    fn after_ingress(&mut self, decision: IngressDecision, port: u32, now_us: u64) {
        match decision {
            IngressDecision::Enqueue(packet) => self.enqueue(packet, now_us),
            IngressDecision::Digest(message) => self.digest(*message),
            IngressDecision::Resubmit(packet) => self.resubmitted.push_back(packet),
            IngressDecision::Recirculate(packet) => self.go_round(packet),
            IngressDecision::Drop(reason) => self.book_drop(port, reason),
        }
    }

    pub(crate) fn egress<T: Tracer>(&mut self, now_ns: u64, tracer: &mut T) -> u64 {
        let waiting = self.queues.len();
        let mut left = waiting;
        while left > 0 {
            let moved = self.egress_burst(left.min(self.config.burst), now_ns, tracer);
            if moved == 0 {
                break;
            }
            left -= moved;
        }
        (waiting - left) as u64
    }

    /// How many packets went through egress: fewer than `burst` when ports have no room for more.
    fn egress_burst<T: Tracer>(&mut self, burst: usize, now_ns: u64, tracer: &mut T) -> usize {
        let now_us = self.microseconds(now_ns);
        let mut packets = std::mem::take(&mut self.stages.egress);
        let mut ports = std::mem::take(&mut self.stages.egress_ports);
        let mut decisions = std::mem::take(&mut self.stages.egress_decisions);
        let ports_room = |port| self.ports.room(port);
        self.queues.dequeue(&mut packets, burst, now_us, ports_room);
        for packet in &mut packets {
            packet.arguments.random_seed = self.random.next_u64();
            ports.push(booking_port(&self.ports, &packet.packet));
        }
        let entered = packets.len();
        self.worker.egress(&mut packets, &mut decisions, tracer);
        let mut fates = 0;
        for Decided { packet, decision } in decisions.drain(..) {
            fates += u64::from(!matches!(decision, EgressDecision::Digest(_)));
            self.after_egress(decision, ports[packet], now_ns);
        }
        self.count_copies(fates, entered as u64);
        ports.clear();
        self.stages.egress = packets;
        self.stages.egress_ports = ports;
        self.stages.egress_decisions = decisions;
        entered
    }

    fn after_egress(&mut self, decision: EgressDecision, port: u32, now_ns: u64) {
        match decision {
            EgressDecision::Transmit { port: to, bytes, tag } => self.leave(to, bytes, tag, port, now_ns),
            EgressDecision::Enqueue(packet) => self.enqueue(packet, self.microseconds(now_ns)),
            EgressDecision::Digest(message) => self.digest(message),
            EgressDecision::Recirculate(packet) => self.go_round(packet),
            EgressDecision::Drop(reason) => self.book_drop(port, reason),
        }
    }

    pub(crate) fn transmit(&mut self, now_ns: u64) {
        let sent = self.ports.flush(now_ns);
        self.count_sent(sent);
    }

    /// Into the queue of the packet's egress port, attached or not: egress runs for it either way, as in simple_switch.
    fn enqueue(&mut self, packet: QueuedPacket, now_us: u64) {
        let port = booking_port(&self.ports, &packet);
        if let Err(packet) = self.queues.enqueue(packet, now_us) {
            self.worker.discard(packet);
            self.drop_here(port, DropReason::QueueFull);
        }
    }

    /// Out of port `to`. The drop is booked at `port` when `to` is not attached.
    fn leave(&mut self, to: u32, bytes: FrameBuffer, tag: u64, port: u32, now_ns: u64) {
        match self.ports.send(to, &bytes, tag, now_ns) {
            Some(sent) => self.count_sent(sent),
            None => self.drop_here(port, DropReason::NoSuchPort),
        }
        self.worker.recycle(bytes);
    }

    /// Back to ingress.
    fn go_round(&mut self, packet: IngressPacket) {
        if self.looping.len() >= self.config.loop_capacity {
            return self.drop_here(packet.arguments.ingress_port, DropReason::QueueFull);
        }
        self.looping.push_back(packet);
    }

    fn digest(&mut self, message: DigestMessage) {
        if self.digests.len() < self.config.digest_capacity {
            self.digests.push(message);
        } else {
            self.digests_lost += 1;
        }
    }

    /// Drops what is inside, whatever it is.
    pub(crate) fn drop_all(&mut self, reason: DropReason) {
        let mut waiting = Vec::new();
        self.queues.dequeue(&mut waiting, self.queues.len(), 0, |_| usize::MAX);
        for packet in waiting {
            self.drop_here(booking_port(&self.ports, &packet.packet), reason);
        }
        let around: Vec<u32> = self
            .looping
            .drain(..)
            .chain(self.resubmitted.drain(..))
            .chain(self.arrived.drain(..))
            .map(|packet| packet.arguments.ingress_port)
            .collect();
        around.into_iter().for_each(|port| self.drop_here(port, reason));
    }

    /// Whether packets of the program go through ingress one by one.
    pub(crate) fn enter_one_by_one(&mut self, resubmits: bool) {
        self.ingress_burst = ingress_burst(resubmits, &self.config);
    }

    /// A drop that the switch decides; the pipeline has counted its own.
    pub(crate) fn drop_here(&mut self, port: u32, reason: DropReason) {
        self.worker.count_drop(reason);
        self.book_drop(port, reason);
    }

    pub(crate) fn book_drop(&mut self, port: u32, reason: DropReason) {
        self.book_drops(port, reason, 1);
    }

    pub(crate) fn book_drops(&mut self, port: u32, reason: DropReason, count: u64) {
        self.counters.dropped += count;
        self.ports.count_drops(port, reason, count);
    }

    pub(crate) fn count_sent(&mut self, sent: crate::port_table::Sent) {
        self.counters.transmitted += sent.accepted;
        self.counters.dropped += sent.refused;
        for _ in 0..sent.refused {
            self.worker.count_drop(DropReason::PortError);
        }
    }

    /// Every packet has one fate; each further one is that of a copy.
    fn count_copies(&mut self, fates: u64, packets: u64) {
        self.counters.copies += fates.checked_sub(packets).expect("every packet has a fate");
    }

    pub(crate) fn microseconds(&self, now_ns: u64) -> u64 {
        now_ns.saturating_sub(self.config.start_ns) / 1_000
    }
}

/// Packets that go through ingress together. One that is resubmitted goes through ingress again before the next one, as
/// in BMv2: otherwise packets of a flow that are resubmitted would overtake one another. So they go one by one.
fn ingress_burst(resubmits: bool, config: &Config) -> usize {
    if resubmits { 1 } else { config.burst }
}

/// The port whose row shows what is dropped of a packet: where it is to leave, or, when that is not attached, where it came from.
#[inline]
fn booking_port(ports: &PortTable, packet: &QueuedPacket) -> u32 {
    match ports.contains(packet.egress_port) {
        true => packet.egress_port,
        false => packet.arguments.ingress_port,
    }
}

/// A copy of a frame, about to enter ingress.
fn arriving(
    worker: &mut Worker,
    next_tag: &mut u64,
    frame: &[u8],
    ingress_port: u32,
    timestamp_us: u64,
) -> IngressPacket {
    let mut bytes = worker.buffer();
    bytes.extend_from_slice(frame);
    let arguments = IngressArguments {
        ingress_port,
        timestamp_us,
        random_seed: 0,
    };
    let mut packet = worker.packet(bytes, arguments);
    packet.tag = *next_tag;
    *next_tag += 1;
    packet
}

impl Stages {
    fn new(burst: usize) -> Stages {
        Stages {
            received: Some(Box::new(Burst::new(burst))),
            passed: Vec::with_capacity(burst),
            ingress: Vec::with_capacity(burst),
            ingress_ports: Vec::with_capacity(burst),
            ingress_decisions: Vec::with_capacity(burst),
            egress: Vec::with_capacity(burst),
            egress_ports: Vec::with_capacity(burst),
            egress_decisions: Vec::with_capacity(burst),
        }
    }
}
