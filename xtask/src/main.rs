//! Development commands.
//!
//! ```text
//! cargo xtask conformance --p4c DIR    p4c's own programs against Forebay
//! cargo xtask bmv2 DIR                 JSON that p4c has written for BMv2, beside its source
//! cargo xtask metamorphic [--p4c DIR]  programs rewritten without a change of meaning do the same
//! cargo xtask bless                    rewrite the golden diagnostics of tests/errors
//! cargo xtask check                    format, lints and unit tests of what was changed
//! cargo xtask figures                  the tables of the documents, from the newest recorded benchmark run
//! cargo xtask release --version X.Y.Z  an archive with manual pages, completions and checksums
//! ```

#![forbid(unsafe_code)]

mod bless;
mod bmv2;
mod check;
mod conformance;
mod figures;
mod metamorphic;
mod release;

use clap::{Parser, Subcommand};
use std::process::ExitCode;

#[derive(Parser)]
#[command(name = "cargo xtask", about = "Development commands of Forebay")]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Run p4c's own programs and compare with what docs/conformance.json records
    Conformance(conformance::Arguments),
    /// One program, as the conformance runner's child process
    #[command(hide = true)]
    ConformanceWorker(conformance::WorkerArguments),
    /// Read a folder of JSON that p4c has written for BMv2, and compare what each does with its source
    Bmv2(bmv2::Arguments),
    /// Rewrite programs without a change of meaning, and compare what they do with their packets
    Metamorphic(metamorphic::Arguments),
    /// Rewrite the golden diagnostics of tests/errors
    Bless,
    /// Check the crates that differ from the main branch: format, lints, unit tests
    Check(check::Arguments),
    /// Write the measured tables of the documents from the newest record of benches/history
    Figures(figures::Arguments),
    /// Check a version, and build the archive of its executable
    Release(release::Arguments),
}

fn main() -> ExitCode {
    let result = match Arguments::parse().command {
        Command::Conformance(arguments) => conformance::run(&arguments),
        Command::ConformanceWorker(arguments) => conformance::run_worker(&arguments),
        Command::Bmv2(arguments) => bmv2::run(&arguments),
        Command::Metamorphic(arguments) => metamorphic::run(&arguments),
        Command::Bless => bless::run(),
        Command::Check(arguments) => check::run(&arguments),
        Command::Figures(arguments) => figures::run(&arguments),
        Command::Release(arguments) => release::run(&arguments),
    };
    result.unwrap_or_else(|error| {
        eprintln!("error: {error:#}");
        ExitCode::from(2)
    })
}
