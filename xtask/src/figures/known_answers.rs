//! How far the tester can be relied on: answers that are known, as `make test-tester` measures them
//! (`docs/tester_known_answers.json`).

use super::grouped;
use serde_json::Value;

/// Where they were measured, in the record and in words.
const PLACES: &[(&str, &str)] = &[("memory", "in memory"), ("veth", "over a veth pair")];

/// Floor and bias, distances from distributions, and faults that were counted.
pub(super) fn table(record: &Value) -> String {
    let record = &record["known_answers"];
    let machine = &record["machine"];
    let mut text = format!(
        "Measured on {} with `{}`: {}, {} processors, Linux {}; load average {} before and {} after.\n\n",
        record["date"].as_str().unwrap_or("?"),
        record["version"].as_str().unwrap_or("?"),
        machine["processor"].as_str().unwrap_or("?"),
        machine["processors"],
        machine["kernel"].as_str().unwrap_or("?"),
        record["load"][0],
        record["load"][1],
    );
    text += "| | floor, ns | bias, ns | distance: uniform | exponential | frames with faults | lost, doubled, reordered on purpose | counted |\n";
    text += "|---|---|---|---|---|---|---|---|\n";
    for (name, title) in PLACES {
        let place = &record["places"][name];
        if place.is_null() {
            continue;
        }
        let faults = &place["faults"];
        text += &format!(
            "| {title} | {} | {} | {} | {} | {} | {} | {} |\n",
            grouped(&place["constant"]["floor_ns"]),
            grouped(&place["constant"]["bias_ns"]),
            distance(&place["uniform"]),
            distance(&place["exponential"]),
            grouped(&faults["sent"]),
            counts(&faults["injected"]),
            counts(&faults["counted"]),
        );
    }
    text
}

/// From the own distribution, in each round, and from another one.
fn distance(found: &Value) -> String {
    let rounds = found["distances"].as_array().into_iter().flatten();
    let rounds: Vec<String> = rounds.map(Value::to_string).collect();
    format!("{} ({} from another)", rounds.join(" · "), found["distance_of_another"])
}

fn counts(of: &Value) -> String {
    let each = ["lost", "duplicated", "reordered"].map(|name| grouped(&of[name]));
    each.join(" · ")
}
