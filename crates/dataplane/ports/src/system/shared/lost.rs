//! Mappings whose file was made shorter.
//!
//! Touching such memory raises SIGBUS. The handler looks whether the address lies in a watched mapping; if so it maps
//! empty memory of the process over all of it, and the access is done again. Otherwise it restores the handler that was
//! there before, to which the repeated access goes.
//!
//! The handler only reads atomics and calls `mmap` and `sigaction`, which signal handlers may. Watches are in a table
//! of fixed size.

use std::io;
use std::mem::zeroed;
use std::ptr;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use libc::{c_int, c_void, sigaction, siginfo_t};

use super::super::check;

/// Mappings that can be watched.
const WATCHES: usize = 1024;

/// A watched mapping.
struct Entry {
    is_taken: AtomicBool,
    /// Where it begins; 0 while it is not watched.
    start: AtomicUsize,
    length: AtomicUsize,
    is_lost: AtomicBool,
}

static ENTRIES: [Entry; WATCHES] = [const {
    Entry {
        is_taken: AtomicBool::new(false),
        start: AtomicUsize::new(0),
        length: AtomicUsize::new(0),
        is_lost: AtomicBool::new(false),
    }
}; WATCHES];

/// What was done with SIGBUS before; an error when our handler could not be installed.
static BEFORE: OnceLock<Result<sigaction, c_int>> = OnceLock::new();

/// Watches a mapping until it is told to end.
#[derive(Debug)]
pub(super) struct Watch(usize);

impl Watch {
    /// Watches `length` bytes at `start`.
    pub(super) fn new(start: usize, length: usize) -> io::Result<Watch> {
        install()?;
        let claim = |entry: &Entry| !entry.is_taken.swap(true, Ordering::Acquire);
        let index = ENTRIES.iter().position(claim);
        let index = index.ok_or_else(|| io::Error::other(format!("more than {WATCHES} mappings of shared memory")))?;
        let entry = &ENTRIES[index];
        entry.is_lost.store(false, Ordering::Relaxed);
        entry.length.store(length, Ordering::Relaxed);
        entry.start.store(start, Ordering::Release);
        Ok(Watch(index))
    }

    pub(super) fn is_lost(&self) -> bool {
        ENTRIES[self.0].is_lost.load(Ordering::Relaxed)
    }

    /// The mapping is about to go.
    pub(super) fn end(&self) {
        let entry = &ENTRIES[self.0];
        entry.start.store(0, Ordering::Release);
        entry.is_taken.store(false, Ordering::Release);
    }
}

fn install() -> io::Result<()> {
    let before = BEFORE.get_or_init(|| {
        // SAFETY: plain old data, for which all zeroes is the default action.
        let (mut new, mut old): (sigaction, sigaction) = unsafe { (zeroed(), zeroed()) };
        new.sa_sigaction = on_bus_error as extern "C" fn(c_int, *mut siginfo_t, *mut c_void) as usize;
        new.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK;
        // SAFETY: the handler does only what handlers may; both structures are borrowed for the call.
        let done = check(unsafe { libc::sigaction(libc::SIGBUS, &raw const new, &raw mut old) });
        done.map(|_| old)
            .map_err(|error| error.raw_os_error().unwrap_or(libc::EINVAL))
    });
    match before {
        Ok(_) => Ok(()),
        Err(number) => Err(io::Error::from_raw_os_error(*number)),
    }
}

extern "C" fn on_bus_error(_signal: c_int, info: *mut siginfo_t, _context: *mut c_void) {
    // SAFETY: the kernel gives a valid structure, in which SIGBUS has an address.
    let address = unsafe { (*info).si_addr() }.addr();
    if !ENTRIES.iter().any(|entry| replace(entry, address))
        && let Some(Ok(before)) = BEFORE.get()
    {
        // SAFETY: the structure is what the kernel gave us before.
        unsafe { libc::sigaction(libc::SIGBUS, before, ptr::null_mut()) };
    }
}

/// Puts empty memory in the place of a mapping, if the address lies in it. False when it does not, or that fails.
fn replace(entry: &Entry, address: usize) -> bool {
    let start = entry.start.load(Ordering::Acquire);
    let length = entry.length.load(Ordering::Relaxed);
    if start == 0 || address < start || address - start >= length {
        return false;
    }
    let protection = libc::PROT_READ | libc::PROT_WRITE;
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_FIXED | libc::MAP_NORESERVE;
    // SAFETY: exactly the addresses of a mapping of ours, which stays ours; no references point into it but to atomics,
    // for which any bits are valid.
    let new = unsafe { libc::mmap(ptr::without_provenance_mut(start), length, protection, flags, -1, 0) };
    entry.is_lost.store(true, Ordering::Relaxed);
    new != libc::MAP_FAILED
}
