//! P4Runtime 1.5 as a state machine: no sockets, no clock, no threads.
//!
//! ```text
//!   calls ─► Device ─┬ arbitration, roles        who may write
//!                    ├ pipeline_config           programs pushed, saved, committed
//!                    ├ Forwarding ─┬ schema      ids of P4Info ↔ objects of the program
//!                    │             ├ entity/     a file for each kind of entity: written, read
//!                    │             ├ ledger      what readers want back and packets do not need
//!                    │             └ forebay_pipeline::Pipeline
//!                    └ stream/                   digests, idle entries
//!   Device ─► outputs: messages for streams, packets for the data plane, programs to run, what is to be kept (save)
//!   Keeping ─► Keeper: keeps it, and refuses changes while that fails
//! ```
//!
//! The server around it (`forebay-server`) gives it what comes from the network, from the data plane and from the
//! clock, and does what its outputs say. Everything that the specification says happens here, so that it can be tested
//! without a network: see `tests/`.
//!
//! * Section numbers (§) are those of the P4Runtime specification 1.5.
//! * An error is a code of the specification and a sentence that names the object of the program. A request that fails
//!   has changed nothing.

#![cfg_attr(not(test), deny(clippy::disallowed_methods, clippy::disallowed_types))]
#![forbid(unsafe_code)]

mod adopt;
mod arbitration;
mod bundle;
mod bytestring;
mod change;
mod data;
mod device;
mod entity;
mod forwarding;
mod in_use;
mod keeping;
mod known;
mod learned;
mod ledger;
mod pipeline_config;
mod ports;
mod program;
mod reconcile;
mod roles;
mod save;
mod schema;
mod status;
mod stream;
mod summary;
mod undo;

pub use bundle::Bundle;
pub use device::{Device, Now, Output, Retired, Settings, StreamId};
pub use keeping::{Changed, Event, Fault, Keeper, Keeping, KeepingStatus};
pub use known::known;
pub use pipeline_config::{NewProgram, PushedProgram};
pub use program::{Loaded, load, load_with};
pub use save::clock;
pub use status::{Code, Error, Rejection};
pub use summary::{ObjectSummary, ProgramSummary, Summary, summary};
