//! What an experiment compares.

use serde::Deserialize;
use std::collections::BTreeMap;

/// An experiment, as `experiment.toml` says.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Definition {
    /// What it is, with the number of the table or figure.
    pub title: String,
    /// Where the published values come from.
    pub source: String,
    /// What to say of the result: calibration, what is left out.
    #[serde(default)]
    pub notes: String,
    /// Whether the highest load without loss is searched; a single run otherwise.
    #[serde(default)]
    pub search: bool,
    /// What the model's values are multiplied with, before they are compared: units that are all alike.
    #[serde(default = "one")]
    pub scale: f64,
    /// The closed formula printed beside the simulation.
    #[serde(default)]
    pub formula: String,
    /// The parameter along the chart's horizontal axis, and those that make its lines.
    pub x: String,
    /// Parameters that tell lines apart.
    #[serde(default)]
    pub lines: Vec<String>,
    /// The parameter whose values stand beside one another in a table of their own, which has the formula but once; none
    /// when it is empty.
    #[serde(default)]
    pub columns: String,
    /// The unit of the values.
    pub unit: String,
    /// Parameters for a quick run.
    #[serde(default)]
    pub quick: BTreeMap<String, String>,
}

fn one() -> f64 {
    1.0
}

impl Definition {
    pub(crate) fn read(text: &str) -> Result<Definition, String> {
        toml::from_str(text).map_err(|error| {
            let line = error
                .span()
                .map_or(1, |span| 1 + text[..span.start].matches('\n').count());
            format!("experiment.toml:{line}: {}", error.message().trim())
        })
    }
}
