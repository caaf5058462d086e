//! Tests of RFC 2889 for a bridge that learns: address caching capacity (§5.7), address learning rate (§5.8), broadcast
//! frame forwarding (§5.9).
//!
//! ```text
//!   learning port ──► frames from N addresses ──► bridge
//!   test port     ──► frames to these N         ──► each must come out by the learning port, and none by the monitoring port
//! ```
//!
//! A frame at the monitoring port was flooded: its address had not been learned. Every attempt begins with a bridge
//! that has learned nothing: a program in memory is loaded anew, between interfaces the tester waits for `ageing_s`.

use super::{Goal, LimitedBy, Limits, Measured, Measurer, SearchResults, has_frames, search};
use crate::frames::Frames;
use crate::run::Session;
use crate::schedule::{Arrivals, Shape};
use crate::stream::{Rate, Stream};
use crate::tag::{TAG_BYTES, Tag};
use crate::test_file::BridgeEntry;
use crate::trial::{Plan, Progress};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// The station at the test port, and the first of those at the learning port.
const STATION: u64 = 0x0200_0000_00fe;
const FIRST: u64 = 0x0210_0000_0001;

/// Every station.
const BROADCAST: u64 = 0xffff_ffff_ffff;

/// An EtherType for experiments (IEEE 802).
const ETHER_TYPE: [u8; 2] = [0x88, 0xb5];

/// Rates are found within this share.
const WIDTH: f64 = 0.02;

/// How much longer than needed frames are sent: each address is in at least one.
const MARGIN: f64 = 1.02;

/// How often the same addresses are tried while the tester cannot send all frames.
const TRIES: usize = 3;

/// What was found.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[allow(missing_docs)]
pub struct BridgeResults {
    /// Addresses behind one port that are all learned; 0 when not even one is.
    pub caching_capacity: u64,
    /// The capacity is at least that: all addresses of the test were learned, or the tester could not try more.
    pub capacity_is_at_least: bool,
    /// Why the capacity is not higher: `tester` when frames to more addresses could not be sent.
    #[serde(default)]
    pub capacity_limited_by: LimitedBy,
    /// Addresses a second that are all learned, as many as the capacity allows.
    pub learning_rate_per_s: f64,
    pub learning_rate_is_at_least: bool,
    #[serde(default)]
    pub learning_rate_limited_by: LimitedBy,
    /// Broadcast frames a second that come out by all other ports without loss; none when even the least load loses
    /// some.
    pub broadcast_pps: Option<f64>,
    /// Why that is not more: `tester` when frames of a higher load could not be sent.
    #[serde(default)]
    pub broadcast_limited_by: LimitedBy,
    /// How that load was searched; none when it was not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub broadcast_search: Option<SearchResults>,
    pub attempts: Vec<Attempt>,
    /// Why the tests ended before all of them were made: capacity and rate are then what is known at least, and broadcast
    /// frames were not measured. None otherwise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended_by: Option<String>,
}

/// Addresses that were to be learned.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[allow(missing_docs)]
pub struct Attempt {
    pub addresses: u64,
    pub learning_pps: f64,
    /// Test frames that did not come out by the learning port.
    pub lost: u64,
    /// Test frames that came out elsewhere, too or instead.
    pub flooded: u64,
    /// Learning frames that the tester could not send, and addresses to which it could send no test frame.
    pub unsent: u64,
    /// How long frames were sent; 0 in results of versions that did not say it.
    #[serde(default)]
    pub seconds: f64,
}

impl Attempt {
    /// Whether all addresses were learned; none when frames that the tester did not send leave it open. The bridge
    /// floods an address without a learning frame, too: up to `copies` frames of each unsent one say nothing about the
    /// bridge.
    fn verdict(&self, copies: u64) -> Option<bool> {
        let failed = self.lost + self.flooded;
        match self.unsent {
            0 => Some(failed == 0),
            unsent if failed > unsent.saturating_mul(copies) => Some(false),
            _ => None,
        }
    }
}

