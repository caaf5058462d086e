//! Trials with a device: the highest load without loss, and latency at a load.

use forebay_packet::PortError;
use forebay_tester::clock::Clock;
use forebay_tester::device::Device;
use forebay_tester::histogram::{Distribution, Histogram};
use forebay_tester::results::TrialResults;
use forebay_tester::search::{
    Confirmation, Confirmed, Goal, LimitedBy, Limits, Measured, Measurer, search_and_confirm,
};
use forebay_tester::stream::Stream;
use forebay_tester::test_file::CustomGoal;
use forebay_tester::trial::{Plan, Silent, run_trial};
use serde::{Deserialize, Serialize};
use std::ops::RangeInclusive;

/// Packets that are sent at once at most.
const BURST: usize = 8;

/// Pauses of the tester that count as disturbances.
const DISTURBANCE_NS: u64 = 100_000;

/// The rate of a stream that scales are factors of.
pub(crate) const UNIT_PPS: f64 = 1e6;

/// The distance of the bounds of the highest load, as a share of it.
const WIDTH: f64 = 0.02;

/// The share of a trial's packets by which the device may hold more at its end than at its beginning. A queue that
/// fills hides for a while that the load is too high.
const GROWTH_SHARE: f64 = WIDTH / 4.0;

/// Trials in which the load that a search has found must hold. One of them may be disturbed by another process.
const CONFIRMATIONS: u32 = 3;

/// Trials of a search may take this many times as long as those that decide of a load.
pub(crate) const SEARCH_SUMS: f64 = 40.0;

/// Lengths of trials in seconds, and highest loads that are possible.
const LENGTHS_S: RangeInclusive<f64> = 1e-9..=86_400.0;
const PPS: RangeInclusive<f64> = 1.0..=1e9;

/// How many times longer than usual a trial of latency may last to have enough packets.
const LONGER_MAX: f64 = 10.0;

/// How much is measured.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Effort {
    /// How long latency is measured.
    pub(crate) seconds: f64,
    /// Packets that latency is measured of: at a lower rate a trial lasts longer, up to [`LONGER_MAX`] times.
    pub(crate) samples: u64,
    /// Trials of a search: their length, and how much of them decides.
    pub(crate) trial_s: f64,
    pub(crate) trials_s: f64,
    /// The highest load that is tried.
    pub(crate) pps_max: f64,
    /// How long the last packets may take.
    pub(crate) drain_ns: u64,
    /// Packets that may be inside of the device when a trial ends, and are not lost.
    pub(crate) inside: u64,
}

impl Effort {
    /// How long latency is measured at a rate.
    fn seconds_at(&self, pps: f64) -> f64 {
        let needed = self.samples as f64 / pps;
        needed.clamp(self.seconds, LONGER_MAX * self.seconds)
    }
}

/// Whether trials can be so long, and go up to such a load.
///
/// # Errors
/// Which number makes no sense, in words.
pub(crate) fn check_effort(seconds: f64, trial_s: f64, trials_s: f64, pps_max: f64) -> Result<(), String> {
    let lengths = [("seconds", seconds), ("trial_s", trial_s), ("trials_s", trials_s)];
    if let Some((key, length)) = lengths.into_iter().find(|(_, length)| !LENGTHS_S.contains(length)) {
        return Err(format!("{key} is {length}; it is more than 0, and at most a day"));
    }
    if trials_s < trial_s {
        return Err(format!(
            "trials_s is {trials_s}; it is at least trial_s, which is {trial_s}"
        ));
    }
    if PPS.contains(&pps_max) {
        Ok(())
    } else {
        Err(format!("pps_max is {pps_max}; it is 1 to 10^9"))
    }
}

/// The highest load without loss.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Highest {
    /// None when even the least load loses packets.
    pub(crate) pps: Option<f64>,
    pub(crate) limited_by: LimitedBy,
    /// Whether it held in trials as long as those of latency, and how many loads did not.
    pub(crate) confirmed: Confirmed,
}

/// Latency at a load.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[allow(missing_docs)]
pub struct LoadResult {
    /// The load as a share of NDR; 0 where no load was without loss.
    pub share: f64,
    pub pps: f64,
    pub sent: u64,
    pub unsent: u64,
    pub lost: u64,
    /// Latency from the intended sending time, packets that the machine disturbed left out.
    pub latency: Distribution,
    pub box_plot: BoxPlot,
    /// The same with all packets.
    pub latency_all: Distribution,
    /// The share of the time that the machine disturbed.
    pub disturbed_share: f64,
    /// Whether the sender was late: the load was not reached, and latency is its lateness.
    #[serde(default)]
    pub is_late: bool,
    /// Trials of which this is the one with the middle median.
    #[serde(default)]
    pub trials: u64,
    /// Those in which the sender was late. They are left out unless all are.
    #[serde(default)]
    pub late_trials: u64,
    /// The least and the largest median of the trials that count.
    #[serde(default)]
    pub medians_ns: (u64, u64),
    /// The median of each trial, in their order; none where the sender was late or the machine disturbed all packets.
    #[serde(default)]
    pub turns_ns: Vec<Option<u64>>,
}

