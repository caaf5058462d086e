//! The demonstration with real sockets, interfaces and processes.
//!
//! ```text
//!  namespace "devices"         namespace "switches"                       namespace "server"
//!  ┌──────────────────┐   ┌─────────────────────────────────────┐   ┌──────────────────┐
//!  │ iot-send    up0 ─┼───┼─ in1  switch 1  link1 ── link2      │   │                  │
//!  │ 10.0.1.1         │   │                    switch 2   out2 ─┼───┼─ down0 iot-serve │
//!  └──────────────────┘   └─────────────────────────────────────┘   │        10.0.2.2  │
//!                                                                   └──────────────────┘
//! ```
//!
//! Everything is started from here, in an order in which each thing says that it is ready before the next one begins:
//! switches, server, sender. The server reports what has been delivered, which limits how far the sender may go.

use crate::measurement::{Captures, Measurement, PortFigures, SwitchFigures};
use crate::namespace::Namespace;
use crate::process::{Happening, Process, Role};
use crate::server::Served;
use crate::settings::{Method, Settings};
use crate::topology::*;
use crate::{DemoError, Screen, flows, programs, screen, system};
use serde_json::Value;
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::time::{Duration, Instant};

/// Longest time without looking whether to stop.
const LOOK_AROUND: Duration = Duration::from_millis(100);

/// How long a process may take to become ready, or to end.
const PATIENCE: Duration = Duration::from_secs(60);

/// Whether the process can make a network.
pub enum Possible {
    /// Here it is.
    Yes(Network),
    /// It is not needed.
    NotWanted,
    /// Why not, as the beginning of a sentence.
    No(String),
}

/// The namespaces with their interfaces; deleted when this is dropped.
pub struct Network {
    devices: Namespace,
    switches: Namespace,
    server: Namespace,
}

impl Network {
    /// Makes the network, unless the settings ask for memory or the process has not the rights.
    ///
    /// # Errors
    /// When it has the rights, and making it fails half-way.
    pub fn make_if_possible(settings: &Settings) -> Result<Possible, DemoError> {
        if settings.memory() {
            return Ok(Possible::NotWanted);
        }
        if !system::is_root() {
            return Ok(Possible::No("Network namespaces need root".to_string()));
        }
        match Namespace::new("devices") {
            Ok(devices) => Network::make(devices).map(Possible::Yes),
            Err(error) => Ok(Possible::No(format!(
                "Network namespaces cannot be made here ({error})"
            ))),
        }
    }

    fn make(devices: Namespace) -> Result<Network, DemoError> {
        let (switches, server) = (Namespace::new("switches")?, Namespace::new("server")?);
        devices.wire("up0", &switches, "in1")?;
        switches.wire("link1", &switches, "link2")?;
        switches.wire("out2", &server, "down0")?;
        give_address(&devices, "up0", DEVICES, DEVICES_GATEWAY)?;
        give_address(&server, "down0", SERVER, SERVER_GATEWAY)?;
        Ok(Network {
            devices,
            switches,
            server,
        })
    }

    /// Runs the demonstration once.
    ///
    /// # Errors
    /// When a process cannot be started or ends early, or `stop` was set.
    pub fn measure(
        &self,
        settings: &Settings,
        method: Method,
        screen: &mut dyn Screen,
        stop: &AtomicBool,
    ) -> Result<Measurement, DemoError> {
        let folder = settings.folder().join(method.name());
        std::fs::create_dir_all(&folder).map_err(|error| DemoError::file(&folder, error))?;
        programs::write_entries(settings.folder(), settings.batch())?;
        let mut run = Run::new(settings, &folder, stop);
        run.start_switches(self, method)?;
        run.start_server(self)?;
        run.start_sender(self)?;
        let served = run.watch(screen)?;
        let switches = run.stop_switches()?;
        Ok(Measurement {
            method,
            report: served.report,
            seconds: served.seconds,
            switches,
            captures: collect_captures(&folder)?,
        })
    }
}

/// An address, and everything else by the gateway, whose Ethernet address is known without asking.
fn give_address(
    namespace: &Namespace,
    interface: &str,
    address: std::net::Ipv4Addr,
    gateway: std::net::Ipv4Addr,
) -> Result<(), DemoError> {
    namespace.ip(&format!("link set {interface} address {}", mac_text(address)))?;
    namespace.ip(&format!("addr add {address}/24 dev {interface}"))?;
    namespace.ip(&format!(
        "neigh add {gateway} lladdr {} dev {interface}",
        mac_text(gateway)
    ))?;
    namespace.ip(&format!("route add default via {gateway}"))
}

