//! What is searched.

use crate::numbers::{SECONDS_MAX, SECONDS_MIN};
use crate::test_file::CustomGoal;

/// A goal: which loads are good, how sure that must be, and how near the bounds come.
#[derive(Clone, Debug, PartialEq)]
pub struct Goal {
    /// What it is called.
    pub name: String,
    /// A trial with a larger share of lost frames is bad.
    pub loss_ratio: f64,
    /// The share of the time that may be bad at a good load.
    pub exceed_ratio: f64,
    /// The distance of the bounds, as a share of the upper one.
    pub width: f64,
    /// The shortest trials.
    pub initial_trial_s: f64,
    /// The longest trials.
    pub final_trial_s: f64,
    /// Seconds of trials that decide of a load.
    pub duration_sum_s: f64,
    /// Coarser targets before the final one.
    pub preceding_targets: u32,
}

/// The least width: no load is known better, and the loads between the bounds of a search can be numbered.
const WIDTH_MIN: f64 = 1e-6;

/// Names of goals.
pub const NAMES: [&str; 5] = ["ndr", "pdr", "rfc2544", "tst009", "csit"];

impl Goal {
    /// The goals with a name: `csit` is two of them, NDR and PDR.
    pub fn named(name: &str) -> Option<Vec<Goal>> {
        let goal = |loss_ratio, exceed_ratio, initial_trial_s, final_trial_s, duration_sum_s| Goal {
            name: name.to_string(),
            loss_ratio,
            exceed_ratio,
            width: 0.005,
            initial_trial_s,
            final_trial_s,
            duration_sum_s,
            preceding_targets: 2,
        };
        match name {
            // CSIT's: 21 trials of a second, of which half may be bad.
            "ndr" => Some(vec![goal(0.0, 0.5, 1.0, 1.0, 21.0)]),
            "pdr" => Some(vec![goal(0.005, 0.5, 1.0, 1.0, 21.0)]),
            "csit" => Some(
                ["ndr", "pdr"]
                    .iter()
                    .flat_map(|name| Goal::named(name))
                    .flatten()
                    .collect(),
            ),
            // One trial of a minute, without loss.
            "rfc2544" => Some(vec![goal(0.0, 0.0, 1.0, 60.0, 60.0)]),
            // ETSI GS NFV-TST 009: two trials of a minute, of which one may be bad.
            "tst009" => Some(vec![goal(0.0, 0.5, 1.0, 60.0, 120.0)]),
            _ => None,
        }
    }

    /// A goal with numbers of its own.
    ///
    /// # Errors
    /// When they contradict each other, in words.
    pub fn custom(entry: &CustomGoal) -> Result<Goal, String> {
        let is_share = |value: f64| (0.0..1.0).contains(&value);
        if !is_share(entry.loss_ratio) || !is_share(entry.exceed_ratio) || !(WIDTH_MIN..1.0).contains(&entry.width) {
            return Err(format!(
                "loss_ratio, exceed_ratio and width are shares below 1; width is at least {WIDTH_MIN}"
            ));
        }
        let (initial, last, sum) = (entry.initial_trial_s, entry.final_trial_s, entry.duration_sum_s);
        if !(initial >= SECONDS_MIN && initial <= last && last <= sum && sum <= SECONDS_MAX) {
            return Err(format!(
                "initial_trial_s is more than 0, final_trial_s at least that, duration_sum_s at least that and at most {SECONDS_MAX}"
            ));
        }
        Ok(Goal {
            name: entry.name.clone(),
            loss_ratio: entry.loss_ratio,
            exceed_ratio: entry.exceed_ratio,
            width: entry.width,
            initial_trial_s: initial,
            final_trial_s: last,
            duration_sum_s: sum,
            preceding_targets: 2,
        })
    }

    /// The same goal with shorter trials.
    #[must_use]
    pub fn scaled(mut self, factor: f64) -> Goal {
        self.initial_trial_s *= factor;
        self.final_trial_s *= factor;
        self.duration_sum_s *= factor;
        self
    }
}
