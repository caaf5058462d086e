//! Ports that outlive their interface, and interfaces that another program holds.

use std::time::Instant;

use crate::namespace::Namespace;
use crate::network::{Network, PATIENCE, frame, receive_until, send};
use forebay_packet::{Burst, DropReason, Port, PortState};
use forebay_ports::{Clock, OpenError, OpenOptions, PacketPort, PortSpec, open, open_shares};

fn open_text(text: &str, force: bool) -> Result<Box<dyn Port>, OpenError> {
    let options = OpenOptions {
        force,
        ..OpenOptions::default()
    };
    open(&PortSpec::parse(text).expect("a correct text"), &options).map(|opened| opened.port)
}

/// Asks the port for packets until it is in this state.
fn wait_for(port: &mut dyn Port, state: PortState) {
    let (clock, mut burst, started) = (Clock::start(), Burst::default(), Instant::now());
    while port.state() != state {
        assert!(started.elapsed() < PATIENCE, "{:?}, not {state:?}", port.state());
        port.receive(&mut burst, 32, clock.now_ns())
            .expect("its absence is no error");
        burst.clear();
        std::thread::sleep(std::time::Duration::from_millis(1));
    }
}

#[test]
fn an_interface_that_is_made_again_is_used_again() {
    for text in ["0@packet:s0", "0@xdp:s0", "0@s0"] {
        let Some(network) = Network::new() else { return };
        // The thread that looks for the interface is started in the namespace of the caller.
        network.switch.enter(|| {
            let mut port = open_text(text, false).expect("the interface is there");
            assert_eq!(send(&mut *port, &[frame(60)]), Ok(1));
            for round in 1..=2u64 {
                network.switch.ip("link del s0");
                wait_for(&mut *port, PortState::Gone);
                assert_eq!(send(&mut *port, &[frame(60), frame(60)]), Ok(0));
                assert_eq!(port.counters().drops(DropReason::PortDown), 2 * round, "{text}");
                network.switch.veth("s0", &network.left, "eth0");
                wait_for(&mut *port, PortState::Up);
                let mut far = network
                    .left
                    .enter(|| PacketPort::open("eth0", false))
                    .expect("it is there");
                assert_eq!(send(&mut *port, &[frame(77)]), Ok(1));
                receive_until(&mut far, |received| received == frame(77));
                assert_eq!(send(&mut far, &[frame(88)]), Ok(1));
                receive_until(&mut *port, |received| received == frame(88));
                assert_eq!(port.counters().sent_packets, 1 + round, "{text}: counters go on");
            }
        });
    }
}

#[test]
fn an_interface_with_another_name_is_used_again() {
    for text in ["0@packet:also0", "0@also0"] {
        let Some(network) = Network::new() else { return };
        network.switch.enter(|| {
            let give_name = || network.switch.ip("link property add dev s0 altname also0");
            give_name();
            let mut port = open_text(text, false).expect("the interface is there");
            assert_eq!(port.name(), "also0");
            network.switch.ip("link del s0");
            wait_for(&mut *port, PortState::Gone);
            network.switch.veth("s0", &network.left, "eth0");
            give_name();
            wait_for(&mut *port, PortState::Up);
            assert_eq!(port.name(), "also0");
        });
    }
}

#[test]
fn what_is_said_of_a_port_holds_after_its_interface_has_come_back() {
    let Some(network) = Network::new() else { return };
    network.switch.enter(|| {
        let spec = PortSpec::parse("0@s0").expect("a correct text");
        let mut opened = open(&spec, &OpenOptions::default()).expect("the interface is there");
        assert_eq!(opened.means.now().kind, "xdp");
        network.switch.ip("link del s0");
        wait_for(&mut *opened.port, PortState::Gone);
        // It has an address before it has its name.
        network.switch.veth("new", &network.left, "eth0");
        network.switch.ip("addr add 10.7.0.1/24 dev new");
        network.switch.ip("link set new down");
        network.switch.ip("link set new name s0");
        network.switch.ip("link set s0 up");
        wait_for(&mut *opened.port, PortState::Up);
        let means = opened.means.now();
        assert_eq!(means.kind, "packet", "{means}");
        assert!(means.reason.expect("there is one").contains("address"));
    });
}

