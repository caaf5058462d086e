//! TAP devices, in namespaces of their own.

use std::net::UdpSocket;
use std::time::{Duration, Instant};

use crate::namespace::Namespace;
use crate::network::{bridged, transfer};
use forebay_packet::checksum::Sum;
use forebay_packet::{Burst, DropReason, Port, PortError, PortState};
use forebay_ports::{OpenError, TapPort};

/// An ARP request for 10.8.0.1 from 10.8.0.2 at 02:00:00:00:00:02.
const ARP_REQUEST: &[u8] = b"\xff\xff\xff\xff\xff\xff\x02\0\0\0\0\x02\x08\x06\
    \0\x01\x08\0\x06\x04\0\x01\x02\0\0\0\0\x02\x0a\x08\0\x02\0\0\0\0\0\0\x0a\x08\0\x01";

fn open(namespace: &Namespace) -> TapPort {
    let port = namespace
        .enter(|| TapPort::open("p4tap"))
        .expect("root may make TAP devices");
    namespace.ip("addr add 10.8.0.1/24 dev p4tap");
    port
}

fn receive_one(port: &mut TapPort, wanted: impl Fn(&[u8]) -> bool) -> Vec<u8> {
    let mut burst = Burst::default();
    let started = Instant::now();
    while started.elapsed() < Duration::from_secs(20) {
        port.receive(&mut burst, 32, 7).expect("the device is there");
        if let Some(packet) = burst.iter().find(|packet| wanted(packet.data())) {
            assert_eq!(packet.timestamp_ns, 7);
            return packet.data().to_vec();
        }
        burst.clear();
    }
    panic!("nothing suitable came");
}

#[test]
fn the_kernel_answers_at_the_other_end() {
    let Some(namespace) = Namespace::new() else {
        return;
    };
    let mut port = open(&namespace);
    let mut burst = Burst::default();
    burst.allocate().expect("it is empty").set_data(ARP_REQUEST);
    burst.allocate().expect("there is room").set_data(&ARP_REQUEST[..5]);
    assert_eq!(port.send(&mut burst, 0), Ok(1));
    assert_eq!(port.counters().drops(DropReason::TooShort), 1);
    let reply = receive_one(&mut port, |frame| frame[12..14] == [8, 6] && frame[21] == 2);
    assert_eq!(reply[28..32], [10, 8, 0, 1]);
    assert_eq!(reply[..6], ARP_REQUEST[6..12]);
}

#[test]
fn long_frames_come_whole() {
    let Some(namespace) = Namespace::new() else {
        return;
    };
    let mut port = open(&namespace);
    namespace.ip("link set p4tap mtu 9000");
    namespace.ip("neigh add 10.8.0.2 lladdr 02:00:00:00:00:02 dev p4tap");
    let socket = namespace.enter(|| UdpSocket::bind("10.8.0.1:5000")).expect("can bind");
    let payload: Vec<u8> = (0..8000u32).map(|number| number as u8).collect();
    socket.send_to(&payload, "10.8.0.2:5000").expect("can send");
    let frame = receive_one(&mut port, |frame| frame.len() > 8000);
    assert_eq!(frame[42..], payload);
}

#[test]
fn tcp_of_the_kernel_comes_cut_and_complete() {
    let Some(namespace) = Namespace::new() else {
        return;
    };
    let mut port = open(&namespace);
    namespace.ip("neigh add 10.8.0.2 lladdr 02:00:00:00:00:02 dev p4tap");
    // Nobody answers, so that only the first segment comes: its checksum is left to the device.
    let address = ([10, 8, 0, 2], 80).into();
    let connect = move || std::net::TcpStream::connect_timeout(&address, Duration::from_millis(200)).map(drop);
    namespace.enter(connect).expect_err("nobody answers");
    let is_tcp = |frame: &[u8]| frame[12..14] == [8, 0] && frame[23] == 6;
    let frame = receive_one(&mut port, is_tcp);
    let sum = Sum::new()
        .add_bytes(&frame[26..])
        .add_word(6)
        .add_word(frame.len() as u16 - 34);
    assert_eq!(sum.fold(), 0xffff);
}

