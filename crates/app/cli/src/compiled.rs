//! Programs that were compiled before: by `forebay build` (ir.txt) or by p4c for BMv2 (.json).

use crate::program::{Compilation, Report};
use crate::{files, output};
use anyhow::{Context, Result};
use forebay_ir::Program;
use forebay_protocol::p4::config::v1::P4Info;
use serde_json::{Value, json};
use std::path::Path;

/// Reads a program that was compiled before; none when the file is P4 source. Files called like BMv2's may hold any of
/// them, for tools that know no other name.
///
/// # Errors
/// When the program cannot be read; what is wrong *with* it is in the report.
pub fn read_compiled(path: &Path) -> Result<Option<Compilation>> {
    let extension = path.extension().and_then(|extension| extension.to_str());
    match extension {
        Some("ir" | "txt") => read_ir(path, &files::text(path, "program")?).map(Some),
        Some("json") => {
            let text = files::text(path, "program")?;
            match () {
                () if forebay_bmv2::is_json(&text) => read_json(path, &text).map(Some),
                () if text.trim_start().starts_with("program v1model") => read_ir(path, &text).map(Some),
                () => Ok(None),
            }
        }
        _ => Ok(None),
    }
}

/// Whether a file holds what p4c writes for BMv2.
pub fn is_bmv2(path: &Path) -> Result<bool> {
    let is_called_so = path.extension().is_some_and(|extension| extension == "json");
    Ok(is_called_so && forebay_bmv2::is_json(&files::text(path, "program")?))
}

/// The P4Info of a program that was compiled before: a file beside it, which `forebay build` or p4c has written.
///
/// # Errors
/// When there is a file, and it is no P4Info.
pub fn p4info_beside(path: &Path) -> Result<Option<P4Info>> {
    let Some(beside) = forebay_bmv2::p4info_paths(path)
        .into_iter()
        .find(|beside| beside.exists())
    else {
        return Ok(None);
    };
    let text = files::text(&beside, "P4Info of the program")?;
    let info = forebay_protocol::p4info::read(&text).with_context(|| beside.display().to_string())?;
    Ok(Some(info))
}

fn read_json(path: &Path, text: &str) -> Result<Compilation> {
    let info = p4info_beside(path)?;
    let known = info.as_ref().map(forebay_p4runtime::known).unwrap_or_default();
    let (program, problems) = match forebay_bmv2::read(text, &known) {
        Ok(program) => (Some(program), Vec::new()),
        Err(error) => (None, vec![format!("{}: {error}", path.display())]),
    };
    let derived = program
        .as_ref()
        .filter(|_| info.is_none())
        .map(forebay_bmv2::derive_p4info);
    Ok(Compilation {
        program,
        p4info: derived,
        report: report(&problems),
    })
}

fn read_ir(path: &Path, text: &str) -> Result<Compilation> {
    let (program, problems): (Option<Program>, Vec<String>) = match forebay_ir::text::read(text) {
        Err(error) => (None, vec![format!("{}:{error}", path.display())]),
        Ok(program) => {
            let problems = forebay_ir::verify::verify(&program);
            let problems = problems.iter().map(|problem| format!("{}: {problem}", path.display()));
            let problems: Vec<String> = problems.collect();
            (Some(program).filter(|_| problems.is_empty()), problems)
        }
    };
    Ok(Compilation {
        program,
        p4info: None,
        report: report(&problems),
    })
}

fn report(problems: &[String]) -> Report {
    let diagnostics: Vec<Value> = problems
        .iter()
        .map(|problem| json!({ "severity": "error", "message": problem }))
        .collect();
    Report {
        good: problems.is_empty(),
        messages: problems.iter().map(|problem| output::painted_error(problem)).collect(),
        json: json!({ "errors": diagnostics.len(), "warnings": 0, "suppressed": 0, "diagnostics": diagnostics }),
    }
}
