//! Rule-update responsiveness: how long after a control-plane call packets are treated by the new rule.
//!
//! ```text
//!   control:  T1 ── call ──────── T2
//!   packets:  old old old old T3 │ T4 new new new        all on one clock
//! ```
//!
//! Packets go through the switch all the time. Each carries back the version of the rule that treated it, in both MAC
//! addresses: different ones mean half of an update, a version older than one seen before means that an update was
//! undone. Sequence numbers count loss. T3 and T4 are arrivals at the tester, so the distance of packets is part of the
//! response time, as in the paper.

use crate::control::{Command, Control, Library, P4Runtime, Target};
use crate::evaluation::check_list;
use crate::frames::{frame, stream};
use crate::router::{Decision, PORTS, REGISTER, Router, TABLE, entry, register_value};
use crate::rules::{Kind, rule};
use forebay_packet::{Burst, PortError};
use forebay_pipeline::Pipeline;
use forebay_ports::{Clock, PortSpec, TimeSlice, set_time_slice};
use forebay_sim::number;
use forebay_tester::device::{self, Device};
use forebay_tester::histogram::{Distribution, Histogram};
use forebay_tester::path::{Path, Received};
use forebay_tester::polling::Polling;
use forebay_tester::sender::{Sender, Window};
use forebay_tester::stream::{Rate, Stream};
use forebay_tester::tag::Tag;
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::time::Duration;

/// Packets that a port in memory holds.
const QUEUE_PACKETS: usize = 4096;

/// Packets that are sent at once at most, and received at once.
const BURST: usize = 8;
const RECEIVE_BURST: usize = 64;

/// How long a version may take to be seen.
const PATIENCE: Duration = Duration::from_secs(5);

/// The pause between a response and the next update.
const PAUSE: Duration = Duration::from_micros(100);

/// How long the last packets may take.
const DRAIN_NS: u64 = 500_000_000;

/// Pauses of the tester that count as disturbances.
const DISTURBANCE_NS: u64 = 100_000;

/// The highest rate that is taken for meant: 10 Tbps.
const MBPS_MAX: f64 = 1e7;

/// Bytes of preamble and gap, which a frame has on the wire beside itself and its check sequence.
const GAP_BYTES: usize = 20;

/// What is measured.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct UpdateSetting {
    /// `exact`, `lpm`, `ternary`, `range`, `register`.
    pub decisions: Vec<DecisionName>,
    /// Sizes of tables.
    pub rules: Vec<u32>,
    /// Lengths of frames, with check sequence.
    pub frame_bytes: Vec<usize>,
    /// Rates on the wire.
    pub mbps: Vec<f64>,
    /// How the switch is told.
    pub controls: Vec<ControlName>,
    /// Updates whose times are measured.
    pub repetitions: u32,
    /// Updates one directly after another.
    pub in_a_row: u32,
}

/// What decides, as files name it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[allow(missing_docs)]
pub enum DecisionName {
    Exact,
    Lpm,
    Ternary,
    Range,
    Register,
}

impl DecisionName {
    fn decision(self) -> Decision {
        match self {
            DecisionName::Exact => Decision::Table(Kind::Exact),
            DecisionName::Lpm => Decision::Table(Kind::Lpm),
            DecisionName::Ternary => Decision::Table(Kind::Ternary),
            DecisionName::Range => Decision::Table(Kind::Range),
            DecisionName::Register => Decision::Register,
        }
    }

    /// As reports name it.
    pub fn name(self) -> &'static str {
        match self.decision() {
            Decision::Table(kind) => kind.name(),
            Decision::Register => "register",
        }
    }
}

/// How the switch is told, as files name it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[allow(missing_docs)]
pub enum ControlName {
    Library,
    P4Runtime,
    /// A process that the command line names.
    Command,
}

impl ControlName {
    /// As reports name it.
    pub fn name(self) -> &'static str {
        match self {
            ControlName::Library => "library",
            ControlName::P4Runtime => "P4Runtime",
            ControlName::Command => "command",
        }
    }
}

