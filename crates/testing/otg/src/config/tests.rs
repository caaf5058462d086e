use super::sizes::interleaved;
use super::*;
use forebay_packet::checksum::Sum;
use forebay_tester::tag::{TAG_BYTES, Tag};
use forebay_traffic::inspect;
use serde_json::json;

fn with(flow: Value) -> Result<Config, Wrong> {
    Config::read(&json!({
        "ports": [{ "name": "a", "location": "1" }, { "name": "b", "location": "2" }],
        "flows": [flow],
    }))
}

fn flow() -> Value {
    json!({
        "name": "f",
        "tx_rx": { "choice": "port", "port": { "tx_name": "a", "rx_names": ["b"] } },
        "packet": [
            { "choice": "ethernet", "ethernet": {} },
            { "choice": "ipv4", "ipv4": { "dst": { "choice": "increment",
                "increment": { "start": "10.0.2.1", "step": "0.0.0.1", "count": 3 } } } },
            { "choice": "udp", "udp": { "src_port": { "choice": "values", "values": [1, 2] } } },
        ],
    })
}

#[test]
fn fields_take_turns_until_all_begin_again() {
    let config = with(flow()).expect("a configuration");
    let templates = config.flows[0].stream.frames.templates();
    assert_eq!(templates.len(), 6);
    let last_byte: Vec<u8> = templates.iter().map(|frame| frame[33]).collect();
    assert_eq!(last_byte, [1, 2, 3, 1, 2, 3]);
    assert!(templates.iter().all(|frame| frame.len() == 60));
}

/// As snappi's classes have them, so that a capture is what a script's author expects.
#[test]
fn what_a_flow_leaves_out_is_what_the_api_says() {
    let frame = |names: &[&str]| {
        let mut flow = flow();
        flow["packet"] = names.iter().map(|name| json!({ "choice": name })).collect();
        flow["size"] = json!({ "choice": "fixed", "fixed": 128 });
        let config = with(flow).expect("a configuration");
        config.flows[0].stream.frames.templates()[0].clone()
    };
    let udp = frame(&["ethernet", "vlan", "ipv4", "udp"]);
    assert_eq!(udp[..18], [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x81, 0, 0, 0, 8, 0]);
    assert_eq!(
        udp[22..28],
        [0, 0, 0, 0, 64, 17],
        "identification, flags and offset, TTL, protocol"
    );
    assert_eq!(udp[30..42], [0; 12], "addresses and ports");
    let tcp = frame(&["ethernet", "ipv6", "tcp"]);
    assert_eq!((tcp[20], tcp[21]), (6, 64));
    assert_eq!(tcp[22..66], [0; 44], "addresses, ports, sequence and acknowledgment");
    assert_eq!(
        tcp[66..70],
        [0x50, 0, 0, 0],
        "the length of the header; no flags, no window"
    );
    assert_eq!(frame(&["ethernet", "ipv4"])[23], 61);
}

/// A list of source addresses beside pairs of devices: each pair has its own.
#[test]
fn fields_and_pairs_of_devices_take_turns_together() {
    let device = |name: &str, port: &str, number: u8| {
        json!({ "name": name, "ethernets": [{
            "name": format!("{name}.eth"),
            "connection": { "choice": "port_name", "port_name": port },
            "mac": format!("02:00:00:00:00:{number:02x}"),
            "ipv4_addresses": [{ "name": format!("{name}.ip"), "address": format!("192.0.2.{number}"),
                "gateway": "192.0.2.254" }],
        }] })
    };
    let sources = json!({ "choice": "values", "values": ["02:00:00:00:00:0a", "02:00:00:00:00:0b"] });
    let config = Config::read(&json!({
        "ports": [{ "name": "a", "location": "1" }, { "name": "b", "location": "2" }],
        "devices": [device("d1", "a", 1), device("d2", "a", 2), device("d3", "b", 3)],
        "flows": [{
            "name": "f",
            "tx_rx": { "choice": "device", "device": { "tx_names": ["d1", "d2"], "rx_names": ["d3"] } },
            "packet": [
                { "choice": "ethernet", "ethernet": { "src": sources } },
                { "choice": "ipv4", "ipv4": {} },
            ],
        }],
    }));
    let config = config.expect("a configuration");
    let templates = config.flows[0].stream.frames.templates();
    let found: Vec<(u8, u8)> = templates.iter().map(|frame| (frame[11], frame[29])).collect();
    assert_eq!(found, [(0x0a, 1), (0x0b, 2)], "the source MAC and IPv4 addresses");
}

