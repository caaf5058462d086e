//! Metrics as every format has them: families with a name, a help text and a kind, samples with labels and values.

use forebay_daemon::Histogram;
use std::fmt::Display;

/// What a family measures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A number that only grows, from 0 when the process starts.
    Counter,
    /// A number that grows and shrinks.
    Gauge,
    /// How many values lie below each of some bounds, with their sum.
    Histogram,
}

/// Metrics of one name.
#[derive(Clone, Debug, PartialEq)]
pub struct Family {
    /// The name, by the rules of Prometheus: base units, counters end with `_total`.
    pub name: &'static str,
    /// A sentence for people.
    pub help: &'static str,
    /// What it measures.
    pub kind: Kind,
    /// The values.
    pub samples: Vec<Sample>,
}

/// A value with its labels.
#[derive(Clone, Debug, PartialEq)]
pub struct Sample {
    /// Names and values of the labels; names are the same for all samples of a family.
    pub labels: Vec<(&'static str, String)>,
    /// The value.
    pub value: Value,
}

/// The value of a sample.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// A whole number.
    Count(u64),
    /// Any number.
    Number(f64),
    /// The buckets and the sum of a histogram.
    Distribution(Distribution),
}

/// Values of a histogram.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Distribution {
    /// Bounds in ascending order, and how many values are at or below each.
    pub up_to: Vec<(f64, u64)>,
    /// The sum of all values.
    pub sum: f64,
    /// How many values there are.
    pub count: u64,
}

/// Bounds of times, in nanoseconds: 1, 2.5 and 5 of each power of ten, from 100 ns to 10 s.
const TIME_BOUNDS_NS: [u64; 25] = [
    100,
    250,
    500,
    1_000,
    2_500,
    5_000,
    10_000,
    25_000,
    50_000,
    100_000,
    250_000,
    500_000,
    1_000_000,
    2_500_000,
    5_000_000,
    10_000_000,
    25_000_000,
    50_000_000,
    100_000_000,
    250_000_000,
    500_000_000,
    1_000_000_000,
    2_500_000_000,
    5_000_000_000,
    10_000_000_000,
];

impl Distribution {
    /// Times, in seconds, of a histogram of nanoseconds.
    pub fn of_times(histogram: &Histogram) -> Distribution {
        let bound = |bound_ns: &u64| (*bound_ns as f64 / 1e9, histogram.count_up_to(*bound_ns));
        Distribution {
            up_to: TIME_BOUNDS_NS.iter().map(bound).collect(),
            sum: histogram.sum() as f64 / 1e9,
            count: histogram.count(),
        }
    }
}

impl From<u64> for Value {
    fn from(count: u64) -> Value {
        Value::Count(count)
    }
}

impl From<usize> for Value {
    fn from(count: usize) -> Value {
        Value::Count(count as u64)
    }
}

impl From<bool> for Value {
    fn from(is_true: bool) -> Value {
        Value::Count(u64::from(is_true))
    }
}

impl From<f64> for Value {
    fn from(number: f64) -> Value {
        Value::Number(number)
    }
}

impl From<&Histogram> for Value {
    /// Times in nanoseconds.
    fn from(histogram: &Histogram) -> Value {
        Value::Distribution(Distribution::of_times(histogram))
    }
}

impl Family {
    fn new(kind: Kind, name: &'static str, help: &'static str) -> Family {
        Family {
            name,
            help,
            kind,
            samples: Vec::new(),
        }
    }

    /// A counter without samples yet.
    pub fn counter(name: &'static str, help: &'static str) -> Family {
        Family::new(Kind::Counter, name, help)
    }

    /// A gauge without samples yet.
    pub fn gauge(name: &'static str, help: &'static str) -> Family {
        Family::new(Kind::Gauge, name, help)
    }

    /// A histogram without samples yet.
    pub fn histogram(name: &'static str, help: &'static str) -> Family {
        Family::new(Kind::Histogram, name, help)
    }

    /// The family with one value without labels.
    #[must_use]
    pub fn of(mut self, value: impl Into<Value>) -> Family {
        self.add(&[], value);
        self
    }

    /// Adds a value.
    pub fn add(&mut self, labels: &[(&'static str, &dyn Display)], value: impl Into<Value>) {
        self.samples.push(Sample {
            labels: labels.iter().map(|(name, value)| (*name, value.to_string())).collect(),
            value: value.into(),
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_in_seconds_and_below_all_bounds_that_are_larger() {
        let mut histogram = Histogram::default();
        histogram.record_many(1_000, 3);
        histogram.record(2_000_000_000);
        let distribution = Distribution::of_times(&histogram);
        let up_to = |bound: f64| {
            let found = distribution.up_to.iter().find(|(at, _)| *at == bound);
            found.expect("a bound").1
        };
        assert_eq!((up_to(5e-7), up_to(1e-6), up_to(1.0), up_to(2.5)), (0, 3, 3, 4));
        assert_eq!(distribution.count, 4);
        assert!((distribution.sum - 2.000003).abs() < 1e-9);
    }
}
