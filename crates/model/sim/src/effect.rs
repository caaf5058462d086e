//! What a scenario says twice, or says without any effect: results would not show that something else was meant.

use crate::hosts::FlowEntry;
use crate::rules::RuleKeys;
use crate::scenario::{ChipEntry, FaultEntry, Scenario, SearchEntry, TimerEntry, TrafficEntry};
use crate::setup::Reader;
use crate::words::number;
use std::collections::BTreeSet;
use std::ops::Range;
use toml::Spanned;

/// The longest frame that a program can make.
const FRAME_BYTES_MAX: u32 = 65_535;

/// Names that are there twice, and keys without effect.
pub(crate) fn check(scenario: &Scenario, reader: &mut Reader<'_>) {
    let duration_us = *scenario.duration_us.get_ref();
    scenario.chip.iter().for_each(|entry| chip(entry, reader));
    streams(&scenario.traffic, duration_us, reader);
    scenario.flow.iter().for_each(|entry| flow(entry, duration_us, reader));
    scenario
        .timer
        .iter()
        .for_each(|entry| timer(entry, duration_us, reader));
    scenario.fault.iter().for_each(|entry| fault(entry, reader));
    measures(scenario, duration_us, reader);
    if let Some(entry) = &scenario.search {
        search(entry, reader);
    }
}

/// The first element that was there before.
fn twice<T: Ord>(elements: impl IntoIterator<Item = T>) -> Option<T> {
    let mut seen = BTreeSet::new();
    let mut elements = elements.into_iter();
    elements.find_map(|element| seen.replace(element))
}

fn chip(chip: &ChipEntry, reader: &mut Reader<'_>) {
    let name = &chip.name;
    if name.get_ref().contains(':') {
        let message = format!(
            "the name {:?} has a colon, which is between chip and port",
            name.get_ref()
        );
        reader.wrong(name.span(), message);
    }
    let macros = chip
        .defines
        .iter()
        .map(|define| define.split('=').next().unwrap_or("").trim());
    if let Some(name) = twice(macros) {
        reader.wrong_key(
            chip.name.span(),
            "defines",
            format!("the macro {name} is defined twice"),
        );
    }
    if let Some(file) = twice(chip.entries.iter().map(Spanned::get_ref)) {
        reader.wrong_key(chip.name.span(), "entries", format!("the file {file:?} is there twice"));
    }
    for port in &chip.port {
        if port.queues.as_ref().is_some_and(Vec::is_empty) {
            let message = "queues is empty; a port has 1 to 8 queues, and eight strict ones without the key";
            reader.wrong_key(port.numbers.span(), "queues", message);
        }
    }
    if let Some(pfc) = &chip.pfc
        && let Some(queue) = twice(pfc.queues.get_ref())
    {
        reader.wrong(pfc.queues.span(), format!("queue {queue} of [chip.pfc] is there twice"));
    }
    fit(&chip.rule_keys(), reader);
}

/// A reason lifts no rule by itself.
fn fit(keys: &RuleKeys<'_>, reader: &mut Reader<'_>) {
    if let Some(reason) = keys.ignore_fit_reason.filter(|_| !keys.ignore_fit) {
        let message = "ignore_fit_reason does nothing without ignore_fit = true";
        reader.wrong(reason.span(), message);
    }
}

/// Results tell streams apart by the name of their traffic and by their port.
fn streams(traffic: &[TrafficEntry], duration_us: f64, reader: &mut Reader<'_>) {
    let mut names = BTreeSet::new();
    for entry in traffic {
        let name = entry.name.get_ref();
        if !names.insert(name) {
            reader.wrong(
                entry.name.span(),
                format!("there are two [[traffic]] {name:?}; results would not tell them apart"),
            );
        }
        if let Some(port) = twice(entry.to.get_ref()) {
            let message = format!("{port:?} is there twice in `to`; a second stream is a [[traffic]] of its own");
            reader.wrong(entry.to.span(), message);
        }
        begins_in_time(entry.name.span(), entry.start_us, duration_us, reader);
        if let Some(pair) = entry.steps.windows(2).find(|pair| pair[0].0 == pair[1].0) {
            let message = format!(
                "two steps are at {} us; the first of them does nothing",
                number(pair[0].0)
            );
            reader.wrong_key(entry.name.span(), "steps", message);
        }
    }
}

fn begins_in_time(near: Range<usize>, start_us: f64, duration_us: f64, reader: &mut Reader<'_>) {
    if start_us >= duration_us {
        let message = format!(
            "start_us is {}; nothing is sent from then on, since duration_us is {}",
            number(start_us),
            number(duration_us)
        );
        reader.wrong_key(near, "start_us", message);
    }
}

fn flow(flow: &FlowEntry, duration_us: f64, reader: &mut Reader<'_>) {
    begins_in_time(flow.name.span(), flow.start_us, duration_us, reader);
}

/// The first packet comes after an interval.
fn timer(timer: &TimerEntry, duration_us: f64, reader: &mut Reader<'_>) {
    if timer.interval_ns >= duration_us * 1e3 && !timer.last_round {
        let message = format!(
            "interval_ns is {}; the timer sends nothing within duration_us, which is {}",
            number(timer.interval_ns),
            number(duration_us)
        );
        reader.wrong_key(timer.port.span(), "interval_ns", message);
    }
}

fn fault(fault: &FaultEntry, reader: &mut Reader<'_>) {
    if fault.bytes.0 > FRAME_BYTES_MAX {
        let message = format!(
            "bytes begins at {}; no frame has more than {FRAME_BYTES_MAX} bytes",
            fault.bytes.0
        );
        reader.wrong_key(fault.port.span(), "bytes", message);
    }
}

fn measures(scenario: &Scenario, duration_us: f64, reader: &mut Reader<'_>) {
    let measure = &scenario.measure;
    let mut ports = BTreeSet::new();
    for port in &measure.queues {
        if !ports.insert(port.get_ref()) {
            reader.wrong(port.span(), format!("{:?} is there twice in queues", port.get_ref()));
        }
    }
    let distances = &measure.reordering_distances;
    if let Some(distance) = twice(distances.get_ref()) {
        reader.wrong(
            distances.span(),
            format!("{distance} is there twice in reordering_distances"),
        );
    }
    if measure.sample_us > duration_us {
        let near = reader.table("[measure]").unwrap_or(scenario.duration_us.span());
        let message = format!(
            "sample_us is {}; no sample is taken within duration_us, which is {}",
            number(measure.sample_us),
            number(duration_us)
        );
        reader.wrong_key(near, "sample_us", message);
    }
}

/// A search that is not repeated knows no confidence.
fn search(search: &SearchEntry, reader: &mut Reader<'_>) {
    if search.confidence.is_some() {
        return;
    }
    let keys = [
        ("within", search.within.is_some()),
        ("searches_max", search.searches_max.is_some()),
        ("lengths_max", search.lengths_max.is_some()),
    ];
    for (key, _) in keys.iter().filter(|(_, is_given)| *is_given) {
        let message = format!("{key} does nothing without confidence, which repeats the search");
        reader.wrong_key(search.to_gbps.span(), key, message);
    }
}
