//! Frames through a switch in memory (`operations.ir`).

use forebay_pipeline::{NoTrace, Options, Pipeline, Replica};
use forebay_switch::{Config, Frames, MemorySwitch, SendError};
use std::sync::Arc;

fn switch() -> MemorySwitch {
    let program = forebay_ir::text::read(include_str!("operations.ir")).expect("a program");
    let pipeline = Arc::new(Pipeline::load_with(program, Options::default()).expect("a pipeline"));
    let replicas = [1, 2, 3].map(|egress_port| Replica {
        egress_port,
        instance: 0,
    });
    pipeline.set_multicast_group(1, &replicas).expect("a group");
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
