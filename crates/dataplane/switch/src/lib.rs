//! The untimed switch around a pipeline.
//!
//! ```text
//!   ports ─ receive ─► ingress ─► traffic manager ─► egress ─ transmit ─► ports
//!              ▲          │        (a queue per port      │
//!              │          ▼         and priority)         ▼
//!              └─ loop: resubmitted, recirculated
//! ```
//!
//! [`Switch::poll`] is the whole data path: it moves one burst through these stages, and is called repeatedly. The
//! pipeline determines what a packet *means* (headers, tables, copies, drops by the program). The switch decides only
//! when packets move, and whether there is room: it owns the ports, the queues and the way back to ingress.
//!
//! # Invariants
//! * No system call and no clock: time is an argument (for delay samples, a function of the caller), and ports are
//!   [`forebay_packet::Port`]s that the caller has opened.
//! * Every queue is bounded; a full queue is a counted drop. A poll does a bounded amount of work.
//! * Nothing is lost without a name: packets received and copies made are packets transmitted, dropped for a
//!   [`forebay_pipeline::DropReason`], or still [in flight](Counters::in_flight).
//!
//! # Several workers
//! A [`Switch`] belongs to one thread. Several threads share the [`forebay_pipeline::Pipeline`], whose tables they
//! read without locks. Each has its own switch, with the ports that [`share_ports()`] returns for it.

#![cfg_attr(not(test), deny(clippy::disallowed_methods, clippy::disallowed_types))]
#![deny(unsafe_code)]

mod again;
mod counters;
mod delay;
mod fast_path;
mod frames;
mod in_memory;
mod passes;
mod port_table;
mod replace;
mod ring;
mod rss;
mod sharing;
mod switch;
mod traffic_manager;

pub use counters::{Counters, PortReport};
pub use delay::DelayClock;
/// The most queues of a port.
pub use forebay_packet::scheduler::QUEUES_MAX;
pub use frames::{Arriving, Frames, Left, Sink};
pub use in_memory::{MemorySwitch, SendError};
pub use port_table::Presence;
pub use rss::{Spread, five_tuple_hash};
pub use sharing::{SharingConfig, WorkerPorts, WorkerStatus, share_ports};
pub use switch::{Activity, Config, Settled, Switch};
pub use traffic_manager::{QueueChange, QueueLimit, QueueReport, Service};
