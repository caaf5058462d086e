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
    /// Runs, or searches, of each combination of parameters, with seeds that follow one another: the value is their
    /// mean.
    #[serde(default = "one_seed")]
    pub seeds: u64,
    /// What the model's values are multiplied with, before they are compared: units that are all alike.
    #[serde(default = "one")]
    pub scale: f64,
    /// Closed formulas printed beside the simulation, by name.
    #[serde(default)]
    pub formulas: Vec<String>,
    /// The parameter along the charts' horizontal axis.
    pub x: String,
    /// What that parameter is, with its unit.
    pub x_label: String,
    /// Parameters that distinguish lines.
    #[serde(default)]
    pub lines: Vec<String>,
    /// The parameter whose values stand beside one another in a table of their own, which has the formula but once;
    /// none when it is empty.
    #[serde(default)]
    pub columns: String,
    /// The unit of the values.
    pub unit: String,
    /// Whether a chart shows the rates that went in and came out over time, of the first run.
    #[serde(default)]
    pub over_time: bool,
    /// Parameters of the scenario that were fitted to published values.
    #[serde(default)]
    pub fitted: Vec<Fitted>,
    /// Parameters of the scenario, or properties of it, that no publication gives.
    #[serde(default)]
    pub assumed: Vec<Assumed>,
    /// Parameters for a quick run.
    #[serde(default)]
    pub quick: BTreeMap<String, String>,
}

/// A parameter that was fitted.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Fitted {
    /// Its name in the scenario.
    pub parameter: String,
    /// What it is.
    pub what: String,
    /// The published values that it was fitted to.
    pub to: String,
}

/// Something that was assumed.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Assumed {
    /// What it is.
    pub what: String,
    /// Why, or that nothing is published.
    pub because: String,
}

fn one() -> f64 {
    1.0
}

fn one_seed() -> u64 {
    1
}

impl Definition {
    /// Reads `experiment.toml`.
    ///
    /// # Errors
    /// What is wrong, with its line.
    pub fn read(text: &str) -> Result<Definition, String> {
        toml::from_str(text).map_err(|error| {
            let line = error
                .span()
                .map_or(1, |span| 1 + text[..span.start].matches('\n').count());
            format!("experiment.toml:{line}: {}", error.message().trim())
        })
    }
}
