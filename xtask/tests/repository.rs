//! Rules of the repository that no compiler checks.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The crates from left to right: each may depend only on crates that stand before it.
const ORDER: &[&str] = &[
    "forebay-bits",
    "forebay-budget",
    "forebay-packet",
    "forebay-syntax",
    "forebay-check",
    "forebay-ir",
    "forebay-resources",
    "forebay-p4info",
    "forebay-constraints",
    "forebay-lower",
    "forebay-frontend",
    "forebay-bmv2",
    "forebay-tables",
    "forebay-interp",
    "forebay-jit",
    "forebay-pipeline",
    "forebay-protocol",
    "forebay-ctl",
    "forebay-control",
    "forebay-switch",
    "forebay-chip",
    "forebay-ports",
    "forebay-files",
    "forebay-state",
    "forebay-server",
    "forebay-stf",
    "forebay-differential",
    "forebay-traffic",
    "forebay-sim",
    "forebay-experiments",
    "forebay-demo",
    "forebay-handwritten",
    "forebay-bench",
    "forebay-cli",
    "xtask",
];

/// Crates that know nothing of programs: they may use only these of ours.
const ISOLATED: &[(&str, &[&str])] = &[
    ("forebay-bits", &[]),
    ("forebay-budget", &[]),
    ("forebay-packet", &[]),
    ("forebay-syntax", &["forebay-budget"]),
    ("forebay-tables", &["forebay-bits"]),
    ("forebay-ports", &["forebay-packet"]),
    ("forebay-handwritten", &["forebay-packet"]),
    ("forebay-traffic", &["forebay-packet"]),
    ("forebay-ir", &["forebay-bits", "forebay-budget"]),
    ("forebay-resources", &["forebay-ir"]),
    ("forebay-interp", &["forebay-bits", "forebay-ir", "forebay-tables"]),
];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .expect("xtask stands in the repository")
        .to_path_buf()
}

/// Every edge between crates of the workspace, from `cargo metadata` (development dependencies left out).
fn edges() -> Vec<(String, String)> {
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--format-version", "1", "--no-deps", "--offline"])
        .current_dir(root())
        .output()
        .expect("cargo metadata runs");
    let metadata: serde_json::Value = serde_json::from_slice(&output.stdout).expect("cargo metadata prints JSON");
    let packages = metadata["packages"].as_array().expect("packages");
    let ours: BTreeSet<&str> = packages.iter().filter_map(|p| p["name"].as_str()).collect();
    let mut edges = Vec::new();
    for package in packages {
        let name = package["name"].as_str().expect("name");
        for dependency in package["dependencies"].as_array().expect("dependencies") {
            let on = dependency["name"].as_str().expect("name");
            if ours.contains(on) && dependency["kind"].is_null() {
                edges.push((name.to_string(), on.to_string()));
            }
        }
    }
    edges
}

#[test]
fn crates_depend_only_to_the_left() {
    let position = |name: &str| {
        ORDER
            .iter()
            .position(|o| *o == name)
            .unwrap_or_else(|| panic!("{name} has no place in ORDER: give it one"))
    };
    for (from, to) in edges() {
        assert!(
            position(&to) < position(&from),
            "{from} may not depend on {to}, which stands to its right"
        );
    }
}

#[test]
fn isolated_crates_stay_isolated() {
    let edges = edges();
    for (name, allowed) in ISOLATED {
        for (_, to) in edges.iter().filter(|(from, _)| from == name) {
            assert!(allowed.contains(&to.as_str()), "{name} may not depend on {to}");
        }
    }
}

#[test]
fn paths_named_in_the_architecture_exist() {
    for document in ["ARCHITECTURE.md", "README.md", "LIMITATIONS.md", "DEVIATIONS.md"] {
        let text = std::fs::read_to_string(root().join(document)).unwrap_or_else(|e| panic!("{document}: {e}"));
        for path in paths_in(&text) {
            assert!(
                root().join(path).exists(),
                "{document} names `{path}`, which does not exist"
            );
        }
    }
}

/// What stands between backquotes and begins with a folder of the repository.
fn paths_in(text: &str) -> impl Iterator<Item = &str> {
    const FOLDERS: &[&str] = &[
        "crates/",
        "programs/",
        "p4include/",
        "tests/",
        "docs/",
        "fuzz/",
        "benches/",
        "xtask/",
        "demo/",
    ];
    text.split('`')
        .skip(1)
        .step_by(2)
        .filter(|code| FOLDERS.iter().any(|folder| code.starts_with(folder)))
        .filter(|code| !code.contains(['*', ' ', '<', '{', '\n']))
        .map(|code| code.trim_end_matches('/'))
}

#[test]
fn the_map_is_short() {
    let text = std::fs::read_to_string(root().join("ARCHITECTURE.md")).expect("ARCHITECTURE.md");
    assert!(text.lines().count() <= 300, "ARCHITECTURE.md has more than 300 lines");
}

#[test]
fn figures_of_documents_are_those_of_the_newest_record() {
    let output = Command::new(env!("CARGO_BIN_EXE_xtask"))
        .args(["figures", "--check"])
        .output()
        .expect("xtask runs");
    assert!(
        output.status.success(),
        "{}{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
}
