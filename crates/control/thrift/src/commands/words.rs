//! The words after a command.

use crate::codes::{BAD_ACTION_DATA, BAD_MATCH_KEY, Failure};
use crate::key::{Said, long, match_type};
use crate::runtime::Runtime;
use crate::switch::Switch;
use forebay_protocol::p4::config::v1::match_field::MatchType;
use forebay_protocol::p4::config::v1::{Action, MatchField, Table};

/// A command with its words.
pub(super) struct Words<'a> {
    pub(super) name: &'a str,
    pub(super) usage: &'a str,
    pub(super) words: Vec<String>,
}

impl Words<'_> {
    /// How the command is written.
    pub(super) fn usage(&self) -> Failure {
        let form = format!("{} {}", self.name, self.usage);
        Failure::undeclared(format!("wrong number of arguments; expected: {}", form.trim_end()))
    }

    pub(super) fn exactly<const N: usize>(&self) -> Result<[&str; N], Failure> {
        let words: Vec<&str> = self.words.iter().map(String::as_str).collect();
        words.try_into().map_err(|_| self.usage())
    }

    /// The first words, and the rest.
    pub(super) fn first<const N: usize>(&self) -> Result<([&str; N], Vec<&str>), Failure> {
        if self.words.len() < N {
            return Err(self.usage());
        }
        let mut words: Vec<&str> = self.words.iter().map(String::as_str).collect();
        let rest = words.split_off(N);
        Ok((words.try_into().map_err(|_| self.usage())?, rest))
    }
}

/// A number in decimal notation, or with 0x in front.
pub(super) fn number<T: TryFrom<i64>>(text: &str, what: &str) -> Result<T, Failure> {
    let read = match text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")) {
        Some(digits) => i64::from_str_radix(digits, 16).ok(),
        None => text.parse::<i64>().ok(),
    };
    let read = read.and_then(|number| T::try_from(number).ok());
    read.ok_or_else(|| Failure::undeclared(format!("`{text}` is no {what}")))
}

/// A key, its action's data, and a priority, as they follow table and action.
pub(super) struct Entry {
    pub(super) key: Vec<Said>,
    pub(super) data: Vec<String>,
    pub(super) priority: i32,
    /// Whether `=>` stands between key and data.
    pub(super) has_arrow: bool,
}

/// What is said where `=>` would have made a difference.
const NO_ARROW: &str = "`=>` is missing between the key and what the entry does";

impl Entry {
    /// A mistake in the data, and whether it comes from a missing `=>`.
    pub(super) fn explained(&self, failure: Failure) -> Failure {
        if self.has_arrow {
            failure
        } else {
            failure.and(&format!("; {NO_ARROW}"))
        }
    }
}

impl<S: Switch> Runtime<S> {
    /// Reads `KEY... => DATA... [PRIORITY]`. Without `=>` simple_switch_CLI drops a word after the key, and the action
    /// has no data.
    pub(super) fn read_entry(&self, table: &Table, mut words: Vec<&str>) -> Result<Entry, Failure> {
        let priority = if crate::key::has_priorities(table) {
            words.pop().ok_or_else(|| {
                Failure::undeclared("entries of the table have a priority, after all other words; the lowest wins")
            })?
        } else {
            "0"
        };
        let priority = number(
            priority,
            "priority (which comes after all other words; the lowest wins)",
        )?;
        let arrow = words.iter().position(|word| *word == "=>");
        if arrow.is_none() && words.len() != table.match_fields.len() + 1 {
            return Err(Failure::undeclared(NO_ARROW));
        }
        let data = words.split_off(arrow.unwrap_or(table.match_fields.len()));
        Ok(Entry {
            key: self.read_key(table, &words)?,
            data: data[1..].iter().map(ToString::to_string).collect(),
            priority,
            has_arrow: arrow.is_some(),
        })
    }

    /// Reads a key, a word for each field.
    pub(super) fn read_key(&self, table: &Table, words: &[&str]) -> Result<Vec<Said>, Failure> {
        let fields = &table.match_fields;
        if words.len() != fields.len() {
            let names: Vec<&str> = fields.iter().map(|field| field.name.as_str()).collect();
            let message = format!(
                "the key has {} fields ({}), not {}",
                fields.len(),
                names.join(", "),
                words.len()
            );
            return Err(BAD_MATCH_KEY.because(message));
        }
        let said = fields
            .iter()
            .zip(words)
            .map(|(field, word)| self.read_field(field, word));
        said.collect()
    }

    fn read_field(&self, field: &MatchField, word: &str) -> Result<Said, Failure> {
        let read = |text: &str, width: u32| -> Result<Vec<u8>, Failure> {
            let mut typed = self.catalog.match_field(field);
            typed.width = typed.width.max(width);
            let read = typed.read(text);
            let read = read.map_err(|mistake| BAD_MATCH_KEY.because(mistake))?;
            Ok(long(&read, field.bitwidth))
        };
        let value = |text: &str| read(text, 0);
        // As many bits as simple_switch_CLI takes: all of the field's bytes.
        let filling = |text: &str| read(text, (field.bitwidth.max(0) as u32).next_multiple_of(8));
        let pair = |separator: &str| {
            let message = format!(
                "`{word}` has no `{separator}`, which the values of `{}` need",
                field.name
            );
            word.split_once(separator).ok_or_else(|| BAD_MATCH_KEY.because(message))
        };
        Ok(match match_type(field) {
            MatchType::Lpm => {
                let (prefix, length) = pair("/")?;
                Said::Lpm(value(prefix)?, number(length, "length of a prefix")?)
            }
            MatchType::Ternary | MatchType::Optional => {
                let (bits, mask) = pair("&&&")?;
                Said::Ternary(value(bits)?, filling(mask)?)
            }
            MatchType::Range => {
                let (low, high) = pair("->")?;
                Said::Range(value(low)?, filling(high)?)
            }
            _ => Said::Exact(value(word)?),
        })
    }

    /// Reads the data of an action, a word for each parameter.
    pub(super) fn read_data<T: AsRef<str>>(&self, action: &Action, words: &[T]) -> Result<Vec<Vec<u8>>, Failure> {
        let fields = self.catalog.parameters(action);
        if words.len() != fields.len() {
            let names: Vec<&str> = fields.iter().map(|field| field.name.as_str()).collect();
            let message = format!(
                "the action has {} parameters ({}), not {}",
                fields.len(),
                names.join(", "),
                words.len()
            );
            return Err(BAD_ACTION_DATA.because(message));
        }
        let data = fields
            .iter()
            .zip(words)
            .zip(&action.params)
            .map(|((field, word), parameter)| {
                let read = field.read(word.as_ref());
                let read = read.map_err(|mistake| BAD_ACTION_DATA.because(mistake))?;
                Ok(long(&read, parameter.bitwidth))
            });
        data.collect()
    }
}
