//! Compact cells: cells of 16 bits beside those of a [`DirectTrie`](crate::direct_lpm::DirectTrie), in arrays of the
//! same shape. A compact cell gives the *content* of the record that is found, which is its action and data but not its
//! entry.
//!
//! Routes lead to few next hops. So a few contents, whose records stay in nearby caches, stand for all records.
//! Because compact cells have half the size, a look-up reads one distant line of memory instead of two.
//!
//! Cells have room for about 32,000 contents, and as many arrays. When a cell would need one more, the cells are no
//! longer complete, and readers use the trie's until the trie is rebuilt with fewer. The trie is not rebuilt for this
//! reason alone: that takes long, and the answers are the same.
//!
//! # Publication
//!
//! It works as for the cells of the trie, which are written first. Records of contents are written before a cell
//! refers to them, and reused only when no reader can access them any more.
//! While a prefix changes, readers use the trie alone ([`crate::second_index`]).

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use crate::arena::{Records, Rows};
use crate::epoch::{Domain, Limbo};
use crate::layout::SLOT_BITS;
use crate::memory::Array;
use crate::second_index::{Changing, SecondIndex};
use crate::sync::{AtomicU64, Ordering, prefetch};
use smallvec::SmallVec;

/// A cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct CompactCell(u16);

/// If this bit is set, the other bits are the number of an array. Otherwise the cell is a content's number plus 1.
const DEEPER: u16 = 1 << 15;

/// The largest content number that fits into a cell.
const NUMBER_MAX: u32 = DEEPER as u32 - 3;

const CELLS_OF_WORD: usize = 4;

impl CompactCell {
    /// The cell of an address without a prefix.
    pub(crate) const EMPTY: CompactCell = CompactCell(0);
    /// Stands for a content or an array whose number does not fit.
    pub(crate) const OUTSIDE: CompactCell = CompactCell(DEEPER - 1);

    fn content(number: u32) -> CompactCell {
        debug_assert!(number <= NUMBER_MAX);
        CompactCell(number as u16 + 1)
    }

    /// The cell that leads to an array.
    pub(crate) fn array(number: u32) -> CompactCell {
        if number < DEEPER.into() {
            CompactCell(DEEPER | number as u16)
        } else {
            CompactCell::OUTSIDE
        }
    }
}

/// Arrays of cells.
#[derive(Debug)]
pub(crate) struct CompactCells {
    first_bits: u32,
    step: u32,
    first: Array<AtomicU64>,
    deeper: Rows<AtomicU64>,
    complete: AtomicBool,
    second: SecondIndex,
}

impl CompactCells {
    /// Empty cells for the first bits of keys, and no arrays yet; each array covers `step` more bits.
    pub(crate) fn new(first_bits: u32, step: u32) -> CompactCells {
        CompactCells {
            first_bits,
            step,
            first: Array::defaults((1 << first_bits) / CELLS_OF_WORD),
            deeper: Rows::new((1 << step) / CELLS_OF_WORD),
            complete: AtomicBool::new(true),
            second: SecondIndex::default(),
        }
    }

    /// Whether everything that was put into a cell did fit, and no cell is being changed.
    #[inline]
    pub(crate) fn are_complete(&self) -> bool {
        self.second.is_current() && self.complete.load(Ordering::Acquire)
    }

