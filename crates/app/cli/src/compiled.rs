//! Programs that were compiled before: by `forebay build` (ir.txt) or by p4c for BMv2 (.json).

use crate::program::{Compilation, Report};
use crate::{files, output};
use anyhow::{Context, Result};
use forebay_driver::Format;
use forebay_protocol::p4::config::v1::P4Info;
use serde_json::{Value, json};
use std::path::Path;

/// Reads a program that was compiled before; none when the file is P4 source.
///
/// # Errors
/// When the program cannot be read; what is wrong *with* it is in the report.
pub fn read_compiled(path: &Path) -> Result<Option<Compilation>> {
    let format = format(path)?;
    if format == Format::P4 {
        return Ok(None);
    }
    let text = files::text(path, "program")?;
    let info = match format {
        Format::Bmv2 => p4info_beside(path)?,
        _ => None,
    };
    let known = info.as_ref().map(forebay_p4runtime::known);
    let read = forebay_driver::read_compiled(&path.display().to_string(), format, &text, known.as_ref());
    Ok(Some(match read {
        Ok(read) => Compilation {
            program: Some(read.program),
            p4info: read.p4info,
            report: report(&[]),
        },
        Err(problems) => Compilation {
            program: None,
            p4info: None,
            report: report(&problems),
        },
    }))
}

/// What the program in a file is written in.
fn format(path: &Path) -> Result<Format> {
    Format::of_file(path, || files::text(path, "program"))
}

/// Whether a file holds what p4c writes for BMv2.
pub fn is_bmv2(path: &Path) -> Result<bool> {
    Ok(format(path)? == Format::Bmv2)
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