#[test]
fn pairs_of_devices_are_bounded_in_both_modes() {
    let device = |name: &str, port: &str, number: u8| {
        let address = |index: u16| {
            let address = format!("10.{number}.{}.{}", index >> 8, index & 0xff);
            json!({ "name": format!("{name}.{index}"), "address": address, "gateway": "10.0.0.1" })
        };
        let addresses: Vec<Value> = (0..300).map(address).collect();
        json!({ "name": name, "ethernets": [{
            "name": format!("{name}.eth"),
            "connection": { "choice": "port_name", "port_name": port },
            "mac": format!("02:00:00:00:00:{number:02x}"),
            "ipv4_addresses": addresses,
        }] })
    };
    for mode in ["mesh", "one_to_one"] {
        let ends = json!({ "mode": mode, "tx_names": ["d1"], "rx_names": ["d2"] });
        let config = Config::read(&json!({
            "ports": [{ "name": "a", "location": "1" }, { "name": "b", "location": "2" }],
            "devices": [device("d1", "a", 1), device("d2", "b", 2)],
            "flows": [{ "name": "f", "tx_rx": { "choice": "device", "device": ends } }],
        }));
        let said = config.expect_err("300 x 300 pairs").to_string();
        assert_eq!(said, "flows[0].tx_rx.device: at most 65536 pairs are possible");
    }
}

#[test]
fn the_other_direction_of_a_flow_exchanges_its_ends() {
    let device = |name: &str, port: &str, number: u8| {
        json!({ "name": name, "ethernets": [{
            "name": format!("{name}.eth"),
            "connection": { "choice": "port_name", "port_name": port },
            "mac": format!("02:00:00:00:00:{number:02x}"),
            "vlans": [{ "name": format!("{name}.vlan"), "id": number }],
            "ipv4_addresses": [{ "name": format!("{name}.ip"), "address": format!("192.0.2.{number}"),
                "gateway": "192.0.2.254" }],
        }] })
    };
    let udp = json!({
        "src_port": { "choice": "value", "value": 5 },
        "dst_port": { "choice": "values", "values": [6, 7] },
    });
    let ends = json!({ "tx_names": ["d1"], "rx_names": ["d2"], "bidirectional": true });
    let config = Config::read(&json!({
        "ports": [{ "name": "a", "location": "1" }, { "name": "b", "location": "2" }],
        "devices": [device("d1", "a", 1), device("d2", "b", 2)],
        "flows": [{
            "name": "f",
            "tx_rx": { "choice": "device", "device": ends },
            "packet": [
                { "choice": "ethernet", "ethernet": {} },
                { "choice": "ipv4", "ipv4": {} },
                { "choice": "udp", "udp": udp },
            ],
        }],
    }));
    let config = config.expect("a configuration");
    assert_eq!(config.flows_of("f"), [0, 1]);
    let [there, back] = [0, 1].map(|index: usize| &config.flows[index]);
    assert_eq!((there.tx, back.tx), (0, 1));
    assert_eq!([&there.rx[..], &back.rx[..]], [[1usize], [0]]);
    assert_eq!([&there.senders[..], &back.senders[..]], [[0usize], [1]]);
    let frame = |flow: &FlowConfig| flow.stream.frames.templates()[1].clone();
    let (there, back) = (frame(there), frame(back));
    assert_eq!(there[30..42], [192, 0, 2, 1, 192, 0, 2, 2, 0, 5, 0, 7]);
    assert_eq!(back[..16], [2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 0x81, 0, 0, 2]);
    assert_eq!(back[30..42], [192, 0, 2, 2, 192, 0, 2, 1, 0, 7, 0, 5]);
    let rate = json!({ "choice": "pps", "pps": 500 });
    let update = json!({ "flows": { "property_names": ["rate"], "flows": [{ "name": "f", "rate": rate }] } });
    let (_, rates) = config.with_rates(&update).expect("an update");
    assert_eq!(rates.iter().map(|(index, _, _)| *index).collect::<Vec<_>>(), [0, 1]);
}

