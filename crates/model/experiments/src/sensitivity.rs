//! How much headlines hang on what was chosen: each with one thing changed.

use crate::cells::Cell;
use crate::metrics::{Found, Value};
use crate::report::{Row, number, put};
use forebay_sim::{Setup, Variation};
use serde::Serialize;
use std::collections::BTreeMap;

/// A headline that is simulated with one thing changed.
pub(crate) struct Varied {
    /// Index of its cell.
    pub(crate) cell: usize,
    what: Variation,
    pub(crate) setup: Setup,
}

/// A headline with one thing changed.
#[derive(Clone, Debug, Serialize)]
pub struct Sensitivity {
    /// Of the headline.
    pub parameters: BTreeMap<String, String>,
    /// What is meant.
    pub metric: String,
    /// What is changed.
    pub what: String,
    /// The value then; none when nothing was found.
    pub value: Option<f64>,
    /// A search ended at its highest load.
    pub at_least: bool,
    /// The share by which that is more than the value with nothing changed.
    pub change: Option<f64>,
}

/// All that is changed of a headline, one after the other.
pub(crate) fn varied(cell: usize, setup: &Setup) -> impl Iterator<Item = Varied> + '_ {
    let variations = Variation::usual(setup).into_iter();
    variations.filter_map(move |what| {
        let setup = setup.varied(&what)?.searching_once();
        Some(Varied { cell, what, setup })
    })
}

impl Sensitivity {
    pub(crate) fn of(varied: &Varied, cell: &Cell, row: &Row, found: &Found, scale: f64) -> Sensitivity {
        let value: Option<Value> = found.metric(&cell.metric);
        let scaled = value.map(|value| value.value * scale);
        Sensitivity {
            parameters: cell.parameters.clone(),
            metric: cell.metric.clone(),
            what: varied.what.to_string(),
            value: scaled,
            at_least: value.is_some_and(|value| value.at_least),
            change: scaled.zip(row.model).map(|(value, model)| value / model - 1.0),
        }
    }

    fn value_text(&self) -> String {
        match (self.value, self.at_least) {
            (None, _) => "nothing found".to_string(),
            (value, true) => format!("≥ {}", number(value)),
            (value, false) => number(value),
        }
    }
}

/// A row for each thing that is changed, a column for each headline, in Markdown.
pub(crate) fn sensitivities_table(all: &[Sensitivity]) -> String {
    let name = |sensitivity: &Sensitivity| {
        let parameters = sensitivity
            .parameters
            .iter()
            .map(|(name, value)| format!("{name} = {value}"));
        let parameters: Vec<String> = parameters.collect();
        format!("{} at {}", sensitivity.metric, parameters.join(", "))
    };
    let mut headlines: Vec<String> = Vec::new();
    let mut changed: Vec<&str> = Vec::new();
    for sensitivity in all {
        if !headlines.contains(&name(sensitivity)) {
            headlines.push(name(sensitivity));
        }
        if !changed.contains(&sensitivity.what.as_str()) {
            changed.push(&sensitivity.what);
        }
    }
    let mut text = format!(
        "| changed | {} |\n|{}\n",
        headlines.join(" | "),
        "---|".repeat(headlines.len() + 1)
    );
    for what in changed {
        let of_headline = |headline: &String| {
            let found = all.iter().find(|one| one.what == what && name(one) == *headline);
            found.map_or(String::new(), |one| match one.change {
                Some(change) => format!("{} ({:+.1} %)", one.value_text(), 100.0 * change),
                None => one.value_text(),
            })
        };
        let values: Vec<String> = headlines.iter().map(of_headline).collect();
        put(&mut text, &format!("| {what} | {} |\n", values.join(" | ")));
    }
    text
}
