//! The short way does what the long one does, or gives up.

use crate::generate;
use crate::objects::Recorder;
use crate::setting;
use forebay_interp::{Buffers, Ended, Execution, Input, NoTrace, PacketFacts, Random, Requests, State};
use forebay_ir::{Program, text, verify};
use forebay_jit::route::{Argument, Arguments, Route, Source};
use forebay_jit::{Code, Fate, Memory, Options, ShortWay};

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

/// What became of a packet, and what the program asked of its objects.
#[derive(Debug, PartialEq)]
struct Seen {
    /// Nothing when the packet has to take the long way.
    fate: Option<Left<(u32, Vec<u8>)>>,
    calls: Vec<String>,
}

fn interpreted(program: &Program, packet: &[u8]) -> Seen {
    let (mut state, mut requests, mut buffers) = (State::new(program), Requests::default(), Buffers::default());
    let (objects, tracer) = (Recorder::new(program), &mut NoTrace);
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
    let mut execution = Execution::new(
        program,
        &objects,
        input,
        &mut state,
        &mut requests,
        &mut buffers,
        tracer,
    );
    let fate = walk(&mut execution);
    let cursor = execution.cursor();
    let fate = fate.map(|fate| {
        fate.map(|port| {
            buffers.output.push_from(packet, cursor);
            let limit = requests.truncate_to.map_or(usize::MAX, |limit| limit as usize);
            let mut bytes = buffers.output.bytes().to_vec();
            bytes.truncate(limit);
            (port, bytes)
        })
    });
    Seen {
        fate,
        calls: objects.calls(),
    }
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

fn compiled(program: &Program, code: &Code, packet: &[u8]) -> Seen {
    let (mut state, mut requests, mut buffers) = (State::new(program), Requests::default(), Buffers::default());
    let (objects, mut memory, mut frame) = (Recorder::new(program), Memory::default(), packet.to_vec());
    let way = ShortWay::new(code, &objects, &mut state, &mut requests, &mut buffers, &mut memory);
    let mut way = way.expect("the program has no obstacle");
    let arguments = Arguments {
        ingress_port: INGRESS_PORT,
        timestamp_us: TIMESTAMP_US,
    };
    let fate = match way.run(&mut frame, arguments) {
        Fate::Sent { port, length_max } => {
            frame.truncate(length_max as usize);
            Some(Ok((port, frame)))
        }
        Fate::Rewritten {
            port,
            parsed_bits,
            length_max,
        } => {
            assert_eq!(frame, packet, "a packet that is rewritten is not changed in place");
            way.output().push_from(packet, parsed_bits);
            let mut bytes = way.output().bytes().to_vec();
            bytes.truncate(length_max as usize);
            Some(Ok((port, bytes)))
        }
        Fate::DroppedInIngress => Some(Err("ingress")),
        Fate::DroppedInEgress => Some(Err("egress")),
        Fate::AssertFailed => Some(Err("assertion")),
        Fate::GaveUp => {
            assert_eq!(frame, packet, "a packet that takes the long way is as it was");
            None
        }
    };
    Seen {
        fate,
        calls: objects.calls(),
    }
}

#[test]
fn the_short_way_does_the_same() {
    let first = setting("FOREBAY_DIFFERENTIAL_SEED", 0);
    let (mut taken, mut given_up) = (0, 0);
    for seed in first..first + setting("FOREBAY_DIFFERENTIAL_ROUNDS", 150) {
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
            continue;
        }
        for _ in 0..8 {
            let length = random.next_u64() % 120;
            let packet: Vec<u8> = (0..length).map(|_| generate::packet_byte(&mut random)).collect();
            let found = compiled(&program, &code, &packet);
            if found.fate.is_none() {
                given_up += 1;
                continue;
            }
            taken += 1;
            let expected = interpreted(&program, &packet);
            assert_eq!(
                expected,
                found,
                "seed {seed}, packet {packet:02x?}\n{}",
                text::write(&program)
            );
        }
    }
    assert!(
        taken > given_up,
        "{taken} packets took the short way, {given_up} did not"
    );
}