#[test]
fn what_is_not_supported_is_named() {
    let wrong = |change: &dyn Fn(&mut Value)| {
        let mut flow = flow();
        change(&mut flow);
        with(flow).expect_err("refused").to_string()
    };
    let said = wrong(&|flow| flow["rate"] = json!({ "choice": "pps", "pps": 0 }));
    assert_eq!(
        said,
        "flows[0].rate.pps: a whole number from 1 to 1000000000 is expected"
    );
    let said = wrong(&|flow| flow["packet"][2] = json!({ "choice": "rsvp", "rsvp": {} }));
    assert!(said.starts_with("flows[0].packet[2]: packets are"), "{said}");
    let said = wrong(&|flow| flow["packet"][1]["ipv4"]["options"] = json!([1]));
    assert!(
        said.starts_with("flows[0].packet[1].ipv4.options: is not supported"),
        "{said}"
    );
    let said = wrong(&|flow| flow["tx_rx"]["port"]["rx_names"] = json!(["c"]));
    assert_eq!(said, "flows[0].tx_rx.port.rx_names: there is no port \"c\"");
    let said = wrong(&|flow| flow["size"] = json!({ "choice": "fixed", "fixed": 100_000 }));
    assert!(said.starts_with("flows[0].size.fixed: a whole number"), "{said}");
}

/// Headers may end with any layer, and bytes of one's own may follow.
#[test]
fn frames_without_transport_or_network_headers() {
    let frame = |packet: Value| {
        let mut flow = flow();
        flow["packet"] = packet;
        with(flow).map(|config| config.flows[0].stream.frames.templates()[0].clone())
    };
    let ethernet =
        json!({ "choice": "ethernet", "ethernet": { "ether_type": { "choice": "value", "value": 0x88f7 } } });
    let custom = json!({ "choice": "custom", "custom": { "bytes": "de ad:BEEF" } });
    let built = frame(json!([ethernet, { "choice": "vlan", "vlan": {} }, custom])).expect("a frame");
    assert_eq!(built[12..22], [0x81, 0, 0, 0, 0x88, 0xf7, 0xde, 0xad, 0xbe, 0xef]);
    assert_eq!(built.len(), 60);
    let ip = json!({ "choice": "ipv4", "ipv4": { "protocol": { "choice": "value", "value": 47 } } });
    let built = frame(json!([{ "choice": "ethernet" }, ip, custom])).expect("a frame");
    assert_eq!((built[12..14].to_vec(), built[23]), (vec![8, 0], 47));
    assert_eq!(built[34..38], [0xde, 0xad, 0xbe, 0xef]);
    assert_eq!(built[16..18], [0, 46], "the length of the packet");
    let built = frame(json!([{ "choice": "ethernet" }, { "choice": "ipv6" }])).expect("a frame");
    assert_eq!((built[12..14].to_vec(), built[20]), (vec![0x86, 0xdd], 59));
    let built = frame(json!([{ "choice": "ethernet" }, { "choice": "ipv4" }, { "choice": "udp" }, custom]));
    assert_eq!(built.expect("a frame")[42..46], [0xde, 0xad, 0xbe, 0xef]);

    let refused = |packet: Value| frame(packet).expect_err("refused").to_string();
    let said = refused(json!([{ "choice": "ethernet" }, ip, { "choice": "udp" }]));
    assert!(
        said.starts_with("flows[0].packet[1].ipv4.protocol: is not supported beside udp"),
        "{said}"
    );
    let said = refused(json!([ethernet, { "choice": "ipv4" }]));
    assert!(
        said.starts_with("flows[0].packet[0].ethernet.ether_type: is not supported beside"),
        "{said}"
    );
    let typed = json!({ "choice": "ethernet", "ethernet": { "ether_type": { "choice": "value", "value": 0x800 } } });
    let udp = json!({ "choice": "ipv4", "ipv4": { "protocol": { "choice": "value", "value": 17 } } });
    frame(json!([typed, udp, { "choice": "udp" }])).expect("the numbers that are sent anyway");
    let bare = frame(json!([])).expect("a frame with the header that every frame has");
    assert_eq!(bare[12..14], [0xff, 0xff]);
    let said = refused(json!([{ "choice": "ethernet" }, { "choice": "udp" }]));
    assert!(said.starts_with("flows[0].packet[1]: packets are"), "{said}");
    for bytes in ["", "abc", "zz", "+a+b"] {
        let said = refused(json!([{ "choice": "ethernet" }, { "choice": "custom", "custom": { "bytes": bytes } }]));
        assert!(
            said.contains("packet[1].custom.bytes: 1 to 1024 bytes in hexadecimal"),
            "{said}"
        );
    }
}

