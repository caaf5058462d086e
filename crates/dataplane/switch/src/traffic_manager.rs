//! Queues between ingress and egress: up to eight for every port, one for each value of `standard_metadata.priority`.
//!
//! A packet's queue is its priority; larger ones are more urgent. A priority beyond the number of queues selects the
//! last queue. A full queue refuses the packet: tail drop, counted by queue.
//!
//! # Scheduling
//! Queues with [`Service::Strict`] come first, the most urgent first, as in BMv2's simple_switch. When they are empty,
//! queues with a weight share the port by bytes in proportion to their weights, with quanta of
//! `weight * QUANTUM_BYTES`: see [`scheduler`](forebay_packet::scheduler).
//!
//! A queue with a rate sends its packets at least a minimum time apart, and lets other queues of its port send in
//! between, as in BMv2's simple_switch (`QueueingLogicPriRL`). Unlike there, a queue that could not be served in time
//! catches up.
//!
//! A port takes packets as long as it has [room](forebay_packet::Port::room). So queues fill only between polls, and
//! at ports that report limited room. A port that is not attached also has queues, which empty at once: egress runs
//! for its packets, which are dropped when they would leave.

use crate::port_table::LOW_NUMBERS;
use forebay_packet::scheduler::{Backlog, First, QUEUES_MAX, Scheduler};
use forebay_pipeline::{EgressArguments, EgressPacket, PassedQueue, QueuedPacket};
use std::collections::{BTreeMap, VecDeque};
use std::num::NonZeroU64;

/// The credit of a weight of 1 in one turn: about an Ethernet frame, so that a turn sends something.
const QUANTUM_BYTES: u64 = 1514;

/// How a queue is served.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Service {
    /// Before all queues with weights, and before strict queues of smaller priority.
    #[default]
    Strict,
    /// A share, at least 1, of what strict queues leave.
    Weight(u32),
}

impl Service {
    /// The bytes per turn, unless the queue is strict.
    fn quantum(self) -> Option<u64> {
        match self {
            Service::Strict => None,
            Service::Weight(weight) => Some(u64::from(weight.max(1)) * QUANTUM_BYTES),
        }
    }
}

/// What limits a queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QueueLimit {
    /// The most packets that it holds.
    Packets(usize),
    /// The most packets per second that it sends; `None` for no limit.
    PacketsPerSecond(Option<NonZeroU64>),
}

/// A changed limit of some queues.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QueueChange {
    /// The port; `None` for all ports, including those attached later.
    pub port: Option<u32>,
    /// The queue, as the priority of its packets; `None` for all queues of a port.
    pub queue: Option<usize>,
    /// The limit.
    pub limit: QueueLimit,
}

/// A queue, as reported to users.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QueueReport {
    /// The port.
    pub port: u32,
    /// The queue, as the priority of its packets.
    pub queue: usize,
    /// Packets that wait in it now.
    pub depth: usize,
    /// Packets that it can hold.
    pub capacity: usize,
    /// The most packets per second that it sends, if it is limited.
    pub packets_per_second: Option<u64>,
    /// Packets that it has taken so far.
    pub enqueued: u64,
    /// Packets that it has refused because it was full.
    pub dropped: u64,
}

impl QueueReport {
    /// Adds another worker's report of the queue for the same port and priority: see [`crate::share_ports()`].
    pub fn merge(&mut self, other: &QueueReport) {
        self.depth += other.depth;
        self.capacity += other.capacity;
        let rates = self.packets_per_second.zip(other.packets_per_second);
        self.packets_per_second = rates.map(|(own, other)| own + other);
        self.enqueued += other.enqueued;
        self.dropped += other.dropped;
    }
}

/// A packet, and what egress is told about its wait.
struct Waiting {
    packet: QueuedPacket,
    enqueued_us: u64,
    /// The number of packets in the queue on its arrival.
    depth: u32,
}

