//! Under the names `p4c` and `p4c-bm2-ss`: the command line of p4c's compiler for BMv2, as Makefiles of courses call
//! it.
//!
//! What is written is JSON with the program's source files, which all of Forebay takes where p4c's JSON is taken, and
//! the P4Info.

use super::Status;
use crate::output::{self, LogFormat, LogLevel};
use crate::program::{self, CompileOptions};
use anyhow::{Result, bail};
use clap::{Args, Command, FromArgMatches};
use forebay_p4runtime::Bundle;
use prost::Message;
use std::path::{Path, PathBuf};

/// Arguments of p4c that say something here, and those that its users give for BMv2.
#[derive(clap::Args)]
struct Arguments {
    /// The program
    #[arg(value_name = "PROG.p4")]
    program: PathBuf,
    #[command(flatten)]
    options: CompileOptions,
    /// What to write: a file, or under the name p4c the folder for it
    #[arg(short = 'o', long, value_name = "PATH")]
    output: Option<PathBuf>,
    /// Write the P4Info to these files, with commas between them: as text, JSON (.json) or binary (.bin, .pb)
    #[arg(long, value_name = "FILES", visible_aliases = ["p4runtime-file"], value_delimiter = ',')]
    p4runtime_files: Vec<PathBuf>,
    /// The format of the P4Info: text, json or binary
    #[arg(long, value_name = "FORMAT")]
    p4runtime_format: Option<String>,
    /// The target: bmv2
    #[arg(short = 'b', long, value_name = "TARGET")]
    target: Option<String>,
    /// The architecture: the program's own
    #[arg(short = 'a', long, value_name = "ARCH")]
    arch: Option<String>,
    /// The language: p4-16
    #[arg(short = 'x', long, visible_alias = "p4v", value_name = "STD")]
    std: Option<String>,
    /// Take all warnings for errors
    #[arg(long = "Werror", num_args = 0..=1, require_equals = true, default_missing_value = "", value_name = "WARNING")]
    errors: Vec<String>,
    /// Tell no warnings; nothing with a name, since p4c's names are not those here
    #[arg(long = "Wdisable", num_args = 0..=1, require_equals = true, default_missing_value = "", value_name = "WARNING")]
    disabled: Vec<String>,
    /// Nothing: warnings are told one by one
    #[arg(long = "Wwarn", alias = "Winfo", num_args = 0..=1, require_equals = true, default_missing_value = "", value_name = "WARNING")]
    warnings: Vec<String>,
    /// Nothing: debug information is always there
    #[arg(short = 'g')]
    debug: bool,
    /// Nothing: the compiler has no log
    #[arg(short = 'v', long = "debug", action = clap::ArgAction::Count)]
    verbose: u8,
    /// Nothing: the compiler has no log
    #[arg(short = 'T', value_name = "LEVELS")]
    log_levels: Vec<String>,
    /// Nothing: there are no other steps
    #[arg(short = 'c', long = "compile", short_alias = 'S', action = clap::ArgAction::Count)]
    compiles: u8,
    /// Nothing: externs of the program itself are an error when they are used
    #[arg(long)]
    emit_externs: bool,
    #[command(flatten)]
    refused: Refused,
}

/// Options of p4c for files that are not written here.
#[derive(clap::Args)]
struct Refused {
    #[arg(short = 'E', hide = true)]
    preprocess: bool,
    #[arg(long = "pp", hide = true, value_name = "FILE")]
    pretty_print: Option<PathBuf>,
    #[arg(long = "toJSON", alias = "toJson", hide = true, value_name = "FILE")]
    tree: Option<PathBuf>,
    #[arg(long, hide = true, value_name = "DIR")]
    dump: Option<PathBuf>,
    #[arg(long, alias = "p4runtime-entries-file", hide = true, value_name = "FILES")]
    p4runtime_entries_files: Option<String>,
}

