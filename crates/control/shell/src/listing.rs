//! Output for people and for programs: records, as tables or as JSON.

use serde_json::{Map, Value, json};
use std::fmt::Write;

/// A value in a record.
#[derive(Clone, Debug, PartialEq)]
pub enum Cell {
    /// A text.
    Text(String),
    /// A number.
    Number(i64),
    /// A rate, or another number that is not whole.
    Real(f64),
    /// Yes or no.
    Flag(bool),
    /// Names with values; each is a column of its own in a table.
    Spread(Vec<(String, String)>),
    /// Names with values in one column.
    Pairs(Vec<(String, String)>),
    /// Texts in one column.
    List(Vec<String>),
}

/// A line of a table, an object of JSON.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Record {
    /// What it belongs to: a kind and a name, which stand above a table.
    pub group: Option<(&'static str, String)>,
    /// The values with their names.
    pub cells: Vec<(&'static str, Cell)>,
}

impl Record {
    /// A record of a group.
    pub fn of(kind: &'static str, name: impl Into<String>) -> Record {
        Record {
            group: Some((kind, name.into())),
            cells: Vec::new(),
        }
    }

    /// With one more value.
    pub fn with(mut self, name: &'static str, cell: Cell) -> Record {
        self.cells.push((name, cell));
        self
    }

    /// With a text.
    pub fn text(self, name: &'static str, text: impl Into<String>) -> Record {
        self.with(name, Cell::Text(text.into()))
    }

    /// With a number.
    pub fn number(self, name: &'static str, number: i64) -> Record {
        self.with(name, Cell::Number(number))
    }

    /// With a value if there is one.
    pub fn maybe(self, name: &'static str, cell: Option<Cell>) -> Record {
        match cell {
            None => self,
            Some(cell) => self.with(name, cell),
        }
    }

    /// As an object.
    pub fn json(&self) -> Value {
        let mut object = Map::new();
        if let Some((kind, name)) = &self.group {
            object.insert((*kind).to_string(), json!(name));
        }
        for (name, cell) in &self.cells {
            object.insert((*name).to_string(), cell_json(cell));
        }
        Value::Object(object)
    }
}

fn cell_json(cell: &Cell) -> Value {
    match cell {
        Cell::Text(text) => json!(text),
        Cell::Number(number) => json!(number),
        Cell::Real(number) => json!(number),
        Cell::Flag(flag) => json!(flag),
        Cell::Spread(pairs) | Cell::Pairs(pairs) => {
            let pairs = pairs.iter().map(|(name, value)| (name.clone(), json!(value)));
            Value::Object(pairs.collect())
        }
        Cell::List(texts) => json!(texts),
    }
}

/// All records as an array.
pub fn json(records: &[Record]) -> Value {
    records.iter().map(Record::json).collect()
}

/// All records as tables, one for each group.
pub fn text(records: &[Record]) -> String {
    let mut text = String::new();
    for group in records.chunk_by(|one, next| one.group == next.group) {
        if !text.is_empty() {
            text.push('\n');
        }
        if let Some((kind, name)) = &group[0].group {
            let _ = writeln!(text, "{kind} {name}");
        }
        text.push_str(&table(group));
    }
    text
}

fn table(records: &[Record]) -> String {
    let rows: Vec<Vec<(String, String)>> = records.iter().map(row).collect();
    let columns = columns(&rows);
    let value = |row: &[(String, String)], column: &str| {
        let found = row.iter().find(|(name, _)| name == column);
        found.map_or_else(|| "-".to_string(), |(_, value)| value.clone())
    };
    let heading = columns.iter().map(|column| (*column).to_string()).collect();
    let body = rows
        .iter()
        .map(|row| columns.iter().map(|column| value(row, column)).collect());
    aligned(&std::iter::once(heading).chain(body).collect::<Vec<Vec<String>>>())
}

/// The columns of all rows. One that not all rows have stands after the column before it in a row that has it, so that
/// the order does not depend on which row comes first.
fn columns(rows: &[Vec<(String, String)>]) -> Vec<&str> {
    let mut columns: Vec<&str> = Vec::new();
    for row in rows {
        let mut place = 0;
        for (name, _) in row {
            place = match columns.iter().position(|column| column == name) {
                Some(known) => known + 1,
                None => {
                    columns.insert(place, name);
                    place + 1
                }
            };
        }
    }
    columns
}

fn aligned(lines: &[Vec<String>]) -> String {
    let columns = lines.first().map_or(0, Vec::len);
    let length = |text: &String| text.chars().count();
    let widths: Vec<usize> = (0..columns)
        .map(|column| lines.iter().map(|line| length(&line[column])).max().unwrap_or(0))
        .collect();
    let mut text = String::new();
    for line in lines {
        let padded = line.iter().zip(&widths).map(|(value, width)| format!("{value:width$}"));
        let _ = writeln!(text, "{}", padded.collect::<Vec<_>>().join("  ").trim_end());
    }
    text
}

/// Columns with values. That an entry is the default stands in its match, if the table has a key.
fn row(record: &Record) -> Vec<(String, String)> {
    let has_match = record
        .cells
        .iter()
        .any(|(name, cell)| *name == "match" && matches!(cell, Cell::Spread(fields) if !fields.is_empty()));
    let mut row = Vec::new();
    for (name, cell) in &record.cells {
        match cell {
            Cell::Flag(_) if *name == "default" && has_match => {}
            Cell::Spread(pairs) => row.extend(pairs.iter().cloned()),
            other => row.push(((*name).to_string(), cell_text(other))),
        }
    }
    row
}

fn cell_text(cell: &Cell) -> String {
    let dash = |text: String| if text.is_empty() { "-".to_string() } else { text };
    match cell {
        Cell::Text(text) => dash(text.clone()),
        Cell::Number(number) => number.to_string(),
        Cell::Real(number) => rate(*number),
        Cell::Flag(flag) => if *flag { "yes" } else { "no" }.to_string(),
        Cell::Spread(pairs) | Cell::Pairs(pairs) => {
            let pairs: Vec<String> = pairs.iter().map(|(name, value)| format!("{name}={value}")).collect();
            dash(pairs.join(" "))
        }
        Cell::List(texts) => dash(texts.join(", ")),
    }
}

/// A number with two decimals: below 1,000, or with a unit of thousands.
fn rate(number: f64) -> String {
    match number.abs() {
        size if size >= 999.995e6 => format!("{:.2} G", number / 1e9),
        size if size >= 999.995e3 => format!("{:.2} M", number / 1e6),
        size if size >= 999.995 => format!("{:.2} k", number / 1e3),
        _ => format!("{number:.2}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn records() -> Vec<Record> {
        let key = vec![("dst_addr".to_string(), "10.0.0.0/8".to_string())];
        vec![
            Record::of("table", "routes")
                .with("match", Cell::Spread(key))
                .text("action", "forward port=1"),
            Record::of("table", "routes")
                .text("match", "default")
                .text("action", "drop"),
            Record::of("table", "arp").number("priority", 5),
        ]
    }

    #[test]
    fn tables_are_aligned() {
        let expected = "\
table routes
match    dst_addr    action
-        10.0.0.0/8  forward port=1
default  -           drop

table arp
priority
5
";
        assert_eq!(text(&records()), expected);
    }

    #[test]
    fn objects_are_nested() {
        assert_eq!(
            records()[0].json(),
            json!({"table": "routes", "match": {"dst_addr": "10.0.0.0/8"}, "action": "forward port=1"})
        );
    }

    #[test]
    fn rates_are_short() {
        assert_eq!(rate(12.345), "12.35");
        assert_eq!(rate(999.999), "1.00 k");
        assert_eq!(rate(230_500.0), "230.50 k");
        assert_eq!(rate(2_762_870_000.0), "2.76 G");
    }

    #[test]
    fn the_default_entry_changes_no_column() {
        let key = |value: &str| Cell::Spread(vec![("port".to_string(), value.to_string())]);
        let default = Record::of("table", "t").with("match", key("(default)"));
        let default = default.with("default", Cell::Flag(true)).text("action", "drop");
        let entry = Record::of("table", "t").with("match", key("1")).number("priority", 5);
        let entry = entry.text("action", "send");
        let expected = "\
table t
port       priority  action
(default)  -         drop
1          5         send
";
        assert_eq!(text(&[default.clone(), entry.clone()]), expected);
        let turned: Vec<&str> = expected.lines().collect();
        let turned = format!("{}\n{}\n{}\n{}\n", turned[0], turned[1], turned[3], turned[2]);
        assert_eq!(text(&[entry, default]), turned);
    }
}
