//! The parts of the switch and of the tester in the growth of latency with rules and flows.
//!
//! More flows are more frames to copy from: a plain wire in the place of the switch shows growth, too. Each turn at the
//! one rate for all cases has both, so it has three growths from R1F1 (1) to a case (k):
//!
//! | growth | of | in a turn |
//! |---|---|---|
//! | with the switch | the latency S with the switch: what others publish | `S_k / S_1 - 1` |
//! | on the wire | the latency W of the same frames at the same rate on a wire | `W_k / W_1 - 1` |
//! | the switch's own | what the switch adds, S - W | `(S_k - W_k) / (S_1 - W_1) - 1` |
//!
//! The switch's own growth is relative to what the switch adds, not to S: the slower the tester, the smaller would be a
//! growth relative to a latency with the tester in it. Tester and switch share the caches and one thread, so more frames
//! cost the tester with a switch at least what they cost on a wire; anything above that counts as the switch's.

use crate::flows::FlowResult;
use crate::growth::{FIRST, OTHERS, Spread, of_turns, percent, same};
use crate::report::short;
use crate::rules::Kind;
use std::fmt::Write;

/// Growth from R1F1 to another case, with the tester's part and without it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct OwnGrowth {
    pub(crate) kind: Kind,
    pub(crate) frame_bytes: usize,
    /// With the switch.
    pub(crate) whole: Spread,
    /// On a wire in its place.
    pub(crate) wire: Spread,
    /// Of what the switch adds.
    pub(crate) own: Spread,
    /// Medians of the turns that count for all three, in nanoseconds: with the switch and on the wire, of each R1F1
    /// and the other case.
    medians_ns: [[u64; 2]; 2],
}

/// A turn in which all four trials count.
#[derive(Clone, Copy)]
struct Turn {
    switch_ns: [u64; 2],
    wire_ns: [u64; 2],
}

impl Turn {
    /// The growth of what the switch adds; none where it seems to have added nothing.
    fn own(self) -> Option<f64> {
        let added_ns = |case: usize| self.switch_ns[case] as f64 - self.wire_ns[case] as f64;
        (added_ns(0) > 0.0).then(|| percent(added_ns(0), added_ns(1)))
    }
}

/// Growth from R1F1 to `case` at the one rate, by kind and length; left out where there was no wire, or too few turns
/// count.
pub(crate) fn own_growths(results: &[FlowResult], case: &str) -> Vec<OwnGrowth> {
    let firsts = results.iter().filter(|result| result.case.name == FIRST);
    let growth = |first: &FlowResult| own_growth(first, same(results, first, case)?);
    firsts.filter_map(growth).collect()
}

fn own_growth(first: &FlowResult, other: &FlowResult) -> Option<OwnGrowth> {
    let (before, after) = (&first.common.as_ref()?.turns_ns, &other.common.as_ref()?.turns_ns);
    let (wire_before, wire_after) = (&first.wire_turns_ns, &other.wire_turns_ns);
    let turns: Vec<Option<Turn>> = (before.iter().zip(after))
        .zip(wire_before.iter().zip(wire_after))
        .map(|((before, after), (wire_before, wire_after))| {
            Some(Turn {
                switch_ns: [(*before)?, (*after)?],
                wire_ns: [(*wire_before)?, (*wire_after)?],
            })
        })
        .collect();
    let own: Vec<Option<f64>> = turns.iter().map(|turn| turn.and_then(Turn::own)).collect();
    let median_ns = |of: fn(&Turn) -> u64| {
        let mut all: Vec<u64> = turns.iter().flatten().map(of).collect();
        all.sort_unstable();
        all.get(all.len() / 2).copied().unwrap_or_default()
    };
    Some(OwnGrowth {
        kind: first.kind,
        frame_bytes: first.frame_bytes,
        whole: Spread::of(&of_turns(before, after))?,
        wire: Spread::of(&of_turns(wire_before, wire_after))?,
        own: Spread::of(&own)?,
        medians_ns: [
            [median_ns(|turn| turn.switch_ns[0]), median_ns(|turn| turn.switch_ns[1])],
            [median_ns(|turn| turn.wire_ns[0]), median_ns(|turn| turn.wire_ns[1])],
        ],
    })
}

/// Growth to every other case at the one rate, by table and length: nothing where there was no wire.
pub(crate) fn own_growth_table(results: &[FlowResult], out: &mut String) {
    let mut rows = String::new();
    for first in results.iter().filter(|result| result.case.name == FIRST) {
        for case in OTHERS {
            if let Some(growth) = same(results, first, case).and_then(|other| own_growth(first, other)) {
                growth.row(case, &mut rows);
            }
        }
    }
    if rows.is_empty() {
        return;
    }
    out.push_str("## Growth at one rate for all cases, and the tester's part in it, in percent\n\n");
    out.push_str("| table | bytes | case | with the switch | on a wire | the switch's own | µs with the switch | µs on a wire |\n|---|---|---|---|---|---|---|---|\n");
    out.push_str(&rows);
    out.push_str(
        "\n*With the switch* is the growth of the table above: that of the whole latency. *On a wire*: the same frames at the same rate in the same \
         turns, without a switch, so this growth is the tester's. *The switch's own*: the growth of what the switch adds, the latency with it less that on the wire. It is \
         relative to what the switch adds with one rule and one flow, so that a slow tester does not make it smaller. Each is the median of the turns, with \
         their quartiles and number; the last columns are medians with R1F1 and with the case.\n\n",
    );
}

