//! How much headlines hang on what was chosen: each with one thing changed.
//!
//! A headline of which a search must be sure is the mean of several searches with longer and longer trials. Each change
//! is searched once, and is compared with the unchanged scenario searched once: compared with the headline, all changes
//! would seem to raise what longer trials lower.

use crate::cells::Cell;
use crate::metrics::{Found, Value};
use crate::report::{number, put};
use forebay_sim::{Setup, Variation};
use serde::Serialize;
use std::collections::BTreeMap;

/// A headline that is simulated with one thing changed.
pub(crate) struct Varied {
    /// Index of its cell.
    pub(crate) cell: usize,
    /// None for the scenario as it is, searched once.
    what: Option<Variation>,
    pub(crate) setup: Setup,
}

/// A headline with one thing changed.
#[derive(Clone, Debug, Serialize)]
pub struct Sensitivity {
    /// The parameters of the headline.
    pub parameters: BTreeMap<String, String>,
    /// The metric of the headline.
    pub metric: String,
    /// What is changed.
    pub what: String,
    /// The value after the change; none when nothing was found.
    pub value: Option<f64>,
    /// A search ended at its highest load.
    pub at_least: bool,
    /// The share by which that is more than the value with nothing changed, searched once too.
    pub change: Option<f64>,
}

/// A headline as it is, and all that is changed of it, one after the other.
pub(crate) fn varied(cell: usize, setup: &Setup) -> impl Iterator<Item = Varied> + '_ {
    let unchanged = Varied {
        cell,
        what: None,
        setup: setup.clone().searching_once(),
    };
    let variations = Variation::usual(setup).into_iter();
    let changed = variations.filter_map(move |what| {
        let setup = setup.varied(&what)?.searching_once();
        let what = Some(what);
        Some(Varied { cell, what, setup })
    });
    std::iter::once(unchanged).chain(changed)
}

/// What each has given. `cells` are those of the experiment.
pub(crate) fn compared(varied: &[Varied], found: &[&Found], cells: &[Cell], scale: f64) -> Vec<Sensitivity> {
    let mut unchanged: BTreeMap<usize, Option<f64>> = BTreeMap::new();
    let each = varied.iter().zip(found);
    each.map(|(varied, found)| {
        let mut sensitivity = Sensitivity::of(varied, &cells[varied.cell], found, scale);
        match varied.what {
            None => drop(unchanged.insert(varied.cell, sensitivity.value)),
            Some(_) => {
                let base = unchanged.get(&varied.cell).copied().flatten();
                sensitivity.change = sensitivity.value.zip(base).map(|(value, base)| value / base - 1.0);
            }
        }
        sensitivity
    })
    .collect()
}

impl Sensitivity {
    fn of(varied: &Varied, cell: &Cell, found: &Found, scale: f64) -> Sensitivity {
        let value: Option<Value> = found.metric(&cell.metric);
        let scaled = value.map(|value| value.value * scale);
        Sensitivity {
            parameters: cell.parameters.clone(),
            metric: cell.metric.clone(),
            what: varied
                .what
                .as_ref()
                .map_or("nothing, searched once".to_string(), ToString::to_string),
            value: scaled,
            at_least: value.is_some_and(|value| value.at_least),
            change: None,
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
