//! The `forebay` command.
//!
//! One file for each subcommand in `commands`; beside it what they share: reading what the command line names
//! (`numbers`), reading what the command line or a configuration file names (`run_config`), loading a program
//! (`program`), reading table entries (`entries`, `stf_file`, `runtime_json`), finding functions (`functions`), waiting
//! for interfaces (`interfaces`), what a host lacks (`doctor`), functions that run on their own (`vnf`) and tests
//! (`test_suite`) and telling how they went (`test_report`, `junit`), showing how far simulations and tests are
//! (`simulation_progress`, `tester_progress`) or that a command works (`working`), working on all processors (`parallel`), counting ports (`port_table`,
//! `statistics`, `link_log`), telling which path packets take (`slow_path`), choosing what is measured (`bench_rows`), speaking
//! with switches (`ctl`), being BMv2's switches (`simple_switch`), serving their control interface (`thrift`), logging
//! packets in their words (`packet_log`), writing (`output`, `background_writer`), what a switch tells monitoring
//! systems (`telemetry_options`), whether it carries traffic (`readiness`), what it spends at most (`limits`) and gives
//! up (`sandbox`), and certificates (`certificates`). What the commands *do* is in the other crates.
//!
//! Every command ends with one of three [exit codes](commands::Status): 0 all is well, 1 the check failed
//! (a program has errors, a test failed), 2 the command could not be executed (usage, files, interfaces, rights).

#![forbid(unsafe_code)]

mod background_writer;
mod bench_rows;
mod certificates;
mod commands;
mod control_plane;
mod controller_port;
mod ctl;
mod departures_table;
mod doctor;
mod entries;
mod evaluation;
mod functions;
mod interfaces;
mod junit;
mod limits;
mod link_log;
mod live_view;
mod numbers;
mod output;
mod packet_capture;
mod packet_log;
mod parallel;
mod parquet_columns;
mod parquet_table;
mod passes;
mod port_table;
mod program;
mod readiness;
mod run_config;
mod run_ports;
mod run_records;
mod runtime_json;
mod sandbox;
mod saved_state;
mod simple_switch;
mod simulation_progress;
mod slow_path;
mod statistics;
mod stf_file;
mod switch_options;
mod telemetry_options;
mod test_report;
mod test_suite;
mod tester_progress;
mod thrift;
mod version;
mod vnf;
mod working;

use clap::{CommandFactory, Parser};
use forebay_files as files;
use output::{LogFormat, LogLevel};
use std::ffi::OsString;
use std::process::ExitCode;

/// Counts what a program that is pushed takes of memory.
#[global_allocator]
static ALLOCATOR: forebay_budget::Counting = forebay_budget::Counting;

/// The place in help of options that all commands have: after those of the command, and before `--help`, which has 999.
const LAST: usize = 998;

/// A P4 platform: check, test and run data planes written in P4_16.
#[derive(Parser)]
#[command(
    name = "forebay",
    version = version::LONG,
    max_term_width = 120,
    after_help = "\
Begin with:
  forebay check programs/l3fwd/l3fwd.p4    what is wrong with a program
  forebay test --all programs              the programs' tests
  forebay demo                             two switches at work
The folder `programs` is in the sources of Forebay, and in share/forebay of its packages.
Exit codes: 0 all is well, 1 the program or a test is wrong, 2 the command could not be done."
)]
struct CommandLine {
    /// What is said on the standard error
    #[arg(
        long,
        global = true,
        display_order = LAST,
        value_name = "LEVEL",
        value_enum,
        default_value_t = LogLevel::Info
    )]
    log: LogLevel,
    /// How it is said: for people, or as JSON, an object with time, level and message on a line
    #[arg(
        long,
        global = true,
        display_order = LAST,
        value_name = "FORMAT",
        value_enum,
        default_value_t = LogFormat::Text
    )]
    log_format: LogFormat,
    #[command(subcommand)]
    command: commands::Command,
}

/// The command line, for what is derived from it.
fn command_line() -> clap::Command {
    CommandLine::command()
}

fn help() -> anyhow::Result<commands::Status> {
    output::print(&command_line().render_help().to_string())?;
    Ok(commands::Status::Good)
}

/// A command line from its words, with what a configuration file says.
fn parse(words: Vec<OsString>) -> anyhow::Result<Result<CommandLine, clap::Error>> {
    choose_output(&words);
    let words = run_config::expand(words, &command_line())?;
    choose_output(&words);
    Ok(CommandLine::try_parse_from(words).map_err(output::usage))
}

/// Takes the form of messages and answers from a command line, valid or not.
fn choose_output(words: &[OsString]) {
    if wants_json(words) {
        output::set_log(LogLevel::Info, LogFormat::Json);
    }
    let mut options = words.iter().take_while(|word| *word != "--");
    if options.any(|word| word == "--json") {
        output::expect_json();
    }
}

/// Whether a command line, valid or not, requests messages as JSON.
fn wants_json(words: &[OsString]) -> bool {
    let apart = words
        .windows(2)
        .any(|pair| pair[0] == "--log-format" && pair[1] == "json");
    apart || words.iter().any(|word| word == "--log-format=json")
}

fn run(arguments: Vec<OsString>) -> anyhow::Result<commands::Status> {
    let line = match parse(arguments)? {
        Ok(line) => line,
        Err(error) => std::process::exit(output::usage_error(&error)),
    };
    output::set_log(line.log, line.log_format);
    line.command.run()
}

fn main() -> ExitCode {
    sandbox::take_rights();
    let arguments: Vec<OsString> = std::env::args_os().collect();
    let name = arguments.first().map(|name| name.to_string_lossy().into_owned());
    let name = name.unwrap_or_default();
    let ended = match simple_switch::Kind::of_name(&name) {
        Some(kind) => commands::simple_switch::run_under_name(kind),
        None if commands::simple_switch_cli::is_name(&name) => commands::simple_switch_cli::run_under_name(),
        None if commands::p4c::is_name(&name) => commands::p4c::run_under_name(&name),
        // A command line without arguments shows the help.
        None if arguments.len() <= 1 => help(),
        None => run(arguments),
    };
    let status = match ended {
        Ok(status) => status,
        Err(error) if output::is_broken_pipe(&error) => commands::Status::Good,
        Err(error) => {
            let message = format!("{error:#}");
            output::error(&message);
            output::print_failure(&serde_json::json!({ "error": message }));
            commands::Status::Unable
        }
    };
    ExitCode::from(status.code())
}
