//! `cargo xtask figures`: the measured tables of the documents, from one recorded run.
//!
//! `benches/record.py` writes a run to `benches/history/DATE.json`. A document takes a table from the newest one
//! between `<!-- figures: NAME -->` and `<!-- end of figures -->`, so no document quotes a figure that another one
//! contradicts. What takes long to measure has records of its own ([`OTHER_RECORDS`]).

mod bounds;
mod known_answers;

use anyhow::{Context, Result, anyhow, bail};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Documents that may have such tables.
const DOCUMENTS: &[&str] = &["README.md", "LIMITATIONS.md", "docs"];
const BEGIN: &str = "<!-- figures: ";
const END: &str = "<!-- end of figures -->";

/// Records beside the newest run: their name in it, and the file.
const OTHER_RECORDS: &[(&str, &str)] = &[
    ("siege", "docs/siege.json"),
    ("compile_time", "benches/compile_time.json"),
    ("python", "benches/python_package.json"),
    ("known_answers", "docs/tester_known_answers.json"),
];

/// Arguments of `cargo xtask figures`.
#[derive(clap::Args)]
pub struct Arguments {
    /// Change nothing; fail when a document differs from the record
    #[arg(long)]
    check: bool,
}

/// Writes every table anew, or compares.
pub fn run(arguments: &Arguments) -> Result<ExitCode> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .expect("xtask is in a folder of the repository");
    let mut record = newest_record(&root.join("benches/history"))?;
    for (name, file) in OTHER_RECORDS {
        record[*name] = read(&root.join(file))?;
    }
    let mut differ = Vec::new();
    for path in documents(root)? {
        let text = std::fs::read_to_string(&path).with_context(|| path.display().to_string())?;
        let written = with_tables(&text, &record).with_context(|| path.display().to_string())?;
        if written == text {
            continue;
        }
        if !arguments.check {
            std::fs::write(&path, written).with_context(|| path.display().to_string())?;
        }
        differ.push(path);
    }
    for path in &differ {
        println!(
            "{}: {}",
            path.display(),
            if arguments.check {
                "differs from the record"
            } else {
                "written"
            }
        );
    }
    Ok(if arguments.check && !differ.is_empty() {
        println!("run: cargo xtask figures");
        ExitCode::FAILURE
    } else {
        ExitCode::SUCCESS
    })
}

/// The record with the last date in its name.
fn newest_record(folder: &Path) -> Result<Value> {
    let entries = std::fs::read_dir(folder).with_context(|| folder.display().to_string())?;
    let newest = entries
        .filter_map(|entry| entry.ok().map(|entry| entry.path()))
        .filter(|path| path.extension().is_some_and(|extension| extension == "json"))
        .max()
        .ok_or_else(|| anyhow!("{} has no record: run benches/record.py", folder.display()))?;
    read(&newest)
}

fn read(path: &Path) -> Result<Value> {
    let text = std::fs::read_to_string(path).with_context(|| path.display().to_string())?;
    serde_json::from_str(&text).with_context(|| path.display().to_string())
}

/// The Markdown files of [`DOCUMENTS`], folders without those below them.
fn documents(root: &Path) -> Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for name in DOCUMENTS {
        let path = root.join(name);
        if path.is_dir() {
            let files = std::fs::read_dir(&path)?.filter_map(|entry| entry.ok().map(|entry| entry.path()));
            found.extend(files.filter(|file| file.extension().is_some_and(|extension| extension == "md")));
        } else {
            found.push(path);
        }
    }
    found.sort();
    Ok(found)
}

/// A document with its tables as the record has them.
fn with_tables(text: &str, record: &Value) -> Result<String> {
    let mut written = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(begin) = rest.find(BEGIN) {
        let marker_end = begin + rest[begin..].find('\n').context("a marker is the last line")? + 1;
        let name = rest[begin + BEGIN.len()..marker_end]
            .trim_end()
            .trim_end_matches("-->")
            .trim();
        let end = rest.find(END).filter(|end| *end >= marker_end);
        let end = end.ok_or_else(|| anyhow!("`{BEGIN}{name} -->` has no `{END}`"))?;
        written.push_str(&rest[..marker_end]);
        written.push_str(&table(name, record)?);
        written.push_str(END);
        rest = &rest[end + END.len()..];
    }
    written.push_str(rest);
    Ok(written)
}

