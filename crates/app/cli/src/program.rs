//! From the command line to a program.

use crate::output::{self, LogLevel};
use anyhow::{Context, Result};
use clap::ValueEnum;
use forebay_driver::Checked;
pub use forebay_files::Compilation;
use forebay_files::{Report, read_compiled, with_bundle, with_options};
use forebay_ir::Program;
use forebay_p4runtime::Bundle;
use forebay_pipeline::{FastPath, PassSet, Pipeline};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

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
    pub fn load(self, program: Program, fast_path: FastPath, without_passes: PassSet) -> Result<Arc<Pipeline>> {
        let options = forebay_pipeline::Options {
            engine: self.of_pipeline(),
            fast_path,
            without_passes,
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

impl CompileOptions {
    /// As the library of files takes them. Folders that are not there are warned of.
    fn of_files(&self) -> forebay_files::CompileOptions {
        warn_of_absent(&self.include);
        forebay_files::CompileOptions {
            include: self.include.clone(),
            define: self.define.clone(),
            strict: self.strict,
            colour: output::colour(),
        }
    }
}

/// Warns of folders for `#include` that are none, of each once: a misspelt one is not missed where another folder has
/// files of the same names.
fn warn_of_absent(folders: &[String]) {
    static WARNED: Mutex<BTreeSet<String>> = Mutex::new(BTreeSet::new());
    for folder in folders {
        if Path::new(folder).is_dir() || !WARNED.lock().is_ok_and(|mut warned| warned.insert(folder.clone())) {
            continue;
        }
        let why = if Path::new(folder).exists() {
            "it is no folder"
        } else {
            "there is no such folder"
        };
        output::warning(&format!("-I {folder}: {why}"));
    }
}

/// Writes the messages of a report to the standard error; of a program without errors they are warnings.
pub fn print(report: &Report) {
    if !report.good || output::says(LogLevel::Warning) {
        output::diagnostics(&report.messages, &report.json);
    }
    if !report.good {
        output::print_failure(&report.json);
    }
}

/// Looks for mistakes, also in programs for architectures that cannot be executed; with `portability` also for what
/// other targets would refuse.
///
/// # Errors
/// When the program cannot be read; what is wrong *with* it is in the report.
pub fn check(arguments: &ProgramArguments, portability: bool) -> Result<Report> {
    let path = &arguments.program;
    let options = arguments.options.of_files();
    let checked = match with_bundle(path, &options, forebay_driver::check)? {
        Some(Ok(checked)) => checked,
        Some(Err(report)) => return Ok(report),
        None => {
            if let Some(compiled) = read_compiled(path, options.colour)? {
                return Ok(compiled.report);
            }
            with_options(path, &options, forebay_driver::check)?
        }
    };
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
    Ok(Report::new(typed.is_some(), &sources, &diagnostics, output::colour()))
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
    Ok(forebay_files::compile_file(path, &options.of_files())?)
}

/// A program with all files that it includes, as it is pushed to a switch. It is compiled too, and the messages are
/// printed; none when there is an error.
///
/// # Errors
/// When the program cannot be read.
pub fn bundle(path: &Path, options: &CompileOptions) -> Result<Option<Bundle>> {
    let options_of_files = options.of_files();
    let compiled = with_options(path, &options_of_files, forebay_driver::compile)?;
    let compiled = if options.strict { compiled.strict() } else { compiled };
    let is_good = compiled.program.is_some();
    print(&Report::new(
        is_good,
        &compiled.sources,
        &compiled.diagnostics,
        options_of_files.colour,
    ));
    let bundle = || Bundle::of_sources(&compiled.sources, &options.define, &options.include);
    Ok(compiled.program.is_some().then(bundle))
}
