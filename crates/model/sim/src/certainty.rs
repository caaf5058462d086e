//! How sure the result of a search is: the search with other seeds until the mean is known well enough, then with
//! longer trials until these change it no more. A highest load that seems to be without loss is tried in longer trials,
//! too.

use crate::run::Progress;
use crate::scenario::SearchEntry;
use crate::search::{Search, SearchResults, search_once};
use crate::setup::Setup;
use crate::variation::Variation;
use serde::Serialize;

/// How sure the result of a search is.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Certainty {
    /// With this probability the mean of more searches lies within `half_width_gbps` of that of these: Student's t, of
    /// the searches with the longest trials. Each search itself is as exact as its tolerance.
    pub confidence: f64,
    /// See `confidence`.
    pub half_width_gbps: f64,
    /// Whether that is as narrow as was asked for, and longer trials have changed the mean no more.
    pub reached: bool,
    /// Every search, in order.
    pub searches: Vec<Repetition>,
}

/// One of several searches.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Repetition {
    /// How long each trial was, in microseconds of simulated time.
    pub trial_us: f64,
    /// The seed of its first run.
    pub seed: u64,
    /// What it found; none when even the least load loses.
    pub max_gbps: Option<f64>,
}

/// The fewest searches with trials of one length.
const SEARCHES_MIN: usize = 3;

/// The most that `searches_max` of a scenario may be.
pub(crate) const SEARCHES_MAX: u32 = 11;

/// The factor by which trials become longer.
const LONGER: f64 = 4.0;

/// Levels of confidence for which quantiles are known.
pub(crate) const LEVELS: [f64; 3] = [0.9, 0.95, 0.99];

/// Two-sided quantiles of Student's t by degrees of freedom from 2 on, at [`LEVELS`].
const QUANTILES: [[f64; 3]; 9] = [
    [2.920, 4.303, 9.925],
    [2.353, 3.182, 5.841],
    [2.132, 2.776, 4.604],
    [2.015, 2.571, 4.032],
    [1.943, 2.447, 3.707],
    [1.895, 2.365, 3.499],
    [1.860, 2.306, 3.355],
    [1.833, 2.262, 3.250],
    [1.812, 2.228, 3.169],
];

/// Searches again and again. The results are those of the last search, with the mean of all of its length.
pub(crate) fn search_until_sure(
    setup: &Setup,
    entry: &SearchEntry,
    confidence: f64,
    search: Search,
    progress: &mut dyn Progress,
) -> SearchResults {
    let mut certainty = Certainty {
        confidence,
        half_width_gbps: 0.0,
        reached: false,
        searches: Vec::new(),
    };
    let mut previous: Option<f64> = None;
    let mut length = 1.0;
    let mut packet_passes = 0;
    let mut last = None;
    for _ in 0..entry.lengths_max().max(1) {
        let longer = setup.varied(&Variation::Length(length));
        if longer.is_none() && last.is_some() {
            break;
        }
        let setup = longer.as_ref().unwrap_or(setup);
        let (mut results, half_width) = at_one_length(setup, entry, confidence, search, &mut certainty, progress);
        packet_passes += results.packet_passes;
        results.packet_passes = packet_passes;
        certainty.half_width_gbps = half_width;
        let (found, at_least) = (results.max_gbps, results.at_least);
        last = Some(results);
        let Some(mean) = found else { break };
        if at_least {
            // The buffer may have taken what the highest load has too much: longer trials decide.
            previous = None;
            length *= LONGER;
            continue;
        }
        let wanted = mean * entry.within();
        let is_narrow = half_width <= wanted;
        let same =
            previous.is_some_and(|previous| (mean - previous).abs() <= wanted.max(*entry.tolerance_gbps.get_ref()));
        certainty.reached = is_narrow && (same || entry.lengths_max() <= 1);
        if certainty.reached {
            break;
        }
        previous = Some(mean);
        length *= LONGER;
    }
    let mut results = last.expect("at least one length was tried");
    // The end of a search is a bound, and has no mean.
    results.certainty = (results.found && !results.at_least).then_some(certainty);
    results
}

/// Searches with trials of one length; the half-width of the interval too.
fn at_one_length(
    setup: &Setup,
    entry: &SearchEntry,
    confidence: f64,
    search: Search,
    certainty: &mut Certainty,
    progress: &mut dyn Progress,
) -> (SearchResults, f64) {
    let mut found: Vec<f64> = Vec::new();
    let mut packet_passes = 0;
    // One seed with which the highest load is without loss makes it no result when it is not with others.
    let mut at_least = true;
    loop {
        let tried = found.len() as u64 * u64::from(entry.seeds.max(1));
        let seed = search.seed.wrapping_add(tried);
        let mut results = search_once(setup, entry, Search { seed }, progress);
        packet_passes += results.packet_passes;
        certainty.searches.push(Repetition {
            trial_us: results.trial_us,
            seed,
            max_gbps: results.max_gbps,
        });
        results.packet_passes = packet_passes;
        let Some(max) = results.max_gbps else {
            return (results, 0.0);
        };
        at_least &= results.at_least;
        found.push(max);
        let (mean, half_width) = interval(&found, confidence);
        let is_narrow = half_width <= mean * entry.within();
        if found.len() >= SEARCHES_MIN && (is_narrow || found.len() >= entry.searches_max() as usize) {
            results.at_least = at_least;
            results.max_gbps = Some(if at_least { max } else { mean });
            return (results, half_width);
        }
    }
}

/// Mean, and half of the confidence interval's width; no width of fewer than three values.
fn interval(values: &[f64], confidence: f64) -> (f64, f64) {
    let count = values.len() as f64;
    let mean = values.iter().sum::<f64>() / count;
    let level = LEVELS.iter().position(|level| *level == confidence);
    let quantiles = values.len().checked_sub(3).and_then(|row| QUANTILES.get(row));
    let (Some(level), Some(quantiles)) = (level, quantiles) else {
        return (mean, f64::INFINITY);
    };
    let variance = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / (count - 1.0);
    (mean, quantiles[level] * (variance / count).sqrt())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interval_is_that_of_students_t() {
        let (mean, half_width) = interval(&[9.0, 10.0, 11.0], 0.95);
        assert_eq!(mean, 10.0);
        assert!((half_width - 4.303 / 3f64.sqrt()).abs() < 1e-9, "{half_width}");
        assert_eq!(interval(&[4.0; 5], 0.99), (4.0, 0.0));
        assert!(interval(&[1.0, 2.0], 0.95).1.is_infinite());
    }
}