/// Runs the tests. Those that end early have what was known by then: [`BridgeResults::ended_by`].
///
/// # Errors
/// When the first attempt cannot be made, or is stopped, in words.
pub fn test(
    session: &mut Session<'_>,
    entry: &BridgeEntry,
    progress: &mut dyn Progress,
) -> Result<BridgeResults, String> {
    let mut found = BridgeResults::default();
    match measure(session, entry, &mut found, progress) {
        Err(why) if found.attempts.is_empty() => Err(why),
        ended => {
            found.ended_by = ended.err();
            Ok(found)
        }
    }
}

/// Makes one test after another. What each knows of its result is there at any time, as the least that it may be.
fn measure(
    session: &mut Session<'_>,
    entry: &BridgeEntry,
    found: &mut BridgeResults,
    progress: &mut dyn Progress,
) -> Result<(), String> {
    (found.capacity_is_at_least, found.learning_rate_is_at_least) = (true, true);
    let mut works = |addresses| {
        learned(
            session,
            entry,
            (addresses, entry.learning_pps),
            &mut found.attempts,
            progress,
        )
    };
    let (capacity, limited_by) = (&mut found.caching_capacity, &mut found.capacity_limited_by);
    largest(entry.addresses_max, capacity, limited_by, &mut works)?;
    found.capacity_is_at_least = found.capacity_limited_by != LimitedBy::Device;
    learning_rate(session, entry, found, progress)?;
    let search = broadcast(session, entry, progress)?;
    (found.broadcast_pps, found.broadcast_limited_by) = (search.lower_bound_pps, search.limited_by);
    found.broadcast_search = Some(search);
    Ok(())
}

/// Searches the highest rate at which as many addresses as the capacity allows are all learned.
fn learning_rate(
    session: &mut Session<'_>,
    entry: &BridgeEntry,
    found: &mut BridgeResults,
    progress: &mut dyn Progress,
) -> Result<(), String> {
    let capacity = found.caching_capacity;
    if capacity == 0 {
        found.learning_rate_limited_by = found.capacity_limited_by;
        found.learning_rate_is_at_least = false;
        return Ok(());
    }
    let mut at = |pps: f64| learned(session, entry, (capacity, pps), &mut found.attempts, progress).map(limit);
    // At this rate they were learned while the capacity was searched.
    found.learning_rate_per_s = entry.learning_pps.min(entry.pps_max);
    let (mut high, mut limited_by) = (entry.pps_max, at(entry.pps_max)?);
    if limited_by == LimitedBy::HighestLoad {
        found.learning_rate_per_s = high;
    }
    while high - found.learning_rate_per_s > WIDTH * high {
        let middle = (found.learning_rate_per_s * high).sqrt();
        match at(middle)? {
            LimitedBy::HighestLoad => found.learning_rate_per_s = middle,
            other => (high, limited_by) = (middle, other),
        }
    }
    found.learning_rate_limited_by = limited_by;
    found.learning_rate_is_at_least = limited_by != LimitedBy::Device;
    Ok(())
}

/// Whether a number of addresses is learned completely at a rate. None when the tester did not send all frames, so that it
/// cannot be said.
fn learned(
    session: &mut Session<'_>,
    entry: &BridgeEntry,
    (addresses, pps): (u64, f64),
    attempts: &mut Vec<Attempt>,
    progress: &mut dyn Progress,
) -> Result<Option<bool>, String> {
    // A frame to an address is sent at most twice, and flooded by all ports but one.
    let copies = 2 * session.port_count().saturating_sub(1) as u64;
    let mut verdict = None;
    for _ in 0..TRIES {
        let attempt = attempt(session, entry, addresses, pps, progress)?;
        attempts.push(attempt);
        verdict = attempt.verdict(copies);
        if verdict.is_some() {
            break;
        }
    }
    Ok(verdict)
}

/// What limits a search whose highest attempt has this verdict.
fn limit(verdict: Option<bool>) -> LimitedBy {
    match verdict {
        Some(true) => LimitedBy::HighestLoad,
        Some(false) => LimitedBy::Device,
        None => LimitedBy::Tester,
    }
}

