//! What a test has found, as JSON has it. `docs/tester.md` describes every field; new ones may be added, none changes
//! its meaning.

use crate::histogram::{Distribution, Histogram};
use crate::impairment::Injected;
use crate::machine::Machine;
use crate::on_chip::ChipRemarks;
use crate::one_by_one::OneByOne;
use crate::path::Path;
use crate::reference::Reference;
use crate::search::SearchResults;
use crate::search::rfc2544::SizeResults;
use crate::self_test::SelfTest;
use crate::stream::Stream;
use crate::trial::{Plan, StreamTrial, Trial};
use forebay_sim::Backlog;
use forebay_traffic::wire::{MINIMUM_FRAME_BYTES, OVERHEAD_BYTES};
use serde::{Deserialize, Serialize};

/// The name of the form of these results.
pub const FORMAT: &str = "forebay-tester/1";

/// The share of a trial that may be disturbed before it is unreliable.
const DISTURBED_MAX: f64 = 0.01;

/// The 99th percentile of lateness is at most this, or a share of the median latency if that is more.
const LATENESS_NS_MAX: u64 = 1_000;
const LATENESS_SHARE_MAX: f64 = 0.1;

/// A sender is late when it needs more than this, or than a share of the trial if that is more, longer than intended,
/// or when its least lateness grows by as much. The share is less than the width of any search.
const LATE_NS_MIN: u64 = 10_000;
const LATE_SHARE: f64 = 1e-3;

/// The lateness that [`TrialResults::is_late`] tolerates in a trial of `seconds` seconds.
pub fn late_ns_max(seconds: f64) -> u64 {
    LATE_NS_MIN.max((LATE_SHARE * seconds * 1e9) as u64)
}

/// Wrong frames that are shown.
const EXAMPLES_SHOWN: usize = 8;

/// The results of a test.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[allow(missing_docs)]
pub struct Results {
    pub format: String,
    pub description: String,
    pub device: String,
    pub seed: u64,
    /// What measured, where and when; none in simulated time, which has the same results everywhere.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub machine: Option<Machine>,
    /// The tester against a wire in memory, before the test.
    pub self_test: Option<SelfTest>,
    pub trials: Vec<TrialResults>,
    pub searches: Vec<SearchResults>,
    pub rfc2544: Vec<SizeResults>,
    #[serde(default)]
    pub rfc2889: Option<crate::search::rfc2889::BridgeResults>,
    /// Why a search ended before its result was known, or tests of RFC 2544 or RFC 2889 before all was measured, in words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended_by: Option<String>,
    /// What was lost, duplicated and reordered on purpose, in all trials.
    pub injected: Option<Injected>,
    /// What figures hang on when the device is a chip of the timed model.
    #[serde(default)]
    pub chip: Option<ChipRemarks>,
}

/// Frames of a stream that must be due in a trial for its `shape` to be more than 0 there: sums are rounded.
const DUE_MIN: f64 = 1e-6;

/// A trial.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[allow(missing_docs)]
pub struct TrialResults {
    pub number: u64,
    pub measured_s: f64,
    /// Seconds of it in which a processor worked for the tester's thread; none in simulated time.
    #[serde(default)]
    pub processor_s: Option<f64>,
    pub sample_s: f64,
    /// How long frames were sent before they were measured; none in results of versions that did not say it.
    #[serde(default)]
    pub warm_up_s: Option<f64>,
    pub streams: Vec<StreamResults>,
    /// What the device dropped meanwhile, by reason.
    pub drops: Vec<(String, u64)>,
    /// What became of the frames of streams that lost some when each was sent once more, alone.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub one_by_one: Vec<OneByOne>,
    /// Frames that came and were not sent in this trial.
    pub foreign: u64,
    pub polling: PollingResults,
    pub was_stopped: bool,
    /// Ports whose interfaces had no link for a part of the trial.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub lost_links: Vec<u32>,
    /// Frames inside the device when the measured time began and ended, where it gives back one for each.
    #[serde(default)]
    pub held: [u64; 2],
    /// Packets that waited in a chip's buffer, when these became ever more: what a longer trial would lose.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub backlog: Option<Backlog>,
    /// Why figures of this trial should not be relied on; empty when they may be.
    pub doubts: Vec<String>,
}

