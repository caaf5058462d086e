//! `forebay run --capture`: the packets of all ports in one pcapng file, with what became of each.
//!
//! While packets are captured the reference executor executes the program, and packets enter one at a time, so that
//! what leaves is known to come from the packet that entered last. A file that cannot be written any more ends; the
//! switch goes on.

use crate::packet_log::Turns;
use forebay_daemon::OwnPoll;
use forebay_packet::pcap::{Direction, NgPacket, NgWriter, Verdict};
use forebay_packet::{Burst, Port, PortError, delegate_port};
use forebay_pipeline::{Event, Pipeline, Tracer};
use forebay_switch::{Activity, Switch};
use forebay_trace::Fate;
use std::fs::File;
use std::io::{self, BufWriter};
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The file, shared by ports and executor.
#[derive(Clone)]
pub struct PacketFile(Arc<Mutex<State>>);

struct State {
    /// None once it cannot be written any more.
    writer: Option<NgWriter<BufWriter<File>>>,
    present: Option<Present>,
    packets: u64,
}

/// The packet that entered last.
struct Present {
    interface: u32,
    time_ns: u64,
    data: Vec<u8>,
    fate: Fate,
    /// What left, with its interface and time.
    left: Vec<(u32, u64, Vec<u8>)>,
}

impl PacketFile {
    /// Begins a file.
    ///
    /// # Errors
    /// When it cannot be made.
    pub fn create(path: &Path) -> io::Result<PacketFile> {
        let application = format!("forebay {}", env!("CARGO_PKG_VERSION"));
        let writer = NgWriter::new(BufWriter::new(File::create(path)?), &application)?;
        Ok(PacketFile(Arc::new(Mutex::new(State {
            writer: Some(writer),
            present: None,
            packets: 0,
        }))))
    }

    /// Describes a port.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn interface(&self, number: u32, name: &str) -> io::Result<u32> {
        match &mut self.state().writer {
            Some(writer) => writer.interface(&format!("port {number}"), name),
            None => Ok(0),
        }
    }

    /// Writes the packet that entered last, and flushes.
    fn end(&self, pipeline: &Pipeline) {
        let mut state = self.state();
        state.end_packet(pipeline);
        let flushed = state.writer.as_mut().map(NgWriter::flush);
        state.note(flushed.unwrap_or(Ok(())));
    }

    /// Whether all packets could be written.
    pub fn is_complete(&self) -> bool {
        self.state().writer.is_some()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn end_packet(&mut self, pipeline: &Pipeline) {
        let (Some(present), Some(writer)) = (self.present.take(), &mut self.writer) else {
            return;
        };
        self.packets += 1;
        let written = write(writer, &present, self.packets, pipeline);
        self.note(written);
    }

    /// A file that cannot be written ends.
    fn note(&mut self, written: io::Result<()>) {
        if let Err(error) = written {
            crate::output::warning(&format!("--capture: the file is incomplete: {error}"));
            self.writer = None;
        }
    }
}

fn write(writer: &mut NgWriter<BufWriter<File>>, present: &Present, id: u64, pipeline: &Pipeline) -> io::Result<()> {
    let is_dropped = present.left.is_empty();
    writer.packet(&NgPacket {
        interface: present.interface,
        time_ns: present.time_ns,
        data: &present.data,
        direction: Direction::In,
        id,
        queue: None,
        verdict: Some(if is_dropped {
            Verdict::Dropped
        } else {
            Verdict::Forwarded
        }),
        comment: &present.fate.words(pipeline.program()),
    })?;
    for (interface, time_ns, data) in &present.left {
        writer.packet(&NgPacket {
            interface: *interface,
            time_ns: *time_ns,
            data,
            direction: Direction::Out,
            id,
            queue: None,
            verdict: None,
            comment: "",
        })?;
    }
    Ok(())
}

/// Polls a switch so that what becomes of every packet is known.
pub struct CapturingPoll {
    file: PacketFile,
    turns: Turns,
    pipeline: Arc<Pipeline>,
}

impl CapturingPoll {
    /// Polls by these turns a switch with this program.
    pub fn new(file: PacketFile, turns: Turns, pipeline: Arc<Pipeline>) -> CapturingPoll {
        CapturingPoll { file, turns, pipeline }
    }
}

impl OwnPoll for CapturingPoll {
    fn poll(&mut self, switch: &mut Switch, now_ns: u64) -> Activity {
        self.turns.next();
        let mut listener = Listener(self);
        let activity = switch.poll(now_ns, &mut listener);
        if activity.is_idle() {
            self.file.end(&self.pipeline);
        }
        activity
    }

    fn replace(&mut self, switch: &mut Switch, pipeline: Arc<Pipeline>, now_ns: u64) {
        switch.replace_pipeline(Arc::clone(&pipeline), now_ns, &mut Listener(self));
        self.file.end(&self.pipeline);
        self.pipeline = pipeline;
    }
}

impl Drop for CapturingPoll {
    fn drop(&mut self) {
        self.file.end(&self.pipeline);
    }
}

/// Hears what the executor does.
struct Listener<'a>(&'a CapturingPoll);

impl Tracer for Listener<'_> {
    const ON: bool = true;

    fn event(&mut self, event: Event<'_>) {
        let Listener(poll) = self;
        if let Some(present) = &mut poll.file.state().present {
            present.fate.hear(poll.pipeline.program(), &event);
        }
    }
}

/// A port whose packets are captured; it receives a packet only when it is its turn, and when the one before has ended.
pub struct CapturedPort {
    port: Box<dyn Port>,
    file: PacketFile,
    interface: u32,
    turns: Turns,
    place: usize,
    pipeline: Arc<Pipeline>,
}

impl CapturedPort {
    /// Wraps the port with this P4 number; `place` is its place among all ports.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn new(
        port: Box<dyn Port>,
        number: u32,
        file: &PacketFile,
        (turns, place): (&Turns, usize),
        pipeline: &Arc<Pipeline>,
    ) -> io::Result<CapturedPort> {
        Ok(CapturedPort {
            interface: file.interface(number, port.name())?,
            port,
            file: file.clone(),
            turns: turns.clone(),
            place,
            pipeline: Arc::clone(pipeline),
        })
    }
}

impl Port for CapturedPort {
    fn name(&self) -> &str {
        self.port.name()
    }

    fn receive(&mut self, burst: &mut Burst, max: usize, now_ns: u64) -> Result<usize, PortError> {
        if !self.turns.is_of(self.place) {
            return Ok(0);
        }
        let before = burst.len();
        let received = self.port.receive(burst, max.min(1), now_ns);
        for packet in &burst.as_slice()[before..] {
            let mut state = self.file.state();
            state.end_packet(&self.pipeline);
            state.present = Some(Present {
                interface: self.interface,
                time_ns: now_ns,
                data: packet.data().to_vec(),
                fate: Fate::default(),
                left: Vec::new(),
            });
        }
        received
    }

    fn send(&mut self, burst: &mut Burst, now_ns: u64) -> Result<usize, PortError> {
        let mut state = self.file.state();
        if let Some(present) = &mut state.present {
            let left = burst
                .as_slice()
                .iter()
                .map(|packet| (self.interface, now_ns, packet.data().to_vec()));
            present.left.extend(left);
        }
        drop(state);
        self.port.send(burst, now_ns)
    }

    delegate_port!(port: counters, state, why_down, readiness, room, reads_ids, is_timer, begin_last_round, flush);
}
