//! Whether a program fits a chip with match-action stages (an RMT chip), and how: tables, registers, counters and
//! fields on the chip's stages.
//!
//! ```text
//!   Program ─► units ─► dependencies ─► placement ─► Report
//!              what stands in a        stage by        table, JSON, drawing
//!              stage: tables,          stage
//!              registers, operations
//! ```
//!
//! | file | what it does |
//! |---|---|
//! | `machine.rs` | what a chip has, read from `machines/*.toml`, each value with its source |
//! | `conditions.rs` | on which conditions the blocks of a control depend |
//! | `effects.rs` | what operations and expressions read and write, and how many stages they take |
//! | `units.rs` | a control taken apart into units |
//! | `demand.rs` | what a unit takes of a stage |
//! | `dependencies.rs` | which unit has to come after which, and why |
//! | `placement.rs` | units on stages |
//! | `fields.rs` | header fields and metadata in the packet header vector |
//! | `waits.rs` | which stages wait for which: the latency of a packet |
//! | `report.rs`, `drawing.rs` | the result, for people and programs |
//!
//! # What is simplified
//!
//! This is a model for reasoning, not the vendor's fitter, which knows far more rules and tries harder.
//!
//! * An operation does one step of arithmetic in a stage; slices, casts and concatenations are free, and so are
//!   conditions.
//! * A table's memory is its entries, packed into rows, without the room that hashing needs; action data of up to 32
//!   bits stand with their entry.
//! * A register is accessed once for a packet, in one stage. What is computed between its reading and its writing
//!   belongs to it. One that is wider than an arithmetic unit takes several, in consecutive stages where there are not
//!   enough, and shares its stages with no other wide one.
//! * A hash that is only an index is computed where the index is used.
//! * Fields are packed without loss into [`Fields::usable_bytes`](machine::Fields::usable_bytes).
//! * Parsers and deparsers, and the number of ways of an exact match, are not modelled.

#![cfg_attr(not(test), deny(clippy::disallowed_methods, clippy::disallowed_types))]
#![forbid(unsafe_code)]

mod conditions;
mod demand;
mod dependencies;
mod drawing;
mod effects;
mod fields;
pub mod machine;
mod placement;
mod report;
mod units;
mod waits;

pub use demand::Demand;
pub use dependencies::Kind as DependencyKind;
pub use machine::{Machine, MachineError};
pub use report::{Placed, Report, Step, report};
pub use waits::{ControlWaits, StageWait, Wait};
