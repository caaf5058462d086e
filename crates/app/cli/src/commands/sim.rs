//! `forebay sim`: scenarios on the timed model of switch silicon.

use super::Status;
use crate::simulation_progress::Simulations;
use crate::{departures_table, files, output, parallel, parquet_table};
use anyhow::{Context, Result, anyhow, bail};
use forebay_files::Folder;
use forebay_sim::{Case, Departure, Progress, Results, Run, Search, SearchResults, Setup};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// Arguments of `forebay sim`.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  forebay sim scenario.toml                      simulate, print what happened
  forebay sim scenario.toml --out results        and write results.json and plots
  forebay sim scenario.toml --parquet r.parquet  and write every number
  forebay sim scenario.toml --find-max           the highest load without loss
  forebay sim scenario.toml --set N=2,4,8        a run for each value
Exit codes: 1 when --find-max finds nothing for a case. Every key of a scenario: docs/scenarios.md")]
pub struct Arguments {
    /// The scenario
    #[arg(value_name = "SCENARIO.toml")]
    scenario: PathBuf,
    /// Values of a parameter, in place of those in the file
    #[arg(long, value_name = "NAME=VALUE[,VALUE...]", value_parser = parameter)]
    set: Vec<(String, String)>,
    /// Search the highest load without loss, as the scenario's table search says
    #[arg(long)]
    find_max: bool,
    /// Begin the sequences of random numbers here, not where the scenario says
    #[arg(long)]
    seed: Option<u64>,
    /// Write results.json and plots to this folder
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Write every number to a Parquet file: case, measure, sample, value
    #[arg(long, value_name = "FILE")]
    parquet: Option<PathBuf>,
    /// Write when each frame came and left: Parquet, or CSV if the name ends with .csv
    #[arg(long, value_name = "FILE", conflicts_with = "find_max")]
    departures: Option<PathBuf>,
    /// Write the frames that arrive and leave, and what became of each, as pcapng; for one case
    #[arg(long, value_name = "FILE.pcapng", conflicts_with = "find_max")]
    pcapng: Option<PathBuf>,
    /// Write the way of each packet through ingress, queues, egress and wires for Perfetto (JSON); for one case
    #[arg(long, value_name = "FILE.json", conflicts_with = "find_max")]
    timeline: Option<PathBuf>,
    /// Print the results as JSON
    #[arg(long)]
    json: bool,
    /// Time programs that do not fit the chip, too
    #[arg(long)]
    ignore_fit: bool,
}

/// The reason that results show when the command line lifts the rule.
pub(super) const IGNORED_FIT: &str = "--ignore-fit on the command line";

fn parameter(text: &str) -> Result<(String, String)> {
    let (name, values) = text.split_once('=').context("write NAME=VALUE")?;
    Ok((name.to_string(), values.to_string()))
}

/// What a case has given.
enum Found {
    Run(Box<Results>),
    Search(Box<SearchResults>),
}

impl Arguments {
    /// Whether single packets are of interest.
    fn is_recorded(&self) -> bool {
        self.pcapng.is_some() || self.timeline.is_some()
    }

    /// Whether files are written when all cases have been simulated.
    fn writes_files(&self) -> bool {
        self.parquet.is_some() || self.departures.is_some() || self.out.is_some()
    }
}

