//! Longest-prefix match on one field of up to 32 bits: an array indexed by the first bits, then arrays indexed by
//! eight bits each.
//!
//! ```text
//! few prefixes    16 bits ─► 8 bits ─► 8 bits         many prefixes    24 bits ─► 8 bits
//! ```
//!
//! A *cell* gives the record of the longest prefix that covers it, or the array for the next eight bits. So a look-up
//! reads one cell, or two or three where prefixes are long, and compares nothing. (After P. Gupta, S. Lin and N.
//! McKeown, "Routing lookups in hardware at memory access speeds", 1998: DIR-24-8.)
//!
//! With many prefixes there are also *compact cells* of half the size, in arrays of the same shape
//! ([`crate::compact_tbl24`]). They give the content of a record. Look-ups that need only the content read fewer lines
//! of memory.
//!
//! # Publication
//!
//! Every cell is atomic. A prefix changes all the cells that it owns, one after another, and a look-up reads one of
//! them. An array for the next bits is filled before its cell refers to it, and reused only when no reader can access
//! it any more. When the number of prefixes requires a first array of another size, the writer makes a new trie.

use std::collections::HashMap;
use std::sync::Arc;

use crate::arena::Records;
use crate::compact_tbl24::{CompactCell, CompactCells, ContentsOf};
use crate::epoch::{Domain, Limbo, Pin, Shared};
use crate::lpm::Prefix;
use crate::memory::Array;
use crate::search::Location;
use crate::second_index::Changing;
use crate::sync::{AtomicU64, Ordering, prefetch, prefetch_ahead};
use crate::view::FIND_MAX;

/// The widest field.
pub(crate) const WIDTH_MAX: u32 = 32;
/// Bits of the key that each array after the first covers.
pub const STEP: u32 = 8;
/// Bits of the first array for few and for many prefixes.
pub(crate) const FEW: u32 = 16;
const MANY: u32 = 24;
/// From this number of prefixes on there are many. They are few again at a quarter of it.
const MANY_PREFIXES: usize = 1 << 15;
/// With a first array of up to this many bits, the trie is assumed to be in nearby caches.
const CACHED_BITS: u32 = FEW;

/// With few prefixes, the ratio of the memory that look-ups read to the memory of the records alone.
const LINES_OF_FEW: usize = 4;

/// The most unused arrays that are kept.
const ARRAYS_KEPT: usize = 64;

/// The cell of an address without a prefix.
const EMPTY: u32 = 0;
/// If this bit is set, the other bits are the number of an array. Otherwise the cell is a record's number plus 1.
pub const DEEPER: u32 = 1 << 31;

/// Cells, two in a word.
type Cells = Array<AtomicU64>;

fn cells(bits: u32) -> Cells {
    Cells::defaults(1 << (bits - 1))
}

#[inline(always)]
fn cell(cells: &[AtomicU64], index: usize) -> u32 {
    // SAFETY: the index consists of as many key bits as the array has index bits.
    let word = unsafe { cells.get_unchecked(index / 2) };
    (word.load(Ordering::Acquire) >> (32 * (index % 2))) as u32
}

fn set_cell(cells: &[AtomicU64], index: usize, value: u32) {
    let word = &cells[index / 2];
    let shift = 32 * (index % 2);
    let kept = word.load(Ordering::Relaxed) & !(u64::from(u32::MAX) << shift);
    word.store(kept | u64::from(value) << shift, Ordering::Release);
}

/// Arrays for the bits after the first ones. They do not move.
type Deeper = crate::arena::Rows<AtomicU64>;
/// Words of each of these arrays.
pub(crate) const DEEPER_WORDS: usize = 1 << (STEP - 1);

#[derive(Debug)]
struct Trie {
    first_bits: u32,
    first: Cells,
    deeper: Deeper,
    /// Present when there are many prefixes.
    compact: Option<CompactCells>,
}

