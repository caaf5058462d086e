//! The tester on a wire in memory, before a test: what it adds to what it measures, and whether it can send so much.

use crate::clock::Clock;
use crate::device;
use crate::histogram::Histogram;
use crate::report::{rate, time};
use crate::results::TrialResults;
use crate::stream::Stream;
use crate::trial::{Plan, Silent, run_trial};
use serde::{Deserialize, Serialize};

/// The longest self test, without its warm-up, which is a quarter of it.
const NS_MAX: u64 = 200_000_000;

/// The share of frames that may be unsent: a machine that stands still at the end keeps some back.
const UNSENT_SHARE: f64 = 0.01;

/// Packets that a port of the wire holds.
const QUEUE_PACKETS: usize = 4096;

/// What the tester measures when there is nothing to be measured.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[allow(missing_docs)]
pub struct SelfTest {
    /// The least that the tester can measure.
    pub floor_ns: u64,
    /// The median: what the tester itself adds to a latency.
    pub bias_ns: u64,
    pub p99_ns: u64,
    pub p99_9_ns: u64,
    /// Frames a second that were sent and measured.
    pub pps: f64,
    pub lost: u64,
    pub lateness_p99_ns: u64,
    pub disturbed_share: f64,
    /// Frames that were due and could not be sent.
    #[serde(default)]
    pub unsent: u64,
    /// How long it took; 0 in results of versions that did not say it.
    #[serde(default)]
    pub measured_s: f64,
}

impl SelfTest {
    /// How the tester is measured where no test file says it.
    pub const PLAN: Plan = Plan {
        scale: 1.0,
        warm_up_ns: 0,
        duration_ns: NS_MAX,
        drain_ns: 10_000_000,
        burst: 8,
        disturbance_ns: 100_000,
        sample_ns: 0,
        seed: 1,
        number: 1,
        step: None,
    };

    /// Sends these streams by ports with these numbers, which a wire in memory joins as the streams ask for it, for 0.2
    /// s at most.
    ///
    /// # Errors
    /// When a port is out of order, in words.
    pub fn measure(streams: &[Stream], ports: &[u32], plan: Plan, clock: &mut Clock) -> Result<SelfTest, String> {
        let plan = Plan {
            warm_up_ns: NS_MAX / 4,
            duration_ns: plan.duration_ns.min(NS_MAX),
            sample_ns: 0,
            ..plan
        };
        let mut wire = device::wire(ports, &device::pairs_of(streams), QUEUE_PACKETS);
        let trial = run_trial(streams, &mut wire, None, plan, clock, &mut Silent);
        let mut trial = trial.map_err(|error| error.to_string())?;
        Ok(SelfTest::of(&TrialResults::new(streams, ports, &mut trial, None)))
    }

    /// What it has found, in words: a sentence for each thing.
    pub fn words(&self) -> Vec<String> {
        if self.pps == 0.0 && self.lost == 0 {
            let why = match self.unsent {
                0 => "too short for a frame of these rates",
                _ => "the tester could not send a frame of these rates in time",
            };
            return vec![format!(
                "self test against a wire: {why}, so nothing is known of what the tester adds"
            )];
        }
        let mut words = vec![format!(
            "self test against a wire: {}, latency from {}, median {}, 99.9 % {}; the tester adds that much",
            rate(self.pps),
            time(self.floor_ns),
            time(self.bias_ns),
            time(self.p99_9_ns)
        )];
        words.extend(self.doubts());
        words
    }

    /// Why what is measured now should not be relied on; nothing when the tester is in order and fast enough.
    pub fn doubts(&self) -> Vec<String> {
        let mut doubts = Vec::new();
        if self.lost > 0 {
            doubts.push(format!(
                "self test: {} frames lost on a wire; the tester is out of order",
                self.lost
            ));
        }
        let unsent = self.unsent as f64;
        if unsent > UNSENT_SHARE * (unsent + self.pps * self.measured_s) {
            doubts.push(format!(
                "self test: {} frames that were due could not be sent, even on a wire; this machine is too slow for these rates",
                self.unsent
            ));
        }
        doubts
    }

    /// From a trial with a wire.
    fn of(trial: &TrialResults) -> SelfTest {
        let paths = || trial.streams.iter().flat_map(|stream| &stream.paths);
        let mut latency = Histogram::default();
        paths().for_each(|path| latency.add(&path.latency_all.to_histogram()));
        let lateness = trial.streams.iter().map(|stream| stream.lateness.p99_ns);
        SelfTest {
            floor_ns: latency.min(),
            bias_ns: latency.quantile(0.5),
            p99_ns: latency.quantile(0.99),
            p99_9_ns: latency.quantile(0.999),
            pps: paths().map(|path| path.received_pps).sum(),
            lost: trial.lost(),
            lateness_p99_ns: lateness.max().unwrap_or(0),
            disturbed_share: trial.polling.disturbed_share,
            unsent: trial.unsent(),
            measured_s: trial.measured_s,
        }
    }
}
