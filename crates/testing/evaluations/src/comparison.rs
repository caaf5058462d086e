//! Devices beside one another, by figures that other evaluations have recorded.
//!
//! The paper's last table grades devices by plus signs. Here each sign is a figure: of a `result.json` of another
//! experiment, of a file that `benches/devices/measure.py` has written, or a published one.

use crate::evaluation::{Found, Standing};
use crate::machine::Machine;
use forebay_sim::Library;
use forebay_sim::plot::{Axis, Chart, Point, Series, Style};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::Path;

/// What is measured of flows. A record of flows that lacks one of these could not find it out: no load was without loss.
const OF_FLOWS: [&str; 5] = [
    "highest rate (Mpps)",
    "highest rate (Gbps)",
    "latency p50 (µs)",
    "latency p99 less p50 (µs)",
    "growth of latency p50 from R1F1 to RmaxF1k (%)",
];

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
    /// Where the measured values come from, in the order in which they are read.
    #[serde(default)]
    pub records: Vec<Record>,
}

/// A record that has measured values, and the machine that it was made on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[allow(missing_docs)]
pub struct Record {
    /// The file, and the place in it.
    pub name: String,
    pub device: String,
    pub machine: Machine,
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
    /// How far a measured value is known.
    #[serde(default)]
    pub standing: Standing,
}

impl Value {
    /// One that was not measured.
    fn stated(text: String, number: Option<f64>) -> Value {
        Value {
            text,
            number,
            is_measured: false,
            standing: Standing::Measured,
        }
    }
}

/// Reads all figures.
///
/// # Errors
/// When a file cannot be read, or has no such figure, in words.
pub fn compare(setting: &ComparisonSetting, library: &dyn Library) -> Result<Comparison, String> {
    let mut files = Files {
        library,
        read: BTreeMap::new(),
        records: Vec::new(),
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
        records: files.records,
    })
}

/// Result files, each read once.
struct Files<'a> {
    library: &'a dyn Library,
    read: BTreeMap<String, serde_json::Value>,
    records: Vec<Record>,
}

