//! The configuration file of `forebay run`: options of the command line in a TOML file.
//!
//! ```toml
//! program = "l3fwd.p4"
//! interfaces = ["1@veth1", "2@veth2"]
//! grpc = true
//! workers = 2
//! ```
//!
//! A key is the name of an option without its hyphens; `interfaces`, `include` and `define` stand for `-i`, `-I` and
//! `-D`. Before the command line is read, what the file says is put into it, so an option means the same in both; one
//! that stands on the command line replaces that of the file. Relative paths are relative to where `forebay` runs.

use anyhow::{Context, Result, anyhow};
use clap::{Arg, ArgAction, Command};
use forebay_syntax::diagnostic::closest_name;
use std::ffi::OsString;
use std::path::Path;
use toml::Value;

/// The option that names the file.
const OPTION: &str = "--config";

/// The command whose options a file may have.
const COMMAND: &str = "run";

/// The words of a command line, with those of the file that it names put in after `run`.
///
/// # Errors
/// When there is such a file and it is not as it should be.
pub fn expand(words: Vec<OsString>, command: &Command) -> Result<Vec<OsString>> {
    let Some(place) = place_of_command(&words) else {
        return Ok(words);
    };
    let (before, written) = words.split_at(place + 1);
    let Some(path) = config_path(written) else {
        return Ok(words.clone());
    };
    let run = command.find_subcommand(COMMAND).context("there is a command `run`")?;
    // Those that all commands have may also stand before it.
    let of_all = command.get_arguments().filter(|argument| argument.is_global_set());
    let run = run.clone().args(of_all);
    let path = Path::new(&path);
    let text = crate::files::text(path, "configuration file")?;
    let all = [&before[1..place], written].concat();
    let said = of_file(&text, &run, &all).map_err(|error| anyhow!("{}{error}", path.display()))?;
    Ok(before
        .iter()
        .cloned()
        .chain(said)
        .chain(written.iter().cloned())
        .collect())
}

/// Where `run` stands: before it come only options of `forebay` itself.
fn place_of_command(words: &[OsString]) -> Option<usize> {
    let mut index = 1;
    while index < words.len() {
        let word = words[index].to_str()?;
        match word {
            COMMAND => return Some(index),
            "--log" | "--log-format" => index += 2,
            option if option.starts_with('-') => index += 1,
            _ => return None,
        }
    }
    None
}

fn config_path(words: &[OsString]) -> Option<OsString> {
    let mut words = words.iter().take_while(|word| *word != "--");
    while let Some(word) = words.next() {
        if word == OPTION {
            return words.next().cloned();
        }
        let joined = word.to_str().and_then(|word| word.strip_prefix("--config="));
        if let Some(path) = joined {
            return Some(path.into());
        }
    }
    None
}

/// Whether the file that these options name has one of the keys. What is wrong with it is said when it is read for its
/// options.
pub fn has_key(options: &[OsString], keys: &[&str]) -> bool {
    let text = config_path(options).and_then(|path| crate::files::text(Path::new(&path), "configuration file").ok());
    let table = text.and_then(|text| text.parse::<toml::Table>().ok());
    let is_said = |value: &Value| *value != Value::Boolean(false);
    table.is_some_and(|table| keys.iter().any(|key| table.get(*key).is_some_and(is_said)))
}

/// The words that a file stands for, but for options that are written on the command line. The error begins with
/// `:LINE:` or `: `.
fn of_file(text: &str, run: &Command, written: &[OsString]) -> Result<Vec<OsString>, String> {
    let table: toml::Table = text.parse().map_err(|error: toml::de::Error| {
        let before = error.span().map_or(0, |span| span.start.min(text.len()));
        // What is missing at the end of the file is missing in its last line.
        let line = (1 + text[..before].matches('\n').count()).min(text.lines().count().max(1));
        format!(":{line}: {}", error.message())
    })?;
    let mut words = Vec::new();
    for (key, value) in &table {
        let at = format!(":{}: ", line_of(text, key));
        if value.is_table() {
            return Err(format!(
                "{at}`{key}` begins a section; the file has none, options stand one after another, as in `workers = 2`"
            ));
        }
        let argument = argument(run, key).map_err(|message| format!("{at}{message}"))?;
        if is_written(run, argument, written) {
            continue;
        }
        let said = words_of(argument, key, value).map_err(|message| format!("{at}{message}"))?;
        check(argument, &said).map_err(|message| format!("{at}`{key}`: {message}"))?;
        words.extend(said);
    }
    Ok(words)
}

