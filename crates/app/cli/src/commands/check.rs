//! `forebay check`: errors and warnings of a program.

use super::Status;
use crate::output;
use crate::program::{self, ProgramArguments};
use anyhow::Result;
use serde_json::{Value, json};

/// Arguments of `forebay check`.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  forebay check l3fwd.p4
  forebay check -D N=4 -I include router.p4 --json")]
pub struct Arguments {
    #[command(flatten)]
    program: ProgramArguments,
    /// Print the messages as JSON to the standard output
    #[arg(long)]
    json: bool,
    /// Look for more: portability (what BMv2 or Tofino would refuse)
    #[arg(long, value_enum, value_name = "GROUP")]
    lint: Vec<Lint>,
}

/// A group of warnings that are given on request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Lint {
    /// What other targets would refuse.
    Portability,
}

/// Checks the program.
pub fn run(arguments: &Arguments) -> Result<Status> {
    let lints_portability = arguments.lint.contains(&Lint::Portability);
    let report = match program::check(&arguments.program, lints_portability) {
        Err(error) if arguments.json => {
            output::print_json(&unread(&error))?;
            return Ok(Status::Unable);
        }
        report => report?,
    };
    if arguments.json {
        output::print_json(&report.json)?;
    } else if report.messages.is_empty() {
        output::print(&format!(
            "{}: no errors, no warnings\n",
            arguments.program.path().display()
        ))?;
    } else {
        program::print(&report);
    }
    Ok(if report.good { Status::Good } else { Status::Bad })
}

/// A program that cannot be read, as the report of one error.
fn unread(error: &anyhow::Error) -> Value {
    let diagnostic = json!({ "severity": "error", "message": format!("{error:#}") });
    json!({ "errors": 1, "warnings": 0, "suppressed": 0, "diagnostics": [diagnostic] })
}
