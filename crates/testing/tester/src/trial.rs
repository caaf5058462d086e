//! A trial: frames are sent for a time, and everything that comes back is measured.
//!
//! ```text
//!   each round:  clock ─► streams: frames that are due ─► ports ─► device ─► ports ─► tags ─► paths
//!                             an open loop                  (polled here when it is in this process)
//! ```
//!
//! One thread does all of it, so both ends read one clock. Counters are read when the trial is over and the device has
//! had [`Plan::drain_ns`] to give back what it still holds.

use crate::clock::Clock;
use crate::device::Device;
use crate::path::{Path, Received};
use crate::polling::Polling;
use crate::reference::{Checked, Output, Reference};
use crate::sender::{Sender, Window};
use crate::stream::Stream;
use crate::tag::{TRIALS, Tag};
use forebay_packet::{Burst, PortError};
use forebay_ports::thread_time_ns;
use forebay_sim::Backlog;

/// Packets that are taken from a port at once.
const RECEIVE_BURST: usize = 64;

/// Bursts that are taken from a port in a round.
const RECEIVES_MAX: usize = 8;

/// Frames of a stream that a port must accept one by one, after it accepted a part of a burst, before bursts are sent again.
const SINGLY: usize = 64;

/// Rounds after which the caller is told how far the trial is.
const ROUNDS_TOLD: u64 = 1 << 12;

/// Samples of rates that are kept. In a longer trial they are farther apart.
const SAMPLES_MAX: usize = 100_000;

/// The longest time for what is under way when a trial is stopped.
const STOPPED_DRAIN_NS: u64 = 1_000_000_000;

/// How simulated time goes on while nothing is known to happen, and after how many such steps nothing will.
const IDLE_STEP_NS: u64 = 1_000;
const IDLE_STEPS: u32 = 64;

/// What a trial is like.
#[derive(Clone, Copy, Debug)]
pub struct Plan {
    /// Multiplies the rates of all streams.
    pub scale: f64,
    /// Time that is not measured, at the beginning.
    pub warm_up_ns: u64,
    /// Time that is measured.
    pub duration_ns: u64,
    /// Time for what is still under way.
    pub drain_ns: u64,
    /// Frames that are sent at once.
    pub burst: usize,
    /// Pauses of the tester that are longer disturb.
    pub disturbance_ns: u64,
    /// The distance of samples of rates; none when 0.
    pub sample_ns: u64,
    /// Begins the sequences of random numbers.
    pub seed: u64,
    /// Tells this trial from others with the same device.
    pub number: u64,
    /// Where the rates of all streams change, if they do.
    pub step: Option<Step>,
}

impl Plan {
    /// The same with samples far enough apart that all of the trial fits those that are kept.
    fn with_room_for_samples(self) -> Plan {
        let all_ns = self.warm_up_ns + self.duration_ns + self.drain_ns;
        let least_ns = all_ns / (SAMPLES_MAX as u64 - 1) + 1;
        Plan {
            sample_ns: match self.sample_ns {
                0 => 0,
                sample_ns => sample_ns.max(least_ns),
            },
            ..self
        }
    }

    /// Frames a second of a stream that are due in the measured time; none when it is as fast as the tester can.
    pub(crate) fn intended_pps(&self, stream: &Stream) -> Option<f64> {
        let (from, to) = (self.warm_up_ns, self.warm_up_ns + self.duration_ns);
        let due = stream.frames_due(self.scale, self.step, from, to)?;
        Some(due * 1e9 / self.duration_ns.max(1) as f64)
    }
}

/// A change of all rates during a trial.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Step {
    /// When, in nanoseconds from the beginning of the trial.
    pub at_ns: u64,
    /// What the rates are multiplied by from then on.
    pub factor: f64,
}

impl Step {
    /// The time without the step at which a frame would be due that is due at a time with it.
    pub(crate) fn without(self, due_ns: u64) -> f64 {
        match due_ns.checked_sub(self.at_ns) {
            Some(after) => self.at_ns as f64 + after as f64 * self.factor,
            None => due_ns as f64,
        }
    }

    /// When a frame is due that would be due at a time without the step.
    pub(crate) fn due_ns(self, due_ns: u64) -> u64 {
        match due_ns.checked_sub(self.at_ns) {
            Some(after) => self.at_ns.saturating_add((after as f64 / self.factor).round() as u64),
            None => due_ns,
        }
    }
}

