//! Writing to the standard output without panicking when its reader is gone, and messages to the standard error in one
//! style: `error: `, `warning: `, `note: `, with colours on terminals, as far as `--log` wants them, or with
//! `--log-format json` as objects.

use crate::working;
use anyhow::{Context, Result};
use clap::error::{ContextKind, ContextValue};
use std::ffi::OsStr;
use std::io::{self, ErrorKind, IsTerminal, Write};
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

/// What is said on the standard error: this and all that is graver.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, clap::ValueEnum)]
pub enum LogLevel {
    /// Only what ends a command
    Error,
    /// Also what may be wrong
    Warning,
    /// Also what is good to know
    Info,
}

/// How it is said.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum LogFormat {
    /// For people
    Text,
    /// An object on a line
    Json,
}

static LEVEL: AtomicU8 = AtomicU8::new(LogLevel::Info as u8);
static IS_JSON: AtomicBool = AtomicBool::new(false);

/// Whether the standard output is to have JSON (`--json`), and whether it has anything.
static WANTS_JSON: AtomicBool = AtomicBool::new(false);
static HAS_PRINTED: AtomicBool = AtomicBool::new(false);

/// What clap says of a wrong command line, with a value that is no number named as such: the standard library's words
/// ("invalid digit found in string") are about its parser.
pub fn usage(error: clap::Error) -> clap::Error {
    let source = std::error::Error::source(&error).map(ToString::to_string);
    let reason = match source.as_deref() {
        Some("invalid digit found in string" | "cannot parse integer from empty string") => "expected a whole number",
        Some("number too large to fit in target type") => "the number is too large",
        Some("number too small to fit in target type") => "the number is too small",
        Some("invalid float literal" | "cannot parse float from empty string") => "expected a number",
        Some("number would be zero for non-zero type") => "expected at least 1",
        Some("invalid socket address syntax") => "expected ADDRESS:PORT, as in 127.0.0.1:9100",
        _ => return error,
    };
    let said = |kind| error.get(kind).map(ToString::to_string).unwrap_or_default();
    let (argument, value) = (said(ContextKind::InvalidArg), said(ContextKind::InvalidValue));
    let message =
        format!("invalid value '{value}' for '{argument}': {reason}\n\nFor more information, try '--help'.\n");
    clap::Error::raw(error.kind(), message)
}

/// What clap says, without its advice on usage.
pub fn first_line(error: clap::Error) -> anyhow::Error {
    let possible = match error.get(ContextKind::ValidValue) {
        Some(ContextValue::Strings(values)) if !values.is_empty() => {
            format!("; possible values: {}", values.join(", "))
        }
        _ => String::new(),
    };
    let text = usage(error).to_string();
    let line = text.lines().next().unwrap_or_default();
    anyhow::Error::msg(format!("{}{possible}", line.trim_start_matches("error: ")))
}

/// Sets how much is said from now on, and how.
pub fn set_log(level: LogLevel, format: LogFormat) {
    LEVEL.store(level as u8, Ordering::Relaxed);
    IS_JSON.store(format == LogFormat::Json, Ordering::Relaxed);
}

/// The options by which another command line says as much, in the same way.
pub fn log_options() -> [(&'static str, &'static str); 2] {
    let level = match LEVEL.load(Ordering::Relaxed) {
        level if level == LogLevel::Error as u8 => "error",
        level if level == LogLevel::Warning as u8 => "warning",
        _ => "info",
    };
    let format = if is_json() { "json" } else { "text" };
    [("--log", level), ("--log-format", format)]
}

/// Whether messages of this gravity are said.
pub fn says(level: LogLevel) -> bool {
    level as u8 <= LEVEL.load(Ordering::Relaxed)
}

/// Says what is wrong.
pub fn error(text: &str) {
    labelled(LogLevel::Error, "error", "\x1b[1;31m", text);
}

/// Says what may be wrong.
pub fn warning(text: &str) {
    labelled(LogLevel::Warning, "warning", "\x1b[1;33m", text);
}

/// Says what is good to know.
pub fn note(text: &str) {
    labelled(LogLevel::Info, "note", "\x1b[1;36m", text);
}

/// Prints what is wrong with a command line, or the requested help. Returns the exit code of the process.
pub fn usage_error(error: &clap::Error) -> i32 {
    if is_json() && error.use_stderr() {
        self::error(error.to_string().trim_start_matches("error: ").trim_end())
    } else {
        drop(error.print())
    }
    error.exit_code()
}

