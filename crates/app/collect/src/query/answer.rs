//! Answers: a table for people, objects for programs.

use serde_json::{Map, Value};
use std::fmt::{Display, Write};
use std::time::Duration;

/// A value of an answer.
#[derive(Clone, Debug, PartialEq)]
pub enum Cell {
    /// Nothing is known.
    None,
    /// A whole number.
    Whole(u64),
    /// A text.
    Text(String),
    /// A number for each hop; none where a node did not report it.
    Hops(Vec<Option<u64>>),
}

impl Cell {
    /// What is displayed of a value.
    pub(super) fn of(value: Option<impl Display>) -> Cell {
        value.map_or(Cell::None, |value| Cell::Text(value.to_string()))
    }

    fn text(&self) -> String {
        match self {
            Cell::None => "-".to_string(),
            Cell::Whole(value) => value.to_string(),
            Cell::Text(text) => text.clone(),
            Cell::Hops(values) => {
                let text = |value: &Option<u64>| value.map_or("-".to_string(), |value| value.to_string());
                values.iter().map(text).collect::<Vec<_>>().join(" > ")
            }
        }
    }

    fn json(&self) -> Value {
        match self {
            Cell::None => Value::Null,
            Cell::Whole(value) => Value::from(*value),
            Cell::Text(text) => Value::from(&**text),
            Cell::Hops(values) => Value::from(values.clone()),
        }
    }
}

/// A time in nanoseconds since the Unix epoch.
pub(super) fn time_cell(time_ns: u64) -> Cell {
    Cell::Text(forebay_telemetry::rfc3339(Duration::from_nanos(time_ns)))
}

/// An answer: rows with the same columns.
#[derive(Clone, Debug, PartialEq)]
pub struct Answer {
    /// Names of the columns.
    pub columns: &'static [&'static str],
    /// The rows.
    pub rows: Vec<Vec<Cell>>,
    /// What is wrong with each file that could not be read: its reports are missing.
    pub unread: Vec<String>,
}

impl Answer {
    pub(super) fn new(columns: &'static [&'static str]) -> Answer {
        Answer {
            columns,
            rows: Vec::new(),
            unread: Vec::new(),
        }
    }

    /// A table with aligned columns; numbers stand to the right.
    pub fn table(&self) -> String {
        let texts: Vec<Vec<String>> = self
            .rows
            .iter()
            .map(|row| row.iter().map(Cell::text).collect())
            .collect();
        let width = |column: usize| {
            let values = texts.iter().map(|row| row[column].chars().count());
            values.chain([self.columns[column].len()]).max().unwrap_or(0)
        };
        let is_number = |column: usize| {
            let is_text = |row: &Vec<Cell>| matches!(row[column], Cell::Text(_) | Cell::Hops(_));
            !self.rows.iter().any(is_text)
        };
        let mut table = String::new();
        let names: Vec<String> = self.columns.iter().map(|name| (*name).to_string()).collect();
        for row in [&names].into_iter().chain(&texts) {
            let mut line = String::new();
            for (column, value) in row.iter().enumerate() {
                let (width, gap) = (width(column), if column == 0 { "" } else { "  " });
                let _ = if is_number(column) {
                    write!(line, "{gap}{value:>width$}")
                } else {
                    write!(line, "{gap}{value:width$}")
                };
            }
            table.push_str(line.trim_end());
            table.push('\n');
        }
        table
    }

    /// An array of objects.
    pub fn json(&self) -> Value {
        let object = |row: &Vec<Cell>| {
            let pairs = self.columns.iter().zip(row);
            Value::Object(
                pairs
                    .map(|(name, cell)| ((*name).to_string(), cell.json()))
                    .collect::<Map<_, _>>(),
            )
        };
        self.rows.iter().map(object).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_are_aligned() {
        let mut answer = Answer::new(&["name", "count"]);
        answer.rows.push(vec![Cell::Text("a flow".to_string()), Cell::Whole(7)]);
        answer.rows.push(vec![Cell::None, Cell::Whole(12_345_678)]);
        assert_eq!(answer.table(), "name       count\na flow         7\n-       12345678\n");
        let json = answer.json();
        assert_eq!(json[1]["name"], Value::Null);
        assert_eq!(json[0]["count"], 7);
    }

    #[test]
    fn values_of_hops_are_numbers_for_programs() {
        let mut answer = Answer::new(&["latency_ns"]);
        answer.rows.push(vec![Cell::Hops(vec![Some(7), None])]);
        assert_eq!(answer.table(), "latency_ns\n7 > -\n");
        assert_eq!(answer.json(), serde_json::json!([{ "latency_ns": [7, null] }]));
    }
}