impl Refused {
    /// Why, if one of them is given.
    fn reason(&self) -> Option<&'static str> {
        let reasons = [
            (
                self.preprocess,
                "-E: the preprocessed text is not written here; cpp makes it, with the same -I and -D",
            ),
            (self.pretty_print.is_some(), "--pp: programs are not printed again here"),
            (
                self.tree.is_some(),
                "--toJSON: p4c's tree of a program is not known here; without the option all else is written",
            ),
            (
                self.dump.is_some(),
                "--dump: programs are not printed here; `forebay build` writes what is executed",
            ),
            (
                self.p4runtime_entries_files.is_some(),
                "--p4runtime-entries-files: a program's entries are in the switch when it starts, in no file",
            ),
        ];
        reasons
            .into_iter()
            .find_map(|(is_given, reason)| is_given.then_some(reason))
    }
}

/// Whether this program was started as p4c, and whether its output is a folder.
fn is_driver(name: &str) -> Option<bool> {
    match name.rsplit('/').next().unwrap_or_default() {
        "p4c" => Some(true),
        "p4c-bm2-ss" => Some(false),
        _ => None,
    }
}

/// Whether this program was started as p4c's.
pub fn is_name(name: &str) -> bool {
    is_driver(name).is_some()
}

/// Compiles, with the command line of p4c.
///
/// # Errors
/// If an option is not supported, or a file cannot be read or written.
pub fn run_under_name(name: &str) -> Result<Status> {
    let command = Arguments::augment_args(Command::new("p4c").version(crate::version::LONG));
    let matches = command.about("In the place of p4c for BMv2").try_get_matches();
    let arguments = matches.and_then(|matches| Arguments::from_arg_matches(&matches));
    let arguments = arguments.unwrap_or_else(|error| output::usage(error).exit());
    check(&arguments)?;
    let arguments = with_folder(with_warnings(arguments), std::env::var(FOLDER).ok());
    run(&arguments, is_driver(name) == Some(true))
}

/// The variable of p4c with a folder for `#include`, in which installations have a v1model.p4 of their own.
const FOLDER: &str = "P4C_16_INCLUDE_PATH";

/// The arguments with the folder that the environment names: it is searched after those of `-I`, as by p4c.
fn with_folder(mut arguments: Arguments, folder: Option<String>) -> Arguments {
    let folder = folder.filter(|folder| !folder.is_empty());
    arguments.options.include.extend(folder);
    arguments
}

/// The arguments with what they say of all warnings.
fn with_warnings(mut arguments: Arguments) -> Arguments {
    let are_all = |names: &[String]| names.iter().any(String::is_empty);
    arguments.options.strict |= are_all(&arguments.errors);
    if are_all(&arguments.disabled) {
        output::set_log(LogLevel::Error, LogFormat::Text);
    }
    arguments
}

/// Refuses what would give something else than p4c.
fn check(arguments: &Arguments) -> Result<()> {
    if let Some(reason) = arguments.refused.reason() {
        bail!(reason);
    }
    if let Some(name) = arguments.errors.iter().find(|name| !name.is_empty()) {
        bail!("--Werror={name}: warnings have other names here; --Werror takes all of them for errors");
    }
    if let Some(target) = arguments.target.as_deref().filter(|target| !target.starts_with("bmv2")) {
        bail!("--target {target}: programs are compiled for bmv2 here");
    }
    if let Some(language) = &arguments.std
        && !["p4-16", "p4_16", "16", "1.2"].contains(&language.as_str())
    {
        bail!("--std {language}: programs are of P4_16 here");
    }
    if let Some(format) = &arguments.p4runtime_format
        && !FORMATS.contains(&format.as_str())
    {
        bail!("--p4runtime-format {format}: formats are text, json and binary");
    }
    Ok(())
}

/// The file that p4c writes when none is named: `a.b.p4` becomes `a.b.json`.
fn output_name(program: &Path) -> PathBuf {
    Path::new(program.file_stem().unwrap_or_default()).with_added_extension("json")
}

