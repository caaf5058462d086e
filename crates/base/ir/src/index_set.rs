//! A set of small numbers, for analyses of slots.

use crate::SlotId;
use std::borrow::Borrow;

/// A set of numbers below a limit.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct IndexSet(Vec<u64>);

impl IndexSet {
    /// An empty set for numbers below `limit`.
    pub fn new(limit: usize) -> IndexSet {
        IndexSet(vec![0; limit.div_ceil(64)])
    }

    /// Adds a number.
    pub fn insert(&mut self, index: usize) {
        self.0[index / 64] |= 1 << (index % 64);
    }

    /// Removes a number.
    pub fn remove(&mut self, index: usize) {
        self.0[index / 64] &= !(1 << (index % 64));
    }

    /// Whether the set contains a number.
    pub fn contains(&self, index: usize) -> bool {
        self.0[index / 64] >> (index % 64) & 1 == 1
    }

    /// Adds all numbers of a set with the same limit.
    pub fn extend(&mut self, other: &IndexSet) {
        for (word, other) in self.0.iter_mut().zip(&other.0) {
            *word |= other;
        }
    }

    /// Adds the numbers of slots.
    pub fn insert_slots(&mut self, slots: impl IntoIterator<Item: Borrow<SlotId>>) {
        slots.into_iter().for_each(|slot| self.insert(slot.borrow().index()));
    }

    /// Removes the numbers of slots.
    pub fn remove_slots(&mut self, slots: impl IntoIterator<Item: Borrow<SlotId>>) {
        slots.into_iter().for_each(|slot| self.remove(slot.borrow().index()));
    }

    /// Removes all numbers.
    pub fn clear(&mut self) {
        self.0.fill(0);
    }
}