/// Simulates.
pub fn run(arguments: &Arguments) -> Result<Status> {
    let path = &arguments.scenario;
    let text = files::text(path, "scenario")?;
    let cases =
        forebay_sim::expand(&text, &arguments.set).map_err(|problem| anyhow!("{}:{problem}", path.display()))?;
    let library = Folder::new(path.parent().unwrap_or(Path::new("")));
    let setups = cases
        .iter()
        .map(|case| prepare(path, case, &library, arguments))
        .collect::<Result<Vec<_>>>()?;
    if arguments.find_max && setups.iter().any(|(_, setup)| setup.scenario().search_is_missing()) {
        bail!("{}: --find-max needs a table [search] in the scenario", path.display());
    }
    if setups.len() > 1 && arguments.is_recorded() {
        bail!("--pcapng and --timeline are for one case; --set gives each parameter one value");
    }
    check_outputs(arguments)?;
    let (mut found, mut departures) = (Vec::new(), Vec::new());
    let progress = Simulations::new(setups.len());
    let mut printed = Ok(());
    let work = |(_, setup): &(&Case, Setup)| simulate(setup, arguments, &progress);
    parallel::in_order(&setups, work, |(case, _), result| {
        let (result, left) = result?;
        if !arguments.json && printed.is_ok() {
            printed = progress.suspend(|| print(case, &result));
        }
        if !arguments.writes_files() {
            std::mem::replace(&mut printed, Ok(()))?;
        }
        found.push((case.name(), result));
        departures.push((case.name(), left));
        Ok(())
    })?;
    let json = as_json(&found);
    if arguments.json {
        printed = output::print_json(&json);
    }
    if let Some(path) = &arguments.parquet {
        files::write(path, parquet_table::file(&json)?)?;
    }
    if let Some(path) = &arguments.departures {
        files::write(path, departures_table::file(path, &departures)?)?;
    }
    if let Some(folder) = &arguments.out {
        let sample_us = setups.iter().map(|(_, setup)| setup.scenario().sample_us());
        write(folder, &json, &found, sample_us)?;
    }
    printed?;
    let nothing = |(_, found): &(String, Found)| matches!(found, Found::Search(search) if !search.found);
    Ok(if found.iter().any(nothing) {
        Status::Bad
    } else {
        Status::Good
    })
}

/// Results that cannot be written are noticed before the simulation, which may take hours.
fn check_outputs(arguments: &Arguments) -> Result<()> {
    let outputs = [
        &arguments.parquet,
        &arguments.departures,
        &arguments.pcapng,
        &arguments.timeline,
    ];
    for path in outputs.into_iter().flatten() {
        files::check_writable(path)?;
    }
    if let Some(folder) = &arguments.out {
        files::make_folder(folder)?;
    }
    Ok(())
}

fn prepare<'a>(path: &Path, case: &'a Case, library: &Folder, arguments: &Arguments) -> Result<(&'a Case, Setup)> {
    let ignore_fit = arguments.ignore_fit.then_some(IGNORED_FIT);
    let setup = Setup::of_case(case, library, ignore_fit).map_err(|problems| {
        let lines = problems.iter().map(|problem| format!("{}:{problem}", path.display()));
        let lines: Vec<String> = lines.collect();
        anyhow!("{}", lines.join("\n"))
    })?;
    Ok((case, setup))
}

/// The results, and the frames that left, if requested.
fn simulate(setup: &Setup, arguments: &Arguments, progress: &Simulations) -> Result<(Found, Vec<Departure>)> {
    let seed = arguments.seed.unwrap_or(setup.scenario().seed);
    let mut one = progress.one();
    let run = Run { seed, gbps: None };
    let found = if arguments.find_max {
        let found = forebay_sim::find_max(setup, Search { seed }, &mut one);
        let found = found.expect("every scenario says how to search");
        (Found::Search(Box::new(found)), Vec::new())
    } else {
        let (results, departures) = match (arguments.is_recorded(), &arguments.departures) {
            (true, _) => record(setup, run, arguments, &mut one)?,
            (false, Some(_)) => setup.run_with_departures(run, &mut one),
            (false, None) => (setup.run(run, &mut one), Vec::new()),
        };
        (Found::Run(Box::new(results)), departures)
    };
    progress.finish_one();
    Ok(found)
}

