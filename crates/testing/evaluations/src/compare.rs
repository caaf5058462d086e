//! Two results of one evaluation, side by side: case by case, size by size, combination by combination.
//!
//! | quantity | what is known of its error |
//! |---|---|
//! | highest rate, the one rate for all cases, operable rules, updates a second | nothing: each is found once |
//! | median latency at a load | the medians of the turns; of fewer than three turns, the ranks around the median of the trial that is shown |
//! | response times of updates | the ranks around the quantile |
//!
//! A comparison of devices measures nothing, so there is nothing to compare in it.

use crate::evaluation::Found;
use crate::flows::FlowResult;
use crate::ring::RingResult;
use crate::sockets::SocketResult;
use crate::table_size::TableResult;
use crate::trials::LoadResult;
use crate::updates::UpdateResult;
use forebay_tester::histogram::Distribution;
use forebay_tester::report::difference::{Difference, Estimate, Quantity, alone, quantile};

const NO_LOAD: &str = "no load was good";
const NOT_MEASURED: &str = "the sender was late, or the machine disturbed every packet,";
const NOT_SEEN: &str = "no update was seen";

const HIGHEST: Quantity = Quantity::searched("highest rate (pps)", NO_LOAD);
const AT_HIGHEST: Quantity = Quantity::measured("p50, highest (ns)", NOT_MEASURED);
const AT_NINE_TENTHS: Quantity = Quantity::measured("p50, 90 % of it (ns)", NOT_MEASURED);
const ONE_RATE: Quantity = Quantity::searched("one rate (pps)", NO_LOAD);
const AT_ONE_RATE: Quantity = Quantity::measured("p50, one rate (ns)", NOT_MEASURED);
const OPERABLE: Quantity = Quantity::searched("operable rules", "no size worked");
const INSERTIONS: Quantity = Quantity::measured("insertions/s", "no size worked");
const RESPONSE: Quantity = Quantity::measured("response 50 % (ns)", NOT_SEEN);
const RESPONSE_P99: Quantity = Quantity::measured("response 99 % (ns)", NOT_SEEN);
const RESPONSE_P99_9: Quantity = Quantity::measured("response 99.9 % (ns)", NOT_SEEN);
const UPDATES: Quantity = Quantity::measured("updates/s", NOT_SEEN);
const SOCKETS: Quantity = Quantity::measured("messages/s", NO_LOAD);

/// The differences of two results, and then what one of them has alone. None when they have nothing in common.
pub fn differences(before: &Found, after: &Found) -> Vec<Difference> {
    let (old, new) = (all(before), all(after));
    let mut differences = Vec::new();
    for (name, values) in &old {
        let Some((_, others)) = new.iter().find(|(other, _)| other == name) else {
            continue;
        };
        for (quantity, estimates) in values {
            let others = others.iter().find(|(other, _)| other == quantity);
            let others = others.map_or([].as_slice(), |(_, estimates)| estimates);
            // What neither has measured, as no load was good, is told by the highest rate or size alone.
            if !(estimates.is_empty() && others.is_empty()) || [HIGHEST, OPERABLE].contains(quantity) {
                differences.push(Difference::of(name, *quantity, estimates, others));
            }
        }
    }
    if !differences.is_empty() {
        let names = |results: &[Measured]| results.iter().map(|(name, _)| name.clone()).collect::<Vec<_>>();
        differences.extend(alone(&names(&old), &names(&new)));
    }
    differences
}

/// What was measured of a case, size or combination of this name.
type Measured = (String, Vec<(Quantity, Vec<Estimate>)>);

fn all(found: &Found) -> Vec<Measured> {
    let flows = found.flows.iter().map(of_flows);
    let sizes = found.table_size.iter().map(of_size);
    let updates = found.updates.iter().map(of_updates);
    let rings = found.ring.rings.iter().map(of_ring);
    let sockets = found.ring.sockets.iter().map(of_sockets);
    flows.chain(sizes).chain(updates).chain(rings).chain(sockets).collect()
}

fn once(value: Option<f64>) -> Vec<Estimate> {
    value.into_iter().map(|value| (value, None)).collect()
}

fn of_flows(result: &FlowResult) -> Measured {
    let at = |is_highest: bool| result.loads.iter().find(move |load| (load.share >= 1.0) == is_highest);
    let values = vec![
        (HIGHEST, once(result.ndr_pps)),
        (AT_HIGHEST, medians(at(true))),
        (AT_NINE_TENTHS, medians(at(false))),
        (ONE_RATE, once(result.common.as_ref().map(|load| load.pps))),
        (AT_ONE_RATE, medians(result.common.as_ref())),
    ];
    let (kind, case) = (result.kind.name(), &result.case);
    let name = format!(
        "{kind}, {} ({} rules, {} flows), {} B",
        case.name, case.rules, case.flows, result.frame_bytes
    );
    (name, values)
}

