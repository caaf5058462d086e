//! Every kind of entity: written by words, read back, and shown as it could be typed.

use crate::support::Shell;
use forebay_protocol::p4::v1::entity::Entity as Kind;
use forebay_protocol::p4::v1::write_request::Atomicity;
use forebay_shell::{Command, Record};
use serde_json::json;

#[test]
fn entries_of_tables() {
    let mut shell = Shell::new();
    shell.text("table add forwarding dst_addr=00:00:00:00:00:02 do forward port=2 --idle 10s --metadata note");
    shell.text("table add forwarding 00:00:00:00:00:01 do drop");
    shell.text("table modify forwarding dst_addr=1 do flood 0x10");
    let expected = "\
table forwarding
dst_addr           action   parameters  idle_timeout  since_last_hit  metadata  packets  bytes
";
    let text = shell.text("table dump EntityIngress.forwarding");
    assert_eq!(text.lines().next(), expected.lines().next());
    for part in [
        "00:00:00:00:00:01",
        "flood",
        "group=16",
        "(default)",
        "NoAction",
        "10s",
        "note",
    ] {
        assert!(text.contains(part), "{part}:\n{text}");
    }
    let entry = &shell.records("table dump forwarding dst_addr=2")[0].json();
    assert_eq!(entry["match"], json!({"dst_addr": "00:00:00:00:00:02"}));
    assert_eq!(entry["parameters"], json!({"port": "2"}));
    shell.text("table modify forwarding dst_addr=2 do forward port=3");
    let entry = &shell.records("table dump forwarding dst_addr=2")[0].json();
    assert_eq!(entry["parameters"], json!({"port": "3"}));
    let kept = (&entry["idle_timeout"], &entry["metadata"]);
    assert_eq!(kept, (&json!("10s"), &json!("note")), "what is not named stays");
    shell.text("table modify forwarding dst_addr=2 do forward port=3 --idle 0 --metadata other");
    let entry = &shell.records("table dump forwarding dst_addr=2")[0].json();
    assert_eq!((entry.get("idle_timeout"), &entry["metadata"]), (None, &json!("other")));
    shell.text("table delete forwarding dst_addr=2");
    assert_eq!(shell.records("table dump forwarding").len(), 2);
    shell.text("table clear forwarding");
    assert_eq!(shell.records("table dump forwarding").len(), 1);
}

#[test]
fn entries_with_priorities_and_masks() {
    let mut shell = Shell::new();
    shell.text("table add filter src_addr=10.0.0.0/8 total_len=20..64 ingress_port=1 do mirror session=7 --priority 5");
    shell.text("table add filter ipv4.src_addr=0xc0000000&&&0xf0000000 do drop --priority 9");
    let expected = "\
table filter
src_addr                total_len  ingress_port  priority  action  parameters
";
    let text = shell.text("table dump filter --priority 5");
    assert_eq!(text.lines().next(), expected.lines().next());
    assert!(
        text.contains("10.0.0.0&&&255.0.0.0  20..64     1             5"),
        "{text}"
    );
    shell.text("table clear all");
    let left = shell.text("table dump");
    assert!(!left.contains("mirror") && left.contains("0x88cc"), "{left}");
}

#[test]
fn default_actions() {
    let mut shell = Shell::new();
    shell.text("table default forwarding do forward port=3");
    assert!(shell.text("table default forwarding").contains("port=3"));
    shell.text("table default forwarding reset");
    assert!(shell.text("table default forwarding").contains("NoAction"));
}

#[test]
fn profiles_and_groups() {
    let mut shell = Shell::new();
    shell.text("profile member add next_hop_selector 1 do set_next_hop dst_addr=00:00:00:00:00:aa port=1");
    shell.text("profile member add next_hop_selector 2 do set_next_hop 00:00:00:00:00:bb 2");
    shell.text("profile group add next_hop_selector 4 1:2 2@2 --max-size 8");
    assert!(shell.text("profile group dump").contains("1:2, 2@2"));
    shell.text("table add routing dst_addr=10.0.0.0/8 do group 4");
    shell.text("table add routing dst_addr=11.0.0.0/8 do member 1");
    let text = shell.text("table dump routing");
    for part in ["group 4", "member 1"] {
        assert!(text.contains(part), "{part}:\n{text}");
    }
    shell.text("profile member modify next_hop_selector 1 do drop");
    assert!(shell.text("profile member dump next_hop_selector").contains("drop"));
    shell.text("table clear routing");
    shell.text("profile clear next_hop_selector");
    assert!(shell.records("profile group dump").is_empty() && shell.records("profile member dump").is_empty());
}

