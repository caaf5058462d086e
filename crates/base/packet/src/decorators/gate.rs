//! Closes and opens a port while packets flow, for operators who disable ports, and counts packets by the kind of their destination.

use crate::{Burst, DropReason, GroupCounters, Port, PortCounters, PortError, PortState, delegate_port};
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
    /// Packets for several stations that were received and sent while it was open.
    received_groups: GroupCounters,
    sent_groups: GroupCounters,
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
            received_groups: GroupCounters::default(),
            sent_groups: GroupCounters::default(),
        }
    }
}

/// What was accepted of the packets of a burst. Which of them a port has refused it does not say: as many of each kind as
/// there were.
#[inline]
fn share(groups: GroupCounters, accepted: usize, offered: usize) -> GroupCounters {
    if accepted >= offered {
        return groups;
    }
    let share = |packets: u64| packets * accepted as u64 / offered as u64;
    GroupCounters {
        multicast: share(groups.multicast),
        broadcast: share(groups.broadcast),
    }
}

impl<P: Port> Port for Gate<P> {
    /// Packets are also taken from a closed port, and dropped, so that no old packets are waiting when it opens.
    fn receive(&mut self, burst: &mut Burst, max: usize, now_ns: u64) -> Result<usize, PortError> {
        let before = burst.len();
        let result = self.port.receive(burst, max, now_ns);
        let received = &burst.as_slice()[before..];
        if self.latch.is_open() {
            self.received_groups = self.received_groups + GroupCounters::of(received);
            return result;
        }
        self.received_packets += received.len() as u64;
        self.received_bytes += received.iter().map(|packet| packet.len() as u64).sum::<u64>();
        burst.truncate(before);
        result.map(|_| 0)
    }

    fn send(&mut self, burst: &mut Burst, now_ns: u64) -> Result<usize, PortError> {
        if !self.latch.is_open() {
            self.unsent_packets += burst.len() as u64;
            burst.clear();
        }
        let (offered, groups) = (burst.len(), GroupCounters::of(burst.as_slice()));
        let accepted = self.port.send(burst, now_ns)?;
        self.sent_groups = self.sent_groups + share(groups, accepted, offered);
        Ok(accepted)
    }

    /// The port's counters, less what came while it was closed, plus those drops.
    fn counters(&self) -> PortCounters {
        let mut counters = self.port.counters();
        counters.received_packets -= self.received_packets;
        counters.received_bytes -= self.received_bytes;
        counters.received_groups = self.received_groups;
        counters.sent_groups = self.sent_groups;
        counters.count_drops(DropReason::Disabled, self.unsent_packets);
        counters.count_received_drops(DropReason::ReceiveDisabled, self.received_packets);
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

    /// A port that delivers what it has, and fails.
    struct Failing {
        port: MemoryPort,
    }

    impl Port for Failing {
        fn receive(&mut self, burst: &mut Burst, max: usize, now_ns: u64) -> Result<usize, PortError> {
            self.port.receive(burst, max, now_ns)?;
            Err(PortError::Failed {
                port: "failing".to_owned(),
                operation: "receive",
                detail: "its file is damaged".to_owned(),
            })
        }

        delegate_port!(port: name, send, counters);
    }

    #[test]
    fn what_comes_before_a_failure_passes_an_open_port_alone() {
        let (port, mut far) = MemoryPort::pair("near", "far", 8);
        let latch = Latch::default();
        let mut gate = Gate::new(Failing { port }, latch.clone());
        let mut burst = Burst::new(8);
        latch.set(false);
        far.inject(&[1; 60]);
        assert!(gate.receive(&mut burst, 8, 0).is_err());
        assert!(burst.is_empty());
        let counters = gate.counters();
        assert_eq!(counters.drops(DropReason::ReceiveDisabled), 1);
        assert_eq!((counters.received_packets, counters.received_bytes), (0, 0));
        latch.set(true);
        far.inject(&[0xff; 60]);
        assert!(gate.receive(&mut burst, 8, 0).is_err());
        assert_eq!((burst.len(), gate.counters().received_groups.broadcast), (1, 1));
    }

    #[test]
    fn packets_for_groups_and_for_all_are_counted_apart() {
        let frame = |destination: [u8; 6]| {
            let mut frame = [0; 60];
            frame[..6].copy_from_slice(&destination);
            frame
        };
        let frames = [
            [2, 0, 0, 0, 0, 1],
            [1, 0, 0x5e, 0, 0, 1],
            [0xff; 6],
            [0x33, 0x33, 0, 0, 0, 1],
        ]
        .map(frame);
        let groups = GroupCounters {
            multicast: 2,
            broadcast: 1,
        };
        let (near, mut far) = MemoryPort::pair("near", "far", 4);
        let mut gate = Gate::new(near, Latch::default());
        let mut burst = Burst::new(8);
        for frame in &frames {
            assert!(far.inject(frame));
        }
        assert_eq!(gate.receive(&mut burst, 8, 0), Ok(4));
        assert_eq!(gate.counters().received_groups, groups);
        assert_eq!(gate.send(&mut burst, 0), Ok(4));
        assert_eq!(gate.counters().sent_groups, groups);
        for frame in &frames {
            burst.push_exchange(&mut Packet::from_bytes(frame));
        }
        assert_eq!(gate.send(&mut burst, 0), Ok(0), "the other end takes none");
        assert_eq!(gate.counters().sent_groups, groups);
        assert_eq!(share(groups, 2, 4).total(), 1);
    }
}
