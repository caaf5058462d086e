//! The command as a user sees it: exit codes, what it prints and where.

mod support;

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use support::{folder, forebay, program, write};

const PORT_FORWARD: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../programs/portfwd/portfwd.p4");

/// A capture file of packets of one time, made without the library under test.
fn capture(folder: &Path, name: &str, packets: &[&[u8]]) -> String {
    let packets: Vec<(u32, &[u8])> = packets.iter().map(|packet| (1, *packet)).collect();
    capture_at(folder, name, &packets)
}

/// A capture file of packets with their times in seconds.
fn capture_at(folder: &Path, name: &str, packets: &[(u32, &[u8])]) -> String {
    let mut bytes = Vec::new();
    for word in [0xa1b2_c3d4u32, 0x0004_0002, 0, 0, 65_535, 1] {
        bytes.extend(word.to_le_bytes());
    }
    for (seconds, packet) in packets {
        for word in [*seconds, 0, packet.len() as u32, packet.len() as u32] {
            bytes.extend(word.to_le_bytes());
        }
        bytes.extend(*packet);
    }
    let path = folder.join(name);
    std::fs::write(&path, bytes).expect("the file can be written");
    path.to_string_lossy().into_owned()
}

#[test]
fn a_trace_shows_the_way() {
    let ran = forebay(&["trace", &program(), "--hex", "00 03 aa", "--port", "1"]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let lines: Vec<&str> = ran.stdout.lines().collect();
    assert_eq!(lines[..2], ["packet 1 enters port 1, 3 bytes", "  0000  00 03 aa"]);
    assert!(lines.contains(&"control Ingress"), "{}", ran.stdout);
    assert!(
        lines.contains(&"  standard_metadata.egress_spec = 0x003, was 0x001"),
        "{}",
        ran.stdout
    );
    let last = &lines[lines.len() - 2..];
    assert_eq!(last, ["packet leaves port 3, 3 bytes", "  0000  00 03 aa"]);
}

#[test]
fn a_trace_names_entries_and_fields() {
    let programs = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../programs/l3fwd");
    let (program, entries) = (format!("{programs}/l3fwd.p4"), format!("{programs}/entries.stf"));
    let packet = "0200000000fe02000000000108004500001c0000000040115ec30a0001010a0707070001000200080000";
    let arguments = ["trace", &program, "--entries", &entries, "--port", "1", "--hex", packet];
    let text = forebay(&arguments).stdout;
    for line in [
        "ether_type  0x0800 (2048)",
        "table L3Ingress.ipv4_lpm: hit",
        "hdr.ipv4.dst_addr  0x0a070707  matches 0x0a000000/8",
        "-> L3Ingress.set_next_hop(next_hop = 0x00000001)",
        "`if (ipv4_lpm.apply().hit)` is true",
    ] {
        assert!(text.contains(line), "{line}\nis not in\n{text}");
    }
    let json = forebay(&[&arguments[..], &["--json"]].concat()).stdout;
    let events = json
        .lines()
        .map(|line| serde_json::from_str::<serde_json::Value>(line).expect("JSON"));
    let lookup = events
        .into_iter()
        .find(|event| event["table"] == "L3Ingress.ipv4_lpm")
        .expect("the look-up");
    assert_eq!(lookup["entry"][0], "0x0a000000/8");
    assert_eq!(lookup["args"]["next_hop"], "0x1");
}

#[test]
fn a_trace_of_a_capture_as_json() {
    let folder = folder();
    let capture = capture(folder.path(), "in.pcap", &[&[0, 3], &[1, 0]]);
    let ran = forebay(&["trace", &program(), "--packet", &capture, "--json"]);
    let events: Vec<serde_json::Value> = ran
        .stdout
        .lines()
        .map(|line| serde_json::from_str(line).expect("JSON"))
        .collect();
    let count = |name: &str| events.iter().filter(|event| event["event"] == name).count();
    assert_eq!((count("packet_enters"), count("packet_leaves")), (2, 1));
}

#[test]
fn a_switch_between_capture_files() {
    let folder = folder();
    let input = capture(folder.path(), "in.pcap", &[&[0, 1, 7], &[0, 1, 8], &[7, 1], &[1, 0]]);
    let output = folder.path().join("out.pcap").to_string_lossy().into_owned();
    let entries = write(
        folder.path(),
        "entries.stf",
        "packet 0 00\nadd choose argument:0x01 forward(port:1)\n",
    );
    let ports = [format!("0@pcap:{input}"), format!("1@pcap:,{output}")];
    let ran = forebay(&[
        "run",
        &program(),
        "-i",
        &ports[0],
        "-i",
        &ports[1],
        "--entries",
        &entries,
        "--stats-interval",
        "0",
    ]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert!(ran.stdout.contains("ingress_drop 1"), "{}", ran.stdout);
    let totals = "4 packets received, 0 copies made, 3 sent, 1 dropped\n";
    assert!(ran.stdout.contains(totals), "{}", ran.stdout);
    assert_eq!(
        std::fs::read(output).expect("the output").len(),
        24 + 3 * 16 + 3 + 3 + 2
    );
}

/// A run can be repeated, with another engine too, though its program draws random numbers.
#[test]
fn a_seed_makes_random_numbers_the_same() {
    let folder = folder();
    let frame = [0; 60];
    let input = capture(folder.path(), "in.pcap", &[&frame[..]; 100]);
    let drawing = include_str!("save_state.p4").replace(
        "addresses.apply();",
        "random(hdr.ethernet.dst_addr, 48w0, 48w0xFFFFFFFFFFFF); standard_metadata.egress_spec = 1;",
    );
    let program = write(folder.path(), "drawing.p4", &drawing);
    let sent = |options: &[&str]| {
        let output = folder.path().join("out.pcap").to_string_lossy().into_owned();
        let ports = [format!("0@pcap:{input}"), format!("1@pcap:,{output}")];
        let common = [
            "run",
            &program,
            "-i",
            &ports[0],
            "-i",
            &ports[1],
            "--stats-interval",
            "0",
        ];
        let ran = forebay(&[&common[..], options].concat());
        assert_eq!(ran.code, 0, "{}", ran.stderr);
        // Records of 16 and 60 bytes, which begin with the time.
        let records = std::fs::read(output).expect("the output").split_off(24);
        let frames = records.chunks(76).flat_map(|record| record[16..].to_vec());
        frames.collect::<Vec<u8>>()
    };
    let first = sent(&["--seed", "7"]);
    assert_eq!(first, sent(&["--seed", "7"]));
    assert_eq!(first, sent(&["--seed", "7", "--engine", "interp"]));
    assert_ne!(first, sent(&["--seed", "8"]));
}

/// Several workers, few and short queues: the reports about them, and that every loss has a named counter.
#[test]
fn a_switch_with_workers_and_queues() {
    let folder = folder();
    let frames: Vec<[u8; 3]> = (0..200).map(|number| [9, number % 8, number]).collect();
    let frames: Vec<&[u8]> = frames.iter().map(|frame| &frame[..]).collect();
    let input = capture(folder.path(), "in.pcap", &frames);
    let output = folder.path().join("out.pcap").to_string_lossy().into_owned();
    let ports = [format!("0@pcap:{input}"), format!("1@pcap:,{output}")];
    let ran = forebay(&[
        "run",
        &program(),
        "-i",
        &ports[0],
        "-i",
        &ports[1],
        "--workers",
        "3",
        "--rss",
        "h.argument",
        "--queues",
        "2",
        "--queue-weights",
        "1,strict",
        "--queue-depth",
        "64",
        "--json",
        "--stats-interval",
        "0",
    ]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let last: serde_json::Value = serde_json::from_str(ran.stdout.trim()).expect("JSON");
    let totals = &last["totals"];
    assert_eq!(
        (&totals["received_packets"], &totals["sent_packets"]),
        (&200.into(), &200.into())
    );
    let queues = last["queues"].as_array().expect("a list");
    let taken: Vec<_> = queues.iter().map(|queue| queue["taken_packets"].as_u64()).collect();
    assert_eq!(taken, [Some(25), Some(175)], "{queues:?}");
    assert_eq!(last["tables"][0]["entries"], 0);
    assert_eq!(last["ports"][1]["sent_packets"], 200);
    assert_eq!(std::fs::read(output).expect("the output").len(), 24 + 200 * (16 + 3));
}

#[test]
fn a_field_that_no_header_has_is_explained() {
    let folder = folder();
    let input = capture(folder.path(), "in.pcap", &[&[0, 1]]);
    let port = format!("0@pcap:{input}");
    let ran = forebay(&["run", &program(), "-i", &port, "--workers", "2", "--rss", "h.nothing"]);
    assert_eq!(ran.code, 2);
    let said = "there is no header field `h.nothing`; there is";
    assert!(
        ran.stderr.contains("--rss") && ran.stderr.contains(said),
        "{}",
        ran.stderr
    );
}

#[test]
fn a_running_switch_stops_on_a_signal() {
    let folder = folder();
    let hour_long = capture_at(folder.path(), "in.pcap", &[(1, &[0, 1]), (3601, &[0, 1])]);
    let port = format!("0@pcap:{hour_long},,paced");
    let mut child = Command::new(env!("CARGO_BIN_EXE_forebay"))
        .args(["run", &program(), "-i", &port, "--json", "--stats-interval", "0.01"])
        .stdout(Stdio::piped())
        .spawn()
        .expect("the command runs");
    let mut first_line = String::new();
    let mut stdout = std::io::BufReader::new(child.stdout.take().expect("its output"));
    std::io::BufRead::read_line(&mut stdout, &mut first_line).expect("a line");
    let json: serde_json::Value = serde_json::from_str(&first_line).expect("JSON");
    assert_eq!(json["ports"][0]["port"], 0);
    assert!(
        child.try_wait().expect("it can be asked").is_none(),
        "it runs until it is told to stop"
    );
    let killed = Command::new("kill")
        .args(["-INT", &child.id().to_string()])
        .status()
        .expect("kill runs");
    assert!(killed.success());
    std::io::copy(&mut stdout, &mut std::io::sink()).expect("the rest");
    assert!(child.wait().expect("it ends").success());
}

#[test]
fn what_cannot_be_done_is_said_plainly() {
    let missing = PathBuf::from("no/such/program.p4").to_string_lossy().into_owned();
    let folder = folder();
    let test = write(folder.path(), "test.stf", "packet 1 00");
    for (arguments, part) in [
        (vec!["check", &missing], "cannot read no/such/program.p4"),
        (vec!["explain", "E9999"], "there is no code `E9999`"),
        (
            vec!["run", &program(), "-i", "0@no-such-if"],
            "there is no interface `no-such-if`",
        ),
        (vec!["run", &program(), "-i", "x@lo"], "not a port number"),
        (
            vec!["trace", &program(), "--hex", "0g"],
            "`g` in --hex is no hexadecimal digit",
        ),
        (vec!["test", &program(), "--engine", "nope"], "invalid value 'nope'"),
        (
            vec!["simple-switch", "--device-id", "one"],
            "invalid value 'one' for '--device-id <N>': expected a whole number",
        ),
        (
            vec!["test", "nope.p4"],
            "cannot read nope.p4: No such file or directory",
        ),
        (
            vec!["trace", &program(), "--hex", "00", "--port", "x"],
            "expected a whole number",
        ),
        (
            vec!["traffic", "iot-send", "--to", "[::1]:5000", "--flows", "0"],
            "expected a whole number from 1 to 60000",
        ),
        (vec!["check", "."], ". is a folder; name the program in it"),
        (
            vec!["check", &test],
            ".stf is an STF test, not a program; name the program before it",
        ),
        (
            vec!["run", &program(), "-i", "0@lo", "--entries", "."],
            ". is a folder; name the file of table entries in it",
        ),
        (
            vec!["build", &program(), "-o", &program()],
            "is a file; name a folder to write to",
        ),
    ] {
        let ran = forebay(&arguments);
        assert_eq!(ran.code, 2, "{arguments:?}");
        assert!(ran.stderr.contains(part), "{arguments:?}: {}", ran.stderr);
    }
}

#[test]
fn a_broken_program_is_the_programs_fault() {
    let folder = folder();
    let broken = write(folder.path(), "broken.ir", "program v1model x");
    let ran = forebay(&["check", &broken]);
    assert_eq!(ran.code, 1);
    assert!(
        ran.stderr.contains("broken.ir:1:17: expected a declaration"),
        "{}",
        ran.stderr
    );
    assert_eq!(forebay(&["test", &broken, "x.stf"]).code, 2);
    let json: serde_json::Value = serde_json::from_str(&forebay(&["check", &broken, "--json"]).stdout).expect("JSON");
    assert_eq!(json["errors"], 1);
}

#[test]
fn a_build_can_be_read_again() {
    let folder = folder();
    let output = folder.path().join("out").to_string_lossy().into_owned();
    let ran = forebay(&["build", &program(), "-o", &output]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    for path in ran.stdout.lines() {
        assert!(Path::new(path).is_file(), "{path}");
    }
    let again = folder.path().join("again.ir");
    std::fs::copy(folder.path().join("out/ir.txt"), &again).expect("ir.txt is there");
    assert_eq!(forebay(&["check", &again.to_string_lossy()]).code, 0);
}

#[test]
fn codes_are_explained() {
    let all = forebay(&["explain"]);
    assert!(all.stdout.contains("E0301  type mismatch"));
    assert!(
        forebay(&["explain", "e0301"])
            .stdout
            .starts_with("E0301: type mismatch\n\n")
    );
}

/// A P4 program that sends every packet to the port `PORT`.
const REFLECTOR: &str = r#"
#include <core.p4>
#include <v1model.p4>
#include "port.p4"
struct headers_t {}
struct metadata_t {}
parser MyParser(packet_in packet, out headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard) {
    state start { transition accept; }
}
control MyChecksum(inout headers_t hdr, inout metadata_t meta) { apply {} }
control MyIngress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard) {
    apply { standard.egress_spec = PORT; }
}
control MyEgress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard) { apply {} }
control MyDeparser(packet_out packet, in headers_t hdr) { apply {} }
V1Switch(MyParser(), MyChecksum(), MyIngress(), MyEgress(), MyChecksum(), MyDeparser()) main;
"#;

#[test]
fn a_program_in_p4() {
    let folder = folder();
    let program = write(folder.path(), "reflector.p4", REFLECTOR);
    let library = folder.path().join("include").to_string_lossy().into_owned();
    std::fs::create_dir(&library).expect("a folder");
    write(Path::new(&library), "port.p4", "#ifndef PORT\n#define PORT 5\n#endif\n");
    let test = write(folder.path(), "five.stf", "packet 0 abcd\nexpect 5 abcd$\n");

    let without_library = forebay(&["check", &program]);
    assert_eq!(without_library.code, 1);
    assert!(without_library.stderr.contains("port.p4"), "{}", without_library.stderr);
    assert_eq!(forebay(&["check", &program, "-I", &library]).code, 0);
    assert_eq!(forebay(&["test", &program, &test, "-I", &library]).code, 0);
    assert_eq!(
        forebay(&["test", &program, &test, "-I", &library, "-D", "PORT=6"]).code,
        1
    );
}

#[test]
fn mistakes_in_p4_as_text_and_json() {
    let folder = folder();
    let program = write(
        folder.path(),
        "wrong.p4",
        &REFLECTOR.replace("#include \"port.p4\"", "").replace("PORT", "nowhere"),
    );
    let text = forebay(&["check", &program]);
    assert_eq!((text.code, text.stdout.as_str()), (1, ""));
    assert!(
        text.stderr.contains("E0201") && text.stderr.contains("nowhere"),
        "{}",
        text.stderr
    );
    let json: serde_json::Value = serde_json::from_str(&forebay(&["check", &program, "--json"]).stdout).expect("JSON");
    assert_eq!(json["diagnostics"][0]["code"], "E0201");
    assert_eq!(json["errors"], 1);
}

#[test]
fn a_running_switch_captures_its_ports() {
    let folder = folder();
    let input = capture(folder.path(), "in.pcap", &[&[0, 1, 7]]);
    let captures = folder.path().join("captures").to_string_lossy().into_owned();
    let port = format!("0@pcap:{input}");
    let ran = forebay(&[
        "run",
        &program(),
        "-i",
        &port,
        "-i",
        "1@pcap:,/dev/null",
        "--pcap",
        &captures,
    ]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    for port in ["port0.pcap", "port1.pcap"] {
        let length = std::fs::metadata(Path::new(&captures).join(port))
            .expect("a capture")
            .len();
        assert_eq!(length, 24 + 16 + 3, "{port}");
    }
}

#[test]
fn a_capture_does_not_empty_the_input_of_a_port() {
    let folder = folder();
    let input = capture(folder.path(), "port0.pcap", &[&[0, 1, 7]]);
    let content = std::fs::read(&input).expect("the input");
    let (source, port) = (program(), format!("0@pcap:{input}"));
    let captures = folder.path().to_string_lossy().into_owned();
    let arguments = ["run", source.as_str(), "-i", port.as_str()];
    for options in [["--pcap", captures.as_str()], ["--capture", input.as_str()]] {
        let ran = forebay(&[&arguments[..], &options].concat());
        assert_eq!(ran.code, 2, "{options:?}: {}", ran.stderr);
        assert!(
            ran.stderr.contains("would empty a file of port 0@pcap:"),
            "{}",
            ran.stderr
        );
        assert_eq!(std::fs::read(&input).expect("the input"), content, "{options:?}");
    }
}

#[test]
fn it_is_said_what_keeps_packets_off_the_fast_path() {
    let folder = folder();
    let input = capture(folder.path(), "in.pcap", &[&[0; 14]]);
    let port = format!("0@pcap:{input}");
    let program = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../tests/slow_path/loop.p4");
    let ran = forebay(&["run", program, "-i", &port]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let expected = "loop.p4:20 begins a loop that is not unrolled\n";
    assert!(ran.stderr.contains(expected), "{}", ran.stderr);
    let output = folder.path().join("out").to_string_lossy().into_owned();
    let ran = forebay(&["build", program, "-o", &output]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert!(ran.stderr.contains(expected), "{}", ran.stderr);
}

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
fn passes_after_the_first_one_are_counted() {
    let folder = folder();
    let program = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../tests/stf/psa/recirculate.p4");
    let packets: Vec<&[u8]> = vec![&[0, 1, 0x77], &[1, 1, 0x77], &[3, 1, 0x77]];
    let input = format!("1@pcap:{},", capture(folder.path(), "in.pcap", &packets));
    let arguments = ["run", program, "-i", &input, "-i", "2@mem:", "-i", "3@mem:"];
    let ran = forebay(&arguments);
    let expected = "; further passes, on the slow path: 0 of resubmitted and 4 of recirculated packets\n";
    assert!(ran.stdout.contains(expected), "{}", ran.stdout);
    let ran = forebay(&[&arguments[..], &["--json", "--stats-interval", "0"]].concat());
    let last = ran.stdout.lines().last().expect("a line");
    let report: serde_json::Value = serde_json::from_str(last).expect("JSON");
    let expected = serde_json::json!({ "resubmitted": 0, "recirculated": 4 });
    assert_eq!(report["paths"]["further_passes"], expected);
}

#[test]
fn the_fast_path_is_counted_and_so_is_what_leaves_it() {
    let folder = folder();
    let program = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../../tests/slow_path/copies_and_digests.p4"
    );
    let packets: Vec<&[u8]> = vec![&[1, 0, 0], &[1, 1, 0], &[1, 2, 0], &[1]];
    let input = capture(folder.path(), "in.pcap", &packets);
    let arguments = [
        "run",
        program,
        "-i",
        &format!("1@pcap:{input},"),
        "-i",
        "2@mem:",
        "--json",
    ];
    let ran = forebay(&[&arguments[..], &["--stats-interval", "0"]].concat());
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let last = ran.stdout.lines().last().expect("a line");
    let report: serde_json::Value = serde_json::from_str(last).expect("JSON");
    let sum = |value: &serde_json::Value| -> u64 {
        let counts = value.as_object().expect("an object").values();
        counts.map(|count| count.as_u64().expect("a number")).sum()
    };
    let paths = &report["paths"];
    assert_eq!(
        sum(&paths["fast_packets"]) + sum(&paths["slow_packets"]),
        4,
        "each packet once: {paths}"
    );
    let kinds = report["slow_path"].as_array().expect("a list");
    assert!(kinds.iter().all(|obstacle| obstacle["kind"] == "leaves"), "{kinds:?}");
    let ran = forebay(&[&arguments[..6], &["--engine", "interp"]].concat());
    let expected = "packets on the fast path: 0; on the slow path: 4 (4 of a program without a fast path)";
    assert!(ran.stdout.contains(expected), "{}", ran.stdout);
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

#[test]
fn a_trace_shows_the_program_and_not_the_compiler() {
    let folder = folder();
    let program = r#"
#include <v1model.p4>
header hop_t { bit<1> last; bit<7> port; }
struct headers_t { hop_t[3] hops; }
struct meta_t {}
const bit<1> MORE = 0;
parser P(packet_in packet, out headers_t hdr, inout meta_t meta, inout standard_metadata_t standard_metadata) {
    state start {
        transition hop;
    }
    state hop {
        packet.extract(hdr.hops.next);
        transition select(hdr.hops.last.last) {
            MORE: hop;
            default: accept;
        }
    }
}
control V(inout headers_t hdr, inout meta_t meta) { apply {} }
control I(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t standard_metadata) {
    apply {
        if (hdr.hops[0].isValid()
            && hdr.hops[0].port != 0) {
            standard_metadata.egress_spec = (bit<9>)hdr.hops[0].port;
            hdr.hops.pop_front(1);
        }
    }
}
control E(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t standard_metadata) { apply {} }
control C(inout headers_t hdr, inout meta_t meta) { apply {} }
control D(packet_out packet, in headers_t hdr) { apply { packet.emit(hdr.hops); } }
V1Switch(P(), V(), I(), E(), C(), D()) main;
"#;
    let program = write(folder.path(), "hops.p4", program);
    let ran = forebay(&["trace", &program, "--port", "1", "--hex", "02 83 aa"]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    for line in [
        "hops.p4:8     state start",
        "hops.p4:11    state hop",
        "select (0): MORE -> hop",
        "select (1): default -> accept",
        "`if (hdr.hops[0].isValid() && hdr.hops[0].port != 0)` is true",
        "`hdr.hops.pop_front(1)`",
        "hdr.hops[1]       becomes invalid",
        "emit hdr.hops[1] and 1 more: not valid",
    ] {
        assert!(ran.stdout.contains(line), "{line}\nis not in\n{}", ran.stdout);
    }
    for leftover in ["hops.next", "case 1", "$"] {
        assert!(!ran.stdout.contains(leftover), "{leftover}\nis in\n{}", ran.stdout);
    }
}

#[test]
fn a_configuration_file_has_the_options_of_run() {
    let folder = folder();
    let input = capture(folder.path(), "in.pcap", &[&[0, 3, 9]]);
    let config = |more: &str| {
        let text = format!(
            "program = {:?}\ninterfaces = [{:?}, \"3@mem:\"]\nstats-interval = 0\n{more}\n",
            program(),
            format!("0@pcap:{input},")
        );
        write(folder.path(), "switch.toml", &text)
    };
    let ran = forebay(&["run", "--config", &config("json = true")]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let report: serde_json::Value = serde_json::from_str(&ran.stdout).expect("JSON");
    assert_eq!(report["totals"]["sent_packets"], 1);
    let path = config("wrokers = 2");
    let ran = forebay(&["run", "--config", &path]);
    assert_eq!(ran.code, 2);
    let expected = format!("error: {path}:4: `forebay run` has no option `wrokers`; did you mean `workers`?\n");
    assert_eq!(ran.stderr, expected);
    let path = config("workers = \"two\"");
    let ran = forebay(&["run", "--config", &path]);
    let expected = format!("error: {path}:4: `workers`: invalid value 'two': expected a whole number\n");
    assert_eq!(ran.stderr, expected);
}

#[test]
fn messages_as_json_are_objects_on_a_line() {
    let folder = folder();
    let wrong = write(folder.path(), "wrong.p4", "control c() { apply { x = 1; } }\n");
    for words in [
        &["run", &*wrong, "-i", "1@mem:"][..],
        &["run", "--nope"],
        &["run", "no-such-file.p4", "-i", "1@mem:"],
    ] {
        let ran = forebay(&[&["--log-format", "json"], words].concat());
        assert_ne!(ran.code, 0);
        assert!(!ran.stderr.is_empty(), "{words:?}");
        for line in ran.stderr.lines() {
            let record: serde_json::Value =
                serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"));
            assert!(record["level"].is_string() && record["message"].is_string(), "{line}");
        }
    }
}

/// With `--json` the output is JSON, also after an error.
#[test]
fn failures_are_json_too() {
    let folder = folder();
    let wrong = write(folder.path(), "wrong.p4", "control c() { apply { x = 1; } }\n");
    for words in [
        &["trace", "no-such-file.p4", "--hex", "00"][..],
        &["sim", "no-such-file.toml"],
        &["bench", "no-such-file.p4", "--pcap", "x.pcap"],
        &["tester", "run", "no-such-file.toml"],
        &["run", &*wrong, "-i", "1@mem:"],
        &["trace", &*wrong, "--hex", "00"],
        &["state", "show", "no-such-folder"],
        &["ctl", "--connect", "127.0.0.1:1", "table", "list"],
        &["ctl", "help", "tabel"],
    ] {
        let ran = forebay(&[words, &["--json"]].concat());
        assert_ne!(ran.code, 0, "{words:?}");
        let failure: serde_json::Value =
            serde_json::from_str(&ran.stdout).unwrap_or_else(|error| panic!("{words:?}: {error}: {}", ran.stdout));
        assert!(
            failure["error"].is_string() || failure["errors"] == 1,
            "{words:?}: {failure}"
        );
    }
}

#[test]
fn ports_of_interfaces_and_of_controllers_differ() {
    let program = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../programs/portfwd/portfwd.p4");
    let words = [
        "run",
        program,
        "-i",
        "7@mem:",
        "--cpu-port",
        "7",
        "--grpc",
        "127.0.0.1:0",
        "--duration",
        "0.1",
    ];
    let ran = forebay(&words);
    assert_eq!(ran.code, 2);
    assert!(
        ran.stderr
            .contains("port 7 is an interface's, and that of the controllers"),
        "{}",
        ran.stderr
    );
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

#[test]
fn what_nobody_asks_for_is_help() {
    let ran = forebay(&[]);
    assert_eq!(ran.code, 0);
    assert!(ran.stdout.contains("Usage: forebay"), "{}", ran.stdout);
    let version = forebay(&["--version"]).stdout;
    assert!(version.starts_with("forebay 0."), "{version}");
    let ran = forebay(&["check", "--json", "no-such-file.p4"]);
    assert_eq!(ran.code, 2);
    let report: serde_json::Value = serde_json::from_str(&ran.stdout).expect("JSON");
    assert_eq!(report["errors"], 1);
    let ran = forebay(&["bench", "my.p4"]);
    assert!(
        ran.code == 2 && ran.stderr.contains("Usage: forebay bench PROG.p4 --pcap FILE.pcap"),
        "{}",
        ran.stderr
    );
    let quiet = forebay(&["--log", "error", "build", &program(), "-o", "/dev/null/x"]);
    assert!(quiet.stderr.starts_with("error: "), "{}", quiet.stderr);
}

#[test]
fn completions_and_manual_pages_come_from_the_command_line_itself() {
    for shell in ["bash", "zsh", "fish"] {
        let ran = forebay(&["completions", shell]);
        assert!(
            ran.code == 0 && ran.stdout.contains("stats-interval"),
            "{shell}: {}",
            ran.stderr
        );
    }
    let folder = folder();
    let ran = forebay(&["man", &folder.path().to_string_lossy()]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let page = std::fs::read_to_string(folder.path().join("forebay-run.1")).expect("a page");
    assert!(page.contains(".TH forebay-run 1"), "{page}");
}

#[test]
fn help_of_a_command_needs_no_switch() {
    let of_command = forebay(&["ctl", "help", "session", "add"]);
    assert_eq!(of_command.code, 0, "{}", of_command.stderr);
    assert!(
        of_command.stdout.contains("session add SESSION"),
        "{}",
        of_command.stdout
    );
    assert!(of_command.stdout.contains("--length BYTES"), "{}", of_command.stdout);
    let of_several = forebay(&["ctl", "help", "session"]);
    assert!(of_several.stdout.contains("session delete"), "{}", of_several.stdout);
    let mistyped = forebay(&["ctl", "help", "sesion"]);
    assert_eq!(mistyped.code, 1);
    assert!(
        mistyped.stderr.contains("did you mean `session`?"),
        "{}",
        mistyped.stderr
    );
}

#[test]
fn a_switch_that_has_not_started_yet_is_waited_for() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = listener.local_addr().expect("an address").to_string();
    drop(listener);
    let mut ctl = Command::new(env!("CARGO_BIN_EXE_forebay"))
        .args(["ctl", "--grpc", &address, "--wait", "60", "info"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("ctl starts");
    let mut said = String::new();
    let stderr = ctl.stderr.take().expect("it is a pipe");
    let mut lines = std::io::BufReader::new(stderr);
    std::io::BufRead::read_line(&mut lines, &mut said).expect("a line");
    let expected = format!("note: nothing listens at {address} yet; waiting for the switch to start\n");
    assert_eq!(said, expected);
    let program = PORT_FORWARD;
    let mut switch = Command::new(env!("CARGO_BIN_EXE_forebay"))
        .args([
            "run",
            program,
            "-i",
            "1@mem:",
            "--grpc",
            &address,
            "--stats-interval",
            "0",
        ])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("the switch starts");
    let output = ctl.wait_with_output().expect("ctl ends");
    switch.kill().expect("it can be ended");
    switch.wait().expect("it ends");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(
        String::from_utf8_lossy(&output.stdout).contains("ports"),
        "the table of the program"
    );
}

#[test]
fn no_switch_is_looked_for_when_a_command_is_wrong() {
    for (words, says) in [
        (
            ["tabel", "dump"],
            "there is no command `tabel`\n  = help: did you mean `table`?",
        ),
        (
            ["--grcp", "localhost:1"],
            "there is no option `--grcp`\n  = help: did you mean `--grpc`?",
        ),
    ] {
        let ran = forebay(&[&["ctl", "--wait", "60"][..], &words].concat());
        assert_eq!(ran.code, 1, "{words:?}: {}", ran.stderr);
        assert!(
            ran.stderr.contains(says) && !ran.stderr.contains("waiting"),
            "{}",
            ran.stderr
        );
    }
}
