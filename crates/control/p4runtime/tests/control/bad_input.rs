//! Each kind of bad input: the code that the specification names, a message with the name that the program has for the
//! thing, and nothing changed (which [`Switch::refuse`] checks by reading everything before and after).

use super::support::{Switch, code, config};
use forebay_p4runtime::{Code, StreamId};
use forebay_protocol::p4::v1::stream_message_request::Update as Request;
use forebay_protocol::p4::v1::update::Type;
use forebay_protocol::p4::v1::{MasterArbitrationUpdate, Role, Uint128, WriteRequest};
use forebay_protocol::stratum::P4RoleConfig;
use prost::Message;

fn entry(rest: &str) -> String {
    format!(r#"table_entry {{ table_id: $forwarding match {{ field_id: 1 exact {{ value: "\x01" }} }} {rest} }}"#)
}

const TO_2: &str = r#"action { action { action_id: $forward params { param_id: 1 value: "\x02" } } }"#;

#[test]
fn ids_that_the_program_does_not_have() {
    let mut switch = Switch::new();
    let named = |table: &str| format!("table_entry {{ table_id: {table} {TO_2} }}");
    // What there is stands in the message.
    switch.refuse_insert(
        &named("0x02001234"),
        (Code::InvalidArgument, "`EntityIngress.forwarding`"),
    );
    switch.refuse_insert(
        &entry("action { action { action_id: 0x01001234 } }"),
        (
            Code::InvalidArgument,
            "table `EntityIngress.forwarding` has no action with id 0x01001234",
        ),
    );
    let unlisted = entry("action { action { action_id: $set_tos } }");
    switch.refuse_insert(
        &unlisted,
        (Code::InvalidArgument, "has no action `EntityIngress.set_tos`"),
    );
    let field =
        format!(r#"table_entry {{ table_id: $forwarding match {{ field_id: 9 exact {{ value: "\x01" }} }} {TO_2} }}"#);
    let known = "table `EntityIngress.forwarding` has no match field 9; it has 1 `hdr.ethernet.dst_addr`";
    switch.refuse_insert(&field, (Code::InvalidArgument, known));
    for (text, known) in [
        (
            "counter_entry { counter_id: 9 data {} }",
            "`EntityIngress.port_counter`",
        ),
        ("meter_entry { meter_id: 9 }", "`EntityIngress.port_meter`"),
        ("register_entry { register_id: 9 }", "`EntityIngress.last_source`"),
        ("value_set_entry { value_set_id: 9 }", "`EntityParser.special_types`"),
    ] {
        switch.refuse_modify(text, (Code::InvalidArgument, known));
    }
    let profile = "action_profile_member { action_profile_id: 9 member_id: 1 }";
    switch.refuse_insert(profile, (Code::InvalidArgument, "`EntityIngress.class_profile`"));
    switch.refuse_insert("digest_entry { digest_id: 9 }", (Code::InvalidArgument, "`learned_t`"));
}

#[test]
fn widths_that_do_not_fit() {
    let mut switch = Switch::new();
    let key = format!(
        r#"table_entry {{ table_id: $forwarding match {{ field_id: 1 exact {{ value: "\x01\x00\x00\x00\x00\x00\x00" }} }} {TO_2} }}"#
    );
    let expected = (
        Code::OutOfRange,
        "table `EntityIngress.forwarding`: `hdr.ethernet.dst_addr`: 0x01000000000000",
    );
    switch.refuse_insert(&key, expected);
    let data = entry(r#"action { action { action_id: $forward params { param_id: 1 value: "\x02\x00" } } }"#);
    switch.refuse_insert(
        &data,
        (
            Code::OutOfRange,
            "action `EntityIngress.forward`: parameter `port`: 0x0200 does not fit in 9 bits",
        ),
    );
    let register =
        r#"register_entry { register_id: $last_source index {} data { bitstring: "\x01\x00\x00\x00\x00" } }"#;
    switch.refuse_modify(register, (Code::OutOfRange, "EntityIngress.last_source"));
    let index = "counter_entry { counter_id: $port_counter index { index: 512 } data {} }";
    switch.refuse_modify(
        index,
        (Code::OutOfRange, "`EntityIngress.port_counter` has 512 elements"),
    );
}

#[test]
fn ports_that_there_are_not() {
    let mut switch = Switch::new();
    let group = r#"packet_replication_engine_entry { multicast_group_entry { multicast_group_id: 3
        replicas { port: "\x02\x00" instance: 1 } } }"#;
    switch.refuse_insert(
        group,
        (Code::InvalidArgument, "multicast group 3: there is no port 512"),
    );
    let session = r#"packet_replication_engine_entry { clone_session_entry { session_id: 4
        replicas { port: "\x01\xff" instance: 1 } } }"#;
    switch.refuse_insert(
        session,
        (Code::InvalidArgument, "clone session 4: there is no port 511"),
    );
}

