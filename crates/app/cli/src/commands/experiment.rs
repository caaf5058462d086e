//! `forebay experiment`: published tables and figures beside what the timed model says, or what is measured of the
//! software switch.

use super::Status;
use super::sim::IGNORED_FIT;
use crate::simulation_progress::Simulations;
use crate::{evaluation, files, output, parallel};
use anyhow::{Context, Result, anyhow, bail};
use clap::Subcommand;
use forebay_experiments::{Definition, Experiment, Report};
use forebay_files::Folder;
use forebay_sim::{Library, suggestion};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::time::Instant;

/// Arguments of `forebay experiment`.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  forebay experiment list
  forebay experiment run table-3
  forebay experiment run table-3 table-4 --quick")]
pub struct Arguments {
    #[command(subcommand)]
    what: What,
    /// The folder of the experiments; without, `experiments` here, or in share/forebay of the installation
    #[arg(long, global = true, value_name = "DIR")]
    folder: Option<PathBuf>,
}

#[derive(Subcommand)]
enum What {
    /// List the experiments that there are
    List {
        /// Print the list as JSON
        #[arg(long)]
        json: bool,
    },
    /// Simulate, and write result.md, result.json and charts into the experiment's folder
    Run {
        /// Names of experiments
        #[arg(required = true)]
        names: Vec<String>,
        /// Shorter trials and fewer cells: print the table, write nothing
        #[arg(long)]
        quick: bool,
        /// Time programs that do not fit the chip, too
        #[arg(long)]
        ignore_fit: bool,
        /// Print the results as JSON
        #[arg(long)]
        json: bool,
    },
    /// Write result.md and charts of evaluations anew from their result.json, without measuring
    Report {
        /// Names of experiments that are evaluations: those with an evaluation.toml
        #[arg(required = true)]
        names: Vec<String>,
    },
}

/// Runs the command.
pub fn run(arguments: &Arguments) -> Result<Status> {
    let folder = folder(arguments.folder.as_deref());
    match &arguments.what {
        What::List { json } => list(&folder, *json),
        What::Run {
            names,
            quick,
            ignore_fit,
            json,
        } => {
            let mut reports = Vec::new();
            for name in names {
                check_name(&folder, name)?;
                if !quick {
                    check_not_installed(&folder)?;
                    evaluation::check_writable(&folder.join(name))?;
                }
            }
            for name in names {
                if !is_evaluation(&folder.join(name)) {
                    let report = run_one(&folder, name, *quick, *ignore_fit, *json)?;
                    reports.push(json!({ "name": name, "report": report.json() }));
                    continue;
                }
                let found = evaluate(&folder.join(name), name, *quick, *json)?;
                // One evaluation alone stands in no list.
                if *json && names.len() == 1 {
                    output::print_json(&found)?;
                    return Ok(Status::Good);
                }
                reports.push(json!({ "name": name, "report": found }));
            }
            if *json {
                output::print_json(&Value::Array(reports))?;
            }
            Ok(Status::Good)
        }
        What::Report { names } => {
            for name in names {
                check_name(&folder, name)?;
                check_not_installed(&folder)?;
                report_anew(&folder.join(name), name)?;
            }
            Ok(Status::Good)
        }
    }
}

/// The folder of the experiments: the one that is named, the one here, or that of the installation.
fn folder(named: Option<&Path>) -> PathBuf {
    let here = Path::new("experiments");
    match named {
        Some(folder) => folder.to_owned(),
        None if here.is_dir() => here.to_owned(),
        None => installed().unwrap_or_else(|| here.to_owned()),
    }
}

/// The experiments that are installed with this executable.
fn installed() -> Option<PathBuf> {
    let executable = std::env::current_exe().ok()?;
    executable
        .parent()?
        .join("../share/forebay/experiments")
        .canonicalize()
        .ok()
}

/// Results do not go among the files of an installation.
fn check_not_installed(folder: &Path) -> Result<()> {
    let Some(installed) = installed().filter(|installed| folder.canonicalize().is_ok_and(|own| own == *installed))
    else {
        return Ok(());
    };
    bail!(
        "results are not written into {}, which is installed: `cp -r {} mine && cd mine` makes a copy for them, and --quick \
         prints a short run alone",
        folder.display(),
        installed.parent().unwrap_or(&installed).display()
    )
}

