//! Many frames of many lengths, both ways at once: every kind of port brings all of them, unchanged and in order.

use std::time::Instant;

use crate::namespace::Namespace;
use crate::network::{Kind, Network, PATIENCE};
use forebay_packet::{Burst, Port};
use forebay_ports::{PacketPort, TapPort};

const FRAMES: u32 = 100_000;

/// Frames on their way at a time, in each direction: fewer than any queue between two ports holds (veth: 256).
const WINDOW: u32 = 64;

/// A frame that is known again: an EtherType for experiments, its number, and bytes that follow from it. Lengths from
/// 60 to 1514 bytes.
fn numbered_frame(number: u32, frame: &mut Vec<u8>) {
    let length = 60 + (number.wrapping_mul(2_654_435_761) >> 7) as usize % 1455;
    frame.clear();
    frame.extend(b"\x02\0\0\0\0\x01\x02\0\0\0\0\x02\x88\xb5");
    frame.extend(number.to_be_bytes());
    frame.extend((frame.len()..length).map(|at| (at as u32 ^ number) as u8));
}

fn send(port: &mut dyn Port, burst: &mut Burst, first: u32) {
    let mut frame = Vec::new();
    for number in first..first + WINDOW {
        numbered_frame(number, &mut frame);
        burst.allocate().expect("the burst is large enough").set_data(&frame);
    }
    assert_eq!(port.send(burst, 0), Ok(WINDOW as usize), "{}", port.counters());
}

/// Takes what comes from `expected` on; returns the number that is expected next.
fn receive(port: &mut dyn Port, burst: &mut Burst, mut expected: u32) -> u32 {
    let mut frame = Vec::new();
    port.receive(burst, WINDOW as usize, 0).expect("the interface is there");
    let ours = |data: &[u8]| data.get(12..14) == Some(&[0x88, 0xb5]);
    for packet in burst.iter().filter(|packet| ours(packet.data())) {
        numbered_frame(expected, &mut frame);
        assert!(packet.data() == frame, "frame {expected} of {}", port.name());
        expected += 1;
    }
    burst.clear();
    expected
}

fn exchange(left: &mut dyn Port, right: &mut dyn Port) {
    let mut burst = Burst::new(WINDOW as usize);
    for first in (0..FRAMES).step_by(WINDOW as usize) {
        send(left, &mut burst, first);
        send(right, &mut burst, first);
        let (mut at_left, mut at_right) = (first, first);
        let started = Instant::now();
        while at_left.min(at_right) < first + WINDOW {
            at_left = receive(left, &mut burst, at_left);
            at_right = receive(right, &mut burst, at_right);
            assert!(
                started.elapsed() < PATIENCE,
                "{at_left} and {at_right} of {FRAMES} came"
            );
        }
    }
    let counters = [left.counters(), right.counters()];
    assert_eq!(counters.map(|counters| counters.total_drops()), [0, 0]);
}

#[test]
fn interfaces_bring_every_frame() {
    for kind in Kind::ALL {
        let Some(network) = Network::new() else {
            return;
        };
        let mut near = network.port(kind, "s0");
        let mut far = network.left.enter(|| kind.open("eth0")).expect("it is there");
        exchange(&mut *near, &mut *far);
    }
}

#[test]
fn kinds_can_be_mixed() {
    let Some(network) = Network::new() else {
        return;
    };
    let mut near = network.port(Kind::Xdp, "s0");
    let mut far = network.left.enter(|| Kind::Packet.open("eth0")).expect("it is there");
    exchange(&mut *near, &mut *far);
}

#[test]
fn tap_devices_bring_every_frame() {
    let Some(namespace) = Namespace::new() else {
        return;
    };
    let mut tap = namespace.enter(|| TapPort::open("p4tap")).expect("root may make it");
    // What the port sends, the kernel receives, and the other way round.
    let mut kernel = namespace
        .enter(|| PacketPort::open("p4tap", false))
        .expect("it is there");
    exchange(&mut tap, &mut kernel);
}
