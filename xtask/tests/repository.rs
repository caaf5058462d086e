//! Rules of the repository that no compiler checks.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;

/// The rooms (folders of `crates/`), and the rooms whose crates a crate of each may use besides those of its own.
const ROOMS: &[(&str, &[&str])] = &[
    ("base", &[]),
    ("compiler", &["base"]),
    ("dataplane", &["base"]),
    ("control", &["base", "compiler", "dataplane"]),
    ("model", &["base", "compiler", "dataplane", "control"]),
    ("testing", &["base", "compiler", "dataplane", "control", "model"]),
    ("app", &["base", "compiler", "dataplane", "control", "model", "testing"]),
];

/// Crates that know nothing of programs: they may use only these of ours.
const ISOLATED: &[(&str, &[&str])] = &[
    ("forebay-bits", &[]),
    ("forebay-budget", &[]),
    ("forebay-histogram", &[]),
    ("forebay-packet", &[]),
    ("forebay-syntax", &["forebay-budget"]),
    ("forebay-tables", &["forebay-bits"]),
    ("forebay-dpdk", &["forebay-packet"]),
    ("forebay-ports", &["forebay-packet", "forebay-dpdk"]),
    ("forebay-baseline", &["forebay-packet"]),
    ("forebay-traffic", &["forebay-packet"]),
    ("forebay-ir", &["forebay-bits", "forebay-budget"]),
    ("forebay-stages", &["forebay-ir"]),
    ("forebay-exec", &["forebay-bits", "forebay-ir"]),
    ("forebay-interp", &["forebay-bits", "forebay-ir", "forebay-exec"]),
];

/// Crates without files, clocks, threads and sockets: clippy holds them to `clippy.toml`.
const PURE: &[&str] = &[
    "bits",
    "histogram",
    "ir",
    "packet",
    "traffic",
    "budget",
    "syntax",
    "check",
    "lower",
    "p4info",
    "constraints",
    "bmv2",
    "stages",
    "tables",
    "exec",
    "arch",
    "interp",
    "jit",
    "pipeline",
    "switch",
    "protocol",
    "p4runtime",
    "shell",
    "entries",
    "gnmi",
    "pfcp",
    "chip",
    "sim",
    "experiments",
    "allocation",
    "stf",
    "baseline",
];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .expect("xtask stands in the repository")
        .to_path_buf()
}

/// The workspace's packages in `cargo metadata`.
fn packages() -> Vec<serde_json::Value> {
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--format-version", "1", "--no-deps", "--offline"])
        .current_dir(root())
        .output()
        .expect("cargo metadata runs");
    let metadata: serde_json::Value = serde_json::from_slice(&output.stdout).expect("cargo metadata prints JSON");
    metadata["packages"].as_array().expect("packages").clone()
}

