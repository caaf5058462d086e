//! Ports whose packets are logged.

use super::PacketLog;
use forebay_packet::{Burst, Port, PortCounters, PortError, PortState, Readiness};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Lets one port after the other deliver a packet, one in each poll of the switch.
#[derive(Clone, Debug, Default)]
pub struct Turns {
    turn: Arc<AtomicUsize>,
    ports: usize,
}

impl Turns {
    /// For so many ports.
    pub fn new(ports: usize) -> Turns {
        Turns {
            turn: Arc::default(),
            ports,
        }
    }

    /// A poll begins: it is the next port's turn.
    pub fn next(&self) {
        let turn = self.turn.load(Ordering::Relaxed) + 1;
        self.turn.store(turn % self.ports.max(1), Ordering::Relaxed);
    }
}

/// A port that logs what it receives and sends, and receives a packet only when it is its turn.
pub struct LoggedPort {
    port: Box<dyn Port>,
    number: u32,
    log: PacketLog,
    turns: Turns,
    place: usize,
}

impl LoggedPort {
    /// Wraps the port with this P4 number; `place` is its place among all ports.
    pub fn new(port: Box<dyn Port>, number: u32, log: PacketLog, turns: Turns, place: usize) -> LoggedPort {
        LoggedPort {
            port,
            number,
            log,
            turns,
            place,
        }
    }
}

impl Port for LoggedPort {
    fn name(&self) -> &str {
        self.port.name()
    }

    fn receive(&mut self, burst: &mut Burst, max: usize, now_ns: u64) -> Result<usize, PortError> {
        if self.turns.turn.load(Ordering::Relaxed) != self.place {
            return Ok(0);
        }
        let before = burst.len();
        let received = self.port.receive(burst, max.min(1), now_ns);
        for packet in &burst.as_slice()[before..] {
            self.log.arrived(self.number, packet.data());
        }
        received
    }

    fn send(&mut self, burst: &mut Burst, now_ns: u64) -> Result<usize, PortError> {
        for packet in burst.as_slice() {
            self.log.dump("Sending", self.number, packet.data());
        }
        self.port.send(burst, now_ns)
    }

    fn counters(&self) -> PortCounters {
        self.port.counters()
    }

    fn state(&self) -> PortState {
        self.port.state()
    }

    fn readiness(&self) -> Readiness {
        self.port.readiness()
    }

    fn room(&self) -> usize {
        self.port.room()
    }

    fn reads_ids(&self) -> bool {
        self.port.reads_ids()
    }

    fn is_timer(&self) -> bool {
        self.port.is_timer()
    }

    fn begin_last_round(&mut self) -> bool {
        self.port.begin_last_round()
    }

    fn flush(&mut self) -> Result<(), PortError> {
        self.port.flush()
    }
}
