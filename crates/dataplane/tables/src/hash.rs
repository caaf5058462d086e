//! The hash algorithms of v1model, as BMv2 computes them.
//!
//! A hash is a pure function of bytes: the values of the fields, one after another in network order ([`pack`]). The
//! result has at most 64 bits.

use forebay_bits::{Bits, write_bits};

use crate::checksum::internet_checksum;
use crate::crc::{Crc, CrcParameters};
use crate::toeplitz::toeplitz;

static CRC_32: Crc = Crc::new(CrcParameters::CRC_32);
static CRC_16: Crc = Crc::new(CrcParameters::CRC_16);

/// A hash algorithm (`HashAlgorithm` of v1model).
///
/// The custom CRCs are not among them: the control plane sets their parameters, and a [`Crc`] computes them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum HashAlgorithm {
    /// The CRC of Ethernet.
    Crc32,
    /// CRC-16/ARC.
    Crc16,
    /// A well-spread number. BMv2 has no such algorithm; here it is a 64-bit mix of the data, so that runs are
    /// reproducible and all executors agree.
    Random,
    /// The first 8 bytes of the data as a number.
    Identity,
    /// The Internet checksum, over data padded to whole 16-bit words.
    Csum16,
    /// All 16-bit words XORed, an odd last byte followed by a zero.
    Xor16,
    /// The CRC of Ethernet, continued: the first 4 bytes of the data are the CRC of the preceding data.
    Crc32More,
    /// CRC-16/ARC, continued in the same way from 2 bytes.
    Crc16More,
    /// The Toeplitz hash of PNA, with the usual key.
    Toeplitz,
}

impl HashAlgorithm {
    /// The hash of `data`.
    pub fn compute(self, data: &[u8]) -> u64 {
        match self {
            HashAlgorithm::Crc32 => CRC_32.compute(data),
            HashAlgorithm::Crc16 => CRC_16.compute(data),
            HashAlgorithm::Random => mix(data),
            HashAlgorithm::Identity => data.iter().take(8).fold(0, |value, &byte| value << 8 | u64::from(byte)),
            HashAlgorithm::Csum16 => internet_checksum(data).into(),
            HashAlgorithm::Xor16 => xor_of_words(data).into(),
            HashAlgorithm::Crc32More => more(&CRC_32, data, 4),
            HashAlgorithm::Crc16More => more(&CRC_16, data, 2),
            HashAlgorithm::Toeplitz => toeplitz(data).into(),
        }
    }

    /// The algorithm that v1model's `HashAlgorithm` gives this name.
    pub fn from_name(name: &str) -> Option<HashAlgorithm> {
        Some(match name {
            "crc32" => HashAlgorithm::Crc32,
            "crc16" => HashAlgorithm::Crc16,
            "random" => HashAlgorithm::Random,
            "identity" => HashAlgorithm::Identity,
            "csum16" => HashAlgorithm::Csum16,
            "xor16" => HashAlgorithm::Xor16,
            _ => return None,
        })
    }

    /// Bits of the result.
    pub fn width(self) -> u32 {
        match self {
            HashAlgorithm::Crc32 | HashAlgorithm::Crc32More | HashAlgorithm::Toeplitz => 32,
            HashAlgorithm::Crc16 | HashAlgorithm::Crc16More => 16,
            HashAlgorithm::Csum16 | HashAlgorithm::Xor16 => 16,
            HashAlgorithm::Random | HashAlgorithm::Identity => 64,
        }
    }
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

fn xor_of_words(data: &[u8]) -> u16 {
    let (words, tail) = data.as_chunks::<2>();
    let whole = words.iter().fold(0, |xor, &word| xor ^ u16::from_be_bytes(word));
    whole ^ tail.first().map_or(0, |&byte| u16::from(byte) << 8)
}

/// Folds 8 bytes at a time through the finalizer of SplitMix64.
fn mix(data: &[u8]) -> u64 {
    data.chunks(8).fold(data.len() as u64, |state, chunk| {
        let word = HashAlgorithm::Identity.compute(chunk);
        finalize((state ^ word).wrapping_add(0x9E37_79B9_7F4A_7C15))
    })
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
        let expected = [
            ("crc32", 0xCBF4_3926),
            ("crc16", 0xBB3D),
            ("identity", 0x3132_3334_3536_3738),
            ("csum16", 0xF62A),
            ("xor16", 0x3908),
        ];
        for (name, hash) in expected {
            let algorithm = HashAlgorithm::from_name(name).unwrap();
            assert_eq!(algorithm.compute(DIGITS), hash, "{name}");
            assert!(u128::from(hash) < 1 << algorithm.width());
        }
        assert_eq!(HashAlgorithm::from_name("md5"), None);
    }

    #[test]
    fn random_depends_on_every_byte_and_the_length() {
        let random = |data| HashAlgorithm::Random.compute(data);
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
