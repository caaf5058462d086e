//! `forebay state`: looks at a folder that `--save-state` has written, and repairs it.

use super::Status;
use crate::output;
use anyhow::{Result, anyhow, bail};
use forebay_journal::{FileReport, Generation, Inspection, Repair, SystemFiles, Tail, inspect};
use forebay_p4runtime::{Device, Now, ProgramSummary, Settings, Summary};
use serde_json::{Value, json};
use std::fmt::Write;
use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Arguments of `forebay state`.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  forebay state show /var/lib/forebay          the program, what was written to it
  forebay state check /var/lib/forebay         whether a switch can start with it
  forebay state repair /var/lib/forebay --yes  keeps what can be loaded
Exit codes of check: 0 yes, 1 no, 2 unknown. repair leaves copies of all files in the folder.
No switch may use the folder meanwhile. docs/state.md explains what is guaranteed.")]
pub struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(clap::Subcommand)]
enum Command {
    /// Show what is in a folder: the program, entries of each table, files
    Show(Look),
    /// Say whether a switch can start with a folder, and what is damaged
    Check(Look),
    /// Restore what can be loaded, after saying what is lost
    Repair(Mend),
}

#[derive(clap::Args)]
struct Look {
    /// The folder that was given to --save-state
    #[arg(value_name = "DIR")]
    folder: PathBuf,
    /// Answer with JSON
    #[arg(long)]
    json: bool,
}

#[derive(clap::Args)]
struct Mend {
    /// The folder that was given to --save-state
    #[arg(value_name = "DIR")]
    folder: PathBuf,
    /// Do not ask
    #[arg(long)]
    yes: bool,
    /// Answer with JSON; without --yes nothing is changed
    #[arg(long)]
    json: bool,
}

/// Looks at a folder, or repairs it.
pub fn run(arguments: &Arguments) -> Result<Status> {
    match &arguments.command {
        Command::Show(look) => show(look),
        Command::Check(look) => check(look),
        Command::Repair(mend) => repair(mend),
    }
}

/// Whether a folder was named.
fn check_folder(folder: &Path) -> Result<()> {
    if folder.exists() && !folder.is_dir() {
        bail!(
            "{} is a file; name the folder that was given to --save-state",
            folder.display()
        );
    }
    Ok(())
}

fn read(folder: &Path) -> Result<Inspection> {
    check_folder(folder)?;
    let inspection = inspect(&SystemFiles, folder)?;
    if inspection.generations.is_empty() {
        bail!("{} holds no state", folder.display())
    } else {
        Ok(inspection)
    }
}

fn show(look: &Look) -> Result<Status> {
    let inspection = read(&look.folder)?;
    let summary = inspection.best().map(summary).transpose()?;
    let program = |pick: fn(&Summary) -> Option<&ProgramSummary>| summary.as_ref().and_then(pick).map(program_json);
    match (look.json, &summary) {
        (true, _) => output::print_json(&json!({
            "folder": look.folder,
            "generations": inspection.generations.iter().map(generation_json).collect::<Vec<_>>(),
            "unfinished_files": inspection.unfinished,
            "other_files": inspection.foreign,
            "running": program(|summary| summary.running.as_ref()),
            "saved": program(|summary| summary.saved.as_ref()),
        }))?,
        (false, Some(summary)) => output::print(&(summary_text(summary) + &files_text(&inspection)))?,
        (false, None) => output::print(&files_text(&inspection))?,
    }
    if summary.is_none() {
        output::error("there is no snapshot that can be read");
        return Ok(Status::Bad);
    }
    Ok(Status::Good)
}

fn summary(generation: &Generation) -> Result<Summary> {
    let state = generation.state.as_deref().unwrap_or_default();
    forebay_p4runtime::summary(state, &generation.batches).map_err(|error| anyhow!("{error}"))
}

fn summary_text(summary: &Summary) -> String {
    let mut text = match &summary.running {
        Some(program) => program_text("program", program),
        None => "no program\n".to_string(),
    };
    if let Some(program) = &summary.saved {
        text += &program_text("waiting for its commit", program);
    }
    text
}

fn program_text(what: &str, program: &ProgramSummary) -> String {
    let name = match program.name.as_str() {
        "" => String::new(),
        name => format!("{name}, "),
    };
    let mut text = format!("{what}: {name}{}, {} bytes", program.form, program.bytes);
    if let Some(cookie) = program.cookie {
        let _ = write!(text, ", cookie {cookie}");
    }
    text.push('\n');
    let width = program
        .objects
        .iter()
        .map(|object| object.name.len())
        .max()
        .unwrap_or(0);
    for object in &program.objects {
        let _ = writeln!(text, "  {:width$}  {:>9} {}", object.name, object.count, object.kind);
    }
    text
}

