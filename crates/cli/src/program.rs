//! From the command line to a program.

use crate::output;
use anyhow::{Context, Result};
use clap::ValueEnum;
use forebay_files::FileSources;
use forebay_frontend::{Checked, Compiled, Options};
use forebay_ir::Program;
use forebay_pipeline::Pipeline;
use forebay_syntax::diagnostic::Diagnostics;
use forebay_syntax::render;
use forebay_syntax::source::SourceMap;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A program and how to read it.
#[derive(clap::Args)]
pub struct ProgramArguments {
    /// The program: P4_16 source, or a compiled program in its text form (.ir)
    #[arg(value_name = "PROG.p4")]
    program: PathBuf,
    /// Search this folder for files that #include names
    #[arg(short = 'I', value_name = "DIR")]
    include: Vec<String>,
    /// Define a macro for the preprocessor
    #[arg(short = 'D', value_name = "NAME[=VALUE]")]
    define: Vec<String>,
}

impl ProgramArguments {
    /// The program's file.
    pub fn path(&self) -> &Path {
        &self.program
    }

    fn is_compiled(&self) -> bool {
        self.program.extension().is_some_and(|extension| extension == "ir")
    }
}

/// What executes a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Engine {
    /// The reference executor
    Interp,
    /// Machine code
    Jit,
}

impl Engine {
    /// Loads a program for this engine.
    ///
    /// # Errors
    /// When the program cannot be loaded.
    pub fn load(self, program: Program) -> Result<Arc<Pipeline>> {
        let engine = match self {
            Engine::Interp => forebay_pipeline::Engine::Interpreter,
            Engine::Jit => forebay_pipeline::Engine::Jit,
        };
        let options = forebay_pipeline::Options {
            engine,
            ..Default::default()
        };
        let pipeline = Pipeline::load_with(program, options).context("the program cannot be loaded")?;
        Ok(Arc::new(pipeline))
    }
}

/// What there is to say of a program.
pub struct Report {
    /// Whether the program has no errors.
    pub good: bool,
    /// For people; empty when there is nothing to say.
    messages: String,
    /// The messages as JSON.
    pub json: Value,
}

impl Report {
    fn new(good: bool, sources: &SourceMap, diagnostics: &Diagnostics) -> Report {
        let messages = render::render_all(diagnostics, sources, output::colour());
        Report {
            good,
            messages,
            json: render::to_json(diagnostics, sources),
        }
    }

    /// Writes the messages to the standard error.
    pub fn print(&self) {
        eprint!("{}", self.messages);
    }
}

/// Looks for mistakes, also in programs for architectures that cannot be executed.
///
/// # Errors
/// When the program cannot be read; what is wrong *with* it is in the report.
pub fn check(arguments: &ProgramArguments) -> Result<Report> {
    if arguments.is_compiled() {
        return Ok(read_ir(arguments.path())?.1);
    }
    let Checked {
        sources,
        typed,
        diagnostics,
    } = with_options(arguments, forebay_frontend::check)?;
    Ok(Report::new(typed.is_some(), &sources, &diagnostics))
}

/// Compiles a program and prints the messages to the standard error; none when there is an error.
///
/// # Errors
/// When the program cannot be read.
pub fn compile(arguments: &ProgramArguments) -> Result<Option<Program>> {
    let (program, report) = if arguments.is_compiled() {
        read_ir(arguments.path())?
    } else {
        let Compiled {
            sources,
            program,
            diagnostics,
            ..
        } = with_options(arguments, forebay_frontend::compile)?;
        let report = Report::new(program.is_some(), &sources, &diagnostics);
        (program, report)
    };
    report.print();
    Ok(program)
}

fn with_options<T>(arguments: &ProgramArguments, front_end: impl Fn(&str, &Options) -> T) -> Result<T> {
    let path = arguments.path();
    // The front end asks for files by name and gets none for whatever reason; only here the reason can be said.
    std::fs::File::open(path).with_context(|| format!("cannot read {}", path.display()))?;
    let provider = FileSources::new();
    let options = Options {
        provider: &provider,
        include_paths: &arguments.include,
        defines: &arguments.define,
    };
    Ok(front_end(&path.to_string_lossy(), &options))
}

fn read_ir(path: &Path) -> Result<(Option<Program>, Report)> {
    let text = std::fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
    let (program, problems) = match forebay_ir::text::read(&text) {
        Err(error) => (None, vec![format!("{}:{error}", path.display())]),
        Ok(program) => {
            let problems = forebay_ir::verify::verify(&program);
            (
                Some(program),
                problems
                    .iter()
                    .map(|problem| format!("{}: {problem}", path.display()))
                    .collect(),
            )
        }
    };
    let program = program.filter(|_| problems.is_empty());
    let messages = problems.iter().map(|problem| format!("error: {problem}\n")).collect();
    let diagnostics: Vec<Value> = problems
        .iter()
        .map(|problem| json!({ "severity": "error", "message": problem }))
        .collect();
    let json = json!({ "errors": diagnostics.len(), "warnings": 0, "suppressed": 0, "diagnostics": diagnostics });
    let report = Report {
        good: program.is_some(),
        messages,
        json,
    };
    Ok((program, report))
}
