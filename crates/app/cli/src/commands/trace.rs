//! `forebay trace`: what a program does with packets, step by step.

use super::Status;
use crate::control_plane;
use crate::entries::{Entries, EntriesOptions};
use crate::files;
use crate::numbers;
use crate::output;
use crate::program::ProgramArguments;
use anyhow::{Context, Result, anyhow, bail};
use forebay_entries::{Command, Located, Test, UnnamedPorts};
use forebay_packet::pcap;
use forebay_pipeline::Options;
use forebay_trace::{Both, PacketCapture, TracePrinter};
use serde_json::Value;
use std::path::{Path, PathBuf};

/// Arguments of `forebay trace`.
#[derive(clap::Args)]
#[command(group = clap::ArgGroup::new("packets").required(true), after_help = "\
Examples:
  forebay trace l3fwd.p4 --port 1 --hex '0200000000fe 020000000001 0800 4500...'
  forebay trace l3fwd.p4 --entries entries.stf --port 1 --packet in.pcap
  forebay trace l3fwd.p4 --packet in.pcap --json")]
pub struct Arguments {
    #[command(flatten)]
    program: ProgramArguments,
    /// Packets from a capture file
    #[arg(long, value_name = "FILE.pcap", group = "packets")]
    packet: Option<PathBuf>,
    /// A packet in hexadecimal; blanks do not matter
    #[arg(long, group = "packets")]
    hex: Option<String>,
    /// The port on which they arrive
    #[arg(long, default_value_t = 0, value_parser = numbers::whole::<u32>)]
    port: u32,
    #[command(flatten)]
    entries: EntriesOptions,
    /// Print the steps as JSON, an object on a line
    #[arg(long)]
    json: bool,
    /// Write the packets that enter and leave, and what became of each, as pcapng
    #[arg(long, value_name = "FILE.pcapng")]
    pcapng: Option<PathBuf>,
}

/// Traces the packets.
pub fn run(arguments: &Arguments) -> Result<Status> {
    let entries = arguments.entries.read()?;
    let needs_p4info = entries.as_ref().is_some_and(Entries::need_p4info);
    let (path, options) = (arguments.program.path(), arguments.program.options());
    let Some(mut start) = control_plane::load(Some(path), options, Options::default(), needs_p4info)? else {
        return Ok(Status::Bad);
    };
    let packets = packets(arguments)?;
    if let Some(entries) = &entries {
        entries.fill(&mut start)?;
    }
    let pipeline = start.pipeline;
    let mut printer = TracePrinter::new(pipeline.clone());
    let mut capture = PacketCapture::new(pipeline.clone())?;
    let mut observer = Both(&mut printer, &mut capture);
    let outcome = forebay_stf::run(&sending(packets, arguments.port), pipeline, &mut observer);
    if let Some(path) = &arguments.pcapng {
        files::write(path, capture.finish()?)?;
    }
    if let Some(failure) = outcome
        .failures
        .iter()
        .find(|failure| outcome.is_invalid() || failure.line.is_none())
    {
        bail!("{}", failure.message);
    }
    if arguments.json {
        output::print(
            &printer
                .take_json()
                .iter()
                .map(|event: &Value| format!("{event}\n"))
                .collect::<String>(),
        )?;
    } else {
        output::print(&printer.take_text())?;
    }
    Ok(Status::Good)
}

fn packets(arguments: &Arguments) -> Result<Vec<Vec<u8>>> {
    match (&arguments.packet, &arguments.hex) {
        (Some(path), _) => read_capture(path),
        (None, Some(hex)) => Ok(vec![parse_hex(hex)?]),
        (None, None) => bail!("give packets with --packet or --hex"),
    }
}

fn read_capture(path: &Path) -> Result<Vec<Vec<u8>>> {
    let bytes = forebay_files::bytes(path)?;
    let packets = pcap::read_all(&bytes).with_context(|| format!("{} is no capture file", path.display()))?;
    Ok(packets.iter().map(|packet| packet.data().to_vec()).collect())
}

fn parse_hex(text: &str) -> Result<Vec<u8>> {
    let digits: Vec<u32> = text
        .chars()
        .filter(|c| !c.is_whitespace())
        .map(|c| {
            c.to_digit(16)
                .ok_or_else(|| anyhow!("`{c}` in --hex is no hexadecimal digit"))
        })
        .collect::<Result<_>>()?;
    if digits.is_empty() || digits.len() % 2 == 1 {
        bail!(
            "--hex wants whole bytes, two digits each; there are {} digits",
            digits.len()
        );
    }
    Ok(digits.chunks(2).map(|pair| (pair[0] << 4 | pair[1]) as u8).collect())
}

/// A test that sends the packets; the n-th stands on line n.
fn sending(packets: Vec<Vec<u8>>, port: u32) -> Test {
    let commands = packets.into_iter().zip(1..).map(|(data, line)| {
        let value = Command::Packet { port, data };
        Located { line, column: 1, value }
    });
    Test {
        commands: commands.collect(),
        unnamed_ports: UnnamedPorts::Noted,
    }
}
