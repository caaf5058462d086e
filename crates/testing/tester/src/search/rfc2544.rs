//! The tests of RFC 2544 §26, for each frame size: throughput, latency, loss and back-to-back frames, the last after
//! RFC 9004; latency and its variation are summed up as RFC 8219 has it.
//!
//! | test | here |
//! |---|---|
//! | throughput (§26.1) | the goal `rfc2544` of [`super::mlr`]: a trial of 60 s without loss, and another that confirms it |
//! | latency (§26.2, RFC 8219 §7.2) | of every frame, at 10, 50, 90 and 100 % of the throughput |
//! | frame loss rate (§26.3) | at 100, 90, 80, ... % of the highest load, until two loads in a row lose nothing |
//! | back-to-back frames (RFC 9004) | the longest burst at the highest load without loss, 50 times; buffer time, corrected by what was forwarded meanwhile |
//! | system recovery (§26.5) | 60 s at 110 % of the throughput, then half of that load: from then until the last frame that is lost was due, 10 times |
//!
//! Reset (§26.6) is not tested.

use super::goal::Goal;
use super::mlr::{Confirmation, Measurer, search_and_confirm};
use super::{LimitedBy, SearchResults};
use crate::histogram::Distribution;
use crate::results::{StreamResults, TrialResults};
use crate::run::{LoadLimits, Session};
use crate::trial::{Plan, Progress, Step};
use serde::{Deserialize, Serialize};

/// Sizes of RFC 2544 §9.1 without check sequence.
pub const SIZES: [usize; 7] = [60, 124, 252, 508, 1020, 1276, 1514];

/// Loads at which latency is measured, as shares of the throughput.
const LATENCY_SHARES: [f64; 4] = [0.1, 0.5, 0.9, 1.0];

/// Seconds of a trial, of a burst, and how often a burst is searched, before they are scaled.
const TRIAL_S: f64 = 60.0;
const BURST_S: f64 = 2.0;
const BURST_SEARCHES: f64 = 50.0;

/// The load before recovery, as a share of the throughput, and after it, as a share of that load. How often it is
/// repeated, before it is scaled.
const OVERLOAD: f64 = 1.1;
const RELIEF: f64 = 0.5;
const RECOVERIES: f64 = 10.0;

/// The results for a frame size.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[allow(missing_docs)]
pub struct SizeResults {
    /// Without check sequence.
    pub frame_bytes: usize,
    pub throughput_pps: Option<f64>,
    pub limited_by: LimitedBy,
    pub latency: Vec<LatencyResults>,
    /// Loads with their loss ratios, from the highest on.
    pub loss: Vec<(f64, f64)>,
    /// The loads at which the sender was late: less was sent, so the device may lose more.
    #[serde(default)]
    pub loss_late: Vec<f64>,
    pub back_to_back: BackToBack,
    /// None when no load is above the throughput, or there is none without loss.
    #[serde(default)]
    pub recovery: Option<Recovery>,
    pub search: SearchResults,
    /// Why the tests ended before all of them were made: what is not there was not measured. None otherwise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended_by: Option<String>,
}

/// Latency at a load.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[allow(missing_docs)]
pub struct LatencyResults {
    /// The share of the throughput.
    pub share: f64,
    pub pps: f64,
    /// Whether the sender was late: its lateness is part of the latency.
    #[serde(default)]
    pub is_late: bool,
    /// RFC 8219: the median; none when no frame came, like those below.
    pub typical_ns: Option<u64>,
    /// RFC 8219: 99.9 %.
    pub worst_case_ns: Option<u64>,
    /// RFC 8219: 99.9 % less the minimum.
    pub pdv_ns: Option<u64>,
    pub latency: Distribution,
}

/// Bursts at the highest load.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[allow(missing_docs)]
pub struct BackToBack {
    /// The longest burst without loss in each search.
    pub frames: Vec<u64>,
    pub mean_frames: f64,
    pub standard_deviation: f64,
    /// The longest burst that was tried lost nothing: the buffer is at least as long.
    pub at_least: bool,
    /// A burst counts as too long only because the tester could not send all of it in time.
    #[serde(default)]
    pub is_late: bool,
    /// RFC 9004 §6.4: how long the highest load is needed to fill the buffer.
    pub implied_buffer_s: f64,
    /// The same without the frames that were forwarded meanwhile.
    pub corrected_buffer_s: f64,
}

