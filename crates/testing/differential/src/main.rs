//! See the crate's first page.

use clap::Parser;
use forebay_differential::{Compared, compare, generate};
use std::panic::catch_unwind;
use std::process::ExitCode;
use std::time::{Duration, Instant};

/// Runs random P4 programs in all executors until something differs
#[derive(Parser)]
struct Arguments {
    /// For so many minutes
    #[arg(long, default_value_t = 1)]
    minutes: u64,
    /// The first program; the next ones follow
    #[arg(long, default_value_t = 0)]
    seed: u64,
    /// Workers that are compared with one
    #[arg(long, default_value_t = 3)]
    workers: usize,
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
    let until = Instant::now() + Duration::from_secs(60 * arguments.minutes);
    let (mut seen, mut said) = (Totals::default(), Instant::now());
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
        if said.elapsed() > Duration::from_secs(10) {
            eprintln!("{}", seen.words());
            said = Instant::now();
        }
    }
    println!("no difference: {}", seen.words());
    ExitCode::SUCCESS
}

/// What was compared so far.
#[derive(Default)]
struct Totals {
    programs: u64,
    short: u64,
    spread: u64,
    packets_out: u64,
}

impl Totals {
    fn add(&mut self, compared: Compared) {
        self.programs += 1;
        self.short += u64::from(compared.has_fast_path);
        self.spread += u64::from(compared.spread);
        self.packets_out += compared.packets_out;
    }

    fn words(&self) -> String {
        format!(
            "{} programs, {} with specialised code, {} with several workers, {} packets sent",
            self.programs, self.short, self.spread, self.packets_out
        )
    }
}
