//! What trials say of loads: see "Load Classification" and "Conditional Throughput" of the draft.

use std::collections::BTreeMap;

/// A trial at some load.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Outcome {
    /// How long it was.
    pub seconds: f64,
    /// The share of frames that was lost.
    pub loss_ratio: f64,
}

/// A goal, or a coarser one on the way to it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Target {
    /// A trial with more loss is bad.
    pub loss_ratio: f64,
    /// The share of the time that may be bad.
    pub exceed_ratio: f64,
    /// How near the bounds come, in levels.
    pub width: i64,
    /// How long trials are. Shorter ones count less.
    pub trial_s: f64,
    /// Seconds of trials that decide of a load.
    pub sum_s: f64,
    /// The lowest level that did not hold when it was confirmed ([`super::mlr::Confirmation`]): from it on loads are
    /// too high, whatever earlier trials say.
    pub ceiling: Option<i64>,
}

/// All trials, by level.
#[derive(Clone, Debug, Default)]
pub struct Trials(BTreeMap<i64, Vec<Outcome>>);

/// The relevant bounds for a target: the lowest load that is too high, and the highest good one below.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Bounds {
    /// The level of the good load.
    pub lower: Option<i64>,
    /// The level of the bad load.
    pub upper: Option<i64>,
}

impl Trials {
    /// Notes a trial.
    pub fn add(&mut self, level: i64, outcome: Outcome) {
        self.0.entry(level).or_default().push(outcome);
    }

    /// The last trial of a load.
    pub fn last(&self, level: i64) -> Option<Outcome> {
        self.0.get(&level)?.last().copied()
    }

    /// The bounds for a target.
    pub fn bounds(&self, target: &Target) -> Bounds {
        let mut bounds = Bounds::default();
        for (level, outcomes) in &self.0 {
            let is_refuted = target.ceiling.is_some_and(|ceiling| *level >= ceiling);
            let verdict = if is_refuted {
                Some(false)
            } else {
                is_good(outcomes, target)
            };
            match verdict {
                Some(true) => bounds.lower = Some(*level),
                Some(false) => {
                    bounds.upper = Some(*level);
                    break;
                }
                None => {}
            }
        }
        bounds
    }

    /// The loss at a load that is counted: the quantile of losses by the time that may be bad. Time of trials that is
    /// missing counts as lost entirely.
    pub fn loss_ratio(&self, level: i64, target: &Target) -> f64 {
        let outcomes = self.0.get(&level).map(Vec::as_slice).unwrap_or_default();
        let mut long: Vec<&Outcome> = outcomes
            .iter()
            .filter(|outcome| outcome.seconds >= target.trial_s)
            .collect();
        long.sort_by(|a, b| a.loss_ratio.total_cmp(&b.loss_ratio));
        let seconds: f64 = long.iter().map(|outcome| outcome.seconds).sum();
        let mut left = seconds.max(target.sum_s) * (1.0 - target.exceed_ratio);
        for outcome in long {
            left -= outcome.seconds;
            if left <= 0.0 {
                return outcome.loss_ratio;
            }
        }
        1.0
    }
}

/// Whether a load is a lower bound for a target, or an upper one. None when trials that are still to be made can decide
/// either way.
fn is_good(outcomes: &[Outcome], target: &Target) -> Option<bool> {
    let seconds = |is_long: bool, is_bad: bool| -> f64 {
        let chosen = outcomes.iter().filter(|outcome| {
            (outcome.seconds >= target.trial_s) == is_long && (outcome.loss_ratio > target.loss_ratio) == is_bad
        });
        chosen.map(|outcome| outcome.seconds).sum()
    };
    let (good_long, bad_long) = (seconds(true, false), seconds(true, true));
    let (good_short, bad_short) = (seconds(false, false), seconds(false, true));
    // Short trials that are good excuse short ones that are bad, and nothing else.
    let excused = good_short * target.exceed_ratio / (1.0 - target.exceed_ratio);
    let bad = bad_long + (bad_short - excused).max(0.0);
    let all = (good_long + bad).max(target.sum_s);
    let may_be_bad = all * target.exceed_ratio;
    let at_best = bad <= may_be_bad;
    let at_worst = all - good_long <= may_be_bad;
    (at_best == at_worst).then_some(at_best)
}

#[cfg(test)]
mod tests {
    use super::*;

    const NDR: Target = Target {
        loss_ratio: 0.0,
        exceed_ratio: 0.5,
        width: 1,
        trial_s: 1.0,
        sum_s: 21.0,
        ceiling: None,
    };

    fn outcomes(good: usize, bad: usize) -> Vec<Outcome> {
        let outcome = |loss_ratio| Outcome {
            seconds: 1.0,
            loss_ratio,
        };
        let mut all = vec![outcome(0.0); good];
        all.extend(vec![outcome(0.1); bad]);
        all
    }

    #[test]
    fn eleven_of_twenty_one_decide() {
        assert_eq!(is_good(&outcomes(10, 10), &NDR), None);
        assert_eq!(is_good(&outcomes(11, 0), &NDR), Some(true));
        assert_eq!(is_good(&outcomes(10, 11), &NDR), Some(false));
    }

    #[test]
    fn a_single_bad_minute_decides_for_rfc_2544() {
        let target = Target {
            exceed_ratio: 0.0,
            trial_s: 60.0,
            sum_s: 60.0,
            ..NDR
        };
        assert_eq!(
            is_good(&outcomes(100, 0), &target),
            None,
            "short trials cannot make a load good"
        );
        assert_eq!(is_good(&outcomes(0, 1), &target), Some(false));
    }

    #[test]
    fn a_good_load_above_a_bad_one_is_not_relevant() {
        let mut trials = Trials::default();
        for (level, good, bad) in [(5, 21, 0), (7, 0, 21), (9, 21, 0)] {
            outcomes(good, bad)
                .into_iter()
                .for_each(|outcome| trials.add(level, outcome));
        }
        let found = trials.bounds(&NDR);
        assert_eq!((found.lower, found.upper), (Some(5), Some(7)));
        assert_eq!(trials.loss_ratio(5, &NDR), 0.0);
        let below = Target {
            ceiling: Some(5),
            ..NDR
        };
        let found = trials.bounds(&below);
        assert_eq!(
            (found.lower, found.upper),
            (None, Some(5)),
            "a load that was refuted is too high"
        );
    }
}
