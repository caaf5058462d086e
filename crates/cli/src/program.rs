//! From the command line to a program.

use crate::output;
use anyhow::{Context, Result, bail};
use clap::ValueEnum;
use forebay_ir::Program;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

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
}

/// What executes a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Engine {
    /// The reference executor
    Interp,
}

/// A program, if there were no errors, and what there is to say of it.
pub struct Compilation {
    /// The program.
    pub program: Option<Program>,
    /// For people; empty when there is nothing to say.
    messages: String,
    json: Value,
}

impl Compilation {
    /// Writes the messages to the standard error.
    pub fn report(&self) {
        eprint!("{}", self.messages);
    }

    /// The messages as JSON.
    pub fn messages_json(&self) -> Value {
        self.json.clone()
    }
}

/// Reads and compiles a program. An error is that it cannot be read; what is wrong *with* it is in the compilation.
pub fn compile(arguments: &ProgramArguments) -> Result<Compilation> {
    let path = arguments.path();
    let text = std::fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
    if path.extension().is_some_and(|extension| extension == "ir") {
        return Ok(read_ir(path, &text));
    }
    let _ = (&arguments.include, &arguments.define, output::colour());
    bail!("{}: only compiled programs (.ir) can be read", path.display())
}

fn read_ir(path: &Path, text: &str) -> Compilation {
    let (program, problems) = match forebay_ir::text::read(text) {
        Err(error) => (None, vec![error.to_string()]),
        Ok(program) => {
            let problems: Vec<String> = forebay_ir::verify::verify(&program)
                .iter()
                .map(|error| format!(" {error}"))
                .collect();
            (problems.is_empty().then_some(program), problems)
        }
    };
    let messages = problems
        .iter()
        .map(|problem| format!("error: {}:{problem}\n", path.display()))
        .collect();
    let diagnostics: Vec<Value> = problems
        .iter()
        .map(|problem| json!({ "severity": "error", "message": problem }))
        .collect();
    let json = json!({ "errors": diagnostics.len(), "warnings": 0, "suppressed": 0, "diagnostics": diagnostics });
    Compilation {
        program,
        messages,
        json,
    }
}
