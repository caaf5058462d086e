//! Questions to the files of a store.
//!
//! Files are read one after the other, the oldest first; those whose reports are all outside the time that is asked
//! about are passed over.

mod answer;
mod flows;
mod nodes;

pub use answer::{Answer, Cell};

use crate::analysis::{Analysis, BurstThresholds, Event};
use crate::store::{self, StoreError, Stored};
use answer::time_cell;
use std::collections::VecDeque;
use std::net::IpAddr;
use std::path::{Path, PathBuf};

/// The question.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Question {
    /// Flows, those with the most of something first.
    Flows(Order),
    /// Nodes: how long packets are in them, how full their queues are.
    Hops,
    /// Reports, the newest last: flow, path, and the time in each node.
    Reports,
    /// Drops, by node and reason.
    Drops,
    /// Packets that have met a node twice; these and the following, the newest last.
    Loops,
    /// Flows whose path has changed.
    Paths,
    /// Queues that were full for a short time.
    Bursts,
}

/// By what flows are ordered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// Reports.
    Reports,
    /// The 99th percentile of the time from the first node to the last.
    Latency,
    /// The largest occupancy of a queue.
    Depth,
    /// Drops.
    Drops,
}

/// Which reports are looked at.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Filter {
    /// Only reports from this time on, in nanoseconds since the Unix epoch.
    pub from_ns: Option<u64>,
    /// Only reports before this time, in nanoseconds since the Unix epoch.
    pub to_ns: Option<u64>,
    /// Only reports about packets from or to this address.
    pub address: Option<IpAddr>,
    /// Only reports about packets from or to this TCP or UDP port.
    pub port: Option<u16>,
    /// Only reports about packets of this IP protocol.
    pub protocol: Option<u8>,
    /// Only reports about packets that have met this node.
    pub node: Option<u32>,
}

impl Filter {
    fn takes(&self, stored: &Stored) -> bool {
        let report = &stored.report;
        let is_in_time = self.from_ns.is_none_or(|from| stored.received_ns >= from)
            && self.to_ns.is_none_or(|to| stored.received_ns < to);
        let has_node = self
            .node
            .is_none_or(|node| report.hops.iter().any(|hop| hop.node == Some(node)));
        is_in_time && has_node && self.takes_flow(stored)
    }

    fn takes_flow(&self, stored: &Stored) -> bool {
        if self.address.is_none() && self.port.is_none() && self.protocol.is_none() {
            return true;
        }
        let Some(flow) = stored.report.flow else { return false };
        self.address
            .is_none_or(|address| [flow.source, flow.destination].contains(&address))
            && self
                .port
                .is_none_or(|port| [flow.source_port, flow.destination_port].contains(&port))
            && self.protocol.is_none_or(|protocol| flow.protocol == protocol)
    }
}

/// A question with its limits.
#[derive(Clone, Debug)]
pub struct Query {
    /// The question.
    pub question: Question,
    /// Which reports are looked at.
    pub filter: Filter,
    /// Rows of the answer at most.
    pub limit: usize,
    /// From when on a queue has a microburst.
    pub bursts: BurstThresholds,
}

/// Answers a question.
///
/// # Errors
/// When the folder cannot be read. A file that cannot be read is named in the answer; one that is deleted meanwhile is
/// passed over.
pub fn ask(folder: &Path, query: &Query) -> Result<Answer, StoreError> {
    let mut files = Files {
        paths: store::files(folder)?,
        unread: Vec::new(),
    };
    let mut answer = answer(&mut files, query);
    answer.unread = files.unread;
    Ok(answer)
}

fn answer(files: &mut Files, query: &Query) -> Answer {
    match query.question {
        Question::Flows(order) => {
            let mut flows = flows::Flows::default();
            files.each(&query.filter, |stored| flows.see(&stored.report));
            flows.answer(order, query.limit)
        }
        Question::Hops => {
            let mut nodes = nodes::Nodes::default();
            files.each(&query.filter, |stored| nodes.see(&stored.report));
            nodes.answer(query.limit)
        }
        Question::Drops => {
            let mut drops = nodes::Drops::default();
            files.each(&query.filter, |stored| drops.see(stored));
            drops.answer(query.limit)
        }
        Question::Reports => reports(files, query),
        Question::Loops | Question::Paths | Question::Bursts => events(files, query),
    }
}

/// The files of a store, and what is wrong with those that could not be read.
struct Files {
    paths: Vec<PathBuf>,
    unread: Vec<String>,
}

