//! Programs and scenarios from the file system, for the command and for the Python package.
//!
//! | file | what it does |
//! |---|---|
//! | `program.rs` | [`compile_file`], [`compile_text`]: P4 source, IR text or BMv2's JSON to a [`Compilation`] |
//! | `compiled.rs` | programs that were compiled before, with the P4Info that lies beside them |
//! | `library.rs` | [`Folder`]: what scenarios and experiments name |
//! | `text.rs` | [`text()`] and others: files read and written, with messages that name the file |
//!
//! A mistake in a program is in its [`Report`]. An [`Error`] is a file that cannot be read or written.

#![forbid(unsafe_code)]

mod compiled;
mod error;
mod library;
mod program;
mod text;

pub use compiled::{is_bmv2, p4info_beside, read_compiled};
pub use error::Error;
pub use library::Folder;
pub use program::{Compilation, CompileOptions, Report, compile_file, compile_text, with_bundle, with_options};
pub use text::{bytes, check_folder, check_program, check_writable, make_folder, text, write};
