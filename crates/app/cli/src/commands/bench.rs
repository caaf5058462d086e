//! `forebay bench`: how fast packets go through a program, in memory.

use super::Status;
use crate::bench_rows::{Group, HasErrors, WhatArguments, groups};
use crate::output;
use crate::passes::PassArguments;
use anyhow::Result;
use forebay_bench::{Job, Options, account, report};
use serde_json::json;
use std::time::Duration;

/// Arguments of `forebay bench`.
#[derive(clap::Args)]
#[command(after_help = "\
Each program is measured with every combination of the lists, in turns with the same function written by hand, on the same \
packets. `ratio` is the program's packets a second divided by those of the hand-written one, `harness ns` what copying a \
frame into a packet costs both. A second is one of the thread on its processor; cycles are those of the time stamp counter.
Without any program all are measured, with their usual sizes.

A program of your own is measured with frames from a capture file, which come by the first of its ports.

Examples:
  forebay bench
  forebay bench l3fwd --entries 2,1000,1000000
  forebay bench l3fwd --entries 1000 --flows 1,1000 --engine jit,interp --json
  forebay bench my.p4 --entries my.stf --pcap traffic.pcap --ports 1,2,3
  forebay bench l3fwd --malformed 1% --packets 10000000")]
pub struct Arguments {
    #[command(flatten)]
    what: WhatArguments,
    /// How often each has its turn; the median counts
    #[arg(long, value_name = "NUMBER", default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..=1000))]
    rounds: u32,
    /// Milliseconds of a turn
    #[arg(long, value_name = "MS", default_value_t = 200, value_parser = clap::value_parser!(u64).range(1..=100_000))]
    round_ms: u64,
    /// Time one of N packets, as `forebay run --delay-sample` does, to measure what that costs
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    delay_sample: Option<u64>,
    #[command(flatten)]
    passes: PassArguments,
    /// Send traffic of which this share is malformed, and tell what became of every packet
    #[arg(long, value_name = "PERCENT", value_parser = percent)]
    malformed: Option<f64>,
    /// Packets of malformed traffic
    #[arg(long, value_name = "NUMBER", default_value_t = 10_000_000, requires = "malformed")]
    packets: u64,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// A share between 0 and 1.
fn percent(text: &str) -> Result<f64, String> {
    match text.trim_end_matches('%').parse::<f64>() {
        Ok(percent) if (0.0..=100.0).contains(&percent) => Ok(percent / 100.0),
        _ => Err("expected a percentage, for example 1%".to_string()),
    }
}

/// Measures.
pub fn run(arguments: &Arguments) -> Result<Status> {
    let groups = match groups(&arguments.what) {
        Err(error) if error.is::<HasErrors>() => return Ok(Status::Bad),
        groups => groups?,
    };
    match arguments.malformed {
        Some(share) => account_all(arguments, &groups, share),
        None => measure_all(arguments, &groups),
    }
}

fn measure_all(arguments: &Arguments, groups: &[Group]) -> Result<Status> {
    if !arguments.json {
        output::print(&report::heading())?;
    }
    let options = Options {
        rounds: arguments.rounds as usize,
        round: Duration::from_millis(arguments.round_ms),
        delay_sample: arguments.delay_sample,
        without_passes: arguments.passes.without(),
    };
    let mut results = Vec::new();
    for group in groups {
        let jobs = group.iter().map(|row| Job {
            workload: &*row.workload,
            engines: row.engines.iter().map(|engine| engine.of_pipeline()).collect(),
            workers: row.workers,
        });
        let measured = forebay_bench::measure(&jobs.collect::<Vec<_>>(), &options, output::progress);
        output::progress("");
        for measured in measured? {
            if !arguments.json {
                output::print(&report::lines(&measured))?;
            }
            results.push(measured);
        }
    }
    if arguments.json {
        let rows: Vec<_> = results.iter().map(report::measured_json).collect();
        let ghz = results.first().and_then(|measured| measured.cycles.ghz());
        output::print_json(&json!({ "time_stamp_counter_ghz": ghz, "rows": rows }))?;
    } else {
        output::print(&report::comparisons(&results))?;
    }
    output::message(&report::busy_line(&results).unwrap_or_default());
    Ok(Status::Good)
}

fn account_all(arguments: &Arguments, groups: &[Group], share: f64) -> Result<Status> {
    let (mut accounts, without) = (Vec::new(), arguments.passes.without());
    for row in groups.iter().flatten() {
        for engine in &row.engines {
            let (workload, engine) = (&*row.workload, engine.of_pipeline());
            let account = account::account(workload, engine, without, arguments.packets, share)?;
            if arguments.json {
                accounts.push(report::account_json(&account));
            } else {
                output::print(&report::account_text(&account))?;
            }
        }
    }
    if arguments.json {
        output::print_json(&json!({ "accounts": accounts }))?;
    }
    Ok(Status::Good)
}
