//! What is kept over a restart: everything that can be read is the same afterwards.

use super::support::{Switch, VARIANTS, config_of};
use forebay_p4runtime::{Device, Now, Output, Settings};
use forebay_pipeline::{CloneSession, CounterValue, Pipeline, Replica};
use forebay_protocol::p4::v1::update::Type;
use std::sync::Arc;

const CONSTRAINTS: &str = include_str!("constraints.p4");

/// A program with registers whose elements are an enum and a header.
const STORED: &str = r#"
#include <core.p4>
#include <v1model.p4>
enum color_t { Red, Green, Blue }
header small_t { bit<8> kind; bit<8> value; }
struct headers_t { small_t small; }
struct metadata_t {}
parser StoredParser(packet_in packet, out headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard) {
    state start { packet.extract(hdr.small); transition accept; }
}
control StoredCheck(inout headers_t hdr, inout metadata_t meta) { apply {} }
control StoredIngress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard) {
    register<color_t>(2) colors;
    register<small_t>(2) last;
    apply {
        color_t color = color_t.Red;
        if (hdr.small.kind == 1) { color = color_t.Green; }
        colors.write(0, color);
        last.write(0, hdr.small);
    }
}
control StoredEgress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard) { apply {} }
control StoredDeparser(packet_out packet, in headers_t hdr) { apply { packet.emit(hdr); } }
V1Switch(StoredParser(), StoredCheck(), StoredIngress(), StoredEgress(), StoredCheck(), StoredDeparser()) main;
"#;

/// One of every kind of entity.
const ENTITIES: &[&str] = &[
    r#"table_entry { table_id: $forwarding match { field_id: 1 exact { value: "\x01" } } idle_timeout_ns: 5000 metadata: "m"
       controller_metadata: 7 action { action { action_id: $forward params { param_id: 1 value: "\x02" } } }
       counter_data { packet_count: 3 byte_count: 300 } }"#,
    r#"table_entry { table_id: $filter priority: 9 match { field_id: 2 range { low: "\x14" high: "\x40" } }
       meter_config { cir: 100 cburst: 10 pir: 200 pburst: 20 } action { action { action_id: $drop } } }"#,
    r#"table_entry { table_id: $filter priority: 9 match { field_id: 3 optional { value: "\x01" } }
       action { action { action_id: $allow } } }"#,
    r#"action_profile_member { action_profile_id: $class_profile member_id: 4
       action { action_id: $set_tos params { param_id: 1 value: "\x05" } } }"#,
    r#"table_entry { table_id: $classes match { field_id: 1 exact { value: "\x06" } }
       action { action_profile_member_id: 4 } }"#,
    r#"table_entry { table_id: $routing match { field_id: 1 lpm { value: "\n\x00\x00\x00" prefix_len: 8 } }
       action { action_profile_action_set { action_profile_actions { weight: 2 action { action_id: $drop } }
       action_profile_actions { weight: 1 watch_port: "\x03" action { action_id: $set_next_hop
       params { param_id: 1 value: "\x05" } params { param_id: 2 value: "\x02" } } } } } }"#,
    r#"packet_replication_engine_entry { multicast_group_entry { multicast_group_id: 3 metadata: "g"
       replicas { port: "\x01" instance: 1 } replicas { port: "\x02" instance: 7 } } }"#,
    r#"packet_replication_engine_entry { clone_session_entry { session_id: 100 packet_length_bytes: 60
       replicas { port: "\x05" instance: 1 } } }"#,
    "digest_entry { digest_id: $learned_t config { max_list_size: 10 max_timeout_ns: 1000 ack_timeout_ns: 2000 } }",
];

