//! Every program of the repository does the same before the passes of the IR in the interpreter and behind them in machine
//! code, by its own tests.

use forebay_files::FileSources;
use forebay_frontend::Options;
use forebay_ir::{Program, passes, verify};
use forebay_pipeline::{Engine, Pipeline};
use forebay_stf::{options, parse, run_both};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Folders with programs and tests beside them.
const FOLDERS: [&str; 2] = ["tests/stf", "programs"];

/// Entries for `forebay run`, not a test.
const ENTRIES: &str = "entries.stf";

#[test]
fn passes_and_machine_code_change_nothing_that_a_test_sees() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
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

fn files_of(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).expect("a folder");
    entries.map(|entry| entry.expect("an entry").path()).collect()
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

/// The program that a test is for, compiled as the test says.
fn compile(test: &Path, text: &str) -> Program {
    let folder = test.parent().expect("a test stands in a folder");
    let (mut include_paths, mut defines) = (Vec::new(), Vec::new());
    for (_, line) in options(text) {
        let mut words = line.split_whitespace();
        while let (Some(option), Some(value)) = (words.next(), words.next()) {
            match option {
                "-D" => defines.push(value.to_string()),
                "-I" => include_paths.push(folder.join(value).to_string_lossy().into_owned()),
                other => panic!("{}: {other} is no option of the compilation", test.display()),
            }
        }
    }
    let provider = FileSources::new();
    let options = Options {
        provider: &provider,
        include_paths: &include_paths,
        defines: &defines,
    };
    let program = program_of(test);
    let compiled = forebay_frontend::compile(&program.to_string_lossy(), &options);
    compiled.program.expect("a program without errors")
}

/// The folder's program with the longest name that begins the test's, or its only one.
fn program_of(test: &Path) -> PathBuf {
    let mut programs = files_of(test.parent().expect("a test stands in a folder"));
    programs.retain(|path| path.extension().is_some_and(|extension| extension == "p4"));
    if programs.len() > 1 {
        let name = stem(test);
        programs.retain(|program| name.starts_with(&stem(program)));
    }
    let program = programs.into_iter().max_by_key(|program| stem(program).len());
    program.unwrap_or_else(|| panic!("{} has a program", test.display()))
}

fn stem(path: &Path) -> String {
    path.file_stem().unwrap_or_default().to_string_lossy().into_owned()
}
