//! Access to many entries of a table, in parts.
//!
//! A packet that adds an entry waits for the lock of the control plane. Reading or clearing a table therefore offers the
//! lock to waiting threads after each part. Entries that are added after the beginning are left out; those that end
//! meanwhile may be read or not.

use crate::load::Pipeline;
use crate::objects::Control;
use forebay_ir::TableId;
use forebay_tables::{Entry, EntryId, Table};
use parking_lot::MutexGuard;
use std::sync::Arc;

/// The entries of a part, which take about a third of a millisecond.
pub(super) const PART: usize = 256;

/// Goes through the entries that a table has in the beginning.
pub(super) struct Parts {
    last: Option<EntryId>,
    end: EntryId,
}

impl Parts {
    pub(super) fn of(table: &Table) -> Parts {
        Parts {
            last: None,
            end: table.next_id(),
        }
    }

    /// The next entries, as far as they still exist; none at the end.
    pub(super) fn next(&mut self, table: &Table) -> Vec<Arc<Entry>> {
        let entries = table.entries_after(self.last);
        let part: Vec<_> = entries.take(PART).take_while(|entry| entry.id() < self.end).collect();
        self.last = part.last().map(|entry| entry.id()).or(self.last);
        part
    }
}

impl Pipeline {
    /// Passes the entries of a table to `read`, in the order in which they were added.
    pub(super) fn for_entries(&self, table: TableId, mut read: impl FnMut(&Control, &Entry)) {
        let mut control = self.control();
        let mut parts = Parts::of(&control.tables[table.index()]);
        loop {
            let part = parts.next(&control.tables[table.index()]);
            part.iter().for_each(|entry| read(&control, entry));
            if part.len() < PART {
                return;
            }
            let_others_in(&mut control);
        }
    }

    /// Passes what `read` makes of the entries of a table to `take`, in the order in which they were added. While
    /// `take` works, others may have the lock.
    pub(super) fn each_entry<T>(
        &self,
        table: TableId,
        read: impl Fn(&Control, &Entry) -> Option<T>,
        mut take: impl FnMut(T),
    ) {
        let mut parts = Parts::of(&self.control().tables[table.index()]);
        loop {
            let control = self.control();
            let part = parts.next(&control.tables[table.index()]);
            let made: Vec<T> = part.iter().filter_map(|entry| read(&control, entry)).collect();
            MutexGuard::unlock_fair(control);
            made.into_iter().for_each(&mut take);
            if part.len() < PART {
                return;
            }
        }
    }
}

/// Lets a thread that waits for the lock have it first.
pub(super) fn let_others_in(control: &mut MutexGuard<'_, Control>) {
    MutexGuard::bump(control);
}
