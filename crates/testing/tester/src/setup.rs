//! From a test file to streams and a device. Everything that can be wrong is told before any frame is sent.

use crate::device::{self, Device};
use crate::expectations;
use crate::impairment::Impairment;
use crate::impairment_entries::impairments;
use crate::line_rate;
use crate::loaded::Loaded;
use crate::numbers;
use crate::on_chip::{ChipRemarks, OnChip};
use crate::reference::{Reference, reached_ports, state_free};
use crate::stream::Stream;
use crate::tag::NUMBER_MAX;
use crate::test_file::{EngineEntry, TestFile, TrafficEntry};
use crate::traffic::{described_frames, streams};
use crate::trial::Plan;
use forebay_pipeline::Pipeline;
use forebay_ports::PortSpec;
use forebay_sim::{Library, Problem, key_place, line_of};
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

/// Ports of v1model programs.
const PORT_MAX: u32 = 510;

/// Why streams that are as fast as the tester can are not searched.
pub(crate) const NO_RATE: &str = "a search changes the rates of all streams; give each a rate other than \"max\"";

/// A test that is ready to run.
pub struct Test {
    /// The file.
    pub file: TestFile,
    /// What is sent.
    pub streams: Vec<Stream>,
    /// Numbers of the ports that are used.
    pub ports: Vec<u32>,
    /// What is between them.
    pub target: Target,
    loaded: Option<Loaded>,
    impairments: Vec<(u32, Impairment)>,
    /// Where the switch between interfaces serves its metrics.
    metrics: Option<String>,
    /// The line of each stream in the file.
    lines: Vec<usize>,
}

/// What is measured.
pub enum Target {
    /// Nothing.
    Wire,
    /// The program of the file, in memory.
    Program,
    /// The program of the file, on a chip of the timed model.
    Chip(Box<OnChip>),
    /// Whatever is between these interfaces.
    Interfaces(Vec<PortSpec>),
}

/// What the command line says in place of the file.
#[derive(Clone, Debug, Default)]
pub struct Overrides {
    /// Interfaces: `1@veth0`.
    pub interfaces: Vec<String>,
    /// Where the switch between them serves its metrics: `HOST:PORT`.
    pub metrics: Option<String>,
    /// A wire in memory.
    pub wire: bool,
    /// The name of a chip.
    pub chip: Option<String>,
    /// Why a program that does not fit the chip is timed all the same.
    pub ignore_fit: Option<String>,
}

/// Reads with problems being collected.
pub(crate) struct Reader<'a> {
    text: &'a str,
    pub(crate) library: &'a dyn Library,
    pub(crate) problems: Vec<Problem>,
}

impl Reader<'_> {
    /// Notes a mistake at a place of the text.
    pub(crate) fn wrong(&mut self, span: Range<usize>, message: impl Into<String>) {
        let line = (span.end > 0).then(|| line_of(self.text, span.start));
        self.problems.push(Problem::new(line, message));
    }

    /// The place of a key at the beginning of the file.
    pub(crate) fn key_line(&self, key: &str) -> Range<usize> {
        key_place(self.text, 0, key).unwrap_or(0..0)
    }

    /// The place of a table's header.
    pub(crate) fn table(&self, header: &str) -> Range<usize> {
        self.text.find(header).map_or(0..0, |at| at..at + header.len())
    }

    /// Notes a mistake at a key of the table in which another key or value stands.
    pub(crate) fn wrong_key(&mut self, near: Range<usize>, key: &str, message: impl Into<String>) {
        let place = key_place(self.text, near.start, key).unwrap_or(near);
        self.wrong(place, message);
    }
}

