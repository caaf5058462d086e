//! CRCs as machine code computes them: with tables of 32 bits, in steps of sixteen bytes.
//!
//! For each byte of a step there is a table of remainders of that byte followed by as many zero bytes as come after it
//! in the step, so the look-ups are independent. Bits are reflected throughout: the first bit of the data is the least
//! significant.

use crate::crc::CrcParameters;

/// A CRC of at most 32 bits and its tables.
#[repr(C)]
#[derive(Debug)]
pub struct ReflectedCrc {
    /// Indexed by the number of bytes that follow, then by the byte.
    pub remainders: [[u32; 256]; ReflectedCrc::STEP],
    /// The remainder before the first byte.
    pub initial: u32,
    /// XORed with the last remainder.
    pub final_xor: u32,
}

impl ReflectedCrc {
    /// Bytes that are divided in one step.
    pub const STEP: usize = 16;

    /// With parameters that reflect data and remainder.
    ///
    /// # Panics
    /// If they do not, or the width is more than 32 bits.
    pub const fn new(parameters: CrcParameters) -> ReflectedCrc {
        assert!(parameters.reflect_data && parameters.reflect_remainder && parameters.width <= 32);
        let polynomial = reflected(parameters.polynomial, parameters.width);
        let mut remainders = [[0; 256]; ReflectedCrc::STEP];
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
        while following < ReflectedCrc::STEP {
            let mut byte = 0;
            while byte < 256 {
                let shorter = remainders[following - 1][byte];
                remainders[following][byte] = (shorter >> 8) ^ remainders[0][(shorter & 0xFF) as usize];
                byte += 1;
            }
            following += 1;
        }
        ReflectedCrc {
            remainders,
            initial: reflected(parameters.initial, parameters.width),
            final_xor: parameters.final_xor as u32,
        }
    }

    /// The contribution of `initial` after `bytes` bytes: the remainder of that many zero bytes.
    pub fn initial_after(&self, bytes: u32) -> u32 {
        (0..bytes).fold(self.initial, |remainder, _| {
            (remainder >> 8) ^ self.remainders[0][usize::from(remainder as u8)]
        })
    }
}

const fn reflected(number: u64, width: u32) -> u32 {
    (number.reverse_bits() >> (64 - width)) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn remainders_are_those_of_the_catalogued_checks() {
        for (parameters, check) in [(CrcParameters::CRC_32, 0xCBF4_3926), (CrcParameters::CRC_16, 0xBB3D)] {
            let crc = ReflectedCrc::new(parameters);
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
