//! Exact match on short keys, with key and record in one word: an index beside an
//! [`ExactMap`](crate::exact::ExactMap), for look-ups of many keys in a table that is not in a cache.
//!
//! ```text
//! cell     │ overflowed │ used │ … key │ record, its first word without the slot │
//! bucket   │ cell 0 │ cell 1 │ … │ cell 7 │                       one cache line
//! ```
//!
//! Such a look-up waits for memory, and its cost depends on how many lines the table has. Here eight entries share a
//! line. In the map only three do, because it also stores slots. A look-up that needs the slot must use the map.
//!
//! A key's hash determines its home bucket. An entry whose home is full goes into the next bucket with room, and the
//! first cell of each bucket that it passes by is marked as overflowed. A search continues until it reaches a bucket
//! without this mark.
//!
//! # Publication
//!
//! An entry is one word, which is loaded once: a reader sees the old entry, the new one, or none. An emptied cell can
//! be reused at once. When the index grows or shrinks, the writer fills a new array and publishes it.

use std::sync::Arc;

use crate::epoch::{Domain, Limbo, Pin, Shared};
use crate::exact::hash_words;
use crate::layout::SLOT_BITS;
use crate::memory::Array;
use crate::second_index::{Changing, SecondIndex};
use crate::simd::Instructions;
use crate::sync::{AtomicU64, LINE_WORDS, Line, Ordering, prefetch, words_of, zeroed_lines};

/// The cell has an entry.
const USED: u64 = 1 << 62;
/// In the first cell of a bucket: entries have passed by.
const OVERFLOWED: u64 = 1 << 63;
/// The most bits of key and record together.
const BITS_MAX: u32 = 62;
/// The record's bits begin at this bit of its first word; below them is the slot.
const RECORD_SHIFT: u32 = SLOT_BITS;
/// Load limits, in entries per 100 cells: above the first an index grows; after growing or shrinking it has the
/// second.
const LOAD_MAX: usize = 55;
const LOAD_BUILT: usize = 37;
const BUCKETS_MIN: usize = 2;

/// The number of record bits; the key has the bits above them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Shape {
    record_bits: u32,
}

impl Shape {
    /// The shape for these key bits, and these record bits above the slot; `None` when they do not fit into a cell.
    pub(crate) fn new(key_bits: u32, record_bits: u32) -> Option<Shape> {
        (key_bits + record_bits <= BITS_MAX && record_bits <= u64::BITS - RECORD_SHIFT).then_some(Shape { record_bits })
    }

    fn record_mask(self) -> u64 {
        (1 << self.record_bits) - 1
    }

    /// A cell with this key and an empty record.
    fn of_key(self, key: u64) -> u64 {
        key << self.record_bits | USED
    }

    fn cell(self, key: u64, record: u64) -> u64 {
        self.of_key(key) | record >> RECORD_SHIFT
    }

    fn key(self, cell: u64) -> u64 {
        (cell & !(USED | OVERFLOWED)) >> self.record_bits
    }

    /// The first word of the record, with slot 0.
    fn record(self, cell: u64) -> u64 {
        (cell & self.record_mask()) << RECORD_SHIFT
    }
}

/// An array of buckets.
#[derive(Debug)]
pub(crate) struct Cells {
    shape: Shape,
    lines: Array<Line>,
}

/// The cells for a burst of look-ups. This copy of the array's address and shape cannot be changed by concurrent
/// writes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CellsRead<'a> {
    shape: Shape,
    lines: &'a [Line],
}

impl Cells {
    fn for_entries(shape: Shape, entries: usize) -> Cells {
        Cells {
            shape,
            lines: zeroed_lines(Cells::buckets_for(entries)),
        }
    }

    fn buckets_for(entries: usize) -> usize {
        (entries * 100).div_ceil(LOAD_BUILT * LINE_WORDS).max(BUCKETS_MIN)
    }

    fn count(&self) -> usize {
        self.lines.len()
    }

