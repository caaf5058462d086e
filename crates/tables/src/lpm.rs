//! The engine of tables with one prefix field, whose other fields are exact.
//!
//! One hash map per prefix length in use, probed from the longest length down. The first hit is
//! the longest prefix among the entries that match, since within one length the key decides alone.

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap};

use forebay_bits::Bits;

use crate::key::{KeyMatch, prefix_mask};

/// From the values of the exact fields and the longest matching prefix to an entry's slot.
#[derive(Clone, Debug)]
pub(crate) struct LpmEngine {
    /// Which key field is the prefix.
    prefix_field: usize,
    /// Longest first.
    lengths: BTreeMap<Reverse<u32>, PrefixLength>,
}

/// All entries whose prefix has one length.
#[derive(Clone, Debug)]
struct PrefixLength {
    mask: Bits,
    /// Keys have zeros after the prefix.
    slots: HashMap<Box<[Bits]>, u32>,
}

impl LpmEngine {
    pub(crate) fn new(prefix_field: usize) -> LpmEngine {
        LpmEngine {
            prefix_field,
            lengths: BTreeMap::new(),
        }
    }

    pub(crate) fn insert(&mut self, key: &[KeyMatch], slot: u32) {
        let (values, width, prefix_len) = self.split(key);
        self.lengths
            .entry(Reverse(prefix_len))
            .or_insert_with(|| PrefixLength {
                mask: prefix_mask(width, prefix_len),
                slots: HashMap::new(),
            })
            .slots
            .insert(values, slot);
    }

    pub(crate) fn remove(&mut self, key: &[KeyMatch]) {
        let (values, _, prefix_len) = self.split(key);
        if let Some(length) = self.lengths.get_mut(&Reverse(prefix_len)) {
            length.slots.remove(&values);
            if length.slots.is_empty() {
                self.lengths.remove(&Reverse(prefix_len));
            }
        }
    }

    pub(crate) fn lookup(&self, key: &[Bits]) -> Option<u32> {
        let mut masked = key.to_vec();
        self.lengths.values().find_map(|length| {
            masked[self.prefix_field] = key[self.prefix_field].and(&length.mask);
            length.slots.get(masked.as_slice()).copied()
        })
    }

    /// The values of all fields, and the width and length of the prefix.
    fn split(&self, key: &[KeyMatch]) -> (Box<[Bits]>, u32, u32) {
        let values = key
            .iter()
            .map(|field| match field {
                KeyMatch::Exact(value) | KeyMatch::Lpm { value, .. } => value.clone(),
                other => unreachable!("canonical prefix key holds {other:?}"),
            })
            .collect();
        match &key[self.prefix_field] {
            KeyMatch::Lpm { value, prefix_len } => (values, value.width(), *prefix_len),
            other => unreachable!("canonical prefix field holds {other:?}"),
        }
    }
}
