//! Packets, digests, idle entries and errors on streams (§16).

use super::support::{PRIMARY, Switch, config, installed};
use forebay_bits::Bits;
use forebay_ir::DigestId;
use forebay_p4runtime::{Code, Output, StreamId};
use forebay_pipeline::{DigestMessage, IngressArguments, IngressPacket, NoTrace, Worker};
use forebay_protocol::p4::v1::set_forwarding_pipeline_config_request::Action;
use forebay_protocol::p4::v1::stream_error::Details;
use forebay_protocol::p4::v1::stream_message_request::Update as Request;
use forebay_protocol::p4::v1::stream_message_response::Update as Response;
use forebay_protocol::p4::v1::update::Type;
use forebay_protocol::p4::v1::write_request::Atomicity;
use forebay_protocol::p4::v1::{DigestListAck, PacketMetadata, PacketOut, StreamError};
use std::sync::Arc;

const BACKUP: StreamId = StreamId(2);

fn metadata(id: u32, value: &[u8]) -> PacketMetadata {
    PacketMetadata {
        metadata_id: id,
        value: value.to_vec(),
    }
}

fn packet_out(metadata: Vec<PacketMetadata>) -> Request {
    Request::Packet(PacketOut {
        payload: vec![1, 2, 3],
        metadata,
    })
}

