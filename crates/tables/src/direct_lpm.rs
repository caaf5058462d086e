//! Longest-prefix match on one field of up to 32 bits: an array by the first bits, then arrays by eight bits each.
//!
//! ```text
//! few prefixes    16 bits ─► 8 bits ─► 8 bits         many prefixes    24 bits ─► 8 bits
//! ```
//!
//! A *cell* says which record the longest prefix has that covers it, or which array goes on with the next eight bits. So
//! a lookup reads one cell, or two or three where prefixes are long, and compares nothing. (After P. Gupta, S. Lin and
//! N. McKeown, "Routing lookups in hardware at memory access speeds", 1998: DIR-24-8.)
//!
//! # Publication
//!
//! Every cell is one atomic word. A prefix changes all the cells that it owns, one after the other, and a lookup reads one of
//! them. An array for the next bits is filled before its cell names it, and used again after no reader can look at it.
//! When the number of prefixes asks for another first array, the writer makes a new trie.

use std::collections::HashMap;
use std::sync::Arc;

use crate::lpm::Prefix;
use crate::memory;
use crate::reclaim::{Domain, Limbo, Pin, Shared};
use crate::rows::Records;
use crate::search::Location;
use crate::sync::{AtomicU64, Ordering, ask_ahead, prefetch};
use crate::view::FIND_MAX;

/// The widest field.
pub(crate) const WIDTH_MAX: u32 = 32;
/// Bits that an array behind the first one takes.
pub const STEP: u32 = 8;
/// Bits of the first array for few and for many prefixes.
pub(crate) const FEW: u32 = 16;
const MANY: u32 = 24;
/// So many prefixes are many; they are few again when there are a quarter as many.
const MANY_PREFIXES: usize = 1 << 15;
/// Up to so many bits of the first array, the trie is taken to be in the caches nearby.
const CACHED_BITS: u32 = FEW;

/// How much larger what look-ups read is than the records alone, when prefixes are few.
const LINES_OF_FEW: usize = 4;

/// So many arrays that are not needed any more are kept.
const ARRAYS_KEPT: usize = 64;

/// The cell of an address without a prefix.
const EMPTY: u32 = 0;
/// A cell with this bit has the number of an array in its other bits; otherwise a record's number plus 1.
pub const DEEPER: u32 = 1 << 31;

/// Cells, two in a word.
type Cells = Box<[AtomicU64]>;

fn cells(bits: u32) -> Cells {
    memory::defaults(1 << (bits - 1))
}

#[inline(always)]
fn cell(cells: &[AtomicU64], index: usize) -> u32 {
    // SAFETY: an index is that many bits of a key as the array has cells.
    let word = unsafe { cells.get_unchecked(index / 2) };
    (word.load(Ordering::Acquire) >> (32 * (index % 2))) as u32
}

fn set_cell(cells: &[AtomicU64], index: usize, value: u32) {
    let word = &cells[index / 2];
    let shift = 32 * (index % 2);
    let kept = word.load(Ordering::Relaxed) & !(u64::from(u32::MAX) << shift);
    word.store(kept | u64::from(value) << shift, Ordering::Release);
}

/// Arrays for the bits behind the first ones, which do not move.
type Deeper = crate::rows::Rows<AtomicU64>;
/// Words of each.
pub(crate) const DEEPER_WORDS: usize = 1 << (STEP - 1);

#[derive(Debug)]
struct Trie {
    first_bits: u32,
    first: Cells,
    deeper: Deeper,
}

/// From keys, whose bits are at the top of 32, to the record of the longest prefix.
#[derive(Debug)]
pub(crate) struct DirectTrie {
    trie: Shared<Trie>,
}

impl Trie {
    fn new(first_bits: u32) -> Trie {
        Trie {
            first_bits,
            first: cells(first_bits),
            deeper: Deeper::new(DEEPER_WORDS),
        }
    }

    #[inline(always)]
    fn first_index(&self, key: u32) -> usize {
        (key >> (u32::BITS - self.first_bits)) as usize
    }

    #[inline(always)]
    fn find(&self, key: u32) -> Option<u32> {
        let mut found = cell(&self.first, self.first_index(key));
        let mut rest = key << (self.first_bits % u32::BITS);
        while found & DEEPER != 0 {
            found = cell(self.deeper.row(found & !DEEPER), (rest >> (u32::BITS - STEP)) as usize);
            rest <<= STEP;
        }
        found.checked_sub(1)
    }
}

