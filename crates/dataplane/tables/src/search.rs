//! What machine code needs to know to look keys up by itself: how a table is searched, and where it is at the moment.
//!
//! A call for each look-up costs more than most look-ups. Machine code that searches in place gets from here
//!
//! * the [`Search`] of a declaration, which is the same for the life of the table, and
//! * the [`Location`] of a table, which is read anew for each burst under the burst's pin, and valid while that lives.
//!
//! ```text
//! Search::Exact    home = high half of hash * size      bucket = array + home * bucket_words
//!                  bucket: header, then places of entry_words each: key, record (see exact.rs)
//! Search::Prefix   cell = 32 bits of array at (key at the top of 32 bits) >> size
//!                  while the cell is DEEPER: the next 8 bits of the key in a row of `deeper` (see direct_lpm.rs)
//!                  a cell that is not 0 names the row of `records` with the number one less
//! ```
//!
//! What was found can be noted in a *memo*: the version of a hash table in the high half, and in the low half how many words
//! behind the beginning of its array the record is. A memo holds for who has read the same version, together with the array,
//! under the present pin. For
//!
//! * no two states of tables between which a record has left its place have the same version, whichever tables they are of:
//!   they are numbered all over a [`Domain`](crate::Domain), and when there are no more numbers, the version is [`NEVER`];
//! * while a record leaves its place, the version is [`NEVER`] too, which nobody notes or finds in a memo. The place is used
//!   again when all pins are gone that began before the change, and who began later reads `NEVER` or a later version;
//! * a record keeps its key, and the memo is part of the record that says what the key is, so it ends with it.
//!
//! Arrays in rows are in chunks, and a list has the addresses from which the rows of each are counted: [`origin_of`] has the
//! arithmetic. What a search loads is
//! published as the engines' own documentation says: headers and cells with an acquiring load, all else with plain ones.

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
    /// Nothing is ever found.
    Never,
    /// A hash table of buckets.
    Exact {
        /// Words of a key, which stand first in an entry.
        key_words: usize,
        /// Words of an entry.
        entry_words: usize,
        /// Words of a bucket.
        bucket_words: usize,
        /// The highest bit of each byte of a header that is a place's tag.
        places_mask: u64,
    },
    /// Arrays by the bits of the key.
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
    /// The search of tables with this key and records of so many words; nothing when it is too long for machine code.
    pub fn new(keys: &[KeySpec], record_words: usize) -> Option<Search> {
        // Two cells make a word, the first one in its low half.
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

/// Where a table is at the moment. Machine code knows the offsets of the fields.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Location {
    /// The record of the default action.
    pub default: *const u64,
    /// Buckets, or the first array of cells.
    pub array: *const u64,
    /// The number of buckets; or by how much a key of 32 bits is shifted to become an index of the first array.
    pub size: u64,
    /// The origins of the further arrays.
    pub deeper: *const *const u64,
    /// The origins of records.
    pub records: *const *const u64,
    /// Bytes that searches read at random.
    pub bytes: usize,
    /// Of a hash table: which memos hold.
    pub version: u64,
}

/// The version with which no memo holds.
pub const NEVER: u64 = u64::MAX;

/// Bits of a memo that say where the record is. Those above it are the version.
pub const MEMO_PLACE_BITS: u32 = 32;

// SAFETY: addresses, which nothing here looks behind.
unsafe impl Send for Location {}
// SAFETY: as above.
unsafe impl Sync for Location {}

impl Location {
    /// Of a table that has nothing but a default action.
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

/// Arrays behind the first one that a look-up of a prefix key of so many bits reads at most.
pub fn deeper_max(width: u32) -> u32 {
    width.saturating_sub(direct_lpm::FEW).div_ceil(DEEPER_BITS)
}

/// The chunk of a row and the row's number in it: chunk c has [`FIRST_CHUNK`] * 2^c rows, so both stand in one sum.
#[inline]
pub(crate) fn chunk_of(row: u32) -> (usize, usize) {
    let sum = row as usize + FIRST_CHUNK;
    let highest = sum.ilog2();
    ((highest - FIRST_CHUNK.ilog2()) as usize, sum ^ 1 << highest)
}

/// The leading zeros of the sum of the largest row's number and [`FIRST_CHUNK`].
pub const ZEROS_MIN: usize = u64::BITS as usize - CHUNKS - FIRST_CHUNK.ilog2() as usize;

/// By which origin a row is found, and how many rows it is behind it.
///
/// A row's number and [`FIRST_CHUNK`] make a sum, whose highest bit says which chunk the row is in. The origin of a chunk is as
/// many rows before it as that bit counts, so the row is as many behind the origin as the sum. Origins stand in the list in the
/// order of the leading zeros of sums, the first one with [`ZEROS_MIN`].
#[inline]
pub fn origin_of(row: u32) -> (usize, usize) {
    let sum = u64::from(row) + FIRST_CHUNK as u64;
    (sum.leading_zeros() as usize - ZEROS_MIN, sum as usize)
}
