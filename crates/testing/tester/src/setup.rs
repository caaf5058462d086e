//! From a test file to streams and a device. Everything that can be wrong is told before any frame is sent.

use crate::device::{self, Device};
use crate::entries;
use crate::frames::{self, Frames, ONE_KIND};
use crate::impairment::{Delay, Impairment};
use crate::messages;
use crate::parser_paths;
use crate::reference::{Reference, reached_ports};
use crate::schedule::{Arrivals, Segment, Shape};
use crate::stream::{Rate, Stream};
use crate::tag::STREAMS_MAX;
use crate::test_file::{
    ArrivalsEntry, DelayEntry, EngineEntry, FlowsEntry, FrameEntry, ImpairmentEntry, MessageEntry, ParserEntry,
    RateEntry, ShapeEntry, TestFile, TrafficEntry,
};
use crate::trial::Plan;
use forebay_chip::ChipSpec;
use forebay_entries::{Applied, Controller};
use forebay_ir::Program;
use forebay_packet::pcap;
use forebay_pipeline::{Engine, FastPath, Options, Pipeline};
use forebay_ports::PortSpec;
use forebay_sim::{Library, Problem, line_of, suggestion};
use forebay_traffic::MessageFormat;
use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::Arc;

/// The longest test that is taken for meant: a day.
const SECONDS_MAX: f64 = 86_400.0;

/// Frames that are sent at once at most.
const BURST_MAX: usize = 256;

/// The highest rate that is taken for meant: frames a second.
const PPS_MAX: f64 = 1e9;

/// Ports of v1model programs.
const PORT_MAX: u32 = 510;

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
}

/// What is measured.
pub enum Target {
    /// Nothing.
    Wire,
    /// The program of the file, in memory.
    Program,
    /// The program of the file, on a chip of the timed model.
    Chip(Box<ChipSpec>),
    /// Whatever is between these interfaces.
    Interfaces(Vec<PortSpec>),
}

/// A program with its entries.
struct Loaded {
    path: String,
    program: Program,
    commands: Vec<forebay_entries::Command>,
    engine: EngineEntry,
}

/// What the command line says in place of the file.
#[derive(Clone, Debug, Default)]
pub struct Overrides {
    /// Interfaces: `1@veth0`.
    pub interfaces: Vec<String>,
    /// A wire in memory.
    pub wire: bool,
    /// The name of a chip.
    pub chip: Option<String>,
}

/// Reads with problems being collected.
struct Reader<'a> {
    text: &'a str,
    library: &'a dyn Library,
    problems: Vec<Problem>,
}

impl Reader<'_> {
    fn wrong(&mut self, span: Range<usize>, message: impl Into<String>) {
        let line = (span.end > 0).then(|| line_of(self.text, span.start));
        self.problems.push(Problem::new(line, message));
    }

    fn key_line(&self, key: &str) -> Range<usize> {
        self.text.find(key).map_or(0..0, |at| at..at + key.len())
    }
}

