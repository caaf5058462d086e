//! Table entries (§9.1).

use super::support::Switch;
use forebay_p4runtime::Code;
use forebay_protocol::p4::v1::entity::Entity as Kind;
use forebay_protocol::p4::v1::{ReadRequest, ReadResponse};

/// An entry of `forwarding`: the last byte of the address, what follows the key.
fn forwarding(address: u8, rest: &str) -> String {
    format!(
        "table_entry {{ table_id: $forwarding match {{ field_id: 1 exact {{ value: \"\\x{address:02x}\" }} }} {rest} }}"
    )
}

const TO_PORT_2: &str = r#"action { action { action_id: $forward params { param_id: 1 value: "\x02" } } }"#;
const TO_PORT_3: &str = r#"action { action { action_id: $forward params { param_id: 1 value: "\x03" } } }"#;
const ALLOW: &str = "action { action { action_id: $allow } }";

#[test]
fn what_is_written_is_read() {
    let mut switch = Switch::new();
    let entry = forwarding(1, TO_PORT_2);
    switch.insert(&entry);
    switch.expect("table_entry { table_id: $forwarding }", &[&entry]);
    let changed = forwarding(1, TO_PORT_3);
    switch.modify(&changed);
    switch.expect("table_entry { table_id: $forwarding }", &[&changed]);
    switch.delete(&forwarding(1, ""));
    switch.expect("table_entry { table_id: $forwarding }", &[]);
}

#[test]
fn a_modify_without_action_keeps_it() {
    let mut switch = Switch::new();
    switch.insert(&forwarding(1, TO_PORT_2));
    switch.modify(&forwarding(1, "metadata: \"m\""));
    let kept = forwarding(1, &format!("{TO_PORT_2} metadata: \"m\""));
    switch.expect("table_entry { table_id: $forwarding }", &[&kept]);
}

#[test]
fn entries_are_unique_by_match_and_priority() {
    let mut switch = Switch::new();
    switch.insert(&forwarding(1, TO_PORT_2));
    switch.refuse_insert(
        &forwarding(1, TO_PORT_3),
        (Code::AlreadyExists, "EntityIngress.forwarding"),
    );
    switch.refuse_modify(&forwarding(2, TO_PORT_3), (Code::NotFound, "EntityIngress.forwarding"));
    switch.refuse_delete(&forwarding(2, ""), (Code::NotFound, "EntityIngress.forwarding"));
    let filter = |priority| format!("table_entry {{ table_id: $filter priority: {priority} {ALLOW} }}");
    switch.insert(&filter(1));
    switch.insert(&filter(2));
    switch.refuse_insert(&filter(2), (Code::AlreadyExists, "EntityIngress.filter"));
}

#[test]
fn delete_looks_at_the_key_alone() {
    let mut switch = Switch::new();
    switch.insert(&forwarding(1, TO_PORT_2));
    switch.delete(&forwarding(
        1,
        "action { action { action_id: 77 } } idle_timeout_ns: -5",
    ));
    switch.expect("table_entry { table_id: $forwarding }", &[]);
}

#[test]
fn unknown_ids() {
    let mut switch = Switch::new();
    switch.refuse_insert(
        "table_entry { table_id: 33554433 }",
        (Code::InvalidArgument, "no table with id 0x02000001"),
    );
    switch.refuse_insert("table_entry {}", (Code::InvalidArgument, "no table"));
    let unknown_field = r#"table_entry { table_id: $forwarding match { field_id: 9 exact { value: "\x01" } } }"#;
    switch.refuse_insert(unknown_field, (Code::InvalidArgument, "`hdr.ethernet.dst_addr`"));
    let unknown_action = forwarding(1, "action { action { action_id: 16777217 } }");
    switch.refuse_insert(
        &unknown_action,
        (Code::InvalidArgument, "`EntityIngress.forwarding` has no action"),
    );
    let not_listed = forwarding(1, "action { action { action_id: $allow } }");
    switch.refuse_insert(&not_listed, (Code::InvalidArgument, "`EntityIngress.allow`"));
}

