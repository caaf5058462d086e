//! Between words that people type and the messages of P4Runtime.
//!
//! ```text
//!   line ─► words ─► command::read ─► Command ─► (a connection)  ─► entities ─► show ─► listing ─► table, JSON
//!                        │ Catalog: P4Info by name
//!                        ├ key, action, data, value     notations ↔ FieldMatch, Action, P4Data, byte strings
//!                        └ completion                   the same forms, backwards
//! ```
//!
//! Everything here is pure: no connection, no terminal. What is wrong in a line is found before anything is sent and is
//! a [`Mistake`] that says what would be right. What is shown can be typed again.

#![cfg_attr(not(test), deny(clippy::disallowed_methods, clippy::disallowed_types))]
#![forbid(unsafe_code)]

mod action;
mod arguments;
pub mod catalog;
pub mod command;
mod completion;
mod data;
mod key;
pub mod listing;
mod mistake;
pub mod rates;
pub mod show;
mod value;
mod words;

pub use catalog::Catalog;
pub use command::{Change, Command, Limit, Modification, Push, Reading, Watching, identity, read};
pub use completion::complete;
pub use listing::{Cell, Record};
pub use mistake::Mistake;
pub use words::split;
