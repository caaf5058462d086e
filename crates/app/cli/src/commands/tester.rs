//! `forebay tester`: traffic for a program, a switch or a chip, and what becomes of every frame.

use super::Status;
use super::run::stop_on_signals;
use super::sim::IGNORED_FIT;
use crate::evaluation::{self, Other};
use crate::tester_progress::TestProgress;
use crate::{files, output, parquet_table};
use anyhow::{Context, Result, anyhow, bail};
use clap::Subcommand;
use forebay_evaluations::Found;
use forebay_evaluations::evaluation::FORMAT as EVALUATION;
use forebay_evaluations::machine::Machine;
use forebay_evaluations::updates::Foreign;
use forebay_files::Folder;
use forebay_ports::PortSpec;
use forebay_sim::{Problem, Recording};
use forebay_tester::results::FORMAT;
use forebay_tester::{Overrides, Progress, Results, Session, Test, report};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

/// Arguments of `forebay tester`.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  forebay tester run test.toml                                     the device that the file names
  forebay tester run test.toml --interface 1@veth0 --interface 2@veth2   any switch between interfaces
  forebay tester run test.toml --wire                              the tester itself
  forebay tester search test.toml                                  the highest load without loss, and with little
  forebay tester evaluate experiments/update-responsiveness --quick    how soon a new rule acts
Exit codes: 1 when a frame is lost, duplicated or wrong, a stream can send none, or a search finds nothing; 2 also when a test was stopped before \
its end. Every key of a test file: docs/tester.md")]
pub struct Arguments {
    #[command(subcommand)]
    command: Command,
}

/// What to do.
#[derive(Subcommand)]
enum Command {
    /// Send the traffic of a test file, and measure every frame that comes back
    Run(TestArguments),
    /// Search the highest load for the goals of the file (MLRsearch)
    Search(TestArguments),
    /// Throughput, latency, loss and back-to-back frames after RFC 2544 and RFC 9004, for each frame size
    Rfc2544(TestArguments),
    /// Address caching capacity, address learning rate and broadcast frames after RFC 2889, for the bridge of the table
    /// rfc2889
    Rfc2889(TestArguments),
    /// Compare two results, with confidence intervals
    Compare(CompareArguments),
    /// Flow scalability, operable table size or rule-update responsiveness, of Forebay or of any switch between two
    /// interfaces
    Evaluate(EvaluateArguments),
    /// Serve a subset of the Open Traffic Generator API, for scripts that use snappi
    Serve(super::tester_serve::Arguments),
}

/// Arguments of `forebay tester evaluate`.
#[derive(clap::Args)]
struct EvaluateArguments {
    /// The folder with an evaluation.toml
    #[arg(value_name = "DIR")]
    folder: PathBuf,
    /// Measure within a minute, with the settings that the file has for that
    #[arg(long)]
    quick: bool,
    /// Measure the switch between these two interfaces, in place of Forebay in memory: packets enter by the first
    #[arg(long, value_name = "PORT@INTERFACE", num_args = 1, requires = "name")]
    interface: Vec<String>,
    /// What that switch is called
    #[arg(long, value_name = "NAME", requires = "interface")]
    name: Option<String>,
    /// The rules that it has: it must have been given those of `--print-rules`
    #[arg(long, value_name = "N", default_value_t = 1)]
    rules: u32,
    /// A command that gives its rule the version that it reads, a line each, and answers with `done`
    #[arg(long, value_name = "COMMAND", default_value = "", requires = "interface")]
    control: String,
    /// Print the first N rules of a kind of table as JSON, a line each, and measure nothing
    #[arg(long, value_name = "KIND")]
    print_rules: Option<String>,
    /// Print the results as JSON
    #[arg(long)]
    json: bool,
    /// Write result.md, result.json and charts into this folder
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
}

