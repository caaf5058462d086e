//! A small seeded random number generator, so that a faulty link is the same fault every run.

/// SplitMix64 (Steele, Lea and Flood, 2014): 64 bits of state, passes BigCrush, one multiply-xor
/// chain a number. Not for secrets.
#[derive(Debug, Clone)]
pub struct SplitMix64 {
    state: u64,
}

impl SplitMix64 {
    /// A generator whose whole sequence is fixed by `seed`.
    pub fn new(seed: u64) -> SplitMix64 {
        SplitMix64 { state: seed }
    }

    /// The next 64 random bits.
    pub fn next_u64(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.state;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// True with the given probability (0 never, 1 always).
    pub fn chance(&mut self, probability: f64) -> bool {
        let fraction = (self.next_u64() >> 11) as f64 / (1u64 << 53) as f64;
        fraction < probability
    }

    /// A number between 0 and 1, neither of them included.
    pub fn uniform(&mut self) -> f64 {
        ((self.next_u64() >> 11) as f64 + 0.5) / (1u64 << 53) as f64
    }

    /// A number of the exponential distribution with mean 1.
    pub fn exponential(&mut self) -> f64 {
        -self.uniform().ln()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_published_first_numbers_of_seed_zero() {
        let mut random = SplitMix64::new(0);
        assert_eq!(random.next_u64(), 0xe220_a839_7b1d_cdaf);
        assert_eq!(random.next_u64(), 0x6e78_9e6a_a1b9_65f4);
    }

    #[test]
    fn chances_come_out_about_right() {
        let mut random = SplitMix64::new(7);
        assert!((0..1000).all(|_| !random.chance(0.0)));
        assert!((0..1000).all(|_| random.chance(1.0)));
        let hits = (0..100_000).filter(|_| random.chance(0.25)).count();
        assert!((24_000..26_000).contains(&hits), "{hits} of 100000 at 0.25");
    }

    #[test]
    fn means_come_out_about_right() {
        let mut random = SplitMix64::new(7);
        let mut mean = |draw: fn(&mut SplitMix64) -> f64| (0..100_000).map(|_| draw(&mut random)).sum::<f64>() / 1e5;
        assert!((mean(SplitMix64::uniform) - 0.5).abs() < 0.01);
        assert!((mean(SplitMix64::exponential) - 1.0).abs() < 0.02);
    }
}
