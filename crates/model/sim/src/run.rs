//! A simulation from the first packet to the last.

use crate::departures::Departure;
use crate::hosts::Hosts;
use crate::measure::Meter;
use crate::messages::Messages;
use crate::recording::{RecordedChip, Recording};
use crate::results::{ChipResults, OutputResults, PortResults, QueueResults, Results, SourceResults};
use crate::setup::{Setup, picos};
use crate::source::{MICROSECOND, Source, Stream};
use crate::timer::Timer;
use forebay_chip::{Books, Framing, Network, Picos, Place, PortReport, QueueSample, Stop};
use std::collections::BTreeMap;

/// Is told how far a run has come.
pub trait Progress {
    /// Simulated time so far and in all, in picoseconds, and events handled.
    fn at(&mut self, now: Picos, end: Picos, events: u64);
}

/// Ignores progress.
pub struct Silent;

impl Progress for Silent {
    fn at(&mut self, _now: Picos, _end: Picos, _events: u64) {}
}

/// What a run differs in from others of the same setup.
#[derive(Clone, Copy, Debug)]
pub struct Run {
    /// Begins the sequences of random numbers.
    pub seed: u64,
    /// Instead of the rate of the first stream, this one, in Gbps; the others keep their ratio to it. One that
    /// [`Setup::check_rate`] permits.
    pub gbps: Option<f64>,
}

/// The number of progress reports of a run.
const REPORTS: u64 = 200;

/// The wake-up call for samples; those of streams have their index.
const SAMPLE: u16 = u16::MAX;

/// The wake-up call for the end of the warm-up.
const WARM: u16 = u16::MAX - 1;

/// A queue that is followed.
struct Watched {
    place: Place,
    queue: usize,
    samples: Vec<u64>,
    at_warm_up: QueueSample,
    at_end: QueueSample,
}

pub(crate) struct Simulation<'a> {
    pub(crate) setup: &'a Setup,
    pub(crate) network: Network,
    pub(crate) meter: Meter,
    pub(crate) timers: Vec<Timer<'a>>,
    hosts: Hosts<'a>,
    /// The first number of hosts' wake-up calls.
    first_host_call: u16,
    sources: Vec<(Source<'a>, Option<&'a [u8]>)>,
    scale: f64,
    watched: Vec<Watched>,
    /// What the ports of each chip had carried at the end of the warm-up, and at that of the traffic.
    ports: [Vec<Vec<PortReport>>; 2],
    /// Packets inside each chip when half of the time of the traffic had passed, and when it had ended.
    inside: [Vec<u64>; 2],
    buffer_samples: Vec<Vec<u64>>,
    sample: Picos,
    pub(crate) end: Picos,
}

impl Setup {
    /// Simulates the scenario.
    pub fn run(&self, run: Run, progress: &mut dyn Progress) -> Results {
        let mut simulation = Simulation::new(self, run);
        simulation.pass_time(progress);
        simulation.results(run.seed)
    }

    /// Simulates the scenario, and records every frame that leaves, in the order of leaving.
    pub fn run_with_departures(&self, run: Run, progress: &mut dyn Progress) -> (Results, Vec<Departure>) {
        let mut simulation = Simulation::new(self, run);
        simulation.meter.departures = Some(Vec::new());
        simulation.pass_time(progress);
        let departures = simulation.departures();
        (simulation.results(run.seed), departures)
    }

    /// Simulates the scenario, and keeps what happens to single packets; also records every frame that leaves, if
    /// `with_departures`.
    pub fn run_recorded(
        &self,
        run: Run,
        with_departures: bool,
        progress: &mut dyn Progress,
    ) -> (Results, Recording, Vec<Departure>) {
        let mut simulation = Simulation::new(self, run);
        let chips = self.chips.iter();
        let chips = chips.map(|chip| RecordedChip::new(&chip.name, &chip.program));
        simulation.meter.recording = Some(Box::new(Recording::new(chips)));
        simulation.meter.departures = with_departures.then(Vec::new);
        simulation.pass_time(progress);
        let recording = simulation.meter.recording.take().unwrap_or_default();
        let departures = simulation.departures();
        (simulation.results(run.seed), *recording, departures)
    }
}