    #[inline(always)]
    pub(crate) fn read(&self) -> CellsRead<'_> {
        CellsRead {
            shape: self.shape,
            lines: &self.lines,
        }
    }

    fn home(&self, key: u64) -> usize {
        self.read().home(key)
    }

    fn next(&self, bucket: usize) -> usize {
        self.read().next(bucket)
    }

    #[inline]
    fn bucket(&self, bucket: usize) -> &[AtomicU64; LINE_WORDS] {
        let words = words_of(std::slice::from_ref(&self.lines[bucket]));
        words.try_into().expect("a line has LINE_WORDS words")
    }

    /// The position of a key: its bucket, and its cell in the bucket.
    fn place(&self, key: u64) -> Option<(usize, usize)> {
        let mut bucket = self.home(key);
        for _ in 0..self.count() {
            let cells = self.bucket(bucket);
            let is_it = |cell: &AtomicU64| {
                let cell = load(cell);
                cell & USED != 0 && self.shape.key(cell) == key
            };
            if let Some(place) = cells.iter().position(is_it) {
                return Some((bucket, place));
            }
            if load(&cells[0]) & OVERFLOWED == 0 {
                return None;
            }
            bucket = self.next(bucket);
        }
        None
    }

    /// Changes a cell, but not its overflow mark.
    fn store(&self, (bucket, place): (usize, usize), cell: u64) {
        let word = &self.bucket(bucket)[place];
        word.store(cell | load(word) & OVERFLOWED, Ordering::Release);
    }

    fn mark(&self, bucket: usize, overflowed: bool) {
        let word = &self.bucket(bucket)[0];
        let mark = if overflowed { OVERFLOWED } else { 0 };
        word.store(load(word) & !OVERFLOWED | mark, Ordering::Release);
    }

    fn memory_bytes(&self) -> usize {
        size_of_val(&*self.lines)
    }
}

impl CellsRead<'_> {
    #[inline(always)]
    fn home(self, key: u64) -> usize {
        ((u128::from(hash_words(&[key])) * self.lines.len() as u128) >> 64) as usize
    }

    #[inline(always)]
    fn next(self, bucket: usize) -> usize {
        if bucket + 1 == self.lines.len() { 0 } else { bucket + 1 }
    }

    /// Prefetches a key's home bucket, and returns its number.
    #[inline(always)]
    pub(crate) fn prefetch_key(self, key: u64) -> u64 {
        let home = self.home(key);
        prefetch(&self.lines[home]);
        home as u64
    }

    /// The first word of a key's record, with slot 0; `None` when there is no such key. `home` is the key's home
    /// bucket.
    #[inline(always)]
    pub(crate) fn find<I: Instructions>(self, key: u64, home: u64) -> Option<u64> {
        let wanted = self.shape.of_key(key);
        let ignored = self.shape.record_mask() | OVERFLOWED;
        let mut bucket = home as usize;
        for _ in 0..self.lines.len() {
            let line = &self.lines[bucket];
            let mut same = I::same(line, wanted, ignored);
            // The comparison of the whole line is only a hint where to look.
            while same != 0 {
                let cell = load(&line.0[same.trailing_zeros() as usize % LINE_WORDS]);
                if (cell ^ wanted) & !ignored == 0 {
                    return Some(self.shape.record(cell));
                }
                same &= same - 1;
            }
            if load(&line.0[0]) & OVERFLOWED == 0 {
                return None;
            }
            bucket = self.next(bucket);
        }
        None
    }
}

#[inline]
fn load(word: &AtomicU64) -> u64 {
    word.load(Ordering::Relaxed)
}

/// The readers' side of the index.
#[derive(Debug)]
pub(crate) struct DenseIndex {
    cells: Shared<Cells>,
    second: SecondIndex,
}

impl DenseIndex {
    /// An empty index and its writer.
    pub(crate) fn new(domain: &Arc<Domain>, shape: Shape) -> (DenseIndex, DenseWriter) {
        let cells = Cells::for_entries(shape, 0);
        let writer = DenseWriter {
            domain: Arc::clone(domain),
            live: 0,
            passed: vec![0; cells.count()],
            arrays: Limbo::default(),
        };
        let index = DenseIndex {
            cells: Shared::new(cells),
            second: SecondIndex::default(),
        };
        (index, writer)
    }

    /// Whether it may be used: see [`crate::second_index`].
    #[inline]
    pub(crate) fn is_current(&self) -> bool {
        self.second.is_current()
    }