/// The line of a key, from 1: of its value, or of the section of its name.
fn line_of(text: &str, key: &str) -> usize {
    let is_it = |line: &str| {
        let behind = line.trim_start().trim_start_matches(['[', '"', ' ']).strip_prefix(key);
        behind.is_some_and(|behind| behind.trim_start_matches('"').trim_start().starts_with(['=', '.', ']']))
    };
    text.lines().position(is_it).map_or(1, |index| index + 1)
}

fn name(argument: &Arg) -> &str {
    argument.get_long().unwrap_or_else(|| argument.get_id().as_str())
}

fn argument<'a>(run: &'a Command, key: &str) -> Result<&'a Arg, String> {
    let of_command = || {
        let all = run.get_arguments();
        all.filter(|argument| !["config", "help", "version"].contains(&argument.get_id().as_str()))
    };
    of_command().find(|argument| name(argument) == key).ok_or_else(|| {
        // `-D` of the command line is `define` here.
        let by_letter =
            of_command().find(|argument| argument.get_short().is_some_and(|short| key == short.to_string()));
        let near = by_letter
            .map(name)
            .or_else(|| closest_name(key, of_command().map(name)));
        let help = near.map_or(String::new(), |near| format!("; did you mean `{near}`?"));
        format!("`forebay run` has no option `{key}`{help}")
    })
}

/// Whether an option stands on the command line.
fn is_written(run: &Command, argument: &Arg, all: &[OsString]) -> bool {
    let words = all.iter().filter_map(|word| word.to_str());
    let mut words = words.take_while(|word| *word != "--");
    if let Some(long) = argument.get_long() {
        let long = format!("--{long}");
        return words.any(|word| word == long || word.starts_with(&format!("{long}=")));
    }
    match argument.get_short() {
        Some(short) => words.any(|word| word.starts_with(&format!("-{short}"))),
        // The program, which may follow `--grpc` too.
        None => words.any(|word| word.ends_with(".p4") || word.ends_with(".ir")) || has_value(run, argument, all),
    }
}

/// Whether words of the command line are values of this argument, which has no option's name. What is wrong with the
/// command line is said when all of it is read.
fn has_value(run: &Command, argument: &Arg, words: &[OsString]) -> bool {
    let run = run.clone().no_binary_name(true).ignore_errors(true);
    let read = run.try_get_matches_from(words);
    read.is_ok_and(|matches| matches.contains_id(argument.get_id().as_str()))
}

