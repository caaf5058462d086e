//! Who is primary (§5), and roles.

use super::support::{PRIMARY, Switch, config};
use forebay_p4runtime::{Code, Device, Settings, StreamId};
use forebay_protocol::p4::v1::set_forwarding_pipeline_config_request::Action;
use forebay_protocol::p4::v1::stream_message_request::Update as Request;
use forebay_protocol::p4::v1::stream_message_response::Update as Response;
use forebay_protocol::p4::v1::{
    MasterArbitrationUpdate, Role, SetForwardingPipelineConfigRequest, Uint128, WriteRequest,
};
use forebay_protocol::stratum::P4RoleConfig;
use prost::Message;
use prost_types::Any;
use std::collections::BTreeSet;

const A: StreamId = StreamId(1);
const B: StreamId = StreamId(2);
const C: StreamId = StreamId(3);

/// Stream, status code and election id of each notice since the last call.
fn notices(switch: &mut Switch) -> Vec<(StreamId, Code, Option<u64>)> {
    let sent = switch.sent().into_iter();
    let notices = sent.map(|(stream, response)| {
        let Response::Arbitration(update) = response else {
            panic!("{response:?}")
        };
        let code = super::support::code(update.status.expect("the switch fills it in").code);
        (stream, code, update.election_id.map(|id| id.low))
    });
    notices.collect()
}

#[test]
fn the_highest_election_id_is_primary() {
    let mut switch = Switch::empty();
    switch.arbitrate(A, "", Some(5)).unwrap();
    assert_eq!(notices(&mut switch), [(A, Code::Ok, Some(5))]);
    switch.arbitrate(B, "", Some(3)).unwrap();
    assert_eq!(notices(&mut switch), [(B, Code::AlreadyExists, Some(5))]);
    switch.arbitrate(C, "", Some(7)).unwrap();
    let expected = [
        (A, Code::AlreadyExists, Some(7)),
        (B, Code::AlreadyExists, Some(7)),
        (C, Code::Ok, Some(7)),
    ];
    assert_eq!(notices(&mut switch), expected, "the new primary is told last");
}

#[test]
fn without_a_primary_everybody_is_told() {
    let mut switch = Switch::empty();
    switch.arbitrate(A, "", Some(5)).unwrap();
    switch.arbitrate(B, "", Some(3)).unwrap();
    switch.sent();
    switch.device.stream_closed(A);
    assert_eq!(notices(&mut switch), [(B, Code::NotFound, Some(5))]);
    switch.arbitrate(B, "", Some(4)).unwrap();
    assert_eq!(
        notices(&mut switch),
        [(B, Code::NotFound, Some(5))],
        "4 is below the highest ever seen"
    );
    switch.arbitrate(B, "", Some(5)).unwrap();
    assert_eq!(notices(&mut switch), [(B, Code::Ok, Some(5))]);
}

/// A controller with a lower id than one that is gone is told what it takes.
#[test]
fn the_id_that_a_claim_needs_is_named() {
    let mut switch = Switch::new();
    switch.arbitrate(B, "", Some(7)).unwrap();
    switch.device.stream_closed(B);
    switch.sent();
    switch.arbitrate(PRIMARY, "", Some(1)).unwrap();
    let told = switch.sent().pop().map(|(_, response)| response);
    let Some(Response::Arbitration(told)) = told else {
        panic!("{told:?}")
    };
    let status = told.status.expect("the switch fills it in").message;
    let refused = switch.push(Action::Verify, Some(config())).unwrap_err().message;
    for message in [status, refused] {
        assert!(message.contains("an election id of at least 7"), "{message}");
    }
}

