//! Cyclic redundancy checks of 8 to 64 bits with any parameters.
//!
//! The parameters are those of BMv2's custom CRCs and of the usual catalogues: the polynomial
//! without its top bit, the initial remainder, what the result is XORed with, and whether the bits
//! of each byte, and those of the result, are reversed.

/// The parameters of a CRC.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CrcParameters {
    /// Bits of the result: 8 to 64.
    pub width: u32,
    /// The polynomial, without its term of degree `width`.
    pub polynomial: u64,
    /// The remainder before the first byte.
    pub initial: u64,
    /// XORed with the final remainder.
    pub final_xor: u64,
    /// Whether each byte is taken from its least significant bit on.
    pub reflect_data: bool,
    /// Whether the final remainder is reversed.
    pub reflect_remainder: bool,
}

impl CrcParameters {
    /// The CRC of Ethernet: `crc32`, and `crc32_custom` until it has other parameters.
    pub const CRC_32: CrcParameters = CrcParameters {
        width: 32,
        polynomial: 0x04C1_1DB7,
        initial: 0xFFFF_FFFF,
        final_xor: 0xFFFF_FFFF,
        reflect_data: true,
        reflect_remainder: true,
    };

    /// CRC-16/ARC: `crc16`, and `crc16_custom` until it has other parameters.
    pub const CRC_16: CrcParameters = CrcParameters {
        width: 16,
        polynomial: 0x8005,
        initial: 0,
        final_xor: 0,
        reflect_data: true,
        reflect_remainder: true,
    };
}

/// A CRC with its tables of remainders.
///
/// Remainders are left-aligned in 64 bits here, whatever the width. Eight bytes are divided in one step: for each
/// byte, a table has the remainder of that byte followed by as many zero bytes as bytes follow it.
#[derive(Clone, Debug)]
pub struct Crc {
    parameters: CrcParameters,
    /// By the number of bytes that follow, and by byte.
    remainders: [[u64; 256]; STEP],
}

/// Bytes that are divided in one step.
const STEP: usize = 8;

impl Crc {
    /// Prepares a CRC.
    ///
    /// # Panics
    ///
    /// Unless the width is 8 to 64 bits.
    pub const fn new(parameters: CrcParameters) -> Crc {
        assert!(parameters.width >= 8 && parameters.width <= 64);
        let mut remainders = [[0; 256]; STEP];
        let mut byte = 0;
        while byte < 256 {
            remainders[0][byte] = remainder_of_byte(&parameters, byte as u64) << (64 - parameters.width);
            byte += 1;
        }
        let mut behind = 1;
        while behind < STEP {
            let mut byte = 0;
            while byte < 256 {
                let shorter = remainders[behind - 1][byte];
                remainders[behind][byte] = shorter << 8 ^ remainders[0][(shorter >> 56) as usize];
                byte += 1;
            }
            behind += 1;
        }
        Crc { parameters, remainders }
    }

    /// The parameters.
    pub fn parameters(&self) -> &CrcParameters {
        &self.parameters
    }

    /// The CRC of `data`.
    pub fn compute(&self, data: &[u8]) -> u64 {
        self.divide(self.parameters.initial, data)
    }

    /// The CRC of data whose first part has the CRC `before`, and whose rest is `data`.
    ///
    /// # Panics
    /// Unless the bits of data and remainder are both reversed or both not, as in the usual CRCs.
    pub fn compute_more(&self, before: u64, data: &[u8]) -> u64 {
        let parameters = &self.parameters;
        assert_eq!(parameters.reflect_data, parameters.reflect_remainder);
        let remainder = (before ^ parameters.final_xor) & width_mask(parameters.width);
        let remainder = if parameters.reflect_remainder {
            remainder.reverse_bits() >> (64 - parameters.width)
        } else {
            remainder
        };
        self.divide(remainder, data)
    }