/// A combination that was measured.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[allow(missing_docs)]
pub struct UpdateResult {
    pub control: ControlName,
    pub decision: DecisionName,
    pub rules: u32,
    pub frame_bytes: usize,
    pub mbps: f64,
    pub repetitions: u32,
    /// T2 − T1: how long the call takes.
    pub call: Distribution,
    /// T4 − T1: the response time.
    pub response: Distribution,
    /// The same of updates since which the tester had not stood still for more than 0.1 ms.
    pub quiet_response: Distribution,
    /// T4 − T3: from the last packet under the old rule to the first under the new one.
    pub gap: Distribution,
    /// Latency of all packets, from their intended sending time.
    pub latency: Distribution,
    /// Updates a second, one directly after another.
    pub updates_per_s: f64,
    pub updates: u64,
    pub sent: u64,
    pub lost: u64,
    pub duplicated: u64,
    /// Packets that were treated by half of an update.
    pub halves: u64,
    /// Packets under a rule that another packet had seen replaced before.
    pub stale: u64,
    /// Pauses of the tester over 0.1 ms.
    pub pauses: u64,
    /// The share of the time that they disturbed.
    pub disturbed_share: f64,
}

/// The version that has treated a packet; none when its MAC addresses do not belong together.
pub fn version_of(frame: &[u8]) -> Option<u64> {
    let (first, rest) = frame.split_first_chunk::<6>()?;
    let second = rest.first_chunk::<6>()?;
    let number = |mac: &[u8; 6]| mac.iter().fold(0u64, |all, byte| all << 8 | u64::from(*byte));
    (first == second).then(|| number(first))
}

/// A combination to be measured.
#[derive(Clone, Copy, Debug)]
#[allow(missing_docs)]
pub struct Combination {
    pub control: ControlName,
    pub decision: DecisionName,
    pub rules: u32,
    pub frame_bytes: usize,
    pub mbps: f64,
}

/// A switch of another maker, whose rule a process updates.
#[derive(Clone, Debug)]
pub struct Foreign {
    /// Interfaces of the tester: where packets enter and where they come out.
    pub interfaces: Vec<PortSpec>,
    /// The process; see [`Command`].
    pub command: String,
}

impl UpdateSetting {
    /// Whether it can be measured.
    pub(crate) fn check(&self) -> Result<(), String> {
        check_list("decisions", &self.decisions)?;
        if self.tables_are_wanted() {
            check_list("rules", &self.rules)?;
        }
        check_list("frame_bytes", &self.frame_bytes)?;
        check_list("mbps", &self.mbps)?;
        check_list("controls", &self.controls)?;
        if self.repetitions == 0 {
            return Err("repetitions is 0; it is at least 1".to_string());
        }
        let longest = self.frame_bytes.iter().copied().max().unwrap_or(0);
        let least = 8.0 * (longest + GAP_BYTES) as f64 / 1e6;
        match self.mbps.iter().find(|mbps| !(least..=MBPS_MAX).contains(*mbps)) {
            Some(mbps) => Err(format!(
                "mbps has {}; it is {least} (a frame of {longest} bytes in a second) to {MBPS_MAX}",
                number(*mbps)
            )),
            None => Ok(()),
        }
    }

    /// Whether a table decides, and not a register alone.
    fn tables_are_wanted(&self) -> bool {
        self.decisions
            .iter()
            .any(|decision| *decision != DecisionName::Register)
    }

    /// The tables, with the kind of their keys and their rules.
    pub(crate) fn tables(&self) -> impl Iterator<Item = (Kind, u32)> + '_ {
        let kinds = self.decisions.iter().filter_map(|decision| match decision.decision() {
            Decision::Table(kind) => Some(kind),
            Decision::Register => None,
        });
        kinds.flat_map(move |kind| self.rules.iter().map(move |rules| (kind, *rules)))
    }

    /// The same of a switch of another maker, which a process alone can tell.
    pub(crate) fn by_command(&self) -> UpdateSetting {
        UpdateSetting {
            controls: vec![ControlName::Command],
            ..self.clone()
        }
    }

    /// What the tester is measured with before: the packets that come fastest.
    pub(crate) fn self_test_stream(&self) -> Stream {
        let bytes = self.frame_bytes.iter().copied().min().unwrap_or(64);
        let mbps = self.mbps.iter().copied().fold(0.0, f64::max);
        stream(Kind::Exact, 1, 1, bytes, Rate::Bits(mbps * 1e6))
    }

    /// All combinations. A register has no table whose size could vary.
    pub fn combinations(&self) -> Vec<Combination> {
        let mut all = Vec::new();
        for control in &self.controls {
            for decision in &self.decisions {
                let rules = match decision {
                    DecisionName::Register => &[1],
                    _ => self.rules.as_slice(),
                };
                for rules in rules {
                    for frame_bytes in &self.frame_bytes {
                        all.extend(self.mbps.iter().map(|mbps| Combination {
                            control: *control,
                            decision: *decision,
                            rules: *rules,
                            frame_bytes: *frame_bytes,
                            mbps: *mbps,
                        }));
                    }
                }
            }
        }
        all
    }
}

