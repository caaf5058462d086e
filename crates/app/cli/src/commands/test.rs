//! `forebay test`: STF tests against programs, in memory and virtual time.

use super::Status;
use crate::files;
use crate::junit::Junit;
use crate::passes::PassArguments;
use crate::program::{self, Compilation, CompileOptions, Engine};
use crate::stf_file;
use crate::test_report::{Detail, Ran};
use crate::test_suite::{self, Suite};
use crate::{output, parallel};
use anyhow::{Context, Result, bail};
use forebay_chip::ChipSpec;
use forebay_entries::{Test, UnnamedPorts};
use forebay_ir::Program;
use forebay_pipeline::{FastPath, NoTrace, PassSet};
use forebay_stf::Outcome;
use forebay_trace::{Both, PacketCapture, TracePrinter};
use serde_json::{Value, json};
use std::collections::{HashMap, HashSet};
use std::ffi::{OsStr, OsString};
use std::path::{Component, Path, PathBuf};

/// Arguments of `forebay test`.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  forebay test l3fwd.p4                  the tests beside the program: l3fwd*.stf
  forebay test l3fwd.p4 one.stf two.stf  these tests
  forebay test --all programs --quiet    every program below the folder; only failures are shown

A test file may say how its program is to be compiled, in a comment line: # forebay: -D N=2 -I include")]
pub struct Arguments {
    /// The program: P4_16 source, what p4c made of it for BMv2 (.json), or what `forebay build` did (ir.txt)
    #[arg(value_name = "PROG.p4", required_unless_present = "all")]
    program: Option<PathBuf>,
    /// Test files; without, those beside the program whose names begin like its
    #[arg(value_name = "TEST.stf")]
    tests: Vec<PathBuf>,
    /// Run every program below these folders that has tests beside it
    #[arg(long, value_name = "DIR", num_args = 1.., conflicts_with = "program")]
    all: Vec<PathBuf>,
    #[command(flatten)]
    options: CompileOptions,
    /// What executes the program
    #[arg(long, value_enum, default_value_t = Engines::Interp)]
    engine: Engines,
    /// In what: the software switch, or a chip of the timed model beside it; the test fails when they do not do the
    /// same
    #[arg(long, value_enum, default_value_t = Device::Switch, conflicts_with = "trace")]
    switch: Device,
    #[command(flatten)]
    passes: PassArguments,
    /// Print the results as JSON
    #[arg(long, conflicts_with = "trace")]
    json: bool,
    /// Write the results to this file too, as JUnit's XML
    #[arg(long, value_name = "FILE")]
    junit: Option<PathBuf>,
    /// Print what happens to each packet
    #[arg(long)]
    trace: bool,
    /// Write the packets of each test, and what became of each, to DIR/TEST.pcapng. Where several tests have one name, the
    /// names of their folders are put before it; where these are equal as well, a number is put after it
    #[arg(long, value_name = "DIR", conflicts_with = "switch")]
    pcapng: Option<PathBuf>,
    /// Print what commands say and what was dropped, also for tests that pass
    #[arg(short, long)]
    verbose: bool,
    /// Only note packets that leave by ports which the test does not name; without, such a test fails
    #[arg(long)]
    lenient: bool,
    /// Print only the tests that do not pass, and the summary
    #[arg(short, long, conflicts_with = "verbose")]
    quiet: bool,
}

/// What executes a test.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Engines {
    /// The reference executor
    Interp,
    /// Machine code
    Jit,
    /// Both; the test fails when they do not do the same
    Both,
}

/// What a test runs in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Device {
    /// The software switch
    Switch,
    /// The switch, and a chip that takes no time inside
    Chip,
}

/// Runs the tests.
pub fn run(arguments: &Arguments) -> Result<Status> {
    if arguments.engine == Engines::Interp && arguments.passes.without() != PassSet::NONE {
        bail!("the interpreter has no passes: --without-pass goes with --engine jit or --engine both");
    }
    let suites = suites(arguments)?;
    if let Some(path) = &arguments.junit {
        files::check_writable(path)?;
    }
    let names = packets_names(&suites);
    let mut results = Results::new(arguments);
    parallel::in_order(
        &suites,
        |suite| run_suite(suite, arguments, &names),
        |suite, run| results.add(suite, run),
    )?;
    results.finish()
}

