//! Why an agent cannot start or go on.

use forebay_client::CallError;
use forebay_journal::StateError;
use forebay_pfcp::SaveError;
use std::fmt;

/// Why an agent cannot start or go on.
#[derive(Debug)]
pub enum AgentError {
    /// The file of settings is wrong, in words.
    Settings(String),
    /// The program of the switch is not `functions/upf`: what it lacks.
    Program(String),
    /// The switch refuses, or cannot be reached.
    Switch(CallError),
    /// The socket of N4.
    Socket(std::io::Error),
    /// The folder of the saved sessions.
    State(StateError),
    /// What is in that folder.
    Saved(SaveError),
}

impl fmt::Display for AgentError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            AgentError::Settings(why) => formatter.write_str(why),
            AgentError::Program(what) => {
                write!(
                    formatter,
                    "the switch does not run functions/upf/upf.p4 of this version: it has no {what}"
                )
            }
            AgentError::Switch(error) => error.fmt(formatter),
            AgentError::Socket(error) => write!(formatter, "cannot speak PFCP: {error}"),
            AgentError::State(error) => error.fmt(formatter),
            AgentError::Saved(error) => error.fmt(formatter),
        }
    }
}

impl std::error::Error for AgentError {}

impl From<CallError> for AgentError {
    fn from(error: CallError) -> AgentError {
        AgentError::Switch(error)
    }
}

impl From<StateError> for AgentError {
    fn from(error: StateError) -> AgentError {
        AgentError::State(error)
    }
}

impl From<SaveError> for AgentError {
    fn from(error: SaveError) -> AgentError {
        AgentError::Saved(error)
    }
}
