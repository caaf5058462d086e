//! The hash algorithms of v1model, PSA and PNA, a function each; those of v1model as BMv2 computes them.
//!
//! A hash is a pure function of bytes: the values of the fields, one after another in network order ([`pack`]). The
//! result has at most 64 bits. Custom CRCs are not among the functions: the control plane sets their parameters, and a
//! [`Crc`] computes them.

use forebay_bits::{Bits, write_bits};

use crate::checksum::internet_checksum;
use crate::crc::{Crc, CrcParameters};

static CRC_32: Crc = Crc::new(CrcParameters::CRC_32);
static CRC_16: Crc = Crc::new(CrcParameters::CRC_16);

/// The CRC of Ethernet.
pub fn crc32(data: &[u8]) -> u64 {
    CRC_32.compute(data)
}

/// CRC-16/ARC.
pub fn crc16(data: &[u8]) -> u64 {
    CRC_16.compute(data)
}

/// [`crc32`] continued: the first 4 bytes of the data are the CRC of the preceding data.
pub fn crc32_more(data: &[u8]) -> u64 {
    more(&CRC_32, data, 4)
}

/// [`crc16`] continued in the same way from 2 bytes.
pub fn crc16_more(data: &[u8]) -> u64 {
    more(&CRC_16, data, 2)
}

/// A well-spread number of 64 bits. BMv2 has no such algorithm; here it is a mix of the data, so that runs are
/// reproducible and all executors agree.
pub fn random(data: &[u8]) -> u64 {
    // Folds 8 bytes at a time through the finalizer of SplitMix64.
    data.chunks(8).fold(data.len() as u64, |state, chunk| {
        finalize((state ^ identity(chunk)).wrapping_add(0x9E37_79B9_7F4A_7C15))
    })
}

/// The first 8 bytes of the data as a number.
pub fn identity(data: &[u8]) -> u64 {
    data.iter().take(8).fold(0, |value, &byte| value << 8 | u64::from(byte))
}

/// The Internet checksum, over data padded to whole 16-bit words.
pub fn csum16(data: &[u8]) -> u64 {
    internet_checksum(data).into()
}

/// All 16-bit words XORed, an odd last byte followed by a zero.
pub fn xor16(data: &[u8]) -> u64 {
    let (words, tail) = data.as_chunks::<2>();
    let whole = words.iter().fold(0u16, |xor, &word| xor ^ u16::from_be_bytes(word));
    u64::from(whole ^ tail.first().map_or(0, |&byte| u16::from(byte) << 8))
}

/// The Toeplitz hash of PNA, with the usual key: 32 bits.
pub fn toeplitz(data: &[u8]) -> u64 {
    crate::toeplitz::toeplitz(data).into()
}

/// The values one after another in network order, padded with zero bits to a whole byte.
pub fn pack<'a>(values: impl IntoIterator<Item = &'a Bits>) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut offset = 0;
    for value in values {
        let end = offset + value.width() as usize;
        bytes.resize(end.div_ceil(8), 0);
        write_bits(&mut bytes, offset, value);
        offset = end;
    }
    bytes
}

/// The CRC continued from the data's first bytes, which are the CRC of the preceding data.
fn more(crc: &Crc, data: &[u8], bytes: usize) -> u64 {
    let (before, data) = data.split_at(bytes.min(data.len()));
    let before = before.iter().fold(0, |value, byte| value << 8 | u64::from(*byte));
    crc.compute_more(before, data)
}

fn finalize(mut value: u64) -> u64 {
    value = (value ^ value >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    value = (value ^ value >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
    value ^ value >> 31
}

#[cfg(test)]
mod tests {
    use super::*;

    const DIGITS: &[u8] = b"123456789";

    #[test]
    fn every_algorithm_on_the_digits() {
        assert_eq!(crc32(DIGITS), 0xCBF4_3926);
        assert_eq!(crc16(DIGITS), 0xBB3D);
        assert_eq!(identity(DIGITS), 0x3132_3334_3536_3738);
        assert_eq!(csum16(DIGITS), 0xF62A);
        assert_eq!(xor16(DIGITS), 0x3908);
    }

    #[test]
    fn a_continued_crc_is_that_of_the_whole() {
        let (first, rest) = DIGITS.split_at(4);
        let crc32_of_first = (crc32(first) as u32).to_be_bytes();
        assert_eq!(crc32_more(&[&crc32_of_first[..], rest].concat()), crc32(DIGITS));
        let crc16_of_first = (crc16(first) as u16).to_be_bytes();
        assert_eq!(crc16_more(&[&crc16_of_first[..], rest].concat()), crc16(DIGITS));
        assert_eq!(
            crc32_more(&[&[0; 4][..], DIGITS].concat()),
            crc32(DIGITS),
            "no data before"
        );
    }

    #[test]
    fn random_depends_on_every_byte_and_the_length() {
        assert_eq!(random(b"abcdefghij"), random(b"abcdefghij"));
        assert_ne!(random(b"abcdefghij"), random(b"abcdefghik"));
        assert_ne!(random(b"\0"), random(b"\0\0"));
    }

    #[test]
    fn fields_are_packed_from_the_left() {
        let fields = [Bits::new(4, 0xA), Bits::new(16, 0xBCDE), Bits::new(1, 1)];
        assert_eq!(pack(&fields), [0xAB, 0xCD, 0xE8]);
        assert!(pack([]).is_empty());
    }
}