/// Is told how far a trial is.
pub trait Progress {
    /// Reports progress: the share of the trial that is over, from 0 to 1, and the frames that were sent and that came
    /// back. Returns whether the trial continues.
    fn at(&mut self, share: f64, sent: u64, received: u64) -> bool;
}

/// Looks away.
pub struct Silent;

impl Progress for Silent {
    fn at(&mut self, _share: f64, _sent: u64, _received: u64) -> bool {
        true
    }
}

/// What a trial has measured.
pub struct Trial {
    /// What it was like.
    pub plan: Plan,
    /// How long it was measured, really.
    pub measured_ns: u64,
    /// How long a processor worked for this thread meanwhile; none in simulated time.
    pub processor_ns: Option<u64>,
    /// What became of each stream.
    pub streams: Vec<StreamTrial>,
    /// Gaps of the polling loop.
    pub polling: Polling,
    /// Frames without a tag of this trial.
    pub foreign: u64,
    /// What was dropped by the device meanwhile, by reason.
    pub drops: Vec<(String, u64)>,
    /// Whether it was stopped before its end.
    pub was_stopped: bool,
    /// Frames inside the device when the measured time began and ended: those sent less those received.
    pub held: [u64; 2],
    /// Whether ever more packets waited in the device: what a longer trial would lose.
    pub backlog: Option<Backlog>,
    /// Ports that had no link for a part of it, and had one before.
    pub lost_links: Vec<u32>,
}

/// Ports where a stream comes out, each with the frames that should, and what was measured.
pub type Paths = Vec<(Option<u32>, u64, Path)>;

/// What became of a stream.
pub struct StreamTrial {
    /// Frames and bytes that were sent, of the measured time.
    pub sent: crate::sender::Sent,
    /// Frames of the measured time that the tester's port refused.
    pub refused: u64,
    refused_bytes: u64,
    /// Frames that were due and could not be sent before the end.
    pub unsent: u64,
    /// How much later than intended frames were sent.
    pub lateness: crate::histogram::Histogram,
    /// How much longer than intended the sender needs.
    pub late_ns: u64,
    /// By how much its least lateness grew from the first quarter of the measured time to the last.
    pub lateness_growth_ns: u64,
    /// What came out where: the port, frames that should come out there, and what was measured.
    pub paths: Paths,
    /// Frames that came out elsewhere.
    pub misdirected: u64,
    /// Frames whose content was compared.
    pub checked: Checked,
    /// Frames sent and received in each sample.
    pub samples: Vec<(u32, u32)>,
    sample_at: usize,
    sample_from_ns: u64,
}

/// Runs a trial.
///
/// # Errors
/// When a port is out of order.
pub fn run_trial(
    streams: &[Stream],
    device: &mut Device,
    reference: Option<&Reference>,
    plan: Plan,
    clock: &mut Clock,
    progress: &mut dyn Progress,
) -> Result<Trial, PortError> {
    let drops_before = device.drops();
    let mut run = Run::new(streams, device, reference, plan, clock);
    run.send_and_receive(device, clock, progress)?;
    run.drain(device, clock, progress)?;
    device.lose_held();
    let mut trial = run.finish();
    trial.drops = since(&drops_before, device.drops());
    Ok(trial)
}

/// What was dropped after the first reading. A counter that is smaller than before has begun anew, as those of a switch
/// that was started again do.
fn since(before: &[(String, u64)], after: Vec<(String, u64)>) -> Vec<(String, u64)> {
    let old = |label: &str| {
        before
            .iter()
            .find(|(own, _)| own == label)
            .map_or(0, |(_, count)| *count)
    };
    let new = after.into_iter().map(|(label, count)| {
        let count = count.checked_sub(old(&label)).unwrap_or(count);
        (label, count)
    });
    new.filter(|(_, count)| *count > 0).collect()
}

