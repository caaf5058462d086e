//! Multiple loss ratio search (draft-ietf-bmwg-mlrsearch): the highest loads that reach several goals, in one search.
//!
//! 1. A trial at the highest load shows what the device forwards; one or two more at about that load give the first
//!    interval.
//! 2. Each goal nominates a load ([`super::selector`]); the lowest is tried. Each trial counts for all goals.
//! 3. It ends when no goal nominates a load, or when the time is over.
//!
//! A load at which the sender is late was not reached. A trial in which it is late, but sends at least half, may have
//! been disturbed by other work of the machine, and is repeated. A load at which it is late again is too high for every
//! goal, whatever share it lets through: where the device keeps the tester from sending, overload loses nothing.
//!
//! The highest load is tried first with a *warm-up* whose result is forgotten.
//!
//! A search tries many loads with short trials, so the one that it finds may have been lucky, or the device slower
//! since. [`search_and_confirm`] offers it again ([`Confirmation`]); a load that does not hold is too high, and the
//! search goes on below.

use super::bounds::{Bounds, Outcome, Target, Trials};
use super::goal::Goal;
use super::grid::Grid;
use super::selector::{Nomination, Selector, keep_clear};
use super::{Confirmed, LimitedBy, SearchResults, SearchTrial};
use crate::results::late_ns_max;
use forebay_sim::Backlog;

/// How often a trial is repeated whose sender was late.
const REPETITIONS: u32 = 2;

/// What a trial has measured.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Measured {
    /// Frames that were to be sent.
    pub intended: u64,
    /// Frames that were sent.
    pub sent: u64,
    /// Frames of these that were lost.
    pub lost: u64,
    /// Whether the machine disturbed the trial.
    pub is_disturbed: bool,
    /// Whether the sender was late ([`crate::results::TrialResults::is_late`]).
    pub is_late: bool,
    /// Packets that waited in the device, when these became ever more.
    pub backlog: Option<Backlog>,
}

/// Runs trials.
pub trait Measurer {
    /// Runs a trial at this load, in frames per second, for `seconds` seconds.
    ///
    /// # Errors
    /// When it cannot be run, in words.
    fn measure(&mut self, pps: f64, seconds: f64) -> Result<Measured, String>;

    /// Why the last trial failed, when that ends a search with what is known by then: the caller has stopped it, or the
    /// device is not there any more. None otherwise.
    fn ended_by(&self) -> Option<String> {
        None
    }
}

/// Within what is searched.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Limits {
    /// The least load.
    pub min_pps: f64,
    /// The highest load.
    pub max_pps: f64,
    /// The length of a first trial that is not counted; none when 0.
    pub warm_up_s: f64,
    /// Seconds of trials after which the search ends with what is known.
    pub trials_s_max: f64,
}

/// Fresh trials that the load of a goal must pass after the search has found it. The share of them that may be bad is
/// the goal's.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Confirmation {
    /// How many trials.
    pub trials: u32,
    /// How long each is: as long as what is then measured at that load.
    pub seconds: f64,
}

/// Searches. When the caller ends it after the first trial, what is known by then is the result, as when the time is
/// over.
///
/// # Errors
/// When a trial cannot be run.
pub fn search(goals: &[Goal], limits: Limits, measurer: &mut dyn Measurer) -> Result<Vec<SearchResults>, String> {
    let mut search = Search::new(goals, limits, measurer);
    let ended = search.first_trials().and_then(|first| search.main(first));
    let is_complete = search.unless_stopped(ended)?;
    Ok(search.all_results(goals, is_complete))
}

/// Searches until the load of each goal holds in fresh trials. Those count for the limit of time; when it is over, or
/// the caller ends the search, a load may be unconfirmed, which the results say.
///
/// # Errors
/// When a trial cannot be run.
pub fn search_and_confirm(
    goals: &[Goal],
    limits: Limits,
    confirmation: Confirmation,
    measurer: &mut dyn Measurer,
) -> Result<Vec<SearchResults>, String> {
    let mut search = Search::new(goals, limits, measurer);
    let mut confirmed = vec![Confirmed::default(); goals.len()];
    let mut held = vec![None; goals.len()];
    let ended = search.until_confirmed(confirmation, &mut confirmed, &mut held);
    let is_complete = search.unless_stopped(ended)?;
    let mut results = search.all_results(goals, is_complete);
    for (index, result) in results.iter_mut().enumerate() {
        let lower = search.bounds(index).lower;
        confirmed[index].is_confirmed = lower.is_some() && lower == held[index];
        result.confirmed = Some(confirmed[index]);
    }
    Ok(results)
}

