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
//! The [`Switch`] around it provides the clock and decides what each client may do. What takes long is done
//! [aside](Switch::aside).

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

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use tonic::{Extensions, Status};

/// Work that takes long; what it results in is left where its caller looks.
pub type Work<'a> = Box<dyn FnOnce() + Send + 'a>;

/// The end of such work.
pub type Done<'a> = Pin<Box<dyn Future<Output = ()> + Send + 'a>>;

/// Work on more values than this is done aside: it takes some milliseconds.
const SHORT_VALUES: usize = 4096;

/// Does work on at most this number of values, aside if that takes long.
async fn work_on<S: Switch, R: Send>(
    (switch, caller): (&S, &S::Caller),
    values: usize,
    work: impl FnOnce() -> R + Send,
) -> R {
    if values <= SHORT_VALUES {
        return work();
    }
    let mut result = None;
    switch.aside(caller, Box::new(|| result = Some(work()))).await;
    result.expect("the work has been done")
}

/// The most values that this number of paths can mean.
fn values_of(switch: &impl Switch, paths: usize) -> usize {
    paths.saturating_mul(leaves::count(switch.interfaces().count()))
}

/// The switch whose ports are served.
pub trait Switch: Send + Sync + 'static {
    /// The sender of a call, as [`Switch::aside`] knows it.
    type Caller: Send + Sync + 'static;

    /// The sender of a call.
    fn caller(&self, call: &Extensions) -> Self::Caller;

    /// Does work that takes long when it is the caller's turn, so that other calls are served meanwhile, and wait for one
    /// such piece of work at most.
    fn aside<'a>(&'a self, caller: &'a Self::Caller, work: Work<'a>) -> Done<'a>;

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

    /// Whether there is memory for another answer to the sender of a call.
    ///
    /// # Errors
    /// The status with which the call ends when too much waits for the client already.
    fn may_answer(&self, call: &Extensions) -> Result<(), Status>;

    /// Counts the bytes of an answer to the memory that answers to its client may use until it has received them.
    fn note_answer(&self, call: &Extensions, answer: &mut Extensions, bytes: usize);

    /// How many values the streams of the call's connection are subscribed to, which the streams count themselves.
    fn subscribed_values(&self, call: &Extensions) -> Arc<AtomicUsize>;

    /// Whether the sender of a call may disable ports.
    ///
    /// # Errors
    /// The status with which the call ends when it may not.
    fn may_administer(&self, call: &Extensions) -> Result<(), Status>;
}