/// A trial that runs.
struct Run<'a> {
    streams: &'a [Stream],
    reference: Option<&'a Reference>,
    plan: Plan,
    start_ns: u64,
    window: Window,
    senders: Vec<Sender<'a>>,
    /// For each stream, the index of its port.
    from: Vec<usize>,
    /// For each stream, how many of the next frames are sent one by one.
    singly: Vec<usize>,
    /// For each stream and port, the index of its path.
    path_at: Vec<Vec<Option<usize>>>,
    results: Vec<StreamTrial>,
    polling: Polling,
    out: Burst,
    back: Burst,
    received: u64,
    /// Frames that ports refused, with those of the warm-up.
    refused: u64,
    foreign: u64,
    has_messages: bool,
    was_stopped: bool,
    ended_ns: u64,
    held: [Option<u64>; 2],
    /// Ports that had no link for a part of it.
    lost_links: Vec<u32>,
    /// Packets inside the device when half of the measured time had passed, and when it ended.
    waiting: [Option<u64>; 2],
    /// What this thread has had of a processor, when the measured time begins and ends.
    thread_ns: [u64; 2],
    is_simulated: bool,
}

impl<'a> Run<'a> {
    fn new(
        streams: &'a [Stream],
        device: &Device,
        reference: Option<&'a Reference>,
        plan: Plan,
        clock: &Clock,
    ) -> Run<'a> {
        let plan = plan.with_room_for_samples();
        let window = Window {
            from_ns: plan.warm_up_ns,
            end_ns: plan.warm_up_ns + plan.duration_ns,
        };
        let sender = |(index, stream): (usize, &'a Stream)| {
            let seed = plan.seed.wrapping_add(index as u64).wrapping_mul(0x9e37_79b9) ^ plan.number;
            Sender::new(stream, index, plan.number, plan.scale, window, seed).with_step(plan.step)
        };
        let port_index = |number: u32| device.ports.iter().position(|port| port.number == number);
        let (mut path_at, mut results) = (Vec::new(), Vec::new());
        for (index, stream) in streams.iter().enumerate() {
            let (places, paths) = paths(index, stream, device, reference);
            path_at.push(places);
            results.push(StreamTrial::new(paths));
        }
        let start_ns = clock.now_ns();
        Run {
            streams,
            reference,
            plan,
            start_ns,
            window,
            senders: streams.iter().enumerate().map(sender).collect(),
            from: streams
                .iter()
                .map(|stream| port_index(stream.from).unwrap_or(0))
                .collect(),
            singly: vec![0; streams.len()],
            path_at,
            results,
            // Simulated time goes from event to event: that is no pause.
            polling: Polling::new(
                if clock.is_simulated() {
                    u64::MAX
                } else {
                    plan.disturbance_ns
                },
                0,
            ),
            out: Burst::new(plan.burst),
            back: Burst::new(RECEIVE_BURST),
            received: 0,
            refused: 0,
            foreign: 0,
            has_messages: streams.iter().any(|stream| stream.messages.is_some()),
            was_stopped: false,
            ended_ns: 0,
            held: [None; 2],
            lost_links: Vec::new(),
            waiting: [None; 2],
            thread_ns: [0; 2],
            is_simulated: clock.is_simulated(),
        }
    }

    /// Frames that were sent and have not come back.
    fn inside(&self) -> u64 {
        let sent: u64 = self.senders.iter().map(|sender| sender.all.frames).sum();
        sent.saturating_sub(self.refused + self.received)
    }

    fn send_and_receive(
        &mut self,
        device: &mut Device,
        clock: &mut Clock,
        progress: &mut dyn Progress,
    ) -> Result<(), PortError> {
        let mut rounds = 0u64;
        self.look_at_links(device);
        loop {
            let now_ns = clock.now_ns() - self.start_ns;
            if now_ns >= self.window.from_ns && self.held[0].is_none() {
                self.held[0] = Some(self.inside());
                self.polling.forget();
                self.thread_ns[0] = thread_time_ns();
            }
            if now_ns >= self.window.middle_ns() && self.waiting[0].is_none() {
                self.waiting[0] = device.waiting();
            }
            if now_ns >= self.window.end_ns {
                self.look_at_links(device);
                self.ended_ns = now_ns;
                self.waiting[1] = device.waiting();
                self.held[1] = Some(self.inside());
                self.thread_ns[1] = thread_time_ns();
                return Ok(());
            }
            self.round(now_ns, device, clock)?;
            // After the first round too, so that a test of many short trials can be stopped.
            let is_told = rounds.is_multiple_of(ROUNDS_TOLD);
            rounds += 1;
            if is_told {
                self.look_at_links(device);
                if !self.tell(now_ns, progress) {
                    self.was_stopped = true;
                    self.ended_ns = now_ns;
                    return Ok(());
                }
            }
            if clock.is_simulated() {
                self.advance(device, clock);
            }
        }
    }

    /// Notes ports that have lost their links.
    fn look_at_links(&mut self, device: &mut Device) {
        for number in device.without_link() {
            if !self.lost_links.contains(&number) {
                self.lost_links.push(number);
            }
        }
    }

    fn tell(&self, now_ns: u64, progress: &mut dyn Progress) -> bool {
        let sent = self.senders.iter().map(|sender| sender.all.frames).sum();
        progress.at(now_ns as f64 / self.window.end_ns as f64, sent, self.received)
    }

    /// Simulated time goes on to what happens next.
    fn advance(&self, device: &Device, clock: &mut Clock) {
        let next = device.next_ns();
        // A stream whose port has no room must wait for something to happen in the device.
        let waits = |stream: usize| next.is_some() && device.ports[self.from[stream]].port.room() == 0;
        let senders = self.senders.iter().enumerate();
        let due = senders.filter(|(stream, sender)| !sender.is_done() && !waits(*stream));
        let due = due.map(|(_, sender)| sender.due_ns()).min().unwrap_or(u64::MAX);
        let due = due.min(self.window.end_ns) + self.start_ns;
        let next = next.map_or(due, |next| next.min(due));
        clock.advance_to(next.max(clock.now_ns() + 1));
    }

    #[inline]
    fn round(&mut self, now_ns: u64, device: &mut Device, clock: &Clock) -> Result<(), PortError> {
        self.polling.round(now_ns);
        let is_behind = self.send(now_ns, device)?;
        self.polling.caught_up(is_behind);
        device.work(|| clock.now_ns());
        self.receive(device, clock)
    }

    /// Sends what is due; whether more should have been sent.
    #[inline]
    fn send(&mut self, now_ns: u64, device: &mut Device) -> Result<bool, PortError> {
        let mut is_behind = false;
        for stream in 0..self.senders.len() {
            let sender = &mut self.senders[stream];
            if sender.due_ns() > now_ns || sender.is_done() {
                continue;
            }
            let port = &mut device.ports[self.from[stream]].port;
            let most = if self.singly[stream] > 0 { 1 } else { self.plan.burst };
            let limit = most.min(port.room());
            let result = &mut self.results[stream];
            let reference = self.reference;
            let measured_before = sender.measured.frames;
            sender.fill(&mut self.out, limit, now_ns, |template| {
                expect(result, reference, stream, template);
            });
            is_behind |= sender.is_behind(now_ns);
            let measured = sender.measured.frames - measured_before;
            let count = self.out.len();
            let accepted = port.send(&mut self.out, self.start_ns + now_ns)?;
            result.sample(now_ns, &self.plan, accepted as u32, 0);
            self.singly[stream] = self.singly[stream].saturating_sub(accepted);
            if accepted < count {
                self.send_singly(stream, (accepted, count));
                self.refuse(stream, (count - accepted) as u64, measured, now_ns);
            }
        }
        Ok(is_behind)
    }

    /// A port has accepted some frames of a burst. It does not say which: of several lengths perhaps the short ones, as on a
    /// veth pair whose other end has a smaller MTU. So frames are sent one by one until [`SINGLY`] of them are accepted
    /// in a row: a port without room for a moment gets bursts again, as one by one the rate may not be reached.
    #[cold]
    fn send_singly(&mut self, stream: usize, (accepted, count): (usize, usize)) {
        let frames = &self.streams[stream].frames;
        let next = self.senders[stream].next_number();
        let length = |number: u64| frames.templates()[frames.template_of(number)].len();
        let mut burst = next.saturating_sub(count as u64)..next;
        let is_in_doubt = accepted > 0 && burst.any(|number| length(number) != length(next - 1));
        if is_in_doubt || self.singly[stream] > 0 {
            self.singly[stream] = SINGLY;
        }
    }

    /// A port has refused frames of a burst that has `measured` measured ones. Most ports take frames in order: it is the
    /// last ones that should come out nowhere, and are not missing.
    #[cold]
    fn refuse(&mut self, stream: usize, count: u64, measured: u64, now_ns: u64) {
        self.refused += count;
        let count = count.min(measured);
        let frames = &self.streams[stream].frames;
        let next = self.senders[stream].next_number();
        let result = &mut self.results[stream];
        result.refused += count;
        for number in next - count..next {
            let template = frames.template_of(number);
            result.refused_bytes += frames.templates()[template].len() as u64;
            unexpect(result, self.reference, stream, template);
            for (_, _, path) in &mut result.paths {
                path.gaps.arrive(number, now_ns);
            }
        }
    }

    #[inline]
    fn receive(&mut self, device: &mut Device, clock: &Clock) -> Result<(), PortError> {
        let mut now_ns = clock.now_ns();
        for port in 0..device.ports.len() {
            // At most what waits now: a port that is flooded must not keep the tester from sending.
            for _ in 0..RECEIVES_MAX {
                let mut back = std::mem::take(&mut self.back);
                let received = device.ports[port].port.receive(&mut back, RECEIVE_BURST, now_ns);
                let count = back.len();
                if count > 0 {
                    // What came while this thread was away must not seem to have come before.
                    now_ns = clock.now_ns();
                    self.polling.within(now_ns - self.start_ns);
                }
                for packet in back.iter() {
                    let now_ns = if clock.is_simulated() {
                        packet.timestamp_ns
                    } else {
                        now_ns
                    };
                    self.take(port, packet.data(), now_ns - self.start_ns);
                }
                back.clear();
                self.back = back;
                received?;
                if count < RECEIVE_BURST {
                    break;
                }
            }
        }
        Ok(())
    }

    /// A frame came.
    #[inline]
    fn take(&mut self, port: usize, frame: &[u8], now_ns: u64) {
        let trial = (self.plan.number % TRIALS) as u8;
        let senders = &self.senders;
        let plausible = |tag: &Tag| {
            let sender = senders.get(usize::from(tag.stream));
            tag.trial == trial
                && sender.is_some_and(|sender| tag.number < sender.next_number())
                && tag.intended_ns + tag.lateness_ns <= now_ns
        };
        let Some((at, tag)) = Tag::find(frame, plausible) else {
            return self.take_other(port, frame, now_ns);
        };
        let stream = usize::from(tag.stream);
        if let Some(reference) = self.reference
            && tag.intended_ns >= self.window.from_ns
        {
            let template = self.streams[stream].frames.template_of(tag.number);
            let checked = reference.check(stream, template, port, (frame, at));
            self.results[stream].checked.count(checked, tag.number, port, frame);
        }
        let sent_ns = tag.intended_ns + tag.lateness_ns;
        self.record(
            stream,
            port,
            tag.number,
            (tag.intended_ns, sent_ns, now_ns),
            frame.len(),
        );
    }

    /// A frame without a tag: it carries IoT messages, or is not of this trial.
    #[cold]
    fn take_other(&mut self, port: usize, frame: &[u8], now_ns: u64) {
        if !self.has_messages {
            self.foreign += 1;
            return;
        }
        // An N-packet may have messages of several streams. What is no message is one frame.
        let (mut all, mut found) = (1usize, Vec::new());
        for (stream, sender) in self.senders.iter().enumerate() {
            let Some(messages) = &sender.messages else { continue };
            let mut count = 0usize;
            messages.find(frame, sender.next_number(), |message| {
                count += 1;
                found.extend(message.map(|message| (stream, message)));
            });
            all = all.max(count);
        }
        self.foreign += all.saturating_sub(found.len()) as u64;
        let bytes = frame.len() / all;
        for (stream, (number, intended, sent)) in found {
            self.record(stream, port, number, (intended, sent, now_ns), bytes);
        }
    }

    #[inline]
    fn record(&mut self, stream: usize, port: usize, number: u64, times: (u64, u64, u64), bytes: usize) {
        let (intended_ns, sent_ns, now_ns) = times;
        self.received += 1;
        let result = &mut self.results[stream];
        result.sample(now_ns, &self.plan, 0, 1);
        if intended_ns < self.window.from_ns {
            return;
        }
        let Some(path) = self.path_at[stream][port] else {
            result.misdirected += 1;
            return;
        };
        result.paths[path].2.receive(&Received {
            number,
            flow: self.streams[stream].frames.flow_of(number),
            intended_ns,
            sent_ns,
            now_ns,
            bytes,
            is_disturbed: self.polling.is_disturbed(intended_ns),
        });
    }

    /// Receives until everything has come, or the time for it is over, which is short when the caller stops the trial:
    /// what is under way then is not lost.
    fn drain(&mut self, device: &mut Device, clock: &mut Clock, progress: &mut dyn Progress) -> Result<(), PortError> {
        let drain_ns = if self.was_stopped {
            self.plan.drain_ns.min(STOPPED_DRAIN_NS)
        } else {
            self.plan.drain_ns
        };
        let mut end_ns = clock.now_ns() + drain_ns;
        for port in &mut device.ports {
            port.port.flush()?;
        }
        let mut idle_steps = 0;
        let mut rounds = 0u64;
        loop {
            rounds += 1;
            let is_asked = !self.was_stopped && rounds.is_multiple_of(ROUNDS_TOLD);
            if is_asked && !self.tell(self.window.end_ns, progress) {
                self.was_stopped = true;
                end_ns = end_ns.min(clock.now_ns() + STOPPED_DRAIN_NS);
            }
            let received = self.received;
            device.work(|| clock.now_ns());
            self.receive(device, clock)?;
            let now_ns = clock.now_ns();
            self.polling.waited(now_ns - self.start_ns);
            if now_ns >= end_ns || self.has_all() || idle_steps > IDLE_STEPS {
                return Ok(());
            }
            if clock.is_simulated() {
                let next = device.next_ns();
                let is_idle = next.is_none() && self.received == received;
                idle_steps = if is_idle { idle_steps + 1 } else { 0 };
                clock.advance_to(next.unwrap_or(now_ns + IDLE_STEP_NS).max(now_ns + 1).min(end_ns));
            }
        }
    }

    /// Whether each frame that was sent has come.
    fn has_all(&self) -> bool {
        let measured = self.results.iter().zip(&self.senders);
        measured.into_iter().all(|(result, sender)| {
            result.paths.iter().all(|(port, expected, path)| {
                let expected = if self.reference.is_some() && port.is_some() {
                    *expected
                } else {
                    sender.measured.frames - result.refused
                };
                path.received() >= expected
            })
        })
    }

    /// Whether ever more packets waited inside.
    fn backlog(&self) -> Option<Backlog> {
        let sent = self.senders.iter().map(|sender| sender.all.frames).sum();
        Backlog::growing(self.waiting[0]?, self.waiting[1]?, sent)
    }

    fn processor_ns(&self) -> Option<u64> {
        let [began_ns, ended_ns] = self.thread_ns;
        (!self.is_simulated && !self.was_stopped).then(|| ended_ns.saturating_sub(began_ns))
    }

    fn finish(mut self) -> Trial {
        for (result, sender) in self.results.iter_mut().zip(&mut self.senders) {
            result.sent = sender.measured;
            result.sent.frames -= result.refused;
            result.sent.bytes -= result.refused_bytes;
            result.take_back_refused();
            result.lateness = std::mem::take(&mut sender.lateness);
            let before = sender.all.frames - sender.measured.frames;
            (result.paths.iter_mut()).for_each(|(_, _, path)| path.gaps.forget_before(before));
            if !self.was_stopped {
                // Before frames that were not sent are counted, which moves the schedule on.
                result.late_ns = sender.late_ns();
                result.lateness_growth_ns = sender.lateness_growth_ns();
                result.unsent = sender.unsent();
            }
            if self.reference.is_none() {
                result
                    .paths
                    .iter_mut()
                    .for_each(|(_, expected, _)| *expected = result.sent.frames);
            }
        }
        Trial {
            backlog: self.backlog(),
            plan: self.plan,
            measured_ns: self
                .ended_ns
                .min(self.window.end_ns)
                .saturating_sub(self.window.from_ns)
                .max(1),
            processor_ns: self.processor_ns(),
            streams: self.results,
            polling: self.polling,
            foreign: self.foreign,
            drops: Vec::new(),
            was_stopped: self.was_stopped,
            held: self.held.map(Option::unwrap_or_default),
            lost_links: self.lost_links,
        }
    }
}

