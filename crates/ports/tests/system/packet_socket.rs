//! Packet sockets on veth pairs, in namespaces of their own.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream, UdpSocket};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use crate::namespace::Namespace;
use forebay_packet::checksum::{Sum, internet_checksum};
use forebay_packet::{Burst, DropReason, Port, PortCounters, PortError, PortState, Readiness};
use forebay_ports::{Clock, OpenError, PacketPort, Poller};

const PATIENCE: Duration = Duration::from_secs(20);

/// A frame of this length to nobody in particular, of an EtherType for experiments.
fn frame(length: usize) -> Vec<u8> {
    let mut frame = vec![0; length];
    frame[..14].copy_from_slice(b"\x02\0\0\0\0\x01\x02\0\0\0\0\x02\x88\xb5");
    frame
}

fn send(port: &mut PacketPort, frames: &[Vec<u8>]) -> Result<usize, PortError> {
    let mut burst = Burst::new(frames.len());
    for frame in frames {
        burst.allocate().expect("the burst is large enough").set_data(frame);
    }
    port.send(&mut burst, 0)
}

/// Receives until `enough` says so.
fn receive_until(port: &mut PacketPort, mut enough: impl FnMut(&[u8]) -> bool) -> Vec<Vec<u8>> {
    let (mut burst, mut frames) = (Burst::default(), Vec::new());
    let started = Instant::now();
    while started.elapsed() < PATIENCE {
        port.receive(&mut burst, 32, 0).expect("the interface is there");
        for packet in burst.iter() {
            frames.push(packet.data().to_vec());
            if enough(packet.data()) {
                return frames;
            }
        }
        burst.clear();
        std::thread::yield_now();
    }
    panic!(
        "nothing suitable came in {PATIENCE:?}; {} frames, {}",
        frames.len(),
        port.counters()
    );
}

/// Two hosts, each on a veth pair to a switch in the middle.
struct Network {
    left: Namespace,
    right: Namespace,
    switch: Namespace,
}

impl Network {
    fn new() -> Option<Network> {
        let network = Network {
            left: Namespace::new()?,
            right: Namespace::new()?,
            switch: Namespace::new()?,
        };
        network.switch.veth("s0", &network.left, "eth0");
        network.switch.veth("s1", &network.right, "eth0");
        network.left.ip("addr add 10.9.0.1/24 dev eth0");
        network.right.ip("addr add 10.9.0.2/24 dev eth0");
        Some(network)
    }

    fn port(&self, name: &str) -> PacketPort {
        self.switch
            .enter(|| PacketPort::open(name))
            .expect("the interface is there")
    }

    /// Carries frames between the two ports while `action` runs; returns the ports' counters.
    fn bridged<T>(&self, action: impl FnOnce() -> T) -> (T, [PortCounters; 2]) {
        let mut ports = [self.port("s0"), self.port("s1")];
        let done = AtomicBool::new(false);
        std::thread::scope(|scope| {
            let bridge = scope.spawn(|| {
                let (clock, mut poller, mut burst) = (Clock::start(), Poller::new(), Burst::new(64));
                while !done.load(Ordering::Relaxed) {
                    let readiness = ports.each_ref().map(|port| port.readiness());
                    poller.wait(readiness, clock.now_ns(), 5_000_000).expect("can wait");
                    for (from, to) in [(0, 1), (1, 0)] {
                        ports[from]
                            .receive(&mut burst, 64, clock.now_ns())
                            .expect("it is there");
                        ports[to].send(&mut burst, clock.now_ns()).expect("it is there");
                    }
                }
                ports.each_ref().map(|port| port.counters())
            });
            let result = std::panic::catch_unwind(std::panic::AssertUnwindSafe(action));
            done.store(true, Ordering::Relaxed);
            let counters = bridge.join().expect("the bridge does not panic");
            match result {
                Ok(result) => (result, counters),
                Err(panic) => {
                    eprintln!("left: {}\nright: {}", counters[0], counters[1]);
                    std::panic::resume_unwind(panic)
                }
            }
        })
    }
}

