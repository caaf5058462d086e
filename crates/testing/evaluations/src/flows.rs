//! Flow scalability: latency and rate by how many rules a table holds and how many flows packets belong to.
//!
//! | case | rules | flows |
//! |---|---|---|
//! | R1F1 | 1 | 1 |
//! | RmaxF1 | all | 1 |
//! | RmaxF1k | all | 1,000 |
//! | RmaxFmax | all | as many as are asked for |
//!
//! Flows take turns, and each hits a rule of its own. For every case the highest load without loss is searched (NDR),
//! and confirmed by trials as long as those of latency. Latency is then measured at that load, which is the condition
//! of the paper, and at nine tenths of it, and for all cases at one rate, half of the least of their highest or one that
//! the file names: only there is their latency that of the same queue, and growth from one to the other that of the
//! look-up. Cases take turns, so that a machine whose speed changes does not favour one of them; of several trials the one with the middle
//! median counts.
//!
//! More flows are more frames to copy from, which costs the tester, too. In memory each turn at the one rate therefore
//! has the same trials on a wire in the place of the switch: what grows there is the tester's own.

use crate::evaluation::{Standing, check_list};
use crate::frames::stream;
use crate::router::{Decision, PORTS, Router, TABLE, entry};
use crate::rules::Kind;
use crate::trials::{Effort, LoadResult, Trials, UNIT_PPS, check_effort};
use forebay_ports::PortSpec;
use forebay_tester::clock::Clock;
use forebay_tester::device::{self, Device};
use forebay_tester::search::{Confirmed, LimitedBy};
use forebay_tester::stream::{Rate, Stream};
use serde::{Deserialize, Serialize};

/// Packets that a port in memory holds.
const QUEUE_PACKETS: usize = 4096;

/// How long the last packets may take.
const DRAIN_NS: u64 = 200_000_000;

/// Shares of NDR at which latency is measured.
pub const LOADS: [f64; 2] = [1.0, 0.9];

/// The share of the least highest load of the cases at which all are compared, unless the file names a rate.
const COMMON_SHARE: f64 = 0.5;

/// The highest rate of the self test. Highest loads are searched, so none is known before.
const SELF_TEST_PPS: f64 = 1e6;

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
    /// How long latency is measured in a trial.
    pub seconds: f64,
    /// How many packets a trial of latency has at least: at a lower rate it lasts longer than `seconds`, up to ten times.
    #[serde(default)]
    pub samples: u64,
    /// Trials of latency for each case and load.
    #[serde(default = "one")]
    pub turns: u32,
    /// Trials of a search: their length, and how much of them decides.
    pub trial_s: f64,
    /// See `trial_s`.
    pub trials_s: f64,
    /// The highest load that is tried.
    pub pps_max: f64,
    /// The rate at which all cases are compared, so that devices are, too; half of the least highest load of the cases
    /// when it is left out.
    #[serde(default)]
    pub common_pps: Option<f64>,
}

pub(crate) fn one() -> u32 {
    1
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
    /// Whether the load held when it was offered again, and how many did not.
    #[serde(default)]
    pub confirmed: Confirmed,
    pub loads: Vec<LoadResult>,
    /// At the rate that all cases with frames of this length have in common.
    #[serde(default)]
    pub common: Option<LoadResult>,
    /// The median of each turn at that rate on a wire in the place of the switch; none where the sender was late or the
    /// machine disturbed all packets. Empty where there was no wire.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub wire_turns_ns: Vec<Option<u64>>,
}

impl FlowResult {
    /// How far the highest load is known.
    pub fn standing(&self) -> Standing {
        match self.limited_by {
            _ if self.confirmed.failed > 0 && !self.confirmed.is_confirmed => Standing::NotConfirmed,
            LimitedBy::Device | LimitedBy::LeastLoad => Standing::Measured,
            LimitedBy::Tester | LimitedBy::HighestLoad | LimitedBy::LineRate | LimitedBy::Time => Standing::AtLeast,
        }
    }
}

impl FlowSetting {
    fn effort(&self) -> Effort {
        Effort {
            seconds: self.seconds,
            samples: self.samples,
            trial_s: self.trial_s,
            trials_s: self.trials_s,
            pps_max: self.pps_max,
            drain_ns: DRAIN_NS,
            inside: 0,
        }
    }

