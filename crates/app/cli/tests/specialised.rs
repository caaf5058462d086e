//! `forebay build --emit specialised`: what is compiled for each path through the parser, with all passes and without
//! each of them. `BLESS=1 cargo test --test specialised` updates the expected texts.

mod support;

use std::path::Path;
use support::{folder, forebay};

/// Specialised code of a program in `tests/specialised`, with these options.
fn specialised(program: &str, options: &[&str]) -> String {
    let program = own().join(format!("{program}.p4"));
    let output = folder();
    let (program, out) = (program.to_string_lossy(), output.path().to_string_lossy());
    let command = ["build", &program, "--emit", "specialised", "-o", &out];
    let ran = forebay(&[&command[..], options].concat());
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    std::fs::read_to_string(output.path().join("specialised.txt")).expect("it was written")
}

fn own() -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/specialised")
}

fn is_as_expected(name: &str, text: &str) {
    let golden = own().join(name);
    if std::env::var_os("BLESS").is_some() {
        std::fs::write(&golden, text).expect("the expected text can be written");
    }
    let expected = std::fs::read_to_string(&golden).unwrap_or_default();
    assert_eq!(text, expected, "{name}: see the top of this file");
}

#[test]
fn each_path_through_the_parser_has_its_own_controls() {
    is_as_expected("router.txt", &specialised("router", &[]));
}

/// The passes whose work is seen in the text, each with a program of its name.
#[test]
fn each_pass_makes_its_own_difference() {
    for pass in ["unrolling", "folding", "jump-threading", "dead-stores", "coalescing"] {
        let [with, without] = [&[][..], &["--without-pass", pass]].map(|options| specialised(pass, options));
        assert_ne!(with, without, "{pass}");
        is_as_expected(&format!("{pass}.txt"), &with);
        is_as_expected(&format!("{pass}.without.txt"), &without);
    }
}

#[test]
fn the_time_of_each_pass_is_told() {
    let output = folder();
    let (program, out) = (own().join("router.p4"), output.path().to_string_lossy());
    let command = ["build", &program.to_string_lossy(), "-o", &out, "--time-passes"];
    let table = forebay(&command);
    let rows: Vec<&str> = table
        .stdout
        .lines()
        .filter_map(|line| line.split_whitespace().next())
        .collect();
    let begins = [
        "pass",
        "architecture",
        "unrolling",
        "parser",
        "folding",
        "jump-threading",
        "dead-stores",
        "coalescing",
    ];
    assert_eq!(rows[..begins.len()], begins, "{}", table.stdout);
    let json = forebay(&[&command[..], &["--json"]].concat());
    let json: serde_json::Value = serde_json::from_str(&json.stdout).expect("it is JSON");
    let passes = json["passes"].as_array().expect("a list");
    assert!(
        passes.iter().any(|pass| pass["pass"] == "folding" && pass["runs"] == 2),
        "{json}"
    );
}
