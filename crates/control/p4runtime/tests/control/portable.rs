//! Programs for PSA and PNA under a controller: the same entities, with the types that their architectures give them.

use super::support::Switch;
use forebay_p4runtime::Code;
use forebay_protocol::p4::v1::update::Type;
use forebay_protocol::p4::v1::write_request::Atomicity;

const PAIRS: &str = include_str!("pairs.p4");
const PSA: &str = include_str!("portable_psa.p4");
const PNA: &str = include_str!("portable_pna.p4");

const FORWARD: &str = r#"action { action { action_id: $forward params { param_id: 1 value: "\x02" } } }"#;

fn port_entry(kind: u8, rest: &str) -> String {
    format!("table_entry {{ table_id: $ports match {{ field_id: 1 exact {{ value: \"\\{kind:03o}\" }} }} {rest} }}")
}

#[test]
fn tables_of_psa_count_and_meter() {
    let mut switch = Switch::with(PSA);
    switch.insert(&port_entry(5, FORWARD));
    switch.packet(&[5, 0]);
    switch.packet(&[5, 0]);
    let counted = port_entry(
        5,
        &format!("{FORWARD} counter_data {{ byte_count: 4 packet_count: 2 }}"),
    );
    switch.expect("table_entry { table_id: $ports counter_data {} }", &[&counted]);
    let rates = "config { cir: 1 cburst: 1 pir: 2 pburst: 2 }";
    let of_entry = |kind: u8| port_entry(kind, "");
    let of_entry = |kind: u8, rest: &str| {
        let table_entry = of_entry(kind);
        format!("direct_meter_entry {{ {table_entry} {rest} }}")
    };
    switch.modify(&of_entry(5, rates));
    switch.expect(&of_entry(5, ""), &[&of_entry(5, rates)]);
    switch.refuse_modify(&of_entry(6, rates), (Code::NotFound, "I.ports"));
    let too_wide = r#"action { action { action_id: $forward params { param_id: 1 value: "\x01\x00\x00\x00\x00" } } }"#;
    switch.refuse_insert(&port_entry(6, too_wide), (Code::OutOfRange, "port"));
}

