//! Programs that were compiled before: by `forebay build` (IR text) or by p4c for BMv2 (JSON).

use crate::format::Format;
use forebay_bmv2::Known;
use forebay_ir::{self as ir, Program};
use forebay_p4info::model::P4Info;

/// A program that was compiled before.
#[derive(Debug)]
pub struct Precompiled {
    /// What executes.
    pub program: Program,
    /// What the control plane sees of it. `None` for IR text, which does not say it, and for JSON with [`Known`].
    pub p4info: Option<P4Info>,
}

/// Reads a program that was compiled before, and verifies it. `name` begins each message. `known` is what a P4Info says
/// of a program in BMv2's JSON; without it a P4Info is derived from the JSON.
///
/// # Errors
/// What is wrong with the program, one message for each problem.
///
/// # Panics
/// When the format is [`Format::P4`]; see [`crate::compile`].
pub fn read_compiled(
    name: &str,
    format: Format,
    text: &str,
    known: Option<&Known>,
) -> Result<Precompiled, Vec<String>> {
    match format {
        Format::P4 => panic!("P4 source is compiled, not read"),
        Format::Ir => read_ir(name, text),
        Format::Bmv2 => read_bmv2(name, text, known),
    }
}

fn read_ir(name: &str, text: &str) -> Result<Precompiled, Vec<String>> {
    let program = ir::text::read(text).map_err(|error| vec![format!("{name}:{error}")])?;
    let problems = ir::verify::verify(&program);
    if problems.is_empty() {
        return Ok(Precompiled { program, p4info: None });
    }
    Err(problems.iter().map(|problem| format!("{name}: {problem}")).collect())
}

fn read_bmv2(name: &str, text: &str, known: Option<&Known>) -> Result<Precompiled, Vec<String>> {
    let nothing = Known::default();
    let program = forebay_bmv2::read(text, known.unwrap_or(&nothing));
    let program = program.map_err(|error| vec![format!("{name}: {error}")])?;
    Ok(Precompiled {
        p4info: known.is_none().then(|| forebay_bmv2::derive_p4info(&program)),
        program,
    })
}
