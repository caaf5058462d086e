//! Drops packets at random, the same ones every run.

use crate::{Burst, DropReason, Port, PortCounters, PortError, SplitMix64, delegate_port};

/// A port that loses each packet, in either direction, with a fixed probability.
pub struct Loss<P> {
    port: P,
    probability: f64,
    random: SplitMix64,
    lost: u64,
    lost_received_bytes: u64,
    lost_received_packets: u64,
}

impl<P: Port> Loss<P> {
    /// Wraps `port`; `probability` from 0 (none lost) to 1 (all lost), decided from `seed`.
    pub fn new(port: P, probability: f64, seed: u64) -> Loss<P> {
        Loss {
            port,
            probability,
            random: SplitMix64::new(seed),
            lost: 0,
            lost_received_bytes: 0,
            lost_received_packets: 0,
        }
    }
}

impl<P: Port> Port for Loss<P> {
    fn receive(&mut self, burst: &mut Burst, max: usize, now_ns: u64) -> Result<usize, PortError> {
        let before = burst.len();
        let result = self.port.receive(burst, max, now_ns);
        let received = burst.len() - before;
        let mut position = 0;
        burst.retain(|packet| {
            position += 1;
            let lost = position > before && self.random.chance(self.probability);
            if lost {
                self.lost_received_packets += 1;
                self.lost_received_bytes += packet.len() as u64;
            }
            !lost
        });
        let lost = before + received - burst.len();
        self.lost += lost as u64;
        result.map(|_| received - lost)
    }

    fn send(&mut self, burst: &mut Burst, now_ns: u64) -> Result<usize, PortError> {
        let before = burst.len();
        burst.retain(|_| !self.random.chance(self.probability));
        self.lost += (before - burst.len()) as u64;
        self.port.send(burst, now_ns)
    }

    /// The port's counters, less what was lost on the way in, plus the injected drops.
    fn counters(&self) -> PortCounters {
        let mut counters = self.port.counters();
        counters.received_packets -= self.lost_received_packets;
        counters.received_bytes -= self.lost_received_bytes;
        counters.count_received_drops(DropReason::InjectedLoss, self.lost_received_packets);
        counters.count_drops(DropReason::InjectedLoss, self.lost - self.lost_received_packets);
        counters
    }

    delegate_port!(port: name, state, why_down, readiness, room, is_timer, reads_ids, begin_last_round, flush);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::MemoryPort;

    /// Sends and receives a hundred numbered packets each way; returns which survived.
    fn survivors(probability: f64, seed: u64) -> (Vec<u8>, Vec<u8>, PortCounters) {
        let (near, mut far) = MemoryPort::pair("near", "far", 200);
        let mut port = Loss::new(near, probability, seed);
        let mut burst = Burst::new(100);
        for number in 0..100 {
            far.inject(&[number]);
        }
        port.receive(&mut burst, 100, 0).expect("memory ports do not fail");
        let received = burst.iter().map(|packet| packet.data()[0]).collect();
        burst.clear();
        for number in 0..100 {
            burst.allocate().expect("there is room").set_data(&[number]);
        }
        port.send(&mut burst, 0).expect("memory ports do not fail");
        let sent = std::iter::from_fn(|| far.extract()).map(|frame| frame[0]).collect();
        (received, sent, port.counters())
    }

    #[test]
    fn the_same_seed_loses_the_same_packets_in_order() {
        let (received, sent, counters) = survivors(0.3, 1);
        assert_eq!(survivors(0.3, 1), (received.clone(), sent.clone(), counters));
        assert_ne!(survivors(0.3, 2).0, received);
        assert!(received.is_sorted() && sent.is_sorted());
        let survived = (received.len() + sent.len()) as u64;
        assert_eq!(counters.drops(DropReason::InjectedLoss), 200 - survived);
        assert_eq!(counters.received_packets, received.len() as u64);
        assert_eq!(counters.refusals(), 100 - sent.len() as u64);
    }

    #[test]
    fn the_extremes() {
        assert_eq!(survivors(0.0, 1).0.len(), 100);
        assert_eq!(survivors(1.0, 1).1.len(), 0);
    }
}
