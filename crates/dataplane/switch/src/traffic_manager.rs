//! Queues between ingress and egress: for every port up to eight, one for each value of `standard_metadata.priority`.
//!
//! The queue of a packet is its priority, the larger the more urgent; what is larger than there are queues goes to the
//! last. A queue that is full refuses the packet: tail drop, counted by queue.
//!
//! # Which queue is next
//! First those of [`Service::Strict`], the most urgent first, as in BMv2's simple_switch. When they are empty, those with
//! a weight share the port by bytes in proportion to their weights: deficit weighted round robin (Shreedhar and Varghese,
//! 1995). A queue whose turn it is gets `weight * QUANTUM_BYTES` more to send and sends as many of its packets as that
//! pays for; what is left it keeps for its next turn, unless it is empty then.
//!
//! A port takes packets as long as it has [room](forebay_packet::Port::room), so queues fill only before ports that know how
//! much they can take, and between polls. A port that is not attached has queues too, which empty at once: egress runs for its
//! packets, which are dropped when they would leave.

use crate::port_table::LOW_NUMBERS;
use forebay_pipeline::{EgressArguments, EgressPacket, PassedQueue, QueuedPacket};
use std::collections::{BTreeMap, VecDeque};

/// The most queues that a port has: `standard_metadata.priority` has three bits.
pub const QUEUES_MAX: usize = 8;

/// What a weight of 1 pays for in one turn: about a frame of Ethernet, so that a turn sends something.
const QUANTUM_BYTES: u64 = 1514;

/// How a queue is served.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Service {
    /// Before all queues with weights, and before strict ones of smaller priority.
    #[default]
    Strict,
    /// This share, at least 1, of what strict queues leave.
    Weight(u32),
}

/// A queue as a user sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QueueReport {
    /// The port.
    pub port: u32,
    /// The queue: the priority of its packets.
    pub queue: usize,
    /// Packets that wait in it now.
    pub depth: usize,
    /// Packets that it can hold.
    pub capacity: usize,
    /// Packets that it has taken so far.
    pub enqueued: u64,
    /// Packets that it has refused because it was full.
    pub dropped: u64,
}

impl QueueReport {
    /// Adds what another worker says of its queue for the same port and priority: see [`crate::lanes()`].
    pub fn merge(&mut self, other: &QueueReport) {
        self.depth += other.depth;
        self.capacity += other.capacity;
        self.enqueued += other.enqueued;
        self.dropped += other.dropped;
    }
}

/// A packet and what the traffic manager will tell egress of its wait.
struct Waiting {
    packet: QueuedPacket,
    enqueued_us: u64,
    /// Packets before it when it came.
    depth: u32,
}

#[derive(Default)]
struct Queue {
    waiting: VecDeque<Waiting>,
    service: Service,
    /// Bytes that its turn still pays for.
    deficit: u64,
    enqueued: u64,
    dropped: u64,
}

/// The queues of a port.
struct PortQueues {
    queues: Vec<Queue>,
    /// Whose turn it is among those with weights.
    turn: usize,
    len: usize,
}

/// All queues of a switch.
pub(crate) struct TrafficManager {
    ports: BTreeMap<u32, PortQueues>,
    services: Vec<Service>,
    capacity: usize,
    len: usize,
}

/// The port whose queues all ports share that are not attached and have high numbers.
const SHARED: u32 = u32::MAX;

impl TrafficManager {
    /// For each port a queue for each service (one to [`QUEUES_MAX`]), of `capacity` packets each.
    pub(crate) fn new(services: &[Service], capacity: usize) -> TrafficManager {
        let count = services.len().clamp(1, QUEUES_MAX);
        TrafficManager {
            ports: BTreeMap::new(),
            services: services.iter().copied().chain([Service::Strict]).take(count).collect(),
            capacity,
            len: 0,
        }
    }

    /// Packets in all queues.
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// Makes the queues of a port.
    pub(crate) fn add_port(&mut self, port: u32) {
        let services = &self.services;
        self.ports.entry(port).or_insert_with(|| PortQueues::new(services));
    }

