//! Why something cannot be measured.

use forebay_pipeline::{ControlError, LoadError};
use std::fmt;

/// Why something cannot be measured.
#[derive(Debug)]
pub enum BenchError {
    /// The program has errors; the text is what the compiler says.
    Program(String),
    /// The program cannot be loaded.
    Load(LoadError),
    /// An entry does not suit the program.
    Control(ControlError),
    /// Entries that a user brought do not suit the program; the text says which.
    Entries(String),
    /// The workload cannot have this size.
    Scale(String),
    /// Program and twin, or two engines, do not agree: a mistake of ours.
    Differ(String),
    /// Packets were neither sent nor dropped for a named reason: a mistake of ours.
    Unaccounted(String),
}

impl fmt::Display for BenchError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            BenchError::Program(messages) => write!(formatter, "the program has errors\n{messages}"),
            BenchError::Load(error) => write!(formatter, "the program cannot be loaded: {error}"),
            BenchError::Control(error) => write!(formatter, "an entry does not suit the program: {error}"),
            BenchError::Entries(text) | BenchError::Scale(text) => formatter.write_str(text),
            BenchError::Differ(text) => write!(formatter, "not measured, because the results differ: {text}"),
            BenchError::Unaccounted(text) => write!(formatter, "packets are not accounted for: {text}"),
        }
    }
}

impl std::error::Error for BenchError {}

impl From<LoadError> for BenchError {
    fn from(error: LoadError) -> BenchError {
        BenchError::Load(error)
    }
}

impl From<ControlError> for BenchError {
    fn from(error: ControlError) -> BenchError {
        BenchError::Control(error)
    }
}
