//! A switch: ports around a pipeline, and the poll that takes packets from port to port.

use crate::again::AgainBuffers;
use crate::counters::{Counters, PortReport};
use crate::delay::{DelayClock, Delays};
use crate::passes::{Around, Buffers, Digests};
use crate::port_table::{PortTable, Presence, Sent};
use crate::traffic_manager::{QueueChange, QueueReport, Service, TrafficManager};
use forebay_histogram::Histogram;
use forebay_packet::scheduler::QUEUES_MAX;
use forebay_packet::{Burst, DEFAULT_BURST, Port, PortError};
use forebay_pipeline::{
    Cloned, DigestMessage, DropReason, GoingOn, IngressArguments, IngressPacket, Origin, PathCounters, Pipeline,
    QueuedPacket, SlowReason, Tracer, VerdictRun, Worker,
};
use std::collections::VecDeque;
use std::sync::Arc;

/// Sizes of a switch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Config {
    /// The most packets that pass a stage together.
    pub burst: usize,
    /// Queues of every port, from 1 to [`QUEUES_MAX`]: one for each priority from 0 on.
    pub queues: usize,
    /// How the queues are served.
    pub queue_service: [Service; QUEUES_MAX],
    /// The most packets in a queue.
    pub queue_capacity: usize,
    /// The most packets that wait to enter ingress again: resubmitted or recirculated.
    pub loop_capacity: usize,
    /// The most digests that wait for [`Switch::take_digests`]; further ones are counted and lost.
    pub digest_capacity: usize,
    /// The seed of the random numbers that programs see.
    pub random_seed: u64,
    /// The time from which programs' timestamps count, in nanoseconds of the caller's clock.
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
    /// Packets that entered ingress: those received, and those that began again.
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

/// The source of a poll's packets.
pub(crate) enum Source<'a> {
    /// Every port is polled for a burst.
    Ports,
    /// The caller puts packets into a burst. They arrive at one port.
    Caller {
        ingress_port: u32,
        fill: &'a mut dyn FnMut(&mut Burst),
    },
}

/// How [`Switch::settle`] ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Settled {
    /// Nothing moves any more.
    Idle,
    /// Packets still go round after that many polls.
    Busy,
}

/// A switch: a pipeline's worker, its ports and its queues. See the [crate's picture](crate).
pub struct Switch {
    pub(crate) worker: Worker,
    pub(crate) stays_pinned: bool,
    pub(crate) config: Config,
    pub(crate) ports: PortTable,
    pub(crate) queues: TrafficManager,
    /// Packets on their way back to ingress. They come before new ones, as in BMv2.
    looping: VecDeque<IngressPacket>,
    /// Packets that ports delivered in this poll.
    arrived: VecDeque<IngressPacket>,
    pub(crate) digests: Digests,
    pub(crate) counters: Counters,
    pub(crate) delays: Delays,
    /// Counters of earlier programs.
    pub(crate) paths_before: PathCounters,
    next_tag: u64,
    pub(crate) stages: Stages,
}

/// Buffers of the stages, which are kept so that nothing is allocated for a burst.
pub(crate) struct Stages {
    /// `None` while the fast path borrows it. Boxed: moving a burst that was just written stalls on store forwarding.
    pub(crate) received: Option<Box<Burst>>,
    pub(crate) verdicts: Vec<VerdictRun>,
    /// The frame of a copy that goes round again.
    pub(crate) frame: Vec<u8>,
    pub(crate) slow: Buffers,
    /// For packets that begin again. `None` while they are on the fast path.
    pub(crate) again: Option<Box<AgainBuffers>>,
}

impl Switch {
    /// A switch without ports.
    pub fn new(pipeline: Arc<Pipeline>, config: Config) -> Switch {
        Switch {
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
            digests: Digests::default(),
            counters: Counters::default(),
            delays: Delays::default(),
            paths_before: PathCounters::default(),
            next_tag: 0,
            stages: Stages::new(config.burst),
        }
    }

    /// Attaches a port under its P4 number, and replaces any previous port. A port that delivers what it was sent
    /// ([`forebay_packet::MemoryPort::loopback`]) is a loopback port.
    pub fn attach(&mut self, number: u32, port: Box<dyn Port>) {
        self.ports.insert(number, port, self.config.burst);
        self.queues.add_port(number);
    }

    /// Changes limits of queues. Waiting packets keep their places.
    pub fn change_queues(&mut self, change: QueueChange) {
        self.queues.change(change);
    }

