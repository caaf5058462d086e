//! PFCP (3GPP TS 29.244), the protocol of N4 between SMF and UPF, from the UPF's side.
//!
//! ```text
//!   datagrams ◄─► node    ◄─► session ◄─► rules      ─► UserPlane
//!                 associations, requests,   PDR, FAR, QER,     the data plane, which the caller
//!                 answers, reports          URR, BAR           has: forebay-upf
//!                      └────────── wire: header, information elements ───┘
//! ```
//!
//! * [`wire`]: messages and information elements as bytes.
//! * [`rules`]: the rules for packets that an SMF sets.
//! * [`Session`]: the rules of a UE. A request changes a copy of it; the copy takes its place when the data plane has
//!   accepted it, so a request is done or leaves everything as it was.
//! * [`Node`]: all sessions and associations, and everything that goes by time.
//!
//! Everything here is pure: no socket, no clock, no data plane. Datagrams, the time and a [`UserPlane`] are arguments.
//! Malformed input ends in a counter ([`Counters`]) or in an answer with cause and offending element, never in a panic.
//!
//! # Why a codec of its own
//!
//! `rs-pfcp` 0.5.0 was looked at (August 2026, Apache-2.0, alive, all elements of release 18). It takes random messages
//! without a panic: 16 million, of which 11 % were accepted. It is not used for three reasons. As a library it depends
//! on `clap`, `network-interface`, `pcap-file` and a YAML writer, 80 crates in all. Its messages are boxed trait
//! objects whose elements are each a vector, and its errors do not say which rule of a session they are about, which an
//! answer must (Failed Rule ID). And it has 98,000 lines where a UPF needs the sixty elements of `wire`. Its changelog
//! of 0.5.0 mends the encoding of F-TEID, bit rates, interfaces and time stamps; ours is held against go-pfcp and
//! Wireshark in the tests.

#![cfg_attr(not(test), deny(clippy::disallowed_methods, clippy::disallowed_types))]
#![forbid(unsafe_code)]

mod node;
mod numbers;
mod plane;
mod resources;
pub mod rules;
mod session;
pub mod wire;

pub use node::{Association, Counters, Event, Node, PORT, SaveError, Settings};
pub use plane::UserPlane;
pub use resources::{Limits, Pools};
pub use session::{Asked, Endpoint, Session};
