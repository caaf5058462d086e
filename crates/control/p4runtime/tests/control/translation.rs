//! Translated types (§18.1): strings and their numbers, wider numbers, ports; with the program `translation.p4`.

use super::support::{PRIMARY, Switch, config_of};
use forebay_p4runtime::{Code, Output};
use forebay_protocol::p4::config::v1::meter_spec::Type as MeterType;
use forebay_protocol::p4::v1::set_forwarding_pipeline_config_request::Action;
use forebay_protocol::p4::v1::stream_message_request::Update as Request;
use forebay_protocol::p4::v1::stream_message_response::Update as Response;
use forebay_protocol::p4::v1::update::Type;
use forebay_protocol::p4::v1::write_request::Atomicity;
use forebay_protocol::p4::v1::{PacketMetadata, PacketOut};

const PROGRAM: &str = include_str!("translation.p4");

const SEND: &str = r#"action { action { action_id: $send params { param_id: 1 value: "3" } } }"#;

fn entry(table: &str, name: &str) -> String {
    format!("table_entry {{ table_id: ${table} match {{ field_id: 1 exact {{ value: \"{name}\" }} }} {SEND} }}")
}

/// 4 bits number 16 strings; these names are many more.
#[test]
fn what_is_not_done_gives_no_numbers() {
    let mut switch = Switch::with(PROGRAM);
    for number in 0..40 {
        let name = format!("reader {number}");
        switch.expect(&entry("by_group", &name), &[]);
        switch.refuse_delete(&entry("by_group", &name), (Code::NotFound, "no entry names `reader"));
        let without_action = entry("by_group", &name).replace(SEND, "");
        switch.refuse_insert(&without_action, (Code::InvalidArgument, "has no action"));
        let undone = vec![
            switch.update(Type::Insert, &entry("by_group", &name)),
            switch.update(Type::Insert, &without_action),
        ];
        switch.batch(Atomicity::RollbackOnError, undone).unwrap_err();
    }
    for number in 0..16 {
        switch.insert(&entry("by_group", &format!("writer {number}")));
    }
    switch.refuse_insert(
        &entry("by_group", "one more"),
        (Code::ResourceExhausted, "more strings than 4 bits"),
    );
}

#[test]
fn numbers_of_names_that_nothing_uses_are_given_again() {
    let mut switch = Switch::with(PROGRAM);
    switch.insert(&entry("by_group", "stays"));
    for number in 0..100 {
        let name = format!("comes and goes {number}");
        switch.insert(&entry("by_group", &name));
        switch.delete(&entry("by_group", &name));
    }
    switch.expect("table_entry { table_id: $by_group }", &[&entry("by_group", "stays")]);
}

#[test]
fn each_type_has_strings_of_its_own() {
    let mut switch = Switch::with(PROGRAM);
    for number in 0..60 {
        switch.insert(&entry("nexthops", &format!("nexthop {number}")));
    }
    for number in 40..50 {
        switch.insert(&entry("by_group", &format!("nexthop {number}")));
    }
    let expected: Vec<String> = (40..50)
        .map(|number| entry("by_group", &format!("nexthop {number}")))
        .collect();
    let expected: Vec<&str> = expected.iter().map(String::as_str).collect();
    switch.expect("table_entry { table_id: $by_group }", &expected);
    let long = "x".repeat(2000);
    switch.refuse_insert(
        &entry("by_group", &long),
        (Code::InvalidArgument, "a string of 2000 bytes"),
    );
}

#[test]
fn the_program_maps_strings() {
    let mut switch = Switch::with(PROGRAM);
    let vrf = |name: &str| {
        let action =
            format!("action {{ action {{ action_id: $set_vrf params {{ param_id: 1 value: \"{name}\" }} }} }}");
        entry("nexthops", "n").replace(SEND, &action)
    };
    switch.insert(&vrf(""));
    for name in ["management", "red", "1023"] {
        switch.modify(&vrf(name));
        switch.expect("table_entry { table_id: $nexthops }", &[&vrf(name)]);
    }
    let wanted = "register_entry { register_id: $vrf_register index { index: 1 } }";
    let held = |name: &str| {
        format!("register_entry {{ register_id: $vrf_register index {{ index: 1 }} data {{ bitstring: \"{name}\" }} }}")
    };
    switch.expect(wanted, &[&held("")]);
    switch.modify(&held("management"));
    switch.expect(wanted, &[&held("management")]);
    switch
        .push(Action::ReconcileAndCommit, Some(config_of(PROGRAM)))
        .unwrap();
    switch.expect(wanted, &[&held("management")]);
    switch.expect("table_entry { table_id: $nexthops }", &[&vrf("1023")]);
}