struct Queue {
    waiting: VecDeque<Waiting>,
    settings: Settings,
    /// The time at which its next packet may leave, in nanoseconds; none before the first packet that leaves with the
    /// present rate. Used only with a rate.
    free_ns: Option<u64>,
    enqueued: u64,
    dropped: u64,
}

/// The user's settings of a queue.
#[derive(Clone, Copy)]
struct Settings {
    service: Service,
    capacity: usize,
    rate: Option<NonZeroU64>,
}

/// The queues of a port.
struct PortQueues {
    queues: Vec<Queue>,
    scheduler: Scheduler,
    len: usize,
}

/// All queues of a switch.
pub(crate) struct TrafficManager {
    ports: BTreeMap<u32, PortQueues>,
    /// The settings of the queues of new ports.
    settings: Vec<Settings>,
    /// The capacity of the smallest queue.
    capacity_min: usize,
    /// Whether any queue has a rate.
    has_rates: bool,
    len: usize,
}

/// The number under which ports that are not attached and have high numbers share queues.
const SHARED: u32 = u32::MAX;

impl TrafficManager {
    /// Every port gets a queue for each service (one to [`QUEUES_MAX`]), with `capacity` packets each.
    pub(crate) fn new(services: &[Service], capacity: usize) -> TrafficManager {
        let count = services.len().clamp(1, QUEUES_MAX);
        let settings = |service| Settings {
            service,
            capacity,
            rate: None,
        };
        let services = services.iter().copied().chain([Service::Strict]).take(count);
        TrafficManager {
            ports: BTreeMap::new(),
            settings: services.map(settings).collect(),
            capacity_min: capacity,
            has_rates: false,
            len: 0,
        }
    }

    /// Changes queues. Packets in a queue that is made smaller still leave normally.
    pub(crate) fn change(&mut self, change: QueueChange) {
        match change.port {
            Some(port) => self.queues_of(port).change(change.queue, change.limit),
            None => {
                chosen(&mut self.settings, change.queue).for_each(|settings| settings.change(change.limit));
                let ports = self.ports.values_mut();
                ports.for_each(|port| port.change(change.queue, change.limit));
            }
        }
        let all = || {
            let queues = self.ports.values().flat_map(|port| &port.queues);
            self.settings.iter().chain(queues.map(|queue| &queue.settings))
        };
        self.capacity_min = all().map(|settings| settings.capacity).min().unwrap_or(0);
        self.has_rates = all().any(|settings| settings.rate.is_some());
    }

    /// Whether packets may not pass although none waits and ports have room: a queue has a rate, or no place.
    #[inline]
    pub(crate) fn may_refuse(&self) -> bool {
        self.has_rates || self.capacity_min == 0
    }

    /// The number of packets that every queue can hold.
    pub(crate) fn capacity_min(&self) -> usize {
        self.capacity_min
    }

    /// Packets in all queues.
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// Makes the queues of a port.
    pub(crate) fn add_port(&mut self, port: u32) {
        self.queues_of(port);
    }

    fn queues_of(&mut self, port: u32) -> &mut PortQueues {
        let settings = &self.settings;
        self.ports.entry(port).or_insert_with(|| PortQueues::new(settings))
    }

    /// The queues of a packet's port. A port that is not attached gets queues with its first packet if its number is
    /// low. All other unattached ports share queues, so that a program with 32-bit port numbers cannot exhaust memory.
    #[inline]
    fn queues_for_packet(&mut self, port: u32) -> &mut PortQueues {
        let is_own = port < LOW_NUMBERS || self.ports.contains_key(&port);
        self.queues_of(if is_own { port } else { SHARED })
    }

    /// Appends the packet to the queue of its priority at its port, or returns it when that queue is full.
    pub(crate) fn enqueue(&mut self, mut packet: QueuedPacket, now_us: u64) -> Result<(), QueuedPacket> {
        let port = self.queues_for_packet(packet.egress_port);
        let index = usize::from(packet.priority).min(port.queues.len() - 1);
        packet.priority = index as u8;
        let queue = &mut port.queues[index];
        if queue.waiting.len() >= queue.settings.capacity {
            queue.dropped += 1;
            return Err(packet);
        }
        if queue.waiting.is_empty() {
            queue.forget_idle_time(now_us);
        }
        let depth = queue.waiting.len() as u32;
        queue.enqueued += 1;
        queue.waiting.push_back(Waiting {
            packet,
            enqueued_us: now_us,
            depth,
        });
        port.len += 1;
        self.len += 1;
        Ok(())
    }

