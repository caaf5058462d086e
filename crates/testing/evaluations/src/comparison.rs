//! Devices beside one another, by figures that other evaluations have recorded.
//!
//! The paper's last table grades devices by plus signs. Here each sign is a figure: of a `result.json` of another experiment, of a
//! file that `benches/devices/measure.py` has written, or a published one.

use crate::evaluation::Found;
use forebay_sim::Library;
use forebay_sim::plot::{Chart, Point, Series, Style};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::Path;

/// What is compared.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ComparisonSetting {
    /// The rows of the table.
    pub quantities: Vec<Quantity>,
    /// Its columns.
    pub devices: Vec<DeviceEntry>,
}

/// Something by which devices are compared.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Quantity {
    /// How devices name it.
    pub name: String,
    /// What it is, with its unit.
    pub title: String,
    /// The criterion of the paper.
    pub criterion: String,
}

/// A device.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DeviceEntry {
    /// What it is.
    pub name: String,
    /// What is known of it, by quantity.
    pub values: BTreeMap<String, ValueEntry>,
}

/// A value, in words or from a file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum ValueEntry {
    /// A published or stated one.
    Stated(String),
    /// A published number, which the chart shows.
    Number(f64),
    /// A figure of a result file.
    Recorded(RecordedEntry),
}

/// Where a figure is.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RecordedEntry {
    /// The file, from the folder of the comparison on.
    pub file: String,
    /// Where in the file the result is, as a JSON pointer; the whole of it when empty.
    #[serde(default)]
    pub at: String,
    /// The figure: see [`Found::figures`].
    pub figure: String,
}

/// The table that was made.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[allow(missing_docs)]
pub struct Comparison {
    pub devices: Vec<String>,
    pub rows: Vec<ComparisonRow>,
}

/// A row of it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[allow(missing_docs)]
pub struct ComparisonRow {
    pub criterion: String,
    pub quantity: String,
    /// For each device; none where nothing is known.
    pub values: Vec<Option<Value>>,
}

/// What is known of a device.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[allow(missing_docs)]
pub struct Value {
    pub text: String,
    pub number: Option<f64>,
    pub is_measured: bool,
}

/// Reads all figures.
///
/// # Errors
/// When a file cannot be read, or has no such figure, in words.
pub fn compare(setting: &ComparisonSetting, library: &dyn Library) -> Result<Comparison, String> {
    let mut files = Files {
        library,
        read: BTreeMap::new(),
    };
    for device in &setting.devices {
        let is_known = |name: &String| setting.quantities.iter().any(|quantity| quantity.name == *name);
        if let Some(unknown) = device.values.keys().find(|name| !is_known(name)) {
            return Err(format!("{}: there is no quantity {unknown:?}", device.name));
        }
    }
    let mut rows = Vec::new();
    for quantity in &setting.quantities {
        let value = |device: &DeviceEntry| {
            let entry = device.values.get(&quantity.name);
            entry.map(|entry| files.value(entry)).transpose()
        };
        let values: Result<Vec<Option<Value>>, String> = setting.devices.iter().map(value).collect();
        rows.push(ComparisonRow {
            criterion: quantity.criterion.clone(),
            quantity: quantity.title.clone(),
            values: values?,
        });
    }
    Ok(Comparison {
        devices: setting.devices.iter().map(|device| device.name.clone()).collect(),
        rows,
    })
}

/// Result files, each read once.
struct Files<'a> {
    library: &'a dyn Library,
    read: BTreeMap<String, serde_json::Value>,
}

