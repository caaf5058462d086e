//! `forebay state`: its report on a folder, and the restored state.

mod support;

use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use support::announced;

const FOREBAY: &str = env!("CARGO_BIN_EXE_forebay");
const PROGRAM: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/save_state.p4");

/// A switch with a folder, and its address.
fn start(state: &Path) -> (Child, String) {
    let mut process = Command::new(FOREBAY)
        .args(["run", PROGRAM, "--engine", "interp", "--stats-interval", "0"])
        .args(["--grpc", "127.0.0.1:0", "--save-unsynced", "--save-state"])
        .arg(state)
        .stderr(Stdio::piped())
        .stdout(Stdio::null())
        .spawn()
        .expect("the command runs");
    let address = announced(&mut process, "P4Runtime: ");
    (process, address)
}

fn kill(mut process: Child) {
    process.kill().expect("it runs");
    process.wait().expect("it has ended");
}

fn ctl(address: &str, words: &[&str]) -> Output {
    let ran = Command::new(FOREBAY)
        .args(["ctl", "--grpc", address])
        .args(words)
        .output();
    ran.expect("the command runs")
}

/// A folder with a snapshot and three batches of one entry each.
fn kept(above: &Path) -> PathBuf {
    let state = above.join("state");
    let (process, address) = start(&state);
    for number in ["1", "2", "3"] {
        let added = ctl(&address, &["table", "add", "addresses", number, "do", "forward", "5"]);
        assert!(added.status.success(), "{added:?}");
    }
    let said = ctl(&address, &["state"]);
    assert_eq!(String::from_utf8_lossy(&said.stdout), "saved\n");
    let ran = state_command(&["show"], &state);
    assert_eq!(ran.0, 2, "a running switch uses it: {}", ran.1);
    kill(process);
    state
}

/// The exit code and the whole output.
fn state_command(words: &[&str], folder: &Path) -> (i32, String) {
    let ran = Command::new(FOREBAY)
        .arg("state")
        .args(words)
        .arg(folder)
        .output()
        .expect("it runs");
    let said = String::from_utf8_lossy(&ran.stdout).into_owned() + &String::from_utf8_lossy(&ran.stderr);
    (ran.status.code().expect("it ends"), said)
}

fn entries(folder: &Path) -> i64 {
    let (code, said) = state_command(&["show", "--json"], folder);
    assert_eq!(code, 0, "{said}");
    let json: Value = serde_json::from_str(&said).expect("it is JSON");
    json["running"]["objects"][0]["count"].as_i64().unwrap_or(0)
}

#[test]
fn a_sound_folder() {
    let above = tempfile::tempdir().expect("a folder");
    let state = kept(above.path());
    let (code, said) = state_command(&["show"], &state);
    assert_eq!(code, 0, "{said}");
    assert!(
        said.contains("P4 source") || said.contains("compiled by forebay build"),
        "{said}"
    );
    assert!(said.contains("SaveIngress.addresses"), "{said}");
    assert!(said.contains("3 table entries"), "{said}");
    assert!(said.contains("3 batches"), "{said}");
    let (code, said) = state_command(&["check"], &state);
    assert_eq!(code, 0, "{said}");
    assert!(said.contains("a switch can start with it"), "{said}");
    let (code, said) = state_command(&["repair"], &state);
    assert_eq!((code, said.contains("nothing to repair")), (0, true), "{said}");
    let (code, said) = state_command(&["check"], &above.path().join("none"));
    assert_eq!(code, 2);
    assert_eq!(
        said.matches("No such file").count(),
        1,
        "the reason stands once: {said}"
    );
    assert_eq!(state_command(&["check"], above.path()).0, 2, "no state");
}

/// Damages the second of three batches in a log. Returns the log's path, and its bytes from then on.
fn damaged_log(state: &Path) -> (PathBuf, Vec<u8>) {
    let log = state.join("log-00000001");
    let mut bytes = fs::read(&log).expect("there is a log");
    let middle = 24 + (bytes.len() - 24) / 2;
    bytes[middle] ^= 1;
    fs::write(&log, &bytes).expect("it can be written");
    (log, bytes)
}

/// The first batch is kept, and the report names one whole batch lost besides the damaged one.
#[test]
fn a_damaged_log() {
    let above = tempfile::tempdir().expect("a folder");
    let state = kept(above.path());
    let (log, bytes) = damaged_log(&state);
    let (code, said) = state_command(&["check"], &state);
    assert_eq!(code, 1, "{said}");
    assert!(said.contains("DAMAGED at offset"), "{said}");
    assert!(said.contains("forebay state repair"), "{said}");
    let (code, said) = state_command(&["repair"], &state);
    assert_eq!(code, 2, "nobody can be asked: {said}");
    assert_eq!(
        fs::read(&log).expect("it is there"),
        bytes,
        "nothing is changed without a word"
    );
    let (code, said) = state_command(&["repair", "--yes"], &state);
    assert_eq!(code, 0, "{said}");
    assert!(said.contains("1 batches of its log"), "{said}");
    assert!(said.contains("1 whole ones after it"), "{said}");
    assert_eq!(fs::read(state.join("damaged-1/log-00000001")).expect("a copy"), bytes);
    assert_eq!(entries(&state), 1);
    let (process, address) = start(&state);
    let dump = ctl(&address, &["table", "dump", "addresses", "--json"]);
    let dump: Value = serde_json::from_slice(&dump.stdout).expect("it is JSON");
    let keys = dump
        .as_array()
        .into_iter()
        .flatten()
        .map(|entry| entry["match"]["dst_addr"].clone());
    assert_eq!(keys.collect::<Vec<_>>(), ["00:00:00:00:00:01", "(default)"], "{dump}");
    kill(process);
}