impl Test {
    /// Reads a test file. Programs and files come from the library.
    ///
    /// # Errors
    /// All problems that were found, with their lines.
    pub fn read(text: &str, library: &dyn Library, overrides: &Overrides) -> Result<Test, Vec<Problem>> {
        let file = TestFile::read(text).map_err(|problem| vec![problem])?;
        let mut reader = Reader {
            text,
            library,
            problems: Vec::new(),
        };
        numbers::check(&file, &mut reader);
        let loaded = file
            .device
            .program
            .as_ref()
            .and_then(|program| Loaded::read(&file.device, program, &mut reader));
        let streams = streams(&file, loaded.as_ref(), &mut reader);
        let target = target(&file, overrides, loaded.as_ref(), &mut reader);
        numbers::bridge(&file, target.as_ref(), &mut reader);
        numbers::search(&file, &streams, &mut reader);
        let reached = reached(&file, target.as_ref(), loaded.as_ref(), &streams);
        let ports = ports(&file, target.as_ref(), &streams, reached.as_deref(), &mut reader);
        if let Some(reached) = reached.filter(|_| reader.problems.is_empty() && is_checked(&file, loaded.as_ref())) {
            expectations::check(&file, &streams, &reached, &ports, &mut reader);
        }
        let knows_ports = loaded.is_some() || file.device.program.is_none();
        let impairments = impairments(&file, knows_ports.then_some(&ports[..]), &mut reader);
        let of_file = file.device.metrics.as_ref().map(|address| address.get_ref());
        let metrics = overrides.metrics.as_ref().or(of_file).cloned();
        match target {
            Some(target) if reader.problems.is_empty() => Ok(Test {
                streams,
                ports,
                target,
                loaded,
                impairments,
                metrics,
                lines: file
                    .traffic
                    .iter()
                    .map(|entry| line_of(text, entry.name.span().start))
                    .collect(),
                file,
            }),
            _ => Err(reader.problems),
        }
    }

    /// How a trial of this file is.
    pub fn plan(&self) -> Plan {
        let ns = |seconds: f64| (seconds * 1e9) as u64;
        Plan {
            scale: 1.0,
            warm_up_ns: ns(self.file.warm_up_s),
            duration_ns: ns(*self.file.duration_s.get_ref()),
            drain_ns: ns(self.file.drain_s),
            burst: *self.file.burst.get_ref(),
            disturbance_ns: (self.file.disturbance_us * 1e3) as u64,
            sample_ns: ns(self.file.sample_s),
            seed: self.file.seed,
            number: 0,
            step: None,
        }
    }

    /// Frames a second of all streams together; none when a stream is as fast as the tester can.
    pub fn total_pps(&self) -> Option<f64> {
        self.streams.iter().map(Stream::mean_pps).sum()
    }

    /// Builds the device.
    ///
    /// # Errors
    /// When a program cannot be loaded, an entry is refused, an interface cannot be opened, in words.
    pub fn device(&self) -> Result<Device, String> {
        let queue = *self.file.device.queue_packets.get_ref();
        let mut device = match &self.target {
            Target::Wire => device::wire(&self.ports, &device::pairs_of(&self.streams), queue),
            Target::Program => {
                let (pipeline, name) = self.program()?;
                let mut device = device::program(pipeline, &self.ports, queue, 0);
                device.description = format!("{name} in memory");
                device
            }
            Target::Chip(chip) => {
                let (pipeline, name) = self.program()?;
                let mut pipelines = vec![pipeline];
                for _ in 1..chip.states {
                    pipelines.push(self.program()?.0);
                }
                let device = device::chip(pipelines, chip.spec.clone(), &self.ports, self.file.device.queue_bytes);
                let mut device = device.map_err(|error| error.to_string())?;
                device.description = format!("{name} on {}, in simulated time", chip.spec.name);
                device
            }
            Target::Interfaces(specs) => {
                let mut device = device::interfaces(specs).map_err(|error| error.to_string())?;
                device::wait_for_links(specs, &mut device)?;
                if let Some(address) = &self.metrics {
                    device.ask_for_drops(address)?;
                }
                device
            }
        };
        for (number, impairment) in &self.impairments {
            device.impair(*number, *impairment, self.file.seed ^ u64::from(*number));
        }
        Ok(device)
    }

