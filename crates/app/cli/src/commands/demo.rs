//! `forebay demo`: IoT messages through two switches.

use super::Status;
use super::run::stop_on_signals;
use crate::numbers;
use crate::output;
use anyhow::{Context, Result};
use forebay_demo::screen::Silent;
use forebay_demo::{Method, Options, Screen};
use std::io::stdout;
use std::path::PathBuf;

/// Arguments of `forebay demo`.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  forebay demo              as root over virtual Ethernet, otherwise in memory
  forebay demo --n 4 --method multicast --messages 10000 --json")]
pub struct Arguments {
    /// Messages that the devices send, with each method
    #[arg(long, value_name = "NUMBER", default_value_t = 100_000, value_parser = numbers::whole::<u64>)]
    messages: u64,
    /// Messages in an N-packet: 1, 2, 4 or 8
    #[arg(long, value_name = "N", default_value_t = 8, value_parser = numbers::whole::<u32>)]
    n: u32,
    /// Bytes of a message after its UDP header: 6 of flag header, the rest payload
    #[arg(long, value_name = "BYTES", default_value_t = 22, value_parser = numbers::whole::<usize>)]
    s: usize,
    /// How the second switch splits N-packets: resubmit, multicast or both
    #[arg(long, value_name = "METHOD", default_value = "both", value_parser = parse_methods)]
    method: Methods,
    /// Devices, each a flow with its own UDP port
    #[arg(long, value_name = "NUMBER", default_value_t = 10, value_parser = numbers::whole::<u32>)]
    flows: u32,
    /// The most messages a second; without it, as fast as they arrive
    #[arg(long, value_name = "PER_SECOND", value_parser = numbers::rate)]
    rate: Option<f64>,
    /// Stay in one process, in memory: needs no root and no network namespaces
    #[arg(long, visible_alias = "no-root")]
    memory: bool,
    /// The folder for captures and programs; without, one among the temporary files
    #[arg(long, value_name = "DIR")]
    keep: Option<PathBuf>,
    /// Print the figures as JSON, and nothing else
    #[arg(long)]
    json: bool,
}

/// One method or both. (A list type would make clap expect the flag several times.)
#[derive(Clone)]
struct Methods(Vec<Method>);

fn parse_methods(text: &str) -> Result<Methods, String> {
    Method::parse_several(text).map(Methods)
}

/// Shows the demonstration; bad when a message was lost, duplicated or changed.
pub fn run(arguments: &Arguments) -> Result<Status> {
    let stop = stop_on_signals()?;
    let mut terminal = Terminal {
        in_place: output::takes_sequences(&stdout()),
    };
    let screen: &mut dyn Screen = if arguments.json { &mut Silent } else { &mut terminal };
    let result = forebay_demo::run(&options(arguments)?, screen, &stop);
    screen.progress("");
    let demonstration = result?;
    if arguments.json {
        output::print_json(&demonstration.json())?;
    } else {
        output::print(&format!("\n{}", demonstration.text()))?;
    }
    Ok(if demonstration.is_correct() {
        Status::Good
    } else {
        Status::Bad
    })
}

fn options(arguments: &Arguments) -> Result<Options> {
    let temporary = || std::env::temp_dir().join(format!("forebay-demo-{}", std::process::id()));
    Ok(Options {
        messages: arguments.messages,
        batch: arguments.n,
        message_bytes: arguments.s,
        methods: arguments.method.0.clone(),
        flows: arguments.flows,
        rate: arguments.rate,
        memory: arguments.memory,
        folder: arguments.keep.clone().unwrap_or_else(temporary),
        executable: std::env::current_exe().context("cannot find this program's own file")?,
    })
}

/// The standard output. A reader that has gone does not end the demonstration, which cleans up behind itself.
struct Terminal {
    /// Whether a line can be written over.
    in_place: bool,
}

impl Screen for Terminal {
    fn say(&mut self, text: &str) {
        let _ = output::print(text);
    }

    fn progress(&mut self, line: &str) {
        if self.in_place {
            let _ = output::print(&format!("\r\x1b[K{line}"));
        }
    }
}