impl OwnGrowth {
    fn row(&self, case: &str, out: &mut String) {
        let us = |[before, after]: [u64; 2]| format!("{} to {}", short(before as f64 / 1e3), short(after as f64 / 1e3));
        let [whole, wire, own] = [self.whole, self.wire, self.own].map(|spread| spread.cell());
        let [switch_us, wire_us] = self.medians_ns.map(us);
        let (kind, bytes) = (self.kind.name(), self.frame_bytes);
        let _ = writeln!(
            out,
            "| {kind} | {bytes} | {case} | {whole} | {wire} | {own} | {switch_us} | {wire_us} |"
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::growth::tests::result;

    fn with_wire(case: &str, turns_ns: &[Option<u64>], wire_turns_ns: &[Option<u64>]) -> FlowResult {
        FlowResult {
            wire_turns_ns: wire_turns_ns.to_vec(),
            ..result(case, 1, turns_ns)
        }
    }

    fn growth(switch: [&[Option<u64>]; 2], wire: [&[Option<u64>]; 2]) -> Option<OwnGrowth> {
        let results = [
            with_wire(FIRST, switch[0], wire[0]),
            with_wire("RmaxF1k", switch[1], wire[1]),
        ];
        own_growths(&results, "RmaxF1k").first().copied()
    }

    fn rounded(growth: OwnGrowth) -> [f64; 3] {
        [growth.whole, growth.wire, growth.own].map(|spread| spread.percent.round())
    }

    #[test]
    fn growth_that_the_wire_has_too_is_not_the_switchs() {
        let (first, case) = ([800, 800, 800].map(Some), [840, 840, 840].map(Some));
        let (wire, wire_case) = ([300, 300, 300].map(Some), [340, 340, 340].map(Some));
        let found = growth([&first, &case], [&wire, &wire_case]).expect("turns");
        assert_eq!(rounded(found), [5.0, 13.0, 0.0]);
        assert_eq!(found.medians_ns, [[800, 840], [300, 340]]);
    }

    /// Of 800 ns, 300 are the tester's: 50 more are a tenth of what the switch adds.
    #[test]
    fn the_switchs_own_growth_is_relative_to_what_it_adds() {
        let (first, case) = ([800, 800, 800].map(Some), [850, 850, 850].map(Some));
        let wire = [300, 300, 300].map(Some);
        let found = growth([&first, &case], [&wire, &wire]).expect("turns");
        assert_eq!(rounded(found), [6.0, 0.0, 10.0]);
    }

    /// In the middle turn everything takes twice as long.
    #[test]
    fn a_machine_that_changes_its_speed_between_turns_changes_no_growth() {
        let (first, case) = ([800, 1600, 800].map(Some), [880, 1760, 880].map(Some));
        let (wire, wire_case) = ([300, 600, 300].map(Some), [330, 660, 330].map(Some));
        let found = growth([&first, &case], [&wire, &wire_case]).expect("turns");
        assert_eq!(rounded(found), [10.0, 10.0, 10.0]);
        assert_eq!(found.own.turns, 3);
    }

    #[test]
    fn a_turn_counts_when_all_its_trials_do() {
        let all = [800; 4].map(Some);
        let late = [Some(300), None, Some(300), Some(300)];
        let found = growth([&all, &all], [&late, &[300; 4].map(Some)]).expect("turns");
        assert_eq!((found.whole.turns, found.wire.turns, found.own.turns), (4, 3, 3));
        let two = [Some(300), None, None, Some(300)];
        assert_eq!(growth([&all, &all], [&two, &two]), None);
        // A switch that seems to be faster than a wire has no latency of its own that could grow.
        let slow = [Some(900), Some(300), Some(300), Some(300)];
        let found = growth([&all, &all], [&slow, &slow]).expect("turns");
        assert_eq!(found.own.turns, 3);
    }

    #[test]
    fn records_without_a_wire_have_no_such_table() {
        let turns = [100; 5].map(Some);
        let results = [result(FIRST, 100, &turns), result("RmaxF1k", 100, &turns)];
        let mut out = String::new();
        own_growth_table(&results, &mut out);
        assert_eq!((out.as_str(), own_growths(&results, "RmaxF1k")), ("", Vec::new()));
    }

    #[test]
    fn the_table_has_the_whole_growth_first() {
        let turns = |ns: u64| [ns; 5].map(Some);
        let results = [
            with_wire(FIRST, &turns(800), &turns(300)),
            with_wire("RmaxF1k", &turns(880), &turns(330)),
        ];
        let mut out = String::new();
        own_growth_table(&results, &mut out);
        let row = "| exact | 64 | RmaxF1k | 10.0 (10.0 to 10.0, 5) | 10.0 (10.0 to 10.0, 5) | 10.0 (10.0 to 10.0, 5) | 0.800 to 0.880 | 0.300 to 0.330 |\n";
        assert!(out.contains(row), "{out}");
    }
}
