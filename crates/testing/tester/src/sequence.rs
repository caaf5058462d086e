//! Loss, duplication and reordering of a stream, from the numbers of its frames.
//!
//! | what | after |
//! |---|---|
//! | reordered: a number smaller than the next expected one | RFC 4737 §3.3 |
//! | extent: how many packets earlier the first packet with a larger number came | RFC 4737 §4.2 |
//! | free run: packets between one reordered packet and the next | RFC 4737 §4.5 |
//! | n-reordered: the n packets before it all have larger numbers; a TCP sender with 3 retransmits | RFC 4737 §5.3 |
//! | displacement, occupancy | RFC 5236, in [`density`](crate::density) |
//!
//! A packet that comes again is a duplicate and counts for none of these. Memory is bounded: the last [`WINDOW`]
//! numbers are remembered. What is older is *too late*; whether it is a duplicate cannot be told. Loss needs no memory:
//! it is what was sent less what came, duplicates left out.

use crate::density::Density;
use crate::histogram::Histogram;
use std::collections::VecDeque;

/// Numbers below the largest that are remembered.
pub const WINDOW: u64 = 1 << 20;

/// Stretches of undisturbed arrivals that are remembered to find extents.
const STRETCHES_MAX: usize = 1 << 12;

/// Packets before a reordered one that are looked at, as a power of two.
const RECENT: usize = 64;

/// Arrivals one after another that made the largest number grow by one each.
#[derive(Clone, Copy, Debug)]
struct Stretch {
    first_number: u64,
    first_arrival: u64,
    length: u64,
}

/// What an arrival was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arrival {
    /// The next number, or a larger one.
    InOrder,
    /// A number that was passed over before.
    Reordered,
    /// A number that came already.
    Duplicate,
    /// A number too far back to know.
    TooLate,
}

/// What has become of a stream.
#[derive(Clone)]
pub struct SequenceTracker {
    /// A bit for each remembered number, at its remainder.
    seen: Vec<u64>,
    next_expected: u64,
    /// Arrivals without duplicates.
    unique: u64,
    duplicates: u64,
    reordered: u64,
    too_late: u64,
    stretches: VecDeque<Stretch>,
    recent: [u64; RECENT],
    free_run: u64,
    extents: Histogram,
    free_runs: Histogram,
    n_reordered: [u64; RECENT + 1],
    density: Density,
}

impl Default for SequenceTracker {
    fn default() -> SequenceTracker {
        SequenceTracker {
            seen: vec![0; (WINDOW / 64) as usize],
            next_expected: 0,
            unique: 0,
            duplicates: 0,
            reordered: 0,
            too_late: 0,
            stretches: VecDeque::new(),
            recent: [0; RECENT],
            free_run: 0,
            extents: Histogram::default(),
            free_runs: Histogram::default(),
            n_reordered: [0; RECENT + 1],
            density: Density::default(),
        }
    }
}

impl SequenceTracker {
    /// Notes the arrival of a number.
    #[inline]
    pub fn arrive(&mut self, number: u64) -> Arrival {
        if number < self.next_expected {
            return self.arrive_after(number);
        }
        if number > self.next_expected {
            self.pass_over(number);
        }
        self.mark(number);
        self.next_expected = number + 1;
        self.extend_stretches(number);
        self.note_unique(number);
        self.free_run += 1;
        Arrival::InOrder
    }

    fn arrive_after(&mut self, number: u64) -> Arrival {
        if self.next_expected - number > WINDOW {
            self.too_late += 1;
            self.unique += 1;
            return Arrival::TooLate;
        }
        if self.is_marked(number) {
            self.duplicates += 1;
            return Arrival::Duplicate;
        }
        self.mark(number);
        self.reordered += 1;
        self.extents.record(self.unique - self.first_larger(number));
        self.n_reordered[self.larger_before(number)] += 1;
        self.free_runs.record(std::mem::take(&mut self.free_run));
        self.note_unique(number);
        Arrival::Reordered
    }

    #[inline]
    fn note_unique(&mut self, number: u64) {
        self.recent[self.unique as usize % RECENT] = number;
        self.unique += 1;
        self.density.arrive(number);
    }

    #[inline]
    fn mark(&mut self, number: u64) {
        let at = number % WINDOW;
        self.seen[(at / 64) as usize] |= 1 << (at % 64);
    }

    fn is_marked(&self, number: u64) -> bool {
        let at = number % WINDOW;
        self.seen[(at / 64) as usize] >> (at % 64) & 1 == 1
    }

    /// The numbers up to this one have not come.
    #[inline]
    fn pass_over(&mut self, number: u64) {
        // The bit of the number itself is set at once.
        if number - self.next_expected >= WINDOW {
            self.seen.fill(0);
            return;
        }
        for passed in self.next_expected..number {
            self.unmark(passed);
        }
    }

