//! Frames of a stream that lost some, sent once more, each alone: which of them the device drops, and why.
//!
//! What a device drops in a trial is known as sums. A frame that is alone in the device makes the sums say which reason
//! was its own; and one that comes back now was lost for the load, not for what it is.

use crate::clock::Clock;
use crate::device::Device;
use crate::frames::Frames;
use crate::reference::Reference;
use crate::results::hex;
use crate::schedule::{Arrivals, Shape};
use crate::stream::{Rate, Stream};
use crate::tag::TRIALS;
use crate::trial::{Plan, Silent, Trial, run_trial};
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Different frames that are tried, of all streams of a trial together.
pub(crate) const FRAMES_MAX: usize = 256;

/// How long that may take by the machine's clock. Simulated time has the same results everywhere, so it has no such limit.
pub(crate) const TIME_MAX: Duration = Duration::from_secs(1);

/// What sending frames one by one may take.
#[derive(Clone, Copy)]
pub(crate) struct Limit {
    /// Frames of a stream.
    pub(crate) frames: usize,
    /// When it ends.
    pub(crate) until: Option<Instant>,
    /// Frames of other streams that were sent before, since the same trial.
    pub(crate) before: u64,
}

/// The number of a trial of one frame, the `nth` after a trial with this number. A late frame counts for the trial that its
/// tag names, so neither the trial before nor the next one has the same tag.
fn number(of_trial: u64, nth: u64) -> u64 {
    of_trial + 2 + nth % (TRIALS - 2)
}

/// Frames a second: one is due in the time of a trial.
const PPS: f64 = 1_000.0;
const FRAME_NS: u64 = 1_000_000;

/// How long a frame may take; a device between interfaces has as long as in other trials.
const DRAIN_NS: u64 = 2_000_000;

/// What became of the frames of a stream that were sent one by one.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[allow(missing_docs)]
pub struct OneByOne {
    pub stream: String,
    /// Different frames of the stream, those left out that the reference executor drops.
    pub frames: u64,
    /// How many of them were sent, evenly chosen.
    pub tried: u64,
    /// Frames that came back.
    pub came_back: u64,
    /// Those that did not come back where they should, by reason.
    pub dropped: Vec<Dropped>,
}

/// Frames with one reason.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[allow(missing_docs)]
pub struct Dropped {
    /// That of the device, or that it has counted none.
    pub reason: String,
    pub frames: u64,
    /// The first of them: its number among the frames of the stream, and its bytes in hexadecimal.
    pub first: u64,
    pub frame: String,
}

/// Sends the frames of a stream one by one; `index` is its place in the test, `plan` has the number of the trial before. A
/// port that is out of order ends it: the trial before has said so, or the next will.
pub(crate) fn send(
    (index, stream): (usize, &Stream),
    device: &mut Device,
    reference: Option<&Reference>,
    plan: Plan,
    clock: &mut Clock,
    limit: Limit,
) -> OneByOne {
    let templates = stream.frames.templates();
    let is_due = |at: &usize| {
        reference.is_none_or(|reference| reference.outputs(index, *at).iter().any(|output| output.is_measured()))
    };
    let due: Vec<usize> = (0..templates.len()).filter(is_due).collect();
    let mut found = OneByOne {
        stream: stream.name.clone(),
        frames: due.len() as u64,
        tried: 0,
        came_back: 0,
        dropped: Vec::new(),
    };
    let count = due.len().min(limit.frames);
    for place in (0..count).map(|nth| due[nth * due.len() / count]) {
        let alone = Stream {
            frames: Arc::new(Frames::in_turn(vec![templates[place].clone()])),
            rate: Rate::Frames(PPS),
            arrivals: Arrivals::Constant,
            shape: Shape::flat(),
            ..stream.clone()
        };
        let plan = Plan {
            number: number(plan.number, limit.before + found.tried),
            ..plan
        };
        if limit.until.is_some_and(|until| Instant::now() > until) {
            break;
        }
        let Ok(trial) = run_trial(&[alone], device, None, plan, clock, &mut Silent) else {
            break;
        };
        found.note(&trial, place, &templates[place]);
    }
    found
}