    /// Begins a change, of the map with all records too.
    pub(crate) fn begin_change(&self) -> Changing<'_> {
        self.second.begin_change()
    }

    /// The current array.
    #[inline]
    pub(crate) fn cells<'pin>(&'pin self, pin: &'pin Pin<'_>) -> &'pin Cells {
        self.cells.load(pin)
    }

    /// The size of the current array in bytes.
    pub(crate) fn memory_bytes(&self, pin: &Pin<'_>) -> usize {
        self.cells(pin).memory_bytes()
    }
}

/// The writer's side of a [`DenseIndex`]. All methods take the index that was made with it.
#[derive(Debug)]
pub(crate) struct DenseWriter {
    domain: Arc<Domain>,
    live: usize,
    /// By bucket: the number of entries that have passed by.
    passed: Vec<u32>,
    arrays: Limbo<Box<Cells>>,
}

impl DenseWriter {
    /// Adds a new key, or changes the record of an existing one.
    pub(crate) fn set(&mut self, index: &DenseIndex, key: u64, record: u64) {
        let cells = self.present(index);
        if let Some(place) = cells.place(key) {
            return cells.store(place, cells.shape.cell(key, record));
        }
        if (self.live + 1) * 100 > cells.count() * LINE_WORDS * LOAD_MAX {
            self.rebuild(index, self.live + 1);
        }
        let cells = self.present(index);
        put(cells, &mut self.passed, key, cells.shape.cell(key, record));
        self.live += 1;
        self.arrays.collect(&self.domain, drop);
    }

    /// Removes an existing key.
    pub(crate) fn remove(&mut self, index: &DenseIndex, key: u64) {
        let cells = self.present(index);
        let (bucket, place) = cells.place(key).expect("a key to be removed is there");
        cells.store((bucket, place), 0);
        let mut passed = cells.home(key);
        while passed != bucket {
            self.passed[passed] -= 1;
            if self.passed[passed] == 0 {
                cells.mark(passed, false);
            }
            passed = cells.next(passed);
        }
        self.live -= 1;
        if cells.count() > 4 * Cells::buckets_for(self.live) {
            self.rebuild(index, self.live);
        }
        self.arrays.collect(&self.domain, drop);
    }

    fn present<'a>(&self, index: &'a DenseIndex) -> &'a Cells {
        // SAFETY: this is the index's writer, and `rebuild` does not use the old array after replacing it.
        unsafe { index.cells.load_as_writer() }
    }

    /// Moves all entries to an array for `entries` entries, with room to grow.
    fn rebuild(&mut self, index: &DenseIndex, entries: usize) {
        let old = self.present(index);
        let new = Cells::for_entries(old.shape, entries);
        self.passed = vec![0; new.count()];
        for cell in words_of(&old.lines).iter().map(load).filter(|cell| cell & USED != 0) {
            put(&new, &mut self.passed, old.shape.key(cell), cell & !OVERFLOWED);
        }
        let retired = index.cells.replace(new);
        self.arrays.retire(&self.domain, retired);
    }
}