/// BMv2's simple_switch_grpc knows the ids of open streams alone.
#[test]
fn as_bmv2_the_highest_id_of_those_that_are_connected_is_primary() {
    let mut switch = Switch::as_bmv2();
    switch.arbitrate(A, "", Some(9)).unwrap();
    switch.device.stream_closed(A);
    switch.sent();
    switch.arbitrate(B, "", Some(1)).unwrap();
    assert_eq!(notices(&mut switch), [(B, Code::Ok, Some(1))], "9 is forgotten");
    switch.arbitrate(C, "", Some(5)).unwrap();
    let expected = [(B, Code::AlreadyExists, Some(5)), (C, Code::Ok, Some(5))];
    assert_eq!(notices(&mut switch), expected);
    switch.device.stream_closed(C);
    assert_eq!(notices(&mut switch), [(B, Code::Ok, Some(1))], "a backup follows");
    switch.arbitrate(A, "", None).unwrap();
    assert_eq!(notices(&mut switch), [(A, Code::AlreadyExists, Some(1))]);
    switch.arbitrate(C, "", Some(5)).unwrap();
    switch.sent();
    switch.arbitrate(C, "", Some(0)).unwrap();
    let expected = [
        (A, Code::AlreadyExists, Some(1)),
        (C, Code::AlreadyExists, Some(1)),
        (B, Code::Ok, Some(1)),
    ];
    assert_eq!(notices(&mut switch), expected);
}

#[test]
fn a_primary_may_step_down() {
    let mut switch = Switch::empty();
    switch.arbitrate(A, "", Some(5)).unwrap();
    switch.arbitrate(B, "", Some(3)).unwrap();
    switch.sent();
    switch.arbitrate(A, "", Some(1)).unwrap();
    assert_eq!(
        notices(&mut switch),
        [(A, Code::NotFound, Some(5)), (B, Code::NotFound, Some(5))]
    );
}

#[test]
fn without_an_election_id_nobody_becomes_primary() {
    let mut switch = Switch::empty();
    switch.arbitrate(A, "", None).unwrap();
    assert_eq!(notices(&mut switch), [(A, Code::NotFound, None)]);
    switch.arbitrate(B, "", None).unwrap();
    switch.arbitrate(C, "", Some(0)).unwrap();
    assert_eq!(
        notices(&mut switch).last(),
        Some(&(C, Code::Ok, Some(0))),
        "0 is an election id"
    );
}

#[test]
fn claims_that_end_the_stream() {
    let mut switch = Switch::empty();
    switch.arbitrate(A, "", Some(5)).unwrap();
    let taken = switch.arbitrate(B, "", Some(5)).unwrap_err();
    assert_eq!(taken.code, Code::InvalidArgument);
    assert_eq!(taken.message, "election id 5 is used by another controller");
    let claim = |device_id| {
        Request::Arbitration(MasterArbitrationUpdate {
            device_id,
            ..MasterArbitrationUpdate::default()
        })
    };
    assert_eq!(switch.send(B, claim(9)).unwrap_err().code, Code::NotFound);
    assert_eq!(switch.send(A, claim(9)).unwrap_err().code, Code::FailedPrecondition);
    assert_eq!(
        switch.arbitrate(A, "other", Some(5)).unwrap_err().code,
        Code::FailedPrecondition
    );
    let mut claim = MasterArbitrationUpdate {
        device_id: 1,
        ..MasterArbitrationUpdate::default()
    };
    claim.role = Some(Role {
        config: Some(Any {
            type_url: "type.googleapis.com/other.Config".to_string(),
            value: Vec::new(),
        }),
        ..Role::default()
    });
    assert_eq!(
        switch.send(C, Request::Arbitration(claim)).unwrap_err().code,
        Code::InvalidArgument
    );
}

#[test]
fn roles_have_primaries_of_their_own() {
    let mut switch = Switch::empty();
    switch.arbitrate(A, "", Some(5)).unwrap();
    switch.arbitrate(B, "telemetry", Some(5)).unwrap();
    assert_eq!(notices(&mut switch), [(A, Code::Ok, Some(5)), (B, Code::Ok, Some(5))]);
    switch.device.stream_closed(B);
    assert_eq!(notices(&mut switch), []);
}

