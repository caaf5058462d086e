//! `forebay function`: the network functions of the folder `functions`, by name.

use super::{Command, Status, run};
use crate::functions::{self, Function};
use crate::output;
use anyhow::{Context, Result, anyhow, bail};
use clap::Subcommand;
use serde_json::{Value, json};
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// Arguments of `forebay function`.
#[derive(clap::Args)]
pub struct Arguments {
    #[command(subcommand)]
    what: What,
}

#[derive(Subcommand)]
enum What {
    /// List the functions that there are
    List(List),
    /// Run a function as a switch between interfaces
    Run(Run),
}

/// Where functions are.
#[derive(clap::Args)]
struct Place {
    /// The folder of the functions; without, $FOREBAY_FUNCTIONS, or `functions` beside the executable, in share/forebay
    /// of its installation, in its repository, or here
    #[arg(long = "functions", value_name = "DIR")]
    folder: Option<PathBuf>,
}

#[derive(clap::Args)]
struct List {
    #[command(flatten)]
    place: Place,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

#[derive(clap::Args)]
#[command(after_help = "\
Without --entries and --grpc the function has the entries of its demonstration; its README says for which network they are.
With --grpc its control program writes them: functions/NAME/control.py.

Examples:
  forebay function list
  forebay function run nat44 -i 1@veth1 -i 2@veth2
  forebay function run nat44 -i 1@veth1 -i 2@veth2 -D BLOCK_BITS=8 --json
  forebay function run load_balancer -i 1@veth1 -i 2@veth2 --grpc")]
struct Run {
    #[command(flatten)]
    place: Place,
    /// The function, as `forebay function list` names it
    name: String,
    /// Options of `forebay run`, ports above all: -i PORT@INTERFACE
    #[arg(value_name = "OPTIONS", trailing_var_arg = true, allow_hyphen_values = true)]
    options: Vec<OsString>,
}

/// Lists functions, or runs one.
pub fn run(arguments: &Arguments) -> Result<Status> {
    match &arguments.what {
        What::List(list) => print_list(list),
        What::Run(one) => run_one(one),
    }
}

fn print_list(list: &List) -> Result<Status> {
    let folder = functions::folder(list.place.folder.as_deref())?;
    let all = functions::all(&folder)?;
    if list.json {
        let described: Vec<Value> = all.iter().map(described).collect();
        output::print_json(&json!({ "folder": folder, "functions": described }))?;
    } else {
        let width = all.iter().map(|function| function.name.len()).max().unwrap_or(0);
        let line = |function: &Function| format!("{:width$}  {}\n", function.name, function.about);
        output::print(&all.iter().map(line).collect::<String>())?;
    }
    Ok(Status::Good)
}

fn described(function: &Function) -> Value {
    json!({
        "name": function.name,
        "about": function.about,
        "program": function.program,
        "entries": function.entries,
        "control": function.control,
        "readme": function.readme,
    })
}

fn run_one(one: &Run) -> Result<Status> {
    let (folder, options) = folder_among(&one.options)?;
    let folder = functions::folder(folder.as_deref().or(one.place.folder.as_deref()))?;
    let function = functions::find(&folder, &one.name)?;
    if options.is_empty() {
        let name = &function.name;
        bail!("`{name}` needs ports: forebay function run {name} -i 1@veth1 -i 2@veth2");
    }
    let mut words: Vec<OsString> = vec!["forebay".into()];
    for (name, value) in output::log_options() {
        if !is_said(name, &options) {
            words.push(format!("{name}={value}").into());
        }
    }
    words.push("run".into());
    words.push(function.program.clone().into());
    words.extend(options);
    let line = match crate::parse(words)? {
        Ok(line) => line,
        Err(error) => std::process::exit(output::usage_error(&error)),
    };
    output::set_log(line.log, line.log_format);
    let Command::Run(mut arguments) = line.command else {
        bail!("`forebay run` is what a function is run by");
    };
    if !arguments.is_configured() {
        let entries = function.entries.clone().ok_or_else(|| needs_controller(&function))?;
        output::info(&format!("{}: {}", function.name, said_of(&entries, &function)));
        arguments.set_entries(entries);
    }
    run::run(&arguments)
}

/// Whether an option stands among those of `forebay run`.
fn is_said(name: &str, options: &[OsString]) -> bool {
    let mut words = options.iter().filter_map(|word| word.to_str());
    words.any(|word| word.split('=').next() == Some(name))
}

/// The folder of the functions where it stands among the options of `forebay run`, and these without it.
///
/// # Errors
/// When its value is missing.
fn folder_among(words: &[OsString]) -> Result<(Option<PathBuf>, Vec<OsString>)> {
    let (mut folder, mut others) = (None, Vec::new());
    let mut words = words.iter();
    while let Some(word) = words.next() {
        let joined = word.to_str().and_then(|word| word.strip_prefix("--functions="));
        match joined {
            Some(joined) => folder = Some(joined.into()),
            None if word == "--functions" => {
                let value = words.next().context("--functions needs a value: --functions DIR")?;
                folder = Some(value.into());
            }
            None => others.push(word.clone()),
        }
    }
    Ok((folder, others))
}

fn said_of(entries: &Path, function: &Function) -> String {
    let readme = function.readme.display();
    format!(
        "the entries of its demonstration, {}; {readme} describes it",
        entries.display()
    )
}

fn needs_controller(function: &Function) -> anyhow::Error {
    let name = &function.name;
    let control = match &function.control {
        Some(control) => format!("add --grpc, and start {} beside it", control.display()),
        None => "add --entries FILE".to_owned(),
    };
    anyhow!(
        "`{name}` has no entries of a demonstration: {control}; {} says how",
        function.readme.display()
    )
}