/// A trial of one frame, like those of the test.
pub(crate) fn plan(of_test: Plan, is_inside: bool) -> Plan {
    Plan {
        scale: 1.0,
        warm_up_ns: 0,
        duration_ns: FRAME_NS,
        drain_ns: if is_inside { DRAIN_NS } else { of_test.drain_ns },
        sample_ns: 0,
        step: None,
        ..of_test
    }
}

impl OneByOne {
    fn note(&mut self, trial: &Trial, place: usize, template: &[u8]) {
        self.tried += 1;
        let paths = trial.streams.iter().flat_map(|stream| &stream.paths);
        if paths.map(|(.., path)| path.received()).sum::<u64>() > 0 {
            self.came_back += 1;
            return;
        }
        let is_elsewhere = trial.streams.iter().any(|stream| stream.misdirected > 0);
        let reason = match trial.drops.first() {
            Some((reason, _)) => reason.clone(),
            None if is_elsewhere => "came out by another port".to_string(),
            None => "the device has counted no drop".to_string(),
        };
        match self.dropped.iter_mut().find(|own| own.reason == reason) {
            Some(own) => own.frames += 1,
            None => self.dropped.push(Dropped {
                reason,
                frames: 1,
                first: place as u64,
                frame: hex(template),
            }),
        }
    }

    /// In words: a line for all, and one for each reason.
    pub fn words(&self) -> Vec<String> {
        if self.tried == 0 {
            return Vec::new();
        }
        let sent = match (self.tried, self.frames) {
            (1, 1) => "its only frame was sent once more, alone".to_string(),
            (1, frames) => format!("one of its {frames} different frames was sent once more, alone"),
            (tried, frames) if tried == frames => {
                format!("its {frames} different frames were sent once more, each alone")
            }
            (tried, frames) => format!("{tried} of its {frames} different frames were sent once more, each alone"),
        };
        let back = match (self.came_back, self.tried) {
            (0, 1) => "it did not come back".to_string(),
            (1, 1) => "it came back, so the load is what loses such frames".to_string(),
            (back, tried) if back == tried => "all came back, so the load is what loses them".to_string(),
            (back, _) => format!("{back} came back"),
        };
        let mut words = vec![format!("{}: {sent}; {back}", self.stream)];
        words.extend(self.dropped.iter().map(|own| {
            let (reason, count) = (&own.reason, own.frames);
            format!("  {reason}: {count}, the first is frame {}: {}", own.first, own.frame)
        }));
        words
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tags_are_not_those_of_the_trials_around() {
        let tag = |number: u64| number % TRIALS;
        for (of_trial, nth) in [(1, 0), (1, 61), (1, 62), (63, 0), (64, 255), (7, 200)] {
            let own = tag(number(of_trial, nth));
            assert!(own != tag(of_trial) && own != tag(of_trial + 1), "{of_trial} {nth}");
            assert_ne!(own, tag(number(of_trial, nth + 1)));
        }
    }

    #[test]
    fn one_frame_is_told_as_one() {
        let said = |frames, tried, came_back| {
            let found = OneByOne {
                stream: "a".to_string(),
                frames,
                tried,
                came_back,
                dropped: Vec::new(),
            };
            found.words().join("\n")
        };
        assert_eq!(said(9, 0, 0), "");
        assert_eq!(
            said(1, 1, 0),
            "a: its only frame was sent once more, alone; it did not come back"
        );
        assert!(said(9, 1, 1).starts_with("a: one of its 9 different frames was sent once more, alone; it came back"));
        assert!(said(9, 9, 9).contains("were sent once more, each alone; all came back"));
        assert!(said(9, 4, 2).ends_with("a: 4 of its 9 different frames were sent once more, each alone; 2 came back"));
    }
}