#[test]
fn actions_and_their_parameters() {
    let mut switch = Switch::new();
    let action = |params: &str| forwarding(1, &format!("action {{ action {{ action_id: $forward {params} }} }}"));
    let refused = [
        ("", Code::InvalidArgument, "parameter `port` is missing"),
        (
            r#"params { param_id: 2 value: "\x01" }"#,
            Code::InvalidArgument,
            "parameter 2 does not exist",
        ),
        (
            r#"params { param_id: 1 value: "\x01" } params { param_id: 1 value: "\x01" }"#,
            Code::InvalidArgument,
            "given twice",
        ),
        (
            r#"params { param_id: 1 value: "\x02\x00" }"#,
            Code::OutOfRange,
            "does not fit in 9 bits",
        ),
        (
            r#"params { param_id: 1 value: "" }"#,
            Code::OutOfRange,
            "empty byte string",
        ),
    ];
    for (params, code, message) in refused {
        switch.refuse_insert(&action(params), (code, message));
    }
    switch.refuse_insert(&forwarding(1, ""), (Code::InvalidArgument, "has no action"));
    let default_only = forwarding(1, "action { action { action_id: $NoAction } }");
    switch.refuse_insert(&default_only, (Code::PermissionDenied, "@defaultonly"));
    let by_member = forwarding(1, "action { action_profile_member_id: 1 }");
    switch.refuse_insert(&by_member, (Code::InvalidArgument, "has no action profile"));
}

#[test]
fn values_are_canonical_when_read() {
    let mut switch = Switch::new();
    let long = r#"table_entry { table_id: $forwarding match { field_id: 1 exact { value: "\x00\x00\x00\x00\x00\x01" } }
        action { action { action_id: $forward params { param_id: 1 value: "\x00\x00\x02" } } } }"#;
    switch.insert(long);
    switch.expect("table_entry { table_id: $forwarding }", &[&forwarding(1, TO_PORT_2)]);
}

/// An entry of `filter`.
fn filter(matches: &str) -> String {
    format!("table_entry {{ table_id: $filter priority: 5 {matches} {ALLOW} }}")
}

#[test]
fn ternary_range_and_optional() {
    let mut switch = Switch::new();
    let all = filter(
        r#"match { field_id: 1 ternary { value: "\n\x00\x00\x00" mask: "\xff\x00\x00\x00" } }
           match { field_id: 2 range { low: "\x14" high: "\x40" } }
           match { field_id: 3 optional { value: "\x01" } }"#,
    );
    switch.insert(&all);
    switch.expect("table_entry { table_id: $filter }", &[&all]);
    let refused = [
        (
            r#"match { field_id: 1 ternary { value: "\x00" mask: "\x00" } }"#,
            "leave it out",
        ),
        (
            r#"match { field_id: 1 ternary { value: "\x03" mask: "\x01" } }"#,
            "its mask leaves out",
        ),
        (
            r#"match { field_id: 2 range { low: "\x05" high: "\x04" } }"#,
            "low end is above",
        ),
        (
            r#"match { field_id: 2 range { low: "\x00" high: "\xff\xff" } }"#,
            "leave it out",
        ),
        (
            r#"match { field_id: 2 exact { value: "\x00" } }"#,
            "is matched as range",
        ),
        ("match { field_id: 2 }", "has no value"),
        (
            r#"match { field_id: 3 optional { value: "\x01" } } match { field_id: 3 optional { value: "\x02" } }"#,
            "given twice",
        ),
    ];
    for (matches, message) in refused {
        switch.refuse_insert(&filter(matches), (Code::InvalidArgument, message));
    }
}

#[test]
fn priorities() {
    let mut switch = Switch::new();
    let none = format!("table_entry {{ table_id: $filter {ALLOW} }}");
    switch.refuse_insert(&none, (Code::InvalidArgument, "needs a priority"));
    let negative = format!("table_entry {{ table_id: $filter priority: -1 {ALLOW} }}");
    switch.refuse_insert(&negative, (Code::InvalidArgument, "positive"));
    let needless = forwarding(1, &format!("priority: 3 {TO_PORT_2}"));
    switch.refuse_insert(&needless, (Code::InvalidArgument, "has no priority"));
}