impl DirectTrie {
    /// An empty trie and its writer.
    pub(crate) fn new(domain: &Arc<Domain>) -> (DirectTrie, DirectWriter) {
        let trie = DirectTrie {
            trie: Shared::new(Trie::new(FEW)),
        };
        let writer = DirectWriter {
            domain: Arc::clone(domain),
            prefixes: HashMap::new(),
            lengths: Vec::new(),
            inside: HashMap::new(),
            next_array: 0,
            free_arrays: Vec::new(),
            arrays: Limbo::default(),
            tries: Limbo::default(),
        };
        (trie, writer)
    }

    /// The record of the longest prefix of a key.
    #[inline]
    pub(crate) fn find(&self, key: u32, pin: &Pin<'_>) -> Option<u32> {
        self.trie.load(pin).find(key)
    }

    /// Where it is, with this default and these records.
    #[inline]
    pub(crate) fn location(&self, default: *const u64, records: &Records, pin: &Pin<'_>) -> Location {
        let trie = self.trie.load(pin);
        let bytes = match trie.first_bits > CACHED_BITS {
            true => size_of_val(&*trie.first),
            // A line in each array, and the record's.
            false => records.memory_bytes() * LINES_OF_FEW,
        };
        Location {
            array: trie.first.as_ptr().cast(),
            size: (u32::BITS - trie.first_bits).into(),
            deeper: trie.deeper.origins(),
            records: records.origins(),
            bytes,
            ..Location::of_default(default)
        }
    }

    #[inline]
    pub(crate) fn prefetch(&self, key: u32, pin: &Pin<'_>) {
        let trie = self.trie.load(pin);
        prefetch(&trie.first[trie.first_index(key) / 2]);
    }

    /// The records of several keys, at most [`FIND_MAX`].
    #[inline]
    pub(crate) fn find_all(
        &self,
        count: usize,
        key: impl Fn(usize) -> u32,
        mut found: impl FnMut(usize, Option<u32>),
        pin: &Pin<'_>,
    ) {
        let trie = self.trie.load(pin);
        if trie.first_bits > CACHED_BITS {
            let mut keys = [0; FIND_MAX];
            for (index, place) in keys[..count].iter_mut().enumerate() {
                *place = key(index);
            }
            let ask = |index: usize| prefetch(&trie.first[trie.first_index(keys[index]) / 2]);
            ask_ahead(count, ask, |index| {
                let key = keys[index];
                let first = cell(&trie.first, trie.first_index(key));
                if first & DEEPER != 0 {
                    let index = (key << (trie.first_bits % u32::BITS)) >> (u32::BITS - STEP);
                    prefetch(&trie.deeper.row(first & !DEEPER)[index as usize / 2]);
                }
            });
        }
        for index in 0..count {
            found(index, trie.find(key(index)));
        }
    }
}

/// What only the writer of a [`DirectTrie`] knows. All methods take the trie that was made with it.
#[derive(Debug)]
pub(crate) struct DirectWriter {
    domain: Arc<Domain>,
    prefixes: HashMap<Prefix, u32>,
    /// Length of the prefix of each record.
    lengths: Vec<u8>,
    /// How many prefixes end inside of an array, by its number.
    inside: HashMap<u32, usize>,
    next_array: u32,
    free_arrays: Vec<u32>,
    arrays: Limbo<u32>,
    tries: Limbo<Box<Trie>>,
}

impl DirectWriter {
    /// Adds a prefix that is not there.
    pub(crate) fn insert(&mut self, trie: &DirectTrie, prefix: Prefix, record: u32) {
        self.note(prefix, record);
        if self.prefixes.len() > MANY_PREFIXES && self.present(trie).first_bits == FEW {
            self.rebuild(trie, MANY);
        } else {
            self.add(self.present(trie), prefix, record);
        }
    }

    /// Gives a prefix that is there another record; the old one's number.
    pub(crate) fn replace(&mut self, trie: &DirectTrie, prefix: Prefix, record: u32) -> u32 {
        let old = self.note(prefix, record).expect("a prefix to be replaced is there");
        self.paint(self.present(trie), prefix, record + 1);
        old
    }

