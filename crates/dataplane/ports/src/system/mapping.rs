//! Memory mapped into the process: shared with the kernel, or our own.

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::ptr::{self, NonNull};

use libc::{c_int, c_void, off_t};

/// A mapping, undone when it is dropped. It hands out pointers; the code that dereferences them states why that is
/// sound.
pub(crate) struct Mapping {
    start: NonNull<u8>,
    length: usize,
}

// SAFETY: a mapping belongs to the process, not to a thread, and has one owner.
unsafe impl Send for Mapping {}

impl Mapping {
    /// Zeroed memory of our own, in memory from the start.
    pub(crate) fn anonymous(length: usize) -> io::Result<Mapping> {
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_POPULATE;
        Mapping::map(length, flags, -1, 0)
    }

    /// The part of a descriptor's memory that begins at `offset`, shared with the kernel.
    pub(crate) fn shared(descriptor: BorrowedFd<'_>, length: usize, offset: off_t) -> io::Result<Mapping> {
        let flags = libc::MAP_SHARED | libc::MAP_POPULATE;
        Mapping::map(length, flags, descriptor.as_raw_fd(), offset)
    }

    fn map(length: usize, flags: c_int, descriptor: c_int, offset: off_t) -> io::Result<Mapping> {
        let protection = libc::PROT_READ | libc::PROT_WRITE;
        // SAFETY: without MAP_FIXED a new mapping disturbs no other memory.
        let start = unsafe { libc::mmap(ptr::null_mut(), length, protection, flags, descriptor, offset) };
        if start == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let start = NonNull::new(start.cast()).ok_or_else(|| io::Error::other("mapped at address zero"))?;
        Ok(Mapping { start, length })
    }

    /// Where it begins.
    pub(crate) fn start(&self) -> *mut u8 {
        self.start.as_ptr()
    }

    /// Its length in bytes.
    pub(crate) fn len(&self) -> usize {
        self.length
    }

    /// A pointer to a `T` at `offset`.
    ///
    /// # Panics
    /// When it would not lie within the mapping or not be aligned: the offsets come from the kernel or from our own
    /// arithmetic, neither of which errs.
    pub(crate) fn at<T>(&self, offset: usize) -> *mut T {
        let end = offset.checked_add(size_of::<T>()).expect("no overflow");
        assert!(end <= self.length, "{offset} is outside a mapping of {}", self.length);
        let pointer = self.start().wrapping_add(offset).cast::<T>();
        assert!(pointer.is_aligned(), "{offset} is not aligned");
        pointer
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: it is ours, and nothing that points into it outlives its owner.
        unsafe { libc::munmap(self.start().cast::<c_void>(), self.length) };
    }
}
