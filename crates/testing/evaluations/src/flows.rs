//! Flow scalability: latency and rate by how many rules a table holds and how many flows packets belong to.
//!
//! | case | rules | flows |
//! |---|---|---|
//! | R1F1 | 1 | 1 |
//! | RmaxF1 | all | 1 |
//! | RmaxF1k | all | 1,000 |
//! | RmaxFmax | all | as many as are asked for |
//!
//! Flows take turns, and each hits a rule of its own. For every case the highest load without loss is searched (NDR); latency is
//! then measured at that load, which is the condition of the paper, and at nine tenths of it.

use crate::frames::stream;
use crate::router::{Decision, PORTS, Router, TABLE, entry};
use crate::rules::Kind;
use forebay_packet::PortError;
use forebay_ports::PortSpec;
use forebay_tester::clock::Clock;
use forebay_tester::device::{self, Device};
use forebay_tester::histogram::{Distribution, Histogram};
use forebay_tester::results::TrialResults;
use forebay_tester::search::{Goal, LimitedBy, Limits, Measured, Measurer, search};
use forebay_tester::stream::{Rate, Stream};
use forebay_tester::test_file::CustomGoal;
use forebay_tester::trial::{Plan, Silent, run_trial};
use serde::{Deserialize, Serialize};

/// Packets that a port in memory holds.
const QUEUE_PACKETS: usize = 4096;

/// Packets that are sent at once at most.
const BURST: usize = 8;

/// Pauses of the tester that count as disturbances.
const DISTURBANCE_NS: u64 = 100_000;

/// How long the last packets may take.
const DRAIN_NS: u64 = 200_000_000;

/// The rate of a stream that scales are factors of.
const UNIT_PPS: f64 = 1e6;

/// Shares of NDR at which latency is measured.
pub const LOADS: [f64; 2] = [1.0, 0.9];

/// What is measured.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FlowSetting {
    /// For each kind the rules of the full table.
    pub tables: Vec<FullTable>,
    /// Flows of RmaxFmax.
    pub flows: u32,
    /// Lengths of frames, with check sequence.
    pub frame_bytes: Vec<usize>,
    /// How long latency is measured.
    pub seconds: f64,
    /// Trials of a search: their length, and how much of them decides.
    pub trial_s: f64,
    /// See `trial_s`.
    pub trials_s: f64,
    /// The highest load that is tried.
    pub pps_max: f64,
}

/// A kind of key, and how many rules a full table has.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[allow(missing_docs)]
pub struct FullTable {
    pub kind: Kind,
    pub rules: u32,
}

/// Rules and flows.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[allow(missing_docs)]
pub struct Case {
    pub name: String,
    pub rules: u32,
    pub flows: u32,
}

/// A case with frames of one length.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[allow(missing_docs)]
pub struct FlowResult {
    pub kind: Kind,
    pub case: Case,
    pub frame_bytes: usize,
    /// The highest load without loss; none when even the least one loses packets.
    pub ndr_pps: Option<f64>,
    pub limited_by: LimitedBy,
    pub loads: Vec<LoadResult>,
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

impl FlowSetting {
    /// The cases of a table with as many rules.
    pub fn cases(&self, rules: u32) -> Vec<Case> {
        let case = |name: &str, rules, flows: u32| Case {
            name: name.to_string(),
            rules,
            flows: flows.min(rules),
        };
        vec![
            case("R1F1", 1, 1),
            case("RmaxF1", rules, 1),
            case("RmaxF1k", rules, 1_000),
            case("RmaxFmax", rules, self.flows),
        ]
    }
}

/// Where packets are measured.
#[derive(Clone, Debug)]
pub enum Place {
    /// The router in memory; it gets the rules of each case.
    Memory,
    /// A switch behind interfaces, which has the rules already: cases with other rules are left out.
    Interfaces {
        /// Those of the tester: where packets enter, and where they come out.
        specs: Vec<PortSpec>,
        /// The rules of the switch.
        rules: u32,
    },
}

/// Measures a kind of table. `told` hears of each result.
///
/// # Errors
/// When the device cannot be set up, or a trial cannot be run, in words.
pub fn measure(
    table: FullTable,
    setting: &FlowSetting,
    place: &Place,
    told: &mut dyn FnMut(&FlowResult),
) -> Result<Vec<FlowResult>, String> {
    let mut results = Vec::new();
    for rules in [1, table.rules] {
        let cases: Vec<Case> = setting
            .cases(table.rules)
            .into_iter()
            .filter(|case| case.rules == rules)
            .collect();
        if matches!(place, Place::Interfaces { rules: own, .. } if *own != rules) {
            continue;
        }
        let mut trials = Trials::new(device_with(table.kind, rules, place)?, clock(place));
        for case in cases {
            for frame_bytes in &setting.frame_bytes {
                let result = trials.measure(table.kind, &case, *frame_bytes, setting)?;
                told(&result);
                results.push(result);
            }
        }
    }
    Ok(results)
}

fn device_with(kind: Kind, rules: u32, place: &Place) -> Result<Device, String> {
    match place {
        Place::Interfaces { specs, .. } => device::interfaces(specs).map_err(|error| error.to_string()),
        Place::Memory => {
            let pipeline = Router::new(Decision::Table(kind), rules)?.load()?;
            for index in 0..rules {
                let inserted = pipeline.insert_entry(TABLE, &entry(kind, index, u64::from(index) + 1));
                inserted.map_err(|error| error.to_string())?;
            }
            Ok(device::program(pipeline, &PORTS, QUEUE_PACKETS, 0))
        }
    }
}

/// In memory one thread does all, so its own time is what counts: other processes of the machine take none of it.
fn clock(place: &Place) -> Clock {
    match place {
        Place::Memory => Clock::Thread,
        Place::Interfaces { .. } => Clock::machine(),
    }
}

/// Trials with a device.
struct Trials {
    device: Device,
    clock: Clock,
    streams: Vec<Stream>,
    number: u64,
}

impl Trials {
    fn new(device: Device, clock: Clock) -> Trials {
        Trials {
            device,
            clock,
            streams: Vec::new(),
            number: 0,
        }
    }

