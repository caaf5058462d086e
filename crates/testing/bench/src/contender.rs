//! What moves packets between the ports of a measurement: a compiled program, its twin, or the harness alone.

use forebay_baseline::{Forwarder, Function};
use forebay_packet::{Burst, DEFAULT_BURST, Port};
use forebay_pipeline::{NoTrace, PathCounters, Pipeline};
use forebay_switch::{Config, Switch};
use std::sync::Arc;
use std::time::Instant;

/// Numbered ports.
pub type Ports = Vec<(u32, Box<dyn Port>)>;

/// What moves packets from port to port, in one thread.
pub trait Work: Send {
    /// Moves a burst from every port; how many packets came.
    fn poll(&mut self, now_ns: u64) -> u64;

    /// What became of the packets so far.
    fn books(&self) -> Books;

    /// Which ways through compiled code they took; nothing is counted where there are none.
    fn paths(&self) -> PathCounters {
        PathCounters::default()
    }
}

/// What became of packets.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Books {
    /// Packets that ports delivered.
    pub received: u64,
    /// Packets made inside: multicast replicas beyond the first, and clones.
    pub copies: u64,
    /// Packets that ports took.
    pub transmitted: u64,
    /// Packets dropped, by reason.
    pub drops: Vec<(String, u64)>,
    /// What the program has counted: its short counter arrays (`messages[0]`, by the last part of their names) in
    /// packets, and its digests.
    pub counts: Vec<(String, u64)>,
}

impl Books {
    /// Packets dropped for whatever reason.
    pub fn dropped(&self) -> u64 {
        self.drops.iter().map(|(_, count)| count).sum()
    }
}

/// Counter arrays are looked at up to here.
const COUNTERS_MAX: u64 = 16;

/// A switch with a compiled program: what `forebay run` runs.
///
/// A worker is a [`Switch`] of its own thread with ports of its own; workers share the pipeline.
pub struct Compiled {
    switch: Switch,
    digests: u64,
    digests_lost: u64,
}

impl Compiled {
    /// A worker of a pipeline between ports.
    pub fn new(pipeline: Arc<Pipeline>, ports: Ports) -> Compiled {
        let mut switch = Switch::new(pipeline, Config::default());
        for (number, port) in ports {
            switch.attach(number, port);
        }
        switch.stay_pinned(true);
        Compiled {
            switch,
            digests: 0,
            digests_lost: 0,
        }
    }

    /// Times one of every `every` packets, as `forebay run --delay-sample` does.
    #[must_use]
    pub fn sampling_delays(mut self, every: Option<u64>) -> Compiled {
        if let Some(every) = every {
            let started = Instant::now();
            let clock = move || started.elapsed().as_nanos() as u64;
            self.switch.sample_delays(every, Box::new(clock));
        }
        self
    }

    /// The program's counters, as far as their arrays are short, and its digests.
    fn counts(&self) -> Vec<(String, u64)> {
        let pipeline = self.switch.pipeline();
        let mut counts = Vec::new();
        for counter in &pipeline.program().counters {
            let array = counter.name.rsplit('.').next().unwrap_or(&counter.name);
            for index in 0..counter.size.unwrap_or(0).min(COUNTERS_MAX) {
                let value = pipeline.read_counter(&counter.name, index);
                counts.extend(value.ok().map(|value| (format!("{array}[{index}]"), value.packets)));
            }
        }
        counts.push(("digests".to_string(), self.digests + self.digests_lost));
        counts
    }
}

impl Work for Compiled {
    fn poll(&mut self, now_ns: u64) -> u64 {
        let received = self.switch.poll(now_ns, &mut NoTrace).received;
        let (digests, lost) = self.switch.take_digests();
        self.digests += digests.len() as u64;
        self.digests_lost = lost;
        received
    }

    fn books(&self) -> Books {
        let counters = self.switch.counters();
        let errors = &self.switch.pipeline().program().errors;
        let drops = self.switch.pipeline().drops().nonzero();
        Books {
            received: counters.received,
            copies: counters.copies,
            transmitted: counters.transmitted,
            drops: drops
                .into_iter()
                .map(|(reason, count)| (reason.label(errors), count))
                .collect(),
            counts: self.counts(),
        }
    }

    fn paths(&self) -> PathCounters {
        self.switch.paths()
    }
}

/// A hand-written function.
pub struct HandWritten<F> {
    forwarder: Forwarder<F>,
    received: u64,
}

impl<F: Function> HandWritten<F> {
    /// A function between ports.
    ///
    /// # Panics
    /// When a port has a number that v1model has not.
    pub fn new(function: F, ports: Ports) -> HandWritten<F> {
        let ports = ports.into_iter();
        let ports = ports.map(|(number, port)| (u16::try_from(number).expect("ports are below 511"), port));
        HandWritten {
            forwarder: Forwarder::new(function, ports.collect()),
            received: 0,
        }
    }
}

impl<F: Function> Work for HandWritten<F> {
    fn poll(&mut self, now_ns: u64) -> u64 {
        let received = self.forwarder.poll(now_ns);
        self.received += received;
        received
    }

    fn books(&self) -> Books {
        let drops = self.forwarder.drops();
        let (transmitted, dropped) = (
            self.forwarder.transmitted(),
            drops.iter().map(|(_, count)| count).sum::<u64>(),
        );
        Books {
            received: self.received,
            copies: (transmitted + dropped).saturating_sub(self.received),
            transmitted,
            drops: drops
                .into_iter()
                .map(|(label, count)| (label.to_string(), count))
                .collect(),
            counts: self.forwarder.counts(),
        }
    }
}

/// The harness alone: what the first port delivers goes to the last.
pub struct Bare {
    ports: Ports,
    burst: Burst,
    packets: u64,
}

impl Bare {
    /// Between these ports, of which there is at least one.
    pub fn new(ports: Ports) -> Bare {
        assert!(!ports.is_empty(), "a harness needs a port");
        Bare {
            ports,
            burst: Burst::new(DEFAULT_BURST),
            packets: 0,
        }
    }
}

impl Work for Bare {
    fn poll(&mut self, now_ns: u64) -> u64 {
        let last = self.ports.len() - 1;
        let came = self.ports[0].1.receive(&mut self.burst, DEFAULT_BURST, now_ns);
        let came = came.expect("ports in memory do not fail") as u64;
        let sent = self.ports[last].1.send(&mut self.burst, now_ns);
        sent.expect("ports in memory do not fail");
        self.packets += came;
        came
    }

    fn books(&self) -> Books {
        Books {
            received: self.packets,
            transmitted: self.packets,
            ..Books::default()
        }
    }
}