#[test]
fn prefixes() {
    let mut switch = Switch::new();
    switch.insert(
        r#"action_profile_member { action_profile_id: $next_hop_selector member_id: 1 action { action_id: $set_next_hop
        params { param_id: 1 value: "\x05" } params { param_id: 2 value: "\x02" } } }"#,
    );
    let route = |prefix: &str| {
        format!("table_entry {{ table_id: $routing {prefix} action {{ action_profile_member_id: 1 }} }}")
    };
    let ten = route(r#"match { field_id: 1 lpm { value: "\n\x00\x00\x00" prefix_len: 8 } }"#);
    switch.insert(&ten);
    let default = route("");
    switch.insert(&default);
    switch.expect("table_entry { table_id: $routing }", &[&ten, &default]);
    let refused = [
        (
            r#"match { field_id: 1 lpm { value: "\x00" prefix_len: 0 } }"#,
            "leave it out",
        ),
        (
            r#"match { field_id: 1 lpm { value: "\n\x00\x00\x01" prefix_len: 8 } }"#,
            "after its prefix",
        ),
        (
            r#"match { field_id: 1 lpm { value: "\x00" prefix_len: 33 } }"#,
            "no prefix of 33",
        ),
        (
            r#"match { field_id: 1 lpm { value: "\x00" prefix_len: -1 } }"#,
            "no prefix of -1",
        ),
    ];
    for (prefix, message) in refused {
        switch.refuse_insert(&route(prefix), (Code::InvalidArgument, message));
    }
}

#[test]
fn exact_fields_cannot_be_left_out() {
    let mut switch = Switch::new();
    let text = format!("table_entry {{ table_id: $forwarding {TO_PORT_2} }}");
    switch.refuse_insert(&text, (Code::InvalidArgument, "must be given"));
}

#[test]
fn full_tables() {
    let mut switch = Switch::new();
    for priority in 1..=128 {
        switch.insert(&format!(
            "table_entry {{ table_id: $filter priority: {priority} {ALLOW} }}"
        ));
    }
    let one_more = format!("table_entry {{ table_id: $filter priority: 129 {ALLOW} }}");
    switch.refuse_insert(
        &one_more,
        (
            Code::ResourceExhausted,
            "`EntityIngress.filter` is full: its size is 128",
        ),
    );
}

#[test]
fn default_entries() {
    let mut switch = Switch::new();
    let wanted = "table_entry { table_id: $forwarding is_default_action: true }";
    let initial =
        "table_entry { table_id: $forwarding is_default_action: true action { action { action_id: $NoAction } } }";
    switch.expect(wanted, &[initial]);
    let changed = r#"table_entry { table_id: $forwarding is_default_action: true metadata: "m"
        action { action { action_id: $drop } } }"#;
    switch.modify(changed);
    switch.expect(wanted, &[changed]);
    switch.modify(wanted);
    switch.expect(wanted, &[initial]);
    switch.refuse_insert(initial, (Code::InvalidArgument, "only be modified"));
    switch.refuse_delete(initial, (Code::InvalidArgument, "only be modified"));
    let with_key = forwarding(1, "is_default_action: true");
    switch.refuse_modify(&with_key, (Code::InvalidArgument, "no key and no priority"));
    let with_timeout = "table_entry { table_id: $forwarding is_default_action: true idle_timeout_ns: 5 }";
    switch.refuse_modify(with_timeout, (Code::InvalidArgument, "no idle time-out"));
    let const_default =
        "table_entry { table_id: $learning is_default_action: true action { action { action_id: $NoAction } } }";
    switch.refuse_modify(const_default, (Code::PermissionDenied, "default action is const"));
}

#[test]
fn const_tables() {
    let mut switch = Switch::new();
    let lldp = r#"table_entry { table_id: $fixed match { field_id: 1 exact { value: "\x88\xcc" } } is_const: true
        action { action { action_id: $drop } } }"#;
    let found = switch.read("table_entry { table_id: $fixed }");
    assert_eq!(found.len(), 2);
    assert!(found.contains(&switch.entity(lldp)));
    let denied = (Code::PermissionDenied, "EntityIngress.fixed");
    let key = |value: &str, rest: &str| {
        format!("table_entry {{ table_id: $fixed match {{ field_id: 1 exact {{ value: \"{value}\" }} }} {rest} }}")
    };
    let drop = "action { action { action_id: $drop } }";
    switch.refuse_insert(&key("\\x08", drop), denied);
    switch.refuse_modify(&key("\\x88\\xcc", drop), denied);
    switch.refuse_delete(&key("\\x88\\xcc", ""), denied);
    switch.modify(&key("\\x88\\xcc", ""));
    switch.refuse_modify(&key("\\x88\\xcc", "metadata: \"m\""), denied);
    switch.refuse_modify(&key("\\x12\\x34", drop), denied);
    switch.refuse_delete(&key("\\x12\\x34", ""), denied);
    let marked = forwarding(1, "is_const: true");
    switch.refuse_insert(&marked, (Code::InvalidArgument, "is_const"));
    switch.insert(&forwarding(1, TO_PORT_2));
    switch.refuse_modify(&marked, (Code::InvalidArgument, "is_const"));
    switch.refuse_delete(&marked, (Code::InvalidArgument, "is_const"));
}

