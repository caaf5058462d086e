//! Files of table entries.

use crate::support::{folder, forebay, program, write};
use crate::{PORT_FORWARD, capture};

#[test]
fn entries_may_be_the_text_of_a_write_request() {
    let folder = folder();
    let programs = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../programs/portfwd");
    let (program, entries) = (format!("{programs}/portfwd.p4"), format!("{programs}/entries.txtpb"));
    let input = capture(folder.path(), "in.pcap", &[&[7; 60]]);
    let port = format!("1@pcap:{input},");
    let arguments = |entries| {
        vec![
            "run",
            &program,
            "-i",
            &port,
            "-i",
            "2@mem:",
            "--entries",
            entries,
            "--stats-interval",
            "0",
        ]
    };
    let ran = forebay(&arguments(&entries));
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let expected = "1 packets received, 0 copies made, 1 sent, 0 dropped";
    assert!(ran.stdout.contains(expected), "{}", ran.stdout);
    // The second update is refused, so the first one is not done either.
    let text = std::fs::read_to_string(&entries).expect("the file is there");
    let wrong = folder.path().join("wrong.txtpb");
    let too_wide = text.replace(r#"param_id: 1 value: "\x01""#, r#"param_id: 1 value: "\x02\x00""#);
    std::fs::write(&wrong, too_wide).expect("a file");
    let ran = forebay(&arguments(&wrong.to_string_lossy()));
    assert_eq!(ran.code, 2);
    let expected = "update 2: action `PortForwardIngress.forward`: parameter `port`: 0x0200 does not fit in 9 bits";
    assert!(ran.stderr.contains(expected), "{}", ran.stderr);
}

#[test]
fn entries_may_be_the_json_of_tutorials() {
    let folder = folder();
    let program = PORT_FORWARD;
    let input = capture(folder.path(), "in.pcap", &[&[7; 60]]);
    let port = format!("1@pcap:{input},");
    let run = |text: &str| {
        let entries = write(folder.path(), "s1-runtime.json", text);
        forebay(&["run", program, "-i", &port, "-i", "2@mem:", "--entries", &entries])
    };
    let good = r#"{
        "target": "bmv2", "p4info": "x", "bmv2_json": "y",
        "table_entries": [
            { "table": "PortForwardIngress.ports", "match": { "standard_metadata.ingress_port": 1 },
              "action_name": "PortForwardIngress.forward", "action_params": { "port": 2 } }
        ],
        "multicast_group_entries": [
            { "multicast_group_id": 1, "replicas": [ { "egress_port": 2, "instance": 1 } ] }
        ],
        "clone_session_entries": [
            { "clone_session_id": 5, "packet_length_bytes": 64, "replicas": [ { "egress_port": 2 } ] }
        ]
    }"#;
    let ran = run(good);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert!(
        ran.stdout.contains("1 packets received, 0 copies made, 1 sent"),
        "{}",
        ran.stdout
    );
    let note = "note: ";
    assert!(
        ran.stderr.contains(note) && ran.stderr.contains("`bmv2_json`, `p4info`, `target`"),
        "{}",
        ran.stderr
    );
    let ran = run(&good.replace("\"port\": 2", "\"prt\": 2"));
    assert_eq!(ran.code, 2);
    assert!(
        ran.stderr.contains("table_entries[0]: ") && ran.stderr.contains("prt"),
        "{}",
        ran.stderr
    );
    let entry = r#"{ "table": "ports", "match": { "standard_metadata.ingress_port": 1 },
                     "action_name": "forward", "action_params": { "port": 2 } }"#;
    let ran = run(&format!(r#"{{ "table_entries": [{entry}, {entry}] }}"#));
    let expected = "\n  table_entries[1]: `PortForwardIngress.ports` has already an entry";
    assert!(ran.stderr.contains(expected), "{}", ran.stderr);
    let ran = run("{}");
    assert!(
        ran.stderr.contains("this is JSON, but no table entries"),
        "{}",
        ran.stderr
    );
    let ran = forebay(&["run", program, "-i", &port, "--entries", program]);
    assert!(
        ran.stderr.contains("this is a P4 program, not a file of table entries"),
        "{}",
        ran.stderr
    );
}

#[test]
fn words_in_the_json_of_tutorials_are_the_bytes_of_a_value() {
    let folder = folder();
    let program = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../programs/l3fwd/l3fwd.p4");
    let run = |word: &str| {
        let json = r#"{"table_entries": [{"table": "src_mac", "match": {"hdr.ethernet.src_addr": "WORD"},
            "action_name": "NoAction"}]}"#;
        let entries = write(folder.path(), "runtime.json", &json.replace("WORD", word));
        let frame = "0200000000fe676f6f676c6508004500001c0000000040115ec30a0001010a0707070001000200080000";
        forebay(&["trace", program, "--port", "1", "--hex", frame, "--entries", &entries])
    };
    let ran = run("google");
    assert!(
        ran.stdout.contains("0x676f6f676c65  matches 0x676f6f676c65"),
        "{}{}",
        ran.stdout,
        ran.stderr
    );
    for wrong in ["googl", "go.gle", "goo*le"] {
        let ran = run(wrong);
        assert_eq!(ran.code, 2, "{wrong}: {}", ran.stdout);
        assert!(
            ran.stderr.contains(&format!("`{wrong}` is no value of")),
            "{}",
            ran.stderr
        );
    }
}

