//! Packets of a test or a trace as pcapng: an interface for each port, and for each packet what became of it.
//!
//! * A packet that enters and those that are made of it have the same number (`epb_packetid`); the comment has it too,
//!   and the packet's line in the test.
//! * A dropped packet has the verdict *drop* and a comment with the reason and the place in the source:
//!   `drop: ingress_drop l3fwd.p4:47`.
//! * A packet that leaves has the queue that it was put into; copies for a multicast group have none.
//! * Time is that of the test: packet `n` enters at `n` microseconds.

use forebay_ir::Program;
use forebay_packet::pcap::{Direction, NgPacket, NgWriter, Verdict};
use forebay_pipeline::{DropPlace, Event, Pipeline, Tracer};
use forebay_stf::Observer;
use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;

/// Nanoseconds between packets.
const STEP_NS: u64 = 1_000;

/// Collects packets, and writes each when what became of it is known.
pub struct PacketCapture {
    pipeline: Arc<Pipeline>,
    writer: NgWriter<Vec<u8>>,
    /// The number of each port's interface.
    interfaces: BTreeMap<u32, u32>,
    /// For each interface, packets that have entered, and those of them that were dropped.
    counts: Vec<(u64, u64)>,
    present: Option<Present>,
    packets: u64,
    /// What went wrong with writing; memory takes everything.
    fault: Option<io::Error>,
}

/// The packet that has entered last.
struct Present {
    line: u32,
    port: u32,
    data: Vec<u8>,
    /// What left: the port, the queue and the frame.
    left: Vec<(u32, Option<u32>, Vec<u8>)>,
    fate: Fate,
}

/// What became of a packet, as the executor tells it.
#[derive(Clone, Debug, Default)]
pub struct Fate {
    verdicts: Vec<String>,
    /// Where the program decided to drop it.
    drop_place: DropPlace,
}

impl Fate {
    /// Hears an event of a packet of this program.
    pub fn hear(&mut self, program: &Program, event: &Event<'_>) {
        match event {
            Event::Verdict { text } => self.verdicts.push(text.to_string()),
            _ => self.drop_place.hear(program, event),
        }
    }

    /// Whether it is decided what becomes of the packet next; clones are made beside that.
    pub fn is_decided(&self) -> bool {
        let is_of_clone = |verdict: &String| verdict.starts_with("clone") || verdict.starts_with("no clone");
        self.verdicts.last().is_some_and(|verdict| !is_of_clone(verdict))
    }

    /// Whether it has gone to a queue, or to several, and nothing is known of it since.
    pub fn waits(&self) -> bool {
        self.ends_with(["enqueue", "multicast"])
    }

    /// Whether it enters again.
    pub fn goes_round(&self) -> bool {
        self.ends_with(["resubmit", "recirculate"])
    }

    /// The queue that the packet was put into for this port last; none when it was put into none.
    pub fn queue(&self, port: u32) -> Option<u32> {
        self.verdicts.iter().rev().find_map(|verdict| {
            let place = verdict.strip_prefix("enqueue for port ")?;
            let (of, queue) = place.split_once(", queue ").unwrap_or((place, "0"));
            if of.parse() == Ok(port) {
                queue.parse().ok()
            } else {
                None
            }
        })
    }

    fn ends_with(&self, verdicts: [&str; 2]) -> bool {
        let last = self.verdicts.last().and_then(|verdict| verdict.split(' ').next());
        last.is_some_and(|last| verdicts.contains(&last))
    }

    /// In words, with the place in the source of a drop: `drop: ingress_drop l3fwd.p4:47`.
    pub fn words(&self, program: &Program) -> String {
        let words = self.verdicts.iter().map(|verdict| {
            let location = self.drop_place.location().filter(|_| verdict.starts_with("drop"));
            let place = location.and_then(|location| location.short(&program.files));
            format!(
                "{verdict}{}",
                place.map(|place| format!(" {place}")).unwrap_or_default()
            )
        });
        words.collect::<Vec<_>>().join("; ")
    }
}

impl PacketCapture {
    /// A capture without packets.
    ///
    /// # Errors
    /// When there is no memory.
    pub fn new(pipeline: Arc<Pipeline>) -> io::Result<PacketCapture> {
        let application = format!("forebay {}", env!("CARGO_PKG_VERSION"));
        Ok(PacketCapture {
            pipeline,
            writer: NgWriter::new(Vec::new(), &application)?,
            interfaces: BTreeMap::new(),
            counts: Vec::new(),
            present: None,
            packets: 0,
            fault: None,
        })
    }

