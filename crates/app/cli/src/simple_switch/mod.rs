//! The command lines of BMv2's `simple_switch` and `simple_switch_grpc`, translated to that of `forebay run`.
//!
//! Every option of theirs works, does nothing and says so, or is refused with a reason: `docs/simple-switch.md` lists
//! them, and a test here holds the list and the program together.

mod general;
mod target;

pub use general::Arguments;

use crate::output;
use crate::packet_log::{Destination, FileOptions, Level, LogOptions};
use anyhow::{Result, anyhow, bail};
use clap::Parser;
use std::fmt::Display;
use std::path::PathBuf;
use std::time::Duration;
use target::Target;

/// Packets that a queue of BMv2 holds (`simple_switch.cpp`, `egress_buffers`).
const QUEUE_DEPTH: u32 = 64;

/// Which of the two programs this stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// `simple_switch`, which serves no P4Runtime unless it is told where.
    Plain,
    /// `simple_switch_grpc`.
    Grpc,
}

impl Kind {
    /// By the name under which this program was started; none for its own.
    pub fn of_name(name: &str) -> Option<Kind> {
        match name.rsplit('/').next() {
            Some("simple_switch") => Some(Kind::Plain),
            Some("simple_switch_grpc") => Some(Kind::Grpc),
            _ => None,
        }
    }

    /// The name.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Plain => "simple_switch",
            Kind::Grpc => "simple_switch_grpc",
        }
    }
}

/// A line for people about an option.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Note {
    /// It does nothing, since ...
    Nothing(&'static str, &'static str),
    /// It does something else.
    Changed(&'static str, &'static str),
}

impl Display for Note {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Note::Nothing(name, why) => write!(formatter, "{name} does nothing here: {why}"),
            Note::Changed(name, what) => write!(formatter, "{name}: {what}"),
        }
    }
}

/// What a command line comes to.
#[derive(Debug, Default)]
pub struct Lines {
    /// The command line of `forebay run`.
    pub words: Vec<String>,
    /// What is said before it runs.
    pub notes: Vec<Note>,
}

impl Lines {
    fn word(&mut self, name: &str, value: impl Display) {
        self.words.extend([name.to_string(), value.to_string()]);
    }

    fn note(&mut self, note: Note) {
        self.notes.push(note);
    }
}

/// A switch to start.
#[derive(Debug)]
pub struct Plan {
    /// What to run.
    pub lines: Lines,
    /// The log of packets, if one is wanted.
    pub log: Option<LogOptions>,
    /// Where to write what each interface receives and sends.
    pub captures: Option<PathBuf>,
    /// How long to wait before the first packet.
    pub delay: Duration,
    /// Whether to serve Thrift on its default port, if that is free, because no port was given.
    pub wants_thrift: bool,
    /// Where digests are to be published, if that was said.
    pub notifications: Option<String>,
    /// The number of the switch.
    pub device_id: u64,
}

/// What to do.
#[derive(Debug)]
pub enum Task {
    /// Print this and end.
    Print(String),
    /// Be a switch.
    Run(Box<Plan>),
}

/// Reads a command line.
///
/// # Errors
/// When an option is refused, or makes no sense.
pub fn read(arguments: &Arguments, kind: Kind) -> Result<Task> {
    if let Some(text) = arguments.about_itself(kind) {
        return Ok(Task::Print(text));
    }
    let target = Target::try_parse_from(&arguments.target)
        .map_err(|error| anyhow!("after `--`: {}", output::first_line(error)))?;
    let kind = if arguments.no_grpc { Kind::Plain } else { kind };
    let places = arguments.places()?;
    let mut lines = Lines {
        words: vec!["forebay run".to_string()],
        notes: Vec::new(),
    };
    match target.address(kind) {
        Some(address) => {
            lines.word("--grpc", address);
            lines.word("--device-id", arguments.device_id);
        }
        None if places.program.is_none() => bail!(
            "--no-p4: {} serves no P4Runtime, so no controller could push a program; start simple_switch_grpc, or say `-- \
             --grpc-server-addr ADDRESS`",
            kind.name()
        ),
        None if places.ports.is_empty() => lines.note(Note::Changed(
            "-i",
            "no port is given, and none can be added later: ports that scripts add by simple_switch_CLI are given at the start here",
        )),
        None => {}
    }
    lines.word("--stats-interval", 0);
    lines.word("--queue-depth", QUEUE_DEPTH);
    for port in &places.ports {
        lines.word("-i", port);
    }
    target.write(&mut lines)?;
    arguments.write(&mut lines)?;
    lines.words.extend(places.program);
    Ok(Task::Run(Box::new(Plan {
        log: log(arguments, &mut lines)?,
        captures: places.captures,
        delay: Duration::from_secs(arguments.use_files.map_or(0, |seconds| seconds.max(0) as u64)),
        // A switch that reads files ends with them, so no client needs Thrift.
        wants_thrift: kind == Kind::Plain && arguments.thrift_port.is_none() && arguments.use_files.is_none(),
        notifications: arguments.notifications_addr.clone(),
        device_id: arguments.device_id,
        lines,
    })))
}

/// The log, if one is wanted.
fn log(arguments: &Arguments, lines: &mut Lines) -> Result<Option<LogOptions>> {
    let destination = match (&arguments.log_file, arguments.log_console) {
        (Some(_), true) => bail!("--log-console and --log-file: a log goes to one of them"),
        (Some(path), false) => Destination::File(FileOptions {
            // As BMv2 names it.
            path: path.with_added_extension("txt"),
            max_bytes: arguments.log_file_max_size,
            max_files: arguments.log_file_max_files,
            flush: arguments.log_flush,
        }),
        (None, true) => Destination::Console,
        (None, false) => {
            if arguments.dump_packet_data.is_some() {
                let why = "there is no log to write to; give --log-console or --log-file";
                lines.note(Note::Nothing("--dump-packet-data", why));
            }
            return Ok(None);
        }
    };
    let options = LogOptions {
        destination,
        level: arguments.log_level,
        dump_bytes: arguments.dump_packet_data.unwrap_or(0),
    };
    Ok(Some(options).filter(|options| options.level != Level::Off))
}

#[cfg(test)]
mod tests;
