//! gNMI: what the ports of the switch are and do, in the paths of OpenConfig's model of interfaces.
//!
//! ```text
//!   forwarding ─► Interfaces ─► leaves ─┬─► Get
//!   (counters,    (a snapshot)  (paths) ├─► Subscription ─► once, polled, sampled, on change
//!    states)           ▲                └─► Set: config/enabled ─► Environment::enable_port
//! ```
//!
//! * [`interfaces`]: what is known of each port.
//! * [`leaves`]: the same as values with paths; which of them a path of a client means.
//! * [`subscription`]: which values are due, without network and clock.
//! * [`service`]: the calls.

pub(crate) mod interfaces;
mod leaves;
mod service;
mod set;
mod subscription;

pub(crate) use service::GnmiService;
