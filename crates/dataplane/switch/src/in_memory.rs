//! A switch whose ports are all in memory: many frames in, many frames out.
//!
//! ```text
//!  frames in order ─► Lines ─► MemorySwitch's ports ─► Switch ─► ports ─► Lines ─► Frames, with port and origin
//! ```
//!
//! For callers that have frames and want frames: no thread, no clock, no socket. Frames enter in the order in which they are
//! given, whatever their ports are. They are copied in portions that stay in the processor's caches; after the first portions
//! nothing is allocated for a packet but room for what comes out.

use crate::counters::add_by_label;
use crate::switch::{Config, Settled, Switch};
use forebay_packet::{Burst, Port, PortCounters, PortError, Readiness};
use forebay_pipeline::{DigestMessage, Pipeline, Tracer};
use std::collections::BTreeSet;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Polls after which a packet that still moves is taken to move for ever.
const MAX_POLLS: u32 = 100_000;

/// Frames that are copied in together.
const PORTION: usize = 1024;

/// No port has this number.
const NO_PORT: u32 = u32::MAX;

/// Frames one behind another in one buffer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Frames {
    /// The bytes of all.
    pub data: Vec<u8>,
    /// Frame `i` is `data[offsets[i]..offsets[i + 1]]`: one more than there are frames, as in Arrow's large binary arrays.
    pub offsets: Vec<i64>,
    /// The port by which each left.
    pub ports: Vec<u32>,
    /// Which of the frames given it was made from, from 0.
    pub origins: Vec<i64>,
}

/// Why frames cannot be sent through a switch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SendError {
    /// Packets still go round and round in the switch.
    Endless,
    /// The switch has no port with this number.
    NoPort(u32),
}

/// A switch between ports in memory.
pub struct MemorySwitch {
    switch: Switch,
    ports: BTreeSet<u32>,
    lines: Lines,
    /// Packets received so far.
    received: u64,
}

impl Default for Frames {
    fn default() -> Frames {
        Frames {
            data: Vec::new(),
            offsets: vec![0],
            ports: Vec::new(),
            origins: Vec::new(),
        }
    }
}

impl Frames {
    /// How many.
    pub fn len(&self) -> usize {
        self.ports.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.ports.is_empty()
    }

    /// The bytes of one.
    pub fn frame(&self, index: usize) -> &[u8] {
        &self.data[self.offsets[index] as usize..self.offsets[index + 1] as usize]
    }

    fn push(&mut self, frame: &[u8], port: u32, origin: i64) {
        self.data.extend_from_slice(frame);
        self.offsets.push(self.data.len() as i64);
        self.ports.push(port);
        self.origins.push(origin);
    }

    fn clear(&mut self) {
        self.data.clear();
        self.offsets.truncate(1);
        self.ports.clear();
        self.origins.clear();
    }
}

impl MemorySwitch {
    /// A switch with these ports, which costs the less the fewer they are. What would leave by another port is dropped after
    /// egress as `no_such_port`.
    pub fn new(pipeline: Arc<Pipeline>, config: Config, ports: impl IntoIterator<Item = u32>) -> MemorySwitch {
        let lines = Lines::default();
        let mut switch = Switch::new(pipeline, config);
        let ports: BTreeSet<u32> = ports.into_iter().collect();
        for &number in &ports {
            switch.attach(number, Box::new(LinePort::new(number, &lines)));
        }
        MemorySwitch {
            switch,
            ports,
            lines,
            received: 0,
        }
    }

    /// Lets frames arrive, each by its port, one after another at the same time, and returns what leaves until nothing moves any
    /// more.
    ///
    /// # Errors
    /// When packets go round without end, or a frame's port does not exist: the frames before it have gone through the switch.
    /// What left is lost.
    pub fn send<'f, T: Tracer>(
        &mut self,
        frames: impl IntoIterator<Item = (u32, &'f [u8])>,
        now_ns: u64,
        tracer: &mut T,
    ) -> Result<Frames, SendError> {
        let first = self.received;
        let mut frames = frames.into_iter();
        loop {
            let filled = self.lines.fill(&self.ports, frames.by_ref().take(PORTION));
            if filled == Ok(false) {
                break;
            }
            self.settle(now_ns, tracer)?;
            if filled.is_err() {
                self.lines.outgoing().clear();
            }
            filled?;
        }
        let mut left = std::mem::take(&mut *self.lines.outgoing());
        for origin in &mut left.origins {
            *origin -= first as i64;
        }
        Ok(left)
    }

    fn settle<T: Tracer>(&mut self, now_ns: u64, tracer: &mut T) -> Result<(), SendError> {
        let settled = self.switch.settle(now_ns, MAX_POLLS, tracer);
        self.received = self.switch.counters().received;
        match settled {
            Settled::Idle => Ok(()),
            Settled::Busy => {
                self.lines.outgoing().clear();
                Err(SendError::Endless)
            }
        }
    }

