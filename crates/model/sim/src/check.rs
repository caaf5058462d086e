//! What can be wrong with a scenario although it can be read.

use crate::pair::Pair;
use crate::scenario::{ChipEntry, PortEntry, QueueEntry, TrafficEntry};
use crate::setup::{Reader, Setup, picos, queue_configs};
use forebay_chip::{ChipSpec, Loss, Network, NoObserver, Picos, Place, PortConfig};
use std::collections::BTreeSet;

/// The most queues of a port: `standard_metadata.priority` has three bits.
const QUEUES_MAX: usize = 8;

/// The most groups of ports: one for each port.
const ALIKE_MAX: u32 = 511;

/// A single frame that passes ingress more often, its copies included, goes round for ever; programs may recirculate as
/// often (`forebay_pipeline::Options::recirculate_limit`).
const LOOP_PASSES: u64 = 10_000;

/// Simulated time after which passes are counted.
const LOOP_STEP: Picos = 1_000_000;

/// The ports of a chip that are configured.
pub(crate) fn ports(entry: &ChipEntry, spec: &ChipSpec, reader: &mut Reader<'_>) -> Vec<PortConfig> {
    let mut configs = Vec::new();
    let mut seen = BTreeSet::new();
    for port in &entry.port {
        let span = port.numbers.span();
        reader.wire_rate(span.clone(), port.gbps);
        reader.port_rate(span.clone(), port.gbps, spec);
        if port.numbers.get_ref().is_empty() {
            reader.wrong(span.clone(), "numbers is empty; name the ports that are alike");
        }
        queues(port, spec, reader);
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

/// Queues that the chip's scheduler can serve.
fn queues(port: &PortEntry, spec: &ChipSpec, reader: &mut Reader<'_>) {
    let mut wrong = |message: String| reader.wrong_key(port.numbers.span(), "queues", message);
    if port.queues().len() > QUEUES_MAX {
        wrong(format!("a port has at most {QUEUES_MAX} queues"));
    }
    let zero = |queue: &QueueEntry| queue.quantum_bytes == Some(0) || queue.weight == Some(0);
    if port.queues().iter().any(zero) {
        wrong(
            "a queue with a weight of 0, or a quantum of 0 bytes, would never be served; it is at least 1".to_string(),
        );
    }
    let has_both = |queue: &QueueEntry| queue.quantum_bytes.is_some() && queue.weight.is_some();
    if port.queues().iter().any(has_both) {
        wrong("a queue has a weight or a quantum_bytes, not both".to_string());
    }
    let most = spec.scheduler.max_weight;
    let heaviest = port.queues().iter().filter_map(|queue| queue.weight).max();
    if let Some(weight) = heaviest.filter(|weight| most > 0 && *weight > most) {
        wrong(format!(
            "a queue has the weight {weight}; on {} it is 1 to {most}, and quantum_bytes takes any number of bytes",
            spec.name
        ));
    }
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
    let steps = entry.steps.iter().filter(|Pair(time, _)| *time < stop);
    rates.extend(steps.map(|Pair(time, gbps)| (picos(*time), bits(*gbps))));
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

/// A search changes the load, and does not offer more than the ports take.
fn ceiling(setup: &Setup, reader: &mut Reader<'_>) {
    let Some(search) = &setup.scenario.search else { return };
    if !reader.is_cosimulation
        && let Err(why) = setup.check_rate(*search.to_gbps.get_ref())
    {
        reader.wrong(search.to_gbps.span(), format!("to_gbps: {why}"));
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