    /// Whether the device takes frames as long as those of streams, as far as that is known before they are sent.
    ///
    /// # Errors
    /// Which are too long.
    pub fn lengths_fit(&self, streams: &[Stream]) -> Result<(), Problem> {
        let too_long = match &self.target {
            Target::Interfaces(specs) => device::too_long(specs, streams, |stream| Some(stream.from)),
            Target::Wire | Target::Program | Target::Chip(_) => None,
        };
        match too_long {
            None => Ok(()),
            Some((stream, message)) => Err(Problem::new(self.lines.get(stream).copied(), message)),
        }
    }

    /// Why frames of streams may not come back: the interface where they are expected takes shorter ones only. That is no
    /// reason to refuse them, as a device may shorten frames.
    pub(crate) fn too_long_to_come_back(&self, streams: &[Stream]) -> Option<String> {
        let Target::Interfaces(specs) = &self.target else {
            return None;
        };
        device::too_long(specs, streams, |stream| stream.to).map(|(_, message)| message)
    }

    /// What figures hang on when the device is a chip.
    pub fn chip(&self) -> Option<ChipRemarks> {
        match &self.target {
            Target::Chip(chip) => Some(chip.remarks()),
            _ => None,
        }
    }

    /// Whether the ports of the device carry the rates of the file, as far as it is known what they carry, and whether
    /// tags have numbers for all frames of a trial.
    ///
    /// # Errors
    /// When they do not.
    pub fn rates_fit(&self) -> Result<(), Problem> {
        self.numbers_fit()?;
        let Target::Chip(chip) = &self.target else {
            return Ok(());
        };
        let too_fast = device::line_rate(&chip.spec).and_then(|line| line_rate::too_fast(&self.streams, line));
        match too_fast {
            None => Ok(()),
            Some(found) => Err(Problem::new(self.lines.get(found.stream).copied(), found.message)),
        }
    }

    /// Whether all streams have a rate that a search can change.
    ///
    /// # Errors
    /// Which has none.
    pub fn rates_scale(&self) -> Result<(), Problem> {
        match self.streams.iter().position(|stream| stream.mean_pps().is_none()) {
            None => Ok(()),
            Some(index) => Err(Problem::new(self.lines.get(index).copied(), NO_RATE)),
        }
    }

    fn numbers_fit(&self) -> Result<(), Problem> {
        let plan = self.plan();
        let end_ns = plan.warm_up_ns + plan.duration_ns;
        let due = |stream: &Stream| stream.frames_due(1.0, None, 0, end_ns).unwrap_or(0.0);
        let too_many = |stream: &Stream| due(stream) > NUMBER_MAX as f64;
        let Some(index) = self.streams.iter().position(too_many) else {
            return Ok(());
        };
        let message = format!(
            "{:.0} frames are due in a trial; a stream has at most {NUMBER_MAX}: make it shorter, or several streams",
            due(&self.streams[index])
        );
        Err(Problem::new(self.lines.get(index).copied(), message))
    }

    /// The program, loaded, and what it is.
    fn program(&self) -> Result<(Arc<Pipeline>, String), String> {
        let loaded = self.loaded.as_ref().ok_or("there is no program")?;
        let engine = match loaded.engine {
            EngineEntry::Interp => "reference executor",
            EngineEntry::Jit => "machine code",
        };
        let pipeline = loaded.load(loaded.engine).map_err(|error| error.message)?;
        Ok((pipeline, format!("{}, {engine},", loaded.path)))
    }

    /// What must come out for the frames of these streams, when they are to be checked: what the reference executor
    /// says, or, of a wire, what was sent.
    ///
    /// # Errors
    /// When it cannot say that of each frame by itself, in words.
    pub fn reference(&self, streams: &[Stream]) -> Result<Option<Reference>, String> {
        if !self.file.device.check {
            return Ok(None);
        }
        if matches!(self.target, Target::Wire) {
            return Reference::of_wire(&self.ports, &device::pairs_of(&self.streams), streams).map(Some);
        }
        let Some(loaded) = &self.loaded else { return Ok(None) };
        Reference::new(loaded.reference()?, &self.ports, streams).map(Some)
    }

