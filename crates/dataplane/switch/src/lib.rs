//! The untimed switch around a pipeline.
//!
//! ```text
//!   ports ─ receive ─► ingress ─► traffic manager ─► egress ─ transmit ─► ports
//!              ▲          │        (a queue per port      │
//!              │          ▼         and priority)         ▼
//!              └─ loop: resubmitted, recirculated
//! ```
//!
//! [`Switch::poll`] is the whole data path: it moves one burst through these stages and is called again and again.
//! What a packet *means* (headers, tables, copies, drops by the program) is the pipeline's business; the switch decides
//! only when, and where there is room: it owns the ports, the queues and the way back to ingress.
//!
//! # Invariants
//! * No system call and no clock: time is an argument (for samples of delay, a function of the caller), ports are [`forebay_packet::Port`]s that the caller opened.
//! * Every queue is bounded; a full queue is a counted drop. A poll does a bounded amount of work.
//! * Nothing is lost without a name: packets received and copies made are packets transmitted, dropped for a
//!   [`forebay_pipeline::DropReason`], or still [in flight](Counters::in_flight).
//!
//! # Several workers
//! A [`Switch`] is what one thread works with. Several threads share the [`forebay_pipeline::Pipeline`], whose tables
//! they read without locks; each has a switch with the ports that [`lanes()`] gives it.

#![cfg_attr(not(test), deny(clippy::disallowed_methods, clippy::disallowed_types))]
#![deny(unsafe_code)]

mod counters;
mod delay;
mod fast_path;
mod in_memory;
mod lanes;
mod passes;
mod port_table;
mod replace;
mod ring;
mod rss;
mod switch;
mod traffic_manager;

pub use counters::{Counters, PortReport};
pub use delay::DelayClock;
pub use in_memory::{Frames, Left, MemorySwitch, SendError};
pub use lanes::{Lane, LaneConfig, LaneStatus, lanes};
pub use port_table::Presence;
pub use rss::{Spread, five_tuple_hash};
pub use switch::{Activity, Config, Settled, Switch};
pub use traffic_manager::{QUEUES_MAX, QueueChange, QueueLimit, QueueReport, Service};
