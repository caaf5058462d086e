//! `programs/chain`, which takes a plan as table entries: whether it would.
//!
//! The program is compiled into this command, which takes the names of tables, actions and data from it.

use anyhow::{Result, anyhow};
use forebay_allocation::{Command, Mistake, Of, Problem};
use forebay_driver::{Options, compile};
use forebay_entries::{Applied, Controller, parse};
use forebay_pipeline::{Engine, FastPath, Pipeline};
use forebay_syntax::source::MemorySources;
use std::sync::Arc;

const PATH: &str = "programs/chain/chain.p4";

const SOURCES: [(&str, &str); 2] = [
    (PATH, include_str!("../../../../../../programs/chain/chain.p4")),
    (
        "programs/common/headers.p4",
        include_str!("../../../../../../programs/common/headers.p4"),
    ),
];

/// The program without entries.
fn load() -> Result<Arc<Pipeline>> {
    let sources = SOURCES
        .iter()
        .fold(MemorySources::new(), |sources, (path, text)| sources.with(path, text));
    let compiled = compile(
        PATH,
        &Options {
            provider: &sources,
            include_paths: &[],
            defines: &[],
        },
    );
    let program = compiled.program.ok_or_else(|| anyhow!("{PATH} has errors"))?;
    let options = forebay_pipeline::Options {
        engine: Engine::Interpreter,
        fast_path: FastPath::Never,
        ..forebay_pipeline::Options::default()
    };
    Ok(Arc::new(Pipeline::load_with(program, options)?))
}

/// The first function whose action the program refuses, whatever the plan.
pub(super) fn wrong_action(problem: &Problem) -> Result<Option<Mistake>> {
    let mut controller = Controller::new(load()?);
    for (index, function) in problem.functions.iter().enumerate() {
        let Some(action) = &function.action else { continue };
        let entry = format!("add ingress_step_0 hdr.chain.flow:0 hdr.chain.hop:0 {action}");
        if let Err(message) = apply(&mut controller, &entry) {
            let message = format!("function {}: action {action:?}: {message}", function.name);
            return Ok(Some(problem.mistake(Of::Function(index), message)));
        }
        controller.apply(&forebay_entries::Command::RemoveAll);
    }
    Ok(None)
}

/// The first line of a plan that the program refuses.
pub(super) fn wrong_line(problem: &Problem, lines: &[Command]) -> Result<Option<Mistake>> {
    let mut controller = Controller::new(load()?);
    let wrong = lines.iter().find_map(|line| {
        let message = apply(&mut controller, &line.text).err()?;
        let message = format!("programs/chain refuses `{}`: {message}", line.text);
        Some(problem.mistake(line.of, message))
    });
    Ok(wrong)
}

/// Applies a line, which is a command or a comment.
fn apply(controller: &mut Controller, line: &str) -> Result<(), String> {
    let test = parse(line).map_err(|errors| errors.first().map_or(String::new(), |error| error.message.clone()))?;
    match &test.commands[..] {
        [] => Ok(()),
        [command] => match controller.apply(&command.value) {
            Applied::Refused(message) | Applied::Differs(message) => Err(message),
            Applied::Done | Applied::Note(_) => Ok(()),
        },
        _ => Err("it is one action in one line".to_string()),
    }
}
