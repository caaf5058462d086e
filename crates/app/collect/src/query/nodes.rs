//! Nodes: times in them, occupancy of their queues, drops.

use super::answer::{Answer, Cell, time_cell};
use crate::report::Report;
use crate::store::Stored;
use forebay_histogram::Histogram;
use std::collections::BTreeMap;

/// What is known of a node.
#[derive(Default)]
struct Known {
    packets: u64,
    latency: Histogram,
    depth_max: u32,
}

/// All nodes.
#[derive(Default)]
pub(super) struct Nodes(BTreeMap<u32, Known>);

impl Nodes {
    pub(super) fn see(&mut self, report: &Report) {
        for hop in &report.hops {
            let Some(node) = hop.node else { continue };
            let known = self.0.entry(node).or_default();
            known.packets += 1;
            hop.latency_ns
                .iter()
                .for_each(|latency| known.latency.record(u64::from(*latency)));
            known.depth_max = known.depth_max.max(hop.queue_depth.unwrap_or(0));
        }
    }

    pub(super) fn answer(self, limit: usize) -> Answer {
        let mut answer = Answer::new(&[
            "node",
            "packets",
            "latency_mean_ns",
            "latency_p50_ns",
            "latency_p99_ns",
            "latency_max_ns",
            "depth_max",
        ]);
        for (node, known) in self.0.into_iter().take(limit) {
            let latency = &known.latency;
            let measured = |value: u64| {
                if latency.count() == 0 {
                    Cell::None
                } else {
                    Cell::Whole(value)
                }
            };
            answer.rows.push(vec![
                Cell::Whole(u64::from(node)),
                Cell::Whole(known.packets),
                measured(latency.mean() as u64),
                measured(latency.quantile(0.5)),
                measured(latency.quantile(0.99)),
                measured(latency.max()),
                Cell::Whole(u64::from(known.depth_max)),
            ]);
        }
        answer
    }
}

/// Drops by node and reason: how many, and when the first and the last were reported.
#[derive(Default)]
pub(super) struct Drops(BTreeMap<(u32, Option<u8>), (u64, u64, u64)>);

impl Drops {
    pub(super) fn see(&mut self, stored: &Stored) {
        let report = &stored.report;
        if report.flags.dropped {
            let key = (report.reporter.node, report.drop_reason);
            let known = self.0.entry(key).or_insert((0, stored.received_ns, 0));
            known.0 += 1;
            known.2 = stored.received_ns;
        }
    }

    pub(super) fn answer(self, limit: usize) -> Answer {
        let mut answer = Answer::new(&["node", "reason", "packets", "first", "last"]);
        for ((node, reason), (packets, first_ns, last_ns)) in self.0.into_iter().take(limit) {
            answer.rows.push(vec![
                Cell::Whole(u64::from(node)),
                reason.map_or(Cell::None, |reason| Cell::Whole(u64::from(reason))),
                Cell::Whole(packets),
                time_cell(first_ns),
                time_cell(last_ns),
            ]);
        }
        answer
    }
}
