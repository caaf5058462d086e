//! What can be wrong with a scenario although it can be read.

use crate::certainty::{LEVELS, SEARCHES_MAX};
use crate::line_rate;
use crate::scenario::{ArrivalsEntry, ChipEntry, QueueEntry, Scenario, TrafficEntry};
use crate::setup::{Reader, Setup, picos, queue_configs};
use forebay_chip::{ChipSpec, Loss, Network, NoObserver, Picos, Place, PortConfig};
use std::collections::BTreeSet;

/// The most queues of a port: `standard_metadata.priority` has three bits.
const QUEUES_MAX: usize = 8;

/// The longest simulation that is taken for meant: a minute of simulated time.
const DURATION_MAX_US: f64 = 60e6;

/// The most groups of ports: one for each port.
const ALIKE_MAX: u32 = 511;

/// The largest rate of a stream.
const RATE_MAX_GBPS: f64 = 10_000.0;

/// The longest delay of a wire: a second.
const DELAY_MAX_NS: f64 = 1e9;

/// The least rate of a port, a link or a host's line.
const PORT_RATE_MIN_GBPS: f64 = 0.001;

/// The least rate of a stream that sends: a bit a millisecond.
const STREAM_RATE_MIN_GBPS: f64 = 1e-6;

/// The shortest mean time without pauses: less than the shortest frame takes.
const ON_MIN_US: f64 = 0.001;

/// The most runs of each load of a search.
const SEEDS_MAX: u32 = 1_000;

/// The most lengths of trials: the last is a thousand times the first.
const LENGTHS_MAX: u32 = 6;

/// The most frames that come out for one that goes in.
const DELIVERED_PER_SENT_MAX: f64 = 65_536.0;

/// Numbers that the packets of a timer may have.
const TIMER_PACKETS_MAX: u32 = 1 << 20;

/// A single frame that passes ingress more often, its copies included, goes round for ever; programs may recirculate as
/// often (`forebay_pipeline::Options::recirculate_limit`).
const LOOP_PASSES: u64 = 10_000;

/// Simulated time after which passes are counted.
const LOOP_STEP: Picos = 1_000_000;

/// Samples of a run that are kept.
const SAMPLES_MAX: f64 = 100_000.0;

/// Whether a wire can have this rate; 0 stands for that of the port.
pub(crate) fn is_wire_rate(gbps: f64) -> bool {
    gbps == 0.0 || (PORT_RATE_MIN_GBPS..=RATE_MAX_GBPS).contains(&gbps)
}

/// Whether a wire can have this delay.
pub(crate) fn is_delay(nanoseconds: f64) -> bool {
    (0.0..=DELAY_MAX_NS).contains(&nanoseconds)
}

/// What rates and delays of wires can be, for messages.
pub(crate) fn wire_limits() -> String {
    format!(
        "gbps is {PORT_RATE_MIN_GBPS} to {RATE_MAX_GBPS}, or 0 for the rate of the port; delay_ns is 0 to {DELAY_MAX_NS}"
    )
}

/// Whether a time lies within the longest simulation.
pub(crate) fn is_time(microseconds: f64) -> bool {
    (0.0..=DURATION_MAX_US).contains(&microseconds)
}

/// Numbers that make no sense.
pub(crate) fn numbers(scenario: &Scenario, reader: &mut Reader<'_>) {
    let duration = *scenario.duration_us.get_ref();
    let span = scenario.duration_us.span();
    if !(duration > 0.0 && duration <= DURATION_MAX_US) {
        reader.wrong(
            span,
            format!("duration_us is {duration}; it must be more than 0 and at most {DURATION_MAX_US}"),
        );
    } else if !(0.0..duration).contains(&scenario.warm_up_us) {
        let warm_up = scenario.warm_up_us;
        reader.wrong(
            span,
            format!("warm_up_us is {warm_up}; it must be less than the duration of {duration}"),
        );
    } else if !is_time(scenario.drain_us) {
        let drain = scenario.drain_us;
        reader.wrong(span, format!("drain_us is {drain}; it must be 0 to {DURATION_MAX_US}"));
    } else if !is_time(scenario.measure.sample_us) {
        let sample = scenario.measure.sample_us;
        reader.wrong(
            span,
            format!("sample_us is {sample}; it must be 0 to {DURATION_MAX_US}"),
        );
    } else if scenario.measure.sample_us > 0.0 && duration / scenario.measure.sample_us > SAMPLES_MAX {
        reader.wrong(
            span,
            format!("sample_us gives more than {SAMPLES_MAX} samples; make it larger"),
        );
    }
    if scenario.chip.is_empty() {
        reader.problems.push(crate::Problem {
            line: None,
            message: "there is no chip; a scenario has at least one [[chip]]".to_string(),
        });
    }
    let is_silent = scenario.traffic.is_empty() && scenario.timer.is_empty() && scenario.flow.is_empty();
    if is_silent != reader.is_cosimulation {
        let message = match is_silent {
            true => "there is no traffic; a scenario has at least one [[traffic]], [[timer]] or [[flow]]",
            false => "in a co-simulation frames come from outside; remove [[traffic]], [[timer]] and [[flow]]",
        };
        reader.problems.push(crate::Problem {
            line: None,
            message: message.to_string(),
        });
    }
    let messages = &scenario.measure.messages;
    let carries_messages = |entry: &TrafficEntry| entry.frame.get_ref().udp.is_none();
    if *messages.get_ref() && !scenario.traffic.iter().any(carries_messages) {
        reader.wrong(
            messages.span(),
            "no stream carries messages to follow; their frames are message, n-packet or pcap",
        );
    }
    links_and_traffic(scenario, reader);
    search(scenario, reader);
}