#[test]
fn a_controller_may_claim_its_role_again() {
    let mut switch = Switch::empty();
    switch.arbitrate(A, "", Some(5)).unwrap();
    switch.arbitrate(A, "", Some(5)).unwrap();
    switch.arbitrate(A, "", Some(6)).unwrap();
    let expected = [(A, Code::Ok, Some(5)), (A, Code::Ok, Some(5)), (A, Code::Ok, Some(6))];
    assert_eq!(notices(&mut switch), expected);
}

#[test]
fn a_role_has_only_so_many_streams() {
    let mut switch = Switch::empty();
    for stream in 0..4096 {
        switch.arbitrate(StreamId(stream), "", None).unwrap();
    }
    let error = switch.arbitrate(StreamId(5000), "", None).unwrap_err();
    assert_eq!(error.code, Code::ResourceExhausted);
    switch.arbitrate(StreamId(5000), "telemetry", None).unwrap();
    switch.device.stream_closed(StreamId(0));
    switch.arbitrate(StreamId(5001), "", None).unwrap();
}

#[test]
fn reading_needs_no_stream() {
    let mut switch = Switch::new();
    switch.device.stream_closed(PRIMARY);
    assert_eq!(switch.read("table_entry {}").len(), 2, "those of the program");
}

/// The device comes first, then the primary, then the program, then what is written.
#[test]
fn checks_have_an_order() {
    let mut switch = Switch::empty();
    assert_eq!(write_as(&mut switch, 9, "", Some(1)), Code::NotFound);
    assert_eq!(write_as(&mut switch, 1, "nobody", Some(1)), Code::NotFound);
    assert_eq!(write_as(&mut switch, 1, "", Some(1)), Code::PermissionDenied);
    switch.arbitrate(PRIMARY, "", Some(1)).unwrap();
    assert_eq!(write_as(&mut switch, 1, "", Some(1)), Code::FailedPrecondition);
    switch.push(Action::VerifyAndCommit, Some(config())).unwrap();
    assert_eq!(write_as(&mut switch, 1, "", Some(1)), Code::Ok);
    assert_eq!(write_as(&mut switch, 1, "", Some(1)), Code::AlreadyExists);
}

#[test]
fn zero_is_no_device() {
    let mut switch = Switch::new();
    let claim = Request::Arbitration(MasterArbitrationUpdate::default());
    assert_eq!(switch.send(B, claim).unwrap_err().code, Code::NotFound);
    assert_eq!(write_as(&mut switch, 0, "", Some(1)), Code::NotFound);
    let read = forebay_protocol::p4::v1::ReadRequest::default();
    let rejection = switch.device.read(&read, switch.now, &mut |_| ()).unwrap_err();
    assert_eq!(rejection.error.code, Code::NotFound);
}

#[test]
fn reads_of_a_role_give_what_belongs_to_it() {
    let mut switch = Switch::new();
    switch.insert("table_entry { table_id: $filter priority: 1 action { action { action_id: $drop } } }");
    switch.insert(
        r#"table_entry { table_id: $forwarding match { field_id: 1 exact { value: "\x01" } }
           action { action { action_id: $drop } } }"#,
    );
    let filters = P4RoleConfig {
        exclusive_p4_ids: vec![switch.ids["filter"]],
        ..P4RoleConfig::default()
    };
    switch.send(B, with_config("filters", &filters, 1)).unwrap();
    let count = |role: &str| {
        let request = forebay_protocol::p4::v1::ReadRequest {
            device_id: 1,
            role: role.to_string(),
            entities: vec![switch.entity("table_entry {}")],
        };
        let mut found = 0;
        let done = switch
            .device
            .read(&request, switch.now, &mut |message| found += message.entities.len());
        done.map(|()| found).map_err(|rejection| rejection.error.code)
    };
    assert_eq!(count(""), Ok(4));
    assert_eq!(count("filters"), Ok(1));
    assert_eq!(count("nobody"), Err(Code::NotFound));
}

