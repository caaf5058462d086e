//! Capture files that are read as one.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// When the next packet of a file was recorded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Next {
    /// Not known: the file was not read yet.
    Unread,
    At(u64),
    /// There is none.
    Ended,
}

/// Several files whose packets come in the order of their recorded times. Of equal times, the file that was added first
/// comes first.
#[derive(Debug, Clone, Default)]
pub struct Merge(Arc<Mutex<Vec<Next>>>);

impl Merge {
    fn files(&self) -> MutexGuard<'_, Vec<Next>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a file.
    pub(super) fn add(&self) -> Turn {
        let mut files = self.files();
        files.push(Next::Unread);
        Turn {
            merge: self.clone(),
            place: files.len() - 1,
        }
    }
}

/// The place of a file among those that are read as one.
#[derive(Debug)]
pub(super) struct Turn {
    merge: Merge,
    place: usize,
}

impl Turn {
    /// Says when the next packet of the file was recorded, if there is one.
    pub(super) fn announce(&self, next: Option<u64>) {
        self.merge.files()[self.place] = next.map_or(Next::Ended, Next::At);
    }

    /// What the packets of this file must be recorded before, to come before those of the others.
    pub(super) fn limit(&self) -> Limit {
        let files = self.merge.files();
        let others = files.iter().enumerate().filter(|(place, _)| *place != self.place);
        let earliest = others.map(|(place, next)| match next {
            Next::Unread => (0, 0),
            Next::At(time_ns) => (*time_ns, place),
            Next::Ended => (u64::MAX, usize::MAX),
        });
        Limit {
            earliest: earliest.min().unwrap_or((u64::MAX, usize::MAX)),
            place: self.place,
        }
    }
}

/// The next packet of the other files.
pub(super) struct Limit {
    earliest: (u64, usize),
    place: usize,
}

impl Limit {
    /// Whether a packet of this file that was recorded then comes before it.
    pub(super) fn is_after(&self, time_ns: u64) -> bool {
        (time_ns, self.place) < self.earliest
    }
}
