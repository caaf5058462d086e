//! What `forebay build` says of programs that take the slow path: each program of `tests/slow_path` has it in its
//! comments.

mod support;

use serde_json::Value;
use std::collections::BTreeSet;
use std::path::Path;
use support::{folder, forebay};

/// A line of the program, whether it concerns all packets, and the note.
type Said = (Option<u64>, bool, String);

/// The notes that the comments of a program expect.
fn expected(source: &str) -> BTreeSet<Said> {
    let lines = source.lines().zip(1..);
    let marked = lines.filter_map(|(line, number)| {
        let (code, comment) = line.split_once("// ")?;
        let comment = comment.strip_prefix("any line ").unwrap_or(comment);
        let (all, text) = match comment.strip_prefix("all: ") {
            Some(text) => (true, text),
            None => (false, comment.strip_prefix("some: ")?),
        };
        let line = (!code.trim().is_empty()).then_some(number);
        Some((line, all, text.to_owned()))
    });
    marked.collect()
}

/// The notes of `forebay build`, without the place at their beginning.
fn said(obstacle: &Value, file: &str) -> Said {
    let line = obstacle["line"].as_u64();
    let message = obstacle["message"].as_str().expect("a message");
    let text = match line {
        Some(line) => {
            let place = format!("{file}:{line}");
            let text = message
                .strip_prefix(&place)
                .unwrap_or_else(|| panic!("{message}: {place}"));
            text.trim_start_matches(':').trim_start().to_owned()
        }
        None => message.to_owned(),
    };
    let folder = Path::new(file).parent().expect("a folder");
    let text = text.replace(&format!("{}/", folder.display()), "");
    (line, obstacle["all_packets"] == true, text)
}

#[test]
fn every_obstacle_is_said_with_its_line() {
    let programs = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../tests/slow_path");
    let output = folder();
    let output = output.path().to_string_lossy();
    let mut count = 0;
    for entry in std::fs::read_dir(programs).expect("the folder is there") {
        let path = entry.expect("an entry").path();
        if path.extension().is_none_or(|extension| extension != "p4") {
            continue;
        }
        count += 1;
        let file = path.to_string_lossy();
        let source = std::fs::read_to_string(&path).expect("a program");
        let ran = forebay(&["build", &file, "-o", &output, "--json"]);
        assert_eq!(ran.code, 0, "{file}: {}", ran.stderr);
        let json: Value = serde_json::from_str(&ran.stdout).expect("JSON");
        let obstacles = json["slow_path"].as_array().expect("a list");
        let said: BTreeSet<Said> = obstacles.iter().map(|obstacle| said(obstacle, &file)).collect();
        assert_eq!(said, expected(&source), "{file}");
    }
    assert!(count >= 10, "{count} programs");
}

/// A program with obstacles of two kinds gives two notes, each a message of its own.
#[test]
fn each_way_of_packets_has_a_note() {
    let program = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../../tests/slow_path/state_and_copies.p4"
    );
    let output = folder();
    let ran = forebay(&["build", program, "-o", &output.path().to_string_lossy()]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    for beginning in [
        "note: general code, 4 times slower or more: ",
        "note: slow path for some packets, 10 times slower or more:",
    ] {
        assert!(
            ran.stderr.lines().any(|line| line.starts_with(beginning)),
            "{beginning}: {}",
            ran.stderr
        );
    }
}