fn error(switch: &mut Switch) -> StreamError {
    match switch.sent().pop() {
        Some((_, Response::Error(error))) => error,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_packet_of_the_controller_has_the_programs_header() {
    let mut switch = Switch::new();
    switch
        .send(
            PRIMARY,
            packet_out(vec![metadata(2, b"\x00"), metadata(1, b"\x01\x02")]),
        )
        .unwrap();
    let outputs = switch.device.take_outputs();
    let [Output::PacketOut(packet)] = outputs.as_slice() else {
        panic!("{outputs:?}")
    };
    // 9 bits of port 0x102, 7 bits of padding.
    assert_eq!(packet, &[0x81, 0x00, 1, 2, 3]);
}

/// ONOS and the test vectors of Stratum leave out padding.
#[test]
fn metadata_that_are_not_given_are_0() {
    let mut switch = Switch::new();
    for (given, header) in [(vec![metadata(1, b"\x01\x02")], [0x81, 0x00]), (Vec::new(), [0, 0])] {
        switch.send(PRIMARY, packet_out(given)).unwrap();
        let outputs = switch.device.take_outputs();
        let [Output::PacketOut(packet)] = outputs.as_slice() else {
            panic!("{outputs:?}")
        };
        assert_eq!(packet[..2], header);
    }
}

#[test]
fn packets_of_the_controller_that_are_refused() {
    let mut switch = Switch::new();
    let good = || vec![metadata(1, b"\x01"), metadata(2, b"\x00")];
    let refused = [
        (
            vec![metadata(1, b"\x01"), metadata(1, b"\x01"), metadata(2, b"\x00")],
            "is given twice",
        ),
        (vec![metadata(1, b"\x02\x00"), metadata(2, b"\x00")], "9 bits"),
        ([good(), vec![metadata(9, b"\x00")]].concat(), "no metadata field 9"),
    ];
    for (metadata, message) in refused {
        switch.send(PRIMARY, packet_out(metadata)).unwrap();
        let error = error(&mut switch);
        assert_eq!(error.canonical_code, Code::InvalidArgument as i32);
        assert!(error.message.contains(message), "{}", error.message);
        assert!(matches!(error.details, Some(Details::PacketOut(_))));
    }
    switch.arbitrate(BACKUP, "", None).unwrap();
    switch.send(BACKUP, packet_out(good())).unwrap();
    assert_eq!(error(&mut switch).canonical_code, Code::PermissionDenied as i32);
}

#[test]
fn packets_to_the_controller() {
    let mut switch = Switch::new();
    switch.arbitrate(BACKUP, "", None).unwrap();
    switch.sent();
    switch.device.packet_in(&[0x81, 0x05, 9, 9]);
    let sent = switch.sent();
    let [(PRIMARY, Response::Packet(packet))] = sent.as_slice() else {
        panic!("{sent:?}")
    };
    assert_eq!(packet.payload, [9, 9]);
    assert_eq!(packet.metadata, [metadata(1, b"\x01\x02"), metadata(2, b"\x05")]);
    switch.device.packet_in(&[1]);
    assert_eq!(switch.device.short_packets(), 1);
    assert_eq!(switch.device.take_unheard(), 0);
}

#[test]
fn packets_and_digests_without_a_controller_are_counted() {
    let mut switch = Switch::new();
    switch.device.stream_closed(PRIMARY);
    switch.sent();
    switch.device.packet_in(&[0x81, 0x05, 9, 9]);
    assert_eq!(switch.device.take_unheard(), 1);
    switch.device.digest(learnt(1, 1), switch.now);
    assert_eq!(switch.device.take_unheard(), 0, "the digest is not on");
    assert!(switch.sent().is_empty());
}

#[test]
fn digests_that_were_gathered_for_a_controller_that_goes_are_counted() {
    let mut switch = Switch::new();
    switch.insert(&digest("config { max_list_size: 9 max_timeout_ns: 1000 }"));
    switch.device.digest(learnt(1, 1), switch.now);
    switch.device.digest(learnt(2, 1), switch.now);
    switch.device.stream_closed(PRIMARY);
    assert_eq!(switch.device.take_unheard(), 0);
    switch.now.switch_ns += 1000;
    switch.device.tick(switch.now);
    assert_eq!(switch.device.take_unheard(), 2);
}

fn learnt(address: u64, port: u64) -> DigestMessage {
    DigestMessage {
        digest: DigestId(0),
        values: vec![Bits::new(48, address.into()), Bits::new(9, port.into())],
    }
}

/// Addresses of the lists that were sent, with their numbers.
fn lists(switch: &mut Switch) -> Vec<(u64, Vec<Vec<u8>>)> {
    let sent = switch.sent().into_iter();
    let lists = sent.map(|(stream, response)| {
        assert_eq!(stream, PRIMARY);
        let Response::Digest(list) = response else {
            panic!("{response:?}")
        };
        let addresses = list.data.into_iter().map(|data| {
            let Some(forebay_protocol::p4::v1::p4_data::Data::Struct(members)) = data.data else {
                panic!()
            };
            let Some(forebay_protocol::p4::v1::p4_data::Data::Bitstring(address)) = &members.members[0].data else {
                panic!()
            };
            address.clone()
        });
        (list.list_id, addresses.collect())
    });
    lists.collect()
}

fn digest(config: &str) -> String {
    format!("digest_entry {{ digest_id: $learned_t {config} }}")
}

#[test]
fn digests_are_configured() {
    let mut switch = Switch::new();
    let config = digest("config { max_timeout_ns: 5 max_list_size: 6 ack_timeout_ns: 7 }");
    switch.refuse_modify(&config, (Code::NotFound, "`learned_t` is not configured"));
    switch.insert(&config);
    switch.expect("digest_entry {}", &[&config]);
    switch.refuse_insert(&config, (Code::AlreadyExists, "learned_t"));
    switch.modify(&digest("config {}"));
    switch.delete(&digest(""));
    switch.expect("digest_entry {}", &[]);
    switch.refuse_delete(&digest(""), (Code::NotFound, "learned_t"));
    let negative = digest("config { ack_timeout_ns: -1 }");
    switch.refuse_insert(&negative, (Code::InvalidArgument, "not negative"));
}

#[test]
fn digests_are_gathered() {
    let mut switch = Switch::new();
    switch.device.digest(learnt(1, 1), switch.now);
    assert_eq!(lists(&mut switch), [], "nobody has asked for them");
    switch.insert(&digest("config { max_timeout_ns: 1000 max_list_size: 2 }"));
    switch.device.digest(learnt(1, 1), switch.now);
    switch.device.digest(learnt(1, 1), switch.now);
    assert_eq!(lists(&mut switch), [], "a duplicate does not count");
    switch.device.digest(learnt(2, 1), switch.now);
    assert_eq!(lists(&mut switch), [(1, vec![vec![1], vec![2]])]);
    switch.device.digest(learnt(3, 1), switch.now);
    assert_eq!(switch.device.next_tick_ns(), Some(2_000), "no entry has a time-out");
    switch.now.switch_ns += 999;
    switch.device.tick(switch.now);
    assert_eq!(lists(&mut switch), []);
    switch.now.switch_ns += 1;
    switch.device.tick(switch.now);
    assert_eq!(lists(&mut switch), [(2, vec![vec![3]])]);
}

#[test]
fn digests_wait_for_acknowledgements() {
    let mut switch = Switch::new();
    switch.insert(&digest(
        "config { max_list_size: 1 max_timeout_ns: 1000 ack_timeout_ns: 500 }",
    ));
    switch.device.digest(learnt(1, 1), switch.now);
    assert_eq!(lists(&mut switch).len(), 1);
    switch.device.digest(learnt(1, 1), switch.now);
    assert_eq!(lists(&mut switch).len(), 0, "it was sent and not yet acknowledged");
    let ack = |digest_id, list_id| Request::DigestAck(DigestListAck { digest_id, list_id });
    let id = switch.ids["learned_t"];
    switch.send(PRIMARY, ack(id, 1)).unwrap();
    switch.device.digest(learnt(1, 1), switch.now);
    assert_eq!(lists(&mut switch).len(), 1);
    switch.now.switch_ns += 500;
    switch.device.digest(learnt(1, 1), switch.now);
    assert_eq!(lists(&mut switch).len(), 1, "nobody has acknowledged it in time");
    switch.send(PRIMARY, ack(5, 1)).unwrap();
    let error = error(&mut switch);
    assert_eq!(error.canonical_code, Code::InvalidArgument as i32);
    assert!(matches!(error.details, Some(Details::DigestListAck(_))));
}

#[test]
fn what_no_controller_was_sent_is_sent_to_the_next() {
    let mut switch = Switch::new();
    switch.insert(&digest(
        "config { max_list_size: 2 max_timeout_ns: 1000 ack_timeout_ns: 1000000000 }",
    ));
    switch.device.digest(learnt(1, 1), switch.now);
    switch.device.stream_closed(PRIMARY);
    switch.device.digest(learnt(2, 1), switch.now);
    switch.now.switch_ns += 1000;
    switch.device.tick(switch.now);
    assert_eq!(lists(&mut switch), [], "there is no controller");
    switch.arbitrate(PRIMARY, "", Some(1)).unwrap();
    switch.sent();
    switch.device.digest(learnt(1, 1), switch.now);
    switch.device.digest(learnt(2, 1), switch.now);
    assert_eq!(lists(&mut switch), [(1, vec![vec![1], vec![2]])]);
}

#[test]
fn a_digest_that_is_configured_anew_begins_anew() {
    let mut switch = Switch::new();
    let config = digest("config { max_list_size: 1 ack_timeout_ns: 1000000000 }");
    switch.insert(&config);
    switch.sent();
    let learns = |switch: &mut Switch| {
        switch.device.digest(learnt(1, 1), switch.now);
        switch.sent().len()
    };
    assert_eq!(learns(&mut switch), 1);
    assert_eq!(learns(&mut switch), 0, "the list is not acknowledged");
    switch.delete(&digest(""));
    switch.insert(&config);
    assert_eq!(learns(&mut switch), 1);
    let updates = vec![
        switch.update(Type::Delete, &digest("")),
        switch.update(Type::Insert, &config),
    ];
    switch.batch(Atomicity::DataplaneAtomic, updates.clone()).unwrap();
    assert_eq!(learns(&mut switch), 1, "also within one batch");
    let undone = [updates, vec![switch.update(Type::Insert, &config)]].concat();
    switch.batch(Atomicity::RollbackOnError, undone).unwrap_err();
    assert_eq!(learns(&mut switch), 0, "a batch that is undone forgets nothing");
}

#[test]
fn numbers_of_lists_go_on_with_another_program() {
    let mut switch = Switch::new();
    let entry = digest("config { max_list_size: 1 ack_timeout_ns: 1000000000 }");
    for number in [1, 2] {
        switch.insert(&entry);
        switch.device.digest(learnt(1, 1), switch.now);
        assert_eq!(lists(&mut switch), [(number, vec![vec![1]])]);
        switch.push(Action::VerifyAndCommit, Some(config())).unwrap();
    }
}

#[test]
fn digests_that_nobody_need_acknowledge() {
    let mut switch = Switch::new();
    switch.insert(&digest("config { max_list_size: 1 }"));
    for _ in 0..3 {
        switch.device.digest(learnt(1, 1), switch.now);
        assert_eq!(lists(&mut switch).len(), 1, "each is sent at once, and forgotten");
    }
}

/// `variants.p4` names ports by strings.
#[test]
fn metadata_may_be_strings() {
    let mut switch = Switch::with(super::support::VARIANTS);
    let out = |name: &[u8]| packet_out(vec![metadata(1, name), metadata(2, b"\x00")]);
    let named = [(&b"0"[..], [0, 0]), (b"1", [0, 0x80]), (b"510", [0xff, 0])];
    for (name, header) in named {
        switch.send(PRIMARY, out(name)).unwrap();
        let outputs = switch.device.take_outputs();
        let Some(Output::PacketOut(packet)) = outputs.last() else {
            panic!("{outputs:?}")
        };
        assert_eq!(packet[..2], header, "9 bits with the port, 7 of padding");
    }
    switch.send(PRIMARY, out(b"uplink")).unwrap();
    let sent = switch.sent();
    assert!(
        matches!(&sent[..], [(_, Response::Error(error))] if error.message.contains("`uplink` names no port")),
        "{sent:?}"
    );
}

#[test]
fn idle_entries_are_told_once_a_timeout() {
    let mut switch = Switch::new();
    let entry = r#"table_entry { table_id: $forwarding match { field_id: 1 exact { value: "\x01" } }
        idle_timeout_ns: 50000000 metadata: "m" action { action { action_id: $drop } } }"#;
    switch.insert(entry);
    let told = |switch: &mut Switch, after_ms: u64| {
        switch.now.switch_ns += after_ms * 1_000_000;
        switch.device.tick(switch.now);
        let sent = switch.sent().into_iter();
        sent.map(|(_, response)| match response {
            Response::IdleTimeoutNotification(notification) => notification,
            other => panic!("{other:?}"),
        })
        .collect::<Vec<_>>()
    };
    assert!(told(&mut switch, 49).is_empty());
    let notifications = told(&mut switch, 20);
    assert_eq!(notifications.len(), 1);
    let entry = &notifications[0].table_entry[0];
    assert_eq!(
        (entry.idle_timeout_ns, entry.metadata.as_slice()),
        (50_000_000, &b"m"[..])
    );
    assert!(!entry.r#match.is_empty() && notifications[0].timestamp > 0);
    assert!(told(&mut switch, 20).is_empty());
    assert_eq!(told(&mut switch, 40).len(), 1);
}

#[test]
fn messages_that_nobody_understands() {
    let mut switch = Switch::new();
    switch
        .send(PRIMARY, Request::Other(prost_types::Any::default()))
        .unwrap();
    assert_eq!(error(&mut switch).canonical_code, Code::Unimplemented as i32);
    assert!(installed(&mut switch.device).is_none());
}

#[test]
fn many_idle_entries_are_told_part_by_part() {
    const ENTRIES: usize = 600;
    let mut switch = Switch::new();
    for number in 0..ENTRIES {
        let [high, low] = (number as u16).to_be_bytes();
        let entry = format!(
            r#"table_entry {{ table_id: $forwarding match {{ field_id: 1 exact {{ value: "\x{high:02x}\x{low:02x}" }} }}
            idle_timeout_ns: 50000000 action {{ action {{ action_id: $drop }} }} }}"#
        );
        switch.insert(&entry);
    }
    switch.sent();
    switch.now.switch_ns += 60_000_000;
    let mut told = Vec::new();
    while switch
        .device
        .next_tick_ns()
        .is_some_and(|next| next <= switch.now.switch_ns)
    {
        switch.device.tick(switch.now);
        let sent = switch.sent();
        assert!(sent.len() <= 1, "one notification for each table");
        for (_, response) in sent {
            let Response::IdleTimeoutNotification(notification) = response else {
                panic!("{response:?}");
            };
            assert!(notification.table_entry.len() <= 256);
            told.extend(notification.table_entry.into_iter().map(|entry| entry.r#match));
        }
    }
    assert_eq!(told.len(), ENTRIES);
    told.sort_by_key(|fields| format!("{fields:?}"));
    told.dedup();
    assert_eq!(told.len(), ENTRIES);
}

#[test]
fn deleted_and_changed_entries_are_told_as_they_are() {
    let mut switch = Switch::new();
    let entry = |timeout_ms: u64| {
        format!(
            r#"table_entry {{ table_id: $forwarding match {{ field_id: 1 exact {{ value: "\x01" }} }}
            idle_timeout_ns: {} action {{ action {{ action_id: $drop }} }} }}"#,
            timeout_ms * 1_000_000
        )
    };
    let told = |switch: &mut Switch, after_ms: u64| {
        switch.now.switch_ns += after_ms * 1_000_000;
        switch.device.tick(switch.now);
        switch.sent().len()
    };
    switch.insert(&entry(1000));
    switch.modify(&entry(50));
    assert_eq!(told(&mut switch, 70), 1);
    switch.modify(&entry(0));
    assert_eq!(told(&mut switch, 2000), 0);
    switch.modify(&entry(100));
    switch.delete(&entry(0));
    assert_eq!(told(&mut switch, 2000), 0);
    assert_eq!(switch.device.next_tick_ns(), None);
}

