use super::*;
use forebay_traffic::inspect;
use serde_json::{Value, json};

fn read(packet: &Value) -> Result<Headers, Wrong> {
    Headers::read(&Node::root(packet), &Defaults::default())
}

fn frames(packet: &Value, bytes: usize) -> Vec<Vec<u8>> {
    let headers = read(packet).unwrap_or_else(|wrong| panic!("{wrong}"));
    let count = headers.period().expect("a period");
    (0..count).map(|frame| headers.frame(frame, bytes)).collect()
}

fn frame(packet: &Value) -> Vec<u8> {
    frames(packet, 200).remove(0)
}

fn refused(packet: &Value) -> String {
    read(packet).expect_err("refused").to_string()
}

fn value(value: u32) -> Value {
    json!({ "choice": "value", "value": value })
}

fn of(name: &str, fields: Value) -> Value {
    json!({ "choice": name, name: fields })
}

/// A packet of IP that a tunnel carries, as a frame of its own.
fn check_packet(packet: &[u8]) {
    let ether_type = if packet[0] >> 4 == 4 { IPV4 } else { IPV6 };
    let frame = [&[0; 12][..], &ether_type.to_be_bytes(), packet].concat();
    inspect(&frame).unwrap_or_else(|fault| panic!("{fault}"));
}

#[test]
fn tags_of_two_networks_stand_one_after_another() {
    let outer = json!({ "id": value(5), "priority": value(3), "tpid": value(0x88a8) });
    let inner = json!({ "id": value(7), "cfi": value(1) });
    let packet = |ethernet: Value| {
        json!([
            of("ethernet", ethernet),
            of("vlan", outer.clone()),
            of("vlan", inner.clone()),
            of("ipv4", json!({}))
        ])
    };
    let built = frame(&packet(json!({})));
    assert_eq!(
        built[12..22],
        [0x88, 0xa8, 0x60, 5, 0x81, 0, 0x10, 7, 8, 0],
        "each tag has its own EtherType"
    );
    assert_eq!(built[22], 0x45);
    assert_eq!(frame(&packet(json!({ "ether_type": value(0x88a8) }))), built);
    let said = refused(&packet(json!({ "ether_type": value(0x9100) })));
    assert!(
        said.starts_with("[0].ethernet.ether_type: is not supported beside ipv4"),
        "{said}"
    );
    let many = vec![of("vlan", json!({})); 5];
    let said = refused(&Value::from([vec![of("ethernet", json!({}))], many].concat()));
    assert!(said.contains("at most 4 tags"), "{said}");
}

#[test]
fn arp_fits_the_shortest_frame() {
    let address = |text: &str| json!({ "choice": "value", "value": text });
    let fields = json!({
        "operation": value(2),
        "sender_hardware_addr": address("02:00:00:00:00:01"),
        "sender_protocol_addr": { "choice": "increment", "increment": { "start": "10.0.0.1", "count": 2 } },
        "target_hardware_addr": address("02:00:00:00:00:02"),
        "target_protocol_addr": address("10.0.0.9"),
    });
    let packet = json!([of("ethernet", json!({})), of("arp", fields)]);
    assert_eq!(read(&packet).expect("headers").bytes_min(0), 60);
    let built = frames(&packet, 60);
    assert_eq!(built[0][12..22], [8, 6, 0, 1, 8, 0, 6, 4, 0, 2]);
    assert_eq!(
        built[1][22..42],
        [2, 0, 0, 0, 0, 1, 10, 0, 0, 2, 2, 0, 0, 0, 0, 2, 10, 0, 0, 9]
    );
}

