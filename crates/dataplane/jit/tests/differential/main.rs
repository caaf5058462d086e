//! Random programs and random packets: the interpreter and compiled code do the same.
//!
//! The programs are generated as IR, so they reach widths, alignments and step limits that few P4 programs reach.
//! `FOREBAY_DIFFERENTIAL_ROUNDS` is the number of programs to try, `FOREBAY_DIFFERENTIAL_SEED` the first seed.

mod fast_path;
mod generate;
mod objects;

use forebay_bits::Bits;
use forebay_exec::{Buffers, Ended, Input, NoTrace, PacketFacts, Random, Requests, State};
use forebay_ir::pipeline::{
    Argument, End, Entry, EntryInfo, Finish, GlueBlock, GlueOp, Graph, Mirror, MirrorFrame, Pairs,
};
use forebay_ir::{BlockId, BodyId, Expr, Location, Program, SlotId, text, verify};
use forebay_jit::graph::{FrameInPlace, GraphCode, GraphPacket, GraphPass, GraphSite, GraphStop};
use forebay_jit::{Memory, TableLocations, compile_graph};
use forebay_tables::Pin;
use objects::{Recorder, Tables};
use std::collections::BTreeMap;

/// Everything observable about a path through a program.
#[derive(Debug, PartialEq)]
struct Seen {
    ended: Stop,
    parser_error: u32,
    state: State,
    requests: Requests,
    output: Vec<u8>,
    output_bits: usize,
    cursor: usize,
    calls: Vec<String>,
}

/// The point that a packet has reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stop {
    /// After all bodies.
    Behind,
    StepLimit,
    AssertFailed,
}

/// Bodies in the order of execution.
const BODIES: [BodyId; 3] = [generate::PARSER, generate::CONTROL, generate::DEPARSER];

fn input(packet: &[u8], step_limit: u64) -> Input<'_> {
    let facts = PacketFacts {
        length_bytes: packet.len() as u32,
        timestamp_us: 77,
    };
    Input {
        packet,
        cursor: 0,
        facts,
        random_seed: 3,
        step_limit,
    }
}

