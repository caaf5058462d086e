//! Searches for the load that a device carries.
//!
//! * [`mlr`]: multiple loss ratio search, several goals in one search (draft-ietf-bmwg-mlrsearch).
//! * [`grid`], [`bounds`], [`selector`]: its loads, what trials say of a load, and which load is tried next.
//! * [`goal`]: what is searched: NDR, PDR, RFC 2544, TST009.
//! * [`rfc2544`]: throughput, latency, loss and back-to-back frames for each frame size.
//! * [`rfc2889`]: how many addresses a bridge learns, and how fast; broadcast frames.

pub mod bounds;
pub mod goal;
pub mod grid;
pub mod mlr;
pub mod rfc2544;
pub mod rfc2889;
pub mod selector;

pub use goal::Goal;
pub use mlr::{Confirmation, Limits, Measured, Measurer, search, search_and_confirm};

use crate::results::TrialResults;
use forebay_sim::Backlog;
use serde::{Deserialize, Serialize};

/// What a search has found for a goal.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[allow(missing_docs)]
pub struct SearchResults {
    pub goal: String,
    pub loss_ratio: f64,
    pub exceed_ratio: f64,
    pub width: f64,
    /// The highest load that reaches the goal; none when the least one does not.
    pub lower_bound_pps: Option<f64>,
    /// The lowest load that does not; none when the highest one reaches the goal.
    pub upper_bound_pps: Option<f64>,
    /// The lower bound less what is lost there: "conditional throughput".
    pub conditional_throughput_pps: Option<f64>,
    /// What keeps the load from being higher.
    pub limited_by: LimitedBy,
    /// Whether the bounds are as near as the goal wants.
    pub is_complete: bool,
    /// Whether the load held when it was offered again; none when it was not.
    #[serde(default)]
    pub confirmed: Option<Confirmed>,
    /// All trials of the search, which its goals share.
    pub trials: Vec<SearchTrial>,
}

impl SearchResults {
    /// The most frames a second that were sent in a trial, in time or not.
    fn sent_pps(&self) -> f64 {
        let sent = self.trials.iter().map(|trial| trial.pps * (1.0 - trial.unsent_ratio));
        sent.fold(0.0, f64::max)
    }

    /// Trials whose sender was late, and all trials, at loads that the machine has sent in some trial. Late ones were
    /// disturbed: the machine had other work.
    pub fn late_trials(&self) -> (usize, usize) {
        let possible = self.trials.iter().filter(|trial| trial.pps <= self.sent_pps());
        let late = possible.clone().filter(|trial| trial.is_late).count();
        (late, possible.count())
    }

    /// Whether the load tells more of the machine's other work than of the device: most trials that could have been
    /// sent were late, or the tester is the limit at less than half of what it has sent.
    pub fn is_of_a_busy_machine(&self) -> bool {
        let (late, all) = self.late_trials();
        let is_far_below = self.lower_bound_pps.is_none_or(|pps| 2.0 * pps < self.sent_pps());
        2 * late > all || self.limited_by == LimitedBy::Tester && is_far_below
    }

    /// What is to be said when no frame came back at any load: that is no limit of the device, but no device. None otherwise.
    pub fn silence(&self) -> Option<String> {
        let is_silent = !self.trials.is_empty() && self.trials.iter().all(|trial| trial.loss_ratio >= 1.0);
        is_silent.then(|| {
            format!(
                "no frame came back in {} trials: is the device connected, and does it forward these frames?",
                self.trials.len()
            )
        })
    }

    /// The backlog of the longest trial at the load that was found, when it grew to the end of the trial.
    pub fn backlog(&self) -> Option<Backlog> {
        let found = self.lower_bound_pps?;
        let at_load = self.trials.iter().filter(|trial| trial.pps == found);
        at_load.max_by(|a, b| a.seconds.total_cmp(&b.seconds))?.backlog
    }
}

/// How loads of a goal did that were offered again after the search had found them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Confirmed {
    /// Loads that did not hold. The search went on below each.
    pub failed: u32,
    /// Whether the load that is the result held.
    pub is_confirmed: bool,
}

impl Confirmed {
    /// What is to be said of it, with a separator before; nothing when the first load held, or when there was none.
    pub fn remark(self) -> String {
        match (self.failed, self.is_confirmed) {
            (0, _) => String::new(),
            (failed, true) => format!("; failed confirmations before: {failed}"),
            (failed, false) => format!("; not confirmed, failed confirmations: {failed}"),
        }
    }

    /// For a column of failed confirmations.
    pub fn cell(self) -> String {
        match (self.failed, self.is_confirmed) {
            (0, false) => String::new(),
            (failed, true) => failed.to_string(),
            (failed, false) => format!("{failed}, not confirmed"),
        }
    }
}

/// Whether a trial of a search at a load had frames, if it was long enough for one.
///
/// # Errors
/// When it was not, in words: without a frame any load is without loss.
pub(crate) fn has_frames(trial: &TrialResults, pps: f64, seconds: f64) -> Result<(), String> {
    match trial.sent() + trial.unsent() {
        0 if pps * seconds < 1.0 => Err(format!(
            "no frame is due in a trial of {seconds} s at {pps:.3} frames a second; make duration_scale or min_pps larger"
        )),
        _ => Ok(()),
    }
}

/// What keeps a load from being higher.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum LimitedBy {
    /// The device loses frames.
    #[default]
    Device,
    /// The tester cannot send more.
    Tester,
    /// The highest load of the search reaches the goal.
    HighestLoad,
    /// Even the least load does not reach the goal.
    LeastLoad,
    /// A port is at line rate.
    LineRate,
    /// The time for the search was over before a load was known to be good or bad.
    Time,
}

impl LimitedBy {
    /// Its name in JSON.
    pub fn name(self) -> &'static str {
        match self {
            LimitedBy::Device => "device",
            LimitedBy::Tester => "tester",
            LimitedBy::HighestLoad => "highest-load",
            LimitedBy::LeastLoad => "least-load",
            LimitedBy::LineRate => "line-rate",
            LimitedBy::Time => "time",
        }
    }

    /// What it means.
    pub fn words(self) -> &'static str {
        match self {
            LimitedBy::Device => "limited by the device",
            LimitedBy::Tester => "limited by the tester, which cannot send more: the device may carry more",
            LimitedBy::HighestLoad => "the highest load of the search is good: the device may carry more",
            LimitedBy::LineRate => "line rate was reached: the port carries no more, the device may",
            LimitedBy::Time => "the time for the search was over before that was known",
            LimitedBy::LeastLoad => "even the least load of the search is too high",
        }
    }
}

/// A trial of a search.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[allow(missing_docs)]
pub struct SearchTrial {
    pub pps: f64,
    pub seconds: f64,
    pub loss_ratio: f64,
    /// The share that could not be sent.
    pub unsent_ratio: f64,
    /// Whether the machine disturbed it.
    pub is_disturbed: bool,
    /// Whether the sender was late: the load was not reached, and counts as too high.
    #[serde(default)]
    pub is_late: bool,
    /// Packets that waited in a chip's buffer, when these became ever more: the trial was too short to lose them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub backlog: Option<Backlog>,
}
