//! `forebay run --capture`: the packets of all ports in one pcapng file, with what became of each.
//!
//! While packets are captured the reference executor executes the program, and packets enter one at a time, so that
//! what the executor decides is known to be about the packet that entered last. One that waits in a queue while others
//! enter is written with what is known of it; what leaves of it later has its number. A file that cannot be written any
//! more ends; the switch goes on.

use crate::packet_log::{Turns, rounds};
use forebay_daemon::OwnPoll;
use forebay_packet::pcap::{Direction, NgPacket, NgWriter, Verdict};
use forebay_packet::{Burst, Port, PortError, delegate_port};
use forebay_pipeline::{Event, Pipeline, Tracer};
use forebay_switch::{Activity, Switch};
use forebay_trace::Fate;
use std::collections::BTreeMap;
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
    /// The program of the present packet; none before the switch is polled.
    pipeline: Option<Arc<Pipeline>>,
    present: Option<Present>,
    /// Packets that have entered.
    packets: u64,
    /// Packets that waited in queues when the present poll began.
    waiting: usize,
    /// Packets that still waited when the next one entered, by number, the last [`WAITING_MAX`] of them.
    waited: BTreeMap<u64, Fate>,
}

/// Packets whose queue is remembered: queues drop some of them, so that not all leave.
const WAITING_MAX: usize = 1 << 16;

/// The packet that entered last.
struct Present {
    /// Its number, from 1.
    id: u64,
    interface: u32,
    time_ns: u64,
    data: Vec<u8>,
    fate: Fate,
    /// Whether no other packet is in the switch.
    is_alone: bool,
    /// What left.
    left: Vec<Left>,
}

/// A frame that left.
struct Left {
    interface: u32,
    queue: Option<u32>,
    time_ns: u64,
    data: Vec<u8>,
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
            pipeline: None,
            present: None,
            packets: 0,
            waiting: 0,
            waited: BTreeMap::new(),
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
    fn end(&self) {
        let mut state = self.state();
        state.end_packet();
        let flushed = state.writer.as_mut().map(NgWriter::flush);
        state.note(flushed.unwrap_or(Ok(())));
    }

    /// Packets that enter from now on are this program's.
    fn set_pipeline(&self, pipeline: &Arc<Pipeline>) {
        self.end();
        self.state().pipeline = Some(Arc::clone(pipeline));
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
    fn end_packet(&mut self) {
        let (Some(present), Some(writer), Some(pipeline)) = (self.present.take(), &mut self.writer, &self.pipeline)
        else {
            return;
        };
        let written = write(writer, &present, pipeline);
        if present.left.is_empty() && present.fate.waits() {
            self.waited.insert(present.id, present.fate);
            if self.waited.len() > WAITING_MAX {
                self.waited.pop_first();
            }
        }
        self.note(written);
    }

    /// A poll begins; `waiting` is the number of packets in queues.
    fn begin_poll(&mut self, waiting: usize) {
        self.waiting = waiting;
        if let Some(present) = &mut self.present {
            present.is_alone = waiting <= usize::from(present.fate.waits());
        }
    }

    /// A packet enters.
    fn enter(&mut self, interface: u32, time_ns: u64, data: &[u8]) {
        self.end_packet();
        self.packets += 1;
        self.present = Some(Present {
            id: self.packets,
            interface,
            time_ns,
            data: data.to_vec(),
            fate: Fate::default(),
            is_alone: self.waiting == 0,
            left: Vec::new(),
        });
    }

    /// Something leaves of the packet with this number, by this port and its interface.
    fn leave(&mut self, id: u64, (port, interface): (u32, u32), time_ns: u64, data: &[u8]) {
        let left = |queue| Left {
            interface,
            queue,
            time_ns,
            data: data.to_vec(),
        };
        if let Some(present) = self.present.as_mut().filter(|present| present.id == id) {
            present.left.push(left(present.fate.queue(port)));
            return;
        }
        let queue = self.waited.remove(&id).and_then(|fate| fate.queue(port));
        let Some(writer) = &mut self.writer else { return };
        let written = write_left(writer, id, &left(queue));
        self.note(written);
    }

    /// Whether the present packet enters again.
    fn goes_round(&self) -> bool {
        let present = self.present.as_ref();
        present.is_some_and(|present| present.is_alone && present.fate.goes_round())
    }

    /// A file that cannot be written ends.
    fn note(&mut self, written: io::Result<()>) {
        if let Err(error) = written {
            crate::output::warning(&format!("--capture: the file is incomplete: {error}"));
            self.writer = None;
        }
    }
}

fn write(writer: &mut NgWriter<BufWriter<File>>, present: &Present, pipeline: &Pipeline) -> io::Result<()> {
    let verdict = if !present.left.is_empty() {
        Some(Verdict::Forwarded)
    } else if present.fate.waits() {
        None
    } else {
        Some(Verdict::Dropped)
    };
    writer.packet(&NgPacket {
        interface: present.interface,
        time_ns: present.time_ns,
        data: &present.data,
        direction: Direction::In,
        id: present.id,
        queue: None,
        verdict,
        comment: &present.fate.words(pipeline.program()),
    })?;
    for left in &present.left {
        write_left(writer, present.id, left)?;
    }
    Ok(())
}

fn write_left(writer: &mut NgWriter<BufWriter<File>>, id: u64, left: &Left) -> io::Result<()> {
    writer.packet(&NgPacket {
        interface: left.interface,
        time_ns: left.time_ns,
        data: &left.data,
        direction: Direction::Out,
        id,
        queue: left.queue,
        verdict: None,
        comment: "",
    })
}

/// Polls a switch so that what becomes of every packet is known.
pub struct CapturingPoll {
    file: PacketFile,
    turns: Turns,
    pipeline: Arc<Pipeline>,
    rounds: u32,
}

impl CapturingPoll {
    /// Polls by these turns a switch with this program.
    pub fn new(file: PacketFile, turns: Turns, pipeline: Arc<Pipeline>) -> CapturingPoll {
        file.set_pipeline(&pipeline);
        CapturingPoll {
            file,
            turns,
            pipeline,
            rounds: 0,
        }
    }
}

impl OwnPoll for CapturingPoll {
    fn poll(&mut self, switch: &mut Switch, now_ns: u64) -> Activity {
        self.turns.begin(self.rounds);
        let waiting: usize = switch.queues().iter().map(|queue| queue.depth).sum();
        self.file.state().begin_poll(waiting);
        let activity = switch.poll(now_ns, &mut Listener(self));
        self.rounds = rounds(self.rounds, self.file.state().goes_round() && !activity.is_idle());
        if activity.is_idle() {
            self.file.end();
        }
        activity
    }

