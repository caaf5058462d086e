//! How tests went, for people and as JSON.

use crate::commands::Status;
use forebay_stf::Outcome;
use serde_json::{Value, json};
use std::fmt::Write;
use std::path::{Path, PathBuf};

/// How much is said of a test.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Detail {
    /// Nothing of those that pass.
    Quiet,
    /// A line, and what failed.
    Normal,
    /// Also what commands say and what was dropped.
    Verbose,
}

/// A test and how it went.
pub struct Ran {
    /// The STF file.
    pub path: PathBuf,
    /// The error is why it could not be run.
    pub outcome: Result<Outcome, String>,
    /// The paths of the packets, if requested.
    pub trace: String,
}

impl Ran {
    /// A test that could not be run.
    pub fn unable(path: PathBuf, error: String) -> Ran {
        let (outcome, trace) = (Err(error), String::new());
        Ran { path, outcome, trace }
    }

    /// Whether it passed, failed, or could not be run.
    pub fn status(&self) -> Status {
        match &self.outcome {
            Ok(outcome) if outcome.passed() => Status::Good,
            Ok(outcome) if !outcome.is_invalid() => Status::Bad,
            _ => Status::Unable,
        }
    }

    /// Whether it was run, and sent no packet.
    pub fn sends_nothing(&self) -> bool {
        self.outcome.as_ref().is_ok_and(|outcome| outcome.packets_in == 0)
    }

    /// What is wrong, with places.
    pub fn messages(&self) -> Vec<String> {
        let file = self.path.display().to_string();
        match &self.outcome {
            Err(error) => vec![error.clone()],
            Ok(outcome) => outcome.failures.iter().map(|failure| failure.in_file(&file)).collect(),
        }
    }

    /// What is worth knowing beside that, such as why packets were dropped.
    pub fn notes(&self) -> Vec<String> {
        let file = self.path.display().to_string();
        let notes = self.outcome.iter().flat_map(|outcome| &outcome.notes);
        notes.map(|note| format!("note: {}", note.in_file(&file))).collect()
    }

    /// A line for the test, and below it what failed and what is worth knowing.
    pub fn text(&self, detail: Detail) -> String {
        let verdict = match self.status() {
            Status::Good if detail == Detail::Quiet => return String::new(),
            Status::Good => "passed",
            Status::Bad => "FAILED",
            Status::Unable => "WRONG ",
        };
        let mut text = format!("{}{verdict}  {}", self.trace, self.path.display());
        match &self.outcome {
            Err(error) => {
                let _ = writeln!(text, "\n{}", indented(error));
            }
            Ok(outcome) => self.write_outcome(&mut text, outcome, detail),
        }
        text
    }

    fn write_outcome(&self, text: &mut String, outcome: &Outcome, detail: Detail) {
        let _ = writeln!(
            text,
            " (packets: {} in, {} out)",
            outcome.packets_in, outcome.packets_out
        );
        let notes = if detail == Detail::Verbose || !outcome.passed() {
            self.notes()
        } else {
            Vec::new()
        };
        for line in self.messages().into_iter().chain(notes) {
            let _ = writeln!(text, "{}", indented(&line));
        }
    }

    /// The same as an object.
    pub fn json(&self, program: &Path) -> Value {
        let mut json = match &self.outcome {
            Err(error) => json!({ "passed": false, "error": error }),
            Ok(outcome) => outcome_json(outcome),
        };
        json["program"] = json!(program.display().to_string());
        json["test"] = json!(self.path.display().to_string());
        json
    }
}

fn outcome_json(outcome: &Outcome) -> Value {
    json!({
        "passed": outcome.passed(),
        "packets_in": outcome.packets_in,
        "packets_out": outcome.packets_out,
        "failures": outcome.failures.iter().map(|failure| json!({
            "line": failure.line,
            "kind": failure.kind.name(),
            "message": failure.message,
        })).collect::<Vec<_>>(),
        "notes": outcome.notes.iter().map(|note| json!({
            "line": note.line,
            "message": note.message,
        })).collect::<Vec<_>>(),
    })
}

fn indented(text: &str) -> String {
    text.lines()
        .map(|line| format!("        {line}"))
        .collect::<Vec<_>>()
        .join("\n")
}
