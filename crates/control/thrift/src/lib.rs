//! The control interface of BMv2: its calls over Thrift, and the commands of simple_switch_CLI.
//!
//! ```text
//!   simple_switch_CLI, p4-utils ─ Thrift ─► serve ─► wire ─► calls ─┐
//!   files of commands, `forebay` as simple_switch_CLI ─► commands ──┴─► Runtime ─ P4Runtime's messages ─► Switch
//!                                                                      handles, nodes, names
//! ```
//!
//! * [`Runtime`] has what this interface has and P4Runtime has not: handles of entries, multicast nodes, priorities of
//!   which the lowest wins. For everything else it calls a [`Switch`] with P4Runtime's messages, so that both
//!   interfaces see the same state.
//! * [`Notifications`] publishes digests, idle entries and changes of ports over nanomsg, as BMv2 does.
//! * [`serve`] answers calls on a port; [`Client`] makes one of them: a line of commands.
//! * Names and numbers are those of `standard.thrift`, `simple_pre_lag.thrift` and `simple_switch.thrift` of BMv2 1.15.

#![forbid(unsafe_code)]

mod arrays;
mod calls;
mod client;
mod codes;
mod commands;
mod connections;
mod handles;
mod key;
mod line;
mod notifications;
mod profiles;
mod program;
mod replication;
mod runtime;
mod server;
mod switch;
mod tables;
mod watch;
mod wire;

pub use client::Client;
pub use codes::Failure;
pub use commands::{Line, are_commands, lines, only_shows};
pub use notifications::Notifications;
pub use runtime::Runtime;
pub use server::{Serving, serve};
pub use switch::{About, Load, PortAbout, QueueChange, QueueLimit, Switch};

/// The port on which BMv2 listens.
pub const DEFAULT_PORT: u16 = 9090;
