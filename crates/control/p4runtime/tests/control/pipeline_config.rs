//! Programs pushed and read back (§14, §15), and the version (§17).

use super::support::{PRIMARY, PROGRAM, Switch, config, config_of, installed};
use forebay_p4runtime::Code;
use forebay_protocol::p4::config::v1::match_field::{Match, MatchType};
use forebay_protocol::p4::config::v1::{P4DataTypeSpec, P4Info, P4TypeInfo};
use forebay_protocol::p4::v1::forwarding_pipeline_config::Cookie;
use forebay_protocol::p4::v1::get_forwarding_pipeline_config_request::ResponseType;
use forebay_protocol::p4::v1::set_forwarding_pipeline_config_request::Action;
use forebay_protocol::p4::v1::{
    CapabilitiesRequest, ForwardingPipelineConfig, GetForwardingPipelineConfigRequest,
    SetForwardingPipelineConfigRequest, Uint128,
};
use forebay_protocol::text;

const ENTRY: &str = r#"table_entry { table_id: $forwarding match { field_id: 1 exact { value: "\x01" } }
    action { action { action_id: $drop } } metadata: "m" }"#;

fn primary() -> Switch {
    let mut switch = Switch::empty();
    switch.arbitrate(PRIMARY, "", Some(1)).unwrap();
    switch
}

fn get(switch: &Switch, response_type: ResponseType) -> Option<ForwardingPipelineConfig> {
    let request = GetForwardingPipelineConfigRequest {
        device_id: 1,
        response_type: response_type as i32,
    };
    switch.device.pipeline_config(&request).unwrap().config
}

#[test]
fn verify_changes_nothing() {
    let mut switch = primary();
    switch.push(Action::Verify, Some(config())).unwrap();
    assert!(installed(&mut switch.device).is_none());
    assert_eq!(get(&switch, ResponseType::All), None);
    assert_eq!(
        switch.push(Action::Verify, None).unwrap_err().code,
        Code::InvalidArgument
    );
    assert_eq!(
        switch.push(Action::Unspecified, None).unwrap_err().code,
        Code::InvalidArgument
    );
}

#[test]
fn commit_clears_the_forwarding_state() {
    let mut switch = primary();
    switch.push(Action::VerifyAndCommit, Some(config())).unwrap();
    assert!(installed(&mut switch.device).is_some());
    switch.insert(ENTRY);
    switch.push(Action::VerifyAndCommit, Some(config())).unwrap();
    switch.expect("table_entry { table_id: $forwarding }", &[]);
}

#[test]
fn what_is_saved_is_written_and_then_committed() {
    let mut switch = Switch::new();
    assert_eq!(switch.push(Action::Commit, None).unwrap_err().code, Code::NotFound);
    switch.push(Action::VerifyAndSave, Some(config())).unwrap();
    assert!(
        installed(&mut switch.device).is_none(),
        "packets go on through the old program"
    );
    switch.insert(ENTRY);
    assert_eq!(
        switch.push(Action::Commit, Some(config())).unwrap_err().code,
        Code::InvalidArgument
    );
    switch.push(Action::Commit, None).unwrap();
    let pipeline = installed(&mut switch.device).unwrap();
    assert_eq!(pipeline.entries("EntityIngress.forwarding").unwrap().len(), 1);
    switch.expect("table_entry { table_id: $forwarding }", &[ENTRY]);
    assert_eq!(switch.push(Action::Commit, None).unwrap_err().code, Code::NotFound);
}

/// `variants.p4` begins with entries, one of which is not const.
#[test]
fn reconcile_brings_no_deleted_entry_back() {
    let mut switch = Switch::with(super::support::VARIANTS);
    let initial = switch.read("table_entry { table_id: $begun }");
    assert_eq!(initial.len(), 2);
    switch.delete(
        r#"table_entry { table_id: $begun match { field_id: 1 ternary { value: "\x02" mask: "\xff" } } priority: 20 }"#,
    );
    let config = config_of(super::support::VARIANTS);
    switch.push(Action::ReconcileAndCommit, Some(config)).unwrap();
    assert_eq!(switch.read("table_entry { table_id: $begun }").len(), 1);
}

