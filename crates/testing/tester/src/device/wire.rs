//! A wire between ports: what is sent by one comes back by another at once.

use super::{Device, Inside, memory_ports};
use crate::stream::Stream;
use forebay_packet::{Burst, MemoryPort, Port};

/// Packets that are moved at once.
const BURST: usize = 64;

/// Wires between ports that are not joined two by two.
struct Wire {
    ports: Vec<MemoryPort>,
    /// For each port, the index of the port at the other end.
    ends: Vec<usize>,
    burst: Burst,
}

/// A wire from each port to another; the first number of a pair is where frames enter, the second where they come back.
/// All numbers are in `numbers`.
pub fn wire(numbers: &[u32], pairs: &[(u32, u32)], queue_packets: usize) -> Device {
    match cable(numbers, pairs, queue_packets) {
        Some(ports) => Device::new(DESCRIPTION, ports, None),
        None => patch_field(numbers, pairs, queue_packets),
    }
}

/// The number of the port where a frame comes back that is sent by a port.
pub fn end_of(number: u32, pairs: &[(u32, u32)]) -> u32 {
    let pair = pairs.iter().find(|(from, _)| *from == number);
    pair.map_or(number, |(_, to)| *to)
}

/// The wires that streams ask for: from the port that each is sent by to that where its frames are expected. Frames of a
/// stream without `to` may come out anywhere, so where those of others by its port do, or by its own port.
pub fn pairs_of(streams: &[Stream]) -> Vec<(u32, u32)> {
    let told = streams.iter().filter_map(|stream| Some((stream.from, stream.to?)));
    let own = streams.iter().map(|stream| (stream.from, stream.from));
    let own = own.filter(|(from, _)| !told.clone().any(|(other, _)| other == *from));
    told.clone().chain(own).collect()
}

const DESCRIPTION: &str = "a wire in memory";

/// Two ports joined by one queue each way, or one that is joined with itself: nothing moves frames but the ports.
fn cable(numbers: &[u32], pairs: &[(u32, u32)], queue_packets: usize) -> Option<Vec<(u32, Box<dyn Port>)>> {
    match numbers {
        [one] => Some(vec![(*one, Box::new(MemoryPort::loopback("wire", queue_packets)))]),
        [first, second] if pairs.iter().all(|(from, to)| from != to) => {
            let (near, far) = MemoryPort::pair("wire, near end", "wire, far end", queue_packets);
            Some(vec![(*first, Box::new(near)), (*second, Box::new(far))])
        }
        _ => None,
    }
}

/// Wires between any ports.
fn patch_field(numbers: &[u32], pairs: &[(u32, u32)], queue_packets: usize) -> Device {
    let (outside, inside) = memory_ports(numbers, queue_packets);
    let end = |number: &u32| {
        let end = end_of(*number, pairs);
        numbers.iter().position(|own| *own == end).unwrap_or(0)
    };
    let wire = Wire {
        ports: inside.into_iter().map(|(_, port)| port).collect(),
        ends: numbers.iter().map(end).collect(),
        burst: Burst::new(BURST),
    };
    Device::new(DESCRIPTION, outside, Some(Box::new(wire)))
}

impl Inside for Wire {
    #[inline]
    fn work(&mut self, now_ns: u64) {
        for from in 0..self.ports.len() {
            // Ports in memory are never out of order.
            if self.ports[from].receive(&mut self.burst, BURST, now_ns).unwrap_or(0) > 0 {
                let _ = self.ports[self.ends[from]].send(&mut self.burst, now_ns);
            }
        }
    }

    fn drops(&self) -> Vec<(String, u64)> {
        let drops = self
            .ports
            .iter()
            .flat_map(|port| port.counters().nonzero_drops().collect::<Vec<_>>());
        drops.map(|(reason, count)| (reason.to_string(), count)).collect()
    }
}
