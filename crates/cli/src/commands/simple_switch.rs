//! `forebay simple-switch`: the command line of BMv2's `simple_switch_grpc`, so that topologies that start it can start this
//! in its place.
//!
//! It becomes a command line of `forebay run`. What BMv2 logs has no counterpart here, so options for logs are read and
//! passed over. The port of the Thrift server, by which some tools see that BMv2 is up, is listened on and never
//! answers.

use super::{Status, run};
use anyhow::{Context, Result, bail};
use clap::Parser;
use std::net::{SocketAddr, TcpListener};
use std::path::PathBuf;

/// Arguments of `forebay simple-switch`.
#[derive(clap::Args)]
#[command(after_help = "\
Example:
  forebay simple-switch -i 1@veth1 -i 2@veth2 --device-id 1 --no-p4 -- --grpc-server-addr 0.0.0.0:9559 --cpu-port 255")]
pub struct Arguments {
    /// JSON of p4c for BMv2, P4_16 source, or ir.txt of `forebay build`; a file called .json may hold any of them
    #[arg(value_name = "PROGRAM", required_unless_present = "no_p4")]
    program: Option<PathBuf>,
    /// A port; may be repeated
    #[arg(short = 'i', long = "interface", value_name = "PORT@INTERFACE")]
    interfaces: Vec<String>,
    /// The number by which controllers know the switch
    #[arg(long, value_name = "N", default_value_t = 0)]
    device_id: u64,
    /// Wait for a controller to push a program
    #[arg(long)]
    no_p4: bool,
    /// Listen on this port too, without an answer
    #[arg(long, value_name = "PORT")]
    thrift_port: Option<u16>,
    /// Write what each port receives and sends to DIR/portN.pcap
    #[arg(long, value_name = "DIR", num_args = 0..=1, default_missing_value = ".")]
    pcap: Option<PathBuf>,
    /// Keep the program and the forwarding state in this folder, and begin with what is in it
    #[arg(long, value_name = "DIR")]
    save_state: Option<PathBuf>,
    /// Passed over
    #[arg(long)]
    log_console: bool,
    /// Passed over
    #[arg(long)]
    log_flush: bool,
    /// Passed over
    #[arg(long, value_name = "FILE")]
    log_file: Option<PathBuf>,
    /// Passed over
    #[arg(short = 'L', long, value_name = "LEVEL")]
    log_level: Option<String>,
    /// Passed over
    #[arg(long, value_name = "ADDRESS")]
    nanolog: Option<String>,
    /// What follows `--`: --grpc-server-addr, --cpu-port, --drop-port, --priority-queues
    #[arg(last = true, value_name = "TARGET OPTIONS")]
    target: Vec<String>,
}

/// What follows `--` on BMv2's command line.
#[derive(Parser)]
#[command(no_binary_name = true)]
struct Target {
    #[arg(long, default_value = "0.0.0.0:9559")]
    grpc_server_addr: SocketAddr,
    #[arg(long)]
    cpu_port: Option<u32>,
    #[arg(long)]
    drop_port: Option<u32>,
    #[arg(long)]
    priority_queues: Option<u32>,
}

/// A command line of `forebay run`, as the program itself would read it.
#[derive(Parser)]
struct Run {
    #[command(flatten)]
    arguments: run::Arguments,
}

/// Runs the switch.
pub fn run(arguments: &Arguments) -> Result<Status> {
    let words = words(arguments)?;
    let thrift = arguments.thrift_port.map(|port| {
        let listener = TcpListener::bind(("0.0.0.0", port));
        listener.with_context(|| format!("cannot listen on the Thrift port {port}"))
    });
    let _held_open = thrift.transpose()?;
    run::run(&Run::try_parse_from(words)?.arguments)
}

/// The same in the words of `forebay run`.
fn words(arguments: &Arguments) -> Result<Vec<String>> {
    let target = Target::try_parse_from(&arguments.target)?;
    if target
        .drop_port
        .is_some_and(|port| port != forebay_pipeline::v1model::DROP_PORT)
    {
        bail!("the drop port of v1model is 511; --drop-port cannot be another");
    }
    let mut words = vec!["forebay run".to_string()];
    let mut option = |name: &str, value: String| words.extend([name.to_string(), value]);
    option("--grpc", target.grpc_server_addr.to_string());
    option("--device-id", arguments.device_id.to_string());
    option("--stats-interval", "0".to_string());
    for interface in &arguments.interfaces {
        option("-i", interface.clone());
    }
    if let Some(port) = target.cpu_port {
        option("--cpu-port", port.to_string());
    }
    if let Some(queues) = target.priority_queues {
        option("--queues", queues.to_string());
    }
    if let Some(folder) = &arguments.save_state {
        option("--save-state", folder.display().to_string());
    }
    if let Some(folder) = &arguments.pcap {
        option("--pcap", folder.display().to_string());
    }
    let program = arguments.program.iter().filter(|_| !arguments.no_p4);
    words.extend(program.map(|path| path.display().to_string()));
    Ok(words)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        arguments: Arguments,
    }

    fn translated(line: &str) -> String {
        let line = Line::try_parse_from(line.split(' ')).unwrap_or_else(|error| panic!("{error}"));
        words(&line.arguments).map_or_else(|error| error.to_string(), |words| words.join(" "))
    }

    #[test]
    fn a_line_of_mininet() {
        let line = "simple_switch_grpc -i 1@s1-eth1 -i 2@s1-eth2 --device-id 1 --thrift-port 9091 --log-console \
                    --pcap pcaps program.json -- --grpc-server-addr 0.0.0.0:50051 --cpu-port 255 --priority-queues 3";
        let expected = "forebay run --grpc 0.0.0.0:50051 --device-id 1 --stats-interval 0 -i 1@s1-eth1 -i 2@s1-eth2 \
                        --cpu-port 255 --queues 3 --pcap pcaps program.json";
        assert_eq!(translated(line), expected);
    }

    #[test]
    fn without_a_program() {
        let expected = "forebay run --grpc 0.0.0.0:9559 --device-id 0 --stats-interval 0 -i 1@a";
        assert_eq!(translated("simple_switch_grpc --no-p4 -i 1@a -L debug"), expected);
        assert!(translated("simple_switch_grpc --no-p4 -- --drop-port 7").contains("511"));
    }
}
