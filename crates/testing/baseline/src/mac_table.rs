//! Exact match on a MAC address: a bucket is a cache line.
//!
//! ```text
//!   bucket, 64 bytes: | entry | entry | entry | entry | entry | entry | entry | entry |
//!   entry, 8 bytes:   | MAC address 48 bits | value + 1, 16 bits |       0: nothing
//! ```
//!
//! Buckets are filled from the left; what does not fit goes to the next bucket, so a search ends at a bucket that is
//! not full. At most half of the places are used, which makes that rare.

use crate::memory::{TableArray, Zeroed, prefetch};
use crate::processor::{Instructions, Portable};

const PLACES: usize = 8;

/// 2^64 divided by the golden ratio: spreads numbers that follow one another evenly (Knuth, volume 3, §6.4).
const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;

#[derive(Clone, Copy)]
#[repr(C, align(64))]
struct Bucket([u64; PLACES]);

// SAFETY: integers.
unsafe impl Zeroed for Bucket {}

/// MAC addresses (in the low 48 bits of a number) with a value up to [`MacTable::VALUE_MAX`] each.
pub struct MacTable {
    buckets: TableArray<Bucket>,
    shift: u32,
}

impl MacTable {
    /// The largest value.
    pub const VALUE_MAX: u16 = u16::MAX - 1;

    /// Bytes above which look-ups are worth a prefetch: half of a second-level cache.
    pub const LARGE_BYTES: usize = 512 << 10;

    /// A table of these addresses; of two that are the same the first counts.
    ///
    /// # Panics
    /// When a value is too large.
    pub fn new(entries: &[(u64, u16)]) -> MacTable {
        let count = (2 * entries.len()).div_ceil(PLACES).next_power_of_two().max(2);
        let mut table = MacTable {
            buckets: TableArray::new(count),
            shift: u64::BITS - count.trailing_zeros(),
        };
        for (address, value) in entries {
            table.insert(*address, *value);
        }
        table
    }

    /// Whether it is larger than what stays in a cache near the core.
    pub fn is_large(&self) -> bool {
        size_of_val(&*self.buckets) > MacTable::LARGE_BYTES
    }

    fn insert(&mut self, address: u64, value: u16) {
        assert!(value <= MacTable::VALUE_MAX, "value {value}");
        if self.find::<Portable>(address).is_some() {
            return;
        }
        let mut home = self.home(address);
        loop {
            if let Some(place) = self.buckets[home].0.iter_mut().find(|place| **place == 0) {
                *place = (address << 16) | u64::from(value + 1);
                return;
            }
            home = (home + 1) & (self.buckets.len() - 1);
        }
    }

    #[inline(always)]
    fn home(&self, address: u64) -> usize {
        (address.wrapping_mul(GOLDEN) >> self.shift) as usize
    }

    /// Begins to load what [`MacTable::find`] will read.
    #[inline(always)]
    pub(crate) fn prefetch(&self, address: u64) {
        // The bucket's address is not looked at, only named.
        prefetch(self.buckets.as_ptr().wrapping_add(self.home(address)));
    }

    /// The value of an address.
    #[inline(always)]
    pub(crate) fn find<I: Instructions>(&self, address: u64) -> Option<u16> {
        let mut home = self.home(address);
        loop {
            // SAFETY: `home` has as many bits as there are powers of two in the number of buckets.
            let bucket = unsafe { self.buckets.get_unchecked(home) };
            let places = I::with_upper_bits(&bucket.0, address);
            if places != 0 {
                // SAFETY: there are eight places. An empty one looks like the address 0, but stands after that.
                let entry = unsafe { *bucket.0.get_unchecked(places.trailing_zeros() as usize) };
                return (entry as u16).checked_sub(1);
            }
            if bucket.0[PLACES - 1] == 0 {
                return None;
            }
            home = (home + 1) & (self.buckets.len() - 1);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_address_is_found_and_no_other() {
        for count in [0_u64, 1, 2, 9, 1_000, 40_000] {
            let entries: Vec<_> = (0..count)
                .map(|i| (0x0200_0000_0000 + i * 3, (i % 600) as u16))
                .collect();
            let table = MacTable::new(&entries);
            for (address, value) in &entries {
                assert_eq!(table.find::<Portable>(*address), Some(*value));
                assert_eq!(table.find::<Portable>(address + 1), None);
            }
            assert_eq!(table.find::<Portable>(0), None);
        }
    }

    #[test]
    fn the_address_zero_is_an_address() {
        assert_eq!(MacTable::new(&[(0, 5)]).find::<Portable>(0), Some(5));
    }

    #[test]
    fn the_first_of_two_counts() {
        assert_eq!(MacTable::new(&[(9, 5), (9, 6)]).find::<Portable>(9), Some(5));
    }
}