/// A table by its name.
fn table(name: &str, record: &Value) -> Result<String> {
    match name {
        "machine" => Ok(machine(record)),
        "throughput" => Ok(throughput(record)),
        "ratios" => Ok(ratios(record)),
        "flows" => Ok(flows(record)),
        "veth" => Ok(veth(record)),
        "siege" => Ok(bounds::siege(record)),
        "compile time" => Ok(bounds::compile_time(record)),
        "python" => Ok(bounds::python(record)),
        "known answers" => Ok(known_answers::table(record)),
        _ => {
            bail!(
                "there is no table `{name}`: there are machine, throughput, ratios, flows, veth, siege, compile time, python, known answers"
            )
        }
    }
}

/// What was measured, on what, and when.
fn machine(record: &Value) -> String {
    let machine = &record["machine"];
    let caches = machine["caches"].as_object().into_iter().flatten();
    let caches: Vec<String> = caches
        .map(|(name, size)| format!("{name} {}", size.as_str().unwrap_or("?")))
        .collect();
    format!(
        "Measured on {} with `{}`: {}, {} processors (virtual), caches {}, Linux {}; medians of {} rounds (over veth: {}).\n",
        record["date"].as_str().unwrap_or("?"),
        record["version"].as_str().unwrap_or("?"),
        machine["processor"].as_str().unwrap_or("?"),
        machine["processors"],
        caches.join(", "),
        machine["kernel"].as_str().unwrap_or("?"),
        record["rounds"],
        record["veth"]["rounds"],
    )
}

/// Rows of one run of `forebay bench`.
fn rows<'a>(record: &'a Value, run: &str) -> impl Iterator<Item = &'a Value> {
    record["bench"][run]["rows"].as_array().into_iter().flatten()
}

/// Million packets that a contender receives in a second.
fn mpps(row: &Value, contender: &str) -> Option<f64> {
    let contenders = row["contenders"].as_array()?;
    let figure = contenders.iter().find(|figure| figure["contender"] == contender)?;
    Some(figure["received_per_s"].as_f64()? / 1e6)
}

fn ratio(row: &Value) -> Option<f64> {
    let contenders = row["contenders"].as_array()?;
    contenders.iter().find(|figure| figure["contender"] == "jit")?["ratio_to_hand_written"].as_f64()
}

/// A rate with three significant digits.
fn rate(value: Option<f64>) -> String {
    match value {
        None => "–".to_string(),
        Some(value) if value >= 99.95 => format!("{value:.0}"),
        Some(value) if value >= 9.995 => format!("{value:.1}"),
        Some(value) => format!("{value:.2}"),
    }
}

/// A ratio with two digits after the point, or without any where it is large.
fn two_digits(value: Option<f64>) -> String {
    match value {
        None => "–".to_string(),
        Some(value) if value >= 99.5 => format!("{value:.0}"),
        Some(value) => format!("{value:.2}"),
    }
}

