//! The highest load without loss, by halving.
//!
//! A load is good when in every run of it, with any of the seeds, as many frames come out as the scenario says for each
//! that goes in: what a tester sees. What chips lose is noted beside it; when the scenario does not say how many frames
//! come out, that decides. A trial in which nothing is sent shows nothing, so its load is not good. The search keeps a
//! good and a bad load and tries the middle, until both are within the tolerance: the method of RFC 2544, §26.1, with
//! simulated trials.
//!
//! Two ends of a search are no results, and are marked as what they are: the highest load that may be tried is good, so
//! the limit lies at or above it; or even the least load loses, so nothing was found.

use crate::certainty::{Certainty, search_until_sure};
use crate::line_rate;
use crate::results::Results;
use crate::run::{Progress, Run};
use crate::scenario::SearchEntry;
use crate::setup::Setup;
use serde::{Deserialize, Serialize};

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
    /// Frames that were sent.
    pub sent: u64,
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
    /// The highest load without loss that was found, in Gbps of each stream; none when even the least one loses. Of
    /// several searches, the mean of those with the longest trials.
    pub max_gbps: Option<f64>,
    /// Whether any load was good.
    pub found: bool,
    /// Whether the highest load that may be tried was good: the limit is at least `max_gbps`.
    pub at_least: bool,
    /// Whether at that highest load a port is at line rate, so that no more can be offered.
    pub ceiling_is_line_rate: bool,
    /// The least and the highest load that may be tried.
    pub range_gbps: (f64, f64),
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
    /// Whether in that run more and more packets waited inside: what a longer trial would lose.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub backlog: Option<Backlog>,
    /// The run at the lowest load that lost something.
    pub lowest_loss: Option<Results>,
    /// Passes of packets through pipelines in all trials.
    pub packet_passes: u64,
    /// How sure that is, when the search was repeated.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub certainty: Option<Certainty>,
}

/// Packets that waited in the chips, in a trial that was too short for them to be lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Backlog {
    /// When half of the time of the traffic had passed.
    pub halfway: u64,
    /// When traffic ended.
    pub at_end: u64,
    /// Frames sent until then.
    pub sent: u64,
}

/// A backlog of less than this share of what was sent is a switch at work.
const BACKLOG_MIN: f64 = 0.01;

/// A backlog that has grown by less than this factor in the second half of the trial comes and goes.
const BACKLOG_GROWTH_MIN: f64 = 1.5;

impl Backlog {
    /// The backlog of a run, if it has grown all the time.
    fn of(results: &Results) -> Option<Backlog> {
        let [halfway, at_end] =
            [0, 1].map(|when| results.chips.iter().map(|chip| chip.inside_while_sending[when]).sum());
        Backlog::growing(halfway, at_end, results.sent())
    }

    /// What waited, if it is a large share of what was sent and has grown all the time.
    pub fn growing(halfway: u64, at_end: u64, sent: u64) -> Option<Backlog> {
        let is_large = at_end as f64 > BACKLOG_MIN * sent as f64;
        let has_grown = at_end as f64 > BACKLOG_GROWTH_MIN * halfway as f64;
        (is_large && has_grown).then_some(Backlog { halfway, at_end, sent })
    }
}

/// Searches as the scenario says; none when it says nothing about a search.
pub fn find_max(setup: &Setup, search: Search, progress: &mut dyn Progress) -> Option<SearchResults> {
    let entry = setup.scenario.search.as_ref()?;
    Some(match &entry.confidence {
        Some(confidence) => search_until_sure(setup, entry, *confidence.get_ref(), search, progress),
        None => search_once(setup, entry, search, progress),
    })
}

/// Searches with trials of the scenario's length, and the seeds from one on.
pub(crate) fn search_once(
    setup: &Setup,
    entry: &SearchEntry,
    search: Search,
    progress: &mut dyn Progress,
) -> SearchResults {
    let (least, most) = (entry.from_gbps, *entry.to_gbps.get_ref());
    let tolerance = *entry.tolerance_gbps.get_ref();
    let mut results = SearchResults {
        max_gbps: None,
        found: false,
        at_least: false,
        ceiling_is_line_rate: line_rate::most_gbps(setup).is_some_and(|line| most >= line),
        range_gbps: (least, most),
        trial_us: *setup.scenario.duration_us.get_ref(),
        tolerance_gbps: tolerance,
        seeds: entry.seeds,
        trials: Vec::new(),
        best: None,
        backlog: None,
        lowest_loss: None,
        packet_passes: 0,
        certainty: None,
    };
    if results.attempt(setup, most, search, progress) {
        results.at_least = true;
        return results;
    }
    let (mut good, mut bad) = (least, most);
    while bad - good > tolerance {
        let middle = (good + bad) / 2.0;
        if results.attempt(setup, middle, search, progress) {
            good = middle;
        } else {
            bad = middle;
        }
    }
    if !results.found && bad > least {
        results.attempt(setup, least, search, progress);
    }
    results
}

impl SearchResults {
    /// Tries a load with all seeds.
    fn attempt(&mut self, setup: &Setup, gbps: f64, search: Search, progress: &mut dyn Progress) -> bool {
        let mut last = None;
        for offset in 0..u64::from(self.seeds.max(1)) {
            let run = Run {
                seed: search.seed.wrapping_add(offset),
                gbps: Some(gbps),
            };
            let results = setup.run(run, progress);
            self.packet_passes += results.packet_passes;
            let trial = judge(setup, gbps, &results);
            let good = trial.good;
            self.trials.push(trial);
            if !good {
                // Loads that lose are tried in falling order.
                self.lowest_loss = Some(results);
                return false;
            }
            last = Some(results);
        }
        if self.max_gbps.is_none_or(|max| gbps >= max) {
            self.max_gbps = Some(gbps);
            self.found = true;
            self.backlog = last.as_ref().and_then(Backlog::of);
            self.best = last;
        }
        true
    }

    /// The trial with the lowest load that lost something.
    pub fn lowest_bad(&self) -> Option<&Trial> {
        let bad = self.trials.iter().filter(|trial| !trial.good);
        bad.min_by(|a, b| a.gbps.total_cmp(&b.gbps))
    }
}

/// What may be missing when the scenario does not say: frames that go in may be no multiple of those that come out
/// together.
const HALF_A_FRAME: f64 = 0.5;

/// What products of shares such as 1/3 may be off by.
const ROUNDING: f64 = 1e-9;

fn judge(setup: &Setup, gbps: f64, results: &Results) -> Trial {
    let lost = results.lost();
    let search = setup.scenario.search.as_ref().expect("a search is going on");
    let expected = search.delivered_per_sent.map(|ratio| results.sent() as f64 * ratio);
    let missing = expected.map_or(0.0, |expected| expected - results.frames_out() as f64);
    let allowed =
        |expected: f64| expected * (search.missing_share + ROUNDING) + search.missing_frames.unwrap_or(HALF_A_FRAME);
    Trial {
        gbps,
        sent: results.sent(),
        lost,
        missing: missing.round() as i64,
        good: results.sent() > 0 && expected.map_or(lost == 0, |expected| missing.abs() <= allowed(expected)),
    }
}