    /// Appends the packet to its port's queue of its priority, or gives it back when that is full. A port that is not attached
    /// gets queues with its first packet, if its number is low; all others share queues, so that a program that names ports of
    /// 32 bits cannot fill the memory.
    pub(crate) fn enqueue(&mut self, mut packet: QueuedPacket, now_us: u64) -> Result<(), QueuedPacket> {
        let services = &self.services;
        let is_own = packet.egress_port < LOW_NUMBERS || self.ports.contains_key(&packet.egress_port);
        let number = if is_own { packet.egress_port } else { SHARED };
        let port = self.ports.entry(number);
        let port = port.or_insert_with(|| PortQueues::new(services));
        let index = usize::from(packet.priority).min(port.queues.len() - 1);
        packet.priority = index as u8;
        let queue = &mut port.queues[index];
        if queue.waiting.len() >= self.capacity {
            queue.dropped += 1;
            return Err(packet);
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

    /// Whether a packet need not wait, since none does at its port: then it has passed its queue, which counts it.
    pub(crate) fn pass(&mut self, packet: &mut QueuedPacket) -> bool {
        let services = &self.services;
        let port = self.ports.entry(packet.egress_port);
        let port = port.or_insert_with(|| PortQueues::new(services));
        if port.len > 0 || self.capacity == 0 {
            return false;
        }
        let index = usize::from(packet.priority).min(port.queues.len() - 1);
        packet.priority = index as u8;
        port.queues[index].enqueued += 1;
        true
    }

    /// Counts packets that have passed a queue.
    pub(crate) fn count_passed(&mut self, passed: PassedQueue) {
        let services = &self.services;
        let port = self.ports.entry(passed.port);
        let port = port.or_insert_with(|| PortQueues::new(services));
        let index = usize::from(passed.class).min(port.queues.len() - 1);
        port.queues[index].enqueued += passed.packets;
    }

    /// Moves up to `max` packets to the end of `burst`, port by port, of each no more than `room` says it can take.
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
            burst.extend((0..take).map_while(|_| port.next(now_us)));
            left -= take;
            self.len -= take;
            if left == 0 {
                return;
            }
        }
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
                capacity: self.capacity,
                enqueued: queue.enqueued,
                dropped: queue.dropped,
            })
            .collect()
    }
}

impl PortQueues {
    fn new(services: &[Service]) -> PortQueues {
        let queue = |&service: &Service| Queue {
            service,
            ..Queue::default()
        };
        PortQueues {
            queues: services.iter().map(queue).collect(),
            turn: 0,
            len: 0,
        }
    }

    /// The packet that goes next, if one waits.
    fn next(&mut self, now_us: u64) -> Option<EgressPacket> {
        let index = self.next_queue()?;
        let queue = &mut self.queues[index];
        let waiting = queue.waiting.pop_front()?;
        self.len -= 1;
        Some(waiting.into_egress(queue.waiting.len() as u32, now_us))
    }

    fn next_queue(&mut self) -> Option<usize> {
        let strict = |queue: &Queue| queue.service == Service::Strict && !queue.waiting.is_empty();
        self.queues
            .iter()
            .rposition(strict)
            .or_else(|| self.next_weighted_queue())
    }

    /// Ends: every round gives each queue that has a packet more to send, and some packet is first to be paid for.
    fn next_weighted_queue(&mut self) -> Option<usize> {
        if self.len == 0 {
            return None;
        }
        loop {
            let queue = &mut self.queues[self.turn];
            match queue.waiting.front() {
                Some(first) if u64::from(first.packet.length()) <= queue.deficit => {
                    queue.deficit -= u64::from(first.packet.length());
                    return Some(self.turn);
                }
                Some(_) => {}
                None => queue.deficit = 0,
            }
            self.turn = (self.turn + 1) % self.queues.len();
            let next = &mut self.queues[self.turn];
            if let (Service::Weight(weight), false) = (next.service, next.waiting.is_empty()) {
                next.deficit += u64::from(weight.max(1)) * QUANTUM_BYTES;
            }
        }
    }
}

impl Waiting {
    fn into_egress(self, depth_behind: u32, now_us: u64) -> EgressPacket {
        let arguments = EgressArguments {
            timestamp_us: now_us,
            enq_timestamp_us: self.enqueued_us,
            enq_qdepth: self.depth,
            deq_qdepth: depth_behind,
            random_seed: 0,
        };
        EgressPacket {
            packet: self.packet,
            arguments,
        }
    }
}