    /// The streams with frames of this length.
    ///
    /// # Errors
    /// When a stream cannot have such frames, in words.
    pub fn resized(&self, bytes: usize) -> Result<Vec<Stream>, String> {
        let mut streams = self.streams.clone();
        for ((stream, entry), index) in streams.iter_mut().zip(&self.file.traffic).zip(0u64..) {
            let frame = entry.frame.get_ref().resized(bytes);
            let frame = frame
                .ok_or_else(|| format!("{}: only udp, tcp and hex frames can have another length", stream.name))?;
            let flows = entry.flows.as_ref().map(|flows| flows.get_ref());
            let frames = described_frames(
                &frame,
                flows,
                *entry.from.get_ref(),
                self.loaded.as_ref(),
                self.file.seed.wrapping_add(index),
            );
            stream.frames = Arc::new(frames.map_err(|error| format!("{}: {error}", stream.name))?);
        }
        Ok(streams)
    }
}

fn target(file: &TestFile, overrides: &Overrides, loaded: Option<&Loaded>, reader: &mut Reader<'_>) -> Option<Target> {
    let entry = &file.device;
    let of_file = entry.interfaces.iter().map(|interface| interface.get_ref().as_str());
    let interfaces: Vec<&str> = if overrides.interfaces.is_empty() {
        of_file.collect()
    } else {
        overrides.interfaces.iter().map(String::as_str).collect()
    };
    devices(file, overrides, reader);
    if overrides.wire || entry.wire && overrides.interfaces.is_empty() && overrides.chip.is_none() {
        if entry.check {
            one_end_each(file, reader);
        }
        return Some(Target::Wire);
    }
    if !interfaces.is_empty() && overrides.chip.is_none() {
        return interfaces_target(file, overrides, &interfaces, reader);
    }
    if entry.program.is_none() && overrides.chip.is_some() {
        let message =
            "--chip runs the program of the file on a chip, and [device] has none; write program = \"FILE.p4\"";
        let line = reader.table("[device]");
        reader.wrong(line, message);
        return None;
    }
    if entry.program.is_none() {
        let message = "nothing is measured; [device] has a program, interfaces = [\"1@veth0\", ...] or wire = true";
        let line = reader.table("[device]");
        reader.wrong(line, message);
        return None;
    }
    let in_file = entry.chip.as_ref();
    let of_file = in_file.map(|chip| (chip.get_ref().as_str(), chip.span()));
    let Some(named) = overrides.chip.as_deref().map(|chip| (chip, 0..0)).or(of_file) else {
        return Some(Target::Program);
    };
    let mut mistakes = Vec::new();
    let program = loaded.map(|loaded| &loaded.program);
    let ignore_fit = overrides.ignore_fit.as_deref();
    let chip = OnChip::read(entry, named, program, ignore_fit, reader.library, &mut mistakes);
    mistakes
        .into_iter()
        .for_each(|(place, message)| reader.wrong(place, message));
    chip.map(|chip| Target::Chip(Box::new(chip)))
}

/// A file names one device; the command line may name another in its place.
fn devices(file: &TestFile, overrides: &Overrides, reader: &mut Reader<'_>) {
    let (entry, near) = (&file.device, reader.table("[device]"));
    if entry.interfaces.is_empty() && key_place(reader.text, near.start, "interfaces").is_some() {
        let message = "interfaces is empty; name one for each port, as in [\"1@veth0\", \"2@veth2\"]";
        reader.wrong_key(near.clone(), "interfaces", message);
    }
    let of_program = [
        ("entries", !entry.entries.is_empty()),
        ("commands", entry.commands.is_some()),
        ("defines", !entry.defines.is_empty()),
    ];
    if let Some((key, _)) = of_program
        .iter()
        .find(|(_, is_there)| *is_there && entry.program.is_none())
    {
        reader.wrong_key(
            near.clone(),
            key,
            format!("{key} are those of a program, and [device] has none"),
        );
    }
    let is_overridden = overrides.wire || overrides.chip.is_some() || !overrides.interfaces.is_empty();
    if entry.metrics.is_some() && entry.interfaces.is_empty() && !is_overridden {
        let message = "metrics are those of a switch between interfaces, and [device] has none";
        reader.wrong_key(near.clone(), "metrics", message);
    }
    if overrides.metrics.is_some() && entry.interfaces.is_empty() && overrides.interfaces.is_empty() {
        let message =
            "--metrics are those of a switch between interfaces, and neither [device] nor --interface names any";
        reader.wrong(near, message);
    }
    if !is_overridden {
        one_device(file, reader);
    }
}

