//! Action profiles, selectors and one-shots (§9.2).

use super::support::Switch;
use forebay_p4runtime::Code;
use forebay_protocol::p4::v1::update::Type;

fn action(port: u8) -> String {
    format!(
        r#"action {{ action_id: $set_next_hop params {{ param_id: 1 value: "\x05" }}
           params {{ param_id: 2 value: "\x{port:02x}" }} }}"#
    )
}

fn member(number: u32, port: u8) -> String {
    let action = action(port);
    format!("action_profile_member {{ action_profile_id: $next_hop_selector member_id: {number} {action} }}")
}

fn group(number: u32, rest: &str) -> String {
    format!("action_profile_group {{ action_profile_id: $next_hop_selector group_id: {number} {rest} }}")
}

fn route(action: &str) -> String {
    format!(
        r#"table_entry {{ table_id: $routing match {{ field_id: 1 lpm {{ value: "\n\x00\x00\x00" prefix_len: 8 }} }}
           {action} }}"#
    )
}

const BOTH: &str = "members { member_id: 1 weight: 2 } members { member_id: 2 weight: 1 }";

#[test]
fn members() {
    let mut switch = Switch::new();
    switch.insert(&member(1, 2));
    switch.insert(&member(2, 3));
    switch.expect("action_profile_member {}", &[&member(1, 2), &member(2, 3)]);
    let one = "action_profile_member { action_profile_id: $next_hop_selector member_id: 1 }";
    switch.modify(&member(1, 7));
    switch.expect(one, &[&member(1, 7)]);
    switch.refuse_insert(
        &member(1, 2),
        (
            Code::AlreadyExists,
            "`EntityIngress.next_hop_selector` has already member 1",
        ),
    );
    switch.refuse_modify(&member(9, 2), (Code::NotFound, "no member 9"));
    switch.refuse_delete(&member(9, 2), (Code::NotFound, "no member 9"));
    switch.refuse_insert(
        one.replace("1 }", "3 }").as_str(),
        (Code::InvalidArgument, "has no action"),
    );
    switch.refuse_insert(&member(0, 2), (Code::InvalidArgument, "not numbered 0"));
    switch.insert(&route("action { action_profile_member_id: 1 }"));
    switch.refuse_delete(one, (Code::FailedPrecondition, "member 1 is in use"));
    switch.delete(&route(""));
    switch.delete(one);
    switch.refuse_read(one, (Code::NotFound, "no member 1"));
}

#[test]
fn full_profiles() {
    let mut switch = Switch::new();
    for number in 1..=16 {
        switch.insert(&class(number));
    }
    switch.refuse_insert(&class(17), (Code::ResourceExhausted, "EntityIngress.class_profile"));
}

fn class(number: u32) -> String {
    format!(
        r#"action_profile_member {{ action_profile_id: $class_profile member_id: {number}
           action {{ action_id: $set_tos params {{ param_id: 1 value: "\x01" }} }} }}"#
    )
}

