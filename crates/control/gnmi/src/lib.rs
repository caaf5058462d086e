//! gNMI: what the ports of the switch are and do, in the paths of OpenConfig's model of interfaces.
//!
//! ```text
//!   forwarding ─► Interfaces ─► leaves ─┬─► Get
//!   (counters,    (a snapshot)  (paths) ├─► Subscription ─► once, polled, sampled, on change
//!    states)           ▲                └─► Set: config/enabled ─► Switch::enable_port
//! ```
//!
//! * `interfaces.rs`: what is known of each port.
//! * `leaves.rs`: the same as values with paths; which of them a path of a client means.
//! * `subscription.rs`: which values are due, without network and clock.
//! * `messages.rs`: what the messages of several calls have in common.
//! * `service.rs`: the calls; `subscriber.rs`: the streams of Subscribe.
//!
//! The [`Switch`] around it provides the clock and decides what each client may do.

#![cfg_attr(not(test), deny(clippy::disallowed_methods, clippy::disallowed_types))]
#![forbid(unsafe_code)]

mod interfaces;
mod leaves;
mod messages;
mod service;
mod set;
mod subscriber;
mod subscription;

#[allow(missing_docs, clippy::all, reason = "generated")]
mod generated {
    tonic::include_proto!("gnmi");
}

pub use generated::g_nmi_server::GNmiServer;
pub use interfaces::{Interfaces, PortInfo, PortStatus};
pub use service::GnmiService;

use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use tonic::{Extensions, Status};

/// The switch whose ports are served.
pub trait Switch: Send + Sync + 'static {
    /// Its ports.
    fn interfaces(&self) -> &Interfaces;

    /// Enables or disables a port.
    fn enable_port(&self, port: u32, is_enabled: bool);

    /// The time, in nanoseconds since 1970.
    fn epoch_ns(&self) -> i64;

    /// The time, in nanoseconds since the switch started.
    fn switch_ns(&self) -> u64;

    /// Whether the sender of a call may read.
    ///
    /// # Errors
    /// The status with which the call ends when it may not.
    fn may_read(&self, call: &Extensions) -> Result<(), Status>;

    /// Counts the bytes of an answer to the memory that answers to its client may use until it has received them.
    ///
    /// # Errors
    /// The status with which the call ends when too much waits for the client already.
    fn note_answer(&self, call: &Extensions, answer: &mut Extensions, bytes: usize) -> Result<(), Status>;

    /// How many values the streams of the call's connection are subscribed to, which the streams count themselves.
    fn subscribed_values(&self, call: &Extensions) -> Arc<AtomicUsize>;

    /// Whether the sender of a call may disable ports.
    ///
    /// # Errors
    /// The status with which the call ends when it may not.
    fn may_administer(&self, call: &Extensions) -> Result<(), Status>;
}
