//! Published values beside those of the model, and what the model's hang on.

use crate::cells::{Basis, Bound};
use crate::definition::Definition;
use crate::losses::{Losses, losses_table};
use crate::provenance::Provenance;
use crate::sensitivity::{Sensitivity, sensitivities_table};
use crate::side_by_side::side_by_side;
use serde::Serialize;
use std::collections::BTreeMap;
use std::fmt::Write;

/// A value.
#[derive(Clone, Debug)]
pub struct Row {
    /// For which parameters.
    pub parameters: BTreeMap<String, String>,
    /// What is meant.
    pub metric: String,
    /// What was published.
    pub published: Option<f64>,
    /// How that is meant.
    pub bound: Bound,
    /// What the model says: the mean of several seeds.
    pub model: Option<f64>,
    /// The smallest and the largest of several seeds.
    pub range: Option<(f64, f64)>,
    /// A search ended at its highest load: the model's value is at least this.
    pub at_least: bool,
    /// That load is the rate of the port, so that no more can be offered.
    pub is_line_rate: bool,
    /// A search found no load without loss: there is no value, which is as wrong as a value can be.
    pub nothing_found: bool,
    /// What closed formulas say, in the order of the definition.
    pub formulas: Vec<Option<f64>>,
    /// How the model's value came about.
    pub basis: Basis,
}

/// A trivial value that differs by more than this counts like any other.
const TRIVIAL_ERROR_MAX: f64 = 0.01;

impl Row {
    /// The model's deviation, as a share of what was published; none for a bound.
    pub fn error(&self) -> Option<f64> {
        let published = self.published.filter(|published| *published != 0.0)?;
        if self.kept().is_some() {
            return None;
        }
        if self.nothing_found {
            Some(-1.0)
        } else {
            Some(self.model? / published - 1.0)
        }
    }

    /// Whether a published bound is kept; none when the value is no bound.
    pub fn kept(&self) -> Option<bool> {
        if self.nothing_found {
            self.bound.keeps(0.0, 0.0).map(|_| false)
        } else {
            self.bound.keeps(self.published?, self.model?)
        }
    }

    /// The deviation that goes into the mean: that of every value except trivial ones, and of
    /// trivial ones that are wrong.
    pub fn counted(&self) -> Option<f64> {
        let error = self.error()?.abs();
        (self.basis != Basis::Trivial || error > TRIVIAL_ERROR_MAX).then_some(error)
    }

    /// The model's value as it is shown: with a mark when it is a bound, and what is said when there is none.
    pub(crate) fn model_text(&self) -> String {
        let value = number(self.model);
        match (self.nothing_found, self.at_least, self.range) {
            (true, ..) => "nothing found".to_string(),
            (_, true, _) => format!("≥ {value}"),
            (_, _, Some((low, high))) => format!("{value} ({} to {})", number(Some(low)), number(Some(high))),
            _ => value,
        }
    }

    pub(crate) fn published_text(&self) -> String {
        let value = number(self.published);
        match (self.published, self.bound) {
            (None, _) | (_, Bound::Exact) => value,
            (_, Bound::About) => format!("about {value}"),
            (_, Bound::AtMost) => format!("≤ {value}"),
            (_, Bound::AtLeast) => format!("at least {value}"),
        }
    }

    fn error_text(&self) -> String {
        match (self.error(), self.kept()) {
            (Some(error), _) => format!("{:+.1} %", 100.0 * error),
            (_, Some(true)) => "kept".to_string(),
            (_, Some(false)) => "missed".to_string(),
            _ => String::new(),
        }
    }
}

/// All values of an experiment.
pub struct Report {
    pub(crate) definition: Definition,
    pub(crate) rows: Vec<Row>,
    pub(crate) losses: Vec<Losses>,
    pub(crate) sensitivities: Vec<Sensitivity>,
    pub(crate) provenance: Provenance,
    /// Whether trials were shorter and cells fewer.
    pub(crate) quick: bool,
    /// The first run's rates over time.
    pub(crate) over_time: Option<forebay_sim::plot::Chart>,
}

/// The report as it goes into `result.json`.
#[derive(Serialize)]
struct JsonReport<'a> {
    title: &'a str,
    source: &'a str,
    unit: &'a str,
    seeds: u64,
    /// Left out when it is false.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    quick: bool,
    mean_error: Option<f64>,
    largest_error: Option<f64>,
    bounds_kept: usize,
    bounds_missed: usize,
    rows: Vec<JsonRow<'a>>,
    losses: &'a [Losses],
    #[serde(skip_serializing_if = "<[Sensitivity]>::is_empty")]
    sensitivities: &'a [Sensitivity],
    provenance: &'a Provenance,
}