    /// Begins a change, of the trie's cells too.
    pub(crate) fn begin_change(&self) -> Changing<'_> {
        self.second.begin_change()
    }

    /// Prefetches the first cell of a key, which is left-aligned.
    #[inline(always)]
    pub(crate) fn prefetch_key(&self, key: u32) {
        prefetch(&self.first[self.first_index(key) / CELLS_OF_WORD]);
    }

    /// The content of the record of the longest matching prefix.
    #[inline(always)]
    pub(crate) fn find(&self, key: u32) -> Option<u32> {
        let mut found = get(&self.first, self.first_index(key));
        let mut rest = key << self.first_bits;
        while found.0 & DEEPER != 0 {
            let array = self.deeper.row((found.0 & !DEEPER).into());
            found = get(array, (rest >> (u32::BITS - self.step)) as usize);
            rest <<= self.step;
        }
        u32::from(found.0).checked_sub(1)
    }

    #[inline(always)]
    fn first_index(&self, key: u32) -> usize {
        (key >> (u32::BITS - self.first_bits)) as usize
    }

    /// The cell at an index of the first array, or of the array with a number.
    pub(crate) fn cell(&self, array: Option<u32>, index: usize) -> CompactCell {
        match array.map(CompactCell::array) {
            None => get(&self.first, index),
            Some(CompactCell::OUTSIDE) => CompactCell::EMPTY,
            Some(CompactCell(array)) => get(self.deeper.row((array & !DEEPER).into()), index),
        }
    }

    /// Changes the cell at an index of the first array, or of the array with a number.
    pub(crate) fn set(&self, array: Option<u32>, index: usize, cell: CompactCell) {
        if cell == CompactCell::OUTSIDE {
            self.complete.store(false, Ordering::Release);
        }
        match array.map(CompactCell::array) {
            None => set(&self.first, index, cell),
            Some(CompactCell::OUTSIDE) => {}
            Some(CompactCell(array)) => set(self.deeper.row((array & !DEEPER).into()), index, cell),
        }
    }

    /// Makes an array whose cells all have the same value.
    pub(crate) fn make_array(&self, number: u32, cell: CompactCell) {
        if let CompactCell(array @ DEEPER..) = CompactCell::array(number) {
            let word = u64::from(cell.0) * 0x0001_0001_0001_0001;
            let words = self.deeper.make((array & !DEEPER).into());
            words.iter().for_each(|place| place.store(word, Ordering::Release));
        }
    }

    pub(crate) fn memory_bytes(&self) -> usize {
        size_of_val(&*self.first) + self.deeper.memory_bytes()
    }
}

#[inline(always)]
fn get(cells: &[AtomicU64], index: usize) -> CompactCell {
    let word = cells[index / CELLS_OF_WORD].load(Ordering::Acquire);
    CompactCell((word >> (16 * (index % CELLS_OF_WORD))) as u16)
}

fn set(cells: &[AtomicU64], index: usize, cell: CompactCell) {
    let word = &cells[index / CELLS_OF_WORD];
    let shift = 16 * (index % CELLS_OF_WORD);
    let kept = word.load(Ordering::Relaxed) & !(u64::from(u16::MAX) << shift);
    word.store(kept | u64::from(cell.0) << shift, Ordering::Release);
}

/// The contents that have cells.
#[derive(Debug)]
pub(crate) struct ContentWriter {
    domain: Arc<Domain>,
    numbers: HashMap<Arc<[u64]>, u32>,
    /// By number: the content, and the number of records that have it.
    contents: Vec<(Arc<[u64]>, usize)>,
    free: Vec<u32>,
    limbo: Limbo<u32>,
}

impl ContentWriter {
    pub(crate) fn new(domain: &Arc<Domain>) -> ContentWriter {
        ContentWriter {
            domain: Arc::clone(domain),
            numbers: HashMap::new(),
            contents: Vec::new(),
            free: Vec::new(),
            limbo: Limbo::default(),
        }
    }

    /// Counts a record with this content, and returns the content's cell. A new content is first written to a row of
    /// `records`.
    pub(crate) fn add(&mut self, records: &Records, content: &[u64]) -> CompactCell {
        if let Some(&number) = self.numbers.get(content) {
            self.contents[number as usize].1 += 1;
            return CompactCell::content(number);
        }
        self.limbo.collect(&self.domain, |number| self.free.push(number));
        let next = self.contents.len() as u32;
        let Some(number) = self.free.pop().or((next <= NUMBER_MAX).then_some(next)) else {
            return CompactCell::OUTSIDE;
        };
        let words = records.make(number);
        for (stored, word) in words.iter().zip(content) {
            stored.store(*word, Ordering::Relaxed);
        }
        let content: Arc<[u64]> = content.into();
        let first = (Arc::clone(&content), 1);
        match self.contents.get_mut(number as usize) {
            Some(place) => *place = first,
            None => self.contents.push(first),
        }
        self.numbers.insert(content, number);
        CompactCell::content(number)
    }