impl LoadResult {
    /// The trial with the middle median, of those whose sender was on time and that have packets that the machine did
    /// not disturb; of all when there are none. None of nothing.
    pub fn middle(all: Vec<LoadResult>) -> Option<LoadResult> {
        let trials = all.len() as u64;
        let late_trials = all.iter().filter(|load| load.is_late).count() as u64;
        let turns_ns = LoadResult::turns_ns(&all);
        let counts = |load: &LoadResult| load.undisturbed().is_some();
        let has_good = all.iter().any(counts);
        let mut chosen: Vec<LoadResult> = all.into_iter().filter(|load| !has_good || counts(load)).collect();
        chosen.sort_by_key(|load| load.latency.p50_ns);
        let medians_ns = (chosen.first()?.latency.p50_ns, chosen.last()?.latency.p50_ns);
        let middle = chosen.swap_remove((chosen.len() - 1) / 2);
        Some(LoadResult {
            trials,
            late_trials,
            medians_ns,
            turns_ns,
            ..middle
        })
    }

    /// The median of each trial, in their order; none where the sender was late or the machine disturbed all packets.
    pub(crate) fn turns_ns(all: &[LoadResult]) -> Vec<Option<u64>> {
        let median = |load: &LoadResult| load.undisturbed().map(|latency| latency.p50_ns);
        all.iter().map(median).collect()
    }

    /// Whether all trials, or at least `trials_min` of them, had a punctual sender.
    pub(crate) fn is_punctual(&self, trials_min: usize) -> bool {
        self.late_trials == 0 || self.trials - self.late_trials >= trials_min as u64
    }

    /// How many of the trials had a late sender, in words.
    pub(crate) fn late(&self) -> String {
        format!("{} of {}", self.late_trials, self.trials)
    }

    /// Latency of the packets that the machine did not disturb; none when it disturbed all, or when the sender was
    /// late.
    pub fn undisturbed(&self) -> Option<&Distribution> {
        (self.latency.count > 0 && !self.is_late).then_some(&self.latency)
    }
}

/// Tukey's box plot, in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[allow(missing_docs)]
pub struct BoxPlot {
    pub min: u64,
    /// The quartiles; the second is the median.
    pub quartiles: [u64; 3],
    /// The largest value at most 1.5 times the box above it.
    pub upper_whisker: u64,
    pub max: u64,
    /// Values above the whisker.
    pub outliers: u64,
}

impl BoxPlot {
    /// Of a distribution.
    pub fn of(found: &Histogram) -> BoxPlot {
        let quartiles = [0.25, 0.5, 0.75].map(|share| found.quantile(share));
        let fence = quartiles[2] + (quartiles[2] - quartiles[0]) * 3 / 2;
        // Of the bucket in which the fence is, all values count as inside: they may all be the quartile itself.
        let inside = || found.buckets().filter(move |(low, _, _)| *low <= fence);
        let count: u64 = inside().map(|(_, _, count)| count).sum();
        let highest = inside().map(|(_, high, _)| high.min(fence)).last();
        BoxPlot {
            min: found.min(),
            quartiles,
            upper_whisker: highest
                .unwrap_or(quartiles[2])
                .clamp(quartiles[2], found.max().max(quartiles[2])),
            max: found.max(),
            outliers: found.count() - count.min(found.count()),
        }
    }
}

/// Trials with a device, one after the other.
pub(crate) struct Trials {
    device: Device,
    clock: Clock,
    ports: [u32; 2],
    effort: Effort,
    streams: Vec<Stream>,
    number: u64,
}

impl Trials {
    /// Trials by this clock. Packets come out by the second port.
    pub(crate) fn new(device: Device, clock: Clock, ports: [u32; 2], effort: Effort) -> Trials {
        Trials {
            device,
            clock,
            ports,
            effort,
            streams: Vec::new(),
            number: 0,
        }
    }

