//! `forebay bench`: how fast packets go through a program, in memory.

use super::Status;
use crate::output;
use crate::program::Engine;
use anyhow::{Context, Result, bail};
use forebay_bench::workload::{L2, L3, PortForward};
use forebay_bench::{BenchError, Measured, Options, Scale, Workload, account, report};
use serde_json::json;
use std::time::Duration;

/// Arguments of `forebay bench`.
#[derive(clap::Args)]
#[command(after_help = "\
Programs: portfwd, l2fwd, l3fwd; without any, all of them. Each is measured with every combination of the lists, in turns
with the same function written by hand, on the same packets; `ratio` is the program's packets a second divided by those of
the hand-written one, `harness ns` what copying a frame into a packet costs both. Cycles are those of the time stamp
counter. Entries are of each table that grows; flows are as many as entries unless told.

Examples:
  forebay bench l3fwd --entries 2,1000,1000000
  forebay bench l3fwd --entries 1000 --flows 1,1000 --engine jit,interp --json
  forebay bench l3fwd --malformed 1% --packets 10000000")]
pub struct Arguments {
    /// What to measure
    #[arg(value_name = "PROGRAM")]
    programs: Vec<String>,
    /// Entries of the tables
    #[arg(long, value_name = "NUMBERS", value_delimiter = ',')]
    entries: Vec<usize>,
    /// Flows that send in turns
    #[arg(long, value_name = "NUMBERS", value_delimiter = ',')]
    flows: Vec<usize>,
    /// Bytes of a frame, without the frame check sequence
    #[arg(long, value_name = "BYTES", value_delimiter = ',', default_value = "64")]
    frame_size: Vec<usize>,
    /// Threads, each with its share of the flows
    #[arg(long, value_name = "NUMBERS", value_delimiter = ',', default_value = "1")]
    workers: Vec<usize>,
    /// What executes the program
    #[arg(long, value_enum, value_delimiter = ',', default_value = "jit")]
    engine: Vec<Engine>,
    /// How often each has its turn; the median counts
    #[arg(long, value_name = "NUMBER", default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..=1000))]
    rounds: u32,
    /// Milliseconds of a turn
    #[arg(long, value_name = "MS", default_value_t = 200, value_parser = clap::value_parser!(u64).range(1..=100_000))]
    round_ms: u64,
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

/// What is measured when nothing is named.
const PROGRAMS: &[&str] = &["portfwd", "l2fwd", "l3fwd"];

/// Entries when none are named, where there is a choice.
const ENTRIES: &[usize] = &[2, 1_000, 1_000_000];

/// Measures.
pub fn run(arguments: &Arguments) -> Result<Status> {
    if arguments.workers.iter().any(|workers| !(1..=1024).contains(workers)) {
        bail!("--workers: 1 to 1024 threads");
    }
    let workloads = workloads(arguments)?;
    if let Some(share) = arguments.malformed {
        return account_all(arguments, &workloads, share);
    }
    if !arguments.json {
        output::print(&report::heading())?;
    }
    let mut results = Vec::new();
    for workload in &workloads {
        for workers in &arguments.workers {
            let measured = measure(arguments, &**workload, *workers)?;
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
        let lines: String = results.iter().filter_map(report::engines_line).collect();
        output::print(&lines)?;
        output::message(&report::busy_line(&results).unwrap_or_default());
    }
    Ok(Status::Good)
}

/// Every combination that was asked for.
fn workloads(arguments: &Arguments) -> Result<Vec<Box<dyn Workload>>> {
    let named: Vec<&str> = arguments.programs.iter().map(String::as_str).collect();
    let programs = if named.is_empty() { PROGRAMS } else { &named };
    let mut workloads = Vec::new();
    for program in programs {
        for scale in scales(arguments, program) {
            workloads.push(workload(program, scale).with_context(|| program.to_string())?);
        }
    }
    Ok(workloads)
}

fn scales(arguments: &Arguments, program: &str) -> Vec<Scale> {
    let grows = program != "portfwd";
    let all_entries = match &arguments.entries[..] {
        _ if !grows => &[2],
        [] => ENTRIES,
        chosen => chosen,
    };
    let mut scales = Vec::new();
    for &entries in all_entries {
        let as_many = [entries];
        let all_flows = if arguments.flows.is_empty() {
            &as_many
        } else {
            &arguments.flows[..]
        };
        for &flows in all_flows {
            scales.extend(arguments.frame_size.iter().map(|&frame_bytes| Scale {
                entries,
                flows,
                frame_bytes,
            }));
        }
    }
    scales
}

fn workload(program: &str, scale: Scale) -> Result<Box<dyn Workload>> {
    fn boxed<W: Workload + 'static>(workload: Result<W, BenchError>) -> Result<Box<dyn Workload>> {
        Ok(Box::new(workload?))
    }
    match program {
        "portfwd" => boxed(PortForward::new(scale)),
        "l2fwd" => boxed(L2::new(scale)),
        "l3fwd" => boxed(L3::new(scale)),
        _ => bail!("there is no such program here; there are {}", PROGRAMS.join(", ")),
    }
}

fn measure(arguments: &Arguments, workload: &dyn Workload, workers: usize) -> Result<Measured> {
    let options = Options {
        engines: arguments.engine.iter().map(|engine| engine.of_pipeline()).collect(),
        workers,
        rounds: arguments.rounds as usize,
        round: Duration::from_millis(arguments.round_ms),
    };
    let name = workload.name();
    let measured = forebay_bench::measure(workload, &options, |doing| {
        output::progress(&format!("{name}: {doing}"))
    });
    output::progress("");
    measured.with_context(|| name)
}

fn account_all(arguments: &Arguments, workloads: &[Box<dyn Workload>], share: f64) -> Result<Status> {
    let mut accounts = Vec::new();
    for workload in workloads {
        for engine in &arguments.engine {
            let account = account::account(&**workload, engine.of_pipeline(), arguments.packets, share)?;
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
