//! Results as rows of a table: one for each number.

use serde_json::Value;

/// A number of some results.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// The place of the number, with dots: `results.sources.messages.latency.mean_ns`. Elements of lists are told apart
    /// by their name, or by their port, else by their place.
    pub measure: String,
    /// For an element of a series, which, from 0.
    pub sample: Option<i64>,
    /// The number; 1 for true and 0 for false.
    pub value: f64,
}

/// A row for each number of serialised results, in order; `path` stands before each place.
pub fn rows(path: &str, value: &Value) -> Vec<Row> {
    let mut rows = Vec::new();
    add(&mut rows, path, value);
    rows
}

fn add(rows: &mut Vec<Row>, path: &str, value: &Value) {
    match value {
        Value::Number(number) => push(rows, path, None, number.as_f64()),
        Value::Bool(truth) => push(rows, path, None, Some(f64::from(u8::from(*truth)))),
        Value::Object(fields) => {
            for (name, field) in fields {
                add(rows, &format!("{path}.{name}"), field);
            }
        }
        Value::Array(elements) => {
            for (index, element) in elements.iter().enumerate() {
                match element.as_f64() {
                    Some(number) => push(rows, path, Some(index as i64), Some(number)),
                    None => add(rows, &format!("{path}.{}", name_of(element, index)), element),
                }
            }
        }
        Value::Null | Value::String(_) => {}
    }
}

fn push(rows: &mut Vec<Row>, measure: &str, sample: Option<i64>, value: Option<f64>) {
    rows.extend(value.map(|value| Row {
        measure: measure.to_string(),
        sample,
        value,
    }));
}

/// What an element of a list is known by.
fn name_of(element: &Value, index: usize) -> String {
    let text = |key: &str| match &element[key] {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    };
    match (text("name").or_else(|| text("port")), text("queue")) {
        (Some(name), Some(queue)) => format!("{name}.{queue}"),
        (Some(name), None) => name,
        (None, _) => index.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn elements_of_lists_have_names() {
        let results = json!({ "queues": [{ "port": 3, "queue": 1, "taken": 5, "lifted": true }], "gbps": [1.5, 2.0] });
        let row = |measure: &str, sample, value| Row {
            measure: measure.to_string(),
            sample,
            value,
        };
        assert_eq!(
            rows("r", &results),
            [
                row("r.gbps", Some(0), 1.5),
                row("r.gbps", Some(1), 2.0),
                row("r.queues.3.1.lifted", None, 1.0),
                row("r.queues.3.1.port", None, 3.0),
                row("r.queues.3.1.queue", None, 1.0),
                row("r.queues.3.1.taken", None, 5.0),
            ]
        );
    }
}
