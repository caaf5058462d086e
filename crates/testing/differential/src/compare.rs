//! A random program in all executors.

use crate::workers::{Frames, run};
use crate::{entries, generate, packets};
use forebay_chip::ChipSpec;
use forebay_driver::{Options as FrontEnd, compile};
use forebay_entries::{Command, Located, Test, UnnamedPorts};
use forebay_ir::{Op, Program, SlotId};
use forebay_pipeline::{Engine, Options, Pipeline, Stops};
use forebay_stf::{FailureKind, Outcome, run_both, run_switch_and_chip};
use forebay_switch::Spread;
use forebay_syntax::render::render_all;
use forebay_syntax::source::MemorySources;
use std::sync::Arc;

/// Packets that go one by one, and all at once.
const SINGLE_PACKETS: usize = 12;
const BURST_PACKETS: usize = 200;

/// What a program was seen to do.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Compared {
    /// Packets that left, of those that went one by one.
    pub packets_out: u64,
    /// Whether there is specialised code for it.
    pub has_fast_path: bool,
    /// Whether several workers were compared: not where packets meet what others have left.
    pub spread: bool,
}

/// Compares all executors on the program of a seed, its entries and packets.
///
/// # Errors
/// What differs, for people, with the program.
pub fn compare(seed: u64, workers: usize) -> Result<Compared, String> {
    let text = generate::program(seed);
    compare_program(seed, &text, workers).map_err(|difference| format!("seed {seed}: {difference}\n{text}"))
}

fn compare_program(seed: u64, text: &str, workers: usize) -> Result<Compared, String> {
    let case = Case {
        program: compiled(text)?,
        goes_again: generate::goes_again(text),
        seed,
    };
    let single = case.one_by_one();
    let outcome = run_both(&single, case.load(Engine::Interpreter), case.load(Engine::Jit));
    agrees(&outcome)?;
    // Which of a packet's copies, or of packets that come round again, goes first is not laid down either.
    if !case.goes_again && (is_without_memory(&case.program) || !makes_copies(&case.program)) {
        let chip = ChipSpec::known("v1model-ideal").expect("a chip that is built in");
        let (switch, chip_pipeline) = (case.load(Engine::Interpreter), case.load(Engine::Jit));
        agrees(&run_switch_and_chip(&single, switch, chip_pipeline, chip))?;
    }
    let mut compared = case.in_bursts(workers)?;
    compared.packets_out = outcome.packets_out;
    Ok(compared)
}

/// A program and what it is tried with.
struct Case {
    program: Program,
    /// Whether a packet may come round again or be cloned.
    goes_again: bool,
    seed: u64,
}

impl Case {
    fn load(&self, engine: Engine) -> Arc<Pipeline> {
        let options = Options {
            engine,
            ..Options::default()
        };
        let pipeline = Pipeline::load_with(self.program.clone(), options).expect("a program that can be loaded");
        entries::fill(&pipeline, self.seed);
        Arc::new(pipeline)
    }

    /// All packets at once. One worker takes them, and those that come round again, in an order that is laid down; of several
    /// workers none is.
    fn in_bursts(&self, workers: usize) -> Result<Compared, String> {
        let frames = self.all_at_once();
        let (reference, compiled) = (self.load(Engine::Interpreter), self.load(Engine::Jit));
        let mut expected = run(&reference, &frames, 1, &Spread::FiveTuple);
        let found = run(&compiled, &frames, 1, &Spread::FiveTuple);
        same(
            "the engines, with packets in bursts",
            (&reference, &expected),
            (&compiled, &found),
        )?;
        let spread = is_without_memory(&self.program);
        if spread {
            let by_many = self.load(Engine::Jit);
            let mut found = run(&by_many, &frames, workers, &Spread::FiveTuple);
            [&mut expected, &mut found].into_iter().for_each(sort);
            same("one worker and several", (&reference, &expected), (&by_many, &found))?;
        }
        Ok(Compared {
            packets_out: 0,
            has_fast_path: !compiled.obstacles().iter().any(|obstacle| obstacle.stops == Stops::All),
            spread,
        })
    }

    fn one_by_one(&self) -> Test {
        let packets = packets::packets(self.seed, SINGLE_PACKETS);
        let commands = (1..).zip(packets).map(|(line, (port, data))| Located {
            line,
            column: 1,
            value: Command::Packet { port, data },
        });
        Test {
            commands: commands.collect(),
            unnamed_ports: UnnamedPorts::Noted,
        }
    }

    fn all_at_once(&self) -> Frames {
        let mut frames = Frames::new();
        for (port, data) in packets::packets(self.seed ^ 1, BURST_PACKETS) {
            frames.entry(port).or_default().push(data);
        }
        frames
    }
}

fn compiled(text: &str) -> Result<Program, String> {
    let sources = MemorySources::new().with("program.p4", text);
    let compiled = compile("program.p4", &FrontEnd::new(&sources));
    let messages = || render_all(&compiled.diagnostics, &compiled.sources, false);
    compiled
        .program
        .ok_or_else(|| format!("it does not compile: {}", messages()))
}

/// Fails when executors differ. That no command awaits the packets does not matter.
fn agrees(outcome: &Outcome) -> Result<(), String> {
    let mut failures = outcome.failures.iter();
    let difference = failures.find(|failure| failure.kind == FailureKind::Engine);
    difference.map_or(Ok(()), |failure| Err(failure.message.clone()))
}

fn same(who: &str, expected: (&Pipeline, &Frames), found: (&Pipeline, &Frames)) -> Result<(), String> {
    let differences = expected.0.differences(found.0);
    if let Some(difference) = differences.first() {
        return Err(format!("{who} differ: {difference}"));
    }
    let ports = expected.1.keys().chain(found.1.keys());
    let differing = |port: &&u32| expected.1.get(port) != found.1.get(port);
    let Some(port) = ports.into_iter().find(differing) else {
        return Ok(());
    };
    let [one, other] = [expected.1, found.1].map(|frames| frames.get(port).map_or(&[][..], Vec::as_slice));
    let at = one.iter().zip(other).position(|(one, other)| one != other);
    let at = at.unwrap_or(one.len().min(other.len()));
    Err(format!(
        "{who} differ: packet {at} of {} and {} on port {port} is {:02x?} and {:02x?}",
        one.len(),
        other.len(),
        one.get(at),
        other.get(at)
    ))
}

fn sort(frames: &mut Frames) {
    frames.values_mut().for_each(|frames| frames.sort());
}

/// Whether a packet may become several.
fn makes_copies(program: &Program) -> bool {
    let is_group = |slot: SlotId| {
        let name = &program.slot(slot).name;
        ["mcast_grp", "multicast_group", ".clone"]
            .iter()
            .any(|end| name.ends_with(end))
            || name.starts_with("pna.mirror")
    };
    any_op(program, |op| match op {
        Op::Clone { .. } => true,
        Op::Assign { slot, .. } => is_group(*slot),
        _ => false,
    })
}

/// Whether packets cannot meet state that others have changed.
fn is_without_memory(program: &Program) -> bool {
    !any_op(program, |op| matches!(op, Op::RegisterWrite { .. }))
}

fn any_op(program: &Program, is_meant: impl Fn(&Op) -> bool) -> bool {
    let mut blocks = program.bodies.iter().flat_map(|body| &body.blocks);
    blocks.any(|block| block.statements.iter().any(|statement| is_meant(&statement.op)))
}
