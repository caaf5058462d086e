//! Hosts around the chips: senders that react to loss, marks and pause frames.
//!
//! ```text
//!  [[flow]] ─► sender ─► line of the host ─► port of a chip ... port of a chip ─► line ─► receiver
//!                 ▲   asked when the line      loss, delay                                   │
//!                 └── is free: nothing queues  ◄──────────── acknowledgements ◄──────────────┘
//! ```
//!
//! A host's line is asked for a frame when it is free: first acknowledgements, then the flows in turn. So what waits
//! waits in the chips. The ends of a flow are state machines without a clock: [`tcp`] and [`roce`]; windows are in
//! [`congestion`].

mod congestion;
mod entries;
mod frames;
mod roce;
mod setup;
mod tcp;

pub(crate) use entries::{FlowEntry, HostEntry, PfcEntry};
pub(crate) use setup::{FlowSetup, HostSetup, flows, hosts, pfc};

use crate::measure::Meter;
use crate::results::FlowResults;
use entries::Transport;
use forebay_chip::{HostEvent, Network, Pacer, Picos};
use forebay_packet::SplitMix64;
use frames::{ACK, CWR, Carried, ECE, HostFrame, near};
use std::collections::VecDeque;
use tcp::Segment;

/// A host while time passes.
struct Host<'a> {
    setup: &'a HostSetup,
    line: Pacer,
    free_at: Picos,
    /// Whether the line is going to ask for a frame when it is free.
    is_asking: bool,
    /// A bit for each queue of the chip that is full.
    paused: u8,
    acknowledgements: VecDeque<Vec<u8>>,
    /// Frames on the line, with when their last byte is at the chip.
    on_line: VecDeque<(Picos, Vec<u8>)>,
    /// The flow that is asked first.
    first: usize,
    random: SplitMix64,
}

enum Ends {
    Tcp(Box<tcp::Sender>, tcp::Receiver),
    Roce(Box<roce::Sender>, roce::Receiver),
}

struct Flow<'a> {
    setup: &'a FlowSetup,
    ends: Ends,
    /// For when its wake-up call is.
    called_at: Option<Picos>,
    at_warm_up: u64,
    at_end: u64,
    at_sample: u64,
    samples_gbps: Vec<f64>,
    windows: (f64, u64),
}

/// All hosts and flows of a scenario. Their wake-up calls begin with a number: two for each host, one for each flow.
pub(crate) struct Hosts<'a> {
    hosts: Vec<Host<'a>>,
    flows: Vec<Flow<'a>>,
    first_call: u16,
    /// The number of the first host among timers and hosts.
    first_number: usize,
    ends: Picos,
}