const CHANGES: &[&str] = &[
    r#"register_entry { register_id: $last_source index { index: 3 } data { bitstring: "\x07\x08" } }"#,
    "counter_entry { counter_id: $port_counter index { index: 511 } data { packet_count: 9223372036854775807 byte_count: 9 } }",
    "meter_entry { meter_id: $port_meter index { index: 2 } config { cir: 1 cburst: 2 pir: 3 pburst: 4 } }",
    r#"value_set_entry { value_set_id: $special_types members { match { field_id: 1 exact { value: "\x88\xcc" } } } }"#,
    r#"table_entry { table_id: $forwarding is_default_action: true metadata: "d" action { action { action_id: $drop } } }"#,
    "direct_counter_entry { table_entry { table_id: $forwarding is_default_action: true } data { packet_count: 6 } }",
    "direct_meter_entry { table_entry { table_id: $filter is_default_action: true } config { cir: 1 pir: 2 }
     counter_data { green {} } }",
    "table_entry { table_id: $routing is_default_action: true }",
    "meter_entry { meter_id: $port_meter index { index: 4 } counter_data { yellow { packet_count: 1 byte_count: 2 } } }",
    r#"table_entry { table_id: $filter is_default_action: true metadata: "unchanged" action { action { action_id: $NoAction } } }"#,
];

fn settings() -> Settings {
    Settings {
        device_id: 1,
        cpu_port: Some(510),
        keeps_state: true,
        ..Settings::default()
    }
}

/// A switch with every kind of entity that saves its state, and the saved state.
struct Keeping {
    switch: Switch,
    snapshot: Vec<u8>,
    batches: Vec<Vec<u8>>,
}

impl Keeping {
    fn new(source: &str) -> Keeping {
        let mut keeping = Keeping {
            switch: Switch::keeping(source, settings()),
            snapshot: Vec::new(),
            batches: Vec::new(),
        };
        keeping.take();
        keeping
    }

    /// Takes what is to be kept.
    fn take(&mut self) {
        for output in self.switch.device.take_outputs() {
            match output {
                Output::KeepAll(snapshot) => (self.snapshot, self.batches) = (snapshot, Vec::new()),
                Output::Keep(batch) => self.batches.push(batch),
                Output::Install(pipeline) => self.switch.pipeline = Some(pipeline),
                _ => {}
            }
        }
    }

    /// The switch after a restart.
    fn restarted(&self) -> Switch {
        let device = Device::restore(settings(), &self.snapshot, &self.batches, Now::default());
        let mut switch = Switch::empty();
        switch.device = device.unwrap_or_else(|error| panic!("{error}"));
        switch.pipeline = switch.device.pipeline().cloned();
        switch.ids = self.switch.ids.clone();
        switch
    }

    fn expect_same(&mut self) {
        let restarted = self.restarted();
        assert_eq!(restarted.everything(), self.switch.everything());
        assert_eq!(restarted.device.snapshot(), self.switch.device.snapshot());
    }
}

fn with_everything() -> Keeping {
    let mut keeping = Keeping::new(super::support::PROGRAM);
    ENTITIES.iter().for_each(|text| keeping.switch.insert(text));
    CHANGES.iter().for_each(|text| keeping.switch.modify(text));
    keeping.take();
    keeping
}

/// Which BMv2 has, and controllers cannot write.
#[test]
fn a_member_as_default() {
    let mut keeping = Keeping::new(super::support::PROGRAM);
    let member = r#"action_profile_member { action_profile_id: $class_profile member_id: 4
        action { action_id: $set_tos params { param_id: 1 value: "\x05" } } }"#;
    let default = "table_entry { table_id: $classes is_default_action: true action { action_profile_member_id: 4 } }";
    keeping.switch.insert(member);
    let update = keeping.switch.update(Type::Modify, default);
    let now = keeping.switch.now;
    assert_eq!(keeping.switch.device.write_locally(&[update], now), Ok(()));
    keeping.take();
    keeping.expect_same();
    keeping.snapshot = keeping.switch.device.snapshot();
    keeping.batches.clear();
    keeping.expect_same();
}

#[test]
fn batches_since_the_snapshot() {
    let mut keeping = with_everything();
    assert_eq!(keeping.batches.len(), ENTITIES.len() + CHANGES.len());
    keeping.expect_same();
}