#[test]
fn packets_may_be_fragments() {
    let frames = |ip: Value| {
        let mut flow = flow();
        flow["packet"] = json!([{ "choice": "ethernet" }, { "choice": "vlan" }, { "choice": "ipv4", "ipv4": ip }]);
        with(flow).map(|config| config.flows[0].stream.frames.templates().to_vec())
    };
    let value = |value: u32| json!({ "choice": "value", "value": value });
    let made =
        frames(json!({ "more_fragments": value(1), "fragment_offset": { "choice": "values", "values": [0, 185] } }));
    let made = made.expect("frames");
    let flags: Vec<&[u8]> = made.iter().map(|frame| &frame[24..26]).collect();
    assert_eq!(flags, [[0x20, 0], [0x20, 185]]);
    assert!(
        made.iter()
            .all(|frame| Sum::new().add_bytes(&frame[18..38]).fold() == 0xffff)
    );
    let made = frames(json!({ "dont_fragment": value(1) })).expect("frames");
    assert_eq!(made[0][24..26], [0x40, 0]);
    let said = frames(json!({ "dont_fragment": value(2) }))
        .expect_err("a bit")
        .to_string();
    assert!(said.ends_with("dont_fragment.value: at most 1 is possible"), "{said}");
}

/// The seed decides, and values are within their range.
#[test]
fn values_may_be_random() {
    let ports = |random: Value| {
        let mut flow = flow();
        flow["packet"][1] = json!({ "choice": "ipv4" });
        flow["packet"][2] = json!({ "choice": "udp", "udp": { "dst_port": { "choice": "random", "random": random } } });
        let config = with(flow)?;
        let frames = config.flows[0].stream.frames.templates().iter();
        Ok::<Vec<u16>, Wrong>(frames.map(|frame| u16::from_be_bytes([frame[36], frame[37]])).collect())
    };
    let range = |seed: u32| json!({ "min": 1000, "max": 1009, "seed": seed, "count": 500 });
    let found = ports(range(7)).expect("frames");
    assert!(
        found.len() == 500 && (1000..=1009).all(|port| found.contains(&port)),
        "{found:?}"
    );
    assert!(found.iter().all(|port| (1000..=1009).contains(port)), "{found:?}");
    assert_eq!(ports(range(7)), Ok(found.clone()));
    assert_ne!(ports(range(8)), Ok(found));
    assert_eq!(ports(json!({})).map(|found| found.len()), Ok(1));
    let said = ports(json!({ "min": 2, "max": 1 })).expect_err("no range").to_string();
    assert!(said.ends_with("random.min: is more than max"), "{said}");
}

#[test]
fn echo_requests_have_right_checksums_whatever_their_tag() {
    let words = [("ipv4", "icmp", 8), ("ipv6", "icmpv6", 128)];
    for ((ip, icmp, kind), size) in words.into_iter().zip([100, 101]) {
        let mut flow = flow();
        let echo = json!({
            "checksum": { "choice": "generated", "generated": "good" },
            "identifier": { "choice": "value", "value": 7 },
            "sequence_number": { "choice": "increment", "increment": { "start": 1, "step": 1, "count": 2 } },
        });
        flow["packet"] = json!([
            { "choice": "ethernet" },
            { "choice": ip },
            { "choice": icmp, icmp: { "choice": "echo", "echo": echo } },
        ]);
        flow["size"] = json!({ "choice": "fixed", "fixed": size });
        let config = with(flow).expect("a configuration");
        let templates = config.flows[0].stream.frames.templates();
        assert_eq!(templates.len(), 2);
        for (template, sequence) in templates.iter().zip([1, 2]) {
            let mut frame = template.clone();
            let tag = Tag {
                trial: 1,
                stream: 2,
                number: 3,
                intended_ns: 4,
                lateness_ns: 5,
            };
            tag.write(&mut frame);
            let (at, sum) = match ip {
                "ipv4" => (34, Sum::new()),
                _ => (54, Sum::new().add_bytes(&frame[22..54]).add_word(58)),
            };
            let length = frame.len() - at;
            let sum = if at == 54 { sum.add_word(length as u16) } else { sum };
            assert_eq!(sum.add_bytes(&frame[at..]).fold(), 0xffff, "{ip}");
            assert_eq!(frame[at..at + 2], [kind, 0]);
            assert_eq!(frame[at + 4..at + 8], [0, 7, 0, sequence]);
        }
    }
}

