//! `forebay simple-switch`: the command lines of BMv2's `simple_switch` and `simple_switch_grpc`, so that topologies
//! that start them can start this in their place.

use super::{Status, run};
use crate::output;
use crate::simple_switch::{Arguments, Kind, Plan, Task, read};
use anyhow::Result;
use clap::{Args, Command, FromArgMatches, Parser};
use forebay_thrift::DEFAULT_PORT;
use std::net::TcpListener;
use std::os::unix::net::UnixStream;

/// A command line of `forebay run`, as the program itself would read it.
#[derive(Parser)]
struct Run {
    #[command(flatten)]
    arguments: run::Arguments,
}

/// Runs the switch of `forebay simple-switch`.
pub fn run(arguments: &Arguments) -> Result<Status> {
    run_as(arguments, Kind::Grpc)
}

/// Runs the switch when this program was started under the name of one of BMv2's.
///
/// # Errors
/// As those of [`run()`].
pub fn run_under_name(kind: Kind) -> Result<Status> {
    let command = Arguments::augment_args(Command::new(kind.name()));
    let about = format!("In the place of BMv2's {}", kind.name());
    let matches = command.about(about).max_term_width(120).try_get_matches();
    let arguments = matches.and_then(|matches| Arguments::from_arg_matches(&matches));
    let arguments = arguments.unwrap_or_else(|error| output::usage(error).exit());
    run_as(&arguments, kind)
}

fn run_as(arguments: &Arguments, kind: Kind) -> Result<Status> {
    match read(arguments, kind)? {
        Task::Print(text) => {
            output::print(&text)?;
            Ok(Status::Good)
        }
        Task::Run(plan) => start(*plan, kind),
    }
}

/// Options of `forebay run` for publishing digests: at the given address, or at BMv2's default one if that is free.
fn notifications(plan: &Plan, kind: Kind) -> Vec<String> {
    let path = format!("/tmp/bmv2-{}-notifications.ipc", plan.device_id);
    let address = match &plan.notifications {
        Some(address) => address.clone(),
        None if UnixStream::connect(&path).is_ok() => {
            output::message(&format!(
                "{}: no digests are published, as another switch does so at {path}; --notifications-addr names another place\n",
                kind.name()
            ));
            return Vec::new();
        }
        None => format!("ipc://{path}"),
    };
    let mut words = vec!["--notifications".to_string(), address];
    if !plan.lines.words.iter().any(|word| word == "--device-id") {
        words.extend(["--device-id".to_string(), plan.device_id.to_string()]);
    }
    words
}

fn start(plan: Plan, kind: Kind) -> Result<Status> {
    for note in &plan.lines.notes {
        output::message(&format!("{}: {note}\n", kind.name()));
    }
    let mut words = plan.lines.words.clone();
    words.push("--as-bmv2".to_string());
    if plan.wants_thrift {
        let usual = format!("0.0.0.0:{DEFAULT_PORT}");
        match TcpListener::bind(&usual) {
            Ok(_) => words.extend(["--thrift".to_string(), usual]),
            Err(error) => output::message(&format!(
                "{}: no Thrift is served on port {DEFAULT_PORT} ({error}); --thrift-port names another\n",
                kind.name()
            )),
        }
    }
    if words.iter().any(|word| word == "--thrift") {
        words.extend(notifications(&plan, kind));
    }
    let extras = run::Extras {
        log: plan.log,
        captures: plan.captures,
        delay: plan.delay,
        ports_may_be_gone: true,
    };
    let run = Run::try_parse_from(&words).map_err(output::first_line)?;
    run::run_with(&run.arguments, &extras)
}