    /// The file.
    ///
    /// # Errors
    /// When it could not be written.
    pub fn finish(mut self) -> io::Result<Vec<u8>> {
        self.end_packet();
        if let Some(fault) = self.fault {
            return Err(fault);
        }
        let time_ns = self.packets * STEP_NS;
        for (interface, (received, dropped)) in (0..).zip(&self.counts) {
            self.writer.statistics(interface, time_ns, *received, *dropped)?;
        }
        Ok(self.writer.output().clone())
    }

    /// Writes the present packet and what was made of it.
    fn end_packet(&mut self) {
        let Some(present) = self.present.take() else { return };
        self.packets += 1;
        if let Err(fault) = self.write(&present) {
            self.fault = Some(fault);
        }
    }

    fn write(&mut self, present: &Present) -> io::Result<()> {
        let (time_ns, id) = (self.packets * STEP_NS, self.packets);
        let is_dropped = present.left.is_empty();
        let interface = self.interface(present.port)?;
        let counts = &mut self.counts[interface as usize];
        *counts = (counts.0 + 1, counts.1 + u64::from(is_dropped));
        // Of a test with other commands between its packets, the line tells which packet it is.
        let line = if u64::from(present.line) == id {
            String::new()
        } else {
            format!(", line {}", present.line)
        };
        let comment = format!("packet {id}{line}; {}", present.fate.words(self.pipeline.program()));
        self.writer.packet(&NgPacket {
            interface,
            time_ns,
            data: &present.data,
            direction: Direction::In,
            id,
            queue: None,
            verdict: Some(if is_dropped {
                Verdict::Dropped
            } else {
                Verdict::Forwarded
            }),
            comment: &comment,
        })?;
        for (port, queue, data) in &present.left {
            let interface = self.interface(*port)?;
            self.writer.packet(&NgPacket {
                interface,
                time_ns,
                data,
                direction: Direction::Out,
                id,
                queue: *queue,
                verdict: None,
                comment: "",
            })?;
        }
        Ok(())
    }

    /// The interface of a port, which is described when the port is first used.
    fn interface(&mut self, port: u32) -> io::Result<u32> {
        if let Some(known) = self.interfaces.get(&port) {
            return Ok(*known);
        }
        let interface = self.writer.interface(&format!("port {port}"), "")?;
        self.interfaces.insert(port, interface);
        self.counts.push((0, 0));
        Ok(interface)
    }
}

impl Observer for PacketCapture {
    fn packet_enters(&mut self, line: u32, port: u32, data: &[u8]) {
        self.end_packet();
        self.present = Some(Present {
            line,
            port,
            data: data.to_vec(),
            left: Vec::new(),
            fate: Fate::default(),
        });
    }

    fn packet_leaves(&mut self, port: u32, data: &[u8]) {
        if let Some(present) = &mut self.present {
            present.left.push((port, present.fate.queue(port), data.to_vec()));
        }
    }
}

impl Tracer for PacketCapture {
    const ON: bool = true;

    fn event(&mut self, event: Event<'_>) {
        if let Some(present) = &mut self.present {
            present.fate.hear(self.pipeline.program(), &event);
        }
    }
}

/// Two observers of one test.
pub struct Both<'a, A, B>(
    /// Hears first.
    pub &'a mut A,
    /// Hears second.
    pub &'a mut B,
);

impl<A: Observer, B: Observer> Observer for Both<'_, A, B> {
    fn packet_enters(&mut self, line: u32, port: u32, data: &[u8]) {
        self.0.packet_enters(line, port, data);
        self.1.packet_enters(line, port, data);
    }

    fn packet_leaves(&mut self, port: u32, data: &[u8]) {
        self.0.packet_leaves(port, data);
        self.1.packet_leaves(port, data);
    }
}

impl<A: Tracer, B: Tracer> Tracer for Both<'_, A, B> {
    const ON: bool = A::ON || B::ON;

    fn event(&mut self, event: Event<'_>) {
        self.0.event(event.clone());
        self.1.event(event);
    }
}