/// A frame of this template has been sent: what should come out where.
#[inline]
fn expect(result: &mut StreamTrial, reference: Option<&Reference>, stream: usize, template: usize) {
    count_outputs(result, reference, stream, template, |count, frames| *count += frames);
}

/// It has not been sent after all.
fn unexpect(result: &mut StreamTrial, reference: Option<&Reference>, stream: usize, template: usize) {
    count_outputs(result, reference, stream, template, |count, frames| *count -= frames);
}

#[inline]
fn count_outputs(
    result: &mut StreamTrial,
    reference: Option<&Reference>,
    stream: usize,
    template: usize,
    change: impl Fn(&mut u64, u64),
) {
    let Some(reference) = reference else { return };
    let outputs = reference.outputs(stream, template);
    for (port, expected, path) in &mut result.paths {
        let due = outputs.iter().filter(|output| *port == Some(output.port)).count() as u64;
        change(expected, due);
        change(&mut path.copies, due.saturating_sub(1));
    }
    if outputs.is_empty() {
        change(&mut result.checked.expected_drops, 1);
    } else if !outputs.iter().any(Output::is_measured) {
        change(&mut result.checked.unmeasured, 1);
    }
}

/// The paths of a stream: its index at each port, and the ports.
fn paths(index: usize, stream: &Stream, device: &Device, reference: Option<&Reference>) -> (Vec<Option<usize>>, Paths) {
    let flows = stream.frames.flows();
    let numbers: Vec<u32> = match (reference, stream.to) {
        (Some(reference), _) => reference.ports(index),
        (None, Some(to)) => vec![to],
        (None, None) => return (vec![Some(0); device.ports.len()], vec![(None, 0, Path::new(flows))]),
    };
    let place = |number: u32| numbers.iter().position(|own| *own == number);
    let places = device.ports.iter().map(|port| place(port.number)).collect();
    let paths = numbers
        .iter()
        .map(|number| (Some(*number), 0, Path::new(flows)))
        .collect();
    (places, paths)
}

