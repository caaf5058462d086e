//! CRC-32 (ISO 3309, as zlib and v1model's `crc32` compute it) of a few bytes whose number is known.
//!
//! The CRC is linear: that of a message is that of as many zeros, changed for each byte by what the byte alone changes
//! at its place. With a table for each place the look-ups do not wait for one another.

/// The polynomial, least significant bit first.
const POLYNOMIAL: u32 = 0xedb8_8320;

/// Tables for messages of `BYTES` bytes.
pub(crate) struct Crc32<const BYTES: usize> {
    places: Box<[[u32; 256]; BYTES]>,
    of_zeros: u32,
}

impl<const BYTES: usize> Crc32<BYTES> {
    /// Computes the tables.
    pub(crate) fn new() -> Crc32<BYTES> {
        let mut places = vec![[0; 256]; BYTES];
        for (place, table) in places.iter_mut().enumerate() {
            for (byte, change) in table.iter_mut().enumerate() {
                *change = (place..BYTES).fold(byte as u32, |crc, _| zero_byte(crc));
            }
        }
        Crc32 {
            places: places.try_into().expect("as many tables as bytes"),
            of_zeros: !(0..BYTES).fold(!0, |crc, _| zero_byte(crc)),
        }
    }

    /// The CRC of a message.
    #[inline(always)]
    pub(crate) fn of(&self, message: &[u8; BYTES]) -> u32 {
        let changes = message.iter().zip(&*self.places);
        changes.fold(self.of_zeros, |crc, (byte, table)| crc ^ table[usize::from(*byte)])
    }
}

/// A register after one more byte of zeros.
fn zero_byte(crc: u32) -> u32 {
    (0..8).fold(crc, |crc, _| (crc >> 1) ^ (POLYNOMIAL & 0_u32.wrapping_sub(crc & 1)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_check_value_of_the_catalogue() {
        assert_eq!(Crc32::<9>::new().of(b"123456789"), 0xcbf4_3926);
    }

    #[test]
    fn zeros() {
        assert_eq!(Crc32::<4>::new().of(&[0; 4]), 0x2144_df1c);
    }
}
