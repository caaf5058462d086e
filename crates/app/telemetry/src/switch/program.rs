//! What belongs to the program: tables, entries from packets, its counters.

use crate::family::Family;
use forebay_daemon::Report;
use forebay_ir::Counter;
use forebay_pipeline::Pipeline;

/// Counter arrays with more elements are left out.
const COUNTER_ELEMENTS_MAX: u64 = 256;

pub(super) fn tables(report: &Report) -> Vec<Family> {
    let mut entries = Family::gauge("forebay_table_entries", "Entries of the table.");
    let mut bytes = Family::gauge("forebay_table_lookup_bytes", "Bytes that look-ups in the table read.");
    for table in &report.tables {
        entries.add(&[("table", &table.table)], table.entries);
        bytes.add(&[("table", &table.table)], table.bytes);
    }
    vec![entries, bytes]
}

pub(super) fn learning(report: &Report) -> Vec<Family> {
    let mut learnt = Family::counter(
        "forebay_learned_entries_total",
        "Entries from packets: added, known already, refused for lack of room, expired.",
    );
    let learning = &report.learning;
    for (result, entries) in [
        ("added", learning.added),
        ("known", learning.known),
        ("refused", learning.refused),
        ("expired", learning.expired),
    ] {
        learnt.add(&[("result", &result)], entries);
    }
    let sent = Family::counter("forebay_digests_total", "Digests handed to the control plane.");
    let lost = Family::counter(
        "forebay_digests_lost_total",
        "Digests for which there was no room, or whose program was replaced on their way.",
    );
    vec![learnt, sent.of(report.digests), lost.of(report.digests_lost)]
}

/// The program's counter arrays, as far as they are short; elements that have counted nothing are left out.
pub(super) fn counters(pipeline: &Pipeline) -> Vec<Family> {
    let mut packets = Family::counter(
        "forebay_p4_counted_packets_total",
        "Packets that the program has counted, by counter, index and name of the element.",
    );
    let mut bytes = Family::counter(
        "forebay_p4_counted_bytes_total",
        "Bytes that the program has counted, by counter, index and name of the element.",
    );
    let is_short = |counter: &&Counter| counter.size.is_some_and(|size| size <= COUNTER_ELEMENTS_MAX);
    for counter in pipeline.program().counters.iter().filter(is_short) {
        for index in 0..counter.size.unwrap_or(0) {
            let Ok(value) = pipeline.read_counter(&counter.name, index) else {
                continue;
            };
            // Empty where the program gives none.
            let name = counter.element_names.get(index as usize).map_or("", String::as_str);
            for (family, count) in [(&mut packets, value.packets), (&mut bytes, value.bytes)] {
                if count > 0 {
                    family.add(&[("counter", &counter.name), ("index", &index), ("name", &name)], count);
                }
            }
        }
    }
    vec![packets, bytes]
}
