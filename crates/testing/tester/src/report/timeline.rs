//! The results over time, for Perfetto: trials one after another, with rates as counters; the loads of searches; what a
//! bridge was taught.

use crate::results::{Results, TrialResults};
use crate::search::SearchResults;
use crate::search::rfc2544::SizeResults;
use crate::search::rfc2889::BridgeResults;
use forebay_sim::Recording;
use forebay_sim::timeline::{Timeline, Track};

/// Picoseconds in a second.
const SECOND: f64 = 1e12;

/// The timeline as JSON. Trials and searches follow one another without the pauses that were between them. `inside` is
/// what happened in the device during the first trial, if it was kept: its time begins with that trial.
pub fn timeline(results: &Results, inside: Option<&Recording>) -> String {
    let mut timeline = Timeline::new("forebay tester");
    if let Some(inside) = inside {
        inside.add_to(&mut timeline);
    }
    let mut now = 0.0;
    for trial in &results.trials {
        now = add_trial(trial, now, &mut timeline);
    }
    // All goals share the trials of a search.
    let searches = results.searches.first().map(|search| ("loads".to_string(), search));
    let of_size = |size: &SizeResults| format!("loads, {} bytes", size.frame_bytes);
    let sizes = results.rfc2544.iter().map(|size| (of_size(size), &size.search));
    let mut now = 0.0;
    for (name, search) in searches.into_iter().chain(sizes) {
        now = add_search(&name, search, now, &mut timeline);
    }
    if let Some(bridge) = &results.rfc2889 {
        add_bridge(bridge, &mut timeline);
    }
    timeline.json()
}

/// Attempts to teach a bridge addresses, and then the loads of broadcast frames.
fn add_bridge(bridge: &BridgeResults, timeline: &mut Timeline) {
    let mut now = 0.0;
    for attempt in &bridge.attempts {
        let name = format!("{} addresses, {:.0} frames/s", attempt.addresses, attempt.learning_pps);
        let until = now + attempt.seconds;
        let slice = timeline.slice(&track("bridge", "addresses"), &name, ps(now), ps(until));
        let counts = [
            ("lost", attempt.lost),
            ("flooded", attempt.flooded),
            ("unsent", attempt.unsent),
        ];
        for (what, count) in counts {
            timeline.note(slice, what, &count.to_string());
        }
        now = until;
    }
    if let Some(search) = &bridge.broadcast_search {
        add_search("broadcast frames", search, now, timeline);
    }
}

fn track(process: &str, name: impl Into<String>) -> Track {
    Track {
        process: process.to_string(),
        name: name.into(),
    }
}

fn add_trial(trial: &TrialResults, from_s: f64, timeline: &mut Timeline) -> f64 {
    // Samples begin with the warm-up, and the trial when that is over.
    let begins_s = from_s + trial.warm_up_s.unwrap_or(0.0);
    let until_s = begins_s + trial.measured_s;
    let name = format!("trial {}", trial.number);
    let slice = timeline.slice(&track("tester", "trials"), &name, ps(begins_s), ps(until_s));
    if let Some(doubt) = trial.doubts.first() {
        timeline.note(slice, "doubt", doubt);
    }
    for (reason, count) in &trial.drops {
        timeline.note(slice, &format!("dropped: {reason}"), &count.to_string());
    }
    for stream in &trial.streams {
        let samples = &stream.samples[..trial.whole_samples(stream)];
        let rates = |pick: fn(&(u32, u32)) -> u32| -> Vec<(u64, u64)> {
            let rate = |(index, sample): (usize, &(u32, u32))| {
                let begins_s = from_s + index as f64 * trial.sample_s;
                (ps(begins_s), (f64::from(pick(sample)) / trial.sample_s) as u64)
            };
            samples.iter().enumerate().map(rate).collect()
        };
        timeline.counter_at(&track(&stream.name, "sent (frames/s)"), &rates(|sample| sample.0));
        timeline.counter_at(&track(&stream.name, "received (frames/s)"), &rates(|sample| sample.1));
    }
    until_s
}

fn add_search(of: &str, search: &SearchResults, mut now: f64, timeline: &mut Timeline) -> f64 {
    for trial in &search.trials {
        let name = format!("{:.0} frames/s", trial.pps);
        let until = now + trial.seconds;
        let slice = timeline.slice(&track("search", of), &name, ps(now), ps(until));
        timeline.note(slice, "loss", &format!("{:.6}", trial.loss_ratio));
        if trial.is_disturbed {
            timeline.note(slice, "disturbed", "by the machine");
        }
        now = until;
    }
    now
}

