//! The short way does what the long one does, or gives up.

use crate::generate;
use crate::objects::{Recorder, Tables};
use crate::setting;
use forebay_interp::{BitBuffer, Buffers, Ended, Execution, Input, NoTrace, PacketFacts, Random, Requests, State};
use forebay_ir::{Program, text, verify};
use forebay_jit::route::{Argument, Arguments, Route, Source};
use forebay_jit::{Code, Fate, Frame, Memory, Options, ShortWay};

const DROP_PORT: u32 = 511;
const STEP_LIMIT: u64 = 1000;
const INGRESS_PORT: u32 = 3;
const TIMESTAMP_US: u64 = 5;

fn route() -> Route {
    Route {
        parser: generate::PARSER,
        verify_checksum: generate::EMPTY,
        ingress: generate::CONTROL,
        egress: generate::EMPTY,
        compute_checksum: generate::EMPTY,
        deparser: generate::DEPARSER,
        checksum_error: None,
        egress_spec: generate::EGRESS_SPEC,
        drop_port: DROP_PORT,
        copying: vec![generate::COPIES],
        before_parser: vec![(generate::EGRESS_SPEC, Source::Argument(Argument::IngressPort))],
        before_egress: Vec::new(),
        unknown: Vec::new(),
        fixed: Vec::new(),
    }
}

/// A port and the bytes that leave it, or where the packet was dropped.
type Left<T> = Result<T, &'static str>;

/// The same with the port and the bytes; nothing for a packet that has to take the long way.
type Outcome = Option<Left<(u32, Vec<u8>)>>;

/// What became of packets, and what the program asked of its objects.
#[derive(Debug, Default, PartialEq)]
struct Seen {
    fates: Vec<Outcome>,
    /// In order of the packets when they go one by one.
    calls: Vec<String>,
}

/// What the interpreter does with packets, but for those that the short way gave up.
fn interpreted(program: &Program, packets: &[Vec<u8>], given_up: &[bool], objects: Recorder<'_>) -> Seen {
    let mut fates = Vec::new();
    for (packet, given_up) in packets.iter().zip(given_up) {
        fates.push(if *given_up {
            None
        } else {
            interpreted_packet(program, packet, &objects)
        });
    }
    Seen {
        fates,
        calls: objects.calls(),
    }
}

fn interpreted_packet(program: &Program, packet: &[u8], objects: &Recorder<'_>) -> Outcome {
    let (mut state, mut requests, mut buffers) = (State::new(program), Requests::default(), Buffers::default());
    let tracer = &mut NoTrace;
    state.set_number(generate::EGRESS_SPEC, INGRESS_PORT.into());
    let input = Input {
        packet,
        cursor: 0,
        facts: PacketFacts {
            length_bytes: packet.len() as u32,
            timestamp_us: TIMESTAMP_US,
        },
        random_seed: 0,
        step_limit: STEP_LIMIT,
    };
    let mut execution = Execution::new(program, objects, input, &mut state, &mut requests, &mut buffers, tracer);
    let fate = walk(&mut execution);
    let cursor = execution.cursor();
    fate.map(|fate| {
        fate.map(|port| {
            buffers.output.push_from(packet, cursor);
            let limit = requests.truncate_to.map_or(usize::MAX, |limit| limit as usize);
            let mut bytes = buffers.output.bytes().to_vec();
            bytes.truncate(limit);
            (port, bytes)
        })
    })
}

fn walk(execution: &mut Execution<'_, Recorder<'_>, NoTrace>) -> Option<Left<u32>> {
    if execution.run(generate::PARSER) != Ended::Returned {
        return None;
    }
    if execution.run(generate::CONTROL) == Ended::AssertFailed {
        return Some(Err("assertion"));
    }
    if execution.state().is_set(generate::COPIES) {
        return None;
    }
    let port = execution.state().get_u64(generate::EGRESS_SPEC) as u32;
    if port == DROP_PORT {
        return Some(Err("ingress"));
    }
    if execution.run(generate::EMPTY) != Ended::Returned {
        return None;
    }
    match execution.run(generate::DEPARSER) {
        Ended::AssertFailed => Some(Err("assertion")),
        _ => Some(Ok(port)),
    }
}

/// Packets in bursts of at most `burst`, that wait for each other at look-ups or do not.
fn compiled(code: &Code, packets: &[Vec<u8>], burst: usize, staged: bool, objects: Recorder<'_>) -> Seen {
    let (mut requests, mut buffers, mut memory) = (Requests::default(), Buffers::default(), Memory::default());
    let way = ShortWay::new(code, &objects, &mut requests, &mut buffers, &mut memory);
    let mut way = way.expect("the program has no obstacle");
    way.set_staged(staged);
    let headroom = way.headroom();
    let arguments = Arguments {
        ingress_port: INGRESS_PORT,
        timestamp_us: TIMESTAMP_US,
    };
    let mut fates = Vec::new();
    while fates.len() < packets.len() {
        let rest = &packets[fates.len()..];
        let with_room = |packet: &Vec<u8>| [vec![0xA5; headroom], packet.clone()].concat();
        let mut frames: Vec<Vec<u8>> = rest.iter().take(burst).map(with_room).collect();
        let places = frames.iter_mut().map(|frame| Frame {
            length: frame.len() - headroom,
            start: frame.as_mut_ptr().wrapping_add(headroom),
        });
        // SAFETY: each frame is a vector of its own, with so much room.
        let ran = unsafe { way.run(places, arguments) };
        for (index, frame) in frames[..ran].iter().enumerate() {
            let fate = way.fate(index);
            fates.push(left(&way, fate, frame, headroom, &rest[index]));
        }
        let untouched = frames[ran..].iter().zip(&rest[ran..]);
        for (frame, packet) in untouched {
            assert_eq!(
                frame[headroom..],
                packet[..],
                "a packet behind one that gave up is as it was"
            );
        }
    }
    Seen {
        fates,
        calls: objects.calls(),
    }
}

