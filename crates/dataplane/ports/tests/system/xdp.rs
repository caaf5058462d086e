//! What is particular to AF_XDP: its program on the interface, and queues.

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};
use std::time::Instant;

use crate::namespace::Namespace;
use crate::network::{Kind, Network, PATIENCE, frame, receive_until, send};
use forebay_ports::{OpenError, OpenOptions, PortSpec, XdpPort, open, open_shares};

/// Whether this holds soon after a port is closed: a process that another test starts has what this one had open, until
/// it runs.
fn is_soon(condition: impl Fn() -> bool) -> bool {
    let since = Instant::now();
    while !condition() {
        if since.elapsed() > PATIENCE {
            return false;
        }
        std::thread::yield_now();
    }
    true
}

fn open_xdp(name: &str) -> Result<XdpPort, OpenError> {
    XdpPort::open(name, None, &OpenOptions::default())
}

/// The output of `ip -details link` for an interface.
fn description(namespace: &Namespace, name: &str) -> String {
    let output = namespace.enter(|| Command::new("ip").args(["-details", "link", "show", name]).output());
    String::from_utf8_lossy(&output.expect("ip runs").stdout).into_owned()
}

#[test]
fn the_program_comes_and_goes_with_the_port() {
    let Some(network) = Network::new() else {
        return;
    };
    let port = network.switch.enter(|| open_xdp("s0")).expect("it is there");
    assert!(port.is_native(), "veth runs programs itself");
    assert!(!port.is_zero_copy());
    let has_program = || description(&network.switch, "s0").contains("prog/xdp");
    assert!(has_program());
    drop(port);
    assert!(is_soon(|| !has_program()), "the program goes with the port");
    for _ in 0..3 {
        network
            .switch
            .enter(|| open_xdp("s0").map(drop))
            .expect("again and again");
    }
}

#[test]
fn frames_for_other_addresses_come_as_long_as_the_port_is_open() {
    let Some(network) = Network::new() else {
        return;
    };
    let port = network.switch.enter(|| open_xdp("s0")).expect("it is there");
    let open = description(&network.switch, "s0");
    assert!(open.contains("promiscuity 1"), "{open}");
    drop(port);
    let is_as_before = || description(&network.switch, "s0").contains("promiscuity 0");
    assert!(is_soon(is_as_before));
}

#[test]
fn the_kernel_runs_the_program_where_the_driver_cannot() {
    let Some(namespace) = Namespace::new() else {
        return;
    };
    let mut port = namespace.enter(|| open_xdp("lo")).expect("every driver can");
    assert!(!port.is_native());
    let socket = namespace
        .enter(|| std::net::UdpSocket::bind("127.0.0.1:0"))
        .expect("can bind");
    socket.send_to(b"message", "127.0.0.1:9").expect("can send");
    receive_until(&mut port, |frame| frame.ends_with(b"message"));
}

#[test]
fn an_interface_is_opened_once() {
    let Some(network) = Network::new() else {
        return;
    };
    let _port = network.switch.enter(|| open_xdp("s0")).expect("it is there");
    let again = network.switch.enter(|| open_xdp("s0").map(drop));
    let error = again.expect_err("it is in use");
    assert!(matches!(error, OpenError::Busy { .. }), "{error}");
}

/// Run by the next test as a process of its own.
#[test]
#[ignore = "is a part of another test"]
fn holds_an_interface_until_killed() {
    let _port = open_xdp("s0").expect("it is there");
    println!("opened");
    loop {
        std::thread::park();
    }
}

#[test]
fn what_a_killed_process_leaves_is_no_obstacle() {
    let Some(network) = Network::new() else {
        return;
    };
    let this = std::env::current_exe().expect("this program has a name");
    let arguments = [
        "--exact",
        "xdp::holds_an_interface_until_killed",
        "--ignored",
        "--nocapture",
    ];
    let mut holder = network
        .switch
        .enter(|| Command::new(this).args(arguments).stdout(Stdio::piped()).spawn())
        .expect("it can be started");
    let lines = BufReader::new(holder.stdout.take().expect("it is piped")).lines();
    let mut opened = lines.map_while(Result::ok).filter(|line| line.contains("opened"));
    opened.next().expect("it opens the interface");
    assert!(description(&network.switch, "s0").contains("xdp"));
    holder.kill().expect("it runs");
    holder.wait().expect("it was started");
    assert!(!description(&network.switch, "s0").contains("xdp"));
    let mut port = network.port(Kind::Xdp, "s0");
    let mut far = network.left.enter(|| Kind::Packet.open("eth0")).expect("it is there");
    assert_eq!(send(&mut *far, &[frame(100)]), Ok(1));
    receive_until(&mut *port, |received| received == frame(100));
}