/// Searches the largest number up to `most` that works, by bisection, and why no larger one does. `found` is the largest
/// that is known to work, from 0. A number without a verdict bounds the result from above, which is then limited by the
/// tester.
fn largest(
    most: u64,
    found: &mut u64,
    limited_by: &mut LimitedBy,
    works: &mut dyn FnMut(u64) -> Result<Option<bool>, String>,
) -> Result<(), String> {
    *limited_by = limit(works(most)?);
    if *limited_by == LimitedBy::HighestLoad {
        *found = most;
    }
    let mut high = most;
    while high - *found > 1 {
        let middle = *found + (high - *found) / 2;
        match limit(works(middle)?) {
            LimitedBy::HighestLoad => *found = middle,
            other => (high, *limited_by) = (middle, other),
        }
    }
    Ok(())
}

fn attempt(
    session: &mut Session<'_>,
    entry: &BridgeEntry,
    addresses: u64,
    learning_pps: f64,
    progress: &mut dyn Progress,
) -> Result<Attempt, String> {
    session.renew(entry.ageing_s, progress)?;
    // The station at the test port is known before, so learning frames are not flooded.
    let station = stream("station", entry.test_port, None, 1, |_| (STATION, FIRST), entry);
    let station = send(session, station, 1, entry.learning_pps, progress)?;
    let learning = stream(
        "learning",
        entry.learning_port,
        None,
        addresses,
        |index| (FIRST + index, STATION),
        entry,
    );
    let learning = send(session, learning, addresses, learning_pps, progress)?;
    let test = to_stations(addresses, entry);
    let test = send(session, test, addresses, entry.learning_pps, progress)?;
    Ok(Attempt {
        addresses,
        learning_pps,
        lost: test.lost,
        flooded: test.misdirected,
        // An address without a test frame is not known to be learned.
        unsent: learning.unsent + addresses.saturating_sub(test.sent),
        seconds: station.seconds + learning.seconds + test.seconds,
    })
}

/// Frames to the first addresses behind the learning port.
fn to_stations(addresses: u64, entry: &BridgeEntry) -> Stream {
    let to = Some(entry.learning_port);
    stream(
        "test",
        entry.test_port,
        to,
        addresses,
        |index| (STATION, FIRST + index),
        entry,
    )
}

/// What is sent to all addresses that may be learned, for a self test.
pub fn test_stream(entry: &BridgeEntry) -> Stream {
    to_stations(entry.addresses_max, entry)
}

/// What became of frames.
struct Fate {
    sent: u64,
    lost: u64,
    misdirected: u64,
    unsent: u64,
    seconds: f64,
}

/// Sends each frame of a stream at least once, unless the tester is late.
fn send(
    session: &mut Session<'_>,
    stream: Stream,
    frames: u64,
    pps: f64,
    progress: &mut dyn Progress,
) -> Result<Fate, String> {
    session.set_streams(vec![stream]);
    let seconds = (frames as f64 * MARGIN + 2.0) / pps;
    let plan = Plan {
        warm_up_ns: 0,
        sample_ns: 0,
        ..session.plan_at(pps, seconds)?
    };
    let trial = session.trial(plan, progress)?;
    if let Some(why) = trial.why_void("test") {
        return Err(why);
    }
    Ok(Fate {
        sent: trial.sent(),
        lost: trial.lost(),
        misdirected: trial.streams[0].misdirected,
        unsent: trial.unsent(),
        seconds: trial.measured_s,
    })
}

/// Searches the highest load of broadcast frames that all other ports give back.
fn broadcast(
    session: &mut Session<'_>,
    entry: &BridgeEntry,
    progress: &mut dyn Progress,
) -> Result<SearchResults, String> {
    session.renew(entry.ageing_s, progress)?;
    let to = Some(entry.monitoring_port);
    session.set_streams(vec![stream(
        "broadcast",
        entry.test_port,
        to,
        1,
        |_| (STATION, BROADCAST),
        entry,
    )]);
    let goals: Vec<Goal> = Goal::named("ndr").unwrap_or_default();
    let goals: Vec<Goal> = goals
        .into_iter()
        .map(|goal| goal.scaled(entry.duration_scale))
        .collect();
    let limits = Limits {
        min_pps: entry.pps_max / 1e4,
        max_pps: entry.pps_max,
        warm_up_s: entry.duration_scale,
        trials_s_max: f64::INFINITY,
    };
    let mut measurer = Broadcast { session, progress };
    let found = search(&goals, limits, &mut measurer)?.into_iter().next();
    Ok(found.ok_or("the search of broadcast frames has no result")?)
}