#[test]
fn an_interface_that_gets_an_address_is_the_kernels_too() {
    let Some(network) = Network::new() else { return };
    network.switch.enter(|| {
        let spec = PortSpec::parse("0@s0").expect("a correct text");
        let mut opened = open(&spec, &OpenOptions::default()).expect("the interface is there");
        wait_for(&mut *opened.port, PortState::Up);
        assert_eq!(opened.means.now().kind, "xdp");
        network.switch.ip("addr add 10.9.0.3/24 dev s0");
        wait_for(&mut *opened.port, PortState::Gone);
        wait_for(&mut *opened.port, PortState::Up);
        let means = opened.means.now();
        assert_eq!(means.kind, "packet", "{means}");
        assert!(means.reason.expect("there is one").contains("address"));
    });
}

#[test]
fn a_member_of_a_bridge_is_the_bridges_too() {
    let Some(network) = Network::new() else { return };
    network.switch.enter(|| {
        network.switch.ip("link add br0 type bridge");
        let spec = PortSpec::parse("0@s0").expect("a correct text");
        let mut opened = open(&spec, &OpenOptions::default()).expect("the interface is there");
        wait_for(&mut *opened.port, PortState::Up);
        assert_eq!(opened.means.now().kind, "xdp");
        network.switch.ip("link set s0 master br0");
        wait_for(&mut *opened.port, PortState::Gone);
        wait_for(&mut *opened.port, PortState::Up);
        let opened_later = open(&spec, &OpenOptions::default()).expect("the interface is there");
        for means in [opened.means.now(), opened_later.means.now()] {
            assert_eq!(means.kind, "packet", "{means}");
            assert!(means.reason.expect("there is one").contains("it belongs to `br0`"));
        }
    });
}

#[test]
fn an_interface_under_another_one_is_the_others_too() {
    let Some(network) = Network::new() else { return };
    network.switch.enter_with_sysfs(|| {
        let spec = PortSpec::parse("0@s0").expect("a correct text");
        let mut opened = open(&spec, &OpenOptions::default()).expect("the interface is there");
        wait_for(&mut *opened.port, PortState::Up);
        assert_eq!(opened.means.now().kind, "xdp");
        // A VLAN's is the same to it; not every kernel has them.
        network.switch.ip("link add above0 link s0 type macvlan");
        wait_for(&mut *opened.port, PortState::Gone);
        wait_for(&mut *opened.port, PortState::Up);
        let means = opened.means.now();
        assert_eq!(means.kind, "packet", "{means}");
        assert!(means.reason.expect("there is one").contains("`above0` stands on it"));
    });
}

#[test]
fn shares_of_an_interface_are_opened_again_together() {
    let (Some(switch), Some(host)) = (Namespace::new(), Namespace::new()) else {
        return;
    };
    switch.veth_with("s0", &host, "eth0", "numtxqueues 2 numrxqueues 2");
    switch.enter(|| {
        let spec = PortSpec::parse("0@s0").expect("a correct text");
        let opened = open_shares(&spec, 2, &OpenOptions::default()).expect("the interface is there");
        let means = opened[0].means.clone();
        let mut shares: Vec<Box<dyn Port>> = opened.into_iter().map(|opened| opened.port).collect();
        assert_eq!((shares.len(), means.now().kind), (2, "xdp"));
        shares
            .iter_mut()
            .for_each(|share| wait_for(&mut **share, PortState::Up));
        switch.ip("addr add 10.9.0.3/24 dev s0");
        wait_for(&mut *shares[0], PortState::Gone);
        // Once is too seldom to find out by itself.
        let mut burst = Burst::default();
        shares[1].receive(&mut burst, 32, 0).expect("its absence is no error");
        assert_eq!(shares[1].state(), PortState::Gone);
        shares
            .iter_mut()
            .for_each(|share| wait_for(&mut **share, PortState::Up));
        assert_eq!(means.now().kind, "packet");
    });
}

#[test]
fn an_interface_that_was_to_be_af_xdp_stays_so_with_an_address() {
    let Some(network) = Network::new() else { return };
    network.switch.enter(|| {
        let mut port = open_text("0@xdp:s0", false).expect("the interface is there");
        wait_for(&mut *port, PortState::Up);
        network.switch.ip("addr add 10.9.0.3/24 dev s0");
        let mut burst = Burst::default();
        for _ in 0..1000 {
            port.receive(&mut burst, 32, 0).expect("it is there");
            burst.clear();
            assert_eq!(port.state(), PortState::Up);
        }
    });
}

