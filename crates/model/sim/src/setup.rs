//! From a scenario's text to what can be run: everything is read, compiled and checked here.

use crate::check;
use crate::effect;
use crate::hosts::{self, FlowSetup, HostSetup};
use crate::line_rate;
use crate::numbers;
use crate::parameters::Case;
use crate::places::key_place;
use crate::results::Lifted;
use crate::rules;
use crate::scenario::{ChipEntry, EngineEntry, FaultEntry, LinkEntry, Problem, Scenario, line_of};
use crate::source::{MICROSECOND, Stream};
use crate::suggestion::nearest;
use crate::timer::TimerSetup;
use crate::wires;
use crate::words;
use forebay_chip::{
    ChipConfig, ChipSpec, Connection, FaultSpec, LinkSpec, Network, PfcConfig, Place, PortConfig, QueueConfig,
};
use forebay_entries::{Applied, Controller, Test};
use forebay_ir::Program;
use forebay_pipeline::{Engine, FastPath, Options, Pipeline};
use std::ops::Range;
use std::sync::Arc;

/// Brings what a scenario names. Paths are as they stand in the scenario.
pub trait Library {
    /// Compiles a program.
    ///
    /// # Errors
    /// What the compiler says.
    fn program(&self, path: &str, defines: &[String]) -> Result<Program, String>;

    /// Compiles a program whose `#include` looks in folders, too. Their paths are as they stand in the scenario.
    ///
    /// # Errors
    /// What the compiler says, or that there are no folders here.
    fn program_including(&self, path: &str, defines: &[String], include: &[String]) -> Result<Program, String> {
        match include {
            [] => self.program(path, defines),
            _ => Err("there are no folders for `include` here".to_string()),
        }
    }

    /// A text file.
    ///
    /// # Errors
    /// Why it cannot be read.
    fn text(&self, path: &str) -> Result<String, String>;

    /// A binary file.
    ///
    /// # Errors
    /// Why it cannot be read.
    fn bytes(&self, path: &str) -> Result<Vec<u8>, String>;
}

/// A chip with its program, before it is loaded.
#[derive(Clone)]
pub(crate) struct ChipSetup {
    pub(crate) name: String,
    pub(crate) spec: ChipSpec,
    pub(crate) program: Program,
    engine: Engine,
    entries: Vec<Test>,
    pub(crate) ports: Vec<PortConfig>,
    alike: u32,
    pfc: Option<PfcConfig>,
    /// Rules of the chip that do not hold here.
    pub(crate) lifted: Vec<Lifted>,
}

/// A scenario that can be run.
#[derive(Clone)]
pub struct Setup {
    pub(crate) scenario: Scenario,
    pub(crate) chips: Vec<ChipSetup>,
    pub(crate) connections: Vec<Connection>,
    pub(crate) faults: Vec<(Place, FaultSpec)>,
    pub(crate) streams: Vec<Stream>,
    pub(crate) timers: Vec<TimerSetup>,
    pub(crate) hosts: Vec<HostSetup>,
    pub(crate) flows: Vec<FlowSetup>,
    /// Ports whose queues are followed.
    pub(crate) watched: Vec<Place>,
}

/// A text while it is read.
pub(crate) struct Reader<'a> {
    text: &'a str,
    pub(crate) library: &'a dyn Library,
    ignore_fit: Option<&'a str>,
    /// Whether frames come from outside, not from the scenario.
    pub(crate) is_cosimulation: bool,
    pub(crate) problems: Vec<Problem>,
}

impl Reader<'_> {
    /// Notes a mistake at a place of the text.
    pub(crate) fn wrong(&mut self, place: Range<usize>, message: impl Into<String>) {
        let line = line_of(self.text, place.start);
        self.problems.push(Problem::new(Some(line), message));
    }

    /// The place of a table's header, when the text has one.
    pub(crate) fn table(&self, header: &str) -> Option<Range<usize>> {
        let at = self.text.find(header)?;
        Some(at..at + header.len())
    }

    /// Notes a mistake at a key of the table in which another key or value stands.
    pub(crate) fn wrong_key(&mut self, near: Range<usize>, key: &str, message: impl Into<String>) {
        let place = key_place(self.text, near.start, key).unwrap_or(near);
        self.wrong(place, message);
    }
}

impl Setup {
    /// Reads a scenario, compiles its programs, and tries once what can be tried.
    ///
    /// # Errors
    /// Everything that is wrong, in the order of the text as far as possible.
    pub fn new(text: &str, library: &dyn Library) -> Result<Setup, Vec<Problem>> {
        Setup::read(text, library, None, false)
    }