#[test]
fn one_shots() {
    let mut shell = Shell::new();
    shell.text("table add routing dst_addr=12.0.0.0/8 do set_next_hop 1 1 weight:2 watch:1 or set_next_hop 2 2");
    let text = shell.text("table dump routing");
    let expected = "set_next_hop dst_addr=00:00:00:00:00:01 port=1 weight:2 watch:1 or set_next_hop dst_addr";
    assert!(text.contains(expected), "{text}");
}

#[test]
fn counters_and_meters() {
    let mut shell = Shell::new();
    assert_eq!(shell.records("counter read port_counter 3..5").len(), 3);
    assert_eq!(shell.records("counter read port_counter").len(), 512);
    shell.text("counter reset port_counter");
    shell.text("meter set port_meter 3 --cir 1000 --cburst 100 --pir 2000 --pburst 200");
    let expected = "\
meter port_meter
index  cir   cburst  pir   pburst
3      1000  100     2000  200
";
    assert_eq!(shell.text("meter read port_meter 3"), expected);
    let all = shell.read("meter set port_meter all --cir 5 --cburst 6").unwrap();
    assert!(matches!(all, Command::Write(updates) if updates.len() == 1));
    shell.text("meter set port_meter all --cir 5 --cburst 6");
    assert!(shell.text("meter read port_meter 511").contains("5    6"));
    shell.text("meter reset port_meter 3");
    assert!(shell.text("meter read port_meter 3").contains("not set"));
    shell.text("table add filter src_addr=10.0.0.1 do drop --priority 5");
    shell.text("meter set filter_meter src_addr=10.0.0.1 --priority 5 --cir 7 --cburst 8");
    assert!(shell.text("meter read filter_meter").contains("10.0.0.1"));
    assert!(shell.text("table dump filter").contains("cburst"));
    shell.text("table add filter do drop --priority 5");
    shell.text("table modify filter src_addr=10.0.0.1 do mirror session=7 --priority 5");
    shell.text("table modify filter do mirror session=8 --priority 5");
    let rates: Vec<_> = shell
        .records("table dump filter --priority 5")
        .iter()
        .map(Record::json)
        .collect();
    let of = |source: &str| rates.iter().find(|entry| entry["match"]["src_addr"] == source);
    let rate_of = |source: &str| of(source).expect("it is there")["cir"].clone();
    assert_eq!(rate_of("10.0.0.1"), json!(7));
    assert!(rate_of("*").is_null(), "the rates of another entry");
}

#[test]
fn registers_and_value_sets() {
    let mut shell = Shell::new();
    shell.text("register write last_source 3..4 0x10");
    let expected = "register last_source\nindex  value\n2      0\n3      16\n4      16\n";
    assert_eq!(shell.text("register read last_source 2..4"), expected);
    shell.text("register write last_source all 5");
    assert!(!shell.text("register read last_source").contains(" 16"));
    let all = shell.read("register write last_source all 5").unwrap();
    assert!(matches!(all, Command::Write(updates) if updates.len() == 1));
    shell.text("vset set special_types 0x22f3 0x88f7");
    assert!(shell.text("vset dump").contains("8947"), "{}", shell.text("vset dump"));
    shell.text("vset clear special_types");
    assert!(shell.records("vset dump special_types").is_empty());
}

#[test]
fn copies() {
    let mut shell = Shell::new();
    shell.text("multicast add 1 1 2:7 3/4:1 --metadata note");
    let expected = "group  replicas     metadata\n1      1, 2:7, 3/4:1  note\n";
    assert_eq!(
        shell.text("multicast dump").split_whitespace().collect::<Vec<_>>(),
        expected.split_whitespace().collect::<Vec<_>>()
    );
    shell.text("multicast modify 1 5");
    assert!(shell.text("multicast dump").contains("note"));
    shell.text("multicast clear");
    assert!(shell.records("multicast dump").is_empty());
    shell.text("session add 7 2 --length 64");
    assert_eq!(
        shell.text("session dump 7"),
        "session  replicas  length\n7        2         64\n"
    );
    shell.text("session modify 7 2 --class 3");
    assert_eq!(
        shell.text("session dump 7"),
        "session  replicas  length  class\n7        2         64      3\n"
    );
    shell.text("session delete 7");
    assert!(shell.records("session dump").is_empty());
}

