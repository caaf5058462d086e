//! Values of any bit width with the arithmetic of P4_16.
//!
//! A [`Bits`] is a string of `width` bits. The types `bit<W>`, `int<W>` and `varbit<W>` of P4
//! all hold such strings; whether the top bit is a sign is a property of the *operation*
//! ([`Bits::cmp_signed`], [`Bits::ashr`], [`Bits::sext`], …), never of the value. `int<W>` is
//! two's complement (P4_16 §7.1.6.4), so wrapping addition, subtraction and multiplication are
//! the same for both types.
//!
//! ```
//! use forebay_bits::Bits;
//!
//! let a = Bits::new(8, 0xF0);
//! let b = Bits::new(8, 0x20);
//! assert_eq!(a.add(&b), Bits::new(8, 0x10));
//! assert_eq!(a.saturating_add_unsigned(&b), Bits::ones(8));
//! assert_eq!(a.slice(7, 4), Bits::new(4, 0xF));
//! assert_eq!(Bits::concat(&a, &b).to_string(), "16w0xf020");
//! ```
//!
//! # Representation and guarantees
//!
//! * Up to 128 bits a value is one inline `u128`; wider values are 64-bit limbs on the heap, the
//!   least significant first. The width alone decides which.
//! * Values are always normalised: bits above the width are zero. Hence equality and hashing are
//!   those of the fields, and `Bits::new(8, 1) != Bits::new(9, 1)`.
//! * A width of zero is legal (`bit<0>`, an empty `varbit`) and has the single value 0.
//!
//! # Panics
//!
//! The type checker has matched the operands' widths before any value exists, so an operation on
//! two values of different widths, or a slice outside its operand, is a mistake of ours: it
//! panics. Nothing panics on any *value*: shift amounts may be any size, and division by zero
//! returns `None`.
//!
//! # Layers
//!
//! This file holds the representation; `convert` bytes, integers and big integers; `arithmetic`
//! the operators on numbers; `bitwise` the operators on bits; `slicing` all that changes a width;
//! `field` the bit fields of a packet.

#![cfg_attr(not(test), deny(clippy::disallowed_methods, clippy::disallowed_types))]
#![forbid(unsafe_code)]

mod arithmetic;
mod bitwise;
mod convert;
mod field;
mod format;
mod slicing;

pub use field::{read_bits, read_limbs, write_bits, write_limbs};

/// The widest value that is kept inline.
const INLINE_BITS: u32 = u128::BITS;

/// A string of a known number of bits; see the [crate documentation](crate).
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Bits(Repr);

/// The width is inside the variants so that the whole value is 32 bytes.
#[derive(Clone, PartialEq, Eq, Hash)]
enum Repr {
    /// `width <= INLINE_BITS`.
    Inline { width: u32, value: u128 },
    /// `width > INLINE_BITS`, and exactly `width.div_ceil(64)` limbs.
    Wide { width: u32, limbs: Box<[u64]> },
}

const _: () = assert!(size_of::<Bits>() == 32);

impl Bits {
    /// The low `width` bits of `value`, extended with zeros when `width > 128`.
    #[inline]
    pub fn new(width: u32, value: u128) -> Bits {
        if width <= INLINE_BITS {
            return Bits::inline(width, value);
        }
        Bits::from_limb_fn(width, |index| match index {
            0 => value as u64,
            1 => (value >> 64) as u64,
            _ => 0,
        })
    }

    /// The value 0.
    #[inline]
    pub fn zero(width: u32) -> Bits {
        Bits::new(width, 0)
    }

    /// The value whose bits are all set: the largest `bit<width>`, and -1 as `int<width>`.
    #[inline]
    pub fn ones(width: u32) -> Bits {
        if width <= INLINE_BITS {
            return Bits::inline(width, u128::MAX);
        }
        Bits::from_limb_fn(width, |_| u64::MAX)
    }

    /// The one-bit value of a `bool`.
    #[inline]
    pub fn from_bool(value: bool) -> Bits {
        Bits::inline(1, u128::from(value))
    }

    /// The number of bits.
    #[inline]
    pub fn width(&self) -> u32 {
        match &self.0 {
            Repr::Inline { width, .. } | Repr::Wide { width, .. } => *width,
        }
    }

    /// Whether every bit is 0; true for a value of width 0.
    #[inline]
    pub fn is_zero(&self) -> bool {
        match &self.0 {
            Repr::Inline { value, .. } => *value == 0,
            Repr::Wide { limbs, .. } => limbs.iter().all(|&limb| limb == 0),
        }
    }

    /// Bit `index`, where 0 is the least significant; false outside the width.
    #[inline]
    pub fn bit(&self, index: u32) -> bool {
        self.limb(index as usize / 64) >> (index % 64) & 1 == 1
    }

    /// Whether the most significant bit is set: whether the value is negative as `int<W>`.
    #[inline]
    pub fn is_negative(&self) -> bool {
        self.width() > 0 && self.bit(self.width() - 1)
    }

    #[inline]
    fn inline(width: u32, value: u128) -> Bits {
        debug_assert!(width <= INLINE_BITS);
        Bits(Repr::Inline {
            width,
            value: value & low_mask(width),
        })
    }

    /// The value of which `limb(i)` gives bits `64 * i ..`; bits above the width are dropped.
    fn from_limb_fn(width: u32, limb: impl Fn(usize) -> u64) -> Bits {
        if width <= INLINE_BITS {
            return Bits::inline(width, u128::from(limb(0)) | u128::from(limb(1)) << 64);
        }
        let mut limbs: Box<[u64]> = (0..width.div_ceil(64) as usize).map(limb).collect();
        let used = width % 64;
        if used > 0 {
            let top = limbs.len() - 1;
            limbs[top] &= (1 << used) - 1;
        }
        Bits(Repr::Wide { width, limbs })
    }

    /// Bits `64 * index ..`, with zeros above the width.
    #[inline]
    fn limb(&self, index: usize) -> u64 {
        match &self.0 {
            Repr::Inline { value, .. } => match index {
                0 => *value as u64,
                1 => (*value >> 64) as u64,
                _ => 0,
            },
            Repr::Wide { limbs, .. } => limbs.get(index).copied().unwrap_or(0),
        }
    }

    /// Number of limbs that can be other than zero.
    fn limb_count(&self) -> usize {
        self.width().div_ceil(64) as usize
    }

    /// Both operands' inline values and their common width, or `None` when they are wide.
    #[inline]
    fn inline_pair(&self, other: &Bits) -> Option<(u32, u128, u128)> {
        assert_eq!(self.width(), other.width(), "operands of one operation have one width");
        match (&self.0, &other.0) {
            (Repr::Inline { width, value: a }, Repr::Inline { value: b, .. }) => Some((*width, *a, *b)),
            _ => None,
        }
    }
}

/// A `u128` whose low `width` bits are set (all of them from 128 on).
#[inline]
fn low_mask(width: u32) -> u128 {
    match width {
        0 => 0,
        1..INLINE_BITS => u128::MAX >> (INLINE_BITS - width),
        _ => u128::MAX,
    }
}
