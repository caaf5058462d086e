//! `cargo xtask metamorphic`: programs rewritten without a change of meaning do the same.
//!
//! The programs are those of `tests/stf` and, with `--p4c DIR`, those of p4c's samples that have an STF test. What
//! differs is printed with the rewritten program.

use crate::p4c::{Category, collect, repository_root, sources};
use anyhow::{Context, Result};
use forebay_differential::rewrite::{Setup, check};
use forebay_driver::FileSources;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, Instant};

/// Arguments of `cargo xtask metamorphic`.
#[derive(clap::Args)]
pub struct Arguments {
    /// A checkout of github.com/p4lang/p4c, whose programs are rewritten too
    #[arg(long, value_name = "DIR")]
    p4c: Option<PathBuf>,
    /// The first seed
    #[arg(long, default_value_t = 0)]
    seed: u64,
    /// How many forms are made of each program
    #[arg(long, default_value_t = 10)]
    forms: u64,
    /// Stop after this number of minutes
    #[arg(long)]
    minutes: Option<u64>,
    /// Only programs whose path contains this
    #[arg(long, value_name = "TEXT")]
    matching: Option<String>,
}

/// A program with its test.
struct Job {
    program: PathBuf,
    test: PathBuf,
    defines: Vec<String>,
}

/// Rewrites and compares.
pub fn run(arguments: &Arguments) -> Result<ExitCode> {
    let mut jobs = Vec::new();
    for folder in ["tests/stf", "programs"] {
        add_tests(&repository_root().join(folder), &mut jobs)?;
    }
    let (provider, include_paths) = match &arguments.p4c {
        Some(p4c) => {
            let samples = collect(Category::Stf, p4c).context("p4c's programs")?;
            jobs.extend(samples.into_iter().filter_map(|sample| {
                Some(Job {
                    test: sample.companion?,
                    program: sample.program,
                    defines: Vec::new(),
                })
            }));
            sources(p4c)
        }
        None => (FileSources::new(), Vec::new()),
    };
    if let Some(text) = &arguments.matching {
        jobs.retain(|job| job.program.to_string_lossy().contains(text.as_str()));
    }
    let deadline = arguments
        .minutes
        .map(|minutes| Instant::now() + Duration::from_secs(60 * minutes));
    let (mut compared, mut different) = (0, 0);
    for seed in (arguments.seed..).take(usize::try_from(arguments.forms)?) {
        for job in &jobs {
            if deadline.is_some_and(|deadline| Instant::now() > deadline) {
                return Ok(finish(jobs.len(), compared, different));
            }
            let text = std::fs::read_to_string(&job.test).with_context(|| job.test.display().to_string())?;
            let Ok(test) = forebay_entries::parse(&text) else {
                continue;
            };
            let setup = Setup {
                provider: &provider,
                include_paths: &include_paths,
                defines: &job.defines,
            };
            match check(&job.program.to_string_lossy(), &test, &setup, seed) {
                Ok(is_compared) => compared += usize::from(is_compared),
                Err(difference) => {
                    different += 1;
                    println!("{difference}\n");
                }
            }
        }
    }
    Ok(finish(jobs.len(), compared, different))
}

fn finish(programs: usize, compared: usize, different: usize) -> ExitCode {
    println!("{programs} programs, {compared} forms compared, {different} differ");
    match different {
        0 => ExitCode::SUCCESS,
        _ => ExitCode::FAILURE,
    }
}

/// Adds the tests of a folder that have a program of the same name.
fn add_tests(folder: &Path, jobs: &mut Vec<Job>) -> Result<()> {
    let mut paths = Vec::new();
    for entry in std::fs::read_dir(folder).with_context(|| folder.display().to_string())? {
        paths.push(entry?.path());
    }
    paths.sort();
    for path in paths {
        let program = path.with_extension("p4");
        if path.is_dir() {
            add_tests(&path, jobs)?;
        } else if path.extension().is_some_and(|extension| extension == "stf") && program.exists() {
            let text = std::fs::read_to_string(&path).with_context(|| path.display().to_string())?;
            let words: Vec<&str> = forebay_entries::options(&text)
                .flat_map(|(_, line)| line.split_whitespace())
                .collect();
            let pairs = words.chunks_exact(2);
            let defines = pairs.filter(|pair| pair[0] == "-D").map(|pair| pair[1].to_string());
            jobs.push(Job {
                program,
                defines: defines.collect(),
                test: path,
            });
        }
    }
    Ok(())
}
