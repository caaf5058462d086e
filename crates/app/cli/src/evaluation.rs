//! Evaluations: folders of `experiments/` with an `evaluation.toml`, for `forebay experiment run` and `forebay tester evaluate`.

use crate::{files, output};
use anyhow::{Result, anyhow, bail};
use forebay_evaluations::updates::Foreign;
use forebay_evaluations::{Evaluation, Found};
use forebay_files::Folder;
use std::path::Path;

/// The file that says what is measured.
pub const FILE: &str = "evaluation.toml";

/// Reads the evaluation of a folder.
///
/// # Errors
/// When there is none, or something in it is wrong.
pub fn read(folder: &Path) -> Result<Evaluation> {
    let path = folder.join(FILE);
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

/// Measures. Each result is told on standard error.
///
/// # Errors
/// When something cannot be measured.
pub fn measure(folder: &Path, evaluation: &Evaluation, quick: bool, other: Option<&Other>) -> Result<Found> {
    let mut told = |line: &str| output::info(line);
    let found = match other {
        None => evaluation.run(quick, &Folder::new(folder), &mut told),
        Some(other) => evaluation.run_foreign(quick, &other.name, &other.foreign, other.rules, &mut told),
    };
    found.map_err(|message| anyhow!("{}: {message}", folder.display()))
}

/// Prints the report, and writes it into a folder with charts and JSON.
///
/// # Errors
/// When a file cannot be written.
pub fn report(found: &Found, evaluation: &Evaluation, command: &str, json: bool, into: Option<&Path>) -> Result<()> {
    let mut text = found.markdown(evaluation, command);
    match json {
        true => output::print_json(&serde_json::to_value(found)?)?,
        false => output::print(&text)?,
    }
    let Some(folder) = into else { return Ok(()) };
    if !folder.is_dir() {
        bail!("{} is no folder", folder.display());
    }
    for (name, chart) in found.charts() {
        files::write(&folder.join(format!("{name}.svg")), chart.svg())?;
        files::write(&folder.join(format!("{name}.pdf")), chart.pdf())?;
        text.push_str(&format!("![{name}]({name}.svg)\n"));
    }
    files::write(&folder.join("result.md"), text)?;
    let json = format!("{}\n", serde_json::to_string(found)?);
    Ok(files::write(&folder.join("result.json"), json)?)
}
