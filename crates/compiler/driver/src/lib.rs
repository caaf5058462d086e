//! From a program's text to what executes: the compiler as one library.
//!
//! A program comes in one of three formats ([`Format`]). This crate is the only place that tells them apart.
//!
//! ```text
//!  P4_16 ──────────► syntax ─► check ─► lower ─┐
//!                    (tree)    (typed program) ├─► IR, P4Info
//!  IR text ────────► ir::text, verify ─────────┤
//!  JSON of BMv2 ───► bmv2 ─────────────────────┘
//! ```
//!
//! | file | what it does |
//! |---|---|
//! | `source.rs` | [`compile`] and [`check`] for P4 source |
//! | `fragment.rs` | one message for a file that is only a part of a program |
//! | `format.rs` | [`Format`]: what a text or a file holds |
//! | `compiled.rs` | [`read_compiled`] for programs that were compiled before |
//! | `files.rs` | [`FileSources`]: P4 sources from the file system |
//!
//! # Guarantees
//!
//! * [`compile`] is a pure function. A user's mistake is a diagnostic: not a `Result::Err`, not a panic and not a log
//!   line.
//! * Nothing here opens a file but [`FileSources`], which the caller passes to [`compile`]; `#include` reads what the
//!   caller's [`SourceProvider`](forebay_syntax::source::SourceProvider) gives it, and nothing else.

#![forbid(unsafe_code)]

mod compiled;
mod files;
mod format;
mod fragment;
mod source;

pub use compiled::{Precompiled, read_compiled};
pub use files::{FileSources, SIZE_LIMIT_BYTES};
pub use format::Format;
pub use source::{Checked, Compiled, Options, check, compile};
