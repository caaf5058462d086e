//! A log of what happens to every packet, in the words of BMv2's log: what people and scripts search it for.
//!
//! ```text
//!   ports ─► LoggedPort ─► switch ─► Narrator (a tracer)
//!              arrival        steps of parser, tables, actions
//!                 └──► PacketLog ◄──┘
//!                      console, or files that rotate
//! ```
//!
//! While a log is written the interpreter executes the program, and packets enter one at a time, so that the lines of a
//! packet stand together. A log that cannot be written any more ends; the switch goes on.

mod narrator;
mod port;
mod sink;

pub use narrator::Narrator;
pub use port::{LoggedPort, NarratedPoll, Turns, rounds};
pub use sink::{Destination, FileOptions};

use sink::Sink;
use std::fmt::Arguments;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

/// How much is logged. Later ones are in all before them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, clap::ValueEnum)]
pub enum Level {
    /// Every step.
    Trace,
    /// What becomes of packets, and which tables and actions decide it.
    Debug,
    /// Messages of the program (`log_msg`), and packets as they come and go, if requested.
    Info,
    /// Nothing is a warning yet: like errors.
    Warn,
    /// Assertions that do not hold.
    Error,
    /// Nothing.
    Off,
}

impl Level {
    fn letter(self) -> char {
        match self {
            Level::Trace => 'T',
            Level::Debug => 'D',
            Level::Info => 'I',
            Level::Warn => 'W',
            Level::Error => 'E',
            Level::Off => 'O',
        }
    }
}

/// What to log, and where.
#[derive(Clone, Debug)]
pub struct LogOptions {
    /// Where.
    pub destination: Destination,
    /// How much.
    pub level: Level,
    /// Bytes to show of each packet that comes or goes; 0 for none.
    pub dump_bytes: usize,
}

/// A log that several threads write to.
#[derive(Clone)]
pub struct PacketLog {
    level: Level,
    dump_bytes: usize,
    state: Arc<Mutex<State>>,
}

struct State {
    /// None once it cannot be written any more.
    sink: Option<Sink>,
    /// The packet that is in the switch, counted from 0.
    packet: u64,
    packets: u64,
}

impl PacketLog {
    /// Opens a log.
    ///
    /// # Errors
    /// When a file cannot be made.
    pub fn open(options: &LogOptions) -> std::io::Result<PacketLog> {
        Ok(PacketLog {
            level: options.level,
            dump_bytes: options.dump_bytes,
            state: Arc::new(Mutex::new(State {
                sink: Some(Sink::open(&options.destination)?),
                packet: 0,
                packets: 0,
            })),
        })
    }

    /// Whether lines of this level are written.
    pub fn takes(&self, level: Level) -> bool {
        level >= self.level
    }

    /// A line about the switch.
    pub fn line(&self, level: Level, text: Arguments<'_>) {
        if self.takes(level) {
            self.state().write(level, text);
        }
    }

    /// A line about the packet that is in the switch.
    pub fn packet_line(&self, level: Level, text: Arguments<'_>) {
        if self.takes(level) {
            let mut state = self.state();
            let packet = state.packet;
            state.write(level, format_args!("[{packet}.0] [cxt 0] {text}"));
        }
    }

    /// The next packet has arrived; what follows is about it.
    fn arrived(&self, port: u32, frame: &[u8]) {
        {
            let mut state = self.state();
            state.packet = state.packets;
            state.packets += 1;
        }
        self.dump("Received", port, frame);
        self.packet_line(Level::Debug, format_args!("Processing packet received on port {port}"));
    }

    /// A packet that comes or goes, if packets are to be shown.
    fn dump(&self, what: &str, port: u32, frame: &[u8]) {
        if self.dump_bytes > 0 && self.takes(Level::Info) {
            let shown = &frame[..frame.len().min(self.dump_bytes)];
            let length = frame.len();
            let bytes = hex(shown);
            self.line(
                Level::Info,
                format_args!("{what} packet of length {length} on port {port}: {bytes}"),
            );
        }
    }

    /// Whether packets have to wait for the reader of the log.
    pub fn is_behind(&self) -> bool {
        self.state().sink.as_ref().is_some_and(Sink::is_behind)
    }

    /// Writes out what is buffered.
    pub fn flush(&self) {
        self.state().with_sink(Sink::flush);
    }

    fn state(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn write(&mut self, level: Level, text: Arguments<'_>) {
        let line = format!(
            "[{}] [bmv2] [{}] [thread {}] {text}\n",
            time(),
            level.letter(),
            std::process::id()
        );
        self.with_sink(|sink| sink.write(line.as_bytes()));
    }

    fn with_sink(&mut self, action: impl FnOnce(&mut Sink) -> std::io::Result<()>) {
        if let Some(Err(error)) = self.sink.as_mut().map(action) {
            self.sink = None;
            crate::output::warning(&format!("the log cannot be written any more; it ends here: {error}"));
        }
    }
}

/// The time of day in UTC: `20:30:27.404`.
fn time() -> String {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let seconds = since.as_secs() % 86_400;
    let (hours, minutes, seconds) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    format!("{hours:02}:{minutes:02}:{seconds:02}.{:03}", since.subsec_millis())
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