/// `table_add` takes the last word for the priority, as in simple_switch_CLI; the mistake shows as a parameter that is
/// missing.
#[test]
fn a_command_without_the_priority_is_told_of_it() {
    let folder = folder();
    let source = std::fs::read_to_string(PORT_FORWARD).expect("the program");
    let source = source.replace(
        "standard_metadata.ingress_port: exact",
        "standard_metadata.ingress_port: ternary",
    );
    let source = write(folder.path(), "ternary.p4", &source);
    for (command, code) in [
        ("table_add ports forward 1&&&0x1ff => 2", 2),
        ("table_add ports forward 1&&&0x1ff => 2 10", 0),
        ("table_add ports forward 1&&&0xFFFF => 2 10", 0),
    ] {
        let commands = write(folder.path(), "commands.txt", command);
        let ran = forebay(&["trace", &source, "--port", "1", "--hex", "00", "--entries", &commands]);
        assert_eq!(ran.code, code, "{command}: {}", ran.stderr);
        let says = ran.stderr.contains("the last word is the priority of the entry");
        assert_eq!(says, code != 0, "{command}: {}", ran.stderr);
    }
    let json = r#"{"table_entries": [{"table": "ports", "match": {"standard_metadata.ingress_port": [1, 511]},
        "action_name": "forward", "action_params": {"port": 2}}]}"#;
    let json = write(folder.path(), "runtime.json", json);
    let ran = forebay(&["trace", &source, "--port", "1", "--hex", "00", "--entries", &json]);
    assert!(ran.stderr.contains("add `\"priority\": N`"), "{}", ran.stderr);
}

