//! The tester as a service: a subset of the Open Traffic Generator API, so that scripts for `snappi` run unmodified.
//!
//! ```text
//!   snappi ─ HTTP(S), JSON ─► service ─► state ─► config: what is sent        (every mistake names its field)
//!                                          │
//!                                          └────► engine: a thread that sends, receives and counts
//! ```
//!
//! | path | method | what |
//! |---|---|---|
//! | `/config` | POST, GET | ports, devices, flows, captures |
//! | `/config/append`, `/config/delete` | PATCH | more flows, or fewer |
//! | `/control/state` | POST | flows start, stop, pause, resume; captures and devices start, stop |
//! | `/control/action` | POST | pings from devices |
//! | `/monitor/metrics` | POST | counters, loss and latency of flows; counters of ports |
//! | `/monitor/states` | POST | MAC addresses that devices have found |
//! | `/monitor/capture` | POST | what a port has received, as pcapng or pcap |
//! | `/capabilities/version` | GET | the version of the API and of Forebay |
//! | `/forebay/v1/flows` | GET | distributions of latency and inter-arrival times of each flow, and the self test: what the API has no fields for |
//! | `/openapi.json` | GET | all of this for programs |
//!
//! # Guarantees
//! * What is not supported is refused with the path of its field: nothing that a script asks for is passed over in
//!   silence.
//! * Requests, flows, frames and captures are bounded.
//! * Counters are exact; a flow that has stopped keeps receiving what is still under way.

#![forbid(unsafe_code)]

mod capture;
mod config;
mod connections;
mod devices;
mod echo;
mod engine;
mod field;
mod hosts;
mod metrics;
mod neighbours;
mod node;
mod openapi;
mod packet;
mod self_signed;
mod service;
mod state;
mod tls;

pub use config::Config;
pub use devices::{Interfaces, Memory};
pub use engine::{Devices, Opened};
pub use node::Wrong;
pub use service::serve;
pub use state::{Answer, Generator};
pub use tls::Tls;

/// The versions of the Open Traffic Generator API whose clients are served, as these compare them with their own.
pub const API_VERSIONS: &str = ">=1.0.0,<2.0.0";

/// The version of the Open Traffic Generator API.
pub const API_VERSION: &str = "1.62.0";