fn list(folder: &Path, json: bool) -> Result<Status> {
    let mut listed = Vec::new();
    let mut status = Status::Good;
    for name in names(folder)? {
        match title_and_source(&folder.join(&name)) {
            Ok((title, source)) => {
                let by = command(&name);
                listed.push((name, Listed { title, source, by }));
            }
            Err(error) => {
                output::error(&format!("{error:#}"));
                status = Status::Bad;
            }
        }
    }
    let own = listed.len();
    listed.extend(other_reports(folder)?);
    if json {
        let object = |(name, found): &(String, Listed)| json!({ "name": name, "title": found.title, "source": found.source, "written_by": found.by });
        output::print_json(&listed.iter().map(object).collect::<Value>())?;
        return Ok(status);
    }
    for (name, found) in &listed[..own] {
        output::print(&format!("{name:<24} {}\n", found.title))?;
    }
    if own < listed.len() {
        output::print("\nwith commands of their own:\n")?;
    }
    for (name, found) in &listed[own..] {
        output::print(&format!("{name:<24} {}: {}\n", found.title, found.by))?;
    }
    Ok(status)
}

/// What a folder shows.
struct Listed {
    title: String,
    source: String,
    /// The command that writes it.
    by: String,
}

impl Listed {
    /// As the report in a folder says, if there is one.
    fn read(folder: &Path) -> Option<Listed> {
        let text = std::fs::read_to_string(folder.join("result.md")).ok()?;
        let title = text.lines().next()?.strip_prefix("# ")?;
        let (before, after) = text.split_once("Written by")?;
        let (by, _) = after.trim_start().strip_prefix('`')?.split_once('`')?;
        let source = before.split_once("Published: ").map_or("", |(_, source)| source);
        Some(Listed {
            title: title.to_string(),
            source: source.split_whitespace().collect::<Vec<_>>().join(" "),
            by: by.to_string(),
        })
    }
}

/// Published tables and figures that scripts and the Python package write, in order.
fn other_reports(folder: &Path) -> Result<Vec<(String, Listed)>> {
    let others = folders(folder)?
        .into_iter()
        .filter(|name| !is_experiment(&folder.join(name)));
    Ok(others
        .filter_map(|name| Listed::read(&folder.join(&name)).map(|report| (name, report)))
        .collect())
}

fn title_and_source(folder: &Path) -> Result<(String, String)> {
    if is_evaluation(folder) {
        let read = evaluation::read(folder)?;
        return Ok((read.title, read.source));
    }
    let text = Folder::new(folder).text("experiment.toml");
    let wrong = |error: String| anyhow!("{}: {error}", folder.display());
    let definition = text.and_then(|text| Definition::read(&text)).map_err(wrong)?;
    Ok((definition.title, definition.source))
}

/// Whether the folder says what is measured of a real switch, rather than what is simulated.
fn is_evaluation(folder: &Path) -> bool {
    folder.join(evaluation::FILE).is_file()
}

/// Measures, prints the report unless JSON is wanted, and writes it into the folder unless it is a quick one. Returns
/// what was found as JSON.
fn evaluate(folder: &Path, name: &str, quick: bool, json: bool) -> Result<Value> {
    let read = evaluation::read(folder)?;
    let found = evaluation::measure(folder, &read, quick, None)?;
    let printed = if json {
        Ok(())
    } else {
        output::print(&found.markdown(&read, &command(name)))
    };
    if !quick {
        evaluation::write(&found, &read, &command(name), folder)?;
        remove_other_charts(folder, &found.charts())?;
    }
    printed?;
    Ok(serde_json::to_value(&found)?)
}

/// Writes the report of what was measured before.
fn report_anew(folder: &Path, name: &str) -> Result<()> {
    if !is_evaluation(folder) {
        bail!("{name} is simulated; `{}` writes its report", command(name));
    }
    let (read, found) = (evaluation::read(folder)?, evaluation::recorded(folder)?);
    evaluation::check_writable(folder)?;
    evaluation::write_report(&found, &read, &command(name), folder)?;
    remove_other_charts(folder, &found.charts())
}

/// What writes an experiment's report.
fn command(name: &str) -> String {
    format!("forebay experiment run {name}")
}

/// Folders that hold an experiment, and those in folders that hold none themselves, in order.
fn names(folder: &Path) -> Result<Vec<String>> {
    let mut names = Vec::new();
    for name in folders(folder)? {
        if is_experiment(&folder.join(&name)) {
            names.push(name);
            continue;
        }
        let inside = folders(&folder.join(&name))?;
        let inside = inside.iter().map(|inner| format!("{name}/{inner}"));
        names.extend(inside.filter(|inner| is_experiment(&folder.join(inner))));
    }
    Ok(names)
}

