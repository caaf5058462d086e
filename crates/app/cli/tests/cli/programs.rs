//! Programs that are checked and built, and what is said about their mistakes.

use crate::capture;
use crate::support::{folder, forebay, program, write};
use std::path::Path;

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
    let places: Vec<usize> = ["\nE0201  ", "\nE0213  ", "\nW0201  ", "\nW0204  ", "\nE0301  "]
        .iter()
        .map(|code| all.stdout.find(code).expect("the code is listed"))
        .collect();
    assert!(places.is_sorted(), "by areas, errors before warnings");
}

#[test]
fn a_code_with_another_letter_is_found() {
    for (code, advice) in [
        ("0806", "there is no code `0806`; did you mean `E0806` or `W0806`?"),
        ("W0301", "there is no code `W0301`; did you mean `E0301`?"),
    ] {
        let ran = forebay(&["explain", code]);
        assert!(ran.stderr.contains(advice), "{}", ran.stderr);
    }
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

/// A folder for `#include` that is misspelt is not missed where another one has the file.
#[test]
fn folders_that_are_not_there_are_warned_of() {
    let folder = folder();
    let program = write(folder.path(), "reflector.p4", REFLECTOR);
    let file = write(folder.path(), "port.p4", "#define PORT 5\n");
    let test = write(folder.path(), "five.stf", "packet 0 abcd\nexpect 5 abcd$\n");
    let ran = forebay(&["test", &program, &test, "-I", "no/such/folder", "-I", &file]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let expected =
        format!("warning: -I no/such/folder: there is no such folder\nwarning: -I {file}: it is no folder\n");
    assert_eq!(ran.stderr, expected);
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
