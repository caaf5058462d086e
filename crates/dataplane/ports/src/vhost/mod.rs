//! Ports over vhost-user: the network card of a virtual machine, or of a process that behaves like one.
//!
//! ```text
//!   guest: driver of virtio-net          this port: the device
//!     │ rings and buffers in the guest's memory │
//!     │ ◄─────────── frames ──────────────────► │   copied once each way
//!   its process (QEMU, DPDK's virtio_user)      │
//!     │ ──── memory, rings, events: messages ──►│   control, session
//! ```
//!
//! The protocol is the one of QEMU's documentation, the rings those of Virtual I/O Device 1.2. Peers are QEMU's
//! virtio-net and DPDK's virtio_user. Whichever end goes away, the other goes on and connects again.

mod chains;
mod control;
#[cfg(any(test, feature = "fuzzing"))]
pub(crate) mod exercise;
mod format;
#[cfg(test)]
mod guest;
mod memory;
mod message;
mod options;
mod packed;
mod receiver;
mod ring;
mod sender;
mod session;
mod split;

use std::sync::Arc;

use crate::link::{Controller, Link, LinkPort};
use crate::{OpenError, OpenOptions};

use receiver::Receiver;
use sender::Sender;

pub use options::{VhostMode, VhostOptions};

/// A link by virtqueues.
type VhostLink = Link<Receiver, Sender>;

/// A port over vhost-user.
pub(crate) type VhostPort = LinkPort<Receiver, Sender>;

/// Opens a port for as many workers as there are `shares`: one port for each.
///
/// # Errors
/// When the socket cannot be made.
pub(crate) fn open(
    options: &VhostOptions,
    shares: usize,
    open_options: &OpenOptions,
) -> Result<Vec<VhostPort>, OpenError> {
    let shares = shares.clamp(1, options.queues);
    let (link, thread) = control::start(options, shares).map_err(|cause| OpenError::Socket {
        path: options.path.clone(),
        cause,
    })?;
    let controller: Arc<dyn Controller> = Arc::new(thread);
    let port = |share| {
        LinkPort::new(
            options.path.clone(),
            Arc::clone(&link),
            Arc::clone(&controller),
            (share, shares),
            open_options.busy_poll,
        )
    };
    Ok((0..shares).map(port).collect())
}
