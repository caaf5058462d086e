//! Programs of others, and the repository's own in many forms, against what they should do.
//!
//! ```text
//! cargo xtask conformance --p4c DIR    p4c's own programs against Forebay
//! cargo xtask bmv2 DIR                 JSON that p4c has written for BMv2, beside its source
//! cargo xtask metamorphic [--p4c DIR]  programs rewritten without a change of meaning do the same
//! ```
//!
//! These commands need the whole platform. They are apart from `xtask`, whose commands are there before anything else
//! is compiled.

#![forbid(unsafe_code)]

mod bmv2;
mod metamorphic;
mod p4c;

use clap::{Parser, Subcommand};
use std::process::ExitCode;

#[derive(Parser)]
#[command(name = "cargo xtask", about = "Programs against what they should do")]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Run p4c's own programs and compare with what docs/conformance.json records
    Conformance(p4c::Arguments),
    /// One program, as the conformance runner's child process
    #[command(hide = true)]
    ConformanceWorker(p4c::WorkerArguments),
    /// Read a folder of JSON that p4c has written for BMv2, and compare what each does with its source
    Bmv2(bmv2::Arguments),
    /// Rewrite programs without a change of meaning, and compare what they do with their packets
    Metamorphic(metamorphic::Arguments),
}

fn main() -> ExitCode {
    let result = match Arguments::parse().command {
        Command::Conformance(arguments) => p4c::run(&arguments),
        Command::ConformanceWorker(arguments) => p4c::run_worker(&arguments),
        Command::Bmv2(arguments) => bmv2::run(&arguments),
        Command::Metamorphic(arguments) => metamorphic::run(&arguments),
    };
    result.unwrap_or_else(|error| {
        eprintln!("error: {error:#}");
        ExitCode::from(2)
    })
}
