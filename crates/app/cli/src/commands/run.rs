//! `forebay run`: a program as a switch between real interfaces.

use super::Status;
use crate::control_plane::{self, Control, ControlOptions};
use crate::controller_port;
use crate::entries::{Entries, EntriesOptions};
use crate::interfaces;
use crate::link_log::LinkLog;
use crate::numbers;
use crate::output;
use crate::packet_log::LogOptions;
use crate::program::{CompileOptions, Engine};
use crate::readiness::{Readiness, ReadyOptions, ServiceManager};
use crate::run_ports::{Captures, Incomplete, announce, check_capture, open, shares};
use crate::run_records::Records;
use crate::statistics::{Statistics, counters_json};
use crate::switch_options::SwitchOptions;
use crate::telemetry_options::{SwitchTelemetry, TelemetryOptions};
use crate::working::while_working;
use anyhow::{Context, Result, anyhow, bail};
use forebay_daemon::{
    ControlPlane, Daemon, Event, Gates, Join, NumberedPort, QueueControl, ReadyWhen, Running, Start, Stopped,
};
use forebay_p4runtime::KeepingStatus;
use forebay_packet::PortState;
use forebay_pipeline::DROP_PORT;
use forebay_pipeline::EXPIRY_PROFILES;
use forebay_pipeline::{BesideWorkers, FastPath};
use forebay_ports::{Clock, OpenOptions, PortSpec, PresentMeans, run_beside_workers};
use forebay_switch::SharingConfig;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM, SIGUSR1, SIGUSR2};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Longest time without looking at signals and for reports.
const LOOK: Duration = Duration::from_millis(50);

/// Arguments of `forebay run`.
#[derive(clap::Args)]
#[command(after_help = "\
A port is PORT@INTERFACE: the number by which the program knows it, and what it is.
  0@veth0               an existing interface, the fastest way that it supports (needs root)
  0@xdp:veth0           an interface through AF_XDP; xdp:veth0:2 for one receive queue (CAP_NET_RAW,
                        CAP_NET_ADMIN, CAP_BPF)
  0@packet:veth0        an interface through a packet socket (CAP_NET_RAW)
  0@shared:veth0        likewise, and sniffers see all that is sent, and what other programs send by
                        the interface comes in
  1@tap:NAME            a TAP device, made if it does not exist (needs root or CAP_NET_ADMIN)
  2@vhost:PATH          the network card of a virtual machine, by vhost-user; options follow, as in
                        2@vhost:/run/a.sock,mode=client,queues=2
  2@memif:PATH          memory shared with another switch, VPP or DPDK; options follow, as in
                        2@memif:/run/x.sock,id=1,role=client
  2@dpdk:DEVICE         a network card or virtual device by DPDK, with its arguments, as in
                        2@dpdk:net_tap0,iface=tap0 (docs/ports.md)
  2@pcap:IN,OUT         capture files, either may be left out; 2@pcap:IN,OUT,paced keeps the times
                        between packets, 2@pcap:IN,OUT,merged the order of several files
  3@loopback:           what the program sends to this port comes back in by it
  3@mem:                a queue in memory that nothing reads and nothing fills: 4096 packets that are
                        sent there count as sent, then it is full; for programs that embed the
                        switch, and to try a program without interfaces
  4@timer:10us,256      packets that a clock makes, one each 10 us, numbered from 0 to 255 again and
                        again, and all of them once more when the switch stops
                        (programs/common/timer.p4)

Examples:
  forebay run l3fwd.p4 -i 1@veth1 -i 2@veth2 --entries entries.stf
  forebay run l3fwd.p4 -i 1@pcap:in.pcap, -i 2@pcap:,out.pcap --entries entries.stf --json
  forebay run l3fwd.p4 -i 1@veth1 -i 2@veth2 --engine jit --workers 2 --rss ipv4.dst_addr
  forebay run l3fwd.p4 -i 1@veth1 -i 2@veth2 --grpc
  forebay run l3fwd.p4 -i 1@veth1 -i 2@memif:/run/next.sock --entries entries.stf
  forebay run -i 1@veth1 -i 2@veth2 --grpc 0.0.0.0:9559 --device-id 7 --cpu-port 255
  forebay run l3fwd.p4 -i 1@veth1 -i 2@veth2 --grpc --save-state /var/lib/forebay
  forebay run qos.p4 -i 1@veth1 -i 2@veth2 --queues 3 --queue-weights 1,4,strict --queue-depth 256

