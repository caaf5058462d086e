//! `forebay explain`: what an error code means.

use super::Status;
use crate::output;
use anyhow::{Result, bail};
use forebay_syntax::codes::{self, CodeInfo};

/// Arguments of `forebay explain`.
#[derive(clap::Args)]
pub struct Arguments {
    /// The code, for example E0101; without, all codes are listed
    code: Option<String>,
}

/// Explains a code or lists all.
pub fn run(arguments: &Arguments) -> Result<Status> {
    match &arguments.code {
        None => output::print(&codes::all().map(line).collect::<String>())?,
        Some(code) => match codes::find(code) {
            Some(info) => output::print(&format!("{}: {}\n\n{}\n", info.code, info.title, info.explanation))?,
            None => bail!("there is no code `{code}`; `forebay explain` lists all"),
        },
    }
    Ok(Status::Good)
}

fn line(info: &CodeInfo) -> String {
    format!("{}  {}\n", info.code, info.title)
}
