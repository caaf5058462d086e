//! `forebay test` as a user sees it.

mod support;

use support::{folder, forebay, program, write};

const GOOD: &str = "packet 0 0003aa\nexpect 3 0003aa $\n";
const BAD: &str = "packet 0 0003aa\nexpect 3 0003ab $\n";

#[test]
fn exit_codes_of_tests() {
    let folder = folder();
    let good = write(folder.path(), "good.stf", GOOD);
    let bad = write(folder.path(), "bad.stf", BAD);
    let wrong = write(folder.path(), "wrong.stf", "paket 0 00\n");
    let unsuited = write(folder.path(), "unsuited.stf", "add nope k:1 a()\n");
    for (tests, code) in [
        (vec![&good], 0),
        (vec![&good, &bad], 1),
        (vec![&bad, &wrong], 2),
        (vec![&unsuited], 2),
    ] {
        let program = program();
        let arguments: Vec<&str> = ["test", &program]
            .into_iter()
            .chain(tests.iter().map(|test| test.as_str()))
            .collect();
        assert_eq!(forebay(&arguments).code, code, "{tests:?}");
    }
}

#[test]
fn a_line_for_each_test_and_a_difference_to_read() {
    let folder = folder();
    let good = write(folder.path(), "good.stf", GOOD);
    let bad = write(folder.path(), "bad.stf", BAD);
    let ran = forebay(&["test", &program(), &good, &bad]);
    let stdout = ran.stdout.replace(&*folder.path().to_string_lossy(), "DIR");
    assert_eq!(
        stdout,
        "passed  DIR/good.stf (packets: 1 in, 1 out)\n\
         FAILED  DIR/bad.stf (packets: 1 in, 1 out)\n        \
         DIR/bad.stf:2: the packet from port 3 (because of line 1) differs: 3 bytes; differing hexadecimal digits: 1\n            \
         0: expected 00 03 ab\n               \
         received 00 03 aa\n                               \
         ^\n\
         1 passed, 1 failed\n"
    );
    assert_eq!(ran.stderr, "");
}

#[test]
fn tests_are_found_beside_the_program() {
    let folder = folder();
    let program = write(
        folder.path(),
        "router.ir",
        &std::fs::read_to_string(program()).expect("the program"),
    );
    assert_eq!(forebay(&["test", &program]).code, 2, "there is none");
    write(folder.path(), "router.stf", GOOD);
    write(folder.path(), "router-2.stf", GOOD);
    write(folder.path(), "other.stf", BAD);
    let ran = forebay(&["test", &program]);
    assert_eq!(ran.code, 0, "{}", ran.stdout);
    assert!(ran.stdout.ends_with("2 passed, 0 failed\n"));
}

#[test]
fn a_test_without_a_program_is_named() {
    let folder = folder();
    let text = std::fs::read_to_string(format!("{}/tests/hashes.p4", env!("CARGO_MANIFEST_DIR"))).expect("the program");
    for (name, text) in [
        ("one/a.p4", text.as_str()),
        ("one/a.stf", "packet 0 00\n"),
        ("two/b.stf", GOOD),
        ("two/entries.stf", GOOD),
        ("two/routes.stf", "# entries of a scenario\n"),
        ("three/a.p4", text.as_str()),
        ("three/b.p4", text.as_str()),
        ("three/a.stf", "packet 0 00\n"),
        ("three/c.stf", GOOD),
    ] {
        let place = folder.path().join(name);
        std::fs::create_dir_all(place.parent().expect("a folder")).expect("a folder");
        std::fs::write(place, text).expect("a file");
    }
    let all = folder.path().to_string_lossy().into_owned();
    let ran = forebay(&["test", "--all", &all]);
    let warnings: Vec<String> = ran.stderr.lines().map(|line| line.replace(&all, "DIR")).collect();
    let not_run: Vec<&String> = warnings.iter().filter(|line| line.contains("is not run")).collect();
    assert_eq!(
        not_run,
        [
            "warning: DIR/three/c.stf is not run: its name begins like that of no program beside it",
            "warning: DIR/two/b.stf is not run: no program stands beside it",
        ]
    );
}

/// A pass that makes a program do something else is found by leaving it out, which the interpreter, the default, cannot.
#[test]
fn a_pass_is_left_out_of_machine_code_alone() {
    let (folder, program) = (folder(), program());
    let good = write(folder.path(), "good.stf", GOOD);
    let command = ["test", &program, &good, "--without-pass", "folding"];
    let test = |options: &[&str]| forebay(&[&command[..], options].concat());
    assert_eq!(test(&["--engine", "both"]).code, 0);
    let refused = test(&[]);
    assert_eq!(refused.code, 2, "{}", refused.stdout);
    assert!(
        refused.stderr.contains("--without-pass goes with --engine jit"),
        "{}",
        refused.stderr
    );
}

