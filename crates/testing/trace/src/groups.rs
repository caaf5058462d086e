//! Steps that belong to one statement of the program, told as one.
//!
//! A statement such as `hdr.stack.pop_front(1);` or `hdr.inner = hdr.outer;` assigns many fields, an `if` with several
//! operands branches several times, and emitting a stack emits each of its elements. A group collects such steps as
//! long as they follow each other at one place of the source, and says at its end what is to be shown of all of them.

use crate::value_words::{columns, number, number_with_decimal};
use forebay_bits::Bits;
use forebay_ir::{Location, Program, SlotId, SlotKind};

/// Rows that are shown of one statement.
const ROWS_MAX: usize = 16;

/// Steps at one place.
#[derive(Debug)]
pub struct Group {
    /// The place.
    pub location: Location,
    /// The step that shows what the group has to say.
    pub step: usize,
    /// What the steps are.
    pub kind: Kind,
}

/// Kinds of groups.
#[derive(Debug)]
pub enum Kind {
    /// Values that were assigned, and headers that became valid or invalid.
    Assignments(Vec<Assignment>),
    /// Invalid headers that were not emitted: the first, and how many more.
    NotEmitted {
        /// Name of the first.
        first: String,
        /// How many more.
        more: usize,
    },
    /// Operands of a condition, the last of which decides.
    Branches {
        /// Whether a statement follows on the same line: then the first one is the condition.
        statement_follows: bool,
    },
}

/// What an assignment shows.
#[derive(Debug)]
pub enum Assignment {
    /// A value.
    Value {
        /// What is assigned to.
        name: String,
        /// Its value before.
        old: Bits,
        /// Its value after.
        new: Bits,
        /// The header to which it belongs, if that is invalid.
        invalid: Option<String>,
    },
    /// A header became valid or invalid.
    Validity {
        /// The header.
        header: String,
        /// Whether it is valid now.
        valid: bool,
    },
}

/// What is shown.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Shown {
    /// A line; nothing when it goes without saying.
    pub text: Option<String>,
    /// Lines below it.
    pub details: Vec<String>,
}

impl Assignment {
    /// What an assignment to a slot shows; nothing for variables that the compiler has made.
    pub fn new(program: &Program, slot: SlotId, old: &Bits, new: &Bits) -> Option<Assignment> {
        let described = program.slot(slot);
        match described.kind {
            SlotKind::Valid(header) => (old != new).then(|| Assignment::Validity {
                header: program.headers[header.index()].name.clone(),
                valid: !new.is_zero(),
            }),
            SlotKind::NextIndex | SlotKind::VarbitLength(_) => None,
            _ if described.name.contains('$') => None,
            _ => Some(Assignment::Value {
                name: described.name.clone(),
                old: old.clone(),
                new: new.clone(),
                invalid: None,
            }),
        }
    }

    /// The same of a field of a header that is invalid, if there is one.
    pub fn in_invalid(mut self, header: Option<&str>) -> Assignment {
        if let Assignment::Value { invalid, .. } = &mut self {
            *invalid = header.map(str::to_string);
        }
        self
    }

    fn changes(&self) -> bool {
        match self {
            Assignment::Value { old, new, .. } => old != new,
            Assignment::Validity { .. } => true,
        }
    }

    /// On a line of its own.
    fn line(&self) -> String {
        match self {
            Assignment::Value {
                name,
                old,
                new,
                invalid,
            } => {
                let note = invalid.as_ref().map(|header| format!(" ({header} is not valid)"));
                format!("{name} = {}{}", change(old, new), note.unwrap_or_default())
            }
            Assignment::Validity { header, valid } => format!("{header} {}", becomes(*valid)),
        }
    }

    /// In a list.
    fn row(&self) -> (&str, String) {
        match self {
            Assignment::Value { name, old, new, .. } => (name, change(old, new)),
            Assignment::Validity { header, valid } => (header, becomes(*valid).to_string()),
        }
    }
}

