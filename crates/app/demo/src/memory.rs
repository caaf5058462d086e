//! The demonstration in one process: two switches joined by memory ports.
//!
//! Frames are made and taken apart by `forebay-traffic`, which also checks what a kernel would check: lengths and
//! checksums of IP and UDP.

use crate::measurement::{Captures, Measurement, PortFigures, SwitchFigures};
use crate::settings::{Method, Settings};
use crate::topology::{DEVICES, DOWNSTREAM_PORT, SERVER, SERVER_PORT, UPSTREAM_PORT};
use crate::{DemoError, Screen, flows, programs, screen, server};
use forebay_driver::Options;
use forebay_entries::{Applied, Controller};
use forebay_packet::decorators::Capture;
use forebay_packet::pcap::{TimestampUnit, Writer};
use forebay_packet::{DEFAULT_BURST, MemoryPort, Port};
use forebay_pipeline::{NoTrace, Pipeline};
use forebay_ports::Clock;
use forebay_switch::{Config, Settled, Switch};
use forebay_traffic::{Checker, FrameSpec, MessageSource, Verdict, inspect};
use std::fs::File;
use std::io::BufWriter;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// Frames that a memory port holds: more than a burst becomes anywhere.
const QUEUE: usize = 1024;

/// Polls after which a burst that still moves in a switch is taken to move for ever.
const MAX_POLLS: u32 = 1000;

/// Bursts between two showings of progress.
const BURSTS_BETWEEN_SHOWINGS: u64 = 64;

/// With a rate, a burst has what is due in this share of a second.
const BURSTS_A_SECOND: f64 = 100.0;

/// Longest time without looking whether to stop.
const LOOK_AROUND: Duration = Duration::from_millis(50);

/// Runs the demonstration once.
///
/// # Errors
/// When a capture cannot be written, or `stop` was set.
///
/// # Panics
/// When a program of ours does not compile, load or take its entries.
pub fn measure(
    settings: &Settings,
    method: Method,
    screen: &mut dyn Screen,
    stop: &AtomicBool,
) -> Result<Measurement, DemoError> {
    let folder = settings.folder().join(method.name());
    std::fs::create_dir_all(&folder).map_err(|error| DemoError::file(&folder, error))?;
    let captures = Captures::in_folder(&folder);
    let clock = Clock::start();
    let mut line = Line::new(settings, method, &captures, clock)?;
    let start_ns = clock.now_ns();
    let mut bursts = 0;
    while line.sent < settings.messages() {
        line.pace(settings.rate(), start_ns, stop);
        if stop.load(Ordering::Relaxed) {
            return Err(DemoError::Interrupted);
        }
        line.send_burst(settings.messages(), settings.rate());
        line.carry()?;
        bursts += 1;
        if bursts % BURSTS_BETWEEN_SHOWINGS == 0 {
            let seconds = (clock.now_ns() - start_ns) as f64 / 1e9;
            screen.progress(&screen::progress_line(
                line.checker.delivered(),
                settings.messages(),
                seconds,
            ));
        }
    }
    screen.progress("");
    let seconds = (clock.now_ns() - start_ns) as f64 / 1e9;
    line.finish(settings, method, captures, seconds)
}

/// Devices, switches and server, in a line.
struct Line {
    source: MessageSource,
    first_port: u16,
    sent: u64,
    devices: MemoryPort,
    switches: [Switch; 2],
    server: MemoryPort,
    checker: Checker,
    /// Frames at the server that are no correct frames.
    damaged: u64,
    clock: Clock,
}

impl Line {
    fn new(settings: &Settings, method: Method, captures: &Captures, clock: Clock) -> Result<Line, DemoError> {
        let (devices, upstream) = MemoryPort::pair("devices", "switch 1, devices", QUEUE);
        let (near, far) = MemoryPort::pair("switch 1, link", "switch 2, link", QUEUE);
        let (downstream, server) = MemoryPort::pair("switch 2, server", "server", QUEUE);
        let defines = programs::defines(settings, method);
        let entries = programs::disaggregate_entries(settings.batch());
        let mut first = switch(programs::AGGREGATE, &defines, &programs::aggregate_entries(), clock);
        first.attach(UPSTREAM_PORT, captured(upstream, &captures.devices)?);
        first.attach(DOWNSTREAM_PORT, captured(near, &captures.link)?);
        let mut second = switch(programs::DISAGGREGATE, &defines, &entries, clock);
        second.attach(UPSTREAM_PORT, Box::new(far));
        second.attach(DOWNSTREAM_PORT, captured(downstream, &captures.server)?);
        Ok(Line {
            source: MessageSource::new(settings.format(), settings.flows()),
            first_port: flows::first_source_port(settings.flows()),
            sent: 0,
            devices,
            switches: [first, second],
            server,
            checker: Checker::new(settings.format(), settings.flows()),
            damaged: 0,
            clock,
        })
    }

