//! Bit fields of packets: network order, at any bit offset.
//!
//! Bit 0 of a packet is the most significant bit of its first byte, and a field's most significant
//! bit comes first (P4_16 §13.8.1). Example: the 12-bit field at offset 4 of `AB CD` is `0xBCD`.

use crate::Bits;

/// The bits one `u128` access can move wherever they start: 16 bytes less one partial byte.
const CHUNK_BITS: usize = 120;

/// The `width` bits of `buffer` from `bit_offset` on.
///
/// # Panics
///
/// When the field does not lie inside the buffer: check lengths before extracting.
#[inline]
pub fn read_bits(buffer: &[u8], bit_offset: usize, width: u32) -> Bits {
    if width as usize <= CHUNK_BITS {
        return Bits::inline(width, load(buffer, bit_offset, width as usize));
    }
    let end = bit_offset + width as usize;
    Bits::from_limb_fn(width, |index| {
        let limb_end = end.saturating_sub(64 * index).max(bit_offset);
        let limb_start = limb_end.saturating_sub(64).max(bit_offset);
        load(buffer, limb_start, limb_end - limb_start) as u64
    })
}

/// Reads `width` bits of `buffer` from `bit_offset` on into words, the least significant first; words that need not be
/// are zero.
///
/// # Panics
///
/// When the field does not lie inside the buffer, or has more bits than the words.
#[inline]
pub fn read_limbs(buffer: &[u8], bit_offset: usize, width: usize, limbs: &mut [u64]) {
    let end = bit_offset + width;
    let (full, rest) = (width / 64, width % 64);
    if end.is_multiple_of(8) {
        let bytes = &buffer[..end / 8];
        for (limb, bytes) in limbs[..full].iter_mut().zip(bytes.rchunks_exact(8)) {
            *limb = u64::from_be_bytes(bytes.try_into().expect("8 bytes"));
        }
    } else {
        for (index, limb) in limbs[..full].iter_mut().enumerate() {
            *limb = load(buffer, end - 64 * (index + 1), 64) as u64;
        }
    }
    let mut above = full;
    if rest > 0 {
        limbs[full] = load(buffer, bit_offset, rest) as u64;
        above += 1;
    }
    limbs[above..].fill(0);
}

/// Writes the low `width` bits of words, the least significant first, into `buffer` from `bit_offset` on; the bits
/// around them keep their values.
///
/// # Panics
///
/// When the field does not lie inside the buffer, or has more bits than the words.
#[inline]
pub fn write_limbs(buffer: &mut [u8], bit_offset: usize, limbs: &[u64], width: usize) {
    let end = bit_offset + width;
    let (full, rest) = (width / 64, width % 64);
    if end.is_multiple_of(8) {
        let bytes = &mut buffer[..end / 8];
        for (limb, bytes) in limbs[..full].iter().zip(bytes.rchunks_exact_mut(8)) {
            bytes.copy_from_slice(&limb.to_be_bytes());
        }
    } else {
        for (index, limb) in limbs[..full].iter().enumerate() {
            store(buffer, end - 64 * (index + 1), 64, (*limb).into());
        }
    }
    if rest > 0 {
        store(buffer, bit_offset, rest, limbs[full].into());
    }
}

/// Writes `value` into `buffer` from `bit_offset` on; the bits around it keep their values.
///
/// # Panics
///
/// When the field does not lie inside the buffer.
#[inline]
pub fn write_bits(buffer: &mut [u8], bit_offset: usize, value: &Bits) {
    let width = value.width() as usize;
    if width <= CHUNK_BITS {
        return store(buffer, bit_offset, width, value.to_u128());
    }
    let end = bit_offset + width;
    for index in 0..value.limb_count() {
        let limb_end = end - 64 * index;
        let limb_start = limb_end.saturating_sub(64).max(bit_offset);
        let limb = u128::from(value.limb(index));
        store(buffer, limb_start, limb_end - limb_start, limb);
    }
}

/// Reads at most [`CHUNK_BITS`] bits.
#[inline]
fn load(buffer: &[u8], bit_offset: usize, width: usize) -> u128 {
    if width == 0 {
        return 0;
    }
    let covering = Covering::new(bit_offset, width);
    let word = covering.load(buffer);
    word >> covering.trailing_bits & crate::low_mask(width as u32)
}

/// Writes at most [`CHUNK_BITS`] bits.
#[inline]
fn store(buffer: &mut [u8], bit_offset: usize, width: usize, value: u128) {
    if width == 0 {
        return;
    }
    let covering = Covering::new(bit_offset, width);
    let mask = crate::low_mask(width as u32) << covering.trailing_bits;
    let around = covering.load(buffer) & !mask;
    covering.store(buffer, around | value << covering.trailing_bits & mask);
}

/// The whole bytes that a field of 1 to [`CHUNK_BITS`] bits touches.
struct Covering {
    first_byte: usize,
    /// At most 16.
    byte_count: usize,
    /// Bits of the last byte that come after the field.
    trailing_bits: usize,
}

impl Covering {
    #[inline]
    fn new(bit_offset: usize, width: usize) -> Covering {
        let end_bit = bit_offset + width;
        let first_byte = bit_offset / 8;
        let end_byte = end_bit.div_ceil(8);
        Covering {
            first_byte,
            byte_count: end_byte - first_byte,
            trailing_bits: end_byte * 8 - end_bit,
        }
    }

    #[inline]
    fn load(&self, buffer: &[u8]) -> u128 {
        let source = &buffer[self.first_byte..self.first_byte + self.byte_count];
        let mut bytes = [0; 16];
        bytes[16 - self.byte_count..].copy_from_slice(source);
        u128::from_be_bytes(bytes)
    }

    #[inline]
    fn store(&self, buffer: &mut [u8], word: u128) {
        let target = &mut buffer[self.first_byte..self.first_byte + self.byte_count];
        target.copy_from_slice(&word.to_be_bytes()[16 - self.byte_count..]);
    }
}
