//! A packet's way through a program, for people and as JSON.

use crate::event_words::{Words, describe};
use crate::source_lines::{SourceLines, place};
use crate::value_words::dump;
use forebay_ir::Location;
use forebay_pipeline::{Event, Pipeline, Tracer};
use forebay_stf::{Observer, hex};
use serde_json::{Value, json};
use std::fmt::Write;
use std::sync::Arc;

/// Longest trace kept, in steps; what follows is counted only.
const MAX_STEPS: usize = 1_000_000;

/// Collects the steps of packets.
///
/// As text the place in the source stands left of each step, and a step's depth shows what it is part of:
///
/// ```text
/// packet 1 enters port 1, 42 bytes
///                 parser MyParser
/// router.p4:22      state start
/// router.p4:21        extract hdr.ethernet
/// ```
pub struct TracePrinter {
    pipeline: Arc<Pipeline>,
    source: SourceLines,
    /// How deep in bodies the packet is.
    depth: usize,
    /// Whether it is in a parser state, whose steps stand deeper.
    in_state: bool,
    steps: Vec<Step>,
    /// Steps beyond [`MAX_STEPS`].
    left_out: u64,
}

/// A step in both forms.
struct Step {
    place: Option<String>,
    indent: usize,
    text: Option<String>,
    /// Lines below the text, deeper.
    details: Vec<String>,
    json: Value,
}

impl TracePrinter {
    /// A printer without steps.
    pub fn new(pipeline: Arc<Pipeline>) -> TracePrinter {
        TracePrinter {
            pipeline,
            source: SourceLines::default(),
            depth: 0,
            in_state: false,
            steps: Vec::new(),
            left_out: 0,
        }
    }

    /// The steps since the last call, each with its place in the source to its left.
    pub fn take_text(&mut self) -> String {
        let places = self.steps.iter().filter_map(|step| step.place.as_ref());
        let gutter = places.map(|place| place.len() + 2).max().unwrap_or(0);
        let mut text = String::new();
        for step in self.steps.drain(..) {
            step.write(gutter, &mut text);
        }
        if self.left_out > 0 {
            let _ = writeln!(text, "({} more steps)", self.left_out);
        }
        text
    }

    /// The steps since the last call, an object each.
    pub fn take_json(&mut self) -> Vec<Value> {
        self.steps.drain(..).map(|step| step.json).collect()
    }

    fn push(&mut self, words: Words) {
        if self.steps.len() >= MAX_STEPS {
            self.left_out += 1;
            return;
        }
        let place = place(self.pipeline.program(), words.location);
        let mut json = words.json;
        if let (Some(object), Some(place)) = (json.as_object_mut(), &place) {
            object.insert("place".to_string(), Value::String(place.clone()));
        }
        self.steps.push(Step {
            place,
            indent: self.depth + usize::from(self.in_state),
            text: words.text,
            details: words.details,
            json,
        });
    }

    fn push_packet(&mut self, text: String, data: &[u8], json: Value) {
        self.push(Words {
            text: Some(text),
            details: dump(data),
            location: Location::default(),
            json,
        });
    }
}

impl Step {
    fn write(&self, gutter: usize, into: &mut String) {
        let Some(text) = &self.text else { return };
        let place = self.place.as_deref().unwrap_or_default();
        // Packets come and go at the very left.
        let (gutter, indent) = match self.indent {
            0 => (0, 0),
            depth => (gutter, 2 * (depth - 1)),
        };
        let _ = writeln!(into, "{place:gutter$}{:indent$}{text}", "");
        let deeper = gutter + indent + 2;
        for line in &self.details {
            let _ = writeln!(into, "{:deeper$}{line}", "");
        }
    }
}

impl Observer for TracePrinter {
    fn packet_enters(&mut self, line: u32, port: u32, data: &[u8]) {
        (self.depth, self.in_state) = (0, false);
        let text = format!("packet {line} enters port {port}, {} bytes", data.len());
        let json = json!({ "event": "packet_enters", "line": line, "port": port, "bytes": hex(data) });
        self.push_packet(text, data, json);
        self.depth = 1;
    }

    fn packet_leaves(&mut self, port: u32, data: &[u8]) {
        self.depth = 0;
        let text = format!("packet leaves port {port}, {} bytes", data.len());
        let json = json!({ "event": "packet_leaves", "port": port, "bytes": hex(data) });
        self.push_packet(text, data, json);
    }
}

impl Tracer for TracePrinter {
    const ON: bool = true;

    fn event(&mut self, event: Event<'_>) {
        if matches!(event, Event::ParserState { .. } | Event::Leave { .. }) {
            self.in_state = false;
        }
        if matches!(event, Event::Leave { .. }) {
            self.depth = self.depth.saturating_sub(1).max(1);
        }
        let pipeline = self.pipeline.clone();
        let line = match event {
            Event::Branch { location, .. } => self.source.get(pipeline.program(), location),
            _ => None,
        };
        if let Some(words) = describe(&pipeline, &event, line) {
            self.push(words);
        }
        match event {
            Event::Enter { .. } => self.depth += 1,
            Event::ParserState { .. } => self.in_state = true,
            _ => {}
        }
    }
}
