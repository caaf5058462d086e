//! The options of a memif port.

use std::fmt;

use super::message::SECRET_BYTES;
use super::ring::EXPONENT_MAX;

/// The most queues for each direction.
pub(crate) const QUEUES_MAX: usize = 16;

/// Which end of a memif connection a port is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum MemifRole {
    /// It listens; the memory is the peer's.
    #[default]
    Server,
    /// It connects; the memory is its own.
    Client,
}

/// A memif port as the user described it.
#[derive(Clone, PartialEq, Eq)]
pub struct MemifOptions {
    /// The socket's path; one that begins with `@` is in the abstract namespace.
    pub path: String,
    /// The number of the interface among those of the socket.
    pub id: u32,
    /// Which end it is.
    pub role: MemifRole,
    /// What both ends must know; empty for nothing.
    pub secret: String,
    /// Queues for each direction: as many as a server allows, or as a client asks for.
    pub queues: usize,
    /// Descriptors of a ring, a power of two; a client's choice.
    pub ring: u32,
    /// Bytes of a buffer; a client's choice.
    pub buffer: u32,
}

impl MemifOptions {
    /// A server's port with interface 0 of a socket.
    pub fn new(path: &str) -> MemifOptions {
        MemifOptions {
            path: path.to_owned(),
            id: 0,
            role: MemifRole::Server,
            secret: String::new(),
            queues: 1,
            ring: 1024,
            buffer: 2048,
        }
    }

    /// Sets an option by its name.
    ///
    /// # Errors
    /// What is wrong with the name or the value, and what would be right.
    pub(crate) fn set(&mut self, name: &str, value: &str) -> Result<(), (&'static str, &'static str)> {
        let number = || value.parse::<u32>().ok();
        match name {
            "id" => self.id = number().ok_or(("not an interface number", "write id=0, or another number"))?,
            "role" => {
                self.role = match value {
                    "server" => MemifRole::Server,
                    "client" => MemifRole::Client,
                    _ => {
                        return Err((
                            "not a role",
                            "write role=server (it listens) or role=client (it connects)",
                        ));
                    }
                }
            }
            "secret" if value.len() < SECRET_BYTES => self.secret = value.to_owned(),
            "secret" => return Err(("the secret is too long", "a secret has at most 23 bytes")),
            "queues" => {
                let queues = number().map(|queues| queues as usize);
                let queues = queues.filter(|queues| (1..=QUEUES_MAX).contains(queues));
                self.queues = queues.ok_or(("not a number of queues", "write queues=1 to queues=16"))?;
            }
            "ring" => {
                let in_range = |ring: &u32| ring.is_power_of_two() && (2..=1 << EXPONENT_MAX).contains(ring);
                let ring = number().filter(in_range);
                self.ring = ring.ok_or((
                    "not the size of a ring",
                    "write a power of two from 2 to 16384: ring=1024",
                ))?;
            }
            "buffer" => {
                let buffer = number().filter(|buffer| (64..=65_536).contains(buffer) && buffer.is_multiple_of(64));
                let help = "write a multiple of 64 from 64 to 65536: buffer=2048";
                self.buffer = buffer.ok_or(("not the size of a buffer", help))?;
            }
            _ => {
                let help = "the options are id, role, secret, queues, ring and buffer";
                return Err(("unknown option", help));
            }
        }
        Ok(())
    }
}

impl fmt::Debug for MemifOptions {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "MemifOptions({self})")
    }
}

impl fmt::Display for MemifOptions {
    /// In the form in which it was written, without what is as usual. A secret is not shown: texts of ports are in logs
    /// and messages.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let usual = MemifOptions::new(&self.path);
        formatter.write_str(&self.path)?;
        if self.id != usual.id {
            write!(formatter, ",id={}", self.id)?;
        }
        if self.role != usual.role {
            formatter.write_str(",role=client")?;
        }
        if self.secret != usual.secret {
            formatter.write_str(",secret=***")?;
        }
        if self.queues != usual.queues {
            write!(formatter, ",queues={}", self.queues)?;
        }
        if self.ring != usual.ring {
            write!(formatter, ",ring={}", self.ring)?;
        }
        if self.buffer != usual.buffer {
            write!(formatter, ",buffer={}", self.buffer)?;
        }
        Ok(())
    }
}
