//! The thread that sends and receives: an open loop for each flow, counters, captures.
//!
//! Commands come by a channel and are looked at between rounds. A configuration lives as long as its loop; the next one
//! ends it.

use crate::capture::Capture;
use crate::config::{Config, FlowConfig, Limit, NewRate};
use crate::hosts::Mac;
use crate::metrics::{FlowSnapshot, PortSnapshot, Rates, Snapshot};
use crate::neighbours::{Neighbours, Ping};
use crate::node::Wrong;
use crate::packet::CHECK_SEQUENCE_BYTES;
use forebay_packet::{Burst, PortError, PortState};
use forebay_ports::{Clock, PortSpec};
use forebay_tester::device::{self, Device};
use forebay_tester::path::{Path, Received};
use forebay_tester::schedule::Shape;
use forebay_tester::sender::{Sender, Window};
use forebay_tester::stream::Rate;
use forebay_tester::tag::{TRIALS, Tag};
use std::collections::BTreeMap;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender as Channel, SyncSender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

/// Frames that are sent at once at most, and received at once.
const BURST: usize = 8;
const RECEIVE_BURST: usize = 64;

/// Rounds after which commands are looked at while flows are sent.
const ROUNDS: u32 = 64;

/// How long the thread waits for a command while nothing is sent.
const IDLE: Duration = Duration::from_millis(1);

/// After this time without a frame the thread rests while nothing is sent.
const QUIET_NS: u64 = 200_000_000;

/// A time that no flow reaches.
const NEVER_NS: u64 = 1 << 47;

/// How long after its end a flow may still send what was due before.
const LATE_NS: u64 = 100_000_000;

/// Opens what is measured.
pub trait Devices: Send + 'static {
    /// Opens ports at these locations.
    ///
    /// # Errors
    /// The index of the location at fault, and what is wrong, in words.
    fn open(&mut self, locations: &[String]) -> Result<Opened, (usize, String)>;
}

/// A device with a port for each location.
pub struct Opened {
    /// The device.
    pub device: Device,
    /// For each location the index of its port.
    pub ports: Vec<usize>,
}

/// What flows are to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Transmit {
    Start,
    Stop,
    Pause,
    Resume,
}

/// What the thread is asked for.
pub enum Command {
    /// A new configuration takes the place of the present one.
    Configure(Box<Config>, SyncSender<Result<(), Wrong>>),
    /// Flows send at other rates from now on.
    Rates(Vec<NewRate>, SyncSender<()>),
    /// Flows change.
    Transmit(Vec<usize>, Transmit, SyncSender<()>),
    /// Captures of ports begin or end.
    Capture(Vec<usize>, bool, SyncSender<()>),
    /// All counters.
    Metrics(SyncSender<Snapshot>),
    /// All devices start or stop.
    Protocols(bool, SyncSender<()>),
    /// Whether devices were started, and the MAC addresses of the routers of their interfaces, where they are known.
    Routers(SyncSender<(bool, Vec<Option<Mac>>)>),
    /// Pings are sent.
    Ping(Vec<Ping>, SyncSender<()>),
    /// The last pings.
    Pings(SyncSender<Vec<Ping>>),
    /// The capture of a port, named so, as pcapng or pcap.
    File(usize, bool, SyncSender<Vec<u8>>),
}

/// The thread.
pub struct Engine {
    commands: Option<Channel<Command>>,
    thread: Option<JoinHandle<()>>,
}

impl Engine {
    /// Starts it.
    ///
    /// # Errors
    /// When the system gives no thread, in words.
    pub fn start(mut devices: impl Devices) -> Result<Engine, String> {
        let (commands, received) = channel();
        let thread = std::thread::Builder::new().name("traffic".to_string());
        let thread = thread.spawn(move || run(&mut devices, &received));
        Ok(Engine {
            commands: Some(commands),
            thread: Some(thread.map_err(|error| error.to_string())?),
        })
    }

    /// Asks, and waits for the answer.
    ///
    /// # Errors
    /// When the thread has ended.
    pub fn ask<T>(&self, command: impl FnOnce(SyncSender<T>) -> Command) -> Result<T, String> {
        let (answer, answered) = std::sync::mpsc::sync_channel(1);
        let ended = || "the traffic thread has ended".to_string();
        let commands = self.commands.as_ref().ok_or_else(ended)?;
        commands.send(command(answer)).map_err(|_| ended())?;
        answered.recv().map_err(|_| ended())
    }
}

