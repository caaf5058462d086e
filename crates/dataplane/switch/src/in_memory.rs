//! A switch whose ports are all in memory: many frames in, many frames out.
//!
//! ```text
//!  frames in order ─► burst ─► Switch ─► ports ─► Outgoing ─► the caller's memory, with port and origin
//! ```
//!
//! For callers with frames in memory: it uses no thread, clock or socket. Frames enter in the given order, whatever
//! their ports are. Consecutive frames that arrive at one port form bursts. A burst has left before the next one
//! enters, and the caller gets the packets that leave without a copy. So a frame is copied twice: from the caller's
//! memory, and back. After the first bursts, nothing is allocated for a packet.

use crate::counters::add_by_label;
use crate::frames::{Arriving, Frames, Left, Sink};
use crate::switch::{Config, Settled, Switch};
use forebay_packet::{Burst, Port, PortCounters, PortError, Readiness};
use forebay_pipeline::{DigestMessage, Pipeline, Tracer};
use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// After this many polls, packets that still move are assumed to move for ever.
const MAX_POLLS: u32 = 100_000;

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
    outgoing: Outgoing,
    /// Packets received so far.
    received: u64,
}

impl MemorySwitch {
    /// A switch with these ports. Fewer ports are cheaper. A packet that would leave by another port is dropped after
    /// egress as `no_such_port`.
    pub fn new(pipeline: Arc<Pipeline>, config: Config, ports: impl IntoIterator<Item = u32>) -> MemorySwitch {
        let ports: BTreeSet<u32> = ports.into_iter().collect();
        let outgoing = Outgoing::of_ports(ports.len());
        let mut switch = Switch::new(pipeline, config);
        for &number in &ports {
            switch.attach(number, Box::new(OutgoingPort::new(number, &outgoing)));
        }
        MemorySwitch {
            switch,
            ports,
            outgoing,
            received: 0,
        }
    }

    /// Lets frames arrive, each at its port, one after another at the same time. Returns what leaves until nothing
    /// moves any more.
    ///
    /// # Errors
    /// If packets go round without end, or if a frame's port does not exist. In the latter case the previous frames
    /// have passed the switch. What left is lost.
    pub fn send<'f, T: Tracer>(
        &mut self,
        frames: impl IntoIterator<Item = (u32, &'f [u8])>,
        now_ns: u64,
        tracer: &mut T,
    ) -> Result<Frames, SendError> {
        let (mut data, mut offsets, mut ports) = (Vec::new(), vec![0], Vec::new());
        for (port, frame) in frames {
            data.extend_from_slice(frame);
            offsets.push(data.len() as i64);
            ports.push(port);
        }
        let arriving = Arriving {
            data: &data,
            offsets: &offsets,
            ports: &ports,
        };
        let mut left = Frames::default();
        self.send_to(arriving, now_ns, tracer, &mut left)?;
        Ok(left)
    }

    /// Does the same for a caller that has its own memory for both: `sink` is given the packets of each burst.
    ///
    /// # Errors
    /// The errors of [`MemorySwitch::send`]. What left before was given to the sink.
    pub fn send_to<T: Tracer>(
        &mut self,
        arriving: Arriving<'_>,
        now_ns: u64,
        tracer: &mut T,
        sink: &mut impl Sink,
    ) -> Result<(), SendError> {
        let (first, burst_max) = (self.received, self.switch.config.burst.max(1));
        let mut next = 0;
        while let Some((port, frames)) = arriving.run(next, burst_max) {
            if !self.ports.contains(&port) {
                return Err(SendError::NoPort(port));
            }
            next = frames.end;
            let fill = &mut |burst: &mut Burst| arriving.put(frames.clone(), burst, now_ns, sink);
            self.switch.poll_with(port, fill, now_ns, tracer);
            if !self.switch.is_empty() {
                self.settle(now_ns, tracer)?;
            }
            self.received = self.switch.counters().received;
            self.outgoing.give(first, sink);
        }
        Ok(())
    }