/// The requested tests.
fn suites(arguments: &Arguments) -> Result<Vec<Suite>> {
    let mut programs = Vec::new();
    if let Some(program) = &arguments.program {
        let tests = match &arguments.tests[..] {
            [] if program.is_dir() => bail!(
                "{0} is a folder; for all tests below it: forebay test --all {0}",
                program.display()
            ),
            [] => {
                files::check_program(program)?;
                test_suite::tests_beside(program)?
            }
            named => named.to_vec(),
        };
        programs.push((program.clone(), tests));
    }
    for folder in &arguments.all {
        let found = test_suite::tests_below(folder)?;
        if found.is_empty() {
            bail!("no program below {} has tests beside it", folder.display());
        }
        programs.extend(found);
    }
    let grouped = programs
        .into_iter()
        .map(|(program, tests)| test_suite::suites(&program, tests, &arguments.options));
    Ok(grouped.flatten().collect())
}

/// The names of the tests' files of packets. Where those of folders do not tell them apart, a number does.
fn packets_names(suites: &[Suite]) -> HashMap<&Path, String> {
    let repeated = repeated(suites);
    let mut seen: HashMap<String, usize> = HashMap::new();
    let mut names = HashMap::new();
    for test in suites.iter().flat_map(|suite| &suite.tests) {
        if names.contains_key(test.as_path()) {
            continue;
        }
        let name = packets_name(test, &repeated);
        let count = seen.entry(name.clone()).or_insert(0);
        *count += 1;
        let numbered = if *count > 1 { format!("{name}-{count}") } else { name };
        names.insert(test.as_path(), numbered);
    }
    names
}

/// Names that several tests have.
fn repeated(suites: &[Suite]) -> HashSet<OsString> {
    let mut seen = HashSet::new();
    let tests = suites.iter().flat_map(|suite| &suite.tests);
    let names = tests.filter_map(|test| test.file_stem());
    names.filter(|name| !seen.insert(*name)).map(OsStr::to_owned).collect()
}

/// The name of a test's file of packets.
fn packets_name(test: &Path, repeated: &HashSet<OsString>) -> String {
    let name = test.file_stem().unwrap_or_default();
    if !repeated.contains(name) {
        return name.to_string_lossy().into_owned();
    }
    let path = test.with_extension("");
    let parts = path.components().filter_map(|part| match part {
        Component::Normal(name) => Some(name.to_string_lossy().into_owned()),
        _ => None,
    });
    parts.collect::<Vec<_>>().join("_")
}

/// What running a suite gave.
struct SuiteRun {
    /// What the compiler says of the program.
    messages: String,
    ran: Vec<Ran>,
}

fn run_suite(suite: &Suite, arguments: &Arguments, names: &HashMap<&Path, String>) -> SuiteRun {
    let mut messages = String::new();
    let program = compile(suite, arguments, &mut messages).map_err(|error| format!("{error:#}"));
    let ran = suite.tests.iter().map(|path| match &program {
        Err(error) => Ran::unable(path.clone(), error.clone()),
        Ok(program) => {
            let mut trace = String::new();
            let name = names[path.as_path()].as_str();
            let outcome =
                read(path, arguments).and_then(|test| run_test(program, (name, &test), arguments, &mut trace));
            let outcome = outcome.map_err(|error| format!("{error:#}"));
            Ran {
                path: path.clone(),
                outcome,
                trace,
            }
        }
    });
    let ran = ran.collect();
    SuiteRun { messages, ran }
}

fn read(path: &Path, arguments: &Arguments) -> Result<Test> {
    let mut test = stf_file::read(path)?;
    if arguments.lenient {
        test.unnamed_ports = UnnamedPorts::Noted;
    }
    Ok(test)
}

fn compile(suite: &Suite, arguments: &Arguments, messages: &mut String) -> Result<Program> {
    let options = suite
        .options
        .as_ref()
        .map_err(|error| anyhow::Error::msg(error.clone()))?;
    let Compilation { program, report, .. } = program::compile_file(&suite.program, options)?;
    // Of many programs only what keeps them from being tested is of interest.
    if program.is_none() || arguments.all.is_empty() {
        *messages = report.messages;
    }
    program.with_context(|| format!("{} has errors", suite.program.display()))
}