#[test]
fn snapshots() {
    let mut keeping = with_everything();
    keeping.snapshot = keeping.switch.device.snapshot();
    keeping.batches.clear();
    keeping.expect_same();
    keeping.switch.delete(ENTITIES[0]);
    keeping.switch.delete(ENTITIES[5]);
    keeping.switch.insert(ENTITIES[0]);
    keeping.take();
    keeping.expect_same();
}

#[test]
fn the_time_of_packets_goes_on() {
    const UNTIL_NS: u64 = 7_000_000_000;
    let mut keeping = with_everything();
    keeping.snapshot = keeping.switch.device.snapshot();
    keeping.snapshot.extend(forebay_p4runtime::clock(UNTIL_NS));
    keeping.batches.clear();
    keeping.expect_same();
    let restarted = keeping.restarted();
    assert_eq!(restarted.device.clock_ns(), UNTIL_NS);
    let due_ns = restarted.device.next_tick_ns();
    assert!(
        due_ns > Some(UNTIL_NS),
        "an entry is idle from its restart on, not since 0: {due_ns:?}"
    );
}

#[test]
fn what_packets_have_written() {
    let mut keeping = with_everything();
    let pipeline = keeping.switch.pipeline.clone().unwrap();
    let counted = CounterValue { packets: 5, bytes: 320 };
    pipeline
        .write_counter("EntityIngress.port_counter", 7, counted)
        .unwrap();
    let keys = pipeline.records(forebay_ir::TableId(0)).len();
    assert!(keys > 0);
    keeping.snapshot = keeping.switch.device.snapshot();
    keeping.batches.clear();
    keeping.expect_same();
    let restarted = keeping.restarted();
    let kept = restarted
        .pipeline
        .unwrap()
        .read_counter("EntityIngress.port_counter", 7);
    assert_eq!(kept.unwrap(), counted);
}

/// What packets add to the greatest count that a controller can write is no negative number.
#[test]
fn counts_beyond_63_bits() {
    let mut keeping = with_everything();
    let pipeline = keeping.switch.pipeline.clone().unwrap();
    let counted = CounterValue {
        packets: 1 << 63,
        bytes: u64::MAX,
    };
    pipeline
        .write_counter("EntityIngress.port_counter", 7, counted)
        .unwrap();
    keeping.snapshot = keeping.switch.device.snapshot();
    keeping.batches.clear();
    keeping.expect_same();
}

/// Nodes of a file of entries may have the same port.
#[test]
fn groups_with_a_copy_twice() {
    let loaded = forebay_p4runtime::load(super::support::PROGRAM.as_bytes()).unwrap();
    let pipeline = Arc::new(Pipeline::load(loaded.program).unwrap());
    let copy = Replica {
        egress_port: 2,
        instance: 1,
    };
    pipeline.set_multicast_group(9, &[copy, copy]).unwrap();
    let session = CloneSession {
        replicas: vec![copy, copy],
        packet_length_bytes: Some(u32::MAX),
        ..CloneSession::default()
    };
    pipeline.set_clone_session(9, session).unwrap();
    let mut keeping = Keeping::new(super::support::PROGRAM);
    let blob = super::support::PROGRAM.as_bytes().to_vec();
    keeping.switch.device = Device::new(settings());
    keeping
        .switch
        .device
        .adopt(loaded.p4info.unwrap(), blob, pipeline)
        .unwrap();
    keeping.snapshot = keeping.switch.device.snapshot();
    keeping.expect_same();
    assert_eq!(keeping.restarted().copies(9), [(2, 1), (2, 1)]);
}

/// Values that are no plain numbers: what is read of them can be written again.
#[test]
fn registers_of_enums_and_headers() {
    let mut keeping = Keeping::new(STORED);
    keeping.switch.packet(&[1, 2]);
    let color = |index: u32, name: &str| {
        format!(r#"register_entry {{ register_id: $colors index {{ index: {index} }} data {{ enum: "{name}" }} }}"#)
    };
    let read = |index: u32| format!("register_entry {{ register_id: $colors index {{ index: {index} }} }}");
    keeping.switch.expect(&read(0), &[&color(0, "Green")]);
    let last = r#"register_entry { register_id: $last index {}
        data { header { is_valid: true bitstrings: "\x01" bitstrings: "\x02" } } }"#;
    keeping
        .switch
        .expect("register_entry { register_id: $last index {} }", &[last]);
    keeping.snapshot = keeping.switch.device.snapshot();
    keeping.batches.clear();
    keeping.expect_same();
    keeping.switch.modify(&color(1, "Blue"));
    keeping.take();
    keeping.expect_same();
    let refused = (forebay_p4runtime::Code::InvalidArgument, "not of the type");
    keeping.switch.refuse_modify(&color(1, "Black"), refused);
}

