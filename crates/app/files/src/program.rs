//! From a file to a program.

use crate::{Error, check_program};
use forebay_driver::{Compiled, FileSources, Format, Options, Precompiled, read_compiled};
use forebay_ir::Program;
use forebay_p4info::model::P4Info;
use forebay_p4runtime::Bundle;
use forebay_syntax::diagnostic::Diagnostics;
use forebay_syntax::render;
use forebay_syntax::source::{SourceMap, SourceProvider};
use serde_json::{Value, json};
use std::path::Path;

/// What is said to the preprocessor, and what is done with messages.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CompileOptions {
    /// Folders in which `#include` looks (`-I`).
    pub include: Vec<String>,
    /// Macros, as `NAME` or `NAME=VALUE` (`-D`).
    pub define: Vec<String>,
    /// Takes warnings for errors.
    pub strict: bool,
    /// Paints the messages, for terminals.
    pub colour: bool,
}

/// What there is to say of a program.
#[derive(Clone, Debug, PartialEq)]
pub struct Report {
    /// Whether the program has no errors.
    pub good: bool,
    /// For people; empty when there is nothing to say.
    pub messages: String,
    /// The messages as JSON.
    pub json: Value,
}

/// A program that was compiled.
pub struct Compilation {
    /// What executes; none when there is an error.
    pub program: Option<Program>,
    /// Its P4Info. None if there is an error, or if the program was compiled before: its P4Info is then in a file beside
    /// it.
    pub p4info: Option<P4Info>,
    /// What there is to say.
    pub report: Report,
}

impl Report {
    /// The messages of the compiler.
    pub fn new(good: bool, sources: &SourceMap, diagnostics: &Diagnostics, colour: bool) -> Report {
        let messages = if colour {
            render::render_all_in_colour(diagnostics, sources)
        } else {
            render::render_all(diagnostics, sources)
        };
        Report {
            good,
            messages,
            json: render::to_json(diagnostics, sources),
        }
    }

    /// Problems of a program without P4 source; good when there is none.
    pub(crate) fn of_problems(problems: &[String], colour: bool) -> Report {
        let diagnostics: Vec<Value> = problems
            .iter()
            .map(|problem| json!({ "severity": "error", "message": problem }))
            .collect();
        let line = |problem: &String| {
            if colour {
                format!("\x1b[1;31merror\x1b[0m: {problem}\n")
            } else {
                format!("error: {problem}\n")
            }
        };
        Report {
            good: problems.is_empty(),
            messages: problems.iter().map(line).collect(),
            json: json!({ "errors": diagnostics.len(), "warnings": 0, "suppressed": 0, "diagnostics": diagnostics }),
        }
    }
}

/// Compiles a program: P4 source, several files of it in JSON, IR text, or JSON that p4c has compiled for BMv2.
///
/// # Errors
/// When the program cannot be read; what is wrong *with* it is in the report.
pub fn compile_file(path: &Path, options: &CompileOptions) -> Result<Compilation, Error> {
    if let Some(compiled) = with_bundle(path, options, forebay_driver::compile)? {
        return Ok(match compiled {
            Ok(compiled) => Compilation::of_compiler(compiled, options),
            Err(report) => Compilation {
                program: None,
                p4info: None,
                report,
            },
        });
    }
    if let Some(compiled) = crate::read_compiled(path, options.colour)? {
        return Ok(compiled);
    }
    let compiled = with_options(path, options, forebay_driver::compile)?;
    Ok(Compilation::of_compiler(compiled, options))
}

/// The source files in a file named `.json`; none when it holds something else.
fn bundle_in(path: &Path) -> Result<Option<Result<Bundle, forebay_p4runtime::Error>>, Error> {
    if path.extension().is_some_and(|extension| extension == "json") {
        Ok(Bundle::read(&crate::text(path, "program")?))
    } else {
        Ok(None)
    }
}

/// Runs a front end on a program whose source files are in one file of JSON, as this program writes it under the name
/// p4c. None when the file holds something else; the report says what is wrong with the JSON itself.
///
/// # Errors
/// When the file cannot be read.
pub fn with_bundle<T>(
    path: &Path,
    options: &CompileOptions,
    front_end: impl Fn(&str, &Options) -> T,
) -> Result<Option<Result<T, Report>>, Error> {
    let bundle = bundle_in(path)?;
    Ok(bundle.map(|bundle| match bundle {
        Ok(bundle) => Ok(in_bundle(&bundle, options, front_end)),
        Err(error) => Err(Report::of_problems(&[error.message], options.colour)),
    }))
}

fn in_bundle<T>(bundle: &Bundle, options: &CompileOptions, front_end: impl Fn(&str, &Options) -> T) -> T {
    let provider = bundle.sources();
    let join = |own: &[String], more: &[String]| [own, more].concat();
    let (include_paths, defines) = (
        join(&bundle.include_paths, &options.include),
        join(&bundle.defines, &options.define),
    );
    let of_driver = Options {
        provider: &provider,
        include_paths: &include_paths,
        defines: &defines,
    };
    front_end(bundle.main.as_str(), &of_driver)
}

/// Compiles a program that is given as text, in any of the formats. `name` stands for its file: in messages, and for
/// what it includes from beside it.
pub fn compile_text(text: &str, name: &Path, options: &CompileOptions) -> Compilation {
    let name = name.to_string_lossy();
    let format = Format::of_text(text);
    if format != Format::P4 {
        return Compilation::of_precompiled(read_compiled(&name, format, text, None), options.colour);
    }
    let files = FileSources::new();
    let provider = |path: &str| {
        if path == name {
            Some(text.to_string())
        } else {
            files.read(path)
        }
    };
    let of_driver = Options {
        provider: &provider,
        include_paths: &options.include,
        defines: &options.define,
    };
    Compilation::of_compiler(forebay_driver::compile(&name, &of_driver), options)
}

impl Compilation {
    fn of_compiler(compiled: Compiled, options: &CompileOptions) -> Compilation {
        let Compiled {
            sources,
            program,
            p4info,
            diagnostics,
        } = if options.strict { compiled.strict() } else { compiled };
        Compilation {
            report: Report::new(program.is_some(), &sources, &diagnostics, options.colour),
            program,
            p4info,
        }
    }

    /// A program that was compiled before, or what is wrong with it.
    pub(crate) fn of_precompiled(read: Result<Precompiled, Vec<String>>, colour: bool) -> Compilation {
        let (read, problems) = match read {
            Ok(read) => (Some(read), Vec::new()),
            Err(problems) => (None, problems),
        };
        let (program, p4info) = read.map_or((None, None), |read| (Some(read.program), read.p4info));
        Compilation {
            program,
            p4info,
            report: Report::of_problems(&problems, colour),
        }
    }
}

/// Runs a front end on P4 source that is read from the file system.
///
/// # Errors
/// When the program cannot be read.
pub fn with_options<T>(
    path: &Path,
    options: &CompileOptions,
    front_end: impl Fn(&str, &Options) -> T,
) -> Result<T, Error> {
    check_program(path)?;
    let provider = FileSources::new();
    let options = Options {
        provider: &provider,
        include_paths: &options.include,
        defines: &options.define,
    };
    Ok(front_end(&path.to_string_lossy(), &options))
}
