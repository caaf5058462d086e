//! Reading STF files.

use anyhow::{Context, Result};
use forebay_pipeline::Pipeline;
use forebay_stf::{Applied, Controller, Test};
use std::fmt::Write;
use std::path::Path;
use std::sync::Arc;

/// Reads a test. The error lists everything that is wrong with it, one on a line.
pub fn read(path: &Path) -> Result<Test> {
    let text = std::fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
    forebay_stf::parse(&text).map_err(|errors| {
        let mut lines = String::from("this is no STF file");
        for error in errors {
            let _ = write!(lines, "\n  {}:{error}", path.display());
        }
        anyhow::Error::msg(lines)
    })
}

/// Applies the commands of an STF file that configure a switch; those about packets are passed over.
pub fn apply_entries(path: &Path, pipeline: &Arc<Pipeline>) -> Result<()> {
    let mut controller = Controller::new(pipeline.clone());
    for command in read(path)?.commands {
        if command.value.is_traffic() {
            continue;
        }
        if let Applied::Refused(message) | Applied::Differs(message) = controller.apply(&command.value) {
            anyhow::bail!("{}:{}: {message}", path.display(), command.line);
        }
    }
    Ok(())
}
