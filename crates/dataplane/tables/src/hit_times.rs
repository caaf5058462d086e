//! When packets last hit the entries of a table.
//!
//! The times are stored apart from the entries, by slot. So recording a hit writes one word whose address is known
//! from the record that was found, and the times of flows that were added one after another share cache lines.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::storage::{ArrayTooLarge, zeroed_words};

/// Times in nanoseconds, by [`Entry::slot`](crate::Entry::slot); 0 where no time has been recorded.
///
/// If several threads record a hit of one entry at the same moment, the earlier of their times may remain.
#[derive(Debug)]
pub struct HitTimes {
    times: Box<[AtomicU64]>,
}

impl HitTimes {
    /// The largest number of slots.
    pub const LEN_MAX: usize = 1 << 29;

    /// Times for `len` slots. The system allocates their memory on first use.
    ///
    /// # Errors
    /// If `len` is more than [`HitTimes::LEN_MAX`].
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

    /// Starts the slot's time at `now_ns`.
    pub fn begin(&self, slot: usize, now_ns: u64) {
        if let Some(time) = self.times.get(slot) {
            time.store(now_ns, Ordering::Relaxed);
        }
    }

    /// Records that a packet hit the entry of this slot. The time never goes back.
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
