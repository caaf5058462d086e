//! Executes a random program in all executors, and compares what they do.

use crate::given::{Configuration, add_entries};
use crate::workers::{Frames, run};
use crate::{entries, generate, packets};
use forebay_chip::ChipSpec;
use forebay_driver::{Options as FrontEnd, compile};
use forebay_entries::{Command, Located, Test, UnnamedPorts};
use forebay_exec::Random;
use forebay_ir::{Op, Program, Recipient, SlotId};
use forebay_pipeline::{Engine, Options, Pipeline, Stops};
use forebay_stf::{FailureKind, Outcome, run_both, run_switch_and_chip};
use forebay_switch::Spread;
use forebay_syntax::render::render_all;
use forebay_syntax::source::MemorySources;
use std::sync::Arc;

/// Packets that go one by one, and all at once.
const SINGLE_PACKETS: usize = 12;
const BURST_PACKETS: usize = 200;
/// Rounds in which entries are made that packets of random programs meet, beside random ones.
const ROUNDS: u64 = 2;

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
    compare_text(seed, &text, ROUNDS, workers).map_err(|difference| format!("seed {seed}: {difference}\n{text}"))
}

/// Compares all executors on a program, with the entries and packets of a seed. In `rounds` rounds entries are added
/// that these packets meet.
///
/// # Errors
/// What differs, for people.
pub fn compare_text(seed: u64, text: &str, rounds: u64, workers: usize) -> Result<Compared, String> {
    let program = compiled(text)?;
    let mut case = Case {
        configuration: Configuration::of_program(&program, &mut Random::new(seed)),
        program,
        seed,
        single: packets::packets(seed, SINGLE_PACKETS),
        burst: packets::packets(seed ^ 1, BURST_PACKETS),
    };
    add_entries(&mut case, rounds);
    let compared = case.compare(workers)?;
    // Which of a packet's copies, or of packets that come round again, goes first is not laid down.
    let is_ordered = is_without_memory(&case.program) || !makes_copies(&case.program);
    if !generate::goes_again(text) && is_ordered {
        case.agrees_with_the_chip()?;
    }
    Ok(compared)
}

/// A program and what it is tried with.
pub(crate) struct Case {
    pub(crate) program: Program,
    /// The seed of entries, groups and sessions.
    pub(crate) seed: u64,
    /// What is configured beside these.
    pub(crate) configuration: Configuration,
    /// Packets that go one by one.
    pub(crate) single: Packets,
    /// Packets that go all at once.
    pub(crate) burst: Packets,
}

/// Frames with the ports by which they come.
pub type Packets = Vec<(u32, Vec<u8>)>;

impl Case {
    /// Compares the engines with packets one by one, and all at once with one worker and several.
    pub(crate) fn compare(&self, workers: usize) -> Result<Compared, String> {
        let outcome = run_both(
            &self.one_by_one(),
            self.load(Engine::Interpreter),
            self.load(Engine::Jit),
        );
        agrees(&outcome)?;
        let mut compared = self.in_bursts(workers)?;
        compared.packets_out = outcome.packets_out;
        Ok(compared)
    }

    fn agrees_with_the_chip(&self) -> Result<(), String> {
        let chip = ChipSpec::known("v1model-ideal").expect("a chip that is built in");
        let (switch, chip_pipeline) = (self.load(Engine::Interpreter), self.load(Engine::Jit));
        agrees(&run_switch_and_chip(&self.one_by_one(), switch, chip_pipeline, chip))
    }

    pub(crate) fn load(&self, engine: Engine) -> Arc<Pipeline> {
        self.load_with_entries(&self.program, engine)
    }

    /// Loads a program that has the same tables, and others perhaps, with the entries of the case's program.
    pub(crate) fn load_with_entries(&self, program: &Program, engine: Engine) -> Arc<Pipeline> {
        let options = Options {
            engine,
            ..Options::default()
        };
        let pipeline = Pipeline::load_with(program.clone(), options).expect("a program that can be loaded");
        entries::fill(&pipeline, &self.program, self.seed);
        self.configuration.write(&pipeline);
        Arc::new(pipeline)
    }

    /// All packets at once. One worker takes them, and those that come round again, in an order that is laid down; of
    /// several workers none is.
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
        let commands = (1..)
            .zip(self.single.iter().cloned())
            .map(|(line, (port, data))| Located {
                line,
                column: 1,
                value: Command::Packet { port, data },
            });
        Test {
            commands: commands.collect(),
            unnamed_ports: UnnamedPorts::Noted,
        }
    }

    pub(crate) fn all_at_once(&self) -> Frames {
        let mut frames = Frames::new();
        for (port, data) in &self.burst {
            frames.entry(*port).or_default().push(data.clone());
        }
        frames
    }
}

fn compiled(text: &str) -> Result<Program, String> {
    let sources = MemorySources::new().with("program.p4", text);
    let compiled = compile("program.p4", &FrontEnd::new(&sources));
    let messages = || render_all(&compiled.diagnostics, &compiled.sources);
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
    same_frames(who, expected.1, found.1)
}

/// Fails when other frames left a port, or in another order.
pub(crate) fn same_frames(who: &str, expected: &Frames, found: &Frames) -> Result<(), String> {
    let differing = |port: &&u32| expected.get(port) != found.get(port);
    let Some(port) = expected.keys().chain(found.keys()).find(differing) else {
        return Ok(());
    };
    let [one, other] = [expected, found].map(|frames| frames.get(port).map_or(&[][..], Vec::as_slice));
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

/// Whether what becomes of a packet does not depend on those before it.
fn is_without_memory(program: &Program) -> bool {
    // Random numbers are those of the packet's number, which each worker counts by itself.
    let remembers = |op: &Op| {
        matches!(
            op,
            Op::RegisterWrite { .. } | Op::ExecuteMeter { .. } | Op::Random { .. }
        )
    };
    let is_metered = program.tables.iter().any(|table| table.direct_meter.is_some());
    let learns = program.digests.iter().any(|digest| digest.to != Recipient::Controller);
    !any_op(program, remembers) && !is_metered && !learns && !reads_queues(program)
}

/// Whether it reads how long packets or others waited in queues: each worker has queues of its own.
fn reads_queues(program: &Program) -> bool {
    let of_queue = |slot: SlotId| {
        let name = &program.slot(slot).name;
        ["enq_qdepth", "deq_qdepth", "deq_timedelta", "timestamp"]
            .iter()
            .any(|end| name.ends_with(end))
    };
    program.slots_read().into_iter().any(of_queue)
}

fn any_op(program: &Program, is_meant: impl Fn(&Op) -> bool) -> bool {
    let mut blocks = program.bodies.iter().flat_map(|body| &body.blocks);
    blocks.any(|block| block.statements.iter().any(|statement| is_meant(&statement.op)))
}