    /// The highest load of this stream, whose rate is [`UNIT_PPS`], without loss, which holds when it is offered again.
    pub(crate) fn highest(&mut self, stream: Stream) -> Result<Highest, String> {
        self.streams = vec![stream];
        let effort = self.effort;
        let limits = Limits {
            min_pps: effort.pps_max / 1e3,
            max_pps: effort.pps_max,
            warm_up_s: effort.trial_s,
            trials_s_max: SEARCH_SUMS * effort.trials_s.max(effort.seconds),
        };
        let confirmation = Confirmation {
            trials: CONFIRMATIONS,
            seconds: effort.seconds,
        };
        let found = search_and_confirm(&[goal(&effort)?], limits, confirmation, self)?;
        let found = found.into_iter().next();
        let found = found.ok_or("the search has no result")?;
        if let Some(silence) = found.silence() {
            return Err(silence);
        }
        Ok(Highest {
            pps: found.lower_bound_pps,
            limited_by: found.limited_by,
            confirmed: found.confirmed.unwrap_or_default(),
        })
    }

    /// Latency of a stream at a load; `highest_pps` is its highest one, if it has any.
    pub(crate) fn load(&mut self, stream: Stream, pps: f64, highest_pps: Option<f64>) -> Result<LoadResult, String> {
        self.streams = vec![stream];
        // At the highest load the share is 1, without an error of rounding.
        let share = highest_pps.map_or(0.0, |highest| (1e9 * pps / highest).round() / 1e9);
        let seconds = self.effort.seconds_at(pps);
        let trial = self.trial(pps, seconds).map_err(|error| error.to_string())?;
        let path = &trial.streams[0].paths[0];
        Ok(LoadResult {
            share,
            pps,
            sent: trial.sent(),
            unsent: trial.unsent(),
            lost: self.lost(&trial),
            latency: path.latency.clone(),
            box_plot: BoxPlot::of(&path.latency.to_histogram()),
            latency_all: path.latency_all.clone(),
            disturbed_share: trial.polling.disturbed_share,
            is_late: trial.is_late(),
            trials: 1,
            late_trials: u64::from(trial.is_late()),
            medians_ns: (path.latency.p50_ns, path.latency.p50_ns),
            turns_ns: Vec::new(),
        })
    }

    fn lost(&self, trial: &TrialResults) -> u64 {
        trial.lost().saturating_sub(self.effort.inside)
    }

    /// Packets by which a queue of the device grew in a trial, when they are more than may be.
    fn queued(&self, trial: &TrialResults) -> u64 {
        let [before, after] = trial.held;
        let growth = after.saturating_sub(before);
        let may_be = (GROWTH_SHARE * trial.sent() as f64) as u64 + self.effort.inside + BURST as u64;
        if growth > may_be { growth } else { 0 }
    }

    fn trial(&mut self, pps: f64, seconds: f64) -> Result<TrialResults, PortError> {
        self.number += 1;
        let plan = Plan {
            scale: pps / UNIT_PPS,
            warm_up_ns: (seconds * 1e8) as u64,
            duration_ns: (seconds * 1e9) as u64,
            drain_ns: self.effort.drain_ns,
            burst: BURST,
            disturbance_ns: DISTURBANCE_NS,
            sample_ns: 0,
            seed: 1,
            number: self.number,
            step: None,
        };
        let Trials {
            streams, device, clock, ..
        } = self;
        let mut trial = run_trial(streams, device, None, plan, clock, &mut Silent)?;
        Ok(TrialResults::new(&self.streams, &self.ports, &mut trial, None))
    }
}

impl Measurer for Trials {
    fn measure(&mut self, pps: f64, seconds: f64) -> Result<Measured, String> {
        let trial = self.trial(pps, seconds).map_err(|error| error.to_string())?;
        Ok(Measured {
            intended: trial.expected() + trial.unsent(),
            sent: trial.expected(),
            lost: self.lost(&trial).max(self.queued(&trial)),
            is_disturbed: trial.is_disturbed(),
            is_late: trial.is_late(),
            backlog: trial.backlog,
        })
    }
}