#[test]
fn an_interface_that_cannot_be_opened_again_says_why() {
    let Some(network) = Network::new() else { return };
    if !std::path::Path::new("/dev/net/tun").exists() {
        eprintln!("SKIPPED: this test needs the driver of TUN devices");
        return;
    }
    network.switch.enter(|| {
        let mut port = open_text("0@packet:s0", false).expect("the interface is there");
        network.switch.ip("link del s0");
        wait_for(&mut *port, PortState::Gone);
        assert_eq!(port.why_down(), None);
        network.switch.ip("tuntap add s0 mode tun");
        let started = Instant::now();
        let why = loop {
            assert!(started.elapsed() < PATIENCE, "nothing is said");
            match port.why_down() {
                Some(why) => break why,
                None => std::thread::sleep(std::time::Duration::from_millis(10)),
            }
        };
        assert!(why.contains("`s0` does not carry Ethernet frames"), "{why}");
        network.switch.ip("link del s0");
        network.switch.veth("s0", &network.left, "eth0");
        wait_for(&mut *port, PortState::Up);
    });
}

#[test]
fn a_lost_carrier_is_a_port_that_is_down() {
    for text in ["0@packet:s0", "0@xdp:s0"] {
        let Some(network) = Network::new() else { return };
        network.switch.enter(|| {
            let mut port = open_text(text, false).expect("the interface is there");
            wait_for(&mut *port, PortState::Up);
            network.left.ip("link set eth0 down");
            wait_for(&mut *port, PortState::Down);
            network.left.ip("link set eth0 up");
            wait_for(&mut *port, PortState::Up);
        });
    }
}

#[test]
fn an_interface_that_was_away_while_nobody_looked_is_used_again() {
    for text in ["0@packet:s0", "0@xdp:s0"] {
        let Some(network) = Network::new() else { return };
        network.switch.enter(|| {
            let mut port = open_text(text, false).expect("the interface is there");
            wait_for(&mut *port, PortState::Up);
            network.switch.move_there_and_back("s0", &network.right);
            wait_for(&mut *port, PortState::Gone);
            wait_for(&mut *port, PortState::Up);
            let mut far = network
                .left
                .enter(|| PacketPort::open("eth0", false))
                .expect("it is there");
            assert_eq!(send(&mut *port, &[frame(77)]), Ok(1));
            receive_until(&mut far, |received| received == frame(77));
            assert_eq!(send(&mut far, &[frame(88)]), Ok(1));
            receive_until(&mut *port, |received| received == frame(88));
        });
    }
}

#[test]
fn an_interface_with_a_larger_mtu_than_before_brings_longer_frames() {
    for text in ["0@s0", "0@xdp:s0"] {
        let Some(network) = Network::new() else { return };
        network.switch.enter(|| {
            let mut port = open_text(text, false).expect("the interface is there");
            wait_for(&mut *port, PortState::Up);
            network.left.ip("link set eth0 mtu 9000");
            for mtu in [3000, 9000] {
                network.switch.ip(&format!("link set s0 mtu {mtu}"));
                wait_for(&mut *port, PortState::Gone);
                wait_for(&mut *port, PortState::Up);
                let mut far = network
                    .left
                    .enter(|| PacketPort::open("eth0", false))
                    .expect("it is there");
                assert_eq!(send(&mut far, &[frame(mtu)]), Ok(1));
                receive_until(&mut *port, |received| received == frame(mtu));
                assert_eq!(send(&mut *port, &[frame(mtu)]), Ok(1));
                receive_until(&mut far, |received| received == frame(mtu));
            }
        });
    }
}

/// Sets the queues of an interface; false, with a message, where the program is not installed.
fn set_queues(arguments: &[&str]) -> bool {
    match std::process::Command::new("ethtool").arg("-L").args(arguments).output() {
        Ok(output) => {
            let message = String::from_utf8_lossy(&output.stderr);
            assert!(output.status.success(), "ethtool -L {arguments:?}: {message}");
            true
        }
        Err(_) => {
            eprintln!("SKIPPED: this test needs the ethtool program");
            false
        }
    }
}