#[test]
fn gre_names_what_it_carries() {
    let (ethernet, ipv4) = (of("ethernet", json!({})), of("ipv4", json!({})));
    let gre = of("gre", json!({ "checksum_present": value(1) }));
    let built = frame(&json!([ethernet, ipv4, gre, ipv4, of("udp", json!({}))]));
    assert_eq!((built[23], &built[34..38]), (47, &[0x80, 0, 8, 0][..]));
    assert_eq!(Sum::new().add_bytes(&built[34..]).fold(), 0xffff, "the checksum");
    assert_eq!(built[16..18], [0, 186], "the length of the packet");
    check_packet(&built[42..]);

    let gre = |fields: Value| of("gre", fields);
    let built = frame(&json!([ethernet, ipv4, gre(json!({})), ethernet, ipv4]));
    assert_eq!(built[34..38], [0, 0, 0x65, 0x58], "a frame");
    let built = frame(&json!([
        ethernet,
        ipv4,
        gre(json!({})),
        of("mpls", json!({})),
        of("ipv6", json!({}))
    ]));
    assert_eq!(built[34..43], [0, 0, 0x88, 0x47, 0, 1, 1, 0x40, 0x60], "a label");
    let custom = of("custom", json!({ "bytes": "dead" }));
    let built = frame(&json!([
        ethernet,
        of("ipv6", json!({})),
        gre(json!({ "protocol": value(0x88be) })),
        custom
    ]));
    assert_eq!((built[20], &built[54..60]), (47, &[0, 0, 0x88, 0xbe, 0xde, 0xad][..]));

    let said = refused(&json!([
        ethernet,
        ipv4,
        gre(json!({ "protocol": value(0x86dd) })),
        ipv4
    ]));
    assert!(
        said.starts_with("[2].gre.protocol: is not supported beside what follows"),
        "{said}"
    );
}

#[test]
fn packets_may_be_in_packets() {
    let (ethernet, ipv4, ipv6) = (of("ethernet", json!({})), of("ipv4", json!({})), of("ipv6", json!({})));
    let built = frame(&json!([ethernet, ipv4, ipv6, of("tcp", json!({}))]));
    assert_eq!((built[23], built[34]), (41, 0x60));
    check_packet(&built[34..]);
    let protocol = |number: u32| of("ipv4", json!({ "protocol": value(number) }));
    assert_eq!(frame(&json!([ethernet, protocol(4), ipv4]))[23], 4);
    let said = refused(&json!([ethernet, protocol(17), ipv4]));
    assert!(
        said.starts_with("[1].ipv4.protocol: is not supported beside ipv4"),
        "{said}"
    );
    // As GUE has it, and MPLS.
    let udp = of("udp", json!({ "dst_port": value(6080) }));
    let built = frame(&json!([ethernet, ipv4, udp, ipv4, of("udp", json!({}))]));
    assert_eq!((&built[36..38], built[42]), (&[0x17, 0xc0][..], 0x45));
    check_packet(&built[14..]);
    check_packet(&built[42..]);
    let built = frame(&json!([ethernet, ipv4, udp, of("mpls", json!({})), ipv4]));
    assert_eq!(built[42..47], [0, 1, 1, 0x40, 0x45]);

    let nested = |count: usize| Value::from([vec![ethernet.clone()], vec![ipv4.clone(); count]].concat());
    assert_eq!(frame(&nested(4))[74], 0x45);
    let said = refused(&nested(5));
    assert!(said.contains("up to three times"), "{said}");
}

#[test]
fn gtp_has_the_length_of_what_it_carries() {
    let fields = json!({
        "message_type": value(255),
        "teid": { "choice": "values", "values": [1, 0x0102_0304] },
        "s_flag": value(1),
        "squence_number": value(9),
    });
    let packet = |fields: Value| {
        json!([
            of("ethernet", json!({})),
            of("ipv4", json!({})),
            of("udp", json!({})),
            of("gtpv1", fields),
            of("ipv4", json!({})),
            of("udp", json!({})),
        ])
    };
    let built = frames(&packet(fields), 200);
    assert_eq!(built.len(), 2, "an identifier of a tunnel each");
    assert_eq!(built[0][36..38], [0x08, 0x68], "the port of GTP-U");
    assert_eq!(built[1][42..54], [0x32, 255, 0, 150, 1, 2, 3, 4, 0, 9, 0, 0]);
    check_packet(&built[1][14..]);
    check_packet(&built[1][54..]);
    let built = frame(&packet(json!({ "message_length": value(3) })));
    assert_eq!((&built[42..46], built[50]), (&[0x30, 0, 0, 3][..], 0x45));
}

#[test]
fn a_type_of_service_is_a_priority() {
    let tos = json!({ "choice": "tos", "tos": {
        "precedence": { "choice": "values", "values": [5, 6] },
        "delay": value(1),
    } });
    let built = frames(
        &json!([of("ethernet", json!({})), of("ipv4", json!({ "priority": tos }))]),
        60,
    );
    assert_eq!([built[0][15], built[1][15]], [0xb0, 0xd0]);
}