fn write_as(switch: &mut Switch, device_id: u64, role: &str, election: Option<u64>) -> Code {
    let text = r#"table_entry { table_id: $forwarding match { field_id: 1 exact { value: "\x01" } }
        action { action { action_id: $drop } } }"#;
    let updates = vec![switch.update(forebay_protocol::p4::v1::update::Type::Insert, text)];
    let request = WriteRequest {
        device_id,
        role: role.to_string(),
        election_id: election.map(|low| Uint128 { high: 0, low }),
        updates,
        ..WriteRequest::default()
    };
    match switch.device.write(&request, switch.now) {
        Ok(()) => Code::Ok,
        Err(rejection) => match rejection.details.first() {
            Some(detail) => super::support::code(detail.canonical_code),
            None => rejection.error.code,
        },
    }
}

#[test]
fn only_the_primary_writes() {
    let mut switch = Switch::new();
    assert_eq!(write_as(&mut switch, 9, "", Some(1)), Code::NotFound);
    assert_eq!(write_as(&mut switch, 1, "nobody", Some(1)), Code::NotFound);
    assert_eq!(write_as(&mut switch, 1, "", Some(2)), Code::PermissionDenied);
    assert_eq!(write_as(&mut switch, 1, "", None), Code::PermissionDenied);
    switch.arbitrate(B, "", Some(2)).unwrap();
    assert_eq!(write_as(&mut switch, 1, "", Some(1)), Code::PermissionDenied);
    assert_eq!(write_as(&mut switch, 1, "", Some(2)), Code::Ok);
    switch.device.stream_closed(B);
    assert_eq!(write_as(&mut switch, 1, "", Some(2)), Code::PermissionDenied);
}

#[test]
fn without_a_primary_an_election_id_is_not_needed() {
    let mut switch = Switch::new();
    assert_eq!(write_as(&mut switch, 1, "", None), Code::PermissionDenied);
    switch.device.stream_closed(PRIMARY);
    assert_eq!(write_as(&mut switch, 1, "", Some(1)), Code::PermissionDenied);
    assert_eq!(write_as(&mut switch, 1, "", None), Code::Ok);
    assert_eq!(
        write_as(&mut switch, 1, "", Some(0)),
        Code::PermissionDenied,
        "0 is an election id"
    );
    assert_eq!(write_as(&mut switch, 1, "nobody", None), Code::NotFound);
    let mut untouched = Switch::empty();
    let push = SetForwardingPipelineConfigRequest {
        device_id: 1,
        action: Action::VerifyAndCommit as i32,
        config: Some(config()),
        ..SetForwardingPipelineConfigRequest::default()
    };
    untouched.device.set_pipeline_config(&push, untouched.now).unwrap();
    assert_eq!(write_as(&mut untouched, 1, "", None), Code::Ok);
}

#[test]
fn without_a_program_nothing_is_written_or_read() {
    let mut switch = Switch::empty();
    switch.arbitrate(PRIMARY, "", Some(1)).unwrap();
    assert_eq!(write_as(&mut switch, 1, "", Some(1)), Code::FailedPrecondition);
    let rejection = switch.try_read("table_entry {}").unwrap_err();
    assert_eq!(rejection.error.code, Code::FailedPrecondition);
}

fn with_config(name: &str, config: &P4RoleConfig, election: u64) -> Request {
    Request::Arbitration(MasterArbitrationUpdate {
        device_id: 1,
        role: Some(Role {
            name: name.to_string(),
            config: Some(Any {
                type_url: "type.googleapis.com/stratum.P4RoleConfig".to_string(),
                value: config.encode_to_vec(),
            }),
            ..Role::default()
        }),
        election_id: Some(Uint128 { high: 0, low: election }),
        status: None,
    })
}

