//! Wrong command lines, help, and waiting for a switch.

use crate::PORT_FORWARD;
use crate::support::{folder, forebay, program, write};
use std::path::PathBuf;
use std::process::{Command, Stdio};

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
        (
            vec!["collect", "--listen", "127.0.0.1:0", "--store", &program()],
            "is a file; name a folder to write to",
        ),
        (
            vec![
                "run",
                PORT_FORWARD,
                "-i",
                "0@mem:",
                "--grpc",
                "127.0.0.1:0",
                "--save-state",
                &program(),
            ],
            "is a file; name a folder to write to",
        ),
        (
            vec!["state", "show", &program()],
            "is a file; name the folder that was given to --save-state",
        ),
        (
            vec!["run", &program(), "-i", "0@mem:", "--metrics", "99999"],
            "invalid value '99999' for '--metrics <ADDRESS>': expected HOST:PORT",
        ),
        (
            vec![
                "run",
                PORT_FORWARD,
                "-i",
                "0@mem:",
                "--grpc",
                "127.0.0.1:0",
                "--grpc-cert",
                &program(),
                "--grpc-key",
                &program(),
            ],
            "has no certificate in PEM",
        ),
        (vec!["ctl", "--ca", &program(), "info"], "has no certificate in PEM"),
        (
            vec![
                "run",
                &program(),
                "-i",
                "0@mem:",
                "--grpc-connections",
                "18446744073709551615",
            ],
            "invalid value '18446744073709551615' for '--grpc-connections <N>'",
        ),
        (
            vec!["run", &program(), "-i", "0@no-such-if", "--wait-interfaces", "1.5"],
            "waiting for `no-such-if`, 1.5 s at most",
        ),
        (
            vec!["function", "run", "nat44", "-i", "1@mem:", "--functions"],
            "--functions needs a value",
        ),
    ] {
        let ran = forebay(&arguments);
        assert_eq!(ran.code, 2, "{arguments:?}");
        assert!(ran.stderr.contains(part), "{arguments:?}: {}", ran.stderr);
    }
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
    let expected = format!("note: nothing listens at {address} yet; waiting for the switch to start, 60 s at most\n");
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

#[test]
fn options_that_all_commands_have_come_last_in_help() {
    let help = forebay(&["check", "--help"]).stdout;
    let place = |option: &str| help.find(option).expect("check has it");
    assert!(place("  --lint <GROUP>") < place("  --log <LEVEL>"), "{help}");
    assert!(place("  --log-format <FORMAT>") < place("  -h, --help"), "{help}");
}

#[test]
fn a_store_without_reports_is_no_empty_answer() {
    let store = folder();
    let asked = forebay(&["collect", "query", "flows", "--store", &store.path().to_string_lossy()]);
    assert_eq!(asked.code, 0, "{}", asked.stderr);
    assert!(asked.stderr.contains("has no files of reports"), "{}", asked.stderr);
}

#[test]
fn an_agent_says_that_it_waits_for_its_switch() {
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../functions/upf/n4.toml");
    let text = std::fs::read_to_string(file).expect("the file of the function");
    let folder = folder();
    let file = write(folder.path(), "n4.toml", &text.replace("192.168.4.1", "127.8.0.5"));
    let ran = forebay(&["upf", &file, "--grpc", "127.0.0.1:1", "--wait", "1.5"]);
    assert_eq!(ran.code, 2, "{}", ran.stderr);
    assert!(
        ran.stderr.contains("nothing listens at 127.0.0.1:1 yet"),
        "{}",
        ran.stderr
    );
}