    /// Reads a scenario without traffic, for a [`CoSimulation`](crate::CoSimulation).
    ///
    /// # Errors
    /// Everything that is wrong, in the order of the text as far as possible.
    pub(crate) fn of_cosimulation(case: &Case, library: &dyn Library) -> Result<Setup, Vec<Problem>> {
        Setup::read(&case.text, library, None, true)
    }

    /// Reads a scenario with one value for each parameter, as [`Setup::new`] does. `ignore_fit` is a reason to run
    /// programs that do not fit their chip.
    ///
    /// # Errors
    /// Everything that is wrong; where a parameter was put in, its value is said too.
    pub fn of_case(case: &Case, library: &dyn Library, ignore_fit: Option<&str>) -> Result<Setup, Vec<Problem>> {
        Setup::read(&case.text, library, ignore_fit, false).map_err(|mut problems| {
            problems.iter_mut().for_each(|problem| problem.say_values(&case.put));
            problems
        })
    }

    fn read(
        text: &str,
        library: &dyn Library,
        ignore_fit: Option<&str>,
        is_cosimulation: bool,
    ) -> Result<Setup, Vec<Problem>> {
        let scenario: Scenario = toml::from_str(text).map_err(|error| vec![Problem::of_toml(text, &error)])?;
        let mut reader = Reader {
            text,
            library,
            ignore_fit,
            is_cosimulation,
            problems: Vec::new(),
        };
        numbers::check(&scenario, &mut reader);
        effect::check(&scenario, &mut reader);
        let chips: Vec<ChipSetup> = scenario.chip.iter().filter_map(|entry| reader.chip(entry)).collect();
        if !reader.problems.is_empty() {
            return Err(reader.problems);
        }
        let mut setup = Setup {
            connections: Vec::new(),
            faults: Vec::new(),
            streams: Vec::new(),
            timers: Vec::new(),
            hosts: Vec::new(),
            flows: Vec::new(),
            watched: Vec::new(),
            scenario,
            chips,
        };
        setup.connect(&mut reader);
        if reader.problems.is_empty() {
            wires::check(&setup, &mut reader);
            line_rate::check(&setup, &mut reader);
        }
        if reader.problems.is_empty() {
            check::trial(&setup, &mut reader);
        }
        if reader.problems.is_empty() {
            Ok(setup)
        } else {
            Err(reader.problems)
        }
    }

    /// The kinds of chips, in the order of the scenario, as the rules that it lifts leave them.
    pub fn specs(&self) -> impl Iterator<Item = &ChipSpec> {
        self.chips.iter().map(|chip| &chip.spec)
    }

    /// The rules of chips that the scenario lifts.
    pub fn lifted(&self) -> impl Iterator<Item = &Lifted> {
        self.chips.iter().flat_map(|chip| &chip.lifted)
    }

    /// Without repeating searches to be sure of them.
    pub fn searching_once(mut self) -> Setup {
        if let Some(search) = &mut self.scenario.search {
            search.confidence = None;
        }
        self
    }

    /// What the scenario says.
    pub fn scenario(&self) -> &Scenario {
        &self.scenario
    }

    fn connect(&mut self, reader: &mut Reader<'_>) {
        for entry in &self.scenario.link {
            let from = reader.place(&self.chips, entry.from.get_ref(), entry.from.span());
            let to = reader.place(&self.chips, entry.to.get_ref(), entry.to.span());
            if let (Some(from), Some(to)) = (from, to) {
                let spec = &self.chips[usize::from(from.chip)].spec;
                reader.port_rate(entry.from.span(), entry.gbps, spec);
                let link = link_spec(entry, self.scenario.seed + self.connections.len() as u64);
                self.connections.push(Connection { from, to, link });
            }
        }
        for entry in &self.scenario.traffic {
            let streams = reader.streams(entry, &self.chips, *self.scenario.duration_us.get_ref());
            self.streams.extend(streams);
        }
        for entry in &self.scenario.fault {
            let place = reader.place(&self.chips, entry.port.get_ref(), entry.port.span());
            let seed = self.scenario.seed + FAULT_SEEDS + self.faults.len() as u64;
            self.faults.extend(place.map(|place| (place, fault_spec(entry, seed))));
        }
        for entry in &self.scenario.timer {
            let place = reader.place(&self.chips, entry.port.get_ref(), entry.port.span());
            self.timers.extend(place.map(|place| TimerSetup {
                place,
                interval: (entry.interval_ns * 1e3) as u64,
                packets: entry.packets,
                last_round: entry.last_round,
            }));
        }
        self.hosts = hosts::hosts(&self.scenario.host, &self.chips, self.scenario.seed, reader);
        self.flows = hosts::flows(&self.scenario.flow, (&self.hosts, &self.scenario.host), reader);
        for entry in &self.scenario.measure.queues {
            self.watched
                .extend(reader.place(&self.chips, entry.get_ref(), entry.span()));
        }
    }

