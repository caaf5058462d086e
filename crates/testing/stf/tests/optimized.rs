//! Every program of the repository does the same before the passes of the IR in the interpreter and after them in
//! machine code, by its own tests.

mod corpus;

use corpus::{compile, files_of};
use forebay_entries::parse;
use forebay_ir::{passes, verify};
use forebay_pipeline::{Engine, Pipeline};
use forebay_stf::run_both;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Folders with programs and tests beside them.
const FOLDERS: [&str; 2] = ["tests/stf", "programs"];

/// Entries for `forebay run`, not a test.
const ENTRIES: &str = "entries.stf";

#[test]
fn passes_and_machine_code_change_nothing_that_a_test_sees() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../..");
    let mut tests = Vec::new();
    for folder in FOLDERS {
        collect_tests(&root.join(folder), &mut tests);
    }
    assert!(tests.len() > 150, "the corpus is found");
    let half = tests.len() / 2;
    let (first, second) = tests.split_at(half);
    let wrong = std::thread::scope(|scope| {
        let other = scope.spawn(|| differences(second));
        let mut wrong = differences(first);
        wrong.extend(other.join().expect("tests ran"));
        wrong
    });
    assert_eq!(wrong, Vec::<String>::new());
}

fn collect_tests(folder: &Path, tests: &mut Vec<PathBuf>) {
    for path in files_of(folder) {
        if path.is_dir() {
            collect_tests(&path, tests);
        } else if path.extension().is_some_and(|extension| extension == "stf") && !path.ends_with(ENTRIES) {
            tests.push(path);
        }
    }
}

fn differences(tests: &[PathBuf]) -> Vec<String> {
    tests.iter().flat_map(|test| differences_of(test)).collect()
}

/// What fails when the optimised program has to do what the program does.
fn differences_of(path: &Path) -> Vec<String> {
    let text = std::fs::read_to_string(path).expect("a test");
    let test = parse(&text).expect("STF");
    let program = compile(path, &text);
    let mut optimized = program.clone();
    passes::optimize(&mut optimized);
    assert_eq!(verify::verify(&optimized), [], "{}", path.display());
    let load = |program, engine| {
        let options = forebay_pipeline::Options {
            engine,
            ..Default::default()
        };
        Arc::new(Pipeline::load_with(program, options).expect("a program that can be loaded"))
    };
    let outcome = run_both(&test, load(program, Engine::Interpreter), load(optimized, Engine::Jit));
    let failures = outcome.failures.iter();
    failures
        .map(|failure| format!("{}: {failure}", path.display()))
        .collect()
}
