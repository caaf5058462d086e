//! A program and its rewritten forms, by the packets of its test and by its P4Info.

use super::{Overlay, rewrite};
use forebay_driver::{Compiled, Options, compile};
use forebay_entries::Test;
use forebay_ir::Program;
use forebay_p4info::model::P4Info;
use forebay_pipeline::{NoTrace, Pipeline};
use forebay_stf::run;
use forebay_syntax::render::render_all;
use forebay_syntax::source::SourceProvider;
use std::sync::Arc;

/// How a program is compiled.
#[derive(Clone, Copy)]
pub struct Setup<'a> {
    /// Reads files.
    pub provider: &'a dyn SourceProvider,
    /// Folders for `#include`.
    pub include_paths: &'a [String],
    /// Macros from outside.
    pub defines: &'a [String],
}

/// Compares a program with the form that a seed makes of it. False when there is nothing to compare: the program does
/// not compile, or its test fails as it is.
///
/// # Errors
/// What the rewritten program does differently, with its text.
pub fn check(path: &str, test: &Test, setup: &Setup, seed: u64) -> Result<bool, String> {
    let Some(text) = setup.provider.read(path) else {
        return Ok(false);
    };
    let Ok((program, info)) = compiled(path, &text, setup) else {
        return Ok(false);
    };
    if !failures(program, test)?.is_empty() {
        return Ok(false);
    }
    let wrong = |text: &str, what: String| Err(format!("{path}, seed {seed}: {what}\n--- rewritten\n{text}"));
    let rewritten = match rewrite(path, &text, setup, seed) {
        Ok(rewritten) => rewritten,
        Err(problem) => return wrong(&text, problem),
    };
    let (program, info_rewritten) = match compiled(path, &rewritten, setup) {
        Ok(both) => both,
        Err(messages) => return wrong(&rewritten, format!("the rewritten program is refused:\n{messages}")),
    };
    let failed = failures(program, test)?;
    if !failed.is_empty() {
        return wrong(&rewritten, failed.join("\n"));
    }
    let (before, after) = (forebay_p4info::write(&info), forebay_p4info::write(&info_rewritten));
    if before == after {
        Ok(true)
    } else {
        wrong(
            &rewritten,
            format!("the P4Info differs: {}", first_difference(&before, &after)),
        )
    }
}

fn compiled(path: &str, text: &str, setup: &Setup) -> Result<(Program, P4Info), String> {
    let files = Overlay {
        path,
        text,
        files: setup.provider,
    };
    let options = Options {
        provider: &files,
        include_paths: setup.include_paths,
        defines: setup.defines,
    };
    let Compiled {
        sources,
        program,
        p4info,
        diagnostics,
    } = compile(path, &options);
    let both = program.zip(p4info);
    both.ok_or_else(|| render_all(&diagnostics, &sources))
}

fn failures(program: Program, test: &Test) -> Result<Vec<String>, String> {
    let pipeline = Pipeline::load(program).map_err(|error| error.to_string())?;
    let outcome = run(test, Arc::new(pipeline), &mut NoTrace);
    Ok(outcome.failures.iter().map(ToString::to_string).collect())
}

fn first_difference(one: &str, other: &str) -> String {
    let lines = one.lines().zip(other.lines());
    let different = lines.enumerate().find(|(_, (one, other))| one != other);
    match different {
        Some((index, (one, other))) => format!("line {}: `{}` became `{}`", index + 1, one.trim(), other.trim()),
        None => "one is longer".to_string(),
    }
}