fn interpreted(program: &Program, tables: (&Tables, &Pin<'_>), packet: &[u8], step_limit: u64) -> Seen {
    let objects = Recorder::new(program, tables.0, tables.1);
    let seen = run_interpreter(program, &objects, packet, step_limit);
    Seen {
        calls: objects.calls(),
        ..seen
    }
}

/// Without the state of the objects.
fn run_interpreter(program: &Program, objects: &Recorder<'_>, packet: &[u8], step_limit: u64) -> Seen {
    let (mut state, mut requests, mut buffers) = (State::new(program), Requests::default(), Buffers::default());
    let tracer = &mut NoTrace;
    let mut execution = forebay_interp::Execution::new(
        program,
        objects,
        input(packet, step_limit),
        &mut state,
        &mut requests,
        &mut buffers,
        tracer,
    );
    let (mut ended, mut parser_error) = (Stop::Behind, 0);
    for body in BODIES {
        match execution.run(body) {
            Ended::Returned | Ended::Exited => {}
            Ended::Rejected(error) => parser_error = error,
            Ended::StepLimit => match program.error("ParserTimeout").filter(|_| body == generate::PARSER) {
                Some(error) => parser_error = error,
                None => ended = Stop::StepLimit,
            },
            Ended::AssertFailed => ended = Stop::AssertFailed,
        }
        if ended != Stop::Behind {
            break;
        }
    }
    let cursor = execution.cursor();
    Seen {
        ended,
        parser_error,
        state,
        requests,
        output: buffers.output.bytes().to_vec(),
        output_bits: buffers.output.len_bits(),
        cursor,
        calls: Vec::new(),
    }
}

/// Tables that contain some of the keys that packets look up on their path.
fn tables_for(program: &Program, packets: &[Vec<u8>], go: impl Fn(&[u8], &Recorder<'_>)) -> Tables {
    let mut tables = Tables::new(program);
    // The results of look-ups affect later look-ups.
    for _ in 0..3 {
        let mut reader = tables.domain.reader();
        let pin = reader.pin();
        let objects = Recorder::new(program, &tables, &pin);
        packets.iter().for_each(|packet| go(packet, &objects));
        let keys = objects.keys();
        drop(objects);
        drop(pin);
        tables.fill(keys);
    }
    tables
}

/// A graph that runs the bodies one after another, followed by a stop at which all slots are needed.
fn graph(program: &Program) -> Graph {
    let slots = (0..program.slots.len() as u32).map(SlotId);
    let all: Pairs = slots.map(|slot| (slot, slot)).collect();
    let mirror = Mirror {
        session: Expr::Const(Bits::zero(32)),
        to: Entry::CloneEgress,
        frame: MirrorFrame::WithState,
        preserve: Vec::new(),
    };
    let run = |body, next, reject| End::Run { body, next, reject };
    let [first, second, third] = BODIES;
    let ends = [
        run(first, BlockId(1), Some(BlockId(1))),
        run(second, BlockId(2), None),
        run(third, BlockId(3), None),
        End::Finish(Finish::Resubmit(all)),
    ];
    let blocks = ends.into_iter().enumerate().map(|(number, end)| GlueBlock {
        label: format!("block{number}"),
        ops: (number == 3)
            .then(|| GlueOp::Mirror(mirror.clone()))
            .into_iter()
            .collect(),
        end,
        location: Location::default(),
    });
    let entry = |block| EntryInfo {
        block: BlockId(block),
        preserved: Vec::new(),
    };
    Graph {
        entries: BTreeMap::from([(Entry::Arrival, entry(0)), (Entry::CloneEgress, entry(3))]),
        blocks: blocks.collect(),
    }
}

fn compiled(program: &Program, tables: (&Tables, &Pin<'_>), code: &GraphCode, packet: &[u8]) -> Seen {
    let (mut state, mut requests, mut buffers) = (State::new(program), Requests::default(), Buffers::default());
    let objects = Recorder::new(program, tables.0, tables.1);
    let (mut memory, mut locations) = (Memory::default(), TableLocations::default());
    let site = GraphSite::new(code, &objects, &mut locations);
    let mut pass = GraphPass::new(site, &objects, u32::MAX, &mut requests, &mut buffers, &mut memory);
    // A copy of exactly this length: code must not read beyond its end.
    let mut frame = packet.to_vec();
    let packet = GraphPacket {
        frame: FrameInPlace {
            start: frame.as_mut_ptr(),
            length: frame.len(),
            floor: frame.as_ptr(),
        },
        cursor: 0,
        facts: input(packet, 0).facts,
        random: Random::new(3),
        seed: 0,
    };
    // SAFETY: this function owns the frame.
    let stop = unsafe { pass.run(code.entry(Entry::Arrival), packet, &mut state) };
    let ended = match stop {
        GraphStop::Op(_) => Stop::Behind,
        GraphStop::StepLimit => Stop::StepLimit,
        GraphStop::AssertFailed => Stop::AssertFailed,
        GraphStop::End(block) => panic!("block {} does not stop at its end", block.0),
    };
    let cursor = pass.cursor();
    Seen {
        ended,
        parser_error: pass.argument(Argument::ParserError) as u32,
        state,
        requests,
        output: buffers.output.bytes().to_vec(),
        output_bits: buffers.output.len_bits(),
        cursor,
        calls: objects.calls(),
    }
}

/// For a packet dropped by the step limit or an assertion, nothing else is compared.
fn relevant(seen: Seen, program: &Program) -> Seen {
    match seen.ended {
        Stop::Behind => seen,
        ended => Seen {
            ended,
            parser_error: 0,
            state: State::new(program),
            requests: Requests::default(),
            output: Vec::new(),
            output_bits: 0,
            cursor: 0,
            calls: Vec::new(),
        },
    }
}

fn setting(name: &str, default: u64) -> u64 {
    std::env::var(name).map_or(default, |value| {
        value.parse().unwrap_or_else(|_| panic!("{name} is a number"))
    })
}

#[test]
fn random_programs_do_the_same() {
    let first = setting("FOREBAY_DIFFERENTIAL_SEED", 0);
    for seed in first..first + setting("FOREBAY_DIFFERENTIAL_ROUNDS", 150) {
        compare(seed);
    }
}

fn compare(seed: u64) {
    let mut random = Random::new(seed);
    let program = generate::program(&mut random, false);
    let errors = verify::verify(&program);
    assert!(
        errors.is_empty(),
        "seed {seed}: {}\n{}",
        errors[0],
        text::write(&program)
    );
    let step_limit = if random.next_u64().is_multiple_of(2) {
        1000
    } else {
        random.next_u64() % 40
    };
    let code = compile_graph(&program, &graph(&program), step_limit);
    let code = code.unwrap_or_else(|error| panic!("seed {seed}: {error}"));
    let mut packet = || {
        let length = random.next_u64() % 80;
        (0..length).map(|_| generate::packet_byte(&mut random)).collect()
    };
    let packets: Vec<Vec<u8>> = (0..8).map(|_| packet()).collect();
    let known = tables_for(&program, &packets, |packet, objects| {
        run_interpreter(&program, objects, packet, step_limit);
    });
    let mut reader = known.domain.reader();
    let pin = reader.pin();
    let tables = (&known, &pin);
    for packet in packets {
        let expected = relevant(interpreted(&program, tables, &packet, step_limit), &program);
        let found = relevant(compiled(&program, tables, &code, &packet), &program);
        if expected == found {
            continue;
        }
        let differing: Vec<String> = (0..program.slots.len() as u32)
            .map(forebay_ir::SlotId)
            .filter(|&slot| expected.state.get(slot) != found.state.get(slot))
            .map(|slot| {
                let (a, b) = (expected.state.get(slot), found.state.get(slot));
                format!("{}: {a} {b}", program.slot(slot).name)
            })
            .collect();
        panic!(
            "seed {seed}, packet {packet:02x?}, limit {step_limit}: interpreted and compiled differ\n{:?} {:?}\n{differing:#?}\n{:?}\n{:?}\n{:?}\n{:?}\n{:?} {:?} {} {}\n{}",
            expected.ended,
            found.ended,
            expected.requests,
            found.requests,
            expected.calls,
            found.calls,
            expected.output,
            found.output,
            expected.cursor,
            found.cursor,
            text::write(&program)
        );
    }
}
