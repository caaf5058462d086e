//! Two results of one test, side by side.
//!
//! With three trials or more on both sides, a difference is that of the means over trials, with Welch's 95 % interval.
//! With fewer, only what is within a trial is known: shares of lost frames with Newcombe's interval, quantiles of
//! latency by the ranks around them, and nothing of the rate at which frames came. Frames of a trial are not
//! independent, so those intervals are too narrow; the table says which kind each is.
//!
//! A trial counts for a quantity only where it has a value: a latency needs frames that the machine did not disturb, a
//! loss ratio frames that were due. Without such trials on one side, the difference is not known.
//!
//! What only one of the results has (a stream at a port, a goal, a frame size) is named.
//!
//! A search has one result for each goal or frame size, of whose error nothing is known; so has a test of a bridge
//! (RFC 2889). Bursts and recoveries, which are repeated, are compared as trials are.

use crate::results::{PathResults, Results, TrialResults};
use crate::search::SearchResults;
use crate::search::rfc2544::{LatencyResults, SizeResults};
use crate::search::rfc2889::BridgeResults;
use serde::Serialize;
use std::fmt::Write;

/// The 97.5 % point of the normal distribution.
const Z: f64 = 1.96;

/// Trials from which the variation between trials is known.
const TRIALS_MIN: usize = 3;

/// A quantity of two results.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Difference {
    /// The stream and its port.
    pub path: String,
    /// What is compared.
    pub quantity: &'static str,
    /// The first value; none when no trial has one.
    pub before: Option<f64>,
    /// The second value.
    pub after: Option<f64>,
    /// The 95 % interval of the second less the first; none when single trials say nothing of it, or a value is
    /// missing.
    pub interval: Option<(f64, f64)>,
    /// Whether the interval is from the variation between trials.
    pub between_trials: bool,
    /// Of a path that one of the results has alone: `before` or `after`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub only_in: Option<&'static str>,
}

impl Difference {
    /// Whether the interval leaves out 0.
    pub fn is_significant(&self) -> bool {
        self.interval.is_some_and(|(low, high)| low > 0.0 || high < 0.0)
    }

    /// Why a value is missing, in words.
    fn missing(&self) -> String {
        let side = match (self.before, self.after) {
            (None, None) => "before and after",
            (None, Some(_)) => "before",
            (Some(_), _) => "after",
        };
        match self.quantity {
            LOSS => format!("no frame was due {side}"),
            LOAD | THROUGHPUT => format!("no load was good {side}"),
            RECOVERY => format!("no loss came to an end {side}"),
            BROADCAST => format!("no load was good, or none was offered, {side}"),
            _ => format!("no frame came undisturbed {side}"),
        }
    }
}