    /// Everything at time 0, and the index of the chip with the problem when there is one.
    pub(crate) fn network(&self, seed: u64) -> Result<Network, (Option<usize>, String)> {
        let mut network = Network::new();
        for (index, chip) in self.chips.iter().enumerate() {
            let of_chip = |message: String| (Some(index), message);
            let load = || chip.load().map_err(of_chip);
            let config = ChipConfig {
                spec: chip.spec.clone(),
                pipeline: load()?,
                of_other_pipes: (1..rules::states(&chip.spec, &chip.program))
                    .map(|_| load())
                    .collect::<Result<_, _>>()?,
                ports: chip.ports.clone(),
                alike: chip.alike,
                pfc: chip.pfc,
                seed: seed.wrapping_add(index as u64),
            };
            network.add_chip(config).map_err(|error| of_chip(error.to_string()))?;
        }
        // The seeds of lines are made of the scenario's, and those of faults of both.
        let of_run = |line: &LinkSpec| LinkSpec {
            seed: line.seed.wrapping_sub(self.scenario.seed).wrapping_add(seed),
            ..line.clone()
        };
        for connection in &self.connections {
            let connection = Connection {
                link: of_run(&connection.link),
                ..connection.clone()
            };
            network
                .connect(&connection)
                .map_err(|error| (None, error.to_string()))?;
        }
        for host in &self.hosts {
            let attached = network.attach(host.place, &of_run(&host.link));
            attached.map_err(|error| (None, error.to_string()))?;
        }
        for (place, fault) in &self.faults {
            let fault = FaultSpec {
                seed: fault.seed.wrapping_add(seed),
                ..fault.clone()
            };
            network
                .add_fault(*place, &fault)
                .map_err(|error| (None, error.to_string()))?;
        }
        Ok(network)
    }
}

/// Seeds of faults are not those of links.
const FAULT_SEEDS: u64 = 1 << 32;

fn fault_spec(entry: &FaultEntry, seed: u64) -> FaultSpec {
    FaultSpec {
        bytes: (entry.bytes.0, entry.bytes.1),
        loss: entry.loss.unwrap_or(0.0),
        duplication: entry.duplication.unwrap_or(0.0),
        delay: entry.delay.unwrap_or(0.0),
        delay_ps: (entry.delay_ns.unwrap_or(0.0) * 1e3) as u64,
        seed,
    }
}

impl ChipSetup {
    /// Loads the program and fills its tables.
    fn load(&self) -> Result<Arc<Pipeline>, String> {
        let options = Options {
            engine: self.engine,
            fast_path: FastPath::Never,
            ..Options::default()
        };
        let pipeline = Pipeline::load_with(self.program.clone(), options).map_err(|error| error.to_string())?;
        let pipeline = Arc::new(pipeline);
        let mut controller = Controller::new(Arc::clone(&pipeline));
        for command in self.entries.iter().flat_map(|test| &test.commands) {
            if command.value.is_traffic() {
                continue;
            }
            if let Applied::Refused(message) | Applied::Differs(message) = controller.apply(&command.value) {
                return Err(format!(
                    "the program refuses the command in line {}: {message}",
                    command.line
                ));
            }
        }
        Ok(pipeline)
    }
}