fn run_test(
    program: &Program,
    (name, test): (&str, &Test),
    arguments: &Arguments,
    trace: &mut String,
) -> Result<Outcome> {
    let without = arguments.passes.without();
    let load = |engine: Engine| engine.load(program.clone(), FastPath::BeforePackets, without);
    if arguments.switch == Device::Chip {
        let engine = match arguments.engine {
            Engines::Interp => Engine::Interp,
            Engines::Jit | Engines::Both => Engine::Jit,
        };
        let chip = ChipSpec::known("v1model-ideal").expect("a chip that is built in");
        return Ok(forebay_stf::run_switch_and_chip(
            test,
            load(Engine::Interp)?,
            load(engine)?,
            chip,
        ));
    }
    if !arguments.trace && arguments.pcapng.is_none() {
        return Ok(match arguments.engine {
            Engines::Interp => forebay_stf::run(test, load(Engine::Interp)?, &mut NoTrace),
            Engines::Jit => forebay_stf::run(test, load(Engine::Jit)?, &mut NoTrace),
            Engines::Both => forebay_stf::run_both(test, load(Engine::Interp)?, load(Engine::Jit)?),
        });
    }
    if arguments.engine != Engines::Interp {
        bail!("only the interpreter takes single steps: --trace and --pcapng go with --engine interp");
    }
    let pipeline = load(Engine::Interp)?;
    let mut printer = TracePrinter::new(pipeline.clone());
    let mut capture = PacketCapture::new(pipeline.clone())?;
    let outcome = forebay_stf::run(test, pipeline, &mut Both(&mut printer, &mut capture));
    if arguments.trace {
        *trace = printer.take_text();
    }
    if let Some(folder) = &arguments.pcapng {
        files::make_folder(folder)?;
        files::write(&folder.join(format!("{name}.pcapng")), capture.finish()?)?;
    }
    Ok(outcome)
}

/// What is printed, and counted for the summary.
struct Results {
    detail: Detail,
    /// The results so far, when they are to be printed as JSON.
    json: Option<Vec<Value>>,
    junit: Junit,
    junit_file: Option<PathBuf>,
    /// Why the standard output cannot be written any more; without a file that ends the tests.
    printed: Result<()>,
    passed: usize,
    failed: usize,
    worst: Status,
}

impl Results {
    fn new(arguments: &Arguments) -> Results {
        Results {
            detail: match (arguments.quiet, arguments.verbose) {
                (true, _) => Detail::Quiet,
                (_, true) => Detail::Verbose,
                _ => Detail::Normal,
            },
            json: arguments.json.then(Vec::new),
            junit: Junit::default(),
            junit_file: arguments.junit.clone(),
            printed: Ok(()),
            passed: 0,
            failed: 0,
            worst: Status::Good,
        }
    }

    fn add(&mut self, suite: &Suite, run: SuiteRun) -> Result<()> {
        output::message(&run.messages);
        for test in &run.ran {
            let status = test.status();
            self.junit.add(&suite.program, test);
            match status {
                Status::Good => self.passed += 1,
                Status::Bad | Status::Unable => self.failed += 1,
            }
            if status.code() > self.worst.code() {
                self.worst = status;
            }
            if status == Status::Good && test.sends_nothing() {
                output::warning(&format!(
                    "{} sends no packet: it only shows that the program takes its commands",
                    test.path.display()
                ));
            }
            match &mut self.json {
                Some(json) if self.detail != Detail::Quiet || status != Status::Good => {
                    json.push(test.json(&suite.program))
                }
                Some(_) => {}
                None if self.printed.is_ok() => self.printed = output::print(&test.text(self.detail)),
                None => {}
            }
        }
        match self.junit_file {
            Some(_) => Ok(()),
            None => std::mem::replace(&mut self.printed, Ok(())),
        }
    }

    fn finish(self) -> Result<Status> {
        let Results {
            json,
            junit,
            junit_file,
            printed,
            passed,
            failed,
            worst,
            ..
        } = self;
        if let Some(path) = &junit_file {
            files::write(path, junit.text())?;
        }
        let printed = printed.and_then(|()| match json {
            Some(tests) => output::print_json(&json!({ "passed": passed, "failed": failed, "tests": tests })),
            None => output::print(&format!("{passed} passed, {failed} failed\n")),
        });
        match printed {
            // The reader has seen enough.
            Err(error) if output::is_broken_pipe(&error) => Ok(worst),
            printed => printed.map(|()| worst),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tests_of_one_name_have_files_of_their_own() {
        let suite = |tests: &[&str]| Suite {
            program: PathBuf::new(),
            options: Ok(CompileOptions::default()),
            tests: tests.iter().map(PathBuf::from).collect(),
        };
        let suites = [
            suite(&["a/n2.stf", "a/n4.stf"]),
            suite(&["../b/n2.stf", "../a/n2.stf", "a/n2.stf"]),
        ];
        let names = packets_names(&suites);
        let name = |test: &str| names[Path::new(test)].as_str();
        assert_eq!(
            [
                name("a/n2.stf"),
                name("a/n4.stf"),
                name("../b/n2.stf"),
                name("../a/n2.stf")
            ],
            ["a_n2", "n4", "b_n2", "a_n2-2"]
        );
    }
}
