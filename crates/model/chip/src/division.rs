//! Division by a number that stays the same.

/// A divisor, with what turns divisions by it into multiplications.
#[derive(Clone, Debug)]
pub(crate) struct Divisor {
    number: u64,
    /// 2^64 divided by the number, less a part that is not more than 1.
    inverse: u64,
}

impl Divisor {
    /// A divisor that is not 0.
    pub(crate) fn new(number: u64) -> Divisor {
        Divisor {
            number,
            inverse: u64::MAX / number,
        }
    }

    /// Quotient and rest.
    ///
    /// The product with the inverse is less than the exact quotient by less than 1, so what it gives is the quotient or
    /// one less than that.
    #[inline]
    pub(crate) fn divide(&self, dividend: u64) -> (u64, u64) {
        let quotient = ((u128::from(dividend) * u128::from(self.inverse)) >> 64) as u64;
        let rest = dividend - quotient * self.number;
        match rest.checked_sub(self.number) {
            Some(less) => (quotient + 1, less),
            None => (quotient, rest),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotients_and_rests_are_those_of_a_division() {
        let mut random = forebay_packet::SplitMix64::new(3);
        let mut number = || (random.next_u64() >> (random.next_u64() % 64)).max(1);
        let edges = [1, 2, 3, 80, 1 << 32, (1 << 63) - 1, 1 << 63, u64::MAX - 1, u64::MAX];
        let divisors: Vec<u64> = edges.into_iter().chain((0..200).map(|_| number())).collect();
        for &divisor in &divisors {
            let near = |factor: u64| divisor.wrapping_mul(factor);
            let dividends = divisors
                .iter()
                .flat_map(|&other| [other, near(other), near(other).wrapping_sub(1), 0]);
            for dividend in dividends {
                let expected = (dividend / divisor, dividend % divisor);
                assert_eq!(
                    Divisor::new(divisor).divide(dividend),
                    expected,
                    "{dividend} / {divisor}"
                );
            }
        }
    }
}
