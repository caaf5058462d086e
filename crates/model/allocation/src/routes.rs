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
    let ways = ways(problem, placement, flow, start, count);
    let mut found = Vec::new();
    extend(problem, placement, flow, start, &ways[1..], &mut Vec::new(), &mut found);
    found
}

/// Where a packet can be before each of its passes, so that it ends after `count` recirculations. Only these are tried:
/// all ways together may be too many.
fn ways(
    problem: &Problem,
    placement: &Placement,
    flow: usize,
    start: Position,
    count: usize,
) -> Vec<BTreeSet<Position>> {
    let mut ways = vec![BTreeSet::from([start])];
    for number in 0..count {
        let before = ways[number].iter();
        let next: BTreeSet<Position> = before
            .flat_map(|position| recirculated(problem, placement, flow, *position))
            .collect();
        ways.push(next);
    }
    for number in (0..=count).rev() {
        let (before, behind) = ways.split_at_mut(number + 1);
        before[number].retain(|position| match behind.first() {
            Some(next) => recirculated(problem, placement, flow, *position).any(|position| next.contains(&position)),
            None => steps(problem, placement, flow, *position).any(|(_, _, is_end)| is_end),
        });
    }
    ways
}

/// Adds the routes from a position over one of each of these sets.
fn extend(
    problem: &Problem,
    placement: &Placement,
    flow: usize,
    position: Position,
    ways: &[BTreeSet<Position>],
    so_far: &mut Egresses,
    found: &mut Vec<Egresses>,
) {
    for (egress, next, is_end) in steps(problem, placement, flow, position) {
        if found.len() == ROUTES_MAX {
            return;
        }
        so_far.push(egress);
        match ways.split_first() {
            None if is_end => found.push(so_far.clone()),
            Some((first, others)) if has_loopback(problem, egress) && first.contains(&next) => {
                extend(problem, placement, flow, next, others, so_far, found);
            }
            _ => {}
        }
        so_far.pop();
    }
}

/// Where a packet can be after a pass and a recirculation.
fn recirculated<'a>(
    problem: &'a Problem,
    placement: &'a Placement,
    flow: usize,
    position: Position,
) -> impl Iterator<Item = Position> + use<'a> {
    let back = move |(egress, next, _): (u16, Position, bool)| has_loopback(problem, egress).then_some(next);
    steps(problem, placement, flow, position).filter_map(back)
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
