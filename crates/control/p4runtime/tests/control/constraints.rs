//! `@entry_restriction` and `@action_restriction`: the program's constraints on controllers' writes.

use super::support::{Switch, config_of};
use forebay_p4runtime::{Code, Device, Now, Settings};
use forebay_protocol::p4::v1::set_forwarding_pipeline_config_request::Action;
use forebay_protocol::p4::v1::update::Type;

const PROGRAM: &str = include_str!("constraints.p4");

fn filter(kind: &str, address: &str, port: &str, priority: u32, action: &str) -> String {
    format!(
        r#"table_entry {{ table_id: $filter match {{ field_id: 1 exact {{ value: "{kind}" }} }} {address}
           match {{ field_id: 3 range {{ low: "{port}" high: "\x7f" }} }} priority: {priority}
           action {{ action {{ {action} }} }} }}"#
    )
}

fn forward(port: &str) -> String {
    format!(r#"action_id: $forward params {{ param_id: 1 value: "{port}" }}"#)
}

const TEN: &str = r#"match { field_id: 2 ternary { value: "\n\x00\x00\x00" mask: "\xff\x00\x00\x00" } }"#;

#[test]
fn entries_that_the_program_forbids() {
    let mut switch = Switch::with(PROGRAM);
    let to_5 = forward("\\x05");
    switch.insert(&filter("\\x08\\x00", TEN, "\\x0a", 5, &to_5));
    switch.insert(&filter("\\x86\\xdd", "", "\\x0a", 5, &to_5));
    let whole = "table `ConstraintIngress.filter`: the entry violates @entry_restriction(\"address::mask != 0 -> kind == \
                 0x0800; hdr.packet.port::low >= 10; ::priority < 1000\"): ";
    let refused = [
        (
            filter("\\x86\\xdd", TEN, "\\x0a", 6, &to_5),
            "`address::mask != 0 -> kind == 0x0800` does not hold: `address::mask` is 0xff000000, `kind` is 0x86dd",
        ),
        (
            filter("\\x08\\x00", TEN, "\\x09", 7, &to_5),
            "`hdr.packet.port::low >= 10` does not hold: `hdr.packet.port::low` is 9",
        ),
        (
            filter("\\x08\\x00", TEN, "\\x0a", 1000, &to_5),
            "`::priority < 1000` does not hold: `::priority` is 0x3e8",
        ),
    ];
    for (entry, part) in refused {
        switch.refuse_insert(&entry, (Code::InvalidArgument, whole));
        switch.refuse_insert(&entry, (Code::InvalidArgument, part));
    }
}

#[test]
fn data_that_the_program_forbids() {
    let mut switch = Switch::with(PROGRAM);
    let whole = "action `ConstraintIngress.forward`: its data violates @action_restriction(\"port != 0; port < 100\"): \
                 `port != 0` does not hold: `port` is 0";
    let entry = |data: &str| filter("\\x08\\x00", "", "\\x0a", 5, data);
    switch.refuse_insert(&entry(&forward("\\x00")), (Code::InvalidArgument, whole));
    switch.insert(&entry(&forward("\\x63")));
    switch.refuse_modify(
        &entry(&forward("\\x64")),
        (Code::InvalidArgument, "`port < 100` does not hold"),
    );
    switch.insert(&filter(
        "\\x08\\x01",
        "",
        "\\x0a",
        5,
        r#"action_id: $set_vrf params { param_id: 1 value: "red" }"#,
    ));
    let default = format!(
        "table_entry {{ table_id: $filter is_default_action: true action {{ action {{ {} }} }} }}",
        forward("\\x00")
    );
    switch.refuse_modify(&default, (Code::InvalidArgument, whole));
    let member = |port: &str| {
        let action = forward(port);
        format!("action_profile_member {{ action_profile_id: $selector member_id: 1 action {{ {action} }} }}")
    };
    switch.refuse_insert(&member("\\x00"), (Code::InvalidArgument, whole));
    let route = |vrf: &str, port: &str| {
        let action = forward(port);
        format!(
            r#"table_entry {{ table_id: $routes match {{ field_id: 1 exact {{ value: "{vrf}" }} }} action {{
               action_profile_action_set {{ action_profile_actions {{ action {{ {action} }} weight: 1 }} }} }} }}"#
        )
    };
    switch.refuse_insert(&route("blue", "\\x00"), (Code::InvalidArgument, whole));
    switch.insert(&route("blue", "\\x07"));
    let red =
        "`vrf == 'red' -> address::prefix_length >= 8` does not hold: `vrf` is 'red', `address::prefix_length` is 0";
    switch.refuse_insert(&route("red", "\\x07"), (Code::InvalidArgument, red));
}

#[test]
fn what_is_deleted_is_not_looked_at() {
    let mut switch = Switch::with(PROGRAM);
    let entry = filter("\\x86\\xdd", TEN, "\\x0a", 6, &forward("\\x05"));
    switch.refuse(Type::Delete, &entry, (Code::NotFound, "ConstraintIngress.filter"));
}

#[test]
fn constraints_of_a_p4info_that_cannot_be_read() {
    let refused = [
        (
            "@entry_restriction(\"kind == 1;\\n  color == 2\")",
            "`ConstraintIngress.filter`",
        ),
        (
            "@entry_restriction(\"kind == 1;\\n  color == 2\")",
            "line 2, column 3: there is no key `color`; there is `kind`",
        ),
        ("@entry_restriction(kind == 1)", "stands in quotation marks"),
        ("@entry_restriction(\"\")", "the constraint is empty"),
    ];
    for (annotation, message) in refused {
        let mut config = config_of(PROGRAM);
        let tables = &mut config.p4info.as_mut().unwrap().tables;
        let constrained = tables
            .iter_mut()
            .find(|table| table.size == 1024 && table.match_fields.len() == 3)
            .unwrap();
        constrained.preamble.as_mut().unwrap().annotations = vec![annotation.to_string()];
        let mut switch = Switch::with(PROGRAM);
        switch.push(Action::VerifyAndCommit, Some(config)).unwrap();
        let entry = filter("\\x08\\x00", TEN, "\\x0a", 5, &forward("\\x05"));
        switch.refuse_insert(&entry, (Code::FailedPrecondition, message));
    }
}

/// The compiler only warns of them.
#[test]
fn entries_of_the_program_need_not_obey_it() {
    let end = "            @defaultonly NoAction;\n        }\n";
    let entries = "entries = { priority = 5: (0x86dd, 0x0a000000 &&& 0xff000000, 1 .. 127): forward(7); }";
    let source = PROGRAM.replacen(end, &format!("{end}{entries}"), 1);
    let mut switch = Switch::with(&source);
    assert_eq!(switch.read("table_entry { table_id: $filter }").len(), 1);
    let everything = switch.everything();
    let settings = Settings {
        device_id: 1,
        ..Settings::default()
    };
    let restored = Device::restore(settings, &switch.device.snapshot(), &[], Now::default());
    let mut again = Switch::empty();
    again.device = restored.unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(again.everything(), everything);
    switch
        .push(Action::ReconcileAndCommit, Some(config_of(&source)))
        .unwrap();
    assert_eq!(switch.everything(), everything);
    let stricter = source.replace("::priority < 1000", "::priority < 100");
    let error = switch.push(Action::ReconcileAndCommit, Some(config_of(&stricter)));
    assert_eq!(error.expect_err("another constraint").code, Code::InvalidArgument);
    assert_eq!(switch.everything(), everything);
}