impl Drop for Engine {
    fn drop(&mut self) {
        self.commands = None;
        if let Some(thread) = self.thread.take() {
            // A panic has been printed.
            let _ = thread.join();
        }
    }
}

/// Configurations one after another, until there are no more commands. One whose ports cannot be opened is refused: the
/// one before it stays, and its flows stop.
fn run(devices: &mut dyn Devices, commands: &Receiver<Command>) {
    let mut config = Box::<Config>::default();
    let mut opened = Ok(None);
    let mut trial = 0;
    loop {
        let (next, rates, last_trial) = Loop::new(&config, opened, trial).serve(commands);
        let Some((wanted, answer)) = next else { return };
        trial = last_trial;
        for (flow, (rate, shape)) in rates {
            let stream = &mut config.flows[flow].stream;
            (stream.rate, stream.shape) = (rate, shape);
        }
        opened = open(devices, &wanted);
        let result = opened.as_ref().map(|_| ()).map_err(Clone::clone);
        match result {
            Ok(()) => config = wanted,
            Err(_) => opened = open(devices, &config),
        }
        // The caller may have gone.
        let _ = answer.send(result);
    }
}

/// Opens the ports of a configuration, if it has any.
fn open(devices: &mut dyn Devices, config: &Config) -> Result<Option<Opened>, Wrong> {
    let locations: Vec<String> = config.ports.iter().map(|port| port.location.clone()).collect();
    if locations.is_empty() {
        return Ok(None);
    }
    let opened = devices.open(&locations);
    let opened = opened.map_err(|(index, message)| Wrong {
        path: format!("ports[{index}].location"),
        message,
    })?;
    for flow in &config.flows {
        lengths_fit(flow, &locations[flow.tx])?;
    }
    Ok(Some(opened))
}

/// Whether the interface of a flow takes its frames. Ports in memory take all.
fn lengths_fit(flow: &FlowConfig, location: &str) -> Result<(), Wrong> {
    let Ok(spec) = PortSpec::parse(&format!("0@{location}")) else {
        return Ok(());
    };
    let fit = device::frames_fit(&spec, flow.stream.frames.templates());
    fit.map_err(|message| Wrong {
        path: format!("flows[{}].size", flow.place),
        message,
    })
}

/// Rates and shapes by flow.
type Changes = BTreeMap<usize, (Rate, Shape)>;

/// The next configuration, and the channel for its result.
type Next = Option<(Box<Config>, SyncSender<Result<(), Wrong>>)>;

/// Whether a flow was told not to send.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Halt {
    #[default]
    None,
    Paused,
    Stopped,
}

/// A flow while it is configured.
#[derive(Default)]
struct Flow<'a> {
    sender: Option<Sender<'a>>,
    /// The time that is 0 for the sender.
    base_ns: u64,
    /// Frames before this number were sent while another time was 0 for the sender.
    earlier: Option<(u64, u64)>,
    /// The number of the first frame since the flow began, or began again.
    first: u64,
    /// Numbers that no frame has.
    skipped: u64,
    halt: Halt,
    paused_ns: u64,
    trial: u64,
    refused: u64,
    sent_bytes: u64,
    /// Frames that came, and their bytes, with duplicates.
    came: u64,
    came_bytes: u64,
    path: Path,
    misdirected: u64,
    first_ns: u64,
    last_ns: u64,
    rates: Rates,
}

/// A configuration at work.
struct Loop<'a> {
    config: &'a Config,
    device: Option<Device>,
    /// For each configured port the index of the device's, and the other way.
    ports: Vec<usize>,
    port_of: Vec<Option<usize>>,
    flows: Vec<Flow<'a>>,
    counters: Vec<PortSnapshot>,
    port_rates: Vec<Rates>,
    captures: Vec<Capture>,
    neighbours: Neighbours<'a>,
    /// Rates and shapes that flows have been given since they were configured.
    rates: Changes,
    /// The last trial of flows that were configured before: what is under way of them is of no flow.
    trial_before: u64,
    clock: Clock,
    heard_ns: u64,
    out: Burst,
    back: Burst,
    fault: Option<String>,
}