/// The streams of a run, none of which has sent a frame.
fn sources(setup: &Setup, run: Run) -> Vec<(Source<'_>, Option<&[u8]>)> {
    let streams = setup.streams.iter().enumerate().map(|(index, stream)| {
        let framing = setup.chips[usize::from(stream.place.chip)].spec.framing;
        let seed = run.seed.wrapping_mul(0x9e37_79b9).wrapping_add(index as u64 + 1);
        let scale = scale(setup, run);
        let source = Source::new(stream, scale, seed, move |bytes| framing.wire_bytes(bytes));
        let source = match index {
            0 => source,
            _ => source.with_own_phase(scale),
        };
        (source, None)
    });
    streams.collect()
}

/// The queues that are followed.
fn watched(setup: &Setup, network: &Network) -> Vec<Watched> {
    let queues = setup.watched.iter().flat_map(|&place| {
        let queues = 0..network.queue_count(place);
        queues.map(move |queue| Watched {
            place,
            queue,
            samples: Vec::new(),
            at_warm_up: QueueSample::default(),
            at_end: QueueSample::default(),
        })
    });
    queues.collect()
}

/// What measures as the scenario asks, from the warm-up to the end of the traffic.
fn meter(setup: &Setup, sample: Picos, end: Picos) -> Meter {
    let scenario = &setup.scenario;
    let framing: Vec<Framing> = setup.specs().map(|spec| spec.framing).collect();
    let of_stream = |stream: &Stream| framing[usize::from(stream.place.chip)];
    let of_streams: Vec<Framing> = setup.streams.iter().map(of_stream).collect();
    let mut meter = Meter::new(
        (&of_streams, setup.timers.len() + setup.hosts.len(), framing),
        (picos(scenario.warm_up_us), end),
        sample,
        scenario.measure.reordering_distances.get_ref(),
    );
    if *scenario.measure.messages.get_ref() {
        let lengths = setup.streams.iter().map(|stream| stream.payload_bytes);
        meter.follow_messages(lengths.collect());
    }
    if let Some(frames) = scenario.frames_per_packet() {
        meter.follow_parts(frames);
    }
    meter
}

