//! The Internet checksum: the ones' complement of the ones' complement sum of 16-bit words
//! (RFC 1071), and the pseudo-headers of TCP and UDP (RFC 9293 §3.1, RFC 8200 §8.1). SCTP has CRC32c in its place.

use std::net::{Ipv4Addr, Ipv6Addr};

/// A running ones' complement sum, not yet folded.
///
/// Parts may be added one after another as long as each but the last has an even length.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Sum(u64);

impl Sum {
    /// The sum of nothing.
    pub fn new() -> Sum {
        Sum(0)
    }

    /// The sum with `bytes` added; an odd last byte counts as the high half of a word.
    #[must_use]
    pub fn add_bytes(self, bytes: &[u8]) -> Sum {
        let (quads, rest) = bytes.as_chunks::<4>();
        let (words, odd) = rest.as_chunks::<2>();
        let mut total = self.0 + sum_of_quads(quads);
        for word in words {
            total += u64::from(u16::from_be_bytes(*word));
        }
        if let [last] = odd {
            total += u64::from(*last) << 8;
        }
        Sum(total)
    }

    /// The sum with one 16-bit word added.
    #[must_use]
    pub fn add_word(self, word: u16) -> Sum {
        Sum(self.0 + u64::from(word))
    }

    /// The sum with the pseudo-header of IPv4 added.
    #[must_use]
    pub fn add_ipv4_pseudo_header(self, source: Ipv4Addr, destination: Ipv4Addr, protocol: u8, length: u16) -> Sum {
        self.add_bytes(&source.octets())
            .add_bytes(&destination.octets())
            .add_word(u16::from(protocol))
            .add_word(length)
    }

    /// The sum with the pseudo-header of IPv6 added.
    #[must_use]
    pub fn add_ipv6_pseudo_header(self, source: Ipv6Addr, destination: Ipv6Addr, next_header: u8, length: u32) -> Sum {
        self.add_bytes(&source.octets())
            .add_bytes(&destination.octets())
            .add_bytes(&length.to_be_bytes())
            .add_word(u16::from(next_header))
    }

    /// The sum folded to 16 bits, not complemented. Correct data with its checksum folds to 0xffff.
    pub fn fold(self) -> u16 {
        let mut total = self.0;
        while total > 0xffff {
            total = (total & 0xffff) + (total >> 16);
        }
        total as u16
    }

    /// The checksum: the complement of the folded sum.
    pub fn checksum(self) -> u16 {
        !self.fold()
    }

    /// The checksum as UDP sends it: a computed zero becomes 0xffff, because zero says
    /// "no checksum" (RFC 768).
    pub fn udp_checksum(self) -> u16 {
        match self.checksum() {
            0 => 0xffff,
            checksum => checksum,
        }
    }
}

/// The folded sum of the 16-bit words in groups of four bytes. Words are added in pairs and in the machine's byte
/// order, which gives the same with its bytes swapped (RFC 1071 §2): so the compiler can add several at a time.
fn sum_of_quads(quads: &[[u8; 4]]) -> u64 {
    let mut total = quads
        .iter()
        .map(|quad| u64::from(u32::from_ne_bytes(*quad)))
        .sum::<u64>();
    while total > 0xffff {
        total = (total & 0xffff) + (total >> 16);
    }
    u64::from(u16::from_be(total as u16))
}

/// The Internet checksum of `bytes`.
pub fn internet_checksum(bytes: &[u8]) -> u16 {
    Sum::new().add_bytes(bytes).checksum()
}

/// The CRC32c of `bytes` (RFC 9260 Appendix A). SCTP sends its low byte first.
pub fn crc32c(bytes: &[u8]) -> u32 {
    static REMAINDERS: [u32; 256] = crc32c_remainders();
    !bytes.iter().fold(!0u32, |crc, byte| {
        REMAINDERS[usize::from((crc as u8) ^ *byte)] ^ (crc >> 8)
    })
}

/// The remainder of each byte; bits are in reverse order.
const fn crc32c_remainders() -> [u32; 256] {
    let mut remainders = [0; 256];
    let mut byte = 0;
    while byte < 256 {
        let mut remainder = byte as u32;
        let mut bit = 0;
        while bit < 8 {
            remainder = (remainder >> 1) ^ if remainder & 1 == 1 { 0x82f6_3b78 } else { 0 };
            bit += 1;
        }
        remainders[byte] = remainder;
        byte += 1;
    }
    remainders
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_example_of_rfc_1071() {
        let bytes = [0x00, 0x01, 0xf2, 0x03, 0xf4, 0xf5, 0xf6, 0xf7];
        assert_eq!(Sum::new().add_bytes(&bytes).fold(), 0xddf2);
        assert_eq!(internet_checksum(&bytes), !0xddf2);
    }

    #[test]
    fn an_odd_byte_is_the_high_half() {
        assert_eq!(Sum::new().add_bytes(&[0x12]).fold(), 0x1200);
    }

    #[test]
    fn udp_never_sends_zero() {
        assert_eq!(Sum::new().add_word(0xffff).udp_checksum(), 0xffff);
    }

    #[test]
    fn the_check_value_of_crc32c() {
        assert_eq!(crc32c(b"123456789"), 0xe306_9283);
        assert_eq!(crc32c(&[]), 0);
    }

    proptest! {
        #[test]
        fn the_sum_is_that_of_the_words(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
            let words = bytes.chunks(2).map(|word| u64::from(word[0]) << 8 | u64::from(*word.get(1).unwrap_or(&0)));
            prop_assert_eq!(Sum::new().add_bytes(&bytes).fold(), Sum(words.sum()).fold());
        }

        #[test]
        fn data_with_its_checksum_folds_to_all_ones(
            mut bytes in proptest::collection::vec(any::<u8>(), 2..2000)
        ) {
            bytes.truncate(bytes.len() & !1);
            bytes[..2].fill(0);
            let checksum = internet_checksum(&bytes);
            bytes[..2].copy_from_slice(&checksum.to_be_bytes());
            prop_assert_eq!(Sum::new().add_bytes(&bytes).fold(), 0xffff);
        }
    }
}