#[test]
fn reconcile_keeps_the_forwarding_state() {
    let mut switch = Switch::new();
    let kept = [
        ENTRY,
        r#"packet_replication_engine_entry { multicast_group_entry { multicast_group_id: 1 replicas { port: "\x01" } } }"#,
        r#"packet_replication_engine_entry { clone_session_entry { session_id: 7 replicas { port: "\x01" } } }"#,
        "digest_entry { digest_id: $learned_t config { max_list_size: 1 } }",
        r#"action_profile_member { action_profile_id: $class_profile member_id: 1
           action { action_id: $set_tos params { param_id: 1 value: "\x01" } } }"#,
        r#"table_entry { table_id: $classes match { field_id: 1 exact { value: "\x01" } }
           action { action_profile_member_id: 1 } }"#,
    ];
    kept.iter().for_each(|text| switch.insert(text));
    switch.modify("meter_entry { meter_id: $port_meter index {} counter_data { red { packet_count: 2 } } }");
    switch.modify(
        "direct_counter_entry { table_entry { table_id: $forwarding is_default_action: true } data { packet_count: 3 } }",
    );
    switch.modify(r#"register_entry { register_id: $last_source index {} data { bitstring: "\x07" } }"#);
    switch.modify("counter_entry { counter_id: $port_counter index {} data { packet_count: 5 } }");
    switch
        .modify("table_entry { table_id: $forwarding is_default_action: true action { action { action_id: $drop } } }");
    switch.modify("table_entry { table_id: $routing is_default_action: true }");
    let before = switch.everything();
    let changed = PROGRAM.replace("size = 64;", "size = 65;");
    switch
        .push(Action::ReconcileAndCommit, Some(config_of(&changed)))
        .unwrap();
    let pipeline = installed(&mut switch.device).unwrap();
    assert_eq!(pipeline.entries("EntityIngress.forwarding").unwrap().len(), 1);
    assert_eq!(switch.everything(), before);
    let without = PROGRAM.replace("hdr.ethernet.dst_addr: exact;", "hdr.ethernet.ether_type: exact;");
    let error = switch
        .push(Action::ReconcileAndCommit, Some(config_of(&without)))
        .unwrap_err();
    assert_eq!(
        error.code,
        Code::InvalidArgument,
        "the address would fit the new field, but mean something else"
    );
    let said = "the forwarding state cannot be kept: what table `EntityIngress.forwarding` holds has no place in the new program: its key has changed";
    assert_eq!(error.message, said);
    switch.expect("table_entry { table_id: $forwarding }", &[ENTRY]);
}

/// What was never written needs no place in the new program.
#[test]
fn reconcile_passes_over_an_empty_value_set() {
    let mut switch = Switch::new();
    switch.insert(ENTRY);
    let renamed = PROGRAM.replace("special_types", "other_types");
    assert_ne!(renamed, PROGRAM);
    switch
        .push(Action::ReconcileAndCommit, Some(config_of(&renamed)))
        .unwrap();
    switch.expect("table_entry { table_id: $forwarding }", &[ENTRY]);
}

/// Entries whose direct counters have counted nothing need no direct counter in the new program.
#[test]
fn reconcile_passes_over_direct_counters_at_0() {
    let mut switch = Switch::new();
    switch.insert(ENTRY);
    let without = PROGRAM
        .replace("counters = forward_counter;", "")
        .replace("direct_counter(CounterType.packets_and_bytes) forward_counter;", "");
    assert!(!without.contains("forward_counter"));
    let push = |switch: &mut Switch| switch.push(Action::ReconcileAndCommit, Some(config_of(&without)));
    switch.modify("direct_counter_entry { table_entry { table_id: $forwarding is_default_action: true } data { packet_count: 3 } }");
    assert!(push(&mut switch).unwrap_err().message.contains("no direct counter"));
    switch.modify("direct_counter_entry { table_entry { table_id: $forwarding is_default_action: true } data {} }");
    push(&mut switch).unwrap();
    switch.expect("table_entry { table_id: $forwarding }", &[ENTRY]);
}

