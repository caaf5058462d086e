//! Why a switch could not be started, or has ended.

use std::fmt;
use std::io;

/// Why a switch could not be started, or has ended.
#[derive(Debug)]
pub enum Error {
    /// A program is not usable; the messages of the compiler, or why it cannot be loaded.
    Program(String),
    /// The system gives no thread for a worker.
    Thread(io::Error),
    /// A worker cannot be kept on its processor.
    Processor {
        /// The processor's number.
        processor: usize,
        /// What the system says.
        error: io::Error,
    },
    /// A worker cannot wait for its ports.
    Wait(io::Error),
    /// A worker has panicked.
    Panicked,
    /// A worker waits for a port for ever.
    Stuck,
    /// P4Runtime cannot be served.
    Control(String),
    /// The saved state cannot be used or written.
    State(String),
}

impl fmt::Display for Error {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Program(problem) | Error::Control(problem) | Error::State(problem) => formatter.write_str(problem),
            Error::Thread(error) => write!(formatter, "cannot start a thread for a worker: {error}"),
            Error::Processor { processor, error } => {
                write!(formatter, "cannot keep a worker on processor {processor}: {error}")
            }
            Error::Wait(error) => write!(formatter, "cannot wait for packets: {error}"),
            Error::Panicked => formatter.write_str("a worker has panicked"),
            Error::Stuck => formatter.write_str(
                "a worker does not end: it waits for a port, such as a pipe that brings nothing or that nobody reads",
            ),
        }
    }
}

impl std::error::Error for Error {}