/// A test file, what is said in its place, and where results go.
#[derive(clap::Args)]
struct TestArguments {
    /// The test file
    #[arg(value_name = "TEST.toml")]
    file: PathBuf,
    /// Test what is between these interfaces, in place of the device of the file; as for `forebay run`
    #[arg(long, value_name = "PORT@INTERFACE")]
    interface: Vec<String>,
    /// Ask the switch between the interfaces why it drops frames: where `forebay run --metrics` serves
    #[arg(long, value_name = "HOST:PORT", conflicts_with_all = ["wire", "chip"])]
    metrics: Option<String>,
    /// Test a wire in memory: what the tester itself can do
    #[arg(long, conflicts_with_all = ["interface", "chip"])]
    wire: bool,
    /// Run the program of the file on this chip of the timed model, in simulated time
    #[arg(long, value_name = "CHIP", conflicts_with = "interface")]
    chip: Option<String>,
    /// Time a program that does not fit the chip, too
    #[arg(long)]
    ignore_fit: bool,
    /// Print the results as JSON
    #[arg(long)]
    json: bool,
    /// Write the results as JSON to this file
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Write a page with text and pictures to this file
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
    /// Write every picture as SVG and PDF into this folder
    #[arg(long, value_name = "DIR")]
    plots: Option<PathBuf>,
    /// Write trials, rates and searches over time to this file, for Perfetto (JSON)
    #[arg(long, value_name = "FILE.json")]
    timeline: Option<PathBuf>,
    /// Write every number to a Parquet file: case, measure, sample, value
    #[arg(long, value_name = "FILE")]
    parquet: Option<PathBuf>,
}

/// Arguments of `forebay tester compare`.
#[derive(clap::Args)]
struct CompareArguments {
    /// Results that --out has written, or the result.json of an evaluation
    #[arg(value_name = "BEFORE.json")]
    before: PathBuf,
    /// Others
    #[arg(value_name = "AFTER.json")]
    after: PathBuf,
    /// Print the differences as JSON
    #[arg(long)]
    json: bool,
}

/// Tests.
pub fn run(arguments: &Arguments) -> Result<Status> {
    match &arguments.command {
        Command::Run(arguments) => test(arguments, fits, |session, progress| session.run(progress), is_perfect),
        Command::Search(arguments) => test(
            arguments,
            can_search,
            |session, progress| session.search(progress),
            has_found,
        ),
        Command::Rfc2544(arguments) => test(
            arguments,
            announce,
            |session, progress| session.rfc2544(progress),
            has_throughput,
        ),
        Command::Rfc2889(arguments) => test(
            arguments,
            |_| Ok(()),
            |session, progress| session.rfc2889(progress),
            learns,
        ),
        Command::Compare(arguments) => compare(arguments),
        Command::Evaluate(arguments) => evaluate(arguments),
        Command::Serve(arguments) => super::tester_serve::run(arguments),
    }
}

fn evaluate(arguments: &EvaluateArguments) -> Result<Status> {
    if let Some(kind) = &arguments.print_rules {
        let lines = forebay_evaluations::rules::lines(kind, arguments.rules).map_err(|message| anyhow!(message))?;
        output::print(&lines)?;
        return Ok(Status::Good);
    }
    let read = evaluation::read(&arguments.folder)?;
    if let Some(folder) = &arguments.out {
        files::make_folder(folder)?;
        evaluation::check_writable(folder)?;
    }
    let other = other(arguments)?;
    let found = evaluation::measure(&arguments.folder, &read, arguments.quick, other.as_ref())?;
    let quick = if arguments.quick { " --quick" } else { "" };
    let command = format!("forebay tester evaluate {}{quick}", arguments.folder.display());
    evaluation::report(&found, &read, &command, arguments.json, arguments.out.as_deref())?;
    Ok(Status::Good)
}

/// The switch between interfaces, when there are any.
fn other(arguments: &EvaluateArguments) -> Result<Option<Other>> {
    let Some(name) = &arguments.name else { return Ok(None) };
    let interfaces = PortSpec::parse_all(arguments.interface.iter().map(String::as_str));
    let interfaces = interfaces.map_err(|error| anyhow!("--interface: {error}"))?;
    let numbers: Vec<u32> = interfaces.iter().map(|interface| interface.number).collect();
    if numbers != forebay_evaluations::router::PORTS {
        bail!(
            "--interface names ports {numbers:?}; write 1@INTERFACE where packets enter, then 2@INTERFACE where they come out"
        );
    }
    Ok(Some(Other {
        name: name.clone(),
        foreign: Foreign {
            interfaces,
            command: arguments.control.clone(),
        },
        rules: arguments.rules,
    }))
}

fn is_perfect(results: &Results) -> bool {
    results.trials.iter().all(|trial| trial.is_perfect())
}

fn has_found(results: &Results) -> bool {
    results
        .searches
        .iter()
        .all(|search| search.lower_bound_pps.is_some() && search.is_complete)
}

fn has_throughput(results: &Results) -> bool {
    results.rfc2544.iter().all(|size| size.throughput_pps.is_some())
}

