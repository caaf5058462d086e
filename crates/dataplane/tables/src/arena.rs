//! Arrays that grow while they are read: elements never move.
//!
//! Chunk 0 has [`FIRST_CHUNK`] rows, and each further chunk has twice as many as the previous one. A row consists of a
//! fixed number of adjacent elements.

use std::ptr::null_mut;
use std::slice::from_raw_parts;
use std::sync::atomic::{AtomicPtr, AtomicUsize};
use std::sync::{Arc, Mutex, PoisonError};

use crate::epoch::{Domain, Limbo};
use crate::memory::Array;
use crate::search::{chunk_of, origin_of};
use crate::sync::{AtomicU64, Ordering};

/// Rows of the first chunk. It must be a power of two.
pub const FIRST_CHUNK: usize = 64;
/// Enough for 2^32 rows.
pub(crate) const CHUNKS: usize = 27;

/// An element of rows, whose default is all zeros.
pub(crate) trait Element: Default {
    /// An array of `count` defaults. A page takes memory when a row in it is first written.
    fn chunk(count: usize) -> Array<Self>;
}

impl Element for AtomicU64 {
    #[cfg(not(loom))]
    fn chunk(count: usize) -> Array<AtomicU64> {
        // SAFETY: an `AtomicU64` is a `u64` in memory, and all-zero bytes are the number 0.
        unsafe { Array::zeroed_to_fill(count) }
    }

    #[cfg(loom)]
    fn chunk(count: usize) -> Array<AtomicU64> {
        Array::defaults(count)
    }
}

impl<T> Element for AtomicPtr<T> {
    fn chunk(count: usize) -> Array<AtomicPtr<T>> {
        // SAFETY: an `AtomicPtr` is a pointer in memory, and all-zero bytes are the null pointer.
        unsafe { Array::zeroed_to_fill(count) }
    }
}

/// Rows of elements that are changed in place.
#[derive(Debug)]
pub(crate) struct Rows<T> {
    stride: usize,
    /// The first elements of the existing chunks.
    chunks: [AtomicPtr<T>; CHUNKS],
    /// For machine code: see [`origin_of`].
    origins: [AtomicPtr<T>; CHUNKS],
    /// Bytes of all chunks.
    bytes: AtomicUsize,
    /// The memory of the chunks. It lives as long as `self`.
    arrays: Mutex<Vec<Array<T>>>,
}

impl<T: Element> Rows<T> {
    /// No rows yet; each row will have `stride` elements.
    pub(crate) fn new(stride: usize) -> Rows<T> {
        Rows {
            stride,
            chunks: [const { AtomicPtr::new(null_mut()) }; CHUNKS],
            origins: [const { AtomicPtr::new(null_mut()) }; CHUNKS],
            bytes: AtomicUsize::new(0),
            arrays: Mutex::default(),
        }
    }

    /// Makes sure that a row exists. Only the single writer calls this.
    pub(crate) fn make(&self, row: u32) -> &[T] {
        let (chunk, _) = chunk_of(row);
        if self.chunks[chunk].load(Ordering::Acquire).is_null() {
            let mut elements = T::chunk(self.elements_of(chunk));
            self.bytes.fetch_add(size_of_val(&*elements), Ordering::Relaxed);
            let first = elements.as_mut_ptr();
            let mut arrays = self.arrays.lock().unwrap_or_else(PoisonError::into_inner);
            arrays.push(elements);
            let (origin, counted) = origin_of(((FIRST_CHUNK << chunk) - FIRST_CHUNK) as u32);
            self.origins[origin].store(first.wrapping_sub(counted * self.stride), Ordering::Release);
            self.chunks[chunk].store(first, Ordering::Release);
        }
        self.row(row)
    }
}

impl<T> Rows<T> {
    /// A row that was made before its number was published.
    #[inline]
    pub(crate) fn row(&self, row: u32) -> &[T] {
        let (chunk, index) = chunk_of(row);
        let first = self.chunks[chunk].load(Ordering::Acquire);
        assert!(!first.is_null(), "a row that exists");
        // SAFETY: an existing chunk has all the rows that `chunk_of` computes, and lives as long as `self`.
        unsafe { from_raw_parts(first.add(index * self.stride), self.stride) }
    }

    /// The addresses from which rows are counted, as described in [`crate::search`].
    pub(crate) fn origins(&self) -> *const *const u64 {
        self.origins.as_ptr().cast()
    }

    /// All existing elements.
    pub(crate) fn elements(&self) -> impl Iterator<Item = &T> {
        self.existing()
            // SAFETY: the chunk has `count` elements, and lives as long as `self`.
            .flat_map(|(first, count)| unsafe { from_raw_parts(first, count) })
    }

    pub(crate) fn memory_bytes(&self) -> usize {
        self.bytes.load(Ordering::Relaxed)
    }

    /// The existing chunks, with the numbers of their elements.
    fn existing(&self) -> impl Iterator<Item = (*mut T, usize)> {
        let chunks = self.chunks.iter().zip(0..);
        let chunks = chunks.map(|(chunk, number)| (chunk.load(Ordering::Acquire), self.elements_of(number)));
        chunks.filter(|(first, _)| !first.is_null())
    }

    fn elements_of(&self, chunk: usize) -> usize {
        (FIRST_CHUNK << chunk) * self.stride
    }
}

/// Records of entries, for engines that find a row number. A row has the words of a [`Record`](crate::Record) and, in
/// some engines, one more word with the entry's id.
pub(crate) type Records = Rows<AtomicU64>;

/// The entry's id in the last word of a row.
#[inline]
pub(crate) fn id_of(row: &[AtomicU64]) -> u64 {
    row[row.len() - 1].load(Ordering::Relaxed)
}

/// The free rows of [`Records`].
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

    /// Writes a record into a row that readers cannot access.
    pub(crate) fn add(&mut self, records: &Records, id: u64, record: &[u64]) -> u32 {
        self.limbo.collect(&self.domain, |row| self.free.push(row));
        let row = self.free.pop().unwrap_or_else(|| {
            self.next += 1;
            self.next - 1
        });
        let words = records.make(row);
        for (stored, word) in words.iter().zip(record.iter().chain([&id])) {
            stored.store(*word, Ordering::Relaxed);
        }
        row
    }

    /// Takes back a row that no engine refers to any more.
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

    #[test]
    fn rows_are_where_their_origins_say() {
        let rows = Records::new(3);
        for row in 0..10_000 {
            let place = rows.make(row).as_ptr();
            let (origin, counted) = origin_of(row);
            let origin = rows.origins[origin].load(Ordering::Acquire).cast_const();
            assert_eq!(origin.wrapping_add(counted * 3), place, "row {row}");
        }
        assert_eq!(origin_of(u32::MAX).0, 0);
        assert_eq!(origin_of(0).0, CHUNKS - 1);
    }
}
