//! Ports over memif: two processes that share memory, one frame copied once on each side.
//!
//! ```text
//!   client                                    server
//!     │ ◄──────────────── HELLO ────────────────┤   limits
//!     │ ───────────────── INIT ────────────────►│   the interface's number, a secret
//!     │ ── ADD_REGION (memory), ADD_RING (event), … ──► │
//!     │ ───────────────── CONNECT ─────────────►│
//!     │ ◄──────────────── CONNECTED ────────────┤
//! ```
//!
//! Peers are VPP, DPDK's net_memif, libmemif, and other switches of this sort. Interfaces on one socket are
//! distinguished by numbers; ports of this process with the same path share the socket ([`server`]). When one end goes
//! away, the other continues, and reconnects.

mod client;
#[cfg(any(test, feature = "fuzzing"))]
pub(crate) mod exercise;
mod frames;
mod message;
mod options;
mod ring;
mod server;
#[cfg(test)]
mod strangers;

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::{fmt, io};

use crate::link::{Controller, Link, LinkPort};
use crate::system::unix;
use crate::{OpenError, OpenOptions};

use frames::{Receiver, Sender};
use message::{MESSAGE_BYTES, Message};

pub use options::{MemifOptions, MemifRole};

/// Our name in messages to peers.
const NAME: &str = concat!("forebay ", env!("CARGO_PKG_VERSION"));

/// A link by rings of memif.
type MemifLink = Link<Receiver, Sender>;

/// A port over memif.
pub(crate) type MemifPort = LinkPort<Receiver, Sender>;

/// Opens a port for as many workers as there are `shares`: one port for each.
///
/// # Errors
/// When the socket cannot be made, or another port of this process has its number.
pub(crate) fn open(
    options: &MemifOptions,
    shares: usize,
    open_options: &OpenOptions,
) -> Result<Vec<MemifPort>, OpenError> {
    let shares = shares.clamp(1, options.queues);
    let (link, controller): (_, Arc<dyn Controller>) = match options.role {
        MemifRole::Server => {
            let offer = server::Offer::new(options, shares)?;
            (offer.link(), Arc::new(offer))
        }
        MemifRole::Client => {
            let (link, thread) = client::start(options, shares).map_err(|cause| socket_error(&options.path, cause))?;
            (link, Arc::new(thread))
        }
    };
    let name = match options.id {
        0 => options.path.clone(),
        id => format!("{},id={id}", options.path),
    };
    let port = |share| {
        LinkPort::new(
            name.clone(),
            Arc::clone(&link),
            Arc::clone(&controller),
            (share, shares),
            open_options.busy_poll,
        )
    };
    Ok((0..shares).map(port).collect())
}

fn socket_error(path: &str, cause: io::Error) -> OpenError {
    OpenError::Socket {
        path: path.to_owned(),
        cause,
    }
}

/// A connection that carries messages.
struct Channel(OwnedFd);

/// Why a connection has ended.
#[derive(Debug, PartialEq, Eq)]
enum End {
    /// The peer has gone, or has said why it ends the connection.
    Peer(Option<String>),
    /// The peer has violated the protocol, and gets this message.
    Refused(&'static str),
}

impl fmt::Display for End {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            End::Peer(None) => formatter.write_str("the peer has closed the connection"),
            End::Peer(Some(reason)) => write!(formatter, "the peer has closed the connection: {reason}"),
            End::Refused(reason) => write!(formatter, "the peer was refused: {reason}"),
        }
    }
}

impl Channel {
    /// Sends a message, with a descriptor beside it if there is one.
    fn send(&self, message: &Message, descriptor: Option<BorrowedFd<'_>>) -> Result<(), End> {
        unix::send(self.0.as_fd(), &message.encode(), descriptor.as_slice()).map_err(|_| End::Peer(None))
    }

    /// The next message with what came beside it, if one has come.
    fn receive(&self) -> Result<Option<(Message, Option<OwnedFd>)>, End> {
        let mut bytes = [0; MESSAGE_BYTES];
        let received = match unix::receive(self.0.as_fd(), &mut bytes) {
            Ok(received) => received,
            Err(error) if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted) => {
                return Ok(None);
            }
            Err(error) if error.kind() == io::ErrorKind::InvalidData => {
                return Err(End::Refused("a message is too long"));
            }
            Err(_) => return Err(End::Peer(None)),
        };
        match received.length {
            0 => return Err(End::Peer(None)),
            MESSAGE_BYTES => {}
            _ => return Err(End::Refused("a message has another length")),
        }
        let message = Message::decode(&bytes).ok_or(End::Refused("a message is of an unknown type"))?;
        Ok(Some((message, received.descriptors.into_iter().next())))
    }

    /// Tells a peer why the connection ends, if it is still there.
    fn refuse(&self, end: &End) {
        if let End::Refused(reason) = end {
            let reason = (*reason).to_owned();
            // The connection ends either way.
            let _ = self.send(&Message::Disconnect { reason }, None);
        }
    }
}
