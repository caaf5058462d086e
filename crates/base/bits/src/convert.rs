//! Between [`Bits`] and bytes, machine integers and big integers.

use num_bigint::{BigInt, BigUint, Sign};

use crate::{Bits, Repr};

impl Bits {
    /// The number that `bytes` spells with the most significant byte first, modulo 2^`width`.
    ///
    /// Missing bytes are zeros, so `bytes` may be shorter or longer than the width requires.
    pub fn from_bytes_be(width: u32, bytes: &[u8]) -> Bits {
        Bits::from_limb_fn(width, |index| {
            let end = bytes.len().saturating_sub(index * 8);
            let start = end.saturating_sub(8);
            bytes[start..end]
                .iter()
                .fold(0, |limb, &byte| limb << 8 | u64::from(byte))
        })
    }

    /// The value in `ceil(width / 8)` bytes, the most significant first, right-aligned.
    pub fn to_bytes_be(&self) -> Vec<u8> {
        let length = self.width().div_ceil(8) as usize;
        match &self.0 {
            Repr::Inline { value, .. } => value.to_be_bytes()[16 - length..].to_vec(),
            Repr::Wide { .. } => (0..length)
                .rev()
                .map(|index| (self.limb(index / 8) >> (index % 8 * 8)) as u8)
                .collect(),
        }
    }

    /// `value` modulo 2^`width`, negative numbers in two's complement.
    pub fn from_bigint(width: u32, value: &BigInt) -> Bits {
        let magnitude = Bits::from_biguint(width, value.magnitude());
        match value.sign() {
            Sign::Minus => magnitude.neg(),
            Sign::NoSign | Sign::Plus => magnitude,
        }
    }

    /// `value` modulo 2^`width`.
    pub fn from_biguint(width: u32, value: &BigUint) -> Bits {
        let limbs: Vec<u64> = value.iter_u64_digits().take(width.div_ceil(64) as usize).collect();
        Bits::from_limbs(width, &limbs)
    }

    /// The value as `bit<W>`.
    pub fn to_biguint(&self) -> BigUint {
        match &self.0 {
            Repr::Inline { value, .. } => BigUint::from(*value),
            Repr::Wide { .. } => BigUint::from_bytes_be(&self.to_bytes_be()),
        }
    }

    /// The value as `int<W>`, in two's complement.
    pub fn to_signed_bigint(&self) -> BigInt {
        let unsigned = BigInt::from(self.to_biguint());
        if self.is_negative() {
            unsigned - (BigInt::from(1) << self.width())
        } else {
            unsigned
        }
    }

    /// The value whose 64-bit limbs are `limbs`, the least significant first, modulo 2^`width`.
    ///
    /// Missing limbs are zeros.
    pub fn from_limbs(width: u32, limbs: &[u64]) -> Bits {
        Bits::from_limb_fn(width, |index| limbs.get(index).copied().unwrap_or(0))
    }

    /// The `ceil(width / 64)` limbs of the value, the least significant first.
    pub fn limbs(&self) -> impl ExactSizeIterator<Item = u64> + '_ {
        (0..self.limb_count()).map(|index| self.limb(index))
    }

    /// The low 64 bits.
    #[inline]
    pub fn to_u64(&self) -> u64 {
        self.limb(0)
    }

    /// The low 128 bits.
    #[inline]
    pub fn to_u128(&self) -> u128 {
        match &self.0 {
            Repr::Inline { value, .. } => *value,
            Repr::Wide { limbs, .. } => u128::from(limbs[0]) | u128::from(limbs[1]) << 64,
        }
    }

    /// The value, if it fits in 64 bits.
    #[inline]
    pub fn try_to_u64(&self) -> Option<u64> {
        match &self.0 {
            Repr::Inline { value, .. } => u64::try_from(*value).ok(),
            Repr::Wide { limbs, .. } => {
                let fits = limbs[1..].iter().all(|&limb| limb == 0);
                fits.then_some(limbs[0])
            }
        }
    }

    /// The value, or `u64::MAX` when it is larger: right for shift amounts and array indices.
    #[inline]
    pub fn to_u64_saturating(&self) -> u64 {
        self.try_to_u64().unwrap_or(u64::MAX)
    }
}

impl From<bool> for Bits {
    fn from(value: bool) -> Bits {
        Bits::from_bool(value)
    }
}