#[test]
fn a_repair_for_programs() {
    let above = tempfile::tempdir().expect("a folder");
    let state = kept(above.path());
    let (log, bytes) = damaged_log(&state);
    let repair = |words: &[&str]| {
        let ran = Command::new(FOREBAY)
            .args(["state", "repair", "--json"])
            .args(words)
            .arg(&state)
            .output();
        let ran = ran.expect("it runs");
        let json: Value = serde_json::from_slice(&ran.stdout).expect("it is JSON");
        (ran.status.code().expect("it ends"), json)
    };
    let (code, json) = repair(&[]);
    assert_eq!((code, &json["repaired"]), (2, &Value::Bool(false)), "{json}");
    assert_eq!(
        json["kept"],
        serde_json::json!({ "generation": 1, "batches": 1 }),
        "{json}"
    );
    assert_eq!(fs::read(&log).expect("it is there"), bytes, "nothing is changed");
    let (code, json) = repair(&["--yes"]);
    assert_eq!((code, &json["repaired"]), (0, &Value::Bool(true)), "{json}");
    assert!(
        json["copies"]
            .as_str()
            .is_some_and(|copies| copies.ends_with("damaged-1")),
        "{json}"
    );
    let (code, json) = repair(&[]);
    assert_eq!((code, &json["problem"]), (0, &Value::Null), "{json}");
}

#[test]
fn a_snapshot_with_something_behind_it() {
    let above = tempfile::tempdir().expect("a folder");
    let state = kept(above.path());
    let snapshot = state.join("snapshot-00000001");
    let mut bytes = fs::read(&snapshot).expect("there is a snapshot");
    bytes.extend([0; 7]);
    fs::write(&snapshot, bytes).expect("it can be written");
    assert_eq!(state_command(&["check"], &state).0, 1);
    let (code, said) = state_command(&["repair", "--yes"], &state);
    assert_eq!(code, 0, "{said}");
    assert!(said.contains("3 batches of its log"), "{said}");
    assert!(said.contains("lost: 7 bytes after the snapshot"), "{said}");
    assert_eq!(entries(&state), 3);
    assert_eq!(state_command(&["check"], &state).0, 0);
}

#[test]
fn files_that_are_missing() {
    let above = tempfile::tempdir().expect("a folder");
    let state = kept(above.path());
    let (snapshot, log) = (state.join("snapshot-00000001"), state.join("log-00000001"));
    let bytes = fs::read(&snapshot).expect("there is a snapshot");
    fs::remove_file(&snapshot).expect("it is there");
    let refused = Command::new(FOREBAY)
        .args(["run", PROGRAM, "--grpc", "127.0.0.1:0", "--save-state"])
        .arg(&state)
        .output();
    let said = String::from_utf8_lossy(&refused.expect("it runs").stderr).into_owned();
    assert!(
        said.contains("snapshot-00000001 is missing, although log-00000001 is there"),
        "{said}"
    );
    assert!(said.contains("forebay state repair"), "{said}");
    let (code, said) = state_command(&["repair", "--yes"], &state);
    assert_eq!(code, 1, "{said}");
    assert!(said.contains("no snapshot that can be loaded"), "{said}");
    fs::write(&snapshot, bytes).expect("it can be written");
    fs::remove_file(&log).expect("it is there");
    assert_eq!(state_command(&["check"], &state).0, 1);
    let (code, said) = state_command(&["repair", "--yes"], &state);
    assert_eq!(code, 0, "{said}");
    assert!(said.contains("the log is missing"), "{said}");
    assert_eq!(entries(&state), 0);
    assert_eq!(state_command(&["check"], &state).0, 0);
}

#[test]
fn a_folder_without_a_snapshot_that_can_be_read_is_shown_as_json_too() {
    let above = tempfile::tempdir().expect("a folder");
    let state = kept(above.path());
    fs::write(state.join("snapshot-00000001"), "damaged").expect("it can be written");
    let shown = Command::new(FOREBAY)
        .args(["state", "show", "--json"])
        .arg(&state)
        .output();
    let shown = shown.expect("it runs");
    assert_eq!(shown.status.code(), Some(1));
    let json: Value = serde_json::from_slice(&shown.stdout).expect("it is JSON");
    let logged = Command::new(FOREBAY)
        .args(["state", "show", "--json", "--log-format", "json"])
        .arg(&state)
        .output();
    let record: Value = serde_json::from_slice(&logged.expect("it runs").stderr).expect("an object on a line");
    assert_eq!(record["level"], "error", "{record}");
    assert_eq!(json["running"], Value::Null);
    assert_eq!(json["generations"][0]["snapshot"]["state"], "damaged", "{json}");
}

/// The folder goes while the switch runs: the next change makes it again, with everything.
#[test]
fn a_folder_that_is_removed() {
    let above = tempfile::tempdir().expect("a folder");
    let state = above.path().join("state");
    let (process, address) = start(&state);
    let add = |number: &str| ctl(&address, &["table", "add", "addresses", number, "do", "forward", "5"]);
    assert!(add("1").status.success());
    fs::remove_dir_all(&state).expect("it is there");
    let added = add("2");
    assert!(added.status.success(), "{added:?}");
    kill(process);
    assert_eq!(entries(&state), 2);
}