impl StreamTrial {
    fn new(paths: Paths) -> StreamTrial {
        StreamTrial {
            sent: crate::sender::Sent::default(),
            refused: 0,
            refused_bytes: 0,
            unsent: 0,
            lateness: crate::histogram::Histogram::default(),
            late_ns: 0,
            lateness_growth_ns: 0,
            paths,
            misdirected: 0,
            checked: Checked::default(),
            samples: Vec::new(),
            sample_at: 0,
            // Later than any time.
            sample_from_ns: 1 << 63,
        }
    }

    /// Frames that came back were sent, though others of their burst, before or in the measured time, were refused in their
    /// place.
    fn take_back_refused(&mut self) {
        let came = |path: &Path| path.sequence.unique();
        let most = self.paths.iter().map(|(_, _, path)| came(path)).max().unwrap_or(0);
        let sent = most.saturating_sub(self.sent.frames).min(self.refused);
        self.refused -= sent;
        self.sent.frames += sent;
        for (_, expected, path) in &mut self.paths {
            *expected = (*expected).max(came(path).min(*expected + sent));
        }
    }

    #[inline]
    fn sample(&mut self, now_ns: u64, plan: &Plan, sent: u32, received: u32) {
        // Frames of a burst come at one time: the place of the last sample is mostly that of the next.
        if now_ns.wrapping_sub(self.sample_from_ns) >= plan.sample_ns && !self.begin_sample(now_ns, plan) {
            return;
        }
        let sample = &mut self.samples[self.sample_at];
        sample.0 += sent;
        sample.1 += received;
    }

    /// Finds the sample of a time; whether there is one.
    fn begin_sample(&mut self, now_ns: u64, plan: &Plan) -> bool {
        let at = now_ns.checked_div(plan.sample_ns).map_or(SAMPLES_MAX, |at| at as usize);
        if at >= SAMPLES_MAX {
            return false;
        }
        if at >= self.samples.len() {
            self.samples.resize(at + 1, (0, 0));
        }
        (self.sample_at, self.sample_from_ns) = (at, at as u64 * plan.sample_ns);
        true
    }
}

#[cfg(test)]
mod tests;
