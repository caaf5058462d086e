//! Memory for large arrays, in huge pages where the system has them. With small pages, nearly every random access to
//! such an array would miss the TLB.

use std::fmt;
use std::mem::{ManuallyDrop, MaybeUninit};
use std::ops::{Deref, DerefMut};
#[cfg(all(target_os = "linux", not(miri)))]
use std::ptr;
use std::ptr::NonNull;
use std::slice;

/// Bytes of a huge page. Smaller arrays do not request any.
pub const HUGE_PAGE: usize = 2 << 20;

/// Prefetches the cache line at an address, which need not be valid. This is a hint that only affects timing; it does
/// nothing on machines without prefetches.
#[inline]
pub fn prefetch_at(address: usize) {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: a prefetch of any address is allowed.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(std::ptr::without_provenance(address)) };
    }
    #[cfg(not(all(target_arch = "x86_64", not(miri))))]
    let _ = address;
}

/// Words in huge pages, 0 at first.
#[derive(Debug)]
pub struct HugePages(Array<u64>);

impl HugePages {
    /// `count` new pages at consecutive addresses. A page takes memory when it is first used.
    pub fn on_use(count: usize) -> HugePages {
        // SAFETY: zero is a value of words.
        HugePages(unsafe { Array::zeroed_in(count * HUGE_PAGE / 8, true) })
    }

    /// The first of the [`HUGE_PAGE`] / 8 words of each page. The words belong to the owner of the pages.
    pub fn as_mut_ptr(&mut self) -> *mut u64 {
        self.0.as_mut_ptr()
    }
}

/// An array of fixed length. A large array is a mapping of its own, which begins on a huge page boundary. Its memory
/// must be new, because memory that was once in small pages stays in small pages.
pub(crate) struct Array<T> {
    first: NonNull<T>,
    count: usize,
    memory: Memory,
}

#[derive(Clone, Copy)]
enum Memory {
    /// A boxed slice.
    Boxed,
    /// A mapping of this many bytes.
    #[cfg_attr(any(not(target_os = "linux"), miri), expect(dead_code))]
    Mapped(usize),
}

impl<T> Array<T> {
    /// `count` elements, all bytes of which are zero.
    ///
    /// # Safety
    ///
    /// All bytes zero is a value of the type.
    pub(crate) unsafe fn zeroed(count: usize) -> Array<T> {
        let mut elements = Array::uninit(count);
        // Also written in a new mapping, so that no reader causes the first access to a page.
        // SAFETY: the bytes are those of the elements, for which zero is a valid value, as the caller promises.
        unsafe {
            elements.as_mut_ptr().write_bytes(0, count);
            elements.assume_init()
        }
    }

    /// `count` elements, all bytes of which are zero. In a large array, a page takes memory when it is first used.
    ///
    /// # Safety
    ///
    /// All bytes zero is a value of the type.
    pub(crate) unsafe fn zeroed_on_use(count: usize) -> Array<T> {
        // SAFETY: as the caller promises.
        unsafe { Array::zeroed_in(count, false) }
    }

    /// `count` elements, all bytes of which are zero, for a caller that writes to most of them before long. In a large
    /// array, a page takes memory when it is first used.
    ///
    /// # Safety
    ///
    /// All bytes zero is a value of the type.
    pub(crate) unsafe fn zeroed_to_fill(count: usize) -> Array<T> {
        // SAFETY: as the caller promises.
        unsafe { Array::zeroed_in(count, true) }
    }

    /// `count` elements, all bytes of which are zero, in huge pages if they are wanted.
    ///
    /// # Safety
    ///
    /// All bytes zero is a value of the type.
    unsafe fn zeroed_in(count: usize, huge_pages: bool) -> Array<T> {
        let bytes = count * size_of::<T>();
        match (bytes >= HUGE_PAGE).then(|| map(bytes, huge_pages)).flatten() {
            Some((address, mapped)) => Array {
                first: address.cast(),
                count,
                memory: Memory::Mapped(mapped),
            },
            // SAFETY: zero is a value of the elements, as the caller promises.
            None => Array::from(unsafe { Box::<[T]>::new_zeroed_slice(count).assume_init() }),
        }
    }

    /// `count` default elements.
    pub(crate) fn defaults(count: usize) -> Array<T>
    where
        T: Default,
    {
        let mut elements = Array::uninit(count);
        for element in &mut *elements {
            *element = MaybeUninit::new(T::default());
        }
        // SAFETY: every element was written.
        unsafe { elements.assume_init() }
    }

    fn uninit(count: usize) -> Array<MaybeUninit<T>> {
        let bytes = count * size_of::<T>();
        match (bytes >= HUGE_PAGE).then(|| map(bytes, true)).flatten() {
            Some((address, mapped)) => Array {
                first: address.cast(),
                count,
                memory: Memory::Mapped(mapped),
            },
            None => Array::from(Box::new_uninit_slice(count)),
        }
    }
}