fn run(arguments: &Arguments, output_is_folder: bool) -> Result<Status> {
    let Some(bundle) = program::bundle(&arguments.program, &arguments.options)? else {
        return Ok(Status::Bad);
    };
    let named = output_name(&arguments.program);
    let path = match &arguments.output {
        Some(folder) if output_is_folder && folder.extension().is_none_or(|extension| extension != "json") => {
            forebay_files::make_folder(folder)?;
            folder.join(named)
        }
        Some(file) => file.clone(),
        None => named,
    };
    write_bundle(&path, &bundle)?;
    if arguments.p4runtime_files.is_empty() {
        return Ok(Status::Good);
    }
    let compiled = program::compile_file(&arguments.program, &arguments.options)?;
    let Some(info) = compiled.p4info else {
        return Ok(Status::Bad);
    };
    for file in &arguments.p4runtime_files {
        let message = || forebay_protocol::p4info::from_compiler(&info);
        let bytes = match format_of(file, arguments.p4runtime_format.as_deref()) {
            P4InfoFormat::Text => forebay_p4info::write(&info).into_bytes(),
            P4InfoFormat::Json => forebay_protocol::p4info::write_json(&message()).into_bytes(),
            P4InfoFormat::Binary => message().encode_to_vec(),
        };
        forebay_files::write(file, bytes)?;
    }
    Ok(Status::Good)
}

