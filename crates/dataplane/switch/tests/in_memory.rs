//! Frames through a switch in memory (`operations.ir`).

use forebay_pipeline::{CloneSession, Engine, NoTrace, Options, Pipeline, Replica};
use forebay_switch::{Config, Frames, MemorySwitch, SendError};
use proptest::prelude::*;
use std::sync::Arc;

fn switch() -> MemorySwitch {
    switch_with(Engine::Interpreter)
}

fn switch_with(engine: Engine) -> MemorySwitch {
    let program = forebay_ir::text::read(include_str!("operations.ir")).expect("a program");
    let options = Options {
        engine,
        resubmit_limit: 3,
        recirculate_limit: 5,
        ..Options::default()
    };
    let pipeline = Arc::new(Pipeline::load_with(program, options).expect("a pipeline"));
    let replicas = [1, 2, 3].map(|egress_port| Replica {
        egress_port,
        instance: 0,
    });
    pipeline.set_multicast_group(1, &replicas).expect("a group");
    let session = CloneSession::to_port(2);
    pipeline.set_clone_session(1, session).expect("a session");
    MemorySwitch::new(pipeline, Config::default(), 0..4)
}

fn send(switch: &mut MemorySwitch, frames: &[(u32, &[u8])]) -> Result<Frames, SendError> {
    switch.send(frames.iter().copied(), 0, &mut NoTrace)
}

#[test]
fn what_leaves_has_port_and_origin() {
    let mut switch = switch();
    send(&mut switch, &[(0, &[0, 2])]).expect("a frame before");
    let frames: [(u32, &[u8]); 4] = [(0, &[0, 3, 9]), (1, &[1, 0]), (2, &[2, 1]), (0, &[0, 1])];
    let left = send(&mut switch, &frames).expect("frames");
    let all: Vec<_> = (0..left.len())
        .map(|index| (left.origins[index], left.ports[index], left.frame(index).to_vec()))
        .collect();
    assert_eq!(all.len(), 5);
    assert!(all.contains(&(0, 3, vec![0, 3, 9])));
    for port in 1..4 {
        assert!(all.contains(&(2, port, vec![2, 1])), "a copy by port {port}");
    }
    assert!(all.contains(&(3, 1, vec![0, 1])));
    assert_eq!(switch.switch().counters().dropped, 1);
}

#[test]
fn frames_enter_in_their_order_whatever_their_ports_are() {
    let mut switch = switch();
    let frames: Vec<(u32, [u8; 4])> = (0..5_000u32)
        .map(|number| (number * 7 % 4, [0, 1, (number >> 8) as u8, number as u8]))
        .collect();
    let left = switch
        .send(frames.iter().map(|(port, frame)| (*port, &frame[..])), 0, &mut NoTrace)
        .expect("frames");
    assert_eq!(left.origins, (0..5_000).collect::<Vec<i64>>());
    assert_eq!(left.frame(4_999), [0, 1, 0x13, 0x87]);
}

#[test]
fn a_port_that_is_missing_is_said_and_the_next_frames_go_on() {
    let mut switch = switch();
    assert_eq!(
        send(&mut switch, &[(0, &[0, 1]), (9, &[0, 1])]),
        Err(SendError::NoPort(9))
    );
    assert_eq!(send(&mut switch, &[(0, &[0, 1])]).map(|left| left.origins), Ok(vec![0]));
}

#[test]
fn nothing_given_is_nothing_left() {
    let left = send(&mut switch(), &[]).expect("no frames");
    assert!(left.is_empty());
    assert_eq!(left.offsets, [0]);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// Each frame says which one it is. Most leave by one port or are dropped, in ingress or in egress.
    #[test]
    fn origins_are_right_whatever_becomes_of_frames(
        operations in proptest::collection::vec(
            prop_oneof![
                20 => Just([0u8, 1]),
                10 => Just([1u8, 0]),
                10 => Just([8u8, 1]),
                1 => (2..10u8, 0..4u8).prop_map(|(operation, argument)| [operation, argument]),
            ],
            1..200,
        ),
        port in 0..4u32,
    ) {
        let frames: Vec<[u8; 3]> = (0..)
            .zip(&operations)
            .map(|(number, [operation, argument])| [*operation, *argument, number])
            .collect();
        for engine in [Engine::Interpreter, Engine::Jit] {
            let mut switch = switch_with(engine);
            for _ in 0..2 {
                let left = switch
                    .send(frames.iter().map(|frame| (port, &frame[..])), 0, &mut NoTrace)
                    .expect("frames");
                let numbers: Vec<i64> = (0..left.len()).map(|index| i64::from(left.frame(index)[2])).collect();
                prop_assert_eq!(&numbers, &left.origins);
            }
        }
    }
}
