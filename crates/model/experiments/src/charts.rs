//! The charts of a report: one for each metric, and rates over time if the experiment requests them.

use crate::metrics::quantity;
use crate::report::{Report, Row};
use forebay_sim::plot::{Chart, Point, Series, Style};
use std::cmp::Ordering;
use std::collections::BTreeSet;

/// More lines than these are not told apart in one chart: each colour would stand for two of them, and many lie on one
/// another.
const LINES_MAX: usize = 12;

/// What one chart shows of a metric.
struct Part<'a> {
    rows: Vec<&'a Row>,
    /// The parameters that distinguish its lines.
    lines: &'a [String],
    /// The parameter that is fixed in it, `OMEGA = 20`; empty when none is.
    fixed: String,
}

impl Report {
    /// Charts by name. What was published are marks, what the model says are lines, formulas are dashed curves; a
    /// metric without two places along the axis has none. A metric with very many lines has a chart for each value of
    /// the last parameter that distinguishes them.
    pub fn charts(&self) -> Vec<(String, Chart)> {
        let mut metrics: Vec<&str> = self.rows.iter().map(|row| row.metric.as_str()).collect();
        metrics.sort_unstable();
        metrics.dedup();
        let charts = metrics.iter().flat_map(|metric| {
            let parts = self.parts(metric).into_iter();
            parts.map(move |part| (name_of(metric, &part.fixed), self.chart(metric, &part)))
        });
        let mut charts: Vec<(String, Chart)> = charts.filter(|(_, chart)| chart.has_extent()).collect();
        charts.extend(self.over_time.clone().map(|chart| ("rates".to_string(), chart)));
        charts
    }

    /// What the charts of a metric show: all of it in one, or a part in each.
    fn parts(&self, metric: &str) -> Vec<Part<'_>> {
        let rows: Vec<&Row> = self.rows.iter().filter(|row| row.metric == metric).collect();
        let lines = &self.definition.lines[..];
        let groups: BTreeSet<String> = rows.iter().map(|row| group(lines, row)).collect();
        match lines.split_last() {
            Some((fixed, others)) if !others.is_empty() && groups.len() > LINES_MAX => parts_by(fixed, others, &rows),
            _ => vec![Part {
                rows,
                lines,
                fixed: String::new(),
            }],
        }
    }

    fn chart(&self, metric: &str, part: &Part) -> Chart {
        let quantity = quantity(metric);
        let scaled = if self.definition.scale == 1.0 {
            String::new()
        } else {
            format!(", {} units", self.definition.scale)
        };
        let fixed = match part.fixed.as_str() {
            "" => String::new(),
            fixed => format!(", {fixed}"),
        };
        let with_unit = match quantity.unit {
            "" => quantity.what.clone(),
            unit => format!("{} ({unit})", quantity.what),
        };
        Chart {
            title: self.definition.title.clone(),
            subtitle: format!("{}{scaled}{fixed}", quantity.what),
            x_label: self.definition.x_label.clone(),
            y_label: with_unit,
            series: self.series(part),
            ..Chart::default()
        }
    }

    fn series(&self, part: &Part) -> Vec<Series> {
        let mut all: Vec<Series> = Vec::new();
        for row in &part.rows {
            let Some(x) = row.parameters.get(&self.definition.x).and_then(|x| x.parse().ok()) else {
                continue;
            };
            let group = group(part.lines, row);
            let formula = row.formulas.first().copied().flatten();
            let model = row.model.map(|y| Point {
                range: row.range,
                at_least: row.at_least,
                ..Point::new(x, y)
            });
            let points = [
                (Style::Line, model),
                (Style::Marks, row.published.map(|y| Point::new(x, y))),
                (Style::Formula, formula.map(|y| Point::new(x, y))),
            ];
            for (style, point) in points {
                let Some(point) = point else { continue };
                let is_same = |series: &&mut Series| series.style == style && series.group == group;
                match all.iter_mut().find(is_same) {
                    Some(series) => series.points.push(point),
                    None => all.push(Series {
                        group: group.clone(),
                        style,
                        points: vec![point],
                    }),
                }
            }
        }
        for series in &mut all {
            series.points.sort_by(|a, b| a.x.total_cmp(&b.x));
        }
        all
    }
}

/// A part for each value of a parameter. Lines are in the order of the others' values, so that one has the same colour
/// in each part.
fn parts_by<'a>(fixed: &'a String, others: &'a [String], rows: &[&'a Row]) -> Vec<Part<'a>> {
    let mut rows = rows.to_vec();
    rows.sort_by(|a, b| {
        let names = [fixed].into_iter().chain(others);
        let mut orders = names.map(|name| in_order(value(a, name), value(b, name)));
        orders.find(|order| order.is_ne()).unwrap_or(Ordering::Equal)
    });
    let same = rows.chunk_by(|a, b| value(a, fixed) == value(b, fixed));
    let parts = same.map(|rows| Part {
        rows: rows.to_vec(),
        lines: others,
        fixed: group(std::slice::from_ref(fixed), rows[0]),
    });
    parts.collect()
}

