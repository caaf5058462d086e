//! Sends the frames of a stream when they are due: an open loop, which does not wait for what comes back.
//!
//! A frame that the tester is too late for is sent as soon as possible. Its intended time stays, so what a slow tester
//! or a full queue does to it is part of its latency and of the tester's *lateness*. Frames that were due but could not
//! be sent before the end are *unsent*; they are never counted as lost.

use crate::histogram::Histogram;
use crate::messages::Messages;
use crate::schedule::{Schedule, Shape};
use crate::stream::{Rate, Stream};
use crate::tag::{NUMBER_MAX, TRIALS, Tag};
use crate::trial::Step;
use forebay_packet::Burst;

/// Frames that could not be sent are counted one by one up to this many; how many more were due is known on average. A
/// sender that is asked for far more than it can send must end soon after its trial all the same.
const UNSENT_COUNTED: u64 = 5_000_000;

/// A stream that is being sent.
pub struct Sender<'a> {
    stream: &'a Stream,
    index: u8,
    trial: u8,
    scale: f64,
    schedule: Option<Schedule>,
    step: Option<Step>,
    works: Vec<f64>,
    due_ns: u64,
    /// Frames before are not measured, from here on none are sent.
    measured_from_ns: u64,
    end_ns: u64,
    /// The number of the next frame.
    number: u64,
    pub(crate) messages: Option<Messages>,
    /// What was sent of the measured time.
    pub(crate) measured: Sent,
    /// What was sent in all.
    pub(crate) all: Sent,
    pub(crate) lateness: Histogram,
    quarters: Quarters,
}

/// The least lateness in each quarter of the measured time. A sender that is on time now and then has a small one; that
/// of a sender that is asked for more than it can send grows.
#[derive(Clone, Copy, Debug)]
struct Quarters {
    length_ns: u64,
    /// When the present quarter ends.
    until_ns: u64,
    present: usize,
    least_ns: [Option<u64>; 4],
}

impl Quarters {
    fn new(window: Window) -> Quarters {
        let length_ns = (window.end_ns.saturating_sub(window.from_ns) / 4).max(1);
        Quarters {
            length_ns,
            until_ns: window.from_ns + length_ns,
            present: 0,
            least_ns: [None; 4],
        }
    }

    /// Notes how late a frame was that was due then.
    #[inline]
    fn note(&mut self, due_ns: u64, lateness_ns: u64) {
        while due_ns >= self.until_ns && self.present + 1 < self.least_ns.len() {
            self.present += 1;
            self.until_ns += self.length_ns;
        }
        let least_ns = &mut self.least_ns[self.present];
        *least_ns = Some(least_ns.map_or(lateness_ns, |least_ns| least_ns.min(lateness_ns)));
    }

    /// By how much it grew from the first quarter to the last; 0 when frames were not sent in both.
    fn growth_ns(&self) -> u64 {
        let ends = self.least_ns[0].zip(self.least_ns[3]);
        ends.map_or(0, |(first, last)| last.saturating_sub(first))
    }
}

/// Frames that were sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sent {
    /// How many.
    pub frames: u64,
    /// Bytes of the frames, without check sequences.
    pub bytes: u64,
}

/// When a trial begins to be measured and ends, in nanoseconds from its start.
#[derive(Clone, Copy, Debug)]
pub struct Window {
    /// The end of the warm-up.
    pub from_ns: u64,
    /// The end of the trial.
    pub end_ns: u64,
}

impl Window {
    /// When half of the measured time has passed.
    pub(crate) fn middle_ns(self) -> u64 {
        self.from_ns + self.end_ns.saturating_sub(self.from_ns) / 2
    }
}

/// A rate in its unit; none for as many frames as possible.
fn per_second(rate: Rate, scale: f64) -> Option<f64> {
    match rate {
        Rate::Frames(rate) | Rate::Bits(rate) => Some(rate * scale),
        Rate::Max => None,
    }
}

impl<'a> Sender<'a> {
    /// The stream from its beginning; `scale` multiplies its rate. The first stream of a test begins at once, others
    /// within an interval: no two cables have one clock.
    pub fn new(stream: &'a Stream, index: usize, trial: u64, scale: f64, window: Window, seed: u64) -> Sender<'a> {
        let rate = per_second(stream.rate, scale);
        let works = stream.works();
        let mean_work = works.iter().sum::<f64>() / works.len().max(1) as f64;
        let schedule = rate.map(|rate| Schedule::new(stream.arrivals, &stream.shape, rate, 0, seed));
        let schedule = schedule.map(|schedule| match index {
            0 => schedule,
            _ => schedule.with_own_phase(mean_work),
        });
        let messages = stream.messages;
        let messages = messages.map(|(format, devices)| Messages::new(format, devices, index as u8, trial));
        let mut sender = Sender {
            stream,
            index: index as u8,
            trial: (trial % TRIALS) as u8,
            scale,
            schedule,
            step: None,
            works,
            due_ns: 0,
            measured_from_ns: window.from_ns,
            end_ns: window.end_ns,
            number: 0,
            messages,
            measured: Sent::default(),
            all: Sent::default(),
            lateness: Histogram::default(),
            quarters: Quarters::new(window),
        };
        sender.due_ns = sender.scheduled_ns().unwrap_or(0);
        sender
    }

    /// The same with a change of the rate.
    #[must_use]
    pub fn with_step(mut self, step: Option<Step>) -> Sender<'a> {
        self.step = step;
        self.due_ns = self.scheduled_ns().unwrap_or(0);
        self
    }

