//! What a collector has seen, as metrics.

use crate::analysis::{Event, Gap};
use crate::report::{Hop, Malformed, Mode, Report};
use crate::store::StoreCounts;
use forebay_histogram::Histogram;
use forebay_telemetry::Family;
use std::collections::BTreeMap;

/// Nodes, and queues, that have metrics of their own. Further ones are counted without.
const NODES_MAX: usize = 1_024;
const QUEUES_MAX: usize = 8_192;

/// A node that reports.
#[derive(Clone, Default)]
struct Reporter {
    datagrams: u64,
    missing: u64,
    late: u64,
    restarts: u64,
    reports: [u64; Mode::ALL.len()],
    congested: u64,
}

/// The occupancy of a queue: the last one that was reported, and the largest.
#[derive(Clone, Copy, Default)]
struct Queue {
    last: u32,
    largest: u32,
}

/// Everything that is counted.
#[derive(Clone, Default)]
pub struct Counts {
    datagrams: u64,
    bytes: u64,
    malformed: BTreeMap<Malformed, u64>,
    without_flow: u64,
    reporters: BTreeMap<u32, Reporter>,
    /// Times in nodes that packets have met.
    latencies: BTreeMap<u32, Histogram>,
    drops: BTreeMap<(u32, Option<u8>), u64>,
    queues: BTreeMap<(u32, Option<u16>, Option<u8>), Queue>,
    events: BTreeMap<&'static str, u64>,
    /// Nodes and queues for which there was no room.
    beyond: u64,
    pub(crate) store: Option<(StoreCounts, u64)>,
}

/// The value of a key, if it is there or there is room for it.
fn entry<'a, K: Ord, V: Default>(
    map: &'a mut BTreeMap<K, V>,
    key: K,
    max: usize,
    beyond: &mut u64,
) -> Option<&'a mut V> {
    if map.len() >= max && !map.contains_key(&key) {
        *beyond += 1;
        return None;
    }
    Some(map.entry(key).or_default())
}

impl Counts {
    /// Counts a datagram.
    pub fn datagram(&mut self, bytes: usize) {
        self.datagrams += 1;
        self.bytes += bytes as u64;
    }

    /// Counts the datagram of a node, and what it says of those before it.
    pub fn group(&mut self, node: u32, gap: Gap) {
        let Some(reporter) = entry(&mut self.reporters, node, NODES_MAX, &mut self.beyond) else {
            return;
        };
        reporter.datagrams += 1;
        match gap {
            Gap::None => {}
            Gap::Missing(count) => reporter.missing += u64::from(count),
            Gap::Late => reporter.late += 1,
            Gap::Restart => reporter.restarts += 1,
        }
    }

    /// Counts what is malformed.
    pub fn malformed(&mut self, malformed: Malformed) {
        *self.malformed.entry(malformed).or_default() += 1;
    }

    /// Counts a report.
    pub fn report(&mut self, report: &Report) {
        self.without_flow += u64::from(report.flow.is_none());
        let node = report.reporter.node;
        if let Some(reporter) = entry(&mut self.reporters, node, NODES_MAX, &mut self.beyond) {
            reporter.reports[report.mode as usize] += 1;
            reporter.congested += u64::from(report.flags.congested);
        }
        if report.flags.dropped {
            let key = (node, report.drop_reason);
            if let Some(drops) = entry(&mut self.drops, key, QUEUES_MAX, &mut self.beyond) {
                *drops += 1;
            }
        }
        report.hops.iter().for_each(|hop| self.hop(hop));
    }

    fn hop(&mut self, hop: &Hop) {
        let Some(node) = hop.node else { return };
        if let Some(latency_ns) = hop.latency_ns
            && let Some(latency) = entry(&mut self.latencies, node, NODES_MAX, &mut self.beyond)
        {
            latency.record(u64::from(latency_ns));
        }
        if let Some(depth) = hop.queue_depth {
            let key = (node, hop.egress_port, hop.queue);
            if let Some(queue) = entry(&mut self.queues, key, QUEUES_MAX, &mut self.beyond) {
                queue.last = depth;
                queue.largest = queue.largest.max(depth);
            }
        }
    }

    /// Counts what the analysis has found.
    pub fn event(&mut self, event: &Event) {
        *self.events.entry(event.kind()).or_default() += 1;
    }

    /// All of it.
    pub fn families(&self) -> Vec<Family> {
        let mut families = self.received();
        families.extend(self.of_reporters());
        families.extend(self.of_nodes());
        families.extend(
            self.store
                .iter()
                .flat_map(|(counts, waiting)| of_store(counts, *waiting)),
        );
        families
    }