/// The value of a parameter for a row; empty where it has none.
fn value<'a>(row: &'a Row, name: &str) -> &'a str {
    row.parameters.get(name).map_or("", String::as_str)
}

/// The order of two values of a parameter: numbers first, in their order, then words. Equal are only equal texts, so that
/// rows with one value stand together.
fn in_order(a: &str, b: &str) -> Ordering {
    let of_kinds = match (a.parse::<f64>(), b.parse::<f64>()) {
        (Ok(a), Ok(b)) => a.total_cmp(&b),
        (Ok(_), Err(_)) => Ordering::Less,
        (Err(_), Ok(_)) => Ordering::Greater,
        (Err(_), Err(_)) => Ordering::Equal,
    };
    of_kinds.then_with(|| a.cmp(b))
}

/// The name of a chart: the metric, with what is fixed in it.
fn name_of(metric: &str, fixed: &str) -> String {
    let is_plain = |c: char| c.is_alphanumeric() || c == '.';
    match fixed.replace(" = ", "-").replace(|c: char| !is_plain(c), "-") {
        fixed if fixed.is_empty() => metric.to_string(),
        fixed => format!("{metric}-{fixed}"),
    }
}

/// `n = 8`, of the parameters that distinguish lines.
fn group(lines: &[String], row: &Row) -> String {
    let value = |name: &String| Some(format!("{name} = {}", row.parameters.get(name)?));
    let values: Vec<String> = lines.iter().filter_map(value).collect();
    values.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cells::{Basis, Bound};
    use crate::definition::Definition;
    use crate::provenance::Provenance;
    use std::collections::BTreeMap;

    const DEFINITION: &str =
        "title = \"t\"\nsource = \"s\"\nx = \"LOAD\"\nx_label = \"load\"\nlines = [\"n\", \"W\"]\nunit = \"Gbps\"\n";

    fn row(parameters: &[(&str, u32)]) -> Row {
        let named = parameters
            .iter()
            .map(|(name, value)| (name.to_string(), value.to_string()));
        Row {
            parameters: named.collect::<BTreeMap<_, _>>(),
            metric: "max_gbps".to_string(),
            published: None,
            bound: Bound::Exact,
            model: Some(1.0),
            range: None,
            at_least: false,
            is_line_rate: false,
            nothing_found: false,
            formulas: Vec::new(),
            basis: Basis::Predicted,
        }
    }

    /// The charts of a metric with lines of these numbers of values, and the lines of the first chart.
    fn drawn(n: &[u32], w: &[u32]) -> (Vec<String>, Vec<String>) {
        let cells = n.iter().flat_map(|n| w.iter().map(move |w| (*n, *w)));
        let cells = cells.flat_map(|(n, w)| [1, 2].map(|load| row(&[("n", n), ("W", w), ("LOAD", load)])));
        let report = Report {
            definition: Definition::read(DEFINITION).expect("right"),
            rows: cells.collect(),
            losses: Vec::new(),
            sensitivities: Vec::new(),
            provenance: Provenance::default(),
            quick: false,
            over_time: None,
        };
        let charts = report.charts();
        let lines = charts[0].1.series.iter().map(|series| series.group.clone());
        let lines = lines.collect();
        (charts.into_iter().map(|(name, _)| name).collect(), lines)
    }

    /// By text alone `10` is before `1z` and `1z` before `2`, by number `2` before `10`: no order at all.
    #[test]
    fn numbers_are_before_words() {
        let mut values = ["1z", "2", "none", "10", "2.0"];
        values.sort_by(|a, b| in_order(a, b));
        assert_eq!(values, ["2", "2.0", "10", "1z", "none"]);
    }

    #[test]
    fn very_many_lines_are_in_several_charts() {
        let (charts, lines) = drawn(&[4, 10, 2], &[20, 5]);
        assert_eq!(charts, ["max_gbps"]);
        assert_eq!((lines.len(), lines[0].as_str()), (6, "n = 4, W = 20"));
        let (charts, lines) = drawn(&[4, 10, 2, 6, 8], &[20, 5, 100]);
        assert_eq!(charts, ["max_gbps-W-5", "max_gbps-W-20", "max_gbps-W-100"]);
        assert_eq!(lines, ["n = 2", "n = 4", "n = 6", "n = 8", "n = 10"]);
    }
}