/// Puts a cell into the first free one, starting at its key's home.
fn put(cells: &Cells, passed: &mut [u32], key: u64, cell: u64) {
    let home = cells.home(key);
    let mut bucket = home;
    let place = loop {
        let free = |cell: &AtomicU64| load(cell) & USED == 0;
        if let Some(place) = cells.bucket(bucket).iter().position(free) {
            break place;
        }
        bucket = cells.next(bucket);
        assert_ne!(bucket, home, "the load is bounded");
    };
    cells.store((bucket, place), cell);
    let mut before = home;
    while before != bucket {
        passed[before] += 1;
        cells.mark(before, true);
        before = cells.next(before);
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::simd::Portable;
    use std::collections::HashMap;

    fn shape() -> Shape {
        Shape::new(48, 10).expect("it fits")
    }

    fn get(index: &DenseIndex, domain: &Arc<Domain>, key: u64) -> Option<u64> {
        let mut reader = domain.reader();
        let pin = reader.pin();
        let cells = index.cells(&pin);
        cells.read().find::<Portable>(key, cells.read().prefetch_key(key))
    }

    #[test]
    fn what_does_not_fit_into_a_cell_has_no_index() {
        assert!(Shape::new(48, 14).is_some() && Shape::new(30, 32).is_some());
        assert!(Shape::new(48, 15).is_none() && Shape::new(1, 37).is_none());
    }

    #[test]
    fn behaves_as_a_hash_map() {
        let domain = Domain::new();
        let (index, mut writer) = DenseIndex::new(&domain, shape());
        let mut expected = HashMap::new();
        for step in 0u64..40_000 {
            let key = hash_words(&[step]) % 700;
            let record = (step % 1024) << RECORD_SHIFT;
            if step / 2_000 % 3 < 2 || step % 3 == 0 {
                writer.set(&index, key, record);
                expected.insert(key, record);
            } else if expected.remove(&key).is_some() {
                writer.remove(&index, key);
            }
            assert_eq!(get(&index, &domain, key), expected.get(&key).copied());
            assert_eq!(writer.live, expected.len());
        }
        for key in 0..700 {
            assert_eq!(get(&index, &domain, key), expected.get(&key).copied());
        }
        expected.keys().for_each(|key| writer.remove(&index, *key));
        assert!(writer.passed.iter().all(|passed| *passed == 0), "no mark is left");
        assert!((0..700).all(|key| get(&index, &domain, key).is_none()));
    }

    #[test]
    fn an_entry_takes_two_or_three_words_at_most() {
        let domain = Domain::new();
        let (index, mut writer) = DenseIndex::new(&domain, shape());
        let bytes = || index.memory_bytes(&domain.reader().pin());
        for key in 0..20_000 {
            writer.set(&index, key, key << RECORD_SHIFT & 0x3FF << RECORD_SHIFT);
            let entries = key as usize + 1;
            assert!(
                entries < 50 || (14..25).contains(&(bytes() / entries)),
                "{entries}: {}",
                bytes()
            );
        }
        (0..20_000).for_each(|key| writer.remove(&index, key));
        assert!(bytes() <= 16 * 64, "{} bytes", bytes());
    }

    #[test]
    fn keys_of_all_ones_and_zeros_are_found() {
        let domain = Domain::new();
        let (index, mut writer) = DenseIndex::new(&domain, shape());
        let ones = (1 << 48) - 1;
        writer.set(&index, 0, 0);
        writer.set(&index, ones, 0x3FF << RECORD_SHIFT);
        assert_eq!(get(&index, &domain, 0), Some(0));
        assert_eq!(get(&index, &domain, ones), Some(0x3FF << RECORD_SHIFT));
        assert_eq!(get(&index, &domain, 1), None);
    }
}

/// The publication protocol under every interleaving: `RUSTFLAGS="--cfg loom" cargo test -p forebay-tables --lib`.
#[cfg(all(test, loom))]
mod publication {
    use super::*;
    use crate::simd::Portable;

    fn check(write: fn(&DenseIndex, &mut DenseWriter), legal: fn(Option<u64>) -> bool) {
        loom::model(move || {
            let domain = Domain::new();
            let (index, mut writer) = DenseIndex::new(&domain, Shape::new(8, 8).unwrap());
            writer.set(&index, 1, 10 << RECORD_SHIFT);
            let index = Arc::new(index);
            let (its_index, its_domain) = (Arc::clone(&index), Arc::clone(&domain));
            let reader = loom::thread::spawn(move || {
                let mut reader = its_domain.reader();
                let pin = reader.pin();
                let cells = its_index.cells(&pin).read();
                cells
                    .find::<Portable>(1, cells.prefetch_key(1))
                    .map(|record| record >> RECORD_SHIFT)
            });
            write(&index, &mut writer);
            assert!(legal(reader.join().unwrap()));
        });
    }

    #[test]
    fn a_record_that_is_changed_is_the_old_or_the_new_one() {
        check(
            |index, writer| writer.set(index, 1, 20 << RECORD_SHIFT),
            |seen| matches!(seen, Some(10 | 20)),
        );
    }

    #[test]
    fn a_key_that_goes_and_comes_again_is_never_mixed() {
        check(
            |index, writer| {
                writer.remove(index, 1);
                writer.set(index, 1, 20 << RECORD_SHIFT);
            },
            |seen| matches!(seen, None | Some(10 | 20)),
        );
    }

    #[test]
    fn an_array_that_is_replaced_is_freed_after_its_readers() {
        check(
            |index, writer| {
                writer.rebuild(index, 1);
                writer.arrays.collect(&writer.domain.clone(), drop);
            },
            |seen| seen == Some(10),
        );
    }
}
