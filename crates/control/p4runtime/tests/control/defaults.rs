//! Default entries with their counters and meters (§9.1.3, §9.1.7), tables without key, tables that begin with entries
//! (§9.1.5); with the tables of `variants.p4`.

use super::support::{Switch, VARIANTS};
use forebay_p4runtime::Code;
use forebay_protocol::p4::v1::entity::Entity as Kind;

const DROP: &str = "action { action { action_id: $drop } }";
const RATES: &str = "cir: 100 cburst: 10 pir: 200 pburst: 20";

fn default_of(table: &str, rest: &str) -> String {
    format!("table_entry {{ table_id: ${table} is_default_action: true {rest} }}")
}

#[test]
fn a_table_without_key_has_a_default_entry_only() {
    let mut switch = Switch::with(VARIANTS);
    let entry = format!("table_entry {{ table_id: $always {DROP} }}");
    switch.refuse_insert(&entry, (Code::InvalidArgument, "`VariantsIngress.always` has no key"));
    let send = r#"action { action { action_id: $send params { param_id: 1 value: "\x03" } } }"#;
    switch.modify(&default_of("always", send));
    switch.expect(&default_of("always", ""), &[&default_of("always", send)]);
}

#[test]
fn misses_are_counted_for_the_default_entry() {
    let mut switch = Switch::with(VARIANTS);
    (0..3).for_each(|_| switch.packet(&[2, 0, 0, 0]));
    (0..2).for_each(|_| switch.packet(&[9, 0, 0, 0]));
    let counted = |packets: u32| format!("counter_data {{ packet_count: {packets} byte_count: {} }}", packets * 4);
    let wanted = default_of("begun", "counter_data {}");
    let initial = default_of("begun", &format!("{DROP} {}", counted(2)));
    switch.expect(&wanted, &[&initial]);
    let every_packet = default_of("always", &format!("{DROP} {}", counted(5)));
    switch.expect(&default_of("always", "counter_data {}"), &[&every_packet]);
    let direct = |data: &str| format!("direct_counter_entry {{ {} {data} }}", default_of("begun", ""));
    switch.expect(&direct(""), &[&direct("data { packet_count: 2 byte_count: 8 }")]);
    switch.modify(&direct("data { packet_count: 40 byte_count: 50 }"));
    switch.expect(&direct(""), &[&direct("data { packet_count: 40 byte_count: 50 }")]);
    switch.modify(&default_of("begun", DROP));
    switch.expect(&direct(""), &[&direct("data { packet_count: 40 byte_count: 50 }")]);
    switch.modify(&default_of("begun", &format!("{DROP} {}", counted(1))));
    switch.expect(&direct(""), &[&direct("data { packet_count: 1 byte_count: 4 }")]);
    switch.modify(&default_of("begun", ""));
    switch.expect(&direct(""), &[&direct("data {}")]);
}

#[test]
fn a_default_entry_has_a_meter() {
    let mut switch = Switch::with(VARIANTS);
    let config = format!("meter_config {{ {RATES} }}");
    let metered = default_of("begun", &format!("{DROP} {config}"));
    switch.modify(&metered);
    switch.expect(&default_of("begun", "meter_config {}"), &[&metered]);
    switch.modify(&default_of("begun", DROP));
    let plain = default_of("begun", DROP);
    switch.expect(&default_of("begun", "meter_config {}"), &[&plain]);
    let direct = |rest: &str| format!("direct_meter_entry {{ {} {rest} }}", default_of("begun", ""));
    switch.modify(&direct(&format!("config {{ {RATES} }}")));
    switch.expect(&default_of("begun", "meter_config {}"), &[&metered]);
    switch.modify(&default_of("begun", ""));
    switch.expect(&direct(""), &[&direct("")]);
    let of_always = format!("direct_meter_entry {{ {} }}", default_of("always", ""));
    switch.refuse_modify(&of_always, (Code::InvalidArgument, "no direct meter"));
    let with_key = r#"direct_counter_entry { table_entry { table_id: $begun priority: 1 is_default_action: true } }"#;
    switch.refuse_modify(with_key, (Code::InvalidArgument, "no key and no priority"));
}

