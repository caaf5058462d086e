//! A running switch as a library: load a program, attach ports, run, replace the program, report, keep the state.
//!
//! ```text
//!   program ─► Start ─┬────────────► Daemon ── start ──► Running ── report, events, replace, stop
//!   (P4, IR, JSON)    │               ▲  ▲                 │
//!                     │        ports ─┘  │                 └─► a worker in a thread of its own, N of them
//!                     └─► serve ─► ControlPlane (P4Runtime, gNMI; keeps the state in a folder)
//! ```
//!
//! * [`Start`] is the program that a switch begins with: of a text in any format, or what a folder keeps of the last
//!   run.
//! * [`Daemon`] collects ports and settings; [`Daemon::start`] starts the workers.
//! * [`Running`] is the handle of a running switch. It may be held by any thread.
//! * [`Watch::lacks`] says whether a switch carries traffic.
//! * [`serve`] puts P4Runtime and gNMI beside a switch, before it starts.
//!
//! The command line (`forebay run`) is one user of this library; everything it prints it reads from [`Report`] and
//! [`Event`].
//!
//! ```
//! use forebay_daemon::{Daemon, Start};
//! use forebay_packet::MemoryPort;
//! use std::time::{Duration, Instant};
//!
//! // A program that sends every packet to port 2.
//! let source = r#"
//!     #include <core.p4>
//!     #include <v1model.p4>
//!     struct headers { }
//!     struct metadata { }
//!     parser P(packet_in p, out headers h, inout metadata m, inout standard_metadata_t s) { state start { transition accept; } }
//!     control C(inout headers h, inout metadata m) { apply { } }
//!     control I(inout headers h, inout metadata m, inout standard_metadata_t s) { apply { s.egress_spec = 2; } }
//!     control E(inout headers h, inout metadata m, inout standard_metadata_t s) { apply { } }
//!     control D(packet_out p, in headers h) { apply { } }
//!     V1Switch(P(), C(), I(), E(), C(), D()) main;
//! "#;
//! let start = Start::read(source.as_bytes(), Default::default())?;
//!
//! // Attach: two ends of a link in memory each, where `forebay_ports` opens interfaces.
//! let (first, mut sender) = MemoryPort::pair("first", "sender", 64);
//! let (second, mut receiver) = MemoryPort::pair("second", "receiver", 64);
//! let mut daemon = Daemon::new(start.pipeline, Default::default());
//! daemon.attach(1, Box::new(first));
//! daemon.attach(2, Box::new(second));
//!
//! // Run.
//! let running = daemon.start()?;
//! sender.inject(&[0xab; 60]);
//! let end = Instant::now() + Duration::from_secs(10);
//! while receiver.extract().is_none() {
//!     assert!(Instant::now() < end, "the packet has not come");
//!     std::thread::sleep(Duration::from_millis(1));
//! }
//!
//! // Replace the program by one that sends to port 1.
//! let other = Start::read(source.replace("= 2", "= 1").as_bytes(), Default::default())?;
//! assert!(running.replace(other.pipeline), "all workers run it");
//!
//! // Report, and stop.
//! assert_eq!(running.report().counters.received, 1);
//! let stopped = running.stop()?;
//! assert_eq!(stopped.report.counters.transmitted, 1);
//! assert!(stopped.failures.is_empty());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Guarantees
//!
//! * Nothing is printed, and the process does not end: problems are values ([`Error`], [`Event`]).
//! * Workers take no lock and allocate nothing for a packet; requests for reports are answered between two polls.
//! * When a worker fails all stop, and [`Running::stop`] returns why.
//! * A switch that stops first lets out what is inside, for at most a second.

#![forbid(unsafe_code)]
#![deny(clippy::print_stdout, clippy::print_stderr, clippy::exit)]

mod control;
mod error;
mod gates;
mod program_slot;
mod queue_control;
mod ready;
mod report;
mod running;
mod saved_state;
mod start;
mod worker;

pub use control::{Confine, ControlPlane, Join, Replaced, ServeOptions, serve};
pub use error::Error;
pub use forebay_histogram::Histogram;
pub use gates::{Gates, NumberedPort};
pub use program_slot::ProgramSlot;
pub use queue_control::{QUEUE_DEPTH_MAX, QueueControl, QueueError};
pub use ready::{Lacks, ReadyWhen};
pub use report::{Event, Report};
pub use running::{Daemon, Running, Stopped, Watch};
pub use saved_state::Tell;
pub use start::Start;
pub use worker::OwnPoll;
