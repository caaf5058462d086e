//! Memory for large arrays, in huge pages where the system has them: a look-up at random in an array of small pages misses
//! the translation cache nearly every time.

use std::alloc::{Layout, alloc, dealloc, handle_alloc_error};
use std::fmt;
use std::mem::MaybeUninit;
use std::ptr::NonNull;

/// Bytes of a huge page; smaller arrays do not ask for any.
pub const HUGE_PAGE: usize = 2 << 20;

/// A huge page of words, 0 at first.
pub struct Page(NonNull<u64>);

impl Page {
    const LAYOUT: Layout = match Layout::from_size_align(HUGE_PAGE, HUGE_PAGE) {
        Ok(layout) => layout,
        Err(_) => unreachable!(),
    };

    /// A new one.
    pub fn new() -> Page {
        // SAFETY: the layout is not empty.
        let memory = unsafe { alloc(Page::LAYOUT) }.cast::<MaybeUninit<u64>>();
        let Some(first) = NonNull::new(memory) else {
            handle_alloc_error(Page::LAYOUT)
        };
        // SAFETY: the memory is ours alone and as long as said; any bytes are such elements.
        let words = unsafe { std::slice::from_raw_parts_mut(memory, HUGE_PAGE / 8) };
        advise(words);
        words.fill(MaybeUninit::new(0));
        Page(first.cast())
    }

    /// The first of [`HUGE_PAGE`] / 8 words, which are whoever's the page is.
    pub fn as_mut_ptr(&mut self) -> *mut u64 {
        self.0.as_ptr()
    }
}

impl Default for Page {
    fn default() -> Page {
        Page::new()
    }
}

impl fmt::Debug for Page {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Page")
    }
}

impl Drop for Page {
    fn drop(&mut self) {
        // SAFETY: it was allocated with this layout, and nobody else frees it.
        unsafe { dealloc(self.0.as_ptr().cast(), Page::LAYOUT) };
    }
}

// SAFETY: it owns its words.
unsafe impl Send for Page {}
// SAFETY: shared, it gives nothing.
unsafe impl Sync for Page {}

/// Asks for huge pages under memory that nobody has written to yet. Without them it is merely slower.
#[cfg(all(target_os = "linux", not(miri)))]
fn advise<T>(memory: &mut [T]) {
    let bytes = memory.as_mut_ptr_range();
    let first = (bytes.start as usize).next_multiple_of(HUGE_PAGE);
    let end = bytes.end as usize / HUGE_PAGE * HUGE_PAGE;
    if first < end {
        // SAFETY: the pages are wholly within memory that is ours alone; advice changes nothing that it holds.
        unsafe { libc::madvise(first as *mut libc::c_void, end - first, libc::MADV_HUGEPAGE) };
    }
}

#[cfg(not(all(target_os = "linux", not(miri))))]
fn advise<T>(_: &mut [T]) {}

/// `count` elements, all bytes of which are zero.
///
/// # Safety
///
/// All bytes zero is a value of the type.
pub(crate) unsafe fn zeroed<T>(count: usize) -> Box<[T]> {
    // Not zeroed by the allocator, which would write to it first.
    let mut elements = Box::<[T]>::new_uninit_slice(count);
    advise(&mut elements);
    // SAFETY: the bytes are those of the elements; zero is a value of theirs, as the caller promises.
    unsafe {
        elements.as_mut_ptr().write_bytes(0, count);
        elements.assume_init()
    }
}

/// `count` default elements.
pub(crate) fn defaults<T: Default>(count: usize) -> Box<[T]> {
    let mut elements = Box::<[T]>::new_uninit_slice(count);
    advise(&mut elements);
    for element in &mut elements {
        *element = MaybeUninit::new(T::default());
    }
    // SAFETY: every element was written.
    unsafe { elements.assume_init() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_is_zeros() {
        let mut page = Page::new();
        // SAFETY: it has so many words.
        let words = unsafe { std::slice::from_raw_parts(page.as_mut_ptr(), HUGE_PAGE / 8) };
        assert!(words.iter().all(|word| *word == 0));
    }

    #[test]
    fn large_arrays_are_as_small_ones() {
        for count in [0, 1, 3 << 20] {
            // SAFETY: 0 is a number.
            let zeros = unsafe { zeroed::<u64>(count) };
            assert!(zeros.len() == count && zeros.iter().all(|word| *word == 0));
            assert_eq!(defaults::<u8>(count).len(), count);
        }
    }
}
