//! Ports as the control plane knows them: which there are, which carry packets, and how they are written.

use crate::bytestring;
use crate::schema::dictionary::{Dictionary, Problem};
use crate::status::Error;
use forebay_pipeline::DROP_PORT;
use forebay_pipeline::RECIRCULATION_PORT;
use std::collections::BTreeMap;

/// `SDN_PORT_CPU`: however the switch numbers the controller's port, a controller may write it so.
const SDN_PORT_CPU: u64 = 0xffff_fffd;

/// How a port is read of a byte string: [`Ports::read`] or [`Ports::watched`].
pub(crate) type PortReader = fn(&Ports, Option<&Dictionary>, &[u8], &str) -> Result<u32, Error>;

/// The ports of a switch.
#[derive(Clone, Debug, Default)]
pub(crate) struct Ports {
    /// The port to the controller.
    pub(crate) cpu: Option<u32>,
    /// By port: whether it carries packets. Empty when the ports are unknown.
    pub(crate) up: BTreeMap<u32, bool>,
}

impl Ports {
    /// The port that a byte string names: a number, or a string where the program's packets name ports so.
    ///
    /// # Errors
    /// `INVALID_ARGUMENT` when there can be no such port.
    pub(crate) fn read(&self, names: Option<&Dictionary>, bytes: &[u8], what: &str) -> Result<u32, Error> {
        let number = match names {
            Some(names) => names.number(bytes, 32).map_err(|problem| {
                let (Problem::Unknown(why)
                | Problem::Invalid(why)
                | Problem::OutOfRange(why)
                | Problem::Exhausted(why)) = problem;
                Error::invalid(format!("{what}: {why}"))
            })?,
            None => {
                let number = bytestring::read(bytes, 32, || what.to_string());
                number.map_err(|error| Error::invalid(error.message))?.to_u64()
            }
        };
        self.check(number, what)
    }

    /// How controllers read a port that was written: in the shortest form.
    pub(crate) fn shortest(names: Option<&Dictionary>, bytes: &[u8]) -> Vec<u8> {
        let zeros = bytes.iter().take_while(|byte| **byte == 0).count();
        match names {
            Some(_) => bytes.to_vec(),
            None => bytes[zeros.min(bytes.len().saturating_sub(1))..].to_vec(),
        }
    }

    /// The port that a controller means by a number. `what` names the field.
    ///
    /// # Errors
    /// `INVALID_ARGUMENT` when there can be no such port.
    pub(crate) fn check(&self, number: u64, what: &str) -> Result<u32, Error> {
        match (number, self.cpu) {
            (SDN_PORT_CPU, Some(cpu)) => Ok(cpu),
            (number, Some(cpu)) if number == u64::from(cpu) => Ok(cpu),
            (number, _) if number < u64::from(DROP_PORT) => Ok(number as u32),
            // The pipeline refuses it where the program's architecture has no such port.
            (number, _) if number == u64::from(RECIRCULATION_PORT) => Ok(RECIRCULATION_PORT),
            _ => Err(Error::invalid(format!(
                "{what}: there is no port {number}; ports are 0 to {}",
                DROP_PORT - 1
            ))),
        }
    }

    /// The port that a member's liveness depends on; it must exist, unless the switch has no ports besides that of the
    /// controllers yet.
    ///
    /// # Errors
    /// `INVALID_ARGUMENT` when there is no such port.
    pub(crate) fn watched(&self, names: Option<&Dictionary>, bytes: &[u8], what: &str) -> Result<u32, Error> {
        let port = self.read(names, bytes, what)?;
        if !self.are_known() || self.up.contains_key(&port) {
            Ok(port)
        } else {
            Err(Error::invalid(format!("{what}: the switch has no port {port}")))
        }
    }

    /// Whether the switch has ports besides that of the controllers.
    fn are_known(&self) -> bool {
        self.up.keys().any(|port| Some(*port) != self.cpu)
    }

    /// Whether a port carries packets. One that the switch does not have does not: it may have been started again with
    /// fewer. Those that are no interfaces do, and so do all while the ports are unknown.
    pub(crate) fn is_up(&self, port: u32) -> bool {
        let is_no_interface = Some(port) == self.cpu || port == RECIRCULATION_PORT;
        let known = self.up.get(&port).copied();
        known.unwrap_or_else(|| is_no_interface || !self.are_known())
    }
}