/// The position of a cell: in the first array, or in the array with a number.
#[derive(Clone, Copy)]
struct At {
    array: Option<u32>,
    index: usize,
}

/// The value of a cell in both forms.
#[derive(Clone, Copy)]
struct Value {
    cell: u32,
    compact: CompactCell,
}

impl Value {
    const EMPTY: Value = Value {
        cell: EMPTY,
        compact: CompactCell::EMPTY,
    };

    fn array(number: u32) -> Value {
        Value {
            cell: DEEPER | number,
            compact: CompactCell::array(number),
        }
    }
}

/// Finds the record of the longest prefix of a key, which is left-aligned in 32 bits.
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
            compact: (first_bits == MANY).then(|| CompactCells::new(MANY, STEP)),
        }
    }

    fn cell(&self, at: At) -> u32 {
        match at.array {
            None => cell(&self.first, at.index),
            Some(array) => cell(self.deeper.row(array), at.index),
        }
    }

    fn value(&self, at: At) -> Value {
        let compact = self.compact.as_ref();
        Value {
            cell: self.cell(at),
            compact: compact.map_or(CompactCell::EMPTY, |compact| compact.cell(at.array, at.index)),
        }
    }

    fn set(&self, at: At, value: Value) {
        match at.array {
            None => set_cell(&self.first, at.index, value.cell),
            Some(array) => set_cell(self.deeper.row(array), at.index, value.cell),
        }
        if let Some(compact) = &self.compact {
            compact.set(at.array, at.index, value.compact);
        }
    }

    /// The cell of a key in the first array.
    fn begin(&self, key: u32) -> At {
        At {
            array: None,
            index: self.first_index(key),
        }
    }

    /// The position of a key's cell in the array that continues after `consumed` bits.
    fn in_array(array: u32, key: u32, consumed: u32) -> At {
        At {
            array: Some(array),
            index: ((key << consumed) >> (u32::BITS - STEP)) as usize,
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
            records: Vec::new(),
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

    /// The compact cells, if there are any and they are complete.
    #[inline]
    pub(crate) fn compact_cells<'pin>(&'pin self, pin: &'pin Pin<'_>) -> Option<&'pin CompactCells> {
        let compact = self.trie.load(pin).compact.as_ref();
        compact.filter(|compact| compact.are_complete())
    }

    /// The trie's location, with this default and these records.
    #[inline]
    pub(crate) fn location(&self, default: *const u64, records: &Records, pin: &Pin<'_>) -> Location {
        let trie = self.trie.load(pin);
        let bytes = if trie.first_bits > CACHED_BITS {
            size_of_val(&*trie.first)
        } else {
            // A line in each array, and one of the record.
            records.memory_bytes() * LINES_OF_FEW
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
            let fetch = |index: usize| prefetch(&trie.first[trie.first_index(keys[index]) / 2]);
            prefetch_ahead(count, fetch, |index| {
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

/// The writer's side of a [`DirectTrie`]. All methods take the trie that was made with it.
#[derive(Debug)]
pub(crate) struct DirectWriter {
    domain: Arc<Domain>,
    prefixes: HashMap<Prefix, u32>,
    /// By record: the length of its prefix, and its content.
    records: Vec<(u8, CompactCell)>,
    /// By number of an array: how many prefixes end in it.
    inside: HashMap<u32, usize>,
    next_array: u32,
    free_arrays: Vec<u32>,
    arrays: Limbo<u32>,
    tries: Limbo<Box<Trie>>,
}

impl DirectWriter {
    /// Adds a new prefix. Its record exists already.
    pub(crate) fn insert(&mut self, trie: &DirectTrie, prefix: Prefix, record: u32, contents: &mut ContentsOf<'_>) {
        self.tries.collect(&self.domain, drop);
        self.note(prefix, record);
        self.find_content(trie, record, contents);
        if self.prefixes.len() > MANY_PREFIXES && self.present(trie).first_bits == FEW {
            self.rebuild(trie, MANY, contents);
        } else {
            let _change = self.begin_change(trie);
            self.add(self.present(trie), prefix, record);
        }
    }

    /// Gives an existing prefix another record, and returns the number of the old one.
    pub(crate) fn replace(
        &mut self,
        trie: &DirectTrie,
        prefix: Prefix,
        record: u32,
        contents: &mut ContentsOf<'_>,
    ) -> u32 {
        self.tries.collect(&self.domain, drop);
        let old = self.note(prefix, record).expect("a prefix to be replaced is there");
        self.find_content(trie, record, contents);
        let change = self.begin_change(trie);
        self.paint(self.present(trie), prefix, self.value_of(record));
        drop(change);
        self.forget_content(old, contents);
        old
    }

    /// Begins a change of the cells, whether there are compact ones or not.
    fn begin_change<'a>(&self, trie: &'a DirectTrie) -> Option<Changing<'a>> {
        self.present(trie).compact.as_ref().map(CompactCells::begin_change)
    }

    /// Determines the content of a record, if there are compact cells.
    fn find_content(&mut self, trie: &DirectTrie, record: u32, contents: &mut ContentsOf<'_>) {
        if self.present(trie).compact.is_some() {
            self.records[record as usize].1 = contents.add(record);
        }
    }

    /// Forgets the content of a record that has left all cells.
    fn forget_content(&mut self, record: u32, contents: &mut ContentsOf<'_>) {
        contents.remove(std::mem::replace(
            &mut self.records[record as usize].1,
            CompactCell::EMPTY,
        ));
    }

    fn value_of(&self, record: u32) -> Value {
        Value {
            cell: record + 1,
            compact: self.records[record as usize].1,
        }
    }

    /// Removes an existing prefix, and returns its record's number.
    pub(crate) fn remove(&mut self, trie: &DirectTrie, prefix: Prefix, contents: &mut ContentsOf<'_>) -> u32 {
        self.tries.collect(&self.domain, drop);
        let record = self.prefixes.remove(&prefix).expect("a prefix to be removed is there");
        if self.prefixes.len() * 4 < MANY_PREFIXES && self.present(trie).first_bits == MANY {
            self.rebuild(trie, FEW, contents);
            self.forget_content(record, contents);
            return record;
        }
        let shorter = (0..prefix.length).rev().map(|length| prefix.shortened(length));
        let next = shorter.filter_map(|shorter| self.prefixes.get(&shorter)).next();
        let replacement = next.map_or(Value::EMPTY, |record| self.value_of(*record));
        let present = self.present(trie);
        let change = self.begin_change(trie);
        self.paint(present, prefix, replacement);
        self.leave_arrays(present, prefix, replacement);
        drop(change);
        self.forget_content(record, contents);
        if self.inside.len() * 8 + ARRAYS_KEPT < self.next_array as usize {
            self.rebuild(trie, present.first_bits, contents);
        }
        record
    }

    pub(crate) fn memory_bytes(&self, trie: &DirectTrie) -> usize {
        let trie = self.present(trie);
        let compact = trie.compact.as_ref().map_or(0, CompactCells::memory_bytes);
        size_of_val(&*trie.first) + trie.deeper.memory_bytes() + compact
    }

    fn note(&mut self, prefix: Prefix, record: u32) -> Option<u32> {
        if self.records.len() <= record as usize {
            self.records.resize(record as usize + 1, (0, CompactCell::EMPTY));
        }
        self.records[record as usize] = (prefix.length as u8, CompactCell::EMPTY);
        self.prefixes.insert(prefix, record)
    }

    fn present<'a>(&self, trie: &'a DirectTrie) -> &'a Trie {
        // SAFETY: this is the trie's writer, and `rebuild` does not use the old trie after replacing it.
        unsafe { trie.trie.load_as_writer() }
    }

    /// Adds a prefix: first the arrays in which it ends, then the cells that it owns.
    fn add(&mut self, trie: &Trie, prefix: Prefix, record: u32) {
        let key = top_bits(prefix);
        let (mut at, mut consumed) = (trie.begin(key), trie.first_bits);
        while prefix.length > consumed {
            let present = trie.value(at);
            let array = match present.cell & DEEPER {
                0 => self.new_array(trie, present),
                _ => present.cell & !DEEPER,
            };
            trie.set(at, Value::array(array));
            *self.inside.entry(array).or_default() += 1;
            at = Trie::in_array(array, key, consumed);
            consumed += STEP;
        }
        self.paint(trie, prefix, self.value_of(record));
    }

    /// Makes an array whose cells all have the same value.
    fn new_array(&mut self, trie: &Trie, value: Value) -> u32 {
        let free = &mut self.free_arrays;
        self.arrays.collect(&self.domain, |array| free.push(array));
        let array = self.free_arrays.pop().unwrap_or_else(|| {
            self.next_array += 1;
            self.next_array - 1
        });
        for word in trie.deeper.make(array) {
            word.store(u64::from(value.cell) << 32 | u64::from(value.cell), Ordering::Release);
        }
        if let Some(compact) = &trie.compact {
            compact.make_array(array, value.compact);
        }
        array
    }

    /// Sets the cells that a prefix owns: those below it without a longer prefix.
    fn paint(&self, trie: &Trie, prefix: Prefix, value: Value) {
        let key = top_bits(prefix);
        let (mut at, mut consumed) = (trie.begin(key), trie.first_bits);
        while prefix.length > consumed {
            at = Trie::in_array(trie.cell(at) & !DEEPER, key, consumed);
            consumed += STEP;
        }
        self.paint_cells(trie, at, 1 << (consumed - prefix.length), prefix.length, value);
    }

    /// Sets those of `count` cells of one array whose prefix is not longer than `length`.
    fn paint_cells(&self, trie: &Trie, first: At, count: usize, length: u32, value: Value) {
        for index in first.index..first.index + count {
            let at = At { index, ..first };
            let present = trie.cell(at);
            if present & DEEPER != 0 {
                let deeper = Trie::in_array(present & !DEEPER, 0, 0);
                self.paint_cells(trie, deeper, 1 << STEP, length, value);
            } else if present == EMPTY || u32::from(self.records[present as usize - 1].0) <= length {
                trie.set(at, value);
            }
        }
    }

    /// Removes the arrays in which no prefix ends any more after a removal: all their cells have the value of the next
    /// shorter prefix.
    fn leave_arrays(&mut self, trie: &Trie, prefix: Prefix, value: Value) {
        let key = top_bits(prefix);
        let (mut at, mut consumed) = (trie.begin(key), trie.first_bits);
        let mut is_gone = false;
        while prefix.length > consumed {
            let array = trie.cell(at) & !DEEPER;
            let inside = self
                .inside
                .get_mut(&array)
                .expect("prefixes are counted in their arrays");
            *inside -= 1;
            if *inside == 0 {
                self.inside.remove(&array);
                if !is_gone {
                    trie.set(at, value);
                }
                is_gone = true;
                self.arrays.retire(&self.domain, array);
            }
            at = Trie::in_array(array, key, consumed);
            consumed += STEP;
        }
    }

    fn rebuild(&mut self, trie: &DirectTrie, first_bits: u32, contents: &mut ContentsOf<'_>) {
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
        // Short prefixes first, so that no cell is visited twice needlessly.
        prefixes.sort_by_key(|(prefix, _)| prefix.length);
        for (prefix, record) in &prefixes {
            let content = &mut self.records[*record as usize].1;
            // Others may have made room for a content that had none.
            let has_none = [CompactCell::EMPTY, CompactCell::OUTSIDE].contains(content);
            if has_none && new.compact.is_some() {
                *content = contents.add(*record);
            }
            self.add(&new, *prefix, *record);
        }
        let has_compact = new.compact.is_some();
        let old = trie.trie.replace(new);
        self.tries.retire(&self.domain, old);
        if !has_compact {
            prefixes
                .iter()
                .for_each(|(_, record)| self.forget_content(*record, contents));
        }
        self.tries.collect(&self.domain, drop);
    }
}

