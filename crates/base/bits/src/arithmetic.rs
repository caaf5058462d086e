//! Arithmetic and comparison (P4_16 §8.5 to §8.7).

use std::cmp::Ordering;

use crate::Bits;

impl Bits {
    /// `self + other`, modulo 2^W.
    #[inline]
    pub fn add(&self, other: &Bits) -> Bits {
        match self.inline_pair(other) {
            Some((width, a, b)) => Bits::inline(width, a.wrapping_add(b)),
            None => self.wide_add(|index| other.limb(index), false),
        }
    }

    /// `self - other`, modulo 2^W.
    #[inline]
    pub fn sub(&self, other: &Bits) -> Bits {
        match self.inline_pair(other) {
            Some((width, a, b)) => Bits::inline(width, a.wrapping_sub(b)),
            None => self.wide_add(|index| !other.limb(index), true),
        }
    }

    /// `self * other`, modulo 2^W.
    #[inline]
    pub fn mul(&self, other: &Bits) -> Bits {
        match self.inline_pair(other) {
            Some((width, a, b)) => Bits::inline(width, a.wrapping_mul(b)),
            None => Bits::from_biguint(self.width(), &(self.to_biguint() * other.to_biguint())),
        }
    }

    /// `-self`, modulo 2^W: the same as `0 - self`.
    #[inline]
    pub fn neg(&self) -> Bits {
        Bits::zero(self.width()).sub(self)
    }

    /// `self |+| other` on `bit<W>`: the largest value instead of a carry.
    pub fn saturating_add_unsigned(&self, other: &Bits) -> Bits {
        let sum = self.add(other);
        if sum.cmp_unsigned(self).is_lt() {
            return Bits::ones(self.width());
        }
        sum
    }

    /// `self |-| other` on `bit<W>`: zero instead of a borrow.
    pub fn saturating_sub_unsigned(&self, other: &Bits) -> Bits {
        if self.cmp_unsigned(other).is_lt() {
            return Bits::zero(self.width());
        }
        self.sub(other)
    }

    /// `self |+| other` on `int<W>`: the nearest bound instead of an overflow.
    pub fn saturating_add_signed(&self, other: &Bits) -> Bits {
        let sum = self.add(other);
        let same_signs = self.is_negative() == other.is_negative();
        if same_signs && sum.is_negative() != self.is_negative() {
            return self.signed_bound();
        }
        sum
    }

    /// `self |-| other` on `int<W>`: the nearest bound instead of an overflow.
    pub fn saturating_sub_signed(&self, other: &Bits) -> Bits {
        let difference = self.sub(other);
        let same_signs = self.is_negative() == other.is_negative();
        if !same_signs && difference.is_negative() != self.is_negative() {
            return self.signed_bound();
        }
        difference
    }

    /// `self / other` on `bit<W>`, rounded down; `None` when `other` is zero.
    pub fn udiv(&self, other: &Bits) -> Option<Bits> {
        if other.is_zero() {
            return None;
        }
        Some(match self.inline_pair(other) {
            Some((width, a, b)) => Bits::inline(width, a / b),
            None => Bits::from_biguint(self.width(), &(self.to_biguint() / other.to_biguint())),
        })
    }

    /// `self % other` on `bit<W>`; `None` when `other` is zero.
    pub fn urem(&self, other: &Bits) -> Option<Bits> {
        if other.is_zero() {
            return None;
        }
        Some(match self.inline_pair(other) {
            Some((width, a, b)) => Bits::inline(width, a % b),
            None => Bits::from_biguint(self.width(), &(self.to_biguint() % other.to_biguint())),
        })
    }

    /// Compares the values as `bit<W>`. The widths may differ.
    #[inline]
    pub fn cmp_unsigned(&self, other: &Bits) -> Ordering {
        let limbs = self.limb_count().max(other.limb_count());
        if limbs <= 2 {
            return self.to_u128().cmp(&other.to_u128());
        }
        (0..limbs)
            .rev()
            .map(|index| self.limb(index).cmp(&other.limb(index)))
            .find(|order| order.is_ne())
            .unwrap_or(Ordering::Equal)
    }

    /// Compares the values as `int<W>`. The widths must be equal.
    #[inline]
    pub fn cmp_signed(&self, other: &Bits) -> Ordering {
        assert_eq!(self.width(), other.width(), "operands of one operation have one width");
        // A negative value is the smaller one, so the order of the signs is reversed.
        other
            .is_negative()
            .cmp(&self.is_negative())
            .then_with(|| self.cmp_unsigned(other))
    }

    /// The end of the range of `int<W>` on the side of this value's sign.
    fn signed_bound(&self) -> Bits {
        let largest = Bits::ones(self.width()).shr(1);
        if self.is_negative() { largest.not() } else { largest }
    }

    /// `self + addend + carry` for wide values; a subtraction adds the complement and a carry.
    fn wide_add(&self, addend: impl Fn(usize) -> u64, mut carry: bool) -> Bits {
        let mut limbs = Vec::with_capacity(self.limb_count());
        for index in 0..self.limb_count() {
            let (sum, first) = self.limb(index).overflowing_add(addend(index));
            let (sum, second) = sum.overflowing_add(u64::from(carry));
            carry = first || second;
            limbs.push(sum);
        }
        Bits::from_limb_fn(self.width(), |index| limbs[index])
    }
}

/// By value as `bit<W>`, then by width: a total order for sorted collections.
impl Ord for Bits {
    fn cmp(&self, other: &Bits) -> Ordering {
        self.cmp_unsigned(other).then_with(|| self.width().cmp(&other.width()))
    }
}

impl PartialOrd for Bits {
    fn partial_cmp(&self, other: &Bits) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}
