//! The numbers of `random`: SplitMix64 (Steele, Lea and Flood 2014), a function of the seed that the switch passes in.

/// A sequence of numbers.
#[derive(Clone, Copy, Debug)]
pub struct Random(u64);

impl Random {
    /// What is added to the state with each number.
    pub const INCREMENT: u64 = 0x9E37_79B9_7F4A_7C15;
    /// How the state becomes a number: it is shifted right and XORed with itself, and multiplied, in turn. The last
    /// shift has no factor.
    pub const MIX: [(u32, Option<u64>); 3] = [
        (30, Some(0xBF58_476D_1CE4_E5B9)),
        (27, Some(0x94D0_49BB_1331_11EB)),
        (31, None),
    ];

    /// The sequence for a seed.
    pub fn new(seed: u64) -> Self {
        Random(seed)
    }

    /// The seed of the rest of the sequence.
    pub fn state(self) -> u64 {
        self.0
    }

    /// The next number.
    pub fn next_u64(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(Self::INCREMENT);
        Self::MIX.iter().fold(self.0, |mixed, (shift, factor)| {
            (mixed ^ (mixed >> shift)).wrapping_mul(factor.unwrap_or(1))
        })
    }

    /// A number from `low` to `high`, both inclusive; `None` when `low` is larger than `high`. Uniform up to 2^-64.
    ///
    /// Two numbers of the sequence are 128 binary places of a fraction below 1, by which the count of values is
    /// multiplied. The result is the integer part. The remainder of a division would take longer.
    pub fn between(&mut self, low: u64, high: u64) -> Option<u64> {
        let count = u128::from(high.checked_sub(low)?) + 1;
        let (upper, lower) = (u128::from(self.next_u64()), u128::from(self.next_u64()));
        let carry = (lower * count) >> 64;
        Some(low + ((upper * count + carry) >> 64) as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stays_between_its_bounds_and_repeats_with_its_seed() {
        let draw = |seed| {
            let mut random = Random::new(seed);
            (0..1000).map(|_| random.between(10, 12).unwrap()).collect::<Vec<_>>()
        };
        let drawn = draw(7);
        assert!(
            [10, 11, 12]
                .iter()
                .all(|n| drawn.iter().filter(|&d| d == n).count() > 250)
        );
        assert_eq!(drawn, draw(7));
        assert_ne!(drawn, draw(8));
    }

    #[test]
    fn extreme_bounds() {
        let mut random = Random::new(0);
        assert_eq!(random.between(5, 5), Some(5));
        assert_eq!(random.between(6, 5), None);
        // Between 0 and the largest number, the first of the sequence is drawn as it is; the second has no influence.
        let first = Random::new(9).next_u64();
        assert_eq!(Random::new(9).between(0, u64::MAX), Some(first));
        let drawn = Random::new(9).between(u64::MAX - 1, u64::MAX);
        assert_eq!(drawn, Some(u64::MAX - 1 + (first >> 63)));
    }
}
