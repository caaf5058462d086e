//! Operators on the bits themselves, and shifts (P4_16 §8.5).
//!
//! A shift may be by any amount: from the width on, every original bit has left.

use crate::{Bits, Repr};

impl Bits {
    /// `self & other`.
    #[inline]
    pub fn and(&self, other: &Bits) -> Bits {
        match self.inline_pair(other) {
            Some((width, a, b)) => Bits::inline(width, a & b),
            None => Bits::from_limb_fn(self.width(), |i| self.limb(i) & other.limb(i)),
        }
    }

    /// `self | other`.
    #[inline]
    pub fn or(&self, other: &Bits) -> Bits {
        match self.inline_pair(other) {
            Some((width, a, b)) => Bits::inline(width, a | b),
            None => Bits::from_limb_fn(self.width(), |i| self.limb(i) | other.limb(i)),
        }
    }

    /// `self ^ other`.
    #[inline]
    pub fn xor(&self, other: &Bits) -> Bits {
        match self.inline_pair(other) {
            Some((width, a, b)) => Bits::inline(width, a ^ b),
            None => Bits::from_limb_fn(self.width(), |i| self.limb(i) ^ other.limb(i)),
        }
    }

    /// `~self`.
    #[inline]
    pub fn not(&self) -> Bits {
        match &self.0 {
            Repr::Inline { width, value } => Bits::inline(*width, !value),
            Repr::Wide { width, .. } => Bits::from_limb_fn(*width, |i| !self.limb(i)),
        }
    }

    /// `self << amount`, with zeros from the right.
    #[inline]
    pub fn shl(&self, amount: u64) -> Bits {
        let width = self.width();
        if amount >= u64::from(width) {
            return Bits::zero(width);
        }
        match &self.0 {
            Repr::Inline { value, .. } => Bits::inline(width, value << amount),
            Repr::Wide { .. } => Bits::from_limb_fn(width, |i| self.limb_at(64 * i as i64 - amount as i64)),
        }
    }

    /// `self >> amount` on `bit<W>`, with zeros from the left.
    #[inline]
    pub fn shr(&self, amount: u64) -> Bits {
        let width = self.width();
        if amount >= u64::from(width) {
            return Bits::zero(width);
        }
        match &self.0 {
            Repr::Inline { value, .. } => Bits::inline(width, value >> amount),
            Repr::Wide { .. } => Bits::from_limb_fn(width, |i| self.limb_at(64 * i as i64 + amount as i64)),
        }
    }

    /// `self >> amount` on `int<W>`, with copies of the sign from the left.
    #[inline]
    pub fn ashr(&self, amount: u64) -> Bits {
        if self.is_negative() {
            self.not().shr(amount).not()
        } else {
            self.shr(amount)
        }
    }

    /// The 64 bits that start at bit `position`, with zeros on both sides of the value.
    #[inline]
    pub(crate) fn limb_at(&self, position: i64) -> u64 {
        let index = position.div_euclid(64);
        let shift = position.rem_euclid(64);
        let low = self.limb_or_zero(index) >> shift;
        if shift == 0 {
            return low;
        }
        low | self.limb_or_zero(index + 1) << (64 - shift)
    }

    #[inline]
    fn limb_or_zero(&self, index: i64) -> u64 {
        usize::try_from(index).map_or(0, |index| self.limb(index))
    }
}
