//! Integer time, and what takes time in proportion to its size.

use crate::division::Divisor;

/// Simulated time since the start, or a span of it, in picoseconds. The end of `u64` is after 213 days.
pub type Picos = u64;

/// Picoseconds in a second.
pub(crate) const SECOND: Picos = 1_000_000_000_000;

/// Something that serves units (bits, packets, clock ticks) at a fixed rate, one after another.
///
/// A unit may take a fraction of a picosecond more than a whole number of them: a clock of 1.22 GHz has a period of
/// 819.67 ps. What a service leaves over is added to the next one, so after any number of services the sum is exact.
#[derive(Clone, Debug)]
pub struct Pacer {
    units_per_second: Divisor,
    /// Whole picoseconds that a unit takes, and the rest in parts of `units_per_second`.
    whole: Picos,
    rest: u64,
    /// What the last service has left of a picosecond, in parts of `units_per_second`.
    left_over: u64,
}

impl Pacer {
    /// Serves `units_per_second` units per second; 0 for no limit.
    pub fn new(units_per_second: u64) -> Pacer {
        Pacer {
            // Nothing is divided without a limit, as nothing takes time.
            units_per_second: Divisor::new(units_per_second.max(1)),
            whole: SECOND.checked_div(units_per_second).unwrap_or(0),
            rest: SECOND.checked_rem(units_per_second).unwrap_or(0),
            left_over: 0,
        }
    }

    /// How long the next `units` take. At most some millions, so that the product stays in 64 bits.
    #[inline]
    pub fn take(&mut self, units: u64) -> Picos {
        let (more, left_over) = self.units_per_second.divide(units * self.rest + self.left_over);
        self.left_over = left_over;
        units * self.whole + more
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_period_that_is_no_whole_number_is_exact_in_the_long_run() {
        let mut clock = Pacer::new(1_220_000_000);
        let sum: Picos = (0..1_220_000).map(|_| clock.take(1)).sum();
        assert_eq!(sum, SECOND / 1_000);
    }

    #[test]
    fn no_rate_means_no_time() {
        assert_eq!(Pacer::new(0).take(12_000), 0);
    }
}
