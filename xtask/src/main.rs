//! Development commands.
//!
//! ```text
//! cargo xtask conformance --p4c DIR    p4c's own programs against Forebay
//! cargo xtask bmv2 DIR                 JSON that p4c has written for BMv2, beside its source
//! cargo xtask metamorphic [--p4c DIR]  programs rewritten without a change of meaning do the same
//! cargo xtask bless                    rewrite the expected texts: diagnostics, graphs, specialised code
//! cargo xtask check                    format, lints and unit tests of what was changed
//! cargo xtask figures                  the tables of the documents, from the newest recorded benchmark run
//! cargo xtask release --version X.Y.Z  an archive of what `make install` installs, with its checksum
//! ```
//!
//! No command here needs a crate of Forebay, so all can be used before anything else is compiled. Those that do are in
//! `crates/testing/conformance`, which is compiled and started for them.

#![forbid(unsafe_code)]

mod bless;
mod check;
mod figures;
mod forward;
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
    #[command(disable_help_flag = true)]
    Conformance(forward::Arguments),
    /// Read a folder of JSON that p4c has written for BMv2, and compare what each does with its source
    #[command(disable_help_flag = true)]
    Bmv2(forward::Arguments),
    /// Rewrite programs without a change of meaning, and compare what they do with their packets
    #[command(disable_help_flag = true)]
    Metamorphic(forward::Arguments),
    /// Rewrite the expected texts of golden tests: diagnostics, graphs, specialised code
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
        Command::Conformance(arguments) => forward::run("conformance", &arguments),
        Command::Bmv2(arguments) => forward::run("bmv2", &arguments),
        Command::Metamorphic(arguments) => forward::run("metamorphic", &arguments),
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
