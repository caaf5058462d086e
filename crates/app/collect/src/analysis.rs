//! What reports say together.
//!
//! * [`Sequences`]: which reports are missing.
//! * [`Paths`]: loops, and flows whose path changes. Paths are those of INT-MD, whose reports have all hops.
//! * [`Bursts`]: microbursts: a queue that is full for a short time.
//!
//! Each is bounded: where there are more nodes, flows or queues than it remembers, it forgets the oldest or counts what
//! it does not follow.

mod bursts;
mod paths;
mod sequences;

pub use bursts::{Burst, BurstThresholds, Bursts};
pub use paths::{Path, Paths};
pub use sequences::{Gap, Sequences};

use crate::points::{burst_text, path_text};
use crate::report::{Flow, Report};
use std::fmt;

/// What an analysis has found.
#[derive(Clone, Debug, PartialEq)]
pub enum Event {
    /// A packet has met a node twice.
    Loop {
        /// The node.
        node: u32,
        /// The packet's flow.
        flow: Option<Flow>,
        /// The nodes that the packet has met.
        path: Path,
    },
    /// Packets of a flow go another way than before.
    PathChange {
        /// The flow.
        flow: Flow,
        /// The nodes before.
        from: Path,
        /// The nodes now.
        to: Path,
    },
    /// A queue was full, and is not any more.
    Burst(Burst),
}

impl Event {
    /// The stable name, for labels.
    pub fn kind(&self) -> &'static str {
        match self {
            Event::Loop { .. } => "loop",
            Event::PathChange { .. } => "path_change",
            Event::Burst(_) => "microburst",
        }
    }

    /// All names.
    pub const KINDS: [&'static str; 3] = ["loop", "path_change", "microburst"];
}

impl fmt::Display for Event {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let flow = |flow: &Option<Flow>| flow.map_or("an unknown flow".to_string(), |flow| flow.to_string());
        match self {
            Event::Loop { node, flow: of, path } => {
                write!(formatter, "loop at node {node}: {}, {}", flow(of), path_text(path))
            }
            Event::PathChange { flow, from, to } => {
                write!(
                    formatter,
                    "path of {flow}: {}, before {}",
                    path_text(to),
                    path_text(from)
                )
            }
            Event::Burst(burst) => write!(formatter, "microburst at node {}: {}", burst.node, burst_text(burst)),
        }
    }
}

/// Everything but missing reports.
#[derive(Default)]
pub struct Analysis {
    paths: Paths,
    bursts: Bursts,
}

impl Analysis {
    /// An analysis in which a queue above these thresholds is a microburst.
    pub fn new(thresholds: BurstThresholds) -> Analysis {
        Analysis {
            paths: Paths::default(),
            bursts: Bursts::new(thresholds),
        }
    }

    /// Looks at a report that came at a time, in nanoseconds; appends what it means.
    pub fn see(&mut self, report: &Report, received_ns: u64, events: &mut Vec<Event>) {
        self.paths.see(report, events);
        self.bursts.see(report, received_ns, events);
    }

    /// Ends what has had no report for a while.
    pub fn time_passes(&mut self, now_ns: u64, events: &mut Vec<Event>) {
        self.bursts.time_passes(now_ns, events);
    }

    /// Ends everything.
    pub fn finish(&mut self, events: &mut Vec<Event>) {
        self.bursts.time_passes(u64::MAX, events);
    }
}