/// Measures a combination with the router in memory, or with a foreign switch.
///
/// # Errors
/// When the switch cannot be set up, refuses an update, or does not show it, in words.
pub fn measure(of: Combination, setting: &UpdateSetting, foreign: Option<&Foreign>) -> Result<UpdateResult, String> {
    let target = Target {
        decision: of.decision.decision(),
        index: of.rules / 2,
    };
    let (device, mut control) = match foreign {
        None => own(of, target)?,
        Some(foreign) => other(foreign)?,
    };
    control.set(FIRST_VERSION)?;
    let stream = traffic(of, target);
    let (told, transitions) = sync_channel(QUEUE_PACKETS);
    let clock = Clock::start();
    std::thread::scope(|scope| {
        let control = &mut *control;
        let updates = scope.spawn(move || update(control, setting, clock, &transitions));
        let traffic = Traffic::new(&stream, device, clock, told);
        let watched = traffic.run(&|| updates.is_finished());
        let watched = watched.map_err(|error| error.to_string());
        let times = updates.join().map_err(|_| "the control thread has panicked")?;
        // A process that updates another rule, or a switch that has none, shows by this alone.
        let rule = || format!("{} rule {} of {}", of.decision.name(), target.index, of.rules);
        let times = times.map_err(|ended| format!("{}: {}", rule(), ended.words(watched.as_ref().ok())))?;
        Ok(result(of, &times, watched?))
    })
}

/// The version that the rule has before the first update.
const FIRST_VERSION: u64 = 1;

/// The router in memory, with its rules.
fn own(of: Combination, target: Target) -> Result<(Device, Box<dyn Control>), String> {
    let router = Router::new(target.decision, of.rules)?;
    let pipeline = router.load()?;
    fill(&pipeline, target, of.rules)?;
    let mut device = device::program(pipeline.clone(), &PORTS, QUEUE_PACKETS, 0);
    device.description = "Forebay in memory".to_string();
    let control: Box<dyn Control> = match of.control {
        ControlName::Library => Box::new(Library::new(pipeline, target)),
        ControlName::P4Runtime => Box::new(P4Runtime::new(&router, pipeline, target)?),
        ControlName::Command => return Err("the control \"command\" is for switches behind interfaces".to_string()),
    };
    Ok((device, control))
}

fn fill(pipeline: &Arc<Pipeline>, target: Target, rules: u32) -> Result<(), String> {
    let Decision::Table(kind) = target.decision else {
        let written = pipeline.write_register(REGISTER, 0, &register_value(FIRST_VERSION));
        return written.map_err(|error| error.to_string());
    };
    for index in 0..rules {
        let inserted = pipeline.insert_entry(TABLE, &entry(kind, index, FIRST_VERSION));
        inserted.map_err(|error| error.to_string())?;
    }
    Ok(())
}

fn other(foreign: &Foreign) -> Result<(Device, Box<dyn Control>), String> {
    let mut device = device::interfaces(&foreign.interfaces).map_err(|error| error.to_string())?;
    device::wait_for_links(&foreign.interfaces, &mut device)?;
    Ok((device, Box::new(Command::start(&foreign.command)?)))
}

/// Packets for the rule that is updated.
fn traffic(of: Combination, target: Target) -> Stream {
    let rate = Rate::Bits(of.mbps * 1e6);
    match target.decision {
        Decision::Table(kind) => {
            let frames = vec![frame(rule(kind, target.index).address, of.frame_bytes)];
            Stream {
                frames: Arc::new(forebay_tester::frames::Frames::in_turn(frames)),
                ..stream(kind, 1, 1, of.frame_bytes, rate)
            }
        }
        Decision::Register => stream(Kind::Exact, 1, 1, of.frame_bytes, rate),
    }
}