    fn measure(
        &mut self,
        kind: Kind,
        case: &Case,
        frame_bytes: usize,
        setting: &FlowSetting,
    ) -> Result<FlowResult, String> {
        let rate = Rate::Frames(UNIT_PPS);
        self.streams = vec![stream(kind, case.rules, case.flows, frame_bytes, rate)];
        let limits = Limits {
            min_pps: setting.pps_max / 1e3,
            max_pps: setting.pps_max,
            warm_up_s: setting.trial_s,
            trials_s_max: 20.0 * setting.trials_s,
        };
        let goal = goal(setting)?;
        let found = search(&[goal], limits, self)?
            .into_iter()
            .next()
            .ok_or("the search has no result")?;
        let mut loads = Vec::new();
        for share in LOADS {
            if let Some(ndr) = found.lower_bound_pps {
                loads.push(self.load(share, ndr * share, setting.seconds)?);
            }
        }
        Ok(FlowResult {
            kind,
            case: case.clone(),
            frame_bytes,
            ndr_pps: found.lower_bound_pps,
            limited_by: found.limited_by,
            loads,
        })
    }

    fn load(&mut self, share: f64, pps: f64, seconds: f64) -> Result<LoadResult, String> {
        let trial = self.trial(pps, seconds).map_err(|error| error.to_string())?;
        let path = &trial.streams[0].paths[0];
        Ok(LoadResult {
            share,
            pps,
            sent: trial.sent(),
            unsent: trial.unsent(),
            lost: trial.lost(),
            latency: path.latency.clone(),
            box_plot: BoxPlot::of(&path.latency.to_histogram()),
            latency_all: path.latency_all.clone(),
            disturbed_share: trial.polling.disturbed_share,
        })
    }

    fn trial(&mut self, pps: f64, seconds: f64) -> Result<TrialResults, PortError> {
        self.number += 1;
        let plan = Plan {
            scale: pps / UNIT_PPS,
            warm_up_ns: (seconds * 1e8) as u64,
            duration_ns: (seconds * 1e9) as u64,
            drain_ns: DRAIN_NS,
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
        Ok(TrialResults::new(&self.streams, &PORTS, &mut trial, None))
    }
}

impl Measurer for Trials {
    fn measure(&mut self, pps: f64, seconds: f64) -> Result<Measured, String> {
        let trial = self.trial(pps, seconds).map_err(|error| error.to_string())?;
        Ok(Measured {
            intended: trial.expected() + trial.unsent(),
            sent: trial.expected(),
            lost: trial.lost(),
            is_disturbed: trial.is_disturbed(),
        })
    }
}

/// No loss in half of the trials' time: a trial that another process of the machine disturbs does not decide.
fn goal(setting: &FlowSetting) -> Result<Goal, String> {
    Goal::custom(&CustomGoal {
        name: "ndr".to_string(),
        loss_ratio: 0.0,
        exceed_ratio: 0.5,
        initial_trial_s: setting.trial_s,
        final_trial_s: setting.trial_s,
        duration_sum_s: setting.trials_s,
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

    #[test]
    fn every_case_finds_a_load_and_every_packet_comes_back() {
        let setting = FlowSetting {
            tables: Vec::new(),
            flows: 200,
            frame_bytes: vec![64],
            seconds: 0.01,
            trial_s: 0.002,
            trials_s: 0.01,
            pps_max: 200_000.0,
        };
        let table = FullTable {
            kind: Kind::Lpm,
            rules: 500,
        };
        let results = measure(table, &setting, &Place::Memory, &mut |_| ()).expect("a device");
        let names: Vec<&str> = results.iter().map(|result| result.case.name.as_str()).collect();
        assert_eq!(names, ["R1F1", "RmaxF1", "RmaxF1k", "RmaxFmax"]);
        for result in &results {
            assert!(result.loads.iter().all(|load| load.lost == 0), "{result:?}");
        }
    }
}
