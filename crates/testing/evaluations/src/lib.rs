//! Evaluations of forwarding devices: what a table costs when it is large, how large it may be, and how soon an update
//! acts.
//!
//! | module | question |
//! |---|---|
//! | [`flows`] | latency and rate with one rule and with all, with one flow and with many |
//! | [`table_size`] | how many rules a table takes such that each forwards its packet |
//! | [`updates`] | how long after a control-plane call packets are treated by the new rule |
//! | [`ring`] | how many messages a second go through aggregation and disaggregation; [`sockets`]: what a user program reaches |
//! | [`comparison`] | devices beside one another, by recorded and published figures |
//! | [`compare`] | two results of one evaluation, side by side |
//!
//! A folder of `experiments/` with an `evaluation.toml` ([`Evaluation`]) is one of them, with published values;
//! [`report`] puts these beside what was measured. The device is a router in memory ([`router`], [`rules`]), or a
//! switch behind interfaces.
//!
//! # Guarantees
//! * Every packet carries its number and times: loss is exact, latency is that of all packets.
//! * Both ends and the control plane read one clock.
//! * A size counts as operable when a packet for each entry came out with what this entry writes.

#![forbid(unsafe_code)]

pub mod compare;
pub mod comparison;
pub mod control;
pub mod evaluation;
pub mod flows;
pub mod frames;
mod growth;
mod own_growth;
pub mod report;
pub mod ring;
mod ring_report;
pub mod router;
pub mod rules;
pub mod sockets;
pub mod table_size;
pub mod trials;
pub mod updates;

pub use evaluation::{Evaluation, Found};
pub use forebay_tester::machine;
