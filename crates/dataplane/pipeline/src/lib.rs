//! A loaded program: architecture, tables and the chosen executor.
//!
//! ```text
//!            control/: entries, registers, counters, groups by P4 names
//!                                   │
//!  IngressPacket ─► Worker::ingress ─► IngressDecision ─► the switch's queues ─► EgressPacket ─► Worker::egress ─► EgressDecision
//! ```
//!
//! * [`Pipeline::load`] turns a [`forebay_ir::Program`] into tables, objects and replication state.
//! * A [`Worker`] processes bursts of packets. Each thread has its own worker; all workers share one [`Pipeline`].
//! * What an architecture does between and after the bodies is a graph ([`forebay_ir::pipeline`]). `graph/` follows
//!   it, with the interpreter or with machine code. Specialised code includes the graph; it exists for programs with
//!   one parser and one deparser. `straight/` converts programs with several of them to that form.
//!
//! A pipeline does no input or output, and reads no clock: see [`IngressArguments`] and [`EgressArguments`].

#![cfg_attr(not(test), deny(clippy::disallowed_methods, clippy::disallowed_types))]

mod compare;
mod control;
mod drop_place;
mod error;
mod frame_buffer;
mod generations;
mod graph;
mod layout;
mod load;
mod machine_code;
mod memory;
mod objects;
mod outcome;
mod packet;
mod paths;
mod pool;
mod replication;
mod scratch;
mod sections;
mod storage;
mod straight;
mod worker;

pub use control::{AdoptedEntry, Held, LearnedEntries, LearnedEntry, LearningCounters};
pub use control::{Batch, CrcParameters, EndedEntries, Entry, EntryAction, IdleTime, MeterRates, Record, TableMemory};
pub use drop_place::DropPlace;
pub use error::{ControlError, LoadError, ObjectKind};
/// `PSA_PORT_CPU`, `PNA_PORT_CPU`: the port to the controllers in programs for PSA and PNA.
pub use forebay_arch::psa::PORT_CPU as PORTABLE_CPU_PORT;
/// `PSA_PORT_RECIRCULATE`: copies may have this port in programs for PSA.
pub use forebay_arch::psa::PORT_RECIRCULATE as RECIRCULATION_PORT;
/// The value of `egress_spec` that drops a v1model packet.
pub use forebay_arch::v1model::DROP_PORT;
pub use forebay_exec::{Event, NoTrace, Tracer};
pub use forebay_jit::route::{BailOut, Obstacle, ObstacleKind, Pass, PassSet, Stops};
pub use forebay_tables::{ColorCounts, CounterValue, TokenRate};
pub use frame_buffer::FrameBuffer;
pub use load::{BesideWorkers, EXPIRY_PROFILES, Engine, FastPath, GROUP_WEIGHT_MAX, Options, Pipeline};
pub use memory::{Demand, demands};
pub use outcome::{Decided, DigestMessage, DropCounters, DropReason, EgressDecision, IngressDecision};
pub use packet::{
    EgressArguments, EgressPacket, IngressArguments, IngressPacket, InstanceType, LeavingPacket, Origin, Passes,
    QueuedPacket,
};
pub use paths::{FastForm, FurtherPasses, PathCounters, SlowReason};
pub use replication::{CLASS_OF_SERVICE_MAX, CloneSession, Replica};
pub use worker::{
    Arrival, Cloned, Copied, FlowKey, GoingOn, Leaving, PacketVerdict, PassedQueue, Return, Session, VerdictRun, Worker,
};