#[test]
fn metadata_comes_back_and_filters() {
    let mut switch = Switch::new();
    let first = forwarding(1, &format!("{TO_PORT_2} metadata: \"one\" controller_metadata: 7"));
    let second = forwarding(2, &format!("{TO_PORT_3} metadata: \"two\""));
    switch.insert(&first);
    switch.insert(&second);
    switch.expect("table_entry { table_id: $forwarding }", &[&first, &second]);
    switch.expect("table_entry { table_id: $forwarding metadata: \"two\" }", &[&second]);
    switch.expect(
        "table_entry { table_id: $forwarding controller_metadata: 7 }",
        &[&first],
    );
    switch.modify(&forwarding(1, TO_PORT_2));
    switch.expect("table_entry { table_id: $forwarding metadata: \"one\" }", &[]);
}

#[test]
fn a_read_without_entities_has_one_empty_message() {
    let switch = Switch::new();
    let messages = |wanted: &[&str]| {
        let request = ReadRequest {
            device_id: 1,
            entities: wanted.iter().map(|text| switch.entity(text)).collect(),
            ..ReadRequest::default()
        };
        let mut messages = Vec::new();
        let done = switch
            .device
            .read(&request, switch.now, &mut |message| messages.push(message));
        done.map(|()| messages)
    };
    let empty = vec![ReadResponse::default()];
    assert_eq!(messages(&["table_entry { table_id: $forwarding }"]).unwrap(), empty);
    assert_eq!(messages(&[]).unwrap(), empty);
    assert_eq!(
        messages(&["digest_entry {}", "action_profile_member {}"]).unwrap(),
        empty
    );
}

/// Clients of gRPC take messages of 4 MB.
#[test]
fn much_metadata_comes_in_several_messages() {
    let mut switch = Switch::new();
    let metadata = "m".repeat(900_000);
    (1..=6).for_each(|number| switch.insert(&forwarding(number, &format!("{TO_PORT_2} metadata: \"{metadata}\""))));
    let request = ReadRequest {
        device_id: 1,
        entities: vec![switch.entity("table_entry { table_id: $forwarding }")],
        ..ReadRequest::default()
    };
    let mut counts = Vec::new();
    let mut sink = |message: ReadResponse| counts.push(message.entities.len());
    switch.device.read(&request, switch.now, &mut sink).unwrap();
    assert_eq!(counts, [2, 2, 2]);
}

