//! Adds to the counters of events that another process has too, without ever waiting.
//!
//! A write to an event waits while the counter is full, unless its file is non-blocking. That flag belongs to the open
//! file, so the other process can fill the counter and clear the flag, and `RWF_NOWAIT` is refused for writes to
//! events. What the kernel adds when an asynchronous operation ends (`IOCB_FLAG_RESFD`, `man 2 io_submit`) never waits:
//! a full counter stays full. The operation here reads from `/dev/null`, which ends within the call.

use libc::{c_long, c_ulong};
use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::sync::OnceLock;

/// Results of ended operations that the kernel keeps at least, until they are taken.
const RESULTS: usize = 64;

/// Operations that are submitted at once.
const OPERATIONS: c_long = 1;

/// Results that are waited for.
const AWAITED: c_long = 0;

/// `IOCB_CMD_PREAD`.
const READ: u16 = 0;

/// `IOCB_FLAG_RESFD`.
const RING: u32 = 1;

/// `struct iocb` of `linux/aio_abi.h`. The fields that are zero are in the order of machines with little endian.
#[repr(C)]
#[derive(Debug, Default)]
struct Operation {
    data: u64,
    key: u32,
    read_flags: u32,
    opcode: u16,
    priority: i16,
    file: u32,
    buffer: u64,
    bytes: u64,
    offset: i64,
    reserved: u64,
    flags: u32,
    event: u32,
}

const _: () = assert!(size_of::<Operation>() == 64);

/// A context of asynchronous operations, which the process has once.
#[derive(Debug)]
pub(super) struct Ringer {
    context: c_ulong,
    nothing: File,
}

impl Ringer {
    /// The one of the process. None where the kernel has no asynchronous operations, or refuses them.
    pub(super) fn of_process() -> Option<&'static Ringer> {
        static RINGER: OnceLock<Option<Ringer>> = OnceLock::new();
        RINGER.get_or_init(|| Ringer::new().ok()).as_ref()
    }

    fn new() -> io::Result<Ringer> {
        let nothing = File::open("/dev/null")?;
        let mut context: c_ulong = 0;
        // SAFETY: the kernel writes the new context's number to `context`.
        let result = unsafe { libc::syscall(libc::SYS_io_setup, RESULTS as c_long, &raw mut context) };
        if result < 0 {
            return Err(io::Error::last_os_error());
        }
        Ok(Ringer { context, nothing })
    }

    /// Adds one to the counter of an event; returns whether that could be done.
    pub(super) fn ring(&self, event: BorrowedFd<'_>) -> bool {
        self.submit(event) || {
            self.discard_results();
            self.submit(event)
        }
    }

    /// False when as many results wait as the kernel keeps.
    fn submit(&self, event: BorrowedFd<'_>) -> bool {
        let mut byte = 0u8;
        let mut operation = Operation {
            opcode: READ,
            file: self.nothing.as_raw_fd() as u32,
            buffer: (&raw mut byte) as u64,
            bytes: 1,
            flags: RING,
            event: event.as_raw_fd() as u32,
            ..Operation::default()
        };
        let mut operations = [&raw mut operation];
        // SAFETY: the list has one operation, to which the kernel writes its key. The read has ended when the call
        // returns, since `/dev/null` has nothing to wait for, and has written nothing to `byte`.
        let submitted =
            unsafe { libc::syscall(libc::SYS_io_submit, self.context, OPERATIONS, operations.as_mut_ptr()) };
        submitted == OPERATIONS
    }

    /// Takes the results that wait.
    fn discard_results(&self) {
        let mut results = [[0u64; 4]; RESULTS];
        // SAFETY: `results` has room for as many `struct io_event`, of four words each; a null time means no limit,
        // which is not reached since no result is waited for.
        unsafe {
            libc::syscall(
                libc::SYS_io_getevents,
                self.context,
                AWAITED,
                RESULTS as c_long,
                results.as_mut_ptr(),
                std::ptr::null_mut::<libc::timespec>(),
            );
        }
    }
}
