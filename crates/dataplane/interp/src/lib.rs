//! The reference executor: slow, obvious, and the specification of every other executor.
//!
//! ```text
//!   bytes ─► parser ─► controls ─► deparser ─► bytes        each step ─► Tracer
//!               │          │           │
//!               └──────────┼───────────┘
//!                          ▼
//!     State (slots), Objects (tables, registers, …), Requests (clone, digest, …) for the architecture
//! ```
//!
//! An [`Execution`] takes one packet through the bodies of a [`forebay_ir::Program`]: parser, controls, deparser. It
//! reads and writes a [`State`](forebay_exec::State) (the values of all slots), uses tables, registers and the like
//! through [`Objects`](forebay_exec::Objects), and collects [`Requests`](forebay_exec::Requests)
//! (clone, resubmit, digest, ...) for the architecture, which acts on them when the body has ended. A
//! [`Tracer`](forebay_exec::Tracer) receives every step.
//!
//! | file | what it executes |
//! |---|---|
//! | `execution.rs` | blocks, terminators, table application |
//! | `packet_ops.rs` | extract, advance, lookahead, emit |
//! | `extern_ops.rs` | registers, counters, meters, hashes, checksums, requests |
//!
//! Expressions have no side effects: [`forebay_exec::eval`] computes them.
//!
//! # Guarantees
//!
//! * Every body ends: after [`Input::step_limit`](forebay_exec::Input::step_limit) statements and terminators it is
//!   stopped ([`Ended::StepLimit`](forebay_exec::Ended::StepLimit)).
//! * No packet makes it panic, provided that the program passes the verifier of `forebay-ir`.
//! * Without a tracer nothing is allocated for a packet, except for digests and values wider than 128 bits.
//! * The result depends on nothing but its arguments: `random` is a function of
//!   [`Input::random_seed`](forebay_exec::Input::random_seed).

#![cfg_attr(not(test), deny(clippy::disallowed_methods, clippy::disallowed_types))]
#![forbid(unsafe_code)]

mod execution;
mod extern_ops;
mod packet_ops;

pub use execution::Execution;
