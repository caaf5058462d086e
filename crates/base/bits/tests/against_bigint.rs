//! Every operation against the same operation on big integers, at every kind of width.

use forebay_bits::{Bits, read_bits, read_limbs, write_bits, write_limbs};
use num_bigint::{BigInt, BigUint};
use proptest::prelude::*;

/// Widths around the limits of the representation, small ones, and large ones.
fn width() -> impl Strategy<Value = u32> {
    prop_oneof![
        0u32..=70,
        118u32..=140,
        prop::sample::select(vec![0, 1, 63, 64, 65, 127, 128, 129, 191, 192, 193]),
        141u32..=2100,
    ]
}

/// A value of a width, often near the ends of its range.
fn value(width: u32) -> BoxedStrategy<Bits> {
    let random = prop::collection::vec(any::<u8>(), width.div_ceil(8) as usize)
        .prop_map(move |bytes| Bits::from_bytes_be(width, &bytes));
    let small = any::<u8>().prop_map(move |low| Bits::new(width, u128::from(low)));
    let large = any::<u8>().prop_map(move |low| Bits::new(width, u128::from(low)).not());
    prop_oneof![
        4 => random,
        1 => small,
        1 => large,
        1 => Just(Bits::ones(width).shr(1)),
        1 => Just(Bits::ones(width).shr(1).not()),
    ]
    .boxed()
}

fn one() -> impl Strategy<Value = Bits> {
    width().prop_flat_map(value)
}

fn pair() -> impl Strategy<Value = (Bits, Bits)> {
    width().prop_flat_map(|width| (value(width), value(width)))
}

fn power_of_two(exponent: u32) -> BigInt {
    BigInt::from(1) << exponent
}

fn unsigned(value: &Bits) -> BigInt {
    value.to_biguint().into()
}

/// `value` clamped to the unsigned range of `width`.
fn clamp_unsigned(width: u32, value: BigInt) -> BigInt {
    value.clamp(BigInt::ZERO, power_of_two(width) - 1)
}