impl Files<'_> {
    fn value(&mut self, entry: &ValueEntry) -> Result<Value, String> {
        match entry {
            ValueEntry::Stated(text) => Ok(Value {
                text: text.clone(),
                number: None,
                is_measured: false,
            }),
            ValueEntry::Number(number) => Ok(Value {
                text: crate::report::short(*number),
                number: Some(*number),
                is_measured: false,
            }),
            ValueEntry::Recorded(recorded) => self.figure(recorded),
        }
    }

    fn figure(&mut self, recorded: &RecordedEntry) -> Result<Value, String> {
        let file = &recorded.file;
        let wrong = |what: &dyn std::fmt::Display| format!("{file}{}: {what}", recorded.at);
        if !self.read.contains_key(file) {
            let text = self.library.text(file).map_err(|error| match written_by(file) {
                Some(command) => format!("{error}; `{command}` writes it"),
                None => error,
            })?;
            let value = serde_json::from_str(&text).map_err(|error| wrong(&error))?;
            self.read.insert(file.clone(), value);
        }
        let part = self.read[file]
            .pointer(&recorded.at)
            .ok_or_else(|| wrong(&"there is no such part"))?;
        let found = Found::deserialize(part).map_err(|error| wrong(&error))?;
        let figures = found.figures();
        let figure = figures.iter().find(|figure| figure.quantity == recorded.figure);
        if let Some(figure) = figure {
            return Ok(Value {
                text: crate::report::short(figure.value),
                number: Some(figure.value),
                is_measured: true,
            });
        }
        // The record has this quantity in other cases: here it could not be found out.
        let about = |quantity: &str| quantity.split(',').next().unwrap_or_default().to_string();
        let wanted = about(&recorded.figure);
        match figures.iter().any(|figure| about(&figure.quantity) == wanted) {
            true => Ok(Value {
                text: "not found out".to_string(),
                number: None,
                is_measured: false,
            }),
            false => Err(wrong(&format!("there is no figure {:?}", recorded.figure))),
        }
    }
}

/// The command that writes a file of figures.
fn written_by(file: &str) -> Option<String> {
    let path = Path::new(file);
    let folder = path.parent().and_then(Path::file_name);
    match (path.file_name()?.to_str()?, folder) {
        ("result.json", Some(experiment)) => Some(format!("forebay experiment run {}", experiment.to_string_lossy())),
        ("devices.json", _) => {
            Some("sudo benches/devices/measure.py --out experiments/device-comparison/devices.json".to_string())
        }
        _ => None,
    }
}

impl Comparison {
    /// The table as Markdown.
    pub fn markdown(&self, out: &mut String) {
        if self.rows.is_empty() {
            return;
        }
        let _ = writeln!(out, "| criterion | quantity | {} |", self.devices.join(" | "));
        let _ = writeln!(out, "|---|---|{}", "---|".repeat(self.devices.len()));
        for row in &self.rows {
            let values: Vec<String> = row.values.iter().map(shown).collect();
            let _ = writeln!(out, "| {} | {} | {} |", row.criterion, row.quantity, values.join(" | "));
        }
        out.push_str(
            "\n**Bold**: measured on this machine. Other values are published or stated; an empty cell is unknown.\n\n",
        );
    }

    /// A chart for each quantity of which two devices or more have numbers.
    pub fn charts(&self) -> Vec<(String, Chart)> {
        let numbered = |row: &&ComparisonRow| {
            row.values
                .iter()
                .flatten()
                .filter(|value| value.number.is_some())
                .count()
                > 1
        };
        let rows = self.rows.iter().enumerate().filter(|(_, row)| numbered(row));
        rows.map(|(index, row)| (format!("comparison_{}", index + 1), self.chart(row)))
            .collect()
    }

    fn chart(&self, row: &ComparisonRow) -> Chart {
        let devices = row.values.iter().zip(&self.devices).zip(1..);
        let series = devices.filter_map(|((value, device), place)| {
            let value = value.as_ref()?;
            Some(Series {
                group: format!("{place}: {device}"),
                style: if value.is_measured {
                    Style::Measured
                } else {
                    Style::Marks
                },
                points: vec![Point::new(f64::from(place), value.number?)],
            })
        });
        Chart {
            title: format!("Devices compared: {}", row.criterion),
            subtitle: "published values and those measured on this machine".to_string(),
            x_label: "device".to_string(),
            y_label: row.quantity.clone(),
            series: series.collect(),
        }
    }
}

fn shown(value: &Option<Value>) -> String {
    match value {
        None => String::new(),
        Some(value) if value.is_measured => format!("**{}**", value.text),
        Some(value) => value.text.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_is_missing_has_a_command() {
        let of = |file: &str| written_by(file).unwrap_or_default();
        assert_eq!(
            of("../flow-scalability/result.json"),
            "forebay experiment run flow-scalability"
        );
        assert!(of("devices.json").contains("benches/devices/measure.py"));
        assert_eq!(of("published.json"), "");
    }
}