    /// The same with other numbers: its first frame has this one, so it is the template of that number.
    #[must_use]
    pub fn numbered_from(mut self, number: u64) -> Sender<'a> {
        self.number = number;
        self
    }

    /// Sends at another rate from now on, and at the beginning of this shape.
    pub fn change_rate(&mut self, rate: Rate, shape: &Shape, now_ns: u64) {
        self.works = self.stream.works_at(rate);
        self.schedule = per_second(rate, self.scale)
            .map(|rate| Schedule::new(self.stream.arrivals, shape, rate, now_ns, self.number));
        self.due_ns = self.scheduled_ns().unwrap_or(now_ns);
    }

    /// When the schedule says that the next frame is due, if there is one.
    #[inline]
    fn scheduled_ns(&mut self) -> Option<u64> {
        let due_ns = self.schedule.as_mut()?.due_ns();
        Some(self.step.map_or(due_ns, |step| step.due_ns(due_ns)))
    }

    /// Frames that were given numbers so far.
    #[inline]
    pub fn next_number(&self) -> u64 {
        self.number
    }

    /// When the next frame is due.
    #[inline]
    pub fn due_ns(&self) -> u64 {
        self.due_ns
    }

    /// Whether all frames have been sent.
    pub fn is_done(&self) -> bool {
        self.due_ns >= self.end_ns || self.number > NUMBER_MAX
    }

    /// Whether a frame should have been sent before now.
    pub fn is_behind(&self, now_ns: u64) -> bool {
        self.schedule.is_some() && self.due_ns < now_ns.min(self.end_ns)
    }

    /// Appends frames that are due, at most `limit`. `each` is told the template of each that is measured.
    #[inline]
    pub fn fill(&mut self, burst: &mut Burst, limit: usize, now_ns: u64, mut each: impl FnMut(usize)) {
        if self.schedule.is_none() && self.due_ns < self.end_ns {
            self.due_ns = now_ns;
        }
        for _ in 0..limit {
            if self.due_ns > now_ns || self.is_done() {
                return;
            }
            let Some(packet) = burst.allocate() else { return };
            let template = self.stream.frames.template_of(self.number);
            let (head, tail) = self.stream.frames.parts(template);
            packet.set_parts(head, tail);
            self.tag(packet.data_mut(), now_ns);
            self.count(packet.len(), now_ns, || each(template));
            self.number += 1;
            if let Some(schedule) = &mut self.schedule {
                schedule.advance(self.works[template]);
            }
            self.due_ns = self.scheduled_ns().unwrap_or(self.due_ns);
        }
    }

    #[inline]
    fn tag(&mut self, frame: &mut [u8], now_ns: u64) {
        let (intended_ns, number) = (self.due_ns, self.number);
        if let Some(messages) = &mut self.messages {
            messages.write(number, (intended_ns, now_ns), frame);
            return;
        }
        let tag = Tag {
            trial: self.trial,
            stream: self.index,
            number,
            intended_ns,
            lateness_ns: now_ns - intended_ns,
        };
        tag.write(frame);
    }

    #[inline]
    fn count(&mut self, bytes: usize, now_ns: u64, each: impl FnOnce()) {
        self.all.frames += 1;
        self.all.bytes += bytes as u64;
        if self.due_ns < self.measured_from_ns {
            return;
        }
        self.measured.frames += 1;
        self.measured.bytes += bytes as u64;
        let lateness_ns = now_ns - self.due_ns;
        self.lateness.record(lateness_ns);
        self.quarters.note(self.due_ns, lateness_ns);
        each();
    }

    /// How much longer than intended it needs: how far behind its schedule it is at the end.
    pub fn late_ns(&self) -> u64 {
        self.schedule
            .as_ref()
            .map_or(0, |_| self.end_ns.saturating_sub(self.due_ns))
    }

    /// By how much its least lateness grew from the first quarter of the measured time to the last.
    pub fn lateness_growth_ns(&self) -> u64 {
        self.quarters.growth_ns()
    }

    /// Frames that were due before the end and have not been sent.
    pub fn unsent(&mut self) -> u64 {
        if self.schedule.is_none() {
            return 0;
        }
        let mut unsent = 0;
        let (mut due_ns, mut number) = (self.due_ns, self.number);
        for _ in 0..UNSENT_COUNTED {
            if due_ns >= self.end_ns {
                return unsent;
            }
            unsent += u64::from(due_ns >= self.measured_from_ns);
            if let Some(schedule) = &mut self.schedule {
                schedule.advance(self.works[self.stream.frames.template_of(number)]);
            }
            due_ns = self.scheduled_ns().unwrap_or(self.end_ns);
            number += 1;
        }
        unsent + self.due_on_average(due_ns.max(self.measured_from_ns))
    }

    /// Frames that are due on average from a time to the end.
    fn due_on_average(&self, from_ns: u64) -> u64 {
        let due = self
            .stream
            .frames_due(self.scale, self.step, from_ns.min(self.end_ns), self.end_ns);
        due.unwrap_or(0.0).round() as u64
    }
}
