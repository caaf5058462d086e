//! What became of each program, and the file that remembers it.

use super::corpus::Category;
use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

/// What became of one program.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// As it should be.
    Fine,
    /// Not as it should be, with the reason in a line or a few.
    Failed(String),
    /// The child process ended by a signal or a panic.
    Crashed(String),
    /// The child process did not end in time.
    TimedOut,
}

impl Outcome {
    /// Whether it is as it should be.
    pub fn is_fine(&self) -> bool {
        *self == Outcome::Fine
    }
}

/// Outcomes by program name.
pub type Outcomes = BTreeMap<String, Outcome>;

/// The commits that a run compared.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Commits {
    /// Abbreviated hash and date of Forebay's commit; none outside a checkout.
    pub forebay: Option<String>,
    /// The same of p4c's.
    pub p4c: Option<String>,
}

impl Commits {
    /// The commits that two folders are at.
    pub fn of(forebay: &Path, p4c: &Path) -> Commits {
        Commits {
            forebay: commit(forebay),
            p4c: commit(p4c),
        }
    }
}

/// Abbreviated hash and date of the commit that a folder is at.
fn commit(folder: &Path) -> Option<String> {
    let arguments = ["log", "-1", "--abbrev=10", "--format=%h %cs"];
    let output = Command::new("git")
        .arg("-C")
        .arg(folder)
        .args(arguments)
        .output()
        .ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    (output.status.success() && !text.trim().is_empty()).then(|| text.trim().to_string())
}

/// What became of all programs.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Record {
    pub commits: Commits,
    /// Outcomes by category name.
    pub categories: BTreeMap<String, Outcomes>,
}

impl Record {
    /// What was recorded; empty when nothing was yet.
    pub fn read(path: &Path) -> Result<Record> {
        match std::fs::read_to_string(path) {
            Ok(text) => serde_json::from_str(&text).with_context(|| format!("{} is damaged", path.display())),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(Record::default()),
            Err(error) => Err(error).with_context(|| path.display().to_string()),
        }
    }

    /// Writes the record.
    pub fn write(&self, path: &Path) -> Result<()> {
        let text = serde_json::to_string_pretty(self)? + "\n";
        std::fs::write(path, text).with_context(|| path.display().to_string())
    }

    /// Adds a category.
    pub fn insert(&mut self, category: Category, outcomes: Outcomes) {
        self.categories.insert(category.name().to_string(), outcomes);
    }

    /// The outcomes of a category.
    pub fn get(&self, category: Category) -> Option<&Outcomes> {
        self.categories.get(category.name())
    }

    /// Programs that were fine in `before` and are not any more, by category.
    pub fn regressions(&self, before: &Record) -> Vec<(String, String)> {
        let mut regressions = Vec::new();
        for (category, outcomes) in &self.categories {
            let Some(old) = before.categories.get(category) else {
                continue;
            };
            for (name, outcome) in outcomes {
                if !outcome.is_fine() && old.get(name).is_some_and(Outcome::is_fine) {
                    regressions.push((category.clone(), name.clone()));
                }
            }
        }
        regressions
    }
}