    /// Removes a prefix that is there; its record's number.
    pub(crate) fn remove(&mut self, trie: &DirectTrie, prefix: Prefix) -> u32 {
        let record = self.prefixes.remove(&prefix).expect("a prefix to be removed is there");
        if self.prefixes.len() * 4 < MANY_PREFIXES && self.present(trie).first_bits == MANY {
            self.rebuild(trie, FEW);
            return record;
        }
        let shorter = (0..prefix.length).rev().map(|length| prefix.shortened(length));
        let next = shorter.filter_map(|shorter| self.prefixes.get(&shorter)).next();
        let replacement = next.map_or(EMPTY, |record| record + 1);
        let present = self.present(trie);
        self.paint(present, prefix, replacement);
        self.leave_arrays(present, prefix, replacement);
        if self.inside.len() * 8 + ARRAYS_KEPT < self.next_array as usize {
            self.rebuild(trie, present.first_bits);
        }
        record
    }

    pub(crate) fn memory_bytes(&self, trie: &DirectTrie) -> usize {
        let trie = self.present(trie);
        size_of_val(&*trie.first) + trie.deeper.memory_bytes()
    }

    fn note(&mut self, prefix: Prefix, record: u32) -> Option<u32> {
        if self.lengths.len() <= record as usize {
            self.lengths.resize(record as usize + 1, 0);
        }
        self.lengths[record as usize] = prefix.length as u8;
        self.prefixes.insert(prefix, record)
    }

    fn present<'a>(&self, trie: &'a DirectTrie) -> &'a Trie {
        // SAFETY: this is the trie's writer, and `rebuild` uses no trie after it replaced it.
        unsafe { trie.trie.load_as_writer() }
    }

    /// Adds a prefix: arrays that it ends in, then the cells that it owns.
    fn add(&mut self, trie: &Trie, prefix: Prefix, record: u32) {
        let key = top_bits(prefix);
        let (mut cells, mut index, mut consumed) = (&*trie.first, trie.first_index(key), trie.first_bits);
        while prefix.length > consumed {
            let present = cell(cells, index);
            let array = match present & DEEPER {
                0 => self.new_array(trie, present),
                _ => present & !DEEPER,
            };
            set_cell(cells, index, DEEPER | array);
            *self.inside.entry(array).or_default() += 1;
            cells = trie.deeper.row(array);
            index = ((key << consumed) >> (u32::BITS - STEP)) as usize;
            consumed += STEP;
        }
        self.paint(trie, prefix, record + 1);
    }

    /// An array all of whose cells are the same.
    fn new_array(&mut self, trie: &Trie, value: u32) -> u32 {
        let free = &mut self.free_arrays;
        self.arrays.collect(&self.domain, |array| free.push(array));
        let array = self.free_arrays.pop().unwrap_or_else(|| {
            self.next_array += 1;
            self.next_array - 1
        });
        for word in trie.deeper.make(array) {
            word.store(u64::from(value) << 32 | u64::from(value), Ordering::Release);
        }
        array
    }

    /// Gives the cells that belong to a prefix a value: those under it whose own prefix is not longer.
    fn paint(&self, trie: &Trie, prefix: Prefix, value: u32) {
        let key = top_bits(prefix);
        let (mut cells, mut index, mut consumed) = (&*trie.first, trie.first_index(key), trie.first_bits);
        while prefix.length > consumed {
            cells = trie.deeper.row(cell(cells, index) & !DEEPER);
            index = ((key << consumed) >> (u32::BITS - STEP)) as usize;
            consumed += STEP;
        }
        self.paint_cells(
            trie,
            cells,
            index..index + (1 << (consumed - prefix.length)),
            prefix.length,
            value,
        );
    }

    fn paint_cells(&self, trie: &Trie, cells: &[AtomicU64], range: std::ops::Range<usize>, length: u32, value: u32) {
        for index in range {
            let present = cell(cells, index);
            if present & DEEPER != 0 {
                let deeper = trie.deeper.row(present & !DEEPER);
                self.paint_cells(trie, deeper, 0..1 << STEP, length, value);
            } else if present == EMPTY || u32::from(self.lengths[present as usize - 1]) <= length {
                set_cell(cells, index, value);
            }
        }
    }

    /// Takes away the arrays in which nothing ends any more, now that the prefix is gone: all their cells have the value
    /// of the next shorter one.
    fn leave_arrays(&mut self, trie: &Trie, prefix: Prefix, value: u32) {
        let key = top_bits(prefix);
        let (mut cells, mut index, mut consumed) = (&*trie.first, trie.first_index(key), trie.first_bits);
        let mut is_gone = false;
        while prefix.length > consumed {
            let array = cell(cells, index) & !DEEPER;
            let inside = self
                .inside
                .get_mut(&array)
                .expect("prefixes are counted in their arrays");
            *inside -= 1;
            if *inside == 0 {
                self.inside.remove(&array);
                if !is_gone {
                    set_cell(cells, index, value);
                }
                is_gone = true;
                self.arrays.retire(&self.domain, array);
            }
            cells = trie.deeper.row(array);
            index = ((key << consumed) >> (u32::BITS - STEP)) as usize;
            consumed += STEP;
        }
    }

    fn rebuild(&mut self, trie: &DirectTrie, first_bits: u32) {
        let new = Trie::new(first_bits);
        self.inside.clear();
        self.next_array = 0;
        self.free_arrays.clear();
        self.arrays.clear();
        let mut prefixes: Vec<(Prefix, u32)> = self
            .prefixes
            .iter()
            .map(|(prefix, record)| (*prefix, *record))
            .collect();
        // Short ones first: then no cell is looked at twice for nothing.
        prefixes.sort_by_key(|(prefix, _)| prefix.length);
        for (prefix, record) in prefixes {
            self.add(&new, prefix, record);
        }
        let old = trie.trie.replace(new);
        self.tries.retire(&self.domain, old);
        self.tries.collect(&self.domain, drop);
    }
}