fn files_text(inspection: &Inspection) -> String {
    let mut text = "files:\n".to_string();
    for generation in &inspection.generations {
        text += &file_text(&generation.snapshot, "");
        text += &file_text(&generation.log, &format!("{} batches", generation.batches.len()));
    }
    for name in &inspection.unfinished {
        let _ = writeln!(text, "  {name}  never finished; the next snapshot removes it");
    }
    for name in &inspection.foreign {
        let _ = writeln!(text, "  {name}  not of the store; left alone");
    }
    text
}

fn file_text(file: &FileReport, contents: &str) -> String {
    let name = file.path.file_name().unwrap_or_default().to_string_lossy();
    let tail = match &file.tail {
        Tail::Missing => return format!("  {name}  missing\n"),
        Tail::Whole => "sound".to_string(),
        Tail::Unfinished { offset } => format!("sound up to offset {offset}; what follows was never acknowledged"),
        Tail::Damaged {
            offset,
            problem,
            records_after,
        } => format!("DAMAGED at offset {offset}: {problem}; {records_after} whole batches after it"),
    };
    let contents = if contents.is_empty() {
        String::new()
    } else {
        format!(", {contents}")
    };
    let version = file
        .version
        .map(|version| format!(", format {version}"))
        .unwrap_or_default();
    format!("  {name}  {} bytes{version}{contents}: {tail}\n", file.bytes)
}

fn program_json(program: &ProgramSummary) -> Value {
    let objects = program.objects.iter();
    let objects = objects.map(|object| json!({ "kind": object.kind, "name": object.name, "count": object.count }));
    json!({
        "name": program.name,
        "form": program.form,
        "bytes": program.bytes,
        "cookie": program.cookie,
        "objects": objects.collect::<Vec<_>>(),
    })
}

fn generation_json(generation: &Generation) -> Value {
    json!({
        "generation": generation.number,
        "snapshot": file_json(&generation.snapshot),
        "log": file_json(&generation.log),
        "batches": generation.batches.len(),
    })
}

fn file_json(file: &FileReport) -> Value {
    let (state, offset, problem, lost) = match &file.tail {
        Tail::Missing => ("missing", None, None, None),
        Tail::Whole => ("sound", None, None, None),
        Tail::Unfinished { offset } => ("unfinished", Some(*offset), None, None),
        Tail::Damaged {
            offset,
            problem,
            records_after,
        } => ("damaged", Some(*offset), Some(problem), Some(*records_after)),
    };
    json!({
        "path": file.path,
        "bytes": file.bytes,
        "version": file.version,
        "state": state,
        "offset": offset,
        "problem": problem,
        "batches_behind": lost,
    })
}

/// What of a generation a device loads.
struct Loadable {
    /// Batches of the log, from its beginning.
    batches: usize,
    /// Why not all of it.
    problem: Option<String>,
}

/// Loads a generation as a start does; none when its snapshot cannot be.
fn load(generation: &Generation) -> Result<Loadable, String> {
    let Some(state) = &generation.state else {
        return Err(generation
            .check()
            .err()
            .map(|error| error.to_string())
            .unwrap_or_default());
    };
    let mut device = Device::restore(Settings::default(), state, &[], Now::default())
        .map_err(|error| format!("the snapshot cannot be loaded: {error}"))?;
    for (number, batch) in generation.batches.iter().enumerate() {
        if let Err(error) = device.replay(batch, Now::default()) {
            return Ok(Loadable {
                batches: number,
                problem: Some(format!(
                    "batch {} of {} cannot be done again: {error}",
                    number + 1,
                    generation.batches.len()
                )),
            });
        }
    }
    Ok(Loadable {
        batches: generation.batches.len(),
        problem: None,
    })
}

/// Why a switch cannot start with a folder; none when it can.
fn problem(inspection: &Inspection) -> Option<String> {
    let newest = inspection.newest()?;
    if let Err(error) = newest.check() {
        return Some(error.to_string());
    }
    let problem = match load(newest) {
        Ok(loadable) => loadable.problem,
        Err(problem) => Some(problem),
    };
    problem.map(|problem| format!("{problem}; `forebay state repair` restores what can be loaded"))
}

fn check(look: &Look) -> Result<Status> {
    let inspection = read(&look.folder)?;
    let problem = problem(&inspection);
    if look.json {
        output::print_json(&json!({
            "folder": look.folder,
            "sound": problem.is_none(),
            "problem": problem,
            "generations": inspection.generations.iter().map(generation_json).collect::<Vec<_>>(),
        }))?
    } else {
        output::print(&files_text(&inspection))?;
        if problem.is_none() {
            output::print("a switch can start with it\n")?;
        }
    }
    let Some(problem) = problem else {
        return Ok(Status::Good);
    };
    output::error(&problem);
    Ok(Status::Bad)
}

