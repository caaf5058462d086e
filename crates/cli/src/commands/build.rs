//! `forebay build`: the files that a compiled program consists of.

use super::Status;
use crate::files;
use crate::output;
use crate::program::{self, Compilation, ProgramArguments};
use anyhow::{Context, Result};
use forebay_ir::{Program, Role};
use forebay_p4info::model::P4Info;
use serde_json::json;
use std::path::PathBuf;

/// Arguments of `forebay build`.
#[derive(clap::Args)]
#[command(after_help = "\
What is written:
  p4info.txtpb    tables, actions and other objects with their ids, for P4Runtime
  ir.txt          the program as it is executed; every command takes it in place of the source
  *.dot           graphs of the parser and the controls: dot -Tsvg parser.dot -o parser.svg

Example:
  forebay build l3fwd.p4 -o out")]
pub struct Arguments {
    #[command(flatten)]
    program: ProgramArguments,
    /// The folder to write to; made if it does not exist
    #[arg(short = 'o', value_name = "DIR")]
    output: PathBuf,
    /// Print the names of the files as JSON
    #[arg(long)]
    json: bool,
}

/// Writes the files and says which.
pub fn run(arguments: &Arguments) -> Result<Status> {
    let Compilation {
        program,
        p4info,
        report,
    } = program::compilation(&arguments.program)?;
    report.print();
    let Some(program) = program else {
        return Ok(Status::Bad);
    };
    let folder = &arguments.output;
    files::make_folder(folder)?;
    let mut written = Vec::new();
    for (name, text) in files(&program, p4info.as_ref()) {
        let path = folder.join(name);
        std::fs::write(&path, text).with_context(|| format!("cannot write {}", path.display()))?;
        written.push(path.display().to_string());
    }
    if arguments.json {
        output::print_json(&json!({ "files": written }))?;
    } else {
        output::print(&written.iter().map(|path| format!("{path}\n")).collect::<String>())?;
    }
    Ok(Status::Good)
}

/// Names and contents.
fn files(program: &Program, p4info: Option<&P4Info>) -> Vec<(String, String)> {
    let mut files = Vec::new();
    if let Some(p4info) = p4info {
        files.push(("p4info.txtpb".to_string(), forebay_p4info::write(p4info)));
    }
    files.push(("ir.txt".to_string(), forebay_ir::text::write(program)));
    for (role, id) in &program.stages {
        let name = graph_name(*role, &program.bodies[id.index()].name);
        files.push((name, forebay_ir::dot::body_graph(program, *id)));
    }
    files
}

/// `parser.dot`, or the control's own name.
fn graph_name(role: Role, body: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() || c == '_' { c } else { '_' };
    match role {
        Role::Parser => "parser.dot".to_string(),
        _ => format!("{}.dot", body.chars().map(plain).collect::<String>()),
    }
}
