//! Trials with a device: the highest load without loss, and latency at a load.

use forebay_packet::PortError;
use forebay_tester::clock::Clock;
use forebay_tester::device::Device;
use forebay_tester::histogram::{Distribution, Histogram};
use forebay_tester::results::TrialResults;
use forebay_tester::search::{Goal, LimitedBy, Limits, Measured, Measurer, search};
use forebay_tester::stream::Stream;
use forebay_tester::test_file::CustomGoal;
use forebay_tester::trial::{Plan, Silent, run_trial};
use serde::{Deserialize, Serialize};

/// Packets that are sent at once at most.
const BURST: usize = 8;

/// Pauses of the tester that count as disturbances.
const DISTURBANCE_NS: u64 = 100_000;

/// The rate of a stream that scales are factors of.
pub(crate) const UNIT_PPS: f64 = 1e6;

/// How much is measured.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Effort {
    /// How long latency is measured.
    pub(crate) seconds: f64,
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

/// The highest load without loss.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Highest {
    /// None when even the least load loses packets.
    pub(crate) pps: Option<f64>,
    pub(crate) limited_by: LimitedBy,
}

/// Latency at a load.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[allow(missing_docs)]
pub struct LoadResult {
    /// The load as a share of NDR.
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
}

impl LoadResult {
    /// Latency of the packets that the machine did not disturb; none when it disturbed all.
    pub fn undisturbed(&self) -> Option<&Distribution> {
        (self.latency.count > 0).then_some(&self.latency)
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
        let inside: u64 = found
            .buckets()
            .filter(|(_, high, _)| *high <= fence)
            .map(|(_, _, count)| count)
            .sum();
        let highest = found
            .buckets()
            .map(|(_, high, _)| high)
            .filter(|high| *high <= fence)
            .last();
        BoxPlot {
            min: found.min(),
            quartiles,
            upper_whisker: highest
                .unwrap_or(quartiles[2])
                .clamp(quartiles[2], found.max().max(quartiles[2])),
            max: found.max(),
            outliers: found.count() - inside.min(found.count()),
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

    /// The highest load of this stream, whose rate is [`UNIT_PPS`], without loss.
    pub(crate) fn highest(&mut self, stream: Stream) -> Result<Highest, String> {
        self.streams = vec![stream];
        let effort = self.effort;
        let limits = Limits {
            min_pps: effort.pps_max / 1e3,
            max_pps: effort.pps_max,
            warm_up_s: effort.trial_s,
            trials_s_max: 20.0 * effort.trials_s,
        };
        let found = search(&[goal(&effort)?], limits, self)?.into_iter().next();
        let found = found.ok_or("the search has no result")?;
        Ok(Highest {
            pps: found.lower_bound_pps,
            limited_by: found.limited_by,
        })
    }

    /// Latency of the last stream at a share of its highest load.
    pub(crate) fn load(&mut self, share: f64, highest_pps: f64) -> Result<LoadResult, String> {
        let pps = share * highest_pps;
        let trial = self
            .trial(pps, self.effort.seconds)
            .map_err(|error| error.to_string())?;
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
        })
    }

    fn lost(&self, trial: &TrialResults) -> u64 {
        trial.lost().saturating_sub(self.effort.inside)
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
            lost: self.lost(&trial),
            is_disturbed: trial.is_disturbed(),
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
        width: 0.02,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_box_has_its_quartiles_and_outliers() {
        let mut found = Histogram::default();
        (1..=99).for_each(|value| found.record(value));
        found.record(10_000);
        let plot = BoxPlot::of(&found);
        assert_eq!((plot.min, plot.quartiles, plot.max), (1, [25, 50, 75], 10_000));
        assert_eq!((plot.upper_whisker, plot.outliers), (99, 1));
    }
}