/// A default entry that was reset is that of the program, of the new one then.
#[test]
fn reconcile_keeps_no_default_entry_that_was_reset() {
    let mut switch = Switch::with(super::support::VARIANTS);
    let key = "table_entry { table_id: $signed is_default_action: true";
    let send = format!(r#"{key} action {{ action {{ action_id: $send params {{ param_id: 1 value: "\x01" }} }} }} }}"#);
    switch.modify(&send);
    switch.modify(&format!("{key} }}"));
    let changed = super::support::VARIANTS.replace("default_action = drop();", "default_action = send(1);");
    switch
        .push(Action::ReconcileAndCommit, Some(config_of(&changed)))
        .unwrap();
    switch.expect(&format!("{key} }}"), &[&send]);
}

#[test]
fn configurations_that_are_refused() {
    let mut switch = Switch::new();
    let refused = |switch: &mut Switch, config: ForwardingPipelineConfig, message: &str| {
        let error = switch.push(Action::VerifyAndCommit, Some(config)).unwrap_err();
        assert_eq!(error.code, Code::InvalidArgument);
        assert!(error.message.contains(message), "{}", error.message);
        assert!(installed(&mut switch.device).is_none());
    };
    let mut without_info = config();
    without_info.p4info = None;
    refused(&mut switch, without_info, "no p4info");
    let mut empty = config();
    empty.p4_device_config.clear();
    refused(&mut switch, empty, "is empty");
    let mut wrong = config();
    wrong.p4_device_config = b"control C() {".to_vec();
    refused(&mut switch, wrong, "p4_device_config.p4:1");
    let mut json = config();
    json.p4_device_config = b"{ \"header_types\": [] }".to_vec();
    refused(&mut switch, json, "this is JSON, but no program");
    let mut binary = config();
    binary.p4_device_config = vec![0xff, 0xfe];
    refused(&mut switch, binary, "no text");
    let mut other = config();
    other.p4info.as_mut().unwrap().tables.remove(0);
    refused(&mut switch, other, "does not mention table");
    let mut narrow = config();
    narrow.p4info.as_mut().unwrap().tables[0].match_fields[0].bitwidth = 7;
    refused(&mut switch, narrow, "not 7");
    let mut changed = |change: &dyn Fn(&mut P4Info), message: &str| {
        let mut config = config();
        change(config.p4info.as_mut().unwrap());
        refused(&mut switch, config, message);
    };
    changed(&|info| info.tables[0].preamble.as_mut().unwrap().id = 0, "has no id");
    changed(
        &|info| info.actions[1].preamble = info.actions[0].preamble.clone(),
        "have the id",
    );
    changed(&|info| info.tables[0].size = -5, "is -5");
    changed(
        &|info| {
            let mut twin = info.registers[0].clone();
            twin.preamble.as_mut().unwrap().id += 1;
            info.registers.push(twin);
        },
        "there are two registers `EntityIngress.last_source`",
    );
    for width in [-1, i32::MAX] {
        changed(
            &|info| info.controller_packet_metadata[0].metadata[0].bitwidth = width,
            "widths that no header has",
        );
    }
    let of_itself = r#"structs { key: "a" value { members { name: "b" type_spec { new_type { name: "c" } } } } }
        new_types { key: "c" value { original_type { struct { name: "a" } } } }"#;
    changed(
        &|info| info.type_info = Some(text::read("p4.config.v1.P4TypeInfo", of_itself).unwrap()),
        "holds itself",
    );
    // Each holds the next one twice.
    let held = |n: u32| format!("members {{ name: \"m\" type_spec {{ struct {{ name: \"s{n}\" }} }} }}");
    let doubled = |from: u32| -> P4TypeInfo {
        let one = |n: u32| format!("structs {{ key: \"s{n}\" value {{ {0} {0} }} }}", held(n + 1));
        let all: Vec<String> = (from..40).map(one).collect();
        text::read("p4.config.v1.P4TypeInfo", &all.join("\n")).unwrap()
    };
    changed(&|info| info.type_info = Some(doubled(0)), "has more than 65536 parts");
    let three = r#"tuple { members { struct { name: "s26" } } members { struct { name: "s26" } }
        members { struct { name: "s26" } } }"#;
    changed(
        &|info| {
            info.type_info = Some(doubled(26));
            info.registers[0].type_spec = Some(text::read("p4.config.v1.P4DataTypeSpec", three).unwrap());
        },
        "the type of `EntityIngress.last_source` has more than 65536 parts",
    );
    let bits = |width: u32| -> P4DataTypeSpec {
        let spec = format!("bitstring {{ bit {{ bitwidth: {width} }} }}");
        text::read("p4.config.v1.P4DataTypeSpec", &spec).unwrap()
    };
    for width in [16, 33] {
        changed(
            &|info| info.registers[0].type_spec = Some(bits(width)),
            "an element of register `EntityIngress.last_source` has 32 bits, not",
        );
    }
    changed(
        &|info| info.digests[0].type_spec = Some(bits(48)),
        "digest `learned_t` has 2 fields, not 1",
    );
    let wide =
        "tuple { members { bitstring { bit { bitwidth: 48 } } } members { bitstring { bit { bitwidth: 16 } } } }";
    changed(
        &|info| info.digests[0].type_spec = Some(text::read("p4.config.v1.P4DataTypeSpec", wide).unwrap()),
        "`port` has 9 bits, not 16",
    );
    changed(
        &|info| info.controller_packet_metadata[0].metadata[0].bitwidth = 10,
        "port` has 9 bits, not 10",
    );
    changed(
        &|info| {
            let mut actions = info.actions.iter_mut();
            let action = actions.find(|action| action.params.len() == 2).unwrap();
            action.params.swap(0, 1);
        },
        "stands where the program has",
    );
    let senseless = r#"new_types { key: "t" value { translated_type { sdn_bitwidth: -1 } } }"#;
    changed(
        &|info| info.type_info = Some(text::read("p4.config.v1.P4TypeInfo", senseless).unwrap()),
        "`t` has -1 bits",
    );
    changed(
        &|info| {
            info.tables[0].match_fields[0].r#match = Some(Match::MatchType(MatchType::Ternary as i32));
        },
        "is matched otherwise",
    );
    changed(
        &|info| {
            let other = info.action_profiles[0].preamble.as_ref().unwrap().id;
            let mut tables = info.tables.iter_mut();
            let table = tables
                .find(|table| ![0, other].contains(&table.implementation_id))
                .unwrap();
            table.implementation_id = other;
        },
        "has another implementation",
    );
    switch.insert(ENTRY);
}