#[test]
fn entries_of_the_program_with_priority_0() {
    use forebay_protocol::p4::v1::set_forwarding_pipeline_config_request::Action;
    let source = VARIANTS.replace("priority = 20: 2: send(2);", "priority = 0: 2: send(2);");
    let mut keeping = Keeping::new(&source);
    let everything = keeping.switch.everything();
    assert_eq!(keeping.restarted().everything(), everything);
    keeping
        .switch
        .push(Action::ReconcileAndCommit, Some(config_of(&source)))
        .unwrap();
    assert_eq!(keeping.switch.everything(), everything);
}

#[test]
fn refused_updates_are_not_kept() {
    let mut keeping = with_everything();
    let before = keeping.batches.len();
    let refused = (forebay_p4runtime::Code::AlreadyExists, "EntityIngress.forwarding");
    keeping.switch.refuse_insert(ENTITIES[0], refused);
    keeping.take();
    assert_eq!(keeping.batches.len(), before);
}

/// Packets may have stored the numbers of strings.
#[test]
fn strings_keep_their_numbers() {
    let mut keeping = Keeping::new(CONSTRAINTS);
    let entry = |kind: u32, vrf: &str| {
        format!(
            r#"table_entry {{ table_id: $filter match {{ field_id: 1 exact {{ value: "\x08\x0{kind}" }} }} priority: 5
               match {{ field_id: 3 range {{ low: "\x0a" high: "\x7f" }} }}
               action {{ action {{ action_id: $set_vrf params {{ param_id: 1 value: "{vrf}" }} }} }} }}"#
        )
    };
    keeping.switch.insert(&entry(1, "red"));
    keeping.switch.insert(&entry(2, "green"));
    keeping.switch.delete(&entry(1, "red"));
    keeping.take();
    keeping.expect_same();
    let number = |switch: &Switch| {
        let records = switch.pipeline.as_ref().unwrap().records(forebay_ir::TableId(0));
        records[0].entry.action.clone()
    };
    assert_eq!(number(&keeping.restarted()), number(&keeping.switch));
    keeping.snapshot = keeping.switch.device.snapshot();
    keeping.batches.clear();
    assert_eq!(number(&keeping.restarted()), number(&keeping.switch));
}

#[test]
fn a_program_that_waits_for_its_commit() {
    use forebay_protocol::p4::v1::set_forwarding_pipeline_config_request::Action;
    let mut keeping = with_everything();
    let config = super::support::config();
    keeping.switch.push(Action::VerifyAndSave, Some(config)).unwrap();
    keeping.switch.insert(ENTITIES[3]);
    keeping.take();
    keeping.expect_same();
    keeping.switch.push(Action::Commit, None).unwrap();
    keeping.take();
    keeping.expect_same();
}

#[test]
fn state_of_another_program_is_refused() {
    let keeping = with_everything();
    let other = Settings {
        origin: b"another".to_vec(),
        ..settings()
    };
    let error = Device::restore(other, &keeping.snapshot, &keeping.batches, Now::default()).unwrap_err();
    assert!(error.message.contains("another program"), "{error}");
    let error = Device::restore(settings(), b"\xff\xff", &[], Now::default()).unwrap_err();
    assert!(error.message.contains("cannot be read"), "{error}");
}

