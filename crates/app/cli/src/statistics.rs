//! What a running switch prints: its ports from time to time, and totals at the end. On a terminal the table stands
//! still and its numbers change, as long as the switch is in the foreground; elsewhere one table, or one JSON object a
//! line, follows another.

use crate::background_writer::BackgroundWriter;
use crate::live_view::{LiveView, Request};
use crate::output;
use crate::port_table::PortTable;
use crate::readiness::Readiness;
use crate::slow_path;
use forebay_daemon::{Histogram, Report};
use forebay_p4runtime::KeepingStatus;
use forebay_pipeline::{LearningCounters, Pipeline, TableMemory};
use forebay_ports::{Clock, PresentMeans};
use forebay_switch::QueueReport;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::Write as _;
use std::sync::{Arc, Weak};
use std::time::Duration;

/// Tells a terminal to cut lines at its edge, so that the number of lines written is known.
pub const NO_WRAPPING: &str = "\x1b[?7l";

/// Tells it to wrap them again.
pub const WRAPPING: &str = "\x1b[?7h";

/// How long the end waits for a reader of the last statistics.
const PATIENCE: Duration = Duration::from_secs(1);

/// When to print what.
pub struct Statistics {
    table: PortTable,
    clock: Clock,
    start_ns: u64,
    last_ns: u64,
    interval_ns: u64,
    json: bool,
    /// How it stands with the saved state.
    state: Option<Box<dyn Fn() -> KeepingStatus>>,
    /// Whether it carries traffic.
    readiness: Option<Readiness>,
    /// Lines of the table that stands on the terminal and is written over.
    lines_shown: Option<usize>,
    /// What stands below the ports there.
    view: LiveView,
    /// The standard output; none once it cannot be written any more.
    output: Option<BackgroundWriter>,
    /// The program of which it has been said what keeps packets off its fast path.
    noted: Weak<Pipeline>,
}

impl Statistics {
    /// Statistics every `interval_seconds` seconds from now on, never for 0, of ports that carry packets by these
    /// means.
    pub fn new(clock: Clock, interval_seconds: f64, json: bool, means: BTreeMap<u32, PresentMeans>) -> Statistics {
        let now_ns = clock.now_ns();
        let in_place = !json && output::takes_sequences(&std::io::stdout());
        Statistics {
            table: PortTable::new(means),
            clock,
            start_ns: now_ns,
            last_ns: now_ns,
            interval_ns: (interval_seconds * 1e9) as u64,
            json,
            state: None,
            readiness: None,
            lines_shown: in_place.then_some(0),
            view: if in_place { LiveView::new() } else { LiveView::default() },
            output: BackgroundWriter::new(std::io::stdout()).ok(),
            noted: Weak::new(),
        }
    }

    /// Also reports the status of the saved state, as JSON.
    pub fn with_state(self, state: Option<Box<dyn Fn() -> KeepingStatus>>) -> Statistics {
        Statistics { state, ..self }
    }

    /// Also tells whether the switch is ready, as JSON.
    pub fn with_readiness(self, readiness: Readiness) -> Statistics {
        Statistics {
            readiness: Some(readiness),
            ..self
        }
    }

    /// Prints the ports before any packet, to show that the switch is ready.
    pub fn first(&mut self, report: &Report, pipeline: &Pipeline) {
        if self.interval_ns > 0 {
            self.print(report, pipeline, 0.0);
        }
    }

    /// Says how a port carries packets: its interface is back, and may be another one.
    pub fn announce(&self, port: u32) {
        if let Some(means) = self.table.means_of(port).filter(|_| !self.json) {
            output::info(&format!("port {port}: {means}"));
        }
    }

    /// Leaves what stands on the terminal, since something else has been written below it.
    pub fn leave_shown(&mut self) {
        self.lines_shown = self.lines_shown.map(|_| 0);
    }

    /// Says what keeps packets off the fast path of the program, once for each program and when all of it is known.
    pub fn note_slow_path(&mut self, pipeline: &Arc<Pipeline>) {
        let program = Arc::downgrade(pipeline);
        if self.json || program.ptr_eq(&self.noted) || pipeline.is_compiling() {
            return;
        }
        self.noted = program;
        for note in slow_path::notes(pipeline) {
            self.leave_shown();
            output::note(&note);
        }
    }

    /// Prints a report when it is due or requested. Returns whether a key requests the end of the switch.
    pub fn tick(&mut self, now_ns: u64, is_wanted: bool, pipeline: &Pipeline, report: impl FnOnce() -> Report) -> bool {
        let request = self.view.press();
        let is_wanted = is_wanted || request == Some(Request::Show);
        let has_interval = self.interval_ns > 0 && !self.view.is_paused();
        let is_due = has_interval && now_ns >= self.last_ns + self.interval_ns && !self.is_behind() && self.is_read();
        if !is_due && !is_wanted {
            return request == Some(Request::Quit);
        }
        let seconds = (now_ns - self.last_ns) as f64 / 1e9;
        self.last_ns = now_ns;
        self.print(&report(), pipeline, seconds);
        request == Some(Request::Quit)
    }