/// A wire, interfaces and a chip exclude one another. A program beside interfaces is what frames are compared with.
fn one_device(file: &TestFile, reader: &mut Reader<'_>) {
    let (entry, near) = (&file.device, reader.table("[device]"));
    let others = [
        ("interfaces", !entry.interfaces.is_empty()),
        ("a program", entry.program.is_some() && !needs_program(file)),
        ("a chip", entry.chip.is_some()),
    ];
    let (key, device) = if entry.wire {
        let Some((other, _)) = others.iter().find(|(_, is_there)| *is_there) else {
            return;
        };
        ("wire", format!("a wire and {other}"))
    } else if !entry.interfaces.is_empty() && entry.chip.is_some() {
        ("chip", "interfaces and a chip".to_string())
    } else {
        return;
    };
    let message = format!("[device] has {device}; leave one out, or write --{key} on the command line");
    reader.wrong_key(near, key, message);
}

/// Whether frames are those of a program's parser, or of entries of its tables.
fn needs_program(file: &TestFile) -> bool {
    file.traffic.iter().any(|entry| {
        let of_entries = entry
            .flows
            .as_ref()
            .is_some_and(|flows| flows.get_ref().entries.is_some());
        of_entries || entry.frame.get_ref().parser.is_some()
    })
}

/// The interfaces of the file, or those of the command line, whose mistakes have no line.
fn interfaces_target(
    file: &TestFile,
    overrides: &Overrides,
    interfaces: &[&str],
    reader: &mut Reader<'_>,
) -> Option<Target> {
    if file.device.check && file.device.program.is_none() {
        let near = reader.table("[device]");
        let message = "check compares with what a program sends, and [device] has none; write program = \"FILE.p4\" beside the interfaces";
        reader.wrong_key(near, "check", message);
    }
    let is_of_file = overrides.interfaces.is_empty();
    let mut wrong = |index: usize, message: String| {
        let written = file.device.interfaces.get(index).filter(|_| is_of_file);
        match written {
            Some(interface) => reader.wrong(interface.span(), message),
            None => reader.wrong(0..0, format!("--interface {}: {message}", interfaces[index])),
        }
    };
    let specs = match PortSpec::parse_all(interfaces.iter().copied()) {
        Ok(specs) => specs,
        Err(error) => {
            let alone = |interface: &&str| PortSpec::parse_all([*interface]).is_err();
            let index = interfaces.iter().position(alone).unwrap_or(0);
            wrong(index, format!("this is no port:\n{error}"));
            return None;
        }
    };
    for (index, spec) in specs.iter().enumerate() {
        if let Err(error) = device::interface_exists(spec) {
            wrong(index, error.to_string());
        }
    }
    Some(Target::Interfaces(specs))
}

/// A wire leads from a port to one other, so what is sent by it can be compared at that one only.
fn one_end_each(file: &TestFile, reader: &mut Reader<'_>) {
    let mut ends: BTreeMap<u32, u32> = BTreeMap::new();
    for entry in &file.traffic {
        let Some(to) = &entry.to else { continue };
        let (from, to, span) = (*entry.from.get_ref(), *to.get_ref(), to.span());
        let end = *ends.entry(from).or_insert(to);
        if end != to {
            let message = format!("a wire leads from port {from} to one port, here {end}; {to} cannot be reached, too");
            reader.wrong(span, message);
        }
    }
}

