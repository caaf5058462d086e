//! Tests from text, with programs of the repository.

#![allow(dead_code)]

use forebay_driver::FileSources;
use forebay_ir::Program;
use forebay_sim::Library;
use forebay_tester::histogram::Distribution;
use forebay_tester::impairment::Delay;
use forebay_tester::{Overrides, Results, Session, Silent, Test};
use std::path::{Path, PathBuf};

/// Files and programs, by their paths in the repository.
pub struct Repository;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../..")
}

impl Library for Repository {
    fn program(&self, path: &str, defines: &[String]) -> Result<Program, String> {
        let include = [root().join("p4include").to_string_lossy().into_owned()];
        let provider = FileSources::new();
        let options = forebay_driver::Options {
            provider: &provider,
            include_paths: &include,
            defines,
        };
        let path = root().join(path);
        let compiled = forebay_driver::compile(&path.to_string_lossy(), &options);
        compiled.program.ok_or_else(|| format!("{} has errors", path.display()))
    }

    fn text(&self, path: &str) -> Result<String, String> {
        std::fs::read_to_string(root().join(path)).map_err(|error| format!("cannot read {path}: {error}"))
    }

    fn bytes(&self, path: &str) -> Result<Vec<u8>, String> {
        std::fs::read(root().join(path)).map_err(|error| format!("cannot read {path}: {error}"))
    }
}

/// Reads a test.
pub fn read(text: &str) -> Test {
    Test::read(text, &Repository, &Overrides::default()).unwrap_or_else(|problems| panic!("{problems:?}"))
}

/// What is wrong with a test, one problem on a line.
pub fn problems(text: &str) -> String {
    match Test::read(text, &Repository, &Overrides::default()) {
        Ok(_) => String::new(),
        Err(problems) => problems.iter().map(|problem| format!("{problem}\n")).collect(),
    }
}

/// Runs a test in simulated time.
pub fn simulate(text: &str) -> Results {
    let test = read(text);
    let session = Session::open(&test).unwrap_or_else(|error| panic!("{error}"));
    session
        .in_simulated_time()
        .run(&mut Silent)
        .unwrap_or_else(|error| panic!("{error}"))
}

/// Runs a test on the machine's clock.
pub fn run(text: &str) -> Results {
    let test = read(text);
    let mut session = Session::open(&test).unwrap_or_else(|error| panic!("{error}"));
    session.run(&mut Silent).unwrap_or_else(|error| panic!("{error}"))
}

/// The largest distance of what was measured from the distribution function, in units of 1/sqrt(n).
pub fn kolmogorov(found: &Distribution, expected: Delay) -> f64 {
    let mut below = 0u64;
    let mut largest = 0.0f64;
    for (lower, upper, count) in &found.histogram {
        let before = below as f64 / found.count as f64;
        below += count;
        let after = below as f64 / found.count as f64;
        // Values are whole nanoseconds, cut off, and known by their bucket.
        largest = largest
            .max(before - expected.share_up_to(*lower as f64))
            .max(expected.share_up_to(*upper as f64 + 1.0) - after);
    }
    largest * (found.count as f64).sqrt()
}

/// Faults that are injected at port 2.
pub const FAULTS: &str =
    "[[impairment]]\nport = 2\nloss = 0.001\nduplication = 0.002\nreordering = 0.0005\nreordering_by = 5";

/// Whether the tester counts [`FAULTS`] exactly as they were injected, of the frames that it sent.
pub fn assert_counted_exactly(found: &Results) {
    let (injected, stream) = (found.injected.expect("impaired"), &found.trials[0].streams[0]);
    let path = &stream.paths[0];
    assert_eq!(path.lost, injected.lost);
    assert_eq!(path.duplicated, injected.duplicated);
    assert_eq!(path.reordering.reordered, injected.reordered);
    assert_eq!(path.received + path.lost, stream.sent);
    assert!(
        path.reordering.extent_max >= 5 && path.reordering.extent_max <= 16,
        "{:?}",
        path.reordering
    );
    // Held frames that are released together have one another before them.
    let three = path.reordering.three_reordered;
    assert!(
        three <= injected.reordered && three + injected.reordered / 100 >= injected.reordered,
        "{three}"
    );
    assert_eq!(path.reordering.too_late, 0);
}