impl Files {
    /// Calls a function with each report that passes the filter, in the order in which they came.
    fn each(&mut self, filter: &Filter, mut take: impl FnMut(&Stored)) {
        for (place, path) in self.paths.iter().enumerate() {
            let is_over = |path| filter.from_ns.is_some_and(|from| store::begins_before(path, from));
            let is_ahead = filter.to_ns.is_some_and(|to| !store::begins_before(path, to));
            // All reports of a file came before the first of the next.
            if is_ahead || self.paths.get(place + 1).is_some_and(|next| is_over(next)) {
                continue;
            }
            let read = store::read(path, |stored| {
                if filter.takes(&stored) {
                    take(&stored);
                }
                // Reports of a file are in order.
                filter.to_ns.is_none_or(|to| stored.received_ns < to)
            });
            match read {
                // One that is gone was deleted by rotation.
                Err(error) if path.exists() => self.unread.push(error.to_string()),
                _ => {}
            }
        }
    }
}

fn reports(files: &mut Files, query: &Query) -> Answer {
    let mut rows = VecDeque::new();
    files.each(&query.filter, |stored| {
        if rows.len() >= query.limit {
            rows.pop_front();
        }
        if query.limit > 0 {
            rows.push_back(report_row(stored));
        }
    });
    let mut answer = Answer::new(&[
        "time",
        "reporter",
        "mode",
        "flow",
        "path",
        "latency_ns",
        "queue_depth",
        "drop_reason",
    ]);
    answer.rows.extend(rows);
    answer
}

fn report_row(stored: &Stored) -> Vec<Cell> {
    let report = &stored.report;
    let listed = |value: &dyn Fn(&crate::report::Hop) -> Option<u32>| {
        let values = report.hops.iter().map(|hop| value(hop).map(u64::from));
        Cell::Hops(values.collect())
    };
    vec![
        time_cell(stored.received_ns),
        Cell::Whole(u64::from(report.reporter.node)),
        Cell::Text(report.mode.name().to_string()),
        Cell::of(report.flow),
        listed(&|hop| hop.node),
        listed(&|hop| hop.latency_ns),
        listed(&|hop| hop.queue_depth),
        report
            .drop_reason
            .map_or(Cell::None, |reason| Cell::Whole(u64::from(reason))),
    ]
}

/// What the analysis finds in the files, as it found it when the reports came.
fn events(files: &mut Files, query: &Query) -> Answer {
    let mut analysis = Analysis::new(query.bursts);
    let mut rows = VecDeque::new();
    let mut events = Vec::new();
    files.each(&query.filter, |stored| {
        analysis.time_passes(stored.received_ns, &mut events);
        analysis.see(&stored.report, stored.received_ns, &mut events);
        take_events(&mut events, query, stored.received_ns, &mut rows);
    });
    analysis.finish(&mut events);
    take_events(&mut events, query, 0, &mut rows);
    let mut answer = Answer::new(columns(query.question));
    answer.rows.extend(rows);
    answer
}

fn columns(question: Question) -> &'static [&'static str] {
    match question {
        Question::Loops => &["time", "node", "flow", "path"],
        Question::Paths => &["time", "flow", "path", "before"],
        _ => &[
            "time",
            "node",
            "egress_port",
            "queue",
            "duration_ns",
            "packets",
            "depth_max",
            "latency_max_ns",
            "flow",
        ],
    }
}

/// Appends rows for events; where there are too many, the newest stay.
fn take_events(events: &mut Vec<Event>, query: &Query, time_ns: u64, rows: &mut VecDeque<Vec<Cell>>) {
    let found = events.drain(..);
    rows.extend(found.filter_map(|event| event_row(query.question, &event, time_ns)));
    let surplus = rows.len().saturating_sub(query.limit);
    rows.drain(..surplus);
}

fn path_cell(nodes: &[u32]) -> Cell {
    Cell::Hops(nodes.iter().map(|node| Some(u64::from(*node))).collect())
}

fn event_row(question: Question, event: &Event, time_ns: u64) -> Option<Vec<Cell>> {
    let whole = |value: u64| Cell::Whole(value);
    match (question, event) {
        (Question::Loops, Event::Loop { node, flow, path }) => Some(vec![
            time_cell(time_ns),
            whole(u64::from(*node)),
            Cell::of(*flow),
            path_cell(path),
        ]),
        (Question::Paths, Event::PathChange { flow, from, to }) => Some(vec![
            time_cell(time_ns),
            Cell::of(Some(flow)),
            path_cell(to),
            path_cell(from),
        ]),
        (Question::Bursts, Event::Burst(burst)) => Some(vec![
            time_cell(burst.received_ns),
            whole(u64::from(burst.node)),
            burst.egress_port.map_or(Cell::None, |port| whole(u64::from(port))),
            burst.queue.map_or(Cell::None, |queue| whole(u64::from(queue))),
            whole(burst.duration_ns),
            whole(burst.packets),
            whole(u64::from(burst.depth_max)),
            whole(u64::from(burst.latency_max_ns)),
            Cell::of(burst.flow),
        ]),
        _ => None,
    }
}