#[derive(Serialize)]
struct JsonRow<'a> {
    parameters: &'a BTreeMap<String, String>,
    metric: &'a str,
    published: Option<f64>,
    bound: &'a str,
    model: Option<f64>,
    low: Option<f64>,
    high: Option<f64>,
    at_least: bool,
    is_line_rate: bool,
    found: bool,
    formulas: BTreeMap<&'a str, Option<f64>>,
    error: Option<f64>,
    kept: Option<bool>,
    basis: &'a str,
}

impl Report {
    /// Every value.
    pub fn rows(&self) -> &[Row] {
        &self.rows
    }

    /// Mean and largest deviation of the rows that count, as shares; none without such rows.
    pub fn mean_error(&self) -> Option<(f64, f64)> {
        let errors: Vec<f64> = self.rows.iter().filter_map(Row::counted).collect();
        let largest = errors.iter().copied().fold(0.0, f64::max);
        (!errors.is_empty()).then(|| (errors.iter().sum::<f64>() / errors.len() as f64, largest))
    }

    /// Published bounds that are kept, and those that are missed.
    pub fn bounds(&self) -> (usize, usize) {
        let kept = |wanted| self.rows.iter().filter(|row| row.kept() == Some(wanted)).count();
        (kept(true), kept(false))
    }

    /// For other programs.
    pub fn json(&self) -> impl Serialize + '_ {
        let rows = self.rows.iter().map(|row| JsonRow {
            parameters: &row.parameters,
            metric: &row.metric,
            published: row.published,
            bound: row.bound.name(),
            model: row.model,
            low: row.range.map(|range| range.0),
            high: row.range.map(|range| range.1),
            at_least: row.at_least,
            is_line_rate: row.is_line_rate,
            found: !row.nothing_found,
            formulas: self
                .definition
                .formulas
                .iter()
                .map(String::as_str)
                .zip(row.formulas.iter().copied())
                .collect(),
            error: row.error(),
            kept: row.kept(),
            basis: row.basis.name(),
        });
        let (bounds_kept, bounds_missed) = self.bounds();
        JsonReport {
            title: &self.definition.title,
            source: &self.definition.source,
            unit: &self.definition.unit,
            seeds: self.definition.seeds,
            quick: self.quick,
            mean_error: self.mean_error().map(|(mean, _)| mean),
            largest_error: self.mean_error().map(|(_, largest)| largest),
            bounds_kept,
            bounds_missed,
            rows: rows.collect(),
            losses: &self.losses,
            sensitivities: &self.sensitivities,
            provenance: &self.provenance,
        }
    }

    /// For people, in Markdown; `command` is what has written it.
    pub fn markdown(&self, command: &str) -> String {
        let Definition {
            title,
            source,
            notes,
            unit,
            ..
        } = &self.definition;
        let mut text = format!("# {title}\n\nPublished: {source}. Values in {unit}. Written by `{command}`.\n");
        if self.quick {
            let line = "\n**A quick run**: trials are shorter and cells fewer. Errors may be larger than those of the full run.\n";
            put(&mut text, line);
        }
        if !notes.is_empty() {
            put(&mut text, &format!("\n{}\n", notes.trim()));
        }
        put(&mut text, &format!("\n{}", self.provenance.sentence()));
        if !self.definition.columns.is_empty() {
            let table = side_by_side(&self.rows, &self.definition, &self.shown_parameters());
            put(&mut text, &format!("\n{table}"));
        }
        put(&mut text, &format!("\n{}", self.table()));
        put(&mut text, &self.summary());
        if !self.sensitivities.is_empty() {
            let table = sensitivities_table(&self.sensitivities);
            put(&mut text, &format!("\n## With one thing changed\n\n{table}"));
        }
        put(
            &mut text,
            &format!(
                "\n## Losses\n\n{}",
                losses_table(&self.losses, &self.shown_parameters())
            ),
        );
        put(
            &mut text,
            &format!("\n## What the result hangs on\n\n{}", self.provenance.markdown()),
        );
        text
    }

    /// The errors, what was at the end of a search, and which bounds are missed.
    fn summary(&self) -> String {
        let mut text = String::new();
        if let Some((mean, largest)) = self.mean_error() {
            let counted = self.rows.iter().filter_map(Row::counted).count();
            let published = self.rows.iter().filter_map(Row::error).count();
            let trivial = match published - counted {
                0 => String::new(),
                trivial => format!(" ({trivial} trivial ones, right within 1 %, are left out)"),
            };
            let line = format!(
                "\nMean error of {counted} published values: {:.1} %, largest {:.1} %{trivial}.\n",
                100.0 * mean,
                100.0 * largest
            );
            put(&mut text, &line);
        }
        let (kept, missed) = self.bounds();
        if kept + missed > 0 {
            put(
                &mut text,
                &format!("\nPublished bounds: {kept} kept, {missed} missed.\n"),
            );
        }
        let at_least = |line_rate| {
            let rows = self
                .rows
                .iter()
                .filter(|row| row.at_least && row.is_line_rate == line_rate);
            rows.count()
        };
        for (count, what) in [
            (
                at_least(true),
                "the rate of the port, without loss: no more can be offered",
            ),
            (
                at_least(false),
                "the highest load that the search tries, without loss: the limit may lie above",
            ),
        ] {
            if count > 0 {
                put(&mut text, &format!("\n≥: {count} values are {what}.\n"));
            }
        }
        let nothing = self.rows.iter().filter(|row| row.nothing_found).count();
        if nothing > 0 {
            let line =
                format!("\nFor {nothing} values no load without loss was found; each counts as an error of 100 %.\n");
            put(&mut text, &line);
        }
        text
    }

    /// The table alone.
    pub fn table(&self) -> String {
        let shown = self.shown_parameters();
        let mut header: Vec<String> = shown.clone();
        header.extend(["metric", "published", "model"].map(String::from));
        header.extend(self.formula_columns());
        header.extend(["error", "basis"].map(String::from));
        let mut text = format!("| {} |\n|{}\n", header.join(" | "), "---|".repeat(header.len()));
        for row in &self.rows {
            let mut fields: Vec<String> = shown.iter().map(|name| row.parameters[name].clone()).collect();
            fields.extend([row.metric.clone(), row.published_text(), row.model_text()]);
            fields.extend(row.formulas.iter().map(|value| number(*value)));
            fields.extend([row.error_text(), row.basis.name().to_string()]);
            put(&mut text, &format!("| {} |\n", fields.join(" | ")));
        }
        text
    }

    fn formula_columns(&self) -> impl Iterator<Item = String> + '_ {
        self.definition.formulas.iter().map(|name| format!("formula `{name}`"))
    }

    /// Parameters that are not the same in all rows.
    fn shown_parameters(&self) -> Vec<String> {
        let first = self.rows.first().map(|row| row.parameters.clone()).unwrap_or_default();
        let differs = |name: &&String| {
            self.rows
                .iter()
                .any(|row| row.parameters.get(*name) != first.get(*name))
        };
        let by_interest = |name: &&String| **name == self.definition.x || self.definition.lines.contains(name);
        first.keys().filter(differs).filter(by_interest).cloned().collect()
    }
}