    /// Whether a packet need not wait, because no packet waits at its port and its queue's rate allows it. The packet
    /// then counts as having passed its queue.
    pub(crate) fn pass(&mut self, packet: &mut QueuedPacket, now_us: u64) -> bool {
        let port = self.queues_for_packet(packet.egress_port);
        let index = usize::from(packet.priority).min(port.queues.len() - 1);
        let queue = &mut port.queues[index];
        if port.len > 0 || queue.settings.capacity == 0 || !queue.is_free(now_us) {
            return false;
        }
        packet.priority = index as u8;
        queue.enqueued += 1;
        queue.forget_idle_time(now_us);
        queue.count_departure(now_us);
        true
    }

    /// Counts packets that have passed a queue.
    pub(crate) fn count_passed(&mut self, passed: PassedQueue) {
        let port = self.queues_for_packet(passed.port);
        let index = usize::from(passed.class).min(port.queues.len() - 1);
        port.queues[index].enqueued += passed.packets;
    }

    /// Moves up to `max` packets to the end of `burst`, port by port: for each port at most as many as `room` returns
    /// and rates allow.
    pub(crate) fn dequeue(
        &mut self,
        burst: &mut Vec<EgressPacket>,
        max: usize,
        now_us: u64,
        room: impl Fn(u32) -> usize,
    ) {
        let mut left = max;
        for (&number, port) in self.ports.iter_mut().filter(|(_, port)| port.len > 0) {
            let take = left.min(port.len).min(room(number));
            let before = burst.len();
            burst.extend((0..take).map_while(|_| port.next(now_us)));
            let taken = burst.len() - before;
            left -= taken;
            self.len -= taken;
            if left == 0 {
                return;
            }
        }
    }

    /// Empties all queues.
    pub(crate) fn take_all(&mut self) -> impl Iterator<Item = QueuedPacket> {
        self.len = 0;
        self.ports.values_mut().flat_map(|port| {
            port.len = 0;
            let queues = port.queues.iter_mut();
            queues.flat_map(|queue| queue.waiting.drain(..).map(|waiting| waiting.packet))
        })
    }

    /// All queues, in order of ports and priorities.
    pub(crate) fn reports(&self) -> Vec<QueueReport> {
        let queues = self.ports.iter().flat_map(|(&port, queues)| {
            let queues = queues.queues.iter().enumerate();
            queues.map(move |(index, queue)| (port, index, queue))
        });
        queues
            .map(|(port, index, queue)| QueueReport {
                port,
                queue: index,
                depth: queue.waiting.len(),
                capacity: queue.settings.capacity,
                packets_per_second: queue.settings.rate.map(NonZeroU64::get),
                enqueued: queue.enqueued,
                dropped: queue.dropped,
            })
            .collect()
    }
}

/// One of several items, or all of them.
fn chosen<T>(all: &mut [T], index: Option<usize>) -> impl Iterator<Item = &mut T> {
    let is_meant = move |place: usize| index.is_none_or(|index| index == place);
    let all = all.iter_mut().enumerate();
    all.filter(move |(place, _)| is_meant(*place)).map(|(_, one)| one)
}

impl Settings {
    fn change(&mut self, limit: QueueLimit) {
        match limit {
            QueueLimit::Packets(capacity) => self.capacity = capacity,
            QueueLimit::PacketsPerSecond(rate) => self.rate = rate,
        }
    }
}

impl Queue {
    fn new(settings: Settings) -> Queue {
        Queue {
            waiting: VecDeque::new(),
            settings,
            free_ns: None,
            enqueued: 0,
            dropped: 0,
        }
    }