fn left(way: &ShortWay<'_>, fate: Fate, frame: &[u8], headroom: usize, packet: &[u8]) -> Outcome {
    match fate {
        Fate::Plain { port } => Some(Ok((port, frame[headroom..].to_vec()))),
        Fate::Sent {
            port,
            start,
            length_max,
        } => {
            let mut bytes = frame[headroom.strict_add_signed(start)..].to_vec();
            bytes.truncate(length_max as usize);
            Some(Ok((port, bytes)))
        }
        Fate::Rewritten {
            port,
            parsed_bits,
            output_start,
            output_bits,
            length_max,
        } => {
            let mut output = BitBuffer::default();
            output.append(&way.output().bytes()[output_start..], output_bits);
            output.push_from(&frame[headroom..], parsed_bits);
            let mut bytes = output.bytes().to_vec();
            bytes.truncate(length_max as usize);
            Some(Ok((port, bytes)))
        }
        Fate::DroppedInIngress => Some(Err("ingress")),
        Fate::DroppedInEgress => Some(Err("egress")),
        Fate::AssertFailed => Some(Err("assertion")),
        Fate::GaveUp => {
            assert_eq!(
                frame[headroom..],
                *packet,
                "a packet that takes the long way is as it was"
            );
            None
        }
    }
}

/// Tables that know some of the keys with which the packets look.
fn tables_for(program: &Program, packets: &[Vec<u8>]) -> Tables {
    let mut tables = Tables::new(program);
    // What is found decides on what is looked up next.
    for _ in 0..3 {
        let mut reader = tables.domain.reader();
        let pin = reader.pin();
        let objects = Recorder::with_tables(program, &tables, &pin);
        for packet in packets {
            interpreted_packet(program, packet, &objects);
        }
        let keys = objects.keys();
        drop(objects);
        drop(pin);
        tables.fill(keys);
    }
    tables
}

/// Seeds of programs that found mistakes once: a header that is extracted and emitted twice; a checksum with the payload
/// behind a look-up at which another packet was taken up before; a field of a header with a varbit field that the parser
/// changes.
const ONCE_DIFFERENT: [u64; 3] = [1_000_222, 2_004_267, 3_001_684];

#[test]
fn the_short_way_does_the_same() {
    let first = setting("FOREBAY_DIFFERENTIAL_SEED", 0);
    let (mut taken, mut given_up, mut without) = (0, 0, 0);
    let rounds = setting("FOREBAY_DIFFERENTIAL_ROUNDS", 150);
    for seed in (first..first + rounds).chain(ONCE_DIFFERENT) {
        let mut random = Random::new(seed);
        let program = generate::program(&mut random, true);
        let errors = verify::verify(&program);
        assert!(
            errors.is_empty(),
            "seed {seed}: {}\n{}",
            errors[0],
            text::write(&program)
        );
        let route = route();
        let options = Options {
            step_limit: STEP_LIMIT,
            route: Some(&route),
        };
        let code = forebay_jit::compile(&program, options).unwrap_or_else(|error| panic!("seed {seed}: {error}"));
        if code.obstacle().is_some() {
            without += 1;
            continue;
        }
        let packets: Vec<Vec<u8>> = (0..8)
            .map(|_| {
                let length = random.next_u64() % 120;
                (0..length).map(|_| generate::packet_byte(&mut random)).collect()
            })
            .collect();
        let tables = tables_for(&program, &packets);
        let mut reader = tables.domain.reader();
        let pin = reader.pin();
        let objects = || Recorder::with_tables(&program, &tables, &pin);
        let one_by_one = compiled(&code, &packets, 1, false, objects());
        let gave_up: Vec<bool> = one_by_one.fates.iter().map(Option::is_none).collect();
        let mut expected = interpreted(&program, &packets, &gave_up, objects());
        let agrees = |expected: &Seen, seen: &Seen| {
            assert_eq!(
                expected,
                seen,
                "seed {seed}, packets {packets:02x?}\n{}",
                text::write(&program)
            );
        };
        agrees(&expected, &one_by_one);
        agrees(&expected, &compiled(&code, &packets, 5, false, objects()));
        let mut staged = compiled(&code, &packets, 5, true, objects());
        expected.calls.sort();
        staged.calls.sort();
        agrees(&expected, &staged);
        given_up += gave_up.iter().filter(|gave_up| **gave_up).count();
        taken += gave_up.iter().filter(|gave_up| !**gave_up).count();
    }
    assert!(
        taken > given_up,
        "{taken} packets took the short way, {given_up} did not"
    );
    // Programs that read from egress what ingress writes.
    assert!(
        10 * without <= rounds,
        "{without} of {rounds} programs have no short way"
    );
}