/// As after an upgrade, when the compiler gives another program for the same source.
#[test]
fn state_of_the_same_program_compiled_anew_is_kept() {
    let source = super::support::PROGRAM;
    let info = config_of(source).p4info;
    let of = |blob: &[u8]| Settings {
        origin: blob.to_vec(),
        origin_info: info.clone(),
        ..settings()
    };
    let mut before = Switch::keeping(source, of(source.as_bytes()));
    before.insert(ENTITIES[3]);
    let snapshot = before.device.snapshot();
    let anew = format!("{source}\n// Compiled anew.\n");
    let restore = |settings| Device::restore(settings, &snapshot, &[], Now::default());
    let mut restarted = Switch::empty();
    restarted.device = restore(of(anew.as_bytes())).unwrap();
    restarted.pipeline = restarted.device.pipeline().cloned();
    restarted.ids = before.ids.clone();
    assert_eq!(restarted.everything(), before.everything());
    let again = Device::restore(of(anew.as_bytes()), &restarted.device.snapshot(), &[], Now::default());
    assert_eq!(
        again.unwrap().snapshot(),
        restarted.device.snapshot(),
        "it is of the new program"
    );
    let mut other = of(b"another");
    other.origin_info = config_of(STORED).p4info;
    let error = restore(other).unwrap_err();
    assert!(error.message.contains("another program"), "{error}");
}

/// As after an upgrade of a function that has got larger tables.
#[test]
fn state_is_written_to_a_program_that_was_changed() {
    let source = super::support::PROGRAM;
    let of = |source: &str| Settings {
        origin: source.as_bytes().to_vec(),
        origin_info: config_of(source).p4info,
        reconciles: true,
        ..settings()
    };
    let mut before = Switch::keeping(source, of(source));
    ENTITIES.iter().for_each(|text| before.insert(text));
    let (snapshot, larger) = (before.device.snapshot(), source.replace("size = 1024;", "size = 2048;"));
    assert_ne!(source, larger);
    let all = |switch: &Switch| {
        let mut all: Vec<String> = switch.everything().iter().map(|entity| format!("{entity:?}")).collect();
        all.sort();
        all
    };
    let mut restarted = Switch::empty();
    restarted.device = Device::restore(of(&larger), &snapshot, &[], Now::default()).unwrap();
    assert!(restarted.device.is_carried_over());
    restarted.pipeline = restarted.device.pipeline().cloned();
    restarted.ids = before.ids.clone();
    assert_eq!(all(&restarted), all(&before));
    let again = Device::restore(of(&larger), &restarted.device.snapshot(), &[], Now::default()).unwrap();
    assert!(!again.is_carried_over(), "it is of the new program now");
    let error = Device::restore(of(STORED), &snapshot, &[], Now::default()).unwrap_err();
    assert!(error.message.contains("cannot be kept"), "{error}");
}

/// Members and groups with number 0 come with the entries that a switch is started with; no controller can write them.
#[test]
fn members_and_groups_with_number_0() {
    use forebay_bits::Bits;
    use forebay_protocol::p4::v1::set_forwarding_pipeline_config_request::Action;
    let loaded = forebay_p4runtime::load(super::support::PROGRAM.as_bytes()).unwrap();
    let pipeline = Arc::new(Pipeline::load(loaded.program).unwrap());
    let selector = "EntityIngress.next_hop_selector";
    let data = [Bits::new(48, 5), Bits::new(9, 2)];
    pipeline.insert_member(selector, 0, "set_next_hop", &data).unwrap();
    pipeline.insert_group(selector, 0, &[(0, 3)]).unwrap();
    let mut device = Device::new(settings());
    let blob = super::support::PROGRAM.as_bytes().to_vec();
    device.adopt(loaded.p4info.unwrap(), blob, pipeline).unwrap();
    let mut keeping = Keeping::new(super::support::PROGRAM);
    keeping.switch.device = device;
    keeping.switch.arbitrate(super::support::PRIMARY, "", Some(1)).unwrap();
    let entry = r#"table_entry { table_id: $routing match { field_id: 1 lpm { value: "\n\x00\x00\x00" prefix_len: 8 } }
        action { action_profile_group_id: 0 } }"#;
    keeping.switch.refuse_insert(
        entry,
        (forebay_p4runtime::Code::InvalidArgument, "0 is no member and no group"),
    );
    assert_eq!(keeping.switch.read("action_profile_group {}").len(), 1);
    keeping.snapshot = keeping.switch.device.snapshot();
    keeping.expect_same();
    let before = keeping.switch.everything();
    keeping
        .switch
        .push(Action::ReconcileAndCommit, Some(super::support::config()))
        .unwrap();
    assert_eq!(keeping.switch.everything(), before);
}