It runs until it is interrupted (ctrl-C), --duration is over, or no port has any more input; with timers alone it runs on.
SIGUSR1 prints statistics now; SIGINT, SIGTERM and SIGHUP end it; after nohup SIGHUP does not.
When statistics cannot be written any more (a closed pipe, a full disk) the switch goes on without them.
An interface that is deleted and made again is opened again. The exit status is 2 when a port has failed (a damaged input
file, a full disk), its interface is away at the end, or a file of --pcap or --capture is incomplete.")]
pub struct Arguments {
    /// Take options from this file too: TOML with the names of options as keys, for example `workers = 2` or
    /// `interfaces = ["1@veth1"]`; what stands on the command line goes before it
    #[arg(long, value_name = "FILE.toml")]
    config: Option<PathBuf>,
    /// The program: P4_16 source, what p4c made of it for BMv2 (.json), or what `forebay build` did (ir.txt)
    #[arg(value_name = "PROG.p4", required_unless_present = "grpc")]
    program: Option<PathBuf>,
    #[command(flatten)]
    options: CompileOptions,
    /// A port; may be repeated
    #[arg(short = 'i', value_name = "PORT@INTERFACE", required_unless_present_any = ["grpc", "thrift"])]
    interfaces: Vec<String>,
    #[command(flatten)]
    entries: EntriesOptions,
    /// What executes the program
    #[arg(long, value_enum, default_value_t = Engine::Jit)]
    engine: Engine,
    /// Seconds between statistics; 0 for none before the end
    #[arg(long, value_name = "SECONDS", default_value_t = 1.0, value_parser = numbers::seconds)]
    stats_interval: f64,
    /// Stop after this number of seconds
    #[arg(long, value_name = "SECONDS", value_parser = numbers::seconds, allow_negative_numbers = true)]
    duration: Option<f64>,
    /// Print the statistics as JSON, an object on a line
    #[arg(long)]
    json: bool,
    /// Never wait for packets but look for them again and again: shortest delay, all of a processor for each worker
    #[arg(long)]
    busy_poll: bool,
    /// Time of an expiry profile of entries that packets add, in place of the program's, for example 2=300; 0 is for
    /// ever
    #[arg(long = "expiry-profile", value_name = "NUMBER=SECONDS", value_parser = expiry_profile)]
    expiry_profiles: Vec<(usize, u64)>,
    /// Open interfaces that another AF_XDP program holds all the same, through packet sockets beside it
    #[arg(long)]
    force: bool,
    /// Wait up to this long for interfaces that do not exist yet, as in a container that gets them after its start
    #[arg(long, value_name = "SECONDS", default_value_t = 0.0, value_parser = numbers::seconds)]
    wait_interfaces: f64,
    #[command(flatten)]
    switch: SwitchOptions,
    #[command(flatten)]
    control: ControlOptions,
    #[command(flatten)]
    telemetry: TelemetryOptions,
    #[command(flatten)]
    ready: ReadyOptions,
    /// Write what each port receives and sends to DIR/portN.pcap
    #[arg(long, value_name = "DIR")]
    pcap: Option<PathBuf>,
    /// Write the packets of all ports to this file as pcapng, with what became of each and the line of the source that
    /// drops it; slow, with one worker only
    #[arg(long, value_name = "FILE.pcapng", conflicts_with = "pcap")]
    capture: Option<PathBuf>,
}

/// What a switch that stands for another one does besides.
#[derive(Default)]
pub struct Extras {
    /// A log of packets.
    pub log: Option<LogOptions>,
    /// A folder for what each interface receives and sends, in two files named by the interface.
    pub captures: Option<PathBuf>,
    /// How long to wait before the first packet.
    pub delay: Duration,
    /// Whether interfaces may be away at the end, as when Mininet removes them before it ends the switch.
    pub ports_may_be_gone: bool,
}

impl Arguments {
    /// Whether entries come from a file or from controllers.
    pub(super) fn is_configured(&self) -> bool {
        self.entries.entries.is_some() || self.control.is_served()
    }

    /// Takes the entries of a file.
    pub(super) fn set_entries(&mut self, file: PathBuf) {
        self.entries.entries = Some(file);
    }

    /// How programs are loaded.
    fn loading(&self) -> forebay_pipeline::Options {
        let mut expiry_profiles = [None; EXPIRY_PROFILES];
        for &(number, time_ns) in &self.expiry_profiles {
            expiry_profiles[number] = Some(time_ns);
        }
        forebay_pipeline::Options {
            engine: self.engine.of_pipeline(),
            fast_path: FastPath::BesidePackets,
            beside_workers: BesideWorkers(run_beside_workers),
            memory_limit: self.control.memory.limit(),
            workers: self.switch.worker_count(),
            expiry_profiles,
            ..Default::default()
        }
    }
}

