//! CRCs whose parameters are known at compile time.
//!
//! Generated code divides up to sixteen bytes in one step. For each byte of a step there is a table of remainders of
//! that byte followed by as many zero bytes as come after it in the step, so the look-ups are independent. Bits are
//! reflected throughout, as these CRCs require: the first bit of the data is the least significant.

use forebay_ir::HashAlgorithm;

/// Bytes that are divided in one step.
pub(crate) const STEP: usize = 16;

/// A CRC and its tables.
#[repr(C)]
pub(crate) struct Crc {
    /// Indexed by the number of bytes that follow, then by the byte.
    pub(crate) remainders: [[u32; 256]; STEP],
    /// The remainder before the first byte.
    pub(crate) initial: u32,
    /// XORed with the last remainder.
    pub(crate) final_xor: u32,
}

static CRC_32: Crc = Crc::new(0xEDB8_8320, u32::MAX, u32::MAX);
static CRC_16: Crc = Crc::new(0xA001, 0, 0);

impl Crc {
    /// The CRC of an algorithm, unless the control plane can change its parameters.
    pub(crate) fn of(algorithm: HashAlgorithm) -> Option<&'static Crc> {
        match algorithm {
            HashAlgorithm::Crc32 => Some(&CRC_32),
            HashAlgorithm::Crc16 => Some(&CRC_16),
            _ => None,
        }
    }

    /// The contribution of `initial` after `bytes` bytes: the remainder of that many zero bytes.
    pub(crate) fn initial_after(&self, bytes: u32) -> u32 {
        (0..bytes).fold(self.initial, |remainder, _| {
            (remainder >> 8) ^ self.remainders[0][usize::from(remainder as u8)]
        })
    }

    /// With a polynomial, reflected and without its highest term.
    const fn new(polynomial: u32, initial: u32, final_xor: u32) -> Crc {
        let mut remainders = [[0; 256]; STEP];
        let mut byte = 0;
        while byte < 256 {
            let mut remainder = byte as u32;
            let mut bit = 0;
            while bit < 8 {
                remainder = (remainder >> 1) ^ if remainder & 1 == 1 { polynomial } else { 0 };
                bit += 1;
            }
            remainders[0][byte] = remainder;
            byte += 1;
        }
        let mut following = 1;
        while following < STEP {
            let mut byte = 0;
            while byte < 256 {
                let shorter = remainders[following - 1][byte];
                remainders[following][byte] = (shorter >> 8) ^ remainders[0][(shorter & 0xFF) as usize];
                byte += 1;
            }
            following += 1;
        }
        Crc {
            remainders,
            initial,
            final_xor,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn remainders_are_those_of_the_catalogued_checks() {
        for (crc, check) in [(&CRC_32, 0xCBF4_3926), (&CRC_16, 0xBB3D)] {
            let remainder = b"123456789".iter().fold(crc.initial, |remainder, &byte| {
                (remainder >> 8) ^ crc.remainders[0][usize::from(remainder as u8 ^ byte)]
            });
            assert_eq!(remainder ^ crc.final_xor, check);
            let places = b"123456789".iter().zip((0..9).rev());
            let of_bytes = places.fold(0, |sum, (&byte, following)| {
                sum ^ crc.remainders[following][usize::from(byte)]
            });
            assert_eq!(of_bytes ^ crc.initial_after(9) ^ crc.final_xor, check);
        }
    }
}
