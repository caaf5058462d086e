//! A packet's way through a program, for people and as JSON.
//!
//! ```text
//!  events of an executor ─► event_words ─► groups ─► TracePrinter ─► text, JSON
//!                           (a step each)  (a statement's steps together)
//!                               ▲                 ▲
//!                               │                 validity: which headers are valid
//!                          source_lines: what stands in the program's source
//! ```
//!
//! A [`PacketCapture`] writes the packets of a test as pcapng, with what became of each. A [`TracePrinter`] is a
//! [`Tracer`](forebay_pipeline::Tracer) that keeps what it is told until it is asked. The sources of the program are
//! read from the file system to be quoted; where they are missing, traces quote nothing.

#![forbid(unsafe_code)]

mod capture;
mod event_words;
mod groups;
mod printer;
mod source_lines;
mod validity;
mod value_words;

pub use capture::{Both, Fate, PacketCapture};
pub use printer::TracePrinter;
pub use source_lines::{Condition, SourceLines};
