//! What the child process does with one program.

use super::Engine;
use super::corpus::Category;
use anyhow::{Context, Result};
use forebay_driver::{Compiled, FileSources, Options};
use forebay_entries::Test;
use forebay_ir::Program;
use forebay_pipeline::{LoadError, NoTrace, Pipeline};
use forebay_stf::Outcome;
use forebay_syntax::render;
use std::path::Path;
use std::sync::Arc;

/// Whether the program is as it should be; if not, why. An `Err` of the outer kind is a failure of the environment.
pub type Verdict = std::result::Result<(), String>;

/// The files that p4c's programs include, and the folders in which they are. Those that Forebay has itself are its own.
pub fn sources(p4c: &Path) -> (FileSources, Vec<String>) {
    let folder = p4c.join("p4include");
    let own = [
        "core.p4",
        "v1model.p4",
        "bmv2/psa.p4",
        "bmv2/pna.p4",
        "dpdk/psa.p4",
        "pna.p4",
        "dpdk/pna.p4",
    ];
    let provider = own
        .iter()
        .fold(FileSources::new(), |provider, own| provider.hide(folder.join(own)));
    let folders = [folder.clone(), folder.join("bmv2")];
    (
        provider,
        folders.iter().map(|folder| folder.display().to_string()).collect(),
    )
}

/// Handles one program.
pub fn run(
    category: Category,
    program: &Path,
    companion: Option<&Path>,
    p4c: &Path,
    engine: Engine,
) -> Result<Verdict> {
    let (provider, include_paths) = sources(p4c);
    let mut options = Options::new(&provider);
    options.include_paths = &include_paths;
    let program = program.display().to_string();
    match category {
        Category::Accepted => Ok(accepted(&program, &options)),
        Category::Rejected => Ok(rejected(&program, &options)),
        Category::Stf => stf(
            &program,
            companion.context("an STF test belongs to the program")?,
            &options,
            engine,
        ),
        Category::P4info => p4info(
            &program,
            companion.context("an expected P4Info belongs to the program")?,
            &options,
        ),
    }
}

fn p4info(program: &str, expected: &Path, options: &Options) -> Result<Verdict> {
    let text = std::fs::read_to_string(expected).with_context(|| expected.display().to_string())?;
    let expected = match forebay_p4info::read(&text) {
        Ok(expected) => expected,
        Err(error) => return Ok(Err(format!("the expected P4Info: {error}"))),
    };
    let compiled = forebay_driver::compile(program, options);
    let Some(info) = compiled.p4info else {
        return Ok(Err(render::render_all(&compiled.diagnostics, &compiled.sources)));
    };
    let differences = forebay_p4info::equivalent(&info, &expected);
    if differences.is_empty() {
        return Ok(Ok(()));
    }
    Ok(Err(differences
        .iter()
        .map(|difference| difference.to_string())
        .collect::<Vec<_>>()
        .join("\n")))
}

fn accepted(program: &str, options: &Options) -> Verdict {
    let checked = forebay_driver::check(program, options);
    if checked.diagnostics.has_errors() {
        return Err(render::render_all(&checked.diagnostics, &checked.sources));
    }
    Ok(())
}

fn rejected(program: &str, options: &Options) -> Verdict {
    let checked = forebay_driver::check(program, options);
    if checked.diagnostics.has_errors() {
        Ok(())
    } else {
        Err("accepted".to_string())
    }
}

fn compile(program: &str, options: &Options) -> std::result::Result<Compiled, String> {
    let compiled = forebay_driver::compile(program, options);
    match compiled.program {
        Some(_) => Ok(compiled),
        None => Err(render::render_all(&compiled.diagnostics, &compiled.sources)),
    }
}

fn stf(program: &str, test: &Path, options: &Options, engine: Engine) -> Result<Verdict> {
    let text = std::fs::read_to_string(test).with_context(|| test.display().to_string())?;
    let compiled = match compile(program, options) {
        Ok(compiled) => compiled,
        Err(messages) => return Ok(Err(messages)),
    };
    let test = match forebay_entries::parse(&text) {
        Ok(test) => test,
        Err(errors) => {
            return Ok(Err(errors
                .iter()
                .map(|e| format!("STF: {e}"))
                .collect::<Vec<_>>()
                .join("\n")));
        }
    };
    let program = compiled.program.expect("compile() gives only programs without errors");
    let outcome = match run_test(&test, program, engine) {
        Ok(outcome) => outcome,
        Err(error) => return Ok(Err(format!("load: {error}"))),
    };
    if outcome.passed() {
        return Ok(Ok(()));
    }
    Ok(Err(outcome
        .failures
        .iter()
        .map(|failure| failure.to_string())
        .collect::<Vec<_>>()
        .join("\n")))
}

fn run_test(test: &Test, program: Program, engine: Engine) -> std::result::Result<Outcome, LoadError> {
    let load = |program, engine| {
        let options = forebay_pipeline::Options {
            engine,
            ..Default::default()
        };
        Pipeline::load_with(program, options).map(Arc::new)
    };
    use forebay_pipeline::Engine::{Interpreter, Jit};
    Ok(match engine {
        Engine::Interp => forebay_stf::run(test, load(program, Interpreter)?, &mut NoTrace),
        Engine::Jit => forebay_stf::run(test, load(program, Jit)?, &mut NoTrace),
        Engine::Both => forebay_stf::run_both(test, load(program.clone(), Interpreter)?, load(program, Jit)?),
    })
}