    /// What the tester is measured with before: the shortest frames, of one flow.
    pub(crate) fn self_test_stream(&self) -> Stream {
        let bytes = self.frame_bytes.iter().copied().min().unwrap_or(64);
        let pps = (self.pps_max / 2.0).min(SELF_TEST_PPS);
        stream(Kind::Exact, 1, 1, bytes, Rate::Frames(pps))
    }

    /// Whether it can be measured.
    pub(crate) fn check(&self) -> Result<(), String> {
        for (key, number) in [("flows", self.flows), ("turns", self.turns)] {
            if number == 0 {
                return Err(format!("{key} is 0; it is at least 1"));
            }
        }
        check_list("tables", &self.tables)?;
        check_list("frame_bytes", &self.frame_bytes)?;
        if let Some(pps) = self.common_pps
            && !(1.0..=self.pps_max).contains(&pps)
        {
            return Err(format!(
                "common_pps is {pps}; it is 1 to pps_max, which is {}",
                self.pps_max
            ));
        }
        check_effort(self.seconds, self.trial_s, self.trials_s, self.pps_max)
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
    let mut counts = vec![1, table.rules];
    counts.dedup();
    let mut devices = Devices {
        routers: Vec::new(),
        wire: wire(place).map(|wire| Trials::new(wire, clock(place), PORTS, setting.effort())),
    };
    for rules in counts {
        if matches!(place, Place::Interfaces { rules: own, .. } if *own != rules) {
            continue;
        }
        let device = device_with(table.kind, rules, place)?;
        let trials = Trials::new(device, clock(place), PORTS, setting.effort());
        devices.routers.push((rules, trials));
    }
    let mut cases = setting.cases(table.rules);
    cases.retain(|case| devices.routers.iter().any(|(rules, _)| *rules == case.rules));
    let mut results = Vec::new();
    for frame_bytes in &setting.frame_bytes {
        let found = measure_size(&mut devices, table.kind, &cases, *frame_bytes, setting)?;
        found.iter().for_each(&mut *told);
        results.extend(found);
    }
    // All lengths of a case together.
    results.sort_by_key(|result| cases.iter().position(|case| *case == result.case));
    Ok(results)
}

/// What the cases of a table are measured with.
struct Devices {
    /// For each number of rules, trials with the switch that has them.
    routers: Vec<(u32, Trials)>,
    /// Trials on a wire.
    wire: Option<Trials>,
}

/// A wire in the place of the router. There is none between interfaces, where it would have to be plugged in.
fn wire(place: &Place) -> Option<Device> {
    match place {
        Place::Memory => Some(device::wire(&PORTS, &[(PORTS[0], PORTS[1])], QUEUE_PACKETS)),
        Place::Interfaces { .. } => None,
    }
}

fn device_with(kind: Kind, rules: u32, place: &Place) -> Result<Device, String> {
    match place {
        Place::Interfaces { specs, .. } => {
            let mut device = device::interfaces(specs).map_err(|error| error.to_string())?;
            device::wait_for_links(specs, &mut device)?;
            Ok(device)
        }
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
pub(crate) fn clock(place: &Place) -> Clock {
    match place {
        Place::Memory => Clock::thread(),
        Place::Interfaces { .. } => Clock::machine(),
    }
}

/// A case with the index of its router and its frames.
type Offered = (usize, Stream, FlowResult);

/// Measures cases with frames of one length.
fn measure_size(
    devices: &mut Devices,
    kind: Kind,
    cases: &[Case],
    frame_bytes: usize,
    setting: &FlowSetting,
) -> Result<Vec<FlowResult>, String> {
    let Devices { routers, wire } = devices;
    let turns = setting.turns;
    let mut found: Vec<Offered> = Vec::new();
    for case in cases {
        let Some(router) = routers.iter().position(|(rules, _)| *rules == case.rules) else {
            continue;
        };
        let stream = stream(kind, case.rules, case.flows, frame_bytes, Rate::Frames(UNIT_PPS));
        let highest = routers[router].1.highest(stream.clone());
        let highest = highest.map_err(|error| {
            let (kind, case) = (kind.name(), &case.name);
            format!("{kind} {case}, {frame_bytes} B: {error}")
        })?;
        let result = FlowResult {
            kind,
            case: case.clone(),
            frame_bytes,
            ndr_pps: highest.pps,
            limited_by: highest.limited_by,
            confirmed: highest.confirmed,
            loads: Vec::new(),
            common: None,
            wire_turns_ns: Vec::new(),
        };
        found.push((router, stream, result));
    }
    for share in LOADS {
        let all = in_turns(routers, None, &found, turns, |result| Some(share * result.ndr_pps?))?;
        for ((.., result), trials) in found.iter_mut().zip(all) {
            result.loads.extend(LoadResult::middle(trials.switch));
        }
    }
    let highest = found.iter().filter_map(|(.., result)| result.ndr_pps);
    let half_pps = COMMON_SHARE * highest.fold(f64::INFINITY, f64::min);
    let all = in_turns(routers, wire.as_mut(), &found, turns, |result| {
        setting.common_pps.or(result.ndr_pps.map(|_| half_pps))
    })?;
    for ((.., result), trials) in found.iter_mut().zip(all) {
        result.wire_turns_ns = LoadResult::turns_ns(&trials.wire);
        result.common = LoadResult::middle(trials.switch);
    }
    Ok(found.into_iter().map(|(.., result)| result).collect())
}

/// Trials of a case, in the order of the turns.
#[derive(Clone, Default)]
struct CaseTrials {
    switch: Vec<LoadResult>,
    wire: Vec<LoadResult>,
}

/// Latency of each case at a load, in trials that take turns; none where `pps_of` says none. In a turn, those on the wire
/// follow those with the switch, which stay as close to one another as without a wire.
fn in_turns(
    routers: &mut [(u32, Trials)],
    mut wire: Option<&mut Trials>,
    cases: &[Offered],
    turns: u32,
    pps_of: impl Fn(&FlowResult) -> Option<f64>,
) -> Result<Vec<CaseTrials>, String> {
    let mut all = vec![CaseTrials::default(); cases.len()];
    for _ in 0..turns {
        for ((router, stream, result), trials) in cases.iter().zip(&mut all) {
            if let Some(pps) = pps_of(result) {
                let load = routers[*router].1.load(stream.clone(), pps, result.ndr_pps)?;
                trials.switch.push(load);
            }
        }
        let Some(wire) = wire.as_deref_mut() else { continue };
        for ((_, stream, result), trials) in cases.iter().zip(&mut all) {
            if let Some(pps) = pps_of(result) {
                trials.wire.push(wire.load(stream.clone(), pps, result.ndr_pps)?);
            }
        }
    }
    Ok(all)
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
            samples: 0,
            turns: 2,
            trial_s: 0.002,
            trials_s: 0.01,
            pps_max: 200_000.0,
            common_pps: None,
        };
        let table = FullTable {
            kind: Kind::Lpm,
            rules: 500,
        };
        let results = measure(table, &setting, &Place::Memory, &mut |_| ()).expect("a device");
        let names: Vec<&str> = results.iter().map(|result| result.case.name.as_str()).collect();
        assert_eq!(names, ["R1F1", "RmaxF1", "RmaxF1k", "RmaxFmax"]);
        let highest = results.iter().filter_map(|result| result.ndr_pps);
        let common_pps = COMMON_SHARE * highest.fold(f64::INFINITY, f64::min);
        for result in &results {
            assert!(result.loads.iter().all(|load| load.lost == 0), "{result:?}");
            assert!(
                result
                    .common
                    .as_ref()
                    .is_some_and(|load| (load.pps / common_pps - 1.0).abs() < 1e-9),
                "{result:?}"
            );
            assert_eq!(result.wire_turns_ns.len(), 2, "{result:?}");
        }
        // Devices are compared at a rate that the file names, also those without a load that they carry.
        let named = FlowSetting {
            common_pps: Some(1_000.0),
            samples: 30,
            ..setting
        };
        let results = measure(table, &named, &Place::Memory, &mut |_| ()).expect("a device");
        let rates = results.iter().filter_map(|result| Some(result.common.as_ref()?.pps));
        assert_eq!(rates.collect::<Vec<f64>>(), [1_000.0; 4]);
        let sent = results.iter().filter_map(|result| Some(result.common.as_ref()?.sent));
        assert!(sent.min() >= Some(30), "ten of them in 0.01 s");
    }
}
