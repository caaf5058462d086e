//! Loss, duplication and reordering of one flow's sequence numbers, after RFC 4737.
//!
//! A packet is *reordered* when its number is smaller than the next expected one, which is one
//! more than the largest seen (§3.3). Its *extent* says how late: how many packets earlier the
//! first packet came that has a larger number (§4.2). A packet that comes a second time is a
//! duplicate and counts for neither.
//!
//! Memory is bounded: the tracker remembers the last `window` numbers. A packet older than that
//! is [`Arrival::TooLate`]: whether it is a duplicate can no longer be told.

/// How many numbers below the largest seen are remembered unless told otherwise.
pub const DEFAULT_WINDOW: usize = 512;

/// What an arrival was.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Arrival {
    /// The next number, or a later one.
    InOrder,
    /// A number passed over before.
    Reordered {
        /// How many packets earlier the first packet with a larger number came; at least 1.
        extent: u64,
    },
    /// A number that had come already.
    Duplicate,
    /// A number too far back to know.
    TooLate,
}

/// What has become of one flow.
#[derive(Debug, Clone)]
pub struct SequenceTracker {
    /// One more than the largest number seen.
    next_expected: u64,
    /// Arrivals so far without duplicates.
    arrivals: u64,
    /// For each remembered number, at its remainder: 1 + its place among the arrivals, or 0 when
    /// it has not come.
    places: Vec<u64>,
}

impl SequenceTracker {
    /// A tracker that remembers `window` numbers (at least one).
    pub fn new(window: usize) -> SequenceTracker {
        SequenceTracker {
            next_expected: 0,
            arrivals: 0,
            places: vec![0; window.max(1)],
        }
    }

    /// Notes the arrival of `number` and says what it was.
    pub fn arrive(&mut self, number: u32) -> Arrival {
        let number = u64::from(number);
        if number >= self.next_expected {
            self.advance(number);
            self.note(number);
            return Arrival::InOrder;
        }
        if self.next_expected - number > self.places.len() as u64 {
            self.arrivals += 1;
            return Arrival::TooLate;
        }
        if *self.place(number) != 0 {
            return Arrival::Duplicate;
        }
        self.note(number);
        Arrival::Reordered {
            extent: self.extent(number),
        }
    }

    /// Packets that came, without known duplicates.
    pub fn delivered(&self) -> u64 {
        self.arrivals
    }

    /// One more than the largest number seen: how many packets must have been sent.
    pub fn next_expected(&self) -> u64 {
        self.next_expected
    }

    fn place(&mut self, number: u64) -> &mut u64 {
        let index = (number % self.places.len() as u64) as usize;
        &mut self.places[index]
    }

    /// Makes `number` the largest seen: the numbers passed over have not come.
    fn advance(&mut self, number: u64) {
        if number - self.next_expected >= self.places.len() as u64 {
            self.places.fill(0);
        } else {
            for passed in self.next_expected..number {
                *self.place(passed) = 0;
            }
        }
        self.next_expected = number + 1;
    }

    fn note(&mut self, number: u64) {
        self.arrivals += 1;
        *self.place(number) = self.arrivals;
    }

    /// The extent of the arrival just noted: its place less that of the first larger number. The
    /// largest number seen is remembered and larger, so there is one.
    fn extent(&mut self, number: u64) -> u64 {
        let own = *self.place(number);
        let first = (number + 1..self.next_expected)
            .map(|larger| *self.place(larger))
            .filter(|place| *place != 0)
            .min();
        own - first.unwrap_or(own)
    }
}

impl Default for SequenceTracker {
    fn default() -> SequenceTracker {
        SequenceTracker::new(DEFAULT_WINDOW)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn arrivals(numbers: &[u32], window: usize) -> Vec<Arrival> {
        let mut tracker = SequenceTracker::new(window);
        numbers.iter().map(|number| tracker.arrive(*number)).collect()
    }

    #[test]
    fn a_packet_behind_four_later_ones_has_extent_four() {
        let found = arrivals(&[1, 2, 3, 5, 6, 7, 8, 4, 9, 10], 100);
        assert_eq!(found[7], Arrival::Reordered { extent: 4 });
        assert!(
            found
                .iter()
                .enumerate()
                .all(|(at, arrival)| { (at == 7) != (*arrival == Arrival::InOrder) })
        );
    }

    #[test]
    fn duplicates_and_latecomers() {
        assert_eq!(
            arrivals(&[0, 0, 9, 9, 1, 1, 8, 5], 4),
            [
                Arrival::InOrder,
                Arrival::Duplicate,
                Arrival::InOrder,
                Arrival::Duplicate,
                Arrival::TooLate,
                Arrival::TooLate,
                Arrival::Reordered { extent: 3 },
                Arrival::TooLate,
            ]
        );
    }

    #[test]
    fn the_largest_number_does_not_overflow() {
        assert_eq!(
            arrivals(&[u32::MAX, u32::MAX - 1, u32::MAX], 8),
            [Arrival::InOrder, Arrival::Reordered { extent: 1 }, Arrival::Duplicate]
        );
    }

    /// The definitions of the RFC, written down literally.
    fn by_definition(numbers: &[u32]) -> Vec<Arrival> {
        let mut unique: Vec<u32> = Vec::new();
        let mut found = Vec::new();
        for number in numbers {
            if unique.contains(number) {
                found.push(Arrival::Duplicate);
                continue;
            }
            found.push(match unique.iter().position(|earlier| earlier > number) {
                Some(first) => Arrival::Reordered {
                    extent: (unique.len() - first) as u64,
                },
                None => Arrival::InOrder,
            });
            unique.push(*number);
        }
        found
    }

    proptest! {
        #[test]
        fn the_definitions_hold_within_the_window(
            numbers in proptest::collection::vec(0..150u32, 0..200)
        ) {
            prop_assert_eq!(arrivals(&numbers, 150), by_definition(&numbers));
        }

        #[test]
        fn nothing_panics(numbers in proptest::collection::vec(any::<u32>(), 0..50), window in 0..9usize) {
            arrivals(&numbers, window);
        }
    }
}
