//! See the crate's first page.

use clap::Parser;
use forebay_differential::{Compared, compare, generate, given, twins};
use forebay_ir::Program;
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
    /// With --programs: compare each program with what p4c made of it, NAME-frontend.p4, NAME-midend.p4 and NAME.json in
    /// this folder, in place of the engines with one another
    #[arg(long, value_name = "FOLDER", requires = "programs")]
    twins: Option<PathBuf>,
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
    for root in &arguments.programs {
        if let Err(error) = collect(root, root, &mut paths) {
            eprintln!("cannot read {}: {error}", root.display());
            return ExitCode::FAILURE;
        }
    }
    paths.sort();
    let (mut seen, mut without, mut reported) = (Totals::default(), 0, Instant::now());
    for (path, root) in &paths {
        match read(path, arguments) {
            Some(program) => match &arguments.twins {
                Some(folder) => compare_with_twins(&program, twins::of(path, root, folder), arguments, &mut seen),
                None => compare_engines(path, &program, arguments, &mut seen),
            },
            None => without += 1,
        }
        if reported.elapsed() > Duration::from_secs(10) {
            eprintln!("{}", seen.words());
            reported = Instant::now();
        }
    }
    let (different, files) = (seen.different, paths.len());
    println!(
        "{different} differ; {}; {without} of {files} files are no programs, or have errors",
        seen.words()
    );
    match different {
        0 => ExitCode::SUCCESS,
        _ => ExitCode::FAILURE,
    }
}

fn read(path: &Path, arguments: &Arguments) -> Option<Program> {
    given::read(path, &arguments.include, &arguments.define)
}

fn compare_engines(path: &Path, program: &Program, arguments: &Arguments, seen: &mut Totals) {
    for seed in arguments.seed..arguments.seed + arguments.rounds {
        let compared = catch_unwind(|| given::compare(program, seed, arguments.workers));
        match compared.unwrap_or_else(|_| Err("an executor panics".to_string())) {
            Ok(compared) => seen.add(compared),
            Err(difference) => return seen.differs(path, seed, &difference),
        }
    }
}

/// Twins with errors are counted: the text that p4c writes is not always a program that it would read.
fn compare_with_twins(program: &Program, twins: Vec<PathBuf>, arguments: &Arguments, seen: &mut Totals) {
    for twin in twins {
        let Some(of_p4c) = read(&twin, arguments) else {
            seen.twins_with_errors += 1;
            continue;
        };
        for seed in arguments.seed..arguments.seed + arguments.rounds {
            let compared = catch_unwind(|| twins::compare(program, &of_p4c, seed));
            match compared.unwrap_or_else(|_| Err("the interpreter panics".to_string())) {
                Ok(packets_out) => seen.add_twin(packets_out),
                Err(difference) => {
                    seen.differs(&twin, seed, &difference);
                    break;
                }
            }
        }
    }
}

/// The P4 files of a folder and those in it, or the file itself, each with the folder that was named, `root`.
fn collect(path: &Path, root: &Path, paths: &mut Vec<(PathBuf, PathBuf)>) -> std::io::Result<()> {
    if !path.metadata()?.is_dir() {
        let folder = if path == root {
            path.parent().unwrap_or(root)
        } else {
            root
        };
        paths.push((path.to_path_buf(), folder.to_path_buf()));
        return Ok(());
    }
    for entry in std::fs::read_dir(path)? {
        let path = entry?.path();
        if path.is_dir() || path.extension().is_some_and(|extension| extension == "p4") {
            collect(&path, root, paths)?;
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
    different: u64,
    twins: u64,
    twins_with_errors: u64,
}

impl Totals {
    fn add(&mut self, compared: Compared) {
        self.programs += 1;
        self.specialised += u64::from(compared.has_fast_path);
        self.spread += u64::from(compared.spread);
        self.packets_out += compared.packets_out;
    }

    fn add_twin(&mut self, packets_out: u64) {
        self.twins += 1;
        self.packets_out += packets_out;
    }

    fn differs(&mut self, path: &Path, seed: u64, difference: &str) {
        println!("{}, seed {seed}: {difference}", path.display());
        self.different += 1;
    }

    fn words(&self) -> String {
        if self.twins + self.twins_with_errors > 0 {
            let (twins, with_errors) = (self.twins, self.twins_with_errors);
            let sent = self.packets_out;
            return format!("{twins} comparisons with twins, {sent} packets sent, {with_errors} twins have errors");
        }
        format!(
            "{} programs, {} with specialised code, {} with several workers, {} packets sent",
            self.programs, self.specialised, self.spread, self.packets_out
        )
    }
}
