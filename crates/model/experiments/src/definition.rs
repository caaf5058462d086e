//! What an experiment compares.

use forebay_sim::{Problem, key_place, line_of, number, suggestion};
use serde::Deserialize;
use std::collections::BTreeMap;

/// The most runs of each combination of parameters.
const SEEDS_MAX: u64 = 1_000;

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
        let wrong = |problem: Problem| format!("experiment.toml:{problem}");
        let definition: Definition = toml::from_str(text).map_err(|error| wrong(Problem::of_toml(text, &error)))?;
        match definition.wrong_number() {
            None => Ok(definition),
            Some((key, message)) => {
                let line = key_place(text, 0, key).map(|place| line_of(text, place.start));
                Err(wrong(Problem::new(line, message)))
            }
        }
    }

    /// A key whose number makes no sense, and what would be right.
    fn wrong_number(&self) -> Option<(&'static str, String)> {
        let (seeds, scale) = (self.seeds, self.scale);
        if !(1..=SEEDS_MAX).contains(&seeds) {
            return Some(("seeds", format!("seeds is {seeds}; it is 1 to {SEEDS_MAX}")));
        }
        let is_factor = scale > 0.0 && scale.is_finite();
        (!is_factor).then(|| {
            let message = format!("scale is {}; it is finite and more than 0", number(scale));
            ("scale", message)
        })
    }

    /// Whether axis, lines and columns are parameters of the cells: charts and tables without them show nothing of what they
    /// are about.
    pub(crate) fn check_axes(&self, parameters: &BTreeMap<String, String>) -> Result<(), String> {
        let lines = self.lines.iter().map(|name| ("lines", name));
        let columns = Some(("columns", &self.columns)).filter(|(_, name)| !name.is_empty());
        let mut named = [("x", &self.x)].into_iter().chain(lines).chain(columns);
        match named.find(|(_, name)| !parameters.contains_key(*name)) {
            None => Ok(()),
            Some((key, name)) => Err(format!(
                "experiment.toml: {key} names {name:?}, which is no parameter of cells.csv{}",
                suggestion(name, parameters.keys().map(String::as_str))
            )),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: &str =
        "title = \"t\"\nsource = \"s\"\nx = \"SIZE\"\nx_label = \"size\"\nlines = [\"N\"]\nunit = \"Gbps\"\n";

    #[test]
    fn mistakes_have_plain_words_and_lines() {
        for (from, to, expected) in [
            (
                "\"t\"",
                "3",
                "experiment.toml:1: a text in quotes is expected here, not 3",
            ),
            (
                "lines",
                "line",
                "experiment.toml:5: there is no key `line` here; did you mean `lines`?",
            ),
            ("unit = \"Gbps\"\n", "", "experiment.toml:1: the key `unit` is missing"),
            (
                "unit",
                "seeds = 9223372036854775807\nunit",
                "experiment.toml:6: seeds is 9223372036854775807; it is 1 to 1000",
            ),
            (
                "unit",
                "seeds = 0\nunit",
                "experiment.toml:6: seeds is 0; it is 1 to 1000",
            ),
            (
                "unit",
                "scale = nan\nunit",
                "experiment.toml:6: scale is NaN; it is finite and more than 0",
            ),
        ] {
            let said = Definition::read(&GOOD.replace(from, to)).expect_err("a mistake");
            assert!(said.starts_with(expected), "{said}");
        }
    }

    #[test]
    fn axes_are_parameters_of_the_cells() {
        let named = ["N", "SIZE"].map(|name| (name.to_string(), "1".to_string()));
        let parameters = BTreeMap::from(named);
        let axes = |text: &str| Definition::read(text).expect("right").check_axes(&parameters);
        assert_eq!(axes(GOOD), Ok(()));
        for (from, to, expected) in [
            (
                "\"SIZE\"",
                "\"SIZES\"",
                "x names \"SIZES\", which is no parameter of cells.csv; did you mean SIZE?",
            ),
            (
                "[\"N\"]",
                "[\"N\", \"GBPS\"]",
                "lines names \"GBPS\", which is no parameter",
            ),
            (
                "unit",
                "columns = \"GBPS\"\nunit",
                "columns names \"GBPS\", which is no parameter",
            ),
        ] {
            let said = axes(&GOOD.replace(from, to)).expect_err("no parameter");
            assert!(said.contains(expected), "{said}");
        }
    }
}
