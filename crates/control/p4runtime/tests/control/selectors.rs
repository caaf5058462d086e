//! Limits of action selectors (§9.2.2, §9.2.3): sizes, weights, what both mean; with the selectors of `variants.p4`.

use super::support::{Switch, VARIANTS};
use forebay_p4runtime::Code;

/// Tables and their selectors: a group's weights are 3 at most; members are 2 at most, each of a weight of 5 at most;
/// no weights.
const LIMITED: (&str, &str) = ("by_limited", "limited");
const COUNTED: (&str, &str) = ("by_counted", "counted");
const PLAIN: (&str, &str) = ("by_plain", "plain");

fn action(port: u8) -> String {
    format!(r#"action {{ action_id: $send params {{ param_id: 1 value: "\x{port:02x}" }} }}"#)
}

fn member(profile: &str, number: u32) -> String {
    let action = action(number as u8);
    format!("action_profile_member {{ action_profile_id: ${profile} member_id: {number} {action} }}")
}

/// A group of members with these weights, numbered from 1 on.
fn group(profile: &str, number: u32, weights: &[i32], rest: &str) -> String {
    let members = (1..).zip(weights);
    let members = members.map(|(member, weight)| format!("members {{ member_id: {member} weight: {weight} }}"));
    let members = members.collect::<String>();
    format!("action_profile_group {{ action_profile_id: ${profile} group_id: {number} {members} {rest} }}")
}

/// An entry with a one-shot of actions with these weights.
fn one_shot(table: &str, weights: &[i32], rest: &str) -> String {
    let actions = (1..).zip(weights);
    let actions =
        actions.map(|(port, weight)| format!("action_profile_actions {{ {} weight: {weight} }}", action(port)));
    let actions = actions.collect::<String>();
    format!(
        r#"table_entry {{ table_id: ${table} match {{ field_id: 1 exact {{ value: "\x01" }} }}
           action {{ action_profile_action_set {{ {actions} {rest} }} }} }}"#
    )
}

fn with_members(profile: &str) -> Switch {
    let mut switch = Switch::with(VARIANTS);
    (1..=3).for_each(|number| switch.insert(&member(profile, number)));
    switch
}

#[test]
fn the_size_of_a_group_is_limited() {
    let mut switch = with_members(LIMITED.1);
    for (size, message) in [("max_size: 4", "from 1 to 3"), ("max_size: -1", "from 1 to 3")] {
        let text = group(LIMITED.1, 1, &[1], size);
        switch.refuse_insert(&text, (Code::InvalidArgument, message));
    }
    switch.insert(&group(LIMITED.1, 1, &[2, 1], "max_size: 3"));
    let larger = group(LIMITED.1, 1, &[2, 2], "max_size: 3");
    switch.refuse_modify(&larger, (Code::ResourceExhausted, "max_size 3"));
    switch.refuse_insert(
        &group(LIMITED.1, 2, &[1, 1, 1], "max_size: 2"),
        (Code::ResourceExhausted, "max_size 2"),
    );
    let unlimited = group(PLAIN.1, 1, &[], "max_size: -1");
    switch.refuse_insert(
        &unlimited,
        (Code::InvalidArgument, "max_size -1; it must not be negative"),
    );
    // Without a size, the greatest size of a group is that of the program.
    switch.insert(&group(LIMITED.1, 3, &[1, 1, 1], ""));
    let larger = group(LIMITED.1, 3, &[2, 1, 1], "");
    switch.refuse_modify(&larger, (Code::ResourceExhausted, "max_size 3"));
}

#[test]
fn a_group_may_count_its_members() {
    let mut switch = with_members(COUNTED.1);
    switch.insert(&group(COUNTED.1, 1, &[5, 5], "max_size: 2"));
    let heavy = group(COUNTED.1, 2, &[6], "max_size: 2");
    switch.refuse_insert(&heavy, (Code::InvalidArgument, "weight is at most 5"));
    let three = group(COUNTED.1, 2, &[1, 1, 1], "max_size: 2");
    switch.refuse_insert(&three, (Code::ResourceExhausted, "max_size 2"));
}

#[test]
fn a_selector_may_forbid_weights() {
    let mut switch = with_members(PLAIN.1);
    switch.insert(&group(PLAIN.1, 1, &[0, 0], ""));
    switch.refuse_insert(&group(PLAIN.1, 2, &[1], ""), (Code::InvalidArgument, "no weights"));
    let mut switch = Switch::with(VARIANTS);
    switch.insert(&one_shot(PLAIN.0, &[0, 0], ""));
    switch.expect(
        "table_entry { table_id: $by_plain }",
        &[&one_shot(PLAIN.0, &[0, 0], "")],
    );
    switch.refuse_modify(&one_shot(PLAIN.0, &[1], ""), (Code::InvalidArgument, "no weights"));
}

