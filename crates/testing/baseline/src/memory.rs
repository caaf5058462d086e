//! Arrays for tables, in huge pages where they are large, and prefetching.

use std::ops::{Deref, DerefMut};
use std::ptr::NonNull;

/// Bytes of a huge page. Arrays of at least this size ask for such pages, so that a look-up at random does not also
/// miss the translation cache.
const HUGE_PAGE: usize = 2 << 20;

/// Values that may consist of zero bytes.
///
/// # Safety
/// All bytes zero is a value of the type, and it owns nothing.
pub(crate) unsafe trait Zeroed: Copy {}

// SAFETY: plain integers.
unsafe impl Zeroed for u16 {}

/// An array of fixed length that begins as zeros, at the start of a page.
pub(crate) struct TableArray<T: Zeroed> {
    start: NonNull<T>,
    length: usize,
    mapped_bytes: usize,
}

// SAFETY: it owns its memory as a `Box<[T]>` does.
unsafe impl<T: Zeroed + Send> Send for TableArray<T> {}
// SAFETY: as above.
unsafe impl<T: Zeroed + Sync> Sync for TableArray<T> {}

impl<T: Zeroed> TableArray<T> {
    /// An array of `length` zeros.
    ///
    /// # Panics
    /// When there is no memory for it.
    pub(crate) fn new(length: usize) -> TableArray<T> {
        let bytes = (length * size_of::<T>()).max(1);
        let huge = bytes >= HUGE_PAGE;
        // Huge pages are aligned to their size; the mapping is only to that of small ones.
        let mapped_bytes = bytes.next_multiple_of(if huge { HUGE_PAGE } else { 4096 });
        // SAFETY: a new private mapping; nothing else is touched.
        let start = unsafe {
            let address = libc::mmap(
                std::ptr::null_mut(),
                mapped_bytes,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_PRIVATE | libc::MAP_ANONYMOUS,
                -1,
                0,
            );
            assert!(address != libc::MAP_FAILED, "no memory for a table of {bytes} bytes");
            if huge {
                // Without huge pages it is merely slower.
                libc::madvise(address, mapped_bytes, libc::MADV_HUGEPAGE);
            }
            address
        };
        TableArray {
            start: NonNull::new(start.cast()).expect("a mapping is not at address 0"),
            length,
            mapped_bytes,
        }
    }
}

impl<T: Zeroed> Drop for TableArray<T> {
    fn drop(&mut self) {
        // SAFETY: the mapping is ours, and nothing borrows from it any more.
        unsafe { libc::munmap(self.start.as_ptr().cast(), self.mapped_bytes) };
    }
}

impl<T: Zeroed> Deref for TableArray<T> {
    type Target = [T];

    #[inline(always)]
    fn deref(&self) -> &[T] {
        // SAFETY: `length` values, zero from the start, were mapped.
        unsafe { std::slice::from_raw_parts(self.start.as_ptr(), self.length) }
    }
}

impl<T: Zeroed> DerefMut for TableArray<T> {
    fn deref_mut(&mut self) -> &mut [T] {
        // SAFETY: as above, and we are the only borrower.
        unsafe { std::slice::from_raw_parts_mut(self.start.as_ptr(), self.length) }
    }
}

/// The number of packets by which the lines of two tables are prefetched ahead: more lines on their way than a core can
/// wait for disturb one another.
pub(crate) const AHEAD: usize = 8;

/// Begins to load the cache line of a value. Harmless for any address.
#[inline(always)]
pub(crate) fn prefetch<T>(value: *const T) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: a prefetch neither faults nor changes anything that can be seen.
    unsafe {
        std::arch::x86_64::_mm_prefetch::<{ std::arch::x86_64::_MM_HINT_T0 }>(value.cast());
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = value;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_array_is_zero_and_can_be_written() {
        for length in [0, 1, 5_000, 3 << 20] {
            let mut array = TableArray::<u16>::new(length);
            assert_eq!(array.len(), length);
            assert!(array.iter().all(|value| *value == 0));
            array.fill(7);
            assert!(array.iter().all(|value| *value == 7));
        }
    }
}
