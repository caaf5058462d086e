//! `forebay doctor`: what the host lacks.

use super::Status;
use crate::doctor::{Check, Host, Verdict};
use crate::output;
use anyhow::Result;
use serde_json::{Value, json};
use std::fmt::Write;

/// Arguments of `forebay doctor`.
#[derive(clap::Args)]
#[command(after_help = "\
It looks at the kernel, the rights of this process, AF_XDP and BPF, limits, huge pages, TAP, vhost, processors and their \
clock, and at the interfaces that are named. It changes nothing.

Exit codes: 0 switches run here (there may be advice), 1 something is lacking that they need.

Examples:
  forebay doctor
  forebay doctor eth1 eth2 --json")]
pub struct Arguments {
    /// Interfaces that are to be ports
    #[arg(value_name = "INTERFACE")]
    interfaces: Vec<String>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Looks, and says what was found.
pub fn run(arguments: &Arguments) -> Result<Status> {
    let primary = |name: &String| forebay_ports::primary_name(name).unwrap_or_else(|| name.clone());
    let interfaces: Vec<String> = arguments.interfaces.iter().map(primary).collect();
    let checks = Host::this().checks(&interfaces);
    let worst = checks.iter().map(|check| check.verdict).max();
    if arguments.json {
        let verdict = worst.map(Verdict::name);
        let checks: Vec<Value> = checks.iter().map(Check::json).collect();
        output::print_json(&json!({ "verdict": verdict, "checks": checks }))?;
    } else {
        output::print(&table(&checks))?;
    }
    Ok(match worst {
        Some(Verdict::Lacking) => Status::Bad,
        _ => Status::Good,
    })
}

/// A line for each check; after those that are not good, why it matters and how to mend it.
fn table(checks: &[Check]) -> String {
    let width = checks.iter().map(|check| check.name.len()).max().unwrap_or(0);
    let mut text = String::new();
    for check in checks {
        let verdict = check.verdict.name();
        let _ = writeln!(text, "{verdict:<7}  {:<width$}  {}", check.name, check.found);
        if check.verdict != Verdict::Good {
            let indent = " ".repeat(7 + 2 + width + 2);
            let _ = writeln!(text, "{indent}why:  {}\n{indent}mend: {}", check.why, check.mend);
        }
    }
    text
}
