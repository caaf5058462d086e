//! See the crate's first page.

use clap::Parser;
use forebay_differential::{Compared, compare, generate, given};
use std::panic::catch_unwind;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, Instant};

/// Runs random P4 programs in all executors until something differs, or the programs of folders in both engines
#[derive(Parser)]
struct Arguments {
    /// Stop after this number of minutes
    #[arg(long, default_value_t = 1)]
    minutes: u64,
    /// The first program; the next ones follow
    #[arg(long, default_value_t = 0)]
    seed: u64,
    /// Workers that are compared with one
    #[arg(long, default_value_t = 3)]
    workers: usize,
    /// In place of random programs, those of these files and folders; the seed decides on entries and packets
    #[arg(long, value_name = "PATH", num_args = 1..)]
    programs: Vec<PathBuf>,
    /// With --programs: how often each of them is tried, with other entries and packets
    #[arg(long, default_value_t = 3)]
    rounds: u64,
    /// With --programs: where `#include` looks, beside the folder of the program
    #[arg(short = 'I', value_name = "FOLDER")]
    include: Vec<String>,
    /// With --programs: a macro, as NAME or NAME=VALUE
    #[arg(short = 'D', value_name = "NAME=VALUE")]
    define: Vec<String>,
    /// Print the program of the seed and do nothing else
    #[arg(long)]
    print: bool,
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    if arguments.print {
        print!("{}", generate::program(arguments.seed));
        return ExitCode::SUCCESS;
    }
    if !arguments.programs.is_empty() {
        return compare_given(&arguments);
    }
    let until = Instant::now() + Duration::from_secs(60 * arguments.minutes);
    let (mut seen, mut reported) = (Totals::default(), Instant::now());
    for seed in arguments.seed.. {
        // What a panic says has been printed when it is caught; the seed is missing.
        let compared = catch_unwind(|| compare(seed, arguments.workers));
        match compared.unwrap_or_else(|_| Err(format!("the program of seed {seed} made an executor panic"))) {
            Ok(compared) => seen.add(compared),
            Err(difference) => {
                println!("{difference}");
                return ExitCode::FAILURE;
            }
        }
        if Instant::now() >= until {
            break;
        }
        if reported.elapsed() > Duration::from_secs(10) {
            eprintln!("{}", seen.words());
            reported = Instant::now();
        }
    }
    println!("no difference: {}", seen.words());
    ExitCode::SUCCESS
}

/// Compares the programs of people. All that differ are told.
fn compare_given(arguments: &Arguments) -> ExitCode {
    let mut paths = Vec::new();
    for path in &arguments.programs {
        if let Err(error) = collect(path, &mut paths) {
            eprintln!("cannot read {}: {error}", path.display());
            return ExitCode::FAILURE;
        }
    }
    paths.sort();
    let (mut seen, mut without, mut different, mut reported) = (Totals::default(), 0, 0, Instant::now());
    for path in &paths {
        let Some(program) = given::read(path, &arguments.include, &arguments.define) else {
            without += 1;
            continue;
        };
        for seed in arguments.seed..arguments.seed + arguments.rounds {
            let compared = catch_unwind(|| given::compare(&program, seed, arguments.workers));
            match compared.unwrap_or_else(|_| Err("an executor panics".to_string())) {
                Ok(compared) => seen.add(compared),
                Err(difference) => {
                    println!("{}, seed {seed}: {difference}", path.display());
                    different += 1;
                    break;
                }
            }
        }
        if reported.elapsed() > Duration::from_secs(10) {
            eprintln!("{}", seen.words());
            reported = Instant::now();
        }
    }
    let files = paths.len();
    println!(
        "{different} programs differ; {}; {without} of {files} files are no programs, or have errors",
        seen.words()
    );
    match different {
        0 => ExitCode::SUCCESS,
        _ => ExitCode::FAILURE,
    }
}

/// The P4 files of a folder and those in it, or the file itself.
fn collect(path: &Path, paths: &mut Vec<PathBuf>) -> std::io::Result<()> {
    if !path.metadata()?.is_dir() {
        paths.push(path.to_path_buf());
        return Ok(());
    }
    for entry in std::fs::read_dir(path)? {
        let path = entry?.path();
        if path.is_dir() || path.extension().is_some_and(|extension| extension == "p4") {
            collect(&path, paths)?;
        }
    }
    Ok(())
}

/// What was compared so far.
#[derive(Default)]
struct Totals {
    programs: u64,
    specialised: u64,
    spread: u64,
    packets_out: u64,
}

impl Totals {
    fn add(&mut self, compared: Compared) {
        self.programs += 1;
        self.specialised += u64::from(compared.has_fast_path);
        self.spread += u64::from(compared.spread);
        self.packets_out += compared.packets_out;
    }

    fn words(&self) -> String {
        format!(
            "{} programs, {} with specialised code, {} with several workers, {} packets sent",
            self.programs, self.specialised, self.spread, self.packets_out
        )
    }
}
