//! By how much latency grows from one rule and one flow to more of both, at one load.
//!
//! The cases take turns. The growth of a turn is that of its trials of both cases, which follow within a second or two, so a machine that becomes
//! faster or slower between turns changes both medians, not their ratio. The growth is the median over the turns.

use crate::flows::{FlowResult, LOADS};
use crate::report::short;
use crate::rules::Kind;
use crate::trials::LoadResult;
use std::fmt::Write;

/// Turns in which both cases have a median that a growth needs, if there are as many: the median of fewer is that of one moment.
const TURNS_MIN: usize = 3;

/// The case that others are compared with.
pub(crate) const FIRST: &str = "R1F1";

/// The cases that are compared with it.
pub(crate) const OTHERS: [&str; 3] = ["RmaxF1", "RmaxF1k", "RmaxFmax"];

/// The load at which the latency of two cases is compared.
#[derive(Clone, Copy)]
pub(crate) enum Condition {
    /// Each case at its highest load without loss: the paper's.
    Highest,
    /// Each case at nine tenths of it.
    NineTenths,
    /// All cases at one rate.
    OneRate,
}

impl Condition {
    pub(crate) const ALL: [Condition; 3] = [Condition::Highest, Condition::NineTenths, Condition::OneRate];

    pub(crate) fn of_share(share: f64) -> Condition {
        if share < 1.0 {
            Condition::NineTenths
        } else {
            Condition::Highest
        }
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            Condition::Highest => "highest rate",
            Condition::NineTenths => "90 % of the highest rate",
            Condition::OneRate => "one rate for all cases",
        }
    }

    fn load(self, result: &FlowResult) -> Option<&LoadResult> {
        let of_share = |at: usize| result.loads.iter().find(|load| load.share == LOADS[at]);
        match self {
            Condition::Highest => of_share(0),
            Condition::NineTenths => of_share(1),
            Condition::OneRate => result.common.as_ref(),
        }
    }
}

/// The growth of the median latency from R1F1 to another case.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Growth {
    pub(crate) kind: Kind,
    pub(crate) frame_bytes: usize,
    pub(crate) spread: Spread,
}

/// Growth in percent, by what turns say.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Spread {
    /// The median of the turns.
    pub(crate) percent: f64,
    /// The quartiles of the turns.
    quartiles: [f64; 2],
    /// The turns that count.
    pub(crate) turns: usize,
}

impl Spread {
    /// Of the growth in each turn, where it counts; none where too few do.
    pub(crate) fn of(turns: &[Option<f64>]) -> Option<Spread> {
        let mut percents: Vec<f64> = turns.iter().flatten().copied().collect();
        if percents.is_empty() || percents.len() < TURNS_MIN.min(turns.len()) {
            return None;
        }
        percents.sort_by(f64::total_cmp);
        let quantile = |share: f64| percents[((percents.len() - 1) as f64 * share).round() as usize];
        Some(Spread {
            percent: quantile(0.5),
            quartiles: [0.25, 0.75].map(quantile),
            turns: percents.len(),
        })
    }

    /// As it stands in a table.
    pub(crate) fn cell(&self) -> String {
        let [low, high] = self.quartiles.map(short);
        format!("{} ({low} to {high}, {})", short(self.percent), self.turns)
    }
}

/// The growth from a latency to another, in percent.
pub(crate) fn percent(before: f64, after: f64) -> f64 {
    100.0 * (after / before - 1.0)
}

/// The growth in each turn from one case to another; none where a trial does not count.
pub(crate) fn of_turns(before: &[Option<u64>], after: &[Option<u64>]) -> Vec<Option<f64>> {
    let turns = before.iter().zip(after);
    let growth = |(before, after): (&Option<u64>, &Option<u64>)| Some(percent((*before)? as f64, (*after)? as f64));
    turns.map(growth).collect()
}

/// The result of the same table and length for a case.
pub(crate) fn same<'a>(results: &'a [FlowResult], first: &FlowResult, case: &str) -> Option<&'a FlowResult> {
    let is_same = |result: &&FlowResult| {
        (result.kind, result.frame_bytes, result.case.name.as_str()) == (first.kind, first.frame_bytes, case)
    };
    results.iter().find(is_same)
}

/// Growth from R1F1 to `case` under `condition`, by kind and length; left out where too few turns count.
pub(crate) fn growths(results: &[FlowResult], case: &str, condition: Condition) -> Vec<Growth> {
    let firsts = results.iter().filter(|result| result.case.name == FIRST);
    let growth = |first: &FlowResult| {
        let (before, after) = (condition.load(first)?, condition.load(same(results, first, case)?)?);
        Some(Growth {
            kind: first.kind,
            frame_bytes: first.frame_bytes,
            spread: spread(before, after)?,
        })
    };
    firsts.filter_map(growth).collect()
}

