//! Flows by what their reports have in common.

use super::Order;
use super::answer::{Answer, Cell};
use crate::report::{Flow, Report};
use std::cmp::Reverse;
use std::collections::HashMap;

/// What is known of a flow.
#[derive(Default)]
struct Known {
    reports: u64,
    drops: u64,
    depth_max: u32,
    /// Times from the first node to the last of packets, in nanoseconds.
    latencies: Vec<u32>,
    hops_max: usize,
}

/// All flows.
#[derive(Default)]
pub(super) struct Flows(HashMap<Flow, Known>);

impl Flows {
    pub(super) fn see(&mut self, report: &Report) {
        let Some(flow) = report.flow else { return };
        let known = self.0.entry(flow).or_default();
        known.reports += 1;
        known.drops += u64::from(report.flags.dropped);
        known.hops_max = known.hops_max.max(report.hops.len());
        let depths = report.hops.iter().filter_map(|hop| hop.queue_depth);
        known.depth_max = depths.chain([known.depth_max]).max().unwrap_or(0);
        let latencies: Vec<u64> = report
            .hops
            .iter()
            .filter_map(|hop| hop.latency_ns)
            .map(u64::from)
            .collect();
        if !latencies.is_empty() {
            let sum: u64 = latencies.iter().sum();
            known.latencies.push(u32::try_from(sum).unwrap_or(u32::MAX));
        }
    }

    pub(super) fn answer(self, order: Order, limit: usize) -> Answer {
        let mut rows: Vec<(u64, Flow, Vec<Cell>)> = self
            .0
            .into_iter()
            .map(|(flow, known)| row(flow, known, order))
            .collect();
        rows.sort_by_key(|(rank, flow, _)| (Reverse(*rank), *flow));
        let mut answer = Answer::new(&[
            "flow",
            "reports",
            "hops",
            "latency_mean_ns",
            "latency_p99_ns",
            "latency_max_ns",
            "depth_max",
            "drops",
        ]);
        answer.rows = rows.into_iter().take(limit).map(|(_, _, row)| row).collect();
        answer
    }
}

fn row(flow: Flow, mut known: Known, order: Order) -> (u64, Flow, Vec<Cell>) {
    known.latencies.sort_unstable();
    let count = known.latencies.len();
    let mean = known
        .latencies
        .iter()
        .map(|latency| u64::from(*latency))
        .sum::<u64>()
        .checked_div(count as u64);
    let at = |share: f64| {
        let rank = (share * count as f64).ceil() as usize;
        known.latencies.get(rank.max(1) - 1).map(|latency| u64::from(*latency))
    };
    let rank = match order {
        Order::Reports => known.reports,
        Order::Latency => at(0.99).unwrap_or(0),
        Order::Depth => u64::from(known.depth_max),
        Order::Drops => known.drops,
    };
    let optional = |value: Option<u64>| value.map_or(Cell::None, Cell::Whole);
    let cells = vec![
        Cell::Text(flow.to_string()),
        Cell::Whole(known.reports),
        Cell::Whole(known.hops_max as u64),
        optional(mean),
        optional(at(0.99)),
        optional(at(1.0)),
        Cell::Whole(u64::from(known.depth_max)),
        Cell::Whole(known.drops),
    ];
    (rank, flow, cells)
}