#[test]
fn digests() {
    let mut shell = Shell::new();
    assert!(shell.records("digest list").is_empty());
    shell.text("digest enable learned_t --max-size 10 --max-delay 5ms");
    shell.text("digest configure learned_t --ack-timeout 2s");
    let text = shell.text("digest list");
    assert!(["10", "5ms", "2s"].iter().all(|part| text.contains(part)), "{text}");
    shell.text("digest disable learned_t");
    assert!(matches!(shell.read("digest watch --count 1"), Ok(Command::Digests(ids, _)) if ids.is_empty()));
}

#[test]
fn packets_out_have_all_fields() {
    let shell = Shell::new();
    let Ok(Command::PacketOut(packet)) = shell.read("packet out 0102ff egress_port=2") else {
        panic!("it is a packet");
    };
    assert_eq!(packet.payload, [1, 2, 255]);
    let values: Vec<&[u8]> = packet.metadata.iter().map(|field| field.value.as_slice()).collect();
    assert_eq!(values, [[2], [0]]);
}

#[test]
fn what_the_program_has() {
    let mut shell = Shell::new();
    let summary = shell.text("info");
    for part in [
        "forwarding",
        "port_counter",
        "filter_meter",
        "last_source",
        "learned_t",
        "packet_in",
    ] {
        assert!(summary.contains(part), "{part}:\n{summary}");
    }
    for (kind, part) in [
        ("tables", "dst_addr:lpm bit<32>"),
        ("actions", "dst_addr:bit<48>, port:bit<9>"),
        ("counters", "table forwarding"),
        ("meters", "packets"),
        ("registers", "last_source"),
        ("profiles", "next_hop_selector"),
        ("digests", "address, port"),
        ("vsets", "special_types"),
        ("packets", "egress_port:bit<9>"),
    ] {
        let text = shell.text(&format!("info {kind}"));
        assert!(text.contains(part), "{kind}:\n{text}");
    }
}

/// Entries of the program may have priority 0, and can be changed and deleted where they are not const.
#[test]
fn entries_with_priority_0_can_be_named() {
    let shell = Shell::new();
    let Ok(Command::Write(updates)) = shell.read("table delete filter src_addr=10.0.0.1 --priority 0") else {
        panic!("it deletes an entry");
    };
    let entity = updates[0].entity.as_ref().and_then(|entity| entity.entity.as_ref());
    let Some(Kind::TableEntry(entry)) = entity else {
        panic!("{updates:?}");
    };
    assert_eq!((entry.priority, entry.r#match.len()), (0, 1));
    shell
        .read("table modify filter src_addr=10.0.0.1 do drop --priority 0")
        .expect("it changes an entry");
    shell
        .read("meter set filter_meter src_addr=10.0.0.1 --priority 0 --cir 7 --cburst 8")
        .expect("it changes the meter of an entry");
}

#[test]
fn colours_and_default_entries() {
    let mut shell = Shell::new();
    let text = shell.text("meter read port_meter 3 --colours");
    assert!(text.contains("green") && text.contains("0 (0 bytes)"), "{text}");
    let text = shell.text("meter read port_meter 3");
    assert!(!text.contains("0 (0 bytes)"), "{text}");
    shell.text("table add filter src_addr=10.0.0.0/8 do drop --priority 5");
    assert!(shell.text("meter read filter_meter --colours").contains("red"));
    assert_eq!(shell.records("meter read filter_meter default").len(), 1);
    let text = shell.text("counter read forward_counter default");
    assert!(text.contains("(default)"), "{text}");
    shell.text("counter reset forward_counter default");
}

#[test]
fn batches() {
    let shell = Shell::new();
    let expected = [
        (
            "batch routes.txt",
            Command::Batch("routes.txt".to_string(), Atomicity::DataplaneAtomic),
        ),
        ("begin --rollback", Command::Begin(Atomicity::RollbackOnError)),
        ("begin --continue", Command::Begin(Atomicity::ContinueOnError)),
        ("commit", Command::Commit),
        ("abort", Command::Abort),
    ];
    for (line, command) in expected {
        assert_eq!(shell.read(line), Ok(command));
    }
}