/// A quantity of a path, which trials without such frames do not have.
type Quantity = (&'static str, fn(&PathResults) -> Option<Estimate>);

/// A value, and what its error within a trial leaves possible: the lowest and the highest value.
type Estimate = (f64, Option<(f64, f64)>);

/// The quantity that needs frames that were due, where the others need frames that came.
const LOSS: &str = "loss ratio";

/// What a result has of which the other knows nothing.
const PRESENCE: &str = "measured";

/// The results of searches.
const LOAD: &str = "highest load (pps)";
const THROUGHPUT: &str = "throughput (pps)";
const RECOVERY: &str = "recovery (ns)";
const CAPACITY: &str = "addresses learned";
const LEARNING: &str = "learning rate (1/s)";
const BROADCAST: &str = "broadcast frames (pps)";

/// Quantities of which a result has one value, from a search.
const SEARCHED: [&str; 5] = [LOAD, THROUGHPUT, CAPACITY, LEARNING, BROADCAST];

/// The tests of a bridge.
const BRIDGE: &str = "bridge (RFC 2889)";

/// A quantity of a bridge.
type OfBridge = (&'static str, fn(&BridgeResults) -> Option<f64>);

const OF_BRIDGES: [OfBridge; 3] = [
    (CAPACITY, |bridge| Some(bridge.caching_capacity as f64)),
    (LEARNING, |bridge| Some(bridge.learning_rate_per_s)),
    (BROADCAST, |bridge| bridge.broadcast_pps),
];

/// A quantity of a frame size, with a value for each time that it was measured.
type OfSize = (&'static str, fn(&SizeResults) -> Vec<f64>);

const OF_SIZES: [OfSize; 5] = [
    (THROUGHPUT, |size| size.throughput_pps.into_iter().collect()),
    ("latency 50 % (ns)", |size| latency(size, |found| found.typical_ns)),
    ("latency 99.9 % (ns)", |size| latency(size, |found| found.worst_case_ns)),
    ("burst (frames)", |size| numbers(&size.back_to_back.frames)),
    (RECOVERY, |size| {
        size.recovery
            .as_ref()
            .map_or(Vec::new(), |found| numbers(&found.each_ns))
    }),
];

const QUANTITIES: [Quantity; 5] = [
    ("received (pps)", |path| Some((path.received_pps, None))),
    (LOSS, loss),
    ("latency 50 % (ns)", |path| quantile(path, 0.5)),
    ("latency 99 % (ns)", |path| quantile(path, 0.99)),
    ("latency 99.9 % (ns)", |path| quantile(path, 0.999)),
];

/// Wilson's interval.
fn loss(path: &PathResults) -> Option<Estimate> {
    let count = (path.expected > 0).then_some(path.expected as f64)?;
    let share = path.loss_ratio;
    let middle = (share + Z * Z / (2.0 * count)) / (1.0 + Z * Z / count);
    let half = Z / (1.0 + Z * Z / count) * (share * (1.0 - share) / count + Z * Z / (4.0 * count * count)).sqrt();
    Some((share, Some(((middle - half).max(0.0), (middle + half).min(1.0)))))
}

/// The values at the ranks between which the quantile lies in 95 % of samples.
fn quantile(path: &PathResults, share: f64) -> Option<Estimate> {
    let histogram = path.latency.to_histogram();
    let count = (histogram.count() > 0).then_some(histogram.count() as f64)?;
    let half = Z * (count * share * (1.0 - share)).sqrt();
    let at = |rank: f64| histogram.at_rank(rank.clamp(1.0, count) as u64) as f64;
    let middle = (count * share).ceil();
    let range = (at((middle - half).floor()), at((middle + half).ceil()));
    Some((at(middle), Some(range)))
}

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
        differences.extend(only_in("before", &old, &new));
        differences.extend(only_in("after", &new, &old));
    }
    differences
}

fn only_in(side: &'static str, own: &[String], others: &[String]) -> impl Iterator<Item = Difference> {
    let alone = own.iter().filter(move |path| !others.contains(path));
    alone.map(move |path| Difference {
        path: path.clone(),
        quantity: PRESENCE,
        before: None,
        after: None,
        interval: None,
        between_trials: false,
        only_in: Some(side),
    })
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
        differences.push(repeated(&goal_name(&old.goal), LOAD, &load(old), &load(new)));
    }
    for old in &before.rfc2544 {
        let Some(new) = after.rfc2544.iter().find(|new| new.frame_bytes == old.frame_bytes) else {
            continue;
        };
        let path = size_name(old.frame_bytes);
        let compared = |(quantity, values): &OfSize| repeated(&path, quantity, &values(old), &values(new));
        differences.extend(OF_SIZES.iter().map(compared));
    }
    // That a search found no load on either side is a result.
    let was_searched = |found: &Difference| [LOAD, THROUGHPUT].contains(&found.quantity);
    differences.retain(|found| found.before.is_some() || found.after.is_some() || was_searched(found));
    differences
}

/// The difference of what was measured once or several times on each side.
fn repeated(path: &str, quantity: &'static str, old: &[f64], new: &[f64]) -> Difference {
    let between_trials = old.len() >= TRIALS_MIN && new.len() >= TRIALS_MIN;
    Difference {
        path: path.to_string(),
        quantity,
        before: mean(old),
        after: mean(new),
        interval: if between_trials { between(old, new) } else { None },
        between_trials,
        only_in: None,
    }
}