impl Reader<'_> {
    fn chip(&mut self, entry: &ChipEntry) -> Option<ChipSetup> {
        let mut spec = self.spec(entry.spec.get_ref(), entry.spec.span())?;
        let (path, library) = (entry.program.get_ref(), self.library);
        let program = match library.program_including(path, &entry.defines, &entry.include) {
            Ok(program) => program,
            Err(message) => {
                self.wrong(entry.program.span(), message);
                return None;
            }
        };
        let mut entries = Vec::new();
        for file in &entry.entries {
            match self.library.text(file.get_ref()) {
                Ok(text) => entries.extend(self.commands(&text, file.span())),
                Err(message) => self.wrong(file.span(), message),
            }
        }
        if let Some(commands) = &entry.commands {
            let test = self.commands(commands.get_ref(), commands.span());
            let mut commands_of_test = test.iter().flat_map(|test| &test.commands);
            if let Some(packet) = commands_of_test.find(|command| command.value.is_traffic()) {
                let message = format!(
                    "line {} of commands is about a packet; packets come by [[traffic]], and what leaves is in the results",
                    packet.line
                );
                self.wrong(commands.span(), message);
            }
            entries.extend(test);
        }
        let ports = check::ports(entry, &spec, self);
        let mut mistakes = Vec::new();
        let lifted = rules::lifted(&entry.rule_keys(), &mut spec, &program, self.ignore_fit, &mut mistakes);
        mistakes
            .into_iter()
            .for_each(|(place, message)| self.wrong(place, message));
        Some(ChipSetup {
            name: entry.name.get_ref().clone(),
            engine: match entry.engine {
                EngineEntry::Interp => Engine::Interpreter,
                EngineEntry::Jit => Engine::Jit,
            },
            spec,
            program,
            entries,
            ports,
            alike: check::alike(entry, self),
            pfc: entry.pfc.as_ref().map(|pfc| hosts::pfc(pfc, self)),
            lifted,
        })
    }

    fn spec(&mut self, name: &str, place: Range<usize>) -> Option<ChipSpec> {
        let spec = chip_spec(name, self.library);
        spec.map_err(|message| self.wrong(place, message)).ok()
    }

    fn commands(&mut self, text: &str, place: Range<usize>) -> Option<Test> {
        let parsed = forebay_entries::parse(text).map_err(|errors| match errors.first() {
            Some(error) => format!("these are no STF commands: line {error}"),
            None => "these are no STF commands".to_string(),
        });
        parsed.map_err(|message| self.wrong(place, message)).ok()
    }

    /// `chip:port`.
    pub(crate) fn place(&mut self, chips: &[ChipSetup], text: &str, place: Range<usize>) -> Option<Place> {
        let found = find_place(chips, text);
        found.map_err(|message| self.wrong(place, message)).ok()
    }
}

/// The chip with this name: one that is known, or one that a file describes.
///
/// # Errors
/// When there is none, or the file describes none, in words.
pub fn chip_spec(name: &str, library: &dyn Library) -> Result<ChipSpec, String> {
    if let Some(spec) = ChipSpec::known(name) {
        return Ok(spec);
    }
    if !name.ends_with(".toml") {
        let known: Vec<&str> = ChipSpec::known_names().collect();
        return Err(match nearest(name, known.iter().copied()) {
            Some(meant) => format!("there is no chip {name:?}; did you mean {meant}?"),
            None => format!(
                "there is no chip {name:?}; there are {}, or name a file that ends with .toml",
                known.join(", ")
            ),
        });
    }
    let text = library.text(name)?;
    ChipSpec::from_toml(&text).map_err(|mut error| {
        error.message = words::plain(&error.message);
        format!("{name}: {error}")
    })
}

/// The port with this name: `chip:port`.
pub(crate) fn find_place(chips: &[ChipSetup], text: &str) -> Result<Place, String> {
    let (name, port) = text
        .split_once(':')
        .ok_or_else(|| format!("{text:?} is no port; write chip:port, as in \"{}:1\"", chips[0].name))?;
    let chip = chips.iter().position(|chip| chip.name == name).ok_or_else(|| {
        let names: Vec<&str> = chips.iter().map(|chip| chip.name.as_str()).collect();
        format!("there is no chip {name:?}; there are: {}", names.join(", "))
    })?;
    let count = chips[chip].spec.ports.count;
    match port.parse() {
        Ok(port) if port < count => Ok(Place {
            chip: chip as u16,
            port,
        }),
        _ => Err(format!(
            "chip {name} has no port {port}; its ports are 0 to {}",
            count - 1
        )),
    }
}

fn link_spec(entry: &LinkEntry, seed: u64) -> LinkSpec {
    LinkSpec {
        bits_per_second: (entry.gbps * 1e9) as u64,
        delay_ps: (entry.delay_ns * 1e3) as u64,
        loss: entry.loss,
        seed,
    }
}

/// Queues of a port as the chip wants them.
pub(crate) fn queue_configs(entry: &crate::scenario::PortEntry, spec: &ChipSpec) -> Vec<QueueConfig> {
    let queue = |queue: &crate::scenario::QueueEntry| QueueConfig {
        service: queue.service(spec.scheduler.bytes_per_weight),
        capacity_bytes: queue.capacity_bytes,
    };
    entry.queues().iter().map(queue).collect()
}

/// Picoseconds.
pub(crate) fn picos(microseconds: f64) -> u64 {
    (microseconds * MICROSECOND) as u64
}