impl<T> Array<MaybeUninit<T>> {
    /// # Safety
    ///
    /// All elements have been written.
    unsafe fn assume_init(self) -> Array<T> {
        let array = ManuallyDrop::new(self);
        Array {
            first: array.first.cast(),
            count: array.count,
            memory: array.memory,
        }
    }
}

impl<T> From<Box<[T]>> for Array<T> {
    fn from(elements: Box<[T]>) -> Array<T> {
        let count = elements.len();
        let first = NonNull::new(Box::into_raw(elements).cast()).expect("a box is somewhere");
        Array {
            first,
            count,
            memory: Memory::Boxed,
        }
    }
}

impl<T> Deref for Array<T> {
    type Target = [T];

    #[inline(always)]
    fn deref(&self) -> &[T] {
        // SAFETY: the array owns `count` elements there.
        unsafe { slice::from_raw_parts(self.first.as_ptr(), self.count) }
    }
}

impl<T> DerefMut for Array<T> {
    fn deref_mut(&mut self) -> &mut [T] {
        // SAFETY: as above, and the array is borrowed mutably.
        unsafe { slice::from_raw_parts_mut(self.first.as_ptr(), self.count) }
    }
}

impl<T> Drop for Array<T> {
    fn drop(&mut self) {
        let elements: *mut [T] = &raw mut **self;
        match self.memory {
            // SAFETY: it came from such a box, and is not used any more.
            Memory::Boxed => drop(unsafe { Box::from_raw(elements) }),
            // SAFETY: the array owns the elements and the mapping, and they are not used any more.
            Memory::Mapped(bytes) => unsafe {
                elements.drop_in_place();
                unmap(self.first.cast(), bytes);
            },
        }
    }
}

impl<T> fmt::Debug for Array<T> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "Array of {}", self.count)
    }
}

// SAFETY: the array owns its elements as a box does.
unsafe impl<T: Send> Send for Array<T> {}
// SAFETY: as above.
unsafe impl<T: Sync> Sync for Array<T> {}

/// A new mapping of at least `bytes` bytes, in huge pages if they are wanted, with its length. `None` if the system
/// has no such mapping.
#[cfg(all(target_os = "linux", not(miri)))]
fn map(bytes: usize, in_huge_pages: bool) -> Option<(NonNull<u8>, usize)> {
    let mapped = bytes.next_multiple_of(HUGE_PAGE);
    // SAFETY: this is a new mapping, of which the parts outside huge page boundaries are given back.
    unsafe {
        let address = libc::mmap(
            ptr::null_mut(),
            mapped + HUGE_PAGE,
            libc::PROT_READ | libc::PROT_WRITE,
            libc::MAP_PRIVATE | libc::MAP_ANONYMOUS,
            -1,
            0,
        );
        if address == libc::MAP_FAILED {
            return None;
        }
        let before = address.align_offset(HUGE_PAGE);
        let first = address.byte_add(before);
        if before > 0 {
            libc::munmap(address, before);
        }
        if before < HUGE_PAGE {
            libc::munmap(first.byte_add(mapped), HUGE_PAGE - before);
        }
        if in_huge_pages {
            // Without huge pages, look-ups are only slower.
            libc::madvise(first, mapped, libc::MADV_HUGEPAGE);
        }
        Some((NonNull::new(first.cast())?, mapped))
    }
}

#[cfg(not(all(target_os = "linux", not(miri))))]
fn map(_: usize, _: bool) -> Option<(NonNull<u8>, usize)> {
    None
}

/// # Safety
///
/// The mapping was made by [`map`], and is not used any more.
#[cfg(all(target_os = "linux", not(miri)))]
unsafe fn unmap(first: NonNull<u8>, bytes: usize) {
    // SAFETY: as the caller promises.
    unsafe { libc::munmap(first.as_ptr().cast(), bytes) };
}

#[cfg(not(all(target_os = "linux", not(miri))))]
unsafe fn unmap(_: NonNull<u8>, _: usize) {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_are_zeros() {
        let mut pages = HugePages::on_use(3);
        // SAFETY: the pages have this many words.
        let words = unsafe { std::slice::from_raw_parts(pages.as_mut_ptr(), 3 * HUGE_PAGE / 8) };
        assert!(words.iter().all(|word| *word == 0));
    }

    #[test]
    fn large_arrays_are_as_small_ones() {
        for count in [0, 1, 3 << 20] {
            // SAFETY: 0 is a valid number.
            let zeros = unsafe { Array::<u64>::zeroed(count) };
            assert!(zeros.len() == count && zeros.iter().all(|word| *word == 0));
            assert_eq!(Array::<u8>::defaults(count).len(), count);
        }
    }
}
