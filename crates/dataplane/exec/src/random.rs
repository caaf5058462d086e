//! The numbers of `random`: SplitMix64 (Steele, Lea and Flood 2014), a function of the seed that the switch passes in.

/// A sequence of numbers.
#[derive(Clone, Copy, Debug)]
pub struct Random(u64);

impl Random {
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
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    /// A number from `low` to `high`, both inclusive; `None` when `low` is larger than `high`. Uniform up to 2^-64.
    pub fn between(&mut self, low: u64, high: u64) -> Option<u64> {
        let span = u128::from(high.checked_sub(low)?) + 1;
        let drawn = u128::from(self.next_u64()) << 64 | u128::from(self.next_u64());
        Some(low + (drawn % span) as u64)
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
        assert!(random.between(0, u64::MAX).is_some());
    }
}
