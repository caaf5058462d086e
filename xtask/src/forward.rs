//! Commands of `crates/testing/conformance`, which needs the whole platform.

use anyhow::{Context, Result};
use std::ffi::OsString;
use std::process::{Command, ExitCode};

/// What the command is given.
#[derive(clap::Args)]
pub struct Arguments {
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    arguments: Vec<OsString>,
}

/// Compiles the crate and runs a command of it.
pub fn run(command: &str, arguments: &Arguments) -> Result<ExitCode> {
    let status = Command::new(env!("CARGO"))
        .args([
            "run",
            "--quiet",
            "--release",
            "--package",
            "forebay-conformance",
            "--",
            command,
        ])
        .args(&arguments.arguments)
        .status()
        .context("cannot run cargo")?;
    Ok(match status.code() {
        Some(code) => ExitCode::from(code.clamp(0, 255) as u8),
        None => ExitCode::FAILURE,
    })
}