#[test]
fn labels_and_tunnels_stand_before_what_they_carry() {
    let frame = |packet: Value| {
        let mut flow = flow();
        flow["packet"] = packet;
        let config = with(flow).expect("a configuration");
        config.flows[0].stream.frames.templates()[0].clone()
    };
    let label = |number: u32| json!({ "choice": "mpls", "mpls": { "label": { "choice": "value", "value": number } } });
    let ethernet = json!({ "choice": "ethernet" });
    let built = frame(json!([ethernet, { "choice": "vlan" }, label(100), label(200), { "choice": "ipv4" }]));
    assert_eq!(
        built[16..26],
        [0x88, 0x47, 0, 6, 0x40, 0x40, 0, 0xc, 0x81, 0x40],
        "the second one is the last"
    );
    assert_eq!(built[26], 0x45);

    let vni = json!({ "choice": "value", "value": 0x12_3456 });
    let built = frame(json!([
        ethernet,
        { "choice": "ipv4" },
        { "choice": "udp" },
        { "choice": "vxlan", "vxlan": { "vni": vni } },
        ethernet,
        { "choice": "ipv6" },
        { "choice": "tcp", "tcp": { "ctl_syn": { "choice": "value", "value": 1 } } },
    ]));
    assert_eq!(built[36..38], [0x12, 0xb5], "the port of VXLAN");
    assert_eq!(built[42..50], [8, 0, 0, 0, 0x12, 0x34, 0x56, 0]);
    assert_eq!(built[117], 2, "SYN alone");
    for (what, frame) in [("outer", &built[..]), ("inner", &built[50..])] {
        inspect(frame).unwrap_or_else(|fault| panic!("{what}: {fault}"));
    }
}

#[test]
fn a_frame_that_is_too_short_is_lengthened_with_a_warning() {
    let mut flow = flow();
    flow["packet"][2] = json!({ "choice": "tcp", "tcp": {} });
    let config = with(flow).expect("a configuration");
    assert_eq!(config.warnings.len(), 1, "{:?}", config.warnings);
    assert!(
        config.flows[0]
            .stream
            .frames
            .templates()
            .iter()
            .all(|frame| frame.len() == 72)
    );
}

#[test]
fn every_frame_has_room_for_headers_that_grow_with_a_flag() {
    let layer = |name: &str| json!({ "choice": name });
    let with_flag = |name: &str, flag: &str| {
        let mut layer = layer(name);
        layer[name][flag] = json!({ "choice": "values", "values": [0, 1] });
        layer
    };
    let gre = vec![with_flag("gre", "checksum_present")];
    let gtp = vec![layer("udp"), with_flag("gtpv1", "s_flag")];
    // Ethernet, IPv4, (UDP,) the tunnel with its flag, and the tester's tag.
    for (tunnel, bytes, is_udp) in [
        (gre, 14 + 20 + 8 + TAG_BYTES, false),
        (gtp, 14 + 20 + 8 + 12 + TAG_BYTES, true),
    ] {
        let mut flow = flow();
        flow["packet"] = Value::Array([vec![layer("ethernet"), layer("ipv4")], tunnel].concat());
        let config = with(flow).expect("a configuration");
        let templates = config.flows[0].stream.frames.templates();
        let lengths: Vec<usize> = templates.iter().map(Vec::len).collect();
        assert_eq!(lengths, [bytes, bytes]);
        // GRE has no ports that could be inspected.
        for frame in templates.iter().filter(|_| is_udp) {
            inspect(frame).unwrap_or_else(|fault| panic!("{fault}"));
        }
    }
}

