//! A table with a column for each value of a parameter, for experiments that compare methods.

use crate::report::{Row, number};
use std::collections::BTreeMap;

/// What rows have in common that differ in one parameter alone: the metric, and the other parameters.
type Common<'r> = (&'r str, BTreeMap<&'r str, &'r str>);

/// The rows in Markdown: formula, then published and model's value for each value of `parameter`, in order of appearance. Of
/// the other parameters those in `shown`.
pub(crate) fn side_by_side(rows: &[Row], parameter: &str, shown: &[String]) -> String {
    let mut values: Vec<&str> = Vec::new();
    let mut lines: Vec<(Common<'_>, Vec<&Row>)> = Vec::new();
    for row in rows {
        let Some(value) = row.parameters.get(parameter) else {
            continue;
        };
        if !values.contains(&value.as_str()) {
            values.push(value);
        }
        let common = common(row, parameter, shown);
        match lines.iter_mut().find(|(known, _)| *known == common) {
            Some((_, rows)) => rows.push(row),
            None => lines.push((common, vec![row])),
        }
    }
    let names = lines.first().into_iter().flat_map(|((_, first), _)| first.keys());
    let mut header: Vec<String> = names.map(|name| name.to_string()).collect();
    header.push("metric".to_string());
    let has_formula = rows.iter().any(|row| row.formula.is_some());
    if has_formula {
        header.push("formula".to_string());
    }
    let has_published = rows.iter().any(|row| row.published.is_some());
    for value in &values {
        if has_published {
            header.push(format!("{parameter}={value} published"));
        }
        header.push(format!("{parameter}={value} model"));
    }
    let mut text = format!("| {} |\n|{}\n", header.join(" | "), "---|".repeat(header.len()));
    for ((metric, parameters), rows) in &lines {
        let mut fields: Vec<String> = parameters.values().map(|value| value.to_string()).collect();
        fields.push(metric.to_string());
        if has_formula {
            fields.push(number(rows[0].formula));
        }
        for value in &values {
            let row = rows.iter().find(|row| row.parameters[parameter] == *value);
            if has_published {
                fields.push(number(row.and_then(|row| row.published)));
            }
            fields.push(number(row.and_then(|row| row.model)));
        }
        text.push_str(&format!("| {} |\n", fields.join(" | ")));
    }
    text
}

fn common<'r>(row: &'r Row, parameter: &str, shown: &[String]) -> Common<'r> {
    let is_common = |name: &String| *name != parameter && shown.contains(name);
    let others = row.parameters.iter().filter(|(name, _)| is_common(name));
    let others = others.map(|(name, value)| (name.as_str(), value.as_str()));
    (&row.metric, others.collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Basis;

    fn row(method: &str, n: &str, model: f64) -> Row {
        let parameters = [("METHOD", method), ("N", n)];
        Row {
            parameters: parameters
                .map(|(name, value)| (name.to_string(), value.to_string()))
                .into(),
            metric: "max_gbps".to_string(),
            published: None,
            model: Some(model),
            formula: Some(50.0),
            basis: Basis::Predicted,
        }
    }

    #[test]
    fn a_line_for_what_rows_have_in_common() {
        let rows = [row("a", "2", 1.0), row("b", "2", 2.0), row("b", "4", 3.0)];
        let text = side_by_side(&rows, "METHOD", &["METHOD".to_string(), "N".to_string()]);
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[0], "| N | metric | formula | METHOD=a model | METHOD=b model |");
        assert_eq!(
            lines[2..],
            ["| 2 | max_gbps | 50 | 1 | 2 |", "| 4 | max_gbps | 50 |  | 3 |"]
        );
    }
}