    /// Uncounts a record with the content of this cell, after it has left all cells.
    pub(crate) fn remove(&mut self, cell: CompactCell) {
        if [CompactCell::EMPTY, CompactCell::OUTSIDE].contains(&cell) {
            return;
        }
        let number = cell.0 - 1;
        let (content, count) = &mut self.contents[usize::from(number)];
        *count -= 1;
        if *count == 0 {
            self.numbers.remove(content);
            self.limbo.retire(&self.domain, number.into());
        }
    }
}

/// The contents of some records.
pub(crate) struct ContentsOf<'a> {
    pub(crate) known: &'a mut ContentWriter,
    /// A record for each content.
    pub(crate) contents: &'a Records,
    pub(crate) records: &'a Records,
    /// The word of records that does not belong to their content: see [`TableSpec::memo`](crate::TableSpec::memo).
    pub(crate) memo: Option<usize>,
}

impl ContentsOf<'_> {
    /// Counts the content of a record that is about to be put into cells, and returns the content's cell.
    pub(crate) fn add(&mut self, record: u32) -> CompactCell {
        let words = self.records.row(record).iter();
        let mut content: SmallVec<[u64; 4]> = words.map(|word| word.load(Ordering::Relaxed)).collect();
        content[0] &= !((1 << SLOT_BITS) - 1);
        if let Some(memo) = self.memo {
            content[memo] = 0;
        }
        self.known.add(self.contents, &content)
    }

    /// Uncounts a record with the content of this cell, after it has left all cells.
    pub(crate) fn remove(&mut self, cell: CompactCell) {
        self.known.remove(cell);
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn contents_are_counted_and_their_numbers_used_again() {
        let domain = Domain::new();
        let mut writer = ContentWriter::new(&domain);
        let records = Records::new(2);
        let first = writer.add(&records, &[5, 6]);
        assert_eq!(writer.add(&records, &[5, 6]), first);
        let second = writer.add(&records, &[5, 7]);
        assert_ne!(second, first);
        writer.remove(first);
        assert_eq!(writer.add(&records, &[5, 6]), first, "another record has it");
        writer.remove(first);
        writer.remove(first);
        assert_eq!(writer.add(&records, &[8, 9]), first, "nobody can look at it any more");
        let words = records.row(0).iter().map(|word| word.load(Ordering::Relaxed));
        assert_eq!(words.collect::<Vec<_>>(), [8, 9]);
        assert_eq!(writer.numbers.len(), 2);
    }

    #[test]
    fn too_many_contents_have_no_cells() {
        let domain = Domain::new();
        let mut writer = ContentWriter::new(&domain);
        let records = Records::new(1);
        let cells: Vec<CompactCell> = (0..=u64::from(NUMBER_MAX))
            .map(|content| writer.add(&records, &[content]))
            .collect();
        assert!(
            cells
                .iter()
                .all(|cell| cell.0 > 0 && *cell != CompactCell::OUTSIDE && cell.0 & DEEPER == 0)
        );
        assert_eq!(writer.add(&records, &[u64::MAX]), CompactCell::OUTSIDE);
        let compact = CompactCells::new(16, 8);
        compact.set(None, 7, cells[9]);
        assert!(compact.are_complete() && compact.find(7 << 16) == Some(9));
        compact.set(None, 8, CompactCell::OUTSIDE);
        assert!(!compact.are_complete());
    }

    #[test]
    fn too_many_arrays_have_no_cells() {
        let compact = CompactCells::new(16, 8);
        let last = u32::from(DEEPER) - 1;
        compact.make_array(last, CompactCell::content(3));
        compact.set(None, 7, CompactCell::array(last));
        assert!(compact.are_complete() && compact.find(7 << 16) == Some(3));
        assert_eq!(compact.cell(Some(last), 255), CompactCell::content(3));
        compact.make_array(last + 1, CompactCell::content(3));
        compact.set(Some(last + 1), 0, CompactCell::EMPTY);
        assert_eq!(compact.cell(Some(last + 1), 0), CompactCell::EMPTY);
        compact.set(None, 7, CompactCell::array(last + 1));
        assert!(!compact.are_complete());
    }
}