fn links_and_traffic(scenario: &Scenario, reader: &mut Reader<'_>) {
    let mut names = BTreeSet::new();
    for chip in &scenario.chip {
        if !names.insert(chip.name.get_ref()) {
            reader.wrong(
                chip.name.span(),
                format!("there are two chips {:?}", chip.name.get_ref()),
            );
        }
    }
    for link in &scenario.link {
        if !(0.0..=1.0).contains(&link.loss) {
            reader.wrong(
                link.from.span(),
                format!("loss is {}; it is a share from 0 to 1", link.loss),
            );
        }
        if !is_wire_rate(link.gbps) || !is_delay(link.delay_ns) {
            reader.wrong(link.from.span(), format!("of a link, {}", wire_limits()));
        }
    }
    for fault in &scenario.fault {
        let shares = [fault.loss, fault.duplication, fault.delay];
        if !(shares.iter().all(|share| (0.0..=1.0).contains(share)) && is_delay(fault.delay_ns)) {
            let message = format!(
                "loss, duplication and delay of a fault are shares from 0 to 1, delay_ns is 0 to {DELAY_MAX_NS}"
            );
            reader.wrong(fault.port.span(), message);
        }
    }
    for timer in &scenario.timer {
        let interval_us = timer.interval_ns / 1e3;
        if !(timer.interval_ns >= 1.0 && is_time(interval_us) && (1..=TIMER_PACKETS_MAX).contains(&timer.packets)) {
            reader.wrong(
                timer.port.span(),
                format!("a timer has an interval_ns of at least 1 and at most a minute, and 1 to {TIMER_PACKETS_MAX} packets"),
            );
        }
    }
    for traffic in &scenario.traffic {
        let is_rate = |gbps: f64| gbps == 0.0 || (STREAM_RATE_MIN_GBPS..=RATE_MAX_GBPS).contains(&gbps);
        if !is_rate(*traffic.gbps.get_ref()) || traffic.steps.iter().any(|(_, gbps)| !is_rate(*gbps)) {
            let message = format!("a rate is 0, or {STREAM_RATE_MIN_GBPS} to {RATE_MAX_GBPS} Gbps");
            reader.wrong(traffic.gbps.span(), message);
        }
        match traffic.arrivals {
            ArrivalsEntry::Bursts { frames: 0 } => reader.wrong(traffic.gbps.span(), "a burst has at least a frame"),
            ArrivalsEntry::OnOff { on_us } if !(ON_MIN_US..=DURATION_MAX_US).contains(&on_us) => {
                let message = format!("on_us of arrivals is {ON_MIN_US} to {DURATION_MAX_US}");
                reader.wrong(traffic.gbps.span(), message);
            }
            _ => {}
        }
        if !is_time(traffic.start_us) {
            reader.wrong(traffic.name.span(), format!("start_us is 0 to {DURATION_MAX_US}"));
        }
        if let Some(stop) = &traffic.stop_us
            && *stop.get_ref() <= traffic.start_us
        {
            let (stop_us, start_us) = (stop.get_ref(), traffic.start_us);
            let message = format!("stop_us is {stop_us}; it must be more than start_us, which is {start_us}");
            reader.wrong(stop.span(), message);
        }
        let times: Vec<f64> = traffic.steps.iter().map(|(time, _)| *time).collect();
        if !times.is_sorted()
            || times.iter().any(|time| !is_time(*time))
            || times.first().is_some_and(|first| *first < traffic.start_us)
        {
            reader.wrong(traffic.gbps.span(), "steps are in order of time, none before start_us");
        }
    }
}

