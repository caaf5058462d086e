//! `forebay simple-switch-cli`, also under the name `simple_switch_CLI`: the commands of BMv2's own, from a terminal or
//! a file.

use super::Status;
use crate::output;
use anyhow::{Context, Result};
use clap::{Args, Command, FromArgMatches};
use forebay_thrift::{Client, DEFAULT_PORT};
use std::fs;
use std::io::{self, BufRead, stdin};
use std::path::PathBuf;

/// What stands before each command; scripts look for it.
const PROMPT: &str = "RuntimeCmd: ";

/// Arguments of `forebay simple-switch-cli`.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  forebay simple-switch-cli < s1-commands.txt
  echo 'table_dump ipv4_lpm' | forebay simple-switch-cli --thrift-port 9091
  forebay simple-switch-cli           # commands as they are typed; help lists them

The switch is one of Forebay that serves Thrift: simple_switch --thrift-port PORT, or forebay run --thrift PORT.
As with BMv2, a command that fails is said on the standard output and the next one is done.")]
pub struct Arguments {
    /// Where the switch serves Thrift
    #[arg(long, value_name = "PORT", default_value_t = DEFAULT_PORT)]
    thrift_port: u16,
    /// The host of the switch
    #[arg(long, value_name = "HOST", default_value = "localhost")]
    thrift_ip: String,
    /// The program; not needed, the switch has it
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// The kind of replication; not needed
    #[arg(long, value_name = "KIND")]
    pre: Option<String>,
}

/// Whether this program was started as BMv2's.
pub fn is_name(name: &str) -> bool {
    let name = name.rsplit('/').next().unwrap_or_default();
    ["simple_switch_CLI", "simple_switch_CLI.py"].contains(&name)
}

/// Runs the command, with the command line of BMv2's program.
///
/// # Errors
/// As those of [`run`].
pub fn run_under_name() -> Result<Status> {
    let command = Arguments::augment_args(Command::new("simple_switch_CLI"));
    let matches = command
        .about("In the place of BMv2's simple_switch_CLI")
        .try_get_matches();
    let arguments = matches.and_then(|matches| Arguments::from_arg_matches(&matches));
    run(&arguments.unwrap_or_else(|error| output::usage(error).exit()))
}

/// Does the commands of the standard input.
pub fn run(arguments: &Arguments) -> Result<Status> {
    let (host, port) = (arguments.thrift_ip.as_str(), arguments.thrift_port);
    let client = Client::connect((host, port));
    let mut client = client.with_context(|| {
        format!(
            "no switch serves Thrift on {host}:{port}; simple_switch and forebay run do with --thrift-port and --thrift"
        )
    })?;
    output::print("Control utility for runtime P4 table manipulation\n")?;
    output::print(PROMPT)?;
    for line in stdin().lock().lines() {
        let line = line.context("cannot read the standard input")?;
        // Some editors begin a file with a byte order mark.
        let line = line.trim_start_matches('\u{feff}').trim();
        if ["EOF", "quit", "exit"].contains(&line) {
            return Ok(Status::Good);
        }
        let is_comment = line.starts_with('#') || line.starts_with("//");
        if !line.is_empty() && !is_comment {
            output::print(&perform(&mut client, line).context("the switch does not answer")?)?;
        }
        output::print(PROMPT)?;
    }
    output::print("\n")?;
    Ok(Status::Good)
}

/// Does a command, and gives what it prints.
fn perform(client: &mut Client, line: &str) -> io::Result<String> {
    let Some(("load_new_config_file", path)) = line.split_once(char::is_whitespace) else {
        let done = client.command(line)?;
        return Ok(done.unwrap_or_else(|failure| format!("{failure}\n")));
    };
    let path = path.trim();
    let program = match fs::read(path) {
        Ok(program) => program,
        Err(error) => return Ok(format!("Error: cannot read {path}: {error}\n")),
    };
    let loaded = client.load_program(program)?;
    Ok(loaded.map_or_else(|why| format!("Error: {why}\n"), |()| String::new()))
}
