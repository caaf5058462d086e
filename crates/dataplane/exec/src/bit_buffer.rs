//! A buffer that grows by bits: the deparser's output, and the input of hashes.

use forebay_bits::{Bits, read_bits, write_bits, write_limbs};

/// Bits, the first in the most significant position of the first byte.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BitBuffer {
    bytes: Vec<u8>,
    bits: usize,
}

impl BitBuffer {
    /// Removes all bits, and keeps the memory.
    pub fn clear(&mut self) {
        self.bytes.clear();
        self.bits = 0;
    }

    /// Number of bits.
    pub fn len_bits(&self) -> usize {
        self.bits
    }

    /// The bits, padded with zeros to a whole byte.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Takes the bytes, and leaves an empty buffer that uses `memory`.
    pub fn take(&mut self, mut memory: Vec<u8>) -> Vec<u8> {
        memory.clear();
        self.bits = 0;
        std::mem::replace(&mut self.bytes, memory)
    }

    /// Appends a value.
    pub fn push(&mut self, value: &Bits) {
        let start = self.bits;
        self.bits += value.width() as usize;
        self.bytes.resize(self.bits.div_ceil(8), 0);
        write_bits(&mut self.bytes, start, value);
    }

    /// Appends the low `bits` bits of words, the least significant first.
    pub fn push_limbs(&mut self, limbs: &[u64], bits: usize) {
        let start = self.bits;
        self.bits += bits;
        self.bytes.resize(self.bits.div_ceil(8), 0);
        write_limbs(&mut self.bytes, start, limbs, bits);
    }

    /// Appends the first `bits` bits of `source`. The bits after them, up to a whole byte, must be zero.
    #[inline]
    pub fn append(&mut self, source: &[u8], bits: usize) {
        if self.bits.is_multiple_of(8) {
            self.bytes.extend_from_slice(&source[..bits.div_ceil(8)]);
            self.bits += bits;
        } else {
            self.append_shifted(source, bits);
        }
    }

    /// Appends zero bytes for the caller to fill in. `None` if the buffer does not end on a byte boundary.
    #[inline]
    pub fn append_zeros(&mut self, bytes: usize) -> Option<&mut [u8]> {
        if !self.bits.is_multiple_of(8) {
            return None;
        }
        let start = self.bytes.len();
        self.bytes.resize(start + bytes, 0);
        self.bits += 8 * bytes;
        Some(&mut self.bytes[start..])
    }

    /// Keeps only the first `bytes` bytes. The buffer must end on a byte boundary.
    #[inline]
    pub fn truncate_bytes(&mut self, bytes: usize) {
        debug_assert!(self.bits.is_multiple_of(8));
        self.bytes.truncate(bytes);
        self.bits = 8 * self.bytes.len();
    }

    #[cold]
    fn append_shifted(&mut self, source: &[u8], bits: usize) {
        for position in (0..bits).step_by(64) {
            self.push(&read_bits(source, position, (bits - position).min(64) as u32));
        }
    }

    /// Appends the bits of `source` from `start_bit` on.
    pub fn push_from(&mut self, source: &[u8], start_bit: usize) {
        let end = source.len() * 8;
        if self.bits.is_multiple_of(8) && start_bit.is_multiple_of(8) {
            self.bytes.extend_from_slice(source.get(start_bit / 8..).unwrap_or(&[]));
            self.bits = self.bytes.len() * 8;
            return;
        }
        let mut position = start_bit;
        while position < end {
            let width = (end - position).min(64);
            self.push(&read_bits(source, position, width as u32));
            position += width;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_follow_each_other_without_gaps() {
        let mut buffer = BitBuffer::default();
        buffer.push(&Bits::new(4, 0xA));
        buffer.push(&Bits::new(12, 0xBCD));
        buffer.push(&Bits::new(3, 0b101));
        assert_eq!(buffer.bytes(), [0xAB, 0xCD, 0xA0]);
        assert_eq!(buffer.len_bits(), 19);
    }

    #[test]
    fn whole_strings_of_bits_are_appended() {
        let mut buffer = BitBuffer::default();
        buffer.append(&[0xAB, 0xC0], 12);
        buffer.append(&[0xDE, 0xF0], 12);
        buffer.append(&[0x12], 8);
        assert_eq!(buffer.bytes(), [0xAB, 0xCD, 0xEF, 0x12]);
        assert_eq!(buffer.len_bits(), 32);
    }

    #[test]
    fn unaligned_remainders_are_shifted() {
        let mut buffer = BitBuffer::default();
        buffer.push(&Bits::new(4, 0x1));
        buffer.push_from(&[0xFA, 0xBC, 0xDE], 4);
        assert_eq!(buffer.bytes(), [0x1A, 0xBC, 0xDE]);
        buffer.push_from(&[1, 2], 8);
        assert_eq!(buffer.bytes(), [0x1A, 0xBC, 0xDE, 2]);
        buffer.push_from(&[1], 64);
        assert_eq!(buffer.take(Vec::new()), [0x1A, 0xBC, 0xDE, 2]);
        assert_eq!(buffer.len_bits(), 0);
    }
}
