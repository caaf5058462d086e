//! Timers in buckets: what is due at about the same time is found together, however many timers there are.
//!
//! ```text
//!   buckets:  120 ─► [entry 7, entry 9]   123 ─► [entry 4]   4100 ─► [entry 9 (moved away), …]
//!   armed:    entry 7 ─► 120   entry 9 ─► 120   entry 4 ─► 123
//! ```
//!
//! A timer that is armed anew for an earlier time is in two buckets; the later one is passed over, since `armed` names
//! the other. To arm a timer costs the same whether there are ten or a million.

use std::collections::{BTreeMap, HashMap};

/// The time of one bucket, in nanoseconds.
const GRAIN_NS: u64 = 10_000_000;

/// Timers that are passed over may be as many as those that are armed, and this many more.
const SPARE: usize = 1024;

/// A timer: a table entry, by table id and [`forebay_pipeline::Record::id`].
pub(crate) type Timer = (u32, u64);

/// See the [module](self).
#[derive(Debug, Default)]
pub(crate) struct Wheel {
    /// By number of the bucket.
    buckets: BTreeMap<u64, Vec<Timer>>,
    armed: HashMap<Timer, Armed>,
    /// Timers in all buckets.
    placed: usize,
}

/// When a timer is due.
#[derive(Clone, Copy, Debug)]
struct Armed {
    bucket: u64,
    /// From when it was counted.
    since_ns: u64,
}

impl Wheel {
    /// Arms a timer to be due `after_ns` after `since_ns`. If it is due earlier already, it stays as it is: when it
    /// fires, the caller checks the entry and arms the timer again.
    pub(crate) fn arm(&mut self, timer: Timer, since_ns: u64, after_ns: u64) {
        let bucket = since_ns.saturating_add(after_ns).div_ceil(GRAIN_NS);
        let armed = Armed { bucket, since_ns };
        match self.armed.get(&timer) {
            Some(before) if before.bucket <= bucket => return,
            Some(before) => {
                let since_ns = before.since_ns;
                self.armed.insert(timer, Armed { bucket, since_ns });
            }
            None => {
                self.armed.insert(timer, armed);
            }
        }
        self.place(timer, bucket);
        if self.placed > 2 * self.armed.len() + SPARE {
            self.place_anew();
        }
    }

    fn place(&mut self, timer: Timer, bucket: u64) {
        self.buckets.entry(bucket).or_default().push(timer);
        self.placed += 1;
    }

    /// Forgets all timers that are passed over.
    fn place_anew(&mut self) {
        self.buckets.clear();
        self.placed = 0;
        let armed: Vec<(Timer, u64)> = self.armed.iter().map(|(timer, armed)| (*timer, armed.bucket)).collect();
        armed.into_iter().for_each(|(timer, bucket)| self.place(timer, bucket));
    }

    /// At most `max` timers that are due, each with the time from which it was counted. They are not armed any more.
    pub(crate) fn take_due(&mut self, now_ns: u64, max: usize) -> Vec<(Timer, u64)> {
        let mut due = Vec::new();
        while due.len() < max {
            let Some(mut first) = self.buckets.first_entry() else {
                break;
            };
            let bucket = *first.key();
            if bucket > now_ns / GRAIN_NS {
                break;
            }
            let Some(timer) = first.get_mut().pop() else {
                first.remove();
                continue;
            };
            self.placed -= 1;
            let is_here = |armed: &Armed| armed.bucket == bucket;
            if let Some(armed) = self.armed.get(&timer).copied().filter(is_here) {
                self.armed.remove(&timer);
                due.push((timer, armed.since_ns));
            }
        }
        due
    }

    /// When the next timer may be due.
    pub(crate) fn next_ns(&self) -> Option<u64> {
        let (bucket, _) = self.buckets.first_key_value()?;
        Some(bucket.saturating_mul(GRAIN_NS))
    }

    /// Timers that are armed.
    pub(crate) fn len(&self) -> usize {
        self.armed.len()
    }

    /// Disarms all timers for which `is_wanted` is false.
    pub(crate) fn retain(&mut self, mut is_wanted: impl FnMut(Timer) -> bool) {
        self.armed.retain(|timer, _| is_wanted(*timer));
        self.place_anew();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    #[test]
    fn timers_are_due_in_their_time_and_never_before() {
        let mut wheel = Wheel::default();
        for id in 0..1000 {
            wheel.arm((1, id), 0, id * MS);
        }
        assert_eq!(wheel.next_ns(), Some(0));
        let mut told = Vec::new();
        for now_ms in 0..1011 {
            for ((_, id), since_ns) in wheel.take_due(now_ms * MS, 7) {
                assert!(id <= now_ms && since_ns == 0);
                told.push(id);
            }
        }
        while let [_, ..] = &*wheel.take_due(2000 * MS, 7) {}
        told.sort_unstable();
        told.dedup();
        assert!(told.len() > 900, "7 a millisecond are enough for one a millisecond");
        assert_eq!((wheel.len(), wheel.next_ns()), (0, None));
    }

    #[test]
    fn the_earlier_time_counts() {
        let mut wheel = Wheel::default();
        wheel.arm((1, 1), 0, 500 * MS);
        wheel.arm((1, 1), 10 * MS, 90 * MS);
        wheel.arm((1, 1), 20 * MS, 900 * MS);
        assert_eq!(wheel.take_due(99 * MS, 9), []);
        assert_eq!(wheel.take_due(100 * MS, 9), [((1, 1), 0)]);
        assert_eq!(wheel.take_due(9000 * MS, 9), []);
        assert_eq!(wheel.next_ns(), None);
    }

    #[test]
    fn timers_that_are_passed_over_are_forgotten() {
        let mut wheel = Wheel::default();
        for round in (0..100_000).rev() {
            wheel.arm((1, 1), 0, round * 10 * MS);
        }
        assert!(wheel.placed <= SPARE + 2);
        wheel.arm((2, 1), 0, 0);
        wheel.retain(|(table, _)| table == 2);
        assert_eq!(wheel.take_due(MS, 9), [((2, 1), 0)]);
        assert_eq!((wheel.len(), wheel.placed), (0, 0));
    }
}