#[test]
fn settings_of_ports_are_taken_refused_or_passed_over_with_a_warning() {
    let read = |layer: Value| {
        Config::read(&json!({
            "ports": [{ "name": "a", "location": "1" }],
            "layer1": [layer],
        }))
    };
    let refused = |layer: Value| read(layer).expect_err("refused").to_string();
    let config = read(json!({ "name": "l", "port_names": ["a"], "speed": "speed_100_fd_mbps", "mtu": 9000 }));
    assert_eq!(
        config.expect("a configuration").warnings,
        ["layer1[0].mtu: is that of the interface, and is passed over"]
    );
    // What snappi writes of every port.
    let config = read(json!({ "name": "l", "port_names": ["a"], "promiscuous": true, "mtu": 1500 }));
    assert!(config.expect("a configuration").warnings.is_empty());
    assert_eq!(
        refused(json!({ "port_names": ["a"], "speed": "speed_7_gbps" })),
        "layer1[0].speed: a speed like speed_10_gbps is expected"
    );
    let said = refused(json!({ "port_names": ["a"], "sped": "speed_10_gbps" }));
    assert!(said.starts_with("layer1[0].sped: is not supported"), "{said}");
    assert_eq!(
        refused(json!({ "port_names": ["c"] })),
        "layer1[0].port_names: there is no port \"c\""
    );
}

#[test]
fn rates_and_durations() {
    let mut flow = flow();
    flow["rate"] = json!({ "choice": "percentage", "percentage": 10 });
    flow["duration"] = json!({ "choice": "burst", "burst": { "bursts": 3, "packets": 5,
        "inter_burst_gap": { "choice": "microseconds", "microseconds": 10 } } });
    let config = with(flow).expect("a configuration");
    assert_eq!(config.flows[0].stream.rate, Rate::Bits(1e9));
    assert_eq!(config.flows[0].limit, Limit::Frames(15));
}

#[test]
fn a_flow_of_bursts_has_as_many_frames_as_any_other() {
    let bursts = |bursts: u64, packets: u64| {
        let mut flow = flow();
        flow["duration"] = json!({ "burst": { "bursts": bursts, "packets": packets } });
        with(flow).map(|config| config.flows[0].limit)
    };
    assert_eq!(bursts(0, 1 << 24), Ok(Limit::None));
    assert_eq!(bursts(1 << 10, 1 << 10), Ok(Limit::Frames(1 << 20)));
    let wrong = bursts(1 << 32, 1 << 24)
        .expect_err("more than a stream has numbers")
        .to_string();
    assert!(
        wrong.starts_with("flows[0].duration.burst: 4294967296 bursts of 16777216 packets are more than"),
        "{wrong}"
    );
}

/// The API's defaults: 1 Gbps in each unit, and all of the port's speed.
#[test]
fn units_without_a_number_are_1_gbps() {
    for (choice, bits) in [
        ("bps", 1e9),
        ("kbps", 1e9),
        ("mbps", 1e9),
        ("gbps", 1e9),
        ("percentage", 10e9),
    ] {
        let mut flow = flow();
        flow["rate"] = json!({ "choice": choice });
        let config = with(flow).expect("a configuration");
        assert_eq!(config.flows[0].stream.rate, Rate::Bits(bits), "{choice}");
    }
}

/// The API's default is each length from 64 to 1518 bytes.
#[test]
fn sizes_may_be_all_lengths() {
    let mut flow = flow();
    flow["size"] = json!({ "choice": "increment", "increment": {} });
    let config = with(flow).expect("a configuration");
    let templates = config.flows[0].stream.frames.templates();
    let lengths = [0, 1, 1454, 1455].map(|index: usize| templates[index].len());
    assert_eq!((templates.len(), lengths), (2910, [60, 61, 1514, 60]));
}

