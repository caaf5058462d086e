//! Two results of one test, side by side.
//!
//! A trial counts for a quantity only where it has a value: a latency needs frames that the machine did not disturb, a
//! loss ratio frames that were due. Without such trials on one side, the difference is not known.
//!
//! What only one of the results has (a stream at a port, a goal, a frame size) is named.
//!
//! A search has one result for each goal or frame size, of whose error nothing is known; so has a test of a bridge
//! (RFC 2889). Bursts and recoveries, which are repeated, are compared as trials are.

use super::difference::{Difference, Estimate, Quantity, alone, quantile, share};
use crate::results::{PathResults, Results, TrialResults};
use crate::search::SearchResults;
use crate::search::rfc2544::{LatencyResults, SizeResults};
use crate::search::rfc2889::BridgeResults;

/// Why trials are without a latency, a loss ratio, or a result of their search.
const NOTHING_CAME: &str = "no frame came undisturbed";
const NOTHING_DUE: &str = "no frame was due";
const NO_LOAD: &str = "no load was good";

const LOAD: Quantity = Quantity::searched("highest load (pps)", NO_LOAD);
const THROUGHPUT: Quantity = Quantity::searched("throughput (pps)", NO_LOAD);
const BURST: Quantity = Quantity::measured("burst (frames)", NO_LOAD);
const RECOVERY: Quantity = Quantity::measured("recovery (ns)", "no loss came to an end");
const CAPACITY: Quantity = Quantity::searched("addresses learned", "");
const LEARNING: Quantity = Quantity::searched("learning rate (1/s)", "");
const BROADCAST: Quantity = Quantity::searched("broadcast frames (pps)", "no load was good, or none was offered,");

const RECEIVED: Quantity = Quantity::measured("received (pps)", NOTHING_CAME);
const LOSS: Quantity = Quantity::measured("loss ratio", NOTHING_DUE);
const P50: Quantity = Quantity::measured("latency 50 % (ns)", NOTHING_CAME);
const P99: Quantity = Quantity::measured("latency 99 % (ns)", NOTHING_CAME);
const P99_9: Quantity = Quantity::measured("latency 99.9 % (ns)", NOTHING_CAME);

/// A quantity of a path, which trials without such frames do not have.
type OfPath = (Quantity, fn(&PathResults) -> Option<Estimate>);

/// The tests of a bridge.
const BRIDGE: &str = "bridge (RFC 2889)";

/// A quantity of a bridge.
type OfBridge = (Quantity, fn(&BridgeResults) -> Option<f64>);

const OF_BRIDGES: [OfBridge; 3] = [
    (CAPACITY, |bridge| Some(bridge.caching_capacity as f64)),
    (LEARNING, |bridge| Some(bridge.learning_rate_per_s)),
    (BROADCAST, |bridge| bridge.broadcast_pps),
];

/// A quantity of a frame size, with a value for each time that it was measured.
type OfSize = (Quantity, fn(&SizeResults) -> Vec<f64>);

const OF_SIZES: [OfSize; 5] = [
    (THROUGHPUT, |size| size.throughput_pps.into_iter().collect()),
    (P50, |size| latency(size, |found| found.typical_ns)),
    (P99_9, |size| latency(size, |found| found.worst_case_ns)),
    (BURST, |size| numbers(&size.back_to_back.frames)),
    (RECOVERY, |size| {
        size.recovery
            .as_ref()
            .map_or(Vec::new(), |found| numbers(&found.each_ns))
    }),
];

const OF_PATHS: [OfPath; 5] = [
    (RECEIVED, |path| Some((path.received_pps, None))),
    (LOSS, |path| share(path.loss_ratio, path.expected)),
    (P50, |path| quantile(&path.latency.to_histogram(), 0.5)),
    (P99, |path| quantile(&path.latency.to_histogram(), 0.99)),
    (P99_9, |path| quantile(&path.latency.to_histogram(), 0.999)),
];

/// A latency at the throughput; none when the sender was late, or no frame came.
fn latency(size: &SizeResults, value: fn(&LatencyResults) -> Option<u64>) -> Vec<f64> {
    let at_throughput = size.latency.iter().filter(|found| found.share >= 1.0 && !found.is_late);
    at_throughput.filter_map(value).map(|ns| ns as f64).collect()
}

