//! What the wire of a port takes: the streams into it together are never faster.

use crate::setup::{Reader, Setup};
use crate::source::Stream;
use forebay_chip::{Picos, Place};
use std::collections::BTreeMap;

/// The streams into each port, by their place in the setup.
fn by_port(setup: &Setup) -> BTreeMap<Place, Vec<usize>> {
    let mut ports: BTreeMap<Place, Vec<usize>> = BTreeMap::new();
    for (index, stream) in setup.streams.iter().enumerate() {
        ports.entry(stream.place).or_default().push(index);
    }
    ports
}

/// The rate of a stream at a time, in bits a second.
fn rate_at(stream: &Stream, time: Picos) -> u64 {
    let begun = stream.rates.iter().rev().find(|(begins, _)| *begins <= time);
    begun.map_or(0, |(_, rate)| *rate)
}

/// The highest sum of the rates of these streams at any time, in bits a second.
fn peak(setup: &Setup, streams: &[usize]) -> u64 {
    let sum_at = |time| streams.iter().map(|index| rate_at(&setup.streams[*index], time)).sum();
    let times = streams.iter().flat_map(|index| &setup.streams[*index].rates);
    times.map(|(time, _)| sum_at(*time)).max().unwrap_or(0)
}

/// Streams into a port cannot be faster together than its wire.
pub(crate) fn check(setup: &Setup, reader: &mut Reader<'_>) {
    let entries = setup.scenario.traffic.iter();
    let entries: Vec<_> = entries
        .flat_map(|entry| entry.to.get_ref().iter().map(move |port| (entry, port)))
        .collect();
    for (place, streams) in by_port(setup) {
        let (entry, port) = entries[streams[streams.len() - 1]];
        let spec = &setup.chips[usize::from(place.chip)].spec;
        let (line, rate) = (spec.ports.bits_per_second, peak(setup, &streams));
        if line == 0 || rate <= line {
            continue;
        }
        let of = match streams.len() {
            1 => String::new(),
            many => format!(" of {many} streams"),
        };
        reader.wrong(
            entry.gbps.span(),
            format!(
                "{} Gbps{of} do not fit into {port}: a port of {} takes {} Gbps; list several ports in `to`",
                rate as f64 / 1e9,
                spec.name,
                line as f64 / 1e9
            ),
        );
    }
}

/// The highest rate of the first stream, in Gbps, at which each port takes all streams into it when the others keep
/// their ratio to it. None when no port has a limit.
pub(crate) fn most_gbps(setup: &Setup) -> Option<f64> {
    let first = setup.streams.first()?.rates[0].1;
    let most = by_port(setup).into_values().filter_map(|streams| {
        let (line, peak) = (setup.streams[streams[0]].line_bits_per_second, peak(setup, &streams));
        (line > 0 && peak > 0).then(|| line as f64 / 1e9 * (first as f64 / peak as f64))
    });
    most.min_by(f64::total_cmp)
}

/// What sums of rates may be off by.
const ROUNDING: f64 = 1e-9;

impl Setup {
    /// Whether a [`Run`](crate::Run) may have this rate in Gbps: that of the first stream, to which the others keep
    /// their ratio.
    ///
    /// # Errors
    /// Why not, in words.
    pub fn check_rate(&self, gbps: f64) -> Result<(), String> {
        match self.streams.first().map(|stream| stream.rates[0].1) {
            None => return Err("there is no [[traffic]] whose rate could be another".to_string()),
            Some(0) => {
                return Err(
                    "the first [[traffic]] begins with a rate of 0, to which no other rate has a ratio".to_string(),
                );
            }
            Some(_) => {}
        }
        match most_gbps(self) {
            Some(most) if gbps > most * (1.0 + ROUNDING) => Err(format!(
                "a rate of {gbps} Gbps is too much: the ports take up to {most} Gbps of the first stream, with what the others send then"
            )),
            _ => Ok(()),
        }
    }
}