    /// The totals, with rates over the whole time.
    pub fn last(&mut self, report: &Report, pipeline: &Pipeline) {
        self.table.restart();
        self.view.close();
        self.last_ns = self.clock.now_ns();
        if let Some(lines) = self.lines_shown.take() {
            self.write(&back_over(lines));
        }
        self.print(report, pipeline, (self.last_ns - self.start_ns) as f64 / 1e9);
        if !self.json {
            self.write(&totals(report));
            self.write(&named_counts_text(&named_counts(pipeline).into()));
        }
        let finished = self.output.as_ref().map_or(Ok(()), |output| output.finish(PATIENCE));
        if let Err(error) = finished {
            output::warning(&format!(
                "the last statistics are missing: cannot write to the standard output: {error}"
            ));
        }
    }

    fn print(&mut self, report: &Report, pipeline: &Pipeline, seconds: f64) {
        let ports = &report.ports;
        if self.json {
            let elapsed = (self.last_ns - self.start_ns) as f64 / 1e9;
            let mut json = self.table.json(ports, seconds, elapsed);
            json["queues"] = report
                .queues
                .iter()
                .filter(|queue| queue.enqueued + queue.dropped > 0)
                .map(queue_json)
                .collect();
            json["tables"] = report.tables.iter().map(table_json).collect();
            let state = self.state.as_ref().map(|state| state());
            if let Some(state) = state.filter(|state| state.keeps_state) {
                json["state"] = state_json(&state);
            }
            if let Some(readiness) = &self.readiness {
                json["readiness"] = readiness.json();
            }
            if let (Value::Object(all), Value::Object(counters)) = (&mut json, counters_json(report, pipeline)) {
                all.extend(counters);
            }
            return self.write(&format!("{json}\n"));
        }
        let mut text = self.table.text(ports, seconds);
        let is_behind = self.is_behind();
        if let Some(lines) = &mut self.lines_shown {
            text += &self.view.text(report);
            if !is_behind {
                if *lines == 0 {
                    self.view.resume();
                }
                let before = std::mem::replace(lines, text.lines().count());
                text = back_over(before) + NO_WRAPPING + &text + WRAPPING;
            }
        }
        self.write(&text);
    }

    /// Whether the switch is behind a shell's prompt: there a table must not move. It is shown once, when it is asked
    /// for, and again when the switch is in front.
    fn is_behind(&mut self) -> bool {
        let is_behind = self.lines_shown.is_some() && !forebay_ports::is_foreground(&std::io::stdout());
        if is_behind {
            self.leave_shown();
        }
        is_behind
    }

    /// Whether what was printed before has been read, or fits into a pipe. Records that are due before are left out.
    fn is_read(&self) -> bool {
        self.output.as_ref().is_some_and(|output| output.backlog() == 0)
    }

    /// Writes to the standard output, without waiting for its reader. When that fails (the reader has gone, a disk is
    /// full) statistics are given up, with one message: packets must not stop for them.
    fn write(&mut self, text: &str) {
        let Some(output) = &mut self.output else { return };
        output::note_printed();
        if let Err(error) = output.write_all(text.as_bytes()) {
            self.output = None;
            output::warning(&format!(
                "no more statistics: cannot write to the standard output: {error}; the switch goes on"
            ));
        }
    }
}

/// What the data plane has counted since its start, but for ports, queues and tables.
pub fn counters_json(report: &Report, pipeline: &Pipeline) -> Value {
    let mut json = json!({
        "totals": totals_json(report),
        "inside": inside_json(&report.inside),
        "paths": slow_path::paths_json(&report.paths),
        "slow_path": slow_path::json(pipeline),
        "counters": named_counts(pipeline),
    });
    if let Some(delays) = &report.delays {
        json["delay"] = inside_json(delays);
    }
    json
}

/// What the program has counted in elements that it gives names to, as far as there is anything.
fn named_counts(pipeline: &Pipeline) -> Vec<Value> {
    let mut counts = Vec::new();
    for counter in &pipeline.program().counters {
        for (index, name) in (0..).zip(&counter.element_names) {
            let Ok(counted) = pipeline.read_counter(&counter.name, index) else {
                continue;
            };
            if counted.packets + counted.bytes > 0 {
                counts.push(json!({
                    "counter": counter.name,
                    "index": index,
                    "name": name,
                    "packets": counted.packets,
                    "bytes": counted.bytes,
                }));
            }
        }
    }
    counts
}

/// What the program has counted in named elements as text, a line for each counter.
pub fn named_counts_text(counts: &Value) -> String {
    let counts: Vec<&Value> = counts.as_array().into_iter().flatten().collect();
    let mut text = String::new();
    for of_counter in counts.chunk_by(|one, next| one["counter"] == next["counter"]) {
        let said = of_counter.iter().map(|count| {
            let name = count["name"].as_str().unwrap_or_default();
            // A counter of bytes counts no packets.
            match count["packets"].as_u64() {
                Some(packets @ 1..) => format!("{name} {packets}"),
                _ => format!("{name} {} bytes", count["bytes"]),
            }
        });
        let counter = of_counter[0]["counter"].as_str().unwrap_or_default();
        let _ = writeln!(text, "{counter}: {}", said.collect::<Vec<_>>().join(", "));
    }
    text
}

