//! What the executors of a [`forebay_ir::Program`] share with one another and with the architecture.
//!
//! The interpreter (`forebay-interp`) and machine code (`forebay-jit`) execute the same bodies. Both read and write one
//! [`State`] for each packet, reach tables and stateful objects through [`Objects`], and collect [`Requests`] (clone,
//! resubmit, digest, ...), on which the architecture acts when a body has ended:
//!
//! ```text
//!   Input ─────►┌───────────────────┐──────► Ended
//!   State ◄────►│     executor      │──────► Requests
//!   Objects ◄──►│  interp  or  jit  │──────► Buffers::output
//!               └───────────────────┘──────► Tracer (interpreter only)
//! ```
//!
//! | file | contents |
//! |---|---|
//! | `state.rs` | the storage of one packet, with the same layout for every executor |
//! | `objects.rs` | the interface to tables, registers, counters, meters and value sets |
//! | `requests.rs` | a body's requests to the architecture |
//! | `packet.rs` | an executor's input for a packet, the ways in which a body ends, memory that is reused |
//! | `eval.rs` | values of expressions: for the interpreter, and for compilers that fold constants |
//! | `bit_buffer.rs` | the deparser's output and the input of hashes |
//! | `random.rs`, `seed.rs` | the sequence of `random`, and where it begins for a packet |
//! | `trace.rs` | events on a packet's path through a program |

#![cfg_attr(not(test), deny(clippy::disallowed_methods, clippy::disallowed_types))]
#![forbid(unsafe_code)]

mod bit_buffer;
mod eval;
mod objects;
mod packet;
mod random;
mod requests;
mod seed;
mod state;
mod trace;

pub use bit_buffer::BitBuffer;
pub use eval::eval;
pub use objects::{Lookup, Objects, PacketFacts};
pub use packet::{Buffers, Ended, Input};
pub use random::Random;
pub use requests::{CloneRequest, DIGESTS_MAX, DigestRequest, Preserve, Requests};
pub use seed::Seed;
pub use state::{NumberPlace, State, StateLayout};
pub use trace::{Event, NoTrace, Tracer};
