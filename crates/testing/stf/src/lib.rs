//! Runs STF tests: fills the tables of a pipeline, sends packets, and compares what comes out with what is expected.
//!
//! [`run`] runs a [`Test`](forebay_entries::Test), which [`forebay_entries::parse`] reads, against a switch in memory.
//! The [`Outcome`] says what failed. [`run_both`] compares the two engines, [`run_switch_and_chip`] the two switches.

#![cfg_attr(not(test), deny(clippy::disallowed_methods, clippy::disallowed_types))]
#![forbid(unsafe_code)]

mod bench;
mod compare;
mod device;
mod engines;
mod fields;
mod outcome;
mod random;
mod runner;

pub use engines::{run_both, run_programs, run_switch_and_chip};
pub use outcome::{Failure, FailureKind, Note, Outcome};
pub use random::RandomTest;
pub use runner::{Observer, run, run_attached, run_on_chip};
