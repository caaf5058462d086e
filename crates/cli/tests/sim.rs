//! `forebay sim` and `forebay experiment` as a user sees them.

mod support;

use support::{folder, forebay, program, write};

/// A file of the repository.
fn repository(path: &str) -> String {
    format!("{}/../../{path}", env!("CARGO_MANIFEST_DIR"))
}

#[test]
fn a_scenario_is_simulated() {
    let out = folder();
    let scenario = repository("experiments/table-3/scenario.toml");
    let results = out.path().join("results");
    let given = [
        "sim",
        &scenario,
        "--set",
        "N=2",
        "--set",
        "TRIAL=20",
        "--out",
        &results.to_string_lossy(),
    ];
    let ran = forebay(&given);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert!(ran.stdout.contains("chip switch (tofino): "), "{}", ran.stdout);
    let json = std::fs::read_to_string(results.join("results.json")).expect("results.json");
    let json: serde_json::Value = serde_json::from_str(&json).expect("JSON");
    let sent = json[0]["results"]["sources"][0]["sent"].as_u64().expect("a number");
    assert_eq!(json[0]["results"]["sources"][0]["delivered"].as_u64(), Some(2 * sent));
    assert!(sent > 200);
}

#[test]
fn a_mistake_in_a_scenario_has_its_line() {
    let out = folder();
    let scenario = write(
        out.path(),
        "wrong.toml",
        "description = \"wrong\"\nduration_us = 1\nduration = 2\n",
    );
    let ran = forebay(&["sim", &scenario]);
    assert_eq!(ran.code, 2);
    assert!(
        ran.stderr.contains("wrong.toml:3: unknown field `duration`"),
        "{}",
        ran.stderr
    );
    let ran = forebay(&["sim", &program()]);
    assert_eq!((ran.code, ran.stdout.as_str()), (2, ""), "a program is no scenario");
}

#[test]
fn experiments_are_listed_and_run() {
    let experiments = repository("experiments");
    let listed = forebay(&["experiment", "list", "--folder", &experiments]);
    assert_eq!(listed.code, 0, "{}", listed.stderr);
    assert!(listed.stdout.contains("table-6"), "{}", listed.stdout);
    let ran = forebay(&[
        "experiment",
        "run",
        "p4qrs-figure-8",
        "--quick",
        "--folder",
        &experiments,
    ]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert!(ran.stdout.contains("| lost | 0 | 0 |"), "{}", ran.stdout);
    let unknown = forebay(&["experiment", "run", "table-9", "--folder", &experiments]);
    assert_eq!(unknown.code, 2);
    assert!(
        unknown.stderr.contains("there is no experiment table-9"),
        "{}",
        unknown.stderr
    );
}