/// How regular the tester was.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[allow(missing_docs)]
pub struct PollingResults {
    pub gaps: Distribution,
    /// Pauses longer than the threshold.
    pub pauses: u64,
    pub disturbed_share: f64,
}

/// A stream.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[allow(missing_docs)]
pub struct StreamResults {
    pub name: String,
    pub intended_pps: Option<f64>,
    pub sent: u64,
    pub sent_pps: f64,
    /// On the wire: with preamble, check sequence and gap.
    pub sent_gbps: f64,
    /// Frames that were due and could not be sent in time. They are not lost.
    pub unsent: u64,
    /// Frames that the tester's port refused. They are not lost.
    pub refused: u64,
    /// How much later than intended frames were sent.
    pub lateness: Distribution,
    /// How much longer than intended the sender needs.
    #[serde(default)]
    pub late_ns: u64,
    /// By how much its least lateness grew from the first quarter of the trial to the last.
    #[serde(default)]
    pub lateness_growth_ns: u64,
    /// Frames that came out by a port where they were not expected.
    pub misdirected: u64,
    pub paths: Vec<PathResults>,
    pub check: Option<CheckResults>,
    /// Frames sent and received in each sample.
    pub samples: Vec<(u32, u32)>,
}

/// A stream at a port where it comes out.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[allow(missing_docs)]
pub struct PathResults {
    pub port: Option<u32>,
    pub expected: u64,
    pub received: u64,
    pub received_pps: f64,
    pub received_gbps: f64,
    /// Expected and not received.
    pub lost: u64,
    pub loss_ratio: f64,
    /// When the first frame should have been sent, from the trial's start, that came after the last frame that was lost
    /// before it.
    #[serde(default)]
    pub last_loss_ns: Option<u64>,
    /// Frames that were lost after the last one that came. Where some of a stream's frames come out elsewhere, this and
    /// the field before count them as lost.
    #[serde(default)]
    pub lost_at_end: u64,
    pub duplicated: u64,
    pub reordering: ReorderingResults,
    /// From the intended sending time to the arrival. Frames disturbed by the machine are left out.
    pub latency: Distribution,
    /// The same with all frames.
    pub latency_all: Distribution,
    /// From the real sending time.
    pub device_latency: Distribution,
    /// Differences of the latencies of consecutive frames, without sign (RFC 5481: IPDV).
    pub delay_variation: Distribution,
    /// Latency less the least latency (RFC 5481: PDV): its median, 99 % and 99.9 %. None without undisturbed frames.
    pub pdv_ns: Option<(u64, u64, u64)>,
    pub inter_arrival: Distribution,
}

/// Reordering.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[allow(missing_docs)]
pub struct ReorderingResults {
    /// Frames that came after one with a larger number (RFC 4737 §3.3).
    pub reordered: u64,
    pub ratio: f64,
    /// The same within each flow.
    pub reordered_in_flow: u64,
    /// RFC 4737 §4.2.
    pub extent_mean: f64,
    pub extent_max: u64,
    /// RFC 4737 §4.5.
    pub free_run_mean: f64,
    /// Frames that are at least 3-reordered (RFC 4737 §5.3): TCP takes them for lost.
    pub three_reordered: u64,
    /// So late that it is not known whether they are duplicates.
    pub too_late: u64,
    /// Displacements with how many frames have them (RFC 5236 §4).
    pub displacements: Vec<(i64, u64)>,
    /// Frames that a receiver holds back, with how often (RFC 5236 §5).
    pub occupancies: Vec<(u64, u64)>,
    /// Later than the threshold of RFC 5236, and so in neither of the two.
    pub beyond_threshold: u64,
}

/// How frames compare with the reference executor.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[allow(missing_docs)]
pub struct CheckResults {
    pub same: u64,
    pub different: u64,
    /// Frames at ports where the reference sends none.
    pub unexpected: u64,
    /// Frames that the program drops, as the reference says.
    pub expected_drops: u64,
    /// Frames that leave only by ports that the test does not have, as the reference says.
    #[serde(default)]
    pub unmeasured: u64,
    pub examples: Vec<WrongFrame>,
}

/// A frame that is not what the reference says.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[allow(missing_docs)]
pub struct WrongFrame {
    pub number: u64,
    pub port: u32,
    /// In hexadecimal.
    pub frame: String,
    /// None when nothing should have come.
    pub expected: Option<String>,
    /// The first byte, tags left out, in which both differ; the end of the shorter one when it is that.
    #[serde(default)]
    pub differs_at: Option<usize>,
}