#[test]
fn groups() {
    let mut switch = Switch::new();
    switch.insert(&member(1, 2));
    switch.insert(&member(2, 3));
    switch.insert(&group(1, BOTH));
    switch.expect("action_profile_group {}", &[&group(1, BOTH)]);
    let entry = route("action { action_profile_group_id: 1 }");
    switch.insert(&entry);
    switch.expect("table_entry { table_id: $routing }", &[&entry]);
    let one = "members { member_id: 2 weight: 5 }";
    switch.modify(&group(1, one));
    switch.expect(&group(1, ""), &[&group(1, one)]);
    switch.refuse_delete(&group(1, ""), (Code::FailedPrecondition, "group 1 is in use"));
    switch.refuse_insert(&group(1, one), (Code::AlreadyExists, "has already group 1"));
    switch.refuse_modify(&group(2, one), (Code::NotFound, "no group 2"));
    switch.refuse_delete(&group(2, ""), (Code::NotFound, "group 2"));
    switch.refuse_insert(
        &group(2, "members { member_id: 9 weight: 1 }"),
        (Code::NotFound, "no member 9"),
    );
    switch.refuse_insert(
        &group(2, "members { member_id: 1 }"),
        (Code::InvalidArgument, "weight of at least 1"),
    );
    let twice = "members { member_id: 1 weight: 1 } members { member_id: 1 weight: 1 }";
    switch.refuse_insert(&group(2, twice), (Code::InvalidArgument, "member 1 twice"));
    switch.refuse_modify(
        &group(1, &format!("{one} max_size: 8")),
        (Code::InvalidArgument, "max_size 0"),
    );
    switch.refuse_insert(
        &group(2, &format!("{BOTH} max_size: 2")),
        (Code::ResourceExhausted, "max_size 2"),
    );
    switch.refuse_delete(&member(2, 3), (Code::FailedPrecondition, "member 2 is in use"));
    let named = r#"table_entry { table_id: $classes match { field_id: 1 exact { value: "\x01" } }
        action { action_profile_group_id: 1 } }"#;
    switch.refuse_insert(named, (Code::InvalidArgument, "without selector"));
    let of_profile = "action_profile_group { action_profile_id: $class_profile group_id: 1 }";
    switch.refuse_insert(of_profile, (Code::InvalidArgument, "without selector"));
    switch.refuse_insert(
        &route("action { action_profile_group_id: 77 }").replace("\\n\\x00", "\\x0b\\x00"),
        (Code::NotFound, "no group 77"),
    );
}

/// ONOS numbers members by a hash.
#[test]
fn members_and_groups_may_have_any_number() {
    let mut switch = Switch::new();
    for number in [0x8000_0000, 0x8000_0001, u32::MAX] {
        switch.insert(&member(number, 2));
        let of_one = group(number, &format!("members {{ member_id: {number} weight: 1 }}"));
        switch.insert(&of_one);
        let entry = route(&format!("action {{ action_profile_group_id: {number} }}"));
        switch.insert(&entry);
        switch.expect("table_entry { table_id: $routing }", &[&entry]);
        let of_member = route(&format!("action {{ action_profile_member_id: {number} }}"));
        switch.modify(&of_member);
        switch.delete(&of_member);
        switch.delete(&of_one);
        switch.delete(&member(number, 2));
    }
    assert_eq!(switch.device_members(), 0);
}

#[test]
fn entries_of_profiles_name_members() {
    let mut switch = Switch::new();
    let direct = route(&format!("action {{ {} }}", action(2)));
    switch.refuse_insert(&direct, (Code::InvalidArgument, "has an action profile"));
    switch.refuse_insert(
        &route("action { action_profile_member_id: 1 }"),
        (Code::NotFound, "no member 1"),
    );
}

/// As in BMv2.
#[test]
fn an_operator_may_make_a_member_or_group_the_default() {
    let mut switch = Switch::new();
    switch.insert(&member(1, 2));
    switch.insert(&group(1, "members { member_id: 1 weight: 1 }"));
    let default = |action: &str| format!("table_entry {{ table_id: $routing is_default_action: true {action} }}");
    let by_member = default("action { action_profile_member_id: 1 }");
    let why = "it has an action profile, so its default entry is the program's";
    switch.refuse_modify(&by_member, (Code::InvalidArgument, why));
    switch.refuse_modify(
        &default(&format!("action {{ {} }}", action(2))),
        (Code::InvalidArgument, why),
    );
    for text in [by_member, default("action { action_profile_group_id: 1 }")] {
        let update = switch.update(Type::Modify, &text);
        assert_eq!(switch.device.write_locally(&[update], switch.now), Ok(()));
        switch.expect(&default(""), &[&text]);
    }
    switch.refuse_delete(&group(1, ""), (Code::FailedPrecondition, "group 1 is in use"));
    switch.modify(&default(""));
    switch.delete(&group(1, ""));
    switch.delete(&member(1, 2));
}

fn one_shot(ports: &[u8]) -> String {
    let actions: String = ports
        .iter()
        .map(|port| {
            format!(
                "action_profile_actions {{ {} weight: 1 watch_port: \"\\x{port:02x}\" }} ",
                action(*port)
            )
        })
        .collect();
    route(&format!("action {{ action_profile_action_set {{ {actions} }} }}"))
}