fn search(scenario: &Scenario, reader: &mut Reader<'_>) {
    let Some(search) = &scenario.search else { return };
    let (from, to) = (search.from_gbps, *search.to_gbps.get_ref());
    if !(from >= 0.0 && to > from && to <= RATE_MAX_GBPS) {
        let message = format!("to_gbps is larger than from_gbps, which is not negative, and at most {RATE_MAX_GBPS}");
        reader.wrong(search.to_gbps.span(), message);
    }
    let tolerance = *search.tolerance_gbps.get_ref();
    if !(tolerance > 0.0 && tolerance <= to) {
        reader.wrong(
            search.tolerance_gbps.span(),
            "tolerance_gbps is more than 0 and at most to_gbps",
        );
    }
    if !(0.0..1.0).contains(&search.missing_share) {
        let message = format!("missing_share is {}; it is a share, less than 1", search.missing_share);
        reader.wrong(search.to_gbps.span(), message);
    }
    if let Some(frames) = search.delivered_per_sent
        && !(frames > 0.0 && frames <= DELIVERED_PER_SENT_MAX)
    {
        let message = format!("delivered_per_sent is {frames}; it is more than 0 and at most {DELIVERED_PER_SENT_MAX}");
        reader.wrong(search.to_gbps.span(), message);
    }
    if !(1..=SEEDS_MAX).contains(&search.seeds) || !(1..=LENGTHS_MAX).contains(&search.lengths_max) {
        let message = format!("seeds is 1 to {SEEDS_MAX}, lengths_max is 1 to {LENGTHS_MAX}");
        reader.wrong(search.to_gbps.span(), message);
    }
    let Some(confidence) = &search.confidence else { return };
    if !LEVELS.contains(confidence.get_ref()) {
        let message = format!("confidence is {}; it is 0.9, 0.95 or 0.99", confidence.get_ref());
        reader.wrong(confidence.span(), message);
    }
    if !(search.within > 0.0 && search.within <= 1.0 && (3..=SEARCHES_MAX).contains(&search.searches_max)) {
        let message = format!("within is more than 0 and at most 1, searches_max is 3 to {SEARCHES_MAX}");
        reader.wrong(confidence.span(), message);
    }
}

/// The ports of a chip that are configured.
pub(crate) fn ports(entry: &ChipEntry, spec: &ChipSpec, reader: &mut Reader<'_>) -> Vec<PortConfig> {
    let mut configs = Vec::new();
    let mut seen = BTreeSet::new();
    for port in &entry.port {
        let span = port.numbers.span();
        if !is_wire_rate(port.gbps) {
            let message = format!(
                "gbps of a port is {PORT_RATE_MIN_GBPS} to {RATE_MAX_GBPS}, or 0 for the rate of the chip's ports"
            );
            reader.wrong(span.clone(), message);
        }
        if port.queues.len() > QUEUES_MAX {
            reader.wrong(span.clone(), format!("a port has at most {QUEUES_MAX} queues"));
        }
        let zero = |queue: &QueueEntry| queue.quantum_bytes == Some(0) || queue.weight == Some(0);
        if port.queues.iter().any(zero) {
            reader.wrong(
                span.clone(),
                "a queue with a weight of 0, or a quantum of 0 bytes, would never be served; it is at least 1",
            );
        }
        if port
            .queues
            .iter()
            .any(|queue| queue.quantum_bytes.is_some() && queue.weight.is_some())
        {
            reader.wrong(span.clone(), "a queue has a weight or a quantum_bytes, not both");
        }
        for &number in port.numbers.get_ref() {
            if number >= spec.ports.count {
                let last = spec.ports.count - 1;
                reader.wrong(
                    span.clone(),
                    format!("{} has no port {number}; its ports are 0 to {last}", spec.name),
                );
            } else if !seen.insert(number) {
                reader.wrong(span.clone(), format!("port {number} is configured twice"));
            }
            configs.push(PortConfig {
                number,
                loopback: port.loopback,
                bits_per_second: (port.gbps * 1e9) as u64,
                queues: queue_configs(port, spec),
            });
        }
    }
    configs
}