    fn received(&self) -> Vec<Family> {
        let counter = Family::counter;
        let mut malformed = counter(
            "forebay_collect_malformed_datagrams_total",
            "Datagrams of which something was not understood, by what it was.",
        );
        for kind in Malformed::ALL {
            let count = self.malformed.get(&kind).copied().unwrap_or(0);
            malformed.add(&[("problem", &kind.name())], count);
        }
        let mut events = counter("forebay_collect_events_total", "Loops, changes of paths, microbursts.");
        for kind in Event::KINDS {
            events.add(&[("kind", &kind)], self.events.get(kind).copied().unwrap_or(0));
        }
        vec![
            counter("forebay_collect_datagrams_total", "Datagrams received.").of(self.datagrams),
            counter("forebay_collect_received_bytes_total", "Bytes of these datagrams.").of(self.bytes),
            malformed,
            counter(
                "forebay_collect_reports_without_flow_total",
                "Reports with too little of the packet to tell its flow.",
            )
            .of(self.without_flow),
            events,
            counter(
                "forebay_collect_untracked_total",
                "Reports of nodes or queues that have no metrics of their own, since there are too many.",
            )
            .of(self.beyond),
        ]
    }

    fn of_reporters(&self) -> Vec<Family> {
        let counter = Family::counter;
        let mut datagrams = counter("forebay_int_datagrams_total", "Datagrams of the node.");
        let mut missing = counter(
            "forebay_int_missing_datagrams_total",
            "Datagrams of the node that did not arrive in order, by its sequence numbers; those that came late are counted as late too.",
        );
        let mut late = counter(
            "forebay_int_late_datagrams_total",
            "Datagrams that came after newer ones, or twice.",
        );
        let mut restarts = counter(
            "forebay_int_node_restarts_total",
            "Times at which the node began to count anew.",
        );
        let mut reports = counter("forebay_int_reports_total", "Reports of the node, by mode of INT.");
        let mut congested = counter(
            "forebay_int_congested_reports_total",
            "Reports with the flag for congestion.",
        );
        for (node, reporter) in &self.reporters {
            datagrams.add(&[("node", node)], reporter.datagrams);
            missing.add(&[("node", node)], reporter.missing);
            late.add(&[("node", node)], reporter.late);
            restarts.add(&[("node", node)], reporter.restarts);
            congested.add(&[("node", node)], reporter.congested);
            for mode in Mode::ALL {
                reports.add(
                    &[("node", node), ("mode", &mode.name())],
                    reporter.reports[mode as usize],
                );
            }
        }
        vec![datagrams, missing, late, restarts, reports, congested]
    }

    fn of_nodes(&self) -> Vec<Family> {
        let mut latency = Family::histogram(
            "forebay_int_hop_latency_seconds",
            "Time of reported packets in the node.",
        );
        for (node, times) in &self.latencies {
            latency.add(&[("node", node)], times);
        }
        let mut dropped = Family::counter("forebay_int_dropped_packets_total", "Drops that the node has reported.");
        for ((node, reason), packets) in &self.drops {
            dropped.add(&[("node", node), ("reason", &optional(*reason))], *packets);
        }
        let mut depth = Family::gauge(
            "forebay_int_queue_depth",
            "Occupancy of the queue when a packet was reported last, in the node's unit.",
        );
        let mut largest = Family::gauge(
            "forebay_int_queue_depth_max",
            "The largest occupancy that was reported.",
        );
        for ((node, port, queue), known) in &self.queues {
            let (port, queue) = (optional(*port), optional(*queue));
            let labels: [(&'static str, &dyn std::fmt::Display); 3] =
                [("node", node), ("egress_port", &port), ("queue", &queue)];
            depth.add(&labels, u64::from(known.last));
            largest.add(&labels, u64::from(known.largest));
        }
        vec![latency, dropped, depth, largest]
    }
}

fn of_store(counts: &StoreCounts, waiting: u64) -> Vec<Family> {
    let mut reports = Family::counter(
        "forebay_store_reports_total",
        "Reports for the store, by what became of them.",
    );
    reports.add(&[("result", &"written")], counts.reports);
    reports.add(&[("result", &"lost")], counts.lost_reports);
    vec![
        reports,
        Family::counter("forebay_store_files_total", "Files written.").of(counts.files),
        Family::counter("forebay_store_deleted_files_total", "Files deleted to make room.").of(counts.deleted_files),
        Family::counter("forebay_store_failures_total", "Attempts to write a file that failed.").of(counts.failures),
        Family::gauge("forebay_store_waiting_reports", "Reports that are not in a file yet.").of(waiting),
        Family::gauge("forebay_store_ok", "Whether the last attempt to write succeeded.").of(counts.problem.is_none()),
    ]
}

/// A label's value; empty when there is none.
fn optional<T: ToString>(value: Option<T>) -> String {
    value.map_or(String::new(), |value| value.to_string())
}