#[test]
fn one_shots_come_back_as_they_were_written() {
    let mut switch = Switch::new();
    switch.insert(&one_shot(&[2, 2, 3]));
    switch.expect("table_entry { table_id: $routing }", &[&one_shot(&[2, 2, 3])]);
    switch.expect("action_profile_member {}", &[]);
    switch.expect("action_profile_group {}", &[]);
    switch.refuse_insert(&one_shot(&[4]), (Code::AlreadyExists, "EntityIngress.routing"));
    switch.modify(&one_shot(&[4]));
    switch.expect("table_entry { table_id: $routing }", &[&one_shot(&[4])]);
    let members = switch.device_members();
    assert_eq!(members, 1, "the members of the first are gone");
    switch.refuse_insert(&member(1, 2), (Code::InvalidArgument, "not with both"));
    switch.refuse_insert(&group(1, ""), (Code::InvalidArgument, "not with both"));
    switch.delete(&route(""));
    assert_eq!(switch.device_members(), 0);
    switch.insert(&group(1, ""));
    switch.refuse_insert(&one_shot(&[2]), (Code::InvalidArgument, "not with both"));
    switch.delete(&group(1, ""));
    switch.insert(&member(1, 2));
    switch.refuse_insert(&one_shot(&[2]), (Code::InvalidArgument, "not with both"));
}

#[test]
fn one_shots_that_cannot_be() {
    let mut switch = Switch::new();
    let set = |actions: &str, rest: &str| {
        route(&format!(
            "action {{ action_profile_action_set {{ action_profile_actions {{ {actions} }} {rest} }} }}"
        ))
    };
    let weighted = |weight: i32| format!("{} weight: {weight}", action(2));
    switch.refuse_insert(&set(&weighted(0), ""), (Code::InvalidArgument, "weight of at least 1"));
    switch.refuse_insert(&set("weight: 1", ""), (Code::InvalidArgument, "action is missing"));
    let random = set(&weighted(1), "action_selection_mode: RANDOM");
    switch.refuse_insert(&random, (Code::Unimplemented, "not at random"));
    switch.insert(&set(
        &weighted(1),
        "action_selection_mode: HASH size_semantics: SUM_OF_WEIGHTS",
    ));
    let of_forwarding = r#"table_entry { table_id: $forwarding match { field_id: 1 exact { value: "\x01" } }
        action { action_profile_action_set {} } }"#;
    switch.refuse_insert(of_forwarding, (Code::InvalidArgument, "has no action profile"));
}

#[test]
fn members_whose_port_is_down_are_left_out() {
    let mut switch = Switch::new();
    for port in [1, 2, 3] {
        switch.device.port_changed(port, true);
    }
    switch.insert(&member(1, 2));
    switch.insert(&member(2, 3));
    let watching = r#"members { member_id: 1 weight: 1 watch_port: "\x02" } members { member_id: 2 weight: 1 watch_port: "\x03" }"#;
    switch.insert(&group(1, watching));
    assert_eq!(switch.live_members(1), [1, 2]);
    switch.device.port_changed(2, false);
    assert_eq!(switch.live_members(1), [2]);
    switch.expect(&group(1, ""), &[&group(1, watching)]);
    switch.refuse_delete(&member(1, 2), (Code::FailedPrecondition, "member 1 is in use"));
    switch.device.port_changed(3, false);
    assert_eq!(switch.live_members(1), [] as [u32; 0]);
    switch.device.port_changed(2, true);
    assert_eq!(switch.live_members(1), [1]);
    // What would be too much with all ports up is so before.
    let heavy = r#"members { member_id: 1 weight: 1 } members { member_id: 2 weight: 65536 watch_port: "\x03" }"#;
    switch.refuse_insert(&group(2, heavy), (Code::ResourceExhausted, "add up to 65536"));
    let nowhere = r#"members { member_id: 1 weight: 1 watch_port: "\x09" }"#;
    let expected = "`EntityIngress.next_hop_selector`: watch port of member 1: the switch has no port 9";
    switch.refuse_insert(&group(2, nowhere), (Code::InvalidArgument, expected));
}
