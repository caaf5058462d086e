//! Parameters of a scenario, which make it many.
//!
//! ```toml
//! [parameters]
//! N = [2, 4, 8]      # three scenarios
//! S = 22
//! ```
//!
//! Everywhere else in the file `${N}` stands for the value, as it is written. That is done with the text, before it is
//! read, and lines stay what they are.

use crate::scenario::Problem;
use std::collections::BTreeMap;

/// A scenario with one value for each parameter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Case {
    /// The values, as they stand in the text.
    pub values: BTreeMap<String, String>,
    /// The scenario's text.
    pub text: String,
}

impl Case {
    /// `N=2 S=22`; empty without parameters.
    pub fn name(&self) -> String {
        let values: Vec<String> = self
            .values
            .iter()
            .map(|(name, value)| format!("{name}={value}"))
            .collect();
        values.join(" ")
    }
}

/// The most combinations of values.
const CASES_MAX: usize = 100_000;

/// Every combination of the parameters' values, the last parameter by name changing fastest. `given` replaces what the
/// file says.
///
/// # Errors
/// When the parameters cannot be read, when one is given that there is none of, or when one has no value.
pub fn expand(text: &str, given: &[(String, String)]) -> Result<Vec<Case>, Problem> {
    let mut parameters = declared(text)?;
    for (name, value) in given {
        if !parameters.contains_key(name) {
            let known: Vec<&str> = parameters.keys().map(String::as_str).collect();
            return Err(Problem::new(
                None,
                format!("there is no parameter {name}; there are: {}", known.join(", ")),
            ));
        }
        parameters.insert(
            name.clone(),
            value.split(',').map(|one| one.trim().to_string()).collect(),
        );
    }
    let count = parameters.values().map(Vec::len).try_fold(1, usize::checked_mul);
    if count.is_none_or(|count| count > CASES_MAX) {
        return Err(Problem::new(
            None,
            format!("more than {CASES_MAX} combinations of parameters"),
        ));
    }
    let mut cases = vec![BTreeMap::new()];
    for (name, values) in &parameters {
        let with = |case: &BTreeMap<String, String>, value: &String| {
            let mut case = case.clone();
            case.insert(name.clone(), value.clone());
            case
        };
        cases = cases
            .iter()
            .flat_map(|case| values.iter().map(move |value| with(case, value)))
            .collect();
    }
    let case = |values: BTreeMap<String, String>| Case {
        text: substitute(text, &values),
        values,
    };
    Ok(cases.into_iter().map(case).collect())
}

/// The lines of the table `[parameters]`, with those around it blank, so that errors have the right line.
fn declared(text: &str) -> Result<BTreeMap<String, Vec<String>>, Problem> {
    let mut inside = false;
    let mut section = String::new();
    for line in text.lines() {
        if line.trim_start().starts_with('[') {
            inside = line.trim() == "[parameters]" || (line.trim_start().starts_with("[parameters]"));
        } else if inside {
            section.push_str(line);
        }
        section.push('\n');
    }
    let table: toml::Table = toml::from_str(&section).map_err(|error| Problem::of_toml(&section, &error))?;
    let mut parameters = BTreeMap::new();
    for (name, value) in table {
        let values: Vec<String> = match &value {
            toml::Value::Array(values) => values.iter().map(written).collect(),
            one => vec![written(one)],
        };
        if values.is_empty() {
            return Err(Problem::new(None, format!("parameter {name} has no value")));
        }
        parameters.insert(name, values);
    }
    Ok(parameters)
}

/// A string without its quotes, anything else as it is written.
fn written(value: &toml::Value) -> String {
    match value {
        toml::Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

fn substitute(text: &str, values: &BTreeMap<String, String>) -> String {
    let put = |text: String, (name, value): (&String, &String)| text.replace(&format!("${{{name}}}"), value);
    values.iter().fold(text.to_string(), put)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_combination_is_a_case() {
        let text = "a = ${N}\n[parameters]\nN = [1, 2]\nKIND = [\"x\", \"y\"]\n[other]\nb = \"${KIND}${N}\"\n";
        let cases = expand(text, &[]).unwrap();
        let names: Vec<String> = cases.iter().map(Case::name).collect();
        assert_eq!(names, ["KIND=x N=1", "KIND=x N=2", "KIND=y N=1", "KIND=y N=2"]);
        assert!(cases[3].text.contains("a = 2\n") && cases[3].text.contains("b = \"y2\""));
    }

    #[test]
    fn given_values_replace_the_files() {
        let cases = expand("[parameters]\nN = 1\n", &[("N".to_string(), "4,8".to_string())]).unwrap();
        assert_eq!(cases.iter().map(Case::name).collect::<Vec<_>>(), ["N=4", "N=8"]);
        let wrong = expand("[parameters]\nN = 1\n", &[("M".to_string(), "4".to_string())]);
        assert!(wrong.unwrap_err().message.contains("no parameter M"));
    }

    #[test]
    fn a_mistake_has_its_line() {
        assert_eq!(expand("x = 1\n[parameters]\nN = \n", &[]).unwrap_err().line, Some(3));
    }
}
