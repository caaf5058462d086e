//! JSON that p4c has written for BMv2: whether it loads, and whether it does what its source does.
//!
//! The corpus is any folder: each `.json` in it that is a program of BMv2 is read, with the P4Info beside it if there
//! is one. Where the source is beside it too (`l3.p4` for `l3.json`), both get the same random entries and packets, and
//! what leaves is compared.

use anyhow::Context;
use forebay_driver::{FileSources, Options};
use forebay_ir::Program;
use forebay_p4runtime::{Device, Settings};
use forebay_pipeline::{Engine, Pipeline};
use forebay_protocol::p4::config::v1::P4Info;
use forebay_stf::{FailureKind, RandomTest, run_programs};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

/// What each pair of programs gets.
const RANDOM: RandomTest = RandomTest {
    seed: 1,
    entries: 16,
    packets: 1000,
};

/// What became of a JSON.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Outcome {
    /// It is for another architecture.
    Foreign,
    /// It cannot be loaded.
    Failed(String),
    /// It is loaded; no source that compiles is beside it.
    Loaded,
    /// It does what its source does.
    Same,
    /// It does something else.
    Different(String),
}

/// Arguments of `cargo xtask bmv2`.
#[derive(clap::Args)]
pub struct Arguments {
    /// The corpus
    #[arg(value_name = "DIR")]
    folder: PathBuf,
}

/// Reads a corpus and prints what became of it.
pub fn run(arguments: &Arguments) -> anyhow::Result<ExitCode> {
    let mut files = Vec::new();
    collect(&arguments.folder, &mut files)?;
    files.sort();
    let mut outcomes = BTreeMap::new();
    for path in files {
        let text = std::fs::read_to_string(&path).unwrap_or_default();
        if is_program(&text) {
            let name = path.strip_prefix(&arguments.folder).unwrap_or(&path);
            outcomes.insert(name.display().to_string(), outcome(&path, &text));
        }
    }
    print(&outcomes);
    let is_bad = |outcome: &Outcome| matches!(outcome, Outcome::Failed(_) | Outcome::Different(_));
    Ok(if outcomes.values().any(is_bad) {
        ExitCode::FAILURE
    } else {
        ExitCode::SUCCESS
    })
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) -> anyhow::Result<()> {
    let entries = std::fs::read_dir(folder).with_context(|| format!("cannot read {}", folder.display()))?;
    for entry in entries {
        let path = entry?.path();
        let is_link = path.symlink_metadata().is_ok_and(|metadata| metadata.is_symlink());
        if path.is_dir() && !is_link {
            collect(&path, files)?;
        } else if path.extension().is_some_and(|extension| extension == "json") {
            files.push(path);
        }
    }
    Ok(())
}

/// Whether a file is a program of BMv2, as far as one can see from outside.
fn is_program(text: &str) -> bool {
    ["\"header_types\"", "\"pipelines\"", "\"parsers\""]
        .iter()
        .all(|word| text.contains(word))
}

/// Whether a program is for v1model: other architectures have other intrinsic metadata.
fn is_v1model(text: &str) -> bool {
    text.contains("\"standard_metadata\"")
}

fn outcome(path: &Path, text: &str) -> Outcome {
    if !is_v1model(text) {
        return Outcome::Foreign;
    }
    let pipeline = match load_json(path, text) {
        Ok(pipeline) => pipeline,
        Err(message) => return Outcome::Failed(message),
    };
    let Some(source) = source(path, text) else {
        return Outcome::Loaded;
    };
    let Ok(reference) = load(&source) else {
        return Outcome::Loaded;
    };
    let compared = run_programs(&RANDOM.build(&source), reference, pipeline);
    let mut differences = compared
        .failures
        .iter()
        .filter(|failure| failure.kind == FailureKind::Engine);
    match differences.next() {
        Some(difference) => Outcome::Different(difference.message.clone()),
        None => Outcome::Same,
    }
}

/// Loads a JSON as a switch does: with the P4Info beside it if there is one, which must be that of the program.
fn load_json(path: &Path, text: &str) -> Result<Arc<Pipeline>, String> {
    let info = p4info(path)?;
    let loaded = forebay_p4runtime::load_with(text.as_bytes(), info.as_ref()).map_err(|error| error.message)?;
    let pipeline = load(&loaded.program)?;
    if let Some(info) = info.or(loaded.p4info) {
        let mut device = Device::new(Settings {
            device_id: 1,
            options: *pipeline.options(),
            ..Settings::default()
        });
        let adopted = device.adopt(info, text.as_bytes().to_vec(), pipeline.clone());
        adopted.map_err(|error| error.to_string())?;
    }
    Ok(pipeline)
}

fn p4info(path: &Path) -> Result<Option<P4Info>, String> {
    let beside = forebay_bmv2::p4info_paths(path)
        .into_iter()
        .find(|beside| beside.exists());
    let Some(beside) = beside else { return Ok(None) };
    let text = std::fs::read_to_string(&beside).map_err(|error| error.to_string())?;
    let info = forebay_protocol::p4info::read(&text);
    info.map(Some).map_err(|error| format!("{}: {error}", beside.display()))
}

fn load(program: &Program) -> Result<Arc<Pipeline>, String> {
    let options = forebay_pipeline::Options {
        engine: Engine::Interpreter,
        ..Default::default()
    };
    let pipeline = Pipeline::load_with(program.clone(), options);
    pipeline.map(Arc::new).map_err(|error| error.to_string())
}

/// The program's source, if it is near and can be compiled.
fn source(path: &Path, text: &str) -> Option<Program> {
    let json: serde_json::Value = serde_json::from_str(text).ok()?;
    let written = json["program"].as_str().map(PathBuf::from);
    let names = [
        Some(path.with_extension("p4")),
        written.map(|path| path.with_extension("p4")),
    ];
    let names: Vec<_> = names.iter().flatten().filter_map(|path| path.file_name()).collect();
    let folders = path.ancestors().skip(1).take(3);
    let candidates = folders.flat_map(|folder| names.iter().map(|name| folder.join(name)));
    let found = candidates.into_iter().find(|candidate| candidate.is_file())?;
    let provider = FileSources::new();
    forebay_driver::compile(&found.to_string_lossy(), &Options::new(&provider)).program
}

fn print(outcomes: &BTreeMap<String, Outcome>) {
    let count = |wanted: fn(&Outcome) -> bool| outcomes.values().filter(|outcome| wanted(outcome)).count();
    let foreign = count(|outcome| matches!(outcome, Outcome::Foreign));
    let failed = count(|outcome| matches!(outcome, Outcome::Failed(_)));
    let same = count(|outcome| matches!(outcome, Outcome::Same));
    let different = count(|outcome| matches!(outcome, Outcome::Different(_)));
    let all = outcomes.len() - foreign;
    println!(
        "JSON of programs for v1model loaded: {} of {all} ({foreign} for other architectures)",
        all - failed
    );
    println!(
        "with a source that compiles, same packets: {same} of {}",
        same + different
    );
    for (name, outcome) in outcomes {
        match outcome {
            Outcome::Failed(message) => println!("  {name}: {message}"),
            Outcome::Different(message) => println!("  {name}: {message}"),
            Outcome::Foreign | Outcome::Loaded | Outcome::Same => {}
        }
    }
}
