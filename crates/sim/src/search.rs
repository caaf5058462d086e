//! The highest load without loss, by halving.
//!
//! A load is good when in no run of it, with any of the seeds, a chip loses a packet and, if the scenario says how many
//! frames come out for each that goes in, as many do. The search keeps a good and a bad load and
//! tries the middle, until both are within the tolerance: the method of RFC 2544, §26.1, with simulated trials.

use crate::results::Results;
use crate::run::{Progress, Run};
use crate::setup::Setup;
use serde::Serialize;

/// What to search.
#[derive(Clone, Copy, Debug)]
pub struct Search {
    /// Begins the sequences of random numbers; further seeds follow.
    pub seed: u64,
}

/// A load that was tried.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Trial {
    /// Gbps of each stream.
    pub gbps: f64,
    /// Packets that chips have lost.
    pub lost: u64,
    /// Frames that should have come out and did not.
    pub missing: i64,
    /// Whether that is without loss.
    pub good: bool,
}

/// What a search has found.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SearchResults {
    /// The highest load without loss that was found, in Gbps of each stream; the least one when even that loses.
    pub max_gbps: f64,
    /// Whether any load was good.
    pub found: bool,
    /// How long each trial was, in microseconds of simulated time.
    pub trial_us: f64,
    /// How close good and bad came.
    pub tolerance_gbps: f64,
    /// Runs of each load.
    pub seeds: u32,
    /// All that was tried, in order.
    pub trials: Vec<Trial>,
    /// The run at the highest good load.
    pub best: Option<Results>,
    /// Passes of packets through pipelines in all trials.
    pub packet_passes: u64,
}

/// Searches as the scenario says; none when it says nothing about a search.
pub fn find_max(setup: &Setup, search: Search, progress: &mut dyn Progress) -> Option<SearchResults> {
    let entry = setup.scenario.search.as_ref()?;
    let (mut good, mut bad) = (entry.from_gbps, *entry.to_gbps.get_ref());
    let tolerance = *entry.tolerance_gbps.get_ref();
    let mut results = SearchResults {
        max_gbps: good,
        found: false,
        trial_us: *setup.scenario.duration_us.get_ref(),
        tolerance_gbps: tolerance,
        seeds: entry.seeds,
        trials: Vec::new(),
        best: None,
        packet_passes: 0,
    };
    if results.attempt(setup, bad, search, progress) {
        return Some(results);
    }
    while bad - good > tolerance {
        let middle = (good + bad) / 2.0;
        if results.attempt(setup, middle, search, progress) {
            good = middle;
        } else {
            bad = middle;
        }
    }
    Some(results)
}

impl SearchResults {
    /// Tries a load with all seeds.
    fn attempt(&mut self, setup: &Setup, gbps: f64, search: Search, progress: &mut dyn Progress) -> bool {
        for offset in 0..u64::from(self.seeds.max(1)) {
            let run = Run {
                seed: search.seed + offset,
                gbps: Some(gbps),
            };
            let results = setup.run(run, progress);
            self.packet_passes += results.packet_passes;
            let trial = judge(setup, gbps, &results);
            let good = trial.good;
            self.trials.push(trial);
            if !good {
                return false;
            }
            if gbps >= self.max_gbps {
                self.max_gbps = gbps;
                self.found = true;
                self.best = Some(results);
            }
        }
        true
    }
}

fn judge(setup: &Setup, gbps: f64, results: &Results) -> Trial {
    let lost = results.lost();
    let search = setup.scenario.search.as_ref().expect("a search is going on");
    let expected = search.delivered_per_sent.map(|ratio| results.sent() as f64 * ratio);
    let missing = expected.map_or(0.0, |expected| expected - results.delivered() as f64);
    let allowed = expected.map_or(0.0, |expected| expected * search.missing_share);
    Trial {
        gbps,
        lost,
        missing: missing.round() as i64,
        good: lost == 0 && missing.abs() <= allowed + 0.5,
    }
}