/// Weights are numbers, not whole ones: 25.2 : 24.8 : 50 is 63 : 62 : 125.
#[test]
fn sizes_are_as_frequent_as_their_weights() {
    let sizes = |weights: &[Value]| {
        let pairs: Vec<Value> = (1..)
            .zip(weights)
            .map(|(place, weight)| json!({ "size": 100 * place, "weight": weight }))
            .collect();
        let mut flow = flow();
        flow["packet"][1] = json!({ "choice": "ipv4" });
        flow["packet"][2] = json!({ "choice": "udp" });
        flow["size"] = json!({ "weight_pairs": { "choice": "custom", "custom": pairs } });
        let frames = with(flow)?.flows[0].stream.frames.clone();
        let count = |place: usize| {
            let bytes = 100 * place - CHECK_SEQUENCE_BYTES;
            frames.templates().iter().filter(|frame| frame.len() == bytes).count()
        };
        Ok::<Vec<usize>, Wrong>((1..=weights.len()).map(count).collect())
    };
    assert_eq!(sizes(&[json!(7), json!(4.0), json!(1)]), Ok(vec![7, 4, 1]));
    assert_eq!(sizes(&[json!(25.2), json!(24.8), json!(50)]), Ok(vec![63, 62, 125]));
    assert_eq!(sizes(&[json!(5000), json!(1000)]), Ok(vec![5, 1]));
    let standard = [58.67, 2.0, 23.66, 15.67].map(|weight| json!(weight));
    assert_eq!(sizes(&standard), Ok(vec![5867, 200, 2366, 1567]));
    assert_eq!(interleaved(&[(60, 4), (590, 2)], 6), [60, 590, 60, 60, 590, 60]);
    let said = sizes(&[json!(1), json!(1e30)]).expect_err("too many").to_string();
    assert!(said.contains("16384 are possible"), "{said}");
    assert!(sizes(&[json!(0)]).is_err() && sizes(&[]).is_err());
}

#[test]
fn mixes_of_the_api_have_its_sizes() {
    let lengths = |mix: &str| {
        let mut flow = flow();
        flow["packet"] = json!([{ "choice": "ethernet" }]);
        flow["size"] = json!({ "choice": "weight_pairs", "weight_pairs": { "predefined": mix } });
        let config = with(flow)?;
        let frames = &config.flows[0].stream.frames;
        let mut lengths: Vec<usize> = frames
            .templates()
            .iter()
            .map(|frame| frame.len() + CHECK_SEQUENCE_BYTES)
            .collect();
        lengths.sort_unstable();
        let count = lengths.len();
        lengths.dedup();
        Ok::<_, Wrong>((count, lengths))
    };
    assert_eq!(lengths("imix"), Ok((12, vec![64, 570, 1518])));
    assert_eq!(lengths("ipsec_imix"), Ok((10_000, vec![90, 92, 594, 1418])));
    assert_eq!(lengths("standard_imix"), Ok((10_000, vec![58, 62, 594, 1518])));
    let said = lengths("tolly").expect_err("an unknown mix").to_string();
    assert!(
        said.ends_with("there are imix, ipsec_imix, ipv6_imix, standard_imix, tcp_imix"),
        "{said}"
    );
}

#[test]
fn delays_are_kept_and_gaps_are_not() {
    let mut flow = flow();
    flow["duration"] = json!({ "choice": "continuous", "continuous": { "gap": 100,
        "delay": { "choice": "microseconds", "microseconds": 5 } } });
    let config = with(flow.clone()).expect("a configuration");
    assert_eq!((config.flows[0].limit, config.flows[0].delay_ns), (Limit::None, 5_000));
    assert!(
        config.warnings[0].starts_with("flows[0].duration.continuous.gap: "),
        "{:?}",
        config.warnings
    );
    flow["duration"] = json!({ "choice": "continuous", "continuous": { "delai": 1 } });
    let said = with(flow).expect_err("an unknown key").to_string();
    assert!(
        said.starts_with("flows[0].duration.continuous.delai: is not supported"),
        "{said}"
    );
}

#[test]
fn a_flow_that_is_to_last_more_than_a_day_has_a_warning() {
    let mut flow = flow();
    flow["duration"] = json!({ "choice": "fixed_seconds", "fixed_seconds": { "seconds": 86_401 } });
    let config = with(flow).expect("a configuration");
    assert_eq!(config.flows[0].limit, Limit::Seconds(86_400.0));
    assert_eq!(
        config.warnings,
        ["flows[0].duration.fixed_seconds.seconds: at most 86400 are possible, after which the flow ends"]
    );
}

