//! A collector of Telemetry Reports.
//!
//! ```text
//!                     ┌─► analysis: lost reports, paths, loops, microbursts ─► metrics
//!   UDP ─► report ────┼─► store: Parquet files ◄─ query
//!                     └─► points: line protocol ─► a database
//! ```
//!
//! 1. [`report`]: a datagram taken apart; a pure function of its bytes.
//! 2. [`analysis`]: what reports say together. Bounded, whatever is sent.
//! 3. [`store`]: reports in Parquet files, a row for each hop of a packet.
//! 4. [`query`]: questions to these files.
//! 5. [`Collector`]: all of it behind a socket.
//!
//! # Guarantees
//! * No datagram makes the collector fail; what is malformed is counted by name.
//! * Reports are numbered by their nodes. What does not arrive, also while the collector is away, is counted as
//!   missing.
//! * A file of the store is complete or not there.

#![forbid(unsafe_code)]
#![deny(clippy::print_stdout, clippy::print_stderr, clippy::exit)]

pub mod analysis;
mod collector;
pub mod metrics;
mod points;
pub mod query;
mod receive;
pub mod report;
pub mod store;

pub use collector::{Collector, Settings};
pub use receive::Receiver;