/// The growth from one load to another; none where too few turns count.
fn spread(before: &LoadResult, after: &LoadResult) -> Option<Spread> {
    if !before.turns_ns.is_empty() && !after.turns_ns.is_empty() {
        return Spread::of(&of_turns(&before.turns_ns, &after.turns_ns));
    }
    // Records of before turns were kept have the middle medians.
    let is_punctual = before.is_punctual(TURNS_MIN) && after.is_punctual(TURNS_MIN);
    let medians = (before.undisturbed()?.p50_ns, after.undisturbed()?.p50_ns);
    let growth = percent(medians.0 as f64, medians.1 as f64);
    is_punctual.then(|| Spread::of(&[Some(growth)])).flatten()
}

/// Growth to every other case, by table, length and load.
pub(crate) fn growth_table(results: &[FlowResult], out: &mut String) {
    out.push_str("## Growth of the median latency from R1F1, in percent\n\n| table | bytes | load | RmaxF1 | RmaxF1k | RmaxFmax |\n|---|---|---|---|---|---|\n");
    for first in results.iter().filter(|result| result.case.name == FIRST) {
        for condition in Condition::ALL {
            let cell = |case: &str| {
                let growth = growths(results, case, condition)
                    .into_iter()
                    .find(|growth| (growth.kind, growth.frame_bytes) == (first.kind, first.frame_bytes));
                growth.map_or_else(String::new, |growth| growth.spread.cell())
            };
            let [one, thousand, all] = OTHERS.map(cell);
            let (kind, bytes, load) = (first.kind.name(), first.frame_bytes, condition.name());
            let _ = writeln!(out, "| {kind} | {bytes} | {load} | {one} | {thousand} | {all} |");
        }
    }
    out.push_str(
        "\nThe median of the turns, with their quartiles and number. The growth of a turn is that of two trials that follow one another closely. A cell is \
         empty where fewer than three turns, or not all of fewer, had a punctual sender in both cases.\n\n",
    );
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::flows::Case;
    use crate::trials::BoxPlot;
    use forebay_tester::histogram::{Distribution, Histogram};
    use forebay_tester::search::{Confirmed, LimitedBy};

    /// A case with these medians of its turns at the one rate, and none on a wire.
    pub(crate) fn result(case: &str, p50_ns: u64, turns_ns: &[Option<u64>]) -> FlowResult {
        let latency = Distribution {
            count: 1,
            p50_ns,
            ..Distribution::default()
        };
        let load = LoadResult {
            share: 0.5,
            pps: 1e6,
            sent: 1,
            unsent: 0,
            lost: 0,
            latency: latency.clone(),
            box_plot: BoxPlot::of(&Histogram::default()),
            latency_all: latency,
            disturbed_share: 0.0,
            is_late: false,
            trials: 5,
            late_trials: turns_ns.iter().filter(|turn| turn.is_none()).count() as u64,
            medians_ns: (p50_ns, p50_ns),
            turns_ns: turns_ns.to_vec(),
        };
        FlowResult {
            kind: Kind::Exact,
            case: Case {
                name: case.to_string(),
                rules: 1,
                flows: 1,
            },
            frame_bytes: 64,
            ndr_pps: Some(2e6),
            limited_by: LimitedBy::Tester,
            confirmed: Confirmed::default(),
            loads: Vec::new(),
            common: Some(load),
            wire_turns_ns: Vec::new(),
        }
    }

    fn growth(before: &[Option<u64>], after: &[Option<u64>]) -> Option<(f64, usize)> {
        let results = [result(FIRST, 100, before), result("RmaxF1k", 200, after)];
        let growths = growths(&results, "RmaxF1k", Condition::OneRate);
        growths
            .first()
            .map(|growth| (growth.spread.percent.round(), growth.spread.turns))
    }

    /// The machine becomes twice as slow within the second turn, and stays so.
    #[test]
    fn a_machine_that_changes_its_speed_does_not_change_the_growth() {
        let before = [100, 100, 200, 200, 200].map(Some);
        let after = [110, 220, 220, 220, 220].map(Some);
        assert_eq!(growth(&before, &after), Some((10.0, 5)));
    }

    #[test]
    fn a_turn_counts_when_both_trials_do() {
        let before = [Some(100), None, Some(100), Some(100)];
        assert_eq!(
            growth(&before, &[Some(110), Some(900), Some(120), Some(130)]),
            Some((20.0, 3))
        );
        assert_eq!(growth(&before, &[Some(110), Some(900), None, Some(130)]), None);
        assert_eq!(growth(&[Some(100)], &[Some(150)]), Some((50.0, 1)));
    }

    #[test]
    fn records_without_turns_have_the_growth_of_their_medians() {
        assert_eq!(growth(&[], &[]), Some((100.0, 1)));
    }
}