#[test]
fn a_packet_that_is_too_long_is_refused() {
    let mut switch = Switch::new();
    let packet = PacketOut {
        payload: vec![0; 70_000],
        metadata: Vec::new(),
    };
    switch.send(PRIMARY, Request::Packet(packet)).unwrap();
    assert_eq!(error(&mut switch).canonical_code, Code::InvalidArgument as i32);
}

/// A table that packets add entries to, of which controllers hear when they expire.
const LEARNS: &str = r#"
#include <v1model.p4>
#include <forebay.p4>
header input_t { bit<8> from; bit<8> to; }
struct headers_t { input_t input; }
struct meta_t {}
parser P(packet_in packet, out headers_t hdr, inout meta_t meta, inout standard_metadata_t standard) {
    state start { packet.extract(hdr.input); transition accept; }
}
control V(inout headers_t hdr, inout meta_t meta) { apply {} }
control I(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t standard) {
    action pass() { standard.egress_spec = 2; }
    action open() { add_entry_pair("pass", {}, "flows", { hdr.input.to, hdr.input.from }, "pass", {}, 8w0); }
    @expire_seconds(5)
    table flows {
        key = { hdr.input.from: exact; hdr.input.to: exact; }
        actions = { pass; @defaultonly open; }
        const default_action = open();
        add_on_miss = true;
        support_timeout = true;
    }
    apply { flows.apply(); }
}
control E(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t standard) { apply {} }
control C(inout headers_t hdr, inout meta_t meta) { apply {} }
control D(packet_out packet, in headers_t hdr) { apply { packet.emit(hdr); } }
V1Switch(P(), V(), I(), E(), C(), D()) main;
"#;

