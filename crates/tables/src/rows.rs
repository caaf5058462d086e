//! Arrays that grow while they are read: elements never move.
//!
//! Chunk 0 has [`FIRST_CHUNK`] rows, and every further chunk twice as many as the one before. A row is some elements
//! side by side.

use std::sync::{Arc, OnceLock};

use crate::memory;
use crate::reclaim::{Domain, Limbo};
use crate::sync::{AtomicU64, Ordering};

const FIRST_CHUNK: usize = 64;
/// Enough for 2^32 rows.
const CHUNKS: usize = 27;

/// Rows of elements that are changed in place.
#[derive(Debug)]
pub(crate) struct Rows<T> {
    stride: usize,
    chunks: [OnceLock<Box<[T]>>; CHUNKS],
}

impl<T: Default> Rows<T> {
    /// No rows yet; each will have `stride` elements.
    pub(crate) fn new(stride: usize) -> Rows<T> {
        Rows {
            stride,
            chunks: [const { OnceLock::new() }; CHUNKS],
        }
    }

    /// Makes a row exist. For the writer.
    pub(crate) fn make(&self, row: u32) -> &[T] {
        let (chunk, _) = chunk_of(row);
        let rows = FIRST_CHUNK << chunk;
        self.chunks[chunk].get_or_init(|| memory::defaults(rows * self.stride));
        self.row(row)
    }
}

impl<T> Rows<T> {
    /// A row that was made before its number was published.
    #[inline]
    pub(crate) fn row(&self, row: u32) -> &[T] {
        let (chunk, first) = chunk_of(row);
        let rows = self.chunks[chunk].get().expect("a row that exists");
        &rows[(row as usize - first) * self.stride..][..self.stride]
    }

    /// All elements that exist.
    pub(crate) fn elements(&self) -> impl Iterator<Item = &T> {
        self.chunks.iter().filter_map(OnceLock::get).flatten()
    }

    pub(crate) fn memory_bytes(&self) -> usize {
        let chunks = self.chunks.iter().filter_map(OnceLock::get);
        chunks.map(|chunk| size_of_val(&**chunk)).sum()
    }
}

/// The chunk of a row, and the first row of that chunk.
#[inline]
fn chunk_of(row: u32) -> (usize, usize) {
    let chunk = (row / FIRST_CHUNK as u32 + 1).ilog2();
    // The chunks before chunk c have FIRST_CHUNK * (2^c - 1) rows together, and chunk c has FIRST_CHUNK * 2^c.
    (chunk as usize, FIRST_CHUNK * ((1 << chunk) - 1))
}

/// Records of entries, for engines that find a number: the entry's id, then the words of its
/// [`Record`](crate::Record).
pub(crate) type Records = Rows<AtomicU64>;

/// The record behind the id.
#[inline]
pub(crate) fn record_of(row: &[AtomicU64]) -> &[AtomicU64] {
    &row[1..]
}

/// The id in front of the record.
#[inline]
pub(crate) fn id_of(row: &[AtomicU64]) -> u64 {
    row[0].load(Ordering::Relaxed)
}

/// Which rows are free.
#[derive(Debug)]
pub(crate) struct RecordWriter {
    domain: Arc<Domain>,
    free: Vec<u32>,
    next: u32,
    limbo: Limbo<u32>,
}

impl RecordWriter {
    pub(crate) fn new(domain: &Arc<Domain>) -> RecordWriter {
        RecordWriter {
            domain: Arc::clone(domain),
            free: Vec::new(),
            next: 0,
            limbo: Limbo::default(),
        }
    }

    /// Writes a record into a row that no reader looks at.
    pub(crate) fn add(&mut self, records: &Records, id: u64, record: &[u64]) -> u32 {
        self.limbo.collect(&self.domain, |row| self.free.push(row));
        let row = self.free.pop().unwrap_or_else(|| {
            self.next += 1;
            self.next - 1
        });
        let words = records.make(row);
        words[0].store(id, Ordering::Relaxed);
        for (stored, word) in record_of(words).iter().zip(record) {
            stored.store(*word, Ordering::Relaxed);
        }
        row
    }

    /// Takes back a row that no engine names any more.
    pub(crate) fn remove(&mut self, row: u32) {
        self.limbo.retire(&self.domain, row);
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn rows_stay_where_they_are() {
        let rows = Records::new(3);
        for row in 0..10_000 {
            rows.make(row)[2].store(row.into(), Ordering::Relaxed);
        }
        assert!((0..10_000).all(|row| rows.row(row)[2].load(Ordering::Relaxed) == u64::from(row)));
        assert_eq!(chunk_of(u32::MAX).0, CHUNKS - 1);
    }
}