impl Files<'_> {
    fn value(&mut self, entry: &ValueEntry) -> Result<Value, String> {
        match entry {
            ValueEntry::Stated(text) => Ok(Value::stated(text.clone(), None)),
            ValueEntry::Number(number) => Ok(Value::stated(crate::report::short(*number), Some(*number))),
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
            self.note(format!("{file}{}", recorded.at), &found);
            return Ok(Value {
                text: figure.text(),
                number: Some(figure.value),
                is_measured: true,
                standing: figure.standing,
            });
        }
        // The record has this quantity in other cases, or would have it: here it could not be found out.
        let about = |quantity: &str| quantity.split(',').next().unwrap_or_default().to_string();
        let wanted = about(&recorded.figure);
        let is_of_flows = !found.flows.is_empty() && OF_FLOWS.contains(&wanted.as_str());
        if is_of_flows || figures.iter().any(|figure| about(&figure.quantity) == wanted) {
            Ok(Value::stated("not found out".to_string(), None))
        } else {
            Err(wrong(&format!("there is no figure {:?}", recorded.figure)))
        }
    }

    /// Keeps what a record says of its machine.
    fn note(&mut self, name: String, found: &Found) {
        if self.records.iter().all(|record| record.name != name) {
            self.records.push(Record {
                name,
                device: found.device.clone(),
                machine: found.machine.clone(),
            });
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
            "\n**Bold**: measured, on the machine of its record below. *≥*: the tester, the search's ceiling or the time for it was the limit, \
             so the device may do more. *Not confirmed*: the load did not hold when it was offered again; a latency beside it is that of a load at \
             which packets may be lost. Other values are published or stated; an empty cell is unknown.\n\n",
        );
        out.push_str("| record | device | machine |\n|---|---|---|\n");
        for record in &self.records {
            let _ = writeln!(
                out,
                "| `{}` | {} | {} |",
                record.name,
                record.device,
                record.machine.words()
            );
        }
        out.push_str("\nWhere the load average is above 1, other processes wanted the machine too.\n\n");
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
        let numbers: Vec<(&String, &Value, f64)> = row
            .values
            .iter()
            .zip(&self.devices)
            .filter_map(|(value, device)| Some((device, value.as_ref()?, value.as_ref()?.number?)))
            .collect();
        let point = |(place, (_, value, number)): (usize, &(&String, &Value, f64))| {
            let at_least = value.standing == Standing::AtLeast;
            (
                value.is_measured,
                Point {
                    at_least,
                    ..Point::new(place as f64 + 1.0, *number)
                },
            )
        };
        let points: Vec<(bool, Point)> = numbers.iter().enumerate().map(point).collect();
        let series = |is_measured: bool, style| Series {
            group: String::new(),
            style,
            points: points
                .iter()
                .filter(|(own, _)| *own == is_measured)
                .map(|(_, point)| *point)
                .collect(),
        };
        let name = |(device, value, _): &(&String, &Value, f64)| match value.standing {
            Standing::NotConfirmed => format!("{device} (not confirmed)"),
            _ => device.to_string(),
        };
        Chart {
            title: format!("Devices compared: {}", row.criterion),
            subtitle: "published values, and those measured, each on the machine of its record".to_string(),
            x_label: String::new(),
            y_label: row.quantity.clone(),
            series: vec![series(true, Style::Measured), series(false, Style::Marks)],
            x_axis: Axis::Names(numbers.iter().map(name).collect()),
            y_axis: Axis::for_values(numbers.iter().map(|(.., number)| *number)),
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
    use crate::flows::FlowResult;

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

    /// Files of an experiment's folder in the repository.
    struct Folder(std::path::PathBuf);

    impl Library for Folder {
        fn program(&self, path: &str, _defines: &[String]) -> Result<forebay_ir::Program, String> {
            Err(format!("{path}: no programs here"))
        }

        fn text(&self, path: &str) -> Result<String, String> {
            std::fs::read_to_string(self.0.join(path)).map_err(|error| format!("{path}: {error}"))
        }

        fn bytes(&self, path: &str) -> Result<Vec<u8>, String> {
            std::fs::read(self.0.join(path)).map_err(|error| format!("{path}: {error}"))
        }
    }

    fn folder(name: &str) -> Folder {
        Folder(
            Path::new(env!("CARGO_MANIFEST_DIR"))
                .join("../../../experiments")
                .join(name),
        )
    }

    /// Rates that the tester limits are lower bounds, loads that did not hold are none, and each record has a machine
    /// of its own.
    #[test]
    fn cells_say_how_far_they_are_known() {
        let library = folder("device-comparison");
        let evaluation =
            crate::Evaluation::read(&library.text("evaluation.toml").expect("a file")).expect("an evaluation");
        let setting = evaluation.full.comparison.as_ref().expect("a comparison");
        let found = compare(setting, &library).expect("all records are there");
        let cell = |row: usize, device: &str| {
            let column = found
                .devices
                .iter()
                .position(|own| own.starts_with(device))
                .expect("a device");
            shown(&found.rows[row].values[column])
        };
        let file = library.text("devices.json").expect("a file");
        let devices: serde_json::Value = serde_json::from_str(&file).expect("records");
        for (part, device) in [
            ("forebay", "Forebay, veth"),
            ("ovs", "Open vSwitch"),
            ("linux", "Linux routing"),
            ("nftables", "nftables"),
            ("bridge", "Linux bridge"),
            ("swx", "DPDK SWX"),
        ] {
            let record = Found::deserialize(&devices[part]["flows"]).expect("a record of flows");
            let is_shown = |flow: &&FlowResult| flow.case.name == "R1F1" && flow.frame_bytes == 1500;
            let flow = record.flows.iter().find(is_shown).expect("a case");
            let rate = cell(0, device);
            let is_right = match (flow.ndr_pps, flow.standing()) {
                (None, _) => rate == "not found out",
                (_, Standing::Measured) => rate.starts_with("**") && !rate.contains(['≥', '(']),
                (_, Standing::AtLeast) => rate.starts_with("**≥ "),
                (_, Standing::NotConfirmed) => rate.ends_with("(not confirmed)**"),
            };
            assert!(is_right, "{device}: {rate}");
            assert!(!cell(2, device).contains('≥'), "{device}: a latency is no bound");
        }
        let names: Vec<&str> = found.records.iter().map(|record| record.name.as_str()).collect();
        assert!(names.contains(&"devices.json/ovs/flows") && names.contains(&"../flow-scalability/result.json"));
        let mut text = String::new();
        found.markdown(&mut text);
        for record in &found.records {
            assert!(text.contains(&record.machine.words()), "{}", record.name);
        }
        let (_, chart) = &found.charts()[0];
        assert!(chart.series[0].points.iter().any(|point| point.at_least));
    }

    /// One record: of a load that did not hold, and of no latency.
    struct NotConfirmed;

    impl Library for NotConfirmed {
        fn program(&self, path: &str, _defines: &[String]) -> Result<forebay_ir::Program, String> {
            Err(format!("{path}: no programs here"))
        }

        fn text(&self, _path: &str) -> Result<String, String> {
            Ok(r#"{
                "format": "forebay-evaluation/1", "title": "t", "device": "d",
                "machine": { "processor": "p", "processors": 2, "kernel": "k", "load_before": 0.0, "load_after": 0.0 },
                "flows": [{
                    "kind": "lpm", "case": { "name": "R1F1", "rules": 1, "flows": 1 }, "frame_bytes": 64,
                    "ndr_pps": 1000000.0, "limited_by": "device", "loads": [],
                    "confirmed": { "failed": 1, "is_confirmed": false }
                }]
            }"#
            .to_string())
        }

        fn bytes(&self, path: &str) -> Result<Vec<u8>, String> {
            Err(format!("{path}: no bytes here"))
        }
    }

    /// A figure of that record beside a published value.
    fn compared(figure: &str) -> Result<Comparison, String> {
        let device = |name: &str, value: ValueEntry| DeviceEntry {
            name: name.to_string(),
            values: BTreeMap::from([("quantity".to_string(), value)]),
        };
        let recorded = RecordedEntry {
            file: "record.json".to_string(),
            at: String::new(),
            figure: figure.to_string(),
        };
        let setting = ComparisonSetting {
            quantities: vec![Quantity {
                name: "quantity".to_string(),
                title: "quantity".to_string(),
                criterion: "criterion".to_string(),
            }],
            devices: vec![
                device("measured", ValueEntry::Recorded(recorded)),
                device("published", ValueEntry::Number(2.0)),
            ],
        };
        compare(&setting, &NotConfirmed)
    }

    #[test]
    fn a_load_that_did_not_hold_is_not_confirmed_in_cell_and_chart() {
        let found = compared("highest rate (Mpps), lpm, R1F1, 64 B").expect("a figure");
        assert!(shown(&found.rows[0].values[0]).ends_with("(not confirmed)**"));
        let (_, chart) = &found.charts()[0];
        let Axis::Names(names) = &chart.x_axis else {
            panic!("{chart:?}")
        };
        assert_eq!(names[0], "measured (not confirmed)");
    }

    /// A record of flows has no figure where no load was without loss; a quantity that no such record has is a mistake.
    #[test]
    fn what_could_not_be_found_out_is_no_mistake() {
        for about in OF_FLOWS {
            let found = compared(&format!("{about}, lpm, RmaxF1k, 64 B")).expect("a quantity");
            assert_eq!(shown(&found.rows[0].values[0]), "not found out", "{about}");
        }
        let error = compared("operable rules, exact").expect_err("no figure");
        assert!(error.contains("there is no figure"), "{error}");
    }

    #[test]
    fn quantities_of_flows_are_named_as_in_records() {
        let text = folder("flow-scalability").text("result.json").expect("a file");
        let found: Found = serde_json::from_str(&text).expect("a record");
        let figures = found.figures();
        for about in OF_FLOWS {
            assert!(
                figures.iter().any(|figure| figure.quantity.starts_with(about)),
                "{about}"
            );
        }
    }
}