/// A switch that is started with fewer ports: members that watch other ports follow these.
#[test]
fn watch_ports_that_are_gone() {
    let mut keeping = Keeping::new(super::support::PROGRAM);
    for port in [1, 2, 3] {
        keeping.switch.device.port_changed(port, true);
    }
    for member in [1, 2, 3] {
        keeping.switch.insert(&format!(
            r#"action_profile_member {{ action_profile_id: $next_hop_selector member_id: {member} action {{ action_id: $drop }} }}"#
        ));
    }
    let group = |number: u32, ports: &[u32]| {
        let members = ports
            .iter()
            .map(|port| format!("members {{ member_id: {port} weight: 1 watch_port: \"\\x0{port}\" }} "));
        let members: String = members.collect();
        format!("action_profile_group {{ action_profile_id: $next_hop_selector group_id: {number} {members} }}")
    };
    keeping.switch.insert(&group(1, &[1, 3]));
    keeping.switch.insert(&group(2, &[1, 2]));
    keeping.take();
    let mut restarted = keeping.restarted();
    for port in [1, 2] {
        restarted.device.port_changed(port, true);
    }
    assert_eq!(
        (restarted.live_members(1), restarted.live_members(2)),
        (vec![1], vec![1, 2])
    );
    restarted.device.port_changed(2, false);
    assert_eq!(
        (restarted.live_members(1), restarted.live_members(2)),
        (vec![1], vec![1])
    );
}

/// After a full restart the highest election id is forgotten (§16.2).
#[test]
fn election_ids_begin_anew() {
    let mut keeping = with_everything();
    keeping
        .switch
        .arbitrate(forebay_p4runtime::StreamId(2), "", Some(900))
        .unwrap();
    let mut restarted = keeping.restarted();
    restarted
        .arbitrate(forebay_p4runtime::StreamId(3), "", Some(1))
        .unwrap();
    restarted.delete(ENTITIES[0]);
}

/// PSA's session 0 leads to the controllers from the beginning.
#[test]
fn ports_of_psa() {
    let settings = || Settings {
        cpu_port: Some(0xffff_fffd),
        ..settings()
    };
    let mut switch = Switch::keeping(include_str!("portable_psa.p4"), settings());
    let restarted = |switch: &Switch, batches: &[Vec<u8>]| {
        let snapshot = switch.device.snapshot();
        Device::restore(settings(), &snapshot, batches, Now::default()).unwrap_or_else(|error| panic!("{error}"))
    };
    assert_eq!(restarted(&switch, &[]).snapshot(), switch.device.snapshot());
    switch.device.take_outputs();
    switch.insert(
        r#"packet_replication_engine_entry { clone_session_entry { session_id: 5 replicas { port: "\xff\xff\xff\xfd" instance: 1 } } }"#,
    );
    assert_eq!(restarted(&switch, &[]).snapshot(), switch.device.snapshot());
}

/// A session that a file of entries has made, which controllers could not.
#[test]
fn session_0_of_v1model() {
    let loaded = forebay_p4runtime::load(super::support::PROGRAM.as_bytes()).unwrap();
    let pipeline = Arc::new(Pipeline::load(loaded.program).unwrap());
    pipeline.set_clone_session(0, CloneSession::to_port(3)).unwrap();
    let mut device = Device::new(settings());
    let blob = super::support::PROGRAM.as_bytes().to_vec();
    device
        .adopt(loaded.p4info.unwrap(), blob, Arc::clone(&pipeline))
        .unwrap();
    let restored = Device::restore(settings(), &device.snapshot(), &[], Now::default()).unwrap();
    let sessions = restored.pipeline().unwrap().clone_sessions();
    assert_eq!(sessions, pipeline.clone_sessions());
}
