//! Entries that the program has from the beginning.

use super::Translator;
use super::action::action_data;
use crate::error::{At, Error, Result, options};
use crate::model::{Action, Entry, KeyMatch, Table};
use forebay_bits::Bits;
use forebay_ir::{ActionCall, EntryMatch, Location, MatchKind, TableEntry, TableKey};
use num_bigint::BigInt;

impl Translator<'_> {
    pub(super) fn entries(
        &mut self,
        table: &Table,
        keys: &[TableKey],
        listed: &[&Action],
        are_const: bool,
    ) -> Result<Vec<TableEntry>> {
        let entries = table.entries.as_deref().unwrap_or_default();
        let largest = entries.iter().map(|entry| entry.priority).max().unwrap_or(0);
        let has_priorities = keys.iter().any(|key| needs_priority(key.match_kind));
        let translated = entries.iter().map(|entry| {
            forebay_budget::check();
            let action = self.action_call(entry.action, &entry.data, listed).at(&entry.at)?;
            Ok(TableEntry {
                matches: matches(entry, keys).at(&entry.at)?,
                // The smaller number wins in the JSON, the larger one in the IR.
                priority: if has_priorities {
                    largest - entry.priority + 1
                } else {
                    0
                },
                action,
                is_const: are_const,
                location: Location::default(),
            })
        });
        translated.collect()
    }

    /// A call of one of a table's actions.
    pub(super) fn action_call(&self, id: u32, data: &[BigInt], listed: &[&Action]) -> Result<ActionCall> {
        let index = listed.iter().position(|action| action.id == id).ok_or_else(|| {
            let known = options(listed.iter().map(|action| action.name.as_str()));
            Error::new(format!("the action with id {id} is none of the table's; {known}"))
        })?;
        Ok(ActionCall {
            action: index as u32,
            args: action_data(listed[index], data)?,
        })
    }
}

fn needs_priority(kind: MatchKind) -> bool {
    matches!(kind, MatchKind::Ternary | MatchKind::Range | MatchKind::Optional)
}

fn matches(entry: &Entry, keys: &[TableKey]) -> Result<Vec<EntryMatch>> {
    let keys: Vec<&TableKey> = keys
        .iter()
        .filter(|key| key.match_kind != MatchKind::Selector)
        .collect();
    let (given, wanted) = (entry.matches.len(), keys.len());
    if given != wanted {
        return Err(Error::new(format!(
            "the table has {wanted} key fields, the entry {given}"
        )));
    }
    entry
        .matches
        .iter()
        .zip(keys)
        .map(|(found, key)| entry_match(found, key))
        .collect()
}

fn entry_match(found: &KeyMatch, key: &TableKey) -> Result<EntryMatch> {
    let bits = |value: &BigInt| Bits::from_bigint(key.width, value);
    Ok(match (key.match_kind, found) {
        (MatchKind::Exact, KeyMatch::Value(value)) => EntryMatch::Exact(bits(value)),
        (MatchKind::Lpm, KeyMatch::Prefix(value, length)) => EntryMatch::Lpm {
            value: bits(value).and(&prefix_mask(key.width, *length)),
            prefix_length: *length,
        },
        (MatchKind::Ternary, KeyMatch::Masked(value, mask)) => EntryMatch::Ternary {
            value: bits(value).and(&bits(mask)),
            mask: bits(mask),
        },
        (MatchKind::Range, KeyMatch::Range(low, high)) => EntryMatch::Range {
            low: bits(low),
            high: bits(high),
        },
        (MatchKind::Optional, KeyMatch::Masked(value, mask)) => {
            EntryMatch::Optional((!bits(mask).is_zero()).then(|| bits(value)))
        }
        _ => return Err(Error::new(format!("the match is not of the kind of `{}`", key.name))),
    })
}

fn prefix_mask(width: u32, length: u32) -> Bits {
    Bits::ones(width).shl(u64::from(width.saturating_sub(length)))
}