/// Says what the compiler has to say: `text` for people, `json` as `forebay check --json` has it.
pub fn diagnostics(text: &str, json: &serde_json::Value) {
    if !is_json() {
        return message(text);
    }
    for diagnostic in json["diagnostics"].as_array().into_iter().flatten() {
        let level = diagnostic["severity"].as_str().unwrap_or("error");
        let mut record = record(level, diagnostic["message"].as_str().unwrap_or_default());
        record["diagnostic"] = diagnostic.clone();
        message(&format!("{record}\n"));
    }
}

fn is_json() -> bool {
    IS_JSON.load(Ordering::Relaxed)
}

/// Says how things are, without a label.
pub fn info(text: &str) {
    if !says(LogLevel::Info) {
        return;
    }
    if is_json() {
        message(&format!("{}\n", record("info", text)))
    } else {
        message(&format!("{text}\n"))
    }
}

fn labelled(level: LogLevel, label: &str, paint: &str, text: &str) {
    if !says(level) {
        return;
    }
    if is_json() {
        message(&format!("{}\n", record(label, text)))
    } else {
        message(&painted(label, paint, text))
    }
}

/// A message as an object.
fn record(level: &str, text: &str) -> serde_json::Value {
    serde_json::json!({ "time": now(), "level": level, "message": text })
}

/// The time in UTC, in the form of RFC 3339.
pub fn now() -> String {
    forebay_telemetry::rfc3339(SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default())
}

fn painted(label: &str, paint: &str, text: &str) -> String {
    if colour() {
        format!("{paint}{label}\x1b[0m: {text}\n")
    } else {
        format!("{label}: {text}\n")
    }
}

/// From now on the standard output has JSON, also when a command cannot be done.
pub fn expect_json() {
    WANTS_JSON.store(true, Ordering::Relaxed);
}

/// Writes why a command cannot be done, where JSON is expected and nothing was written before.
pub fn print_failure(failure: &serde_json::Value) {
    if WANTS_JSON.load(Ordering::Relaxed) && !HAS_PRINTED.load(Ordering::Relaxed) {
        // The command has failed already; the message on the standard error says why.
        let _ = print_json(failure);
    }
}

/// Takes note that something is on the standard output.
pub fn note_printed() {
    HAS_PRINTED.store(true, Ordering::Relaxed);
}

/// Writes the text.
pub fn print(text: &str) -> Result<()> {
    note_printed();
    working::make_room();
    let mut stdout = io::stdout().lock();
    stdout
        .write_all(text.as_bytes())
        .and_then(|()| stdout.flush())
        .context("cannot write to the standard output")
}

/// Writes a JSON document on several lines.
pub fn print_json(value: &serde_json::Value) -> Result<()> {
    print(&format!("{value:#}\n"))
}

/// Writes to the standard error. Errors are ignored, because there is no other place to report them.
pub fn message(text: &str) {
    working::make_room();
    let _ = io::stderr().write_all(text.as_bytes());
}

/// Writes over the line on the standard error that says what is being done, if a person reads it; an empty text removes
/// it.
pub fn progress(text: &str) {
    if takes_sequences(&io::stderr()) {
        message(&format!("\r\x1b[K{text}"));
    }
}

/// Whether the error is that the reader of the standard output has gone (`forebay ... | head`).
pub fn is_broken_pipe(error: &anyhow::Error) -> bool {
    error
        .downcast_ref::<io::Error>()
        .is_some_and(|error| error.kind() == ErrorKind::BrokenPipe)
}

/// Whether messages on the standard error may have colours.
pub fn colour() -> bool {
    takes_sequences(&io::stderr()) && std::env::var_os("NO_COLOR").is_none()
}

/// Whether this is a terminal that knows sequences for colours and for moving the cursor.
pub fn takes_sequences(output: &impl IsTerminal) -> bool {
    output.is_terminal() && !is_dumb(std::env::var_os("TERM").as_deref())
}

/// Whether a terminal of this sort (`TERM`) prints sequences as text: that of an editor, for example.
fn is_dumb(sort: Option<&OsStr>) -> bool {
    sort.is_some_and(|sort| sort == "dumb")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_dumb_terminal_gets_no_sequences() {
        assert!(is_dumb(Some(OsStr::new("dumb"))));
        assert!(!is_dumb(Some(OsStr::new("xterm-256color"))) && !is_dumb(None));
    }

    #[test]
    fn a_record_is_an_object_on_a_line() {
        let line = record("warning", "two\nlines").to_string();
        assert_eq!(line.lines().count(), 1);
        let record: serde_json::Value = serde_json::from_str(&line).expect("JSON");
        assert_eq!(
            (record["level"].as_str(), record["message"].as_str()),
            (Some("warning"), Some("two\nlines"))
        );
        assert!(record["time"].as_str().is_some_and(|time| time.ends_with('Z')));
    }
}
