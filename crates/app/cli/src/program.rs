//! From the command line to a program.

use crate::compiled::read_compiled;
use crate::files;
use crate::output::{self, LogLevel};
use anyhow::{Context, Result};
use clap::ValueEnum;
use forebay_driver::{Checked, Compiled, FileSources, Options};
use forebay_ir::Program;
use forebay_p4info::model::P4Info;
use forebay_p4runtime::Bundle;
use forebay_pipeline::{FastPath, Pipeline};
use forebay_syntax::diagnostic::Diagnostics;
use forebay_syntax::render;
use forebay_syntax::source::SourceMap;
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A program and how to read it.
#[derive(clap::Args)]
pub struct ProgramArguments {
    /// The program: P4_16 source, what p4c made of it for BMv2 (.json), or what `forebay build` did (ir.txt)
    #[arg(value_name = "PROG.p4")]
    program: PathBuf,
    #[command(flatten)]
    options: CompileOptions,
}

/// What is said to the preprocessor.
#[derive(clap::Args, Clone, Debug, Default, PartialEq, Eq)]
pub struct CompileOptions {
    /// Search this folder for files that #include names
    #[arg(short = 'I', value_name = "DIR")]
    pub include: Vec<String>,
    /// Define a macro for the preprocessor
    #[arg(short = 'D', value_name = "NAME[=VALUE]")]
    pub define: Vec<String>,
    /// Take warnings for errors
    #[arg(long)]
    pub strict: bool,
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
    /// As the pipeline knows it.
    pub fn of_pipeline(self) -> forebay_pipeline::Engine {
        match self {
            Engine::Interp => forebay_pipeline::Engine::Interpreter,
            Engine::Jit => forebay_pipeline::Engine::Jit,
        }
    }

    /// Loads a program for this engine.
    ///
    /// # Errors
    /// When the program cannot be loaded.
    pub fn load(self, program: Program, fast_path: FastPath) -> Result<Arc<Pipeline>> {
        let options = forebay_pipeline::Options {
            engine: self.of_pipeline(),
            fast_path,
            ..Default::default()
        };
        load(program, options)
    }
}

/// Loads a program.
///
/// # Errors
/// When the program cannot be loaded.
pub fn load(program: Program, options: forebay_pipeline::Options) -> Result<Arc<Pipeline>> {
    let pipeline = Pipeline::load_with(program, options).context("the program cannot be loaded")?;
    Ok(Arc::new(pipeline))
}

/// What there is to say of a program.
pub struct Report {
    /// Whether the program has no errors.
    pub good: bool,
    /// For people; empty when there is nothing to say.
    pub messages: String,
    /// The messages as JSON.
    pub json: Value,
}

impl ProgramArguments {
    /// The program's file.
    pub fn path(&self) -> &Path {
        &self.program
    }

    /// How to compile it.
    pub fn options(&self) -> &CompileOptions {
        &self.options
    }
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

    /// Writes the messages to the standard error; of a program without errors they are warnings.
    pub fn print(&self) {
        if !self.good || output::says(LogLevel::Warning) {
            output::message(&self.messages);
        }
    }
}

/// Looks for mistakes, also in programs for architectures that cannot be executed; with `portability` also for what other
/// targets would refuse.
///
/// # Errors
/// When the program cannot be read; what is wrong *with* it is in the report.
pub fn check(arguments: &ProgramArguments, portability: bool) -> Result<Report> {
    let path = &arguments.program;
    if let Some(compiled) = read_compiled(path)? {
        return Ok(compiled.report);
    }
    let checked = with_options(path, &arguments.options, forebay_driver::check)?;
    let checked = if portability {
        checked.with_portability()
    } else {
        checked
    };
    let Checked {
        sources,
        typed,
        diagnostics,
    } = if arguments.options.strict {
        checked.strict()
    } else {
        checked
    };
    Ok(Report::new(typed.is_some(), &sources, &diagnostics))
}

/// A program that was compiled.
pub struct Compilation {
    /// What executes; none when there is an error.
    pub program: Option<Program>,
    /// What the control plane knows of it; none also for a program that was compiled before and has its P4Info in a file
    /// beside it.
    pub p4info: Option<P4Info>,
    /// What there is to say.
    pub report: Report,
}

/// Compiles the program of a command line.
///
/// # Errors
/// When the program cannot be read.
pub fn compilation(arguments: &ProgramArguments) -> Result<Compilation> {
    compile_file(&arguments.program, &arguments.options)
}

/// Compiles a program.
///
/// # Errors
/// When the program cannot be read.
pub fn compile_file(path: &Path, options: &CompileOptions) -> Result<Compilation> {
    if let Some(compiled) = read_compiled(path)? {
        return Ok(compiled);
    }
    let compiled = with_options(path, options, forebay_driver::compile)?;
    let Compiled {
        sources,
        program,
        p4info,
        diagnostics,
    } = if options.strict { compiled.strict() } else { compiled };
    let report = Report::new(program.is_some(), &sources, &diagnostics);
    Ok(Compilation {
        program,
        p4info,
        report,
    })
}

/// A program with all files that it includes, as it is pushed to a switch. It is compiled too, and the messages are printed;
/// none when there is an error.
///
/// # Errors
/// When the program cannot be read.
pub fn bundle(path: &Path, options: &CompileOptions) -> Result<Option<Bundle>> {
    let compiled = with_options(path, options, forebay_driver::compile)?;
    Report::new(compiled.program.is_some(), &compiled.sources, &compiled.diagnostics).print();
    let bundle = || Bundle::of_sources(&compiled.sources, &options.define, &options.include);
    Ok(compiled.program.is_some().then(bundle))
}

fn with_options<T>(path: &Path, options: &CompileOptions, front_end: impl Fn(&str, &Options) -> T) -> Result<T> {
    files::check_program(path)?;
    let provider = FileSources::new();
    let options = Options {
        provider: &provider,
        include_paths: &options.include,
        defines: &options.define,
    };
    Ok(front_end(&path.to_string_lossy(), &options))
}