    fn replace(&mut self, switch: &mut Switch, pipeline: Arc<Pipeline>, now_ns: u64) {
        switch.replace_pipeline(Arc::clone(&pipeline), now_ns, &mut Listener(self));
        self.file.set_pipeline(&pipeline);
        self.pipeline = pipeline;
    }
}

impl Drop for CapturingPoll {
    fn drop(&mut self) {
        self.file.end();
    }
}

/// Hears what the executor does.
struct Listener<'a>(&'a CapturingPoll);

impl Tracer for Listener<'_> {
    const ON: bool = true;

    fn event(&mut self, event: Event<'_>) {
        let Listener(poll) = self;
        let mut state = poll.file.state();
        // Packets that have waited leave after the present one has entered; what is decided then is about them.
        let present = state.present.as_mut();
        if let Some(present) = present.filter(|present| present.is_alone || !present.fate.is_decided()) {
            present.fate.hear(poll.pipeline.program(), &event);
        }
    }
}

/// A port whose packets are captured; it receives a packet only when it is its turn, and no other goes round.
pub struct CapturedPort {
    port: Box<dyn Port>,
    file: PacketFile,
    number: u32,
    interface: u32,
    turns: Turns,
    place: usize,
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
    ) -> io::Result<CapturedPort> {
        Ok(CapturedPort {
            interface: file.interface(number, port.name())?,
            number,
            port,
            file: file.clone(),
            turns: turns.clone(),
            place,
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
            state.enter(self.interface, now_ns, packet.data());
        }
        received
    }

    fn send(&mut self, burst: &mut Burst, now_ns: u64) -> Result<usize, PortError> {
        let mut state = self.file.state();
        for packet in burst.as_slice() {
            // A switch counts what enters from 0.
            let place = (self.number, self.interface);
            state.leave(packet.id + 1, place, now_ns, packet.data());
        }
        drop(state);
        self.port.send(burst, now_ns)
    }

    fn reads_ids(&self) -> bool {
        true
    }

    delegate_port!(port: counters, state, why_down, readiness, room, is_timer, begin_last_round, flush);
}

#[cfg(test)]
mod tests {
    use super::*;
    use forebay_daemon::Start;
    use forebay_ir::Location;

    const PROGRAM: &str = r#"
        #include <v1model.p4>
        struct none { }
        parser P(packet_in p, out none h, inout none m, inout standard_metadata_t s) {
            state start { transition accept; }
        }
        control C(inout none h, inout none m) { apply { } }
        control X(inout none h, inout none m, inout standard_metadata_t s) { apply { } }
        control D(packet_out p, in none h) { apply { } }
        V1Switch(P(), C(), X(), X(), C(), D()) main;
    "#;

    /// A program whose files are called so.
    fn program(file: &str) -> Arc<Pipeline> {
        let start = Start::read(PROGRAM.as_bytes(), Default::default()).expect("a correct program");
        let mut program = start.pipeline.program().clone();
        program.files.iter_mut().for_each(|name| *name = file.to_owned());
        Arc::new(Pipeline::load(program).expect("it was loaded before"))
    }

    #[test]
    fn drops_are_placed_in_the_program_that_runs() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("capture.pcapng");
        let file = PacketFile::create(&path).expect("a file");
        let interface = file.interface(1, "port").expect("it can be written");
        let (first, second) = (program("first.p4"), program("second.p4"));
        let mut poll = CapturingPoll::new(file.clone(), Turns::new(1), Arc::clone(&first));
        let mut switch = Switch::new(first, Default::default());
        poll.replace(&mut switch, second, 0);
        for _ in 0..2 {
            file.state().enter(interface, 0, &[0; 60]);
            let mut listener = Listener(&poll);
            listener.event(Event::ParserError {
                error: "NoMatch",
                location: Location { file: 0, line: 7 },
            });
            listener.event(Event::Verdict {
                text: "drop: parser_error",
            });
        }
        drop(poll);
        let written = std::fs::read(&path).expect("a file");
        let text = String::from_utf8_lossy(&written);
        assert_eq!(text.matches("second.p4:7").count(), 2);
        assert!(!text.contains("first.p4"));
    }
}
