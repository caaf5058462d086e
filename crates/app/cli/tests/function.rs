//! `forebay function` as a user runs it.

mod support;

use serde_json::Value;
use std::path::Path;
use std::process::Command;
use support::{folder, forebay};

const FUNCTIONS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../functions");

#[test]
fn functions_are_listed_with_what_they_are() {
    let text = forebay(&["function", "list", "--functions", FUNCTIONS]).stdout;
    let nat = text.lines().find(|line| line.starts_with("nat44 "));
    assert!(nat.is_some_and(|line| line.ends_with("NAT for IPv4")), "{text}");

    let list = forebay(&["function", "list", "--json", "--functions", FUNCTIONS]).stdout;
    let list: Value = serde_json::from_str(&list).expect("JSON");
    let functions = list["functions"].as_array().expect("a list");
    for function in functions {
        for key in ["program", "control", "readme"] {
            let path = function[key].as_str().unwrap_or_else(|| panic!("{function}: {key}"));
            assert!(Path::new(path).is_file(), "{path}");
        }
        assert_ne!(function["about"], "", "{function}");
    }
    assert!(functions.len() > 5, "{list}");
}

#[test]
fn the_folder_is_found_from_the_repository_and_from_the_environment() {
    assert_eq!(forebay(&["function", "list"]).code, 0);
    let empty = folder();
    let done = Command::new(env!("CARGO_BIN_EXE_forebay"))
        .args(["function", "list"])
        .env("FOREBAY_FUNCTIONS", empty.path())
        .output()
        .expect("the command runs");
    let errors = String::from_utf8_lossy(&done.stderr);
    assert_eq!(done.status.code(), Some(2), "{errors}");
    assert!(errors.contains("has no function"), "{errors}");
}

#[test]
fn a_function_runs_with_the_entries_of_its_demonstration() {
    let words = ["function", "run", "--functions", FUNCTIONS];
    let ports = ["-i", "1@mem:", "-i", "2@mem:", "--duration", "0.2", "--json"];
    let done = forebay(&[&words[..], &["nat44"], &ports[..]].concat());
    assert_eq!(done.code, 0, "{}", done.stderr);
    let last = done.stdout.lines().last().expect("a line");
    let last: Value = serde_json::from_str(last).expect("JSON");
    let tables = last["tables"].as_array().expect("tables");
    let routes = tables
        .iter()
        .find(|table| table["table"].as_str().is_some_and(|name| name.ends_with("routes")));
    assert!(
        routes.is_some_and(|table| table["entries"].as_u64() > Some(0)),
        "{last}"
    );
}

#[test]
fn options_before_the_command_say_how_much_is_said() {
    let words = ["function", "run", "--functions", FUNCTIONS, "nat44"];
    let ports = [
        "-i",
        "1@mem:",
        "-i",
        "2@mem:",
        "--duration",
        "0.1",
        "--stats-interval",
        "0",
    ];
    let said = |before: &[&str], behind: &[&str]| {
        let done = forebay(&[before, &words[..], &ports[..], behind].concat());
        assert_eq!(done.code, 0, "{}", done.stderr);
        done.stderr
    };
    assert_eq!(said(&["--log", "error"], &[]), "");
    let text = said(&["--log-format", "json"], &[]);
    assert!(text.starts_with('{'), "{text}");
    let text = said(&["--log", "error"], &["--log=info"]);
    assert!(text.contains("the entries of its demonstration"), "{text}");
}

#[test]
fn what_is_wrong_is_said() {
    let run = |words: &[&str]| {
        let all = [&["function", "run", "--functions", FUNCTIONS], words].concat();
        let done = forebay(&all);
        assert_eq!(done.code, 2, "{words:?}");
        done.stderr
    };
    let text = run(&["nat4", "-i", "1@mem:"]);
    assert!(text.contains("did you mean `nat44`?"), "{text}");
    let text = run(&["nat44", "--interface", "1@mem:"]);
    assert!(text.contains("unexpected argument '--interface'"), "{text}");
    let text = run(&["nat44"]);
    assert!(text.contains("`nat44` needs ports"), "{text}");
}

#[test]
fn a_function_without_entries_needs_its_controller() {
    let folder = folder();
    let own = folder.path().join("bare");
    std::fs::create_dir(&own).expect("a folder");
    let program = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../programs/portfwd/portfwd.p4");
    std::fs::copy(program, own.join("bare.p4")).expect("a copy");
    std::fs::write(own.join("control.py"), "").expect("a file");
    // The folder of the functions may stand after the name too.
    let place = folder.path().to_string_lossy().into_owned();
    let done = forebay(&["function", "run", "bare", "-i", "1@mem:", "--functions", &place]);
    assert_eq!(done.code, 2);
    assert!(done.stderr.contains("add --grpc"), "{}", done.stderr);
}