impl TrialResults {
    /// The results of a trial.
    pub fn new(streams: &[Stream], ports: &[u32], trial: &mut Trial, reference: Option<&Reference>) -> TrialResults {
        let seconds = trial.measured_ns as f64 / 1e9;
        let plan = trial.plan;
        let streams = trial.streams.iter_mut().zip(streams).enumerate();
        let streams: Vec<StreamResults> = streams
            .map(|(index, (result, stream))| {
                let check = reference.map(|reference| check(index, stream, result, reference, ports));
                StreamResults::new(stream, result, (seconds, &plan), check)
            })
            .collect();
        let mut results = TrialResults {
            number: trial.plan.number,
            measured_s: seconds,
            processor_s: trial.processor_ns.map(|ns| ns as f64 / 1e9),
            sample_s: trial.plan.sample_ns as f64 / 1e9,
            warm_up_s: Some(trial.plan.warm_up_ns as f64 / 1e9),
            streams,
            drops: std::mem::take(&mut trial.drops),
            one_by_one: Vec::new(),
            foreign: trial.foreign,
            polling: PollingResults {
                gaps: trial.polling.gaps.summary(),
                pauses: trial.polling.pauses,
                disturbed_share: (trial.polling.disturbed_ns as f64 / trial.measured_ns as f64).min(1.0),
            },
            was_stopped: trial.was_stopped,
            lost_links: std::mem::take(&mut trial.lost_links),
            held: trial.held,
            backlog: trial.backlog,
            doubts: Vec::new(),
        };
        results.doubts = results.doubts_of();
        results
    }

    fn doubts_of(&self) -> Vec<String> {
        let mut doubts = Vec::new();
        if self.was_stopped {
            doubts.push("the trial was stopped before its end".to_string());
        }
        doubts.extend(self.lost_links_text());
        if self.is_disturbed() {
            doubts.push(format!(
                "the machine disturbed {:.1} % of the time ({} pauses, the longest {})",
                100.0 * self.polling.disturbed_share,
                self.polling.pauses,
                crate::report::time(self.polling.gaps.max_ns)
            ));
        }
        doubts.extend(self.backlog.map(crate::report::backlog));
        let idle = self
            .streams
            .iter()
            .filter(|stream| !self.was_stopped && stream.due() == 0);
        doubts.extend(idle.map(|stream| {
            let name = &stream.name;
            format!("{name}: no frame was due in the measured time, so nothing is known of it")
        }));
        doubts.extend(self.streams.iter().flat_map(StreamResults::doubts));
        if self.is_late() {
            let late =
                |pick: fn(&StreamResults) -> u64| crate::report::time(self.streams.iter().map(pick).max().unwrap_or(0));
            doubts.push(format!(
                "sender late: it needs {} longer than the trial, and its least lateness grew by {}; the load was not reached",
                late(|stream| stream.late_ns),
                late(|stream| stream.lateness_growth_ns)
            ));
        }
        doubts
    }

    /// Ports that lost their links, in words; none when none did.
    fn lost_links_text(&self) -> Option<String> {
        let ports: Vec<String> = self.lost_links.iter().map(u32::to_string).collect();
        let text = format!(
            "no link at port {} for a part of the trial: the interface, or what it is connected with, was set down or deleted",
            ports.join(", ")
        );
        (!ports.is_empty()).then_some(text)
    }

    /// Why what is missing says nothing of the device: `test` was stopped, or a port had no link. None otherwise.
    pub fn why_void(&self, test: &str) -> Option<String> {
        let stopped = self.was_stopped.then(|| format!("the {test} was stopped"));
        stopped.or_else(|| self.lost_links_text())
    }

    /// Whether the machine disturbed more of it than may be.
    pub fn is_disturbed(&self) -> bool {
        self.polling.disturbed_share > DISTURBED_MAX
    }

    /// Whether the load was not reached: a sender was late at the end, or ever later, or its port refused frames.
    /// Nothing need be lost then, when the device keeps the tester from sending: where both share a thread, or when the
    /// port has no room.
    pub fn is_late(&self) -> bool {
        let most = late_ns_max(self.measured_s);
        let is_late = |stream: &StreamResults| {
            let refused_ns = stream.refused_ns();
            stream.late_ns.max(stream.lateness_growth_ns).max(refused_ns) > most
        };
        self.streams.iter().any(is_late)
    }

