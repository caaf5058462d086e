//! The ways of a flow that recirculate it least.

use crate::problem::{Half, Place, Problem};
use std::collections::BTreeSet;

/// Where functions stand; none for those that are not placed yet, which count as if they stood everywhere.
pub(crate) type Placement = Vec<Option<Place>>;

/// The most routes of a flow that are examined.
const ROUTES_MAX: usize = 64;

/// The pipelines by whose egress a packet passes, the last of which is that of its output port.
pub(crate) type Egresses = Vec<u16>;

/// The number of functions of its flow's chain that a packet has passed after a half of a pipeline, if it had passed
/// `done` before.
pub(crate) fn after(problem: &Problem, placement: &Placement, flow: usize, place: Place, mut done: usize) -> usize {
    let mut last = None;
    while let Some(&function) = problem.chains[flow].get(done) {
        match placement[function] {
            None => {}
            Some(at) if at == place && last.is_none_or(|last| last < function) => last = Some(function),
            Some(_) => break,
        }
        done += 1;
    }
    done
}

/// A packet before an ingress.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Position {
    pipeline: u16,
    done: usize,
}

/// The least number of recirculations; none when the flow cannot come to its port, since a pipeline on its way has no
/// loopback port.
pub(crate) fn recirculations(problem: &Problem, placement: &Placement, flow: usize) -> Option<usize> {
    let start = Position {
        pipeline: problem.pipeline_of(problem.flows[flow].from),
        done: 0,
    };
    let mut seen = BTreeSet::from([start]);
    let mut layer = vec![start];
    for count in 0.. {
        let mut next = Vec::new();
        for position in layer {
            for (egress, position, is_end) in steps(problem, placement, flow, position) {
                if is_end {
                    return Some(count);
                }
                if has_loopback(problem, egress) && seen.insert(position) {
                    next.push(position);
                }
            }
        }
        if next.is_empty() {
            return None;
        }
        layer = next;
    }
    None
}

/// Up to [`ROUTES_MAX`] routes with the least number of recirculations.
pub(crate) fn shortest(problem: &Problem, placement: &Placement, flow: usize) -> Vec<Egresses> {
    let Some(count) = recirculations(problem, placement, flow) else {
        return Vec::new();
    };
    let start = Position {
        pipeline: problem.pipeline_of(problem.flows[flow].from),
        done: 0,
    };
    let mut found = Vec::new();
    extend(problem, placement, flow, start, count, &mut Vec::new(), &mut found);
    found
}

/// Adds the routes from a position that recirculate exactly `left` times.
fn extend(
    problem: &Problem,
    placement: &Placement,
    flow: usize,
    position: Position,
    left: usize,
    so_far: &mut Egresses,
    found: &mut Vec<Egresses>,
) {
    for (egress, next, is_end) in steps(problem, placement, flow, position) {
        if found.len() == ROUTES_MAX {
            return;
        }
        so_far.push(egress);
        if left == 0 {
            if is_end {
                found.push(so_far.clone());
            }
        } else if has_loopback(problem, egress) {
            extend(problem, placement, flow, next, left - 1, so_far, found);
        }
        so_far.pop();
    }
}

/// What a pass can lead to: the egress that it goes through, where the packet would be after a recirculation there, and
/// whether it can leave in place of that.
fn steps<'a>(
    problem: &'a Problem,
    placement: &'a Placement,
    flow: usize,
    position: Position,
) -> impl Iterator<Item = (u16, Position, bool)> + use<'a> {
    let ingress = Place {
        pipeline: position.pipeline,
        half: Half::Ingress,
    };
    let done = after(problem, placement, flow, ingress, position.done);
    let output = problem.pipeline_of(problem.flows[flow].to);
    (0..problem.chip.pipelines).map(move |pipeline| {
        let egress = Place {
            pipeline,
            half: Half::Egress,
        };
        let done = after(problem, placement, flow, egress, done);
        let is_end = done == problem.chains[flow].len() && pipeline == output;
        (pipeline, Position { pipeline, done }, is_end)
    })
}

fn has_loopback(problem: &Problem, pipeline: u16) -> bool {
    !problem.loopback_ports[usize::from(pipeline)].is_empty()
}
