//! A trace for people: one line for each event, with the program's names.

use crate::trace::{Event, Tracer};
use forebay_bits::Bits;
use forebay_ir::{HeaderId, Location, Program};

/// Collects a line for each event.
#[derive(Clone, Debug)]
pub struct TextTrace<'a> {
    program: &'a Program,
    /// The lines so far.
    pub lines: Vec<String>,
}

impl<'a> TextTrace<'a> {
    /// An empty trace of packets that `program` processes.
    pub fn new(program: &'a Program) -> Self {
        TextTrace {
            program,
            lines: Vec::new(),
        }
    }
}

impl Tracer for TextTrace<'_> {
    const ON: bool = true;

    fn event(&mut self, event: Event<'_>) {
        self.lines.push(describe(self.program, &event));
    }
}

/// The line for an event: what happened, and where in the source if that is known.
pub fn describe(program: &Program, event: &Event<'_>) -> String {
    let (text, location) = match event {
        Event::Enter { body, kind } => (format!("enter {} {body}", format!("{kind:?}").to_lowercase()), None),
        Event::Leave { body, exit: false } => (format!("leave {body}"), None),
        Event::Leave { body, exit: true } => (format!("exit from {body}"), None),
        Event::ParserState { name, location } => (format!("state {name}"), Some(location)),
        Event::Extract {
            header,
            fields,
            cursor,
            location,
        } => {
            let fields = named_fields(program, *header, fields);
            (
                format!(
                    "extract {} {{{fields}}} up to bit {cursor}",
                    header_name(program, *header)
                ),
                Some(location),
            )
        }
        Event::Advance { bits, location } => (format!("advance {bits} bits"), Some(location)),
        Event::Select { keys, case, location } => {
            let chosen = case.map_or("default".to_string(), |case| format!("case {case}"));
            (format!("select ({}): {chosen}", values(keys)), Some(location))
        }
        Event::Branch { taken, location } => (format!("condition is {taken}"), Some(location)),
        Event::Lookup {
            table,
            key,
            hit,
            action,
            args,
            location,
        } => {
            let (name, found) = (&program.tables[table.index()].name, if *hit { "hit" } else { "miss" });
            (
                format!("table {name} ({}): {found}, {action}({})", values(key), values(args)),
                Some(location),
            )
        }
        Event::Assign {
            slot,
            old,
            new,
            location,
        } => (
            format!("{} = {new:#x} (was {old:#x})", program.slot(*slot).name),
            Some(location),
        ),
        Event::Extern {
            name,
            instance,
            index,
            value,
            location,
        } => (extern_call(name, instance, *index, *value), Some(location)),
        Event::Emit {
            header,
            valid,
            location,
        } => {
            let what = if *valid { "emit" } else { "skip invalid" };
            (format!("{what} {}", header_name(program, *header)), Some(location))
        }
        Event::Log { text, location } => (format!("log: {text}"), Some(location)),
        Event::AssertionFailed { text, location } => (format!("assertion failed: {text}"), Some(location)),
        Event::ParserError { error, location } => (format!("parser error {error}"), Some(location)),
        Event::Verdict { text } => (text.to_string(), None),
    };
    match location.and_then(|location| place(program, *location)) {
        Some(place) => format!("{text}  [{place}]"),
        None => text,
    }
}

fn place(program: &Program, location: Location) -> Option<String> {
    let file = program
        .files
        .get(location.file as usize)
        .filter(|_| location.line > 0)?;
    Some(format!("{file}:{}", location.line))
}

fn header_name(program: &Program, header: HeaderId) -> &str {
    &program.headers[header.index()].name
}

fn named_fields(program: &Program, header: HeaderId, values: &[Bits]) -> String {
    let fields = program.headers[header.index()].fields.iter().zip(values);
    fields
        .map(|(field, value)| format!("{}={value:#x}", field.name))
        .collect::<Vec<_>>()
        .join(" ")
}

fn values(values: &[Bits]) -> String {
    values
        .iter()
        .map(|value| format!("{value:#x}"))
        .collect::<Vec<_>>()
        .join(", ")
}

fn extern_call(name: &str, instance: &str, index: Option<u64>, value: Option<&Bits>) -> String {
    let mut text = name.to_string();
    if !instance.is_empty() {
        text.push_str(&format!(" {instance}"));
    }
    if let Some(index) = index {
        text.push_str(&format!("[{index}]"));
    }
    if let Some(value) = value {
        text.push_str(&format!(" = {value:#x}"));
    }
    text
}