#[test]
fn filters_of_reads() {
    let mut switch = Switch::new();
    let entry = forwarding(1, TO_PORT_2);
    let dropped = forwarding(2, "action { action { action_id: $drop } }");
    let low = format!("table_entry {{ table_id: $filter priority: 1 {ALLOW} }}");
    let high = format!("table_entry {{ table_id: $filter priority: 2 {ALLOW} }}");
    for text in [&entry, &dropped, &low, &high] {
        switch.insert(text);
    }
    switch.expect(&forwarding(1, ""), &[&entry]);
    switch.expect(&forwarding(9, ""), &[]);
    switch.expect(
        "table_entry { table_id: $forwarding action { action { action_id: $drop } } }",
        &[&dropped],
    );
    switch.expect("table_entry { table_id: $filter priority: 2 }", &[&high]);
    let entry = filter(r#"match { field_id: 3 optional { value: "\x01" } }"#);
    let matched = |priority: u32| entry.replace("priority: 5", &format!("priority: {priority}"));
    switch.insert(&matched(3));
    switch.insert(&matched(4));
    // Priority 0 stands for all.
    switch.expect(&matched(0), &[&matched(3), &matched(4)]);
    switch.expect(&matched(4), &[&matched(4)]);
    switch.delete(&matched(3));
    switch.refuse_delete(&matched(0), (Code::InvalidArgument, "needs a priority"));
    switch.delete(&matched(4));
    switch.expect(&matched(0), &[]);
    assert_eq!(
        switch.read("table_entry {}").len(),
        6,
        "all tables, those of the program too"
    );
    switch.refuse_read("table_entry { priority: 2 }", (Code::InvalidArgument, "table_id"));
    switch.refuse_read("table_entry { table_id: 5 }", (Code::InvalidArgument, "no table"));
}

#[test]
fn direct_counters() {
    let mut switch = Switch::new();
    switch.insert(&forwarding(
        1,
        &format!("{TO_PORT_2} counter_data {{ packet_count: 3 byte_count: 300 }}"),
    ));
    switch.insert(&forwarding(2, TO_PORT_2));
    let with_data = |address, packets: u32, bytes: u32| {
        forwarding(
            address,
            &format!("{TO_PORT_2} counter_data {{ packet_count: {packets} byte_count: {bytes} }}"),
        )
    };
    let wanted = "table_entry { table_id: $forwarding counter_data {} }";
    switch.expect(wanted, &[&with_data(1, 3, 300), &with_data(2, 0, 0)]);
    switch.expect(
        "table_entry { table_id: $forwarding }",
        &[&forwarding(1, TO_PORT_2), &forwarding(2, TO_PORT_2)],
    );
    switch.modify(&forwarding(1, TO_PORT_2));
    let direct = |address, data: &str| {
        let key = forwarding(address, "");
        format!("direct_counter_entry {{ {key} {data} }}")
    };
    switch.expect(
        &direct(1, ""),
        &[&direct(1, "data { packet_count: 3 byte_count: 300 }")],
    );
    switch.modify(&direct(2, "data { packet_count: 8 byte_count: 9 }"));
    switch.modify(&direct(1, ""));
    let all = "direct_counter_entry { table_entry { table_id: $forwarding } }";
    switch.expect(
        all,
        &[
            &direct(1, "data { packet_count: 3 byte_count: 300 }"),
            &direct(2, "data { packet_count: 8 byte_count: 9 }"),
        ],
    );
    switch.refuse_insert(&direct(1, ""), (Code::InvalidArgument, "only be modified"));
    switch.refuse_delete(&direct(1, ""), (Code::InvalidArgument, "only be modified"));
    switch.refuse_modify(&direct(7, "data {}"), (Code::NotFound, "EntityIngress.forwarding"));
    switch.refuse_read(&direct(7, ""), (Code::NotFound, "EntityIngress.forwarding"));
    let of_filter = "direct_counter_entry { table_entry { table_id: $filter } }";
    switch.refuse_read(of_filter, (Code::InvalidArgument, "no direct counter"));
    let counted = format!("table_entry {{ table_id: $filter priority: 1 {ALLOW} counter_data {{}} }}");
    switch.refuse_insert(
        &counted,
        (Code::InvalidArgument, "`EntityIngress.filter` has no direct counter"),
    );
}

#[test]
fn a_key_without_a_table_names_no_direct_counter_or_meter() {
    let mut switch = Switch::new();
    switch.insert(&forwarding(1, TO_PORT_2));
    let key = r#"table_entry { match { field_id: 1 exact { value: "\x01" } } }"#;
    for wanted in [
        format!("direct_counter_entry {{ {key} }}"),
        format!("direct_meter_entry {{ {key} }}"),
    ] {
        let rejection = switch.try_read(&wanted).unwrap_err();
        assert_eq!(rejection.details[0].canonical_code, Code::InvalidArgument as i32);
        assert!(rejection.error.message.contains("give a table_id"), "{rejection}");
    }
}

#[test]
fn direct_meters() {
    let mut switch = Switch::new();
    let config = "{ cir: 100 cburst: 10 pir: 200 pburst: 20 }";
    let metered = |config: &str| format!("table_entry {{ table_id: $filter priority: 1 {ALLOW} {config} }}");
    let wanted = "table_entry { table_id: $filter meter_config {} }";
    switch.insert(&metered(&format!("meter_config {config}")));
    switch.expect(wanted, &[&metered(&format!("meter_config {config}"))]);
    switch.expect("table_entry { table_id: $filter }", &[&metered("")]);
    let direct =
        |config: &str| format!("direct_meter_entry {{ table_entry {{ table_id: $filter priority: 1 }} {config} }}");
    switch.expect(&direct(""), &[&direct(&format!("config {config}"))]);
    switch.modify(&metered(""));
    switch.expect(wanted, &[&metered("")]);
    switch.modify(&direct(&format!("config {config}")));
    switch.expect(wanted, &[&metered(&format!("meter_config {config}"))]);
    let default = "{ cir: -1 cburst: -1 pir: -1 pburst: -1 }";
    switch.modify(&direct(&format!("config {default}")));
    switch.expect(wanted, &[&metered("")]);
    switch.modify(&metered(&format!("meter_config {default}")));
    switch.expect(wanted, &[&metered("")]);
    switch.modify(&direct(&format!("config {config}")));
    let refused = [
        ("cir: 5 pir: 4", "above the peak rate"),
        ("cir: -5 pir: 4", "not negative"),
        ("pir: 4 eburst: 1", "excess burst"),
    ];
    for (config, message) in refused {
        let expected = (Code::InvalidArgument, message);
        switch.refuse_modify(&metered(&format!("meter_config {{ {config} }}")), expected);
        switch.refuse_modify(&direct(&format!("config {{ {config} }}")), expected);
    }
    let of_forwarding = forwarding(1, &format!("{TO_PORT_2} meter_config {{}}"));
    switch.refuse_insert(&of_forwarding, (Code::InvalidArgument, "no direct meter"));
    switch.refuse_insert(&direct(""), (Code::InvalidArgument, "only be modified"));
    switch.refuse_delete(&direct(""), (Code::InvalidArgument, "only be modified"));
    let counts = "counter_data { green { packet_count: 3 } }";
    switch.refuse_modify(&direct(counts), (Code::InvalidArgument, "to 0 only"));
    switch.modify(&direct("counter_data {}"));
    let nowhere = r#"direct_meter_entry { table_entry { table_id: $filter priority: 9
        match { field_id: 3 optional { value: "\x01" } } } }"#;
    switch.refuse_modify(nowhere, (Code::NotFound, "EntityIngress.filter"));
    switch.refuse_read(nowhere, (Code::NotFound, "EntityIngress.filter"));
}

