//! Trees to text.

use super::{Tree, Value};

/// Prints the fields as protobuf's own printer does: two blanks a level, one field a line, strings with octal escapes.
pub fn write(tree: &Tree) -> String {
    let mut text = String::new();
    append(&mut text, tree, 0);
    text
}

fn append(text: &mut String, tree: &Tree, level: usize) {
    let indent = "  ".repeat(level);
    for field in tree {
        match &field.value {
            Value::Message(fields) => {
                text.push_str(&format!("{indent}{} {{\n", field.name));
                append(text, fields, level + 1);
                text.push_str(&format!("{indent}}}\n"));
            }
            scalar => text.push_str(&format!("{indent}{}: {}\n", field.name, scalar_text(scalar))),
        }
    }
}

/// A value on one line.
pub(crate) fn scalar_text(value: &Value) -> String {
    match value {
        Value::Text(bytes) => quoted(bytes),
        Value::Number(text) | Value::Word(text) => text.clone(),
        Value::Message(fields) => {
            let fields: Vec<String> = fields
                .iter()
                .map(|field| format!("{}: {}", field.name, scalar_text(&field.value)))
                .collect();
            format!("{{{}}}", fields.join(" "))
        }
    }
}

fn quoted(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len() + 2);
    text.push('"');
    for byte in bytes {
        match byte {
            b'\n' => text.push_str("\\n"),
            b'\r' => text.push_str("\\r"),
            b'\t' => text.push_str("\\t"),
            b'"' => text.push_str("\\\""),
            b'\'' => text.push_str("\\'"),
            b'\\' => text.push_str("\\\\"),
            0x20..=0x7e => text.push(char::from(*byte)),
            _ => text.push_str(&format!("\\{byte:03o}")),
        }
    }
    text.push('"');
    text
}
