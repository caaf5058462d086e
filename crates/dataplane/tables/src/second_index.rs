//! Whether readers may use the second index of a table.
//!
//! Some tables have one beside the index with all records, for look-ups that need less: compact cells, dense buckets. The
//! writer changes one index after the other. A packet could find the new record in the first, and the next packet still
//! the old one in the second, for as long as the writer waits for a processor in between. So readers use the first
//! alone while both change.

use std::sync::atomic::{AtomicBool, Ordering};

/// See the [module](self).
#[derive(Debug, Default)]
pub(crate) struct SecondIndex {
    changing: AtomicBool,
}

/// A change of both indexes. It ends when this is dropped.
#[derive(Debug)]
pub(crate) struct Changing<'a>(&'a SecondIndex);

impl SecondIndex {
    /// Whether no change is under way. If not, the caller may use the second index until its burst ends.
    #[inline]
    pub(crate) fn is_current(&self) -> bool {
        !self.changing.load(Ordering::Acquire)
    }

    /// Begins a change. The first index publishes with `Release`, so a reader that finds a part of the change there
    /// sees that it is under way.
    pub(crate) fn begin_change(&self) -> Changing<'_> {
        self.changing.store(true, Ordering::Relaxed);
        Changing(self)
    }
}

impl Drop for Changing<'_> {
    fn drop(&mut self) {
        self.0.changing.store(false, Ordering::Release);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_not_used_while_it_changes() {
        let index = SecondIndex::default();
        let change = index.begin_change();
        assert!(!index.is_current());
        drop(change);
        assert!(index.is_current());
    }
}
