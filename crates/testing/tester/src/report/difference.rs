//! The difference of a quantity of two results, and what is known of it.
//!
//! With three values or more on both sides, a difference is that of the means, with Welch's 95 % interval. With fewer,
//! only what the frames of a trial say of its own value is known: shares of lost frames by Newcombe's interval, quantiles
//! of latency by the ranks around them, and nothing of rates. Frames of a trial are not independent, so those intervals
//! are too narrow; the table says which kind each is.

use crate::histogram::Histogram;
use serde::{Serialize, Serializer};
use std::fmt::Write;

/// The 97.5 % point of the normal distribution.
const Z: f64 = 1.96;

/// Values from which the variation between trials is known.
const TRIALS_MIN: usize = 3;

/// What is compared.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Quantity {
    /// Its name, with its unit.
    pub name: &'static str,
    /// Why a result may be without a value, in words that `before` or `after` follows.
    pub missing: &'static str,
    /// Whether a search finds it, once, so that nothing is known of its error.
    pub is_searched: bool,
}

impl Quantity {
    /// One that is measured in trials.
    pub const fn measured(name: &'static str, missing: &'static str) -> Quantity {
        Quantity {
            name,
            missing,
            is_searched: false,
        }
    }

    /// One that a search finds.
    pub const fn searched(name: &'static str, missing: &'static str) -> Quantity {
        Quantity {
            is_searched: true,
            ..Quantity::measured(name, missing)
        }
    }
}

impl Serialize for Quantity {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name)
    }
}

/// What a result has of which the other knows nothing.
const PRESENCE: Quantity = Quantity::measured("measured", "");

/// A quantity of two results.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Difference {
    /// Of what it is: a stream and its port, a frame size, a case.
    pub path: String,
    /// What is compared.
    pub quantity: Quantity,
    /// The first value; none when no trial has one.
    pub before: Option<f64>,
    /// The second value.
    pub after: Option<f64>,
    /// The 95 % interval of the second less the first; none when single trials say nothing of it, or a value is
    /// missing.
    pub interval: Option<(f64, f64)>,
    /// Whether the interval is from the variation between trials.
    pub between_trials: bool,
    /// Of a path that one of the results has alone: `before` or `after`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub only_in: Option<&'static str>,
}

/// A value, and what its error within a trial leaves possible: the lowest and the highest value.
pub type Estimate = (f64, Option<(f64, f64)>);

impl Difference {
    /// Of the values of trials.
    pub fn of(path: &str, quantity: Quantity, old: &[Estimate], new: &[Estimate]) -> Difference {
        let between_trials = old.len() >= TRIALS_MIN && new.len() >= TRIALS_MIN;
        Difference {
            path: path.to_string(),
            quantity,
            before: mean(&values(old)),
            after: mean(&values(new)),
            interval: if between_trials {
                between(&values(old), &values(new))
            } else {
                pooled(old).zip(pooled(new)).and_then(|(old, new)| within(old, new))
            },
            between_trials,
            only_in: None,
        }
    }

    /// Of values of whose error nothing is known: one on each side, or several.
    pub fn of_values(path: &str, quantity: Quantity, old: &[f64], new: &[f64]) -> Difference {
        let plain = |values: &[f64]| values.iter().map(|value| (*value, None)).collect::<Vec<Estimate>>();
        Difference::of(path, quantity, &plain(old), &plain(new))
    }

    /// Whether the interval leaves out 0.
    pub fn is_significant(&self) -> bool {
        self.interval.is_some_and(|(low, high)| low > 0.0 || high < 0.0)
    }

    /// Why a value is missing, in words.
    fn missing(&self) -> String {
        let side = match (self.before, self.after) {
            (None, None) => "before and after",
            (None, Some(_)) => "before",
            (Some(_), _) => "after",
        };
        format!("{} {side}", self.quantity.missing)
    }
}

/// What each of two results has alone, of these names.
pub fn alone(before: &[String], after: &[String]) -> Vec<Difference> {
    let only_in = |side, own: &[String], others: &[String]| -> Vec<Difference> {
        let alone = own.iter().filter(|path| !others.contains(path));
        let difference = |path: &String| Difference {
            only_in: Some(side),
            ..Difference::of(path, PRESENCE, &[], &[])
        };
        alone.map(difference).collect()
    };
    let mut found = only_in("before", before, after);
    found.extend(only_in("after", after, before));
    found
}