/// The option and what the file says of it.
fn words_of(argument: &Arg, key: &str, value: &Value) -> Result<Vec<OsString>, String> {
    let option = match (argument.get_long(), argument.get_short()) {
        (Some(long), _) => Some(format!("--{long}")),
        (None, Some(short)) => Some(format!("-{short}")),
        (None, None) => None,
    };
    let takes_value = argument.get_action().takes_values();
    let may_stand_alone = !takes_value || argument.get_num_args().is_some_and(|range| range.min_values() == 0);
    let several = matches!(argument.get_action(), ArgAction::Append);
    let with_value = |value: &Value| {
        let text =
            scalar(value).ok_or_else(|| format!("`{key}` needs a string or a number, not {}", value.type_str()))?;
        Ok(match &option {
            // One word, so that a value may begin with a hyphen.
            Some(option) if option.starts_with("--") => vec![OsString::from(format!("{option}={text}"))],
            Some(option) => vec![option.into(), text.into()],
            None => vec![text.into()],
        })
    };
    match value {
        Value::Integer(_) | Value::Float(_) if option.is_none() => {
            Err(format!("`{key}` is a path, in quotation marks"))
        }
        Value::Boolean(false) if may_stand_alone => Ok(Vec::new()),
        Value::Boolean(true) if may_stand_alone => Ok(option.into_iter().map(OsString::from).collect()),
        Value::Boolean(_) => Err(format!("`{key}` needs a value, not true or false")),
        _ if !takes_value => Err(format!("`{key}` is true or false, not {}", value.type_str())),
        Value::Array(list) if several => {
            let words: Result<Vec<Vec<OsString>>, String> = list.iter().map(with_value).collect();
            Ok(words?.concat())
        }
        Value::Array(_) => Err(format!("`{key}` has one value, not a list")),
        one => with_value(one),
    }
}

/// Reads the values of one option as the command line will, where an error would not name the file.
fn check(argument: &Arg, words: &[OsString]) -> Result<(), String> {
    const VALUE: &str = "value";
    if !argument.get_action().takes_values() {
        return Ok(());
    }
    let alone = Arg::new(VALUE)
        .value_parser(argument.get_value_parser().clone())
        .allow_hyphen_values(true);
    let command = Command::new(COMMAND).no_binary_name(true).arg(alone);
    for word in words.iter().filter_map(|word| word.to_str()) {
        let value = match word.strip_prefix("--") {
            Some(long) => long.split_once('=').map(|(_, value)| value),
            None => Some(word).filter(|word| argument.get_short().is_none_or(|short| **word != format!("-{short}"))),
        };
        let Some(value) = value else { continue };
        command.clone().try_get_matches_from([value]).map_err(|error| {
            let said = crate::output::first_line(error).to_string();
            said.replace(&format!(" for '[{VALUE}]'"), "")
        })?;
    }
    Ok(())
}