#[test]
fn idle_timeouts_are_written_and_read() {
    let mut switch = Switch::new();
    let entry = forwarding(1, &format!("{TO_PORT_2} idle_timeout_ns: 5000"));
    switch.insert(&entry);
    switch.expect("table_entry { table_id: $forwarding }", &[&entry]);
    switch.now.switch_ns += 300;
    let found = switch.read("table_entry { table_id: $forwarding time_since_last_hit {} }");
    let Some(Kind::TableEntry(found)) = &found[0].entity else {
        panic!()
    };
    assert_eq!(found.time_since_last_hit.unwrap().elapsed_ns, 300);
    let expected = (Code::InvalidArgument, "no idle time-outs");
    let of_filter = format!("table_entry {{ table_id: $filter priority: 1 {ALLOW} idle_timeout_ns: 7 }}");
    switch.refuse_insert(&of_filter, expected);
    switch.refuse_read("table_entry { table_id: $filter time_since_last_hit {} }", expected);
    let hit = forwarding(2, &format!("{TO_PORT_2} time_since_last_hit {{}}"));
    switch.refuse_insert(&hit, (Code::InvalidArgument, "can only be read"));
}

#[test]
fn updates_need_a_type_and_an_entity() {
    let mut switch = Switch::new();
    let text = forwarding(1, TO_PORT_2);
    let unspecified = forebay_protocol::p4::v1::update::Type::Unspecified;
    switch.refuse(
        unspecified,
        &text,
        (Code::InvalidArgument, "INSERT, a MODIFY or a DELETE"),
    );
    switch.refuse_insert("", (Code::InvalidArgument, "no entity"));
    switch.refuse_read("", (Code::InvalidArgument, "kind of entity"));
    switch.refuse_insert("extern_entry { extern_type_id: 129 }", (Code::Unimplemented, "externs"));
}
