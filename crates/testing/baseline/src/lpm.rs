//! Longest prefix match of IPv4 addresses in one memory access, or two (P. Gupta, S. Lin, N. McKeown, "Routing lookups
//! in hardware at memory access speeds", INFOCOM 1998).
//!
//! ```text
//!   address: | first 24 bits | last 8 |
//!   first:   2^24 numbers: of a route, or with the top bit set of a group in `second`
//!   second:  256 numbers for each group
//! ```

use crate::memory::{TableArray, prefetch};

const GROUP: u16 = 0x8000;

/// Routes, each with a number from 1 to [`Lpm::NUMBER_MAX`]; 0 is no route.
pub struct Lpm {
    first: TableArray<u16>,
    second: Vec<[u16; 256]>,
}

/// A prefix: the first `length` bits of `address`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Prefix {
    /// The address; bits after the prefix are ignored.
    pub address: u32,
    /// Bits, 0 to 32.
    pub length: u8,
}

impl Lpm {
    /// The largest number of a route, and the most blocks of 256 addresses that have prefixes longer than 24 bits.
    pub const NUMBER_MAX: u16 = GROUP - 1;

    /// A table of these prefixes; of two that are the same the first counts.
    ///
    /// # Panics
    /// When a number is 0 or above [`Lpm::NUMBER_MAX`], a length above 32, or too many blocks have longer prefixes.
    pub fn new(routes: &[(Prefix, u16)]) -> Lpm {
        let mut sorted: Vec<_> = routes.iter().enumerate().collect();
        // Longer prefixes are written over shorter ones, the first of two equal ones over the second.
        sorted.sort_by_key(|(index, (prefix, _))| (prefix.length, std::cmp::Reverse(*index)));
        let mut table = Lpm {
            first: TableArray::new(1 << 24),
            second: Vec::new(),
        };
        for (_, (prefix, number)) in sorted {
            assert!((1..GROUP).contains(number), "route number {number}");
            assert!(prefix.length <= 32, "prefix of {} bits", prefix.length);
            table.write(*prefix, *number);
        }
        table
    }

    fn write(&mut self, prefix: Prefix, number: u16) {
        let free_bits = u32::from(32 - prefix.length);
        let begin = (u64::from(prefix.address) >> free_bits << free_bits) as usize;
        if prefix.length <= 24 {
            let count = 1 << (free_bits - 8);
            self.first[begin >> 8..][..count].fill(number);
            return;
        }
        let group = self.group(begin >> 8);
        self.second[group][begin & 0xff..][..1 << free_bits].fill(number);
    }

    /// The group of a block of 256 addresses, made of what the block had before.
    fn group(&mut self, block: usize) -> usize {
        let present = self.first[block];
        if present & GROUP != 0 {
            return usize::from(present & !GROUP);
        }
        let group = self.second.len();
        assert!(
            group < usize::from(GROUP),
            "more than {GROUP} blocks with longer prefixes"
        );
        self.second.push([present; 256]);
        self.first[block] = GROUP | group as u16;
        group
    }

    /// Begins to load what [`Lpm::find`] reads first.
    #[inline(always)]
    pub fn prefetch(&self, address: u32) {
        prefetch(self.first.as_ptr().wrapping_add((address >> 8) as usize));
    }

    /// The number of the longest prefix of an address, or 0.
    #[inline(always)]
    pub fn find(&self, address: u32) -> u16 {
        // SAFETY: there are 2^24 numbers.
        let number = unsafe { *self.first.get_unchecked((address >> 8) as usize) };
        if number & GROUP == 0 {
            return number;
        }
        self.second[usize::from(number & !GROUP)][(address & 0xff) as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use forebay_packet::SplitMix64;

    fn by_definition(routes: &[(Prefix, u16)], address: u32) -> u16 {
        let covers = |prefix: &Prefix| {
            let free_bits = u32::from(32 - prefix.length);
            u64::from(prefix.address) >> free_bits == u64::from(address) >> free_bits
        };
        let covering = routes.iter().rev().filter(|(prefix, _)| covers(prefix));
        covering
            .max_by_key(|(prefix, _)| prefix.length)
            .map_or(0, |(_, number)| *number)
    }

    #[test]
    fn the_longest_prefix_is_found() {
        let mut random = SplitMix64::new(1);
        let routes: Vec<_> = (1..600)
            .map(|number| {
                let address = (random.next_u64() as u32) & 0x0300_7fff;
                let length = [0, 6, 8, 9, 16, 17, 20, 23, 24, 25, 28, 31, 32][(random.next_u64() % 13) as usize];
                (Prefix { address, length }, number)
            })
            .collect();
        let routes = &routes[..];
        let table = Lpm::new(routes);
        for _ in 0..20_000 {
            let address = (random.next_u64() as u32) & 0x0300_7fff;
            assert_eq!(table.find(address), by_definition(routes, address), "{address:#x}");
        }
    }

    #[test]
    fn no_route_is_zero() {
        assert_eq!(Lpm::new(&[]).find(0x0a00_0001), 0);
    }
}
