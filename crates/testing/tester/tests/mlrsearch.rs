//! Our search against the reference implementation (PyPI's MLRsearch 1.2.1), trial by trial, with devices that both
//! compute. `mlrsearch/record.py` records what the reference does.

use forebay_packet::SplitMix64;
use forebay_tester::search::{Goal, Limits, Measured, Measurer, search};
use serde_json::Value;

/// Loads that differ by less are the same: both compute them by different roundings.
const SAME_LOAD: f64 = 1e-7;

/// A device with a capacity that now and then loses more.
struct Device {
    capacity: f64,
    share: f64,
    extra: f64,
    seed: u64,
    trials: Vec<(f64, f64)>,
}

fn uniform(seed: u64, index: u64) -> f64 {
    (SplitMix64::new((seed << 32) + index).next_u64() >> 11) as f64 / (1u64 << 53) as f64
}

impl Measurer for Device {
    fn measure(&mut self, pps: f64, seconds: f64) -> Result<Measured, String> {
        let index = self.trials.len() as u64;
        self.trials.push((pps, seconds));
        let sent = (pps * seconds) as u64;
        let mut lost = sent.saturating_sub((self.capacity * seconds) as u64);
        if uniform(self.seed, 2 * index) < self.share {
            lost += (uniform(self.seed, 2 * index + 1) * self.extra * sent as f64) as u64;
        }
        Ok(Measured {
            intended: sent,
            sent,
            lost: lost.min(sent),
            ..Measured::default()
        })
    }
}

fn same(ours: f64, theirs: f64) -> bool {
    (ours / theirs - 1.0).abs() < SAME_LOAD
}

#[test]
fn trials_and_results_are_those_of_the_reference_implementation() {
    let recorded: Vec<Value> =
        serde_json::from_str(include_str!("mlrsearch/recorded.json")).expect("the recorded searches");
    assert!(recorded.len() >= 50);
    for case in &recorded {
        let number = |at: usize| case["device"][at].as_f64().expect("a number");
        let mut device = Device {
            capacity: number(0),
            share: number(1),
            extra: number(2),
            seed: number(3) as u64,
            trials: Vec::new(),
        };
        let names = case["goals"]
            .as_array()
            .expect("goals")
            .iter()
            .filter_map(Value::as_str);
        let goals: Vec<Goal> = names.filter_map(Goal::named).flatten().collect();
        let limits = Limits {
            min_pps: 10_000.0,
            max_pps: 10e6,
            warm_up_s: 1.0,
            trials_s_max: f64::INFINITY,
        };
        let found = search(&goals, limits, &mut device).expect("trials");
        let label = format!("{} {}", case["device"], case["goals"]);
        let trials = case["trials"].as_array().expect("trials");
        for (index, (ours, theirs)) in device.trials.iter().zip(trials).enumerate() {
            let (load, seconds) = (
                theirs[0].as_f64().expect("a load"),
                theirs[1].as_f64().expect("a duration"),
            );
            assert!(
                same(ours.0, load) && same(ours.1, seconds),
                "{label}, trial {index}: {ours:?}, reference {theirs}"
            );
        }
        assert_eq!(device.trials.len(), trials.len(), "{label}");
        for (ours, theirs) in found.iter().zip(case["found"].as_array().expect("results")) {
            let ours = [
                ours.lower_bound_pps,
                ours.upper_bound_pps,
                ours.conditional_throughput_pps,
            ];
            for (ours, theirs) in ours.iter().zip(theirs.as_array().expect("three")) {
                let agree = match (ours, theirs.as_f64()) {
                    (Some(ours), Some(theirs)) => same(*ours, theirs),
                    (None, None) => true,
                    _ => false,
                };
                assert!(agree, "{label}: {ours:?}, reference {theirs}");
            }
        }
    }
}
