//! Finished code: its memory, and the locations of the tables that it searches.

use crate::context::Context;
use crate::pool::Pool;
use crate::tables::TableObjects;
use cranelift_jit::JITModule;
use forebay_ir::TableId;
use forebay_tables::{Location, Session};
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};

/// A process-wide unique number for a function.
pub(crate) fn next_number() -> u64 {
    static NUMBER: AtomicU64 = AtomicU64::new(0);
    NUMBER.fetch_add(1, Ordering::Relaxed)
}

/// A compiled function.
pub(crate) type Entry = unsafe extern "C" fn(*mut Context<'_>) -> i64;

/// The entry of a finished function.
///
/// # Safety
///
/// The address is that of a finished function with this signature, in memory that is kept as long as the entry.
pub(crate) unsafe fn entry(address: *const u8) -> Entry {
    // SAFETY: as the caller promises.
    unsafe { std::mem::transmute::<*const u8, Entry>(address) }
}

/// The memory of finished code and of the data that it points to.
pub(crate) struct CodeMemory {
    module: Option<JITModule>,
    _pool: Pool,
}

// SAFETY: after the code is finished, the module is not touched until it is dropped.
unsafe impl Send for CodeMemory {}
// SAFETY: as above.
unsafe impl Sync for CodeMemory {}

impl CodeMemory {
    pub(crate) fn new(module: JITModule, pool: Pool) -> Self {
        CodeMemory {
            module: Some(module),
            _pool: pool,
        }
    }
}

impl Drop for CodeMemory {
    fn drop(&mut self) {
        if let Some(module) = self.module.take() {
            // SAFETY: entries are dropped with this memory, and a caller that runs one borrows the owner of both.
            unsafe { module.free_memory() };
        }
    }
}

impl fmt::Debug for CodeMemory {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("CodeMemory")
    }
}

/// The locations of the tables that a compiled graph searches.
#[derive(Clone, Debug, Default)]
pub struct TableLocations {
    tables: Vec<Location>,
    /// The function, and the session of pins, for which `tables` holds.
    found: Option<(u64, Session)>,
}

impl TableLocations {
    /// Updates the locations for the function with this number, unless they still hold.
    #[inline]
    pub(crate) fn find(&mut self, number: u64, searched: &[TableId], objects: &(impl TableObjects + ?Sized)) {
        let wanted = objects.pin().session().map(|session| (number, session));
        if wanted.is_none() || wanted != self.found {
            self.found = None;
            self.tables.clear();
            let locations = searched
                .iter()
                .map(|table| objects.table(*table).location(objects.pin()));
            self.tables.extend(locations);
            self.found = wanted;
        }
    }

    /// The address of the first location.
    #[inline]
    pub(crate) fn first(&self) -> *const Location {
        self.tables.as_ptr()
    }
}
