//! Constraints of the program on what controllers write: `@entry_restriction` of tables, `@action_restriction` of
//! actions.

use super::value::ValueType;
use super::{ActionSchema, Field, TableSchema};
use crate::status::Error;
use forebay_bits::Bits;
use forebay_constraints::{Constraint, Entry, IrEntry, Key, Kind, Part, Subject, Value, Values, Violation};
use forebay_ir::EntryMatch;
use forebay_protocol::p4::config::v1::Preamble;
use forebay_protocol::p4::config::v1::match_field::MatchType;
use forebay_syntax::lexer::unescape;

/// The annotation of tables.
const ENTRIES: &str = "entry_restriction";
/// The annotation of actions.
const DATA: &str = "action_restriction";

/// A constraint; `FAILED_PRECONDITION`, with the place of the mistake, for one that cannot be read: the program runs,
/// but nothing can be written that the constraint is about.
pub(crate) type Restriction = Result<Constraint, Error>;

/// The constraints on the entries of a table.
pub(super) fn of_table(preamble: &Option<Preamble>, fields: &[Field]) -> Vec<Restriction> {
    let keys: Vec<Key> = fields
        .iter()
        .map(|field| key(&field.name, field.kind, &field.value))
        .collect();
    read(preamble, ENTRIES, Subject::Table, &keys)
}

/// The constraints on the data of an action.
pub(super) fn of_action(preamble: &Option<Preamble>, params: &[(u32, String, ValueType)]) -> Vec<Restriction> {
    let keys: Vec<Key> = params
        .iter()
        .map(|(_, name, value)| key(name, MatchType::Exact, value))
        .collect();
    read(preamble, DATA, Subject::Action, &keys)
}

fn key(name: &str, kind: MatchType, value: &ValueType) -> Key {
    Key {
        name: name.to_string(),
        kind: match kind {
            MatchType::Lpm => Kind::Lpm,
            MatchType::Ternary => Kind::Ternary,
            MatchType::Range => Kind::Range,
            MatchType::Optional => Kind::Optional,
            MatchType::Exact | MatchType::Unspecified => Kind::Exact,
        },
        values: match value.control_plane_width() {
            0 => Values::Text,
            width => Values::Bits(width),
        },
    }
}

fn read(preamble: &Option<Preamble>, annotation: &str, subject: Subject, keys: &[Key]) -> Vec<Restriction> {
    let Some(preamble) = preamble else {
        return Vec::new();
    };
    let bodies = preamble
        .annotations
        .iter()
        .filter_map(|written| body(written, annotation));
    let constraints = bodies.map(|body| {
        let problem = |place: &str, what: String| {
            let name = &preamble.name;
            Error::precondition(format!(
                "the program's constraint on `{name}` cannot be read: @{annotation}({}){place}: {what}",
                body.trim()
            ))
        };
        let text = strings(body).ok_or_else(|| problem("", "a constraint stands in quotation marks".to_string()))?;
        Constraint::new(&text, subject, keys).map_err(|mistake| {
            let before = &text[..mistake.place.start];
            let line = before.matches('\n').count() + 1;
            let column = before.len() - before.rfind('\n').map_or(0, |end| end + 1) + 1;
            problem(&format!(", line {line}, column {column}"), mistake.to_string())
        })
    });
    constraints.collect()
}

/// What stands in the brackets of an annotation of this name.
fn body<'a>(written: &'a str, name: &str) -> Option<&'a str> {
    let rest = written.strip_prefix('@')?.strip_prefix(name)?.trim();
    rest.strip_prefix('(')?.strip_suffix(')')
}

/// Strings in quotation marks as one text; none when there is anything else.
fn strings(body: &str) -> Option<String> {
    let mut text = String::new();
    let mut rest = body.trim();
    while let Some(inner) = rest.strip_prefix('"') {
        let mut escaped = false;
        let end = inner.char_indices().find(|(_, letter)| {
            let is_end = *letter == '"' && !escaped;
            escaped = *letter == '\\' && !escaped;
            is_end
        });
        let (end, _) = end?;
        text.push_str(&unescape(&rest[..end + 2]));
        rest = inner[end + 1..].trim_start();
    }
    (rest.is_empty() && body.contains('"')).then_some(text)
}