fn top_bits(prefix: Prefix) -> u32 {
    (prefix.bits >> (u128::BITS - u32::BITS)) as u32
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    /// Random prefixes close together, against a scan; and nothing is left when all are gone.
    #[test]
    fn finds_the_longest_prefix() {
        let domain = Domain::new();
        let (trie, mut writer) = DirectTrie::new(&domain);
        let mut reader = domain.reader();
        let mut state = 1u64;
        let mut random = || {
            state = crate::exact::hash_words(&[state]);
            state
        };
        let mut prefixes: Vec<(Prefix, u32)> = Vec::new();
        for record in 0..4000 {
            let value = ((random() % 8) << 28) | ((random() % 4) << 16) | ((random() % 4) << 8) | (random() % 8);
            let prefix = Prefix::new(value.into(), 32, random() as u32 % 33);
            match prefixes.iter().position(|(known, _)| *known == prefix) {
                None => {
                    writer.insert(&trie, prefix, record);
                    prefixes.push((prefix, record));
                }
                Some(at) if random() % 2 == 0 => {
                    assert_eq!(writer.replace(&trie, prefix, record), prefixes[at].1);
                    prefixes[at].1 = record;
                }
                Some(at) => {
                    assert_eq!(writer.remove(&trie, prefix), prefixes[at].1);
                    prefixes.swap_remove(at);
                }
            }
            let key = top_bits(prefix) | (random() % 300) as u32;
            let matching = prefixes
                .iter()
                .filter(|(known, _)| top_bits(Prefix::new(key.into(), 32, known.length)) == top_bits(*known));
            let longest = matching
                .max_by_key(|(known, _)| known.length)
                .map(|(_, record)| *record);
            let pin = reader.pin();
            assert_eq!(trie.find(key, &pin), longest);
            trie.find_all(1, |_| key, |_, found| assert_eq!(found, longest), &pin);
        }
        for (prefix, record) in prefixes {
            assert_eq!(writer.remove(&trie, prefix), record);
        }
        assert!(writer.inside.is_empty());
    }

    #[test]
    fn many_prefixes_have_a_larger_first_array_and_the_same_answers() {
        let domain = Domain::new();
        let (trie, mut writer) = DirectTrie::new(&domain);
        let mut reader = domain.reader();
        let count = 40_000u32;
        let prefix = |number: u32| Prefix::new(u128::from(number) << 8, 32, 24 + number % 9);
        (0..count).for_each(|number| writer.insert(&trie, prefix(number), number));
        assert_eq!(writer.present(&trie).first_bits, MANY);
        let found = |number: u32, reader: &mut crate::reclaim::Reader| trie.find(number << 8, &reader.pin());
        assert!((0..count).all(|number| found(number, &mut reader) == Some(number)));
        for number in 1000..count {
            assert_eq!(writer.remove(&trie, prefix(number)), number);
        }
        assert_eq!(writer.present(&trie).first_bits, FEW);
        assert!((0..count).all(|number| found(number, &mut reader) == (number < 1000).then_some(number)));
    }
}
