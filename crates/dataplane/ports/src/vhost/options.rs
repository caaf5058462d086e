//! The options of a vhost-user port.

use std::fmt;

/// The most pairs of queues.
pub(crate) const QUEUES_MAX: usize = 16;

/// Which end of the socket a port is. The port is the device in both cases.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum VhostMode {
    /// It listens.
    #[default]
    Server,
    /// It connects.
    Client,
}

/// A vhost-user port as the user described it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VhostOptions {
    /// The socket's path.
    pub path: String,
    /// Which end of the socket it is.
    pub mode: VhostMode,
    /// The most pairs of queues that a guest may use.
    pub queues: usize,
    /// Packed rings are offered.
    pub packed: bool,
    /// Guests may leave checksums open and send super-frames.
    pub offload: bool,
}

impl VhostOptions {
    /// A port that listens at a path.
    pub fn new(path: &str) -> VhostOptions {
        VhostOptions {
            path: path.to_owned(),
            mode: VhostMode::Server,
            queues: 1,
            packed: true,
            offload: true,
        }
    }

    /// Sets an option by its name.
    ///
    /// # Errors
    /// What is wrong with the name or the value, and what would be right.
    pub(crate) fn set(&mut self, name: &str, value: &str) -> Result<(), (&'static str, &'static str)> {
        let switch = || match value {
            "on" => Ok(true),
            "off" => Ok(false),
            _ => Err((
                "neither on nor off",
                "write packed=off or offload=off; both are on otherwise",
            )),
        };
        match name {
            "mode" => {
                self.mode = match value {
                    "server" => VhostMode::Server,
                    "client" => VhostMode::Client,
                    _ => {
                        return Err((
                            "not a mode",
                            "write mode=server (it listens) or mode=client (it connects)",
                        ));
                    }
                }
            }
            "queues" => {
                let queues = value.parse().ok().filter(|queues| (1..=QUEUES_MAX).contains(queues));
                self.queues = queues.ok_or(("not a number of queues", "write queues=1 to queues=16"))?;
            }
            "packed" => self.packed = switch()?,
            "offload" => self.offload = switch()?,
            _ => return Err(("unknown option", "the options are mode, queues, packed and offload")),
        }
        Ok(())
    }
}

impl fmt::Display for VhostOptions {
    /// In the form in which it was written, without what is as usual.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.path)?;
        if self.mode == VhostMode::Client {
            formatter.write_str(",mode=client")?;
        }
        if self.queues != 1 {
            write!(formatter, ",queues={}", self.queues)?;
        }
        for (name, is_on) in [("packed", self.packed), ("offload", self.offload)] {
            if !is_on {
                write!(formatter, ",{name}=off")?;
            }
        }
        Ok(())
    }
}
