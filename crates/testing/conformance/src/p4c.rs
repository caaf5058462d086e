//! `cargo xtask conformance`: p4c's own programs against Forebay.
//!
//! Reads a checkout of github.com/p4lang/p4c that the user has. Each program is a child process with a time limit, so
//! that a crash or a hang is a result like any other. The outcome is compared, program by program, with what
//! `docs/conformance.json` records; a program that was fine and is not any more is named, and fails the run.

mod corpus;
mod job;
mod reasons;
mod record;
mod report;
mod worker;

pub use corpus::{Category, collect};
pub use job::{WorkerArguments, run_worker};
pub use worker::sources;

use anyhow::{Context, Result, bail};
use record::{Commits, Record};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Arguments of `cargo xtask conformance`.
#[derive(clap::Args)]
pub struct Arguments {
    /// A checkout of github.com/p4lang/p4c
    #[arg(long, value_name = "DIR")]
    p4c: PathBuf,
    /// Only these categories
    #[arg(long, value_enum, value_name = "CATEGORY")]
    only: Vec<Category>,
    /// Only programs whose path contains this
    #[arg(long, value_name = "TEXT")]
    matching: Option<String>,
    /// Write docs/conformance.md and docs/conformance.json
    #[arg(long)]
    record: bool,
    /// Print what each program that is not fine says
    #[arg(long)]
    verbose: bool,
    /// What executes the programs of STF tests
    #[arg(long, value_enum, default_value_t = Engine::Interp)]
    engine: Engine,
    /// Seconds after which a program counts as hanging
    #[arg(long, default_value_t = 20)]
    time_limit: u64,
}

/// What executes programs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Engine {
    /// The reference
    Interp,
    /// Machine code
    Jit,
    /// Both; a difference is a failure
    Both,
}

/// Runs every category and reports.
pub fn run(arguments: &Arguments) -> Result<ExitCode> {
    let testdata = arguments.p4c.join("testdata");
    if !testdata.is_dir() {
        bail!(
            "{} is not a checkout of p4c: it has no folder testdata",
            arguments.p4c.display()
        );
    }
    let mut record = Record {
        commits: Commits::of(&repository_root(), &arguments.p4c),
        ..Record::default()
    };
    for category in Category::all() {
        if !arguments.only.is_empty() && !arguments.only.contains(&category) {
            continue;
        }
        let mut jobs = corpus::collect(category, &arguments.p4c)
            .with_context(|| format!("cannot read the programs of {category}"))?;
        if let Some(text) = &arguments.matching {
            jobs.retain(|job| job.name.contains(text.as_str()));
        }
        let outcomes = job::run_all(category, &jobs, arguments)?;
        report::print(category, &outcomes, arguments.verbose);
        record.insert(category, outcomes);
    }
    let whole = arguments.only.is_empty() && arguments.matching.is_none();
    finish(&record, whole, arguments.record)
}

fn finish(record: &Record, whole: bool, write: bool) -> Result<ExitCode> {
    let docs = repository_root().join("docs");
    let before = Record::read(&docs.join("conformance.json"))?;
    let regressions = record.regressions(&before);
    for (category, name) in &regressions {
        println!("regression: {category}: {name} was fine and is not any more");
    }
    if write {
        if !whole {
            bail!("only a run over everything is recorded: leave out --only and --matching");
        }
        record.write(&docs.join("conformance.json"))?;
        std::fs::write(docs.join("conformance.md"), report::markdown(record)).context("docs/conformance.md")?;
        println!("wrote docs/conformance.md and docs/conformance.json");
    }
    Ok(if regressions.is_empty() {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}

/// The folder of the repository.
pub fn repository_root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .ancestors()
        .nth(3)
        .expect("the crate is in a room of the repository")
        .to_path_buf()
}
