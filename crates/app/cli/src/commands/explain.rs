//! `forebay explain`: what an error code means.

use super::Status;
use crate::output;
use anyhow::{Result, bail};
use forebay_syntax::codes::{self, CodeInfo};
use serde_json::{Value, json};

/// Arguments of `forebay explain`.
#[derive(clap::Args)]
#[command(after_help = "\
Example:
  forebay explain E0301")]
pub struct Arguments {
    /// The code, for example E0101; without, all codes are listed
    code: Option<String>,
    /// Print code, title and explanation as JSON
    #[arg(long)]
    json: bool,
}

/// Explains a code or lists all.
pub fn run(arguments: &Arguments) -> Result<Status> {
    let Some(code) = &arguments.code else {
        if arguments.json {
            output::print_json(&codes::all().map(json).collect())?
        } else {
            output::print(&codes::all().map(line).collect::<String>())?
        }
        return Ok(Status::Good);
    };
    match codes::find(code) {
        Some(info) if arguments.json => output::print_json(&json(info))?,
        Some(info) => output::print(&format!("{}: {}\n\n{}\n", info.code, info.title, info.explanation))?,
        None => bail!("there is no code `{code}`; `forebay explain` lists all"),
    }
    Ok(Status::Good)
}

fn json(info: &CodeInfo) -> Value {
    json!({ "code": info.code.to_string(), "title": info.title, "explanation": info.explanation })
}

fn line(info: &CodeInfo) -> String {
    format!("{}  {}\n", info.code, info.title)
}