struct Search<'a> {
    limits: Limits,
    grid: Grid,
    /// For each goal, its targets from the final to the coarsest.
    targets: Vec<Vec<Target>>,
    measurer: &'a mut dyn Measurer,
    trials: Trials,
    log: Vec<SearchTrial>,
    seconds: f64,
    /// Loads at which the sender was late, however often the trial was repeated.
    late: Vec<f64>,
}

/// How a trial went.
struct Tried {
    outcome: Outcome,
    /// Frames that were lost or, where the sender was late, not sent.
    loss_ratio: f64,
    unsent_ratio: f64,
    is_late: bool,
}

impl<'a> Search<'a> {
    fn new(goals: &[Goal], limits: Limits, measurer: &'a mut dyn Measurer) -> Search<'a> {
        let widths: Vec<f64> = goals.iter().map(|goal| goal.width).collect();
        let grid = Grid::new(limits.min_pps, limits.max_pps, &widths);
        Search {
            limits,
            grid,
            targets: goals.iter().map(|goal| targets(goal, &grid)).collect(),
            measurer,
            trials: Trials::default(),
            log: Vec::new(),
            seconds: 0.0,
            late: Vec::new(),
        }
    }

    /// Whether the search is complete. One that the caller ended after the first trial is not, and what is known by then
    /// is its result.
    fn unless_stopped(&self, ended: Result<bool, String>) -> Result<bool, String> {
        match ended {
            Err(_) if self.measurer.ended_by().is_some() && !self.log.is_empty() => Ok(false),
            ended => ended,
        }
    }

    /// Searches until the load of each goal holds in fresh trials. Returns whether all goals were reached; how often a
    /// load of a goal did not hold is counted, and the load that held is noted.
    fn until_confirmed(
        &mut self,
        confirmation: Confirmation,
        confirmed: &mut [Confirmed],
        held: &mut [Option<i64>],
    ) -> Result<bool, String> {
        let first = self.first_trials()?;
        let mut is_complete = self.main(first)?;
        loop {
            // Trials for one goal count for all, so a load that held may not be the one of its goal any more.
            let open = (0..held.len()).find_map(|index| {
                let lower = self.bounds(index).lower.filter(|lower| held[index] != Some(*lower))?;
                Some((index, lower))
            });
            let Some((index, level)) = open else {
                return Ok(is_complete);
            };
            if self.holds(index, level, confirmation)? {
                held[index] = Some(level);
                continue;
            }
            confirmed[index].failed += 1;
            if self.seconds >= self.limits.trials_s_max {
                return Ok(false);
            }
            is_complete = self.main(first)?;
        }
    }

    /// Whether a load passes fresh trials. If not, it and all above are too high for the goal.
    fn holds(&mut self, index: usize, level: i64, confirmation: Confirmation) -> Result<bool, String> {
        let Target {
            loss_ratio,
            exceed_ratio,
            ..
        } = self.targets[index][0];
        let mut bad = 0u32;
        for _ in 0..confirmation.trials {
            self.measure(level, confirmation.seconds)?;
            bad += u32::from(self.trials.last(level).is_some_and(|last| last.loss_ratio > loss_ratio));
        }
        let holds = f64::from(bad) <= exceed_ratio * f64::from(confirmation.trials);
        if !holds {
            self.targets[index]
                .iter_mut()
                .for_each(|target| target.ceiling = Some(level));
        }
        Ok(holds)
    }

    /// Runs a trial, again where the sender was late; the loss ratio of the last one.
    fn measure(&mut self, level: i64, seconds: f64) -> Result<f64, String> {
        let pps = self.grid.load(level);
        let mut tried = self.trial(pps, seconds)?;
        for _ in 0..REPETITIONS {
            if !tried.is_late || tried.unsent_ratio > 0.5 {
                break;
            }
            tried = self.trial(pps, seconds)?;
        }
        if tried.is_late {
            self.late.push(pps);
        }
        self.trials.add(level, tried.outcome);
        Ok(tried.loss_ratio)
    }

    /// Runs one trial.
    fn trial(&mut self, pps: f64, seconds: f64) -> Result<Tried, String> {
        let measured = self.measurer.measure(pps, seconds)?;
        self.seconds += seconds;
        let unsent = measured.intended.saturating_sub(measured.sent);
        // Some frames are always on their way.
        let is_late = measured.is_late || unsent as f64 > late_ns_max(seconds) as f64 / 1e9 * pps + 1.0;
        // A load that cannot be sent is not reached: the search goes on below. The result names the tester as its
        // limit.
        let all = measured.intended.max(measured.sent).max(1) as f64;
        let loss_ratio = (measured.lost + if is_late { unsent } else { 0 }) as f64 / all;
        let unsent_ratio = unsent as f64 / all;
        self.log.push(SearchTrial {
            pps,
            seconds,
            loss_ratio: measured.lost as f64 / measured.sent.max(1) as f64,
            unsent_ratio,
            is_disturbed: measured.is_disturbed,
            is_late,
            backlog: measured.backlog,
        });
        let outcome = Outcome {
            seconds,
            loss_ratio: if is_late { 1.0 } else { loss_ratio },
        };
        Ok(Tried {
            outcome,
            loss_ratio,
            unsent_ratio,
            is_late,
        })
    }

    /// The first interval.
    fn first_trials(&mut self) -> Result<(i64, i64), String> {
        let top = self.grid.top();
        let coarse = || self.targets.iter().filter_map(|targets| targets.last());
        let ratio = coarse().map(|target| target.loss_ratio).fold(1.0, f64::min);
        let seconds = coarse().map(|target| target.trial_s).fold(0.0, f64::max);
        let width = coarse().map(|target| target.width).max().unwrap_or(1);
        if self.limits.warm_up_s > 0.0 {
            self.measure(top, self.limits.warm_up_s)?;
            self.trials = Trials::default();
            self.late.clear();
        }
        let below = |level| Bounds {
            lower: None,
            upper: Some(level),
        };
        let forwarded = self.forwarded(top, seconds, ratio)?;
        if forwarded >= top {
            return Ok((top, top));
        }
        let first = keep_clear(forwarded, width, below(top), top).unwrap_or(0);
        let loss = self.measure(first, seconds)?;
        let second = if loss > ratio {
            let forwarded = self.grid.level(self.grid.load(first) * (1.0 - loss) / (1.0 - ratio));
            keep_clear(forwarded, width, below(first), top)
        } else {
            let between = Bounds {
                lower: Some(first),
                upper: Some(top),
            };
            keep_clear(first + width, width, between, top)
        };
        let Some(second) = second else {
            return Ok((first, first));
        };
        self.measure(second, seconds)?;
        Ok((first.min(second), first.max(second)))
    }

    /// The level of what comes out at a load, as if a share could be lost.
    fn forwarded(&mut self, level: i64, seconds: f64, ratio: f64) -> Result<i64, String> {
        let loss = self.measure(level, seconds)?;
        Ok(self.grid.level(self.grid.load(level) * (1.0 - loss) / (1.0 - ratio)))
    }

    /// Tries the loads that goals nominate; whether all goals were reached.
    fn main(&mut self, (lower, upper): (i64, i64)) -> Result<bool, String> {
        let mut global_width = upper - lower;
        let top = self.grid.top();
        let selector = |targets: &Vec<Target>| Selector::new(targets, top, (lower, upper));
        let mut selectors: Vec<Selector> = self.targets.iter().map(selector).collect();
        while self.seconds < self.limits.trials_s_max {
            let mut winner: Option<(usize, Nomination)> = None;
            for (index, selector) in selectors.iter_mut().enumerate() {
                let Some(nomination) = selector.nominate(&self.trials, global_width) else {
                    continue;
                };
                if winner.is_none_or(|(_, best)| !best.precedes(&nomination)) {
                    winner = Some((index, nomination));
                }
            }
            let Some((index, nomination)) = winner else {
                return Ok(true);
            };
            self.measure(nomination.level, nomination.seconds)?;
            global_width = nomination.width;
            if let Some(width) = selectors[index].won(&self.trials, nomination.level) {
                global_width = width;
            }
        }
        Ok(false)
    }

    /// What is known of a goal's load.
    fn bounds(&self, index: usize) -> Bounds {
        self.trials.bounds(&self.targets[index][0])
    }

    fn all_results(&self, goals: &[Goal], is_complete: bool) -> Vec<SearchResults> {
        let goals = goals.iter().enumerate();
        goals
            .map(|(index, goal)| self.results(goal, index, is_complete))
            .collect()
    }

    fn results(&self, goal: &Goal, index: usize, is_complete: bool) -> SearchResults {
        let target = self.targets[index][0];
        let bounds = self.bounds(index);
        let lower = bounds.lower.map(|level| self.grid.load(level));
        let upper = bounds.upper.map(|level| self.grid.load(level));
        let conditional = bounds
            .lower
            .map(|level| self.grid.load(level) * (1.0 - self.trials.loss_ratio(level, &target)));
        // Late trials at loads below one that was reached do not limit it.
        let is_above = |pps: f64| lower.is_none_or(|lower| pps > lower);
        let is_of_tester = upper.is_some_and(|upper| self.late.iter().any(|late| is_above(*late) && *late <= upper));
        SearchResults {
            goal: goal.name.clone(),
            loss_ratio: goal.loss_ratio,
            exceed_ratio: goal.exceed_ratio,
            width: goal.width,
            lower_bound_pps: lower,
            upper_bound_pps: upper,
            conditional_throughput_pps: conditional,
            limited_by: match (lower, upper) {
                (_, Some(_)) if is_of_tester => LimitedBy::Tester,
                (None, None) => LimitedBy::Time,
                (None, _) if !is_complete => LimitedBy::Time,
                (None, _) => LimitedBy::LeastLoad,
                (_, None) if !is_complete => LimitedBy::Time,
                (_, None) => LimitedBy::HighestLoad,
                _ => LimitedBy::Device,
            },
            is_complete,
            confirmed: None,
            trials: self.log.clone(),
        }
    }
}

/// The final target of a goal, and coarser ones with shorter trials, whose widths double.
fn targets(goal: &Goal, grid: &Grid) -> Vec<Target> {
    let steps = goal.preceding_targets;
    let ratio = match steps {
        0 => 1.0,
        steps => (goal.initial_trial_s / goal.duration_sum_s).powf(1.0 / f64::from(steps)),
    };
    let target = |step: u32| {
        let sum_s = match step {
            0 => goal.duration_sum_s,
            step if step == steps => goal.initial_trial_s,
            step => goal.duration_sum_s * ratio.powi(step as i32),
        };
        Target {
            loss_ratio: goal.loss_ratio,
            exceed_ratio: goal.exceed_ratio,
            width: grid.width(goal.width) << step,
            trial_s: goal.final_trial_s.min(sum_s),
            sum_s,
            ceiling: None,
        }
    };
    (0..=steps).map(target).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Forwards at most this number of frames per second.
    struct Ideal(f64);

    impl Measurer for Ideal {
        fn measure(&mut self, pps: f64, seconds: f64) -> Result<Measured, String> {
            let sent = (pps * seconds) as u64;
            Ok(Measured {
                intended: sent,
                sent,
                lost: sent.saturating_sub((self.0 * seconds) as u64),
                ..Measured::default()
            })
        }
    }

    fn limits() -> Limits {
        Limits {
            min_pps: 10_000.0,
            max_pps: 10e6,
            warm_up_s: 1.0,
            trials_s_max: 10_000.0,
        }
    }

    fn goals(names: &[&str]) -> Vec<Goal> {
        names.iter().filter_map(|name| Goal::named(name)).flatten().collect()
    }

    #[test]
    fn finds_what_is_forwarded() {
        for pps in [12_345.0, 1_234_567.0, 7.7e6] {
            let found =
                search(&goals(&["ndr", "pdr", "rfc2544", "tst009"]), limits(), &mut Ideal(pps)).expect("trials");
            for result in found {
                let (lower, upper) = (
                    result.lower_bound_pps.expect("found"),
                    result.upper_bound_pps.expect("found"),
                );
                let most = pps / (1.0 - result.loss_ratio);
                assert!(
                    lower <= most + 1.0 && most <= upper,
                    "{}: {lower} {upper} for {pps}",
                    result.goal
                );
                assert!(
                    upper - lower <= result.width * upper,
                    "{}: {lower} {upper}",
                    result.goal
                );
                assert_eq!((result.limited_by, result.is_complete), (LimitedBy::Device, true));
            }
        }
    }

    #[test]
    fn ends_of_the_search_are_no_results() {
        let found = search(&goals(&["ndr"]), limits(), &mut Ideal(20e6)).expect("trials");
        assert_eq!((found[0].lower_bound_pps, found[0].upper_bound_pps), (Some(10e6), None));
        assert_eq!(found[0].limited_by, LimitedBy::HighestLoad);
        let found = search(&goals(&["ndr"]), limits(), &mut Ideal(10.0)).expect("trials");
        assert_eq!(
            (found[0].lower_bound_pps, found[0].limited_by),
            (None, LimitedBy::LeastLoad)
        );
    }

    /// A tester that sends at most this number of frames per second, and a device that loses none.
    struct SlowTester(f64);

    impl Measurer for SlowTester {
        fn measure(&mut self, pps: f64, seconds: f64) -> Result<Measured, String> {
            Ok(Measured {
                intended: (pps * seconds) as u64,
                sent: (pps.min(self.0) * seconds) as u64,
                ..Measured::default()
            })
        }
    }

    /// Unsent packets that are counted as lost make a device look slower than it is; ignored ones make it look faster.
    #[test]
    fn what_the_tester_cannot_send_is_its_own_limit() {
        let found = search(&goals(&["ndr"]), limits(), &mut SlowTester(1e6)).expect("trials");
        assert_eq!(found[0].limited_by, LimitedBy::Tester);
        assert!(found[0].trials.iter().all(|trial| trial.loss_ratio == 0.0));
        let lower = found[0].lower_bound_pps.expect("found");
        assert!((0.99e6..1.002e6).contains(&lower), "{lower}");
    }

    /// Goals that allow some loss do not allow the tester to send less than the load.
    #[test]
    fn a_late_sender_is_too_slow_for_every_goal() {
        let found = search(&goals(&["pdr"]), limits(), &mut SlowTester(1e6)).expect("trials");
        let lower = found[0].lower_bound_pps.expect("found");
        assert!((0.99e6..1.002e6).contains(&lower), "{lower}");
        assert!(found[0].trials.iter().any(|trial| trial.is_late));
    }

    /// Sends all frames, but ever later: only the sender can detect it.
    struct Later(f64);

    impl Measurer for Later {
        fn measure(&mut self, pps: f64, seconds: f64) -> Result<Measured, String> {
            let sent = (pps * seconds) as u64;
            Ok(Measured {
                intended: sent,
                sent,
                is_late: pps > self.0,
                ..Measured::default()
            })
        }
    }

    #[test]
    fn a_sender_that_is_ever_later_has_not_reached_the_load() {
        let found = search(&goals(&["ndr", "pdr"]), limits(), &mut Later(1e6)).expect("trials");
        for result in found {
            let lower = result.lower_bound_pps.expect("found");
            assert!((0.99e6..=1e6).contains(&lower), "{}: {lower}", result.goal);
            assert_eq!(result.limited_by, LimitedBy::Tester);
        }
    }

    /// A device that forwards a million frames a second, and a sender that is late in some trials, by their number.
    struct Disturbed {
        trials: u32,
        is_late: fn(u32) -> bool,
    }

    impl Measurer for Disturbed {
        fn measure(&mut self, pps: f64, seconds: f64) -> Result<Measured, String> {
            self.trials += 1;
            Ok(Measured {
                is_late: (self.is_late)(self.trials),
                ..Ideal(1e6).measure(pps, seconds)?
            })
        }
    }

    #[test]
    fn a_trial_that_was_disturbed_is_repeated() {
        let is_late = |trial| trial % 3 == 0;
        let found = search(&goals(&["ndr"]), limits(), &mut Disturbed { trials: 0, is_late }).expect("trials");
        let lower = found[0].lower_bound_pps.expect("found");
        assert!((0.99e6..=1e6).contains(&lower), "{lower}");
        assert_eq!(found[0].limited_by, LimitedBy::Device);
        let (late, all) = found[0].late_trials();
        assert!(
            late > 0 && late < all && !found[0].is_of_a_busy_machine(),
            "{late} of {all}"
        );
    }

    #[test]
    fn a_late_trial_below_the_load_that_was_found_does_not_limit_it() {
        let goals = goals(&["ndr"]);
        let is_late = |trial: u32| trial <= 1 + REPETITIONS;
        let mut device = Disturbed { trials: 0, is_late };
        let mut search = Search::new(&goals, limits(), &mut device);
        let [below, lower, upper] = [0.5e6, 0.9e6, 1.2e6].map(|pps| search.grid.level(pps));
        search.measure(below, 1.0).expect("a trial");
        for level in [lower, upper] {
            for _ in 0..21 {
                search.measure(level, 1.0).expect("a trial");
            }
        }
        let found = search.results(&goals[0], 0, true);
        assert_eq!(found.lower_bound_pps, Some(search.grid.load(lower)));
        assert_eq!(found.limited_by, LimitedBy::Device);
    }

    #[test]
    fn a_machine_that_disturbs_most_trials_is_told() {
        let is_late = |trial| trial % 4 != 0;
        let found = search(&goals(&["ndr"]), limits(), &mut Disturbed { trials: 0, is_late }).expect("trials");
        assert!(found[0].is_of_a_busy_machine(), "{:?}", found[0].late_trials());
    }

    /// Forwards less in longer trials.
    struct Tiring {
        short_pps: f64,
        long_pps: f64,
    }

    impl Measurer for Tiring {
        fn measure(&mut self, pps: f64, seconds: f64) -> Result<Measured, String> {
            let capacity = if seconds > 1.0 { self.long_pps } else { self.short_pps };
            Ideal(capacity).measure(pps, seconds)
        }
    }

    const LONGER: Confirmation = Confirmation {
        trials: 3,
        seconds: 5.0,
    };

    #[test]
    fn a_load_that_does_not_hold_is_searched_below() {
        let mut device = Tiring {
            short_pps: 1e6,
            long_pps: 0.9e6,
        };
        let goals = goals(&["ndr", "pdr"]);
        let found = search_and_confirm(&goals, limits(), LONGER, &mut device).expect("trials");
        let mut failed = 0;
        for result in found {
            let lower = result.lower_bound_pps.expect("found");
            assert!((0.87e6..0.91e6).contains(&lower), "{}: {lower}", result.goal);
            let confirmed = result.confirmed.expect("confirmed");
            assert!(confirmed.is_confirmed, "{}: {confirmed:?}", result.goal);
            assert_eq!(result.limited_by, LimitedBy::Device);
            failed += confirmed.failed;
        }
        // The trials that confirm one goal teach the other.
        assert!(failed > 0);
    }

    #[test]
    fn a_load_that_holds_is_confirmed_once() {
        let found = search_and_confirm(&goals(&["ndr"]), limits(), LONGER, &mut Ideal(1e6)).expect("trials");
        let is_long = |trial: &&SearchTrial| trial.seconds == LONGER.seconds;
        assert_eq!(found[0].trials.iter().filter(is_long).count(), 3);
        let confirmed = found[0].confirmed.expect("confirmed");
        assert_eq!((confirmed.failed, confirmed.is_confirmed), (0, true));
        let alone = search(&goals(&["ndr"]), limits(), &mut Ideal(1e6)).expect("trials");
        assert_eq!(found[0].lower_bound_pps, alone[0].lower_bound_pps);
    }

    #[test]
    fn what_never_holds_ends_with_the_time_and_says_so() {
        let mut device = Tiring {
            short_pps: 1e6,
            long_pps: 0.0,
        };
        let limits = Limits {
            trials_s_max: 100.0,
            ..limits()
        };
        let found = search_and_confirm(&goals(&["ndr"]), limits, LONGER, &mut device).expect("trials");
        let confirmed = found[0].confirmed.expect("confirmed");
        assert!(!confirmed.is_confirmed && confirmed.failed > 0, "{confirmed:?}");
        assert!(
            !found[0].is_complete,
            "nothing is known below the load that did not hold"
        );
    }

    #[test]
    fn the_time_is_limited() {
        let limits = Limits {
            trials_s_max: 5.0,
            ..limits()
        };
        let found = search(&goals(&["ndr"]), limits, &mut Ideal(1e6)).expect("trials");
        assert!(!found[0].is_complete);
        assert!(found[0].trials.iter().map(|trial| trial.seconds).sum::<f64>() < 7.0);
    }
}