/// A share of so many frames, with Wilson's interval; none of no frame.
pub fn share(share: f64, count: u64) -> Option<Estimate> {
    let count = (count > 0).then_some(count as f64)?;
    let middle = (share + Z * Z / (2.0 * count)) / (1.0 + Z * Z / count);
    let half = Z / (1.0 + Z * Z / count) * (share * (1.0 - share) / count + Z * Z / (4.0 * count * count)).sqrt();
    Some((share, Some(((middle - half).max(0.0), (middle + half).min(1.0)))))
}

/// A quantile, with the values at the ranks between which it lies in 95 % of samples; none of nothing.
pub fn quantile(of: &Histogram, share: f64) -> Option<Estimate> {
    let count = (of.count() > 0).then_some(of.count() as f64)?;
    let half = Z * (count * share * (1.0 - share)).sqrt();
    let at = |rank: f64| of.at_rank(rank.clamp(1.0, count) as u64) as f64;
    let middle = (count * share).ceil();
    let range = (at((middle - half).floor()), at((middle + half).ceil()));
    Some((at(middle), Some(range)))
}

fn values(estimates: &[Estimate]) -> Vec<f64> {
    estimates.iter().map(|(value, _)| *value).collect()
}

/// The mean of trials with what a single one leaves possible around it; none of nothing.
fn pooled(estimates: &[Estimate]) -> Option<Estimate> {
    let value = mean(&values(estimates))?;
    let ranges: Option<Vec<(f64, f64)>> = estimates.iter().map(|(_, range)| *range).collect();
    let range = ranges.and_then(|ranges| {
        let (lows, highs): (Vec<f64>, Vec<f64>) = ranges.into_iter().unzip();
        mean(&lows).zip(mean(&highs))
    });
    Some((value, range))
}

/// The interval of a difference from those of both values (Newcombe, 1998, method 10); none when one has none.
fn within((before, before_range): Estimate, (after, after_range): Estimate) -> Option<(f64, f64)> {
    let ((before_low, before_high), (after_low, after_high)) = before_range.zip(after_range)?;
    let apart = |a: f64, b: f64| (a * a + b * b).sqrt();
    let difference = after - before;
    Some((
        difference - apart(after - after_low, before_high - before),
        difference + apart(after_high - after, before - before_low),
    ))
}

/// The mean; none of nothing.
fn mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

/// Welch's interval of the difference of two means.
fn between(old: &[f64], new: &[f64]) -> Option<(f64, f64)> {
    let (difference, half) = (mean(new)? - mean(old)?, welch(old, new));
    Some((difference - half, difference + half))
}

/// Half of Welch's interval.
fn welch(old: &[f64], new: &[f64]) -> f64 {
    let of_mean = |values: &[f64]| {
        let count = values.len() as f64;
        let middle = values.iter().sum::<f64>() / count;
        values.iter().map(|value| (value - middle).powi(2)).sum::<f64>() / (count - 1.0) / count
    };
    let (first, second) = (of_mean(old), of_mean(new));
    if first + second == 0.0 {
        return 0.0;
    }
    let (first_freedom, second_freedom) = (old.len() as f64 - 1.0, new.len() as f64 - 1.0);
    let freedom = (first + second).powi(2) / (first * first / first_freedom + second * second / second_freedom);
    student(freedom) * (first + second).sqrt()
}

/// The 97.5 % point of Student's distribution: Cornish and Fisher's expansion around the normal one, which is within 1
/// % from three degrees of freedom on; below, the value for two.
fn student(freedom: f64) -> f64 {
    if freedom < 3.0 {
        return 4.303;
    }
    let first = (Z.powi(3) + Z) / 4.0;
    let second = (5.0 * Z.powi(5) + 16.0 * Z.powi(3) + 3.0 * Z) / 96.0;
    let third = (3.0 * Z.powi(7) + 19.0 * Z.powi(5) + 17.0 * Z.powi(3) - 15.0 * Z) / 384.0;
    Z + first / freedom + second / freedom.powi(2) + third / freedom.powi(3)
}

