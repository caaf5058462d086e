//! Evaluations: folders of `experiments/` with an `evaluation.toml`, for `forebay experiment run` and
//! `forebay tester evaluate`.

use crate::{files, output};
use anyhow::{Result, anyhow, bail};
use forebay_evaluations::evaluation::FORMAT;
use forebay_evaluations::updates::Foreign;
use forebay_evaluations::{Evaluation, Found};
use forebay_files::Folder;
use std::path::Path;

/// The file that says what is measured.
pub const FILE: &str = "evaluation.toml";

/// What a report is written to, and what was found.
const REPORT: &str = "result.md";
const RECORD: &str = "result.json";

/// Reads the evaluation of a folder.
///
/// # Errors
/// When there is none, or something in it is wrong.
pub fn read(folder: &Path) -> Result<Evaluation> {
    let path = folder.join(FILE);
    if !path.exists() && folder.join("experiment.toml").exists() {
        bail!(
            "{} has no {FILE}: it is simulated, by `forebay experiment run`",
            folder.display()
        );
    }
    let text = files::text(&path, "evaluation")?;
    Evaluation::read(&text).map_err(|problem| anyhow!("{}:{problem}", path.display()))
}

/// A switch of another maker, in place of Forebay in memory.
pub struct Other {
    /// What it is called.
    pub name: String,
    /// How it is reached and told.
    pub foreign: Foreign,
    /// The rules that it has.
    pub rules: u32,
}

/// Measures. Each result is reported on standard error.
///
/// # Errors
/// When something cannot be measured.
pub fn measure(folder: &Path, evaluation: &Evaluation, quick: bool, other: Option<&Other>) -> Result<Found> {
    let mut told = |line: &str| output::info(line);
    let found = match other {
        None => evaluation.run(quick, &Folder::new(folder), &mut told),
        Some(other) => evaluation.run_foreign(quick, &other.name, &other.foreign, other.rules, &mut told),
    };
    let mut found = found.map_err(|message| anyhow!("{}: {message}", folder.display()))?;
    found.machine.forebay = crate::version::LONG.to_string();
    Ok(found)
}

/// Whether a report can be written into a folder, before the work whose report it is.
///
/// # Errors
/// When it cannot.
pub fn check_writable(folder: &Path) -> Result<()> {
    if !folder.is_dir() {
        bail!("{} is no folder", folder.display());
    }
    for name in [".writable", REPORT, RECORD] {
        files::check_writable(&folder.join(name))?;
    }
    Ok(())
}

/// What an evaluation has found, as its record in the folder says.
///
/// # Errors
/// When there is none, or it is no such record.
pub fn recorded(folder: &Path) -> Result<Found> {
    let path = folder.join(RECORD);
    let text = files::text(&path, "record of an evaluation")?;
    let found: Found = serde_json::from_str(&text).map_err(|error| anyhow!("{}: {error}", path.display()))?;
    if found.format == FORMAT {
        Ok(found)
    } else {
        bail!(
            "{} has the format {:?}; {FORMAT:?} is expected",
            path.display(),
            found.format
        )
    }
}

/// Prints the report, and writes it into a folder with charts and JSON.
///
/// # Errors
/// When a file cannot be written.
pub fn report(found: &Found, evaluation: &Evaluation, command: &str, json: bool, into: Option<&Path>) -> Result<()> {
    let printed = if json {
        output::print_json(&serde_json::to_value(found)?)
    } else {
        output::print(&found.markdown(evaluation, command))
    };
    if let Some(folder) = into {
        write(found, evaluation, command, folder)?;
    }
    printed
}

/// Writes the report into a folder, with charts and JSON.
///
/// # Errors
/// When a file cannot be written.
pub fn write(found: &Found, evaluation: &Evaluation, command: &str, folder: &Path) -> Result<()> {
    write_report(found, evaluation, command, folder)?;
    let json = format!("{}\n", serde_json::to_string(found)?);
    Ok(files::write(&folder.join(RECORD), json)?)
}

/// Writes the report into a folder, with charts. The record of what was found stays as it is.
///
/// # Errors
/// When a file cannot be written.
pub fn write_report(found: &Found, evaluation: &Evaluation, command: &str, folder: &Path) -> Result<()> {
    let mut text = found.markdown(evaluation, command);
    for (name, chart) in found.charts() {
        files::write(&folder.join(format!("{name}.svg")), chart.svg())?;
        files::write(&folder.join(format!("{name}.pdf")), chart.pdf())?;
        text.push_str(&format!("![{name}]({name}.svg)\n"));
    }
    Ok(files::write(&folder.join(REPORT), text)?)
}