#[test]
fn a_name_alone_is_opened_the_fastest_way() {
    let Some(network) = Network::new() else {
        return;
    };
    let means_of = |text: &str| {
        let spec = PortSpec::parse(text).expect("a correct text");
        network
            .switch
            .enter(|| open(&spec, &OpenOptions::default()))
            .expect("it is there")
            .means
            .now()
    };
    let means = means_of("0@s0");
    assert_eq!(means.kind, "xdp", "{means}");
    assert!(means.reason.expect("there is one").contains("veth"));
    assert_eq!(means_of("0@packet:s0").kind, "packet");
    network.switch.ip("addr add 10.7.0.1/24 dev s0");
    let means = means_of("0@s0");
    assert_eq!(means.kind, "packet", "{means}");
    assert!(means.reason.expect("there is one").contains("address"));
    let means = means_of("0@lo");
    assert_eq!(means.kind, "packet", "{means}");
    if std::path::Path::new("/dev/net/tun").exists() {
        network.switch.ip("tuntap add t0 mode tap");
        network.switch.ip("link set t0 up");
        let means = means_of("0@t0");
        assert_eq!(means.kind, "packet", "{means}");
        assert!(means.reason.expect("there is one").contains("super-frames"));
    }
}

/// A switch and a host with a veth pair of two queues each way.
fn two_queues() -> Option<(Namespace, Namespace)> {
    let (switch, host) = (Namespace::new()?, Namespace::new()?);
    switch.veth_with("s0", &host, "eth0", "numtxqueues 2 numrxqueues 2");
    Some((switch, host))
}

#[test]
fn queues_that_are_not_there_are_refused() {
    let Some((switch, _host)) = two_queues() else {
        return;
    };
    let opened = switch.enter(|| XdpPort::open("s0", Some(2), &OpenOptions::default()).map(drop));
    let error = opened.expect_err("there are two");
    assert_eq!(
        error.to_string(),
        "`s0` has no queue 2: it receives by 2, numbered from 0"
    );
    let opened = switch.enter(|| XdpPort::open_shares("s0", 3, &OpenOptions::default()).map(drop));
    assert!(matches!(
        opened,
        Err(OpenError::TooFewQueues {
            wanted: 3,
            queues: 2,
            ..
        })
    ));
    let one = switch
        .enter(|| XdpPort::open("s0", Some(1), &OpenOptions::default()))
        .expect("there is one");
    assert_eq!(one.queues(), 1);
    drop(one);
    let all = switch.enter(|| open_xdp("s0")).expect("there are two");
    assert_eq!(all.queues(), 2);
}

#[test]
fn shares_of_an_interface_bring_every_frame_once() {
    for kind in ["", "xdp:", "packet:"] {
        let Some((switch, host)) = two_queues() else {
            return;
        };
        host.ip("addr add 10.9.0.1/24 dev eth0");
        host.ip("neigh add 10.9.0.2 lladdr 02:00:00:00:00:09 dev eth0");
        let spec = PortSpec::parse(&format!("0@{kind}s0")).expect("a correct text");
        let mut shares = switch
            .enter(|| open_shares(&spec, 2, &OpenOptions::default()))
            .expect("it is there");
        assert_eq!(shares.len(), 2, "{kind}");
        let flows: Vec<u16> = (20_000..20_200).collect();
        host.enter(|| {
            let socket = std::net::UdpSocket::bind("10.9.0.1:0").expect("can bind");
            for flow in &flows {
                socket.send_to(b"one message", ("10.9.0.2", *flow)).expect("can send");
            }
        });
        let mut received = Vec::new();
        let mut burst = forebay_packet::Burst::new(64);
        let started = std::time::Instant::now();
        while received.len() < flows.len() && started.elapsed() < crate::network::PATIENCE {
            for share in &mut shares {
                share.port.receive(&mut burst, 64, 0).expect("it is there");
                let udp = burst
                    .iter()
                    .filter(|packet| packet.len() > 40 && packet.data()[23] == 17);
                received.extend(udp.map(|packet| u16::from_be_bytes([packet.data()[36], packet.data()[37]])));
                burst.clear();
            }
        }
        received.sort_unstable();
        assert_eq!(received, flows, "{kind}");
    }
}
