//! Log-linear histograms of nanoseconds.
//!
//! Values below 256 are counted exactly. Above, each power of two is divided into 128 equal buckets, so a value is
//! known to better than 0.8 %. All of `u64` fits, so there is no range to set and nothing outside of it. Minimum,
//! maximum and mean are exact.

#![cfg_attr(not(test), deny(clippy::disallowed_methods, clippy::disallowed_types))]
#![forbid(unsafe_code)]

use serde::{Deserialize, Serialize};

/// Buckets of a power of two, as a power of two.
const PRECISION_BITS: u32 = 7;

/// Buckets for all of `u64`.
const BUCKETS: usize = ((64 - PRECISION_BITS as usize) << PRECISION_BITS) + (1 << PRECISION_BITS);

/// Counts of values.
#[derive(Clone, Debug, PartialEq)]
pub struct Histogram {
    counts: Vec<u64>,
    count: u64,
    sum: u128,
    min: u64,
    max: u64,
}

impl Default for Histogram {
    fn default() -> Histogram {
        Histogram {
            counts: vec![0; BUCKETS],
            count: 0,
            sum: 0,
            min: u64::MAX,
            max: 0,
        }
    }
}

impl Histogram {
    /// Counts a value.
    #[inline]
    pub fn record(&mut self, value: u64) {
        self.record_many(value, 1);
    }

    /// Counts a value `times` times.
    #[inline]
    pub fn record_many(&mut self, value: u64, times: u64) {
        if times == 0 {
            return;
        }
        self.counts[bucket_of(value)] += times;
        self.count += times;
        self.sum += u128::from(value) * u128::from(times);
        self.min = self.min.min(value);
        self.max = self.max.max(value);
    }

    /// The values that have been counted since `earlier`, a copy of this histogram. Minimum and maximum are those of
    /// their buckets, within the exact ones of all values.
    pub fn since(&self, earlier: &Histogram) -> Histogram {
        let counts = self.counts.iter().zip(&earlier.counts);
        let mut since = Histogram {
            counts: counts.map(|(now, then)| now.saturating_sub(*then)).collect(),
            sum: self.sum.saturating_sub(earlier.sum),
            ..Histogram::default()
        };
        since.count = since.counts.iter().sum();
        let first = since.buckets().next().map(|(lower, _, _)| lower);
        let last = since.buckets().last().map(|(_, upper, _)| upper);
        if let (Some(first), Some(last)) = (first, last) {
            (since.min, since.max) = (first.max(self.min), last.min(self.max));
        }
        since
    }

    /// Adds all values of another.
    pub fn add(&mut self, other: &Histogram) {
        for (own, count) in self.counts.iter_mut().zip(&other.counts) {
            *own += count;
        }
        self.count += other.count;
        self.sum += other.sum;
        self.min = self.min.min(other.min);
        self.max = self.max.max(other.max);
    }

    /// How many values there are.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// The smallest value; 0 without any.
    pub fn min(&self) -> u64 {
        if self.count == 0 { 0 } else { self.min }
    }

    /// The largest value; 0 without any.
    pub fn max(&self) -> u64 {
        self.max
    }

    /// The sum of all values.
    pub fn sum(&self) -> u128 {
        self.sum
    }

    /// The mean; 0 without any values.
    pub fn mean(&self) -> f64 {
        self.sum as f64 / self.count.max(1) as f64
    }

    /// The standard deviation, as exact as buckets are; 0 of one value, and without any.
    pub fn standard_deviation(&self) -> f64 {
        let mean = self.mean();
        let squares = self.buckets().map(|(lower, upper, count)| {
            let middle = (lower + (upper - lower) / 2).clamp(self.min, self.max);
            count as f64 * (middle as f64 - mean).powi(2)
        });
        // The sum of no floating-point numbers is -0.
        (squares.sum::<f64>().abs() / self.count.max(1) as f64).sqrt()
    }

    /// The value below or at which a share of the values lies, from 0 to 1: the middle of its bucket, but never outside
    /// of minimum and maximum. 0 without any values.
    pub fn quantile(&self, share: f64) -> u64 {
        self.at_rank((share * self.count as f64).ceil() as u64)
    }

    /// The value with this rank, from 1, in ascending order.
    pub fn at_rank(&self, rank: u64) -> u64 {
        if self.count == 0 || rank <= 1 {
            return self.min();
        }
        if rank >= self.count {
            return self.max;
        }
        let mut seen = 0;
        for (bucket, count) in self.counts.iter().enumerate() {
            seen += count;
            if seen >= rank {
                let (lower, upper) = bounds(bucket);
                return (lower + (upper - lower) / 2).clamp(self.min, self.max);
            }
        }
        self.max
    }

    /// The share of values at or below a value, as far as buckets tell.
    pub fn share_up_to(&self, value: u64) -> f64 {
        self.count_up_to(value) as f64 / self.count.max(1) as f64
    }

    /// How many values are at or below a value, as far as buckets tell.
    pub fn count_up_to(&self, value: u64) -> u64 {
        self.counts[..=bucket_of(value)].iter().sum()
    }