fn numbers(whole: &[u64]) -> Vec<f64> {
    whole.iter().map(|number| *number as f64).collect()
}

/// The differences of two results: path by path, goal by goal, size by size, bridges, and then what one of them has
/// alone. None when they have nothing in common.
pub fn differences(before: &Results, after: &Results) -> Vec<Difference> {
    let mut differences = of_trials(before, after);
    differences.extend(of_searches(before, after));
    differences.extend(of_bridges(before, after));
    if !differences.is_empty() {
        let (old, new) = (names(before), names(after));
        differences.extend(alone(&old, &new));
    }
    differences
}

/// Streams at ports, goals, frame sizes and the bridge of a result.
fn names(results: &Results) -> Vec<String> {
    let streams = results.trials.first().into_iter().flat_map(|trial| &trial.streams);
    let paths = streams.flat_map(|stream| stream.paths.iter().map(move |path| path_name(&stream.name, path.port)));
    let goals = results.searches.iter().map(|found| goal_name(&found.goal));
    let sizes = results.rfc2544.iter().map(|size| size_name(size.frame_bytes));
    let bridge = results.rfc2889.iter().map(|_| BRIDGE.to_string());
    paths.chain(goals).chain(sizes).chain(bridge).collect()
}

fn path_name(stream: &str, port: Option<u32>) -> String {
    port.map_or(stream.to_string(), |port| format!("{stream}, port {port}"))
}

fn goal_name(goal: &str) -> String {
    format!("goal {goal}")
}

fn size_name(frame_bytes: usize) -> String {
    format!("frames of {frame_bytes} bytes")
}

/// What searches have found for goals and frame sizes that both results have.
fn of_searches(before: &Results, after: &Results) -> Vec<Difference> {
    let mut differences = Vec::new();
    for old in &before.searches {
        let Some(new) = after.searches.iter().find(|new| new.goal == old.goal) else {
            continue;
        };
        let load = |found: &SearchResults| found.lower_bound_pps.into_iter().collect::<Vec<f64>>();
        let path = goal_name(&old.goal);
        differences.push(Difference::of_values(&path, LOAD, &load(old), &load(new)));
    }
    for old in &before.rfc2544 {
        let Some(new) = after.rfc2544.iter().find(|new| new.frame_bytes == old.frame_bytes) else {
            continue;
        };
        let path = size_name(old.frame_bytes);
        let compared =
            |(quantity, values): &OfSize| Difference::of_values(&path, *quantity, &values(old), &values(new));
        differences.extend(OF_SIZES.iter().map(compared));
    }
    // That a search found no load on either side is a result.
    let was_searched = |found: &Difference| [LOAD, THROUGHPUT].contains(&found.quantity);
    differences.retain(|found| found.before.is_some() || found.after.is_some() || was_searched(found));
    differences
}

/// What tests of a bridge have found, if both results have them.
fn of_bridges(before: &Results, after: &Results) -> Vec<Difference> {
    let Some((old, new)) = before.rfc2889.as_ref().zip(after.rfc2889.as_ref()) else {
        return Vec::new();
    };
    let once = |value: Option<f64>| value.into_iter().collect::<Vec<f64>>();
    let compared =
        |(quantity, value): &OfBridge| Difference::of_values(BRIDGE, *quantity, &once(value(old)), &once(value(new)));
    OF_BRIDGES.iter().map(compared).collect()
}

fn of_trials(before: &Results, after: &Results) -> Vec<Difference> {
    let mut differences = Vec::new();
    let Some(first) = before.trials.first() else {
        return differences;
    };
    for (stream, paths) in first.streams.iter().map(|stream| (&stream.name, &stream.paths)) {
        for port in paths.iter().map(|path| path.port) {
            let of = |results: &Results| paths_of(&results.trials, stream, port);
            let (old, new) = (of(before), of(after));
            if old.is_empty() || new.is_empty() {
                continue;
            }
            let path = path_name(stream, port);
            let compared = |(quantity, value): &OfPath| {
                let estimates = |paths: &[PathResults]| paths.iter().filter_map(value).collect::<Vec<Estimate>>();
                Difference::of(&path, *quantity, &estimates(&old), &estimates(&new))
            };
            differences.extend(OF_PATHS.iter().map(compared));
        }
    }
    differences
}

