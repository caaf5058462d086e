//! Allocation of network functions to the pipelines of a switch chip.
//!
//! A packet enters ingress of the pipeline of its port, and leaves by egress of any pipeline. Functions stand in these
//! halves of pipelines, each in one of them. When a packet's functions are not done, or when it has not come to its
//! output port, egress sends it to a loopback port of its own pipeline, and it enters ingress there:
//!
//! ```text
//!    port ─► ingress 0 ─┐                 ┌─► egress 0 ─► loopback port ─► ingress 0
//!                       ├─ traffic manager┤
//!            ingress 1 ─┘                 └─► egress 1 ─► port
//! ```
//!
//! Each recirculation costs bandwidth of loopback ports and the time of a pass. [`solve`] looks for the placement with
//! the least recirculated bandwidth of those that overload no loopback port; [`first_fit`] fills halves of pipelines in
//! order, to compare with.
//!
//! | file | what it does |
//! |---|---|
//! | `problem.rs` | chip, functions and flows, as a file says |
//! | `routes.rs` | the ways of a flow with the fewest recirculations |
//! | `plan.rs` | a placement, a route for each flow, and what loopback ports carry then |
//! | `search.rs` | branch and bound over placements |
//! | `commands.rs` | a plan as table entries of `programs/chain` |
//!
//! # What is simplified
//!
//! * Functions in a half come one after another, in the order of the file. They share no stages.
//! * A flow takes one route. A function is in one place.
//! * A loopback port carries frames of constant length, at its rate on the wire.

#![cfg_attr(not(test), deny(clippy::disallowed_methods, clippy::disallowed_types))]
#![forbid(unsafe_code)]

mod commands;
mod plan;
mod problem;
mod routes;
mod search;

pub use commands::{Command, commands};
pub use plan::{Hop, Plan, Route, first_fit};
pub use problem::{Chip, Flow, Function, Half, Mistake, Of, Place, Problem};
pub use search::{Solution, Unsolved, solve};
