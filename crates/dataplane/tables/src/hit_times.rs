//! When packets last hit the entries of a table.
//!
//! The times are apart from the entries, by slot: noting a hit writes one word whose place is known from the record that was found, and
//! the times of flows that came one after the other share lines of the processor's cache.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::storage::{ArrayTooLarge, zeroed_words};

/// Nanoseconds of a clock, by [`Entry::slot`](crate::Entry::slot); 0 where nothing has been noted.
///
/// Threads that note a hit of one entry at the same moment may leave the earlier of their times.
#[derive(Debug)]
pub struct HitTimes {
    times: Box<[AtomicU64]>,
}

impl HitTimes {
    /// The most slots there can be times for.
    pub const LEN_MAX: usize = 1 << 29;

    /// For so many slots. Memory is taken from the system where it is used.
    ///
    /// # Errors
    /// When they are more than [`HitTimes::LEN_MAX`].
    pub fn new(len: usize) -> Result<HitTimes, ArrayTooLarge> {
        Ok(HitTimes {
            times: zeroed_words(len, 1)?,
        })
    }

    /// The times, for machine code.
    pub fn words(&self) -> &[AtomicU64] {
        &self.times
    }

    /// When a packet last hit the entry of this slot; 0 outside the array.
    pub fn last_ns(&self, slot: usize) -> u64 {
        self.times.get(slot).map_or(0, |time| time.load(Ordering::Relaxed))
    }

    /// The slot's time begins at `now_ns`.
    pub fn begin(&self, slot: usize, now_ns: u64) {
        if let Some(time) = self.times.get(slot) {
            time.store(now_ns, Ordering::Relaxed);
        }
    }

    /// Notes that a packet hit the entry of this slot. Time does not go back.
    #[inline]
    pub fn note(&self, slot: usize, now_ns: u64) {
        if let Some(time) = self.times.get(slot)
            && time.load(Ordering::Relaxed) < now_ns
        {
            time.store(now_ns, Ordering::Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_latest_hit_counts() {
        let times = HitTimes::new(2).expect("two fit");
        times.begin(1, 50);
        times.note(1, 200);
        times.note(1, 120);
        assert_eq!((times.last_ns(0), times.last_ns(1), times.last_ns(2)), (0, 200, 0));
        times.begin(1, 60);
        assert_eq!(times.last_ns(1), 60);
        times.note(2, 9);
        assert!(HitTimes::new(HitTimes::LEN_MAX + 1).is_err());
    }
}