fn paths_of(trials: &[TrialResults], stream: &str, port: Option<u32>) -> Vec<PathResults> {
    let streams = trials
        .iter()
        .flat_map(|trial| &trial.streams)
        .filter(|own| own.name == stream);
    streams
        .flat_map(|stream| stream.paths.iter().filter(|path| path.port == port).cloned())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::super::difference::table;
    use super::*;
    use serde_json::json;

    /// Results of searches and of RFC 2544 have no trials of their own.
    #[test]
    fn searches_are_compared() {
        let search = |pps: Option<f64>| {
            json!({
                "goal": "ndr", "loss_ratio": 0.0, "exceed_ratio": 0.5, "width": 0.005, "lower_bound_pps": pps,
                "upper_bound_pps": null, "conditional_throughput_pps": null, "limited_by": "device",
                "is_complete": true, "trials": [],
            })
        };
        let results = |pps: Option<f64>, frames: [u64; 3]| -> Results {
            let back_to_back = json!({
                "frames": frames, "mean_frames": 0.0, "standard_deviation": 0.0, "at_least": false,
                "implied_buffer_s": 0.0, "corrected_buffer_s": 0.0,
            });
            let size = json!({
                "frame_bytes": 60, "throughput_pps": pps, "limited_by": "device", "latency": [], "loss": [],
                "back_to_back": back_to_back, "search": search(pps),
            });
            let all = json!({
                "format": crate::results::FORMAT, "description": "", "device": "", "seed": 0, "self_test": null,
                "trials": [], "searches": [search(pps)], "rfc2544": [size], "injected": null,
            });
            serde_json::from_value(all).expect("results")
        };
        let found = differences(&results(Some(1000.0), [9, 10, 11]), &results(None, [19, 20, 21]));
        let shown: Vec<_> = found
            .iter()
            .map(|found| (found.path.as_str(), found.quantity, found.before, found.after))
            .collect();
        let size = "frames of 60 bytes";
        assert_eq!(
            shown,
            [
                ("goal ndr", LOAD, Some(1000.0), None),
                (size, THROUGHPUT, Some(1000.0), None),
                (size, BURST, Some(10.0), Some(20.0)),
            ]
        );
        assert!(found[2].is_significant() && found[2].between_trials);
        let text = table(&found);
        assert!(text.contains("not known: no load was good after"), "{text}");
        assert!(
            text.contains("\n* burst (frames)") && text.contains("\n* the interval leaves out 0: "),
            "{text}"
        );
        let none = results(None, [1; 3]);
        let both = differences(&none, &none);
        let quantities: Vec<_> = both.iter().map(|found| found.quantity).collect();
        assert_eq!(quantities, [LOAD, THROUGHPUT, BURST]);
        let text = table(&both);
        assert!(text.contains("not known: no load was good before and after"), "{text}");
        let same = differences(&results(Some(1.0), [1; 3]), &results(Some(2.0), [1; 3]));
        assert!(table(&same).contains("not known: it was searched once"));
    }

    #[test]
    fn bridges_are_compared() {
        let results = |bridge: Option<BridgeResults>| -> Results {
            let all = json!({
                "format": crate::results::FORMAT, "description": "", "device": "", "seed": 0, "self_test": null,
                "trials": [], "searches": [], "rfc2544": [], "rfc2889": bridge, "injected": null,
            });
            serde_json::from_value(all).expect("results")
        };
        let bridge = |caching_capacity, broadcast_pps| {
            results(Some(BridgeResults {
                caching_capacity,
                learning_rate_per_s: 5000.0,
                broadcast_pps,
                ..BridgeResults::default()
            }))
        };
        let found = differences(&bridge(100, Some(2000.0)), &bridge(400, None));
        let shown: Vec<_> = found
            .iter()
            .map(|found| (found.quantity, found.before, found.after))
            .collect();
        assert_eq!(
            shown,
            [
                (CAPACITY, Some(100.0), Some(400.0)),
                (LEARNING, Some(5000.0), Some(5000.0)),
                (BROADCAST, Some(2000.0), None),
            ]
        );
        let text = table(&found);
        assert!(
            text.starts_with("bridge (RFC 2889)\n") && text.contains("+300.0 %"),
            "{text}"
        );
        assert!(text.contains("not known: it was searched once"), "{text}");
        assert!(text.contains("no load was good, or none was offered, after"), "{text}");
        assert_eq!(differences(&bridge(100, None), &results(None)), []);
    }
}
