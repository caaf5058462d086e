//! Many interfaces at once.

use crate::namespace::Namespace;
use crate::network::Network;
use forebay_packet::PortState;
use forebay_ports::{Merge, OpenError, OpenOptions, PortSpec, close_all, open_all};

const INTERFACES: usize = 12;

#[test]
fn an_interface_is_not_two_ports_by_two_names() {
    let Some(network) = Network::new() else { return };
    network.switch.ip("link property add dev s0 altname uplink0");
    let specs = PortSpec::parse_all(["1@packet:s0", "2@packet:s1", "3@packet:uplink0"]).expect("correct texts");
    let opened = network
        .switch
        .enter(|| open_all(&specs, 1, &OpenOptions::default(), &Merge::default()));
    let Err((place, error)) = opened else {
        panic!("it is one interface");
    };
    assert_eq!(place, 2);
    assert!(
        error.to_string().starts_with("`uplink0` and `s0` are names of one"),
        "{error}"
    );
}

#[test]
fn many_interfaces_are_opened_and_closed_at_once() {
    let (Some(switch), Some(host)) = (Namespace::new(), Namespace::new()) else {
        return;
    };
    for number in 0..INTERFACES {
        switch.veth(&format!("s{number}"), &host, &format!("h{number}"));
    }
    let specs = |kind: &str| {
        let texts: Vec<String> = (0..INTERFACES)
            .map(|number| format!("{number}@{kind}s{number}"))
            .collect();
        PortSpec::parse_all(texts.iter().map(String::as_str)).expect("correct texts")
    };
    let open = |specs: &[PortSpec]| switch.enter(|| open_all(specs, 1, &OpenOptions::default(), &Merge::default()));
    for kind in ["packet:", "xdp:"] {
        let specs = specs(kind);
        // Again: closed ports keep no interface.
        for _ in 0..2 {
            let opened = open(&specs).map_err(|(_, error)| error).expect("they are there");
            let names: Vec<String> = opened.iter().map(|port| port.port.name().to_owned()).collect();
            let expected: Vec<String> = (0..INTERFACES).map(|number| format!("s{number}")).collect();
            assert_eq!(names, expected);
            assert!(opened.iter().all(|port| port.port.state() != PortState::Gone));
            close_all(opened.into_iter().map(|port| port.port).collect());
        }
        switch.ip("link set s5 down");
        switch.ip("link set s5 name away");
        let Err((place, OpenError::NoSuchInterface { name, .. })) = open(&specs) else {
            panic!("one is missing");
        };
        assert_eq!((place, name.as_str()), (5, "s5"));
        switch.ip("link set away name s5");
        switch.ip("link set s5 up");
    }
}