/// Published command files have such lines; simple_switch_CLI reports an error and continues with the next line.
#[test]
fn a_command_that_adds_an_entry_again_is_passed_over_with_a_warning() {
    let folder = folder();
    let lines = "table_add ports forward 1 => 2\ntable_add ports forward 1 => 3\n";
    let commands = write(folder.path(), "commands.txt", lines);
    let ran = forebay(&[
        "trace",
        PORT_FORWARD,
        "--port",
        "1",
        "--hex",
        "00",
        "--entries",
        &commands,
    ]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert!(
        ran.stderr.contains("warning") && ran.stderr.contains("commands.txt:2:"),
        "{}",
        ran.stderr
    );
    assert!(ran.stdout.contains("packet leaves port 2"), "{}", ran.stdout);
}

/// Published command files have lines of prose and misspelt names; simple_switch_CLI does the rest of them.
#[test]
fn commands_that_cannot_be_done_are_warnings_with_keep_going() {
    let folder = folder();
    let lines = "Add the entries\ntable_ad ports forward 9 => 9\ntable_add ports forward 1 => 2\n";
    let commands = write(folder.path(), "commands.txt", lines);
    let stf = write(
        folder.path(),
        "entries.stf",
        "add prots ingress_port:0 forward(port:2)\nadd ports ingress_port:1 forward(port:2)\n",
    );
    for (entries, wrong) in [(&commands, vec![1, 2]), (&stf, vec![1])] {
        let trace = [
            "trace",
            PORT_FORWARD,
            "--port",
            "1",
            "--hex",
            "00",
            "--entries",
            entries,
        ];
        let refused = forebay(&trace);
        assert_eq!(refused.code, 2, "{}", refused.stderr);
        assert!(refused.stderr.contains("with --keep-going"), "{}", refused.stderr);
        let done = forebay(&[&trace[..], &["--keep-going"]].concat());
        assert_eq!(done.code, 0, "{}", done.stderr);
        assert!(done.stdout.contains("packet leaves port 2"), "{}", done.stdout);
        for line in wrong {
            let place = format!("{entries}:{line}: ");
            assert!(
                refused.stderr.contains(&place) && done.stderr.contains(&place),
                "{}",
                done.stderr
            );
        }
    }
    let json = write(folder.path(), "runtime.json", r#"{"table_entries": []}"#);
    let ran = forebay(&["trace", PORT_FORWARD, "--hex", "00", "--entries", &json, "--keep-going"]);
    assert!(
        ran.stderr.contains("is written as a whole or not at all"),
        "{}",
        ran.stderr
    );
}

/// simple_switch_CLI drops the last word of a `table_add` without `=>`, and gives the action no data.
#[test]
fn a_command_without_an_arrow_is_taken_where_the_action_has_no_data() {
    let folder = folder();
    for (command, code, says) in [
        ("table_add ports drop 1 0", 0, ""),
        (
            "table_add ports forward 1 2",
            2,
            "not 0; `=>` is missing between the key and what the entry does",
        ),
        ("table_add ports drop 1", 2, "`=>` is missing"),
        ("table_add ports drop 1 0 0", 2, "`=>` is missing"),
    ] {
        let commands = write(folder.path(), "commands.txt", command);
        let ran = forebay(&[
            "trace",
            PORT_FORWARD,
            "--port",
            "1",
            "--hex",
            "00",
            "--entries",
            &commands,
        ]);
        assert_eq!(ran.code, code, "{command}: {}", ran.stderr);
        assert!(ran.stderr.contains(says), "{command}: {}", ran.stderr);
        assert!(code != 0 || ran.stdout.contains("drop"), "{command}: {}", ran.stdout);
    }
}

/// As BMv2 does: the handle of a member or group that is gone goes to the next.
#[test]
fn members_and_groups_get_the_lowest_free_handles() {
    let folder = folder();
    let selector = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../../tests/stf/tables/action_selector.p4"
    );
    let lines = [
        "act_prof_create_member chosen set 10",
        "act_prof_create_member chosen set 11",
        "act_prof_create_member chosen set 12",
        "act_prof_delete_member chosen 1",
        "act_prof_create_member chosen set 13",
        "act_prof_create_group chosen",
        "act_prof_create_group chosen",
        "act_prof_delete_group chosen 0",
        "act_prof_create_group chosen",
        "act_prof_add_member_to_group chosen 1 0",
        "table_indirect_add_with_group chosen 1 => 0",
    ];
    let traced = |last: &str| {
        let commands = write(
            folder.path(),
            "commands.txt",
            &[&lines[..], &[last]].concat().join("\n"),
        );
        forebay(&[
            "trace",
            selector,
            "--port",
            "1",
            "--hex",
            "010000EE",
            "--entries",
            &commands,
        ])
    };
    let ran = traced("");
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert!(ran.stdout.contains("01 00 0d ee"), "{}", ran.stdout);
    for (command, says) in [
        ("act_prof_add_member_to_group chosen 3 0", "no member has the handle 3"),
        (
            "act_prof_add_member_to_group chosen -1 0",
            "no member has the handle -1",
        ),
        ("act_prof_add_member_to_group chosen 1 2", "no group has the handle 2"),
        ("act_prof_add_member_to_group chosen 1 -1", "no group has the handle -1"),
        ("act_prof_add_member_to_group chosen 1 0", "MBR_ALREADY_IN_GRP"),
        ("act_prof_delete_group chosen 9", "INVALID_GRP_HANDLE"),
    ] {
        let ran = traced(command);
        assert_eq!(ran.code, 2, "{command}: {}", ran.stderr);
        assert!(ran.stderr.contains(says), "{command}: {}", ran.stderr);
    }
}

/// A pipe has its contents once.
#[test]
fn entries_may_come_through_a_pipe_and_tests_may_not() {
    let folder = folder();
    let pipe = folder.path().join("pipe").to_string_lossy().into_owned();
    let made = std::process::Command::new("mkfifo")
        .arg(&pipe)
        .status()
        .expect("mkfifo");
    assert!(made.success());
    let writing = |text: &'static str| {
        let pipe = pipe.clone();
        std::thread::spawn(move || std::fs::write(pipe, text).expect("somebody reads"))
    };
    let writer = writing("this is no command\n");
    let ran = forebay(&[
        "run",
        &*program(),
        "-i",
        "1@mem:",
        "--duration",
        "0.1",
        "--entries",
        &pipe,
    ]);
    writer.join().expect("written");
    assert_eq!(ran.code, 2);
    assert!(ran.stderr.contains("this is no STF file"), "{}", ran.stderr);
    let ran = forebay(&["test", &*program(), &pipe]);
    assert_ne!(ran.code, 0);
    let said = ran.stdout + &ran.stderr;
    assert!(said.contains("is no regular file"), "{said}");
}

/// Published command files add their interfaces; here the switch has its ports when it starts.
#[test]
fn commands_about_ports_are_passed_over_with_a_warning() {
    let folder = folder();
    let lines = "port_add r1-eth1 1\ntable_add ports forward 1 => 2\n";
    let commands = write(folder.path(), "commands.txt", lines);
    let trace = ["trace", PORT_FORWARD, "--port", "1", "--hex", "00", "--entries"];
    let ran = forebay(&[&trace[..], &[&commands]].concat());
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let says = "commands.txt:1: port_add is passed over";
    assert!(ran.stderr.contains(says), "{}", ran.stderr);
    assert!(ran.stdout.contains("packet leaves port 2"), "{}", ran.stdout);
}
