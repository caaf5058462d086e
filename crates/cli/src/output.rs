//! Writing to the standard output without panicking when nobody reads it.

use anyhow::{Context, Result};
use std::io::{self, ErrorKind, IsTerminal, Write};

/// Writes the text.
pub fn print(text: &str) -> Result<()> {
    let mut stdout = io::stdout().lock();
    stdout
        .write_all(text.as_bytes())
        .and_then(|()| stdout.flush())
        .context("cannot write to the standard output")
}

/// Writes a JSON document on several lines.
pub fn print_json(value: &serde_json::Value) -> Result<()> {
    print(&format!("{value:#}\n"))
}

/// Writes to the standard error; when nobody reads that there is nobody to tell.
pub fn message(text: &str) {
    let _ = io::stderr().write_all(text.as_bytes());
}

/// Writes over the line on the standard error that says what is being done, if a person reads it; an empty text removes it.
pub fn progress(text: &str) {
    if io::stderr().is_terminal() {
        message(&format!("\r\x1b[K{text}"));
    }
}

/// Whether the error is that the reader of the standard output has gone (`forebay ... | head`).
pub fn is_broken_pipe(error: &anyhow::Error) -> bool {
    error
        .downcast_ref::<io::Error>()
        .is_some_and(|error| error.kind() == ErrorKind::BrokenPipe)
}

/// Whether messages on the standard error may have colours.
pub fn colour() -> bool {
    io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none()
}
