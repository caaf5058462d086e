//! Random programs, random packets: the interpreter and compiled code do the same.
//!
//! The programs are made in the IR itself, so they reach widths, alignments and step limits that few P4 programs do.
//! `FOREBAY_DIFFERENTIAL_ROUNDS` says how many programs are tried, `FOREBAY_DIFFERENTIAL_SEED` with which number to begin.

mod fast_path;
mod generate;
mod objects;

use forebay_exec::{Buffers, Ended, Input, NoTrace, PacketFacts, Random, Requests, State};
use forebay_ir::{BodyId, Program, text, verify};
use forebay_tables::Pin;
use objects::{Recorder, Tables};

/// Everything that can be seen of a way through a program.
#[derive(Debug, PartialEq)]
struct Seen {
    ended: Vec<Ended>,
    state: State,
    requests: Requests,
    output: Vec<u8>,
    output_bits: usize,
    cursor: usize,
    calls: Vec<String>,
}

/// Bodies in the order in which they are run.
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

/// Without what the objects remember.
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
    let ended = BODIES.iter().map(|&body| execution.run(body)).collect();
    let cursor = execution.cursor();
    Seen {
        ended,
        state,
        requests,
        output: buffers.output.bytes().to_vec(),
        output_bits: buffers.output.len_bits(),
        cursor,
        calls: Vec::new(),
    }
}

/// Tables that know some of the keys with which packets look, when they go their way through them.
fn tables_for(program: &Program, packets: &[Vec<u8>], go: impl Fn(&[u8], &Recorder<'_>)) -> Tables {
    let mut tables = Tables::new(program);
    // What is found decides on what is looked up next.
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

fn compiled(program: &Program, tables: (&Tables, &Pin<'_>), code: &forebay_jit::Code, packet: &[u8]) -> Seen {
    let (mut state, mut requests, mut buffers) = (State::new(program), Requests::default(), Buffers::default());
    let objects = Recorder::new(program, tables.0, tables.1);
    let mut memory = forebay_jit::Memory::default();
    let mut execution = forebay_jit::Execution::new(
        &code.in_bodies(),
        &objects,
        input(packet, 0),
        &mut state,
        &mut requests,
        &mut buffers,
        &mut memory,
    );
    let ended = BODIES.iter().map(|&body| execution.run(body)).collect();
    let cursor = execution.cursor();
    Seen {
        ended,
        state,
        requests,
        output: buffers.output.bytes().to_vec(),
        output_bits: buffers.output.len_bits(),
        cursor,
        calls: objects.calls(),
    }
}

/// A state after a body that was dropped for its steps or an assertion is not looked at, unless it is a parser's.
fn relevant(mut seen: Seen, program: &Program) -> Seen {
    let dropped = |ended: &Ended| matches!(ended, Ended::StepLimit | Ended::AssertFailed);
    if let Some(last) = seen.ended[1..].iter().position(dropped) {
        seen.ended.truncate(last + 2);
        seen.state = State::new(program);
        seen.requests.clear();
        seen.output.clear();
        seen.output_bits = 0;
        seen.calls.clear();
    }
    seen
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
    let code = forebay_jit::compile(&program, None, step_limit);
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