/// Thousands with commas.
fn grouped(number: &Value) -> String {
    let digits = number.as_u64().map(|number| number.to_string()).unwrap_or_default();
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// The name of a row's program, without its sizes.
fn program(row: &Value) -> &str {
    let name = row["program"].as_str().unwrap_or("?");
    name.split(' ').next().unwrap_or(name)
}

/// Whether a row is of one worker with compiled code, and of as many flows as entries where a program has a choice.
fn is_plain(row: &Value) -> bool {
    let has_choice = !program(row).starts_with("iot");
    row["workers"] == 1 && mpps(row, "jit").is_some() && (!has_choice || row["flows"] == row["entries"])
}

/// A program in words.
fn title(program: &str) -> &str {
    match program {
        "portfwd" => "port forwarding",
        "l2fwd" => "Ethernet forwarding",
        "l3fwd" => "IPv4 routing",
        "iot_aggregate" => "IoT aggregation, N = 8, S = 22: messages in",
        "iot_disaggregate" => "IoT disaggregation, N = 8, S = 22: N-packets in",
        other => other,
    }
}

/// Every plain row: program, entries, compiled, by hand, ratio, interpreter.
fn throughput(record: &Value) -> String {
    let mut text = String::from(
        "| program | entries | compiled, Mpps | by hand in Rust, Mpps | ratio | interpreter, Mpps |\n|---|---|---|---|---|---|\n",
    );
    for row in rows(record, "usual").filter(|row| is_plain(row)) {
        let program = program(row);
        let interpreter = rows(record, &format!("interpreter_{program}"))
            .find(|other| other["entries"] == row["entries"])
            .and_then(|other| mpps(other, "interp"));
        text += &format!(
            "| {} | {} | {} | {} | {} | {} |\n",
            title(program),
            grouped(&row["entries"]),
            rate(mpps(row, "jit")),
            rate(mpps(row, "hand-written")),
            two_digits(ratio(row)),
            rate(interpreter),
        );
    }
    text
}

/// What one configuration does beside another.
fn ratios(record: &Value) -> String {
    let mut text = String::from("| beside one another | ratio |\n|---|---|\n");
    let mut line = |what: &str, value: Option<f64>| text += &format!("| {what} | {} |\n", two_digits(value));
    let routing = rows(record, "interpreter_l3fwd").next();
    let of = |row: &Value, one: &str, other: &str| Some(mpps(row, one)? / mpps(row, other)?);
    line(
        "routing, 1,000 entries and flows: compiled / interpreter",
        routing.and_then(|row| of(row, "jit", "interp")),
    );
    let by = |run: &str, key: &str, value: u64| {
        rows(record, run)
            .find(|row| row[key] == value)
            .and_then(|row| mpps(row, "jit"))
    };
    let quotient = |above: Option<f64>, below: Option<f64>| Some(above? / below?);
    line(
        "routing, 1,000 entries: 1,000 flows / 1 flow",
        quotient(by("flows", "flows", 1000), by("flows", "flows", 1)),
    );
    line(
        "routing, 1,000 entries and flows: two workers / one",
        quotient(by("workers", "workers", 2), by("workers", "workers", 1)),
    );
    text
}

/// Routing by the number of flows.
fn flows(record: &Value) -> String {
    let mut text = String::from("| flows | compiled, Mpps | by hand, Mpps | ratio |\n|---|---|---|---|\n");
    for row in rows(record, "flows") {
        text += &format!(
            "| {} | {} | {} | {} |\n",
            grouped(&row["flows"]),
            rate(mpps(row, "jit")),
            rate(mpps(row, "hand-written")),
            two_digits(ratio(row)),
        );
    }
    text
}

/// Port forwarding between veth pairs.
fn veth(record: &Value) -> String {
    let mut text = String::from(
        "| switch | packets/s | to the bridge | processor time a packet, ns | to the bridge |\n|---|---|---|---|---|\n",
    );
    for row in record["veth"]["switches"].as_array().into_iter().flatten() {
        text += &format!(
            "| {} | {} | {} | {} | {} |\n",
            row["switch"].as_str().unwrap_or("?"),
            grouped(&row["packets_per_second"]),
            row["rate_to_bridge"],
            grouped(&row["processor_ns_per_packet"]),
            row["cost_to_bridge"],
        );
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_table_takes_the_place_of_what_was_there() {
        let record = json!({ "veth": { "switches": [{
            "switch": "bridge", "packets_per_second": 711_000, "rate_to_bridge": 1.0,
            "processor_ns_per_packet": 720, "cost_to_bridge": 1.0 }] } });
        let text = "before\n<!-- figures: veth -->\nold\n<!-- end of figures -->\nafter\n";
        let written = with_tables(text, &record).expect("a table");
        assert!(written.starts_with("before\n<!-- figures: veth -->\n| switch |"));
        assert!(written.ends_with("| bridge | 711,000 | 1.0 | 720 | 1.0 |\n<!-- end of figures -->\nafter\n"));
        assert_eq!(with_tables(&written, &record).expect("again"), written);
    }

    #[test]
    fn a_table_that_does_not_exist_is_an_error() {
        let text = "<!-- figures: colour -->\n<!-- end of figures -->\n";
        assert!(with_tables(text, &json!({})).is_err());
    }

    #[test]
    fn a_marker_without_an_end_is_an_error() {
        assert!(with_tables("<!-- figures: veth -->\n", &json!({})).is_err());
    }
}
