//! Slices, concatenation and changes of width (P4_16 §8.5, §8.11).

use crate::{Bits, Repr};

impl Bits {
    /// `self[high:low]`, both inclusive.
    ///
    /// # Panics
    ///
    /// Unless `low <= high < width`.
    #[inline]
    pub fn slice(&self, high: u32, low: u32) -> Bits {
        self.check_slice(high, low);
        let width = high - low + 1;
        match &self.0 {
            Repr::Inline { value, .. } => Bits::inline(width, value >> low),
            Repr::Wide { .. } => Bits::from_limb_fn(width, |i| self.limb_at(64 * i as i64 + i64::from(low))),
        }
    }

    /// `high ++ low`.
    #[inline]
    pub fn concat(high: &Bits, low: &Bits) -> Bits {
        let width = high.width() + low.width();
        if width <= crate::INLINE_BITS && low.width() < crate::INLINE_BITS {
            return Bits::inline(width, high.to_u128() << low.width() | low.to_u128());
        }
        let shift = i64::from(low.width());
        Bits::from_limb_fn(width, |i| low.limb(i) | high.limb_at(64 * i as i64 - shift))
    }

    /// The low `width` bits, with zeros above when `width` is larger: the cast of a `bit<W>`.
    #[inline]
    pub fn zext(&self, width: u32) -> Bits {
        match &self.0 {
            Repr::Inline { value, .. } => Bits::new(width, *value),
            Repr::Wide { .. } => Bits::from_limb_fn(width, |i| self.limb(i)),
        }
    }

    /// The low `width` bits, with copies of the sign above when `width` is larger: the cast of an
    /// `int<W>`.
    #[inline]
    pub fn sext(&self, width: u32) -> Bits {
        if self.is_negative() {
            self.not().zext(width).not()
        } else {
            self.zext(width)
        }
    }

    /// The low `width` bits.
    ///
    /// # Panics
    ///
    /// When `width` is larger than the value's.
    #[inline]
    pub fn truncate(&self, width: u32) -> Bits {
        assert!(width <= self.width(), "a truncation makes a value narrower");
        self.zext(width)
    }

    #[inline]
    fn check_slice(&self, high: u32, low: u32) {
        assert!(
            low <= high && high < self.width(),
            "slice [{high}:{low}] of {} bits",
            self.width()
        );
    }
}
