//! A table with a column for each value of a parameter, for experiments that compare methods.

use crate::definition::Definition;
use crate::report::{Row, number};
use std::collections::BTreeMap;

/// What rows have in common that differ in one parameter alone: the metric, and the other parameters.
type Common<'r> = (&'r str, BTreeMap<&'r str, &'r str>);

/// The rows in Markdown: formulas, then published and model's value for each value of the definition's parameter, in
/// order of appearance. Of the other parameters those in `shown`.
pub(crate) fn side_by_side(rows: &[Row], definition: &Definition, shown: &[String]) -> String {
    let parameter = definition.columns.as_str();
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
    header.extend(definition.formulas.iter().map(|name| format!("formula `{name}`")));
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
        fields.extend(rows[0].formulas.iter().map(|value| number(*value)));
        for value in &values {
            let row = rows.iter().find(|row| row.parameters[parameter] == *value);
            if has_published {
                fields.push(row.map_or(String::new(), |row| row.published_text()));
            }
            fields.push(row.map_or(String::new(), |row| row.model_text()));
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
    use crate::cells::{Basis, Bound};

    fn row(method: &str, n: &str, model: f64) -> Row {
        let parameters = [("METHOD", method), ("N", n)];
        Row {
            parameters: parameters
                .map(|(name, value)| (name.to_string(), value.to_string()))
                .into(),
            metric: "max_gbps".to_string(),
            published: None,
            bound: Bound::Exact,
            model: Some(model),
            range: None,
            at_least: false,
            is_line_rate: false,
            nothing_found: false,
            formulas: vec![Some(50.0)],
            basis: Basis::Predicted,
        }
    }

    #[test]
    fn a_line_for_what_rows_have_in_common() {
        let rows = [row("a", "2", 1.0), row("b", "2", 2.0), row("b", "4", 3.0)];
        let definition =
            "title = ''\nsource = ''\nformulas = ['theory']\nx = 'N'\nx_label = ''\nunit = ''\ncolumns = 'METHOD'";
        let definition = Definition::read(definition).unwrap();
        let text = side_by_side(&rows, &definition, &["METHOD".to_string(), "N".to_string()]);
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(
            lines[0],
            "| N | metric | formula `theory` | METHOD=a model | METHOD=b model |"
        );
        assert_eq!(
            lines[2..],
            ["| 2 | max_gbps | 50 | 1 | 2 |", "| 4 | max_gbps | 50 |  | 3 |"]
        );
    }
}
