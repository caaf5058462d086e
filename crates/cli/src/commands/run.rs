//! `forebay run`: a program as a switch between real interfaces.

use super::Status;
use crate::output;
use crate::port_table::PortTable;
use crate::program::{self, Engine, ProgramArguments};
use crate::stf_file;
use anyhow::{Context, Result, anyhow};
use forebay_packet::decorators::Capture;
use forebay_packet::pcap::{TimestampUnit, Writer};
use forebay_packet::{Port, Readiness};
use forebay_pipeline::NoTrace;
use forebay_ports::{Clock, Poller, PortSpec};
use forebay_switch::{Config, Switch};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use std::fs::File;
use std::io::{BufWriter, IsTerminal};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Longest time without looking at signals, in nanoseconds.
const MAX_WAIT_NS: u64 = 100_000_000;

/// Breaths between looks at the clock for the statistics, when there is always something to do.
const BREATHS_BETWEEN_REPORTS: u32 = 64;

/// Arguments of `forebay run`.
#[derive(clap::Args)]
pub struct Arguments {
    #[command(flatten)]
    program: ProgramArguments,
    /// A port: its number and what it is: 0@veth0, 1@tap:NAME, 2@pcap:IN,OUT, 3@loopback:
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
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
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

/// Runs the switch until a signal, the end of the duration, or the end of all input.
pub fn run(arguments: &Arguments) -> Result<Status> {
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
    attach_ports(&mut switch, arguments)?;
    let stop = stop_on_signals()?;
    let mut statistics = Statistics::new(arguments, clock);
    statistics.first(&switch)?;
    forward(&mut switch, &clock, &stop, arguments.duration, &mut statistics)?;
    statistics.last(&switch)?;
    switch.flush()?;
    Ok(Status::Good)
}

fn attach_ports(switch: &mut Switch, arguments: &Arguments) -> Result<()> {
    let specs = PortSpec::parse_all(arguments.interfaces.iter().map(String::as_str))
        .map_err(|error| anyhow!("a port is not written correctly\n{error}"))?;
    for spec in &specs {
        let opened = forebay_ports::open(spec).with_context(|| format!("port {spec}"))?;
        let port = match &arguments.pcap {
            None => opened.port,
            Some(folder) => captured(opened.port, folder, opened.number)?,
        };
        switch.attach(opened.number, port);
    }
    Ok(())
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

/// The loop around the switch's breath: breathe, wait when there is nothing to do, report from time to time.
fn forward(
    switch: &mut Switch,
    clock: &Clock,
    stop: &AtomicBool,
    duration: Option<f64>,
    statistics: &mut Statistics,
) -> Result<()> {
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
        if idle || breaths % BREATHS_BETWEEN_REPORTS == 0 {
            report_failures(switch);
            statistics.tick(switch, now_ns)?;
        }
        if idle && !wait(switch, &mut poller, now_ns, end_ns)? {
            break;
        }
    }
    Ok(())
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

fn report_failures(switch: &mut Switch) {
    for (number, error) in switch.take_failures() {
        eprintln!("forebay: port {number}: {error}; it is not used any more");
    }
}

/// When to print what.
struct Statistics {
    table: PortTable,
    clock: Clock,
    start_ns: u64,
    last_ns: u64,
    interval_ns: u64,
    json: bool,
    /// Lines of the table that stands on the terminal and is written over.
    lines_shown: Option<usize>,
}

impl Statistics {
    fn new(arguments: &Arguments, clock: Clock) -> Statistics {
        let now_ns = clock.now_ns();
        let in_place = !arguments.json && std::io::stdout().is_terminal();
        Statistics {
            table: PortTable::default(),
            clock,
            start_ns: now_ns,
            last_ns: now_ns,
            interval_ns: (arguments.stats_interval * 1e9) as u64,
            json: arguments.json,
            lines_shown: in_place.then_some(0),
        }
    }

    /// The ports before anything has come: whoever started the switch sees that it is ready.
    fn first(&mut self, switch: &Switch) -> Result<()> {
        if self.interval_ns == 0 {
            Ok(())
        } else {
            self.print(switch, 0.0)
        }
    }

    fn tick(&mut self, switch: &Switch, now_ns: u64) -> Result<()> {
        if self.interval_ns == 0 || now_ns < self.last_ns + self.interval_ns {
            return Ok(());
        }
        let seconds = (now_ns - self.last_ns) as f64 / 1e9;
        self.last_ns = now_ns;
        self.print(switch, seconds)
    }

    /// The totals, with rates over the whole time.
    fn last(&mut self, switch: &Switch) -> Result<()> {
        self.table = PortTable::default();
        self.last_ns = self.clock.now_ns();
        self.print(switch, (self.last_ns - self.start_ns) as f64 / 1e9)?;
        if self.json {
            return Ok(());
        }
        let counters = switch.counters();
        output::print(&format!(
            "{} packets received, {} copies made, {} sent, {} dropped\n",
            counters.received, counters.copies, counters.transmitted, counters.dropped
        ))
    }

    fn print(&mut self, switch: &Switch, seconds: f64) -> Result<()> {
        let ports = switch.ports();
        if self.json {
            let elapsed = (self.last_ns - self.start_ns) as f64 / 1e9;
            return output::print(&format!("{}\n", self.table.json(&ports, seconds, elapsed)));
        }
        let table = self.table.text(&ports, seconds);
        let Some(lines_shown) = &mut self.lines_shown else {
            return output::print(&table);
        };
        // Up to where the last table began, and clear from there.
        let back = if *lines_shown > 0 {
            format!("\x1b[{lines_shown}A\x1b[J")
        } else {
            String::new()
        };
        *lines_shown = table.lines().count();
        output::print(&(back + &table))
    }
}