/// A version was seen for the first time.
#[derive(Clone, Copy, Debug)]
struct Transition {
    version: u64,
    /// When the last packet under the version before it came: T3.
    last_old_ns: u64,
    /// When the first packet under it came: T4.
    first_new_ns: u64,
    /// Pauses of the tester so far.
    pauses: u64,
}

/// What the control thread has measured.
struct Times {
    call: Histogram,
    response: Histogram,
    /// Response times of updates during which the tester did not pause.
    quiet: Histogram,
    gap: Histogram,
    updates_per_s: f64,
    updates: u64,
}

/// Why updates ended early.
#[derive(Debug)]
enum Ended {
    /// No packet showed this version.
    Unseen(u64),
    /// The switch could not be told, in words.
    Refused(String),
}

impl Ended {
    /// In words, with what came back meanwhile: whether the switch forwards at all, or has another rule.
    fn words(&self, watched: Option<&Traffic<'_>>) -> String {
        match self {
            Ended::Refused(why) => why.clone(),
            Ended::Unseen(version) => {
                let came = watched.map_or(String::new(), Traffic::came);
                format!("no packet shows version {version} of the rule within 5 s{came}")
            }
        }
    }
}

/// Updates one after another, each when the one before has been seen; then updates without a pause.
fn update(
    control: &mut dyn Control,
    setting: &UpdateSetting,
    clock: Clock,
    transitions: &Receiver<Transition>,
) -> Result<Times, Ended> {
    let mut times = Times {
        call: Histogram::default(),
        response: Histogram::default(),
        quiet: Histogram::default(),
        gap: Histogram::default(),
        updates_per_s: 0.0,
        updates: 0,
    };
    // What this thread itself waits for a processor is no time of the switch.
    let _ = set_time_slice(TimeSlice::Short);
    let mut pauses_before = seen(FIRST_VERSION, transitions)?.pauses;
    let mut version = FIRST_VERSION;
    for _ in 0..setting.repetitions {
        version += 1;
        std::thread::sleep(PAUSE);
        let t1 = clock.now_ns();
        control.set(version).map_err(Ended::Refused)?;
        let t2 = clock.now_ns();
        let Transition {
            last_old_ns: t3,
            first_new_ns: t4,
            pauses,
            ..
        } = seen(version, transitions)?;
        times.call.record(t2 - t1);
        times.response.record(t4.saturating_sub(t1));
        if pauses == pauses_before {
            times.quiet.record(t4.saturating_sub(t1));
        }
        pauses_before = pauses;
        times.gap.record(t4 - t3);
    }
    let began = clock.now_ns();
    for _ in 0..setting.in_a_row {
        version += 1;
        control.set(version).map_err(Ended::Refused)?;
    }
    let seconds = (clock.now_ns() - began) as f64 / 1e9;
    if setting.in_a_row > 0 {
        times.updates_per_s = f64::from(setting.in_a_row) / seconds;
        seen(version, transitions)?;
    }
    times.updates = version - FIRST_VERSION;
    Ok(times)
}

/// Waits until a version has been seen.
fn seen(version: u64, transitions: &Receiver<Transition>) -> Result<Transition, Ended> {
    loop {
        let next = transitions.recv_timeout(PATIENCE);
        let transition = next.map_err(|_| Ended::Unseen(version))?;
        if transition.version >= version {
            return Ok(transition);
        }
    }
}

/// The packets of a measurement.
struct Traffic<'a> {
    sender: Sender<'a>,
    device: Device,
    clock: Clock,
    start_ns: u64,
    told: SyncSender<Transition>,
    untold: Option<Transition>,
    out: Burst,
    back: Burst,
    path: Path,
    polling: Polling,
    refused: u64,
    version: u64,
    last_ns: u64,
    halves: u64,
    stale: u64,
}

/// Packets never end before the control thread says so.
const ALWAYS: Window = Window {
    from_ns: 0,
    end_ns: 1 << 47,
};

