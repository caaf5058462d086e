//! The results over time, for Perfetto: trials one after another, with rates as counters; the loads of searches.

use crate::results::{Results, TrialResults};
use crate::search::SearchResults;
use forebay_sim::timeline::{Timeline, Track};

/// Picoseconds in a second.
const SECOND: f64 = 1e12;

/// The timeline as JSON. Trials and searches follow one another without the pauses that were between them.
pub fn timeline(results: &Results) -> String {
    let mut timeline = Timeline::new("forebay tester");
    let mut now = 0.0;
    for trial in &results.trials {
        now = add_trial(trial, now, &mut timeline);
    }
    // All goals share the trials of a search.
    if let Some(search) = results.searches.first() {
        add_search(search, &mut timeline);
    }
    timeline.json()
}

fn track(process: &str, name: impl Into<String>) -> Track {
    Track {
        process: process.to_string(),
        name: name.into(),
    }
}

fn add_trial(trial: &TrialResults, from_s: f64, timeline: &mut Timeline) -> f64 {
    let until_s = from_s + trial.measured_s;
    let name = format!("trial {}", trial.number);
    let slice = timeline.slice(&track("tester", "trials"), &name, ps(from_s), ps(until_s));
    if let Some(doubt) = trial.doubts.first() {
        timeline.note(slice, "doubt", doubt);
    }
    for (reason, count) in &trial.drops {
        timeline.note(slice, &format!("dropped: {reason}"), &count.to_string());
    }
    for stream in &trial.streams {
        let rates = |pick: fn(&(u32, u32)) -> u32| -> Vec<u64> {
            let rate = |sample| (f64::from(pick(sample)) / trial.sample_s) as u64;
            stream.samples[..trial.whole_samples(stream)].iter().map(rate).collect()
        };
        if trial.sample_s > 0.0 && from_s == 0.0 {
            let step = ps(trial.sample_s);
            timeline.counter(&track(&stream.name, "sent (frames/s)"), step, &rates(|sample| sample.0));
            timeline.counter(
                &track(&stream.name, "received (frames/s)"),
                step,
                &rates(|sample| sample.1),
            );
        }
    }
    until_s
}

fn add_search(search: &SearchResults, timeline: &mut Timeline) {
    let mut now = 0.0;
    for trial in &search.trials {
        let name = format!("{:.0} frames/s", trial.pps);
        let until = now + trial.seconds;
        let slice = timeline.slice(&track("search", "loads"), &name, ps(now), ps(until));
        timeline.note(slice, "loss", &format!("{:.6}", trial.loss_ratio));
        if trial.is_disturbed {
            timeline.note(slice, "disturbed", "by the machine");
        }
        now = until;
    }
}

fn ps(seconds: f64) -> u64 {
    (seconds * SECOND) as u64
}
