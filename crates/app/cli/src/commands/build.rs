//! `forebay build`: the files that a compiled program consists of.

use super::Status;
use crate::files;
use crate::output;
use crate::passes::{self, PassArguments};
use crate::program::{self, Compilation, Engine, ProgramArguments};
use crate::slow_path;
use anyhow::Result;
use forebay_ir::{Body, Program, Role, Terminator};
use forebay_p4info::Version;
use forebay_p4info::model::P4Info;
use forebay_pipeline::{FastPath, Pipeline};
use forebay_stages::Machine;
use serde_json::json;
use std::path::PathBuf;
use std::sync::Arc;

/// Arguments of `forebay build`.
#[derive(clap::Args)]
#[command(after_help = "\
What is written:
  p4info.txtpb    tables, actions and other objects with their ids, for P4Runtime
  ir.txt          the program as it is executed; every command takes it in place of the source
  *.dot           graphs of the parser and the controls: dot -Tsvg parser.dot -o parser.svg
With --emit pipeline also:
  pipeline.txt    the program with the graph of its architecture: what happens to a packet around the blocks
With --emit specialised also:
  specialised.txt what is compiled for each path through the parser, when the program has a fast path
With --chip also what the program takes of the chip's match-action stages, which is printed too:
  resources.txt   stages, tables, registers, the longest way, and what does not fit
  resources.json  the same for programs
  placement.svg   a drawing of what stands in which stage

Examples:
  forebay build l3fwd.p4 -o out
  forebay build iot_aggregate_tofino.p4 -D N=4 --chip tofino -o out")]
pub struct Arguments {
    #[command(flatten)]
    program: ProgramArguments,
    /// The folder to write to; made if it does not exist
    #[arg(short = 'o', value_name = "DIR")]
    output: PathBuf,
    /// Say whether the program fits this chip, and how: tofino, tofino2
    #[arg(long, value_name = "NAME")]
    chip: Option<String>,
    /// What to write besides
    #[arg(long, value_name = "WHAT", value_enum)]
    emit: Vec<Emit>,
    /// Compile specialised code and say how long each pass took
    #[arg(long)]
    time_passes: bool,
    #[command(flatten)]
    passes: PassArguments,
    /// Write a P4Info without what is newer than this version of P4Runtime: 1.3 or 1.5
    #[arg(long, value_name = "VERSION", default_value = "1.5")]
    p4info_version: Version,
    /// Print as JSON the names of the files, what keeps packets from the fast path, and whether the program fits
    /// the chip
    #[arg(long)]
    json: bool,
}

/// What `--emit` names.
#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Emit {
    /// The program with the graph of its architecture
    Pipeline,
    /// What is compiled for each path through the parser
    Specialised,
}

