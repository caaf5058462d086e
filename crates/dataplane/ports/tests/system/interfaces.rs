//! What holds for every way to open an existing interface: on veth pairs, in namespaces of their own.

use std::net::UdpSocket;

use crate::beside::send_with_tag;
use crate::network::{Kind, Network, PATIENCE, frame, receive_until, send, transfer};
use forebay_packet::checksum::{Sum, internet_checksum};
use forebay_packet::{Burst, DropReason, Port, PortError, PortState, Readiness};
use forebay_ports::{OpenError, PacketPort, Poller};

#[test]
fn datagrams_of_ordinary_sockets_cross_a_switch() {
    for kind in Kind::ALL {
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
        let (received, counters) = network.bridged(kind, || {
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
}

#[test]
fn tcp_with_its_super_frames_crosses_a_switch() {
    for kind in Kind::ALL {
        let Some(network) = Network::new() else {
            return;
        };
        let ((), counters) = network.bridged(kind, || transfer(&network.left, &network.right));
        for reason in [DropReason::TooLong, DropReason::Unsegmentable, DropReason::Truncated] {
            assert_eq!(counters.map(|counters| counters.drops(reason)), [0, 0], "{reason}");
        }
    }
}

#[test]
fn checksums_of_local_senders_are_complete() {
    for kind in Kind::ALL {
        let Some(network) = Network::new() else {
            return;
        };
        let mut port = network.port(kind, "s0");
        network.left.ip("neigh add 10.9.0.2 lladdr 02:00:00:00:00:09 dev eth0");
        let sender = network
            .left
            .enter(|| UdpSocket::bind("10.9.0.1:5000"))
            .expect("can bind");
        sender
            .send_to(b"a message of odd length", "10.9.0.2:6000")
            .expect("can send");
        let is_udp = |frame: &[u8]| frame[12..14] == [8, 0] && frame[23] == 17;
        let frames = receive_until(&mut *port, is_udp);
        let frame = frames.last().expect("one came");
        assert_eq!(internet_checksum(&frame[14..34]), 0);
        assert_ne!(frame[40..42], [0, 0], "UDP checksums are in use");
        let sum = Sum::new()
            .add_bytes(&frame[26..])
            .add_word(17)
            .add_word(frame.len() as u16 - 34);
        assert_eq!(sum.fold(), 0xffff);
    }
}

#[test]
fn vlan_tags_come_through_as_they_were_sent() {
    for kind in Kind::ALL {
        let Some(network) = Network::new() else { return };
        let mut near = network.port(kind, "s0");
        let mut far = network.left.enter(|| kind.open("eth0")).expect("it is there");
        let tagged = |tags: &[u8]| {
            let mut frame = frame(80);
            frame.splice(12..12, tags.iter().copied());
            frame
        };
        // The kernel removes the outer tag of each of these frames and passes it beside the data.
        let sent = [
            tagged(b"\x81\0\x60\x4d"),
            tagged(b"\x88\xa8\x0f\xff"),
            tagged(b"\x88\xa8\0\x01\x81\0\0\x02"),
            tagged(b"\x81\0\0\0"),
        ];
        assert_eq!(send(&mut *far, &sent), Ok(4));
        let is_ours = |frame: &[u8]| frame[..12] == sent[0][..12];
        let mut count = 0;
        let mut received = receive_until(&mut *near, |frame| {
            count += usize::from(is_ours(frame));
            count == sent.len()
        });
        received.retain(|frame| is_ours(frame));
        assert_eq!(received, sent);
    }
}

#[test]
fn tags_beside_frames_are_put_back() {
    for kind in Kind::ALL {
        let Some(network) = Network::new() else { return };
        let mut near = network.port(kind, "s0");
        for (protocol, control) in [(0x8100, 0x604d), (0x88a8, 0x0fff)] {
            network.left.enter(|| {
                // SAFETY: the name is closed by a zero.
                let index = unsafe { libc::if_nametoindex(c"eth0".as_ptr()) };
                send_with_tag(index as i32, &frame(80), protocol, control).expect("can send");
            });
            let mut tagged = frame(80);
            let tag = [protocol.to_be_bytes(), control.to_be_bytes()].concat();
            tagged.splice(12..12, tag);
            receive_until(&mut *near, |received| received == tagged);
        }
    }
}

#[test]
fn a_port_does_not_hear_itself_and_hears_other_addresses() {
    for kind in Kind::ALL {
        let Some(network) = Network::new() else {
            return;
        };
        let mut near = network.port(kind, "s0");
        let mut far = network.left.enter(|| kind.open("eth0")).expect("it is there");
        let sent: Vec<_> = (60..160).map(frame).collect();
        assert_eq!(send(&mut *near, &sent), Ok(100));
        let mut count = 0;
        let mut received = receive_until(&mut *far, |frame| {
            count += usize::from(frame[12..14] == [0x88, 0xb5]);
            count == 100
        });
        received.retain(|frame| frame[12..14] == [0x88, 0xb5]);
        assert_eq!(received, sent);
        let mut burst = Burst::default();
        near.receive(&mut burst, 32, 0).expect("it is there");
        assert!(burst.iter().all(|packet| packet.data()[12..14] != [0x88, 0xb5]));
    }
}

#[test]
fn frames_of_the_wrong_length_are_named_drops() {
    for kind in Kind::ALL {
        let Some(network) = Network::new() else {
            return;
        };
        let mut port = network.port(kind, "s0");
        let frames = [frame(60), frame(1600), frame(14)[..10].to_vec(), frame(1514)];
        assert_eq!(send(&mut *port, &frames), Ok(2));
        assert_eq!(port.counters().drops(DropReason::TooLong), 1);
        assert_eq!(port.counters().drops(DropReason::TooShort), 1);
    }
}

#[test]
fn jumbo_frames_pass() {
    for kind in Kind::ALL {
        let Some(network) = Network::new() else {
            return;
        };
        network.switch.ip("link set s0 mtu 9000");
        network.left.ip("link set eth0 mtu 9000");
        let mut port = network.port(kind, "s0");
        let mut far = network.left.enter(|| kind.open("eth0")).expect("it is there");
        assert_eq!(send(&mut *port, &[frame(9014)]), Ok(1));
        let received = receive_until(&mut *far, |frame| frame.len() > 1514);
        assert_eq!(received.last(), Some(&frame(9014)));
    }
}

#[test]
fn frames_that_are_dropped_do_not_keep_a_worker() {
    let Some(network) = Network::new() else {
        return;
    };
    network.switch.ip("link set s0 mtu 60000");
    network.left.ip("link set eth0 mtu 60000");
    let mut port = network.port(Kind::Packet, "s0");
    let mut far = network.left.enter(|| Kind::Packet.open("eth0")).expect("it is there");
    // What does not fit in a slot waits in the socket's buffer, which has room for a thousand or two: the rest is cut off.
    let jumbo_frames = vec![frame(60_014); 32];
    for _ in 0..125 {
        send(&mut *far, &jumbo_frames).expect("it is there");
    }
    let (mut burst, mut before) = (Burst::default(), 0);
    for _ in 0..500 {
        port.receive(&mut burst, 32, 0).expect("it is there");
        burst.clear();
        let dropped = port.counters().drops(DropReason::Truncated);
        assert!(dropped - before <= 1024, "{} in one call", dropped - before);
        before = dropped;
    }
    assert!(before > 1024, "{before} in all");
}

/// Asks an idle port so often that it looks at its interface.
fn look(port: &mut dyn Port) -> Result<(), PortError> {
    let mut burst = Burst::default();
    for _ in 0..100 {
        port.receive(&mut burst, 32, 0)?;
        burst.clear();
    }
    Ok(())
}

#[test]
fn a_link_that_goes_down_comes_back() {
    for kind in Kind::ALL {
        let Some(network) = Network::new() else {
            return;
        };
        let mut port = network.port(kind, "s0");
        assert_eq!(port.state(), PortState::Up);
        network.switch.ip("link set s0 down");
        look(&mut *port).expect("down is not gone");
        assert_eq!(port.state(), PortState::Down);
        assert_eq!(
            port.why_down().as_deref(),
            Some("the interface is not up: ip link set s0 up")
        );
        assert_eq!(send(&mut *port, &[frame(60), frame(60)]), Ok(0));
        assert_eq!(port.counters().drops(DropReason::LinkDown), 2);
        network.switch.ip("link set s0 up");
        // The kernel reports a carrier a moment later.
        let started = std::time::Instant::now();
        while port.state() != PortState::Up {
            assert!(started.elapsed() < PATIENCE, "{kind:?} stays {:?}", port.state());
            look(&mut *port).expect("it is there");
        }
        assert_eq!(send(&mut *port, &[frame(60)]), Ok(1));
    }
}

#[test]
fn an_interface_that_vanishes_is_an_error_not_a_crash() {
    for kind in Kind::ALL {
        let Some(network) = Network::new() else {
            return;
        };
        let mut port = network.port(kind, "s0");
        let Readiness::Descriptor(_) = port.readiness() else {
            panic!("it has a descriptor")
        };
        network.switch.ip("link del s0");
        // The kernel wakes a waiting switch for this change, except on AF_XDP sockets.
        if kind != Kind::Xdp {
            let woken = Poller::new().wait([port.readiness()], 0, 10_000_000_000);
            assert!(woken.expect("can wait"));
        }
        let gone = look(&mut *port);
        assert!(matches!(gone, Err(PortError::Gone { .. })), "{gone:?}");
        assert!(matches!(send(&mut *port, &[frame(60)]), Err(PortError::Gone { .. })));
        assert_eq!(port.counters().drops(DropReason::LinkDown), 1);
        assert_eq!((port.state(), port.readiness()), (PortState::Gone, Readiness::Never));
    }
}

#[test]
fn names_that_nearly_fit_are_suggested() {
    for kind in Kind::ALL {
        let Some(network) = Network::new() else {
            return;
        };
        let opened = network.switch.enter(|| kind.open("s2").map(drop));
        let Err(OpenError::NoSuchInterface { similar, .. }) = opened else {
            panic!("{opened:?}")
        };
        assert_eq!(similar, ["s0", "s1", "lo"].map(str::to_owned)[..2].to_vec());
    }
}

#[test]
fn without_the_right_the_error_names_it() {
    for kind in Kind::ALL {
        let Some(network) = Network::new() else {
            return;
        };
        let opened = network.switch.enter(|| {
            // SAFETY: the raw call, unlike the library's function, changes this thread only, which
            // ends soon. Giving up root bails out its capabilities.
            let result = unsafe { libc::syscall(libc::SYS_setresuid, 65534, 65534, 65534) };
            assert_eq!(result, 0);
            kind.open("s0").map(drop)
        });
        let Err(error) = opened else {
            panic!("opened without a right")
        };
        let expected = match kind {
            Kind::Packet | Kind::Shared => {
                "not permitted to open a packet socket on `s0`; run as root, or give the program the \
             right: setcap cap_net_raw+ep PROGRAM"
            }
            Kind::Xdp => {
                "not permitted to use AF_XDP on `s0`; run as root, or give the program the \
             right: setcap cap_net_raw,cap_net_admin,cap_bpf+ep PROGRAM"
            }
        };
        assert_eq!(error.to_string(), expected);
    }
}

#[test]
fn an_interface_may_go_down_and_vanish_under_traffic() {
    for kind in Kind::ALL {
        let Some(network) = Network::new() else {
            return;
        };
        let mut port = network.port(kind, "s0");
        let mut far = network.left.enter(|| kind.open("eth0")).expect("it is there");
        let (frames, mut burst) = (vec![frame(200); 32], Burst::default());
        let mut exchange = |until: &dyn Fn(PortState) -> bool| {
            let started = std::time::Instant::now();
            loop {
                // The far end loses its link and then itself with the near one.
                let _ = send(&mut *far, &frames);
                let sent = send(&mut *port, &frames);
                let received = port.receive(&mut burst, 32, 0);
                burst.clear();
                if until(port.state()) {
                    return sent.and(received);
                }
                assert!(started.elapsed() < PATIENCE, "{kind:?} is {:?}", port.state());
            }
        };
        exchange(&|state| state == PortState::Up).expect("it is up");
        network.switch.ip("link set s0 down");
        exchange(&|state| state == PortState::Down).expect("down is not gone");
        network.switch.ip("link set s0 up");
        exchange(&|state| state == PortState::Up).expect("it is up again");
        network.switch.ip("link del s0");
        let gone = exchange(&|state| state == PortState::Gone);
        assert!(matches!(gone, Err(PortError::Gone { .. })), "{gone:?}");
    }
}

/// A shared interface is another program's too: a sniffer, or one that sends by it.
#[test]
fn a_shared_interface_shows_what_is_sent_and_takes_what_others_send() {
    let Some(network) = Network::new() else {
        return;
    };
    let mut near = network.port(Kind::Shared, "s0");
    let mut other = network.port(Kind::Shared, "s0");
    let mut far = network.left.enter(|| Kind::Packet.open("eth0")).expect("it is there");
    let marked = |mark: u8| {
        let mut frame = frame(100);
        frame[20] = mark;
        frame
    };
    assert_eq!(send(&mut *near, &[marked(1)]), Ok(1));
    receive_until(&mut *far, |frame| frame == marked(1));
    receive_until(&mut *other, |frame| frame == marked(1));
    assert_eq!(send(&mut *other, &[marked(2)]), Ok(1));
    receive_until(&mut *far, |frame| frame == marked(2));
    let seen = receive_until(&mut *near, |frame| frame == marked(2));
    assert!(!seen.contains(&marked(1)), "what it sends does not come back");
}

/// A slow interface shows in the room of a shared port, so that packets wait in the queues of the switch.
/// Bytes of the mappings of sockets in this process.
fn socket_mappings() -> Vec<u64> {
    let maps = std::fs::read_to_string("/proc/self/maps").expect("Linux has it");
    let of_sockets = maps.lines().filter(|line| line.contains("socket:["));
    let bytes = |line: &str| {
        let (start, end) = line.split_whitespace().next()?.split_once('-')?;
        Some(u64::from_str_radix(end, 16).ok()? - u64::from_str_radix(start, 16).ok()?)
    };
    of_sockets.filter_map(bytes).collect()
}

#[test]
fn a_shared_interface_takes_little_memory() {
    let Some(network) = Network::new() else { return };
    let port = network.port(Kind::Shared, "s0");
    // The ring of other packet ports has 16 MiB; other tests have ports meanwhile.
    let mappings = socket_mappings();
    assert!(mappings.contains(&(4 << 20)), "{mappings:?}");
    drop(port);
}

#[test]
fn a_shared_interface_that_is_slow_has_little_room() {
    let Some(network) = Network::new() else {
        return;
    };
    if !network.switch.slow_down("s0", 8_000_000) {
        return;
    }
    let mut near = network.port(Kind::Shared, "s0");
    let mut far = network.left.enter(|| Kind::Packet.open("eth0")).expect("it is there");
    assert_eq!(near.room(), usize::MAX);
    let mut sent = 0;
    while near.room() >= 32 {
        assert!(sent < 1000, "its room stays {}", near.room());
        assert_eq!(send(&mut *near, &vec![frame(1000); 32]), Ok(32));
        sent += 32;
    }
    assert!(sent >= 64, "it has no room after {sent} frames");
    let mut received = 0;
    receive_until(&mut *far, |_| {
        received += 1;
        received == sent
    });
    assert_eq!(received, sent, "none is lost");
    assert!(near.room() >= 32, "the interface has taken all of them");
    assert_eq!(near.room(), usize::MAX);
}

/// A packet socket that is alone in the group with this number.
fn socket_in_group(interface: &std::ffi::CStr, number: u16) -> std::os::fd::OwnedFd {
    use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
    let protocol = (libc::ETH_P_ALL as u16).to_be();
    // SAFETY: no pointers; the descriptor returned is new, and has no other owner.
    let socket = unsafe { OwnedFd::from_raw_fd(libc::socket(libc::AF_PACKET, libc::SOCK_RAW, 0)) };
    // SAFETY: plain old data, for which all zeroes is a valid value.
    let mut address: libc::sockaddr_ll = unsafe { std::mem::zeroed() };
    address.sll_family = libc::AF_PACKET as u16;
    address.sll_protocol = protocol;
    // SAFETY: the name is closed by a zero.
    address.sll_ifindex = unsafe { libc::if_nametoindex(interface.as_ptr()) } as i32;
    let group = i32::from(number);
    // SAFETY: pointers and lengths describe `address` and `group`, which the kernel only reads.
    let results = unsafe {
        [
            libc::bind(
                socket.as_raw_fd(),
                (&raw const address).cast(),
                size_of_val(&address) as libc::socklen_t,
            ),
            libc::setsockopt(
                socket.as_raw_fd(),
                libc::SOL_PACKET,
                libc::PACKET_FANOUT,
                (&raw const group).cast(),
                size_of_val(&group) as libc::socklen_t,
            ),
        ]
    };
    assert_eq!(results, [0, 0], "{}", std::io::Error::last_os_error());
    socket
}

/// Switches in containers with the network of the host have the same process id, 1, so that it tells no groups apart.
#[test]
fn shares_have_a_group_that_no_other_program_uses() {
    let Some(network) = Network::new() else {
        return;
    };
    let opened = network.switch.enter(|| {
        let first = (std::process::id() as u16).wrapping_mul(31);
        let others = (0..64).map(|count| socket_in_group(c"s1", first.wrapping_add(count)));
        let others: Vec<_> = others.collect();
        let opened = PacketPort::open_shares("s0", 2, false).map(|ports| ports.len());
        drop(others);
        opened
    });
    assert_eq!(opened.expect("a group of its own"), 2);
}