/// What a repair does to a folder.
#[derive(Default)]
struct Report {
    /// Why a switch cannot start with the folder.
    problem: Option<String>,
    /// The generation whose snapshot is kept, and how many batches of its log.
    kept: Option<(u64, usize)>,
    /// What cannot be kept.
    lost: Vec<String>,
    /// Where copies of all files are, when it is done.
    copies: Option<PathBuf>,
}

impl Report {
    /// What is kept and lost, in words.
    fn plan(&self) -> String {
        let kept = self.kept.map(|(generation, batches)| {
            format!("kept: the snapshot of generation {generation} and {batches} batches of its log\n")
        });
        let lost = self.lost.iter().map(|lost| format!("lost: {lost}\n"));
        kept.into_iter().chain(lost).collect()
    }

    fn json(&self, folder: &Path) -> Value {
        json!({
            "folder": folder,
            "problem": self.problem,
            "kept": self.kept.map(|(generation, batches)| json!({ "generation": generation, "batches": batches })),
            "lost": self.lost,
            "repaired": self.copies.is_some(),
            "copies": self.copies,
        })
    }
}

fn repair(mend: &Mend) -> Result<Status> {
    let mut report = Report::default();
    let status = restore(mend, &mut report)?;
    if mend.json {
        output::print_json(&report.json(&mend.folder))?;
    }
    Ok(status)
}

/// Repairs a folder, and notes what that does.
fn restore(mend: &Mend, report: &mut Report) -> Result<Status> {
    let folder = &mend.folder;
    let say = |text: &str| if mend.json { Ok(()) } else { output::print(text) };
    check_folder(folder)?;
    let repair = Repair::new(Arc::new(SystemFiles), folder)?;
    let inspection = repair.inspection();
    if inspection.generations.is_empty() {
        bail!("{} holds no state", folder.display());
    }
    report.problem = problem(inspection);
    let Some(problem) = &report.problem else {
        say("nothing to repair: a switch can start with it\n")?;
        return Ok(Status::Good);
    };
    say(&format!("{problem}\n\n"))?;
    let loadable = inspection
        .generations
        .iter()
        .find_map(|generation| Some((generation, load(generation).ok()?)));
    let Some((generation, loadable)) = loadable else {
        output::error(&forebay_journal::StateError::Lost(folder.clone()).to_string());
        return Ok(Status::Bad);
    };
    report.kept = Some((generation.number, loadable.batches));
    report.lost = lost(inspection, generation, &loadable);
    say(&report.plan())?;
    if !mend.yes && !agreed(mend.json)? {
        output::info("nothing was changed");
        return Ok(Status::Unable);
    }
    let generation = generation.clone();
    let copies = repair.restore(&generation, loadable.batches)?;
    say(&format!(
        "restored; copies of all files as they were: {}\n",
        copies.display()
    ))?;
    report.copies = Some(copies);
    Ok(Status::Good)
}

/// What a repair loses, in words.
fn lost(inspection: &Inspection, generation: &Generation, loadable: &Loadable) -> Vec<String> {
    let mut lost = Vec::new();
    if let Tail::Damaged { offset, .. } = &generation.snapshot.tail {
        let bytes = generation.snapshot.bytes - offset;
        lost.push(format!("{bytes} bytes after the snapshot, which is whole"));
    }
    let newest = inspection.newest().map_or(generation.number, |newest| newest.number);
    if newest != generation.number {
        lost.push(format!(
            "everything since generation {newest}, whose snapshot cannot be loaded"
        ));
    }
    let unusable = generation.batches.len() - loadable.batches;
    if unusable > 0 {
        let first = loadable.batches + 1;
        lost.push(format!(
            "{unusable} batches from batch {first} on, which cannot be done again"
        ));
    }
    let log = &generation.log;
    match &log.tail {
        Tail::Missing => lost.push("every batch since that snapshot, the log is missing".to_string()),
        Tail::Damaged {
            offset, records_after, ..
        } => {
            let bytes = log.bytes - offset;
            lost.push(format!(
                "{bytes} bytes of the log from offset {offset} on: the damaged batch and {records_after} whole ones after it"
            ));
        }
        Tail::Whole | Tail::Unfinished { .. } => {}
    }
    lost
}

/// Asks the user for confirmation, unless the answer is for a program.
fn agreed(is_json: bool) -> Result<bool> {
    if is_json {
        output::error("--json asks nothing: --yes repairs");
        return Ok(false);
    }
    if !std::io::stdin().is_terminal() {
        bail!("nothing was changed: --yes is needed where nobody can be asked");
    }
    output::print("Go on? [y/N] ")?;
    let mut answer = String::new();
    std::io::stdin().read_line(&mut answer)?;
    Ok(matches!(answer.trim(), "y" | "Y" | "yes"))
}