    /// The remainder after `data`, starting from a remainder.
    fn divide(&self, remainder: u64, data: &[u8]) -> u64 {
        let parameters = &self.parameters;
        let mask = width_mask(parameters.width);
        let mut remainder = (remainder & mask) << (64 - parameters.width);
        let (steps, rest) = data.as_chunks::<STEP>();
        for bytes in steps {
            let bytes = if parameters.reflect_data {
                u64::from_le_bytes(*bytes).reverse_bits()
            } else {
                u64::from_be_bytes(*bytes)
            };
            let dividend = (remainder ^ bytes).to_le_bytes();
            remainder = dividend
                .into_iter()
                .zip(&self.remainders)
                .fold(0, |sum, (byte, remainders)| sum ^ remainders[usize::from(byte)]);
        }
        for &byte in rest {
            let byte = if parameters.reflect_data {
                byte.reverse_bits()
            } else {
                byte
            };
            let index = byte ^ (remainder >> 56) as u8;
            remainder = remainder << 8 ^ self.remainders[0][usize::from(index)];
        }
        let remainder = if parameters.reflect_remainder {
            remainder.reverse_bits()
        } else {
            remainder >> (64 - parameters.width)
        };
        (remainder ^ parameters.final_xor) & mask
    }
}

/// Divides one byte, followed by zeros, by the polynomial.
const fn remainder_of_byte(parameters: &CrcParameters, byte: u64) -> u64 {
    let mut remainder = byte << (parameters.width - 8);
    let mut bit = 0;
    while bit < 8 {
        let top = remainder >> (parameters.width - 1) & 1;
        remainder <<= 1;
        if top == 1 {
            remainder ^= parameters.polynomial;
        }
        bit += 1;
    }
    remainder & width_mask(parameters.width)
}

const fn width_mask(width: u32) -> u64 {
    u64::MAX >> (64 - width)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The check values of the CRC catalogue: the CRC of the ASCII digits 1 to 9.
    /// The result must not depend on how the data is split, also not for empty parts.
    #[test]
    fn a_crc_goes_on_where_it_was() {
        let data: Vec<u8> = (0..=99).collect();
        for parameters in [CrcParameters::CRC_32, CrcParameters::CRC_16] {
            let crc = Crc::new(parameters);
            for cut in 0..data.len() {
                let first = crc.compute(&data[..cut]);
                assert_eq!(crc.compute_more(first, &data[cut..]), crc.compute(&data));
                assert_eq!(crc.compute_more(first, &[]), first);
            }
            assert_eq!(crc.compute(&[]), 0);
        }
    }

    #[test]
    fn catalogue_check_values() {
        let crc = |width, polynomial, initial, final_xor, reflect| CrcParameters {
            width,
            polynomial,
            initial,
            final_xor,
            reflect_data: reflect,
            reflect_remainder: reflect,
        };
        let ecma = 0x42F0_E1EB_A9EA_3693;
        let ones = u64::MAX;
        let checks = [
            (CrcParameters::CRC_32, 0xCBF4_3926),
            (CrcParameters::CRC_16, 0xBB3D),
            (crc(8, 0x07, 0, 0, false), 0xF4),
            (crc(12, 0x80F, 0, 0, false), 0xF5B),
            (crc(16, 0x1021, 0xFFFF, 0, false), 0x29B1),
            (crc(16, 0x1021, 0xFFFF, 0xFFFF, true), 0x906E),
            (crc(24, 0x86_4CFB, 0xB7_04CE, 0, false), 0x21_CF02),
            (crc(32, 0x04C1_1DB7, ones, ones, false), 0xFC89_1918),
            (crc(32, 0x1EDC_6F41, ones, ones, true), 0xE306_9283),
            (crc(64, ecma, 0, 0, false), 0x6C40_DF5F_0B49_7347),
            (crc(64, ecma, ones, ones, true), 0x995D_C9BB_DF19_39FA),
        ];
        for (parameters, check) in checks {
            let found = Crc::new(parameters).compute(b"123456789");
            assert_eq!(found, check, "{parameters:x?}");
        }
    }
}