    /// Whether the rate lets a packet leave now.
    fn is_free(&self, now_us: u64) -> bool {
        self.settings.rate.is_none() || self.free_ns.is_none_or(|free_ns| free_ns <= now_us * 1_000)
    }

    /// Whether a packet waits that may leave now.
    fn is_ready(&self, now_us: u64) -> bool {
        !self.waiting.is_empty() && self.is_free(now_us)
    }

    /// Time without packets is not saved for later ones.
    fn forget_idle_time(&mut self, now_us: u64) {
        self.free_ns = Some(self.free_ns.unwrap_or(0).max(now_us * 1_000));
    }

    /// Counts a departure: the next packet must wait for its time.
    fn count_departure(&mut self, now_us: u64) {
        if let Some(rate) = self.settings.rate {
            let free_ns = self.free_ns.unwrap_or(now_us * 1_000);
            self.free_ns = Some(free_ns + 1_000_000_000 / rate);
        }
    }

    /// Changes a limit. With another rate the next packet may leave at once, and those behind it wait for that rate,
    /// however long they have waited before.
    fn change(&mut self, limit: QueueLimit) {
        let rate = self.settings.rate;
        self.settings.change(limit);
        if self.settings.rate != rate {
            self.free_ns = None;
        }
    }
}

impl PortQueues {
    fn new(settings: &[Settings]) -> PortQueues {
        PortQueues {
            queues: settings.iter().copied().map(Queue::new).collect(),
            scheduler: Scheduler::new(settings.iter().map(|settings| settings.service.quantum())),
            len: 0,
        }
    }

    fn change(&mut self, queue: Option<usize>, limit: QueueLimit) {
        chosen(&mut self.queues, queue).for_each(|queue| queue.change(limit));
    }

    /// The next packet, if one waits that may leave.
    fn next(&mut self, now_us: u64) -> Option<EgressPacket> {
        let queues = QueuesAt {
            queues: &self.queues,
            now_us,
        };
        let index = self.scheduler.next(&queues)?;
        let queue = &mut self.queues[index];
        let waiting = queue.waiting.pop_front()?;
        queue.count_departure(now_us);
        self.len -= 1;
        Some(waiting.into_egress(queue.waiting.len() as u32, now_us))
    }
}

/// A port's queues at a time, for the scheduler.
struct QueuesAt<'a> {
    queues: &'a [Queue],
    now_us: u64,
}

impl Backlog for QueuesAt<'_> {
    fn ready(&self) -> u32 {
        let queues = self.queues.iter().enumerate();
        queues.fold(0, |ready, (index, queue)| {
            ready | u32::from(queue.is_ready(self.now_us)) << index
        })
    }

    fn first(&self, queue: usize) -> First {
        let queue = &self.queues[queue];
        match queue.waiting.front() {
            Some(first) if queue.is_free(self.now_us) => First::Ready(first.packet.length()),
            Some(_) => First::Held,
            None => First::Missing,
        }
    }
}

impl Waiting {
    fn into_egress(self, depth_after: u32, now_us: u64) -> EgressPacket {
        let arguments = EgressArguments {
            timestamp_us: now_us,
            enq_timestamp_us: self.enqueued_us,
            enq_qdepth: self.depth,
            deq_qdepth: depth_after,
            random_seed: 0,
        };
        EgressPacket {
            packet: self.packet,
            arguments,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ports_with_high_numbers_that_are_not_attached_share_queues() {
        let mut queues = TrafficManager::new(&[Service::Strict], 8);
        queues.add_port(5_000);
        for port in [7, 600, 5_000, 100_000, u32::MAX] {
            let (class, packets) = (0, 2);
            queues.count_passed(PassedQueue { port, class, packets });
        }
        let reports = queues.reports();
        let counted: Vec<(u32, u64)> = reports.iter().map(|queue| (queue.port, queue.enqueued)).collect();
        assert_eq!(counted, [(7, 2), (5_000, 2), (SHARED, 6)]);
    }
}