/// `value` clamped to the two's complement range of `width`, which is 0 alone for width 0.
fn clamp_signed(width: u32, value: BigInt) -> BigInt {
    if width == 0 {
        return BigInt::ZERO;
    }
    value.clamp(-power_of_two(width - 1), power_of_two(width - 1) - 1)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(600))]

    #[test]
    fn values_are_normalised(width in width(), low in any::<u128>()) {
        let value = Bits::new(width, low);
        prop_assert_eq!(unsigned(&value), BigInt::from(low) % power_of_two(width));
        prop_assert_eq!(unsigned(&Bits::ones(width)), power_of_two(width) - 1);
        prop_assert!(Bits::zero(width).is_zero());
        prop_assert_eq!(value.width(), width);
    }

    #[test]
    fn conversions_round_trip(a in one()) {
        let width = a.width();
        let bytes = a.to_bytes_be();
        prop_assert_eq!(bytes.len(), width.div_ceil(8) as usize);
        prop_assert_eq!(BigUint::from_bytes_be(&bytes), a.to_biguint());
        prop_assert_eq!(&Bits::from_bytes_be(width, &bytes), &a);
        prop_assert_eq!(&Bits::from_bigint(width, &unsigned(&a)), &a);
        prop_assert_eq!(&Bits::from_bigint(width, &a.to_signed_bigint()), &a);
        let limbs: Vec<u64> = a.limbs().collect();
        prop_assert_eq!(&Bits::from_limbs(width, &limbs), &a);
        let signed = a.to_signed_bigint();
        prop_assert_eq!(clamp_signed(width, signed.clone()), signed);
        prop_assert_eq!(a.try_to_u64(), u64::try_from(a.to_biguint()).ok());
        prop_assert_eq!(a.to_u64_saturating(), u64::try_from(a.to_biguint()).unwrap_or(u64::MAX));
        prop_assert_eq!(BigUint::from(a.to_u64()), a.to_biguint() % (BigUint::from(1u8) << 64));
        prop_assert_eq!(BigUint::from(a.to_u128()), a.to_biguint() % (BigUint::from(1u8) << 128));
        prop_assert_eq!(a.is_zero(), a.to_biguint() == BigUint::ZERO);
        prop_assert_eq!(a.to_string(), format!("{width}w0x{:x}", a.to_biguint()));
    }

    #[test]
    fn from_bytes_takes_any_length(width in width(), bytes in prop::collection::vec(any::<u8>(), 0..40)) {
        let expected = BigInt::from(BigUint::from_bytes_be(&bytes));
        prop_assert_eq!(Bits::from_bytes_be(width, &bytes), Bits::from_bigint(width, &expected));
    }

    #[test]
    fn wrapping_arithmetic((a, b) in pair()) {
        let width = a.width();
        let (x, y) = (unsigned(&a), unsigned(&b));
        prop_assert_eq!(a.add(&b), Bits::from_bigint(width, &(&x + &y)));
        prop_assert_eq!(a.sub(&b), Bits::from_bigint(width, &(&x - &y)));
        prop_assert_eq!(a.mul(&b), Bits::from_bigint(width, &(&x * &y)));
        prop_assert_eq!(a.neg(), Bits::from_bigint(width, &-&x));
    }

    #[test]
    fn saturating_arithmetic((a, b) in pair()) {
        let width = a.width();
        let (x, y) = (unsigned(&a), unsigned(&b));
        prop_assert_eq!(unsigned(&a.saturating_add_unsigned(&b)), clamp_unsigned(width, &x + &y));
        prop_assert_eq!(unsigned(&a.saturating_sub_unsigned(&b)), clamp_unsigned(width, &x - &y));
        let (x, y) = (a.to_signed_bigint(), b.to_signed_bigint());
        let sum = a.saturating_add_signed(&b).to_signed_bigint();
        prop_assert_eq!(sum, clamp_signed(width, &x + &y));
        let difference = a.saturating_sub_signed(&b).to_signed_bigint();
        prop_assert_eq!(difference, clamp_signed(width, &x - &y));
    }

    #[test]
    fn division((a, b) in pair()) {
        let (x, y) = (unsigned(&a), unsigned(&b));
        let quotient = (!b.is_zero()).then(|| &x / &y);
        let remainder = (!b.is_zero()).then(|| &x % &y);
        prop_assert_eq!(a.udiv(&b).map(|value| unsigned(&value)), quotient);
        prop_assert_eq!(a.urem(&b).map(|value| unsigned(&value)), remainder);
    }

    #[test]
    fn comparison((a, b) in pair()) {
        prop_assert_eq!(a.cmp_unsigned(&b), a.to_biguint().cmp(&b.to_biguint()));
        prop_assert_eq!(a.cmp_signed(&b), a.to_signed_bigint().cmp(&b.to_signed_bigint()));
        prop_assert_eq!(a.cmp(&b).is_eq(), a == b);
    }

    #[test]
    fn comparison_of_different_widths(a in one(), b in one()) {
        prop_assert_eq!(a.cmp_unsigned(&b), a.to_biguint().cmp(&b.to_biguint()));
    }

    #[test]
    fn bitwise((a, b) in pair()) {
        let (x, y) = (a.to_biguint(), b.to_biguint());
        prop_assert_eq!(a.and(&b).to_biguint(), &x & &y);
        prop_assert_eq!(a.or(&b).to_biguint(), &x | &y);
        prop_assert_eq!(a.xor(&b).to_biguint(), &x ^ &y);
        prop_assert_eq!(unsigned(&a.not()), power_of_two(a.width()) - 1 - unsigned(&a));
        for index in 0..a.width() + 2 {
            prop_assert_eq!(a.bit(index), x.bit(index.into()));
        }
    }

    #[test]
    fn shifts(a in one(), amount in prop_oneof![0u64..2200, any::<u64>()]) {
        let width = a.width();
        let x = unsigned(&a);
        let bounded = amount.min(2200);
        prop_assert_eq!(a.shl(amount), Bits::from_bigint(width, &(&x << bounded)));
        prop_assert_eq!(unsigned(&a.shr(amount)), &x >> bounded);
        prop_assert_eq!(a.ashr(amount).to_signed_bigint(), a.to_signed_bigint() >> bounded);
    }

    #[test]
    fn slices(a in (1u32..2100).prop_flat_map(value), first in any::<prop::sample::Index>(), second in any::<prop::sample::Index>()) {
        let first = first.index(a.width() as usize) as u32;
        let second = second.index(a.width() as usize) as u32;
        let (high, low) = (first.max(second), first.min(second));
        let slice_width = high - low + 1;
        let expected = (unsigned(&a) >> low) % power_of_two(slice_width);
        prop_assert_eq!(unsigned(&a.slice(high, low)), expected);
    }

    #[test]
    fn concatenation(high in one(), low in one()) {
        let both = Bits::concat(&high, &low);
        prop_assert_eq!(both.width(), high.width() + low.width());
        prop_assert_eq!(unsigned(&both), (unsigned(&high) << low.width()) + unsigned(&low));
    }

    #[test]
    fn changes_of_width(a in one(), to in width()) {
        prop_assert_eq!(a.zext(to), Bits::from_bigint(to, &unsigned(&a)));
        prop_assert_eq!(a.sext(to), Bits::from_bigint(to, &a.to_signed_bigint()));
        if to <= a.width() {
            prop_assert_eq!(a.truncate(to), a.zext(to));
        }
    }

    #[test]
    fn fields_of_packets(a in one(), offset in 0usize..200, fill in any::<u8>(), spare in 0usize..3) {
        let width = a.width() as usize;
        let length = (offset + width).div_ceil(8) + spare;
        let before = vec![fill; length];
        let mut packet = before.clone();
        write_bits(&mut packet, offset, &a);
        prop_assert_eq!(&read_bits(&packet, offset, a.width()), &a);
        let whole = BigUint::from_bytes_be(&packet);
        let after_field = length * 8 - offset - width;
        let field = (whole >> after_field) % (BigUint::from(1u8) << width);
        prop_assert_eq!(field, a.to_biguint());
        write_bits(&mut packet, offset, &read_bits(&before, offset, a.width()));
        prop_assert_eq!(packet, before);
    }

    #[test]
    fn fields_of_packets_as_words(a in one(), offset in 0usize..200, fill in any::<u8>(), spare in 0usize..3) {
        let width = a.width() as usize;
        let mut expected = vec![fill; (offset + width).div_ceil(8) + spare];
        let mut packet = expected.clone();
        write_bits(&mut expected, offset, &a);
        let mut limbs: Vec<u64> = a.limbs().collect();
        if let Some(last) = limbs.last_mut().filter(|_| !width.is_multiple_of(64)) {
            // What stands above the width is left out.
            *last |= u64::MAX << (width % 64);
        }
        write_limbs(&mut packet, offset, &limbs, width);
        prop_assert_eq!(&packet, &expected);
        let mut read = vec![u64::MAX; limbs.len() + spare];
        read_limbs(&packet, offset, width, &mut read);
        let zeros = std::iter::repeat_n(0, spare);
        prop_assert_eq!(read, a.limbs().chain(zeros).collect::<Vec<u64>>());
    }
}
