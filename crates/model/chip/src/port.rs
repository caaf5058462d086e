//! A port: its parsers, its queues and its wire.

use crate::fault::Fault;
use crate::outside::Upstream;
use crate::pacer::{Pacer, Picos};
use crate::parser_channel::{Incoming, ParserChannel};
use crate::spec::ChipSpec;
use crate::timing::Timing;
use forebay_packet::scheduler::{Backlog, First, QUEUES_MAX, Scheduler};
use forebay_pipeline::QueuedPacket;
use std::collections::VecDeque;

/// How a queue is served.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Service {
    /// Before all queues with a quantum, and before strict ones of smaller number.
    #[default]
    Strict,
    /// Bytes per turn, at least 1.
    Quantum(u32),
}

impl Service {
    /// The bytes per turn, unless the queue is strict.
    fn quantum(self) -> Option<u64> {
        match self {
            Service::Strict => None,
            Service::Quantum(bytes) => Some(bytes.into()),
        }
    }
}

/// A queue of a port.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct QueueConfig {
    /// How it is served.
    pub service: Service,
    /// The most bytes that it holds; 0: as many as the packet buffer allows.
    pub capacity_bytes: u64,
}

/// How a port differs from the others of its chip.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PortConfig {
    /// Its number.
    pub number: u16,
    /// Whether what it sends comes back into the chip.
    pub loopback: bool,
    /// Bits per second on the wire; 0 for the rate of the chip's specification.
    pub bits_per_second: u64,
    /// Its queues, one for each value of `standard_metadata.priority`, so at most eight; eight strict ones when there
    /// are none.
    pub queues: Vec<QueueConfig>,
}

/// What a port has carried.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PortReport {
    /// Frames that came in from outside or from a link.
    pub received_frames: u64,
    /// Bytes of these frames.
    pub received_bytes: u64,
    /// Frames put on the wire, and those that a fault makes of them there.
    pub sent_frames: u64,
    /// Bytes of these frames.
    pub sent_bytes: u64,
    /// Time that the wire was taken, also for packets that egress dropped.
    pub wire_busy_ps: Picos,
    /// Time that the ingress parser was taken.
    pub parser_busy_ps: Picos,
    /// Pauses that it has begun at the other end of its wire.
    pub pauses_sent: u64,
}

/// What waits in a queue.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct QueueSample {
    /// Packets in it.
    pub packets: u64,
    /// Bytes of these packets.
    pub bytes: u64,
    /// Packets that it has taken so far.
    pub taken: u64,
    /// How long all packets that have left it waited in it, together.
    pub waited_ps: Picos,
}

/// A packet in a queue.
pub(crate) struct Waiting {
    pub(crate) packet: QueuedPacket,
    pub(crate) enqueued: Picos,
    pub(crate) length: u32,
    pub(crate) cells: u32,
    /// Parts of cycles that the egress parser will take for it.
    pub(crate) parse_parts: u32,
    /// Packets before it when it came.
    pub(crate) depth: u32,
    /// The port by which it came, and whether it is in that one's headroom.
    pub(crate) from: u16,
    pub(crate) in_headroom: bool,
}

#[derive(Default)]
pub(crate) struct Queue {
    waiting: VecDeque<Waiting>,
    pub(crate) bytes: u64,
    /// The most bytes, also when only the packet buffer limits them.
    capacity_bytes: u64,
    pub(crate) cells: u64,
    taken: u64,
    waited: Picos,
}

impl Queue {
    #[inline]
    pub(crate) fn has_room(&self, length: u32) -> bool {
        self.bytes + u64::from(length) <= self.capacity_bytes
    }

    #[inline]
    fn push(&mut self, waiting: Waiting) {
        self.bytes += u64::from(waiting.length);
        self.cells += u64::from(waiting.cells);
        self.taken += 1;
        self.waiting.push_back(waiting);
    }

    #[inline]
    fn pop(&mut self, now: Picos) -> Option<Waiting> {
        let waiting = self.waiting.pop_front()?;
        self.bytes -= u64::from(waiting.length);
        self.cells -= u64::from(waiting.cells);
        self.waited += now - waiting.enqueued;
        Some(waiting)
    }

    pub(crate) fn len(&self) -> usize {
        self.waiting.len()
    }

    pub(crate) fn sample(&self) -> QueueSample {
        QueueSample {
            packets: self.waiting.len() as u64,
            bytes: self.bytes,
            taken: self.taken,
            waited_ps: self.waited,
        }
    }
}

/// The queues of a port, for the scheduler.
#[derive(Default)]
pub(crate) struct Queues {
    queues: [Queue; QUEUES_MAX],
    /// The number of queues.
    count: usize,
    /// A bit for each queue that has a packet.
    busy: u32,
    /// A bit for each queue that the other end of the wire has paused.
    paused: u32,
}

impl Queues {
    pub(crate) fn count(&self) -> usize {
        self.count
    }

    #[inline]
    pub(crate) fn get(&self, queue: usize) -> &Queue {
        &self.queues[queue % QUEUES_MAX]
    }

    /// The queue of a priority; a priority for which there is none has the last.
    #[inline]
    pub(crate) fn of_priority(&self, priority: u8) -> usize {
        usize::from(priority).min(self.count - 1)
    }

    #[inline]
    pub(crate) fn push(&mut self, queue: usize, waiting: Waiting) {
        self.queues[queue % QUEUES_MAX].push(waiting);
        self.busy |= 1 << queue;
    }

