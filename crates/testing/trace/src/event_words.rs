//! A step of a packet's way in words and as JSON.

use crate::source_lines::{Condition, SourceLines};
use crate::value_words::{columns, condition, number, number_with_decimal};
use forebay_bits::Bits;
use forebay_ir::{BodyKind, HeaderId, KeySet, Location, MatchKind, Program, TableId, TableKey};
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

/// The event in words; nothing for a body that simply ends.
pub fn describe(pipeline: &Pipeline, event: &Event<'_>, source: &mut SourceLines) -> Option<Words> {
    let program = pipeline.program();
    Some(match event {
        Event::Enter { body, kind } => enter(body, *kind),
        Event::ParserState { name, location } => {
            let json = json!({ "event": "state", "state": name });
            let line = source.line_of_state(program, name, *location);
            let location = Location {
                line: line.unwrap_or(location.line),
                ..*location
            };
            Words::new(format!("state {name}"), location, json)
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
        Event::Select { location, .. } => select(event, source.cases(program, *location)),
        Event::Branch { taken, location } => branch(source.condition(program, *location), *taken, *location),
        Event::Lookup {
            table,
            key,
            hit,
            action,
            args,
            location,
        } => {
            let entry = hit.and_then(|number| pipeline.entry_in_burst(*table, number));
            let found = (hit.is_some(), entry);
            lookup(program, *table, key, found, call(program, action, args), *location)
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

/// A branch that the program does not show, as one of the compiler's that checks an index, goes without saying.
fn branch(condition: Option<Condition>, taken: bool, location: Location) -> Words {
    let json = json!({ "event": "branch", "taken": taken });
    let mut words = Words::new(String::new(), location, json);
    words.text = condition.map(|Condition { text, .. }| match (text.starts_with("verify("), taken) {
        (false, _) => format!("`{text}` is {taken}"),
        (true, true) => format!("`{text}` holds"),
        (true, false) => format!("`{text}` does not hold"),
    });
    words
}

/// Keys, the case as it is written, and the state that follows.
fn select(event: &Event<'_>, written: Option<Vec<(String, String)>>) -> Words {
    let Event::Select {
        keys,
        case,
        keysets,
        cases,
        target,
        location,
    } = event
    else {
        unreachable!("it is a select");
    };
    let state = target.rsplit('.').next().unwrap_or_default();
    // What stands in the source is shown only if it is what was compiled.
    let written = written.filter(|written| written.iter().filter(|(label, _)| label != "default").count() == *cases);
    let label = match case {
        None => "default".to_string(),
        Some(case) => written
            .and_then(|written| written.into_iter().filter(|(label, _)| label != "default").nth(*case))
            .filter(|(_, to)| to.is_empty() || state.is_empty() || to == state)
            .map_or_else(|| keysets_text(keysets), |(label, _)| label),
    };
    let to = if state.is_empty() {
        String::new()
    } else {
        format!(" -> {target}")
    };
    let name = if state.is_empty() { "switch" } else { "select" };
    let json = json!({
        "event": "select", "keys": json_numbers(keys), "case": case, "label": label,
        "state": (!state.is_empty()).then_some(target),
    });
    Words::new(
        format!("{name} ({}): {label}{to}", numbers(keys).join(", ")),
        *location,
        json,
    )
}

fn keysets_text(keysets: &[KeySet]) -> String {
    let texts: Vec<String> = keysets.iter().map(keyset_text).collect();
    match &texts[..] {
        [only] => only.clone(),
        several => format!("({})", several.join(", ")),
    }
}

fn keyset_text(keyset: &KeySet) -> String {
    match keyset {
        KeySet::Any => "_".to_string(),
        KeySet::Exact(value) => number(value),
        KeySet::Mask { value, mask } => format!("{} &&& {}", number(value), number(mask)),
        KeySet::Range { low, high } => format!("{} .. {}", number(low), number(high)),
        KeySet::Equals(_) | KeySet::EqualsMasked { .. } => "a computed value".to_string(),
        KeySet::ValueSet { .. } => "a value set".to_string(),
    }
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
    (is_hit, entry): (bool, Option<Entry>),
    call: Call,
    location: Location,
) -> Words {
    let table = &program.tables[table.index()];
    let conditions: Vec<String> = entry.iter().flat_map(|entry| &entry.matches).map(condition).collect();
    let rows = rows(&table.keys, key, &conditions);
    let object: Map<String, Value> = table
        .keys
        .iter()
        .zip(key)
        .map(|(declared, value)| (declared.name.clone(), json_number(value)))
        .collect();
    let hit = if is_hit { "hit" } else { "miss" };
    let json = json!({
        "event": "lookup", "table": table.name, "key": object, "hit": is_hit, "entry": conditions,
        "action": call.json["action"], "args": call.json["args"],
    });
    let mut words = Words::new(format!("table {}: {hit}", table.name), location, json);
    words.details = columns(&rows);
    words.details.push(format!("-> {}", call.text));
    words
}

/// Fields of a key with their values, and what the entry says of each. A selector's field has no condition, wherever it
/// stands.
fn rows<'a>(keys: &'a [TableKey], values: &[Bits], conditions: &[String]) -> Vec<(&'a str, String)> {
    let mut conditions = conditions.iter();
    let rows = keys.iter().zip(values).map(|(key, value)| {
        let condition = match key.match_kind {
            MatchKind::Selector => None,
            _ => conditions.next(),
        };
        let matched = condition.map_or(String::new(), |condition| format!("  matches {condition}"));
        (key.name.as_str(), number(value) + &matched)
    });
    rows.collect()
}

/// How it is shown depends on what else the statement assigns.
fn assign(name: &str, old: &Bits, new: &Bits, location: Location) -> Words {
    let json = json!({ "event": "assign", "name": name, "old": json_number(old), "new": json_number(new) });
    Words {
        text: None,
        details: Vec::new(),
        location,
        json,
    }
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

#[cfg(test)]
mod tests {
    use super::*;
    use forebay_ir::Expr;

    #[test]
    fn conditions_stand_beside_the_fields_that_have_them() {
        let key = |name: &str, match_kind| TableKey {
            name: name.to_string(),
            expr: Expr::Const(Bits::zero(8)),
            width: 8,
            match_kind,
        };
        let keys = [
            key("a", MatchKind::Selector),
            key("b", MatchKind::Exact),
            key("c", MatchKind::Selector),
            key("d", MatchKind::Ternary),
        ];
        let values: Vec<Bits> = (1..5).map(|value| Bits::new(8, value)).collect();
        let found = ["0x02".to_string(), "0x04 &&& 0x0f".to_string()];
        let row = |name, value: &str| (name, value.to_string());
        assert_eq!(
            rows(&keys, &values, &found),
            [
                row("a", "0x01"),
                row("b", "0x02  matches 0x02"),
                row("c", "0x03"),
                row("d", "0x04  matches 0x04 &&& 0x0f")
            ]
        );
        assert_eq!(rows(&keys[1..2], &values, &[]), [row("b", "0x01")], "a miss");
    }
}