/// A value needs no choice, here as in all fields.
#[test]
fn a_destination_of_the_flow_is_not_that_of_the_router() {
    let asks = |address: Value| {
        let packet = json!([{ "choice": "ethernet", "ethernet": { "dst": address } }]);
        Headers::asks_for(&Node::root(&packet), "dst").expect("a packet")
    };
    assert!(asks(Value::Null) && asks(json!({})) && asks(json!({ "choice": "auto" })));
    assert!(!asks(json!({ "choice": "value", "value": "02:00:00:00:00:fe" })));
    assert!(!asks(json!({ "value": "02:00:00:00:00:fe" })));
}

#[test]
fn gaps_in_bytes_are_those_of_the_port() {
    let mut flow = flow();
    flow["duration"] = json!({ "choice": "burst", "burst": { "packets": 10,
        "inter_burst_gap": { "choice": "bytes", "bytes": 12_500_000 } } });
    let config = Config::read(&json!({
        "ports": [{ "name": "a", "location": "1" }, { "name": "b", "location": "2" }],
        "layer1": [{ "name": "l", "port_names": ["a"], "speed": "speed_1_gbps" }],
        "flows": [flow],
        "devices": [],
    }));
    // 10 frames at 1,000 a second, then 0.1 s.
    let expected = Shape::on_off(0.01, 0.1).expect("a shape");
    assert_eq!(config.expect("a configuration").flows[0].stream.shape, expected);
}

/// A burst keeps its number of packets, so at another rate it takes another time.
#[test]
fn updates_of_bursts_change_their_shape() {
    let mut flow = flow();
    flow["duration"] = json!({ "choice": "burst", "burst": { "packets": 10,
        "inter_burst_gap": { "choice": "microseconds", "microseconds": 100_000 } } });
    let config = with(flow).expect("a configuration");
    let rate = json!({ "choice": "pps", "pps": 500 });
    let update = json!({ "flows": { "property_names": ["rate"], "flows": [{ "name": "f", "rate": rate }] } });
    let (_, rates) = config.with_rates(&update).expect("an update");
    let expected = Shape::on_off(0.02, 0.1).expect("a shape");
    assert_eq!(rates, [(0, Rate::Frames(500.0), expected)]);
}

#[test]
fn options_say_whether_devices_are_started() {
    let read = |options: Value| Config::read(&json!({ "options": options }));
    assert!(Config::read(&json!({})).expect("a configuration").starts_devices);
    let config = read(json!({ "port_options": { "location_preemption": true } })).expect("a configuration");
    assert!(config.starts_devices);
    assert_eq!(
        config.warnings,
        ["options.port_options: is not supported, and is passed over"]
    );
    let config = read(json!({ "protocol_options": { "auto_start_all": false } })).expect("a configuration");
    assert!(!config.starts_devices && config.warnings.is_empty());
    let said = read(json!({ "protocol_options": { "auto": false } }))
        .expect_err("refused")
        .to_string();
    assert!(
        said.starts_with("options.protocol_options.auto: is not supported"),
        "{said}"
    );
}

#[test]
fn updates_change_rates_alone() {
    let config = with(flow()).expect("a configuration");
    let update = |properties: &[&str], name: &str| {
        let rate = json!({ "choice": "pps", "pps": 7 });
        config.with_rates(
            &json!({ "flows": { "property_names": properties, "flows": [{ "name": name, "rate": rate }] } }),
        )
    };
    let (changed, rates) = update(&["rate"], "f").expect("an update");
    assert_eq!(rates, [(0, Rate::Frames(7.0), Shape::flat())]);
    assert_eq!(changed.json["flows"][0]["rate"]["pps"], 7);
    let without = json!({ "flows": { "property_names": ["rate"], "flows": [{ "name": "f" }] } });
    let (same, rates) = config.with_rates(&without).expect("an update");
    assert_eq!((same.json, rates), (config.json.clone(), Vec::new()));
    let said = update(&["size"], "f").expect_err("no rate").to_string();
    assert!(
        said.starts_with("flows.property_names[0]: \"size\" cannot be changed"),
        "{said}"
    );
    let said = update(&["rate"], "g").expect_err("no flow").to_string();
    assert_eq!(said, "flows.flows[0].name: there is no flow \"g\"");
}
