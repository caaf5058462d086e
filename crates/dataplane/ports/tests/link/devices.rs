//! Ports over DPDK's virtual devices, with ports of our own, the kernel or another device at the other end.
//!
//! `cargo test -p forebay-ports --features dpdk --test link devices`; those over interfaces need root, and run in a
//! network namespace: `unshare -n cargo test … -- --include-ignored devices`.

use crate::frames::{echo, exchange, port, wait_echo, wait_up};
use forebay_ports::{OpenOptions, PortSpec, open, open_shares};
use std::process::Command;

fn path(folder: &tempfile::TempDir, name: &str) -> String {
    folder.path().join(name).display().to_string()
}

fn run(words: &str) {
    let mut words = words.split(' ');
    let done = Command::new(words.next().expect("a command")).args(words).status();
    assert!(done.is_ok_and(|status| status.success()));
}

#[test]
fn net_memif_in_both_roles() {
    for (number, ours, theirs) in [(1, "server", "client"), (2, "client", "server")] {
        let folder = tempfile::tempdir().expect("a folder");
        let path = path(&folder, "memif.sock");
        let open_theirs = || {
            port(&format!(
                "dpdk:net_memif{number},role={theirs},socket={path},socket-abstract=no"
            ))
        };
        let open_ours = || port(&format!("memif:{path},role={ours}"));
        let (mut left, mut right) = (open_ours(), open_theirs());
        wait_up(&mut [&mut *left, &mut *right]);
        exchange(&mut *left, &mut *right, 3200, 1514);
        for port in [&left, &right] {
            assert_eq!(port.counters().total_drops(), 0, "{}", port.counters());
        }
    }
}

#[test]
fn net_virtio_user_with_either_ring() {
    for packed in [0, 1] {
        let folder = tempfile::tempdir().expect("a folder");
        let path = path(&folder, "vhost.sock");
        let mut left = port(&format!("vhost:{path}"));
        // It answers from its first look on; the device waits for that when it is made.
        left.readiness();
        let mut right = port(&format!(
            "dpdk:net_virtio_user{packed},path={path},queue_size=256,packed_vq={packed}"
        ));
        wait_up(&mut [&mut *left, &mut *right]);
        exchange(&mut *left, &mut *right, 3200, 1514);
    }
}

#[test]
fn net_vhost_and_net_virtio_user() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = path(&folder, "net_vhost.sock");
    let mut left = port(&format!("dpdk:net_vhost0,iface={path}"));
    let mut right = port(&format!("dpdk:net_virtio_user7,path={path},queue_size=256"));
    wait_up(&mut [&mut *left, &mut *right]);
    exchange(&mut *left, &mut *right, 3200, 1514);
}

/// A ring alone gives back what it takes.
#[test]
fn net_ring() {
    let mut port = port("dpdk:net_ring0");
    wait_echo(&mut *port);
    echo(&mut *port, 3200, 1514);
}

#[test]
fn workers_share_the_queues_of_a_device() {
    let spec = PortSpec::parse("3@dpdk:net_null0").expect("a port");
    let ports = open_shares(&spec, 2, &OpenOptions::default()).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(ports.iter().map(|port| port.number).collect::<Vec<_>>(), [3, 3]);
}

#[test]
fn frames_that_are_too_long_are_counted() {
    let mut port = port("dpdk:net_ring3");
    let mut burst = forebay_packet::Burst::new(3);
    for length in [1519, 60, 13] {
        burst.allocate().expect("there is room").set_data(&vec![0; length]);
    }
    assert_eq!(port.send(&mut burst, 0), Ok(1));
    let drops: Vec<_> = port.counters().nonzero_drops().collect();
    assert_eq!(
        drops,
        [
            (forebay_packet::DropReason::TooLong, 1),
            (forebay_packet::DropReason::TooShort, 1)
        ]
    );
}

#[test]
fn what_cannot_be_opened_says_so() {
    for (text, part) in [
        ("dpdk:net_nosuch0", "DPDK cannot use `net_nosuch0`"),
        (
            "dpdk:net_memif9,role=neither",
            "DPDK cannot use `net_memif9,role=neither`",
        ),
        ("dpdk:0000:ff:1f.6", "DPDK cannot use `0000:ff:1f.6`"),
    ] {
        let spec = PortSpec::parse(&format!("0@{text}")).expect("a port");
        let Err(error) = open(&spec, &OpenOptions::default()) else {
            panic!("{text} was opened");
        };
        assert!(error.to_string().contains(part), "{error}");
    }
}

#[test]
#[ignore = "makes interfaces: root, in a network namespace"]
fn net_tap_and_a_packet_socket() {
    let mut left = port("dpdk:net_tap0,iface=forebay_tap");
    run("ip link set forebay_tap up");
    let mut right = port("packet:forebay_tap");
    wait_up(&mut [&mut *left, &mut *right]);
    exchange(&mut *left, &mut *right, 3200, 1514);
}

#[test]
#[ignore = "makes interfaces: root, in a network namespace"]
fn net_af_xdp_and_a_packet_socket() {
    run("ip link add forebay_x1 type veth peer name forebay_x2");
    run("ip link set forebay_x1 up");
    run("ip link set forebay_x2 up");
    let mut left = port("dpdk:net_af_xdp0,iface=forebay_x1");
    let mut right = port("packet:forebay_x2");
    wait_up(&mut [&mut *left, &mut *right]);
    exchange(&mut *left, &mut *right, 3200, 1514);
}
