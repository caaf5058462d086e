//! The allocator of the system, with a count of what each thread holds.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

thread_local! {
    /// Bytes that this thread has allocated, without those that it has freed.
    static HELD: Cell<isize> = const { Cell::new(0) };
}

/// The allocator of the system, which counts for each thread by itself: a few instructions for each call, and nothing
/// is shared between threads.
#[derive(Clone, Copy, Debug, Default)]
pub struct Counting;

/// Bytes that this thread has allocated, without those that it has freed; 0 when [`Counting`] is not the allocator.
pub(crate) fn held_by_thread() -> isize {
    HELD.get()
}

fn count(change: isize) {
    // A thread that is ending has no count any more, and no budget.
    let _ = HELD.try_with(|held| held.set(held.get().wrapping_add(change)));
}

// SAFETY: it hands every call to the system's allocator as it is.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(layout.size() as isize);
        // SAFETY: as the caller promises.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        count(layout.size() as isize);
        // SAFETY: as the caller promises.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        count(-(layout.size() as isize));
        // SAFETY: as the caller promises.
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, new_size: usize) -> *mut u8 {
        count(new_size as isize - layout.size() as isize);
        // SAFETY: as the caller promises.
        unsafe { System.realloc(pointer, layout, new_size) }
    }
}
