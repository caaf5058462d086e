//! Published values beside those of the model.

use crate::cells::Basis;
use crate::definition::Definition;
use crate::side_by_side::side_by_side;
use forebay_sim::plot::{Chart, Line};
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
    /// What the model says.
    pub model: Option<f64>,
    /// What the closed formula says.
    pub formula: Option<f64>,
    /// How the model's value came about.
    pub basis: Basis,
}

impl Row {
    /// The model's deviation, as a share of what was published.
    pub fn error(&self) -> Option<f64> {
        let published = self.published.filter(|published| *published != 0.0)?;
        Some(self.model? / published - 1.0)
    }
}

/// All values of an experiment.
pub struct Report {
    definition: Definition,
    rows: Vec<Row>,
}

/// The report as it goes into `result.json`.
#[derive(Serialize)]
struct JsonRow<'a> {
    parameters: &'a BTreeMap<String, String>,
    metric: &'a str,
    published: Option<f64>,
    model: Option<f64>,
    formula: Option<f64>,
    error: Option<f64>,
    basis: &'a str,
}

impl Report {
    pub(crate) fn new(definition: &Definition, rows: Vec<Row>) -> Report {
        Report {
            definition: definition.clone(),
            rows,
        }
    }

    /// Every value.
    pub fn rows(&self) -> &[Row] {
        &self.rows
    }

    /// Mean and largest deviation of the rows that are not trivial, as shares; none without such rows.
    pub fn mean_error(&self) -> Option<(f64, f64)> {
        let counted = self.rows.iter().filter(|row| row.basis != Basis::Trivial);
        let errors: Vec<f64> = counted.filter_map(Row::error).map(f64::abs).collect();
        let largest = errors.iter().copied().fold(0.0, f64::max);
        (!errors.is_empty()).then(|| (errors.iter().sum::<f64>() / errors.len() as f64, largest))
    }

    /// For other programs: something that serialises to a list.
    pub fn json(&self) -> impl Serialize + '_ {
        let rows = self.rows.iter().map(|row| JsonRow {
            parameters: &row.parameters,
            metric: &row.metric,
            published: row.published,
            model: row.model,
            formula: row.formula,
            error: row.error(),
            basis: row.basis.name(),
        });
        rows.collect::<Vec<_>>()
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
        if !notes.is_empty() {
            put(&mut text, &format!("\n{}\n", notes.trim()));
        }
        if !self.definition.columns.is_empty() {
            let table = side_by_side(&self.rows, &self.definition.columns, &self.shown_parameters());
            put(&mut text, &format!("\n{table}"));
        }
        put(&mut text, &format!("\n{}", self.table()));
        if let Some((mean, largest)) = self.mean_error() {
            let line = format!(
                "\nMean error {:.1} %, largest {:.1} %.\n",
                100.0 * mean,
                100.0 * largest
            );
            put(&mut text, &line);
        }
        text
    }

    /// The table alone.
    pub fn table(&self) -> String {
        let shown = self.shown_parameters();
        let has_formula = self.rows.iter().any(|row| row.formula.is_some());
        let mut header: Vec<String> = shown.clone();
        header.extend(["metric", "published", "model"].map(String::from));
        if has_formula {
            header.push("formula".to_string());
        }
        header.extend(["error", "basis"].map(String::from));
        let mut text = format!("| {} |\n|{}\n", header.join(" | "), "---|".repeat(header.len()));
        for row in &self.rows {
            let mut fields: Vec<String> = shown.iter().map(|name| row.parameters[name].clone()).collect();
            fields.extend([row.metric.clone(), number(row.published), number(row.model)]);
            if has_formula {
                fields.push(number(row.formula));
            }
            let error = row
                .error()
                .map_or(String::new(), |error| format!("{:+.1} %", 100.0 * error));
            fields.extend([error, row.basis.name().to_string()]);
            put(&mut text, &format!("| {} |\n", fields.join(" | ")));
        }
        text
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

    /// The chart: what was published as marks, what the model says as lines; one for each metric.
    pub fn charts(&self) -> Vec<(String, Chart)> {
        let mut metrics: Vec<&str> = self.rows.iter().map(|row| row.metric.as_str()).collect();
        metrics.sort_unstable();
        metrics.dedup();
        let chart = |metric: &str| Chart {
            title: self.definition.title.clone(),
            axes: (
                self.definition.x.clone(),
                format!("{metric} ({})", self.definition.unit),
            ),
            lines: self.lines(metric),
        };
        metrics
            .iter()
            .map(|metric| (metric.to_string(), chart(metric)))
            .collect()
    }

    fn lines(&self, metric: &str) -> Vec<Line> {
        let mut lines: Vec<Line> = Vec::new();
        for row in self.rows.iter().filter(|row| row.metric == metric) {
            let Some(x) = row.parameters.get(&self.definition.x).and_then(|x| x.parse().ok()) else {
                continue;
            };
            for (who, value, connected) in [("model", row.model, true), ("published", row.published, false)] {
                let Some(value) = value else { continue };
                let name = format!("{} {who}", self.line_name(row));
                match lines.iter_mut().find(|line| line.name == name) {
                    Some(line) => line.points.push((x, value)),
                    None => lines.push(Line {
                        name,
                        points: vec![(x, value)],
                        connected,
                    }),
                }
            }
        }
        lines
    }

    fn line_name(&self, row: &Row) -> String {
        let value = |name: &String| Some(format!("{name}={}", row.parameters.get(name)?));
        let values: Vec<String> = self.definition.lines.iter().filter_map(value).collect();
        values.join(" ")
    }
}

fn put(text: &mut String, more: &str) {
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
