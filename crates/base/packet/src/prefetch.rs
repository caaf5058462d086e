//! Prefetches: hints that memory is used soon. They affect timing only, and do nothing on processors that have none.
#![allow(unsafe_code)]

/// Bytes of a cache line.
const LINE: usize = 64;

/// Prefetches the lines of a slice that is read soon.
#[inline]
pub fn to_read<T>(memory: &[T]) {
    lines(memory).for_each(line_to_read);
}

/// Prefetches the lines of a slice that is written soon. A line that another processor has is fetched once, not at the
/// first read and again at the first write.
#[inline]
pub fn to_write<T>(memory: &[T]) {
    lines(memory).for_each(line_to_write);
}

/// Prefetches the lines of a slice that is written soon, except for the first line if the slice begins within it. So a
/// line that adjacent slices share is prefetched only once.
#[inline]
pub fn to_write_behind<T>(memory: &[T]) {
    let shared = usize::from(!memory.as_ptr().addr().is_multiple_of(LINE));
    lines(memory).skip(shared).for_each(line_to_write);
}

/// The addresses of the cache lines of a slice.
#[inline]
fn lines<T>(memory: &[T]) -> impl Iterator<Item = *const u8> {
    let (first, bytes) = (memory.as_ptr().cast::<u8>(), size_of_val(memory));
    let before = first.addr() % LINE;
    let lines = if bytes == 0 { 0 } else { (before + bytes).div_ceil(LINE) };
    (0..lines).map(move |line| first.wrapping_sub(before).wrapping_add(line * LINE))
}

/// Prefetches the line at an address, which need not be valid.
#[inline]
pub fn line_to_read(address: *const u8) {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: a prefetch of any address is allowed.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(address.cast()) };
    }
    #[cfg(not(all(target_arch = "x86_64", not(miri))))]
    let _ = address;
}

/// The same for a line that is written next.
#[inline]
pub fn line_to_write(address: *const u8) {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    // SAFETY: a prefetch of any address is allowed; processors that do not have this one pass over it.
    unsafe {
        std::arch::asm!("prefetchw [{}]", in(reg) address, options(nostack, preserves_flags));
    }
    #[cfg(not(all(target_arch = "x86_64", not(miri))))]
    let _ = address;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_of_a_slice_is_one_address() {
        let memory = [0u64; 64];
        let at_line = (LINE - memory.as_ptr().addr() % LINE) % LINE / 8;
        let count = |first: usize, words: usize| lines(&memory[at_line + first..at_line + first + words]).count();
        assert_eq!([count(0, 0), count(0, 1), count(0, 8), count(0, 9)], [0, 1, 1, 2]);
        assert_eq!([count(7, 1), count(7, 2), count(1, 8), count(3, 32)], [1, 2, 2, 5]);
        assert!(lines(&memory).all(|line| line.addr() % LINE == 0));
    }

    #[test]
    fn hints_change_nothing() {
        let memory = [7u8; 1000];
        to_read(&memory);
        to_write(&memory);
        line_to_read(std::ptr::null());
        line_to_write(std::ptr::null());
        assert_eq!(memory, [7; 1000]);
    }
}
