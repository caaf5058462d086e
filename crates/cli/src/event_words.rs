//! A step of a packet's way in words and as JSON.

use crate::value_words::{columns, condition, number, number_with_decimal};
use forebay_bits::Bits;
use forebay_ir::{BodyKind, HeaderId, Location, Program, TableId};
use forebay_pipeline::{Entry, Event, Pipeline};
use serde_json::{Map, Value, json};

/// A step in words.
pub struct Words {
    /// What happens; none when it goes without saying.
    pub text: Option<String>,
    /// Lines below it.
    pub details: Vec<String>,
    /// Its place in the source.
    pub location: Location,
    /// The step as an object.
    pub json: Value,
}

impl Words {
    fn new(text: String, location: Location, json: Value) -> Words {
        let (text, details) = (Some(text), Vec::new());
        Words {
            text,
            details,
            location,
            json,
        }
    }

    fn without_place(text: String, json: Value) -> Words {
        Words::new(text, Location::default(), json)
    }
}

/// The event in words; nothing for a body that simply ends. `source` is the line of the program that it comes from.
pub fn describe(pipeline: &Pipeline, event: &Event<'_>, source: Option<String>) -> Option<Words> {
    let program = pipeline.program();
    Some(match event {
        Event::Enter { body, kind } => enter(body, *kind),
        Event::ParserState { name, location } => {
            let json = json!({ "event": "state", "state": name });
            Words::new(format!("state {name}"), *location, json)
        }
        Event::Extract {
            header,
            fields,
            cursor,
            location,
        } => extract(program, *header, fields, *cursor, *location),
        Event::Advance { bits, location } => {
            let json = json!({ "event": "advance", "bits": bits });
            Words::new(format!("advance {bits} bits"), *location, json)
        }
        Event::Select { keys, case, location } => select(keys, *case, *location),
        Event::Branch { taken, location } => {
            let json = json!({ "event": "branch", "taken": taken });
            let what = source.map_or("condition".to_string(), |line| format!("`{line}`"));
            Words::new(format!("{what} is {taken}"), *location, json)
        }
        Event::Lookup {
            table,
            key,
            hit,
            action,
            args,
            location,
        } => {
            let entry = pipeline.entry_matching(*table, key);
            let entry = entry.filter(|_| *hit);
            lookup(program, *table, key, entry, call(program, action, args), *location)
        }
        Event::Assign {
            slot,
            old,
            new,
            location,
        } => assign(&program.slot(*slot).name, old, new, *location),
        Event::Extern {
            name,
            instance,
            index,
            value,
            location,
        } => external(name, instance, *index, *value, *location),
        Event::Emit {
            header,
            valid,
            location,
        } => {
            let header = &program.headers[header.index()].name;
            let skipped = if *valid { "" } else { ": not valid" };
            let json = json!({ "event": "emit", "header": header, "valid": valid });
            Words::new(format!("emit {header}{skipped}"), *location, json)
        }
        Event::Log { text, location } => {
            let json = json!({ "event": "log", "text": text });
            Words::new(format!("log: {text}"), *location, json)
        }
        Event::AssertionFailed { text, location } => {
            let json = json!({ "event": "assertion_failed", "text": text });
            Words::new(format!("assertion failed: {text}"), *location, json)
        }
        Event::ParserError { error, location } => {
            let json = json!({ "event": "parser_error", "error": error });
            Words::new(format!("parser error: {error}"), *location, json)
        }
        Event::Leave { exit: false, .. } => return None,
        Event::Leave { body, exit: true } => {
            let json = json!({ "event": "exit", "body": body });
            Words::without_place(format!("exit from {body}"), json)
        }
        Event::Verdict { text } => {
            let json = json!({ "event": "verdict", "text": text });
            Words::without_place(format!("=> {text}"), json)
        }
        other => {
            let text = format!("{other:?}");
            let json = json!({ "event": "other", "text": text });
            Words::without_place(text, json)
        }
    })
}

/// The action of a look-up has been named there.
fn enter(body: &str, kind: BodyKind) -> Words {
    let name = format!("{kind:?}").to_lowercase();
    let json = json!({ "event": "enter", "kind": name, "body": body });
    let mut words = Words::without_place(format!("{name} {body}"), json);
    if kind == BodyKind::Action {
        words.text = None;
    }
    words
}

