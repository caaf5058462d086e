//! `forebay run`: a program as a switch between real interfaces.

use super::Status;
use crate::output;
use crate::program::{self, Engine, ProgramArguments};
use crate::statistics::Statistics;
use crate::stf_file;
use anyhow::{Context, Result, anyhow, bail};
use forebay_packet::decorators::Capture;
use forebay_packet::pcap::{TimestampUnit, Writer};
use forebay_packet::{Port, PortState, Readiness};
use forebay_pipeline::NoTrace;
use forebay_pipeline::v1model::DROP_PORT;
use forebay_ports::{Clock, Means, Poller, PortSpec};
use forebay_switch::{Config, Switch};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use std::collections::BTreeMap;
use std::fs::File;
use std::io::BufWriter;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Longest time without looking at signals, in nanoseconds.
const MAX_WAIT_NS: u64 = 100_000_000;

/// Breaths between looks at the clock for the statistics, when there is always something to do.
const BREATHS_BETWEEN_REPORTS: u32 = 64;

/// Arguments of `forebay run`.
#[derive(clap::Args)]
#[command(after_help = "\
A port is PORT@INTERFACE: the number by which the program knows it, and what it is.
  0@veth0               an existing interface, the fastest way that it supports (needs root)
  0@xdp:veth0           the same through AF_XDP; xdp:veth0:2 for one receive queue (CAP_NET_RAW, CAP_NET_ADMIN, CAP_BPF)
  0@packet:veth0        the same through a packet socket (CAP_NET_RAW)
  1@tap:NAME            a TAP device, made if it does not exist (needs root or CAP_NET_ADMIN)
  2@pcap:IN,OUT         capture files, either may be left out; 2@pcap:IN,OUT,paced keeps the times between packets
  3@loopback:           what the program sends to this port comes back in by it

Examples:
  forebay run l3fwd.p4 -i 1@veth1 -i 2@veth2 --entries entries.stf
  forebay run l3fwd.p4 -i 1@pcap:in.pcap, -i 2@pcap:,out.pcap --entries entries.stf --json

It runs until it is interrupted (ctrl-C), --duration is over, or no port has any more input.")]
pub struct Arguments {
    #[command(flatten)]
    program: ProgramArguments,
    /// A port; may be repeated
    #[arg(short = 'i', value_name = "PORT@INTERFACE", required = true)]
    interfaces: Vec<String>,
    /// Table entries, clone sessions and multicast groups: an STF file, whose packets are passed over
    #[arg(long, value_name = "FILE.stf")]
    entries: Option<PathBuf>,
    /// What executes the program
    #[arg(long, value_enum, default_value_t = Engine::Interp)]
    engine: Engine,
    /// Seconds between statistics; 0 for none before the end
    #[arg(long, value_name = "SECONDS", default_value_t = 1.0, value_parser = seconds)]
    stats_interval: f64,
    /// Stop after so many seconds
    #[arg(long, value_name = "SECONDS", value_parser = seconds, allow_negative_numbers = true)]
    duration: Option<f64>,
    /// Print the statistics as JSON, an object on a line
    #[arg(long)]
    json: bool,
    /// Write what each port receives and sends to DIR/portN.pcap
    #[arg(long, value_name = "DIR")]
    pcap: Option<PathBuf>,
}

fn seconds(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(seconds) if (0.0..=1e9).contains(&seconds) => Ok(seconds),
        _ => Err("expected a number of seconds, for example 0.5".to_string()),
    }
}

/// Runs the switch until a signal, the end of the duration, or the end of all input. Everything that can be wrong with
/// the arguments is found before the first port is opened.
pub fn run(arguments: &Arguments) -> Result<Status> {
    let ports = PortSpec::parse_all(arguments.interfaces.iter().map(String::as_str))
        .map_err(|error| anyhow!("a port is not written correctly\n{error}"))?;
    if let Some(port) = ports.iter().find(|port| port.number >= DROP_PORT) {
        bail!(
            "there is no port {}; programs know ports 0 to {}",
            port.number,
            DROP_PORT - 1
        );
    }
    let Some(program) = program::compile(&arguments.program)? else {
        return Ok(Status::Bad);
    };
    let pipeline = arguments.engine.load(program)?;
    if let Some(path) = &arguments.entries {
        stf_file::apply_entries(path, &pipeline)?;
    }
    let clock = Clock::start();
    let config = Config {
        start_ns: clock.now_ns(),
        random_seed: clock.now_ns(),
        ..Config::default()
    };
    let mut switch = Switch::new(pipeline, config);
    let means = attach(&mut switch, &ports, arguments.pcap.as_deref())?;
    if !arguments.json {
        announce(&means);
    }
    let stop = stop_on_signals()?;
    let mut statistics = Statistics::new(clock, arguments.stats_interval, arguments.json, means);
    statistics.first(&switch)?;
    let end = forward(&mut switch, &clock, &stop, arguments.duration, &mut statistics)?;
    statistics.last(&switch)?;
    switch.flush()?;
    if end == End::NoInput && switch.ports().iter().any(|port| port.state == PortState::Gone) {
        bail!("no port is left that packets could come from");
    }
    Ok(Status::Good)
}