#[test]
fn an_interface_with_more_queues_than_before_brings_what_comes_by_them() {
    for text in ["0@s0", "0@xdp:s0"] {
        let (Some(switch), Some(host)) = (Namespace::new(), Namespace::new()) else {
            return;
        };
        switch.veth_with("s0", &host, "eth0", "numtxqueues 2 numrxqueues 2");
        let one_each = ["rx", "1", "tx", "1"];
        if !host.enter(|| set_queues(&[&["eth0"][..], &one_each].concat())) {
            return;
        }
        switch.enter_with_sysfs(|| {
            set_queues(&[&["s0"][..], &one_each].concat());
            let spec = PortSpec::parse(text).expect("a correct text");
            let mut opened = open(&spec, &OpenOptions::default()).expect("the interface is there");
            assert!(opened.means.now().detail.ends_with(", 1 queue"));
            wait_for(&mut *opened.port, PortState::Up);
            set_queues(&["s0", "rx", "2"]);
            wait_for(&mut *opened.port, PortState::Gone);
            wait_for(&mut *opened.port, PortState::Up);
            let means = opened.means.now();
            assert!(means.detail.ends_with(", 2 queues"), "{means}");
        });
    }
}

#[test]
fn an_interface_that_was_renamed_is_named_as_it_is_called_now() {
    let Some(network) = Network::new() else { return };
    network.switch.enter(|| {
        let mut port = open_text("0@packet:s0", false).expect("the interface is there");
        network.switch.ip("link set s0 down");
        network.switch.ip("link set s0 name s9");
        wait_for(&mut *port, PortState::Down);
        let why = port.why_down().expect("it was set down");
        assert_eq!(why, "the interface is not up: ip link set s9 up");
        network.switch.ip("link set s9 up");
        wait_for(&mut *port, PortState::Up);
    });
}

#[test]
fn a_renamed_interface_whose_mtu_is_raised_stays() {
    let Some(network) = Network::new() else { return };
    network.switch.enter(|| {
        let mut port = open_text("0@xdp:s0", false).expect("the interface is there");
        network.switch.ip("link set s0 down");
        network.switch.ip("link set s0 name s9");
        network.switch.ip("link set s9 up");
        network.switch.ip("link set s9 mtu 3000");
        wait_for(&mut *port, PortState::Up);
        let mut burst = Burst::default();
        for _ in 0..1000 {
            port.receive(&mut burst, 32, 0).expect("it is there");
            burst.clear();
            assert_ne!(
                port.state(),
                PortState::Gone,
                "it could not be opened again by its name"
            );
        }
        let mut far = network
            .left
            .enter(|| PacketPort::open("eth0", false))
            .expect("it is there");
        assert_eq!(send(&mut far, &[frame(88)]), Ok(1));
        receive_until(&mut *port, |received| received == frame(88));
    });
}

#[test]
fn an_interface_that_another_switch_holds_is_refused_unless_forced() {
    let Some(network) = Network::new() else { return };
    network.switch.enter(|| {
        let holder = open_text("0@s0", false).expect("the interface is there");
        let Err(error) = open_text("1@s0", false) else {
            panic!("it is held");
        };
        let message = error.to_string();
        assert!(
            message.contains("`s0` is held by an AF_XDP socket of another program"),
            "{message}"
        );
        assert!(message.contains("--force"), "{message}");
        open_text("1@s0", true).expect("a packet socket");
        open_text("1@packet:s0", false).expect("that was asked for");
        drop(holder);
        open_text("1@s0", false).expect("it is free again");
    });
}

/// Keeps of the rights of this thread only CAP_NET_RAW.
fn keep_net_raw_alone() {
    const VERSION_3: u32 = 0x2008_0522;
    const NET_RAW: u32 = 1 << 13;
    let header = [VERSION_3, 0];
    let sets = [NET_RAW, NET_RAW, 0, 0, 0, 0];
    // SAFETY: the structures of capset(2), which changes this thread only; it ends soon.
    let result = unsafe { libc::syscall(libc::SYS_capset, header.as_ptr(), sets.as_ptr()) };
    assert_eq!(result, 0, "{}", std::io::Error::last_os_error());
}

#[test]
fn without_enough_rights_for_xdp_the_error_names_them() {
    let Some(network) = Network::new() else { return };
    let opened = network.switch.enter(|| {
        keep_net_raw_alone();
        open_text("0@xdp:s0", false).map(drop)
    });
    let message = opened.expect_err("two rights are missing").to_string();
    // Which is missed first depends on the limit of locked memory.
    assert!(
        message.contains("setcap cap_net_raw,cap_net_admin,cap_bpf"),
        "{message}"
    );
}
