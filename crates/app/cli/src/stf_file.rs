//! Reading STF files.

use crate::files;
use anyhow::{Result, anyhow};
use forebay_entries::{Applied, Controller, Test};
use forebay_pipeline::Pipeline;
use std::path::Path;
use std::sync::Arc;

/// Most mistakes that a message lists.
const MAX_LISTED: usize = 10;

/// Reads a test. The error lists what is wrong with it, one on a line.
pub fn read(path: &Path) -> Result<Test> {
    parse(path, &files::text(path, "STF file")?)
}

/// Reads a test that is the text of a file.
pub fn parse(path: &Path, text: &str) -> Result<Test> {
    forebay_entries::parse(text).map_err(|errors| {
        let lines = errors.iter().map(|error| format!("{}:{error}", path.display()));
        let what = if forebay_entries::are_commands(text) {
            "the STF file is not written correctly"
        } else {
            "this is no STF file"
        };
        anyhow!("{what}{}", listed(lines.collect()))
    })
}

/// Lines of a message, each below the last, as far as they are not too many.
pub fn listed(mut lines: Vec<String>) -> String {
    let more = lines.len().saturating_sub(MAX_LISTED);
    lines.truncate(MAX_LISTED);
    if more > 0 {
        lines.push(format!("and {more} more"));
    }
    lines.iter().map(|line| format!("\n  {line}")).collect()
}

/// Applies the commands of an STF file that configure a switch; those about packets are passed over. Returns what is
/// wrong with those that the program refuses.
pub fn apply(path: &Path, test: &Test, pipeline: &Arc<Pipeline>) -> Vec<String> {
    let mut controller = Controller::new(pipeline.clone());
    let mut refused = Vec::new();
    for command in &test.commands {
        if command.value.is_traffic() {
            continue;
        }
        if let Applied::Refused(message) | Applied::Differs(message) = controller.apply(&command.value) {
            refused.push(format!("{}:{}: {message}", path.display(), command.line));
        }
    }
    refused
}
