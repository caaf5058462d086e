//! Runs a test against a switch in memory, in virtual time.
//!
//! What p4c's runner does with BMv2's simple_switch, without the waiting: packets enter one after another and each has
//! settled, with all copies made of it, before the next command. At the end the packets that left each port are
//! compared in order with the `expect`s of that port.
//!
//! There, ports that no `packet` and no `expect` names do not exist. Here they do, and what leaves them is not
//! expected, unless the test wants it only noted (`UnnamedPorts`). Virtual time goes on by a second for commands that
//! configure, as the reference runner waits for its command line, and by a microsecond for packets.

pub(crate) use crate::bench::Sent as Departed;
use crate::compare::{Expectation, Output, compare, unexpected};
use crate::device::{ChipDevice, Device, SwitchDevice};
use crate::fields::FieldReader;
use crate::outcome::{Failure, FailureKind, Note, Outcome};
use forebay_chip::ChipSpec;
use forebay_entries::{Applied, Controller};
use forebay_entries::{Command, ExpectedPacket, Test, UnnamedPorts};
use forebay_pipeline::{DigestMessage, NoTrace, Pipeline, Tracer};
use forebay_switch::Settled;
use std::collections::{BTreeMap, BTreeSet};
use std::marker::PhantomData;
use std::sync::Arc;

/// Virtual time that a packet takes.
const PACKET_NS: u64 = 1_000;

/// Virtual time that commands before a packet take.
const COMMANDS_NS: u64 = 1_000_000_000;

/// Watches a test: the steps of its packets, and which packet they belong to.
pub trait Observer: Tracer {
    /// The packet of this line enters.
    fn packet_enters(&mut self, line: u32, port: u32, data: &[u8]);

    /// A packet made from the one that entered last has left. Said when all of them have.
    fn packet_leaves(&mut self, port: u32, data: &[u8]);
}

impl Observer for NoTrace {
    fn packet_enters(&mut self, _line: u32, _port: u32, _data: &[u8]) {}
    fn packet_leaves(&mut self, _port: u32, _data: &[u8]) {}
}

/// Runs the test with a freshly loaded pipeline.
pub fn run<O: Observer>(test: &Test, pipeline: Arc<Pipeline>, observer: &mut O) -> Outcome {
    run_and_record(test, pipeline, observer).0
}

/// Runs the test with a freshly loaded pipeline in a switch that has only these ports, as `forebay run` has those of
/// its command line: what would leave by another one is dropped after egress as `no_such_port`.
pub fn run_attached(test: &Test, pipeline: Arc<Pipeline>, ports: &BTreeSet<u32>) -> Outcome {
    let device = SwitchDevice::with_ports(pipeline, ports.iter().copied());
    record(test, device, &mut NoTrace).0
}

/// Runs the test with a freshly loaded pipeline in a chip of the timed model. Each packet settles before the next
/// command, so what leaves is what leaves the software switch, at other times.
pub fn run_on_chip(test: &Test, pipeline: Arc<Pipeline>, spec: ChipSpec) -> Outcome {
    record(test, ChipDevice::new(pipeline, spec), &mut NoTrace).0
}

/// What left the switch during a test.
pub(crate) struct Record {
    pub(crate) packets: Vec<Departed>,
    pub(crate) digests: Vec<DigestMessage>,
}

/// Runs the test, and says what left the switch.
pub(crate) fn run_and_record<O: Observer>(test: &Test, pipeline: Arc<Pipeline>, observer: &mut O) -> (Outcome, Record) {
    record(test, SwitchDevice::new(pipeline), observer)
}

/// Runs the test on a chip, and says what left it.
pub(crate) fn run_on_chip_and_record(test: &Test, pipeline: Arc<Pipeline>, spec: ChipSpec) -> (Outcome, Record) {
    record(test, ChipDevice::new(pipeline, spec), &mut NoTrace)
}

fn record<O: Observer>(test: &Test, device: impl Device<O>, observer: &mut O) -> (Outcome, Record) {
    let mut run = Run::new(device);
    for command in &test.commands {
        run.command(command.line, &command.value, observer);
    }
    let record = Record {
        packets: run.device.departed(),
        digests: run.device.take_digests(),
    };
    (run.finish(test), record)
}

struct Run<D, O> {
    device: D,
    controller: Controller,
    now_ns: u64,
    /// Whether a command has configured the switch since the last packet.
    configured: bool,
    /// Line of each packet sent, in order.
    packet_lines: Vec<u32>,
    expected: BTreeMap<u32, Vec<Expectation>>,
    /// Line of the first `no_packet`.
    no_packet: Option<u32>,
    outcome: Outcome,
    observer: PhantomData<O>,
}

impl<O: Observer, D: Device<O>> Run<D, O> {
    fn new(device: D) -> Run<D, O> {
        Run {
            controller: Controller::new(device.pipeline().clone()),
            device,
            now_ns: 0,
            configured: false,
            packet_lines: Vec::new(),
            expected: BTreeMap::new(),
            no_packet: None,
            outcome: Outcome::default(),
            observer: PhantomData,
        }
    }