#[test]
fn members_and_groups_are_numbered_apart() {
    let mut switch = with_members(LIMITED.1);
    switch.insert(&group(LIMITED.1, 1, &[1], "max_size: 1"));
    switch.insert(&group(LIMITED.1, 2, &[1, 1], "max_size: 2"));
    let changed = member(LIMITED.1, 1).replace("\\x01", "\\x07");
    switch.modify(&changed);
    switch.expect(
        "action_profile_member { action_profile_id: $limited member_id: 1 }",
        &[&changed],
    );
    assert_eq!(switch.read("action_profile_group {}").len(), 2);
}

#[test]
fn one_shots_have_the_same_limits() {
    let mut switch = Switch::with(VARIANTS);
    let refused = [
        (one_shot(LIMITED.0, &[2, 2], ""), "a size of at most 3, not 4"),
        (one_shot(COUNTED.0, &[1, 1, 1], ""), "a size of at most 2, not 3"),
        (one_shot(COUNTED.0, &[6], ""), "weight is at most 5"),
    ];
    for (text, message) in refused {
        switch.refuse_insert(&text, (Code::InvalidArgument, message));
    }
    switch.insert(&one_shot(LIMITED.0, &[2, 1], ""));
    switch.insert(&one_shot(COUNTED.0, &[5, 5], ""));
}

#[test]
fn a_one_shot_is_changed_where_there_is_no_room_for_both() {
    let mut switch = Switch::with(VARIANTS);
    switch.insert(&one_shot(PLAIN.0, &[0; 10], ""));
    for size in [16, 16, 1, 16] {
        let other = one_shot(PLAIN.0, &vec![0; size], "");
        switch.modify(&other);
        switch.expect("table_entry { table_id: $by_plain }", &[&other]);
    }
    let larger = one_shot(PLAIN.0, &[0; 17], "");
    switch.refuse_modify(&larger, (Code::ResourceExhausted, "its size is 16"));
    assert_eq!(switch.live_groups("VariantsIngress.plain"), [16]);
    switch.delete(&one_shot(PLAIN.0, &[], ""));
    switch.insert(&one_shot(PLAIN.0, &[0; 16], ""));
}

#[test]
fn one_shots_may_say_what_their_size_counts() {
    let mut switch = Switch::with(VARIANTS);
    let by_members = one_shot(LIMITED.0, &[2, 2], "size_semantics: SUM_OF_MEMBERS");
    switch.insert(&by_members);
    switch.expect("table_entry { table_id: $by_limited }", &[&by_members]);
    let by_weights = one_shot(COUNTED.0, &[5, 5], "size_semantics: SUM_OF_WEIGHTS");
    switch.refuse_insert(&by_weights, (Code::InvalidArgument, "a size of at most 2, not 10"));
    let unknown = one_shot(COUNTED.0, &[1], "size_semantics: 7");
    switch.refuse_insert(&unknown, (Code::InvalidArgument, "size_semantics 7"));
    let unknown = one_shot(COUNTED.0, &[1], "action_selection_mode: 7");
    switch.refuse_insert(&unknown, (Code::InvalidArgument, "action_selection_mode 7"));
}

#[test]
fn actions_of_one_shots_watch_ports() {
    let mut switch = Switch::with(VARIANTS);
    // That of the controllers, before any interface is there.
    switch.device.port_changed(510, true);
    let early = format!("action_profile_actions {{ {} watch_port: \"9\" }}", action(3));
    switch.insert(&one_shot(PLAIN.0, &[0], &early));
    switch.delete(&one_shot(PLAIN.0, &[0], &early));
    [1, 2].iter().for_each(|port| switch.device.port_changed(*port, true));
    let watching = |port: u8| {
        let watched = format!("action_profile_actions {{ {} watch_port: \"{port}\" }}", action(port));
        one_shot(PLAIN.0, &[0], &watched)
    };
    let expected = "plain`: watch port: the switch has no port 9";
    switch.refuse_insert(&watching(9), (Code::InvalidArgument, expected));
    switch.insert(&watching(2));
    let live = |switch: &Switch| switch.live_groups("VariantsIngress.plain");
    assert_eq!(live(&switch), [2]);
    switch.device.port_changed(2, false);
    assert_eq!(live(&switch), [1]);
    switch.expect("table_entry { table_id: $by_plain }", &[&watching(2)]);
    switch.device.port_changed(2, true);
    assert_eq!(live(&switch), [2]);
}