fn ps(seconds: f64) -> u64 {
    (seconds * SECOND) as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::histogram::Distribution;
    use serde_json::{Value, json};

    /// The searches of RFC 2544 for two sizes, one after the other.
    #[test]
    fn loads_of_rfc_2544_have_their_sizes() {
        let trial = json!({
            "pps": 1000.0, "seconds": 0.1, "loss_ratio": 0.0, "unsent_ratio": 0.0, "is_disturbed": false, "is_late": false,
        });
        let size = |bytes: usize| {
            let search = json!({
                "goal": "rfc2544", "loss_ratio": 0.0, "exceed_ratio": 0.0, "width": 0.005, "lower_bound_pps": null,
                "upper_bound_pps": null, "conditional_throughput_pps": null, "limited_by": "device",
                "is_complete": true, "trials": [trial, trial],
            });
            let back_to_back = json!({
                "frames": [], "mean_frames": 0.0, "standard_deviation": 0.0, "at_least": false,
                "implied_buffer_s": 0.0, "corrected_buffer_s": 0.0,
            });
            json!({
                "frame_bytes": bytes, "throughput_pps": null, "limited_by": "device", "latency": [], "loss": [],
                "back_to_back": back_to_back, "search": search,
            })
        };
        let results = json!({
            "format": crate::results::FORMAT, "description": "", "device": "", "seed": 0, "self_test": null,
            "trials": [], "searches": [], "rfc2544": [size(60), size(1514)], "injected": null,
        });
        let results: Results = serde_json::from_value(results).expect("results");
        let text = timeline(&results, None);
        let document: Value = serde_json::from_str(&text).expect("JSON");
        let events = document["traceEvents"].as_array().into_iter().flatten();
        let slices = events.filter(|event| event["ph"] == "X");
        let mut times: Vec<u64> = slices
            .filter_map(|event| event["ts"].as_f64())
            .map(|us| us.round() as u64)
            .collect();
        times.sort_unstable();
        assert_eq!(times, [0, 100_000, 200_000, 300_000]);
        assert!(
            text.contains("loads, 60 bytes") && text.contains("loads, 1514 bytes"),
            "{text}"
        );
    }

    /// Two trials of 0.2 s, each after a warm-up of 0.1 s: the rates of both, from the beginning of their samples on.
    #[test]
    fn rates_stand_where_they_were_measured() {
        let nothing = json!(Distribution::default());
        let trial = |number: u64| {
            json!({
                "number": number, "measured_s": 0.2, "warm_up_s": 0.1, "sample_s": 0.1, "drops": [], "foreign": 0,
                "polling": { "gaps": nothing, "pauses": 0, "disturbed_share": 0.0 }, "was_stopped": false, "doubts": [],
                "streams": [{
                    "name": "a", "intended_pps": null, "sent": 0, "sent_pps": 0.0, "sent_gbps": 0.0, "unsent": 0,
                    "refused": 0, "lateness": nothing, "misdirected": 0, "paths": [], "check": null,
                    "samples": [[1, 1], [2, 2], [3, 2], [0, 1]],
                }],
            })
        };
        let results = json!({
            "format": crate::results::FORMAT, "description": "", "device": "", "seed": 0, "self_test": null,
            "trials": [trial(1), trial(2)], "searches": [], "rfc2544": [], "injected": null,
        });
        let results: Results = serde_json::from_value(results).expect("results");
        let document: Value = serde_json::from_str(&timeline(&results, None)).expect("JSON");
        let of = |kind: &str, name: &str| -> Vec<u64> {
            let events = document["traceEvents"].as_array().into_iter().flatten();
            let wanted = events
                .filter(|event| event["ph"] == kind && event["name"].as_str().is_some_and(|own| own.starts_with(name)));
            wanted
                .filter_map(|event| event["ts"].as_f64())
                .map(|us| us.round() as u64)
                .collect()
        };
        assert_eq!(of("X", "trial"), [100_000, 400_000]);
        assert_eq!(of("C", "sent"), [0, 100_000, 200_000, 300_000, 400_000, 500_000]);
    }
}