    fn settle<T: Tracer>(&mut self, now_ns: u64, tracer: &mut T) -> Result<(), SendError> {
        let settled = self.switch.settle(now_ns, MAX_POLLS, tracer);
        self.received = self.switch.counters().received;
        match settled {
            Settled::Idle => Ok(()),
            Settled::Busy => {
                self.outgoing.lock().clear();
                Err(SendError::Endless)
            }
        }
    }

    /// Lets time pass without a packet.
    ///
    /// # Errors
    /// If packets go round without end.
    pub fn pass_time<T: Tracer>(&mut self, now_ns: u64, tracer: &mut T) -> Result<(), SendError> {
        self.settle(now_ns, tracer)
    }

    /// Drops by reason: of packets at every port, and of copies and digests that were never made.
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

    /// The switch, for its counters.
    pub fn switch(&self) -> &Switch {
        &self.switch
    }

    /// See [`Switch::take_digests`].
    pub fn take_digests(&mut self) -> (Vec<DigestMessage>, u64) {
        self.switch.take_digests()
    }
}

/// Empty bursts that are kept for reuse however few ports there are: one port may send several in a step.
const SPARES_LEAST: usize = 16;

/// What has left, shared by all ports. A switch has one thread; the lock is needed only because ports must be `Send`.
#[derive(Clone)]
struct Outgoing(Arc<Mutex<Bursts>>);

#[derive(Default)]
struct Bursts {
    /// Each burst with the port by which it left, in order.
    left: Vec<(u32, Burst)>,
    spares: Vec<Burst>,
    /// The most of them that are kept.
    spares_max: usize,
}

impl Outgoing {
    /// Of a switch with this number of ports, each of which may send a burst in a step.
    fn of_ports(ports: usize) -> Outgoing {
        let bursts = Bursts {
            spares_max: ports.max(SPARES_LEAST),
            ..Bursts::default()
        };
        Outgoing(Arc::new(Mutex::new(bursts)))
    }

    #[inline]
    fn lock(&self) -> MutexGuard<'_, Bursts> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Passes everything on, and empties the list. The packet with the number `first` has the origin 0.
    fn give(&self, first: u64, sink: &mut impl Sink) {
        let mut bursts = self.lock();
        for (port, burst) in &bursts.left {
            let packets = burst.as_slice();
            let port = *port;
            sink.take(&Left { port, packets, first });
        }
        bursts.clear();
    }
}

impl Bursts {
    /// Takes the packets of a burst, and leaves an empty one of the same capacity in its place.
    #[inline]
    fn take(&mut self, port: u32, burst: &mut Burst) {
        let is_as_large = |spare: &Burst| spare.capacity() == burst.capacity();
        let spare = match self.spares.iter().rposition(is_as_large) {
            Some(place) => self.spares.swap_remove(place),
            None => Burst::new(burst.capacity()),
        };
        self.left.push((port, std::mem::replace(burst, spare)));
    }

    fn clear(&mut self) {
        for (_, mut burst) in self.left.drain(..) {
            burst.clear();
            if self.spares.len() < self.spares_max {
                self.spares.push(burst);
            }
        }
    }
}

/// A port that delivers no packets: frames arrive by [`Switch::poll_with`].
struct OutgoingPort {
    number: u32,
    name: String,
    outgoing: Outgoing,
    counters: PortCounters,
}

impl OutgoingPort {
    fn new(number: u32, outgoing: &Outgoing) -> OutgoingPort {
        OutgoingPort {
            number,
            name: format!("port {number}"),
            outgoing: outgoing.clone(),
            counters: PortCounters::default(),
        }
    }
}

impl Port for OutgoingPort {
    fn name(&self) -> &str {
        &self.name
    }

    #[inline]
    fn receive(&mut self, _burst: &mut Burst, _max: usize, _now_ns: u64) -> Result<usize, PortError> {
        Ok(0)
    }

    #[inline]
    fn send(&mut self, burst: &mut Burst, _now_ns: u64) -> Result<usize, PortError> {
        burst.iter().for_each(|packet| self.counters.count_sent(packet.len()));
        let sent = burst.len();
        self.outgoing.lock().take(self.number, burst);
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