/// Reads an expiry profile and its time, in nanoseconds.
fn expiry_profile(text: &str) -> Result<(usize, u64), String> {
    let (number, seconds) = text
        .split_once('=')
        .ok_or_else(|| "expected NUMBER=SECONDS, for example 2=300".to_string())?;
    let number = crate::numbers::whole_in(number, 0..=EXPIRY_PROFILES as u32 - 1)?;
    let seconds = crate::numbers::seconds(seconds)?;
    Ok((number as usize, (seconds * 1e9) as u64))
}

/// Runs the switch until a signal, the end of the duration, or the end of all input. Everything that can be wrong with
/// the arguments is found before the first port is opened.
pub fn run(arguments: &Arguments) -> Result<Status> {
    run_with(arguments, &Extras::default())
}

/// The same, with more.
///
/// # Errors
/// As those of [`run`], and when the log cannot be written.
pub fn run_with(arguments: &Arguments, extras: &Extras) -> Result<Status> {
    // A script may ask for statistics while the program is still compiled, which must not end the switch.
    let show = show_on_signal()?;
    // Without more, many ports are refused, with a message.
    let _ = forebay_ports::raise_open_files();
    let specs = port_specs(&arguments.interfaces)?;
    let queues = arguments.switch.queue_control()?;
    let Some(start) = while_working("starting", || arguments.start(&queues))? else {
        return Ok(Status::Bad);
    };
    let clock = Clock::start_at_least(start.clock_ns());
    let mut config = arguments.switch.config(&clock)?;
    config.start_ns -= start.clock_ns();
    let workers = arguments.switch.workers(&start.pipeline)?;
    let cpu_port = controller_port::of(&arguments.control, &start, &specs)?;
    if let Some(capture) = &arguments.capture {
        check_capture(capture, &specs)?;
    }
    let records = Records::open(extras.log.as_ref(), arguments.capture.as_deref(), &workers)?;
    let written = arguments.written(&start);
    let ready_when = arguments.ready_when(&start)?;
    let (mut ports, means) = arguments.open_ports(&specs, extras, &workers, &records.incomplete)?;
    let pipeline = Arc::clone(&start.pipeline);
    let worker_count = workers.workers;
    let mut daemon = Daemon::new(Arc::clone(&pipeline), workers);
    daemon.configure(clock, config);
    daemon.busy_poll(arguments.busy_poll);
    daemon.control_queues(Arc::clone(&queues));
    daemon.ready_when(ready_when);
    // A sandbox may hide its socket.
    let manager = ServiceManager::of_environment();
    let telemetry = arguments.telemetry.open(&mut daemon)?;
    let control = if arguments.control.is_served() {
        let join = Join::new()?;
        let (gated, gates) = Gates::before(ports, &means);
        ports = gated;
        for share in join.port.shares(worker_count) {
            ports.push((cpu_port, Box::new(share)));
        }
        daemon.send_digests(join.digests);
        let times = (clock, config.start_ns);
        Some((arguments.control).start(join.link, start, (daemon.slot(), queues), times, gates)?)
    } else {
        arguments.control.sandbox.enter()?;
        None
    };
    if let Some(control) = control.as_ref().filter(|_| !arguments.json) {
        announce_control(control);
    }
    for (number, port) in records.of_ports(ports, &mut daemon, &pipeline)? {
        daemon.attach(number, port);
    }
    let until = Until {
        stop: stop_on_signals()?,
        show,
        end_ns: arguments
            .duration
            .map(|seconds| clock.now_ns() + (seconds * 1e9) as u64),
    };
    wait(extras.delay, &until);
    let statistics = Statistics::new(clock, arguments.stats_interval, arguments.json, means);
    let control_plane = control.as_ref().map(|control| &control.control_plane);
    let beside = Beside {
        control_plane,
        telemetry,
        manager,
        written,
    };
    let stopped = operate(daemon, beside, clock, &until, statistics)?;
    check_ports(&stopped, extras.ports_may_be_gone)?;
    records.check()?;
    Ok(Status::Good)
}

