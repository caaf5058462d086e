//! Comparison of two P4Infos as a controller would compare them.
//!
//! What a controller addresses by name or number is matched by it, whatever the order: objects by full name, match
//! fields, parameters, action references and arguments by number, types and named values by name. Sets of ids and
//! annotations are compared as sets. Members of types, packet metadata and lists in annotations have an order and are
//! compared in it.
//!
//! These have no meaning for a controller and are not compared:
//!
//! * places in the source (`annotation_locations`, `source_location`);
//! * the annotation `@noWarn`, which speaks to the compiler, and which p4c's own `core.p4` puts on `NoAction`;
//! * whether an empty message is there or not (`type_info {}`), other than as an alternative of a `oneof`.

use crate::field::Message;
use crate::model::P4Info;
use crate::textproto::{Field, Tree, Value, scalar_text};
use std::collections::BTreeMap;
use std::fmt;

/// Something that is not the same in two P4Infos.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// Where: `tables[ingress.t].match_fields[1].bitwidth`.
    pub path: String,
    /// What was found, as text; `None` when nothing was.
    pub found: Option<String>,
    /// What was expected; `None` when nothing was.
    pub expected: Option<String>,
}

impl fmt::Display for Difference {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}: ", self.path)?;
        match (&self.found, &self.expected) {
            (Some(found), Some(expected)) => write!(formatter, "{found}, expected {expected}"),
            (Some(found), None) => write!(formatter, "unexpected {found}"),
            (None, Some(expected)) => write!(formatter, "missing {expected}"),
            (None, None) => write!(formatter, "the same"),
        }
    }
}

/// Every difference in meaning; empty when there is none.
pub fn equivalent(found: &P4Info, expected: &P4Info) -> Vec<Difference> {
    let mut differences = Vec::new();
    compare_messages("", &found.to_tree(), &expected.to_tree(), &mut differences);
    differences
}

/// How the occurrences of a field in one message are distinguished.
enum Matching {
    /// By the text of this field of theirs, or of their preamble.
    By(&'static str),
    /// By what they are: a set.
    Content,
    /// By their place.
    Order,
}

fn matching(field: &str) -> Matching {
    match field {
        "tables"
        | "actions"
        | "action_profiles"
        | "counters"
        | "direct_counters"
        | "meters"
        | "direct_meters"
        | "controller_packet_metadata"
        | "value_sets"
        | "registers"
        | "digests"
        | "instances" => Matching::By("name"),
        "match_fields" | "match" | "params" | "action_refs" => Matching::By("id"),
        "arguments" => Matching::By("param_id"),
        "externs" => Matching::By("extern_type_name"),
        "structs" | "headers" | "header_unions" | "enums" | "serializable_enums" | "new_types" | "kv_pairs" => {
            Matching::By("key")
        }
        "annotations" | "structured_annotations" | "direct_resource_ids" | "table_ids" => Matching::Content,
        _ => Matching::Order,
    }
}

fn has_meaning(field: &Field) -> bool {
    match (field.name.as_str(), &field.value) {
        ("annotation_locations" | "source_location", _) => false,
        ("annotations", Value::Text(text)) => !text.starts_with(b"@noWarn"),
        _ => true,
    }
}

fn compare_messages(path: &str, found: &Tree, expected: &Tree, differences: &mut Vec<Difference>) {
    let (found, expected) = (by_label(found), by_label(expected));
    let mut labels: Vec<&String> = expected.keys().chain(found.keys()).collect();
    labels.sort();
    labels.dedup();
    for label in labels {
        let path = if path.is_empty() {
            label.clone()
        } else {
            format!("{path}.{label}")
        };
        compare_fields(
            path,
            found.get(label).copied(),
            expected.get(label).copied(),
            differences,
        );
    }
}

fn compare_fields(path: String, found: Option<&Field>, expected: Option<&Field>, differences: &mut Vec<Difference>) {
    match (found.map(|field| &field.value), expected.map(|field| &field.value)) {
        (Some(Value::Message(found)), Some(Value::Message(expected))) => {
            compare_messages(&path, found, expected, differences);
        }
        (found_value, expected_value) => {
            if found_value != expected_value && !(is_empty(found) && is_empty(expected)) {
                let (found, expected) = (found_value.map(scalar_text), expected_value.map(scalar_text));
                differences.push(Difference { path, found, expected });
            }
        }
    }
}

/// Messages that say something by being there, though they have no fields: alternatives of a `oneof`.
const MARKERS: &[&str] = &["bool", "error", "sdn_string", "sum_of_weights", "sum_of_members"];

/// Whether a field may as well not be there.
fn is_empty(field: Option<&Field>) -> bool {
    let Some(field) = field else {
        return true;
    };
    match &field.value {
        Value::Message(_) if MARKERS.contains(&field.name.as_str()) => false,
        Value::Message(fields) => fields.iter().all(|field| !has_meaning(field) || is_empty(Some(field))),
        _ => false,
    }
}

/// The fields that mean something, each with a label that matches it with the other message's.
fn by_label(tree: &Tree) -> BTreeMap<String, &Field> {
    let mut labelled = BTreeMap::new();
    let mut occurrences: BTreeMap<String, u32> = BTreeMap::new();
    let repeated = |name: &str| tree.iter().filter(|field| field.name == name).count() > 1;
    for field in tree.iter().filter(|field| has_meaning(field)) {
        let mut label = match (matching(&field.name), &field.value) {
            (Matching::By(key), Value::Message(fields)) => format!("{}[{}]", field.name, key_text(fields, key)),
            (Matching::Content, value) => format!("{}[{}]", field.name, scalar_text(value)),
            (Matching::Order, _) if ORDERED.contains(&field.name.as_str()) || repeated(&field.name) => {
                let index = occurrences.entry(format!("#{}", field.name)).or_default();
                *index += 1;
                format!("{}[{}]", field.name, *index - 1)
            }
            _ => field.name.clone(),
        };
        // Two of the same label are matched in their order.
        let seen = occurrences.entry(label.clone()).or_default();
        *seen += 1;
        if *seen > 1 {
            label = format!("{label}#{seen}");
        }
        labelled.insert(label, field);
    }
    labelled
}

/// Repeated fields whose order counts.
const ORDERED: &[&str] = &["members", "metadata", "expressions"];

/// What distinguishes a message from its siblings: its field `key`, or that of its preamble.
fn key_text(fields: &Tree, key: &str) -> String {
    let direct = fields.iter().find(|field| field.name == key);
    let preamble = fields
        .iter()
        .find(|field| field.name == "preamble")
        .map(|field| &field.value);
    let in_preamble = match preamble {
        Some(Value::Message(preamble)) => preamble.iter().find(|field| field.name == key),
        _ => None,
    };
    match direct.or(in_preamble).map(|field| &field.value) {
        Some(Value::Text(text)) => String::from_utf8_lossy(text).into_owned(),
        Some(value) => scalar_text(value),
        None => String::new(),
    }
}
