//! The messages of `p4.config.v1` (`p4info.proto` and `p4types.proto`), field by field.
//!
//! Names are the protobuf's, except where one is a word of Rust (`match_kind` for the `oneof match`). Messages that
//! P4Info always has are fields, those that may be absent are `Option`s. All have [`Default`].
//!
//! Not modelled: the content of `google.protobuf.Any` ([`Any`] holds it as bytes).

mod common;
mod objects;
mod tables;
mod types;

pub use crate::field::Bytes;
pub use common::*;
pub use objects::*;
pub use tables::*;
pub use types::*;

use crate::field::message;

message! {
    /// The root: everything that a control plane knows of a program.
    P4Info {
        /// About the program as a whole.
        1 "pkg_info" pkg_info: Option<PkgInfo>,
        /// Match-action tables.
        2 "tables" tables: Vec<Table>,
        /// Actions that tables list.
        3 "actions" actions: Vec<Action>,
        /// Action profiles and selectors.
        4 "action_profiles" action_profiles: Vec<ActionProfile>,
        /// Indirect counters.
        5 "counters" counters: Vec<Counter>,
        /// Direct counters.
        6 "direct_counters" direct_counters: Vec<DirectCounter>,
        /// Indirect meters.
        7 "meters" meters: Vec<Meter>,
        /// Direct meters.
        8 "direct_meters" direct_meters: Vec<DirectMeter>,
        /// Headers of packet-in and packet-out.
        9 "controller_packet_metadata" controller_packet_metadata: Vec<ControllerPacketMetadata>,
        /// Parser value sets.
        10 "value_sets" value_sets: Vec<ValueSet>,
        /// Register arrays.
        11 "registers" registers: Vec<Register>,
        /// Digests.
        12 "digests" digests: Vec<Digest>,
        /// Extern instances of other types.
        100 "externs" externs: Vec<Extern>,
        /// Types that the rest names.
        200 "type_info" type_info: Option<P4TypeInfo>,
    }
}
