//! `@hidden` objects are in the program, but not for controllers.

use super::support::{PRIMARY, Switch, config_of, installed};
use forebay_p4runtime::{Code, Device, Now, Output, Settings};
use forebay_protocol::p4::v1::set_forwarding_pipeline_config_request::Action;
use forebay_protocol::p4::v1::stream_message_request::Update as Request;
use forebay_protocol::p4::v1::stream_message_response::Update as Response;
use forebay_protocol::p4::v1::{PacketMetadata, PacketOut};

const PROGRAM: &str = include_str!("hidden.p4");

const ENTRY: &str = r#"table_entry { table_id: $visible match { field_id: 1 exact { value: "\x01" } }
    action { action { action_id: $forward params { param_id: 1 value: "\x07" } } } }"#;

fn metadata(values: &[(u32, &[u8])]) -> Vec<PacketMetadata> {
    let values = values.iter().map(|(metadata_id, value)| PacketMetadata {
        metadata_id: *metadata_id,
        value: value.to_vec(),
    });
    values.collect()
}

#[test]
fn a_program_with_hidden_objects_is_served() {
    let mut switch = Switch::with(PROGRAM);
    switch.insert(ENTRY);
    assert_eq!(
        switch.read("table_entry {}").len(),
        3,
        "one was written, two are the program's"
    );
    assert!(!switch.ids.contains_key("classes") && !switch.ids.contains_key("refuse"));
    let pipeline = switch.pipeline.as_ref().unwrap();
    assert_eq!(pipeline.entries("HiddenIngress.classes").unwrap().len(), 2);
}

#[test]
fn what_the_compiler_has_made_before_keeps_them_hidden() {
    let mut switch = Switch::with(PROGRAM);
    let mut config = config_of(PROGRAM);
    let program = forebay_p4runtime::load(PROGRAM.as_bytes()).unwrap().program;
    config.p4_device_config = forebay_ir::text::write(&program).into_bytes();
    switch.push(Action::VerifyAndCommit, Some(config)).unwrap();
    switch.insert(ENTRY);
}

#[test]
fn entries_with_hidden_actions_are_carried_over() {
    let mut switch = Switch::with(PROGRAM);
    switch.insert(ENTRY);
    let before = switch.everything();
    switch
        .push(Action::ReconcileAndCommit, Some(config_of(PROGRAM)))
        .unwrap();
    assert_eq!(switch.everything(), before);
    let restored = Device::restore(Settings::default(), &switch.device.snapshot(), &[], Now::default()).unwrap();
    let pipeline = restored.pipeline().unwrap();
    let actions = pipeline.entries("HiddenIngress.visible").unwrap();
    let actions = format!("{actions:?}");
    assert_eq!(actions.matches("HiddenIngress.refuse").count(), 1, "{actions}");
}

#[test]
fn a_hidden_action_cannot_be_named() {
    let mut switch = Switch::with(PROGRAM);
    let info = config_of(PROGRAM).p4info.unwrap();
    let visible = info
        .tables
        .iter()
        .find(|table| table.preamble.as_ref().unwrap().alias == "visible");
    let forward = switch.ids["forward"];
    let listed = visible.unwrap().action_refs.iter().map(|listed| listed.id);
    let hidden: Vec<u32> = listed.filter(|id| *id != forward).collect();
    for id in hidden {
        let entry = ENTRY.replace("$forward params { param_id: 1 value: \"\\x07\" }", &id.to_string());
        switch.refuse_insert(&entry, (Code::InvalidArgument, "has no action with id"));
    }
}

#[test]
fn hidden_fields_of_packets_have_their_place() {
    let mut switch = Switch::with(PROGRAM);
    switch.sent();
    let packet = PacketOut {
        payload: vec![9],
        metadata: metadata(&[(1, &[1, 0x55]), (3, &[7])]),
    };
    switch.send(PRIMARY, Request::Packet(packet)).unwrap();
    let outputs = switch.device.take_outputs();
    assert!(
        matches!(outputs.as_slice(), [Output::PacketOut(bytes)] if *bytes == [0xaa, 0x80, 7, 9]),
        "{outputs:?}"
    );
    switch.device.packet_in(&[0x01, 0x55, 3, 0xbe]);
    let sent = switch.sent();
    let [(_, Response::Packet(packet))] = sent.as_slice() else {
        panic!("{sent:?}")
    };
    assert_eq!(packet.payload, [0xbe]);
    assert_eq!(packet.metadata, metadata(&[(2, &[1, 0x55]), (3, &[3])]));
}

#[test]
fn tables_that_a_p4info_of_bmv2_leaves_out_are_hidden() {
    let json = include_str!("../../../../../tests/bmv2/tables.json");
    let mut switch = Switch::empty();
    switch.arbitrate(PRIMARY, "", Some(1)).unwrap();
    let mut config = config_of(json);
    let info = config.p4info.as_mut().unwrap();
    assert!(info.tables.len() > 1, "one table stays");
    info.tables.truncate(1);
    switch.push(Action::VerifyAndCommit, Some(config.clone())).unwrap();
    assert!(installed(&mut switch.device).is_some());
    for table in &mut config.p4info.as_mut().unwrap().tables {
        table.preamble.as_mut().unwrap().name = "other".to_string();
    }
    let error = switch.push(Action::VerifyAndCommit, Some(config)).unwrap_err();
    assert!(error.message.contains("does not mention table"), "{}", error.message);
}
