//! The charts of a report: one for each metric, and rates over time if the experiment requests them.

use crate::definition::Definition;
use crate::metrics::quantity;
use crate::report::{Report, Row};
use forebay_sim::plot::{Chart, Point, Series, Style};

impl Report {
    /// Charts by name. What was published are marks, what the model says are lines, formulas are dashed curves; a
    /// metric without two places along the axis has none.
    pub fn charts(&self) -> Vec<(String, Chart)> {
        let mut metrics: Vec<&str> = self.rows.iter().map(|row| row.metric.as_str()).collect();
        metrics.sort_unstable();
        metrics.dedup();
        let charts = metrics.iter().map(|metric| (metric.to_string(), self.chart(metric)));
        let mut charts: Vec<(String, Chart)> = charts.filter(|(_, chart)| chart.has_extent()).collect();
        charts.extend(self.over_time.clone().map(|chart| ("rates".to_string(), chart)));
        charts
    }

    fn chart(&self, metric: &str) -> Chart {
        let quantity = quantity(metric);
        let scaled = if self.definition.scale == 1.0 {
            String::new()
        } else {
            format!(", {} units", self.definition.scale)
        };
        let with_unit = match quantity.unit {
            "" => quantity.what.clone(),
            unit => format!("{} ({unit})", quantity.what),
        };
        Chart {
            title: self.definition.title.clone(),
            subtitle: format!("{}{scaled}", quantity.what),
            x_label: self.definition.x_label.clone(),
            y_label: with_unit,
            series: self.series(metric),
            ..Chart::default()
        }
    }

    fn series(&self, metric: &str) -> Vec<Series> {
        let mut all: Vec<Series> = Vec::new();
        for row in self.rows.iter().filter(|row| row.metric == metric) {
            let Some(x) = row.parameters.get(&self.definition.x).and_then(|x| x.parse().ok()) else {
                continue;
            };
            let group = group(&self.definition, row);
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

/// `n = 8`, of the parameters that distinguish lines.
fn group(definition: &Definition, row: &Row) -> String {
    let value = |name: &String| Some(format!("{name} = {}", row.parameters.get(name)?));
    let values: Vec<String> = definition.lines.iter().filter_map(value).collect();
    values.join(", ")
}
