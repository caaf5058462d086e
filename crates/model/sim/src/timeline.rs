//! Timelines for Perfetto and chrome://tracing: slices on tracks, counters, and arrows from slice to slice, in the
//! Trace Event Format (JSON), which both open.
//!
//! Slices of a thread must follow one another or lie within one another; Perfetto drops others. Slices of a track that
//! overlap, such as packets in a queue, therefore get lanes: threads of their own with the name of the track. A slice
//! is in the first lane that is free.

use serde_json::{Value, json};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap};

/// Picoseconds in a nanosecond, to which viewers show times.
const NANOSECOND: u64 = 1_000;

/// Part of a nanosecond that is added to each time. Times are in microseconds, so readers get nanoseconds by a
/// multiplication, and some cut what is after the point, others round; with it both get the same whole number.
const GUARD_NS: f64 = 0.25;

/// Whole nanoseconds in the format's unit, a microsecond.
fn microseconds(nanoseconds: u64) -> f64 {
    (nanoseconds as f64 + GUARD_NS) / 1e3
}

/// A track: a row of a process.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Track {
    /// What it is part of.
    pub process: String,
    /// What it shows.
    pub name: String,
}

/// Something that lasts.
struct Slice {
    process: u64,
    track: u64,
    name: String,
    from_ns: u64,
    until_ns: u64,
    notes: BTreeMap<String, String>,
}

/// An arrow between slices.
struct Arrow {
    id: String,
    from: usize,
    to: usize,
}

/// Collects events.
pub struct Timeline {
    application: String,
    /// The numbers of processes and of their tracks.
    processes: BTreeMap<String, u64>,
    tracks: BTreeMap<Track, u64>,
    slices: Vec<Slice>,
    arrows: Vec<Arrow>,
    counters: Vec<Value>,
}

impl Timeline {
    /// One without events; `application` is what writes it.
    pub fn new(application: &str) -> Timeline {
        Timeline {
            application: application.to_string(),
            processes: BTreeMap::new(),
            tracks: BTreeMap::new(),
            slices: Vec::new(),
            arrows: Vec::new(),
            counters: Vec::new(),
        }
    }

    /// Something that lasts, in picoseconds; its number.
    pub fn slice(&mut self, track: &Track, name: &str, from_ps: u64, until_ps: u64) -> usize {
        let (process, track) = self.numbers(track);
        self.slices.push(Slice {
            process,
            track,
            name: name.to_string(),
            from_ns: from_ps / NANOSECOND,
            until_ns: until_ps.max(from_ps) / NANOSECOND,
            notes: BTreeMap::new(),
        });
        self.slices.len() - 1
    }

    /// Says something of a slice.
    pub fn note(&mut self, slice: usize, key: &str, text: &str) {
        self.slices[slice].notes.insert(key.to_string(), text.to_string());
    }

    /// An arrow from a slice to another.
    pub fn arrow(&mut self, id: u64, from: usize, to: usize) {
        let id = format!("{id:x}.{to}");
        self.arrows.push(Arrow { id, from, to });
    }

    /// Values at equal distances, from the first distance on.
    pub fn counter(&mut self, track: &Track, step_ps: u64, values: &[u64]) {
        let values = values.iter().zip(1..);
        let points: Vec<(u64, u64)> = values.map(|(value, index)| (step_ps * index, *value)).collect();
        self.counter_at(track, &points);
    }

    /// Values from the given times on, in picoseconds.
    pub fn counter_at(&mut self, track: &Track, points: &[(u64, u64)]) {
        let process = self.process(&track.process);
        for (time_ps, value) in points {
            self.counters.push(json!({
                "ph": "C", "name": track.name, "pid": process, "ts": microseconds(time_ps / NANOSECOND),
                "args": { "value": value },
            }));
        }
    }

    fn process(&mut self, name: &str) -> u64 {
        let next = self.processes.len() as u64 + 1;
        *self.processes.entry(name.to_string()).or_insert(next)
    }

    fn numbers(&mut self, track: &Track) -> (u64, u64) {
        let process = self.process(&track.process);
        let next = self.tracks.len() as u64 + 1;
        (process, *self.tracks.entry(track.clone()).or_insert(next))
    }

    /// The file.
    pub fn json(self) -> String {
        let lanes = self.lanes();
        let mut events = self.names(&lanes);
        let (places, order) = (&lanes.of_slices, &lanes.order);
        events.extend(order.iter().map(|index| self.slices[*index].event(places[*index])));
        events.extend(self.arrows.iter().flat_map(|arrow| self.arrow_events(arrow, places)));
        events.extend(self.counters);
        let document = json!({
            "displayTimeUnit": "ns", "otherData": { "application": self.application }, "traceEvents": events,
        });
        format!("{document}\n")
    }

    /// The names of processes and threads, in the order of their tracks.
    fn names(&self, lanes: &Lanes) -> Vec<Value> {
        let mut events: Vec<Value> = Vec::new();
        for (name, process) in &self.processes {
            events.push(json!({ "ph": "M", "name": "process_name", "pid": process, "args": { "name": name } }));
        }
        for (track, number) in &self.tracks {
            let process = self.processes.get(&track.process);
            for thread in lanes.threads.get(number).into_iter().flatten() {
                let place = events.len();
                events.push(json!({
                    "ph": "M", "name": "thread_name", "pid": process, "tid": thread, "args": { "name": track.name },
                }));
                events.push(json!({
                    "ph": "M", "name": "thread_sort_index", "pid": process, "tid": thread, "args": { "sort_index": place },
                }));
            }
        }
        events
    }