#[test]
fn results_as_json() {
    let folder = folder();
    let bad = write(folder.path(), "bad.stf", BAD);
    let ran = forebay(&["test", &program(), &bad, "--json"]);
    let json: serde_json::Value = serde_json::from_str(&ran.stdout).expect("JSON");
    assert_eq!(json["failed"], 1);
    let test = &json["tests"][0];
    assert_eq!(test["passed"], false);
    assert_eq!(test["failures"][0]["line"], 2);
    assert_eq!(test["failures"][0]["kind"], "different");
}

#[test]
fn results_are_in_their_file_though_nobody_reads_the_output() {
    let folder = folder();
    let bad = write(folder.path(), "bad.stf", BAD);
    let file = folder.path().join("results.xml");
    let (reader, writer) = std::io::pipe().expect("a pipe");
    drop(reader);
    let ended = std::process::Command::new(env!("CARGO_BIN_EXE_forebay"))
        .args(["test", &program(), &bad, "--junit"])
        .arg(&file)
        .stdout(writer)
        .status();
    assert_eq!(ended.expect("the command runs").code(), Some(1));
    let results = std::fs::read_to_string(file).expect("results");
    assert!(results.contains("failures=\"1\""), "{results}");
    let missing = folder.path().join("none/results.xml");
    let ran = forebay(&["test", &program(), &bad, "--junit", &missing.to_string_lossy()]);
    assert_eq!((ran.code, ran.stdout.as_str()), (2, ""), "it is known before the tests");
}

/// One line that is wrong does not make a file of commands something else.
#[test]
fn a_mistake_in_a_test_is_one_of_its_line() {
    let folder = folder();
    let said = |name: &str, text: &str| {
        let test = write(folder.path(), name, text);
        let ran = forebay(&["test", &program(), &test]);
        assert_eq!(ran.code, 2, "{}", ran.stdout);
        ran.stdout
    };
    let one = said("one.stf", "# a comment\npacket 0 00\npackt 0 00\n");
    assert!(one.contains("the STF file is not written correctly\n"), "{one}");
    assert!(one.contains("one.stf:3:1: there is no command `packt`"), "{one}");
    let only = said("only.stf", "packet -1 00\n");
    assert!(only.contains("the STF file is not written correctly\n"), "{only}");
    // Not all mistakes of a long file are listed, and not all of its lines were read.
    let long = said("long.stf", &"    hdr.ipv4.setValid(); // packet\n".repeat(200));
    assert!(long.contains("this is no STF file\n"), "{long}");
    let none = said("none.stf", "# Title\nSome text.\n");
    assert!(none.contains("this is no STF file\n"), "{none}");
}

#[test]
fn a_test_without_a_packet_is_warned_of() {
    let folder = folder();
    let warnings = |text: &str| {
        let test = write(folder.path(), "one.stf", text);
        let ran = forebay(&["test", &program(), &test]);
        assert_eq!(ran.code, 0, "{}", ran.stdout);
        ran.stderr
    };
    assert_eq!(warnings(GOOD), "");
    let said = warnings("# packets are to come\n");
    assert!(said.contains("one.stf sends no packet: it only shows"), "{said}");
}

/// A program in P4 that sends every packet to the port that `port.p4` and `PORT` say.
const REFLECTOR: &str = r#"
#include <core.p4>
#include <v1model.p4>
#include "port.p4"
struct headers_t {}
struct metadata_t {}
parser P(packet_in packet, out headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard) {
    state start { transition accept; }
}
control C(inout headers_t hdr, inout metadata_t meta) { apply {} }
control I(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard) {
    apply { standard.egress_spec = PORT; }
}
control E(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard) { apply {} }
control D(packet_out packet, in headers_t hdr) { apply {} }
V1Switch(P(), C(), I(), E(), C(), D()) main;
"#;

/// A folder with the reflector, alone but for its tests.
fn reflector() -> tempfile::TempDir {
    let folder = folder();
    write(folder.path(), "reflector.p4", REFLECTOR);
    std::fs::create_dir(folder.path().join("include")).expect("a folder");
    write(
        &folder.path().join("include"),
        "port.p4",
        "#ifndef PORT\n#define PORT 5\n#endif\n",
    );
    folder
}