#[test]
fn a_role_writes_what_its_configuration_says() {
    let mut switch = Switch::new();
    let others = P4RoleConfig {
        exclusive_p4_ids: vec![switch.ids["filter"]],
        ..P4RoleConfig::default()
    };
    switch.send(B, with_config("filters", &others, 1)).unwrap();
    assert_eq!(write_as(&mut switch, 1, "filters", Some(1)), Code::PermissionDenied);
    let error = switch.send(C, with_config("thieves", &others, 1)).unwrap_err();
    assert_eq!(error.code, Code::InvalidArgument, "{error}");
    let shared = P4RoleConfig {
        shared_p4_ids: vec![switch.ids["forwarding"]],
        ..P4RoleConfig::default()
    };
    switch.send(StreamId(4), with_config("forwarders", &shared, 1)).unwrap();
    assert_eq!(write_as(&mut switch, 1, "forwarders", Some(1)), Code::Ok);
}

/// Every claim is compared with all roles, every write and read with the sender's.
#[test]
fn a_role_may_name_so_many_objects() {
    let mut switch = Switch::new();
    let naming = |ids: Vec<u32>| P4RoleConfig {
        exclusive_p4_ids: ids,
        ..P4RoleConfig::default()
    };
    let error = switch.send(B, with_config("all", &naming((1..=5_000).collect()), 1));
    let error = error.unwrap_err();
    assert_eq!(error.code, Code::InvalidArgument, "{error}");
    assert!(error.to_string().contains("names 5000 objects"), "{error}");
    let filter = switch.ids["filter"];
    let often = [vec![u32::MAX, 7], vec![filter; 5_000], vec![3]].concat();
    switch.send(B, with_config("filters", &naming(often), 1)).unwrap();
    let error = switch.send(C, with_config("thieves", &naming(vec![9, filter, 8]), 1));
    assert_eq!(error.unwrap_err().code, Code::InvalidArgument);
    switch
        .send(C, with_config("others", &naming(vec![9, 4, 8]), 1))
        .unwrap();
}

#[test]
fn read_only_roles() {
    let settings = Settings {
        device_id: 1,
        read_only_roles: BTreeSet::from(["monitor".to_string()]),
        ..Settings::default()
    };
    let mut switch = Switch {
        device: Device::new(settings),
        ..Switch::empty()
    };
    switch.arbitrate(PRIMARY, "", Some(1)).unwrap();
    switch.push(Action::VerifyAndCommit, Some(config())).unwrap();
    switch.arbitrate(B, "monitor", None).unwrap();
    assert_eq!(write_as(&mut switch, 1, "monitor", None), Code::PermissionDenied);
    switch.arbitrate(B, "monitor", Some(1)).unwrap();
    assert_eq!(write_as(&mut switch, 1, "monitor", Some(1)), Code::PermissionDenied);
    assert_eq!(write_as(&mut switch, 1, "", Some(1)), Code::Ok);
}

/// What a device remembers of roles is bounded, and no reader can use it up.
#[test]
fn roles_that_never_had_a_primary_are_forgotten() {
    let mut switch = Switch::empty();
    for number in 0..3_000 {
        let stream = StreamId(100 + number);
        switch.arbitrate(stream, &format!("role {number}"), None).unwrap();
        switch.device.stream_closed(stream);
    }
    let long = switch.arbitrate(A, &"r".repeat(2_000), Some(1)).unwrap_err();
    assert_eq!(long.code, Code::InvalidArgument);
    switch.arbitrate(B, "role", Some(1)).unwrap();
    switch.device.stream_closed(B);
    switch.arbitrate(C, "role", None).unwrap();
    let (_, code, highest) = notices(&mut switch).pop().unwrap();
    assert_eq!((code, highest), (Code::NotFound, Some(1)), "a primary is remembered");
}