/// Writes the files and says which.
pub fn run(arguments: &Arguments) -> Result<Status> {
    let Compilation {
        program,
        p4info,
        report,
    } = program::compilation(&arguments.program)?;
    program::print(&report);
    let Some(program) = program else {
        return Ok(Status::Bad);
    };
    let machine = arguments.chip.as_deref().map(Machine::named).transpose()?;
    let resources = machine.map(|machine| forebay_stages::report(&program, &machine));
    let folder = &arguments.output;
    files::make_folder(folder)?;
    let mut written = Vec::new();
    let p4info = p4info.map(|info| info.for_version(arguments.p4info_version));
    let mut all = files(&program, p4info.as_ref());
    if arguments.emit.contains(&Emit::Pipeline) {
        let mut program = program.clone();
        forebay_arch::attach(&mut program)?;
        all.push(("pipeline.txt".to_string(), forebay_ir::text::write(&program)));
    }
    if let Some(resources) = &resources {
        all.push(("resources.txt".to_string(), resources.to_string()));
        all.push(("resources.json".to_string(), serde_json::to_string_pretty(resources)?));
        all.push(("placement.svg".to_string(), resources.drawing()));
    }
    let pipeline = Engine::Jit.load(program, FastPath::Planned, arguments.passes.without());
    if arguments.emit.contains(&Emit::Specialised)
        && let Ok(pipeline) = &pipeline
    {
        let none = || "# No specialised code: the program has no fast path.\n".to_string();
        let text = pipeline.specialised_text().unwrap_or_else(none);
        all.push(("specialised.txt".to_string(), text));
    }
    let times = arguments
        .time_passes
        .then(|| pipeline.as_ref().ok().and_then(|pipeline| passes::times(pipeline)));
    for (name, text) in all {
        let path = folder.join(name);
        files::write(&path, text)?;
        written.push(path.display().to_string());
    }
    if arguments.json {
        let fits = resources.as_ref().map(|resources| resources.fits);
        let (slow_path, not_executable) = match &pipeline {
            Ok(pipeline) => (Some(slow_path::json(pipeline)), None),
            Err(error) => (None, Some(format!("{error:#}"))),
        };
        output::print_json(&json!({
            "files": written,
            "fits": fits,
            "slow_path": slow_path,
            "not_executable": not_executable,
            "passes": times.flatten().map(|times| passes::json(&times)),
        }))?;
    } else {
        for note in notes(&pipeline) {
            output::note(&note);
        }
        if let Some(resources) = &resources {
            output::print(&format!("{resources}\n"))?;
        }
        if let Some(times) = times {
            let none = || "No pass ran: the program has no fast path.\n".to_string();
            output::print(&times.map_or_else(none, |times| passes::table(&times)))?;
        }
        output::print(&written.iter().map(|path| format!("{path}\n")).collect::<String>())?;
    }
    Ok(match resources {
        Some(resources) if !resources.fits => Status::Bad,
        _ => Status::Good,
    })
}

/// Why `forebay run` does not serve packets of this program as fast as it can, if so.
fn notes(pipeline: &Result<Arc<Pipeline>>) -> Vec<String> {
    match pipeline {
        Ok(pipeline) => slow_path::notes(pipeline),
        Err(error) => vec![format!("forebay run cannot execute it: {error:#}")],
    }
}

/// Names and contents.
fn files(program: &Program, p4info: Option<&P4Info>) -> Vec<(String, String)> {
    let mut files = Vec::new();
    if let Some(p4info) = p4info {
        files.push(("p4info.txtpb".to_string(), forebay_p4info::write(p4info)));
    }
    files.push(("ir.txt".to_string(), forebay_ir::text::write(program)));
    for (role, id) in &program.stages {
        // A PNA program of three blocks has no PreControl.
        if *role == Role::PreControl && does_nothing(&program.bodies[id.index()]) {
            continue;
        }
        let name = graph_name(*role, &program.bodies[id.index()].name);
        let graph = (name, forebay_ir::dot::body_graph(program, *id));
        if !files.contains(&graph) {
            files.push((unused(&files, &graph.0), graph.1));
        }
    }
    files
}

/// The name, with a number if a file has it already: two blocks may be instances of one control.
fn unused(files: &[(String, String)], name: &str) -> String {
    let mut free = name.to_string();
    let mut number = 2;
    while files.iter().any(|(other, _)| *other == free) {
        free = format!("{}_{number}.dot", name.trim_end_matches(".dot"));
        number += 1;
    }
    free
}

fn does_nothing(body: &Body) -> bool {
    match &body.blocks[..] {
        [only] => only.statements.is_empty() && matches!(only.terminator, Terminator::Return),
        _ => false,
    }
}

/// `parser.dot`, or the control's own name.
fn graph_name(role: Role, body: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() || c == '_' { c } else { '_' };
    match role {
        Role::Parser => "parser.dot".to_string(),
        _ => format!("{}.dot", body.chars().map(plain).collect::<String>()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn instances_of_one_control_have_graphs_of_their_own() {
        let files = ["C.dot", "C_2.dot"].map(|name| (name.to_string(), String::new()));
        assert_eq!(unused(&files, "C.dot"), "C_3.dot");
        assert_eq!(unused(&files, "D.dot"), "D.dot");
    }
}