/// How many groups of ports are alike.
pub(crate) fn alike(entry: &ChipEntry, reader: &mut Reader<'_>) -> u32 {
    let Some(alike) = &entry.alike else { return 1 };
    if !(1..=ALIKE_MAX).contains(alike.get_ref()) {
        reader.wrong(
            alike.span(),
            format!("alike is {}; it is 1 to {ALIKE_MAX}", alike.get_ref()),
        );
    }
    *alike.get_ref()
}

/// Times and rates of a traffic entry; see [`crate::source::Stream::rates`].
pub(crate) fn rates(entry: &TrafficEntry, duration_us: f64) -> Vec<(Picos, u64)> {
    let bits = |gbps: f64| (gbps * 1e9) as u64;
    let stop = entry
        .stop_us
        .as_ref()
        .map_or(duration_us, |stop| *stop.get_ref())
        .min(duration_us);
    let mut rates = vec![(picos(entry.start_us), bits(*entry.gbps.get_ref()))];
    let steps = entry.steps.iter().filter(|(time, _)| *time < stop);
    rates.extend(steps.map(|(time, gbps)| (picos(*time), bits(*gbps))));
    rates.push((picos(stop), 0));
    rates
}

/// Loads everything once, and looks for what the chips lack.
pub(crate) fn trial(setup: &Setup, reader: &mut Reader<'_>) {
    let mut network = match setup.network(0) {
        Ok(network) => network,
        Err((chip, message)) => {
            let entry = chip.map(|chip| &setup.scenario.chip[chip].program);
            return match entry {
                Some(program) => reader.wrong(program.span(), message),
                None => reader.problems.push(crate::Problem { line: None, message }),
            };
        }
    };
    for ((index, chip), entry) in (0..).zip(&setup.chips).zip(&setup.scenario.chip) {
        if network.pipeline(index).resubmits() && chip.spec.parser.resubmit_buffer_packets == 0 {
            let message = format!(
                "the program resubmits packets, and {} has no buffer for them",
                chip.spec.name
            );
            reader.wrong(entry.program.span(), message);
        }
    }
    ceiling(setup, reader);
    loops(setup, &mut network, reader);
}

/// A search must not offer more than the ports take.
fn ceiling(setup: &Setup, reader: &mut Reader<'_>) {
    let (Some(search), Some(most)) = (&setup.scenario.search, line_rate::most_gbps(setup)) else {
        return;
    };
    let to = *search.to_gbps.get_ref();
    if to > most {
        reader.wrong(
            search.to_gbps.span(),
            format!("to_gbps is {to}; the ports take the streams up to {most} Gbps each"),
        );
    }
}

/// Sends the first frame of each stream alone through the network: does it ever come to an end?
fn loops(setup: &Setup, network: &mut Network, reader: &mut Reader<'_>) {
    let entries = setup.scenario.traffic.iter();
    let entries = entries.flat_map(|entry| entry.to.get_ref().iter().map(move |_| entry));
    for (stream, entry) in setup.streams.iter().zip(entries) {
        let Some(frame) = stream.frames.first() else { continue };
        let goes_round = goes_round(network, stream.place, frame);
        if let Some(chip) = (0..network.chips()).find(|chip| network.books(*chip).lost(Loss::ResubmittedTooOften) > 0) {
            let spec = &setup.chips[usize::from(chip)].spec;
            let message = format!(
                "a frame of {:?} is resubmitted more often than {} permits (max_resubmissions = {}); max_resubmissions lifts the rule, with a max_resubmissions_reason",
                entry.name.get_ref(),
                spec.name,
                spec.parser.max_resubmissions
            );
            return reader.wrong(setup.scenario.chip[usize::from(chip)].program.span(), message);
        }
        if goes_round {
            let message = format!(
                "a frame of {:?} goes round for ever: alone in the network it has passed ingress {LOOP_PASSES} times",
                entry.name.get_ref()
            );
            return reader.wrong(entry.to.span(), message);
        }
    }
}

/// Whether a frame, with its copies, passes ingress very often.
fn goes_round(network: &mut Network, place: Place, frame: &[u8]) -> bool {
    let chips = 0..network.chips();
    let passes = |network: &Network| -> u64 { chips.clone().map(|chip| network.books(chip).ingress_passes).sum() };
    let before = passes(network);
    network.arrive(place, frame, 0, &mut NoObserver);
    let mut until = network.now();
    while !network.is_idle() {
        if passes(network) - before > LOOP_PASSES {
            return true;
        }
        // So short that copies of copies cannot become too many meanwhile.
        until += LOOP_STEP;
        network.settle(until, &mut NoObserver);
    }
    false
}