/// All counters for people, a line for each number that is not zero.
pub fn counters_text(counters: &Value) -> String {
    let mut text = String::new();
    let sections = [
        ("packets", &counters["totals"]),
        ("entries from packets", &counters["totals"]["learning"]),
        ("fast path", &counters["paths"]["fast_packets"]),
        ("slow path", &counters["paths"]["slow_packets"]),
        ("further passes", &counters["paths"]["further_passes"]),
        ("inside the switch", &counters["inside"]),
        ("delay of sampled packets", &counters["delay"]),
    ];
    for (title, section) in sections {
        let numbers = section.as_object().into_iter().flatten();
        let numbers = numbers.filter_map(|(name, value)| Some((name, value.as_u64().filter(|number| *number > 0)?)));
        for (name, number) in numbers {
            let _ = writeln!(text, "{title:<26} {:<24} {number:>14}", name.replace('_', " "));
        }
    }
    text += &named_counts_text(&counters["counters"]);
    for obstacle in counters["slow_path"].as_array().into_iter().flatten() {
        let message = obstacle["message"].as_str().unwrap_or_default();
        let _ = writeln!(
            text,
            "{}, {}x slower: {message}",
            obstacle["path"].as_str().unwrap_or_default(),
            obstacle["times_slower"]
        );
    }
    if text.is_empty() {
        "no packet has come yet\n".to_string()
    } else {
        text
    }
}

fn totals(report: &Report) -> String {
    let counters = report.counters;
    let mut text = format!(
        "{} packets received, {} copies made, {} sent, {} dropped",
        counters.received, counters.copies, counters.transmitted, counters.dropped
    );
    if report.digests > 0 {
        let _ = write!(text, "; {} digests", report.digests);
    }
    if report.digests_lost > 0 {
        let _ = write!(text, ", {} more lost", report.digests_lost);
    }
    text.push('\n');
    let learning = report.learning;
    if learning != LearningCounters::default() {
        let _ = writeln!(
            text,
            "entries from packets: {} added, {} there already, {} without room; {} expired",
            learning.added, learning.known, learning.refused, learning.expired
        );
    }
    for queue in report.queues.iter().filter(|queue| queue.dropped > 0) {
        let QueueReport {
            port, queue, dropped, ..
        } = queue;
        let _ = writeln!(text, "queue {queue} of port {port} was full {dropped} times");
    }
    text + &slow_path::paths_text(&report.paths)
}

fn totals_json(report: &Report) -> Value {
    let counters = report.counters;
    json!({
        "received_packets": counters.received,
        "copies": counters.copies,
        "sent_packets": counters.transmitted,
        "dropped_packets": counters.dropped,
        "digests": report.digests,
        "digests_lost": report.digests_lost,
        "learning": {
            "added": report.learning.added,
            "known": report.learning.known,
            "refused": report.learning.refused,
            "expired": report.learning.expired,
        },
    })
}

/// How long packets were inside, over the whole time.
fn inside_json(times: &Histogram) -> Value {
    let quantile = |share| (times.count() > 0).then(|| times.quantile(share));
    json!({
        "packets": times.count(),
        "half_ns": quantile(0.5),
        "percent_99_ns": quantile(0.99),
        "most_ns": quantile(1.0),
    })
}

fn queue_json(queue: &QueueReport) -> Value {
    json!({
        "port": queue.port,
        "queue": queue.queue,
        "waiting_packets": queue.depth,
        "capacity_packets": queue.capacity,
        "packets_per_second": queue.packets_per_second,
        "taken_packets": queue.enqueued,
        "dropped_packets": queue.dropped,
    })
}

fn table_json(table: &TableMemory) -> Value {
    json!({
        "table": table.table,
        "entries": table.entries,
        "lookup_bytes": table.bytes,
    })
}

fn state_json(state: &KeepingStatus) -> Value {
    let fault = state.fault.as_ref();
    json!({
        "saved": fault.is_none(),
        "problem": fault.map(|fault| &fault.problem),
        "refuses_changes": fault.is_some_and(|fault| fault.is_behind),
        "faults": state.faults,
        "refused_calls": state.refused_calls,
    })
}

/// What a terminal needs to write over the lines above.
fn back_over(lines: usize) -> String {
    match lines {
        0 => String::new(),
        _ => format!("\x1b[{lines}A\x1b[J"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_counted_by_name_is_a_line_for_each_counter() {
        let count = |counter: &str, name: &str, packets: u64, bytes: u64| json!({ "counter": counter, "name": name, "packets": packets, "bytes": bytes });
        let counts = json!([
            count("I.drops", "no route", 3, 180),
            count("I.drops", "TTL", 1, 60),
            count("E.sizes", "long", 0, 9000),
        ]);
        let expected = "I.drops: no route 3, TTL 1\nE.sizes: long 9000 bytes\n";
        assert_eq!(named_counts_text(&counts), expected);
        assert_eq!(named_counts_text(&json!([])), "");
    }
}
