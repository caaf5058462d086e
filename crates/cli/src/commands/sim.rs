//! `forebay sim`: scenarios on the timed model of switch silicon.

use super::Status;
use crate::library::Folder;
use crate::{files, output, parallel, parquet_table};
use anyhow::{Context, Result, anyhow, bail};
use forebay_sim::{Case, Progress, Results, Run, Search, SearchResults, Setup, Silent};
use indicatif::{ProgressBar, ProgressStyle};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::time::Instant;

/// Arguments of `forebay sim`.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  forebay sim scenario.toml                        simulate, print what happened
  forebay sim scenario.toml --out results          and write results.json and plots
  forebay sim scenario.toml --parquet r.parquet    and write every number into a table
  forebay sim scenario.toml --find-max             the highest load without loss
  forebay sim scenario.toml --set N=2,4,8          every value of a parameter, on all processors")]
pub struct Arguments {
    /// The scenario
    #[arg(value_name = "SCENARIO.toml")]
    scenario: PathBuf,
    /// Values of a parameter, in place of those in the file
    #[arg(long, value_name = "NAME=VALUE[,VALUE...]", value_parser = parameter)]
    set: Vec<(String, String)>,
    /// Search the highest load without loss, as [search] in the scenario says
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
    /// Print the results as JSON
    #[arg(long)]
    json: bool,
}

fn parameter(text: &str) -> Result<(String, String)> {
    let (name, values) = text.split_once('=').context("write NAME=VALUE")?;
    Ok((name.to_string(), values.to_string()))
}

/// What a case has given.
enum Found {
    Run(Results),
    Search(SearchResults),
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
        .map(|case| prepare(path, case, &library))
        .collect::<Result<Vec<_>>>()?;
    if arguments.find_max && setups.iter().any(|(_, setup)| setup.scenario().search_is_missing()) {
        bail!("{}: --find-max needs a table [search] in the scenario", path.display());
    }
    let mut found = Vec::new();
    let one = setups.len() == 1;
    let work = |(_, setup): &(&Case, Setup)| simulate(setup, arguments, one);
    parallel::in_order(&setups, work, |(case, _), result| {
        if !arguments.json {
            print(case, &result)?;
        }
        found.push((case.name(), result));
        Ok(())
    })?;
    let json = as_json(&found);
    if arguments.json {
        output::print_json(&json)?;
    }
    if let Some(path) = &arguments.parquet {
        files::write(path, parquet_table::file(&json)?)?;
    }
    if let Some(folder) = &arguments.out {
        let sample_us = setups.iter().map(|(_, setup)| setup.scenario().sample_us());
        write(folder, &json, &found, sample_us)?;
    }
    Ok(Status::Good)
}

fn prepare<'a>(path: &Path, case: &'a Case, library: &Folder) -> Result<(&'a Case, Setup)> {
    let setup = Setup::new(&case.text, library).map_err(|problems| {
        let lines = problems.iter().map(|problem| format!("{}:{problem}", path.display()));
        let lines: Vec<String> = lines.collect();
        anyhow!("{}", lines.join("\n"))
    })?;
    Ok((case, setup))
}

fn simulate(setup: &Setup, arguments: &Arguments, one: bool) -> Found {
    let seed = arguments.seed.unwrap_or(setup.scenario().seed);
    let mut bar = Bar::new();
    let progress: &mut dyn Progress = if one { &mut bar } else { &mut Silent };
    if arguments.find_max {
        let found = forebay_sim::find_max(setup, Search { seed }, progress);
        return Found::Search(found.expect("every scenario says how to search"));
    }
    Found::Run(setup.run(Run { seed, gbps: None }, progress))
}

fn print(case: &Case, found: &Found) -> Result<()> {
    let name = case.name();
    match found {
        Found::Run(results) if name.is_empty() => output::print(&forebay_sim::results_text(results)),
        Found::Run(results) => output::print(&format!("== {name}\n{}\n", forebay_sim::results_text(results))),
        Found::Search(search) => output::print(&format!(
            "{}{}{:.3} Gbps without loss (trials of {} us, within {} Gbps, {} seeds, {} trials)\n",
            name,
            if name.is_empty() { "" } else { ": " },
            search.max_gbps,
            search.trial_us,
            search.tolerance_gbps,
            search.seeds,
            search.trials.len()
        )),
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
    for ((name, found), sample_us) in found.iter().zip(sample_us) {
        let Found::Run(results) = found else { continue };
        let differing = differing(name, &all);
        for (kind, chart) in forebay_sim::plot::of_results(results, sample_us) {
            let name = format!("{differing}{kind}");
            let svg = chart.svg().map_err(|error| anyhow!("cannot draw: {error}"))?;
            files::write(&folder.join(format!("{}.svg", name.replace([' ', '='], "_"))), svg)?;
        }
    }
    Ok(())
}

/// Of the values that make a case's name, those that are not the same in all cases, with a space behind each.
fn differing(name: &str, all: &[&str]) -> String {
    let is_in_all = |value: &str| all.iter().all(|other| other.split(' ').any(|own| own == value));
    let values = name.split(' ').filter(|value| !is_in_all(value));
    values.map(|value| format!("{value} ")).collect()
}

/// Simulated time and events a second, on the terminal.
struct Bar {
    bar: ProgressBar,
    started: Instant,
}

impl Bar {
    fn new() -> Bar {
        let style = ProgressStyle::with_template("{wide_bar} {msg}").expect("a template that can be read");
        Bar {
            bar: ProgressBar::new(1).with_style(style),
            started: Instant::now(),
        }
    }
}

impl Progress for Bar {
    fn at(&mut self, now: u64, end: u64, events: u64) {
        let rate = events as f64 / self.started.elapsed().as_secs_f64().max(1e-9) / 1e6;
        self.bar.set_length(end);
        self.bar.set_position(now);
        self.bar.set_message(format!(
            "{:.0} of {:.0} us, {rate:.1} million events/s",
            now as f64 / 1e6,
            end as f64 / 1e6
        ));
        if now >= end {
            self.bar.finish_and_clear();
        }
    }
}
