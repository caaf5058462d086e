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
use crate::trials::{Effort, LoadResult, Trials, UNIT_PPS};
use forebay_ports::PortSpec;
use forebay_tester::clock::Clock;
use forebay_tester::device::{self, Device};
use forebay_tester::search::LimitedBy;
use forebay_tester::stream::Rate;
use serde::{Deserialize, Serialize};

/// Packets that a port in memory holds.
const QUEUE_PACKETS: usize = 4096;

/// How long the last packets may take.
const DRAIN_NS: u64 = 200_000_000;

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

impl FlowSetting {
    fn effort(&self) -> Effort {
        Effort {
            seconds: self.seconds,
            trial_s: self.trial_s,
            trials_s: self.trials_s,
            pps_max: self.pps_max,
            drain_ns: DRAIN_NS,
            inside: 0,
        }
    }

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
        let device = device_with(table.kind, rules, place)?;
        let mut trials = Trials::new(device, clock(place), PORTS, setting.effort());
        for case in cases {
            for frame_bytes in &setting.frame_bytes {
                let result = measure_case(&mut trials, table.kind, &case, *frame_bytes)?;
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
        Place::Memory => Clock::thread(),
        Place::Interfaces { .. } => Clock::machine(),
    }
}

/// Measures a case with frames of one length.
fn measure_case(trials: &mut Trials, kind: Kind, case: &Case, frame_bytes: usize) -> Result<FlowResult, String> {
    let rate = Rate::Frames(UNIT_PPS);
    let found = trials.highest(stream(kind, case.rules, case.flows, frame_bytes, rate))?;
    let mut loads = Vec::new();
    for share in LOADS {
        if let Some(highest_pps) = found.pps {
            loads.push(trials.load(share, highest_pps)?);
        }
    }
    Ok(FlowResult {
        kind,
        case: case.clone(),
        frame_bytes,
        ndr_pps: found.pps,
        limited_by: found.limited_by,
        loads,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

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