    #[inline]
    fn unmark(&mut self, number: u64) {
        let at = number % WINDOW;
        self.seen[(at / 64) as usize] &= !(1 << (at % 64));
    }

    #[inline]
    fn extend_stretches(&mut self, number: u64) {
        if let Some(last) = self.stretches.back_mut()
            && number == last.first_number + last.length
            && self.unique == last.first_arrival + last.length
        {
            last.length += 1;
            return;
        }
        if self.stretches.len() == STRETCHES_MAX {
            self.stretches.pop_front();
        }
        self.stretches.push_back(Stretch {
            first_number: number,
            first_arrival: self.unique,
            length: 1,
        });
    }

    /// The place among the arrivals of the first one with a larger number.
    fn first_larger(&self, number: u64) -> u64 {
        let before = |stretch: &Stretch| stretch.first_number + stretch.length - 1 <= number;
        let at = self.stretches.partition_point(before);
        let stretch = &self.stretches[at];
        stretch.first_arrival + (number + 1).saturating_sub(stretch.first_number)
    }

    /// How many packets just before this one all have larger numbers.
    fn larger_before(&self, number: u64) -> usize {
        let look_at = self.unique.min(RECENT as u64);
        let recent = (1..=look_at).map(|back| self.recent[(self.unique - back) as usize % RECENT]);
        recent.take_while(|before| *before > number).count()
    }

    /// Packets that came, duplicates left out.
    pub fn unique(&self) -> u64 {
        self.unique
    }

    /// Packets that came again.
    pub fn duplicates(&self) -> u64 {
        self.duplicates
    }

    /// Packets that came after one with a larger number.
    pub fn reordered(&self) -> u64 {
        self.reordered
    }

    /// Packets too far back to know more of them.
    pub fn too_late(&self) -> u64 {
        self.too_late
    }

    /// Extents of reordered packets.
    pub fn extents(&self) -> &Histogram {
        &self.extents
    }

    /// Lengths of runs without reordering, before each reordered packet.
    pub fn free_runs(&self) -> &Histogram {
        &self.free_runs
    }

    /// Packets that are `n`-reordered: at least `n` packets just before them have larger numbers. At most 64 are
    /// examined.
    pub fn n_reordered(&self, n: usize) -> u64 {
        self.n_reordered[n.min(RECENT)..].iter().sum()
    }

    /// Displacement and occupancy, after the last arrival.
    pub fn finish_density(&mut self) -> &Density {
        self.density.finish();
        &self.density
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use forebay_traffic::{Arrival as Reference, SequenceTracker as ReferenceTracker};
    use proptest::prelude::*;

    fn arrivals(numbers: &[u64]) -> (SequenceTracker, Vec<Arrival>) {
        let mut tracker = SequenceTracker::default();
        let found = numbers.iter().map(|number| tracker.arrive(*number)).collect();
        (tracker, found)
    }

    #[test]
    fn the_example_of_the_rfc() {
        let (tracker, found) = arrivals(&[1, 2, 3, 7, 8, 9, 10, 4, 5, 6, 11]);
        assert_eq!(found.iter().filter(|found| **found == Arrival::Reordered).count(), 3);
        assert_eq!((tracker.extents().min(), tracker.extents().max()), (4, 6));
        // 4 has four larger ones just before it; 5 and 6 have a smaller one there.
        assert_eq!([1, 3, 4, 5].map(|n| tracker.n_reordered(n)), [1, 1, 1, 0]);
        assert_eq!(tracker.free_runs().max(), 7);
    }

    proptest! {
        #[test]
        fn agrees_with_the_checker_of_messages(numbers in proptest::collection::vec(0..150u32, 0..300)) {
            let mut reference = ReferenceTracker::new(512);
            let mut tracker = SequenceTracker::default();
            for number in numbers {
                let before = tracker.extents().clone();
                let found = tracker.arrive(number.into());
                match reference.arrive(number) {
                    Reference::InOrder => prop_assert_eq!(found, Arrival::InOrder),
                    Reference::Duplicate => prop_assert_eq!(found, Arrival::Duplicate),
                    Reference::TooLate => prop_assert_eq!(found, Arrival::TooLate),
                    Reference::Reordered { extent } => {
                        prop_assert_eq!(found, Arrival::Reordered);
                        let mut expected = before;
                        expected.record(extent);
                        prop_assert!(&expected == tracker.extents());
                    }
                }
            }
        }
    }

    #[test]
    fn far_behind_is_too_late_and_far_ahead_forgets() {
        let (tracker, found) = arrivals(&[0, WINDOW + 5, 5, 4, 3 * WINDOW, 3 * WINDOW - 1, WINDOW + 5]);
        use Arrival::{InOrder, Reordered, TooLate};
        assert_eq!(found, [InOrder, InOrder, TooLate, TooLate, InOrder, Reordered, TooLate]);
        assert_eq!(tracker.unique(), 7);
    }
}