/// The medians of the trials at a load; with fewer than three, the median of the one that is shown with its ranks.
fn medians(load: Option<&LoadResult>) -> Vec<Estimate> {
    let Some(load) = load else { return Vec::new() };
    let turns: Vec<u64> = load.turns_ns.iter().flatten().copied().collect();
    if turns.len() >= 3 {
        return turns.into_iter().map(|ns| (ns as f64, None)).collect();
    }
    let shown = load
        .undisturbed()
        .and_then(|latency| quantile(&latency.to_histogram(), 0.5));
    shown.into_iter().collect()
}

fn of_size(result: &TableResult) -> Measured {
    let works = result.operable();
    let values = vec![
        (OPERABLE, once(works.map(|attempt| f64::from(attempt.size)))),
        (INSERTIONS, once(works.map(|attempt| attempt.insertions_per_s))),
    ];
    (format!("{}, operable size", result.kind.name()), values)
}

fn of_updates(result: &UpdateResult) -> Measured {
    let of = |found: &Distribution, share| quantile(&found.to_histogram(), share).into_iter().collect();
    let values = vec![
        (RESPONSE, of(&result.response, 0.5)),
        (RESPONSE_P99, of(&result.response, 0.99)),
        (RESPONSE_P99_9, of(&result.response, 0.999)),
        (UPDATES, once((result.updates > 0).then_some(result.updates_per_s))),
    ];
    let name = format!(
        "{} {}, {} rules, {} B, {} Mbps",
        result.control.name(),
        result.decision.name(),
        result.rules,
        result.frame_bytes,
        result.mbps
    );
    (name, values)
}

fn of_ring(result: &RingResult) -> Measured {
    let values = vec![
        (HIGHEST, once(result.ndr_pps)),
        (AT_NINE_TENTHS, medians(result.load.as_ref())),
    ];
    let bytes = result.message_bytes;
    let name = match result.method {
        Some(method) => format!("ring, {}, N = {}, S = {bytes}", method.name(), result.messages),
        None => format!("ring, the tester alone, S = {bytes}"),
    };
    (name, values)
}

fn of_sockets(result: &SocketResult) -> Measured {
    let name = format!(
        "sockets, {}, N = {}, S = {}",
        result.task.name(),
        result.messages,
        result.message_bytes
    );
    (name, vec![(SOCKETS, once(Some(result.pps)))])
}

#[cfg(test)]
mod tests {
    use super::*;
    use forebay_tester::report::difference::table;

    /// The record of an experiment of the repository.
    fn recorded(experiment: &str) -> Found {
        let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../experiments");
        let text = std::fs::read_to_string(folder.join(experiment).join("result.json")).expect("a record");
        serde_json::from_str(&text).expect("an evaluation")
    }

    #[test]
    fn a_result_is_like_itself() {
        for experiment in [
            "flow-scalability",
            "operable-table-size",
            "update-responsiveness",
            "aggregation-ring",
        ] {
            let found = recorded(experiment);
            let same = differences(&found, &found);
            assert!(!same.is_empty(), "{experiment}");
            for difference in &same {
                assert_eq!(difference.before, difference.after, "{experiment}: {difference:?}");
                assert!(
                    difference.only_in.is_none() && !difference.is_significant(),
                    "{difference:?}"
                );
            }
        }
        assert_eq!(
            differences(&recorded("flow-scalability"), &recorded("operable-table-size")),
            []
        );
    }

    /// A latency that is longer in all turns is known to be, a highest rate that is lower is not, and a case that was not
    /// measured again is named.
    #[test]
    fn what_has_changed_is_told() {
        let old = recorded("flow-scalability");
        let mut new = old.clone();
        let first = &mut new.flows[0];
        first.ndr_pps = first.ndr_pps.map(|pps| pps / 2.0);
        let common = first.common.as_mut().expect("a load");
        common.turns_ns.iter_mut().flatten().for_each(|ns| *ns *= 2);
        new.flows.pop();
        let found = differences(&old, &new);
        let name = all(&old)[0].0.clone();
        let of = |quantity: Quantity| {
            let mut found = found.iter();
            found
                .find(|own| own.path == name && own.quantity == quantity)
                .expect("a difference")
        };
        assert!(of(AT_ONE_RATE).is_significant() && of(AT_ONE_RATE).between_trials);
        assert!(of(HIGHEST).interval.is_none());
        let text = table(&found);
        assert!(text.contains("not known: it was searched once"), "{text}");
        let last = all(&old).pop().expect("a case").0;
        assert!(text.contains(&format!("{last}: only in the result before")), "{text}");
    }
}