fn learns(results: &Results) -> bool {
    let found = results.rfc2889.as_ref();
    found.is_some_and(|found| found.caching_capacity > 0 && found.broadcast_pps.is_some())
}

/// Whether the device takes the rates and the lengths of the frames.
fn fits(test: &Test) -> Result<(), Problem> {
    test.rates_fit()?;
    test.lengths_fit(&test.streams)
}

/// Whether the device takes the lengths of the frames, and rates can be searched.
fn can_search(test: &Test) -> Result<(), Problem> {
    test.rates_scale()?;
    test.lengths_fit(&test.streams)
}

/// The time that is worth a word before.
const LONG_S: f64 = 120.0;

/// Says how long the tests of RFC 2544 take: with the durations of the RFC these are hours without a result. What keeps
/// them from being made is told first.
fn announce(test: &Test) -> Result<(), Problem> {
    test.rates_scale()?;
    test.rfc2544_lengths_fit()?;
    let seconds = test.rfc2544_seconds_min();
    if seconds >= LONG_S {
        output::info(&format!(
            "the tests of {} frame sizes take at least {:.0} minutes, mostly two to four times as long; `duration_scale` of \
             [search] makes them shorter, ctrl-C ends them with what is known",
            test.rfc2544_sizes().len(),
            seconds / 60.0
        ));
    }
    Ok(())
}

/// What a session does.
type Measure = for<'s, 'a> fn(&'s mut Session<'a>, &mut dyn Progress) -> Result<Results, String>;

fn test(
    arguments: &TestArguments,
    check: fn(&Test) -> Result<(), Problem>,
    measure: Measure,
    is_good: fn(&Results) -> bool,
) -> Result<Status> {
    let path = &arguments.file;
    let test = read(arguments)?;
    check(&test).map_err(|problem| anyhow!("{}:{problem}", path.display()))?;
    check_outputs(arguments)?;
    let in_file = |error: String| anyhow!("{}: {error}", path.display());
    let mut session = Session::open(&test).map_err(in_file)?;
    if arguments.timeline.is_some() {
        session.record();
    }
    let stop = stop_on_signals()?;
    let mut progress = TestProgress::new(&stop);
    let results = measure(&mut session, &mut progress);
    progress.finish();
    let mut results = results.map_err(in_file)?;
    if let Some(machine) = &mut results.machine {
        machine.forebay = crate::version::LONG.to_string();
    }
    print_and_write(&results, session.take_recording().as_ref(), arguments)?;
    Ok(status(&results, is_good))
}

/// A frame that was lost counts though the trial was stopped later. A search that was stopped did not find that there is
/// nothing.
fn status(results: &Results, is_good: fn(&Results) -> bool) -> Status {
    if results.ended_by.is_some() {
        Status::Unable
    } else if !is_good(results) {
        Status::Bad
    } else if results.trials.iter().any(|trial| trial.was_stopped) {
        Status::Unable
    } else {
        Status::Good
    }
}

/// Results that cannot be written, or would replace the test file or one another, are noticed before anything is sent,
/// which may take hours.
fn check_outputs(arguments: &TestArguments) -> Result<()> {
    let outputs = [&arguments.out, &arguments.html, &arguments.timeline, &arguments.parquet];
    let outputs: Vec<&PathBuf> = outputs.into_iter().flatten().collect();
    let file = place(&arguments.file);
    for (at, path) in outputs.iter().enumerate() {
        if file.is_some() && place(path) == file {
            bail!("{} is the test file; name another for results", path.display());
        }
        if outputs[..at]
            .iter()
            .any(|other| place(path).is_some() && place(other) == place(path))
        {
            bail!("{} is named for two outputs; name a file for each", path.display());
        }
        files::check_writable(path)?;
    }
    if let Some(folder) = &arguments.plots {
        files::make_folder(folder)?;
        files::check_writable(&folder.join(".writable"))?;
    }
    Ok(())
}

/// Where a file is or will be; none of what is no regular file, such as /dev/null.
fn place(path: &Path) -> Option<PathBuf> {
    match path.canonicalize() {
        Ok(found) => found.is_file().then_some(found),
        Err(_) => std::path::absolute(path).ok(),
    }
}

