//! Each program of `tests/bmv2` is there twice: in P4, and in the JSON that BMv2 reads. Both pass the same test, and do
//! the same to random packets.

use forebay_bmv2::Known;
use forebay_driver::{FileSources, Options};
use forebay_entries::parse;
use forebay_ir::{Program, passes, verify};
use forebay_pipeline::{Engine, Pipeline};
use forebay_stf::{FailureKind, Outcome, RandomTest, run_both, run_programs};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// What is drawn at random for each program.
const RANDOM: RandomTest = RandomTest {
    seed: 1,
    entries: 8,
    packets: 500,
};

#[test]
fn json_passes_the_tests_of_its_source() {
    for test in tests() {
        let text = std::fs::read_to_string(&test).expect("a test");
        let test_of = parse(&text).expect("STF");
        let json = json(&test);
        let mut optimized = json.clone();
        passes::optimize(&mut optimized);
        assert_eq!(verify::verify(&optimized), [], "{}", test.display());
        check(
            &test,
            &run_programs(
                &test_of,
                load(source(&test), Engine::Interpreter),
                load(json.clone(), Engine::Interpreter),
            ),
        );
        check(
            &test,
            &run_both(&test_of, load(json, Engine::Interpreter), load(optimized, Engine::Jit)),
        );
    }
}

#[test]
fn json_does_to_any_packet_what_its_source_does() {
    for test in tests() {
        let (source, json) = (source(&test), json(&test));
        let random = RANDOM.build(&source);
        let outcome = run_programs(
            &random,
            load(source, Engine::Interpreter),
            load(json, Engine::Interpreter),
        );
        let differences = outcome
            .failures
            .iter()
            .filter(|failure| failure.kind == FailureKind::Engine);
        let differences: Vec<String> = differences.map(|failure| failure.to_string()).collect();
        assert_eq!(differences, Vec::<String>::new(), "{}", test.display());
    }
}

fn check(test: &Path, outcome: &Outcome) {
    let failures = outcome.failures.iter().map(|failure| failure.to_string());
    assert_eq!(failures.collect::<Vec<_>>(), Vec::<String>::new(), "{}", test.display());
}

fn tests() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../tests/bmv2");
    let entries = std::fs::read_dir(folder).expect("the folder of the tests");
    let mut tests: Vec<PathBuf> = entries.map(|entry| entry.expect("an entry").path()).collect();
    tests.retain(|path| path.extension().is_some_and(|extension| extension == "stf"));
    assert!(tests.len() >= 7, "the tests are found");
    tests
}

fn json(test: &Path) -> Program {
    let path = test.with_extension("json");
    let text = std::fs::read_to_string(&path).expect("a JSON beside the test");
    forebay_bmv2::read(&text, &Known::default()).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn source(test: &Path) -> Program {
    let provider = FileSources::new();
    let path = test.with_extension("p4");
    let compiled = forebay_driver::compile(&path.to_string_lossy(), &Options::new(&provider));
    compiled
        .program
        .unwrap_or_else(|| panic!("{} has mistakes", path.display()))
}

fn load(program: Program, engine: Engine) -> Arc<Pipeline> {
    let options = forebay_pipeline::Options {
        engine,
        ..Default::default()
    };
    Arc::new(Pipeline::load_with(program, options).expect("a program that can be loaded"))
}
