//! Reorder density and reorder buffer-occupancy density (RFC 5236).
//!
//! Packets that arrive get the *receive indices* 0, 1, 2, ... in order of arrival; indices that are numbers of lost
//! packets are left out. The *displacement* of a packet is its receive index less its number: positive when it is late,
//! negative when it is early. *Occupancy* is how many packets a receiver holds back after an arrival, when it delivers
//! them in order and waits for no lost one.
//!
//! Whether a packet is lost is decided by looking ahead [`THRESHOLD`] arrivals. A packet that is later than that counts
//! as lost, and is counted as *beyond*.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// Arrivals after which a packet that has not come is taken for lost; also the largest displacement that is counted.
pub const THRESHOLD: usize = 32;

/// Counts of displacements and occupancies.
#[derive(Clone, Default)]
pub struct Density {
    /// The next receive index.
    index: u64,
    /// Arrivals that have no receive index yet.
    ahead: VecDeque<u64>,
    /// Numbers that have come before their index was reached.
    early: BTreeSet<u64>,
    /// The next number that the receiver delivers, those it holds back, and lost ones it need not wait for: the first
    /// of each gap, with the number after it.
    deliver: u64,
    held: BTreeSet<u64>,
    lost: BTreeMap<u64, u64>,
    in_place: u64,
    displaced: BTreeMap<i64, u64>,
    nothing_held: u64,
    occupied: BTreeMap<u64, u64>,
    beyond: u64,
}

impl Density {
    /// Notes the arrival of a number that has not come before.
    #[inline]
    pub fn arrive(&mut self, number: u64) {
        if number == self.index && self.ahead.is_empty() && self.early.is_empty() && self.deliver == self.index {
            self.index += 1;
            self.deliver += 1;
            self.in_place += 1;
            self.nothing_held += 1;
            return;
        }
        self.arrive_displaced(number);
    }

    fn arrive_displaced(&mut self, number: u64) {
        if number < self.index && !self.early.contains(&number) {
            self.beyond += 1;
            return;
        }
        self.ahead.push_back(number);
        self.assign(THRESHOLD);
    }

    /// Gives indices to arrivals, as far as more than `look_ahead` arrivals after them are known where that matters.
    fn assign(&mut self, look_ahead: usize) {
        while let Some(number) = self.ahead.front().copied() {
            if !self.early.contains(&self.index) && !self.ahead.contains(&self.index) {
                if self.ahead.len() <= look_ahead {
                    return;
                }
                self.skip_lost();
                continue;
            }
            self.ahead.pop_front();
            self.displace(number);
        }
    }

    /// The numbers from the index to the next one that has come are lost.
    fn skip_lost(&mut self) {
        let early = self.early.range(self.index..).next();
        let next = self
            .ahead
            .iter()
            .filter(|number| **number > self.index)
            .chain(early)
            .min();
        let next = next.copied().unwrap_or(self.index + 1);
        if self.deliver == self.index {
            self.deliver = next;
        } else {
            self.lost.insert(self.index, next);
        }
        self.index = next;
        self.deliver_held();
    }

    fn displace(&mut self, number: u64) {
        let displacement = self.index as i64 - number as i64;
        match displacement {
            0 => self.in_place += 1,
            _ => *self.displaced.entry(displacement).or_default() += 1,
        }
        self.early.remove(&self.index);
        if number > self.index {
            self.early.insert(number);
        }
        self.index += 1;
        self.hold(number);
    }

    fn hold(&mut self, number: u64) {
        self.held.insert(number);
        self.deliver_held();
        match self.held.len() as u64 {
            0 => self.nothing_held += 1,
            held => *self.occupied.entry(held).or_default() += 1,
        }
    }

    fn deliver_held(&mut self) {
        loop {
            if self.held.remove(&self.deliver) {
                self.deliver += 1;
            } else if let Some(end) = self.lost.remove(&self.deliver) {
                self.deliver = end;
            } else {
                break;
            }
        }
        // A number that is taken for lost although it is below what was delivered.
        self.held = self.held.split_off(&self.deliver);
    }

    /// Nothing comes any more.
    pub fn finish(&mut self) {
        self.assign(0);
    }

    /// Displacements with how many packets have them, in order.
    pub fn displacements(&self) -> Vec<(i64, u64)> {
        let mut all = self.displaced.clone();
        if self.in_place > 0 {
            all.insert(0, self.in_place);
        }
        all.into_iter().collect()
    }

    /// Packets held back, with how often.
    pub fn occupancies(&self) -> Vec<(u64, u64)> {
        let mut all = self.occupied.clone();
        if self.nothing_held > 0 {
            all.insert(0, self.nothing_held);
        }
        all.into_iter().collect()
    }

    /// Packets that came after they had been taken for lost.
    pub fn beyond(&self) -> u64 {
        self.beyond
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(numbers: &[u64]) -> Density {
        let mut density = Density::default();
        for number in numbers {
            density.arrive(*number);
        }
        density.finish();
        density
    }

    #[test]
    fn in_order_nothing_is_displaced_or_held() {
        let density = of(&[0, 1, 2, 3]);
        assert_eq!(density.displacements(), [(0, 4)]);
        assert_eq!(density.occupancies(), [(0, 4)]);
    }

    /// RFC 5236, table 1 and figure of §4.4, with numbers from 0: arrivals 1, 4, 3, 5, 3, 8, 7, 6 without the
    /// duplicate; 2 is lost.
    #[test]
    fn a_lost_packet_leaves_its_index_out() {
        let density = of(&[0, 3, 2, 4, 7, 6, 5]);
        // Indices 0, 2, 3, 4, 5, 6, 7 since 1 is lost.
        assert_eq!(density.displacements(), [(-2, 1), (-1, 1), (0, 3), (1, 1), (2, 1)]);
    }

    #[test]
    fn early_packets_are_held_until_the_missing_one_comes() {
        let density = of(&[0, 2, 3, 1, 4]);
        assert_eq!(density.displacements(), [(-1, 2), (0, 2), (2, 1)]);
        assert_eq!(density.occupancies(), [(0, 3), (1, 1), (2, 1)]);
    }

    #[test]
    fn after_a_loss_the_order_is_right_again() {
        let numbers: Vec<u64> = (0..200).filter(|number| number % 50 != 10).collect();
        let density = of(&numbers);
        assert_eq!(density.displacements(), [(0, 196)]);
        assert_eq!(density.beyond(), 0);
    }

    #[test]
    fn what_comes_after_the_threshold_is_beyond() {
        let mut numbers: Vec<u64> = (1..100).collect();
        numbers.push(0);
        let density = of(&numbers);
        assert_eq!(density.beyond(), 1);
        assert_eq!(density.displacements(), [(0, 99)]);
    }

    /// A receiver that waits for one more packet when very many after it are lost.
    #[test]
    fn a_large_loss_beside_a_late_packet_holds_nothing_back() {
        let numbers: Vec<u64> = [0, 1, 2, 4, 5, 1001, 3].into_iter().chain(1002..2000).collect();
        let density = of(&numbers);
        assert_eq!(density.occupancies(), [(0, 1002), (1, 1), (2, 1), (3, 1)]);
        assert!(density.held.is_empty() && density.lost.is_empty());
    }

    #[test]
    fn large_losses_are_skipped_at_once() {
        let numbers: Vec<u64> = [0, 1 << 35].into_iter().chain((1 << 35) + 1..(1 << 35) + 100).collect();
        assert_eq!(of(&numbers).displacements(), [(0, 101)]);
    }
}