/// The requested ports.
fn port_specs(interfaces: &[String]) -> Result<Vec<PortSpec>> {
    let ports = PortSpec::parse_all(interfaces.iter().map(String::as_str))
        .map_err(|error| anyhow!("a port is not written correctly\n{error}"))?;
    match ports.iter().find(|port| port.number >= DROP_PORT) {
        None => Ok(ports),
        Some(port) => bail!(
            "there is no port {}; programs know ports 0 to {}",
            port.number,
            DROP_PORT - 1
        ),
    }
}

impl Arguments {
    /// The program with the state that was saved, or with the entries of a file. None when the program has mistakes,
    /// which have been printed.
    fn start(&self, queues: &Arc<QueueControl>) -> Result<Option<Start>> {
        let entries = self.entries.read()?;
        let program = control_plane::load(
            self.control.program(self.program.as_deref())?,
            &self.options,
            self.loading(),
            self.control.is_served() || entries.as_ref().is_some_and(Entries::need_p4info),
        )?;
        let Some(start) = program else { return Ok(None) };
        let mut start = self.control.restore(start)?;
        match &entries {
            Some(entries) if start.restored.is_none() => entries.apply(&self.control, &mut start, queues)?,
            Some(entries) => output::note(&format!(
                "{}: the saved state takes its place",
                entries.path().display()
            )),
            None => {}
        }
        Ok(Some(start))
    }

    /// What was written before the switch starts: a file's name, or the saved state.
    fn written(&self, start: &Start) -> Option<String> {
        match (&start.restored, &self.entries.entries) {
            (Some(_), _) => Some("the saved state".to_owned()),
            (None, entries) => entries.as_ref().map(|path| path.display().to_string()),
        }
    }

    /// When the switch is ready.
    fn ready_when(&self, start: &Start) -> Result<ReadyWhen> {
        let has_program = start.restored.is_some() || self.control.program(self.program.as_deref())?.is_some();
        self.ready.when(&start.pipeline, !has_program)
    }

    /// Opens the ports; with the means by which each is reached.
    fn open_ports(
        &self,
        specs: &[PortSpec],
        extras: &Extras,
        workers: &SharingConfig,
        incomplete: &Incomplete,
    ) -> Result<(Vec<NumberedPort>, BTreeMap<u32, PresentMeans>)> {
        let options = OpenOptions {
            busy_poll: self.busy_poll,
            force: self.force,
        };
        let captures = match (&extras.captures, &self.pcap) {
            (Some(folder), _) => Captures::ByInterface(folder),
            (None, Some(folder)) => Captures::ByPort(folder),
            (None, None) => Captures::None,
        };
        interfaces::wait_for(specs, self.wait_interfaces);
        let (ports, means) = open(specs, shares(workers, captures), &options, captures, incomplete)?;
        if !self.json {
            announce(&means);
        }
        if ports.is_empty() {
            output::note(
                "the switch has no ports: packets come from controllers alone (-i PORT@INTERFACE adds a port)",
            );
        }
        Ok((ports, means))
    }
}

/// The services beside a switch: control plane and metrics.
struct Beside<'a> {
    control_plane: Option<&'a ControlPlane>,
    telemetry: SwitchTelemetry,
    manager: ServiceManager,
    /// What was written before it started.
    written: Option<String>,
}

/// Runs the switch until its end, and prints its statistics.
fn operate(daemon: Daemon, beside: Beside<'_>, clock: Clock, until: &Until, statistics: Statistics) -> Result<Stopped> {
    let Beside {
        control_plane,
        mut telemetry,
        mut manager,
        written,
    } = beside;
    let state = control_plane
        .map(|control_plane| -> Box<dyn Fn() -> KeepingStatus> { Box::new(control_plane.server.watch_keeping()) });
    let mut statistics = statistics.with_state(state);
    statistics.note_slow_path(&daemon.slot().present());
    let running = daemon.start()?;
    let readiness = Readiness::new(running.watch(), written);
    statistics = statistics.with_readiness(readiness.clone());
    telemetry.start(&running, control_plane, &readiness)?;
    if let Some(control_plane) = control_plane {
        let (watch, readiness) = (running.watch(), readiness.clone());
        control_plane.server.give_statistics(move || {
            let mut counters = counters_json(&watch.report(), &watch.program());
            counters["readiness"] = readiness.json();
            counters.to_string()
        });
    }
    statistics.first(&running.last_report(), &running.program());
    let mut tell = || manager.tell(&readiness);
    supervise(&running, control_plane, clock, until, &mut statistics, &mut tell);
    manager.tell_end();
    let program = running.program();
    let stopped = running.stop()?;
    telemetry.finish();
    warn(&stopped.events, &mut statistics);
    statistics.note_slow_path(&program);
    let kept = control_plane.map(ControlPlane::keep_all);
    statistics.last(&stopped.report, &program);
    kept.transpose()?;
    Ok(stopped)
}