#[test]
fn datagrams_of_ordinary_sockets_cross_a_switch() {
    let Some(network) = Network::new() else {
        return;
    };
    let sender = network
        .left
        .enter(|| UdpSocket::bind("10.9.0.1:5000"))
        .expect("can bind");
    let receiver = network
        .right
        .enter(|| UdpSocket::bind("10.9.0.2:6000"))
        .expect("can bind");
    receiver.set_read_timeout(Some(PATIENCE)).expect("not zero");
    let (received, counters) = network.bridged(|| {
        let mut received = Vec::new();
        for number in 0..500u16 {
            sender
                .send_to(&number.to_be_bytes(), "10.9.0.2:6000")
                .expect("can send");
            let mut bytes = [0; 100];
            let length = receiver.recv(&mut bytes).expect("the datagram arrives");
            received.push(bytes[..length].to_vec());
        }
        received
    });
    let expected: Vec<_> = (0..500u16).map(|number| number.to_be_bytes().to_vec()).collect();
    assert_eq!(received, expected);
    assert_eq!(counters.map(|counters| counters.total_drops()), [0, 0]);
}

#[test]
fn tcp_with_its_super_frames_crosses_a_switch() {
    let Some(network) = Network::new() else {
        return;
    };
    let listener = network
        .right
        .enter(|| TcpListener::bind("10.9.0.2:80"))
        .expect("can bind");
    let sent: Vec<u8> = (0..4_000_000u32).map(|number| (number ^ (number >> 9)) as u8).collect();
    let (received, counters) = network.bridged(|| {
        std::thread::scope(|scope| {
            let reader = scope.spawn(|| {
                let mut received = Vec::new();
                let (mut stream, _) = listener.accept().expect("the sender connects");
                stream.read_to_end(&mut received).expect("the sender closes");
                received
            });
            let mut stream = network
                .left
                .enter(|| TcpStream::connect("10.9.0.2:80"))
                .expect("can connect");
            stream.write_all(&sent).expect("the receiver reads");
            drop(stream);
            reader.join().expect("the reader does not panic")
        })
    });
    assert!(received == sent, "{} of {} bytes", received.len(), sent.len());
    for reason in [DropReason::TooLong, DropReason::Unsegmentable, DropReason::Truncated] {
        assert_eq!(counters.map(|counters| counters.drops(reason)), [0, 0], "{reason}");
    }
}

#[test]
fn checksums_of_local_senders_are_complete() {
    let Some(network) = Network::new() else {
        return;
    };
    let mut port = network.port("s0");
    network.left.ip("neigh add 10.9.0.2 lladdr 02:00:00:00:00:09 dev eth0");
    let sender = network
        .left
        .enter(|| UdpSocket::bind("10.9.0.1:5000"))
        .expect("can bind");
    sender
        .send_to(b"a message of odd length", "10.9.0.2:6000")
        .expect("can send");
    let is_udp = |frame: &[u8]| frame[12..14] == [8, 0] && frame[23] == 17;
    let frames = receive_until(&mut port, is_udp);
    let frame = frames.last().expect("one came");
    assert_eq!(internet_checksum(&frame[14..34]), 0);
    assert_ne!(frame[40..42], [0, 0], "UDP checksums are in use");
    let sum = Sum::new()
        .add_bytes(&frame[26..])
        .add_word(17)
        .add_word(frame.len() as u16 - 34);
    assert_eq!(sum.fold(), 0xffff);
}

#[test]
fn vlan_tags_come_through_as_they_were_sent() {
    let Some(network) = Network::new() else { return };
    let mut near = network.port("s0");
    let mut far = network.left.enter(|| PacketPort::open("eth0")).expect("it is there");
    let tagged = |tags: &[u8]| {
        let mut frame = frame(80);
        frame.splice(12..12, tags.iter().copied());
        frame
    };
    // The kernel takes the outer tag out of each of these and tells it beside the data.
    let sent = [
        tagged(b"\x81\0\x60\x4d"),
        tagged(b"\x88\xa8\x0f\xff"),
        tagged(b"\x88\xa8\0\x01\x81\0\0\x02"),
        tagged(b"\x81\0\0\0"),
    ];
    assert_eq!(send(&mut far, &sent), Ok(4));
    let is_ours = |frame: &[u8]| frame[..12] == sent[0][..12];
    let mut count = 0;
    let mut received = receive_until(&mut near, |frame| {
        count += usize::from(is_ours(frame));
        count == sent.len()
    });
    received.retain(|frame| is_ours(frame));
    assert_eq!(received, sent);
}

