//! A packet's way through a program, for people and as JSON.

use crate::event_words::{describe, place};
use forebay_ir::Location;
use forebay_pipeline::{Event, Pipeline, Tracer};
use forebay_stf::{Observer, hex};
use serde_json::{Value, json};
use std::fmt::Write;
use std::sync::Arc;

/// Longest trace kept, in steps; what follows is counted only.
const MAX_STEPS: usize = 1_000_000;

/// Collects the steps of packets.
pub struct TracePrinter {
    pipeline: Arc<Pipeline>,
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
    text: String,
    json: Value,
}

impl TracePrinter {
    /// A printer without steps.
    pub fn new(pipeline: Arc<Pipeline>) -> TracePrinter {
        TracePrinter {
            pipeline,
            depth: 0,
            in_state: false,
            steps: Vec::new(),
            left_out: 0,
        }
    }

    /// The steps since the last call, one on a line.
    pub fn take_text(&mut self) -> String {
        let mut text: String = self.steps.drain(..).map(|step| step.text + "\n").collect();
        if self.left_out > 0 {
            let _ = writeln!(text, "({} more steps)", self.left_out);
        }
        text
    }

    /// The steps since the last call, an object each.
    pub fn take_json(&mut self) -> Vec<Value> {
        self.steps.drain(..).map(|step| step.json).collect()
    }

    fn push(&mut self, text: &str, location: Location, mut json: Value) {
        if self.steps.len() >= MAX_STEPS {
            self.left_out += 1;
            return;
        }
        let place = place(self.pipeline.program(), location);
        let indent = 2 * (self.depth + usize::from(self.in_state));
        let text = match &place {
            Some(place) => format!("{:indent$}{text}  [{place}]", ""),
            None => format!("{:indent$}{text}", ""),
        };
        if let (Some(object), Some(place)) = (json.as_object_mut(), place) {
            object.insert("place".to_string(), Value::String(place));
        }
        self.steps.push(Step { text, json });
    }
}

impl Observer for TracePrinter {
    fn packet_enters(&mut self, line: u32, port: u32, data: &[u8]) {
        (self.depth, self.in_state) = (0, false);
        let text = format!("packet {line} on port {port}, {} bytes: {}", data.len(), hex(data));
        let json = json!({ "event": "packet_enters", "line": line, "port": port, "bytes": hex(data) });
        self.push(&text, Location::default(), json);
        self.depth = 1;
    }

    fn packet_leaves(&mut self, port: u32, data: &[u8]) {
        self.depth = 0;
        let text = format!("sent by port {port}, {} bytes: {}", data.len(), hex(data));
        let json = json!({ "event": "packet_leaves", "port": port, "bytes": hex(data) });
        self.push(&text, Location::default(), json);
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
        if let Some((text, location, json)) = describe(pipeline.program(), &event) {
            self.push(&text, location, json);
        }
        match event {
            Event::Enter { .. } => self.depth += 1,
            Event::ParserState { .. } => self.in_state = true,
            _ => {}
        }
    }
}
