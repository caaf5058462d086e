//! Paths: loops, and flows that go another way.

use super::Event;
use crate::report::{Flow, Mode, Report};
use smallvec::SmallVec;
use std::collections::HashMap;

/// The nodes that a packet has met, in order.
pub type Path = SmallVec<[u32; 8]>;

/// Flows of a generation. Flows that have no report while this many others do are forgotten.
const GENERATION: usize = 65_536;

/// The last path of each flow.
#[derive(Default)]
pub struct Paths {
    young: HashMap<Flow, Path>,
    old: HashMap<Flow, Path>,
}

impl Paths {
    /// Looks at a report of a sink.
    pub fn see(&mut self, report: &Report, events: &mut Vec<Event>) {
        if report.mode != Mode::Md {
            return;
        }
        let path: Option<Path> = report.hops.iter().map(|hop| hop.node).collect();
        let Some(path) = path else { return };
        if let Some(node) = met_twice(&path) {
            events.push(Event::Loop {
                node,
                flow: report.flow,
                path: path.clone(),
            });
        }
        // A packet that is dropped on its way, or still is on it, has a part of the path only; so has a stack without
        // some hops.
        let is_part = report.flags.dropped || report.flags.intermediate || !report.is_whole;
        if let Some(flow) = report.flow.filter(|_| !is_part) {
            self.follow(flow, path, events);
        }
    }

    fn follow(&mut self, flow: Flow, path: Path, events: &mut Vec<Event>) {
        if self.young.get(&flow).is_some_and(|before| *before == path) {
            return;
        }
        let before = self.young.insert(flow, path.clone()).or_else(|| self.old.remove(&flow));
        if let Some(from) = before.filter(|before| *before != path) {
            events.push(Event::PathChange { flow, from, to: path });
        }
        if self.young.len() >= GENERATION {
            self.old = std::mem::take(&mut self.young);
        }
    }
}

/// The first node that a path has twice.
fn met_twice(path: &Path) -> Option<u32> {
    let again = |(place, node): (usize, &u32)| path[..place].contains(node).then_some(*node);
    path.iter().enumerate().find_map(again)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::{Flags, Hop, Reporter};
    use std::net::Ipv4Addr;

    fn report(source_port: u16, nodes: &[u32]) -> Report {
        let address = Ipv4Addr::LOCALHOST.into();
        let hop = |node: &u32| Hop {
            node: Some(*node),
            ..Hop::default()
        };
        Report {
            reporter: Reporter { node: 9, hardware: 0 },
            sequence: 0,
            flags: Flags::default(),
            drop_reason: None,
            mode: Mode::Md,
            flow: Some(Flow {
                source: address,
                destination: address,
                protocol: 17,
                source_port,
                destination_port: 1,
            }),
            hops: nodes.iter().map(hop).collect(),
            is_whole: true,
        }
    }

    fn kinds(paths: &mut Paths, report: &Report) -> Vec<&'static str> {
        let mut events = Vec::new();
        paths.see(report, &mut events);
        events.iter().map(Event::kind).collect()
    }

    #[test]
    fn loops_and_changes_are_seen() {
        let mut paths = Paths::default();
        assert!(kinds(&mut paths, &report(1, &[1, 2, 3])).is_empty());
        assert!(kinds(&mut paths, &report(1, &[1, 2, 3])).is_empty());
        assert!(kinds(&mut paths, &report(2, &[1, 4, 3])).is_empty());
        assert_eq!(kinds(&mut paths, &report(1, &[1, 4, 3])), ["path_change"]);
        assert!(kinds(&mut paths, &report(1, &[1, 4, 3])).is_empty());
        assert_eq!(kinds(&mut paths, &report(1, &[1, 4, 1, 3])), ["loop", "path_change"]);
    }

    #[test]
    fn what_is_not_whole_says_nothing_of_the_path() {
        let mut paths = Paths::default();
        kinds(&mut paths, &report(1, &[1, 2, 3]));
        let cut = Report {
            is_whole: false,
            ..report(1, &[2, 3])
        };
        let dropped = Report {
            flags: Flags {
                dropped: true,
                ..Flags::default()
            },
            ..report(1, &[1, 2])
        };
        let intermediate = Report {
            flags: Flags {
                intermediate: true,
                ..Flags::default()
            },
            ..report(1, &[1, 2])
        };
        let postcard = Report {
            mode: Mode::Xd,
            ..report(1, &[2])
        };
        for other in [cut.clone(), dropped, intermediate, postcard] {
            assert!(kinds(&mut paths, &other).is_empty());
        }
        let hops = report(1, &[1, 2, 1, 3]).hops;
        assert_eq!(kinds(&mut paths, &Report { hops, ..cut }), ["loop"]);
    }

    #[test]
    fn flows_are_remembered_for_a_generation() {
        let mut paths = Paths::default();
        let flow = |number: u32| {
            let mut one = report(1, &[number % 7]);
            one.flow = one.flow.map(|flow| Flow {
                source: Ipv4Addr::from(number).into(),
                ..flow
            });
            one
        };
        (0..3 * GENERATION as u32).for_each(|number| assert!(kinds(&mut paths, &flow(number)).is_empty()));
        assert!(paths.young.len() + paths.old.len() <= 2 * GENERATION);
        let recent = 3 * GENERATION as u32 - 1;
        let mut moved = flow(recent);
        moved.hops[0].node = Some(99);
        assert_eq!(kinds(&mut paths, &moved), ["path_change"]);
    }
}