    /// How many samples of a stream lie wholly within the time in which frames were sent. The others hold less, or what
    /// came after it.
    pub fn whole_samples(&self, stream: &StreamResults) -> usize {
        let all = stream.samples.len();
        let whole = match self.warm_up_s {
            // A sample that ends with the trial is whole, however its end is rounded.
            Some(warm_up_s) => ((warm_up_s + self.measured_s) / self.sample_s + 1e-6) as usize,
            None => all.saturating_sub(1),
        };
        if self.sample_s > 0.0 { whole.min(all) } else { 0 }
    }

    /// Frames sent by all streams.
    pub fn sent(&self) -> u64 {
        self.streams.iter().map(|stream| stream.sent).sum()
    }

    /// Frames that were lost, of all streams.
    pub fn lost(&self) -> u64 {
        self.streams
            .iter()
            .flat_map(|stream| &stream.paths)
            .map(|path| path.lost)
            .sum()
    }

    /// Frames that were expected, of all streams.
    pub fn expected(&self) -> u64 {
        self.streams
            .iter()
            .flat_map(|stream| &stream.paths)
            .map(|path| path.expected)
            .sum()
    }

    /// Frames that were due and not sent.
    pub fn unsent(&self) -> u64 {
        self.streams.iter().map(|stream| stream.unsent + stream.refused).sum()
    }

    /// Whether every frame came back once, with the right content. A stream of which no frame could be sent shows
    /// nothing, and neither does a port without a link, nor a trial in which no frame was due.
    pub fn is_perfect(&self) -> bool {
        let is_silent = |stream: &StreamResults| {
            let due = stream.intended_pps.map(|pps| pps * self.measured_s);
            let is_switched_off = !self.was_stopped && due.is_some_and(|due| due < DUE_MIN);
            stream.sent == 0 && (stream.unsent + stream.refused > 0 || is_switched_off)
        };
        let has_frames = self.was_stopped || self.sent() > 0;
        has_frames
            && self.lost_links.is_empty()
            && self.lost() == 0
            && self
                .streams
                .iter()
                .all(|stream| stream.is_right() && !is_silent(stream))
    }
}

fn check(index: usize, stream: &Stream, result: &StreamTrial, reference: &Reference, ports: &[u32]) -> CheckResults {
    let checked = &result.checked;
    let wrong = |(number, port, frame): &(u64, usize, Vec<u8>)| {
        let expected = reference.expected(index, stream.frames.template_of(*number), *port, frame);
        WrongFrame {
            number: *number,
            port: ports.get(*port).copied().unwrap_or_default(),
            frame: hex(frame),
            expected: expected.map(|(frame, _)| hex(frame)),
            differs_at: expected.map(|(_, at)| at),
        }
    };
    CheckResults {
        same: checked.same,
        different: checked.different,
        unexpected: checked.unexpected,
        expected_drops: checked.expected_drops,
        unmeasured: checked.unmeasured,
        examples: checked.examples.iter().take(EXAMPLES_SHOWN).map(wrong).collect(),
    }
}

pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

impl StreamResults {
    fn new(
        stream: &Stream,
        result: &mut StreamTrial,
        (seconds, plan): (f64, &Plan),
        check: Option<CheckResults>,
    ) -> StreamResults {
        let paths = result.paths.iter_mut();
        StreamResults {
            name: stream.name.clone(),
            intended_pps: plan.intended_pps(stream),
            sent: result.sent.frames,
            sent_pps: result.sent.frames as f64 / seconds,
            sent_gbps: gbps(result.sent.frames, result.sent.bytes, seconds),
            unsent: result.unsent,
            refused: result.refused,
            lateness: result.lateness.summary(),
            late_ns: result.late_ns,
            lateness_growth_ns: result.lateness_growth_ns,
            misdirected: result.misdirected,
            paths: paths
                .map(|(port, expected, path)| PathResults::new(*port, *expected, path, seconds))
                .collect(),
            check,
            samples: std::mem::take(&mut result.samples),
        }
    }

    /// Whether nothing but loss is wrong.
    fn is_right(&self) -> bool {
        let check = self
            .check
            .as_ref()
            .is_none_or(|check| check.different + check.unexpected == 0);
        let paths = self
            .paths
            .iter()
            .all(|path| path.duplicated == 0 && path.received <= path.expected);
        check && paths && self.misdirected == 0
    }

