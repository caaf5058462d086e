//! The timed switch around a pipeline: a deterministic model of switch silicon.
//!
//! ```text
//!  link ─► input buffer ─► parser ─► ingress ─► traffic manager ─► parser ─► egress ─► link
//!              ▲   ▲       new packets   │  │    buffer, queues       ▲          │  │
//!              │   │       first         │  └── copies, clones ──►    └─ clones ─┘  │
//!              │   └── resubmit buffer ◄─┘                                          │
//!              └──────────────────────── loopback port ◄────────────────────────────┘
//! ```
//!
//! The chip decides *when*, in what order and under what contention; *what* becomes of a packet is decided by the same
//! [`forebay_pipeline::Worker`] that the software switch uses, called with simulated times as arguments.
//!
//! * [`ChipSpec`] says what a kind of chip is; it never changes during a simulation. The files in `chips/` name the
//!   source of each value.
//! * A [`Network`] is one or more chips joined by links, and the events that are still to come. [`Network::advance`] is
//!   the whole simulation: it takes the next event and lets the chip that it concerns handle it.
//! * An [`Observer`] is called for every packet that leaves or is lost.
//!
//! # Time
//! Integer picoseconds ([`Picos`]). What has a rate (a link, a parser, a clock of 1.22 GHz) carries the part of a
//! picosecond that a packet leaves over to the next one ([`Pacer`]), so that no period is ever truncated in the long
//! run. Events at the same time have a total order: see [`events`].
//!
//! # Books
//! Packets in, and copies made, are packets out, packets dropped for a named reason, and packets inside: see [`Books`].
//! [`Network::audit`] counts those inside one by one and compares.
//!
//! # What is not modelled
//! Bits on serial lanes, forward error correction, cut-through (a frame is parsed when its last byte has come), the
//! delay of table writes, the wire's time that pause frames take, and the sharing of buffer cells by copies of a packet
//! (each copy is charged).

#![cfg_attr(not(test), deny(clippy::disallowed_methods, clippy::disallowed_types))]
#![forbid(unsafe_code)]

mod books;
mod bounds;
mod buffer;
mod chip;
mod division;
mod drops;
mod egress;
pub mod events;
mod fault;
mod ingress;
mod link;
mod network;
mod outside;
mod pacer;
mod parse;
mod parser_channel;
mod pfc;
mod port;
mod sharing;
mod spec;
mod timing;
mod traffic_manager;

pub use books::{Books, Loss};
pub use chip::ChipConfig;
pub use drops::ProgramDrop;
pub use fault::FaultSpec;
pub use link::LinkSpec;
pub use network::{Connection, Network, NetworkError, NoObserver, Observer, Part, Place, Stop};
pub use outside::HostEvent;
pub use pacer::{Pacer, Picos};
pub use parse::ParserNeeds;
pub use pfc::PfcConfig;
pub use port::{PortConfig, PortReport, QueueConfig, QueueSample, Service};
pub use spec::{ChipSpec, Constant, Framing, Origin, SpecError};
