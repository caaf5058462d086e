//! A packet's way through a program, for people and as JSON.

use forebay_bits::Bits;
use forebay_ir::{Location, Program};
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

/// The event in words and as an object; nothing for a body that simply ends.
fn describe(program: &Program, event: &Event<'_>) -> Option<(String, Location, Value)> {
    let none = Location::default();
    Some(match event {
        Event::Enter { body, kind } => {
            let kind = format!("{kind:?}").to_lowercase();
            (
                format!("{kind} {body}"),
                none,
                json!({ "event": "enter", "kind": kind, "body": body }),
            )
        }
        Event::ParserState { name, location } => (
            format!("state {name}"),
            *location,
            json!({ "event": "state", "state": name }),
        ),
        Event::Extract {
            header,
            fields,
            cursor,
            location,
        } => {
            let header = &program.headers[header.index()];
            let fields: Vec<(&str, String)> = header
                .fields
                .iter()
                .zip(*fields)
                .map(|(field, value)| (field.name.as_str(), number(value)))
                .collect();
            let listed: Vec<String> = fields.iter().map(|(name, value)| format!("{name} {value}")).collect();
            let object: serde_json::Map<String, Value> = fields
                .into_iter()
                .map(|(name, value)| (name.to_string(), Value::String(value)))
                .collect();
            let json = json!({ "event": "extract", "header": header.name, "fields": object, "cursor": cursor });
            (
                format!("extract {}: {}", header.name, listed.join(", ")),
                *location,
                json,
            )
        }
        Event::Advance { bits, location } => (
            format!("advance {bits} bits"),
            *location,
            json!({ "event": "advance", "bits": bits }),
        ),
        Event::Select { keys, case, location } => {
            let keys = numbers(keys);
            let chosen = case.map_or("default".to_string(), |case| format!("case {}", case + 1));
            let json = json!({ "event": "select", "keys": keys, "case": case });
            (format!("select ({}): {chosen}", keys.join(", ")), *location, json)
        }
        Event::Branch { taken, location } => (
            format!("condition is {taken}"),
            *location,
            json!({ "event": "branch", "taken": taken }),
        ),
        Event::Lookup {
            table,
            key,
            hit,
            action,
            args,
            location,
        } => {
            let table = &program.tables[table.index()].name;
            let (key, args) = (numbers(key), numbers(args));
            let outcome = if *hit { "hit" } else { "miss" };
            let text = format!(
                "table {table} ({}): {outcome}, {action}({})",
                key.join(", "),
                args.join(", ")
            );
            let json =
                json!({ "event": "lookup", "table": table, "key": key, "hit": hit, "action": action, "args": args });
            (text, *location, json)
        }
        Event::Assign {
            slot,
            old,
            new,
            location,
        } => {
            let name = &program.slot(*slot).name;
            let json = json!({ "event": "assign", "name": name, "old": number(old), "new": number(new) });
            (
                format!("{name} = {} (was {})", number(new), number(old)),
                *location,
                json,
            )
        }
        Event::Extern {
            name,
            instance,
            index,
            value,
            location,
        } => {
            let called = if instance.is_empty() {
                name.to_string()
            } else {
                format!("{instance}: {name}")
            };
            let at = index.map_or(String::new(), |index| format!("[{index}]"));
            let value = value.map(number);
            let result = value.as_ref().map_or(String::new(), |value| format!(" {value}"));
            let json = json!({ "event": "extern", "name": name, "instance": instance, "index": index, "value": value });
            (format!("{called}{at}{result}"), *location, json)
        }
        Event::Emit {
            header,
            valid,
            location,
        } => {
            let header = &program.headers[header.index()].name;
            let skipped = if *valid { "" } else { ": not valid" };
            let json = json!({ "event": "emit", "header": header, "valid": valid });
            (format!("emit {header}{skipped}"), *location, json)
        }
        Event::Log { text, location } => (
            format!("log: {text}"),
            *location,
            json!({ "event": "log", "text": text }),
        ),
        Event::AssertionFailed { text, location } => (
            format!("assertion failed: {text}"),
            *location,
            json!({ "event": "assertion_failed", "text": text }),
        ),
        Event::ParserError { error, location } => (
            format!("parser error {error}"),
            *location,
            json!({ "event": "parser_error", "error": error }),
        ),
        Event::Leave { exit: false, .. } => return None,
        Event::Leave { body, exit: true } => (
            format!("exit from {body}"),
            none,
            json!({ "event": "exit", "body": body }),
        ),
        Event::Verdict { text } => (format!("=> {text}"), none, json!({ "event": "verdict", "text": text })),
        other => (
            format!("{other:?}"),
            none,
            json!({ "event": "other", "text": format!("{other:?}") }),
        ),
    })
}

fn place(program: &Program, location: Location) -> Option<String> {
    if location.line == 0 {
        return None;
    }
    let file = program.files.get(location.file as usize)?;
    let name = file.rsplit('/').next().unwrap_or(file);
    Some(format!("{name}:{}", location.line))
}

fn numbers(values: &[Bits]) -> Vec<String> {
    values.iter().map(number).collect()
}

/// Hexadecimal from ten on.
fn number(value: &Bits) -> String {
    match value.try_to_u64() {
        Some(small @ 0..=9) => small.to_string(),
        _ => format!("{:#x}", value.to_biguint()),
    }
}