fn change(old: &Bits, new: &Bits) -> String {
    let before = if old == new {
        "as before".to_string()
    } else {
        format!("was {}", number(old))
    };
    format!("{}, {before}", number_with_decimal(new))
}

fn becomes(valid: bool) -> &'static str {
    if valid { "becomes valid" } else { "becomes invalid" }
}

/// What assignments of one statement show: a line for one of them, the statement and the changes for several.
pub fn assignments(all: &[Assignment], statement: Option<String>) -> Shown {
    let changed: Vec<&Assignment> = all.iter().filter(|assignment| assignment.changes()).collect();
    match (&changed[..], all) {
        (_, []) => Shown::default(),
        ([only], [_]) | ([only @ Assignment::Validity { .. }], _) => line(only.line()),
        ([], [only]) => line(only.line()),
        ([], [first, ..]) => {
            let statement = statement.unwrap_or_else(|| first.line());
            line(format!("`{statement}` changes nothing"))
        }
        (changed, [first, ..]) => {
            let heading = statement.map_or_else(|| first.line(), |statement| format!("`{statement}`"));
            let rows: Vec<(&str, String)> = changed.iter().take(ROWS_MAX).map(|changed| changed.row()).collect();
            let mut details = columns(&rows);
            if changed.len() > ROWS_MAX {
                details.push(format!("and {} more", changed.len() - ROWS_MAX));
            }
            let text = Some(heading);
            Shown { text, details }
        }
    }
}

/// What headers show that were not emitted.
pub fn not_emitted(first: &str, more: usize) -> String {
    match more {
        0 => format!("emit {first}: not valid"),
        more => format!("emit {first} and {more} more: not valid"),
    }
}

fn line(text: String) -> Shown {
    let (text, details) = (Some(text), Vec::new());
    Shown { text, details }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(name: &str, old: u64, new: u64) -> Assignment {
        Assignment::Value {
            name: name.to_string(),
            old: Bits::new(8, old.into()),
            new: Bits::new(8, new.into()),
            invalid: None,
        }
    }

    #[test]
    fn one_assignment_is_a_line() {
        let shown = assignments(&[value("meta.x", 1, 2)], Some("meta.x = 2".to_string()));
        assert_eq!(shown, line("meta.x = 0x02, was 0x01".to_string()));
        let shown = assignments(&[value("meta.x", 2, 2)], None);
        assert_eq!(shown, line("meta.x = 0x02, as before".to_string()));
        assert_eq!(assignments(&[], None), Shown::default());
        let of_invalid = value("hdr.h.x", 0, 1).in_invalid(Some("hdr.h"));
        let shown = assignments(&[of_invalid], None);
        let text = "hdr.h.x = 0x01, was 0x00 (hdr.h is not valid)";
        assert_eq!(shown, line(text.to_string()));
    }

    #[test]
    fn a_statement_of_several_shows_what_it_changes() {
        let invalid = Assignment::Validity {
            header: "hdr.s[1]".to_string(),
            valid: false,
        };
        let all = [value("hdr.s[0].f", 1, 2), value("hdr.s[1].f", 0, 0), invalid];
        let shown = assignments(&all, Some("hdr.s.pop_front(1)".to_string()));
        assert_eq!(shown.text.as_deref(), Some("`hdr.s.pop_front(1)`"));
        assert_eq!(
            shown.details,
            ["hdr.s[0].f  0x02, was 0x01", "hdr.s[1]    becomes invalid"]
        );
        let shown = assignments(&all[1..], Some("hdr.s[1].setInvalid()".to_string()));
        assert_eq!(shown, line("hdr.s[1] becomes invalid".to_string()));
        let same = [value("a", 1, 1), value("b", 2, 2)];
        assert_eq!(
            assignments(&same, Some("x = y".to_string())),
            line("`x = y` changes nothing".to_string())
        );
    }
}