    /// Moves a burst through the switch: receive, ingress, traffic manager, egress, transmit.
    ///
    /// At most [`Config::burst`] packets from every port enter, one after another, each to its end or its queue before
    /// the next. Afterwards, as many packets leave their queues as their ports have room for. `now_ns` must not
    /// decrease from call to call.
    pub fn poll<T: Tracer>(&mut self, now_ns: u64, tracer: &mut T) -> Activity {
        self.poll_source(Source::Ports, now_ns, tracer)
    }

    /// Moves packets of the caller through the switch, as [`Switch::poll`] does with packets of ports: `fill` puts
    /// them into an empty burst, and they arrive at the port with this number. No port is polled.
    pub(crate) fn poll_with<T: Tracer>(
        &mut self,
        ingress_port: u32,
        fill: &mut dyn FnMut(&mut Burst),
        now_ns: u64,
        tracer: &mut T,
    ) -> Activity {
        self.poll_source(Source::Caller { ingress_port, fill }, now_ns, tracer)
    }

    fn poll_source<T: Tracer>(&mut self, source: Source<'_>, now_ns: u64, tracer: &mut T) -> Activity {
        self.worker.expire(self.microseconds(now_ns) * 1_000);
        let activity = self.move_packets(source, now_ns, tracer);
        self.delays.poll_ends();
        if self.stays_pinned && activity.is_idle() {
            self.worker.rest();
        }
        activity
    }

    /// Keeps the epoch pin of the tables across polls in which packets moved, which saves one fence for each burst. Off
    /// by default. A caller that turns it on must call `stay_pinned(false)` before it waits for a thread that may wait
    /// for packets under way (for example in `Pipeline::atomically`); otherwise the two deadlock.
    pub fn stay_pinned(&mut self, stays: bool) {
        self.stays_pinned = stays;
        self.worker.stay_pinned(stays);
    }

    #[inline]
    fn move_packets<T: Tracer>(&mut self, source: Source<'_>, now_ns: u64, tracer: &mut T) -> Activity {
        let mut activity = Activity::default();
        self.go_round_now();
        if self.stages.slow.are_entering() && self.room_to_pass::<T>().is_some() {
            self.pass_again(now_ns, tracer, &mut activity);
            let (ingress, egress) = self.run_entering(now_ns, tracer);
            activity.ingress += ingress;
            activity.egress += egress;
        }
        if let Some(room) = self.room_to_pass::<T>() {
            self.pass_through(source, room, now_ns, tracer, &mut activity);
            if self.queues.len() == 0 {
                self.transmit(now_ns);
                return activity;
            }
        } else {
            activity.received = self.receive(source, now_ns);
            if activity.received > 0 {
                self.worker
                    .count_slow(self.reason_not_to_pass::<T>(), activity.received);
            }
        }
        let (ingress, egress) = self.run_arrived(now_ns, tracer);
        activity.ingress += ingress;
        activity.egress += egress + self.run_queues(now_ns, tracer);
        self.transmit(now_ns);
        activity
    }

    /// The number of packets that every port accepts, if packets that arrive now may take the fast path: no packet
    /// waits in a queue, no queue has a rate or takes nothing, and each port has room for a burst. `None` otherwise.
    #[inline]
    pub(crate) fn room_to_pass<T: Tracer>(&self) -> Option<usize> {
        if T::ON || !self.worker.has_fast_path() || self.queues.len() > 0 || self.queues.may_refuse() {
            return None;
        }
        let room = self.ports.least_room();
        (room >= self.config.burst.max(self.ports.count())).then_some(room)
    }

    /// Why received packets do not take the fast path.
    fn reason_not_to_pass<T: Tracer>(&self) -> SlowReason {
        match (self.worker.has_fast_path(), T::ON) {
            (true, true) => SlowReason::Traced,
            (true, false) => SlowReason::Queued,
            (false, _) if self.worker.pipeline().is_compiling() => SlowReason::Compiling,
            (false, _) => SlowReason::NoFastPath,
        }
    }

    /// Packets that ports delivered, by the path that they took.
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

    /// From now on, timers deliver their last round, and ports deliver nothing from outside: see
    /// [`Port::begin_last_round`].
    pub fn begin_last_round(&mut self) {
        self.ports.begin_last_round();
    }

    /// The pipeline.
    pub fn pipeline(&self) -> &Arc<Pipeline> {
        self.worker.pipeline()
    }

    /// The accounting counters of the switch.
    pub fn counters(&self) -> Counters {
        self.counters
    }

