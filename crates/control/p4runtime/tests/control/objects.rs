//! Counters, meters, registers, value sets (§9.3 to §9.7).

use super::support::{Switch, VARIANTS};
use forebay_p4runtime::Code;
use forebay_protocol::p4::v1::entity::Entity as Kind;

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
    switch.refuse_delete(&at(1), (Code::InvalidArgument, "only be modified"));
    switch.modify("counter_entry { counter_id: $port_counter data { packet_count: 2 } }");
    assert_eq!(switch.read("counter_entry { counter_id: $port_counter }").len(), 512);
    switch.expect(
        "counter_entry { counter_id: $port_counter index { index: 511 } }",
        &["counter_entry { counter_id: $port_counter index { index: 511 } data { packet_count: 2 } }"],
    );
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
    switch.modify(three);
    switch.modify(
        "meter_entry { meter_id: $port_meter index { index: 3 } config { cir: -1 cburst: -1 pir: -1 pburst: -1 } }",
    );
    switch.expect(unset, &[unset]);
    let in_part = "meter_entry { meter_id: $port_meter index { index: 3 } config { cir: -1 cburst: -1 pir: 3 } }";
    switch.refuse_modify(
        in_part,
        (Code::InvalidArgument, "without a configuration packets are green"),
    );
    let slow = "meter_entry { meter_id: $port_meter index { index: 3 } config { cir: 5 pir: 3 } }";
    switch.refuse_modify(slow, (Code::InvalidArgument, "EntityIngress.port_meter"));
    let excess = "meter_entry { meter_id: $port_meter index { index: 3 } config { pir: 3 eburst: 1 } }";
    switch.refuse_modify(excess, (Code::InvalidArgument, "no excess burst"));
    let at = |index: i64| format!("meter_entry {{ meter_id: $port_meter index {{ index: {index} }} }}");
    switch.refuse_modify(
        &at(512),
        (Code::OutOfRange, "`EntityIngress.port_meter` has 512 elements"),
    );
    switch.refuse_modify(&at(-1), (Code::InvalidArgument, "not negative"));
    switch.refuse_insert(&at(1), (Code::InvalidArgument, "only be modified"));
    switch.refuse_delete(&at(1), (Code::InvalidArgument, "only be modified"));
    switch.modify("meter_entry { meter_id: $port_meter config { cir: 1 pir: 1 } }");
    let all = switch.read("meter_entry { meter_id: $port_meter }");
    assert!(all.iter().all(|entity| {
        matches!(&entity.entity, Some(Kind::MeterEntry(entry)) if entry.config.is_some_and(|config| config.cir == 1))
    }));
}

#[test]
fn meters_count_by_colour() {
    let mut switch = Switch::with(VARIANTS);
    let rates = "config { cir: 1 cburst: 4 pir: 1 pburst: 8 }";
    let meter = |rest: &str| format!("meter_entry {{ meter_id: $level_meter index {{ index: 1 }} {rest} }}");
    switch.modify(&meter(rates));
    (0..3).for_each(|_| switch.packet(&[9, 0, 0, 0]));
    let one = "packet_count: 1 byte_count: 4";
    let counted = format!("counter_data {{ green {{ {one} }} yellow {{ {one} }} red {{ {one} }} }}");
    switch.expect(&meter("counter_data {}"), &[&meter(&format!("{rates} {counted}"))]);
    switch.expect(&meter(""), &[&meter(rates)]);
    switch.modify(&meter(&format!("{rates} counter_data {{ red {{ packet_count: 9 }} }}")));
    let set = "counter_data { green {} yellow {} red { packet_count: 9 } }";
    switch.expect(&meter("counter_data {}"), &[&meter(&format!("{rates} {set}"))]);
    switch.refuse_modify(
        &meter("counter_data { yellow { byte_count: -1 } }"),
        (Code::InvalidArgument, "not negative"),
    );
    switch.modify(&meter(""));
    switch.expect(&meter("counter_data {}"), &[&meter(set)]);
}

#[test]
fn meters_of_entries_count_by_colour() {
    let mut switch = Switch::with(VARIANTS);
    let key = r#"table_id: $begun priority: 20 match { field_id: 1 ternary { value: "\x02" mask: "\xff" } }"#;
    let drop = "action { action { action_id: $drop } }";
    let rates = "cir: 1 cburst: 1 pir: 1 pburst: 1";
    let entry = |rest: &str| format!("table_entry {{ {key} {rest} }}");
    switch.modify(&entry(&format!("{drop} meter_config {{ {rates} }}")));
    (0..3).for_each(|_| switch.packet(&[2, 0, 0, 0]));
    let counts = "{ green { packet_count: 1 byte_count: 4 } yellow {} red { packet_count: 2 byte_count: 8 } }";
    let counted = entry(&format!("{drop} meter_counter_data {counts}"));
    switch.expect(&entry("meter_counter_data {}"), &[&counted]);
    let direct = |rest: &str| format!("direct_meter_entry {{ table_entry {{ {key} }} {rest} }}");
    let config = format!("config {{ {rates} }}");
    switch.expect(&direct(""), &[&direct(&config)]);
    switch.expect(
        &direct("counter_data {}"),
        &[&direct(&format!("{config} counter_data {counts}"))],
    );
    switch.modify(&entry(drop));
    switch.expect(&entry("meter_counter_data {}"), &[&counted]);
    let nonzero = entry("meter_counter_data { red { byte_count: 1 } }");
    switch.refuse_modify(&nonzero, (Code::InvalidArgument, "to 0 only"));
    switch.modify(&entry("meter_counter_data {}"));
    let cleared = entry(&format!(
        "{drop} meter_counter_data {{ green {{}} yellow {{}} red {{}} }}"
    ));
    switch.expect(&entry("meter_counter_data {}"), &[&cleared]);
    switch.refuse_modify(
        &direct("counter_data { yellow { packet_count: 5 byte_count: 6 } }"),
        (Code::InvalidArgument, "to 0 only"),
    );
    switch.modify(&direct("counter_data {}"));
    switch.expect(&entry("meter_counter_data {}"), &[&cleared]);
    switch.delete(&entry(""));
    switch.insert(&entry(&format!("{drop} meter_counter_data {{}}")));
    switch.expect(&entry("meter_counter_data {}"), &[&cleared]);
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

#[test]
fn there_are_no_extern_entries() {
    let mut switch = Switch::new();
    let entry = "extern_entry { extern_type_id: 2164260865 extern_id: 1 }";
    let refused = (Code::Unimplemented, "no externs beside counters");
    switch.refuse_modify(entry, refused);
    switch.refuse_read(entry, refused);
    switch.expect("extern_entry {}", &[]);
}
