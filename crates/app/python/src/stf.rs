//! STF tests.

use crate::errors::{self, StfError};
use crate::guard::detached;
use crate::program::Program;
use forebay_entries::{Test, UnnamedPorts};
use forebay_pipeline::{Engine, NoTrace, Options, Pipeline};
use forebay_stf::{Note, Outcome};
use pyo3::prelude::*;
use std::sync::Arc;

/// Reads a test; `name` is that of its file.
pub(crate) fn parse(text: &str, name: &str) -> PyResult<Test> {
    forebay_entries::parse(text).map_err(|problems| {
        let lines: Vec<String> = problems.iter().map(|problem| format!("{name}:{problem}")).collect();
        StfError::new_err(lines.join("\n"))
    })
}

/// Runs an STF test with a freshly loaded program; returns what failed, a line each, and notes. `engine` is `interp`,
/// `jit`, or `both`, which compares them.
#[pyfunction]
pub(crate) fn run_stf(
    py: Python<'_>,
    program: &Program,
    text: &str,
    name: &str,
    engine: &str,
    lenient: bool,
) -> PyResult<(Vec<String>, Vec<String>)> {
    let outcome = detached(py, || {
        let mut test = parse(text, name)?;
        if lenient {
            test.unnamed_ports = UnnamedPorts::Noted;
        }
        run(program, &test, engine)
    })?;
    let failures = outcome.failures.iter().map(|failure| failure.in_file(name));
    let notes = outcome.notes.iter().map(|note: &Note| note.in_file(name));
    Ok((failures.collect(), notes.collect()))
}

fn run(program: &Program, test: &Test, engine: &str) -> PyResult<Outcome> {
    let load = |engine| {
        let options = Options {
            engine,
            ..Options::default()
        };
        let pipeline = Pipeline::load_with(program.program.clone(), options);
        let wrong = |error| errors::LoadError::new_err(format!("the program cannot be loaded: {error}"));
        pipeline.map(Arc::new).map_err(wrong)
    };
    Ok(match engine {
        "interp" => forebay_stf::run(test, load(Engine::Interpreter)?, &mut NoTrace),
        "jit" => forebay_stf::run(test, load(Engine::Jit)?, &mut NoTrace),
        _ => forebay_stf::run_both(test, load(Engine::Interpreter)?, load(Engine::Jit)?),
    })
}