/// Where frames of each stream come out of the program; none when there is no program to ask, or nothing that depends
/// on it.
fn reached(
    file: &TestFile,
    target: Option<&Target>,
    loaded: Option<&Loaded>,
    streams: &[Stream],
) -> Option<Vec<Vec<u32>>> {
    let is_open = streams.iter().any(|stream| stream.to.is_none()) && file.device.ports.is_empty();
    let is_wanted = match target {
        None | Some(Target::Wire) => false,
        Some(Target::Interfaces(_)) => file.device.check,
        Some(Target::Program | Target::Chip(_)) => file.device.check || is_open,
    };
    // A program that cannot be loaded is told of where it is read.
    let pipeline = loaded.filter(|_| is_wanted)?.reference().ok()?;
    Some(reached_ports(pipeline, streams))
}

/// Whether frames are compared with what the reference executor says. That it cannot say that is told when the device
/// is opened.
fn is_checked(file: &TestFile, loaded: Option<&Loaded>) -> bool {
    let pipeline = loaded.and_then(|loaded| loaded.reference().ok());
    file.device.check && pipeline.is_some_and(|pipeline| state_free(&pipeline).is_ok())
}

/// The numbers of all ports: those that the file names, and those where frames of streams without `to` come out of the
/// program.
fn ports(
    file: &TestFile,
    target: Option<&Target>,
    streams: &[Stream],
    reached: Option<&[Vec<u32>]>,
    reader: &mut Reader<'_>,
) -> Vec<u32> {
    let used = used_ports(file);
    let mut is_right = true;
    for (port, span) in &used {
        if let Some(message) = no_such_port(*port, target) {
            reader.wrong(span.clone(), message);
            is_right = false;
        }
    }
    let mut ports: Vec<u32> = used.into_iter().map(|(port, _)| port).collect();
    if !is_right {
        return ports;
    }
    if let Some(Target::Interfaces(specs)) = target {
        return specs.iter().map(|spec| spec.number).collect();
    }
    if let Some(reached) = reached.filter(|_| file.device.ports.is_empty()) {
        let open = streams.iter().zip(reached).filter(|(stream, _)| stream.to.is_none());
        let reached = open.flat_map(|(_, reached)| reached.iter().copied());
        // What a program sends to a port that the chip does not have is dropped, and counted.
        ports.extend(reached.filter(|port| no_such_port(*port, target).is_none()));
    }
    ports.sort_unstable();
    ports.dedup();
    ports
}

/// The ports that a file names, and where.
fn used_ports(file: &TestFile) -> Vec<(u32, Range<usize>)> {
    let of_stream = |entry: &TrafficEntry| {
        let to = entry.to.as_ref().map(|to| (*to.get_ref(), to.span()));
        [Some((*entry.from.get_ref(), entry.from.span())), to]
    };
    let streams = file.traffic.iter().flat_map(of_stream).flatten();
    let more = file.device.ports.iter().map(|port| (*port.get_ref(), port.span()));
    let bridge = file.rfc2889.iter().flat_map(|entry| {
        let bridge = entry.get_ref();
        [bridge.learning_port, bridge.test_port, bridge.monitoring_port].map(|port| (port, entry.span()))
    });
    streams.chain(more).chain(bridge).collect()
}

/// Why a device has no port of this number; none when it has one.
fn no_such_port(port: u32, target: Option<&Target>) -> Option<String> {
    match target {
        _ if port > PORT_MAX => Some(format!("port {port}: ports are 0 to {PORT_MAX}")),
        Some(Target::Chip(chip)) if port >= u32::from(chip.spec.ports.count) => {
            let last = chip.spec.ports.count - 1;
            Some(format!(
                "{} has no port {port}; its ports are 0 to {last}",
                chip.spec.name
            ))
        }
        Some(Target::Interfaces(specs)) if specs.iter().all(|spec| spec.number != port) => {
            Some(format!("there is no interface for port {port}, which the traffic uses"))
        }
        _ => None,
    }
}