#[test]
fn arrays_of_psa_are_read_and_written() {
    let mut switch = Switch::with(PSA);
    switch.packet(&[5, 0]);
    let counter =
        |index: u8, rest: &str| format!("counter_entry {{ counter_id: $kinds index {{ index: {index} }} {rest} }}");
    switch.expect(&counter(5, ""), &[&counter(5, "data { packet_count: 1 }")]);
    assert_eq!(switch.read("counter_entry { counter_id: $kinds }").len(), 256);
    let register = |rest: &str| format!("register_entry {{ register_id: $last index {{ index: 0 }} {rest} }}");
    switch.expect(&register(""), &[&register(r#"data { bitstring: "\x05" }"#)]);
    switch.modify(&register(r#"data { bitstring: "\x01\x00" }"#));
    switch.expect(&register(""), &[&register(r#"data { bitstring: "\x01\x00" }"#)]);
    let meter = "meter_entry { meter_id: $pace index { index: 3 } config { cir: 1 cburst: 2 pir: 3 pburst: 4 } }";
    switch.modify(meter);
    switch.expect("meter_entry { meter_id: $pace index { index: 3 } }", &[meter]);
}

#[test]
fn selectors_of_psa_have_groups() {
    let mut switch = Switch::with(PSA);
    let member = |id: u32, value: u8| {
        format!(
            "action_profile_member {{ action_profile_id: $selector member_id: {id} action {{ action_id: $mark \
             params {{ param_id: 1 value: \"\\{value:03o}\" }} }} }}"
        )
    };
    switch.insert(&member(1, 9));
    switch.insert(&member(2, 10));
    let group = "action_profile_group { action_profile_id: $selector group_id: 1 max_size: 4 \
                 members { member_id: 1 weight: 1 } members { member_id: 2 weight: 2 } }";
    switch.insert(group);
    switch.expect(
        "action_profile_group { action_profile_id: $selector group_id: 1 }",
        &[group],
    );
    let entry = "table_entry { table_id: $marks match { field_id: 1 ternary { value: \"\\005\" mask: \"\\377\" } } \
                 priority: 1 action { action_profile_group_id: 1 } }";
    switch.insert(entry);
    switch.expect("table_entry { table_id: $marks }", &[entry]);
    switch.refuse_delete(
        "action_profile_group { action_profile_id: $selector group_id: 1 }",
        (Code::FailedPrecondition, "group"),
    );
}

#[test]
fn the_replication_engine_of_psa_takes_its_ports() {
    let mut switch = Switch::with(PSA);
    let group = |replicas: &str| {
        format!("packet_replication_engine_entry {{ multicast_group_entry {{ multicast_group_id: 1 {replicas} }} }}")
    };
    let round = r#"replicas { port: "\x03" instance: 1 } replicas { port: "\xff\xff\xff\xfa" instance: 2 }"#;
    switch.insert(&group(round));
    assert_eq!(switch.copies(1), [(3, 1), (0xffff_fffa, 2)]);
    let mut of_pna = Switch::with(PNA);
    of_pna.refuse_insert(&group(round), (Code::InvalidArgument, "PSA's port for recirculation"));
    let session = r#"packet_replication_engine_entry { clone_session_entry { session_id: 5 class_of_service: 1
                     replicas { port: "\x02" instance: 1 } packet_length_bytes: 64 } }"#;
    switch.insert(session);
    switch.expect(
        "packet_replication_engine_entry { clone_session_entry { session_id: 5 } }",
        &[session],
    );
}

#[test]
fn session_0_of_psa_can_be_written() {
    let session = |replicas: &str| {
        format!("packet_replication_engine_entry {{ clone_session_entry {{ session_id: 0 {replicas} }} }}")
    };
    let two = session(r#"replicas { port: "\x02" }"#);
    let mut switch = Switch::with(PSA);
    switch.modify(&two);
    switch.expect(&session(""), &[&two]);
    switch.delete(&session(""));
    switch.expect(&session(""), &[]);
    switch.insert(&two);
    switch.expect(&session(""), &[&two]);
    let mut of_pna = Switch::with(PNA);
    of_pna.refuse_insert(&two, (Code::InvalidArgument, "not numbered 0"));
}

#[test]
fn digests_of_psa_are_configured() {
    let mut switch = Switch::with(PSA);
    let digest = "digest_entry { digest_id: $seen config { max_timeout_ns: 5 max_list_size: 6 ack_timeout_ns: 7 } }";
    switch.insert(digest);
    switch.expect("digest_entry {}", &[digest]);
}

#[test]
fn entries_that_a_table_of_pna_has_learnt_are_read_and_deleted() {
    let mut switch = Switch::with(PNA);
    switch.insert(&port_entry(5, FORWARD));
    switch.packet(&[5, 0x33]);
    let counted = port_entry(5, &format!("{FORWARD} counter_data {{ packet_count: 1 }}"));
    switch.expect("table_entry { table_id: $ports counter_data {} }", &[&counted]);
    let learnt = switch.read("table_entry { table_id: $flows }");
    assert_eq!(learnt.len(), 1, "{learnt:?}");
    let flow = r#"table_entry { table_id: $flows match { field_id: 1 exact { value: "\x05" } } }"#;
    switch.delete(flow);
    assert!(switch.read("table_entry { table_id: $flows }").is_empty());
    let own = r#"table_entry { table_id: $flows match { field_id: 1 exact { value: "\x06" } }
                 action { action { action_id: $known params { param_id: 1 value: "\x07" } } } }"#;
    switch.insert(own);
    let register = "register_entry { register_id: $last index { index: 0 } data { bitstring: \"\\005\" } }";
    switch.expect("register_entry { register_id: $last index { index: 0 } }", &[register]);
}

/// A controller that deletes what it has read deletes both entries of a pair, of which the first takes the second
/// along.
#[test]
fn both_entries_of_a_pair_are_deleted_in_one_batch() {
    let table = "table_entry { table_id: $connections }";
    for atomicity in [Atomicity::ContinueOnError, Atomicity::RollbackOnError] {
        let mut switch = Switch::with(PAIRS);
        switch.packet(&[1, 2]);
        switch.packet(&[3, 4]);
        let entry = |from: u8, to: u8| {
            format!(
                "table_entry {{ table_id: $connections match {{ field_id: 1 exact {{ value: \"\\{from:03o}\" }} }}
                 match {{ field_id: 2 exact {{ value: \"\\{to:03o}\" }} }} }}"
            )
        };
        let all = [entry(1, 2), entry(2, 1), entry(4, 3), entry(3, 4)];
        assert_eq!(switch.read(table).len(), all.len());
        let deletions = all.iter().map(|entry| switch.update(Type::Delete, entry)).collect();
        switch.batch(atomicity, deletions).expect("all are deleted");
        assert!(switch.read(table).is_empty());
        switch.refuse_delete(&entry(2, 1), (Code::NotFound, "connections"));
        let both = vec![switch.update(Type::Delete, &entry(5, 6)); 2];
        assert!(switch.batch(atomicity, both).is_err(), "these were never there");
    }
}
