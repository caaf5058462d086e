//! Batches (§12): their atomicity, and the error of each update.

use super::support::{Switch, code};
use forebay_p4runtime::{Code, Rejection};
use forebay_protocol::p4::v1::update::Type;
use forebay_protocol::p4::v1::write_request::Atomicity;
use forebay_protocol::p4::v1::{Update, WriteRequest};

fn entry(address: u8) -> String {
    format!(
        "table_entry {{ table_id: $forwarding match {{ field_id: 1 exact {{ value: \"\\x{address:02x}\" }} }}
         action {{ action {{ action_id: $drop }} }} metadata: \"m\" }}"
    )
}

/// Good, bad (a duplicate of the first), good; with something of every other kind before.
fn updates(switch: &Switch) -> Vec<Update> {
    let insert = |text: &str| switch.update(Type::Insert, text);
    vec![
        insert(&entry(1)),
        insert(
            "packet_replication_engine_entry { multicast_group_entry { multicast_group_id: 1 replicas { port: \"\\x01\" } } }",
        ),
        switch.update(
            Type::Modify,
            "counter_entry { counter_id: $port_counter index {} data { packet_count: 5 } }",
        ),
        switch.update(
            Type::Modify,
            "register_entry { register_id: $last_source index {} data { bitstring: \"\\x07\" } }",
        ),
        insert(
            r#"action_profile_member { action_profile_id: $class_profile member_id: 1 action { action_id: $set_tos
               params { param_id: 1 value: "\x01" } } }"#,
        ),
        insert(&entry(1)),
        insert(&entry(2)),
    ]
}

fn codes(rejection: &Rejection) -> Vec<Code> {
    rejection
        .details
        .iter()
        .map(|detail| code(detail.canonical_code))
        .collect()
}

#[test]
fn continue_on_error_does_what_it_can() {
    let mut switch = Switch::new();
    let updates = updates(&switch);
    let rejection = switch.batch(Atomicity::ContinueOnError, updates).unwrap_err();
    assert_eq!(rejection.error.code, Code::Unknown);
    let ok = Code::Ok;
    assert_eq!(codes(&rejection), [ok, ok, ok, ok, ok, Code::AlreadyExists, ok]);
    assert_eq!(rejection.details[0].message, "", "a success says nothing");
    switch.expect("table_entry { table_id: $forwarding }", &[&entry(1), &entry(2)]);
    let counted = "counter_entry { counter_id: $port_counter index {} data { packet_count: 5 } }";
    switch.expect("counter_entry { counter_id: $port_counter index {} }", &[counted]);
}

#[test]
fn atomic_batches_are_done_or_not() {
    for atomicity in [Atomicity::RollbackOnError, Atomicity::DataplaneAtomic] {
        let mut switch = Switch::new();
        let before = switch.everything();
        let updates = updates(&switch);
        let rejection = switch.batch(atomicity, updates.clone()).unwrap_err();
        let undone = Code::Aborted;
        assert_eq!(
            codes(&rejection),
            [undone, undone, undone, undone, undone, Code::AlreadyExists, undone]
        );
        // Both count from 1.
        assert!(rejection.error.message.contains("the first: number 6: "), "{rejection}");
        assert_eq!(
            rejection.details[0].message,
            "not done, since update 6 of the batch failed"
        );
        assert_eq!(switch.everything(), before);
        let good: Vec<Update> = [&updates[..5], &updates[6..]].concat();
        switch.batch(atomicity, good).unwrap();
        switch.expect("table_entry { table_id: $forwarding }", &[&entry(1), &entry(2)]);
        let register = r#"register_entry { register_id: $last_source index {} data { bitstring: "\x07" } }"#;
        switch.expect("register_entry { register_id: $last_source index {} }", &[register]);
    }
}

/// An entry of a table without idle time-outs.
fn rule(address: u64, action: &str, note: u64) -> String {
    format!(
        "table_entry {{ table_id: $filter match {{ field_id: 1 ternary {{ value: \"\\x{address:02x}\" mask: \"\\xff\" }} }} priority: 1
         action {{ action {{ action_id: ${action} }} }} metadata: \"{note}\" }}"
    )
}