/// How long a device goes on losing frames when an overload has ended.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[allow(missing_docs)]
pub struct Recovery {
    pub overload_pps: f64,
    /// The load after it.
    pub relieved_pps: f64,
    /// How long each of the two lasts.
    pub seconds: f64,
    /// From the end of the overload until the last lost frame was due, of each time; 0 when none was lost then.
    pub each_ns: Vec<u64>,
    pub mean_ns: Option<f64>,
    /// Times that say nothing, since the overload lost no frame.
    pub without_loss: u32,
    /// Times in which frames were lost to the end.
    pub not_recovered: u32,
    /// Times that say nothing, since some frames of a stream come out by other ports than others, or are dropped by the
    /// program: which of them are lost is not told apart from which are elsewhere.
    #[serde(default)]
    pub unknown: u32,
    /// Whether the sender was late: the load was not reached.
    pub is_late: bool,
}

/// What is searched, with trials of scaled length.
pub fn goals(scale: f64) -> Vec<Goal> {
    let goals = Goal::named("rfc2544").unwrap_or_default();
    goals.into_iter().map(|goal| goal.scaled(scale)).collect()
}

/// Seconds that the tests of a frame size take at least: those of a device that is good at the highest load, of which a
/// trial and its confirmation, latency at four loads, loss at two, and bursts are measured.
pub fn seconds_min(scale: f64) -> f64 {
    let trials = 2 + LATENCY_SHARES.len() + 2;
    scale * (TRIAL_S * trials as f64 + BURST_S * (BURST_SEARCHES * scale).ceil().clamp(1.0, BURST_SEARCHES))
}

/// Runs the tests for a frame size: the session's streams have it. Tests that end early have what was measured by then:
/// [`SizeResults::ended_by`]. They end after the search if no frame came back.
///
/// # Errors
/// When nothing is known of the throughput, since a trial cannot be run or the caller stops the first one, in words.
pub fn test_size(
    session: &mut Session<'_>,
    frame_bytes: usize,
    goals: &[Goal],
    limits: &LoadLimits,
    scale: f64,
    progress: &mut dyn Progress,
) -> Result<SizeResults, String> {
    let mut results = throughput(session, frame_bytes, goals, limits, TRIAL_S * scale, progress)?;
    if results.ended_by.is_none() {
        let max_pps = limits.searched.max_pps;
        let ended = after_throughput(session, max_pps, scale, &mut results, progress);
        results.ended_by = ended.err();
    }
    Ok(results)
}

/// Searches the throughput. The other tests are still to be made.
fn throughput(
    session: &mut Session<'_>,
    frame_bytes: usize,
    goals: &[Goal],
    limits: &LoadLimits,
    seconds: f64,
    progress: &mut dyn Progress,
) -> Result<SizeResults, String> {
    let confirmation = Confirmation { trials: 1, seconds };
    let mut measurer = session.measurer(progress)?;
    let mut found = search_and_confirm(goals, limits.searched, confirmation, &mut measurer)?.remove(0);
    let ended_by = measurer.ended_by().or_else(|| found.silence());
    found.limited_by = limits.limited_by(found.limited_by);
    Ok(SizeResults {
        frame_bytes,
        throughput_pps: found.lower_bound_pps,
        limited_by: found.limited_by,
        latency: Vec::new(),
        loss: Vec::new(),
        loss_late: Vec::new(),
        back_to_back: BackToBack::default(),
        recovery: None,
        search: found,
        ended_by,
    })
}

/// Makes the other tests, and adds what each finds as soon as it is known.
fn after_throughput(
    session: &mut Session<'_>,
    max_pps: f64,
    scale: f64,
    results: &mut SizeResults,
    progress: &mut dyn Progress,
) -> Result<(), String> {
    let seconds = TRIAL_S * scale;
    if let Some(throughput) = results.throughput_pps {
        for share in LATENCY_SHARES {
            let trial = at_load(session, share * throughput, seconds, progress)?;
            results.latency.push(latency(share, share * throughput, &trial));
        }
    }
    loss_rates(max_pps, &mut results.loss, &mut results.loss_late, |pps| {
        let trial = at_load(session, pps, seconds, progress)?;
        let ratio = trial.lost() as f64 / trial.expected().max(1) as f64;
        Ok((ratio, trial.is_late()))
    })?;
    let throughput = results.throughput_pps.unwrap_or(0.0);
    back_to_back(
        session,
        (max_pps, throughput),
        scale,
        &mut results.back_to_back,
        progress,
    )?;
    let overload = (OVERLOAD * throughput).min(max_pps);
    if throughput > 0.0 && overload > throughput {
        recovery(session, overload, scale, &mut results.recovery, progress)?;
    }
    Ok(())
}