/// No loss in half of the trials' time: a trial that another process of the machine disturbs does not decide.
fn goal(effort: &Effort) -> Result<Goal, String> {
    Goal::custom(&CustomGoal {
        name: "ndr".to_string(),
        loss_ratio: 0.0,
        exceed_ratio: 0.5,
        initial_trial_s: effort.trial_s,
        final_trial_s: effort.trial_s,
        duration_sum_s: effort.trials_s,
        width: WIDTH,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use forebay_tester::clock::ModelTime;
    use forebay_tester::device::{Processor, slow};

    const QUEUE_PACKETS: usize = 4096;

    const EFFORT: Effort = Effort {
        seconds: 0.02,
        samples: 0,
        trial_s: 0.02,
        trials_s: 0.04,
        pps_max: 4e6,
        drain_ns: 20_000_000,
        inside: 0,
    };

    /// A search with a switch that needs a microsecond for a packet.
    fn found(clock: Clock, processor: Processor) -> Highest {
        highest(slow([1, 2], QUEUE_PACKETS, |_| 1_000, processor), clock)
    }

    fn highest(device: Device, clock: Clock) -> Highest {
        let mut trials = Trials::new(device, clock, [1, 2], EFFORT);
        let kind = crate::rules::Kind::Exact;
        let stream = crate::frames::stream(kind, 1, 1, 64, forebay_tester::stream::Rate::Frames(UNIT_PPS));
        trials.highest(stream).expect("trials")
    }

    /// A queue of 4,096 packets is a fifth of what a trial of 20 ms sends: it must not hide an overload.
    #[test]
    fn the_capacity_of_a_switch_is_found_though_its_queue_is_long() {
        let time = ModelTime::default();
        let pps = found(Clock::Modelled(time), Processor::Own).pps.expect("a load");
        assert!((0.97e6..1.02e6).contains(&pps), "{pps}");
    }

    /// The thread needs 8 µs for a burst of eight, and some readings of the clock.
    #[test]
    fn the_capacity_of_one_thread_is_found() {
        let time = ModelTime::default();
        let processor = Processor::Testers(time.clone());
        let highest = found(Clock::Modelled(time), processor);
        let pps = highest.pps.expect("a load");
        assert!((0.96e6..1.01e6).contains(&pps), "{pps}");
        assert_eq!(highest.limited_by, LimitedBy::Tester);
    }

    /// A switch on a processor of its own, or on the tester's, that becomes a fifth slower after so long.
    fn slower_after(ns: u64, is_testers: bool) -> (Highest, u64) {
        let time = ModelTime::default();
        let processor = if is_testers {
            Processor::Testers(time.clone())
        } else {
            Processor::Own
        };
        let packet_ns = move |now_ns: u64| if now_ns < ns { 1_000 } else { 1_250 };
        let found = highest(
            slow([1, 2], QUEUE_PACKETS, packet_ns, processor),
            Clock::Modelled(time.clone()),
        );
        (found, time.spend(0))
    }

    /// The confirmation is the end of a search that needs none to be repeated: three trials with their warm-ups.
    #[test]
    fn a_load_that_does_not_hold_after_the_search_is_not_the_result() {
        for is_testers in [false, true] {
            let (before, ended_ns) = slower_after(u64::MAX, is_testers);
            assert_eq!((before.confirmed.failed, before.confirmed.is_confirmed), (0, true));
            let confirmation_ns = (f64::from(CONFIRMATIONS) * 1.1 * EFFORT.seconds * 1e9) as u64;
            let (after, _) = slower_after(ended_ns - confirmation_ns, is_testers);
            assert!(after.confirmed.failed > 0 && after.confirmed.is_confirmed, "{after:?}");
            let (before, after) = (before.pps.expect("a load"), after.pps.expect("a load"));
            assert!((0.76..0.82).contains(&(after / before)), "{before} {after}");
        }
    }

    #[test]
    fn late_trials_do_not_count_where_others_do() {
        let of = |p50_ns, is_late| {
            let mut found = Histogram::default();
            found.record(p50_ns);
            LoadResult {
                share: 0.9,
                pps: 1e6,
                sent: 1,
                unsent: 0,
                lost: 0,
                latency: found.summary(),
                box_plot: BoxPlot::of(&found),
                latency_all: found.summary(),
                disturbed_share: 0.0,
                is_late,
                trials: 1,
                late_trials: 0,
                medians_ns: (0, 0),
                turns_ns: Vec::new(),
            }
        };
        let all = vec![of(5, false), of(100, true), of(3, false), of(4, false)];
        let middle = LoadResult::middle(all).expect("some");
        assert_eq!((middle.latency.p50_ns, middle.trials, middle.late_trials), (4, 4, 1));
        assert_eq!(middle.medians_ns, (3, 5));
        assert_eq!(middle.turns_ns, [Some(5), None, Some(3), Some(4)]);
        assert!(LoadResult::middle(vec![of(1, true)]).expect("one").is_late);
    }

    #[test]
    fn a_box_has_its_quartiles_and_outliers() {
        let mut found = Histogram::default();
        (1..=99).for_each(|value| found.record(value));
        found.record(10_000);
        let plot = BoxPlot::of(&found);
        assert_eq!((plot.min, plot.quartiles, plot.max), (1, [25, 50, 75], 10_000));
        assert_eq!((plot.upper_whisker, plot.outliers), (99, 1));
    }

    /// As a chip without queues has them.
    #[test]
    fn equal_values_are_no_outliers() {
        let mut found = Histogram::default();
        found.record_many(1_000, 90);
        let plot = BoxPlot::of(&found);
        assert_eq!(
            (plot.quartiles, plot.upper_whisker, plot.outliers),
            ([1_000; 3], 1_000, 0)
        );
        found.record_many(5_000, 10);
        let plot = BoxPlot::of(&found);
        assert_eq!((plot.upper_whisker, plot.outliers), (plot.quartiles[2], 10));
    }
}