/// A field of a protocol buffer that holds bytes.
fn bytes_field(number: u8, bytes: &[u8]) -> Vec<u8> {
    let mut field = vec![number << 3 | 2];
    prost::encoding::encode_varint(bytes.len() as u64, &mut field);
    field.extend(bytes);
    field
}

#[test]
fn controllers_may_be_given_an_older_p4info() {
    let settings = forebay_p4runtime::Settings {
        device_id: 1,
        p4info_version: "1.3".parse().unwrap(),
        ..forebay_p4runtime::Settings::default()
    };
    let switch = Switch::keeping(PROGRAM, settings);
    let tables = get(&switch, ResponseType::All).unwrap().p4info.unwrap().tables;
    assert!(tables.iter().all(|table| table.initial_default_action.is_none()));
}

#[test]
fn a_response_type_that_there_is_not_is_refused() {
    let request = GetForwardingPipelineConfigRequest {
        device_id: 1,
        response_type: 9,
    };
    let error = primary().device.pipeline_config(&request).unwrap_err();
    assert_eq!(
        (error.code, error.message.as_str()),
        (Code::InvalidArgument, "there is no response type 9")
    );
}

#[test]
fn programs_in_an_envelope_are_taken() {
    let json = include_str!("../../../../../tests/bmv2/routing.json");
    for content in [json, PROGRAM] {
        let reassign = [vec![8, 1], bytes_field(3, content.as_bytes())].concat();
        let extras = [bytes_field(2, &bytes_field(1, b"")), bytes_field(3, content.as_bytes())].concat();
        for envelope in [bytes_field(3, content.as_bytes()), reassign, extras] {
            let mut switch = primary();
            let mut config = config_of(content);
            config.p4_device_config = envelope.clone();
            switch.push(Action::VerifyAndCommit, Some(config)).unwrap();
            assert_eq!(
                get(&switch, ResponseType::All).unwrap().p4_device_config,
                envelope,
                "it is read as it was pushed"
            );
        }
    }
    let mut empty = config();
    empty.p4_device_config = vec![8, 1];
    let error = primary().push(Action::VerifyAndCommit, Some(empty)).unwrap_err();
    assert!(error.message.contains("is empty"), "{}", error.message);
}

