//! `forebay bench` as a user calls it. Turns are as short as possible: no speed is tested here.

mod support;

use forebay_packet::pcap::{TimestampUnit, Writer};
use serde_json::Value;
use support::{folder, forebay, program, write};

const PROGRAMS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../programs");

const SHORT: [&str; 4] = ["--rounds", "1", "--round-ms", "1"];

fn bench(arguments: &[&str]) -> support::Ran {
    forebay(&[&["bench"], arguments, &SHORT].concat())
}

#[test]
fn combinations_as_a_table_and_as_json() {
    let arguments = ["l3fwd", "--entries", "2,10", "--engine", "jit,interp"];
    let table = bench(&arguments);
    assert_eq!(table.code, 0, "{}", table.stderr);
    let lines: Vec<_> = table.stdout.lines().filter(|line| line.starts_with("l3fwd ")).collect();
    assert_eq!(lines.len(), 4, "{}", table.stdout);
    let json = bench(&[&arguments[..], &["--json"]].concat());
    let json: Value = serde_json::from_str(&json.stdout).expect("JSON");
    let rows = json["rows"].as_array().expect("rows");
    assert_eq!(rows.len(), 2);
    for row in rows {
        let contenders = row["contenders"].as_array().expect("contenders");
        let names: Vec<_> = contenders.iter().filter_map(|row| row["contender"].as_str()).collect();
        assert_eq!(names, ["jit", "interp", "hand-written", "harness"]);
    }
}

#[test]
fn messages_are_aggregated() {
    let ran = bench(&["iot_aggregate", "--batch", "4", "--flows", "3", "--workers", "1,2"]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert_eq!(ran.stdout.matches("iot_aggregate 4x22").count(), 3, "{}", ran.stdout);
}

#[test]
fn a_program_of_ones_own() {
    let folder = folder();
    let mut capture = Writer::new(Vec::new(), TimestampUnit::Nanoseconds).expect("memory");
    capture.write(0, &[7; 60], 60).expect("memory");
    let path = folder.path().join("traffic.pcap");
    std::fs::write(&path, capture.finish().expect("memory")).expect("the file can be written");
    let source = format!("{PROGRAMS}/portfwd/portfwd.p4");
    let entries = format!("{PROGRAMS}/portfwd/entries.stf");
    let path = path.to_string_lossy();
    let ran = bench(&[&source, "--entries", &entries, "--pcap", &path]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert!(ran.stdout.contains("portfwd"), "{}", ran.stdout);

    let commands = write(folder.path(), "commands.txt", "table_add ports forward 1 => 2\n");
    let json = r#"{"table_entries": [{"table": "ports", "match": {"standard_metadata.ingress_port": 1},
        "action_name": "forward", "action_params": {"port": 2}}]}"#;
    let json = write(folder.path(), "runtime.json", json);
    for entries in [commands, json] {
        let ran = bench(&[&source, "--entries", &entries, "--pcap", &path, "--json"]);
        assert_eq!(ran.code, 0, "{entries}: {}", ran.stderr);
        let json: Value = serde_json::from_str(&ran.stdout).expect("JSON");
        let rate = json["rows"][0]["contenders"][0]["transmitted_per_s"].as_f64();
        assert!(rate.is_some_and(|rate| rate > 0.0), "{entries}: {}", ran.stdout);
    }

    let compiled = bench(&[&program(), "--pcap", &path]);
    assert_eq!(compiled.code, 0, "{}", compiled.stderr);
    let without_traffic = bench(&[&source]);
    assert_eq!(without_traffic.code, 2);
    assert!(without_traffic.stderr.contains("--pcap"), "{}", without_traffic.stderr);
    let broken = write(folder.path(), "broken.p4", "control c() { apply { x = 1; } }");
    assert_eq!(bench(&[&broken, "--pcap", &path]).code, 1);
}

#[test]
fn malformed_packets_are_accounted_for() {
    let ran = bench(&[
        "l3fwd",
        "--entries",
        "10",
        "--malformed",
        "10%",
        "--packets",
        "5000",
        "--json",
    ]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let json: Value = serde_json::from_str(&ran.stdout).expect("JSON");
    let account = &json["accounts"][0];
    assert_eq!(account["received"], 5000);
    let dropped: u64 = account["dropped"]
        .as_object()
        .expect("reasons")
        .values()
        .filter_map(Value::as_u64)
        .sum();
    assert_eq!(account["transmitted"].as_u64(), Some(5000 - dropped));
}

#[test]
fn what_cannot_be_measured_is_said_plainly() {
    for (arguments, words) in [
        (&["no_such_thing"][..], "l3fwd"),
        (&["l3fwd", "--entries", "x"], "expected a number"),
        (&["l3fwd", "--entries", "0"], "entries: 1 to"),
        (&["l3fwd", "--workers", "0"], "--workers"),
        (&["iot_aggregate", "--batch", "3"], "1, 2, 4 or 8"),
        (&["l3fwd", "--pcap", "x.pcap"], "--pcap is for a program of your own"),
        (&["x.p4", "--pcap", "x.pcap", "--flows", "3"], "--flows"),
        (&["l3fwd", "--ports", "3,4"], "--ports is for a program of your own"),
        (&["iot_aggregate", "--frame-size", "128"], "--frame-size is for portfwd"),
        (&["l3fwd", "--batch", "4"], "--batch is for iot_aggregate"),
        (
            &["x.p4", "--pcap", "x.pcap", "--message-size", "30"],
            "--message-size is for iot_aggregate",
        ),
    ] {
        let ran = bench(arguments);
        assert_eq!(ran.code, 2, "{arguments:?}: {}", ran.stdout);
        assert!(ran.stderr.contains(words), "{arguments:?}: {}", ran.stderr);
    }
}
