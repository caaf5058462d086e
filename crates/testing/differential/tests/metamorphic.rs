//! Every program of the STF corpus, rewritten without a change of meaning, passes its test and has the same P4Info.
//!
//! A few forms of each here; `cargo xtask metamorphic` tries as many as there is time for, also of p4c's programs.

use forebay_differential::rewrite::{Setup, check};
use forebay_entries::{options, parse};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

/// Forms of each program.
const FORMS: u64 = 2;

#[test]
fn rewritten_programs_do_the_same() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../tests/stf");
    let mut tests = Vec::new();
    collect(&root, &mut tests);
    tests.sort();
    let next = AtomicUsize::new(0);
    let (mut wrong, mut compared) = (Vec::new(), 0);
    std::thread::scope(|scope| {
        let worker = || {
            let mut found = (Vec::new(), 0);
            while let Some(test) = tests.get(next.fetch_add(1, Ordering::Relaxed)) {
                for seed in 0..FORMS {
                    match compare(test, seed) {
                        Ok(is_compared) => found.1 += usize::from(is_compared),
                        Err(difference) => found.0.push(difference),
                    }
                }
            }
            found
        };
        let workers: Vec<_> = (0..2).map(|_| scope.spawn(worker)).collect();
        for worker in workers {
            let (differences, count) = worker.join().expect("a worker ends");
            wrong.extend(differences);
            compared += count;
        }
    });
    assert!(wrong.is_empty(), "{} differences:\n{}", wrong.len(), wrong.join("\n\n"));
    assert!(compared > 300, "only {compared} were compared");
}

fn collect(folder: &Path, tests: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            collect(&path, tests);
        } else if path.extension().is_some_and(|extension| extension == "stf") && path.with_extension("p4").exists() {
            tests.push(path);
        }
    }
}

fn compare(path: &Path, seed: u64) -> Result<bool, String> {
    let text = std::fs::read_to_string(path).expect("a test");
    let test = parse(&text).expect("STF");
    let mut defines = Vec::new();
    for (_, line) in options(&text) {
        let mut words = line.split_whitespace();
        while let (Some(option), Some(value)) = (words.next(), words.next()) {
            match option {
                "-D" => defines.push(value.to_string()),
                _ => return Ok(false),
            }
        }
    }
    let provider = |path: &str| std::fs::read_to_string(path).ok();
    let setup = Setup {
        provider: &provider,
        include_paths: &[],
        defines: &defines,
    };
    check(&path.with_extension("p4").to_string_lossy(), &test, &setup, seed)
}
