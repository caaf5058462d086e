//! The reference executor: slow, obvious, and the specification of every other executor.
//!
//! An [`Execution`] takes one packet through the bodies of a [`forebay_ir::Program`]: parser, controls, deparser. It
//! reads and writes a [`State`] (the values of all slots), asks [`Objects`] for tables, registers and the like, and
//! collects [`Requests`] (clone, resubmit, digest, ...) for the architecture, which acts on them when the body has
//! ended. What happens can be watched step by step through a [`Tracer`].
//!
//! | file | what it executes |
//! |---|---|
//! | `execution.rs` | blocks, terminators, table application |
//! | `eval.rs` | expressions |
//! | `packet_ops.rs` | extract, advance, lookahead, emit |
//! | `extern_ops.rs` | registers, counters, meters, hashes, checksums, requests |
//!
//! # Guarantees
//!
//! * Every body ends: after [`Input::step_limit`] statements and terminators it is stopped ([`Ended::StepLimit`]).
//! * No packet makes it panic, provided that the program passes the verifier of `forebay-ir`.
//! * Without a tracer nothing is allocated for a packet, but for digests and values wider than 128 bits.
//! * The result depends on nothing but its arguments: `random` is a function of [`Input::random_seed`].

mod bit_buffer;
mod eval;
mod execution;
mod extern_ops;
mod objects;
mod packet_ops;
mod random;
mod requests;
mod state;
mod trace;

pub use bit_buffer::BitBuffer;
pub use eval::eval;
pub use execution::{Buffers, Ended, Execution, Input};
pub use objects::{Lookup, Objects, PacketFacts};
pub use random::Random;
pub use requests::{CloneRequest, DIGESTS_MAX, DigestRequest, Preserve, Requests};
pub use state::{NumberPlace, State, StateLayout};
pub use trace::{Event, NoTrace, Tracer};