fn scalar(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Integer(number) => Some(number.to_string()),
        Value::Float(number) => Some(number.to_string()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run() -> Command {
        let flag = |name: &'static str| Arg::new(name).long(name);
        Command::new("run")
            .arg(Arg::new("program"))
            .arg(Arg::new("interfaces").short('i').action(ArgAction::Append))
            .arg(flag("workers").value_parser(clap::value_parser!(u8)))
            .arg(flag("busy-poll").action(ArgAction::SetTrue))
            .arg(flag("grpc").num_args(0..=1))
            .arg(flag("engine").value_parser(["interp", "jit"]))
    }

    fn read(text: &str, written: &[&str]) -> Result<Vec<String>, String> {
        let written: Vec<OsString> = written.iter().map(OsString::from).collect();
        let words = of_file(text, &run(), &written)?;
        Ok(words.iter().map(|word| word.to_string_lossy().into_owned()).collect())
    }

    #[test]
    fn keys_are_options() {
        let text = "program = \"x.p4\"\ninterfaces = [\"1@a\", \"2@b\"]\nworkers = 2\nbusy-poll = true\ngrpc = true\n";
        let mut words = read(text, &[]).expect("a configuration");
        words.sort();
        let mut expected = ["--busy-poll", "--grpc", "-i", "1@a", "-i", "2@b", "x.p4", "--workers=2"];
        expected.sort_unstable();
        assert_eq!(words, expected);
        let others = read(
            "workers = 2\ngrpc = \"0.0.0.0:9559\"\nbusy-poll = false\n",
            &["--workers", "4"],
        );
        assert_eq!(others.expect("a configuration"), ["--grpc=0.0.0.0:9559"]);
    }

    #[test]
    fn options_of_all_commands_are_options_too() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("switch.toml");
        std::fs::write(&path, "log-format = \"json\"\nworkers = 2\n").expect("a folder");
        let forebay = Command::new("forebay")
            .arg(Arg::new("log_format").long("log-format").global(true))
            .subcommand(run());
        let path = path.to_string_lossy().into_owned();
        let expanded = |before: &[&str]| {
            let words = [&["forebay"], before, &["run", "--config", &path]].concat();
            let words = expand(words.iter().map(OsString::from).collect(), &forebay).expect("a configuration");
            let mut words: Vec<String> = words.iter().map(|word| word.to_string_lossy().into_owned()).collect();
            words.retain(|word| word.contains('=') && !word.contains('/'));
            words
        };
        assert_eq!(expanded(&[]), ["--log-format=json", "--workers=2"]);
        assert_eq!(expanded(&["--log-format", "text"]), ["--workers=2"]);
    }

    #[test]
    fn a_program_on_the_command_line_takes_the_place_of_that_of_the_file() {
        let read = |written: &[&str]| read("program = \"x.p4\"\n", written).expect("a configuration");
        for program in ["y.p4", "out/ir.txt", "y.json", "y"] {
            assert!(read(&["--workers", "2", program]).is_empty(), "{program}");
            assert!(read(&[program, "--workers=2"]).is_empty(), "{program}");
        }
        assert_eq!(read(&["--workers", "2"]), ["x.p4"]);
        assert_eq!(read(&["-i", "1@pcap:y.json,"]), ["x.p4"]);
    }

    #[test]
    fn mistakes_have_a_line_and_a_hint() {
        let error = |text: &str| read(text, &[]).expect_err(text);
        assert_eq!(
            error("workers = 1\n\nwrokers = 2\n"),
            ":3: `forebay run` has no option `wrokers`; did you mean `workers`?"
        );
        let of_letter = ":1: `forebay run` has no option `i`; did you mean `interfaces`?";
        assert_eq!(error("i = [\"1@a\"]\n"), of_letter);
        let of_list = ":1: `engine`: invalid value 'fast'; possible values: interp, jit";
        assert_eq!(error("engine = \"fast\"\n"), of_list);
        assert_eq!(
            error("busy-poll = 3\n"),
            ":1: `busy-poll` is true or false, not integer"
        );
        assert_eq!(error("workers = [1]\n"), ":1: `workers` has one value, not a list");
        assert_eq!(
            error("workers = true\n"),
            ":1: `workers` needs a value, not true or false"
        );
        for section in [
            "[run]\n",
            "[ run ]\nworkers = 2\n",
            "[[run]]\n",
            "run.workers = 2\n",
            "run = { workers = 2 }\n",
        ] {
            let message = error(&format!("workers = 1\n\n{section}"));
            assert!(message.starts_with(":3: "), "{message}");
        }
        assert!(error("[run]\nworkers = 2\n").contains("`run` begins a section"));
        assert!(error("workers = \n").starts_with(":1: "));
        assert!(error("workers = 1\n\nworkers = 2\n").starts_with(":3: "));
        assert!(error("workers = 1\ninterfaces = [\"1@a\"\n").starts_with(":2: "));
        assert_eq!(
            error("\nworkers = \"two\"\n"),
            ":2: `workers`: invalid value 'two': expected a whole number"
        );
        assert!(error("workers = -1\n").starts_with(":1: `workers`: invalid value '-1'"));
        assert_eq!(error("program = 5\n"), ":1: `program` is a path, in quotation marks");
    }

    #[test]
    fn the_file_is_looked_for_behind_the_command() {
        let words = |line: &str| line.split(' ').map(OsString::from).collect::<Vec<_>>();
        assert_eq!(place_of_command(&words("forebay --log error run --config x")), Some(3));
        assert_eq!(place_of_command(&words("forebay --log-format json run")), Some(3));
        assert_eq!(place_of_command(&words("forebay test run")), None);
        assert_eq!(config_path(&words("run --config=a.toml")), Some("a.toml".into()));
        assert_eq!(config_path(&words("run -- --config a.toml")), None);
    }
}
