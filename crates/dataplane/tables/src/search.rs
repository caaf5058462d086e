//! What machine code needs to look keys up itself: how a table is searched, and its current location.
//!
//! A call for each look-up costs more than most look-ups. Machine code that searches in place uses
//!
//! * the [`Search`] of a declaration, which is the same for the life of the table, and
//! * the [`Location`] of a table, which is read for each burst under the burst's pin, and valid while the pin lives.
//!
//! ```text
//! Search::Exact    home = high half of hash * size      bucket = array + home * bucket_words
//!                  bucket: header, then places of entry_words each: key, record (see exact.rs)
//! Search::Prefix   cell = 32 bits of array at (key at the top of 32 bits) >> size
//!                  while the cell is DEEPER: the next 8 bits of the key in a row of `deeper` (see direct_lpm.rs)
//!                  a cell that is not 0 names the row of `records` with the number one less
//! ```
//!
//! A result can be stored in a *memo*: the version of a hash table in the high half, and in the low half the record's
//! offset in words from the beginning of the table's array. A memo is valid for a reader that has read the same
//! version, together with the array, under its current pin, because
//!
//! * two states of tables have different versions if a record has been removed or moved between them. Versions are
//!   numbered across all tables of a [`Domain`](crate::Domain); when the numbers are used up, the version is
//!   [`NEVER`];
//! * while a record is being removed or moved, the version is also [`NEVER`], which is never stored in or accepted
//!   from a memo. Its place is reused when all pins that began before the change are gone, and a reader that began
//!   later reads `NEVER` or a later version;
//! * a record keeps its key, and the memo is part of the record that determines the key, so both end together.
//!
//! Arrays of rows consist of chunks, and a list has the addresses from which the rows of each chunk are counted: see
//! [`origin_of`]. Searches must load what the engines' documentation names as published words (headers and cells) with
//! acquire loads, and everything else with plain loads.

use crate::direct_lpm;
use crate::engine::Kind;
use crate::exact;
use crate::key::KeySpec;
use crate::layout::KeyLayout;

use crate::arena::CHUNKS;
pub use crate::arena::FIRST_CHUNK;
pub use crate::direct_lpm::{DEEPER, STEP as DEEPER_BITS};
pub use crate::exact::{FIRST_TAG, HASH_FACTOR, HASH_START, PASSED_SHIFT};

/// How a table is searched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Search {
    /// The table has no entries.
    Never,
    /// A hash table of buckets.
    Exact {
        /// Words of a key. The key comes first in an entry.
        key_words: usize,
        /// Words of an entry.
        entry_words: usize,
        /// Words of a bucket.
        bucket_words: usize,
        /// The highest bit of each byte of a header that is the tag of a place.
        places_mask: u64,
    },
    /// Arrays indexed by bits of the key.
    Prefix {
        /// Bits of the key, at most 32.
        width: u32,
        /// Words of a row of records.
        row_words: usize,
        /// Words of a row of cells, two cells in each.
        deeper_words: usize,
    },
}

impl Search {
    /// The search of tables with this key and records of this many words; `None` when the key is too long for machine
    /// code.
    pub fn new(keys: &[KeySpec], record_words: usize) -> Option<Search> {
        // Machine code assumes that the first of two cells is in the low half of their word.
        if cfg!(target_endian = "big") {
            return None;
        }
        match Kind::of(keys) {
            Kind::Keyless => Some(Search::Never),
            Kind::Exact => Some(exact::search(KeyLayout::new(keys).words(), record_words)),
            Kind::Direct(field) => Some(Search::Prefix {
                width: field.width,
                row_words: record_words,
                deeper_words: direct_lpm::DEEPER_WORDS,
            }),
            Kind::Prefix(_) | Kind::Rules(_) => None,
        }
    }
}

/// The current location of a table. Machine code uses the offsets of the fields.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Location {
    /// The record of the default action.
    pub default: *const u64,
    /// Buckets, or the first array of cells.
    pub array: *const u64,
    /// The number of buckets, or the right shift that makes an index of the first array from a key of 32 bits.
    pub size: u64,
    /// The origins of the further arrays.
    pub deeper: *const *const u64,
    /// The origins of records.
    pub records: *const *const u64,
    /// Bytes in which searches make random accesses.
    pub bytes: usize,
    /// For a hash table: the version of valid memos.
    pub version: u64,
}

/// The version with which no memo is valid.
pub const NEVER: u64 = u64::MAX;

/// The low bits of a memo, which give the record's offset. The bits above them are the version.
pub const MEMO_PLACE_BITS: u32 = 32;

// SAFETY: these are addresses, which are not dereferenced here.
unsafe impl Send for Location {}
// SAFETY: as above.
unsafe impl Sync for Location {}

impl Location {
    /// The location of a table with only a default action.
    pub(crate) fn of_default(default: *const u64) -> Location {
        Location {
            default,
            array: std::ptr::null(),
            size: 0,
            deeper: std::ptr::null(),
            records: std::ptr::null(),
            bytes: 0,
            version: NEVER,
        }
    }
}

/// The most arrays after the first that a look-up reads for a prefix key of this width.
pub fn deeper_max(width: u32) -> u32 {
    width.saturating_sub(direct_lpm::FEW).div_ceil(DEEPER_BITS)
}

/// The chunk of a row, and the row's index in it. Chunk c has [`FIRST_CHUNK`] * 2^c rows, so one sum contains both.
#[inline]
pub(crate) fn chunk_of(row: u32) -> (usize, usize) {
    let sum = row as usize + FIRST_CHUNK;
    let highest = sum.ilog2();
    ((highest - FIRST_CHUNK.ilog2()) as usize, sum ^ 1 << highest)
}

/// The leading zeros of the sum of [`FIRST_CHUNK`] and the largest row number.
pub const ZEROS_MIN: usize = u64::BITS as usize - CHUNKS - FIRST_CHUNK.ilog2() as usize;

/// The origin from which a row is counted, and the row's distance from it.
///
/// The sum of a row's number and [`FIRST_CHUNK`] has its highest bit at a position that gives the row's chunk. The
/// origin of a chunk is as many rows before the chunk as the value of that bit, so the row's distance from the origin
/// is the sum. The list has the origins in the order of the leading zeros of their sums, from [`ZEROS_MIN`] on.
#[inline]
pub fn origin_of(row: u32) -> (usize, usize) {
    let sum = u64::from(row) + FIRST_CHUNK as u64;
    (sum.leading_zeros() as usize - ZEROS_MIN, sum as usize)
}
