//! Counters, meters, registers, value sets (§9.3 to §9.7).

use super::support::Switch;
use forebay_control::Code;

#[test]
fn counters() {
    let mut switch = Switch::new();
    let three =
        "counter_entry { counter_id: $port_counter index { index: 3 } data { packet_count: 7 byte_count: 700 } }";
    switch.modify(three);
    switch.expect(
        "counter_entry { counter_id: $port_counter index { index: 3 } }",
        &[three],
    );
    assert_eq!(switch.read("counter_entry { counter_id: $port_counter }").len(), 512);
    assert_eq!(switch.read("counter_entry {}").len(), 512);
    switch.modify("counter_entry { counter_id: $port_counter data {} }");
    let zero = "counter_entry { counter_id: $port_counter index { index: 3 } data {} }";
    switch.expect(
        "counter_entry { counter_id: $port_counter index { index: 3 } }",
        &[zero],
    );
    let at = |index: i64| format!("counter_entry {{ counter_id: $port_counter index {{ index: {index} }} data {{}} }}");
    switch.refuse_modify(
        &at(512),
        (Code::OutOfRange, "`EntityIngress.port_counter` has 512 elements"),
    );
    switch.refuse_modify(&at(-1), (Code::InvalidArgument, "not negative"));
    switch.refuse_insert(&at(1), (Code::InvalidArgument, "only be modified"));
    switch.refuse_modify(
        "counter_entry { counter_id: 1 }",
        (Code::InvalidArgument, "EntityIngress.port_counter"),
    );
    switch.refuse_read(&at(512), (Code::OutOfRange, "512"));
}

#[test]
fn meters() {
    let mut switch = Switch::new();
    let three = "meter_entry { meter_id: $port_meter index { index: 3 } config { cir: 1 cburst: 2 pir: 3 pburst: 4 } }";
    switch.modify(three);
    switch.expect("meter_entry { meter_id: $port_meter index { index: 3 } }", &[three]);
    switch.modify("meter_entry { meter_id: $port_meter index { index: 3 } }");
    let unset = "meter_entry { meter_id: $port_meter index { index: 3 } }";
    switch.expect(unset, &[unset]);
    assert_eq!(switch.read("meter_entry {}").len(), 512);
    let slow = "meter_entry { meter_id: $port_meter index { index: 3 } config { cir: 5 pir: 3 } }";
    switch.refuse_modify(slow, (Code::InvalidArgument, "EntityIngress.port_meter"));
    let coloured = "meter_entry { meter_id: $port_meter index { index: 3 } counter_data {} }";
    switch.refuse_modify(coloured, (Code::Unimplemented, "colour"));
    switch.refuse_read(coloured, (Code::Unimplemented, "colour"));
}

#[test]
fn registers() {
    let mut switch = Switch::new();
    let one = |index: u32, value: &str| {
        format!(
            "register_entry {{ register_id: $last_source index {{ index: {index} }} data {{ bitstring: \"{value}\" }} }}"
        )
    };
    switch.modify(&one(4, "\\x01\\x02"));
    switch.expect(
        "register_entry { register_id: $last_source index { index: 4 } }",
        &[&one(4, "\\x01\\x02")],
    );
    switch.expect(
        "register_entry { register_id: $last_source index { index: 5 } }",
        &[&one(5, "\\x00")],
    );
    switch.modify("register_entry { register_id: $last_source data { bitstring: \"\\x09\" } }");
    let all: Vec<String> = (0..16).map(|index| one(index, "\\x09")).collect();
    let all: Vec<&str> = all.iter().map(String::as_str).collect();
    switch.expect("register_entry { register_id: $last_source }", &all);
    switch.refuse_modify(
        &one(16, "\\x00"),
        (Code::OutOfRange, "`EntityIngress.last_source` has 16 elements"),
    );
    switch.refuse_modify(&one(1, "\\x01\\x00\\x00\\x00\\x00"), (Code::OutOfRange, "32 bits"));
    let wrong = "register_entry { register_id: $last_source index {} data { bool: true } }";
    switch.refuse_modify(wrong, (Code::InvalidArgument, "not of the type"));
    let negative = "register_entry { register_id: $last_source index { index: -1 } data { bitstring: \"\\x00\" } }";
    switch.refuse_modify(negative, (Code::InvalidArgument, "not negative"));
    switch.refuse_modify(
        "register_entry { register_id: $last_source }",
        (Code::InvalidArgument, "no data"),
    );
    switch.refuse_insert(&one(1, "\\x00"), (Code::InvalidArgument, "only be modified"));
}

#[test]
fn value_sets() {
    let mut switch = Switch::new();
    let set = |values: &[&str]| {
        let members: String = values
            .iter()
            .map(|value| format!("members {{ match {{ field_id: 1 exact {{ value: \"{value}\" }} }} }} "))
            .collect();
        format!("value_set_entry {{ value_set_id: $special_types {members} }}")
    };
    let two = set(&["\\x22\\xf3", "\\x89\\x3b"]);
    switch.modify(&two);
    switch.expect("value_set_entry { value_set_id: $special_types }", &[&two]);
    switch.expect("value_set_entry {}", &[&two]);
    switch.refuse_modify(&set(&["\\x01", "\\x01"]), (Code::AlreadyExists, "given twice"));
    let five = set(&["\\x01", "\\x02", "\\x03", "\\x04", "\\x05"]);
    switch.refuse_modify(&five, (Code::ResourceExhausted, "room for 4"));
    switch.refuse_insert(&two, (Code::InvalidArgument, "only be modified"));
    switch.refuse_delete(&two, (Code::InvalidArgument, "only be modified"));
    switch.modify(&set(&[]));
    switch.expect("value_set_entry { value_set_id: $special_types }", &[&set(&[])]);
}