/// Overloads the device several times; `recovery` is there from the first time on.
fn recovery(
    session: &mut Session<'_>,
    overload_pps: f64,
    scale: f64,
    recovery: &mut Option<Recovery>,
    progress: &mut dyn Progress,
) -> Result<(), String> {
    let seconds = TRIAL_S * scale;
    let times = (RECOVERIES * scale).ceil().clamp(1.0, RECOVERIES) as usize;
    for _ in 0..times {
        let plan = session.plan_at(overload_pps, 2.0 * seconds)?;
        let relieved_ns = plan.duration_ns / 2;
        let plan = Plan {
            warm_up_ns: 0,
            sample_ns: 0,
            step: Some(Step {
                at_ns: relieved_ns,
                factor: RELIEF,
            }),
            ..plan
        };
        let trial = whole(session, plan, progress)?;
        let found = recovery.get_or_insert_with(|| Recovery {
            overload_pps,
            relieved_pps: RELIEF * overload_pps,
            seconds,
            ..Recovery::default()
        });
        found.note(&trial, relieved_ns);
    }
    Ok(())
}

impl Recovery {
    fn note(&mut self, trial: &TrialResults, relieved_ns: u64) {
        self.is_late |= trial.is_late();
        let paths = || trial.streams.iter().flat_map(|stream| &stream.paths);
        let is_split = |stream: &StreamResults| stream.paths.iter().any(|path| path.expected < stream.sent);
        if trial.lost() == 0 {
            self.without_loss += 1;
        } else if trial.streams.iter().any(is_split) {
            self.unknown += 1;
        } else if paths().any(|path| path.lost_at_end > 0) {
            self.not_recovered += 1;
        } else {
            let last = paths().filter_map(|path| path.last_loss_ns).max().unwrap_or(0);
            self.each_ns.push(last.saturating_sub(relieved_ns));
        }
        let count = self.each_ns.len();
        let sum: u64 = self.each_ns.iter().sum();
        self.mean_ns = (count > 0).then(|| sum as f64 / count as f64);
    }
}

/// A trial at a load, for some seconds.
fn at_load(
    session: &mut Session<'_>,
    pps: f64,
    seconds: f64,
    progress: &mut dyn Progress,
) -> Result<TrialResults, String> {
    let plan = session.plan_at(pps, seconds)?;
    whole(session, plan, progress)
}

/// A trial. One that the caller stops says nothing: frames under way then are no loss, and the others were not sent. The
/// same is true of one in which a port has no link.
fn whole(session: &mut Session<'_>, plan: Plan, progress: &mut dyn Progress) -> Result<TrialResults, String> {
    let trial = session.trial(plan, progress)?;
    match trial.why_void("test") {
        Some(why) => Err(why),
        None => Ok(trial),
    }
}

fn latency(share: f64, pps: f64, trial: &TrialResults) -> LatencyResults {
    let mut all = crate::histogram::Histogram::default();
    for path in trial.streams.iter().flat_map(|stream| &stream.paths) {
        let counted = if path.latency.count > 0 {
            &path.latency
        } else {
            &path.latency_all
        };
        all.add(&counted.to_histogram());
    }
    let known = |ns: u64| (all.count() > 0).then_some(ns);
    LatencyResults {
        share,
        pps,
        is_late: trial.is_late(),
        typical_ns: known(all.quantile(0.5)),
        worst_case_ns: known(all.quantile(0.999)),
        pdv_ns: known(all.quantile(0.999) - all.min()),
        latency: all.summary(),
    }
}

/// Adds loads with their loss ratios from the highest on, until two in a row lose nothing; and to `late` those at which
/// the sender was late. A load that was not reached loses nothing, and says nothing.
fn loss_rates(
    max_pps: f64,
    rates: &mut Vec<(f64, f64)>,
    late: &mut Vec<f64>,
    mut measure: impl FnMut(f64) -> Result<(f64, bool), String>,
) -> Result<(), String> {
    let mut without_loss = 0;
    for tenths in (1..=10).rev() {
        let pps = max_pps * f64::from(tenths) / 10.0;
        let (ratio, is_late) = measure(pps)?;
        rates.push((pps, ratio));
        if is_late {
            late.push(pps);
        }
        without_loss = if ratio == 0.0 && !is_late { without_loss + 1 } else { 0 };
        if without_loss == 2 {
            break;
        }
    }
    Ok(())
}

