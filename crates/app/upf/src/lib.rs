//! The N4 agent of `functions/upf`: SMFs speak PFCP with it, and it writes the tables of the switch by P4Runtime.
//!
//! ```text
//!   SMF ◄─ UDP 8805 ─► agent ─► forebay_pfcp::Node ─► Plane ─┬─► compile: a session as entries ─► schema ─► P4Runtime
//!                        │                              ▲    └─► buffer: packets for idle UEs
//!                        └─► journal (a folder)         └── packets from the switch: gtpu
//! ```
//!
//! * [`Settings`]: the file of the UPF: addresses, next hops, routes, N4.
//! * `compile.rs`: a session as table entries. The entries of two versions of a session are compared, and what differs
//!   is one batch of P4Runtime, done or not done as a whole.
//! * `plane.rs`, `link.rs`: the switch. When the connection comes back, the tables are read and what differs is
//!   written: an agent or a switch that has been away does not disturb traffic that was right.
//! * `agent.rs`: the loop around socket, switch and clock.
//!
//! The agent is no part of the way of packets, except of those that it keeps for idle UEs: while it is away, they go
//! on.

#![forbid(unsafe_code)]

mod agent;
mod buffer;
mod compile;
mod entry;
mod error;
mod gtpu;
mod link;
mod paths;
mod plane;
mod rule_sets;
mod schema;
mod settings;
#[cfg(test)]
mod tests;

pub use agent::{Agent, Options};
pub use error::AgentError;
pub use settings::Settings;