fn top_bits(prefix: Prefix) -> u32 {
    (prefix.bits >> (u128::BITS - u32::BITS)) as u32
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::arena::Records;
    use crate::compact_tbl24::ContentWriter;
    use crate::layout::SLOT_BITS;

    /// Random prefixes close together, against a scan. No arrays remain after all are removed.
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
        let mut contents = Contents::new(&domain);
        let mut prefixes: Vec<(Prefix, u32)> = Vec::new();
        for record in 0..4000 {
            let value = ((random() % 8) << 28) | ((random() % 4) << 16) | ((random() % 4) << 8) | (random() % 8);
            let prefix = Prefix::new(value.into(), 32, random() as u32 % 33);
            match prefixes.iter().position(|(known, _)| *known == prefix) {
                None => {
                    writer.insert(&trie, prefix, record, &mut contents.of(record));
                    prefixes.push((prefix, record));
                }
                Some(at) if random() % 2 == 0 => {
                    assert_eq!(
                        writer.replace(&trie, prefix, record, &mut contents.of(record)),
                        prefixes[at].1
                    );
                    prefixes[at].1 = record;
                }
                Some(at) => {
                    assert_eq!(writer.remove(&trie, prefix, &mut contents.all()), prefixes[at].1);
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
            assert_eq!(writer.remove(&trie, prefix, &mut contents.all()), record);
        }
        assert!(writer.inside.is_empty());
    }

    #[test]
    fn many_prefixes_have_a_larger_first_array_and_the_same_answers() {
        let domain = Domain::new();
        let (trie, mut writer) = DirectTrie::new(&domain);
        let mut reader = domain.reader();
        let mut contents = Contents::new(&domain);
        let count = 40_000u32;
        let prefix = |number: u32| Prefix::new(u128::from(number) << 8, 32, 24 + number % 9);
        for number in 0..count {
            writer.insert(&trie, prefix(number), number, &mut contents.of(number));
        }
        assert_eq!(writer.present(&trie).first_bits, MANY);
        let found = |number: u32, reader: &mut crate::epoch::Reader| trie.find(number << 8, &reader.pin());
        assert!((0..count).all(|number| found(number, &mut reader) == Some(number)));
        for number in 1000..count {
            assert_eq!(writer.remove(&trie, prefix(number), &mut contents.all()), number);
        }
        assert_eq!(writer.present(&trie).first_bits, FEW);
        assert!((0..count).all(|number| found(number, &mut reader) == (number < 1000).then_some(number)));
    }

    /// A trie that a reader uses while another one takes its place is freed with a later change.
    #[test]
    fn a_former_trie_is_freed_when_its_readers_have_unpinned() {
        let domain = Domain::new();
        let (trie, mut writer) = DirectTrie::new(&domain);
        let mut reader = domain.reader();
        let mut contents = Contents::new(&domain);
        let prefix = |number: u32| Prefix::new(number.into(), 32, 32);
        writer.insert(&trie, prefix(0), 0, &mut contents.of(0));
        let pin = reader.pin();
        writer.rebuild(&trie, FEW, &mut contents.all());
        writer.insert(&trie, prefix(1), 1, &mut contents.of(1));
        assert_eq!(writer.tries.len(), 1, "the reader may use it");
        drop(pin);
        writer.insert(&trie, prefix(2), 2, &mut contents.of(2));
        assert_eq!(writer.tries.len(), 0);
    }

    /// Random prefixes close together, beside many that stay: compact cells agree with the other cells.
    #[test]
    fn compact_cells_say_which_content_records_have() {
        let domain = Domain::new();
        let (trie, mut writer) = DirectTrie::new(&domain);
        let mut reader = domain.reader();
        let mut contents = Contents::new(&domain);
        let few = MANY_PREFIXES as u32 + 100;
        for number in 0..few {
            let prefix = Prefix::new(u128::from(number) << 4 | 15 << 28, 32, 28);
            writer.insert(&trie, prefix, number, &mut contents.of(number));
        }
        let mut state = 1u64;
        let mut random = || {
            state = crate::exact::hash_words(&[state]);
            state
        };
        let mut known: Vec<Prefix> = Vec::new();
        for record in few..few + 6_000 {
            let value = ((random() % 4) << 16) | ((random() % 4) << 8) | (random() % 8);
            let prefix = Prefix::new(value.into(), 32, 8 + random() as u32 % 25);
            match known.iter().position(|other| *other == prefix) {
                None => {
                    writer.insert(&trie, prefix, record, &mut contents.of(record));
                    known.push(prefix);
                }
                Some(_) if random() % 2 == 0 => {
                    writer.replace(&trie, prefix, record, &mut contents.of(record));
                }
                Some(at) => {
                    writer.remove(&trie, prefix, &mut contents.all());
                    known.swap_remove(at);
                }
            }
            let pin = reader.pin();
            let compact = trie.compact_cells(&pin).expect("there are few contents");
            for _ in 0..8 {
                let key = top_bits(prefix) ^ (random() % 0x400) as u32;
                let expected = trie.find(key, &pin).map(|record| contents.content(record));
                let found = compact
                    .find(key)
                    .map(|content| contents.contents.row(content)[0].load(Ordering::Relaxed));
                assert_eq!(found, expected, "{key:#x} after record {record}");
            }
        }
    }

    /// A content that had no number when its record came has one in a trie that is rebuilt with fewer contents.
    #[test]
    fn contents_that_did_not_fit_do_after_a_rebuild() {
        let domain = Domain::new();
        let (trie, mut writer) = DirectTrie::new(&domain);
        let mut reader = domain.reader();
        let mut contents = Contents {
            different: u32::MAX,
            ..Contents::new(&domain)
        };
        let count = MANY_PREFIXES as u32 + 100;
        let prefix = |number: u32| Prefix::new(u128::from(number) << 8, 32, 24);
        for number in 0..count {
            writer.insert(&trie, prefix(number), number, &mut contents.of(number));
        }
        assert!(
            trie.compact_cells(&reader.pin()).is_none(),
            "every record has a content of its own"
        );
        for number in 0..1000 {
            writer.remove(&trie, prefix(number), &mut contents.all());
        }
        assert!(trie.compact_cells(&reader.pin()).is_none(), "until the trie is rebuilt");
        writer.rebuild(&trie, MANY, &mut contents.all());
        let pin = reader.pin();
        let compact = trie.compact_cells(&pin).expect("all contents fit");
        for number in 0..count {
            let content = compact.find(number << 8);
            let found = content.map(|content| contents.contents.row(content)[0].load(Ordering::Relaxed));
            assert_eq!(found, (number >= 1000).then(|| contents.content(number)), "{number}");
        }
    }

    /// Records with one of a few contents.
    struct Contents {
        /// The number of contents.
        different: u32,
        known: ContentWriter,
        contents: Records,
        records: Records,
    }

    impl Contents {
        fn new(domain: &Arc<Domain>) -> Contents {
            Contents {
                different: 7,
                known: ContentWriter::new(domain),
                contents: Records::new(1),
                records: Records::new(1),
            }
        }

        fn content(&self, record: u32) -> u64 {
            u64::from(record % self.different) << SLOT_BITS
        }

        /// Makes a record that is about to be added.
        fn of(&mut self, record: u32) -> ContentsOf<'_> {
            let word = self.content(record) | u64::from(record);
            self.records.make(record)[0].store(word, Ordering::Relaxed);
            ContentsOf {
                known: &mut self.known,
                contents: &self.contents,
                records: &self.records,
                memo: None,
            }
        }

        fn all(&mut self) -> ContentsOf<'_> {
            self.of(0)
        }
    }
}