/// Searches the longest burst at the highest load several times; each search adds to `result` when it has ended.
fn back_to_back(
    session: &mut Session<'_>,
    (max_pps, throughput): (f64, f64),
    scale: f64,
    result: &mut BackToBack,
    progress: &mut dyn Progress,
) -> Result<(), String> {
    let longest = (max_pps * BURST_S * scale).max(2.0) as u64;
    let searches = (BURST_SEARCHES * scale).ceil().clamp(1.0, BURST_SEARCHES) as usize;
    for _ in 0..searches {
        let mut is_late = false;
        let frames = longest_burst(longest, |frames| {
            let (is_sent, is_whole) = burst(session, max_pps, frames, progress)?;
            is_late |= is_whole && !is_sent;
            Ok(is_whole && is_sent)
        })?;
        result.is_late |= is_late;
        result.at_least |= frames == longest;
        result.frames.push(frames);
        result.sum_up(max_pps, throughput);
    }
    Ok(())
}

impl BackToBack {
    /// Mean, standard deviation and buffer of the searches so far, of which there is at least one.
    fn sum_up(&mut self, max_pps: f64, throughput: f64) {
        let count = self.frames.len() as f64;
        self.mean_frames = self.frames.iter().sum::<u64>() as f64 / count;
        let mean = self.mean_frames;
        let squares = self.frames.iter().map(|frames| (*frames as f64 - mean).powi(2));
        self.standard_deviation = (squares.sum::<f64>() / (count - 1.0).max(1.0)).sqrt();
        self.implied_buffer_s = mean / max_pps;
        self.corrected_buffer_s = self.implied_buffer_s * (1.0 - (throughput / max_pps).min(1.0));
    }
}

/// The longest good burst up to a longest one, by halving.
fn longest_burst(longest: u64, mut is_good: impl FnMut(u64) -> Result<bool, String>) -> Result<u64, String> {
    if is_good(longest)? {
        return Ok(longest);
    }
    let (mut good, mut bad) = (0, longest);
    while bad - good > 1 {
        let middle = good + (bad - good) / 2;
        if is_good(middle)? { good = middle } else { bad = middle }
    }
    Ok(good)
}

/// Whether all of a burst was sent in time, and whether all that was sent came back.
fn burst(
    session: &mut Session<'_>,
    pps: f64,
    frames: u64,
    progress: &mut dyn Progress,
) -> Result<(bool, bool), String> {
    let plan = session.plan_at(pps, frames as f64 / pps)?;
    let plan = Plan {
        warm_up_ns: 0,
        sample_ns: 0,
        ..plan
    };
    let trial = whole(session, plan, progress)?;
    Ok((trial.unsent() == 0, trial.lost() == 0))
}

#[cfg(test)]
mod tests {
    use super::{longest_burst, loss_rates, seconds_min};

    #[test]
    fn a_frame_size_takes_ten_minutes() {
        assert_eq!(seconds_min(1.0), 8.0 * 60.0 + 50.0 * 2.0);
        assert!((seconds_min(0.01) - 4.82).abs() < 1e-9, "{}", seconds_min(0.01));
    }

    /// Where switch and tester share a thread, overload loses nothing; the series must not end there.
    #[test]
    fn a_load_that_was_not_reached_is_not_without_loss() {
        let (mut rates, mut late) = (Vec::new(), Vec::new());
        loss_rates(1000.0, &mut rates, &mut late, |pps| Ok((0.0, pps > 650.0))).expect("trials");
        assert_eq!(late, [1000.0, 900.0, 800.0, 700.0]);
        assert_eq!(
            rates.iter().map(|(pps, _)| *pps).collect::<Vec<_>>()[4..],
            [600.0, 500.0]
        );
    }

    #[test]
    fn the_longest_burst_is_found_exactly() {
        for limit in [0, 1, 7, 999, 1000, 2000] {
            assert_eq!(longest_burst(1000, |frames| Ok(frames <= limit)), Ok(limit.min(1000)));
        }
    }
}