fn is_experiment(folder: &Path) -> bool {
    folder.join("experiment.toml").is_file() || is_evaluation(folder)
}

/// The names of a folder's folders, in order.
fn folders(folder: &Path) -> Result<Vec<String>> {
    let wrong = || {
        format!(
            "cannot list the folder {}; --folder says where the experiments are: they are in the sources of Forebay, and in \
             share/forebay of its packages",
            folder.display()
        )
    };
    let mut names = Vec::new();
    for entry in std::fs::read_dir(folder).with_context(wrong)? {
        let entry = entry.with_context(wrong)?;
        if entry.path().is_dir() {
            names.push(entry.file_name().to_string_lossy().into_owned());
        }
    }
    names.sort();
    Ok(names)
}

fn check_name(folder: &Path, name: &str) -> Result<()> {
    let known = names(folder)?;
    if let Some((_, report)) = other_reports(folder)?.iter().find(|(other, _)| other == name) {
        bail!(
            "{name} has a command of its own: `{}` measures and writes it",
            report.by
        );
    }
    if !known.iter().any(|known| known == name) {
        bail!(
            "there is no experiment {name} in {}{}",
            folder.display(),
            suggestion(name, known.iter().map(String::as_str))
        );
    }
    Ok(())
}

fn run_one(folder: &Path, name: &str, quick: bool, ignore_fit: bool, json: bool) -> Result<Report> {
    let started = Instant::now();
    let folder = folder.join(name);
    let library = Folder::new(&folder);
    let wrong = |message: String| anyhow!("{}: {message}", folder.display());
    let ignore_fit = ignore_fit.then_some(IGNORED_FIT);
    let experiment = Experiment::new(&library, quick, ignore_fit).map_err(wrong)?;
    let runs: Vec<usize> = (0..experiment.runs()).collect();
    let mut outcomes = Vec::new();
    let progress = Simulations::new(runs.len());
    let work = |run: &usize| {
        let outcome = experiment.simulate(*run, &mut progress.one());
        progress.finish_one();
        outcome
    };
    parallel::in_order(&runs, work, |_, outcome| {
        outcomes.push(outcome);
        Ok(())
    })?;
    let report = experiment.report(&outcomes);
    let command = command(name);
    let seconds = started.elapsed().as_secs_f64();
    let text = format!(
        "{}({} simulations, {seconds:.1} s)\n\n",
        report.markdown(&command),
        runs.len()
    );
    let printed = if json { Ok(()) } else { output::print(&text) };
    if !quick {
        write(&folder, &report, &command)?;
    }
    printed?;
    Ok(report)
}

/// Takes away the charts of a former run that this one does not have: when those of this one are written, since a disk
/// may be full.
fn remove_other_charts<C>(folder: &Path, charts: &[(String, C)]) -> Result<()> {
    let is_kept = |path: &Path| {
        let stem = path.file_stem();
        charts
            .iter()
            .any(|(name, _)| stem.is_some_and(|stem| stem == name.as_str()))
    };
    let cannot = || format!("cannot remove charts from {}", folder.display());
    for entry in std::fs::read_dir(folder).with_context(cannot)? {
        let path = entry.with_context(cannot)?.path();
        let is_chart = path.extension().is_some_and(|kind| kind == "svg" || kind == "pdf");
        if is_chart && !is_kept(&path) {
            std::fs::remove_file(&path).with_context(cannot)?;
        }
    }
    Ok(())
}

fn write(folder: &Path, report: &Report, command: &str) -> Result<()> {
    let mut text = report.markdown(command);
    let charts = report.charts();
    for (metric, chart) in &charts {
        files::write(&folder.join(format!("{metric}.svg")), chart.svg())?;
        files::write(&folder.join(format!("{metric}.pdf")), chart.pdf())?;
        text.push_str(&format!("\n![{metric}]({metric}.svg)\n"));
    }
    files::write(&folder.join("result.md"), text)?;
    let json = serde_json::to_string_pretty(&report.json())?;
    files::write(&folder.join("result.json"), format!("{json}\n"))?;
    remove_other_charts(folder, &charts)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn charts_of_a_former_run_go_and_others_stay() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = |name: &str| folder.path().join(name);
        for name in ["old.svg", "old.pdf", "max.gbps.svg", "result.md"] {
            files::write(&path(name), "x").expect("a file");
        }
        remove_other_charts(folder.path(), &[("max.gbps".to_string(), ())]).expect("a folder");
        assert!(!path("old.svg").exists() && !path("old.pdf").exists());
        assert!(path("max.gbps.svg").exists() && path("result.md").exists());
    }
}
