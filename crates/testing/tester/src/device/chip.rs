//! A chip of the timed model, in simulated time.
//!
//! A frame that the tester sends takes its time on the wire of its port, then arrives at the chip. A port takes no more
//! than its wire carries: a few frames wait for the wire, others are not taken. What departs comes back when its last
//! byte has left.

use super::{Device, Inside, LineRate, NumberedPorts};
use forebay_chip::{
    ChipConfig, ChipSpec, Framing, Loss, Network, NetworkError, Observer, Pacer, Part, Picos, Place, PortConfig,
    ProgramDrop, QueueConfig, Service,
};
use forebay_packet::{Burst, Port, PortCounters, PortError};
use forebay_pipeline::Pipeline;
use forebay_sim::{RecordedChip, Recording};
use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Picoseconds in a nanosecond.
const NS: Picos = 1000;

/// Frames on a wire and before it. Time goes on in steps of a nanosecond, so the next frame must wait when one ends;
/// more would only delay frames that are sent too fast.
const ON_WIRE_MAX: usize = 4;

/// How far simulated time goes on at once while packets are inside.
const STEP_NS: u64 = 100;

/// The chip with what is on its wires.
struct Simulated {
    network: Network,
    coming: Vec<Line>,
    framing: Framing,
    leaving: Leaving,
    /// The number of the next frame that arrives.
    next: u64,
}

/// A wire into the chip.
struct Line {
    port: u16,
    pacer: Pacer,
    is_unlimited: bool,
    free_at: Picos,
    frames: VecDeque<(Picos, Vec<u8>)>,
}

impl Line {
    /// Frames that it takes now. A wire without a rate takes any number.
    fn room(&self) -> usize {
        if self.is_unlimited {
            usize::MAX
        } else {
            ON_WIRE_MAX.saturating_sub(self.frames.len())
        }
    }
}

/// What has left, by port, and why packets were lost.
#[derive(Default)]
struct Leaving {
    /// Has the ports of the tester alone.
    frames: BTreeMap<u16, VecDeque<(Picos, Vec<u8>)>>,
    drops: BTreeMap<String, u64>,
    errors: Vec<String>,
    /// What happens to single packets, while it is kept.
    recording: Option<Recording>,
}

impl Observer for Leaving {
    /// Where the tester has no port, nothing takes the frame: for the tester it is lost as one for a port that the chip
    /// has not.
    fn departed(&mut self, place: Place, frame: &[u8], tag: u64, time: Picos) {
        let Some(frames) = self.frames.get_mut(&place.port) else {
            return self.lost(place, Loss::NoSuchPort, tag, time);
        };
        frames.push_back((time, frame.to_vec()));
        if let Some(recording) = &mut self.recording {
            recording.departed(place, frame, tag, time);
        }
    }

    fn lost(&mut self, place: Place, loss: Loss, tag: u64, time: Picos) {
        *self.drops.entry(loss.name().to_string()).or_default() += 1;
        if let Some(recording) = &mut self.recording {
            recording.lost(place, loss, tag, time);
        }
    }

    fn dropped(&mut self, place: Place, drop: ProgramDrop, tag: u64, time: Picos) {
        let label = drop.reason.label(&self.errors);
        *self.drops.entry(label).or_default() += 1;
        if let Some(recording) = &mut self.recording {
            recording.dropped(place, drop, tag, time);
        }
    }

    fn inside(&mut self, place: Place, part: Part, tag: u64, from: Picos, until: Picos) {
        if let Some(recording) = &mut self.recording {
            recording.inside(place, part, tag, from, until);
        }
    }

    fn wants_locations(&self) -> bool {
        self.recording.as_ref().is_some_and(Observer::wants_locations)
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

/// What the ports of a chip carry; none when that has no limit.
pub fn line_rate(spec: &ChipSpec) -> Option<LineRate> {
    let bits_per_second = spec.ports.bits_per_second;
    (bits_per_second > 0).then_some(LineRate {
        bits_per_second,
        framing: spec.framing,
    })
}

/// A chip with these pipelines, the first of which is that of all pipes when it is the only one, and wires at these
/// ports, whose queues hold as many bytes as is said, or as the chip has.
///
/// # Errors
/// When the chip has no such port.
pub fn chip(
    mut pipelines: Vec<Arc<Pipeline>>,
    spec: ChipSpec,
    numbers: &[u32],
    queue_bytes: Option<u64>,
) -> Result<Device, NetworkError> {
    let (name, framing, bits_per_second) = (spec.name.clone(), spec.framing, spec.ports.bits_per_second);
    let line_rate = line_rate(&spec);
    let pipeline = pipelines.remove(0);
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
        of_other_pipes: pipelines,
        alike: 1,
        pfc: None,
        seed: 0,
    })?;
    let line = |number: &u32| Line {
        port: *number as u16,
        pacer: Pacer::new(bits_per_second),
        is_unlimited: bits_per_second == 0,
        free_at: 0,
        frames: VecDeque::new(),
    };
    let shared = Arc::new(Mutex::new(Simulated {
        network,
        coming: numbers.iter().map(line).collect(),
        framing,
        next: 0,
        leaving: Leaving {
            frames: numbers.iter().map(|number| (*number as u16, VecDeque::new())).collect(),
            errors,
            ..Leaving::default()
        },
    }));
    let inside = Some(Box::new(ChipInside(shared.clone())) as Box<dyn Inside>);
    let mut device = Device::new(format!("chip {name}"), ports(&name, numbers, &shared), inside);
    device.line_rate = line_rate;
    Ok(device.in_simulated_time())
}

/// The tester's ends of the wires.
fn ports(chip: &str, numbers: &[u32], shared: &Shared) -> NumberedPorts {
    let ports = numbers.iter().enumerate().map(|(index, number)| {
        let port = ChipPort {
            name: format!("{chip} port {number}"),
            number: *number as u16,
            index,
            shared: shared.clone(),
            counters: PortCounters::default(),
        };
        (*number, Box::new(port) as Box<dyn Port>)
    });
    ports.collect()
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
        let mut simulated = lock(&self.shared);
        let framing = simulated.framing;
        let line = &mut simulated.coming[self.index];
        let count = burst.len().min(line.room());
        for packet in burst.iter().take(count) {
            let bits = 8 * framing.wire_bytes(packet.len() as u32);
            line.free_at = line.free_at.max(now_ns * NS) + line.pacer.take(bits);
            line.frames.push_back((line.free_at, packet.data().to_vec()));
            self.counters.count_sent(packet.len());
        }
        burst.clear();
        Ok(count)
    }

    fn room(&self) -> usize {
        lock(&self.shared).coming[self.index].room()
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

    fn waiting(&self) -> Option<u64> {
        Some(lock(&self.0).network.books(0).inside())
    }

    fn record(&mut self) {
        let mut simulated = lock(&self.0);
        let chip = RecordedChip::new("chip", simulated.network.pipeline(0).program());
        simulated.leaving.recording = Some(Recording::new([chip]));
    }

    fn take_recording(&mut self) -> Option<Recording> {
        lock(&self.0).leaving.recording.take()
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
                let place = Place {
                    chip: 0,
                    port: self.coming[index].port,
                };
                let tag = self.next;
                self.next += 1;
                if let Some(recording) = &mut self.leaving.recording {
                    recording.arrived(place, &frame, tag, time);
                }
                self.network.arrive(place, &frame, tag, &mut self.leaving);
            }
        }
        self.network.advance(until, &mut self.leaving);
    }
}