    fn command(&mut self, line: u32, command: &Command, observer: &mut O) {
        match command {
            Command::Packet { port, data } => self.packet(line, *port, data, observer),
            Command::Expect { port, packet } => {
                self.expected.entry(*port).or_default().push(Expectation {
                    line,
                    packet: packet.clone(),
                });
            }
            Command::NoPacket => self.no_packet = self.no_packet.or(Some(line)),
            Command::Wait { seconds: 0 } => {}
            Command::Wait { seconds } => self.wait(*seconds, observer),
            Command::CheckEntries { .. } => {
                self.configure(line, command);
                self.configured = false;
            }
            _ => self.configure(line, command),
        }
    }

    fn packet(&mut self, line: u32, port: u32, data: &[u8], observer: &mut O) {
        let (ports, cpu_port) = (self.device.ports(), self.device.cpu_port());
        if port >= ports && cpu_port != Some(port) {
            let cpu_port = cpu_port.map_or(String::new(), |port| format!(" and {port}"));
            let message = format!("there is no port {port}; ports are 0 to {}{cpu_port}", ports - 1);
            return self.fail(Some(line), FailureKind::Refused, message);
        }
        self.now_ns += if std::mem::take(&mut self.configured) {
            COMMANDS_NS
        } else {
            PACKET_NS
        };
        self.packet_lines.push(line);
        if O::ON {
            observer.packet_enters(line, port, data);
        }
        if self.device.packet(port, data, self.now_ns, observer) == Settled::Busy {
            let message = "the packet still goes round in the switch, and seems to for ever".to_string();
            self.fail(Some(line), FailureKind::Endless, message);
        }
    }

    /// Time passes without a packet.
    fn wait(&mut self, seconds: u64, observer: &mut O) {
        for _ in 0..seconds {
            self.now_ns += COMMANDS_NS;
            self.device.pass_time(self.now_ns, observer);
        }
    }

    fn configure(&mut self, line: u32, command: &Command) {
        self.configured = true;
        match self.controller.apply(command) {
            Applied::Done => {}
            Applied::Note(message) => self.outcome.notes.push(Note {
                line: Some(line),
                message,
            }),
            Applied::Differs(message) => self.fail(Some(line), FailureKind::Counter, message),
            Applied::Refused(message) => self.fail(Some(line), FailureKind::Refused, message),
        }
    }

    fn finish(mut self, test: &Test) -> Outcome {
        let mut outputs = self.outputs();
        self.outcome.packets_in = self.packet_lines.len() as u64;
        self.outcome.packets_out = outputs.values().map(|packets| packets.len() as u64).sum();
        let pipeline = self.device.pipeline().clone();
        let mut reader = FieldReader::new(pipeline.program());
        let mut fields = |expected: &ExpectedPacket, packet: &[u8]| reader.differing(expected, packet);
        for port in test.ports() {
            let packets = outputs.remove(&port).unwrap_or_default();
            let expected = self.expected.remove(&port).unwrap_or_default();
            let failures = compare(port, &expected, &packets, &mut fields);
            self.outcome.failures.extend(failures);
        }
        let are_watched = test.unnamed_ports == UnnamedPorts::Watched || self.no_packet.is_some();
        for (port, packets) in outputs {
            if are_watched {
                let unexpected = packets.iter().map(|packet| unexpected(port, packet));
                self.outcome.failures.extend(unexpected);
            } else {
                self.note_unnamed(port, &packets);
            }
        }
        self.note_drops();
        self.outcome
            .failures
            .sort_by_key(|failure| failure.line.unwrap_or(u32::MAX));
        self.outcome
    }

    fn outputs(&self) -> BTreeMap<u32, Vec<Output>> {
        let mut outputs: BTreeMap<u32, Vec<Output>> = BTreeMap::new();
        for sent in self.device.departed() {
            let line = self.packet_lines.get(sent.tag as usize).copied();
            outputs
                .entry(sent.port)
                .or_default()
                .push(Output { line, data: sent.data });
        }
        outputs
    }

    fn note_unnamed(&mut self, port: u32, packets: &[Output]) {
        let message = format!(
            "port {port}, which the test does not name, has sent packets: {}",
            packets.len()
        );
        self.outcome.notes.push(Note { line: None, message });
    }

    fn note_drops(&mut self) {
        let pipeline = self.device.pipeline();
        let by_program = pipeline.drops().nonzero().into_iter();
        let by_program = by_program.map(|(reason, count)| (reason.label(&pipeline.program().errors), count));
        let by_device = self.device.drops().into_iter();
        let drops: Vec<_> = by_program
            .chain(by_device.map(|(reason, count)| (reason.to_string(), count)))
            .collect();
        for (reason, count) in drops {
            self.outcome.notes.push(Note {
                line: None,
                message: format!("packets dropped for {reason}: {count}"),
            });
        }
    }

    fn fail(&mut self, line: Option<u32>, kind: FailureKind, message: String) {
        self.outcome.failures.push(Failure { line, kind, message });
    }
}