fn extract(program: &Program, header: HeaderId, values: &[Bits], cursor: usize, location: Location) -> Words {
    let header = &program.headers[header.index()];
    let names = header.fields.iter().map(|field| field.name.as_str());
    let fields: Vec<(&str, &Bits)> = names.zip(values).collect();
    let rows: Vec<(&str, String)> = fields
        .iter()
        .map(|(name, value)| (*name, number_with_decimal(value)))
        .collect();
    let object: Map<String, Value> = fields
        .iter()
        .map(|(name, value)| (name.to_string(), json_number(value)))
        .collect();
    let json = json!({ "event": "extract", "header": header.name, "fields": object, "cursor": cursor });
    let mut words = Words::new(format!("extract {}", header.name), location, json);
    words.details = columns(&rows);
    words
}

fn select(keys: &[Bits], case: Option<usize>, location: Location) -> Words {
    let chosen = case.map_or("default".to_string(), |case| format!("case {}", case + 1));
    let json = json!({ "event": "select", "keys": json_numbers(keys), "case": case });
    Words::new(
        format!("select ({}): {chosen}", numbers(keys).join(", ")),
        location,
        json,
    )
}

/// An action with its data, in words and as an object.
struct Call {
    text: String,
    json: Value,
}

fn call(program: &Program, name: &str, args: &[Bits]) -> Call {
    let action = program.actions.iter().find(|action| action.name == name);
    let params = action.map_or(&[][..], |action| &action.params);
    let named: Vec<(&str, &Bits)> = params.iter().map(|param| param.name.as_str()).zip(args).collect();
    let listed: Vec<String> = named
        .iter()
        .map(|(name, value)| format!("{name} = {}", number_with_decimal(value)))
        .collect();
    let object: Map<String, Value> = named
        .iter()
        .map(|(name, value)| (name.to_string(), json_number(value)))
        .collect();
    Call {
        text: format!("{name}({})", listed.join(", ")),
        json: json!({ "action": name, "args": object }),
    }
}

fn lookup(
    program: &Program,
    table: TableId,
    key: &[Bits],
    entry: Option<Entry>,
    call: Call,
    location: Location,
) -> Words {
    let table = &program.tables[table.index()];
    let conditions: Vec<String> = entry.iter().flat_map(|entry| &entry.matches).map(condition).collect();
    let names = || table.keys.iter().map(|key| key.name.as_str());
    // Selector fields have no condition; they come last in what is shown, too.
    let matched = |index: usize| {
        conditions
            .get(index)
            .map_or(String::new(), |condition| format!("  matches {condition}"))
    };
    let rows: Vec<(&str, String)> = names()
        .zip(key)
        .enumerate()
        .map(|(index, (name, value))| (name, number(value) + &matched(index)))
        .collect();
    let object: Map<String, Value> = names()
        .zip(key)
        .map(|(name, value)| (name.to_string(), json_number(value)))
        .collect();
    let hit = if entry.is_some() { "hit" } else { "miss" };
    let json = json!({
        "event": "lookup", "table": table.name, "key": object, "hit": entry.is_some(), "entry": conditions,
        "action": call.json["action"], "args": call.json["args"],
    });
    let mut words = Words::new(format!("table {}: {hit}", table.name), location, json);
    words.details = columns(&rows);
    words.details.push(format!("-> {}", call.text));
    words
}

/// Variables that lowering has made are of no interest to people.
fn assign(name: &str, old: &Bits, new: &Bits, location: Location) -> Words {
    let json = json!({ "event": "assign", "name": name, "old": json_number(old), "new": json_number(new) });
    let before = if old == new {
        "as before".to_string()
    } else {
        format!("was {}", number(old))
    };
    let mut words = Words::new(
        format!("{name} = {}, {before}", number_with_decimal(new)),
        location,
        json,
    );
    if name.contains('$') {
        words.text = None;
    }
    words
}

fn external(name: &str, instance: &str, index: Option<u64>, value: Option<&Bits>, location: Location) -> Words {
    let called = match instance {
        "" => name.to_string(),
        _ => format!("{instance}: {name}"),
    };
    let at = index.map_or(String::new(), |index| format!(" [{index}]"));
    let result = value.map_or(String::new(), |value| format!(": {}", number_with_decimal(value)));
    let value = value.map(json_number);
    let json = json!({ "event": "extern", "name": name, "instance": instance, "index": index, "value": value });
    Words::new(format!("{called}{at}{result}"), location, json)
}

fn numbers(values: &[Bits]) -> Vec<String> {
    values.iter().map(number).collect()
}

fn json_numbers(values: &[Bits]) -> Vec<Value> {
    values.iter().map(json_number).collect()
}

/// Hexadecimal in a string: JSON's numbers are too small.
fn json_number(value: &Bits) -> Value {
    Value::String(format!("{:#x}", value.to_biguint()))
}