impl<'a> Simulation<'a> {
    fn new(setup: &'a Setup, run: Run) -> Simulation<'a> {
        let scenario = &setup.scenario;
        let network = setup
            .network(run.seed)
            .unwrap_or_else(|(_, error)| panic!("was loaded before: {error}"));
        let end = picos(*scenario.duration_us.get_ref());
        let sample = picos(scenario.measure.sample_us);
        let first_host_call = (setup.streams.len() + setup.timers.len()) as u16;
        Simulation {
            setup,
            hosts: Hosts::new(
                &setup.hosts,
                &setup.flows,
                (first_host_call, setup.timers.len()),
                run.seed,
                end,
            ),
            first_host_call,
            meter: meter(setup, sample, end),
            timers: setup.timers.iter().map(Timer::new).collect(),
            sources: sources(setup, run),
            scale: scale(setup, run),
            watched: watched(setup, &network),
            ports: [Vec::new(), Vec::new()],
            inside: [Vec::new(), Vec::new()],
            buffer_samples: vec![Vec::new(); setup.chips.len()],
            network,
            sample,
            end,
        }
    }

    fn pass_time(&mut self, progress: &mut dyn Progress) {
        (0..self.sources.len()).for_each(|index| self.schedule_next(index));
        self.schedule_timers();
        self.hosts.start(&mut self.network);
        self.network.wake_at(picos(self.setup.scenario.warm_up_us), WARM);
        if self.sample > 0 {
            self.network.wake_at(self.sample, SAMPLE);
        }
        for report in 1..=REPORTS {
            let until = (self.end as u128 * u128::from(report) / u128::from(REPORTS)) as Picos;
            loop {
                match self.network.advance(until, &mut self.meter) {
                    Stop::Wake(number) => self.wake(number),
                    Stop::Host => self.hosts.take_events(&mut self.network),
                    Stop::Until => break,
                }
            }
            progress.at(until, self.end, self.network.events());
            if report == REPORTS / 2 {
                self.inside[0] = self.inside_now();
            }
        }
        self.note_end();
        let drain = picos(self.setup.scenario.drain_us);
        self.network.settle(self.end + drain, &mut self.meter);
        self.last_round(drain);
        self.meter.end();
        if let Err(message) = self.network.audit() {
            panic!("the books do not balance: {message}");
        }
    }

    /// Traffic has ended; what is inside has not left yet.
    fn note_end(&mut self) {
        for watched in &mut self.watched {
            watched.at_end = self.network.queue(watched.place, watched.queue);
        }
        if let Some(taken) = (self.end - 1).checked_div(self.sample) {
            self.hosts.take_samples(self.end - taken * self.sample);
        }
        self.hosts.note_end();
        self.ports[1] = self.ports_so_far();
        self.inside[1] = self.inside_now();
    }

    /// Packets inside, by chip.
    fn inside_now(&self) -> Vec<u64> {
        let chips = 0..self.network.chips();
        chips.map(|chip| self.network.books(chip).inside()).collect()
    }

    fn note_warm_up(&mut self) {
        for watched in &mut self.watched {
            watched.at_warm_up = self.network.queue(watched.place, watched.queue);
        }
        self.hosts.note_warm_up();
        self.ports[0] = self.ports_so_far();
    }

    fn ports_so_far(&self) -> Vec<Vec<PortReport>> {
        let chips = (0..).zip(&self.setup.chips);
        let ports = chips.map(|(chip, setup)| {
            let ports = 0..setup.spec.ports.count;
            ports.map(|port| self.network.port(Place { chip, port })).collect()
        });
        ports.collect()
    }

    fn wake(&mut self, number: u16) {
        match number {
            SAMPLE => self.take_samples(),
            WARM => self.note_warm_up(),
            call if usize::from(call) < self.sources.len() => self.send(usize::from(call)),
            call if call >= self.first_host_call => self.hosts.wake(call, &mut self.network, &mut self.meter),
            call => self.tick(usize::from(call) - self.sources.len()),
        }
    }

    fn send(&mut self, index: usize) {
        let Some(frame) = self.sources[index].1.take() else {
            return;
        };
        let now = self.network.now();
        let tag = self.meter.sent(index, frame.len(), now);
        let payload_bytes = self.setup.streams[index].payload_bytes;
        if let Some(messages) = &mut self.meter.messages {
            messages.sent(frame, payload_bytes, now);
        }
        let place = self.setup.streams[index].place;
        if let Some(recording) = &mut self.meter.recording {
            recording.arrived(place, frame, tag, now);
        }
        self.network.arrive(place, frame, tag, &mut self.meter);
        self.schedule_next(index);
    }

    fn schedule_next(&mut self, index: usize) {
        let (source, pending) = &mut self.sources[index];
        if let Some((time, frame)) = source.next(self.scale) {
            *pending = Some(frame);
            self.network.wake_at(time, index as u16);
        }
    }

    fn take_samples(&mut self) {
        for watched in &mut self.watched {
            watched
                .samples
                .push(self.network.queue(watched.place, watched.queue).bytes);
        }
        for (chip, samples) in (0..).zip(&mut self.buffer_samples) {
            samples.push(self.network.buffer_bytes(chip).0);
        }
        self.hosts.take_samples(self.sample);
        let next = self.network.now() + self.sample;
        if next < self.end {
            self.network.wake_at(next, SAMPLE);
        }
    }

    fn results(self, seed: u64) -> Results {
        let chips = 0..self.setup.chips.len() as u16;
        let passes = |books: &Books| books.ingress_passes.max(books.egress_passes);
        Results {
            description: self.setup.scenario.description.clone(),
            seed,
            measured_us: self.measured_us(),
            sample_us: self.setup.scenario.measure.sample_us,
            events: self.network.events(),
            packet_passes: chips.clone().map(|chip| passes(self.network.books(chip))).sum(),
            sources: (0..self.sources.len()).map(|index| self.source(index)).collect(),
            flows: self.hosts.results(self.measured_us()),
            outputs: self.outputs(),
            chips: chips.map(|chip| self.chip(chip)).collect(),
            messages: self.meter.messages.as_ref().map(Messages::results),
        }
    }

    fn measured_us(&self) -> f64 {
        self.end as f64 / MICROSECOND - self.setup.scenario.warm_up_us
    }

    fn gbps(&self, bits: u64) -> f64 {
        bits as f64 / (self.measured_us() * 1e3)
    }

    pub(crate) fn name(&self, place: Place) -> String {
        format!("{}:{}", self.setup.chips[usize::from(place.chip)].name, place.port)
    }

    fn source(&self, index: usize) -> SourceResults {
        let stream = &self.setup.streams[index];
        SourceResults {
            name: stream.name.clone(),
            to: self.name(stream.place),
            sent: self.meter.sent_frames(index),
            delivered: self.meter.delivered(index),
            copies: self.meter.copies(index),
            parts: self.meter.parts(index),
            ends: self.ends(index),
            rates_gbps: self.rates(index),
            offered_gbps: self.gbps(self.meter.sent_measured_bits(index)),
            latency: self.meter.latency(index),
            reordering: self.meter.reordering(index),
        }
    }

    /// Where packets of a stream, and copies of them, have ended inside.
    fn ends(&self, stream: usize) -> BTreeMap<String, u64> {
        let lost = self.meter.lost_of(stream).map(|((place, loss), count)| {
            let name = format!("lost at {}: {}", self.name(place), loss.name());
            (name, count)
        });
        let dropped = self.meter.dropped_of(stream).map(|((place, reason), count)| {
            let errors = &self.setup.chips[usize::from(place.chip)].program.errors;
            let name = format!(
                "dropped by the program at {}: {}",
                self.name(place),
                reason.label(errors)
            );
            (name, count)
        });
        lost.chain(dropped).collect()
    }

    /// The rates that a stream was given: from when, in microseconds, and Gbps.
    fn rates(&self, stream: usize) -> Vec<(f64, f64)> {
        let rates = self.setup.streams[stream].rates.iter();
        let rate = |&(time, bits): &(Picos, u64)| (time as f64 / MICROSECOND, bits as f64 * self.scale / 1e9);
        rates.map(rate).collect()
    }

    fn outputs(&self) -> Vec<OutputResults> {
        let outputs = self.meter.outputs.iter().map(|(place, output)| OutputResults {
            port: self.name(*place),
            frames: output.frames,
            gbps: self.gbps(output.measured_bits),
            mpps: output.measured_frames as f64 / self.measured_us(),
            samples_gbps: self.samples_gbps(&output.samples_bits),
        });
        outputs.collect()
    }

    /// The rate in each sample up to the end, also in those after the last frame; the last sample may be a shorter one.
    fn samples_gbps(&self, bits: &[u64]) -> Vec<f64> {
        if self.sample == 0 {
            return Vec::new();
        }
        let begins = (0..self.end).step_by(self.sample as usize);
        let bits = bits.iter().copied().chain(std::iter::repeat(0));
        let rate = |(begins, bits): (Picos, u64)| bits as f64 * 1e3 / self.sample.min(self.end - begins) as f64;
        begins.zip(bits).map(rate).collect()
    }

    fn chip(&self, index: u16) -> ChipResults {
        let setup = &self.setup.chips[usize::from(index)];
        let books = self.network.books(index);
        let errors = &setup.program.errors;
        let dropped = books.program_drops().iter();
        let refused = self.network.refused(index).into_iter();
        let lost = self.meter.lost.iter().filter(|((place, _), _)| place.chip == index);
        ChipResults {
            name: setup.name.clone(),
            spec: setup.spec.name.clone(),
            lifted: setup.lifted.clone(),
            fitted: setup.spec.fitted(),
            unsourced: setup.spec.unsourced(),
            received: books.received,
            copies: books.copies,
            transmitted: books.transmitted,
            inside: books.inside(),
            inside_while_sending: self.inside.each_ref().map(|chips| chips[usize::from(index)]),
            lost: lost
                .map(|((place, loss), count)| (format!("{}.{}", place.port, loss.name()), *count))
                .collect(),
            dropped: dropped.map(|(reason, count)| (reason.label(errors), *count)).collect(),
            refused: refused.map(|(reason, count)| (reason.label(errors), count)).collect(),
            ports: self.ports(index),
            headroom_max_bytes: self.network.headroom_max_bytes(index),
            buffer_max_bytes: self.network.buffer_bytes(index).1,
            buffer_samples_bytes: self.buffer_samples[usize::from(index)].clone(),
            buffer_cell_bytes: self.network.cell_bytes(index),
            queues: self.queues(index),
        }
    }

    /// A time as a share of the time that is measured.
    fn share(&self, busy: Picos) -> f64 {
        busy as f64 / MICROSECOND / self.measured_us()
    }

    fn ports(&self, chip: u16) -> Vec<PortResults> {
        let [warm, end] = self.ports.each_ref().map(|ports| &ports[usize::from(chip)]);
        let of_port = |(port, (warm, end)): (u16, (&PortReport, &PortReport))| {
            let all = self.network.port(Place { chip, port });
            (all.received_frames + all.sent_frames > 0).then(|| PortResults {
                port,
                received_frames: all.received_frames,
                sent_frames: all.sent_frames,
                pauses_sent: all.pauses_sent,
                wire_utilisation: self.share(end.wire_busy_ps - warm.wire_busy_ps),
                parser_utilisation: self.share(end.parser_busy_ps - warm.parser_busy_ps),
            })
        };
        (0..).zip(warm.iter().zip(end)).filter_map(of_port).collect()
    }

    fn queues(&self, chip: u16) -> Vec<QueueResults> {
        let warm = match self.sample {
            0 => 0,
            sample => (picos(self.setup.scenario.warm_up_us) / sample) as usize,
        };
        let of_chip = self.watched.iter().filter(|watched| watched.place.chip == chip);
        of_chip.map(|watched| watched.results(warm)).collect()
    }
}

impl Watched {
    /// `warm` samples are before the measurement.
    fn results(&self, warm: usize) -> QueueResults {
        let (first, last) = (&self.at_warm_up, &self.at_end);
        let left = (last.taken - last.packets).saturating_sub(first.taken - first.packets);
        let measured = self.samples.get(warm..).unwrap_or(&[]);
        let sum: u64 = measured.iter().sum();
        QueueResults {
            port: self.place.port,
            queue: self.queue,
            taken: last.taken,
            mean_wait_ns: (left > 0).then(|| (last.waited_ps - first.waited_ps) as f64 / 1e3 / left as f64),
            max_bytes: self.samples.iter().copied().max().unwrap_or(0),
            mean_bytes: sum as f64 / measured.len().max(1) as f64,
            samples_bytes: self.samples.clone(),
        }
    }
}

/// What all rates are multiplied with.
fn scale(setup: &Setup, run: Run) -> f64 {
    let own = setup.streams.first().map_or(0, |stream| stream.rates[0].1) as f64 / 1e9;
    match run.gbps {
        Some(gbps) if own > 0.0 => gbps / own,
        _ => 1.0,
    }
}
