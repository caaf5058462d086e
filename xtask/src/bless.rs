//! `cargo xtask bless`: rewrites the golden diagnostics.

use anyhow::{Context, Result};
use std::process::{Command, ExitCode};

/// Runs the golden tests with the variable that makes them write instead of compare.
pub fn run() -> Result<ExitCode> {
    let status = Command::new(env!("CARGO"))
        .args(["test", "--quiet", "--package", "forebay-driver", "--test", "golden"])
        .env("FOREBAY_BLESS", "1")
        .status()
        .context("cannot run cargo test")?;
    println!("look at the change with: git diff tests/errors");
    Ok(if status.success() {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}