#[test]
fn programs_in_several_files_are_taken() {
    let (main, headers) = PROGRAM.split_at(PROGRAM.find("header ethernet_t").unwrap());
    let bundle = forebay_p4runtime::Bundle {
        main: "src/main.p4".to_string(),
        files: [
            ("src/main.p4".to_string(), format!("{main}#include \"rest/of.p4\"\n")),
            ("src/rest/of.p4".to_string(), headers.to_string()),
        ]
        .into(),
        ..forebay_p4runtime::Bundle::default()
    };
    let mut switch = primary();
    let mut config = config();
    config.p4_device_config = bundle.write().into_bytes();
    switch.push(Action::VerifyAndCommit, Some(config.clone())).unwrap();
    switch.insert(ENTRY);
    config.p4_device_config = format!("# 1 \"main.p4\"\n{PROGRAM}").into_bytes();
    switch.push(Action::VerifyAndCommit, Some(config)).unwrap();
}

#[test]
fn compiled_programs_are_taken() {
    let mut switch = primary();
    let loaded = forebay_p4runtime::load(PROGRAM.as_bytes()).unwrap();
    let mut config = config();
    config.p4_device_config = forebay_ir::text::write(&loaded.program).into_bytes();
    switch.push(Action::VerifyAndCommit, Some(config)).unwrap();
    switch.insert(ENTRY);
}

#[test]
fn only_the_primary_pushes() {
    let mut switch = Switch::new();
    let mut request = SetForwardingPipelineConfigRequest {
        device_id: 1,
        election_id: Some(Uint128 { high: 1, low: 1 }),
        action: Action::Verify as i32,
        config: Some(config()),
        ..Default::default()
    };
    let code = |switch: &mut Switch, request: &SetForwardingPipelineConfigRequest| {
        switch.device.set_pipeline_config(request, switch.now).unwrap_err().code
    };
    assert_eq!(code(&mut switch, &request), Code::PermissionDenied);
    request.role = "nobody".to_string();
    assert_eq!(code(&mut switch, &request), Code::NotFound);
    request.device_id = 2;
    assert_eq!(code(&mut switch, &request), Code::NotFound);
}

#[test]
fn what_was_pushed_is_given_back() {
    let mut switch = primary();
    assert_eq!(get(&switch, ResponseType::All), None);
    let pushed = ForwardingPipelineConfig {
        cookie: Some(Cookie { cookie: 77 }),
        ..config()
    };
    switch.push(Action::VerifyAndCommit, Some(pushed.clone())).unwrap();
    assert_eq!(get(&switch, ResponseType::All), Some(pushed.clone()));
    let cookie_only = get(&switch, ResponseType::CookieOnly).unwrap();
    assert!(cookie_only.p4info.is_none() && cookie_only.p4_device_config.is_empty());
    assert_eq!(cookie_only.cookie, pushed.cookie);
    let info = get(&switch, ResponseType::P4infoAndCookie).unwrap();
    assert!(info.p4info == pushed.p4info && info.p4_device_config.is_empty());
    let blob = get(&switch, ResponseType::DeviceConfigAndCookie).unwrap();
    assert!(blob.p4info.is_none() && blob.p4_device_config == pushed.p4_device_config);
    let other = GetForwardingPipelineConfigRequest {
        device_id: 9,
        ..Default::default()
    };
    assert_eq!(switch.device.pipeline_config(&other).unwrap_err().code, Code::NotFound);
}

/// p4-utils pushes its program when it gets BMv2's error, and takes an answer without config for a program without
/// tables.
#[test]
fn as_bmv2_no_program_is_an_error() {
    let mut switch = Switch::as_bmv2();
    let request = GetForwardingPipelineConfigRequest {
        device_id: 1,
        ..Default::default()
    };
    let error = switch.device.pipeline_config(&request).unwrap_err();
    assert_eq!(error.code, Code::FailedPrecondition);
    assert_eq!(error.message, "No forwarding pipeline config set for this device");
    switch.arbitrate(PRIMARY, "", Some(1)).unwrap();
    switch.push(Action::VerifyAndCommit, Some(config())).unwrap();
    assert_eq!(get(&switch, ResponseType::All), Some(config()));
}

#[test]
fn the_version_is_told() {
    let switch = Switch::empty();
    let version = |device_id| switch.device.capabilities(CapabilitiesRequest { device_id });
    assert_eq!(version(0).unwrap().p4runtime_api_version, "1.5.0");
    assert_eq!(version(1).unwrap().p4runtime_api_version, "1.5.0");
    assert_eq!(version(9).unwrap_err().code, Code::NotFound);
}