#[test]
fn a_test_says_how_its_program_is_compiled() {
    let folder = reflector();
    let program = folder.path().join("reflector.p4").to_string_lossy().into_owned();
    write(
        folder.path(),
        "five.stf",
        "# forebay: -I include\npacket 0 ab\nexpect 5 ab$\n",
    );
    write(
        folder.path(),
        "six.stf",
        "# forebay: -I include -D PORT=6\npacket 0 ab\nexpect 6 ab$\n",
    );
    write(folder.path(), "entries.stf", "this is no test\n");
    let ran = forebay(&["test", &program]);
    assert_eq!(
        (ran.code, ran.stdout.ends_with("\n2 passed, 0 failed\n")),
        (0, true),
        "{}",
        ran.stdout
    );
    let also = forebay(&["test", &program, "-D", "OTHER=1"]);
    assert_eq!(also.code, 0, "{}", also.stderr);
}

#[test]
fn warnings_are_errors_for_a_test_that_is_strict() {
    let folder = reflector();
    let program = folder.path().join("reflector.p4").to_string_lossy().into_owned();
    write(
        &folder.path().join("include"),
        "port.p4",
        "#warning \"old\"\n#define PORT 5\n",
    );
    let test = |options: &str| {
        write(
            folder.path(),
            "five.stf",
            &format!("# forebay: -I include {options}\npacket 0 ab\nexpect 5 ab$\n"),
        )
    };
    let lax = test("");
    assert_eq!(forebay(&["test", &program, &lax]).code, 0);
    assert_eq!(forebay(&["test", "--strict", &program, &lax]).code, 2);
    let strict = test("--strict");
    assert_eq!(forebay(&["test", &program, &strict]).code, 2);
}

#[test]
fn a_wrong_option_has_its_line() {
    let folder = reflector();
    let test = write(folder.path(), "five.stf", "# a test\n# forebay: -X\npacket 0 ab\n");
    let ran = forebay(&["test", &folder.path().join("reflector.p4").to_string_lossy(), &test]);
    assert_eq!(ran.code, 2);
    assert!(ran.stdout.contains("five.stf:2: "), "{}", ran.stdout);
    assert!(ran.stdout.contains("unexpected argument '-X'"), "{}", ran.stdout);
}

#[test]
fn all_tests_below_a_folder() {
    let folder = reflector();
    let all = folder.path().to_string_lossy().into_owned();
    assert_eq!(forebay(&["test", "--all", &all]).code, 2, "there is none");
    write(
        folder.path(),
        "five.stf",
        "# forebay: -I include\npacket 0 ab\nexpect 5 ab$\n",
    );
    write(
        folder.path(),
        "seven.stf",
        "# forebay: -I include\npacket 0 ab\nexpect 7 ab$\n",
    );
    let ran = forebay(&["test", "--all", &all, "--quiet"]);
    assert_eq!(ran.code, 1);
    assert!(ran.stdout.starts_with("FAILED  "), "{}", ran.stdout);
    assert!(ran.stdout.ends_with("\n1 passed, 1 failed\n"), "{}", ran.stdout);
    let json: serde_json::Value =
        serde_json::from_str(&forebay(&["test", "--all", &all, "--json"]).stdout).expect("JSON");
    assert_eq!(
        (&json["passed"], &json["failed"]),
        (&serde_json::json!(1), &serde_json::json!(1))
    );
    assert!(
        json["tests"][0]["program"]
            .as_str()
            .is_some_and(|path| path.ends_with("reflector.p4"))
    );
}

#[test]
fn a_folder_is_no_program() {
    let folder = reflector();
    let ran = forebay(&["test", &folder.path().to_string_lossy()]);
    assert_eq!(ran.code, 2);
    assert!(ran.stderr.contains("forebay test --all"), "{}", ran.stderr);
}

/// A program for PNA whose packets leave by a port that no switch has.
const FAR: &str = "#include <pna.p4>
struct headers_t {}
struct meta_t {}
parser P(packet_in packet, out headers_t hdr, inout meta_t meta, in pna_main_parser_input_metadata_t istd) {
    state start { transition accept; }
}
control Pre(in headers_t hdr, inout meta_t meta, in pna_pre_input_metadata_t istd, inout pna_pre_output_metadata_t ostd) {
    apply {}
}
control Main(inout headers_t hdr, inout meta_t meta, in pna_main_input_metadata_t istd,
             inout pna_main_output_metadata_t ostd) {
    apply { send_to_port((PortId_t) 600); }
}
control D(packet_out packet, in headers_t hdr, in meta_t meta, in pna_main_output_metadata_t ostd) {
    apply {}
}
PNA_NIC(P(), Pre(), Main(), D()) main;
";

#[test]
fn switch_and_chip_agree_about_ports_that_there_are_not() {
    let folder = folder();
    let source = write(folder.path(), "far.p4", FAR);
    let test = write(folder.path(), "far.stf", "packet 1 00\n");
    let ran = forebay(&["test", &source, &test, "--switch", "chip"]);
    assert_eq!(ran.code, 0, "{}{}", ran.stdout, ran.stderr);
}