impl Test {
    /// Reads a test file. Programs and files come from the library.
    ///
    /// # Errors
    /// All problems that were found, with their lines.
    pub fn read(text: &str, library: &dyn Library, overrides: &Overrides) -> Result<Test, Vec<Problem>> {
        let file: TestFile = toml::from_str(text).map_err(|error| vec![Problem::of_toml(text, &error)])?;
        let mut reader = Reader {
            text,
            library,
            problems: Vec::new(),
        };
        numbers(&file, &mut reader);
        let loaded = file
            .device
            .program
            .as_ref()
            .and_then(|program| loaded(&file, program, &mut reader));
        let streams = streams(&file, loaded.as_ref(), &mut reader);
        let target = target(&file, overrides, &mut reader);
        goals(&file, &mut reader);
        bridge(&file, &mut reader);
        let ports = ports(&file, target.as_ref(), loaded.as_ref(), &streams, &mut reader);
        let impairments = impairments(&file, &ports, &mut reader);
        match target {
            Some(target) if reader.problems.is_empty() => Ok(Test {
                file,
                streams,
                ports,
                target,
                loaded,
                impairments,
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
        let queue = self.file.device.queue_packets;
        let mut device = match &self.target {
            Target::Wire => device::wire(&self.ports, &self.pairs(), queue),
            Target::Program => {
                let (pipeline, name) = self.program()?;
                let mut device = device::program(pipeline, &self.ports, queue, 0);
                device.description = format!("{name} in memory");
                device
            }
            Target::Chip(spec) => {
                let (pipeline, name) = self.program()?;
                let device = device::chip(pipeline, (**spec).clone(), &self.ports, self.file.device.queue_bytes);
                let mut device = device.map_err(|error| error.to_string())?;
                device.description = format!("{name} on {}, in simulated time", spec.name);
                device
            }
            Target::Interfaces(specs) => device::interfaces(specs).map_err(|error| error.to_string())?,
        };
        for (number, impairment) in &self.impairments {
            device.impair(*number, *impairment, self.file.seed ^ u64::from(*number));
        }
        Ok(device)
    }

    /// The program, loaded, and what it is.
    fn program(&self) -> Result<(Arc<Pipeline>, String), String> {
        let loaded = self.loaded.as_ref().ok_or("there is no program")?;
        let engine = match loaded.engine {
            EngineEntry::Interp => "reference executor",
            EngineEntry::Jit => "machine code",
        };
        Ok((loaded.pipeline(loaded.engine)?, format!("{}, {engine},", loaded.path)))
    }

    /// A wire with the ports of the test.
    pub fn wire(&self) -> Device {
        device::wire(&self.ports, &self.pairs(), self.file.device.queue_packets)
    }

    fn pairs(&self) -> Vec<(u32, u32)> {
        let pair = |stream: &Stream| (stream.from, stream.to.unwrap_or(stream.from));
        self.streams.iter().map(pair).collect()
    }

    /// What the reference executor says of the frames of these streams, when they are to be checked.
    ///
    /// # Errors
    /// When it cannot say that of each frame by itself, in words.
    pub fn reference(&self, streams: &[Stream]) -> Result<Option<Reference>, String> {
        let Some(loaded) = self.loaded.as_ref().filter(|_| self.file.device.check) else {
            return Ok(None);
        };
        let pipeline = loaded.pipeline(EngineEntry::Interp)?;
        Reference::new(pipeline, &self.ports, streams).map(Some)
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
                entry.from,
                self.loaded.as_ref(),
                self.file.seed.wrapping_add(index),
            );
            stream.frames = Arc::new(frames.map_err(|error| format!("{}: {error}", stream.name))?);
        }
        Ok(streams)
    }
}

impl Loaded {
    /// A pipeline with the entries.
    fn pipeline(&self, engine: EngineEntry) -> Result<Arc<Pipeline>, String> {
        let engine = match engine {
            EngineEntry::Interp => Engine::Interpreter,
            EngineEntry::Jit => Engine::Jit,
        };
        let options = Options {
            engine,
            fast_path: FastPath::BeforePackets,
            ..Options::default()
        };
        let pipeline = Pipeline::load_with(self.program.clone(), options);
        let pipeline = Arc::new(pipeline.map_err(|error| format!("{}: {error}", self.path))?);
        let mut controller = Controller::new(pipeline.clone());
        for command in &self.commands {
            if let Applied::Refused(message) | Applied::Differs(message) = controller.apply(command) {
                return Err(format!("the entries do not suit {}: {message}", self.path));
            }
        }
        Ok(pipeline)
    }
}

/// Numbers that make no sense.
fn numbers(file: &TestFile, reader: &mut Reader<'_>) {
    let duration = *file.duration_s.get_ref();
    if !(duration > 0.0 && duration <= SECONDS_MAX) {
        let message = format!("duration_s is {duration}; it must be more than 0 and at most {SECONDS_MAX}");
        reader.wrong(file.duration_s.span(), message);
    }
    for (key, value) in [
        ("warm_up_s", file.warm_up_s),
        ("drain_s", file.drain_s),
        ("sample_s", file.sample_s),
    ] {
        if !(0.0..=SECONDS_MAX).contains(&value) {
            let line = reader.key_line(key);
            reader.wrong(line, format!("{key} is {value}; it is 0 to {SECONDS_MAX}"));
        }
    }
    if file.disturbance_us.is_nan() || file.disturbance_us <= 0.0 {
        let line = reader.key_line("disturbance_us");
        reader.wrong(line, "disturbance_us is more than 0");
    }
    let burst = *file.burst.get_ref();
    if !(1..=BURST_MAX).contains(&burst) {
        reader.wrong(file.burst.span(), format!("burst is {burst}; it is 1 to {BURST_MAX}"));
    }
    if *file.trials.get_ref() == 0 {
        reader.wrong(file.trials.span(), "trials is 0; it must be at least 1");
    }
}

/// Numbers of the table `rfc2889` that make no sense.
fn bridge(file: &TestFile, reader: &mut Reader<'_>) {
    let Some(entry) = &file.rfc2889 else { return };
    let bridge = entry.get_ref();
    let ports = [bridge.learning_port, bridge.test_port, bridge.monitoring_port];
    let least = 14 + crate::tag::TAG_BYTES;
    let is_rate = |rate: f64| rate > 0.0 && rate <= PPS_MAX;
    let wrong = if ports[0] == ports[1] || ports[1] == ports[2] || ports[0] == ports[2] {
        "learning_port, test_port and monitoring_port are three different ports".to_string()
    } else if !(1..=frames::TEMPLATES_MAX as u64).contains(&bridge.addresses_max) {
        format!("addresses_max is 1 to {}", frames::TEMPLATES_MAX)
    } else if !is_rate(bridge.learning_pps) || !is_rate(bridge.pps_max) {
        "learning_pps and pps_max are more than 0, and at most 10^9".to_string()
    } else if !(least..=frames::BYTES_MAX).contains(&bridge.frame_bytes) {
        format!("frame_bytes is {least} to {}", frames::BYTES_MAX)
    } else if !(0.0..=SECONDS_MAX).contains(&bridge.ageing_s) {
        format!("ageing_s is 0 to {SECONDS_MAX}")
    } else if !(bridge.duration_scale > 0.0 && bridge.duration_scale <= 1.0) {
        "duration_scale is more than 0, and at most 1".to_string()
    } else {
        return;
    };
    reader.wrong(entry.span(), wrong);
}

/// Goals that do not exist, or contradict themselves.
fn goals(file: &TestFile, reader: &mut Reader<'_>) {
    for goal in &file.search.goals {
        if let Err(message) = goal.get_ref().resolved() {
            reader.wrong(goal.span(), message);
        }
    }
    let scale = file.search.duration_scale;
    if !(scale > 0.0 && scale <= 1.0) {
        let line = reader.key_line("duration_scale");
        reader.wrong(
            line,
            format!("duration_scale is {scale}; it must be more than 0 and at most 1"),
        );
    }
}

fn streams(file: &TestFile, loaded: Option<&Loaded>, reader: &mut Reader<'_>) -> Vec<Stream> {
    if file.traffic.is_empty() && file.rfc2889.is_none() {
        reader.problems.push(Problem::new(
            None,
            "there is no traffic; a test has at least one [[traffic]]",
        ));
    }
    if file.traffic.len() > STREAMS_MAX {
        let message = format!("there are {} streams; {STREAMS_MAX} are possible", file.traffic.len());
        reader.problems.push(Problem::new(None, message));
        return Vec::new();
    }
    let mut names = BTreeSet::new();
    let mut streams = Vec::new();
    for (entry, index) in file.traffic.iter().zip(0u64..) {
        if !names.insert(entry.name.get_ref()) {
            let message = format!("there are two streams {:?}", entry.name.get_ref());
            reader.wrong(entry.name.span(), message);
        }
        streams.extend(stream(entry, loaded, file.seed.wrapping_add(index), reader));
    }
    streams
}

fn stream(entry: &TrafficEntry, loaded: Option<&Loaded>, seed: u64, reader: &mut Reader<'_>) -> Option<Stream> {
    let frames = match stream_frames(entry, loaded, seed, reader.library) {
        Ok(frames) => Some(frames),
        Err(message) => {
            reader.wrong(entry.frame.span(), message);
            None
        }
    };
    let messages = entry.frame.get_ref().message.as_ref();
    let rate = rate(entry, reader)?;
    let shape = match &entry.shape {
        Some(shape) => match shape_of(shape.get_ref()) {
            Some(shape) => shape,
            None => {
                reader.wrong(shape.span(), WRONG_SHAPE);
                return None;
            }
        },
        None => Shape::flat(),
    };
    if let ArrivalsEntry::Bursts { frames: 0 } = entry.arrivals {
        reader.wrong(entry.name.span(), "a burst has at least 1 frame");
    }
    Some(Stream {
        name: entry.name.get_ref().clone(),
        from: entry.from,
        to: entry.to,
        frames: Arc::new(frames?),
        rate,
        arrivals: match entry.arrivals {
            ArrivalsEntry::Constant => Arrivals::Constant,
            ArrivalsEntry::Poisson => Arrivals::Poisson,
            ArrivalsEntry::Bursts { frames } => Arrivals::Bursts(frames),
        },
        shape,
        messages: messages.and_then(|message| Some((MessageFormat::new(message.payload_bytes).ok()?, message.devices))),
    })
}

const WRONG_SHAPE: &str = "a shape is exactly one of { on_s = 0.1, off_s = 0.4 }, { steps = [[0, 1.0], [0.5, 2.0]] } and \
                           { ramp = [[0, 0.1], [1, 1.0]] }; times begin at 0 and grow, factors are not negative, and one is more than 0";

fn stream_frames(
    entry: &TrafficEntry,
    loaded: Option<&Loaded>,
    seed: u64,
    library: &dyn Library,
) -> Result<Frames, String> {
    let frame = entry.frame.get_ref();
    let flows = entry.flows.as_ref().map(|flows| flows.get_ref());
    let kinds = [
        frame.udp.is_some(),
        frame.tcp.is_some(),
        frame.hex.is_some(),
        frame.pcap.is_some(),
        frame.message.is_some(),
        frame.parser.is_some(),
    ];
    if kinds.iter().filter(|kind| **kind).count() != 1 {
        return Err(ONE_KIND.to_string());
    }
    match (&frame.pcap, &frame.message) {
        (Some(path), _) if flows.is_none() => capture(path, library),
        (_, Some(message)) if flows.is_none() => message_frames(message),
        (Some(_), _) => Err("the frames of a capture file are its flows; leave out `flows`".to_string()),
        (_, Some(_)) => {
            Err("the flows of messages are their devices; write devices = N in place of `flows`".to_string())
        }
        _ => described_frames(frame, flows, entry.from, loaded, seed),
    }
}

/// Variants of a way through a parser at most.
const VARIANTS_MAX: usize = 1 << 10;

fn parser_frames(
    entry: &ParserEntry,
    flows: Option<&FlowsEntry>,
    port: u32,
    loaded: Option<&Loaded>,
    seed: u64,
) -> Result<Frames, String> {
    if flows.is_some() {
        return Err("the frames of a parser are its flows; leave out `flows`".to_string());
    }
    if !(1..=VARIANTS_MAX).contains(&entry.variants) || entry.bytes > frames::BYTES_MAX {
        let most = frames::BYTES_MAX;
        return Err(format!("variants are 1 to {VARIANTS_MAX}, bytes at most {most}"));
    }
    let loaded = loaded.ok_or("frames of a parser need the program of [device]")?;
    let pipeline = loaded.pipeline(EngineEntry::Interp)?;
    parser_paths::frames(&pipeline, port, entry.bytes, entry.variants, seed).map(Frames::in_turn)
}

/// Frames from a description, with flows that are counted, or one for each entry of a table.
fn described_frames(
    frame: &FrameEntry,
    flows: Option<&FlowsEntry>,
    port: u32,
    loaded: Option<&Loaded>,
    seed: u64,
) -> Result<Frames, String> {
    if let Some(parser) = &frame.parser {
        return parser_frames(parser, flows, port, loaded, seed);
    }
    let Some((flows, table)) = flows.and_then(|flows| Some((flows, flows.entries.as_ref()?))) else {
        if let Some(flows) = flows.filter(|flows| flows.count.is_none() || flows.misses != 0.0) {
            let what = if flows.count.is_none() {
                "count = N or entries = \"TABLE\""
            } else {
                "entries for its misses"
            };
            return Err(format!("flows need {what}"));
        }
        return frames::frames(frame, flows, seed);
    };
    if flows.count.is_some() || !(0.0..1.0).contains(&flows.misses) {
        return Err("flows are count = N, or entries = \"TABLE\" with a share of misses below 1".to_string());
    }
    let loaded = loaded.ok_or("flows from entries need the program of [device]")?;
    let base = frames::frames(frame, None, seed)?;
    let [base] = base.templates() else {
        return Err("flows from entries have frames of one length".to_string());
    };
    let found = entries::frames(
        &loaded.pipeline(EngineEntry::Interp)?,
        port,
        base,
        table,
        flows.misses,
        seed,
    )?;
    Frames::in_order(found.frames, flows, seed)
}

fn capture(path: &str, library: &dyn Library) -> Result<Frames, String> {
    let bytes = library.bytes(path)?;
    let packets = pcap::read_all(&bytes).map_err(|error| format!("{path}: {error}"))?;
    let captured = packets.iter().map(|packet| packet.data().to_vec()).collect();
    frames::captured(captured).map_err(|error| format!("{path}: {error}"))
}

fn message_frames(entry: &MessageEntry) -> Result<Frames, String> {
    let format = MessageFormat::new(entry.payload_bytes).map_err(|error| error.to_string())?;
    if !(1..=65_535).contains(&entry.devices) {
        return Err(format!("devices is {}; it is 1 to 65535", entry.devices));
    }
    let macs = ([2, 0, 0, 0, 0, 1], [2, 0, 0, 0, 0, 0xfe]);
    Ok(Frames::in_turn(messages::templates(format, entry.devices, macs)))
}

fn rate(entry: &TrafficEntry, reader: &mut Reader<'_>) -> Option<Rate> {
    let (rate, span) = match (&entry.pps, &entry.gbps, &entry.mbps) {
        (Some(pps), None, None) => match pps.get_ref() {
            RateEntry::Fixed(rate) => (Rate::Frames(*rate), pps.span()),
            RateEntry::Max => return Some(Rate::Max),
        },
        (None, Some(gbps), None) => (Rate::Bits(gbps.get_ref() * 1e9), gbps.span()),
        (None, None, Some(mbps)) => (Rate::Bits(mbps.get_ref() * 1e6), mbps.span()),
        _ => {
            reader.wrong(entry.name.span(), "a stream has exactly one rate: pps, mbps or gbps");
            return None;
        }
    };
    let (value, most) = match rate {
        Rate::Frames(rate) => (rate, PPS_MAX),
        Rate::Bits(rate) => (rate, PPS_MAX * 512.0),
        Rate::Max => return Some(rate),
    };
    if !(value > 0.0 && value <= most) {
        reader.wrong(span, "a rate is more than 0, and at most 10^9 frames a second");
        return None;
    }
    Some(rate)
}

fn shape_of(entry: &ShapeEntry) -> Option<Shape> {
    match (entry.on_s, entry.off_s, &entry.steps, &entry.ramp) {
        (Some(on), Some(off), None, None) => Shape::on_off(on, off),
        (None, None, Some(steps), None) => Shape::new(segments(steps, |from, _| (from, from))?),
        (None, None, None, Some(ramp)) => Shape::new(segments(ramp, |from, to| (from, to))?),
        _ => None,
    }
}

/// How long the last factor of a shape holds.
const FOR_EVER_S: f64 = 1e6;

fn segments(points: &[(f64, f64)], factors: impl Fn(f64, f64) -> (f64, f64)) -> Option<Vec<Segment>> {
    let (first, last) = (points.first()?, points.last()?);
    if first.0 != 0.0 {
        return None;
    }
    let segment = |pair: &[(f64, f64)]| {
        let (from, to) = factors(pair[0].1, pair[1].1);
        Segment {
            seconds: pair[1].0 - pair[0].0,
            from,
            to,
        }
    };
    let mut segments: Vec<Segment> = points.windows(2).map(segment).collect();
    segments.push(Segment {
        seconds: FOR_EVER_S,
        from: last.1,
        to: last.1,
    });
    Some(segments)
}

fn target(file: &TestFile, overrides: &Overrides, reader: &mut Reader<'_>) -> Option<Target> {
    let entry = &file.device;
    let of_file = entry.interfaces.iter().map(|interface| interface.get_ref().as_str());
    let interfaces: Vec<&str> = match overrides.interfaces.is_empty() {
        true => of_file.collect(),
        false => overrides.interfaces.iter().map(String::as_str).collect(),
    };
    if overrides.wire || entry.wire && overrides.interfaces.is_empty() && overrides.chip.is_none() {
        return Some(Target::Wire);
    }
    if !interfaces.is_empty() && overrides.chip.is_none() {
        return match PortSpec::parse_all(interfaces.iter().copied()) {
            Ok(specs) => Some(Target::Interfaces(specs)),
            Err(error) => {
                reader.wrong(interfaces_span(file), format!("this is no port:\n{error}"));
                None
            }
        };
    }
    if entry.program.is_none() {
        let message = "nothing is measured; [device] has a program, interfaces = [\"1@veth0\", ...] or wire = true";
        let line = reader.key_line("[device]");
        reader.wrong(line, message);
        return None;
    }
    let chip = overrides
        .chip
        .as_deref()
        .or(entry.chip.as_ref().map(|chip| chip.get_ref().as_str()));
    match chip {
        Some(name) => chip_spec(file, name, reader).map(|spec| Target::Chip(Box::new(spec))),
        None => Some(Target::Program),
    }
}

fn interfaces_span(file: &TestFile) -> Range<usize> {
    file.device
        .interfaces
        .first()
        .map_or(0..0, |interface| interface.span())
}

fn chip_spec(file: &TestFile, name: &str, reader: &mut Reader<'_>) -> Option<ChipSpec> {
    let spec = ChipSpec::known(name);
    if spec.is_none() {
        let span = file.device.chip.as_ref().map_or(0..0, |chip| chip.span());
        let known: Vec<&str> = ChipSpec::known_names().collect();
        reader.wrong(
            span,
            format!("there is no chip {name:?}{}", suggestion(name, known.iter().copied())),
        );
    }
    spec
}

fn loaded(file: &TestFile, path: &toml::Spanned<String>, reader: &mut Reader<'_>) -> Option<Loaded> {
    let entry = &file.device;
    let program = match reader.library.program(path.get_ref(), &entry.defines) {
        Ok(program) => program,
        Err(message) => {
            reader.wrong(path.span(), message);
            return None;
        }
    };
    let mut commands = Vec::new();
    for entries in &entry.entries {
        match reader.library.text(entries.get_ref()) {
            Ok(text) => stf_commands(&text, entries, entries.get_ref(), &mut commands, reader),
            Err(message) => reader.wrong(entries.span(), message),
        }
    }
    if let Some(text) = &entry.commands {
        stf_commands(text.get_ref(), text, "commands", &mut commands, reader);
    }
    Some(Loaded {
        path: path.get_ref().clone(),
        program,
        commands,
        engine: entry.engine,
    })
}

fn stf_commands(
    text: &str,
    place: &toml::Spanned<String>,
    name: &str,
    commands: &mut Vec<forebay_entries::Command>,
    reader: &mut Reader<'_>,
) {
    match forebay_entries::parse(text) {
        Ok(test) => {
            let values = test.commands.into_iter().map(|command| command.value);
            commands.extend(values.filter(|command| !command.is_traffic()));
        }
        Err(errors) => {
            let first = errors.first().map(ToString::to_string).unwrap_or_default();
            reader.wrong(place.span(), format!("{name} is no list of STF commands: {first}"));
        }
    }
}

/// The numbers of all ports: those that the file names, and those where frames of streams without `to` come out of the program.
fn ports(
    file: &TestFile,
    target: Option<&Target>,
    loaded: Option<&Loaded>,
    streams: &[Stream],
    reader: &mut Reader<'_>,
) -> Vec<u32> {
    let used = file
        .traffic
        .iter()
        .flat_map(|entry| [Some(entry.from), entry.to])
        .flatten();
    let bridge = file.rfc2889.iter().map(|entry| entry.get_ref());
    let bridge = bridge.flat_map(|bridge| [bridge.learning_port, bridge.test_port, bridge.monitoring_port]);
    let mut ports: Vec<u32> = used.chain(file.device.ports.iter().copied()).chain(bridge).collect();
    if let Some(port) = ports.iter().find(|port| **port > PORT_MAX) {
        let line = reader.key_line(&port.to_string());
        reader.wrong(line, format!("port {port}: ports are 0 to {PORT_MAX}"));
        return Vec::new();
    }
    if let Some(Target::Interfaces(specs)) = target {
        let known: Vec<u32> = specs.iter().map(|spec| spec.number).collect();
        for port in ports.iter().filter(|port| !known.contains(port)) {
            let message = format!("there is no interface for port {port}, which the traffic uses");
            reader.wrong(interfaces_span(file), message);
        }
        return known;
    }
    if let Some(loaded) =
        loaded.filter(|_| streams.iter().any(|stream| stream.to.is_none()) && file.device.ports.is_empty())
    {
        // A program that cannot be loaded is told of when the device is opened.
        if let Ok(pipeline) = loaded.pipeline(EngineEntry::Interp) {
            ports.extend(reached_ports(pipeline, streams));
        }
    }
    ports.sort_unstable();
    ports.dedup();
    ports
}

fn impairments(file: &TestFile, ports: &[u32], reader: &mut Reader<'_>) -> Vec<(u32, Impairment)> {
    let mut all: Vec<(u32, Impairment)> = Vec::new();
    for entry in &file.impairment {
        let (port, span) = (*entry.port.get_ref(), entry.port.span());
        if !ports.contains(&port) {
            reader.wrong(span, format!("no traffic uses port {port}"));
        } else if all.iter().any(|(own, _)| *own == port) {
            reader.wrong(span, format!("port {port} has two impairments; write one"));
        } else {
            match impairment(entry) {
                Ok(impairment) => all.push((port, impairment)),
                Err(message) => reader.wrong(span, message),
            }
        }
    }
    all
}

fn impairment(entry: &ImpairmentEntry) -> Result<Impairment, String> {
    let shares = [entry.loss, entry.duplication, entry.reordering];
    if !shares.iter().all(|share| (0.0..=1.0).contains(share)) {
        return Err("loss, duplication and reordering are shares from 0 to 1".to_string());
    }
    Ok(Impairment {
        loss: entry.loss,
        duplication: entry.duplication,
        reordering: entry.reordering,
        reordering_by: entry.reordering_by,
        delay: entry.delay.as_ref().map_or(Ok(Delay::None), delay)?,
    })
}

fn delay(entry: &DelayEntry) -> Result<Delay, String> {
    const US: f64 = 1e3;
    let delay = match (entry.constant_us, entry.uniform_us, entry.exponential_us) {
        (Some(us), None, None) if us >= 0.0 => Delay::Constant(us * US),
        (None, Some((from, to)), None) if 0.0 <= from && from < to => Delay::Uniform(from * US, to * US),
        (None, None, Some(us)) if us > 0.0 => Delay::Exponential(us * US),
        _ => {
            let forms =
                "a delay is exactly one of { constant_us = 50 }, { uniform_us = [10, 20] } and { exponential_us = 50 }";
            return Err(forms.to_string());
        }
    };
    Ok(delay)
}
