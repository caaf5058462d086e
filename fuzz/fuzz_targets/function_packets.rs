//! Any bytes as packets, through the network functions: interpreter and machine code do the same with them, and each
//! goes out or is dropped for a named reason. Functions remember connections, so a run keeps its programs for some
//! inputs. A failure prints the packets of all of them as a test that `forebay test` runs.
//!
//! The first byte of an input chooses the function, which is compiled when it is first needed. With $FUNCTION
//! (an index or a name of the list) all inputs are of that one: a process then compiles one function and spends its
//! time on packets.

#![no_main]

use forebay_driver::{FileSources, Options as CompileOptions, compile};
use forebay_entries::{Command, Located, Test};
use forebay_ir::Program;
use forebay_pipeline::{Engine, Options, Pipeline};
use forebay_stf::FailureKind;
use libfuzzer_sys::fuzz_target;
use std::cell::RefCell;
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A packet ends where these bytes stand. The fuzzer learns them from its seeds.
const SEPARATOR: &[u8] = b"\xa5\x5a";
/// Packets of one input.
const PACKETS_MAX: usize = 16;
/// Inputs between two fresh starts of a function.
const INPUTS_MAX: usize = 4_096;

/// Each function with the test whose commands, all but its packets, it begins with. `fuzz/seed.py` has the same list.
const FUNCTIONS: &[(&str, &str)] = &[
    ("firewall", "firewall_connections"),
    ("int", "int_sink"),
    ("int", "int_source_md"),
    ("iot_mapping", "iot_mapping_mqtt"),
    ("l2_switch", "l2_switch_stations"),
    ("load_balancer", "load_balancer_nat"),
    ("nat44", "nat44_mappings"),
    ("router", "router_prefixes"),
    ("upf", "upf_sessions"),
];

struct Function {
    test: PathBuf,
    program: Program,
    entries: Test,
    running: Option<Running>,
}

/// Both executors of a function, and what has come in since they were loaded.
struct Running {
    reference: Arc<Pipeline>,
    compiled: Arc<Pipeline>,
    packets: Vec<(u32, Vec<u8>)>,
    inputs: usize,
}

thread_local! {
    static BENCHES: RefCell<Vec<Option<Function>>> = RefCell::new(FUNCTIONS.iter().map(|_| None).collect());
    /// The function of $FUNCTION.
    static CHOSEN: Option<usize> = std::env::var("FUNCTION").ok().map(|wanted| index(&wanted));
}

/// The place in the list of an index, or of the first row with this name.
fn index(wanted: &str) -> usize {
    let named = FUNCTIONS.iter().position(|(name, _)| *name == wanted);
    let index = named.or_else(|| wanted.parse().ok().filter(|index| *index < FUNCTIONS.len()));
    index.unwrap_or_else(|| panic!("$FUNCTION is none of {FUNCTIONS:?}"))
}

impl Function {
    fn new(name: &str, test: &str) -> Function {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../functions").join(name);
        let path = folder.join(format!("{name}.p4")).display().to_string();
        let provider = FileSources::new();
        let program = compile(&path, &CompileOptions::new(&provider)).program;
        let test = folder.join(format!("{test}.stf"));
        let text = std::fs::read_to_string(&test).expect("the function has this test");
        let mut entries = forebay_entries::parse(&text).expect("the test is well-formed");
        entries.commands.retain(|command| is_entry(&command.value));
        Function { test, program: program.expect("the function compiles"), entries, running: None }
    }

    fn run(&mut self, packets: Vec<(u32, Vec<u8>)>) {
        if self.running.as_ref().is_some_and(|running| running.inputs == INPUTS_MAX) {
            self.running = None;
        }
        let (program, entries) = (&self.program, &self.entries);
        let running = self.running.get_or_insert_with(|| {
            let load = |engine| load(program, engine);
            let running = Running { reference: load(Engine::Interpreter), compiled: load(Engine::Jit), packets: Vec::new(), inputs: 0 };
            running.compare(entries).expect("the executors agree about entries");
            running
        });
        running.inputs += 1;
        running.packets.extend(packets.iter().cloned());
        let commands = packets.into_iter().map(|(port, data)| Located { line: 0, column: 0, value: Command::Packet { port, data } });
        let test = Test { commands: commands.collect(), ..Test::default() };
        if let Err(difference) = running.compare(&test) {
            panic!("{difference}\nthe commands of {}, then\n{}", self.test.display(), running.as_test());
        }
    }
}

impl Running {
    fn compare(&self, test: &Test) -> Result<(), String> {
        let outcome = forebay_stf::run_both(test, self.reference.clone(), self.compiled.clone());
        let difference = outcome.failures.iter().find(|failure| failure.kind == FailureKind::Engine);
        difference.map_or(Ok(()), |failure| Err(failure.to_string()))
    }

    fn as_test(&self) -> String {
        let mut text = String::new();
        for (port, data) in &self.packets {
            let hex: String = data.iter().map(|byte| format!("{byte:02x}")).collect();
            writeln!(text, "packet {port} {hex}").expect("a string takes everything");
        }
        text
    }
}

fn is_entry(command: &Command) -> bool {
    !matches!(command, Command::Packet { .. } | Command::Expect { .. } | Command::NoPacket | Command::Wait { .. })
}

fn load(program: &Program, engine: Engine) -> Arc<Pipeline> {
    let options = Options { engine, ..Options::default() };
    Arc::new(Pipeline::load_with(program.clone(), options).expect("the function can be loaded"))
}

/// The packets of an input: the first byte of each is its port.
fn packets(mut data: &[u8]) -> Vec<(u32, Vec<u8>)> {
    let mut packets = Vec::new();
    while packets.len() < PACKETS_MAX && !data.is_empty() {
        let end = data.windows(SEPARATOR.len()).position(|window| window == SEPARATOR);
        let (packet, rest) = end.map_or((data, &[][..]), |end| (&data[..end], &data[end + SEPARATOR.len()..]));
        data = rest;
        if let Some((port, bytes)) = packet.split_first() {
            packets.push((u32::from(*port), bytes.to_vec()));
        }
    }
    packets
}

fuzz_target!(|data: &[u8]| {
    let Some((which, rest)) = data.split_first() else { return };
    BENCHES.with_borrow_mut(|functions| {
        let index = CHOSEN.with(|chosen| chosen.unwrap_or(usize::from(*which) % functions.len()));
        let (name, test) = FUNCTIONS[index];
        functions[index].get_or_insert_with(|| Function::new(name, test)).run(packets(rest));
    });
});