impl<'a> Traffic<'a> {
    fn new(stream: &'a Stream, device: Device, clock: Clock, told: SyncSender<Transition>) -> Traffic<'a> {
        Traffic {
            sender: Sender::new(stream, 0, 1, 1.0, ALWAYS, 1),
            device,
            clock,
            start_ns: clock.now_ns(),
            told,
            untold: None,
            out: Burst::new(BURST),
            back: Burst::new(RECEIVE_BURST),
            path: Path::new(1),
            polling: Polling::new(DISTURBANCE_NS, 0),
            refused: 0,
            version: 0,
            last_ns: 0,
            halves: 0,
            stale: 0,
        }
    }

    /// Sends and receives until the updates are over, and what is under way has come.
    fn run(mut self, is_over: &dyn Fn() -> bool) -> Result<Traffic<'a>, PortError> {
        // As workers of `forebay run` do.
        let _ = set_time_slice(TimeSlice::Long);
        while !is_over() {
            self.tell();
            let now_ns = self.clock.now_ns() - self.start_ns;
            self.polling.round(now_ns);
            self.send(now_ns)?;
            self.polling.caught_up(self.sender.is_behind(now_ns));
            self.receive()?;
        }
        let end_ns = self.clock.now_ns() + DRAIN_NS;
        while self.lost() > 0 && self.clock.now_ns() < end_ns {
            self.receive()?;
        }
        Ok(self)
    }

    fn send(&mut self, now_ns: u64) -> Result<(), PortError> {
        if self.sender.due_ns() > now_ns {
            return Ok(());
        }
        let port = &mut self.device.ports[0].port;
        self.sender.fill(&mut self.out, BURST.min(port.room()), now_ns, |_| ());
        let count = self.out.len();
        let accepted = port.send(&mut self.out, self.start_ns + now_ns)?;
        self.refused += (count - accepted) as u64;
        port.flush()
    }

    fn receive(&mut self) -> Result<(), PortError> {
        let clock = self.clock;
        self.device.work(|| clock.now_ns());
        for port in 0..self.device.ports.len() {
            let mut back = std::mem::take(&mut self.back);
            let received = self.device.ports[port]
                .port
                .receive(&mut back, RECEIVE_BURST, clock.now_ns());
            let now_ns = clock.now_ns();
            for packet in back.iter() {
                self.take(packet.data(), now_ns);
            }
            back.clear();
            self.back = back;
            received?;
        }
        Ok(())
    }

    fn take(&mut self, frame: &[u8], now_ns: u64) {
        let next = self.sender.next_number();
        let Some((_, tag)) = Tag::find(frame, |tag| tag.stream == 0 && tag.trial == 1 && tag.number < next) else {
            return;
        };
        self.path.receive(&Received {
            number: tag.number,
            flow: 0,
            intended_ns: tag.intended_ns,
            sent_ns: tag.intended_ns + tag.lateness_ns,
            now_ns: now_ns - self.start_ns,
            bytes: frame.len(),
            is_disturbed: self.polling.is_disturbed(tag.intended_ns),
        });
        match version_of(frame) {
            None => self.halves += 1,
            Some(version) if version < self.version => self.stale += 1,
            Some(version) => self.see(version, now_ns),
        }
    }

    fn see(&mut self, version: u64, now_ns: u64) {
        if version > self.version {
            let transition = Transition {
                version,
                last_old_ns: self.last_ns,
                first_new_ns: now_ns,
                pauses: self.polling.pauses,
            };
            self.version = version;
            self.untold = Some(transition);
            self.tell();
        }
        self.last_ns = now_ns;
    }

    /// Tells the control thread of the newest version. It does not listen while updates follow one another without a
    /// pause, and then wants the last one alone: a newer transition takes the place of one that had no room.
    fn tell(&mut self) {
        if let Some(transition) = self.untold.take()
            && let Err(TrySendError::Full(transition)) = self.told.try_send(transition)
        {
            self.untold = Some(transition);
        }
    }

    /// What came back, in words that follow others.
    fn came(&self) -> String {
        let (sent, came) = (self.sender.next_number() - self.refused, self.path.sequence.unique());
        if came == 0 {
            return format!("; none of {sent} packets came back");
        }
        let newest = match self.version {
            0 => "none with a version in both MAC addresses".to_string(),
            version => format!("the newest with version {version}"),
        };
        format!("; {came} of {sent} packets came back, {newest}")
    }