#[test]
fn strings_of_ports_are_their_numbers() {
    let mut switch = Switch::with(PROGRAM);
    switch.device.port_changed(1, true);
    switch.device.port_changed(2, true);
    let out = PacketOut {
        payload: vec![7],
        metadata: [(1, &b"2"[..]), (2, b"\x00")]
            .map(|(metadata_id, value)| PacketMetadata {
                metadata_id,
                value: value.to_vec(),
            })
            .to_vec(),
    };
    switch.send(PRIMARY, Request::Packet(out)).unwrap();
    let outputs = switch.device.take_outputs();
    assert!(
        matches!(&outputs[..], [Output::PacketOut(packet)] if packet == &[1, 0, 7]),
        "{outputs:?}"
    );
    switch.device.packet_in(&[1, 0x80, 9]);
    let sent = switch.sent();
    assert!(
        matches!(&sent[..], [(_, Response::Packet(packet))] if packet.metadata[0].value == b"3"),
        "{sent:?}"
    );

    let group = |port: &str| {
        format!(
            "packet_replication_engine_entry {{ multicast_group_entry {{ multicast_group_id: 7
             replicas {{ port: \"{port}\" instance: 1 }} }} }}"
        )
    };
    switch.insert(&group("2"));
    switch.expect(
        "packet_replication_engine_entry { multicast_group_entry {} }",
        &[&group("2")],
    );
    assert_eq!(switch.copies(7), [(2, 1)]);
    switch.refuse_modify(&group("Ethernet0"), (Code::InvalidArgument, "names no port"));

    let one_shot = |port: &str| {
        format!(
            "table_entry {{ table_id: $selected match {{ field_id: 1 exact {{ value: \"\\x05\" }} }}
             action {{ action_profile_action_set {{ action_profile_actions {{ action {{ action_id: $send
             params {{ param_id: 1 value: \"1\" }} }} weight: 1 watch_port: \"{port}\" }} }} }} }}"
        )
    };
    switch.refuse_insert(&one_shot("49"), (Code::InvalidArgument, "the switch has no port 49"));
    switch.insert(&one_shot("1"));
    assert_eq!(switch.live_groups("TIngress.selector"), [1]);
    switch.device.port_changed(1, false);
    assert_eq!(switch.live_groups("TIngress.selector"), [0]);
}

#[test]
fn wider_numbers_in_registers_and_masks() {
    let mut switch = Switch::with(PROGRAM);
    for (name, data) in [
        ("wide_register", r#"bitstring: "\x01\xff""#),
        (
            "states",
            r#"struct { members { bitstring: "\x05" } members { bitstring: "\x01\x02" } }"#,
        ),
    ] {
        let element = format!("register_entry {{ register_id: ${name} index {{ index: 1 }} data {{ {data} }} }}");
        switch.modify(&element);
        let wanted = format!("register_entry {{ register_id: ${name} index {{ index: 1 }} }}");
        switch.expect(&wanted, &[&element]);
        switch
            .push(Action::ReconcileAndCommit, Some(config_of(PROGRAM)))
            .unwrap();
        switch.expect(&wanted, &[&element]);
    }
    let acl = |field: u32, value: &str, mask: &str| {
        format!(
            "table_entry {{ table_id: $acl match {{ field_id: {field} ternary {{ value: \"{value}\" mask: \"{mask}\" }} }}
             priority: 1 {SEND} }}"
        )
    };
    let exact = acl(2, "\\x07", "\\xff\\xff\\xff\\xff");
    switch.insert(&exact);
    let named = acl(1, "red", "\\x0f");
    switch.insert(&acl(1, "red", "\\xff"));
    switch.expect("table_entry { table_id: $acl }", &[&exact, &named]);
    switch.refuse_insert(
        &acl(1, "red", "blue"),
        (Code::InvalidArgument, "strings are matched exactly"),
    );
}

#[test]
fn prefixes_are_those_of_the_controller() {
    let table = "@entry_restriction(\"wide::prefix_length >= 30\") table acl {";
    let source = PROGRAM
        .replace("table acl {", table)
        .replace(": ternary @name(\"wide\")", ": lpm @name(\"wide\")");
    let mut switch = Switch::with(&source);
    let entry = |value: &str, length: u32| {
        format!(
            "table_entry {{ table_id: $acl match {{ field_id: 2 lpm {{ value: \"{value}\" prefix_len: {length} }} }}
             priority: 1 {SEND} }}"
        )
    };
    switch.insert(&entry("\\x04", 30));
    switch.expect("table_entry { table_id: $acl }", &[&entry("\\x04", 30)]);
    for (value, length, message) in [
        ("\\x04", 29, "has bits set after its prefix of 29 bits"),
        ("\\x08", 29, "`wide::prefix_length >= 30` does not hold"),
        ("\\x00", 23, "matches anything with a prefix of 23 bits"),
        ("\\x00", 0, "matches anything with a prefix of 0 bits"),
    ] {
        switch.refuse_insert(&entry(value, length), (Code::InvalidArgument, message));
    }
}

#[test]
fn meters_have_the_type_that_the_program_says() {
    let info = config_of(PROGRAM).p4info.unwrap();
    assert_eq!(info.meters[0].spec.unwrap().r#type(), MeterType::SingleRateTwoColor);
    let mut switch = Switch::with(PROGRAM);
    switch.refuse_modify(
        "meter_entry { meter_id: $limited_meter index { index: 1 } config { cir: 1 cburst: 1 pir: 2 pburst: 2 } }",
        (Code::InvalidArgument, "one rate and two colours"),
    );
}
