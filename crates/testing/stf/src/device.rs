//! What a test runs on: the software switch, or a chip of the timed model.

use crate::bench::{Bench, Sent};
use crate::runner::Observer;
use forebay_chip::{ChipConfig, ChipSpec, Loss, Network, Picos, Place, PortConfig, QueueConfig, Service};
use forebay_ir::Architecture;
use forebay_pipeline::{DROP_PORT, DigestMessage, PORTABLE_CPU_PORT, Pipeline};
use forebay_switch::{Config, QUEUES_MAX, Settled, Switch};
use std::sync::Arc;

/// Polls after which a packet that still moves in the software switch is taken to move for ever.
const MAX_POLLS: u32 = 100_000;

/// Time after which a packet that still moves in a chip is taken to move for ever: a second.
const MAX_TIME: Picos = 1_000_000_000_000;

/// Takes packets one after another, and says what left.
pub(crate) trait Device<O> {
    /// A packet comes to a port; returns when nothing moves any more, or when it seems that it will for ever.
    fn packet(&mut self, port: u32, data: &[u8], now_ns: u64, observer: &mut O) -> Settled;

    /// Time passes without a packet.
    fn pass_time(&mut self, now_ns: u64, observer: &mut O);

    /// The program.
    fn pipeline(&self) -> &Arc<Pipeline>;

    /// How many ports there are, numbered from 0.
    fn ports(&self) -> u32;

    /// A port beside those.
    fn cpu_port(&self) -> Option<u32> {
        None
    }

    /// Packets that have left so far.
    fn departed(&self) -> Vec<Sent>;

    /// Messages to the control plane.
    fn take_digests(&mut self) -> Vec<DigestMessage>;

    /// What it dropped by itself, with how often.
    fn drops(&self) -> Vec<(&'static str, u64)> {
        Vec::new()
    }
}

/// The port to the controllers, where it is none of the numbered ones.
fn cpu_port(pipeline: &Pipeline) -> Option<u32> {
    match pipeline.program().architecture {
        Architecture::V1Model => None,
        Architecture::Psa | Architecture::Pna => Some(PORTABLE_CPU_PORT),
    }
}

/// The software switch.
pub(crate) struct SwitchDevice {
    switch: Switch,
    bench: Bench,
}

impl SwitchDevice {
    /// With every port that a program can name.
    pub(crate) fn new(pipeline: Arc<Pipeline>) -> SwitchDevice {
        let cpu_port = cpu_port(&pipeline);
        SwitchDevice::with_ports(pipeline, (0..DROP_PORT).chain(cpu_port))
    }

    /// With these ports alone.
    pub(crate) fn with_ports(pipeline: Arc<Pipeline>, ports: impl IntoIterator<Item = u32>) -> SwitchDevice {
        let bench = Bench::default();
        let mut switch = Switch::new(pipeline, Config::default());
        for number in ports {
            switch.attach(number, Box::new(bench.port(number)));
        }
        SwitchDevice { switch, bench }
    }
}

impl<O: Observer> Device<O> for SwitchDevice {
    fn packet(&mut self, port: u32, data: &[u8], now_ns: u64, observer: &mut O) -> Settled {
        self.bench.send(port, data);
        let left_before = self.bench.lines().outgoing.len();
        let settled = self.switch.settle(now_ns, MAX_POLLS, observer);
        if O::ON {
            for sent in &self.bench.lines().outgoing[left_before..] {
                observer.packet_leaves(sent.port, &sent.data);
            }
        }
        settled
    }

    fn pass_time(&mut self, now_ns: u64, observer: &mut O) {
        self.switch.settle(now_ns, MAX_POLLS, observer);
    }

    fn pipeline(&self) -> &Arc<Pipeline> {
        self.switch.pipeline()
    }

    fn ports(&self) -> u32 {
        DROP_PORT
    }

    fn cpu_port(&self) -> Option<u32> {
        cpu_port(self.switch.pipeline())
    }

    fn departed(&self) -> Vec<Sent> {
        self.bench.lines().outgoing.clone()
    }

    fn take_digests(&mut self) -> Vec<DigestMessage> {
        self.switch.take_digests().0
    }
}

/// A chip, whose time is that of the model: a packet comes when the test says, or when the one before has settled.
pub(crate) struct ChipDevice {
    network: Network,
    ports: u32,
    departures: Departures,
    packets: u64,
}

#[derive(Default)]
struct Departures(Vec<Sent>);

impl forebay_chip::Observer for Departures {
    fn departed(&mut self, place: Place, frame: &[u8], tag: u64, _time: Picos) {
        self.0.push(Sent {
            port: place.port.into(),
            tag,
            data: frame.to_vec(),
        });
    }
}

impl ChipDevice {
    pub(crate) fn new(pipeline: Arc<Pipeline>, spec: ChipSpec) -> ChipDevice {
        let mut network = Network::new();
        let ports = spec.ports.count.into();
        let config = ChipConfig {
            ports: (0..spec.ports.count).map(fair_port).collect(),
            spec,
            pipeline,
            of_other_pipes: Vec::new(),
            alike: 1,
            pfc: None,
            seed: 0,
        };
        network.add_chip(config).expect("every port that is configured exists");
        ChipDevice {
            network,
            ports,
            departures: Departures::default(),
            packets: 0,
        }
    }
}

/// A port whose queues take turns by bytes. With strict priorities a packet that goes round could keep another one of
/// the test from ever moving, which in the software switch, where all move together, does not happen.
fn fair_port(number: u16) -> PortConfig {
    let queue = QueueConfig {
        service: Service::Quantum(1),
        capacity_bytes: 0,
    };
    PortConfig {
        number,
        queues: vec![queue; QUEUES_MAX],
        ..PortConfig::default()
    }
}

impl<O> Device<O> for ChipDevice {
    fn packet(&mut self, port: u32, data: &[u8], now_ns: u64, _observer: &mut O) -> Settled {
        let time = self.network.now().max(now_ns * 1_000);
        self.network.advance(time, &mut self.departures);
        let place = Place {
            chip: 0,
            port: port as u16,
        };
        self.network.arrive(place, data, self.packets, &mut self.departures);
        self.packets += 1;
        self.network.settle(time + MAX_TIME, &mut self.departures);
        self.network.audit().expect("a chip keeps its books");
        if self.network.is_idle() {
            Settled::Idle
        } else {
            Settled::Busy
        }
    }

    fn pass_time(&mut self, now_ns: u64, _observer: &mut O) {
        let time = self.network.now().max(now_ns * 1_000);
        self.network.advance(time, &mut self.departures);
        self.network.pipeline(0).expire_at(now_ns);
    }

    fn pipeline(&self) -> &Arc<Pipeline> {
        self.network.pipeline(0)
    }

    fn ports(&self) -> u32 {
        self.ports
    }

    fn departed(&self) -> Vec<Sent> {
        self.departures.0.clone()
    }

    fn take_digests(&mut self) -> Vec<DigestMessage> {
        self.network.take_digests(0).0
    }

    fn drops(&self) -> Vec<(&'static str, u64)> {
        let books = self.network.books(0);
        let counts = Loss::ALL.iter().map(|&loss| (loss.name(), books.lost(loss)));
        counts.filter(|(_, count)| *count > 0).collect()
    }
}
