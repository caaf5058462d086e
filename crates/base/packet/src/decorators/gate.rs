//! Closes and opens a port while packets flow, for ports that an operator disables.

use crate::{Burst, DropReason, Port, PortCounters, PortError, PortState, delegate_port};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// A port that carries nothing while it is closed: what comes and what is to be sent is dropped and counted, and its
/// state is down.
pub struct Gate<P> {
    port: P,
    latch: Latch,
    /// Packets that were to be sent while it was closed.
    unsent_packets: u64,
    /// What came while it was closed, which the port has counted as received.
    received_packets: u64,
    received_bytes: u64,
}

/// Opens and closes a [`Gate`] from another thread. A new one is open.
#[derive(Clone, Debug)]
pub struct Latch(Arc<AtomicBool>);

impl Default for Latch {
    fn default() -> Latch {
        Latch(Arc::new(AtomicBool::new(true)))
    }
}

impl Latch {
    /// Opens or closes; the next burst sees it.
    pub fn set(&self, is_open: bool) {
        self.0.store(is_open, Ordering::Relaxed);
    }

    fn is_open(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

impl<P: Port> Gate<P> {
    /// Wraps `port`.
    pub fn new(port: P, latch: Latch) -> Gate<P> {
        Gate {
            port,
            latch,
            unsent_packets: 0,
            received_packets: 0,
            received_bytes: 0,
        }
    }
}

impl<P: Port> Port for Gate<P> {
    /// Packets are also taken from a closed port, and dropped, so that no old packets are waiting when it opens.
    fn receive(&mut self, burst: &mut Burst, max: usize, now_ns: u64) -> Result<usize, PortError> {
        let before = burst.len();
        let received = self.port.receive(burst, max, now_ns)?;
        if self.latch.is_open() {
            return Ok(received);
        }
        let mut position = 0;
        burst.retain(|packet| {
            position += 1;
            let is_kept = position <= before;
            if !is_kept {
                self.received_bytes += packet.len() as u64;
            }
            is_kept
        });
        self.received_packets += received as u64;
        Ok(0)
    }

    fn send(&mut self, burst: &mut Burst, now_ns: u64) -> Result<usize, PortError> {
        if !self.latch.is_open() {
            self.unsent_packets += burst.len() as u64;
            burst.clear();
        }
        self.port.send(burst, now_ns)
    }

    /// The port's counters, less what came while it was closed, plus those drops.
    fn counters(&self) -> PortCounters {
        let mut counters = self.port.counters();
        counters.received_packets -= self.received_packets;
        counters.received_bytes -= self.received_bytes;
        counters.count_drops(DropReason::Disabled, self.unsent_packets);
        counters.count_drops(DropReason::ReceiveDisabled, self.received_packets);
        counters
    }

    fn state(&self) -> PortState {
        match self.port.state() {
            PortState::Up | PortState::Finished if !self.latch.is_open() => PortState::Down,
            state => state,
        }
    }

    fn why_down(&self) -> Option<String> {
        let disabled = || (!self.latch.is_open()).then(|| "a controller has disabled it".to_owned());
        self.port.why_down().or_else(disabled)
    }

    fn room(&self) -> usize {
        if self.latch.is_open() {
            self.port.room()
        } else {
            usize::MAX
        }
    }

    delegate_port!(port: name, readiness, is_timer, reads_ids, begin_last_round, flush);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{MemoryPort, Packet, TimerPort};

    #[test]
    fn a_timer_behind_a_gate_stays_one() {
        let mut gate = Gate::new(TimerPort::new("timer", 1000, 2), Latch::default());
        let mut burst = Burst::new(8);
        assert!(gate.is_timer());
        assert_eq!(gate.receive(&mut burst, 8, 0), Ok(0));
        assert!(gate.begin_last_round(), "it has packets for the last round");
        assert_eq!(gate.receive(&mut burst, 8, 1), Ok(2));
    }

    #[test]
    fn a_closed_port_drops_in_both_directions() {
        let (near, mut far) = MemoryPort::pair("near", "far", 8);
        let latch = Latch::default();
        let mut gate = Gate::new(near, latch.clone());
        let mut burst = Burst::new(8);
        latch.set(false);
        far.inject(&[1; 60]);
        assert_eq!(gate.receive(&mut burst, 8, 0), Ok(0));
        burst.push_exchange(&mut Packet::from_bytes(&[2; 60]));
        assert_eq!(gate.send(&mut burst, 0), Ok(0));
        assert_eq!(gate.state(), PortState::Down);
        assert_eq!(gate.counters().drops(DropReason::Disabled), 1);
        assert_eq!(gate.counters().drops(DropReason::ReceiveDisabled), 1);
        assert_eq!(gate.counters().received_packets, 0);
        latch.set(true);
        far.inject(&[3; 60]);
        assert_eq!(gate.receive(&mut burst, 8, 0), Ok(1));
        assert_eq!((gate.state(), gate.counters().received_packets), (PortState::Up, 1));
        assert!(far.extract().is_none());
    }
}
