//! Child processes that print a JSON object on each line.

use crate::{DemoError, system};
use serde_json::Value;
use std::fs::File;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::Sender;

/// Which process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Role {
    /// `forebay run iot_aggregate.p4`
    Switch1,
    /// `forebay run iot_disaggregate.p4`
    Switch2,
    /// `forebay traffic iot-serve`
    Server,
    /// `forebay traffic iot-send`
    Sender,
}

impl Role {
    /// What users call it.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Role::Switch1 => "switch 1",
            Role::Switch2 => "switch 2",
            Role::Server => "the server",
            Role::Sender => "the sender",
        }
    }

    /// The file for its error messages.
    fn log_name(self) -> &'static str {
        match self {
            Role::Switch1 => "switch1.log",
            Role::Switch2 => "switch2.log",
            Role::Server => "server.log",
            Role::Sender => "sender.log",
        }
    }
}

/// Something that a process did.
#[derive(Clone, Debug)]
pub(crate) enum Happening {
    /// It printed an object.
    Line(Value),
    /// It closed its output: it has ended, or soon will.
    End,
}

/// A process that is killed when it is dropped.
pub(crate) struct Process {
    role: Role,
    child: Child,
    log: PathBuf,
}

impl Process {
    /// Starts a process. What it prints goes to `events`, its error messages into a file in `folder`. It is in a
    /// process group of its own: Ctrl-C reaches this process alone, which then ends its children in order.
    pub(crate) fn start(
        role: Role,
        mut command: Command,
        folder: &Path,
        events: Sender<(Role, Happening)>,
    ) -> Result<Process, DemoError> {
        let log = folder.join(role.log_name());
        let errors = File::create(&log).map_err(|error| DemoError::file(&log, error))?;
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(errors)
            .process_group(0)
            .spawn()
            .map_err(|error| DemoError::system(format!("start {}", role.name()), error))?;
        let output = BufReader::new(child.stdout.take().expect("the output is a pipe"));
        std::thread::spawn(move || {
            for line in output.lines().map_while(Result::ok) {
                if let Ok(value) = serde_json::from_str(&line)
                    && events.send((role, Happening::Line(value))).is_err()
                {
                    return;
                }
            }
            let _ = events.send((role, Happening::End));
        });
        Ok(Process { role, child, log })
    }

    /// Which process it is.
    pub(crate) fn role(&self) -> Role {
        self.role
    }

    /// Writes a line to its standard input. That it does not read any more shows by its end.
    pub(crate) fn write_line(&mut self, line: &str) {
        if let Some(input) = &mut self.child.stdin {
            let _ = writeln!(input, "{line}");
        }
    }

    /// Closes its standard input.
    pub(crate) fn close_input(&mut self) {
        self.child.stdin = None;
    }

    /// Asks it to end.
    pub(crate) fn terminate(&mut self) {
        if matches!(self.child.try_wait(), Ok(None)) {
            system::terminate(self.child.id());
        }
    }

    /// The error that it has ended when it should not have, with its own last words.
    pub(crate) fn ended_early(&self) -> DemoError {
        let words = std::fs::read_to_string(&self.log).unwrap_or_default();
        let mut message = format!("{} ended early", self.role.name());
        if !words.trim().is_empty() {
            message.push_str(&format!(":\n{}", words.trim_end()));
        }
        DemoError::Switch(message)
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