/// Says where controllers are served.
fn announce_control(control: &Control) {
    if let Some(address) = control.control_plane.server.address() {
        output::info(&format!("P4Runtime: {address}"));
    }
    if let Some(thrift) = &control.thrift {
        output::info(&format!("Thrift: {}", thrift.address()));
    }
}

/// When a switch ends, and when its statistics are shown.
struct Until {
    /// Set by signals that end the switch.
    stop: Arc<AtomicBool>,
    /// Set by the signal that requests statistics now.
    show: Arc<AtomicBool>,
    /// The end of the duration, on the clock.
    end_ns: Option<u64>,
}

/// Prints statistics and messages, and reports changes of ports to controllers, until the switch has ended; closes it
/// when a signal, a key or the end of `--duration` requires it.
fn supervise(
    running: &Running,
    control_plane: Option<&ControlPlane>,
    clock: Clock,
    until: &Until,
    statistics: &mut Statistics,
    tell: &mut dyn FnMut(),
) {
    let mut links = LinkLog::default();
    while !running.wait(LOOK) {
        tell();
        let program = running.program();
        warn(&running.events(), statistics);
        for change in links.look(|| running.report().ports) {
            statistics.leave_shown();
            output::info(&change);
        }
        statistics.note_slow_path(&program);
        let is_wanted = until.show.swap(false, Ordering::Relaxed);
        let now_ns = clock.now_ns();
        let is_ended = statistics.tick(now_ns, is_wanted, &program, || running.report());
        if let Some(control_plane) = control_plane {
            control_plane.ports_seen(&running.report().ports);
        }
        let is_over = until.end_ns.is_some_and(|end_ns| now_ns >= end_ns);
        if is_over || is_ended || until.stop.load(Ordering::Relaxed) {
            running.close();
        }
    }
}

/// Warns of what has happened to ports.
fn warn(events: &[Event], statistics: &mut Statistics) {
    for event in events {
        statistics.leave_shown();
        output::warning(&event.to_string());
        if let Event::Back { port, .. } = event {
            statistics.announce(*port);
        }
    }
}

/// An error when a port failed, or vanished and is not back, if it may not: its traffic is not complete.
fn check_ports(stopped: &Stopped, may_be_gone: bool) -> Result<()> {
    let failed = stopped.failures.iter();
    let failed = failed.map(|number| format!("port {number} has failed"));
    let ports = stopped.report.ports.iter();
    let gone = ports.filter(|port| !may_be_gone && port.state == PortState::Gone);
    let gone = gone.map(|port| format!("port {}: {} vanished and has not come back", port.number, port.name));
    let problems: Vec<String> = failed.chain(gone).collect();
    if problems.is_empty() {
        return Ok(());
    }
    bail!("the switch has ended with ports out of order: {}", problems.join("; "))
}

/// Waits before the first packet, unless a signal ends the switch before.
fn wait(delay: Duration, until: &Until) {
    let end = Instant::now() + delay;
    while Instant::now() < end && !until.stop.load(Ordering::Relaxed) {
        std::thread::sleep(Duration::from_millis(20).min(delay));
    }
}

/// A flag that the signals that ask a program to end set.
pub(super) fn stop_on_signals() -> Result<Arc<AtomicBool>> {
    let stop = Arc::new(AtomicBool::new(false));
    let hangup = (!ignores_hangup()).then_some(SIGHUP);
    for signal in [SIGINT, SIGTERM].into_iter().chain(hangup) {
        signal_hook::flag::register(signal, stop.clone()).context("cannot watch for signals")?;
    }
    Ok(stop)
}

/// Whether who has started this process, such as `nohup`, lets it ignore the end of its terminal.
fn ignores_hangup() -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let ignored = ignored.and_then(|bits| u64::from_str_radix(bits.trim(), 16).ok());
    ignored.is_some_and(|bits| bits >> (SIGHUP - 1) & 1 == 1)
}

/// A flag that SIGUSR1 sets. SIGUSR2 does nothing: neither ends the switch.
fn show_on_signal() -> Result<Arc<AtomicBool>> {
    let show = Arc::new(AtomicBool::new(false));
    for (signal, flag) in [(SIGUSR1, show.clone()), (SIGUSR2, Arc::default())] {
        signal_hook::flag::register(signal, flag).context("cannot watch for signals")?;
    }
    Ok(show)
}
