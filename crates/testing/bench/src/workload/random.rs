//! Random addresses and prefixes, the same in every run.

use forebay_baseline::lpm::Prefix;
use forebay_packet::SplitMix64;
use std::collections::HashSet;
use std::net::Ipv4Addr;

/// Different MAC addresses, locally administered.
pub(super) fn mac_addresses(count: usize) -> Vec<u64> {
    let mut random = SplitMix64::new(48);
    different(count, || 0x0200_0000_0000 | (random.next_u64() & 0xff_ffff_ffff))
}

/// Different prefixes, with lengths in about the proportions of the Internet's routing table: six in ten of 24 bits,
/// most others of 20 to 23, one in a hundred longer.
pub(super) fn prefixes(count: usize) -> Vec<Prefix> {
    let mut random = SplitMix64::new(24);
    different(count, || {
        let number = random.next_u64();
        let length = match number % 100 {
            0..60 => 24,
            60..70 => 23,
            70..82 => 22,
            82..87 => 21,
            87..92 => 20,
            92..95 => 19,
            95..97 => 18,
            97 => 17,
            98 => 16,
            _ => 25 + (number >> 8) as u8 % 8,
        };
        // Unicast addresses: 1.0.0.0 to 223.255.255.255.
        let address = 0x0100_0000 + ((number >> 16) as u32) % 0xdf00_0000;
        Prefix {
            address: address >> (32 - length) << (32 - length),
            length,
        }
    })
}

fn different<T: Copy + Eq + std::hash::Hash>(count: usize, mut next: impl FnMut() -> T) -> Vec<T> {
    let mut seen = HashSet::with_capacity(count);
    let mut found = Vec::with_capacity(count);
    while found.len() < count {
        let value = next();
        if seen.insert(value) {
            found.push(value);
        }
    }
    found
}

/// An address in a prefix, chosen by `number`.
pub(super) fn address_in(prefix: Prefix, number: u64) -> Ipv4Addr {
    let free = u32::MAX.checked_shr(prefix.length.into()).unwrap_or(0);
    let host = SplitMix64::new(number).next_u64() as u32 & free;
    Ipv4Addr::from_bits(prefix.address | host)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_and_prefixes_differ() {
        assert_eq!(mac_addresses(1000).into_iter().collect::<HashSet<_>>().len(), 1000);
        let prefixes = prefixes(1000);
        for (number, prefix) in prefixes.iter().enumerate() {
            let address = u64::from(address_in(*prefix, number as u64).to_bits());
            assert_eq!(
                address >> (32 - prefix.length),
                u64::from(prefix.address) >> (32 - prefix.length)
            );
        }
    }
}