impl<'a> Loop<'a> {
    fn new(config: &'a Config, opened: Result<Option<Opened>, Wrong>, trial_before: u64) -> Loop<'a> {
        let fault = opened.as_ref().err().map(|wrong| wrong.message.clone());
        let opened = opened.ok().flatten();
        let (device, ports) = opened.map_or((None, Vec::new()), |opened| (Some(opened.device), opened.ports));
        let flow = || Flow {
            trial: trial_before,
            ..Flow::default()
        };
        let mut neighbours = Neighbours::new(&config.interfaces);
        neighbours.turn(config.starts_devices && !config.interfaces.is_empty());
        let of_device = device.as_ref().map_or(0, |device| device.ports.len());
        let port_of = (0..of_device).map(|at| ports.iter().position(|port| *port == at));
        Loop {
            config,
            port_of: port_of.collect(),
            flows: config.flows.iter().map(|_| flow()).collect(),
            counters: vec![PortSnapshot::default(); config.ports.len()],
            port_rates: vec![Rates::default(); config.ports.len()],
            captures: config.ports.iter().map(|_| Capture::default()).collect(),
            neighbours,
            rates: Changes::new(),
            trial_before,
            ports,
            device,
            clock: Clock::start(),
            heard_ns: 0,
            out: Burst::new(BURST),
            back: Burst::new(RECEIVE_BURST),
            fault,
        }
    }

    /// Works until there is another configuration, or no command any more. Also gives the rates that flows have been
    /// given, and their last trial.
    fn serve(mut self, commands: &Receiver<Command>) -> (Next, Changes, u64) {
        let mut rounds = 0;
        loop {
            rounds += 1;
            let is_resting = self.is_resting();
            if is_resting || rounds >= ROUNDS {
                rounds = 0;
                let wait = if is_resting { IDLE } else { Duration::ZERO };
                match commands.recv_timeout(wait) {
                    Ok(Command::Configure(config, answer)) => return self.end(Some((config, answer))),
                    Ok(command) => self.obey(command),
                    Err(RecvTimeoutError::Timeout) => {}
                    Err(RecvTimeoutError::Disconnected) => return self.end(None),
                }
            }
            if rounds == 0 {
                self.note_rates();
            }
            if let Err(error) = self.round() {
                self.fault = Some(error.to_string());
                self.flows.iter_mut().for_each(|flow| flow.halt = Halt::Stopped);
            }
        }
    }

    fn end(self, next: Next) -> (Next, Changes, u64) {
        let trials = self.flows.iter().map(|flow| flow.trial);
        let last_trial = trials.max().unwrap_or(self.trial_before);
        (next, self.rates, last_trial)
    }

    fn is_resting(&self) -> bool {
        let sends = |(flow, config): (&Flow<'_>, &FlowConfig)| flow.is_sending(config.limit);
        let is_sending = self.flows.iter().zip(&self.config.flows).any(sends);
        !is_sending && self.clock.now_ns() > self.heard_ns + QUIET_NS
    }

    fn obey(&mut self, command: Command) {
        let now_ns = self.clock.now_ns();
        // Callers may have gone.
        match command {
            Command::Configure(..) => {}
            Command::Rates(rates, answer) => {
                for (index, rate, shape) in rates {
                    let flow = &mut self.flows[index];
                    // A paused flow goes on where it was paused.
                    let at_ns = if flow.halt == Halt::Paused {
                        flow.paused_ns
                    } else {
                        now_ns
                    };
                    if let Some(sender) = &mut flow.sender {
                        sender.change_rate(rate, &shape, at_ns.saturating_sub(flow.base_ns));
                    }
                    self.rates.insert(index, (rate, shape));
                }
                let _ = answer.send(());
            }
            Command::Transmit(flows, transmit, answer) => {
                for flow in flows {
                    self.transmit(flow, transmit, now_ns);
                }
                self.heard_ns = now_ns;
                let _ = answer.send(());
            }
            Command::Capture(ports, is_on, answer) => {
                for port in ports {
                    let config = self.config.captures.iter().find(|capture| capture.port == port);
                    if is_on {
                        self.captures[port].start(config.is_none_or(|config| config.overwrites))
                    } else {
                        self.captures[port].stop()
                    }
                }
                let _ = answer.send(());
            }
            Command::Metrics(answer) => {
                let _ = answer.send(self.snapshot());
            }
            Command::Protocols(is_on, answer) => {
                self.neighbours.turn(is_on);
                let _ = answer.send(());
            }
            Command::Routers(answer) => {
                let routers = (0..self.config.interfaces.len()).map(|index| self.neighbours.router(index));
                let _ = answer.send((self.neighbours.is_on(), routers.collect()));
            }
            Command::Ping(pings, answer) => {
                self.neighbours.ping(pings);
                self.heard_ns = now_ns;
                let _ = answer.send(());
            }
            Command::Pings(answer) => {
                let _ = answer.send(self.neighbours.pings().to_vec());
            }
            Command::File(port, is_pcapng, answer) => {
                // What is read is complete: nothing comes to it any more.
                self.captures[port].stop();
                let name = &self.config.ports[port].name;
                let _ = answer.send(self.captures[port].file(name, is_pcapng));
            }
        }
    }

    fn transmit(&mut self, index: usize, transmit: Transmit, now_ns: u64) {
        let limit = self.config.flows[index].limit;
        let flow = &mut self.flows[index];
        match transmit {
            Transmit::Start => self.start(index, now_ns),
            Transmit::Stop => flow.halt = Halt::Stopped,
            Transmit::Pause if flow.is_sending(limit) => {
                (flow.halt, flow.paused_ns) = (Halt::Paused, now_ns);
            }
            Transmit::Resume if flow.halt == Halt::Paused => {
                flow.halt = Halt::None;
                flow.begin_at(flow.base_ns + (now_ns - flow.paused_ns));
            }
            Transmit::Resume if !flow.is_sending(limit) => self.begin_again(index, now_ns),
            Transmit::Pause | Transmit::Resume => {}
        }
    }

    /// A flow begins, with counters of 0.
    fn start(&mut self, index: usize, now_ns: u64) {
        let config = &self.config.flows[index];
        let trial = self.flows[index].trial + 1;
        let sender = self.sender(index, trial);
        self.flows[index] = Flow {
            sender: Some(sender),
            base_ns: now_ns + config.delay_ns,
            trial,
            path: Path::new(config.stream.frames.flows()),
            ..Flow::default()
        };
    }

    /// A flow that has stopped begins again and goes on counting: with new numbers, the first of which has its first
    /// frame.
    fn begin_again(&mut self, index: usize, now_ns: u64) {
        let config = &self.config.flows[index];
        let Some(next) = self.flows[index].sender.as_ref().map(Sender::next_number) else {
            return self.start(index, now_ns);
        };
        let first = next.next_multiple_of(config.stream.frames.templates().len() as u64);
        let sender = self.sender(index, self.flows[index].trial).numbered_from(first);
        let flow = &mut self.flows[index];
        flow.begin_at(now_ns + config.delay_ns);
        flow.skipped += first - next;
        (flow.sender, flow.first, flow.halt) = (Some(sender), first, Halt::None);
    }

    /// What sends a flow from its beginning, at the rate that it has been given.
    fn sender(&self, index: usize, trial: u64) -> Sender<'a> {
        let config = &self.config.flows[index];
        let end_ns = match config.limit {
            Limit::Seconds(seconds) => (seconds * 1e9) as u64,
            Limit::None | Limit::Frames(_) => NEVER_NS,
        };
        let window = Window { from_ns: 0, end_ns };
        let mut sender = Sender::new(&config.stream, index, trial, 1.0, window, index as u64);
        if let Some((rate, shape)) = self.rates.get(&index) {
            sender.change_rate(*rate, shape, 0);
        }
        sender
    }

    fn round(&mut self) -> Result<(), PortError> {
        if self.device.is_none() {
            return Ok(());
        }
        for index in 0..self.flows.len() {
            self.send(index)?;
        }
        self.receive()?;
        self.send_of_devices()
    }

    /// Sends what devices say to their neighbours; it is not counted.
    fn send_of_devices(&mut self) -> Result<(), PortError> {
        if !self.neighbours.is_on() {
            return Ok(());
        }
        let now_ns = self.clock.now_ns();
        let Some(device) = &mut self.device else { return Ok(()) };
        for (port, frame) in self.neighbours.due(now_ns) {
            let port = &mut device.ports[self.ports[port]].port;
            if let Some(packet) = self.out.allocate() {
                packet.set_data(&frame);
            }
            // What the port does not take is asked or answered again.
            port.send(&mut self.out, now_ns)?;
            port.flush()?;
            self.out.clear();
        }
        Ok(())
    }

    fn send(&mut self, index: usize) -> Result<(), PortError> {
        let config = &self.config.flows[index];
        let flow = &mut self.flows[index];
        if !flow.is_sending(config.limit) {
            return Ok(());
        }
        let (Some(sender), Some(device)) = (&mut flow.sender, &mut self.device) else {
            return Ok(());
        };
        let now_ns = self.clock.now_ns();
        if now_ns < flow.base_ns {
            return Ok(());
        }
        if let Limit::Seconds(seconds) = config.limit
            && now_ns - flow.base_ns > (seconds * 1e9) as u64 + LATE_NS
        {
            flow.halt = Halt::Stopped;
            return Ok(());
        }
        let port = &mut device.ports[self.ports[config.tx]].port;
        let mut limit = BURST.min(port.room());
        if let Limit::Frames(frames) = config.limit {
            limit = limit.min(frames.saturating_sub(sender.next_number() - flow.first) as usize);
        }
        let first = sender.next_number();
        sender.fill(&mut self.out, limit, now_ns - flow.base_ns, |_| ());
        if !config.senders.is_empty() {
            let frames = &config.stream.frames;
            for (number, packet) in (first..).zip(self.out.iter_mut()) {
                let interface = config.senders[frames.template_of(number) % config.senders.len()];
                if let Some(mac) = self.neighbours.router(interface) {
                    packet.data_mut()[..mac.len()].copy_from_slice(&mac);
                }
            }
        }
        let mut bytes = [0; BURST];
        let count = self.out.len();
        for (place, packet) in bytes.iter_mut().zip(self.out.iter()) {
            *place = (packet.len() + CHECK_SEQUENCE_BYTES) as u64;
        }
        if count == 0 {
            return Ok(());
        }
        let result = port.send(&mut self.out, now_ns);
        let accepted = *result.as_ref().unwrap_or(&0);
        let sent: u64 = bytes[..accepted].iter().sum();
        flow.refused += (count - accepted) as u64;
        flow.sent_bytes += sent;
        let counters = &mut self.counters[config.tx];
        counters.frames_tx += accepted as u64;
        counters.bytes_tx += sent;
        result?;
        port.flush()
    }

    fn receive(&mut self) -> Result<(), PortError> {
        let clock = self.clock;
        let Some(mut device) = self.device.take() else {
            return Ok(());
        };
        device.work(|| clock.now_ns());
        let mut result = Ok(());
        for (at, port) in device.ports.iter_mut().enumerate() {
            let mut back = std::mem::take(&mut self.back);
            let received = port.port.receive(&mut back, RECEIVE_BURST, clock.now_ns());
            let now_ns = clock.now_ns();
            for packet in back.iter() {
                self.take(at, packet.data(), now_ns);
            }
            back.clear();
            self.back = back;
            if let Err(error) = received {
                result = Err(error);
            }
        }
        self.device = Some(device);
        result
    }

    fn take(&mut self, at: usize, frame: &[u8], now_ns: u64) {
        let Some(port) = self.port_of[at] else { return };
        self.heard_ns = now_ns;
        self.captures[port].take(frame, now_ns);
        if self.neighbours.take(port, frame) {
            return;
        }
        let flows = &self.flows;
        let plausible = |tag: &Tag| {
            let flow = flows.get(usize::from(tag.stream));
            flow.is_some_and(|flow| {
                u64::from(tag.trial) == flow.trial % TRIALS
                    && flow
                        .sender
                        .as_ref()
                        .is_some_and(|sender| tag.number < sender.next_number())
            })
        };
        let found = Tag::find(frame, plausible);
        // An echo message with a tag is of a flow.
        if found.is_none() && self.neighbours.take_echo(port, frame) {
            return;
        }
        let bytes = (frame.len() + CHECK_SEQUENCE_BYTES) as u64;
        self.counters[port].frames_rx += 1;
        self.counters[port].bytes_rx += bytes;
        let Some((_, tag)) = found else { return };
        let index = usize::from(tag.stream);
        let flow = &mut self.flows[index];
        if !self.config.flows[index].rx.contains(&port) {
            flow.misdirected += 1;
            return;
        }
        let intended_ns = flow.base_of(tag.number) + tag.intended_ns;
        if flow.first_ns == 0 {
            flow.first_ns = now_ns;
        }
        flow.last_ns = now_ns;
        flow.came += 1;
        flow.came_bytes += bytes;
        flow.path.receive(&Received {
            number: tag.number,
            flow: self.config.flows[index].stream.frames.flow_of(tag.number),
            intended_ns,
            sent_ns: intended_ns + tag.lateness_ns,
            now_ns,
            bytes: bytes as usize,
            is_disturbed: false,
        });
    }

    fn note_rates(&mut self) {
        let now_ns = self.clock.now_ns();
        for flow in &mut self.flows {
            let mut rates = std::mem::take(&mut flow.rates);
            rates.note(now_ns, || flow.counted());
            flow.rates = rates;
        }
        for (counters, rates) in self.counters.iter().zip(&mut self.port_rates) {
            rates.note(now_ns, || counters.counted());
        }
    }

    fn snapshot(&mut self) -> Snapshot {
        let now_ns = self.clock.now_ns();
        let flows = self.flows.iter().zip(&self.config.flows);
        let flow = |(flow, config): (&Flow<'_>, &FlowConfig)| flow.snapshot(config.limit, now_ns);
        let flows: Vec<FlowSnapshot> = flows.map(flow).collect();
        for (index, (counters, rates)) in self.counters.iter_mut().zip(&self.port_rates).enumerate() {
            counters.rates = rates.at(now_ns, counters.counted());
            let sends = |(flow, config): (&FlowSnapshot, &FlowConfig)| config.tx == index && flow.is_sending;
            counters.is_sending = flows.iter().zip(&self.config.flows).any(sends);
            counters.is_capturing = self.captures[index].is_on();
            let port = self.device.as_ref().map(|device| &device.ports[self.ports[index]].port);
            counters.is_up = port.is_some_and(|port| matches!(port.state(), PortState::Up | PortState::Finished));
        }
        Snapshot {
            flows,
            ports: self.counters.clone(),
            fault: self.fault.clone(),
        }
    }
}

impl Flow<'_> {
    fn is_sending(&self, limit: Limit) -> bool {
        let is_left = |sender: &Sender<'_>| match limit {
            Limit::Frames(frames) => sender.next_number() - self.first < frames,
            Limit::None | Limit::Seconds(_) => true,
        };
        let goes_on = |sender: &Sender<'_>| !sender.is_done() && is_left(sender);
        self.halt == Halt::None && self.sender.as_ref().is_some_and(goes_on)
    }