fn write_bundle(path: &Path, bundle: &Bundle) -> Result<()> {
    Ok(forebay_files::write(path, bundle.write())?)
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum P4InfoFormat {
    Text,
    Json,
    Binary,
}

/// What may be said to be the format of a P4Info.
const FORMATS: [&str; 3] = ["text", "json", "binary"];

/// The format of a P4Info: the requested one, or that of the file's name, as p4c does it.
fn format_of(file: &Path, asked: Option<&str>) -> P4InfoFormat {
    let extension = file.extension().and_then(|extension| extension.to_str());
    match asked.or(extension) {
        Some("bin" | "binary" | "pb") => P4InfoFormat::Binary,
        Some("json") => P4InfoFormat::Json,
        _ => P4InfoFormat::Text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names() {
        assert_eq!(is_driver("/usr/bin/p4c"), Some(true));
        assert_eq!(is_driver("p4c-bm2-ss"), Some(false));
        assert!(!is_name("forebay"));
    }

    #[test]
    fn only_the_last_extension_is_replaced() {
        assert_eq!(
            output_name(Path::new("demo/demo1.p4_16.p4")),
            Path::new("demo1.p4_16.json")
        );
    }

    #[test]
    fn formats_of_p4info() {
        let format = |file: &str, asked| format_of(Path::new(file), asked);
        assert_eq!(format("a.p4.p4info.txt", None), P4InfoFormat::Text);
        assert_eq!(format("a.txtpb", None), P4InfoFormat::Text);
        assert_eq!(format("a.bin", None), P4InfoFormat::Binary);
        assert_eq!(format("a.txt", Some("binary")), P4InfoFormat::Binary);
        assert_eq!(format("a.json", None), P4InfoFormat::Json);
        assert_eq!(format("a.txt", Some("json")), P4InfoFormat::Json);
    }

    #[test]
    fn p4info_in_every_format() {
        let program = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../programs/l3fwd/l3fwd.p4");
        let folder = tempfile::tempdir().expect("a folder");
        let path = |name: &str| folder.path().join(name).display().to_string();
        let (text, json, binary) = (path("a.txt"), path("a.json"), path("a.bin"));
        let output = path("l3fwd.json");
        let line = format!("p4c --p4runtime-files {text},{json},{binary} -o {output} {program}");
        let status = run(&arguments(&line), true).expect("it can be read");
        assert!(status == Status::Good);
        let read = |file: &str| std::fs::read(file).expect("it was written");
        let of_text = forebay_protocol::p4info::read(&String::from_utf8(read(&text)).unwrap()).unwrap();
        assert_eq!(of_text.encode_to_vec(), read(&binary));
        let of_json: serde_json::Value = serde_json::from_slice(&read(&json)).unwrap();
        let name = &of_text.tables[0].preamble.as_ref().unwrap().name;
        assert_eq!(&of_json["tables"][0]["preamble"]["name"], name.as_str());
    }

    #[test]
    fn what_is_written_can_be_checked() {
        let program = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../programs/l3fwd/l3fwd.p4");
        let folder = tempfile::tempdir().expect("a folder");
        let json = folder.path().join("l3fwd.json").display().to_string();
        let status = run(&arguments(&format!("p4c -o {json} {program}")), true).expect("it can be read");
        assert!(status == Status::Good);
        let command = program::ProgramArguments::augment_args(Command::new("check"));
        let matches = command.try_get_matches_from(["check", json.as_str()]).expect("a line");
        let checked = program::ProgramArguments::from_arg_matches(&matches).expect("a line");
        let report = program::check(&checked, false).expect("it can be read");
        assert!(report.good, "{}", report.messages);
    }

    #[test]
    fn lines_of_courses() {
        let line = "p4c --target bmv2 --arch v1model --std p4-16 -g -I include -D N=2 --p4runtime-files a.txt,b.bin -o build a.p4";
        let command = Arguments::augment_args(Command::new("p4c"));
        let matches = command.try_get_matches_from(line.split(' ')).expect("a line");
        let arguments = Arguments::from_arg_matches(&matches).expect("a line");
        assert_eq!(arguments.p4runtime_files.len(), 2);
        assert!(check(&arguments).is_ok());
        let line = "p4c-bm2-ss --p4v 16 --p4runtime-files build/basic.p4.p4info.txtpb -o build/basic.json basic.p4";
        let command = Arguments::augment_args(Command::new("p4c"));
        assert!(command.try_get_matches_from(line.split(' ')).is_ok());
    }

    fn arguments(line: &str) -> Arguments {
        let command = Arguments::augment_args(Command::new("p4c"));
        let matches = command.try_get_matches_from(line.split(' ')).expect("a line");
        Arguments::from_arg_matches(&matches).expect("a line")
    }

    #[test]
    fn options_that_say_nothing_here_are_taken() {
        let line = "p4c -v -v -c -S -T pass:3 -x p4-16 --Wwarn --Wwarn=unused --Winfo=unused --Wdisable=unused a.p4";
        let arguments = with_warnings(arguments(line));
        assert!(check(&arguments).is_ok());
        assert!(!arguments.options.strict);
    }

    #[test]
    fn the_environment_names_the_last_folder() {
        let folders = |folder: &str| {
            let arguments = with_folder(arguments("p4c -I include a.p4"), Some(folder.to_string()));
            arguments.options.include
        };
        assert_eq!(folders("/opt/p4include"), ["include", "/opt/p4include"]);
        assert_eq!(folders(""), ["include"]);
    }

    #[test]
    fn all_warnings_may_be_errors() {
        let arguments = with_warnings(arguments("p4c --Werror a.p4"));
        assert!(check(&arguments).is_ok());
        assert!(arguments.options.strict);
    }

    #[test]
    fn a_program_with_warnings_is_not_written_where_they_are_errors() {
        let program = concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/../../../tests/errors/warnings/deprecated_function.p4"
        );
        let folder = tempfile::tempdir().expect("a folder");
        let json = folder.path().join("a.json");
        for (option, is_written) in [("--Werror", false), ("--strict", false), ("-g", true)] {
            let line = format!("p4c {option} -o {} {program}", json.display());
            let status = run(&with_warnings(arguments(&line)), true).expect("it can be read");
            assert_eq!(status == Status::Good, is_written, "{option}");
            assert_eq!(json.exists(), is_written, "{option}");
        }
    }

    #[test]
    fn what_cannot_be_done_is_refused_with_a_reason() {
        for option in [
            "--Werror=unused",
            "-E",
            "--pp b.p4",
            "--toJSON b.json",
            "--dump d",
            "--p4runtime-entries-files e.txt",
            "--std p4-14",
            "--p4runtime-format yaml",
        ] {
            let refused = check(&arguments(&format!("p4c {option} a.p4")));
            let message = refused.expect_err(option).to_string();
            assert!(message.starts_with(&option[..2]) && message.contains(": "), "{message}");
        }
    }
}
