//! The benchmark programs, written by hand.
//!
//! Each module is the twin of a program in `programs/`: the same frames in give the same frames out, in the same order,
//! byte for byte, and the same packets are dropped for the same named reasons; `forebay-bench` tests that. Inside they
//! are what an engineer writes for this one purpose: no program, no general tables, only code. They say how far
//! compiled P4 is from that.
//!
//! ```text
//!   Port ─ receive ─► Function::process ─► Outputs ─ send ─► Port
//!                     (a burst of 64)      (a burst for each port)
//! ```
//!
//! 1. [`forwarder`]: the loop around a function, its ports and its drop counters.
//! 2. [`mac_table`], [`lpm`]: tables; large ones are read in stages with prefetches, small ones straight.
//! 3. [`port_forward`], [`l2`], [`l3`], [`aggregate`], [`disaggregate`]: the functions.
//!
//! Their tables are filled when they are made and do not change.

#![cfg_attr(not(test), deny(clippy::disallowed_methods, clippy::disallowed_types))]

pub mod aggregate;
mod crc32;
pub mod disaggregate;
pub mod forwarder;
mod headers;
pub mod iot;
pub mod l2;
pub mod l3;
pub mod lpm;
pub mod mac_table;
mod memory;
pub mod port_forward;
mod processor;
mod routing;

pub use forwarder::{DropReason, Forwarder, Function, Outputs};