impl<'a> Hosts<'a> {
    /// The hosts of a setup, until the traffic ends.
    pub(crate) fn new(
        hosts: &'a [HostSetup],
        flows: &'a [FlowSetup],
        (first_call, first_number): (u16, usize),
        seed: u64,
        ends: Picos,
    ) -> Hosts<'a> {
        let host = |(index, setup): (u64, &'a HostSetup)| Host {
            setup,
            line: Pacer::new(setup.link.bits_per_second),
            free_at: 0,
            is_asking: false,
            paused: 0,
            acknowledgements: VecDeque::new(),
            on_line: VecDeque::new(),
            first: 0,
            random: SplitMix64::new(seed.wrapping_mul(0x9e37_79b9).wrapping_add(index)),
        };
        let flow = |setup: &'a FlowSetup| Flow {
            ends: match setup.transport {
                Transport::Roce => {
                    let total = setup.bytes.map(|bytes| bytes.div_ceil(setup.segment_bytes.into()));
                    let sender = roce::Sender::new(total, setup.bits_per_second, setup.start, setup.rto_min);
                    Ends::Roce(Box::new(sender), roce::Receiver::default())
                }
                transport => {
                    let sender = tcp::Sender::new(transport, setup.segment_bytes, setup.bytes, setup.rto_min);
                    Ends::Tcp(Box::new(sender), tcp::Receiver::default())
                }
            },
            setup,
            called_at: None,
            at_warm_up: 0,
            at_end: 0,
            at_sample: 0,
            samples_gbps: Vec::new(),
            windows: (0.0, 0),
        };
        Hosts {
            hosts: (0..).zip(hosts).map(host).collect(),
            flows: flows.iter().map(flow).collect(),
            first_call,
            first_number,
            ends,
        }
    }

    /// Wants to be woken when flows begin.
    pub(crate) fn start(&mut self, network: &mut Network) {
        for index in 0..self.flows.len() {
            let start = self.flows[index].setup.start;
            self.call_flow(index, start, network);
        }
    }

    fn call_flow(&mut self, index: usize, time: Picos, network: &mut Network) {
        let flow = &mut self.flows[index];
        if flow.called_at.is_none_or(|called| time < called) {
            flow.called_at = Some(time);
            network.wake_at(time, self.first_call + 2 * self.hosts.len() as u16 + index as u16);
        }
    }

    /// A wake-up call whose number is not less than the first of these.
    pub(crate) fn wake(&mut self, call: u16, network: &mut Network, meter: &mut Meter) {
        let call = usize::from(call - self.first_call);
        let hosts = self.hosts.len();
        match call.checked_sub(2 * hosts) {
            Some(flow) => self.wake_flow(flow, network),
            None if call < hosts => self.arrive(call, network, meter),
            None => {
                self.hosts[call - hosts].is_asking = false;
                self.send(call - hosts, network);
            }
        }
    }

    fn wake_flow(&mut self, index: usize, network: &mut Network) {
        let now = network.now();
        let flow = &mut self.flows[index];
        if flow.called_at.take_if(|called| *called <= now).is_none() {
            return;
        }
        if flow.ends.deadline().is_some_and(|deadline| deadline <= now) {
            flow.ends.time_out(now);
        }
        let from = flow.setup.from;
        self.send(from, network);
        self.call_again(index, network);
    }

    /// For the deadline of a flow, or its next packet, whichever comes first.
    fn call_again(&mut self, index: usize, network: &mut Network) {
        let flow = &self.flows[index];
        let due = match &flow.ends {
            Ends::Roce(sender, _) if sender.due > network.now() => Some(sender.due),
            _ => None,
        };
        let next = [flow.ends.deadline(), due].into_iter().flatten().min();
        if let Some(next) = next.filter(|next| *next < self.ends) {
            self.call_flow(index, next, network);
        }
    }

    /// The last byte of a frame on a host's line is at the chip.
    fn arrive(&mut self, index: usize, network: &mut Network, meter: &mut Meter) {
        let host = &mut self.hosts[index];
        let Some((_, frame)) = host.on_line.pop_front() else {
            return;
        };
        if let Some((time, _)) = host.on_line.front() {
            network.wake_at(*time, self.first_call + index as u16);
        }
        let place = host.setup.place;
        let tag = meter.came(self.first_number + index, place, &frame, network.now());
        network.arrive(place, &frame, tag, meter);
    }

    /// What the network has brought to hosts.
    pub(crate) fn take_events(&mut self, network: &mut Network) {
        while let Some(event) = network.take_host_event() {
            match event {
                HostEvent::Frame { host, frame } => self.receive(usize::from(host), &frame, network),
                HostEvent::Pause { host, queue, is_paused } => {
                    let paused = &mut self.hosts[usize::from(host)].paused;
                    *paused = *paused & !(1 << queue) | u8::from(is_paused) << queue;
                    self.send(usize::from(host), network);
                }
            }
        }
    }

    fn receive(&mut self, host: usize, frame: &[u8], network: &mut Network) {
        let now = network.now();
        let Some(frame) = HostFrame::parse(frame) else { return };
        let index = usize::from(frame.flow);
        let Some(flow) = self.flows.get_mut(index) else { return };
        let is_expected = host
            == if frame.is_forward {
                flow.setup.to
            } else {
                flow.setup.from
            };
        if !is_expected {
            return;
        }
        if let Some(answer) = flow.receive(&frame, now) {
            let (from, to) = (flow.setup.to, flow.setup.from);
            let bytes = answer.bytes(self.hosts[from].setup.address, self.hosts[to].setup.address);
            self.hosts[from].acknowledgements.push_back(bytes);
            return self.send(from, network);
        }
        if !frame.is_forward {
            self.send(host, network);
            self.call_again(index, network);
        }
    }

    /// The line takes the next frame as soon as it is free, if there is one.
    fn send(&mut self, index: usize, network: &mut Network) {
        let now = network.now();
        let hosts = self.hosts.len();
        if self.hosts[index].is_asking || self.hosts[index].paused != 0 || now >= self.ends {
            return;
        }
        let ask = self.first_call + (hosts + index) as u16;
        if self.hosts[index].free_at > now {
            self.hosts[index].is_asking = true;
            return network.wake_at(self.hosts[index].free_at, ask);
        }
        let Some(frame) = self.next_frame(index, network) else {
            return;
        };
        let host = &mut self.hosts[index];
        let bits = 8 * host.setup.framing.wire_bytes(frame.len() as u32);
        host.free_at = now + host.line.take(bits);
        host.is_asking = true;
        network.wake_at(host.free_at, ask);
        let loss = host.setup.link.loss;
        if loss > 0.0 && host.random.chance(loss) {
            return;
        }
        let arrives = host.free_at + host.setup.link.delay_ps;
        if host.on_line.is_empty() {
            network.wake_at(arrives, self.first_call + index as u16);
        }
        host.on_line.push_back((arrives, frame));
    }

    fn next_frame(&mut self, index: usize, network: &mut Network) -> Option<Vec<u8>> {
        if let Some(frame) = self.hosts[index].acknowledgements.pop_front() {
            return Some(frame);
        }
        let count = self.flows.len();
        let first = self.hosts[index].first;
        let now = network.now();
        for number in (first..first + count).map(|number| number % count) {
            let flow = &mut self.flows[number];
            if flow.setup.from != index || now < flow.setup.start {
                continue;
            }
            let frame = flow.next_frame(number as u16, now);
            let to = flow.setup.to;
            self.call_again(number, network);
            if let Some(frame) = frame {
                self.hosts[index].first = number + 1;
                return Some(frame.bytes(self.hosts[index].setup.address, self.hosts[to].setup.address));
            }
        }
        None
    }

    /// Measurement begins.
    pub(crate) fn note_warm_up(&mut self) {
        self.flows
            .iter_mut()
            .for_each(|flow| flow.at_warm_up = flow.delivered());
    }

    /// Measurement ends.
    pub(crate) fn note_end(&mut self) {
        self.flows.iter_mut().for_each(|flow| flow.at_end = flow.delivered());
    }

    /// Ends a sample, which took the time `sample`.
    pub(crate) fn take_samples(&mut self, sample: Picos) {
        for flow in &mut self.flows {
            let delivered = flow.delivered();
            let bits = 8.0 * (delivered - flow.at_sample) as f64;
            flow.samples_gbps.push(bits * 1e3 / sample as f64);
            flow.at_sample = delivered;
        }
    }

    /// The results of each flow, measured for `measured_us` microseconds.
    pub(crate) fn results(&self, measured_us: f64) -> Vec<FlowResults> {
        self.flows.iter().map(|flow| flow.results(measured_us)).collect()
    }
}