/// What was written before controllers came is read like what they write themselves.
#[test]
fn what_the_switch_began_with_is_read() {
    use forebay_bits::Bits;
    use forebay_pipeline::{CloneSession, Pipeline, Replica};
    let loaded = forebay_p4runtime::load(PROGRAM.as_bytes()).unwrap();
    let pipeline = std::sync::Arc::new(Pipeline::load(loaded.program).unwrap());
    let selector = "EntityIngress.next_hop_selector";
    let data = [Bits::new(48, 5), Bits::new(9, 2)];
    pipeline.insert_member(selector, 1, "set_next_hop", &data).unwrap();
    pipeline.insert_group(selector, 2, &[(1, 3)]).unwrap();
    let replica = Replica {
        egress_port: 4,
        instance: 7,
    };
    pipeline.set_multicast_group(9, &[replica]).unwrap();
    let session = CloneSession {
        replicas: vec![replica],
        packet_length_bytes: Some(64),
        class_of_service: 5,
    };
    pipeline.set_clone_session(8, session).unwrap();
    let mut switch = Switch::empty();
    switch
        .device
        .adopt(loaded.p4info.unwrap(), Vec::new(), pipeline)
        .unwrap();
    let member = r#"action_profile_member { action_profile_id: $next_hop_selector member_id: 1 action {
        action_id: $set_next_hop params { param_id: 1 value: "\x05" } params { param_id: 2 value: "\x02" } } }"#;
    switch.expect("action_profile_member {}", &[member]);
    let group = "action_profile_group { action_profile_id: $next_hop_selector group_id: 2 max_size: MAX
        members { member_id: 1 weight: 3 } }";
    let found = switch.read("action_profile_group {}");
    assert_eq!(found.len(), 1);
    let Some(forebay_protocol::p4::v1::entity::Entity::ActionProfileGroup(read)) = &found[0].entity else {
        panic!("{found:?}")
    };
    switch.expect(
        "action_profile_group {}",
        &[&group.replace("MAX", &read.max_size.to_string())],
    );
    let replicas = r#"replicas { port: "\x04" instance: 7 }"#;
    let multicast =
        format!("packet_replication_engine_entry {{ multicast_group_entry {{ multicast_group_id: 9 {replicas} }} }}");
    switch.expect(
        "packet_replication_engine_entry { multicast_group_entry {} }",
        &[&multicast],
    );
    let session = format!(
        "packet_replication_engine_entry {{ clone_session_entry {{ session_id: 8 packet_length_bytes: 64 class_of_service: 5 {replicas} }} }}"
    );
    switch.expect(
        "packet_replication_engine_entry { clone_session_entry {} }",
        &[&session],
    );
}

/// A P4Info may say that a meter has one rate.
#[test]
fn meters_take_what_suits_their_type() {
    use forebay_protocol::p4::config::v1::meter_spec::Type;
    let mut switch = primary();
    for (kind, good, bad) in [
        (
            Type::SingleRateTwoColor,
            "cir: 5 cburst: 6 pir: 5 pburst: 6",
            "cir: 5 cburst: 6 pir: 7 pburst: 6",
        ),
        (
            Type::SingleRateThreeColor,
            "cir: 5 cburst: 6 pir: 5 pburst: 6",
            "cir: 5 cburst: 6 pir: 5 pburst: 7",
        ),
        (
            Type::TwoRateThreeColor,
            "cir: 5 cburst: 6 pir: 7 pburst: 8",
            "cir: 5 pir: 5 eburst: 1",
        ),
    ] {
        let mut config = config();
        let info = config.p4info.as_mut().unwrap();
        let specs = (info.meters.iter_mut().map(|meter| &mut meter.spec))
            .chain(info.direct_meters.iter_mut().map(|meter| &mut meter.spec));
        specs.flatten().for_each(|spec| spec.r#type = kind as i32);
        switch.push(Action::VerifyAndCommit, Some(config)).unwrap();
        let meter = |config: &str| format!("meter_entry {{ meter_id: $port_meter index {{}} config {{ {config} }} }}");
        switch.modify(&meter(good));
        switch.refuse_modify(&meter(bad), (Code::InvalidArgument, "EntityIngress.port_meter"));
        let entry = |config: &str| {
            format!(
                "table_entry {{ table_id: $filter priority: 1 action {{ action {{ action_id: $drop }} }}
                 meter_config {{ {config} }} }}"
            )
        };
        switch.insert(&entry(good));
        switch.refuse_modify(&entry(bad), (Code::InvalidArgument, "EntityIngress.filter"));
    }
}
