//! Byte strings and values of P4 types (§8.3, §8.4); with the registers and tables of `variants.p4`.

use super::support::{Switch, VARIANTS};
use forebay_p4runtime::Code;

fn level(value: &str) -> String {
    format!("register_entry {{ register_id: $levels index {{ index: 1 }} data {{ bitstring: \"{value}\" }} }}")
}

#[test]
fn signed_numbers_are_as_short_as_their_sign_allows() {
    let mut switch = Switch::with(VARIANTS);
    let forms = [
        ("\\x00", "\\x00"),
        ("\\x00\\x7f", "\\x7f"),
        ("\\x80", "\\x80"),
        ("\\xff\\xff\\xff\\x80", "\\x80"),
        ("\\xff\\x7f", "\\xff\\x7f"),
        ("\\x00\\x80", "\\x00\\x80"),
        ("\\x00\\x00\\x7f\\xff", "\\x7f\\xff"),
        ("\\x80\\x00", "\\x80\\x00"),
    ];
    for (written, read) in forms {
        switch.modify(&level(written));
        switch.expect(
            "register_entry { register_id: $levels index { index: 1 } }",
            &[&level(read)],
        );
    }
    for outside in ["\\x00\\x80\\x00", "\\xff\\x7f\\xff", "\\x01\\x00\\x00"] {
        switch.refuse_modify(&level(outside), (Code::OutOfRange, "VariantsIngress.levels"));
    }
    switch.refuse_modify(&level(""), (Code::OutOfRange, "empty byte string"));
}

#[test]
fn members_of_structures_stand_in_their_order() {
    let mut switch = Switch::with(VARIANTS);
    let pair = |members: &str| {
        format!("register_entry {{ register_id: $pairs index {{ index: 1 }} data {{ struct {{ {members} }} }} }}")
    };
    let both = pair(r#"members { bitstring: "\x05" } members { bitstring: "\xfe" }"#);
    switch.modify(&both);
    switch.expect("register_entry { register_id: $pairs index { index: 1 } }", &[&both]);
    let expected = (Code::InvalidArgument, "not of the type");
    switch.refuse_modify(&pair(r#"members { bitstring: "\x05" }"#), expected);
    switch.refuse_modify(
        &pair(r#"members { bool: true } members { bitstring: "\xfe" }"#),
        expected,
    );
    let plain = r#"register_entry { register_id: $pairs index { index: 1 } data { bitstring: "\x05" } }"#;
    switch.refuse_modify(plain, expected);
    let wide = pair(r#"members { bitstring: "\x01\x05" } members { bitstring: "\xfe" }"#);
    switch.refuse_modify(&wide, (Code::OutOfRange, "VariantsIngress.pairs"));
}

/// `PacketTooShort` has number 1.
#[test]
fn keys_that_are_errors_have_32_bits() {
    let mut switch = Switch::with(VARIANTS);
    let entry = |error: &str| {
        format!(
            "table_entry {{ table_id: $faulty match {{ field_id: 1 exact {{ value: \"{error}\" }} }} \
             action {{ action {{ action_id: $send params {{ param_id: 1 value: \"\\x02\" }} }} }} }}"
        )
    };
    switch.insert(&entry("\\x01"));
    switch.expect("table_entry { table_id: $faulty }", &[&entry("\\x01")]);
    switch.refuse_insert(&entry("\\x01\\x00\\x00\\x00\\x00"), (Code::OutOfRange, "parser_error"));
}

#[test]
fn every_encoding_of_a_number_names_the_same_entry() {
    let mut switch = Switch::new();
    let entry = |key: &str, rest: &str| {
        format!("table_entry {{ table_id: $forwarding match {{ field_id: 1 exact {{ value: \"{key}\" }} }} {rest} }}")
    };
    let drop = "action { action { action_id: $drop } }";
    switch.insert(&entry("\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x2a", drop));
    switch.refuse_insert(&entry("*", drop), (Code::AlreadyExists, "EntityIngress.forwarding"));
    switch.expect(&entry("\\x00*", ""), &[&entry("*", drop)]);
    switch.delete(&entry("\\x00\\x00*", ""));
    switch.expect("table_entry { table_id: $forwarding }", &[]);
}

#[test]
fn values_of_enums_with_numbers_are_numbers() {
    let mut switch = Switch::with(VARIANTS);
    let kind = |data: &str| format!("register_entry {{ register_id: $kinds index {{ index: 1 }} data {{ {data} }} }}");
    for value in ["enum_value: \"\\x02\"", "enum_value: \"\\x77\""] {
        switch.modify(&kind(value));
        switch.expect(
            "register_entry { register_id: $kinds index { index: 1 } }",
            &[&kind(value)],
        );
    }
    switch.refuse_modify(&kind("enum: \"second\""), (Code::InvalidArgument, "not of the type"));
    switch.refuse_modify(
        &kind("bitstring: \"\\x02\""),
        (Code::InvalidArgument, "not of the type"),
    );
    switch.refuse_modify(
        &kind("enum_value: \"\\x01\\x00\""),
        (Code::OutOfRange, "VariantsIngress.kinds"),
    );
}
