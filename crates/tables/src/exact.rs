//! The engine of tables whose key fields are all exact: one hash map.

use std::collections::HashMap;

use forebay_bits::Bits;

use crate::key::KeyMatch;

/// From the values of all key fields to an entry's slot.
#[derive(Clone, Debug, Default)]
pub(crate) struct ExactEngine {
    slots: HashMap<Box<[Bits]>, u32>,
}

impl ExactEngine {
    pub(crate) fn insert(&mut self, key: &[KeyMatch], slot: u32) {
        self.slots.insert(values(key), slot);
    }

    pub(crate) fn remove(&mut self, key: &[KeyMatch]) {
        self.slots.remove(&values(key));
    }

    pub(crate) fn lookup(&self, key: &[Bits]) -> Option<u32> {
        self.slots.get(key).copied()
    }
}

fn values(key: &[KeyMatch]) -> Box<[Bits]> {
    key.iter()
        .map(|field| match field {
            KeyMatch::Exact(value) => value.clone(),
            other => unreachable!("canonical exact key holds {other:?}"),
        })
        .collect()
}