/// Opens the ports and connects them; returns how each carries packets.
fn attach(switch: &mut Switch, ports: &[PortSpec], captures: Option<&Path>) -> Result<BTreeMap<u32, Means>> {
    let mut means = BTreeMap::new();
    for spec in ports {
        let opened = forebay_ports::open(spec).with_context(|| format!("port {spec}"))?;
        let port = match captures {
            None => opened.port,
            Some(folder) => captured(opened.port, folder, opened.number)?,
        };
        switch.attach(opened.number, port);
        means.insert(opened.number, opened.means);
    }
    Ok(means)
}

/// A line for each port that is an interface: which way was chosen to it, and why.
fn announce(means: &BTreeMap<u32, Means>) {
    for (number, means) in means.iter().filter(|(_, means)| means.is_interface()) {
        output::message(&format!("port {number}: {means}\n"));
    }
}

/// The port with a capture file of its traffic.
fn captured(port: Box<dyn Port>, folder: &Path, number: u32) -> Result<Box<dyn Port>> {
    std::fs::create_dir_all(folder).with_context(|| format!("cannot make the folder {}", folder.display()))?;
    let path = folder.join(format!("port{number}.pcap"));
    let file = File::create(&path).and_then(|file| Writer::new(BufWriter::new(file), TimestampUnit::Nanoseconds));
    let writer = file.with_context(|| format!("cannot write {}", path.display()))?;
    Ok(Box::new(Capture::new(port, writer)))
}

/// A flag that the signals that ask a program to end set.
pub(super) fn stop_on_signals() -> Result<Arc<AtomicBool>> {
    let stop = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM, SIGHUP] {
        signal_hook::flag::register(signal, stop.clone()).context("cannot watch for signals")?;
    }
    Ok(stop)
}

/// Why the loop has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    /// A signal, or the duration is over.
    Told,
    /// Nothing can come any more.
    NoInput,
}

/// The loop around the switch's breath: breathe, wait when there is nothing to do, report from time to time.
fn forward(
    switch: &mut Switch,
    clock: &Clock,
    stop: &AtomicBool,
    duration: Option<f64>,
    statistics: &mut Statistics,
) -> Result<End> {
    let mut poller = Poller::new();
    let end_ns = duration.map(|seconds| clock.now_ns() + (seconds * 1e9) as u64);
    let mut breaths = 0;
    while !stop.load(Ordering::Relaxed) {
        let now_ns = clock.now_ns();
        if end_ns.is_some_and(|end_ns| now_ns >= end_ns) {
            break;
        }
        let idle = switch.breathe(now_ns, &mut NoTrace).is_idle();
        breaths += 1;
        statistics.count_digests(switch);
        if idle || breaths % BREATHS_BETWEEN_REPORTS == 0 {
            report_failures(switch, statistics);
            statistics.tick(switch, now_ns)?;
        }
        if idle && !wait(switch, &mut poller, now_ns, end_ns)? {
            return Ok(End::NoInput);
        }
    }
    Ok(End::Told)
}

/// Waits until a port may have something; false when none ever will.
fn wait(switch: &Switch, poller: &mut Poller, now_ns: u64, end_ns: Option<u64>) -> Result<bool> {
    if switch.working_ports().all(|port| port.readiness() == Readiness::Never) {
        return Ok(false);
    }
    let max_wait_ns = end_ns.map_or(MAX_WAIT_NS, |end_ns| MAX_WAIT_NS.min(end_ns.saturating_sub(now_ns)));
    let readiness = switch.working_ports().map(|port| port.readiness());
    poller
        .wait(readiness, now_ns, max_wait_ns)
        .context("cannot wait for packets")?;
    Ok(true)
}

fn report_failures(switch: &mut Switch, statistics: &mut Statistics) {
    for (number, error) in switch.take_failures() {
        statistics.leave_shown();
        output::message(&format!("forebay: port {number}: {error}; it is not used any more\n"));
    }
}