/// The processes of one run. They are killed when this is dropped.
struct Run<'a> {
    settings: &'a Settings,
    folder: &'a Path,
    stop: &'a AtomicBool,
    happenings: Receiver<(Role, Happening)>,
    happenings_sender: Sender<(Role, Happening)>,
    processes: Vec<Process>,
    /// The last object that each process printed.
    last: HashMap<Role, Value>,
    ended: Vec<Role>,
}

impl<'a> Run<'a> {
    fn new(settings: &'a Settings, folder: &'a Path, stop: &'a AtomicBool) -> Run<'a> {
        let (happenings_sender, happenings) = mpsc::channel();
        Run {
            settings,
            folder,
            stop,
            happenings,
            happenings_sender,
            processes: Vec::new(),
            last: HashMap::new(),
            ended: Vec::new(),
        }
    }

    fn start_switches(&mut self, network: &Network, method: Method) -> Result<(), DemoError> {
        for (role, program, entries, ports) in [
            (
                Role::Switch1,
                programs::AGGREGATE,
                programs::AGGREGATE_ENTRIES,
                ["in1", "link1"],
            ),
            (
                Role::Switch2,
                programs::DISAGGREGATE,
                programs::DISAGGREGATE_ENTRIES,
                ["link2", "out2"],
            ),
        ] {
            let mut command = network.switches.command(self.settings.executable());
            command.arg("run").arg(self.settings.folder().join(program));
            for define in programs::defines(self.settings, method) {
                command.arg("-D").arg(define);
            }
            for (number, interface) in [UPSTREAM_PORT, DOWNSTREAM_PORT].iter().zip(ports) {
                command.arg("-i").arg(format!("{number}@{interface}"));
            }
            command.arg("--entries").arg(self.settings.folder().join(entries));
            command.arg("--pcap").arg(self.folder.join(capture_folder(role)));
            command.args(["--json", "--stats-interval", "0.5"]);
            self.start(role, command)?;
        }
        self.wait_for_first_line(Role::Switch1)?;
        self.wait_for_first_line(Role::Switch2)
    }

    fn start_server(&mut self, network: &Network) -> Result<(), DemoError> {
        let mut command = network.server.command(self.settings.executable());
        let silence = self.settings.silence_seconds().to_string();
        command.args(["traffic", "iot-serve", "--json", "--timeout", &silence]);
        command.args(["--bind", &format!("{SERVER}:{SERVER_PORT}")]);
        self.add_message_arguments(&mut command, "--expect");
        self.start(Role::Server, command)?;
        self.wait_for_first_line(Role::Server)
    }

    fn start_sender(&mut self, network: &Network) -> Result<(), DemoError> {
        let flows = self.settings.flows();
        let mut command = network.devices.command(self.settings.executable());
        command.args(["traffic", "iot-send", "--json", "--credit"]);
        command.args(["--to", &format!("{SERVER}:{SERVER_PORT}")]);
        command.args(["--source-port", &flows::first_source_port(flows).to_string()]);
        if let Some(rate) = self.settings.rate() {
            command.args(["--rate", &rate.to_string()]);
        }
        self.add_message_arguments(&mut command, "--messages");
        self.start(Role::Sender, command)?;
        self.allow(0);
        Ok(())
    }

    fn add_message_arguments(&self, command: &mut Command, count_flag: &str) {
        let settings = self.settings;
        command.args([count_flag, &settings.messages().to_string()]);
        command.args(["--flows", &settings.flows().to_string()]);
        command.args(["--size", &settings.format().message_bytes().to_string()]);
    }

    fn start(&mut self, role: Role, command: Command) -> Result<(), DemoError> {
        let process = Process::start(role, command, self.folder, self.happenings_sender.clone())?;
        self.processes.push(process);
        Ok(())
    }

    /// Waits until the messages have come, showing how many have, and letting the sender go on.
    fn watch(&mut self, screen: &mut dyn Screen) -> Result<Served, DemoError> {
        let started = Instant::now();
        let mut shown = started;
        let served = loop {
            let Some((role, value)) = self.next(Instant::now() + LOOK_AROUND)? else {
                continue;
            };
            if role != Role::Server {
                continue;
            }
            if let Some(served) = Served::from_json(&value) {
                break served;
            }
            let Some(delivered) = value["messages"].as_u64() else {
                continue;
            };
            self.allow(delivered);
            if shown.elapsed() >= LOOK_AROUND {
                shown = Instant::now();
                let seconds = started.elapsed().as_secs_f64();
                screen.progress(&screen::progress_line(delivered, self.settings.messages(), seconds));
            }
        };
        screen.progress("");
        self.correct_for_unsent(served)
    }

    /// The sender stops where messages were lost and nothing opens its window: what it has not sent was not lost.
    fn correct_for_unsent(&mut self, mut served: Served) -> Result<Served, DemoError> {
        self.process(Role::Sender).close_input();
        self.wait_for_end(Role::Sender)?;
        let sent = self
            .last
            .get(&Role::Sender)
            .and_then(|value| value["messages"].as_u64());
        let sent = sent.ok_or_else(|| self.process(Role::Sender).ended_early())?;
        served.report.sent = sent;
        served.report.lost = sent.saturating_sub(served.report.delivered);
        Ok(served)
    }

    /// Ends the switches, which then print their totals and complete their captures.
    fn stop_switches(&mut self) -> Result<[SwitchFigures; 2], DemoError> {
        for role in [Role::Switch1, Role::Switch2] {
            self.process(role).terminate();
        }
        for role in [Role::Switch1, Role::Switch2] {
            self.wait_for_end(role)?;
        }
        Ok([Role::Switch1, Role::Switch2].map(|role| self.figures(role)))
    }

    fn figures(&self, role: Role) -> SwitchFigures {
        let ports = self.last.get(&role).and_then(|value| value["ports"].as_array());
        SwitchFigures {
            ports: ports.into_iter().flatten().filter_map(PortFigures::from_json).collect(),
        }
    }

    /// Lets the sender send a window beyond what has been delivered.
    fn allow(&mut self, delivered: u64) {
        let allowed = delivered + self.settings.window();
        self.process(Role::Sender).write_line(&allowed.to_string());
    }

    fn process(&mut self, role: Role) -> &mut Process {
        let found = self.processes.iter_mut().find(|process| process.role() == role);
        found.expect("the process was started")
    }

    fn wait_for_first_line(&mut self, role: Role) -> Result<(), DemoError> {
        let deadline = Instant::now() + PATIENCE;
        while !self.last.contains_key(&role) {
            if self.next(deadline)?.is_none() && Instant::now() >= deadline {
                return Err(DemoError::Switch(format!("{} does not become ready", role.name())));
            }
        }
        Ok(())
    }

    fn wait_for_end(&mut self, role: Role) -> Result<(), DemoError> {
        let deadline = Instant::now() + PATIENCE;
        while !self.ended.contains(&role) {
            if self.happening(deadline)?.is_none() && Instant::now() >= deadline {
                return Err(DemoError::Switch(format!("{} does not end", role.name())));
            }
        }
        Ok(())
    }

    /// The next object that a process prints; none after a while. Switches and server do not end meanwhile.
    fn next(&mut self, deadline: Instant) -> Result<Option<(Role, Value)>, DemoError> {
        match self.happening(deadline)? {
            Some((role, Happening::Line(value))) => Ok(Some((role, value))),
            // The sender is allowed to be done; whether it is, its last words tell.
            Some((Role::Sender, Happening::End)) if self.last.contains_key(&Role::Sender) => Ok(None),
            Some((role, Happening::End)) => Err(self.process(role).ended_early()),
            None => Ok(None),
        }
    }

    /// The next thing that a process does, which is remembered; none after a while.
    fn happening(&mut self, deadline: Instant) -> Result<Option<(Role, Happening)>, DemoError> {
        if self.stop.load(Ordering::Relaxed) {
            return Err(DemoError::Interrupted);
        }
        let wait = deadline.saturating_duration_since(Instant::now()).min(LOOK_AROUND);
        match self.happenings.recv_timeout(wait) {
            Ok((role, happening)) => {
                match &happening {
                    Happening::Line(value) => {
                        self.last.insert(role, value.clone());
                    }
                    Happening::End => self.ended.push(role),
                }
                Ok(Some((role, happening)))
            }
            Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => Ok(None),
        }
    }
}

fn capture_folder(role: Role) -> &'static str {
    if role == Role::Switch1 { "ports1" } else { "ports2" }
}

/// Gives the captures that matter their names and removes the other one: the link's far end, which saw what its near
/// end saw.
fn collect_captures(folder: &Path) -> Result<Captures, DemoError> {
    let captures = Captures::in_folder(folder);
    let port = |role, number: u32| -> PathBuf { folder.join(capture_folder(role)).join(format!("port{number}.pcap")) };
    for (from, to) in [
        (port(Role::Switch1, UPSTREAM_PORT), &captures.devices),
        (port(Role::Switch1, DOWNSTREAM_PORT), &captures.link),
        (port(Role::Switch2, DOWNSTREAM_PORT), &captures.server),
    ] {
        std::fs::rename(&from, to).map_err(|error| DemoError::file(to, error))?;
    }
    for role in [Role::Switch1, Role::Switch2] {
        let rest = folder.join(capture_folder(role));
        std::fs::remove_dir_all(&rest)
            .map_err(|error| DemoError::system(format!("remove {}", rest.display()), error))?;
    }
    Ok(captures)
}
