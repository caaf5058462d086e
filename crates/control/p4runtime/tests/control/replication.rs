//! Multicast groups and clone sessions (§9.5).

use super::support::Switch;
use forebay_p4runtime::Code;
use forebay_protocol::p4::v1::update::Type;

fn group(number: u32, rest: &str) -> String {
    format!("packet_replication_engine_entry {{ multicast_group_entry {{ multicast_group_id: {number} {rest} }} }}")
}

fn session(number: u32, rest: &str) -> String {
    format!("packet_replication_engine_entry {{ clone_session_entry {{ session_id: {number} {rest} }} }}")
}

const TWO: &str = r#"replicas { port: "\x01" instance: 1 } replicas { port: "\x02" instance: 7 }"#;

#[test]
fn multicast_groups() {
    let mut switch = Switch::new();
    let written = group(1, &format!("{TWO} metadata: \"m\""));
    switch.insert(&written);
    switch.insert(&group(2, "replicas { egress_port: 3 }"));
    switch.expect(&group(0, ""), &[&written, &group(2, "replicas { egress_port: 3 }")]);
    switch.expect(&group(1, ""), &[&written]);
    switch.refuse_insert(&group(1, TWO), (Code::AlreadyExists, "multicast group 1"));
    switch.refuse_modify(&group(3, TWO), (Code::NotFound, "multicast group 3"));
    switch.refuse_delete(&group(3, ""), (Code::NotFound, "multicast group 3"));
    switch.refuse_insert(&group(0, TWO), (Code::InvalidArgument, "1 to 65535"));
    switch.refuse_insert(&group(65536, TWO), (Code::InvalidArgument, "1 to 65535"));
    let refused = [
        (
            r#"replicas { port: "\x01" instance: 65536 }"#,
            "instances are at most 65535",
        ),
        (
            r#"replicas { port: "\x01" } replicas { port: "\x01" }"#,
            "port 1 with instance 0 is given twice",
        ),
        (r#"replicas { port: "\x02\x00" }"#, "no port 512"),
        ("replicas { instance: 1 }", "has no port"),
        (
            r#"replicas { port: "\x01" backup_replicas { port: "\x01" instance: 2 } }"#,
            "has the port 1 of its replica",
        ),
    ];
    for (replicas, message) in refused {
        switch.refuse_insert(&group(4, replicas), (Code::InvalidArgument, message));
    }
    switch.delete(&group(1, ""));
    switch.refuse_read(&group(1, ""), (Code::NotFound, "multicast group 1"));
    switch.refuse_read(
        "packet_replication_engine_entry {}",
        (Code::InvalidArgument, "groups or clone sessions"),
    );
}

/// Nodes of BMv2 may have the same replication id and port.
#[test]
fn groups_of_an_operator_may_make_a_copy_twice() {
    let mut switch = Switch::new();
    let twice = r#"replicas { port: "\x01" } replicas { port: "\x01" }"#;
    for text in [group(4, twice), session(4, twice)] {
        let update = switch.update(Type::Insert, &text);
        assert_eq!(switch.device.write_locally(&[update], switch.now), Ok(()));
    }
    assert_eq!(switch.copies(4), [(1, 0), (1, 0)]);
    switch.expect(&group(0, ""), &[&group(4, twice)]);
    switch.refuse_modify(&group(4, twice), (Code::InvalidArgument, "is given twice"));
}

/// BMv2 counts clone sessions from 0.
#[test]
fn an_operator_may_use_clone_session_0() {
    let mut switch = Switch::new();
    let write = |switch: &mut Switch, how: Type| {
        let update = switch.update(how, &session(0, TWO));
        switch.device.write_locally(&[update], switch.now)
    };
    assert!(write(&mut switch, Type::Delete).is_err());
    assert_eq!(write(&mut switch, Type::Insert), Ok(()));
    switch.expect(&session(0, ""), &[&session(0, TWO)]);
    switch.refuse_modify(&session(0, TWO), (Code::InvalidArgument, "not numbered 0"));
    assert_eq!(write(&mut switch, Type::Delete), Ok(()));
    switch.expect(&session(0, ""), &[]);
}

#[test]
fn backups_take_over() {
    let mut switch = Switch::new();
    for port in 1..=3 {
        switch.device.port_changed(port, true);
    }
    let text = r#"replicas { port: "\x01" instance: 1 backup_replicas { port: "\x02" instance: 2 }
        backup_replicas { port: "\x03" instance: 3 } }"#;
    switch.insert(&group(1, text));
    assert_eq!(switch.copies(1), [(1, 1)]);
    switch.device.port_changed(1, false);
    assert_eq!(switch.copies(1), [(2, 2)]);
    switch.device.port_changed(2, false);
    assert_eq!(switch.copies(1), [(3, 3)]);
    switch.device.port_changed(3, false);
    assert_eq!(
        switch.copies(1),
        [(1, 1)],
        "nobody is left: the copy is dropped at its own port"
    );
    switch.device.port_changed(2, true);
    assert_eq!(switch.copies(1), [(2, 2)]);
    switch.expect(&group(1, ""), &[&group(1, text)]);
}

#[test]
fn a_backup_takes_over_for_a_port_that_is_not_there() {
    let mut switch = Switch::new();
    let text = r#"replicas { port: "\x09" instance: 1 backup_replicas { port: "\x08" instance: 2 }
        backup_replicas { port: "\x02" instance: 3 } }"#;
    switch.insert(&group(1, text));
    assert_eq!(switch.copies(1), [(9, 1)], "the ports are not known yet");
    switch.device.port_changed(2, true);
    assert_eq!(switch.copies(1), [(2, 3)]);
    switch.device.port_changed(9, true);
    assert_eq!(switch.copies(1), [(9, 1)]);
}

#[test]
fn clone_sessions() {
    let mut switch = Switch::new();
    let written = session(7, &format!("{TWO} packet_length_bytes: 64"));
    switch.insert(&written);
    switch.expect(&session(0, ""), &[&written]);
    switch.modify(&session(7, r#"replicas { port: "\xff\xff\xff\xfd" }"#));
    switch.refuse_insert(&session(7, TWO), (Code::AlreadyExists, "clone session 7"));
    switch.refuse_modify(&session(8, TWO), (Code::NotFound, "clone session 8"));
    switch.refuse_insert(&session(0, TWO), (Code::InvalidArgument, "not numbered 0"));
    let unknown = session(8, &format!("{TWO} class_of_service: 8"));
    switch.refuse_insert(
        &unknown,
        (Code::InvalidArgument, "no class of service 8; there are 0 to 7"),
    );
    let wide = session(8, r#"replicas { port: "\x01" instance: 65536 }"#);
    switch.refuse_insert(&wide, (Code::InvalidArgument, "instances are at most 65535"));
    let classed = session(8, &format!("{TWO} class_of_service: 7"));
    switch.insert(&classed);
    switch.expect(&session(8, ""), &[&classed]);
    switch.delete(&session(8, ""));
    let negative = session(8, "packet_length_bytes: -1");
    switch.refuse_insert(&negative, (Code::InvalidArgument, "not negative"));
    switch.delete(&session(7, ""));
    switch.expect(&session(0, ""), &[]);
}

#[test]
fn ports_are_read_in_their_shortest_form() {
    let mut switch = Switch::new();
    let replica =
        |zeros: &str| format!("replicas {{ port: \"{zeros}\\x02\" backup_replicas {{ port: \"{zeros}\\x03\" }} }}");
    switch.insert(&group(1, &replica("\\x00\\x00")));
    switch.expect(&group(0, ""), &[&group(1, &replica(""))]);
}