    /// Times one of every `every` packets that leave from now on. `clock` must be the clock that gives the times for
    /// [`Switch::poll`].
    pub fn sample_delays(&mut self, every: u64, clock: DelayClock) {
        self.delays = Delays::new(every, clock);
    }

    /// The times that sampled packets took from the port that delivered them to the port that sent them, in
    /// nanoseconds; `None` when packets are not timed.
    pub fn delays(&self) -> Option<&Histogram> {
        self.delays.delays()
    }

    /// The ports, with what they have carried and dropped, ordered by number.
    pub fn ports(&self) -> Vec<PortReport> {
        self.ports.reports(&self.worker.pipeline().program().errors)
    }

    /// The queues of all ports, in order of ports and priorities.
    pub fn queues(&self) -> Vec<QueueReport> {
        self.queues.reports()
    }

    /// The ports that have not failed, for waiting on them.
    pub fn working_ports(&self) -> impl Iterator<Item = &dyn Port> {
        self.ports.working()
    }

    /// Ports that have reported a failure since the last call.
    pub fn take_failures(&mut self) -> Vec<(u32, PortError)> {
        self.ports.take_failures()
    }

    /// Reports every port, by number and name, whose interface has vanished or come back since the last call.
    pub fn presence_changes(&mut self, tell: impl FnMut(u32, &str, Presence)) {
        self.ports.presence_changes(tell);
    }

    /// The messages to the control plane since the last call, and the number of messages lost since the switch was
    /// made.
    pub fn take_digests(&mut self) -> (Vec<DigestMessage>, u64) {
        (std::mem::take(&mut self.digests.waiting), self.digests.lost)
    }

    /// Takes all ports away.
    pub fn detach_all(&mut self) -> Vec<Box<dyn Port>> {
        self.ports.take_all()
    }

    /// Completes the files that ports write. A port that cannot has failed: see [`Switch::take_failures`].
    pub fn flush(&mut self) {
        self.ports.flush_files();
    }

    fn receive(&mut self, source: Source<'_>, now_ns: u64) -> u64 {
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
        let received = stages.received.as_mut().expect("no packet is on the fast path");
        let mut take = |ingress_port, burst: &Burst| {
            for packet in burst.iter() {
                arrived.push_back(arriving(worker, next_tag, packet.data(), ingress_port, timestamp_us));
            }
            counters.received += burst.len() as u64;
        };
        match source {
            Source::Ports => ports.receive(received, config.burst, now_ns, take),
            Source::Caller { ingress_port, fill } => {
                fill(received);
                take(ingress_port, received);
                received.clear();
            }
        }
        self.counters.received - before
    }

    /// Adds a single packet that has arrived.
    pub(crate) fn arrive(&mut self, frame: &[u8], ingress_port: u32, timestamp_us: u64) {
        let packet = arriving(&mut self.worker, &mut self.next_tag, frame, ingress_port, timestamp_us);
        self.arrived.push_back(packet);
    }

    /// The number of the next packet that enters.
    pub(crate) fn next_tag(&self) -> u64 {
        self.next_tag
    }

    /// Reserves consecutive tags, and returns the first.
    pub(crate) fn take_tags(&mut self, count: u64) -> u64 {
        self.next_tag += count;
        self.next_tag - count
    }

    /// Lets the packets that go round enter next. Those that go round from here on wait for the next call.
    #[inline]
    pub(crate) fn go_round_now(&mut self) {
        if !self.looping.is_empty() {
            self.stages.slow.entering.append(&mut self.looping);
        }
    }

    /// Takes all packets that have arrived, after those that entered before, through ingress, and on as far as they
    /// come. Returns how many entered ingress, and egress.
    pub(crate) fn run_arrived<T: Tracer>(&mut self, now_ns: u64, tracer: &mut T) -> (u64, u64) {
        self.stages.slow.entering.append(&mut self.arrived);
        self.run_entering(now_ns, tracer)
    }

    /// Takes a resubmitted packet, and what is made from it, to its end or its queue. Returns how many packets entered
    /// ingress, and egress.
    pub(crate) fn run_resubmitted<T: Tracer>(
        &mut self,
        packet: IngressPacket,
        now_ns: u64,
        tracer: &mut T,
    ) -> (u64, u64) {
        self.stages.slow.resubmitted.push_back(packet);
        self.run_entering(now_ns, tracer)
    }

