//! Constraints on table entries and on action data: `@entry_restriction("...")` and `@action_restriction("...")`, in
//! the language of [p4-constraints](https://github.com/p4lang/p4-constraints/blob/main/docs/language-specification.md).
//!
//! ```text
//!   "ipv4.valid == 0 -> ipv4.dst::mask == 0"
//!     │ token, parse        expressions, each with its place in the text
//!     ▼ check               names become keys, types agree, implicit conversions are spelled out
//!   Constraint ── check(entry) ──► Ok, or the part of it that does not hold, with the values that it saw
//! ```
//!
//! # What can be written
//!
//! | | |
//! |---|---|
//! | `hdr.ipv4.dst::value`, `::mask`, `::prefix_length`, `::low`, `::high` | parts of a key, those that its match kind has |
//! | `hdr.ipv4.dst` | a key as a whole: equal to a number when it matches that number and nothing else |
//! | `::priority` | the priority of the entry |
//! | `port` | a parameter, in the restriction of an action |
//! | `10`, `0xff`, `0b1`, `0o7`, `-1`, `ipv4('10.0.0.1')`, `ipv6('::1')`, `mac('02:00:00:00:00:01')` | numbers |
//! | `'eth0'` | strings, for keys that `@p4runtime_translation` makes strings |
//! | `==` `!=` `<` `<=` `>` `>=`, `!`, `&&`, `\|\|`, `->`, `;` | comparisons, and what joins them; `;` binds least |
//!
//! Numbers are as large as they are written; compared with a key of `W` bits they are taken modulo 2^W, as P4 converts
//! them, so that `-1` is a mask of ones. Comments are those of P4.
//!
//! Strings that are compared by `<` and its relatives stand for the numbers that their bytes are, the most significant
//! first: of two strings of one length the one that stands first in a dictionary is the smaller, and a shorter one is
//! smaller than a longer.

#![cfg_attr(not(test), deny(clippy::disallowed_methods, clippy::disallowed_types))]
#![forbid(unsafe_code)]

mod address;
mod check;
mod evaluate;
mod parse;
mod token;

pub use evaluate::{Entry, IrEntry, Value, Violation};

use std::fmt;
use std::ops::Range;

/// What a constraint may name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Key {
    /// Its name in P4Info.
    pub name: String,
    /// How it is matched; parameters of actions are [`Kind::Exact`].
    pub kind: Kind,
    /// What its values are.
    pub values: Values,
}

/// How a key is matched, which decides what parts it has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// `value`
    Exact,
    /// `value` and `mask`
    Ternary,
    /// `value` and `prefix_length`
    Lpm,
    /// `low` and `high`
    Range,
    /// `value` and `mask`, which is all ones or 0
    Optional,
}

/// The values of a key, as a controller sees them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Values {
    /// Unsigned numbers of this width in bits.
    Bits(u32),
    /// Strings.
    Text,
}

/// Which part of a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// `::value`
    Value,
    /// `::mask`
    Mask,
    /// `::prefix_length`
    PrefixLength,
    /// `::low`
    Low,
    /// `::high`
    High,
}

/// What a constraint is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Subject {
    /// The entries of a table: keys, and `::priority`.
    Table,
    /// The data of an action: parameters.
    Action,
}

/// What is wrong with the text of a constraint.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mistake {
    /// The place: bytes of the text.
    pub place: Range<usize>,
    /// One sentence without a full stop.
    pub message: String,
    /// What could stand there instead, if that can be listed.
    pub options: Vec<String>,
}

impl Mistake {
    fn new(place: Range<usize>, message: impl Into<String>) -> Mistake {
        Mistake {
            place,
            message: message.into(),
            options: Vec::new(),
        }
    }
}

impl fmt::Display for Mistake {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.message)?;
        if self.options.is_empty() {
            Ok(())
        } else {
            write!(formatter, "; there is {}", self.options.join(", "))
        }
    }
}

/// A constraint that can be evaluated.
#[derive(Clone, Debug)]
pub struct Constraint {
    text: String,
    /// All of them must hold. Each with its place in the text.
    parts: Vec<(Range<usize>, check::Condition)>,
    keys: Vec<Key>,
}

impl Constraint {
    /// Reads a constraint about these keys or parameters.
    ///
    /// # Errors
    /// The first mistake: text that does not follow the grammar, a name that there is not, types that do not agree.
    pub fn new(text: &str, subject: Subject, keys: &[Key]) -> Result<Constraint, Mistake> {
        let conjunction = parse::parse(text)?;
        let checker = check::Checker { subject, keys };
        let parts = conjunction.iter().map(|expression| {
            let condition = checker.condition(expression)?;
            Ok((expression.place.clone(), condition))
        });
        Ok(Constraint {
            parts: parts.collect::<Result<_, Mistake>>()?,
            text: text.to_string(),
            keys: keys.to_vec(),
        })
    }

    /// The constraint as it was written, on one line and without comments.
    pub fn text(&self) -> String {
        let written = self
            .parts
            .iter()
            .map(|(place, _)| token::on_one_line(&self.text[place.clone()]));
        written.collect::<Vec<_>>().join("; ")
    }

    /// Whether an entry, or the data of an action, satisfies the constraint.
    ///
    /// # Errors
    /// The first part that does not hold.
    pub fn check(&self, entry: &dyn Entry) -> Result<(), Violation> {
        match self.parts.iter().find(|(_, condition)| !condition.holds(entry)) {
            None => Ok(()),
            Some((place, condition)) => Err(Violation {
                part: token::on_one_line(&self.text[place.clone()]),
                seen: evaluate::seen(condition, &self.keys, entry),
            }),
        }
    }
}
