//! Why an agent cannot start or go on.

use forebay_client::CallError;
use forebay_journal::StateError;
use forebay_pfcp::SaveError;
use std::fmt;
use std::io;
use std::net::IpAddr;

/// Why an agent cannot start or go on.
#[derive(Debug)]
pub enum AgentError {
    /// The file of settings is wrong, in words.
    Settings(String),
    /// The program of the switch is not `functions/upf`: what it lacks.
    Program(String),
    /// The switch refuses, or cannot be reached.
    Switch(CallError),
    /// N4 cannot be spoken at this address of the settings.
    Address(IpAddr, io::Error),
    /// The socket of N4.
    Socket(io::Error),
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
            AgentError::Address(address, error) if error.kind() == io::ErrorKind::AddrNotAvailable => write!(
                formatter,
                "cannot speak PFCP at {address} (`address` of [n4]): no interface here has it; `ip address add {address}/{} dev INTERFACE` adds it",
                if address.is_ipv4() { 24 } else { 64 }
            ),
            AgentError::Address(address, error) => write!(formatter, "cannot speak PFCP at {address}: {error}"),
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_that_no_interface_has_is_named() {
        let address = "192.0.2.1".parse().expect("an address");
        let error = AgentError::Address(address, io::ErrorKind::AddrNotAvailable.into());
        assert_eq!(
            error.to_string(),
            "cannot speak PFCP at 192.0.2.1 (`address` of [n4]): no interface here has it; `ip address add 192.0.2.1/24 dev INTERFACE` adds it"
        );
        let error = AgentError::Address(address, io::ErrorKind::AddrInUse.into());
        assert!(
            error.to_string().starts_with("cannot speak PFCP at 192.0.2.1: "),
            "{error}"
        );
    }
}