    fn run_entering<T: Tracer>(&mut self, now_ns: u64, tracer: &mut T) -> (u64, u64) {
        if !self.stages.slow.are_entering() {
            return (0, 0);
        }
        let (worker, mut around) = self.around(now_ns);
        let mut entered = 0;
        loop {
            entered += worker.session(|session| around.enter_all(session, tracer));
            if !around.buffers.are_entering() {
                return (entered, around.egress);
            }
        }
    }

    /// Takes packets from their queues through egress, and returns how many.
    pub(crate) fn run_queues<T: Tracer>(&mut self, now_ns: u64, tracer: &mut T) -> u64 {
        if self.queues.len() == 0 {
            return 0;
        }
        let (worker, mut around) = self.around(now_ns);
        worker.session(|session| around.serve_queues(session, tracer));
        around.egress
    }

    /// Takes a clone of a packet of this origin, which arrived at this port, through egress or into its queue.
    /// Returns how many packets entered egress.
    pub(crate) fn run_clone<T: Tracer>(
        &mut self,
        clone: (Cloned, &[u8]),
        (ingress_port, origin): (u32, Origin),
        now_ns: u64,
        tracer: &mut T,
    ) -> u64 {
        let arguments = IngressArguments {
            ingress_port,
            timestamp_us: self.microseconds(now_ns),
            random_seed: 0,
        };
        let (worker, mut around) = self.around(now_ns);
        worker.session(|session| around.clone(session, clone, arguments, origin, tracer));
        around.egress
    }

    /// Takes a packet that continues on its own, and what is made from it, to its end or its queue. Returns how many
    /// packets entered egress.
    pub(crate) fn run_going_on<T: Tracer>(
        &mut self,
        packet: GoingOn,
        ingress_port: u32,
        now_ns: u64,
        tracer: &mut T,
    ) -> u64 {
        let (worker, mut around) = self.around(now_ns);
        worker.session(|session| around.go_on(session, packet, ingress_port, tracer));
        while around.buffers.are_entering() {
            worker.session(|session| around.enter_all(session, tracer));
        }
        around.egress
    }

    /// The worker, and what surrounds it.
    fn around(&mut self, now_ns: u64) -> (&mut Worker, Around<'_>) {
        let now_us = self.microseconds(now_ns);
        let around = Around {
            config: &self.config,
            ports: &mut self.ports,
            queues: &mut self.queues,
            looping: &mut self.looping,
            digests: &mut self.digests,
            counters: &mut self.counters,
            delays: &mut self.delays,
            buffers: &mut self.stages.slow,
            now_ns,
            now_us,
            egress: 0,
        };
        (&mut self.worker, around)
    }

    pub(crate) fn transmit(&mut self, now_ns: u64) {
        let sent = self.ports.flush(now_ns);
        self.count_sent(sent);
    }

    /// Drops all packets in the switch.
    pub(crate) fn drop_all(&mut self, reason: DropReason) {
        let waiting: Vec<QueuedPacket> = self.queues.take_all().collect();
        for packet in waiting {
            self.drop_here(booking_port(&self.ports, &packet), reason);
        }
        let around: Vec<u32> = self
            .looping
            .drain(..)
            .chain(self.arrived.drain(..))
            .map(|packet| packet.arguments.ingress_port)
            .collect();
        around.into_iter().for_each(|port| self.drop_here(port, reason));
    }

    /// Lets a packet enter ingress again in the next poll.
    pub(crate) fn loop_back(&mut self, packet: IngressPacket) {
        if self.looping.len() >= self.config.loop_capacity {
            let port = packet.arguments.ingress_port;
            self.worker.discard_arrived(packet);
            return self.drop_here(port, DropReason::QueueFull);
        }
        self.looping.push_back(packet);
    }

    /// Counts a drop that the switch decides. The pipeline has counted its own.
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

    pub(crate) fn count_sent(&mut self, sent: Sent) {
        self.counters.count_sent(sent);
        (0..sent.refused).for_each(|_| self.worker.count_drop(DropReason::PortError));
    }

    pub(crate) fn microseconds(&self, now_ns: u64) -> u64 {
        now_ns.saturating_sub(self.config.start_ns) / 1_000
    }
}

/// The port at which drops of a packet are counted: its egress port, or its ingress port if the former is not
/// attached.
#[inline]
pub(crate) fn booking_port(ports: &PortTable, packet: &QueuedPacket) -> u32 {
    if ports.contains(packet.egress_port) {
        packet.egress_port
    } else {
        packet.arguments.ingress_port
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
            verdicts: Vec::with_capacity(burst),
            frame: Vec::new(),
            slow: Buffers::default(),
            again: Some(Box::new(AgainBuffers::new(burst))),
        }
    }
}