#[test]
fn a_port_does_not_hear_itself_and_hears_other_addresses() {
    let Some(network) = Network::new() else {
        return;
    };
    let mut near = network.port("s0");
    let mut far = network.left.enter(|| PacketPort::open("eth0")).expect("it is there");
    let sent: Vec<_> = (60..160).map(frame).collect();
    assert_eq!(send(&mut near, &sent), Ok(100));
    let mut count = 0;
    let mut received = receive_until(&mut far, |frame| {
        count += usize::from(frame[12..14] == [0x88, 0xb5]);
        count == 100
    });
    received.retain(|frame| frame[12..14] == [0x88, 0xb5]);
    assert_eq!(received, sent);
    let mut burst = Burst::default();
    near.receive(&mut burst, 32, 0).expect("it is there");
    assert!(burst.iter().all(|packet| packet.data()[12..14] != [0x88, 0xb5]));
}

#[test]
fn frames_of_the_wrong_length_are_named_drops() {
    let Some(network) = Network::new() else {
        return;
    };
    let mut port = network.port("s0");
    let frames = [frame(60), frame(1600), frame(14)[..10].to_vec(), frame(1514)];
    assert_eq!(send(&mut port, &frames), Ok(2));
    assert_eq!(port.counters().drops(DropReason::TooLong), 1);
    assert_eq!(port.counters().drops(DropReason::TooShort), 1);
    network.switch.ip("link set s0 mtu 9000");
    network.left.ip("link set eth0 mtu 9000");
    let mut far = network.left.enter(|| PacketPort::open("eth0")).expect("it is there");
    assert_eq!(send(&mut port, &[frame(9014)]), Ok(1));
    let received = receive_until(&mut far, |frame| frame.len() > 1514);
    assert_eq!(received.last(), Some(&frame(9014)), "jumbo frames pass");
}

#[test]
fn a_link_that_goes_down_comes_back() {
    let Some(network) = Network::new() else {
        return;
    };
    let mut port = network.port("s0");
    assert_eq!(port.state(), PortState::Up);
    network.switch.ip("link set s0 down");
    let mut burst = Burst::default();
    port.receive(&mut burst, 32, 0).expect("down is not gone");
    burst.clear();
    assert_eq!(port.receive(&mut burst, 32, 0), Ok(0));
    assert_eq!(port.state(), PortState::Down);
    assert_eq!(send(&mut port, &[frame(60), frame(60)]), Ok(0));
    assert_eq!(port.counters().drops(DropReason::LinkDown), 2);
    network.switch.ip("link set s0 up");
    port.receive(&mut burst, 32, 0).expect("it is there");
    assert_eq!(port.state(), PortState::Up);
    assert_eq!(send(&mut port, &[frame(60)]), Ok(1));
}

#[test]
fn an_interface_that_vanishes_is_an_error_not_a_crash() {
    let Some(network) = Network::new() else {
        return;
    };
    let mut port = network.port("s0");
    let Readiness::Descriptor(_) = port.readiness() else {
        panic!("it has a descriptor")
    };
    network.switch.ip("link del s0");
    // The waiting switch wakes up to learn of it.
    assert!(
        Poller::new()
            .wait([port.readiness()], 0, 10_000_000_000)
            .expect("can wait")
    );
    let mut burst = Burst::default();
    let gone = (0..3).find_map(|_| port.receive(&mut burst, 32, 0).err());
    assert!(matches!(gone, Some(PortError::Gone { .. })), "{gone:?}");
    assert!(matches!(send(&mut port, &[frame(60)]), Err(PortError::Gone { .. })));
    assert_eq!(port.counters().drops(DropReason::LinkDown), 1);
    assert_eq!((port.state(), port.readiness()), (PortState::Gone, Readiness::Never));
}

#[test]
fn names_that_nearly_fit_are_suggested() {
    let Some(network) = Network::new() else {
        return;
    };
    let opened = network.switch.enter(|| PacketPort::open("s2").map(drop));
    let Err(OpenError::NoSuchInterface { similar, .. }) = opened else {
        panic!("{opened:?}")
    };
    assert_eq!(similar, ["s0", "s1", "lo"].map(str::to_owned)[..2].to_vec());
}

#[test]
fn without_the_right_the_error_names_it() {
    let Some(network) = Network::new() else {
        return;
    };
    let opened = network.switch.enter(|| {
        // SAFETY: the raw call, unlike the library's function, changes this thread only, which
        // ends soon. Giving up root gives up its capabilities.
        let result = unsafe { libc::syscall(libc::SYS_setresuid, 65534, 65534, 65534) };
        assert_eq!(result, 0);
        PacketPort::open("s0").map(drop)
    });
    let Err(error) = opened else {
        panic!("opened without a right")
    };
    assert_eq!(
        error.to_string(),
        "not permitted to open a packet socket on `s0`; run as root, or give the program the \
         right: setcap cap_net_raw+ep PROGRAM"
    );
}
