//! `forebay experiment`: published tables and figures beside what the timed model says.

use super::Status;
use crate::library::Folder;
use crate::{files, output, parallel};
use anyhow::{Context, Result, anyhow, bail};
use clap::Subcommand;
use forebay_experiments::{Experiment, Report};
use forebay_sim::{Library, Silent};
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
    /// The folder of the experiments
    #[arg(long, global = true, default_value = "experiments", value_name = "DIR")]
    folder: PathBuf,
}

#[derive(Subcommand)]
enum What {
    /// What there is
    List,
    /// Simulate, and write result.md, result.json and charts into the experiment's folder
    Run {
        /// Names of experiments
        #[arg(required = true)]
        names: Vec<String>,
        /// Shorter trials and fewer cells: print the table, write nothing
        #[arg(long)]
        quick: bool,
    },
}

/// Does what was asked for.
pub fn run(arguments: &Arguments) -> Result<Status> {
    match &arguments.what {
        What::List => list(&arguments.folder),
        What::Run { names, quick } => {
            for name in names {
                run_one(&arguments.folder, name, *quick)?;
            }
            Ok(Status::Good)
        }
    }
}

fn list(folder: &Path) -> Result<Status> {
    for name in names(folder)? {
        let definition = Folder::new(folder.join(&name)).text("experiment.toml");
        let definition = definition.map_err(|error| anyhow!(error))?;
        let title = definition.lines().find_map(|line| line.strip_prefix("title = "));
        output::print(&format!("{name:<24} {}\n", title.unwrap_or_default().trim_matches('"')))?;
    }
    Ok(Status::Good)
}

/// Folders that hold an experiment, in order.
fn names(folder: &Path) -> Result<Vec<String>> {
    let wrong = || {
        format!(
            "cannot list the folder {}; --folder says where the experiments are",
            folder.display()
        )
    };
    let mut names = Vec::new();
    for entry in std::fs::read_dir(folder).with_context(wrong)? {
        let entry = entry.with_context(wrong)?;
        if entry.path().join("experiment.toml").is_file() {
            names.push(entry.file_name().to_string_lossy().into_owned());
        }
    }
    names.sort();
    Ok(names)
}

fn run_one(folder: &Path, name: &str, quick: bool) -> Result<()> {
    let known = names(folder)?;
    if !known.iter().any(|known| known == name) {
        bail!(
            "there is no experiment {name} in {}; there are: {}",
            folder.display(),
            known.join(", ")
        );
    }
    let started = Instant::now();
    let folder = folder.join(name);
    let library = Folder::new(&folder);
    let wrong = |message: String| anyhow!("{}: {message}", folder.display());
    let experiment = Experiment::new(&library, quick).map_err(wrong)?;
    let runs: Vec<usize> = (0..experiment.runs()).collect();
    let mut outcomes = Vec::new();
    let work = |run: &usize| experiment.simulate(*run, &mut Silent);
    parallel::in_order(&runs, work, |_, outcome| {
        outcomes.push(outcome);
        Ok(())
    })?;
    let report = experiment.report(&outcomes);
    let command = format!("forebay experiment run {name}");
    output::print(&report.markdown(&command))?;
    output::print(&format!(
        "({} simulations, {:.1} s)\n\n",
        runs.len(),
        started.elapsed().as_secs_f64()
    ))?;
    if !quick {
        write(&folder, &report, &command)?;
    }
    Ok(())
}

fn write(folder: &Path, report: &Report, command: &str) -> Result<()> {
    let mut text = report.markdown(command);
    for (metric, chart) in report.charts() {
        let svg = chart.svg().map_err(|error| anyhow!("cannot draw: {error}"))?;
        files::write(&folder.join(format!("{metric}.svg")), svg)?;
        text.push_str(&format!("\n![{metric}]({metric}.svg)\n"));
    }
    files::write(&folder.join("result.md"), text)?;
    let json = serde_json::to_string_pretty(&report.json())?;
    files::write(&folder.join("result.json"), format!("{json}\n"))
}
