//! A switch of known capacity: how long it needs for a packet is given. What a search must find is known.

use super::{Device, Inside, memory_ports};
use crate::clock::ModelTime;
use forebay_packet::{Burst, MemoryPort, Port};

/// Packets that are moved at once.
const BURST: usize = 64;

/// Where the switch gets its time from.
#[derive(Clone, Debug)]
pub enum Processor {
    /// A processor of its own.
    Own,
    /// The tester's: while the switch works, the tester does not send.
    Testers(ModelTime),
}

struct Slow {
    ports: Vec<MemoryPort>,
    packet_ns: Box<dyn Fn(u64) -> u64>,
    processor: Processor,
    /// When the switch's own processor takes the next packet.
    free_ns: u64,
    burst: Burst,
}

/// A switch that sends what enters by the first port out by the second. `packet_ns` is how long it works for a packet
/// at a time.
pub fn slow(
    numbers: [u32; 2],
    queue_packets: usize,
    packet_ns: impl Fn(u64) -> u64 + 'static,
    processor: Processor,
) -> Device {
    let (outside, inside) = memory_ports(&numbers, queue_packets);
    let slow = Slow {
        ports: inside.into_iter().map(|(_, port)| port).collect(),
        packet_ns: Box::new(packet_ns),
        processor,
        free_ns: 0,
        burst: Burst::new(BURST),
    };
    Device::new("a model of a switch", outside, Some(Box::new(slow)))
}

impl Slow {
    /// Forwards at most `limit` packets, and returns how many. Ports in memory never fail.
    fn forward(&mut self, limit: usize, now_ns: u64) -> usize {
        let count = self.ports[0].receive(&mut self.burst, limit, now_ns).unwrap_or(0);
        let _ = self.ports[1].send(&mut self.burst, now_ns);
        count
    }
}

impl Inside for Slow {
    fn work(&mut self, now_ns: u64) {
        if let Processor::Testers(time) = self.processor.clone() {
            let count = self.forward(BURST, now_ns);
            time.spend(count as u64 * (self.packet_ns)(now_ns));
            return;
        }
        while self.free_ns <= now_ns {
            if self.forward(1, now_ns) == 0 {
                self.free_ns = now_ns;
                return;
            }
            self.free_ns += (self.packet_ns)(self.free_ns);
        }
    }

    fn drops(&self) -> Vec<(String, u64)> {
        Vec::new()
    }
}
