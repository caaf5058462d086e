//! Memory for the arrays of stateful objects: flat, zeroed, and bounded.

use std::fmt;
use std::sync::atomic::AtomicU64;

use crate::memory::Array;

/// The most bytes that one array may take.
const ARRAY_BYTES_MAX: u128 = 1 << 32;

/// The error for an array that is larger than allowed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ArrayTooLarge {
    /// The bytes that the array would take.
    pub bytes: u128,
}

impl fmt::Display for ArrayTooLarge {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            formatter,
            "the array would take {} bytes of memory, more than {ARRAY_BYTES_MAX}",
            self.bytes
        )
    }
}

impl std::error::Error for ArrayTooLarge {}

/// Checks that an array of `count` elements of `element_bytes` bytes each is allowed.
pub(crate) fn check_size(count: usize, element_bytes: usize) -> Result<(), ArrayTooLarge> {
    let bytes = count as u128 * element_bytes as u128;
    if bytes > ARRAY_BYTES_MAX {
        return Err(ArrayTooLarge { bytes });
    }
    Ok(())
}

/// `count * words_per_element` atomic words, all zero.
///
/// The allocator hands out zeroed pages on first touch, so a large array of which a program uses
/// little costs little.
pub(crate) fn zeroed_words(count: usize, words_per_element: usize) -> Result<Box<[AtomicU64]>, ArrayTooLarge> {
    check_size(count, words_per_element * size_of::<AtomicU64>())?;
    let words = Box::<[AtomicU64]>::new_zeroed_slice(count * words_per_element);
    // SAFETY: an `AtomicU64` is a `u64` in memory, and all-zero bytes are the number 0.
    Ok(unsafe { words.assume_init() })
}

/// Words that share no cache line with other data; the adjacent line is not shared either.
#[derive(Debug)]
pub(crate) struct SeparateWords {
    chunks: Array<Chunk>,
    len: usize,
}

const CHUNK_WORDS: usize = 16;

#[derive(Debug)]
#[repr(C, align(128))]
struct Chunk([AtomicU64; CHUNK_WORDS]);

impl SeparateWords {
    /// `len` words, all zero, allocated like [`zeroed_words`].
    pub(crate) fn zeroed(len: usize) -> SeparateWords {
        SeparateWords {
            // SAFETY: an `AtomicU64` is a `u64` in memory, and all-zero bytes are the number 0.
            chunks: unsafe { Array::zeroed_on_use(len.div_ceil(CHUNK_WORDS)) },
            len,
        }
    }

    #[inline]
    pub(crate) fn words(&self) -> &[AtomicU64] {
        // SAFETY: `Chunk` is `repr(C)` and consists of words without padding, at least as many as `len` in all.
        unsafe { std::slice::from_raw_parts(self.chunks.as_ptr().cast(), self.len) }
    }
}

const _: () = assert!(size_of::<Chunk>() == CHUNK_WORDS * size_of::<AtomicU64>());