pub(crate) fn put(text: &mut String, more: &str) {
    text.write_str(more).expect("a string takes everything");
}

/// Three digits.
pub(crate) fn number(value: Option<f64>) -> String {
    match value {
        None => String::new(),
        Some(value) if value.abs() >= 100.0 || value == value.round() => format!("{value:.0}"),
        Some(value) if value.abs() >= 10.0 => format!("{value:.1}"),
        Some(value) if value.abs() >= 0.01 => format!("{value:.2}"),
        Some(value) => format!("{value:.6}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    pub(crate) fn row(published: Option<f64>, model: Option<f64>) -> Row {
        Row {
            parameters: BTreeMap::new(),
            metric: "max_gbps".to_string(),
            published,
            bound: Bound::Exact,
            model,
            range: None,
            at_least: false,
            is_line_rate: false,
            nothing_found: false,
            formulas: Vec::new(),
            basis: Basis::Predicted,
        }
    }

    #[test]
    fn no_value_is_left_out_because_it_is_wrong() {
        let trivial = |model| Row {
            basis: Basis::Trivial,
            ..row(Some(100.0), Some(model))
        };
        assert_eq!(trivial(99.9).counted(), None);
        assert!(trivial(90.0).counted().is_some_and(|error| (error - 0.1).abs() < 1e-9));
        let nothing = Row {
            nothing_found: true,
            ..row(Some(100.0), None)
        };
        assert_eq!(
            (nothing.counted(), nothing.model_text().as_str()),
            (Some(1.0), "nothing found")
        );
    }

    #[test]
    fn a_bound_is_kept_or_missed() {
        let bound = |bound, published, model| Row {
            bound,
            ..row(Some(published), Some(model))
        };
        let missed = bound(Bound::AtMost, 1e-5, 0.03);
        assert_eq!(
            (missed.kept(), missed.error(), missed.error_text().as_str()),
            (Some(false), None, "missed")
        );
        assert_eq!(bound(Bound::AtLeast, 2.0, 2.4).kept(), Some(true));
        assert_eq!(bound(Bound::AtMost, 0.0, 0.0).kept(), Some(true));
        let about = bound(Bound::About, 2e6, 1e6);
        assert_eq!((about.kept(), about.error()), (None, Some(-0.5)));
    }

    #[test]
    fn a_value_at_the_end_of_a_search_is_marked() {
        let ceiling = Row {
            at_least: true,
            ..row(None, Some(980.0))
        };
        assert_eq!(ceiling.model_text(), "≥ 980");
        let several = Row {
            range: Some((78.0, 81.0)),
            ..row(None, Some(80.0))
        };
        assert_eq!(several.model_text(), "80 (78 to 81)");
    }
}