    /// Time passes without a packet.
    ///
    /// # Errors
    /// When packets go round without end.
    pub fn pass_time<T: Tracer>(&mut self, now_ns: u64, tracer: &mut T) -> Result<(), SendError> {
        self.settle(now_ns, tracer)
    }

    /// What was dropped, by reason: packets of every port, and copies and digests that were never made.
    pub fn drops(&self) -> Vec<(String, u64)> {
        let mut all = Vec::new();
        for (reason, count) in self.switch.ports().into_iter().flat_map(|port| port.drops) {
            add_by_label(&mut all, &reason, count);
        }
        let pipeline = self.switch.pipeline();
        for (reason, count) in pipeline.drops().nonzero() {
            let label = reason.label(&pipeline.program().errors);
            if all.iter().all(|(known, _)| *known != label) {
                add_by_label(&mut all, &label, count);
            }
        }
        all
    }

    /// The switch, for its books.
    pub fn switch(&self) -> &Switch {
        &self.switch
    }

    /// See [`Switch::take_digests`].
    pub fn take_digests(&mut self) -> (Vec<DigestMessage>, u64) {
        self.switch.take_digests()
    }
}

/// What all ports share. A switch has one thread; the locks are there because ports must be `Send`.
#[derive(Clone, Default)]
struct Lines(Arc<Shared>);

struct Shared {
    /// The port of the frame that comes next, so that the other ports need no lock.
    next_port: AtomicU32,
    incoming: Mutex<Incoming>,
    outgoing: Mutex<Frames>,
}

#[derive(Default)]
struct Incoming {
    frames: Frames,
    next: usize,
}

impl Default for Shared {
    fn default() -> Shared {
        Shared {
            next_port: AtomicU32::new(NO_PORT),
            incoming: Mutex::default(),
            outgoing: Mutex::default(),
        }
    }
}

impl Lines {
    fn incoming(&self) -> MutexGuard<'_, Incoming> {
        self.0.incoming.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn outgoing(&self) -> MutexGuard<'_, Frames> {
        self.0.outgoing.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Puts frames in, in place of those before, as far as their ports exist. Returns whether there was any.
    fn fill<'f>(
        &self,
        ports: &BTreeSet<u32>,
        frames: impl Iterator<Item = (u32, &'f [u8])>,
    ) -> Result<bool, SendError> {
        let mut incoming = self.incoming();
        incoming.frames.clear();
        incoming.next = 0;
        let (mut known, mut missing) = (None, None);
        for (port, frame) in frames {
            if known != Some(port) && !ports.contains(&port) {
                missing = Some(port);
                break;
            }
            known = Some(port);
            incoming.frames.push(frame, port, 0);
        }
        self.tell_next_port(&incoming);
        match missing {
            None => Ok(!incoming.frames.is_empty()),
            Some(port) => Err(SendError::NoPort(port)),
        }
    }

    fn tell_next_port(&self, incoming: &Incoming) {
        let port = incoming.frames.ports.get(incoming.next).copied();
        self.0.next_port.store(port.unwrap_or(NO_PORT), Ordering::Relaxed);
    }
}

/// A port whose other side is the caller.
struct LinePort {
    number: u32,
    name: String,
    lines: Lines,
    counters: PortCounters,
}

impl LinePort {
    fn new(number: u32, lines: &Lines) -> LinePort {
        LinePort {
            number,
            name: format!("port {number}"),
            lines: lines.clone(),
            counters: PortCounters::default(),
        }
    }
}

impl Port for LinePort {
    fn name(&self) -> &str {
        &self.name
    }

    #[inline]
    fn receive(&mut self, burst: &mut Burst, max: usize, now_ns: u64) -> Result<usize, PortError> {
        if self.lines.0.next_port.load(Ordering::Relaxed) != self.number {
            return Ok(0);
        }
        let mut incoming = self.lines.incoming();
        let Incoming { frames, next } = &mut *incoming;
        let first = *next;
        while *next - first < max && frames.ports.get(*next) == Some(&self.number) {
            let Some(packet) = burst.allocate() else { break };
            let frame = frames.frame(*next);
            packet.set_data(frame);
            packet.timestamp_ns = now_ns;
            self.counters.count_received(frame.len());
            *next += 1;
        }
        let received = *next - first;
        self.lines.tell_next_port(&incoming);
        Ok(received)
    }

    #[inline]
    fn send(&mut self, burst: &mut Burst, _now_ns: u64) -> Result<usize, PortError> {
        let mut outgoing = self.lines.outgoing();
        for packet in burst.iter() {
            self.counters.count_sent(packet.len());
            outgoing.push(packet.data(), self.number, packet.id as i64);
        }
        let sent = burst.len();
        burst.clear();
        Ok(sent)
    }

    fn counters(&self) -> PortCounters {
        self.counters
    }

    fn readiness(&self) -> Readiness {
        Readiness::Now
    }

    fn reads_ids(&self) -> bool {
        true
    }
}
