//! `forebay build`: the files that a compiled program consists of.

use super::Status;
use crate::output;
use crate::program::{self, ProgramArguments};
use anyhow::{Context, Result};
use forebay_ir::Role;
use std::path::{Path, PathBuf};

/// Arguments of `forebay build`.
#[derive(clap::Args)]
pub struct Arguments {
    #[command(flatten)]
    program: ProgramArguments,
    /// The folder to write to; made if it does not exist
    #[arg(short = 'o', value_name = "DIR")]
    output: PathBuf,
}

/// Writes the files and says which.
pub fn run(arguments: &Arguments) -> Result<Status> {
    let Some(program) = program::compile(&arguments.program)? else {
        return Ok(Status::Bad);
    };
    let folder = &arguments.output;
    std::fs::create_dir_all(folder).with_context(|| format!("cannot make the folder {}", folder.display()))?;
    write(folder, "ir.txt", &forebay_ir::text::write(&program))?;
    for (role, id) in &program.stages {
        let name = graph_name(*role, &program.bodies[id.index()].name);
        write(folder, &name, &forebay_ir::dot::body_graph(&program, *id))?;
    }
    Ok(Status::Good)
}

/// `parser.dot`, or the control's own name.
fn graph_name(role: Role, body: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() || c == '_' { c } else { '_' };
    match role {
        Role::Parser => "parser.dot".to_string(),
        _ => format!("{}.dot", body.chars().map(plain).collect::<String>()),
    }
}

fn write(folder: &Path, name: &str, text: &str) -> Result<()> {
    let path = folder.join(name);
    std::fs::write(&path, text).with_context(|| format!("cannot write {}", path.display()))?;
    output::print(&format!("{}\n", path.display()))
}