/// What tests of a bridge have found, if both results have them.
fn of_bridges(before: &Results, after: &Results) -> Vec<Difference> {
    let Some((old, new)) = before.rfc2889.as_ref().zip(after.rfc2889.as_ref()) else {
        return Vec::new();
    };
    let once = |value: Option<f64>| value.into_iter().collect::<Vec<f64>>();
    let compared = |(quantity, value): &OfBridge| repeated(BRIDGE, quantity, &once(value(old)), &once(value(new)));
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
            differences.extend(
                QUANTITIES
                    .iter()
                    .map(|quantity| difference(&path, quantity, &old, &new)),
            );
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

fn difference(path: &str, (quantity, value): &Quantity, old: &[PathResults], new: &[PathResults]) -> Difference {
    let estimates = |paths: &[PathResults]| paths.iter().filter_map(value).collect::<Vec<Estimate>>();
    let (old, new) = (estimates(old), estimates(new));
    let between_trials = old.len() >= TRIALS_MIN && new.len() >= TRIALS_MIN;
    Difference {
        path: path.to_string(),
        quantity,
        before: mean(&values(&old)),
        after: mean(&values(&new)),
        interval: if between_trials {
            between(&values(&old), &values(&new))
        } else {
            pooled(&old).zip(pooled(&new)).and_then(|(old, new)| within(old, new))
        },
        between_trials,
        only_in: None,
    }
}

fn values(estimates: &[Estimate]) -> Vec<f64> {
    estimates.iter().map(|(value, _)| *value).collect()
}

/// The mean of trials with what a single one leaves possible around it; none of nothing.
fn pooled(estimates: &[Estimate]) -> Option<Estimate> {
    let value = mean(&values(estimates))?;
    let ranges: Option<Vec<(f64, f64)>> = estimates.iter().map(|(_, range)| *range).collect();
    let range = ranges.and_then(|ranges| {
        let (lows, highs): (Vec<f64>, Vec<f64>) = ranges.into_iter().unzip();
        mean(&lows).zip(mean(&highs))
    });
    Some((value, range))
}

/// The interval of a difference from those of both values (Newcombe, 1998, method 10); none when one has none.
fn within((before, before_range): Estimate, (after, after_range): Estimate) -> Option<(f64, f64)> {
    let ((before_low, before_high), (after_low, after_high)) = before_range.zip(after_range)?;
    let apart = |a: f64, b: f64| (a * a + b * b).sqrt();
    let difference = after - before;
    Some((
        difference - apart(after - after_low, before_high - before),
        difference + apart(after_high - after, before - before_low),
    ))
}

/// The mean; none of nothing.
fn mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

/// Welch's interval of the difference of two means.
fn between(old: &[f64], new: &[f64]) -> Option<(f64, f64)> {
    let (difference, half) = (mean(new)? - mean(old)?, welch(old, new));
    Some((difference - half, difference + half))
}

/// Half of Welch's interval.
fn welch(old: &[f64], new: &[f64]) -> f64 {
    let of_mean = |values: &[f64]| {
        let count = values.len() as f64;
        let middle = values.iter().sum::<f64>() / count;
        values.iter().map(|value| (value - middle).powi(2)).sum::<f64>() / (count - 1.0) / count
    };
    let (first, second) = (of_mean(old), of_mean(new));
    if first + second == 0.0 {
        return 0.0;
    }
    let (first_freedom, second_freedom) = (old.len() as f64 - 1.0, new.len() as f64 - 1.0);
    let freedom = (first + second).powi(2) / (first * first / first_freedom + second * second / second_freedom);
    student(freedom) * (first + second).sqrt()
}

/// The 97.5 % point of Student's distribution: Cornish and Fisher's expansion around the normal one, which is within 1
/// % from three degrees of freedom on; below, the value for two.
fn student(freedom: f64) -> f64 {
    if freedom < 3.0 {
        return 4.303;
    }
    let first = (Z.powi(3) + Z) / 4.0;
    let second = (5.0 * Z.powi(5) + 16.0 * Z.powi(3) + 3.0 * Z) / 96.0;
    let third = (3.0 * Z.powi(7) + 19.0 * Z.powi(5) + 17.0 * Z.powi(3) - 15.0 * Z) / 384.0;
    Z + first / freedom + second / freedom.powi(2) + third / freedom.powi(3)
}

/// The differences as a table.
pub fn table(differences: &[Difference]) -> String {
    let mut out = String::new();
    let mut path = "";
    for found in differences {
        if let Some(side) = found.only_in {
            let _ = writeln!(out, "{}: only in the result {side}", found.path);
            continue;
        }
        if found.path != path {
            path = &found.path;
            let _ = writeln!(
                out,
                "{path}\n  {:22}{:>14}{:>14}{:>12}   95 % interval of the difference",
                "", "before", "after", "change"
            );
        }
        let change = match (found.before, found.after) {
            (Some(before), Some(after)) if before != 0.0 => format!("{:+.1} %", 100.0 * (after / before - 1.0)),
            _ => String::new(),
        };
        let interval = match (found.interval, found.between_trials) {
            (Some((low, high)), true) => format!("{} … {} (between trials)", number(low), number(high)),
            (Some((low, high)), false) => format!("{} … {} (within a trial)", number(low), number(high)),
            (None, _) if found.before.is_none() || found.after.is_none() => {
                format!("not known: {}", found.missing())
            }
            (None, _) if SEARCHED.contains(&found.quantity) => "not known: it was searched once".to_string(),
            (None, _) => format!("not known: fewer than {TRIALS_MIN} trials"),
        };
        let value = |value: Option<f64>| value.map_or("-".to_string(), number);
        let mark = if found.is_significant() { "*" } else { " " };
        let _ = writeln!(
            out,
            "{mark} {:22}{:>14}{:>14}{change:>12}   {interval}",
            found.quantity,
            value(found.before),
            value(found.after)
        );
    }
    if !differences.is_empty() {
        out.push_str("* the interval leaves out 0\n");
    }
    out
}

fn number(value: f64) -> String {
    match value.abs() {
        0.0 => "0".to_string(),
        size if size < 0.01 => format!("{value:.2e}"),
        size if size < 1.0 => format!("{value:.4}"),
        size if size < 100.0 => format!("{value:.2}"),
        _ => format!("{value:.0}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn points_of_students_distribution() {
        for (freedom, expected) in [(3.0, 3.182), (4.0, 2.776), (10.0, 2.228), (30.0, 2.042)] {
            let found = student(freedom);
            assert!((found / expected - 1.0).abs() < 0.012, "{freedom}: {found}");
        }
    }

    /// A loss of 1.4 % is not one of 1 %.
    #[test]
    fn numbers_have_three_places_that_count() {
        let shown = [0.0, 0.004567, 0.0145, 0.456, 4.567, 456.7].map(number);
        assert_eq!(shown, ["0", "4.57e-3", "0.0145", "0.4560", "4.57", "457"]);
    }

    #[test]
    fn intervals_of_trials() {
        let half = welch(&[10.0, 11.0, 12.0, 13.0], &[20.0, 21.0, 22.0, 23.0]);
        assert!((half - 2.447 * (5.0f64 / 6.0).sqrt()).abs() < 0.02, "{half}");
        assert_eq!(welch(&[1.0; 3], &[2.0; 3]), 0.0);
    }

    #[test]
    fn nothing_lost_is_not_known_to_be_none() {
        let (low, high) = within((0.0, Some((0.0, 0.003))), (0.001, Some((0.0001, 0.004)))).expect("both have one");
        assert!(low < 0.0 && 0.001 < high);
    }

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
                (size, "burst (frames)", Some(10.0), Some(20.0)),
            ]
        );
        assert!(found[2].is_significant() && found[2].between_trials);
        let text = table(&found);
        assert!(text.contains("not known: no load was good after"), "{text}");
        let none = results(None, [1; 3]);
        let both = differences(&none, &none);
        let quantities: Vec<_> = both.iter().map(|found| found.quantity).collect();
        assert_eq!(quantities, [LOAD, THROUGHPUT, "burst (frames)"]);
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

    /// The rates of two single trials differ by what nothing is known of.
    #[test]
    fn a_rate_of_single_trials_has_no_interval() {
        let difference = Difference {
            path: "a".to_string(),
            quantity: "received (pps)",
            before: Some(1000.0),
            after: Some(998.0),
            interval: within((1000.0, None), (998.0, None)),
            between_trials: false,
            only_in: None,
        };
        assert!(difference.interval.is_none() && !difference.is_significant());
        let text = table(&[difference]);
        assert!(
            text.contains("  received (pps)") && text.contains("not known: fewer than 3 trials"),
            "{text}"
        );
    }
}
