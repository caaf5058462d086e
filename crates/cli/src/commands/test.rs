//! `forebay test`: STF tests against a program, in memory and virtual time.

use super::Status;
use crate::output;
use crate::program::{self, Engine, ProgramArguments};
use crate::stf_file;
use crate::trace_printer::TracePrinter;
use anyhow::{Result, bail};
use forebay_ir::Program;
use forebay_pipeline::NoTrace;
use forebay_stf::{Outcome, Test};
use serde_json::{Value, json};
use std::fmt::Write;
use std::path::{Path, PathBuf};

/// Arguments of `forebay test`.
#[derive(clap::Args)]
pub struct Arguments {
    #[command(flatten)]
    program: ProgramArguments,
    /// Test files; without, those beside the program whose names begin like its
    #[arg(value_name = "TEST.stf")]
    tests: Vec<PathBuf>,
    /// What executes the program
    #[arg(long, value_enum, default_value_t = Engines::Interp)]
    engine: Engines,
    /// Print the results as JSON
    #[arg(long, conflicts_with = "trace")]
    json: bool,
    /// Print what happens to each packet
    #[arg(long)]
    trace: bool,
    /// Print what commands say and what was dropped, also for tests that pass
    #[arg(short, long)]
    verbose: bool,
}

/// A test file and how it went.
struct Ran {
    path: PathBuf,
    /// The error is that the file cannot be read, or is no test.
    outcome: Result<Outcome>,
}

/// What executes a test.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Engines {
    /// The reference executor
    Interp,
    /// Machine code
    Jit,
    /// Both; the test fails when they do not do the same
    Both,
}

/// Runs the tests.
pub fn run(arguments: &Arguments) -> Result<Status> {
    let Some(program) = program::compile(&arguments.program)? else {
        return Ok(Status::Unable);
    };
    let mut ran = Vec::new();
    for path in tests(arguments)? {
        let outcome = stf_file::read(&path).and_then(|test| run_test(&program, &test, arguments));
        let test = Ran { path, outcome };
        if !arguments.json {
            output::print(&test.text(arguments.verbose))?;
        }
        ran.push(test);
    }
    if arguments.json {
        output::print_json(&Value::Array(ran.iter().map(Ran::json).collect()))?;
    } else if ran.len() > 1 {
        let passed = ran.iter().filter(|test| test.status() == Status::Good).count();
        output::print(&format!("{passed} of {} tests passed\n", ran.len()))?;
    }
    Ok(worst(&ran))
}

fn run_test(program: &Program, test: &Test, arguments: &Arguments) -> Result<Outcome> {
    let load = |engine: Engine| engine.load(program.clone());
    if !arguments.trace {
        return Ok(match arguments.engine {
            Engines::Interp => forebay_stf::run(test, load(Engine::Interp)?, &mut NoTrace),
            Engines::Jit => forebay_stf::run(test, load(Engine::Jit)?, &mut NoTrace),
            Engines::Both => forebay_stf::run_both(test, load(Engine::Interp)?, load(Engine::Jit)?),
        });
    }
    if arguments.engine != Engines::Interp {
        bail!("only the interpreter takes single steps: --trace goes with --engine interp");
    }
    let pipeline = load(Engine::Interp)?;
    let mut printer = TracePrinter::new(pipeline.clone());
    let outcome = forebay_stf::run(test, pipeline, &mut printer);
    output::print(&printer.take_text())?;
    Ok(outcome)
}

/// The test files that were named, or all beside the program.
fn tests(arguments: &Arguments) -> Result<Vec<PathBuf>> {
    if !arguments.tests.is_empty() {
        return Ok(arguments.tests.clone());
    }
    let program = arguments.program.path();
    let found = tests_beside(program)?;
    if found.is_empty() {
        let stem = program.file_stem().unwrap_or_default().to_string_lossy();
        bail!(
            "there is no file {stem}*.stf beside {}; name the test files",
            program.display()
        );
    }
    Ok(found)
}

fn tests_beside(program: &Path) -> Result<Vec<PathBuf>> {
    let folder = program
        .parent()
        .filter(|folder| !folder.as_os_str().is_empty())
        .unwrap_or(Path::new("."));
    let stem = program.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let entries = std::fs::read_dir(folder).with_context(|| format!("cannot list {}", folder.display()))?;
    let mut found: Vec<PathBuf> = entries
        .flatten()
        .map(|entry| entry.path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "stf"))
        .filter(|path| {
            path.file_stem()
                .unwrap_or_default()
                .to_string_lossy()
                .starts_with(&stem)
        })
        .collect();
    found.sort();
    Ok(found)
}

fn worst(ran: &[Ran]) -> Status {
    ran.iter()
        .map(Ran::status)
        .max_by_key(|status| status.code())
        .unwrap_or(Status::Good)
}

impl Ran {
    fn status(&self) -> Status {
        match &self.outcome {
            Ok(outcome) if outcome.passed() => Status::Good,
            Ok(outcome) if !outcome.is_invalid() => Status::Bad,
            _ => Status::Unable,
        }
    }

    /// A line for the test, and below it what failed and what is worth knowing.
    fn text(&self, verbose: bool) -> String {
        let verdict = match self.status() {
            Status::Good => "passed",
            Status::Bad => "FAILED",
            Status::Unable => "WRONG ",
        };
        let mut text = format!("{verdict}  {}", self.path.display());
        match &self.outcome {
            Err(error) => {
                let _ = writeln!(text, "\n{}", indented(&format!("{error:#}")));
            }
            Ok(outcome) => {
                let _ = writeln!(
                    text,
                    " (packets: {} in, {} out)",
                    outcome.packets_in, outcome.packets_out
                );
                for failure in &outcome.failures {
                    let _ = writeln!(text, "{}", indented(&failure.to_string()));
                }
                let notes = if verbose || !outcome.passed() {
                    &outcome.notes[..]
                } else {
                    &[]
                };
                for note in notes {
                    let _ = writeln!(text, "{}", indented(&format!("note: {note}")));
                }
            }
        }
        text
    }

    fn json(&self) -> Value {
        let path = self.path.display().to_string();
        match &self.outcome {
            Err(error) => json!({ "test": path, "passed": false, "error": format!("{error:#}") }),
            Ok(outcome) => json!({
                "test": path,
                "passed": outcome.passed(),
                "packets_in": outcome.packets_in,
                "packets_out": outcome.packets_out,
                "failures": outcome.failures.iter().map(|failure| json!({
                    "line": failure.line,
                    "kind": failure.kind.name(),
                    "message": failure.message,
                })).collect::<Vec<_>>(),
                "notes": outcome.notes.iter().map(|note| json!({
                    "line": note.line,
                    "message": note.message,
                })).collect::<Vec<_>>(),
            }),
        }
    }
}

fn indented(text: &str) -> String {
    text.lines()
        .map(|line| format!("        {line}"))
        .collect::<Vec<_>>()
        .join("\n")
}
