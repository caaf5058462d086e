//! Entries that packets have added, as words by slot.
//!
//! An entry of a control plane is an object with an action that entries may share. Packets add entries by the million,
//! and the control plane reads nearly none of them. So such an entry is a row of words, which follow each other in the
//! order in which slots are taken:
//!
//! ```text
//! id │ time-out │ key …
//! ```
//!
//! Its action is in the record that look-ups find by the key.

use crate::arena::Rows;
use crate::entry::EntryId;
use crate::layout::Key;
use crate::sync::{AtomicU64, Ordering};

const ID: usize = 0;
const TIMEOUT: usize = 1;
const KEY: usize = 2;

/// An entry that a packet has added.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Words<'a> {
    pub(crate) id: EntryId,
    pub(crate) idle_timeout_ns: u64,
    pub(crate) key: &'a [u64],
}

/// See the [module](self).
#[derive(Debug)]
pub(crate) struct LearnedWords(Rows<AtomicU64>);

impl LearnedWords {
    /// No entries yet; their keys will have this many words.
    pub(crate) fn new(key_words: usize) -> LearnedWords {
        LearnedWords(Rows::new(KEY + key_words))
    }

    /// Fills a slot, before readers can find its entry.
    pub(crate) fn set(&self, slot: u32, entry: Words<'_>) {
        let words = [entry.id.0, entry.idle_timeout_ns]
            .into_iter()
            .chain(entry.key.iter().copied());
        for (stored, word) in self.0.make(slot).iter().zip(words) {
            stored.store(word, Ordering::Relaxed);
        }
    }

    pub(crate) fn id(&self, slot: u32) -> EntryId {
        EntryId(self.word(slot, ID))
    }

    pub(crate) fn timeout_ns(&self, slot: u32) -> u64 {
        self.word(slot, TIMEOUT)
    }

    pub(crate) fn set_timeout(&self, slot: u32, timeout_ns: u64) {
        self.0.row(slot)[TIMEOUT].store(timeout_ns, Ordering::Relaxed);
    }

    pub(crate) fn key(&self, slot: u32) -> Key {
        let words = self.0.row(slot)[KEY..].iter();
        words.map(|word| word.load(Ordering::Relaxed)).collect()
    }

    fn word(&self, slot: u32, index: usize) -> u64 {
        self.0.row(slot)[index].load(Ordering::Relaxed)
    }
}