    /// Frames sent and received, bytes sent and received.
    fn counted(&self) -> [u64; 4] {
        let numbered = self.sender.as_ref().map_or(0, Sender::next_number);
        let sent = numbered - self.skipped - self.refused;
        [sent, self.came, self.sent_bytes, self.came_bytes]
    }

    /// From the next frame on, another time is 0 for the sender.
    fn begin_at(&mut self, base_ns: u64) {
        let next = self.sender.as_ref().map_or(0, Sender::next_number);
        self.earlier = Some((next, self.base_ns));
        self.base_ns = base_ns;
    }

    /// The time that was 0 for the sender when it sent a frame, if the flow has begun again only once since then.
    fn base_of(&self, number: u64) -> u64 {
        let earlier = self.earlier.filter(|(next, _)| number < *next);
        earlier.map_or(self.base_ns, |(_, base_ns)| base_ns)
    }

    fn snapshot(&self, limit: Limit, now_ns: u64) -> FlowSnapshot {
        let counted = self.counted();
        let (mut rates, [sent, came, ..]) = (self.rates.at(now_ns, counted), counted);
        let is_sending = self.is_sending(limit);
        if !is_sending {
            (rates[0], rates[2]) = (0.0, 0.0);
        }
        FlowSnapshot {
            is_sending,
            is_paused: self.halt == Halt::Paused,
            sent,
            came,
            received: self.path.sequence.unique(),
            sent_bytes: self.sent_bytes,
            received_bytes: self.came_bytes,
            duplicated: self.path.sequence.duplicates(),
            reordered: self.path.sequence.reordered(),
            misdirected: self.misdirected,
            rates,
            latency: self.path.device_latency.clone(),
            open_loop_latency: self.path.latency.clone(),
            inter_arrival: self.path.inter_arrival.clone(),
            first_ns: self.first_ns,
            last_ns: self.last_ns,
        }
    }
}