/// Updates as a controller without sense would write them: many name the same entries.
fn senseless(switch: &Switch, random: &mut impl FnMut(u64) -> u64) -> Vec<Update> {
    let how = |number| [Type::Insert, Type::Modify, Type::Delete][number as usize];
    let count = 1 + random(4);
    let mut update = |_| {
        let address = random(6);
        match random(10) {
            0 => switch.update(how(random(3)), &entry(address as u8)),
            1 => switch.update(
                Type::Modify,
                "counter_entry { counter_id: $port_counter index {} data { packet_count: 5 } }",
            ),
            2 => {
                let rule = rule(address, "drop", 0);
                let meter = format!("direct_meter_entry {{ {rule} config {{ cir: 1 cburst: 2 pir: 3 pburst: 4 }} }}");
                switch.update(Type::Modify, &meter)
            }
            _ => {
                let action = ["allow", "drop"][random(2) as usize];
                switch.update(how(random(3)), &rule(address, action, random(3)))
            }
        }
    };
    (0..count).map(&mut update).collect()
}

/// Packets may see a part of the batch that is rolled back on errors; to controllers both look the same.
#[test]
fn both_kinds_of_atomic_batches_leave_the_same() {
    let (mut first, mut second) = (Switch::new(), Switch::new());
    let mut state = 7u64;
    let mut random = |below: u64| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (state >> 33) % below
    };
    let (mut done, mut refused) = (0, 0);
    for _ in 0..600 {
        let updates = senseless(&first, &mut random);
        let results = [
            first.batch(Atomicity::RollbackOnError, updates.clone()),
            second.batch(Atomicity::DataplaneAtomic, updates.clone()),
        ]
        .map(|result| result.map_err(|rejection| codes(&rejection)));
        assert_eq!(results[0], results[1], "{updates:?}");
        match results[0] {
            Ok(()) => done += 1,
            Err(_) => refused += 1,
        }
        // The order of the entries of a read is not specified.
        let sorted = |switch: &Switch| {
            let mut all: Vec<String> = switch.everything().iter().map(|entity| format!("{entity:?}")).collect();
            all.sort();
            all
        };
        assert_eq!(sorted(&first), sorted(&second), "{updates:?}");
    }
    assert!(done > 100 && refused > 100, "{done} done, {refused} refused");
}

#[test]
fn counters_of_entries_that_an_atomic_batch_replaces() {
    for atomicity in [Atomicity::RollbackOnError, Atomicity::DataplaneAtomic] {
        counters_of_replaced_entries(atomicity);
    }
}

fn counters_of_replaced_entries(atomicity: Atomicity) {
    let mut switch = Switch::new();
    let counted = |packets: u32| {
        entry(1).replace(
            "metadata",
            &format!("counter_data {{ packet_count: {packets} }} metadata"),
        )
    };
    switch.insert(&counted(9));
    let updates = vec![
        switch.update(Type::Modify, &counted(3)),
        switch.update(Type::Delete, &entry(1)),
        switch.update(Type::Insert, &entry(1)),
    ];
    switch.batch(atomicity, updates).unwrap();
    let zero = entry(1).replace("metadata", "counter_data {} metadata");
    switch.expect("table_entry { table_id: $forwarding counter_data {} }", &[&zero]);
}

#[test]
fn an_empty_batch_is_done() {
    let mut switch = Switch::new();
    switch.batch(Atomicity::ContinueOnError, Vec::new()).unwrap();
    switch.batch(Atomicity::DataplaneAtomic, Vec::new()).unwrap();
}

#[test]
fn atomicity_that_nobody_knows() {
    let mut switch = Switch::new();
    let request = WriteRequest {
        device_id: 1,
        election_id: Some(forebay_protocol::p4::v1::Uint128 { high: 0, low: 1 }),
        atomicity: 9,
        ..WriteRequest::default()
    };
    let rejection = switch.device.write(&request, switch.now).unwrap_err();
    assert_eq!(rejection.error.code, Code::InvalidArgument);
    assert!(rejection.details.is_empty(), "the batch was not looked at");
}

#[test]
fn requests_of_a_read_fail_one_by_one() {
    let mut switch = Switch::new();
    switch.insert(&entry(1));
    let request = forebay_protocol::p4::v1::ReadRequest {
        device_id: 1,
        entities: vec![
            switch.entity("table_entry { table_id: $forwarding }"),
            switch.entity("table_entry { table_id: 5 }"),
        ],
        ..Default::default()
    };
    let mut found = 0;
    let rejection = switch
        .device
        .read(&request, switch.now, &mut |message| found += message.entities.len())
        .unwrap_err();
    assert_eq!((found, codes(&rejection)), (1, vec![Code::Ok, Code::InvalidArgument]));
}
