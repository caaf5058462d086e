//! A step of a packet's way in words and as JSON.

use forebay_bits::Bits;
use forebay_ir::{HeaderId, Location, Program};
use forebay_pipeline::Event;
use serde_json::{Map, Value, json};

/// The event in words, its place, and the event as an object; nothing for a body that simply ends.
pub fn describe(program: &Program, event: &Event<'_>) -> Option<(String, Location, Value)> {
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
            let (text, json) = extract(program, *header, fields, *cursor);
            (text, *location, json)
        }
        Event::Advance { bits, location } => (
            format!("advance {bits} bits"),
            *location,
            json!({ "event": "advance", "bits": bits }),
        ),
        Event::Select { keys, case, location } => {
            let (text, json) = select(keys, *case);
            (text, *location, json)
        }
        Event::Branch { taken, location } => (
            format!("condition is {taken}"),
            *location,
            json!({ "event": "branch", "taken": taken }),
        ),
        Event::Lookup { table, location, .. } => {
            let (text, json) = lookup(&program.tables[table.index()].name, event);
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
            let (text, json) = external(name, instance, *index, value.map(number));
            (text, *location, json)
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

/// `FILE:LINE`, without the file's folder.
pub fn place(program: &Program, location: Location) -> Option<String> {
    if location.line == 0 {
        return None;
    }
    let file = program.files.get(location.file as usize)?;
    let name = file.rsplit('/').next().unwrap_or(file);
    Some(format!("{name}:{}", location.line))
}

fn extract(program: &Program, header: HeaderId, values: &[Bits], cursor: usize) -> (String, Value) {
    let header = &program.headers[header.index()];
    let names = header.fields.iter().map(|field| field.name.as_str());
    let fields: Vec<(&str, String)> = names.zip(values.iter().map(number)).collect();
    let listed: Vec<String> = fields.iter().map(|(name, value)| format!("{name} {value}")).collect();
    let object: Map<String, Value> = fields
        .into_iter()
        .map(|(name, value)| (name.to_string(), Value::String(value)))
        .collect();
    let json = json!({ "event": "extract", "header": header.name, "fields": object, "cursor": cursor });
    (format!("extract {}: {}", header.name, listed.join(", ")), json)
}

fn select(keys: &[Bits], case: Option<usize>) -> (String, Value) {
    let keys = numbers(keys);
    let chosen = case.map_or("default".to_string(), |case| format!("case {}", case + 1));
    let json = json!({ "event": "select", "keys": keys, "case": case });
    (format!("select ({}): {chosen}", keys.join(", ")), json)
}

fn lookup(table: &str, event: &Event<'_>) -> (String, Value) {
    let Event::Lookup {
        key, hit, action, args, ..
    } = event
    else {
        unreachable!("called for look-ups only")
    };
    let (key, args) = (numbers(key), numbers(args));
    let outcome = if *hit { "hit" } else { "miss" };
    let text = format!(
        "table {table} ({}): {outcome}, {action}({})",
        key.join(", "),
        args.join(", ")
    );
    let json = json!({ "event": "lookup", "table": table, "key": key, "hit": hit, "action": action, "args": args });
    (text, json)
}

fn external(name: &str, instance: &str, index: Option<u64>, value: Option<String>) -> (String, Value) {
    let called = if instance.is_empty() {
        name.to_string()
    } else {
        format!("{instance}: {name}")
    };
    let at = index.map_or(String::new(), |index| format!("[{index}]"));
    let result = value.as_ref().map_or(String::new(), |value| format!(" {value}"));
    let json = json!({ "event": "extern", "name": name, "instance": instance, "index": index, "value": value });
    (format!("{called}{at}{result}"), json)
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