/// Every edge between crates of the workspace (development dependencies left out).
fn edges() -> Vec<(String, String)> {
    let packages = packages();
    let ours: BTreeSet<&str> = packages.iter().filter_map(|p| p["name"].as_str()).collect();
    let mut edges = Vec::new();
    for package in &packages {
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

/// The room of each crate: the folder in which its folder stands.
fn rooms() -> BTreeMap<String, String> {
    let crates = root().join("crates");
    let room = |package: &serde_json::Value| {
        let manifest = Path::new(package["manifest_path"].as_str().expect("manifest_path"));
        let within = manifest.strip_prefix(&crates).ok()?;
        let room = within.components().next()?.as_os_str().to_str()?.to_string();
        Some((package["name"].as_str().expect("name").to_string(), room))
    };
    packages().iter().filter_map(room).collect()
}

#[test]
fn crates_depend_only_on_their_own_room_and_those_to_its_left() {
    let rooms = rooms();
    let allowed: BTreeMap<&str, &[&str]> = ROOMS.iter().copied().collect();
    for (from, to) in edges() {
        // xtask stands outside of the rooms, and nothing depends on it.
        let (Some(room), Some(other)) = (rooms.get(&from), rooms.get(&to)) else {
            assert!(rooms.contains_key(&to), "{from} may not depend on {to}");
            continue;
        };
        let rule = allowed
            .get(room.as_str())
            .unwrap_or_else(|| panic!("crates/{room} is not among ROOMS"));
        assert!(
            room == other || rule.contains(&other.as_str()),
            "{from} (crates/{room}) may not depend on {to} (crates/{other})"
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
fn paths_named_in_the_documents_exist() {
    for document in [
        "ARCHITECTURE.md",
        "CONTRIBUTING.md",
        "README.md",
        "LIMITATIONS.md",
        "DEVIATIONS.md",
        "SECURITY.md",
    ] {
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
        "functions/",
        "experiments/",
        "packaging/",
        "python/",
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

#[test]
fn pure_crates_let_clippy_watch_them() {
    for package in packages() {
        let name = package["name"].as_str().expect("name");
        let Some(name) = name.strip_prefix("forebay-").filter(|name| PURE.contains(name)) else {
            continue;
        };
        let manifest = Path::new(package["manifest_path"].as_str().expect("manifest_path"));
        let source = std::fs::read_to_string(manifest.with_file_name("src").join("lib.rs")).expect("src/lib.rs");
        assert!(
            source.contains("deny(clippy::disallowed_methods, clippy::disallowed_types)"),
            "{name} is pure and does not say so in its src/lib.rs"
        );
    }
}

/// A crate is pure, or ARCHITECTURE.md names it among those that touch the system.
#[test]
fn crates_that_touch_the_system_are_named() {
    let text = std::fs::read_to_string(root().join("ARCHITECTURE.md")).expect("ARCHITECTURE.md");
    let from = text.find("**Pure crates stay pure.**").expect("the invariant");
    let named = text[from..].split("touch the system").next().expect("its sentence");
    for (package, room) in rooms() {
        let name = package.strip_prefix("forebay-").unwrap_or(&package);
        let is_named = room == "app" || named.contains(&format!("`{name}`"));
        assert!(
            is_named != PURE.contains(&name),
            "{name}: pure crates are in PURE, the others in the sentence of ARCHITECTURE.md"
        );
    }
}

#[test]
fn crates_without_unsafe_code_forbid_it() {
    for package in packages() {
        let name = package["name"].as_str().expect("name");
        let manifest = Path::new(package["manifest_path"].as_str().expect("manifest_path"));
        let sources = manifest.with_file_name("src");
        let root = ["lib.rs", "main.rs"].map(|file| std::fs::read_to_string(sources.join(file)).unwrap_or_default());
        let is_bound = root.iter().any(|text| text.contains("(unsafe_code)]"));
        assert!(
            is_bound || has_unsafe(&sources),
            "{name} has no unsafe code: forbid it in its root"
        );
    }
}

/// Whether a source file in a folder has an unsafe block, function or implementation.
fn has_unsafe(folder: &Path) -> bool {
    const FORMS: &[&str] = &["unsafe {", "unsafe fn", "unsafe impl", "unsafe extern"];
    any_source(folder, &|text| FORMS.iter().any(|form| text.contains(form)))
}

/// Whether something holds of a source file in a folder.
fn any_source(folder: &Path, holds: &dyn Fn(&str) -> bool) -> bool {
    let entries = std::fs::read_dir(folder).expect("src/");
    entries.flatten().any(|entry| {
        if entry.path().is_dir() {
            return any_source(&entry.path(), holds);
        }
        holds(&std::fs::read_to_string(entry.path()).unwrap_or_default())
    })
}

/// Looking for examples in a crate's documentation takes a second or two, so manifests of crates without any turn it off.
#[test]
fn examples_in_documentation_are_tested() {
    for package in packages() {
        let name = package["name"].as_str().expect("name");
        let manifest = Path::new(package["manifest_path"].as_str().expect("manifest_path"));
        let targets = package["targets"].as_array().expect("targets");
        if targets.iter().any(|target| target["doctest"] == true) {
            continue;
        }
        assert!(
            !any_source(&manifest.with_file_name("src"), &has_example),
            "{name} has an example in its documentation: remove `doctest = false` from its Cargo.toml"
        );
    }
}

/// Whether documentation has a block of Rust: one without a language, or with Rust's.
fn has_example(text: &str) -> bool {
    let mut is_open = false;
    text.lines().any(|line| {
        let line = line.trim_start();
        let line = line.strip_prefix("///").or_else(|| line.strip_prefix("//!"));
        let Some(language) = line.and_then(|line| line.trim_start().strip_prefix("```")) else {
            return false;
        };
        is_open = !is_open;
        let language = language.split(',').next().unwrap_or_default();
        is_open && matches!(language, "" | "rust" | "no_run" | "should_panic" | "compile_fail")
    })
}

/// Every page below `docs/`, by its path there.
fn pages(folder: &Path, below: &str, found: &mut BTreeSet<String>) {
    for entry in std::fs::read_dir(folder).expect("a folder of docs/").flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        let path = format!("{below}{name}");
        if entry.path().is_dir() {
            pages(&entry.path(), &format!("{path}/"), found);
        } else if name.ends_with(".md") && name != "SUMMARY.md" {
            found.insert(path);
        }
    }
}

#[test]
fn the_book_has_every_page() {
    let docs = root().join("docs");
    let summary = std::fs::read_to_string(docs.join("SUMMARY.md")).expect("docs/SUMMARY.md");
    let listed: BTreeSet<String> = summary
        .split("](")
        .skip(1)
        .filter_map(|rest| rest.split(')').next())
        .map(str::to_string)
        .collect();
    let mut there = BTreeSet::new();
    pages(&docs, "", &mut there);
    assert_eq!(listed, there, "docs/SUMMARY.md lists other pages than docs/ has");
}

#[test]
fn no_link_of_the_documents_leads_nowhere() {
    let out = std::env::temp_dir().join(format!("forebay-book-{}", std::process::id()));
    let collected = Command::new("python3")
        .arg(root().join("packaging/book.py"))
        .arg("--out")
        .arg(&out)
        .output()
        .expect("python3 runs");
    let contents = std::fs::read_to_string(out.join("src/SUMMARY.md")).unwrap_or_default();
    let _ = std::fs::remove_dir_all(&out);
    assert!(
        collected.status.success(),
        "{}",
        String::from_utf8_lossy(&collected.stderr)
    );
    assert!(
        contents.contains("](functions/nat44/index.md)"),
        "a page outside of docs/ is no chapter of the site:\n{contents}"
    );
}
