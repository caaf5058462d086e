//! The atomics of the publication protocol. The model checker replaces them by its own.
//!
//! Built with `--cfg loom`, the crate runs its engines on the atomics of `loom`, which tries every order in which
//! threads may interleave and every value that a load may return; see the tests of `exact`.

#[cfg(loom)]
pub(crate) use loom::sync::{
    Mutex,
    atomic::{AtomicPtr, AtomicU64, Ordering, fence},
};
#[cfg(not(loom))]
pub(crate) use std::sync::{
    Mutex,
    atomic::{AtomicPtr, AtomicU64, Ordering, fence},
};

use crate::memory::Array;

/// One cache line of words that are published one by one.
#[derive(Debug)]
#[repr(C, align(64))]
pub(crate) struct Line(pub(crate) [AtomicU64; LINE_WORDS]);

/// Words in a cache line.
pub(crate) const LINE_WORDS: usize = 8;

/// `count` lines of zeros.
#[cfg(not(loom))]
pub(crate) fn zeroed_lines(count: usize) -> Array<Line> {
    // SAFETY: an `AtomicU64` is a `u64` in memory, and all-zero bytes are the number 0.
    unsafe { Array::zeroed(count) }
}

/// `count` lines of zeros.
#[cfg(loom)]
pub(crate) fn zeroed_lines(count: usize) -> Array<Line> {
    let lines = (0..count).map(|_| Line(std::array::from_fn(|_| AtomicU64::new(0))));
    lines.collect::<Box<[Line]>>().into()
}

/// `count` lines of zeros, which the caller fills before readers see them: pages that it does not write to are not
/// touched.
#[cfg(not(loom))]
pub(crate) fn zeroed_lines_to_fill(count: usize) -> Array<Line> {
    // SAFETY: as above.
    unsafe { Array::zeroed_to_fill(count) }
}

/// `count` lines of zeros.
#[cfg(loom)]
pub(crate) fn zeroed_lines_to_fill(count: usize) -> Array<Line> {
    zeroed_lines(count)
}

/// The words of lines, one after the other.
pub(crate) fn words_of(lines: &[Line]) -> &[AtomicU64] {
    // SAFETY: `Line` is `repr(C)` and consists of `LINE_WORDS` words without padding when a word is 8 bytes, which the
    // constant below makes sure of; the lifetime is that of the lines.
    unsafe { std::slice::from_raw_parts(lines.as_ptr().cast(), lines.len() * LINE_WORDS) }
}

const _: () = assert!(size_of::<Line>().is_multiple_of(LINE_WORDS * size_of::<AtomicU64>()));

/// Prefetches the cache line that holds `word`. This is a hint, which does nothing on machines without prefetches.
#[inline]
pub(crate) fn prefetch<T>(word: &T) {
    crate::memory::prefetch_at(std::ptr::from_ref(word).addr());
}

/// The number of keys whose memory is prefetched ahead of its use. More accesses than a core can have in flight slow
/// each other down: in a table of 32 MB, on a core of the Zen 4 generation, a line took 13 ns with 16 in flight, 23 ns
/// with 64, and 18 ns with 8.
pub(crate) const AHEAD: usize = 16;

/// Calls `take` for `count` keys in order, each some time after `ask` has prefetched its memory.
#[inline(always)]
pub(crate) fn prefetch_ahead(count: usize, mut fetch: impl FnMut(usize), mut take: impl FnMut(usize)) {
    (0..count.min(AHEAD)).for_each(&mut fetch);
    for index in 0..count {
        if index + AHEAD < count {
            fetch(index + AHEAD);
        }
        take(index);
    }
}
