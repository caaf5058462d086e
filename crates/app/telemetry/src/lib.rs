//! Metrics of a running switch, for monitoring systems.
//!
//! ```text
//!                          ┌─► prometheus ─► Server: GET /metrics ◄─ Prometheus, VictoriaMetrics, curl
//!   Watch ─► switch ─► [Family]
//!   (daemon)               ├─► influx ────┐
//!                          └─► otlp ──────┴─► Pusher ─► InfluxDB 1 and 2, VictoriaMetrics, an OpenTelemetry collector
//! ```
//!
//! 1. [`family`]: metrics with labels and values, as every format has them.
//! 2. [`switch`]: the metrics of a switch, from its [`forebay_daemon::Report`].
//! 3. [`prometheus`], [`influx`], [`otlp`]: the formats.
//! 4. [`Exporter`]: a server of `/metrics`, `/ready` and `/healthz`, and pushers, in a thread of their own.
//!
//! # Guarantees
//! * Workers do nothing for it but answer for a report between two polls, as for the statistics of `forebay run`.
//! * Everything that waits is bounded: connections, the time of a request, batches on their way to a database. A batch
//!   that cannot be delivered is tried again a limited number of times and then counted as lost.
//! * The number of series is bounded by the program and its ports; no label has a value that comes from packets.

#![forbid(unsafe_code)]
#![deny(clippy::print_stdout, clippy::print_stderr, clippy::exit)]

mod exporter;
pub mod family;
mod http;
pub mod influx;
pub mod otlp;
pub mod prometheus;
pub mod push;
pub mod switch;
mod target;
mod time;

pub use exporter::{Exporter, Ready, ReadyPage, Source, resolve};
pub use family::{Distribution, Family, Kind, Sample, Value};
pub use http::Authorities;
pub use push::{Batch, PushCounts, Pusher};
pub use target::{Identity, Target, TargetError};
pub use time::rfc3339;