/// Simulates, and writes what happened to single packets; the frames that left, too.
fn record(
    setup: &Setup,
    run: Run,
    arguments: &Arguments,
    progress: &mut dyn Progress,
) -> Result<(Results, Vec<Departure>)> {
    let (results, recording, departures) = setup.run_recorded(run, arguments.departures.is_some(), progress);
    if let Some(path) = &arguments.pcapng {
        files::write(path, recording.pcapng()?)?;
    }
    if let Some(path) = &arguments.timeline {
        files::write(path, recording.timeline(&results))?;
    }
    if recording.left_out() > 0 {
        output::note(&format!(
            "{} frames and stays in parts of chips were left out of the recording, which was full; simulate a shorter time",
            recording.left_out()
        ));
    }
    Ok((results, departures))
}

fn print(case: &Case, found: &Found) -> Result<()> {
    let name = case.name();
    match found {
        Found::Run(results) if name.is_empty() => output::print(&forebay_sim::results_text(results)),
        Found::Run(results) => output::print(&format!("== {name}\n{}\n", forebay_sim::results_text(results))),
        Found::Search(search) => {
            let found = forebay_sim::search_text(search);
            let colon = if name.is_empty() { "" } else { ": " };
            output::print(&format!("{name}{colon}{found}\n"))
        }
    }
}

fn as_json(found: &[(String, Found)]) -> Value {
    let one = |(name, found): &(String, Found)| match found {
        Found::Run(results) => json!({ "case": name, "results": results }),
        Found::Search(search) => json!({ "case": name, "search": search }),
    };
    Value::Array(found.iter().map(one).collect())
}

fn write(folder: &Path, json: &Value, found: &[(String, Found)], sample_us: impl Iterator<Item = f64>) -> Result<()> {
    files::make_folder(folder)?;
    files::write(&folder.join("results.json"), format!("{json:#}\n"))?;
    let all: Vec<&str> = found.iter().map(|(name, _)| name.as_str()).collect();
    let mut taken = BTreeSet::new();
    for ((name, found), sample_us) in found.iter().zip(sample_us) {
        let Found::Run(results) = found else { continue };
        let differing = differing(name, &all);
        for (kind, chart) in forebay_sim::plot::of_results(results, sample_us) {
            let name = free_name(&mut taken, chart_name(&differing, kind));
            files::write(&folder.join(format!("{name}.svg")), chart.svg())?;
            files::write(&folder.join(format!("{name}.pdf")), chart.pdf())?;
        }
    }
    Ok(())
}

/// A name of a file: the values of a case may be paths.
fn chart_name(differing: &str, kind: &str) -> String {
    format!("{differing}{kind}").replace([' ', '=', '/'], "_")
}

/// The name, with a number if a file has it already: `a/b.p4` and `a_b.p4` give the same.
fn free_name(taken: &mut BTreeSet<String>, name: String) -> String {
    let mut free = name.clone();
    for number in 2.. {
        if taken.insert(free.clone()) {
            break;
        }
        free = format!("{name}_{number}");
    }
    free
}

/// Of the values that make a case's name, those that are not the same in all cases, with a space after each.
fn differing(name: &str, all: &[&str]) -> String {
    let is_in_all = |value: &str| all.iter().all(|other| other.split(' ').any(|own| own == value));
    let values = name.split(' ').filter(|value| !is_in_all(value));
    values.map(|value| format!("{value} ")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn charts_of_programs_in_folders_are_files_of_one_folder() {
        let cases = ["LOAD=10 PROGRAM=a/b.p4", "LOAD=10 PROGRAM=c.p4"];
        let differing = differing(cases[0], &cases);
        assert_eq!(chart_name(&differing, "rates"), "PROGRAM_a_b.p4_rates");
    }

    #[test]
    fn charts_of_two_cases_are_two_files() {
        let cases = ["P=a/b.p4", "P=a_b.p4", "P=a=b.p4"];
        let mut taken = BTreeSet::new();
        let names = cases.map(|case| free_name(&mut taken, chart_name(&differing(case, &cases), "rates")));
        assert_eq!(names, ["P_a_b.p4_rates", "P_a_b.p4_rates_2", "P_a_b.p4_rates_3"]);
    }
}