    /// How long frames are due that the port refused, but for one; 0 where no rate is intended.
    fn refused_ns(&self) -> u64 {
        let pps = self.intended_pps.filter(|pps| *pps > 0.0);
        pps.map_or(0, |pps| (self.refused.saturating_sub(1) as f64 * 1e9 / pps) as u64)
    }

    /// Frames that were due in the measured time.
    fn due(&self) -> u64 {
        self.sent + self.unsent + self.refused
    }

    fn doubts(&self) -> Vec<String> {
        let mut doubts = Vec::new();
        let (name, late) = (&self.name, self.lateness.p99_ns);
        let median = self.paths.iter().map(|path| path.latency_all.p50_ns).max().unwrap_or(0);
        if self.intended_pps.is_some() && late > LATENESS_NS_MAX.max((LATENESS_SHARE_MAX * median as f64) as u64) {
            doubts.push(format!(
                "{name}: the tester sent 1 % of the frames more than {} late",
                crate::report::time(late)
            ));
        }
        if self.unsent + self.refused > 0 {
            doubts.push(format!(
                "{name}: {} of {} frames could not be sent in time; they are not counted as lost",
                self.unsent + self.refused,
                self.due()
            ));
        }
        doubts
    }
}

impl PathResults {
    fn new(port: Option<u32>, expected: u64, path: &mut Path, seconds: f64) -> PathResults {
        let received = path.received();
        let lost = expected.saturating_sub(received);
        // Of several copies one is enough to know that a frame came.
        let gone = expected.saturating_sub(path.copies + path.sequence.unique());
        let mut all = path.latency.clone();
        all.add(&path.disturbed);
        let mut device = path.device_latency.clone();
        if device.count() == 0 {
            device = path.disturbed_device.clone();
        }
        let pdv = |share| path.latency.quantile(share) - path.latency.min();
        PathResults {
            port,
            expected,
            received,
            received_pps: received as f64 / seconds,
            received_gbps: gbps(received, path.received_bytes(), seconds),
            lost,
            loss_ratio: lost as f64 / expected.max(1) as f64,
            last_loss_ns: path.gaps.last_until_ns(),
            lost_at_end: gone.saturating_sub(path.gaps.missing()),
            duplicated: path.duplicated(),
            latency: path.latency.summary(),
            latency_all: all.summary(),
            device_latency: device.summary(),
            delay_variation: path.variation.summary(),
            pdv_ns: (path.latency.count() > 0).then(|| (pdv(0.5), pdv(0.99), pdv(0.999))),
            inter_arrival: path.inter_arrival.summary(),
            reordering: reordering(path, received),
        }
    }
}

fn reordering(path: &mut Path, received: u64) -> ReorderingResults {
    let in_flow = path.reordered_in_flow;
    let sequence = &mut path.sequence;
    let density = sequence.finish_density().clone();
    let mean = |histogram: &Histogram| if histogram.count() == 0 { 0.0 } else { histogram.mean() };
    ReorderingResults {
        reordered: sequence.reordered(),
        ratio: sequence.reordered() as f64 / received.max(1) as f64,
        reordered_in_flow: in_flow,
        extent_mean: mean(sequence.extents()),
        extent_max: sequence.extents().max(),
        free_run_mean: mean(sequence.free_runs()),
        three_reordered: sequence.n_reordered(3),
        too_late: sequence.too_late(),
        displacements: density.displacements(),
        occupancies: density.occupancies(),
        beyond_threshold: density.beyond(),
    }
}

/// The rate on the wire of `frames` frames with `bytes` bytes in all.
fn gbps(frames: u64, bytes: u64, seconds: f64) -> f64 {
    let padded = bytes.max(frames * MINIMUM_FRAME_BYTES as u64);
    let on_wire = padded + frames * OVERHEAD_BYTES as u64;
    8.0 * on_wire as f64 / seconds / 1e9
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_on_the_wire_are_those_of_all_lengths() {
        assert_eq!(gbps(1_000_000, 60_500_000, 1.0), 8.0 * 84_500_000.0 / 1e9);
        assert_eq!(gbps(10, 320, 1.0), 8.0 * 840.0 / 1e9, "shorter frames are padded");
        assert_eq!(gbps(0, 0, 1.0), 0.0);
    }
}