struct Broadcast<'s, 'a, 'p> {
    session: &'s mut Session<'a>,
    progress: &'p mut dyn Progress,
}

impl Measurer for Broadcast<'_, '_, '_> {
    fn measure(&mut self, pps: f64, seconds: f64) -> Result<Measured, String> {
        let plan = self.session.plan_at(pps, seconds)?;
        let trial = self.session.trial(plan, self.progress)?;
        if let Some(why) = trial.why_void("test") {
            return Err(why);
        }
        has_frames(&trial, pps, seconds)?;
        // A frame comes out by every port but its own; one of them is that where it is expected.
        let others = self.session.port_count().saturating_sub(2) as u64;
        let expected = trial.expected();
        let missing = (expected * others).saturating_sub(trial.streams[0].misdirected);
        Ok(Measured {
            intended: expected + trial.unsent(),
            sent: expected,
            lost: trial.lost().max(missing).min(expected),
            is_disturbed: trial.is_disturbed(),
            is_late: trial.is_late(),
            backlog: trial.backlog,
        })
    }
}

/// Frames with these pairs of source and destination.
fn stream(
    name: &str,
    from: u32,
    to: Option<u32>,
    count: u64,
    addresses: impl Fn(u64) -> (u64, u64),
    entry: &BridgeEntry,
) -> Stream {
    let frame = |index| {
        let (source, destination) = addresses(index);
        let mut frame = Vec::with_capacity(entry.frame_bytes);
        frame.extend_from_slice(&destination.to_be_bytes()[2..]);
        frame.extend_from_slice(&source.to_be_bytes()[2..]);
        frame.extend_from_slice(&ETHER_TYPE);
        frame.resize(entry.frame_bytes.max(14 + TAG_BYTES), 0);
        EMPTY.write(&mut frame);
        frame
    };
    Stream {
        name: name.to_string(),
        from,
        to,
        frames: Arc::new(Frames::in_turn((0..count).map(frame).collect())),
        rate: Rate::Frames(entry.learning_pps),
        arrivals: Arrivals::Constant,
        shape: Shape::flat(),
        messages: None,
    }
}

/// What stands in the place of the tag.
const EMPTY: Tag = Tag {
    trial: 0,
    stream: 0,
    number: 0,
    intended_ns: 0,
    lateness_ns: 0,
};

#[cfg(test)]
mod tests {
    use super::*;

    /// The largest of 100 that works.
    fn found(works: impl Fn(u64) -> Option<bool>) -> (u64, LimitedBy) {
        let (mut found, mut limited_by) = (0, LimitedBy::default());
        largest(100, &mut found, &mut limited_by, &mut |addresses| Ok(works(addresses))).expect("no error");
        (found, limited_by)
    }

    #[test]
    fn the_largest_that_works_is_found() {
        for capacity in [0, 1, 5, 99, 100] {
            let found = found(|addresses| Some(addresses <= capacity));
            let limited_by = match capacity {
                100 => LimitedBy::HighestLoad,
                _ => LimitedBy::Device,
            };
            assert_eq!(found, (capacity, limited_by));
        }
    }

    #[test]
    fn what_the_tester_cannot_send_is_no_limit_of_the_bridge() {
        let most = found(|addresses| (addresses <= 40).then_some(true));
        assert_eq!(most, (40, LimitedBy::Tester));
        // More than could be sent in the first attempt, and a bridge that has less room than that.
        let most = found(|addresses| (addresses <= 60).then_some(addresses <= 20));
        assert_eq!(most, (20, LimitedBy::Device));
    }

    #[test]
    fn unsent_frames_leave_the_verdict_open() {
        let attempt = |lost, flooded, unsent| Attempt {
            addresses: 50,
            learning_pps: 500.0,
            lost,
            flooded,
            unsent,
            seconds: 0.3,
        };
        assert_eq!(attempt(0, 0, 0).verdict(4), Some(true));
        assert_eq!(attempt(0, 1, 0).verdict(4), Some(false));
        assert_eq!(attempt(0, 0, 3).verdict(4), None);
        assert_eq!(attempt(0, 12, 3).verdict(4), None);
        assert_eq!(attempt(0, 37, 3).verdict(4), Some(false));
    }
}