#[test]
fn entries_of_packets_are_read_deleted_and_told_when_they_expire() {
    let mut switch = Switch::with(LEARNS);
    let pipeline = switch.pipeline.clone().expect("a program is installed");
    let learn = |from: u8, to: u8| {
        let mut worker = Worker::new(Arc::clone(&pipeline));
        let packet = IngressPacket::new(vec![from, to], IngressArguments::default());
        let mut packets = vec![packet];
        worker.ingress(&mut packets, &mut Vec::new(), &mut NoTrace);
    };
    let all = "table_entry { table_id: $flows }";
    learn(1, 2);
    learn(3, 4);
    assert_eq!(switch.read(all).len(), 4);
    switch.delete(
        r#"table_entry { table_id: $flows match { field_id: 1 exact { value: "\x02" } }
        match { field_id: 2 exact { value: "\x01" } } }"#,
    );
    assert_eq!(switch.read(all).len(), 2, "the other entry of the pair has gone, too");
    pipeline.expire_at(4_000_000_000);
    assert_eq!(switch.read(all).len(), 2);
    pipeline.expire_at(6_000_000_000);
    assert!(switch.read(all).is_empty());
    switch.now.switch_ns = 6_000_000_000;
    switch.device.tick(switch.now);
    let told = switch.sent().into_iter().map(|(_, response)| match response {
        Response::IdleTimeoutNotification(notification) => notification.table_entry.len(),
        other => panic!("{other:?}"),
    });
    assert_eq!(told.sum::<usize>(), 2);
}

#[test]
fn an_entry_of_a_controller_that_expires_is_told_once() {
    let mut switch = Switch::with(LEARNS);
    switch.insert(
        r#"table_entry { table_id: $flows match { field_id: 1 exact { value: "\x01" } }
        match { field_id: 2 exact { value: "\x02" } } action { action { action_id: $pass } }
        idle_timeout_ns: 1000000000 }"#,
    );
    switch.sent();
    switch.now.switch_ns = 1_500_000_000;
    switch.device.tick(switch.now);
    assert!(switch.sent().is_empty(), "it is still there");
    switch.running().expire_at(switch.now.switch_ns);
    switch.now.switch_ns = 2_000_000_000;
    switch.device.tick(switch.now);
    assert_eq!(switch.sent().len(), 1);
}
