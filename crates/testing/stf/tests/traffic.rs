//! What happens between and around the controls (`docs/simple-switch-behaviour.md`), as `forebay run` does it: a switch
//! with the ports that a test names and no other, in the interpreter and in machine code, with and without the fast
//! path.

mod corpus;

use corpus::{compile, files_of};
use forebay_entries::parse;
use forebay_pipeline::{DropReason, Engine, FastPath, Options, Pipeline};
use forebay_stf::run_attached;
use std::path::{Path, PathBuf};
use std::sync::Arc;

const EXECUTORS: [(Engine, FastPath); 3] = [
    (Engine::Interpreter, FastPath::Never),
    (Engine::Jit, FastPath::Never),
    (Engine::Jit, FastPath::BeforePackets),
];

fn repository(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../..").join(path)
}

fn tests() -> Vec<PathBuf> {
    let mut tests: Vec<PathBuf> = ["tests/stf/traffic", "tests/stf/metadata"]
        .iter()
        .flat_map(|folder| files_of(&repository(folder)))
        .filter(|path| path.extension().is_some_and(|extension| extension == "stf"))
        .collect();
    tests.sort();
    tests
}

/// What fails, and how many packets were dropped for want of a port.
fn outcome(path: &Path, (engine, fast_path): (Engine, FastPath)) -> (Vec<String>, u64) {
    let text = std::fs::read_to_string(path).expect("a test");
    let test = parse(&text).expect("STF");
    let options = Options {
        engine,
        fast_path,
        ..Options::default()
    };
    let program = compile(path, &text);
    let pipeline = Arc::new(Pipeline::load_with(program, options).expect("a program that can be loaded"));
    let outcome = run_attached(&test, Arc::clone(&pipeline), &test.ports());
    let failures = outcome.failures.iter();
    let failures = failures.map(|failure| format!("{} by {engine:?}, {fast_path:?}: {failure}", path.display()));
    (failures.collect(), pipeline.drops().get(DropReason::NoSuchPort))
}

#[test]
fn a_switch_with_the_ports_of_a_test_passes_it() {
    let tests = tests();
    assert!(tests.len() > 60, "the corpus is found");
    let wrong: Vec<String> = tests
        .iter()
        .flat_map(|path| EXECUTORS.iter().flat_map(|&executor| outcome(path, executor).0))
        .collect();
    assert_eq!(wrong, Vec::<String>::new());
}

/// Packets that stay lost are counted after egress; those that egress recirculates or drops are not.
#[test]
fn what_would_leave_by_a_missing_port_is_counted_after_egress() {
    let lost = [
        ("unattached_recirculate", 0),
        ("unattached_clone_egress", 1),
        ("unattached_clone", 1),
        ("unattached_multicast", 0),
        ("unattached_counted", 1),
    ];
    for (name, packets) in lost {
        let path = repository("tests/stf/traffic").join(name).with_extension("stf");
        for executor in EXECUTORS {
            assert_eq!(
                outcome(&path, executor),
                (Vec::new(), packets),
                "{name} by {executor:?}"
            );
        }
    }
}

/// Every test that the document names is there.
#[test]
fn the_document_names_tests_that_exist() {
    let document = std::fs::read_to_string(repository("docs/simple-switch-behaviour.md")).expect("the document");
    let named: Vec<&str> = document
        .split('`')
        .filter(|word| word.starts_with("traffic/") || word.starts_with("metadata/") || word.starts_with("externs/"))
        .collect();
    assert!(named.len() > 30, "{} tests", named.len());
    for name in named {
        let path = repository("tests/stf").join(name).with_extension("stf");
        assert!(path.is_file(), "{} is not there", path.display());
    }
}