#[test]
fn tcp_crosses_a_switch_of_tap_devices() {
    let (Some(left), Some(right)) = (Namespace::new(), Namespace::new()) else {
        return;
    };
    let ports = [(&left, "10.9.0.1/24"), (&right, "10.9.0.2/24")].map(|(host, address)| -> Box<dyn Port> {
        let port = host
            .enter(|| TapPort::open("p4tap"))
            .expect("root may make TAP devices");
        host.ip(&format!("addr add {address} dev p4tap"));
        Box::new(port)
    });
    let ((), counters) = bridged(ports, || transfer(&left, &right));
    for reason in [
        DropReason::Unsegmentable,
        DropReason::Truncated,
        DropReason::SendRefused,
    ] {
        assert_eq!(counters.map(|counters| counters.drops(reason)), [0, 0], "{reason}");
    }
    let [at_left, _] = counters;
    assert!(at_left.received_packets > 4_000_000 / 1500, "super-frames are cut");
}

#[test]
fn queues_of_a_device_bring_every_frame_once() {
    let Some(namespace) = Namespace::new() else {
        return;
    };
    let mut queues = namespace
        .enter(|| TapPort::open_shares("p4tap", 2))
        .expect("root may make TAP devices");
    namespace.ip("addr add 10.8.0.1/24 dev p4tap");
    namespace.ip("neigh add 10.8.0.2 lladdr 02:00:00:00:00:02 dev p4tap");
    let socket = namespace.enter(|| UdpSocket::bind("10.8.0.1:0")).expect("can bind");
    let flows: Vec<u16> = (20_000..20_100).collect();
    for flow in &flows {
        socket.send_to(b"one message", ("10.8.0.2", *flow)).expect("can send");
    }
    let (mut burst, mut received) = (Burst::default(), Vec::new());
    let started = Instant::now();
    while received.len() < flows.len() && started.elapsed() < Duration::from_secs(20) {
        for queue in &mut queues {
            queue.receive(&mut burst, 32, 0).expect("the device is there");
            let udp = burst.iter().filter(|packet| packet.data()[23] == 17);
            received.extend(udp.map(|packet| u16::from_be_bytes([packet.data()[36], packet.data()[37]])));
            burst.clear();
        }
    }
    received.sort_unstable();
    assert_eq!(received, flows);
}

#[test]
fn a_device_in_use_or_of_another_sort_is_refused() {
    let Some(namespace) = Namespace::new() else {
        return;
    };
    let _port = open(&namespace);
    let again = namespace.enter(|| TapPort::open("p4tap").map(drop));
    assert!(matches!(again, Err(OpenError::Busy { .. })), "{again:?}");
    let other = namespace.enter(|| TapPort::open("lo").map(drop));
    assert!(matches!(other, Err(OpenError::NotTap { .. })), "{other:?}");
}

#[test]
fn a_device_with_several_queues_belongs_to_one_process() {
    let Some(namespace) = Namespace::new() else {
        return;
    };
    let open_shares = || namespace.enter(|| TapPort::open_shares("p4tap", 2));
    let first = open_shares().expect("root may make TAP devices");
    let again = open_shares().map(drop);
    assert!(matches!(again, Err(OpenError::Busy { .. })), "{again:?}");
    drop(first);
    drop(open_shares().expect("it is free"));
    namespace.ip("tuntap add p4tap mode tap multi_queue");
    assert_eq!(open_shares().expect("it stays, and is free").len(), 2);
}

/// Polls the port, which sends nothing, until it is in this state.
fn receive_until(port: &mut TapPort, state: PortState) {
    let (mut burst, started) = (Burst::default(), Instant::now());
    while port.state() != state {
        assert!(started.elapsed() < Duration::from_secs(20), "{:?}", port.state());
        let now_ns = started.elapsed().as_nanos() as u64;
        port.receive(&mut burst, 32, now_ns).expect("the device is there");
        burst.clear();
    }
}

#[test]
fn down_and_gone_are_told_apart() {
    let Some(namespace) = Namespace::new() else {
        return;
    };
    let mut port = open(&namespace);
    let mut burst = Burst::default();
    namespace.ip("link set p4tap down");
    burst.allocate().expect("it is empty").set_data(ARP_REQUEST);
    assert_eq!(port.send(&mut burst, 0), Ok(0));
    assert_eq!(
        (port.state(), port.counters().drops(DropReason::LinkDown)),
        (PortState::Down, 1)
    );
    assert_eq!(
        port.why_down().as_deref(),
        Some("the interface is not up: ip link set p4tap up")
    );
    namespace.ip("link set p4tap up");
    receive_until(&mut port, PortState::Up);
    namespace.ip("link set p4tap down");
    receive_until(&mut port, PortState::Down);
    burst.clear();
    namespace.ip("link del p4tap");
    let gone = port.receive(&mut burst, 32, 0).expect_err("it was deleted");
    assert!(matches!(gone, PortError::Gone { .. }), "{gone}");
    assert_eq!(port.state(), PortState::Gone);
}
