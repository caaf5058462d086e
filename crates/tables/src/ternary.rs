//! The engine of tables with ternary, range or optional fields: a list in order of priority.
//!
//! The first rule that matches wins, so the list is sorted by falling priority, and among equal
//! priorities by age. Prefix fields among the others are ternary fields here: how long a prefix
//! is does not matter beside a priority (P4Runtime §9.1.1).

use std::cmp::Reverse;

use forebay_bits::Bits;

use crate::entry::EntryId;
use crate::key::KeyMatch;

/// A list of conditions, the winner first.
#[derive(Clone, Debug, Default)]
pub(crate) struct TernaryEngine {
    rules: Vec<Rule>,
}

#[derive(Clone, Debug)]
struct Rule {
    order: RuleOrder,
    key: Box<[KeyMatch]>,
    slot: u32,
}

/// Highest priority first, then the entry that was inserted first.
type RuleOrder = (Reverse<i32>, EntryId);

impl TernaryEngine {
    pub(crate) fn insert(&mut self, key: &[KeyMatch], priority: i32, id: EntryId, slot: u32) {
        let order = (Reverse(priority), id);
        let position = self.rules.partition_point(|rule| rule.order < order);
        let rule = Rule {
            order,
            key: key.into(),
            slot,
        };
        self.rules.insert(position, rule);
    }

    pub(crate) fn remove(&mut self, priority: i32, id: EntryId) {
        let order = (Reverse(priority), id);
        if let Ok(position) = self.rules.binary_search_by_key(&order, |rule| rule.order) {
            self.rules.remove(position);
        }
    }

    pub(crate) fn lookup(&self, key: &[Bits]) -> Option<u32> {
        self.rules
            .iter()
            .find(|rule| rule.matches(key))
            .map(|rule| rule.slot)
    }
}

impl Rule {
    fn matches(&self, key: &[Bits]) -> bool {
        self.key
            .iter()
            .zip(key)
            .all(|(condition, field)| condition.matches(field))
    }
}
