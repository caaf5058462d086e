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
            output::print_json(&in_order().into_iter().map(json).collect())?
        } else {
            output::print(&in_order().into_iter().map(line).collect::<String>())?
        }
        return Ok(Status::Good);
    };
    match codes::find(code) {
        Some(info) if arguments.json => output::print_json(&json(info))?,
        Some(info) => output::print(&format!("{}: {}\n\n{}\n", info.code, info.title, info.explanation))?,
        None => bail!("there is no code `{code}`; {}", advice(code)),
    }
    Ok(Status::Good)
}

/// All codes by areas, which their first two digits are: errors, then warnings.
fn in_order() -> Vec<&'static CodeInfo> {
    let mut all: Vec<&CodeInfo> = codes::all().collect();
    all.sort_by_key(|info| {
        let (kind, number) = info.code.as_str().split_at(1);
        let (area, number) = number.split_at(2);
        (area, kind, number)
    });
    all
}

/// What may be meant by a code that there is not: one with another letter, or none.
fn advice(code: &str) -> String {
    let digits = code.trim_start_matches(|letter: char| !letter.is_ascii_digit());
    let meant: Vec<String> = ["E", "W"]
        .iter()
        .filter_map(|kind| codes::find(&format!("{kind}{digits}")))
        .map(|info| format!("`{}`", info.code))
        .collect();
    if meant.is_empty() {
        "`forebay explain` lists all".to_string()
    } else {
        format!("did you mean {}?", meant.join(" or "))
    }
}

fn json(info: &CodeInfo) -> Value {
    json!({ "code": info.code.to_string(), "title": info.title, "explanation": info.explanation })
}

fn line(info: &CodeInfo) -> String {
    format!("{}  {}\n", info.code, info.title)
}