/// The differences as a table.
pub fn table(differences: &[Difference]) -> String {
    let mut out = String::new();
    let mut path = "";
    for found in differences {
        if let Some(side) = found.only_in {
            let _ = writeln!(out, "{}: only in the result {side}", found.path);
            continue;
        }
        if found.path != path {
            path = &found.path;
            let _ = writeln!(
                out,
                "{path}\n  {:22}{:>14}{:>14}{:>12}   95 % interval of the difference",
                "", "before", "after", "change"
            );
        }
        let change = match (found.before, found.after) {
            (Some(before), Some(after)) if before != 0.0 => format!("{:+.1} %", 100.0 * (after / before - 1.0)),
            _ => String::new(),
        };
        let interval = match (found.interval, found.between_trials) {
            (Some((low, high)), true) => format!("{} … {} (between trials)", number(low), number(high)),
            (Some((low, high)), false) => format!("{} … {} (within a trial)", number(low), number(high)),
            (None, _) if found.before.is_none() || found.after.is_none() => {
                format!("not known: {}", found.missing())
            }
            (None, _) if found.quantity.is_searched => "not known: it was searched once".to_string(),
            (None, _) => format!("not known: it was measured fewer than {TRIALS_MIN} times"),
        };
        let value = |value: Option<f64>| value.map_or("-".to_string(), number);
        let mark = if found.is_significant() { "*" } else { " " };
        let _ = writeln!(
            out,
            "{mark} {:22}{:>14}{:>14}{change:>12}   {interval}",
            found.quantity.name,
            value(found.before),
            value(found.after)
        );
    }
    if differences.iter().any(Difference::is_significant) {
        out.push_str(
            "* the interval leaves out 0: chance alone hardly explains the difference (those within a trial are too narrow)\n",
        );
    }
    out
}

fn number(value: f64) -> String {
    match value.abs() {
        0.0 => "0".to_string(),
        size if size < 0.01 => format!("{value:.2e}"),
        size if size < 1.0 => format!("{value:.4}"),
        size if size < 100.0 => format!("{value:.2}"),
        _ => format!("{value:.0}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn points_of_students_distribution() {
        for (freedom, expected) in [(3.0, 3.182), (4.0, 2.776), (10.0, 2.228), (30.0, 2.042)] {
            let found = student(freedom);
            assert!((found / expected - 1.0).abs() < 0.012, "{freedom}: {found}");
        }
    }

    /// A loss of 1.4 % is not one of 1 %.
    #[test]
    fn numbers_have_three_places_that_count() {
        let shown = [0.0, 0.004567, 0.0145, 0.456, 4.567, 456.7].map(number);
        assert_eq!(shown, ["0", "4.57e-3", "0.0145", "0.4560", "4.57", "457"]);
    }

    #[test]
    fn intervals_of_trials() {
        let half = welch(&[10.0, 11.0, 12.0, 13.0], &[20.0, 21.0, 22.0, 23.0]);
        assert!((half - 2.447 * (5.0f64 / 6.0).sqrt()).abs() < 0.02, "{half}");
        assert_eq!(welch(&[1.0; 3], &[2.0; 3]), 0.0);
    }

    #[test]
    fn nothing_lost_is_not_known_to_be_none() {
        let (low, high) = within((0.0, Some((0.0, 0.003))), (0.001, Some((0.0001, 0.004)))).expect("both have one");
        assert!(low < 0.0 && 0.001 < high);
    }

    /// The rates of two single trials differ by what nothing is known of.
    #[test]
    fn a_rate_of_single_trials_has_no_interval() {
        let difference = Difference {
            path: "a".to_string(),
            quantity: Quantity::measured("received (pps)", ""),
            before: Some(1000.0),
            after: Some(998.0),
            interval: within((1000.0, None), (998.0, None)),
            between_trials: false,
            only_in: None,
        };
        assert!(difference.interval.is_none() && !difference.is_significant());
        let text = table(&[difference]);
        assert!(
            text.contains("  received (pps)") && text.contains("not known: it was measured fewer than 3 times"),
            "{text}"
        );
        assert!(!text.contains('*'), "a mark that no line has is not explained: {text}");
    }
}
