//! Tables for people, JSON for programs.

use crate::output;
use anyhow::Result;
use forebay_shell::{Record, listing};
use serde_json::{Value, json};

/// How answers are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Format {
    is_json: bool,
}

impl Format {
    /// JSON, or tables.
    pub fn new(is_json: bool) -> Format {
        Format { is_json }
    }

    /// Whether it is JSON.
    pub fn is_json(self) -> bool {
        self.is_json
    }

    /// Writes records: tables, or an array.
    pub fn records(self, records: &[Record]) -> Result<()> {
        if self.is_json {
            output::print_json(&listing::json(records))
        } else if records.is_empty() {
            output::info("there is none");
            Ok(())
        } else {
            output::print(&listing::text(records))
        }
    }

    /// Writes records that are not the last ones: tables, or an object on a line for each.
    pub fn lines(self, records: &[Record]) -> Result<()> {
        if self.is_json {
            output::print(
                &records
                    .iter()
                    .map(|record| format!("{}\n", record.json()))
                    .collect::<String>(),
            )
        } else {
            output::print(&listing::text(records))
        }
    }

    /// Writes what is worth knowing of one thing: a sentence, or an object.
    pub fn fact(self, sentence: &str, object: &Value) -> Result<()> {
        if self.is_json {
            output::print_json(object)
        } else {
            output::print(&format!("{sentence}\n"))
        }
    }

    /// Says that something was changed; people hear of it only when they did not say themselves how much.
    pub fn changed(self, updates: usize, is_counted: bool) -> Result<()> {
        match (self.is_json, is_counted) {
            (true, _) => output::print_json(&json!({ "updates": updates })),
            (false, true) => output::print(&format!("{updates} changed\n")),
            (false, false) => Ok(()),
        }
    }
}