/// The mean of `count` values with this sum; `None` without values.
fn mean(sum: f64, count: u64) -> Option<f64> {
    (count > 0).then(|| sum / count as f64)
}

impl Ends {
    fn deadline(&self) -> Option<Picos> {
        match self {
            Ends::Tcp(sender, _) => sender.deadline,
            Ends::Roce(sender, _) => sender.deadline,
        }
    }

    fn time_out(&mut self, now: Picos) {
        match self {
            Ends::Tcp(sender, _) => sender.time_out(now),
            Ends::Roce(sender, _) => sender.time_out(),
        }
    }
}

impl Flow<'_> {
    /// What a frame is answered with, if it is.
    fn receive(&mut self, frame: &HostFrame, now: Picos) -> Option<HostFrame> {
        let carried = match (&mut self.ends, frame.carried) {
            (
                Ends::Tcp(sender, receiver),
                Carried::Tcp {
                    sequence, flags, bytes, ..
                },
            ) if frame.is_forward => {
                let segment = Segment {
                    sequence: near(receiver.expected, sequence, 32),
                    bytes: bytes.into(),
                    is_reduced: flags & CWR != 0,
                };
                let echoes_each = sender.echoes_each_mark();
                let (number, echoes) = receiver.receive(segment, frame.is_marked, echoes_each);
                Carried::Tcp {
                    sequence: 0,
                    acknowledges: number as u32,
                    flags: ACK | if echoes { ECE } else { 0 },
                    bytes: 0,
                }
            }
            (
                Ends::Tcp(sender, _),
                Carried::Tcp {
                    acknowledges, flags, ..
                },
            ) => {
                let number = near(sender.acknowledged(), acknowledges, 32);
                sender.acknowledge(number, flags & ECE != 0, now);
                let window = sender.window();
                self.windows = (self.windows.0 + window, self.windows.1 + 1);
                return None;
            }
            (Ends::Roce(_, receiver), Carried::Message { sequence, .. }) => {
                let number = near(receiver.expected, sequence, 24);
                let total = self
                    .setup
                    .bytes
                    .map(|bytes| bytes.div_ceil(self.setup.segment_bytes.into()));
                let (number, is_negative) = receiver.receive(number, total.unwrap_or(u64::MAX))?;
                Carried::Acknowledge {
                    sequence: number as u32 & 0x00ff_ffff,
                    is_negative,
                }
            }
            (Ends::Roce(sender, _), Carried::Acknowledge { sequence, is_negative }) => {
                sender.acknowledge(near(sender.acknowledged(), sequence, 24), is_negative, now);
                return None;
            }
            _ => return None,
        };
        Some(HostFrame {
            is_forward: false,
            is_ecn_capable: false,
            is_marked: false,
            carried,
            ..*frame
        })
    }

    /// The next frame that the sender may send.
    fn next_frame(&mut self, number: u16, now: Picos) -> Option<HostFrame> {
        let carried = match &mut self.ends {
            Ends::Tcp(sender, _) => {
                let segment = sender.segment(now)?;
                Carried::Tcp {
                    sequence: segment.sequence as u32,
                    acknowledges: 0,
                    flags: ACK
                        | if segment.is_reduced && self.setup.is_ecn_capable {
                            CWR
                        } else {
                            0
                        },
                    bytes: segment.bytes as u32,
                }
            }
            Ends::Roce(sender, _) => {
                let most = self.setup.segment_bytes;
                let wire = self.setup.framing.wire_bytes(frames::roce_frame_bytes(most));
                let sequence = sender.packet(8 * wire, now)?;
                let left = self.setup.bytes.map(|all| all - sequence * u64::from(most));
                Carried::Message {
                    sequence: sequence as u32 & 0x00ff_ffff,
                    // The last packet has what is left.
                    bytes: left.map_or(most, |left| left.min(most.into()) as u32),
                }
            }
        };
        Some(HostFrame {
            flow: number,
            is_forward: true,
            is_ecn_capable: self.setup.is_ecn_capable,
            is_marked: false,
            carried,
        })
    }

    /// Bytes that have come in order.
    fn delivered(&self) -> u64 {
        match &self.ends {
            Ends::Tcp(_, receiver) => receiver.expected,
            Ends::Roce(_, receiver) => {
                let whole = receiver.expected * u64::from(self.setup.segment_bytes);
                self.setup.bytes.map_or(whole, |bytes| whole.min(bytes))
            }
        }
    }

    fn results(&self, measured_us: f64) -> FlowResults {
        let (counts, completed) = match &self.ends {
            Ends::Tcp(sender, _) => (sender.counts, sender.completed),
            Ends::Roce(sender, _) => (sender.counts, sender.completed),
        };
        let share = |part: u64, all: u64| part as f64 / all.max(1) as f64;
        let microseconds = |time: Picos| (time - self.setup.start) as f64 / 1e6;
        FlowResults {
            name: self.setup.name.clone(),
            transport: self.setup.transport.name().to_string(),
            delivered_bytes: self.delivered(),
            goodput_gbps: 8.0 * (self.at_end - self.at_warm_up) as f64 / (1e3 * measured_us),
            sent: counts.sent,
            retransmitted: counts.retransmitted,
            timeouts: counts.timeouts,
            marked_share: share(counts.marked, counts.acknowledged),
            round_trip_mean_us: mean(counts.round_trip_sum / 1e6, counts.round_trips),
            window_mean: mean(self.windows.0, self.windows.1),
            completed_us: completed.map(microseconds),
            samples_gbps: self.samples_gbps.clone(),
        }
    }
}