    fn lost(&self) -> u64 {
        (self.sender.next_number() - self.refused).saturating_sub(self.path.sequence.unique())
    }
}

fn result(of: Combination, times: &Times, watched: Traffic<'_>) -> UpdateResult {
    let ran_ns = (watched.clock.now_ns() - watched.start_ns).max(1);
    let mut latency = watched.path.latency.clone();
    latency.add(&watched.path.disturbed);
    UpdateResult {
        control: of.control,
        decision: of.decision,
        rules: of.rules,
        frame_bytes: of.frame_bytes,
        mbps: of.mbps,
        repetitions: times.response.count() as u32,
        call: times.call.summary(),
        response: times.response.summary(),
        quiet_response: times.quiet.summary(),
        gap: times.gap.summary(),
        latency: latency.summary(),
        updates_per_s: times.updates_per_s,
        updates: times.updates,
        sent: watched.sender.next_number() - watched.refused,
        lost: watched.lost(),
        duplicated: watched.path.sequence.duplicates(),
        halves: watched.halves,
        stale: watched.stale,
        pauses: watched.polling.pauses,
        disturbed_share: watched.polling.disturbed_ns as f64 / ran_ns as f64,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;

    fn setting() -> UpdateSetting {
        UpdateSetting {
            decisions: vec![
                DecisionName::Exact,
                DecisionName::Lpm,
                DecisionName::Ternary,
                DecisionName::Register,
            ],
            rules: vec![1, 100],
            frame_bytes: vec![64],
            mbps: vec![100.0],
            controls: vec![ControlName::Library, ControlName::P4Runtime],
            repetitions: 20,
            in_a_row: 100,
        }
    }

    #[test]
    fn every_update_is_seen_whole_and_no_packet_is_lost() {
        let setting = setting();
        for of in setting.combinations() {
            let found = measure(of, &setting, None).unwrap_or_else(|error| panic!("{of:?}: {error}"));
            assert_eq!(
                (found.lost, found.duplicated, found.halves, found.stale),
                (0, 0, 0, 0),
                "{of:?}"
            );
            assert_eq!((found.repetitions, found.updates), (20, 120));
            assert!(found.sent > 0 && found.updates_per_s > 0.0);
        }
    }

    /// Each combination once, whatever the file says of Forebay.
    #[test]
    fn another_switch_is_told_by_a_command() {
        let of_other = setting().by_command().combinations();
        assert!(of_other.iter().all(|of| of.control == ControlName::Command));
        assert_eq!(2 * of_other.len(), setting().combinations().len());
    }

    /// Whether the switch forwards nothing, or has another rule, is known from the packets.
    #[test]
    fn a_version_that_is_not_seen_is_told_with_what_came_back() {
        let stream = stream(Kind::Exact, 1, 1, 64, Rate::Frames(1e4));
        let wire = device::wire(&PORTS, &[(PORTS[0], PORTS[1])], 16);
        let (told, _transitions) = sync_channel(1);
        let clock = Clock::start();
        let traffic = Traffic::new(&stream, wire, clock, told);
        let said = Ended::Unseen(2).words(Some(&traffic));
        assert_eq!(
            said,
            "no packet shows version 2 of the rule within 5 s; none of 0 packets came back"
        );
        let (rounds, until_ns) = (Cell::new(0), clock.now_ns() + 20_000_000);
        // On a busy machine the time may be over before a frame was sent.
        let is_over = || {
            rounds.set(rounds.get() + 1);
            rounds.get() > 1_000 && clock.now_ns() > until_ns
        };
        let traffic = traffic.run(&is_over).expect("a wire");
        let said = Ended::Unseen(2).words(Some(&traffic));
        assert!(
            said.ends_with("packets came back, none with a version in both MAC addresses"),
            "{said}"
        );
        assert_eq!(Ended::Refused("busy".to_string()).words(None), "busy");
    }

    #[test]
    fn addresses_that_do_not_belong_together_are_half_an_update() {
        assert_eq!(version_of(&[0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 1, 2, 8, 0]), Some(258));
        assert_eq!(version_of(&[0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 1, 3, 8, 0]), None);
        assert_eq!(version_of(&[0; 11]), None);
    }
}