/// An entry as a controller sees it.
struct Written<'a> {
    fields: &'a [Field],
    matches: &'a [EntryMatch],
    priority: i64,
}

impl Entry for Written<'_> {
    fn part(&self, key: usize, part: Part) -> Value {
        let (value, condition) = (&self.fields[key].value, &self.matches[key]);
        match (value.control_plane_width(), part, condition) {
            (0, Part::Mask, _) => Value::Number(IrEntry::part_of(condition, part, 1)),
            (0, _, EntryMatch::Exact(number) | EntryMatch::Optional(Some(number))) => Value::Text(value.write(number)),
            (0, _, _) => Value::Text(Vec::new()),
            (_, Part::PrefixLength, EntryMatch::Lpm { prefix_length, .. }) => {
                Value::Number(value.control_plane_prefix(*prefix_length).into())
            }
            (width, Part::Mask, EntryMatch::Ternary { mask, .. }) => number(width, &value.write_mask(mask)),
            (width, Part::High, EntryMatch::Range { high, .. }) => number(width, &value.write_high(high)),
            (width, ..) => Value::Number(IrEntry::part_of(condition, part, width)),
        }
    }

    fn priority(&self) -> i64 {
        self.priority
    }
}

fn number(width: u32, bytes: &[u8]) -> Value {
    Value::Number(Bits::from_bytes_be(width, bytes).to_biguint().into())
}

/// The data of an action as a controller sees it.
struct Data<'a> {
    params: &'a [(u32, String, ValueType)],
    args: &'a [Bits],
}

impl Entry for Data<'_> {
    fn part(&self, key: usize, _part: Part) -> Value {
        let (value, number) = (&self.params[key].2, &self.args[key]);
        match value.control_plane_width() {
            0 => Value::Text(value.write(number)),
            _ => Value::Number(number.to_biguint().into()),
        }
    }

    fn priority(&self) -> i64 {
        0
    }
}

/// Whether the program's constraints allow an entry.
///
/// # Errors
/// `INVALID_ARGUMENT` with the constraint, the part that does not hold, and what it saw; `FAILED_PRECONDITION` when a
/// constraint cannot be read.
pub(crate) fn check_entry(table: &TableSchema, matches: &[EntryMatch], priority: i64) -> Result<(), Error> {
    let entry = Written {
        fields: &table.fields,
        matches,
        priority,
    };
    check(
        &table.restrictions,
        &format!("table `{}`: the entry", table.name),
        ENTRIES,
        &entry,
    )
}

/// Whether the program's constraints allow the data of an action.
///
/// # Errors
/// As [`check_entry`].
pub(crate) fn check_data(action: &ActionSchema, args: &[Bits]) -> Result<(), Error> {
    let data = Data {
        params: &action.params,
        args,
    };
    check(
        &action.restrictions,
        &format!("action `{}`: its data", action.name),
        DATA,
        &data,
    )
}

fn check(restrictions: &[Restriction], what: &str, annotation: &str, entry: &dyn Entry) -> Result<(), Error> {
    for restriction in restrictions {
        let constraint = restriction.as_ref().map_err(Error::clone)?;
        if let Err(violation) = constraint.check(entry) {
            return Err(refusal(what, annotation, constraint, &violation));
        }
    }
    Ok(())
}

fn refusal(what: &str, annotation: &str, constraint: &Constraint, violation: &Violation) -> Error {
    let text = constraint.text();
    Error::invalid(format!("{what} violates @{annotation}(\"{text}\"): {violation}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn annotations() {
        let written = r#"@entry_restriction("a == 1;" "b != \"c\"\n")"#;
        let inside = body(written, ENTRIES).unwrap();
        assert_eq!(strings(inside).unwrap(), "a == 1;b != \"c\"\n");
        assert_eq!(strings(r#""a\tb\\n""#).unwrap(), "a\tb\\n");
        assert_eq!(body(written, DATA), None);
        assert_eq!(strings("a == 1"), None);
        assert_eq!(strings("\"a"), None);
        assert_eq!(strings(""), None);
    }
}