    /// Both ends of an arrow. A reader joins them with the slice that begins at their time in their thread.
    fn arrow_events(&self, arrow: &Arrow, threads: &[u64]) -> [Value; 2] {
        let end = |kind: &str, index: usize| {
            let slice = &self.slices[index];
            json!({
                "ph": kind, "name": "packet", "cat": "packet", "id": arrow.id, "pid": slice.process, "tid": threads[index],
                "ts": microseconds(slice.from_ns),
            })
        };
        let mut to = end("f", arrow.to);
        to["bp"] = json!("e");
        [end("s", arrow.from), to]
    }

    /// Gives each slice a thread in which no other is at its time.
    fn lanes(&self) -> Lanes {
        let mut order: Vec<usize> = (0..self.slices.len()).collect();
        order.sort_by_key(|index| (self.slices[*index].from_ns, *index));
        let mut lanes = Lanes {
            of_slices: vec![0; self.slices.len()],
            threads: BTreeMap::new(),
            order: Vec::new(),
        };
        let (mut tracks, mut next) = (BTreeMap::<u64, Occupied>::new(), 1);
        for index in &order {
            let slice = &self.slices[*index];
            let lane = tracks.entry(slice.track).or_default().take(slice);
            let threads = lanes.threads.entry(slice.track).or_default();
            if lane == threads.len() {
                threads.push(next);
                next += 1;
            }
            lanes.of_slices[*index] = threads[lane];
        }
        lanes.order = order;
        lanes
    }
}

/// Threads of tracks, and which of them slices are in.
struct Lanes {
    of_slices: Vec<u64>,
    threads: BTreeMap<u64, Vec<u64>>,
    /// Slices in the order of time.
    order: Vec<usize>,
}

/// The lanes of a track that are taken, and until when.
#[derive(Default)]
struct Occupied {
    until: BinaryHeap<Reverse<(u64, usize)>>,
    free: BTreeSet<usize>,
    count: usize,
}

impl Occupied {
    /// The first lane that is free for a slice; slices come in the order of time.
    fn take(&mut self, slice: &Slice) -> usize {
        while let Some(Reverse((until_ns, lane))) = self.until.peek().copied() {
            if until_ns > slice.from_ns {
                break;
            }
            self.until.pop();
            self.free.insert(lane);
        }
        let lane = self.free.pop_first().unwrap_or_else(|| {
            self.count += 1;
            self.count - 1
        });
        // A slice without length keeps its lane for a moment: arrows are joined with what begins at their time.
        let until_ns = slice.until_ns.max(slice.from_ns + 1);
        self.until.push(Reverse((until_ns, lane)));
        lane
    }
}

impl Slice {
    fn event(&self, thread: u64) -> Value {
        json!({
            "ph": "X", "name": self.name, "pid": self.process, "tid": thread,
            "ts": microseconds(self.from_ns), "dur": microseconds(self.until_ns - self.from_ns), "args": self.notes,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn track(name: &str) -> Track {
        Track {
            process: "chip".to_string(),
            name: name.to_string(),
        }
    }

    fn events(timeline: Timeline) -> Vec<Value> {
        let document: Value = serde_json::from_str(&timeline.json()).expect("JSON");
        document["traceEvents"].as_array().expect("events").clone()
    }

    fn of<'e>(events: &'e [Value], kind: &str) -> Vec<&'e Value> {
        events.iter().filter(|event| event["ph"] == kind).collect()
    }

    #[test]
    fn slices_are_joined_by_arrows() {
        let mut timeline = Timeline::new("a test");
        let first = timeline.slice(&track("ingress"), "packet 1", 1_000_000, 3_000_000);
        let second = timeline.slice(&track("queue"), "packet 1", 3_000_000, 4_500_000);
        timeline.arrow(1, first, second);
        timeline.note(second, "dropped", "queue_full");
        timeline.counter(&track("bytes"), 1_000_000, &[64, 128]);
        let events = events(timeline);
        assert_eq!(
            (of(&events, "X").len(), of(&events, "M").len(), of(&events, "C").len()),
            (2, 5, 2)
        );
        assert_eq!(of(&events, "X")[1]["dur"], microseconds(1500));
        let (start, finish) = (of(&events, "s")[0], of(&events, "f")[0]);
        assert_eq!((&start["ts"], &finish["ts"]), (&json!(1.00025), &json!(3.00025)));
        assert_eq!(of(&events, "X")[1]["args"]["dropped"], "queue_full");
    }

    #[test]
    fn slices_that_overlap_are_in_different_threads() {
        let mut timeline = Timeline::new("a test");
        for (from, until) in [
            (0, 10_000),
            (5_000, 15_000),
            (10_400, 12_000),
            (12_000, 12_100),
            (12_000, 13_000),
        ] {
            timeline.slice(&track("queue"), "packet", from, until);
        }
        let events = events(timeline);
        let threads: Vec<u64> = of(&events, "X")
            .iter()
            .map(|slice| slice["tid"].as_u64().expect("a number"))
            .collect();
        assert_eq!(threads, [1, 2, 1, 1, 3]);
    }

    #[test]
    fn readers_that_cut_and_readers_that_round_get_the_same_times() {
        for nanoseconds in (0..3_000_000_000_000).step_by(999_999_937) {
            let read = microseconds(nanoseconds) * 1e3;
            assert_eq!((read as u64, read.round() as u64), (nanoseconds, nanoseconds));
        }
    }
}