#[test]
fn default_entries_have_no_idle_time_out() {
    let mut switch = Switch::new();
    let expected = (Code::InvalidArgument, "no idle time-out");
    for rest in ["idle_timeout_ns: 5", "time_since_last_hit {}"] {
        let text = default_of("forwarding", rest);
        switch.refuse_modify(&text, expected);
        switch.refuse_read(&text, expected);
    }
}

#[test]
fn actions_that_are_no_default_actions() {
    let mut switch = Switch::with(VARIANTS);
    let here = r#"action { action { action_id: $send_here params { param_id: 1 value: "\x03" } } }"#;
    switch.refuse_modify(&default_of("begun", here), (Code::PermissionDenied, "@tableonly"));
}

/// An entry of `begun`.
fn begun(kind: u8, priority: u32, rest: &str) -> String {
    format!(
        r#"table_entry {{ table_id: $begun priority: {priority}
           match {{ field_id: 1 ternary {{ value: "\x{kind:02x}" mask: "\xff" }} }} {rest} }}"#
    )
}

#[test]
fn tables_that_begin_with_entries() {
    let mut switch = Switch::with(VARIANTS);
    let send = r#"action { action { action_id: $send params { param_id: 1 value: "\x02" } } }"#;
    let const_entry = begun(1, 10, &format!("{DROP} is_const: true"));
    switch.expect("table_entry { table_id: $begun }", &[&const_entry, &begun(2, 20, send)]);
    let denied = (Code::PermissionDenied, "`VariantsIngress.begun`");
    switch.refuse_modify(&begun(1, 10, DROP), denied);
    switch.refuse_delete(&begun(1, 10, ""), denied);
    switch.modify(&begun(1, 10, &format!("meter_config {{ {RATES} }}")));
    switch.modify(&begun(1, 10, "counter_data { packet_count: 7 }"));
    switch.modify(&begun(2, 20, DROP));
    switch.insert(&begun(3, 5, send));
    switch.delete(&begun(2, 20, ""));
    switch.expect("table_entry { table_id: $begun }", &[&const_entry, &begun(3, 5, send)]);
}

/// P4 has priority 0, P4Runtime has not: such an entry comes from the program alone.
#[test]
fn entries_of_the_program_may_have_priority_0() {
    let mut switch = Switch::with(&VARIANTS.replace("priority = 20: 2: send(2);", "priority = 0: 2: send(2);"));
    switch.refuse_insert(&begun(3, 0, DROP), (Code::InvalidArgument, "needs a priority"));
    switch.modify(&begun(2, 0, DROP));
    switch.expect(&begun(2, 0, ""), &[&begun(2, 0, DROP)]);
    let counter = |rest: &str| format!("direct_counter_entry {{ {} {rest} }}", begun(2, 0, ""));
    switch.modify(&counter("data { packet_count: 7 }"));
    switch.expect(&counter(""), &[&counter("data { packet_count: 7 }")]);
    switch.delete(&begun(2, 0, ""));
    switch.refuse_delete(&begun(2, 0, ""), (Code::InvalidArgument, "needs a priority"));
}

#[test]
fn entries_may_have_the_same_priority() {
    let mut switch = Switch::with(VARIANTS);
    switch.insert(&begun(3, 5, DROP));
    switch.insert(&begun(4, 5, DROP));
    assert_eq!(switch.read("table_entry { table_id: $begun priority: 5 }").len(), 2);
}

#[test]
fn the_higher_priority_wins() {
    let mut switch = Switch::with(VARIANTS);
    switch.insert(&begun(3, 5, DROP));
    switch.insert(&format!("table_entry {{ table_id: $begun priority: 6 {DROP} }}"));
    switch.packet(&[3, 0, 0, 0]);
    let packets = |priority: u32| {
        let wanted = format!("table_entry {{ table_id: $begun priority: {priority} counter_data {{}} }}");
        match &switch.read(&wanted)[0].entity {
            Some(Kind::TableEntry(entry)) => entry.counter_data.unwrap_or_default().packet_count,
            other => panic!("{other:?}"),
        }
    };
    assert_eq!((packets(5), packets(6)), (0, 1));
}