#[test]
fn priorities_that_are_missing() {
    let mut switch = Switch::new();
    let without = "table_entry { table_id: $filter action { action { action_id: $drop } } }";
    switch.refuse_insert(
        without,
        (
            Code::InvalidArgument,
            "table `EntityIngress.filter`: an entry needs a priority",
        ),
    );
}

#[test]
fn entries_that_are_there_already() {
    let mut switch = Switch::new();
    switch.insert(&entry(TO_2));
    switch.refuse_insert(&entry(TO_2), (Code::AlreadyExists, "`EntityIngress.forwarding`"));
    let other = entry("action { action { action_id: $drop } }");
    switch.refuse_insert(&other, (Code::AlreadyExists, "`EntityIngress.forwarding`"));
}

#[test]
fn tables_that_are_full() {
    let mut switch = Switch::new();
    let numbered = |number: u32| {
        format!("table_entry {{ table_id: $filter priority: {number} action {{ action {{ action_id: $drop }} }} }}")
    };
    (1..=128).for_each(|number| switch.insert(&numbered(number)));
    switch.refuse_insert(
        &numbered(129),
        (
            Code::ResourceExhausted,
            "`EntityIngress.filter` is full: its size is 128",
        ),
    );
}

/// Without a program the message cannot list names, and says what to do instead.
#[test]
fn no_program() {
    let mut switch = Switch::empty();
    switch.arbitrate(super::support::PRIMARY, "", Some(1)).unwrap();
    let updates = vec![switch.update(Type::Insert, &entry(TO_2))];
    let atomicity = forebay_protocol::p4::v1::write_request::Atomicity::ContinueOnError;
    let rejection = switch.batch(atomicity, updates).unwrap_err();
    assert_eq!(rejection.error.code, Code::FailedPrecondition);
    assert!(
        rejection
            .error
            .message
            .contains("push one with SetForwardingPipelineConfig"),
        "{rejection}"
    );
    switch
        .push(
            forebay_protocol::p4::v1::set_forwarding_pipeline_config_request::Action::VerifyAndCommit,
            Some(config()),
        )
        .unwrap();
    switch.expect("table_entry { table_id: $forwarding }", &[]);
}

#[test]
fn roles_that_may_not() {
    let mut switch = Switch::new();
    let config = P4RoleConfig {
        exclusive_p4_ids: vec![switch.ids["filter"]],
        ..P4RoleConfig::default()
    };
    let role = Role {
        name: "filters".to_string(),
        config: Some(prost_types::Any {
            type_url: "type.googleapis.com/stratum.P4RoleConfig".to_string(),
            value: config.encode_to_vec(),
        }),
        ..Role::default()
    };
    let election_id = Some(Uint128 { high: 0, low: 1 });
    let claim = MasterArbitrationUpdate {
        device_id: 1,
        role: Some(role),
        election_id,
        status: None,
    };
    switch.send(StreamId(2), Request::Arbitration(claim)).unwrap();
    let before = switch.everything();
    let request = WriteRequest {
        device_id: 1,
        role: "filters".to_string(),
        election_id,
        updates: vec![switch.update(Type::Insert, &entry(TO_2))],
        ..WriteRequest::default()
    };
    let rejection = switch.device.write(&request, switch.now).unwrap_err();
    let detail = &rejection.details[0];
    assert_eq!(code(detail.canonical_code), Code::PermissionDenied);
    assert_eq!(detail.message, "this role may not write to `EntityIngress.forwarding`");
    assert_eq!(switch.everything(), before);
}
