//! A packet's way through a program, for people and as JSON.

use crate::event_words::{Words, describe};
use crate::groups::{self, Assignment, Group, Kind, Shown};
use crate::source_lines::SourceLines;
use crate::validity::Validity;
use crate::value_words::dump;
use forebay_entries::hex;
use forebay_ir::Location;
use forebay_pipeline::{Event, Pipeline, Tracer};
use forebay_stf::Observer;
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
    validity: Validity,
    steps: Vec<Step>,
    /// Steps of the present statement, if several are told together.
    group: Option<Group>,
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
            validity: Validity::default(),
            steps: Vec::new(),
            group: None,
            left_out: 0,
        }
    }

    /// The steps since the last call, each with its place in the source to its left.
    pub fn take_text(&mut self) -> String {
        self.take().0
    }

    /// The steps since the last call, an object each.
    pub fn take_json(&mut self) -> Vec<Value> {
        self.take().1
    }

    /// The steps since the last call, in both forms.
    pub fn take(&mut self) -> (String, Vec<Value>) {
        self.end_group();
        let places = self.steps.iter().filter_map(|step| step.place.as_ref());
        let gutter = places.map(|place| place.len() + 2).max().unwrap_or(0);
        let mut text = String::new();
        self.steps.iter().for_each(|step| step.write(gutter, &mut text));
        let mut all: Vec<Value> = self.steps.drain(..).map(|step| step.json).collect();
        let left_out = std::mem::take(&mut self.left_out);
        if left_out > 0 {
            let _ = writeln!(text, "({left_out} more steps)");
            all.push(json!({ "event": "left_out", "steps": left_out }));
        }
        (text, all)
    }

    fn push(&mut self, words: Words) {
        if self.steps.len() >= MAX_STEPS {
            self.left_out += 1;
            return;
        }
        let place = words.location.short(&self.pipeline.program().files);
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

    /// Adds a step to the group of its statement, or begins one with it. Says whether that says all of the step.
    fn join_group(&mut self, event: &Event<'_>) -> bool {
        match *event {
            Event::Assign {
                slot,
                old,
                new,
                location,
            } => {
                let program = self.pipeline.program();
                let header = self.validity.invalid_header(program, slot);
                let assignment = Assignment::new(program, slot, old, new).map(|made| made.in_invalid(header));
                self.join_assignments(location, assignment);
                true
            }
            Event::Emit {
                header,
                valid: false,
                location,
            } => {
                let name = self.pipeline.program().headers[header.index()].name.clone();
                self.join_emits(location, name);
                true
            }
            Event::Branch { location, .. } => self.join_branches(location),
            _ => {
                self.end_group();
                false
            }
        }
    }

    fn join_assignments(&mut self, location: Location, assignment: Option<Assignment>) {
        if let Some(Group {
            location: place,
            kind: Kind::Assignments(all),
            ..
        }) = &mut self.group
            && *place == location
        {
            all.extend(assignment);
            return;
        }
        self.begin_group(location, Kind::Assignments(assignment.into_iter().collect()));
    }

    fn join_emits(&mut self, location: Location, name: String) {
        if let Some(Group {
            location: place,
            kind: Kind::NotEmitted { more, .. },
            ..
        }) = &mut self.group
            && *place == location
        {
            *more += 1;
            return;
        }
        self.begin_group(location, Kind::NotEmitted { first: name, more: 0 });
    }

    /// The last operand of a condition decides. Branches that the source does not show end no statement.
    fn join_branches(&mut self, location: Location) -> bool {
        let program = self.pipeline.clone();
        let Some(condition) = self.source.condition(program.program(), location) else {
            return true;
        };
        if let Some(Group {
            location: place,
            step,
            kind: Kind::Branches { statement_follows },
        }) = &mut self.group
            && *place == location
        {
            if *statement_follows {
                return true;
            }
            let last = std::mem::replace(step, self.steps.len());
            if let Some(before) = self.steps.get_mut(last) {
                before.text = None;
            }
            return false;
        }
        let statement_follows = condition.statement_follows;
        self.begin_group(location, Kind::Branches { statement_follows });
        false
    }

    /// The step that comes next shows what the group has to say.
    fn begin_group(&mut self, location: Location, kind: Kind) {
        self.end_group();
        let step = self.steps.len();
        self.group = Some(Group { location, step, kind });
    }

    /// Says what the group has to say.
    fn end_group(&mut self) {
        let Some(Group { location, step, kind }) = self.group.take() else {
            return;
        };
        let shown = match kind {
            Kind::Assignments(all) => {
                let pipeline = self.pipeline.clone();
                let statement = self.source.statement(pipeline.program(), location);
                groups::assignments(&all, statement)
            }
            Kind::NotEmitted { first, more } => Shown {
                text: Some(groups::not_emitted(&first, more)),
                details: Vec::new(),
            },
            Kind::Branches { .. } => return,
        };
        if let Some(step) = self.steps.get_mut(step) {
            (step.text, step.details) = (shown.text, shown.details);
        }
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
        self.end_group();
        (self.depth, self.in_state) = (0, false);
        let text = format!("packet {line} enters port {port}, {} bytes", data.len());
        let json = json!({ "event": "packet_enters", "line": line, "port": port, "bytes": hex(data) });
        self.push_packet(text, data, json);
        self.depth = 1;
    }

    fn packet_leaves(&mut self, port: u32, data: &[u8]) {
        self.end_group();
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
        let is_said = self.join_group(&event);
        self.validity.follow(pipeline.program(), &event);
        if let Some(mut words) = describe(&pipeline, &event, &mut self.source) {
            if is_said {
                words.text = None;
            }
            // The action stands last.
            let before_action = words.details.len().saturating_sub(1);
            for header in self.validity.invalid_keys(pipeline.program(), &event) {
                words.details.insert(before_action, format!("({header} is not valid)"));
            }
            self.push(words);
        }
        match event {
            Event::Enter { .. } => self.depth += 1,
            Event::ParserState { .. } => self.in_state = true,
            _ => {}
        }
    }
}