    /// The buckets that have values: smallest and largest value that falls into it, and how many did.
    pub fn buckets(&self) -> impl Iterator<Item = (u64, u64, u64)> + '_ {
        let used = self.counts.iter().enumerate().filter(|(_, count)| **count > 0);
        used.map(|(bucket, count)| {
            let (lower, upper) = bounds(bucket);
            (lower, upper, *count)
        })
    }

    /// What is reported of it.
    pub fn summary(&self) -> Distribution {
        Distribution {
            count: self.count,
            min_ns: self.min(),
            mean_ns: self.mean(),
            standard_deviation_ns: self.standard_deviation(),
            p50_ns: self.quantile(0.5),
            p90_ns: self.quantile(0.9),
            p99_ns: self.quantile(0.99),
            p99_9_ns: self.quantile(0.999),
            p99_99_ns: self.quantile(0.9999),
            max_ns: self.max,
            histogram: self.buckets().collect(),
        }
    }
}

/// A histogram as results have it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[allow(missing_docs)]
pub struct Distribution {
    pub count: u64,
    pub min_ns: u64,
    pub mean_ns: f64,
    pub standard_deviation_ns: f64,
    pub p50_ns: u64,
    pub p90_ns: u64,
    pub p99_ns: u64,
    pub p99_9_ns: u64,
    pub p99_99_ns: u64,
    pub max_ns: u64,
    /// Buckets with values: the smallest and the largest value that falls into it, and how many did.
    pub histogram: Vec<(u64, u64, u64)>,
}

impl Distribution {
    /// The histogram that it was made of, with its mean only as exact as buckets are.
    pub fn to_histogram(&self) -> Histogram {
        let mut histogram = Histogram::default();
        for (lower, upper, count) in &self.histogram {
            let middle = lower + (upper - lower) / 2;
            histogram.counts[bucket_of(middle)] += count;
            histogram.count += count;
            histogram.sum += u128::from(middle) * u128::from(*count);
        }
        if histogram.count > 0 {
            (histogram.min, histogram.max) = (self.min_ns, self.max_ns);
        }
        histogram
    }
}

#[inline]
fn bucket_of(value: u64) -> usize {
    let exponent = (63 - PRECISION_BITS).saturating_sub((value | 1).leading_zeros());
    ((exponent as usize) << PRECISION_BITS) + (value >> exponent) as usize
}

/// The smallest and the largest value of a bucket.
fn bounds(bucket: usize) -> (u64, u64) {
    let exponent = (bucket >> PRECISION_BITS).saturating_sub(1);
    let mantissa = (bucket - (exponent << PRECISION_BITS)) as u64;
    let lower = mantissa << exponent;
    (lower, lower + ((1 << exponent) - 1))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn buckets_join_without_gaps() {
        let mut next = 0;
        for bucket in 0..BUCKETS {
            let (lower, upper) = bounds(bucket);
            assert_eq!(lower, next, "bucket {bucket}");
            assert_eq!((bucket_of(lower), bucket_of(upper)), (bucket, bucket));
            next = upper.wrapping_add(1);
        }
        assert_eq!(next, 0, "the last bucket ends with u64");
    }

    proptest! {
        #[test]
        fn quantiles_are_within_one_percent(mut values in proptest::collection::vec(0..u64::MAX, 1..300), share in 0.0..=1.0f64) {
            let mut histogram = Histogram::default();
            values.iter().for_each(|value| histogram.record(*value));
            values.sort_unstable();
            let rank = ((share * values.len() as f64).ceil() as usize).clamp(1, values.len());
            let (exact, found) = (values[rank - 1] as f64, histogram.quantile(share) as f64);
            prop_assert!((found - exact).abs() <= 0.008 * exact + 1.0, "{found} for {exact}");
            prop_assert_eq!((histogram.min(), histogram.max()), (values[0], values[values.len() - 1]));
            let back = histogram.summary().to_histogram();
            prop_assert_eq!(back.quantile(share), histogram.quantile(share));
        }
    }

    /// Histograms with a range to set lose what lies outside; the exact minimum is missing from others.
    #[test]
    fn nothing_is_outside_and_the_minimum_is_exact() {
        let mut histogram = Histogram::default();
        for value in [0, 1_000_003, u64::MAX] {
            histogram.record(value);
        }
        assert_eq!(histogram.count(), 3);
        assert_eq!(histogram.buckets().map(|(_, _, count)| count).sum::<u64>(), 3);
        let mut one = Histogram::default();
        one.record(1_000_003);
        assert_eq!(
            (one.min(), one.quantile(0.5), one.max()),
            (1_000_003, 1_000_003, 1_000_003)
        );
        assert_eq!(one.standard_deviation(), 0.0);
    }

    #[test]
    fn without_values_all_is_zero() {
        let summary = Histogram::default().summary();
        assert_eq!(summary, Distribution::default());
        assert!(summary.standard_deviation_ns.is_sign_positive());
    }

    #[test]
    fn what_was_counted_since() {
        let mut histogram = Histogram::default();
        histogram.record_many(1_000_000, 7);
        histogram.record_many(5, 0);
        let earlier = histogram.clone();
        assert_eq!(histogram.since(&earlier), Histogram::default());
        histogram.record_many(200, 3);
        histogram.record(100);
        let since = histogram.since(&earlier);
        assert_eq!((since.count(), since.sum()), (4, 700));
        assert_eq!((since.min(), since.max(), since.quantile(0.5)), (100, 200, 200));
        assert_eq!((since.count_up_to(150), since.count_up_to(200)), (1, 4));
    }

    #[test]
    fn two_histograms_together() {
        let (mut all, mut first, mut second) = (Histogram::default(), Histogram::default(), Histogram::default());
        for value in 0..2000u64 {
            all.record(value * value);
            [&mut first, &mut second][(value % 2) as usize].record(value * value);
        }
        first.add(&second);
        assert!(first == all);
        assert!((all.mean() - 1_332_333.5).abs() < 1.0);
    }
}
