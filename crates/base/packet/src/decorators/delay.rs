//! Holds received packets back for a fixed time, like a long cable.

use std::collections::VecDeque;

use crate::{Burst, DropReason, Packet, Pool, Port, PortCounters, PortError, PortState, Readiness, delegate_port};

/// A port whose received packets come in `delay_ns` later, in order. What does not fit in the
/// bounded line is dropped and counted, so memory stays bounded whatever the rate.
///
/// Only the receiving direction is delayed: a link with a delay both ways has a wrapped port at
/// both ends.
pub struct Delay<P> {
    port: P,
    delay_ns: u64,
    limit: usize,
    line: VecDeque<Packet>,
    spares: Pool,
    arrivals: Burst,
    delivered: PortCounters,
    overflowed: u64,
}

impl<P: Port> Delay<P> {
    /// Wraps `port`; at most `limit` packets (at least one) are on the way at a time.
    pub fn new(port: P, delay_ns: u64, limit: usize) -> Delay<P> {
        Delay {
            port,
            delay_ns,
            limit: limit.max(1),
            line: VecDeque::with_capacity(limit.max(1)),
            spares: Pool::new(limit.max(1)),
            arrivals: Burst::default(),
            delivered: PortCounters::default(),
            overflowed: 0,
        }
    }

    /// Takes from the port what has arrived by now and puts it on the line.
    fn collect(&mut self, now_ns: u64) -> Result<(), PortError> {
        let result = self.port.receive(&mut self.arrivals, usize::MAX, now_ns);
        for packet in self.arrivals.iter_mut() {
            if self.line.len() < self.limit {
                packet.timestamp_ns = now_ns.saturating_add(self.delay_ns);
                self.line.push_back(std::mem::replace(packet, self.spares.take()));
            } else {
                self.overflowed += 1;
            }
        }
        self.arrivals.clear();
        result.map(|_| ())
    }

    /// Moves what is due from the line to the burst.
    fn deliver(&mut self, burst: &mut Burst, max: usize, now_ns: u64) -> usize {
        let mut count = 0;
        while count < max && !burst.is_full() {
            let Some(mut packet) = self.line.pop_front_if(|packet| packet.timestamp_ns <= now_ns) else {
                break;
            };
            self.delivered.count_received(packet.len());
            let accepted = burst.push_exchange(&mut packet);
            debug_assert!(accepted, "the burst was checked for room");
            self.spares.give(packet);
            count += 1;
        }
        count
    }
}

impl<P: Port> Port for Delay<P> {
    fn receive(&mut self, burst: &mut Burst, max: usize, now_ns: u64) -> Result<usize, PortError> {
        let collected = self.collect(now_ns);
        let count = self.deliver(burst, max, now_ns);
        collected.map(|()| count)
    }

    /// The port's counters; received is what has come out of the line.
    fn counters(&self) -> PortCounters {
        let mut counters = self.port.counters();
        counters.received_packets = self.delivered.received_packets;
        counters.received_bytes = self.delivered.received_bytes;
        counters.count_received_drops(DropReason::QueueFull, self.overflowed);
        counters
    }

    fn state(&self) -> PortState {
        match self.port.state() {
            PortState::Finished if !self.line.is_empty() => PortState::Up,
            state => state,
        }
    }

    /// The earlier of the next delivery and what the port says; a port with a descriptor under a
    /// busy line is looked at when the next packet is due.
    fn readiness(&self) -> Readiness {
        match (self.line.front(), self.port.readiness()) {
            (_, Readiness::Now) => Readiness::Now,
            (None, readiness) => readiness,
            (Some(packet), Readiness::At(time_ns)) => Readiness::At(time_ns.min(packet.timestamp_ns)),
            (Some(packet), _) => Readiness::At(packet.timestamp_ns),
        }
    }

    delegate_port!(port: name, send, why_down, room, is_timer, reads_ids, begin_last_round, flush);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::MemoryPort;

    #[test]
    fn packets_come_when_they_are_due_and_in_order() {
        let (near, mut far) = MemoryPort::pair("near", "far", 8);
        let mut port = Delay::new(near, 100, 8);
        let mut burst = Burst::default();
        far.inject(b"a");
        assert_eq!(port.receive(&mut burst, 8, 0), Ok(0));
        far.inject(b"b");
        assert_eq!(port.receive(&mut burst, 8, 50), Ok(0));
        assert_eq!(port.readiness(), Readiness::At(100));
        assert_eq!(port.receive(&mut burst, 8, 100), Ok(1));
        assert_eq!(port.counters().received_packets, 1);
        assert_eq!(port.receive(&mut burst, 8, 1000), Ok(1));
        assert_eq!(burst.as_slice()[0].data(), b"a");
        assert_eq!(burst.as_slice()[1].timestamp_ns, 150);
    }

    #[test]
    fn a_full_line_drops_and_counts() {
        let (near, mut far) = MemoryPort::pair("near", "far", 8);
        let mut port = Delay::new(near, 10, 2);
        for _ in 0..5 {
            far.inject(b"x");
        }
        let mut burst = Burst::default();
        assert_eq!(port.receive(&mut burst, 8, 0), Ok(0));
        assert_eq!(port.counters().drops(DropReason::QueueFull), 3);
        assert_eq!(port.receive(&mut burst, 8, 10), Ok(2));
    }
}
