//! A chip of the timed model, in simulated time.
//!
//! A frame that the tester sends takes its time on the wire of its port, then arrives at the chip. What departs comes back
//! when its last byte has left.

use super::{Device, Inside};
use forebay_chip::{
    ChipConfig, ChipSpec, Network, NetworkError, Observer, Pacer, Picos, Place, PortConfig, QueueConfig, Service,
};
use forebay_packet::{Burst, Port, PortCounters, PortError};
use forebay_pipeline::{DropReason, Pipeline};
use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Picoseconds in a nanosecond.
const NS: Picos = 1000;

/// Preamble, check sequence and gap.
const OVERHEAD_BYTES: u64 = 24;

/// How far simulated time goes on at once while packets are inside.
const STEP_NS: u64 = 100;

/// The chip with what is on its wires.
struct Simulated {
    network: Network,
    coming: Vec<Line>,
    leaving: Leaving,
}

/// A wire into the chip.
struct Line {
    port: u16,
    pacer: Pacer,
    free_at: Picos,
    frames: VecDeque<(Picos, Vec<u8>)>,
}

/// What has left, by port, and why packets were lost.
#[derive(Default)]
struct Leaving {
    frames: BTreeMap<u16, VecDeque<(Picos, Vec<u8>)>>,
    drops: BTreeMap<String, u64>,
    errors: Vec<String>,
}

impl Observer for Leaving {
    fn departed(&mut self, place: Place, frame: &[u8], _tag: u64, time: Picos) {
        self.frames
            .entry(place.port)
            .or_default()
            .push_back((time, frame.to_vec()));
    }

    fn lost(&mut self, _place: Place, loss: forebay_chip::Loss, _tag: u64, _time: Picos) {
        *self.drops.entry(loss.name().to_string()).or_default() += 1;
    }

    fn dropped(&mut self, _place: Place, reason: DropReason, _tag: u64, _time: Picos) {
        let label = reason.label(&self.errors);
        *self.drops.entry(label).or_default() += 1;
    }
}

type Shared = Arc<Mutex<Simulated>>;

fn lock(shared: &Shared) -> MutexGuard<'_, Simulated> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

struct ChipPort {
    name: String,
    number: u16,
    index: usize,
    shared: Shared,
    counters: PortCounters,
}

struct ChipInside(Shared);

fn queue(capacity_bytes: u64) -> QueueConfig {
    QueueConfig {
        service: Service::Strict,
        capacity_bytes,
    }
}

/// A chip with this pipeline, and wires at these ports, whose queues hold as many bytes as is said, or as the chip has.
///
/// # Errors
/// When the chip has no such port.
pub fn chip(
    pipeline: Arc<Pipeline>,
    spec: ChipSpec,
    numbers: &[u32],
    queue_bytes: Option<u64>,
) -> Result<Device, NetworkError> {
    let bits_per_second = spec.ports.bits_per_second;
    let name = spec.name.clone();
    let errors = pipeline.program().errors.clone();
    let mut network = Network::new();
    let port = |number: &u32| PortConfig {
        number: *number as u16,
        loopback: false,
        bits_per_second: 0,
        queues: queue_bytes.map(queue).into_iter().collect(),
    };
    network.add_chip(ChipConfig {
        ports: numbers.iter().map(port).collect(),
        spec,
        pipeline,
        of_other_pipes: Vec::new(),
        alike: 1,
        pfc: None,
        seed: 0,
    })?;
    let line = |number: &u32| Line {
        port: *number as u16,
        pacer: Pacer::new(bits_per_second),
        free_at: 0,
        frames: VecDeque::new(),
    };
    let shared = Arc::new(Mutex::new(Simulated {
        network,
        coming: numbers.iter().map(line).collect(),
        leaving: Leaving {
            errors,
            ..Leaving::default()
        },
    }));
    let ports = numbers.iter().enumerate().map(|(index, number)| {
        let port = ChipPort {
            name: format!("{name} port {number}"),
            number: *number as u16,
            index,
            shared: shared.clone(),
            counters: PortCounters::default(),
        };
        (*number, Box::new(port) as Box<dyn Port>)
    });
    let device = Device::new(
        format!("chip {name}"),
        ports.collect(),
        Some(Box::new(ChipInside(shared.clone()))),
    );
    Ok(device.in_simulated_time())
}

impl Port for ChipPort {
    fn name(&self) -> &str {
        &self.name
    }

    fn receive(&mut self, burst: &mut Burst, max: usize, now_ns: u64) -> Result<usize, PortError> {
        let mut simulated = lock(&self.shared);
        let Some(frames) = simulated.leaving.frames.get_mut(&self.number) else {
            return Ok(0);
        };
        let mut count = 0;
        while count < max && frames.front().is_some_and(|(time, _)| time.div_ceil(NS) <= now_ns) {
            let Some(packet) = burst.allocate() else { break };
            let Some((time, frame)) = frames.pop_front() else { break };
            packet.set_data(&frame);
            packet.timestamp_ns = time.div_ceil(NS);
            self.counters.count_received(frame.len());
            count += 1;
        }
        Ok(count)
    }

    fn send(&mut self, burst: &mut Burst, now_ns: u64) -> Result<usize, PortError> {
        let count = burst.len();
        let mut simulated = lock(&self.shared);
        let line = &mut simulated.coming[self.index];
        for packet in burst.iter() {
            let bits = 8 * (packet.len().max(60) as u64 + OVERHEAD_BYTES);
            line.free_at = line.free_at.max(now_ns * NS) + line.pacer.take(bits);
            line.frames.push_back((line.free_at, packet.data().to_vec()));
            self.counters.count_sent(packet.len());
        }
        burst.clear();
        Ok(count)
    }

    fn counters(&self) -> PortCounters {
        self.counters
    }
}

impl Inside for ChipInside {
    fn work(&mut self, now_ns: u64) {
        lock(&self.0).advance(now_ns * NS);
    }

    fn next_ns(&self) -> Option<u64> {
        let simulated = lock(&self.0);
        let coming = simulated.coming.iter().filter_map(|line| line.frames.front());
        let leaving = simulated.leaving.frames.values().filter_map(|frames| frames.front());
        let known = coming.chain(leaving).map(|(time, _)| time.div_ceil(NS)).min();
        let soon = simulated.network.now() / NS + STEP_NS;
        match (known, simulated.network.is_idle()) {
            (known, true) => known,
            (known, false) => Some(known.map_or(soon, |known| known.min(soon))),
        }
    }

    fn drops(&self) -> Vec<(String, u64)> {
        lock(&self.0).leaving.drops.clone().into_iter().collect()
    }
}

impl Simulated {
    /// Lets everything happen that happens until then.
    fn advance(&mut self, until: Picos) {
        loop {
            let next = (0..self.coming.len())
                .filter_map(|index| self.coming[index].frames.front().map(|(time, _)| (*time, index)))
                .min();
            let Some((time, index)) = next.filter(|(time, _)| *time <= until) else {
                break;
            };
            self.network.advance(time, &mut self.leaving);
            if let Some((_, frame)) = self.coming[index].frames.pop_front() {
                let port = self.coming[index].port;
                self.network
                    .arrive(Place { chip: 0, port }, &frame, 0, &mut self.leaving);
            }
        }
        self.network.advance(until, &mut self.leaving);
    }
}