    #[inline]
    pub(crate) fn pop(&mut self, queue: usize, now: Picos) -> Option<Waiting> {
        let queue_of_packet = &mut self.queues[queue % QUEUES_MAX];
        let waiting = queue_of_packet.pop(now);
        self.busy &= !(u32::from(queue_of_packet.len() == 0) << queue);
        waiting
    }
}

impl Backlog for Queues {
    #[inline]
    fn ready(&self) -> u32 {
        self.busy & !self.paused
    }

    /// A paused queue is like an empty one: it loses its credit.
    #[inline]
    fn first(&self, queue: usize) -> First {
        match self.get(queue).waiting.front() {
            Some(waiting) if self.paused >> queue & 1 == 0 => First::Ready(waiting.length),
            _ => First::Missing,
        }
    }
}

/// Where a port's wire leads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WireEnd {
    Outside,
    Loopback,
    /// Index of the link.
    Link(u16),
    /// Number of the host.
    Host(u16),
}

pub(crate) struct Port {
    pub(crate) pipe: u16,
    /// Which of the chip's workers executes the program for its packets: that of its pipeline, when each has one.
    pub(crate) state: u16,
    pub(crate) channel: ParserChannel,
    /// The packet that has been parsed waits for a clock of its pipeline.
    pub(crate) has_clock: bool,
    pub(crate) queues: Queues,
    pub(crate) scheduler: Scheduler,
    pub(crate) egress_parser: Pacer,
    pub(crate) wire: Pacer,
    /// Bits a second of the port, whatever its wire leads to.
    pub(crate) bits_per_second: u64,
    pub(crate) wire_end: WireEnd,
    pub(crate) link_delay: Picos,
    /// Where its frames come from, when that is known.
    pub(crate) upstream: Option<Upstream>,
    /// Frames on their way to another port or back to this one, which are recirculated packets or new ones to come.
    pub(crate) on_wire: VecDeque<(Picos, Incoming)>,
    /// What goes wrong on the wire.
    pub(crate) faults: Vec<Fault>,
    /// When the egress parser can take the next packet, and the wire has room for it.
    pub(crate) free_at: Picos,
    /// When the last frame has left.
    pub(crate) wire_free_at: Picos,
    /// When the time that the wire is taken for the last packet begins and ends.
    pub(crate) wire_taken: (Picos, Picos),
    /// Whether it is already known when the next packet will be taken from the queues.
    pub(crate) is_scheduled: bool,
    pub(crate) report: PortReport,
}

impl Port {
    /// A port of a chip with this number of workers: one, or one for each pipeline.
    pub(crate) fn new(spec: &ChipSpec, timing: &Timing, pipe: u16, workers: usize) -> Port {
        let mut port = Port {
            pipe,
            state: pipe.min(workers as u16 - 1),
            channel: ParserChannel::new(spec, timing),
            has_clock: false,
            queues: Queues::default(),
            scheduler: Scheduler::new(std::iter::empty()),
            egress_parser: Pacer::new(timing.parts_per_second),
            wire: Pacer::new(spec.ports.bits_per_second),
            bits_per_second: spec.ports.bits_per_second,
            wire_end: WireEnd::Outside,
            link_delay: 0,
            upstream: None,
            on_wire: VecDeque::new(),
            faults: Vec::new(),
            free_at: 0,
            wire_free_at: 0,
            wire_taken: (0, 0),
            is_scheduled: false,
            report: PortReport::default(),
        };
        port.set_queues(&[QueueConfig::default(); QUEUES_MAX]);
        port
    }

    pub(crate) fn configure(&mut self, config: &PortConfig) {
        if config.loopback {
            self.wire_end = WireEnd::Loopback;
        }
        if config.bits_per_second > 0 {
            self.wire = Pacer::new(config.bits_per_second);
            self.bits_per_second = config.bits_per_second;
        }
        if !config.queues.is_empty() {
            self.set_queues(&config.queues);
        }
    }

    fn set_queues(&mut self, configs: &[QueueConfig]) {
        self.queues = Queues::default();
        for (queue, config) in self.queues.queues.iter_mut().zip(configs) {
            queue.capacity_bytes = match config.capacity_bytes {
                0 => u64::MAX,
                capacity => capacity,
            };
            self.queues.count += 1;
        }
        self.scheduler = Scheduler::new(configs.iter().map(|config| config.service.quantum()));
    }

    /// Pauses a queue, or lets it continue. Returns whether the port may now take a packet.
    pub(crate) fn pause(&mut self, queue: usize, is_paused: bool) -> bool {
        let bit = 1 << queue;
        self.queues.paused = self.queues.paused & !bit | if is_paused { bit } else { 0 };
        let wakes = !self.is_scheduled && self.queues.ready() != 0;
        self.is_scheduled |= wakes;
        wakes
    }

    /// Packets in the port's buffers and queues, and those on its wire.
    pub(crate) fn packets(&self) -> u64 {
        let waiting: usize = self.queues.queues.iter().map(Queue::len).sum();
        self.channel.packets() + (waiting + self.on_wire.len()) as u64
    }

    /// What it has carried so far. A packet's time on the wire is counted when it leaves its queue; of the last one,
    /// the part that is still to come does not count. It begins with a clock of the pipeline, which may be later.
    pub(crate) fn report(&self, now: Picos) -> PortReport {
        let (begins, ends) = self.wire_taken;
        PortReport {
            wire_busy_ps: self.report.wire_busy_ps - ends.saturating_sub(now.max(begins)),
            parser_busy_ps: self.channel.busy(now),
            ..self.report
        }
    }
}