/// Prints first: a disk that is full meanwhile takes no result away, and neither does a reader that has gone.
fn print_and_write(results: &Results, inside: Option<&Recording>, arguments: &TestArguments) -> Result<()> {
    let json = serde_json::to_value(results)?;
    let printed = if arguments.json {
        output::print_json(&json)
    } else {
        output::print(&report::text(results))
    };
    if let Some(path) = &arguments.out {
        files::write(path, format!("{json:#}\n"))?;
    }
    if let Some(path) = &arguments.html {
        files::write(path, report::html(results))?;
    }
    if let Some(path) = &arguments.timeline {
        files::write(path, report::timeline(results, inside))?;
    }
    if let Some(path) = &arguments.parquet {
        let cases = json!([{ "case": results.description, "results": json }]);
        files::write(path, parquet_table::file(&cases)?)?;
    }
    if let Some(folder) = &arguments.plots {
        for (name, chart) in report::charts(results) {
            let name = name.replace(' ', "_");
            files::write(&folder.join(format!("{name}.svg")), chart.svg())?;
            files::write(&folder.join(format!("{name}.pdf")), chart.pdf())?;
        }
    }
    printed
}

fn read(arguments: &TestArguments) -> Result<Test> {
    let path = &arguments.file;
    let text = files::text(path, "test file")?;
    let library = Folder::new(path.parent().unwrap_or(Path::new("")));
    let overrides = Overrides {
        interfaces: arguments.interface.clone(),
        metrics: arguments.metrics.clone(),
        wire: arguments.wire,
        chip: arguments.chip.clone(),
        ignore_fit: arguments.ignore_fit.then(|| IGNORED_FIT.to_string()),
    };
    Test::read(&text, &library, &overrides).map_err(|problems| {
        let lines = problems.iter().map(|problem| format!("{}:{problem}", path.display()));
        anyhow!("{}", lines.collect::<Vec<_>>().join("\n"))
    })
}

fn compare(arguments: &CompareArguments) -> Result<Status> {
    let (before, after) = (record(&arguments.before)?, record(&arguments.after)?);
    let (differences, wanted) = match (&before, &after) {
        (Record::Test(before), Record::Test(after)) => (
            report::compare::differences(before, after),
            "no stream that was measured in a trial, no goal of a search, no frame size",
        ),
        (Record::Evaluation(before), Record::Evaluation(after)) => (
            forebay_evaluations::compare::differences(before, after),
            "no case, table, combination or ring that both have measured",
        ),
        (Record::Test(_), Record::Evaluation(_)) | (Record::Evaluation(_), Record::Test(_)) => bail!(
            "{} is of {}, {} of {}: results of the same test or evaluation can be compared",
            arguments.before.display(),
            before.what(),
            arguments.after.display(),
            after.what()
        ),
    };
    if differences.is_empty() {
        bail!("the results have nothing in common: {wanted}");
    }
    if let (Some(old), Some(new)) = (before.machine(), after.machine())
        && !old.is_like(new)
    {
        output::warning(&format!(
            "the results are of different machines: {}; {}",
            old.words(),
            new.words()
        ));
    }
    if arguments.json {
        output::print_json(&json!({ "differences": differences }))?
    } else {
        output::print(&report::difference::table(&differences))?
    }
    Ok(Status::Good)
}

/// What `--out` of a test, or an evaluation, has written.
enum Record {
    Test(Box<Results>),
    Evaluation(Box<Found>),
}

impl Record {
    fn what(&self) -> &'static str {
        match self {
            Record::Test(_) => "a test",
            Record::Evaluation(_) => "an evaluation",
        }
    }

    fn machine(&self) -> Option<&Machine> {
        match self {
            Record::Test(results) => results.machine.as_ref(),
            Record::Evaluation(found) => Some(&found.machine),
        }
    }
}

fn record(path: &Path) -> Result<Record> {
    let text = files::text(path, "result of the tester")?;
    let is_none = || {
        format!(
            "{} is no result that `forebay tester --out` or an evaluation has written",
            path.display()
        )
    };
    let json: Value = serde_json::from_str(&text).with_context(is_none)?;
    // Another format may lack what this one has, which would say less.
    match json.get("format").and_then(Value::as_str) {
        Some(EVALUATION) => Ok(Record::Evaluation(serde_json::from_value(json).with_context(is_none)?)),
        Some(format) if format != FORMAT => bail!(
            "{} has the format {format:?}; {FORMAT:?} or {EVALUATION:?} is expected",
            path.display()
        ),
        _ => Ok(Record::Test(serde_json::from_value(json).with_context(is_none)?)),
    }
}