    /// Waits until the messages sent so far are not more than the rate allows, or until `stop` is set.
    fn pace(&self, rate: Option<f64>, start_ns: u64, stop: &AtomicBool) {
        let Some(rate) = rate else { return };
        let due_ns = start_ns.saturating_add((self.sent as f64 / rate * 1e9) as u64);
        while !stop.load(Ordering::Relaxed) {
            let wait = Duration::from_nanos(due_ns.saturating_sub(self.clock.now_ns()));
            if wait.is_zero() {
                break;
            }
            std::thread::sleep(wait.min(LOOK_AROUND));
        }
    }

    /// The devices send a burst of messages, or what is left of `total`.
    fn send_burst(&mut self, total: u64, rate: Option<f64>) {
        let most = DEFAULT_BURST as u64;
        let burst = rate.map_or(most, |rate| ((rate / BURSTS_A_SECOND).ceil() as u64).clamp(1, most));
        let mut frame = Vec::new();
        for _ in 0..burst.min(total - self.sent) {
            let flow = (self.sent % self.source.sent().len() as u64) as u16;
            let headers = FrameSpec::udp_ipv4((DEVICES, self.first_port + flow), (SERVER, SERVER_PORT));
            self.source.next_frame(&headers, &mut frame);
            self.devices.inject(&frame);
            self.sent += 1;
        }
    }

    /// Everything that is under way arrives.
    fn carry(&mut self) -> Result<(), DemoError> {
        let now_ns = self.clock.now_ns();
        for (switch, name) in self.switches.iter_mut().zip(["switch 1", "switch 2"]) {
            let settled = switch.settle(now_ns, MAX_POLLS, &mut NoTrace);
            if let Some((_, error)) = switch.take_failures().into_iter().next() {
                return Err(DemoError::Switch(error.to_string()));
            }
            if settled == Settled::Busy {
                return Err(DemoError::Switch(format!("{name}: packets go round in it without end")));
            }
        }
        while let Some(frame) = self.server.extract() {
            self.receive(&frame);
        }
        Ok(())
    }

    fn receive(&mut self, frame: &[u8]) -> Option<Verdict> {
        match inspect(frame) {
            Ok(inspected) => Some(self.checker.receive(&frame[inspected.payload])),
            Err(_) => {
                self.damaged += 1;
                None
            }
        }
    }

    fn finish(
        mut self,
        settings: &Settings,
        method: Method,
        captures: Captures,
        seconds: f64,
    ) -> Result<Measurement, DemoError> {
        for switch in &mut self.switches {
            switch.flush();
            if let Some((_, error)) = switch.take_failures().pop() {
                return Err(DemoError::Switch(error.to_string()));
            }
        }
        let mut report = self
            .checker
            .report(&server::messages_of_flows(settings.messages(), settings.flows()));
        report.changed += self.damaged;
        Ok(Measurement {
            method,
            report,
            seconds,
            switches: self.switches.each_ref().map(figures),
            captures,
        })
    }
}

fn figures(switch: &Switch) -> SwitchFigures {
    SwitchFigures {
        ports: switch.ports().iter().map(PortFigures::from_report).collect(),
    }
}

/// A port whose packets are written into a file.
fn captured(port: MemoryPort, path: &Path) -> Result<Box<dyn Port>, DemoError> {
    let file = File::create(path).map_err(|error| DemoError::file(path, error))?;
    let writer = Writer::new(BufWriter::new(file), TimestampUnit::Nanoseconds);
    let writer = writer.map_err(|error| DemoError::file(path, error))?;
    Ok(Box::new(Capture::new(port, writer)))
}

/// A switch without ports that executes one of our programs.
fn switch(path: &str, defines: &[String], entries: &str, clock: Clock) -> Switch {
    let pipeline = pipeline(path, defines);
    let test = forebay_entries::parse(entries).expect("our entries are STF");
    let mut controller = Controller::new(pipeline.clone());
    for command in test.commands {
        let applied = controller.apply(&command.value);
        assert!(
            matches!(applied, Applied::Done),
            "{path}, line {} of its entries: {applied:?}",
            command.line
        );
    }
    let config = Config {
        start_ns: clock.now_ns(),
        ..Config::default()
    };
    Switch::new(pipeline, config)
}

fn pipeline(path: &str, defines: &[String]) -> Arc<Pipeline> {
    let sources = programs::sources();
    let compiled = forebay_driver::compile(
        path,
        &Options {
            defines,
            ..Options::new(&sources)
        },
    );
    let Some(program) = compiled.program else {
        let messages = forebay_syntax::render::render_all(&compiled.diagnostics, &compiled.sources);
        panic!("{path} does not compile:\n{messages}");
    };
    Arc::new(Pipeline::load(program).expect("our programs can be loaded"))
}
