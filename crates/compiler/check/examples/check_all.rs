//! Parses and checks every program of a folder, in parallel:
//! `cargo run -p forebay-check --example check_all -- DIR [--list]`.
//!
//! Prints how many were accepted and rejected, with `--list` which, and with `--errors` the first message of each.

use forebay_check::verify::verify;
use forebay_syntax::diagnostic::{Diagnostics, Severity};
use forebay_syntax::source::SourceMap;
use forebay_syntax::{ParseOptions, parse_program};
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;
use std::time::{Duration, Instant};

/// What became of a program.
struct Outcome {
    accepted: bool,
    parse_failed: bool,
    first: String,
    elapsed: Duration,
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let list = arguments.iter().any(|argument| argument == "--list");
    let errors = arguments.iter().any(|argument| argument == "--errors");
    let mut include_paths = Vec::new();
    let mut files = Vec::new();
    for argument in arguments.iter().filter(|argument| !argument.starts_with("--")) {
        if let Some(path) = argument.strip_prefix("-I") {
            include_paths.push(path.to_string());
        } else {
            collect(Path::new(argument), &mut files);
        }
    }
    files.sort();
    let results = run(&files, &include_paths);
    let accepted = results.iter().filter(|(_, outcome)| outcome.accepted).count();
    for (path, outcome) in &results {
        let verdict = if outcome.accepted {
            "accepted"
        } else if outcome.parse_failed {
            "unparsed"
        } else {
            "rejected"
        };
        if errors && !outcome.accepted {
            println!("{verdict} {} {}", path.display(), outcome.first);
        } else if list || errors {
            println!(
                "{verdict} {} {:.1}ms",
                path.display(),
                outcome.elapsed.as_secs_f64() * 1e3
            );
        }
    }
    println!(
        "{} programs: {accepted} accepted, {} rejected",
        results.len(),
        results.len() - accepted
    );
}

fn collect(path: &Path, files: &mut Vec<PathBuf>) {
    if path.is_dir() {
        let Ok(entries) = std::fs::read_dir(path) else { return };
        for entry in entries.flatten() {
            collect(&entry.path(), files);
        }
    } else if path.extension().is_some_and(|extension| extension == "p4") {
        files.push(path.to_path_buf());
    }
}

fn run(files: &[PathBuf], include_paths: &[String]) -> Vec<(PathBuf, Outcome)> {
    let next = AtomicUsize::new(0);
    let results = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..std::thread::available_parallelism().map_or(2, |count| count.get()) {
            scope.spawn(|| {
                while let Some(path) = files.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let outcome = check_with_limit(path, include_paths);
                    results
                        .lock()
                        .expect("no thread panics holding it")
                        .push((path.clone(), outcome));
                }
            });
        }
    });
    let mut results = results.into_inner().expect("all threads are done");
    results.sort_by(|left, right| left.0.cmp(&right.0));
    results
}

/// Runs one program in a thread of its own, so that a panic or an endless loop is seen and reported.
fn check_with_limit(path: &Path, include_paths: &[String]) -> Outcome {
    let (sender, receiver) = mpsc::channel();
    let path = path.to_path_buf();
    let include_paths = include_paths.to_vec();
    let started = Instant::now();
    std::thread::spawn(move || {
        let _ = sender.send(check_file(&path, &include_paths));
    });
    match receiver.recv_timeout(Duration::from_secs(10)) {
        Ok(mut outcome) => {
            outcome.elapsed = started.elapsed();
            outcome
        }
        Err(mpsc::RecvTimeoutError::Timeout) => failure("TIME-OUT"),
        Err(mpsc::RecvTimeoutError::Disconnected) => failure("PANIC"),
    }
}

fn failure(text: &str) -> Outcome {
    Outcome {
        accepted: false,
        parse_failed: false,
        first: text.to_string(),
        elapsed: Duration::ZERO,
    }
}

fn check_file(path: &Path, include_paths: &[String]) -> Outcome {
    let provider = |path: &str| std::fs::read_to_string(path).ok();
    let options = ParseOptions {
        include_paths,
        ..ParseOptions::new(&provider)
    };
    let parsed = parse_program(&path.to_string_lossy(), &options);
    if parsed.diagnostics.has_errors() {
        return outcome(false, true, first_error(&parsed.diagnostics, &parsed.sources));
    }
    let (program, diagnostics) = forebay_check::check(&parsed.program);
    if let Some((span, message)) = program.as_ref().and_then(|program| verify(program).into_iter().next()) {
        let line = parsed.sources.location(span).map_or(0, |location| location.line);
        return outcome(false, false, format!("line {line}: INVARIANT {message}"));
    }
    outcome(program.is_some(), false, first_error(&diagnostics, &parsed.sources))
}

fn outcome(accepted: bool, parse_failed: bool, first: String) -> Outcome {
    Outcome {
        accepted,
        parse_failed,
        first,
        elapsed: Duration::ZERO,
    }
}

fn first_error(diagnostics: &Diagnostics, sources: &SourceMap) -> String {
    let Some(error) = diagnostics
        .iter()
        .find(|diagnostic| diagnostic.severity == Severity::Error)
    else {
        return String::new();
    };
    let line = sources.location(error.primary.span).map_or(0, |location| location.line);
    format!("line {line}: {} {}", error.code, error.message)
}
