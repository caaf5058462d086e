//! `cargo xtask bless`: rewrites the expected texts of golden tests.

use anyhow::{Context, Result};
use std::process::{Command, ExitCode};

/// The golden tests by package and name, and the folders of their expected texts.
const GOLDEN: &[(&str, &str, &str)] = &[
    ("forebay-driver", "golden", "tests/errors"),
    ("forebay-arch", "golden", "crates/dataplane/arch/tests/golden"),
    ("forebay-cli", "specialised", "crates/app/cli/tests/specialised"),
];

/// Runs the golden tests with the variable that makes them write instead of compare.
pub fn run() -> Result<ExitCode> {
    let mut all_written = true;
    for &(package, test, _) in GOLDEN {
        let status = Command::new(env!("CARGO"))
            .args(["test", "--quiet", "--package", package, "--test", test])
            .env("BLESS", "1")
            .status()
            .context("cannot run cargo test")?;
        all_written &= status.success();
    }
    let folders: Vec<&str> = GOLDEN.iter().map(|&(_, _, folder)| folder).collect();
    println!("look at the change with: git diff {}", folders.join(" "));
    Ok(if all_written {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}
