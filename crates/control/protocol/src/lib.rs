//! The messages of P4Runtime 1.5 and gNMI, and their text form.
//!
//! ```text
//!   proto/*.proto ─► build.rs ─┬► Rust types   p4::v1, p4::config::v1, google::rpc, stratum, gnmi
//!                              └► descriptors ─► text form, binary form of P4Info
//! ```
//!
//! * [`p4`], [`google`], [`stratum`] and [`gnmi`]: the types, made of the `.proto` files in `proto/` without a program
//!   from outside.
//! * [`text`]: any of the messages from and to the text form of protocol buffers.
//! * [`p4info`]: between the P4Info of the compiler (`forebay_p4info`) and that of the protocol.
//! * [`Address`]: where a server of these protocols listens, as people write it; [`why_not_listening`] has what helps
//!   when it cannot.
//! * [`with_causes`]: an error of the transport, with what it hides; [`of_certificates`]: one about certificates.
//! * [`StateReport`]: our own part of the answer to `Capabilities`.
//! * [`DESCRIPTORS`]: the schema itself; `tests/descriptors.rs` compares it with that of the protocol's own packages.
//!
//! There is no service here: it needs a network, and is in `forebay-server`, `forebay-gnmi` and `forebay-client`.

#![cfg_attr(not(test), deny(clippy::disallowed_methods, clippy::disallowed_types))]
#![forbid(unsafe_code)]

#[allow(missing_docs, reason = "generated; the .proto files have the comments")]
mod generated {
    include!(concat!(env!("OUT_DIR"), "/messages.rs"));
}

mod address;
mod causes;
mod json;
pub mod p4info;
mod state_report;
pub mod text;

pub use address::{Address, AddressError, DEFAULT_PORT, why_not_listening};
pub use causes::{of_certificates, with_causes};
pub use state_report::{STATISTICS, StateReport};

pub use generated::{gnmi, gnmi_ext, google, p4, stratum};

/// All `.proto` files and what they import, as an encoded `google.protobuf.FileDescriptorSet`.
pub const DESCRIPTORS: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/descriptors.bin"));
