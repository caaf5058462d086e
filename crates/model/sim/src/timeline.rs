//! Timelines for Perfetto and chrome://tracing: slices on tracks, counters, and arrows from slice to slice, in the Trace Event Format
//! (JSON), which both open.

use serde_json::{Value, json};
use std::collections::BTreeMap;

/// Picoseconds in the format's unit, a microsecond.
fn microseconds(picoseconds: u64) -> f64 {
    picoseconds as f64 / 1e6
}

/// A track: a row of a process.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Track {
    /// What it is part of.
    pub process: String,
    /// What it shows.
    pub name: String,
}

/// Collects events.
pub struct Timeline {
    application: String,
    /// The numbers of processes and of their tracks.
    processes: BTreeMap<String, u64>,
    tracks: BTreeMap<Track, u64>,
    slices: Vec<Value>,
    others: Vec<Value>,
}

impl Timeline {
    /// One without events; `application` is what writes it.
    pub fn new(application: &str) -> Timeline {
        Timeline {
            application: application.to_string(),
            processes: BTreeMap::new(),
            tracks: BTreeMap::new(),
            slices: Vec::new(),
            others: Vec::new(),
        }
    }

    /// Something that lasts, in picoseconds; its number.
    pub fn slice(&mut self, track: &Track, name: &str, from_ps: u64, until_ps: u64) -> usize {
        let (process, thread) = self.numbers(track);
        self.slices.push(json!({
            "ph": "X", "name": name, "pid": process, "tid": thread,
            "ts": microseconds(from_ps), "dur": microseconds(until_ps.saturating_sub(from_ps)), "args": {},
        }));
        self.slices.len() - 1
    }

    /// Says something of a slice.
    pub fn note(&mut self, slice: usize, key: &str, text: &str) {
        self.slices[slice]["args"][key] = json!(text);
    }

    /// An arrow from the end of a slice to the beginning of another.
    pub fn arrow(&mut self, id: u64, from: usize, to: usize) {
        let id = format!("{id:x}.{to}");
        for (slice, kind, at_end) in [(from, "s", true), (to, "f", false)] {
            let slice = &self.slices[slice];
            let start = slice["ts"].as_f64().unwrap_or(0.0);
            let duration = slice["dur"].as_f64().unwrap_or(0.0);
            let mut event = json!({
                "ph": kind, "name": "packet", "cat": "packet", "id": id, "pid": slice["pid"], "tid": slice["tid"],
                "ts": if at_end { start + duration } else { start },
            });
            if !at_end {
                event["bp"] = json!("e");
            }
            self.others.push(event);
        }
    }

    /// Values at equal distances, from the first distance on.
    pub fn counter(&mut self, track: &Track, step_ps: u64, values: &[u64]) {
        let (process, _) = self.numbers(track);
        for (value, index) in values.iter().zip(1..) {
            self.others.push(json!({
                "ph": "C", "name": track.name, "pid": process, "ts": microseconds(step_ps * index), "args": { "value": value },
            }));
        }
    }

    fn numbers(&mut self, track: &Track) -> (u64, u64) {
        let next = self.processes.len() as u64 + 1;
        let process = *self.processes.entry(track.process.clone()).or_insert(next);
        let next = self.tracks.len() as u64 + 1;
        (process, *self.tracks.entry(track.clone()).or_insert(next))
    }

    /// The file.
    pub fn json(self) -> String {
        let mut events: Vec<Value> = Vec::new();
        for (name, process) in &self.processes {
            events.push(json!({ "ph": "M", "name": "process_name", "pid": process, "args": { "name": name } }));
        }
        for (track, thread) in &self.tracks {
            let process = self.processes.get(&track.process);
            events.push(
                json!({ "ph": "M", "name": "thread_name", "pid": process, "tid": thread, "args": { "name": track.name } }),
            );
        }
        events.extend(self.slices);
        events.extend(self.others);
        let document = json!({
            "displayTimeUnit": "ns", "otherData": { "application": self.application }, "traceEvents": events,
        });
        format!("{document}\n")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slices_are_joined_by_arrows() {
        let track = |name: &str| Track {
            process: "chip".to_string(),
            name: name.to_string(),
        };
        let mut timeline = Timeline::new("a test");
        let first = timeline.slice(&track("ingress"), "packet 1", 1_000_000, 3_000_000);
        let second = timeline.slice(&track("queue"), "packet 1", 3_000_000, 4_500_000);
        timeline.arrow(1, first, second);
        timeline.note(second, "dropped", "queue_full");
        timeline.counter(&track("bytes"), 1_000_000, &[64, 128]);
        let document: Value = serde_json::from_str(&timeline.json()).expect("JSON");
        let events = document["traceEvents"].as_array().expect("events");
        let of = |kind: &str| events.iter().filter(|event| event["ph"] == kind).collect::<Vec<_>>();
        assert_eq!((of("X").len(), of("M").len(), of("C").len()), (2, 4, 2));
        assert_eq!(of("X")[1]["dur"], 1.5);
        assert_eq!((&of("s")[0]["ts"], &of("f")[0]["ts"]), (&json!(3.0), &json!(3.0)));
        assert_eq!(of("X")[1]["args"]["dropped"], "queue_full");
    }
}
