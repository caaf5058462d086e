//! Branch and bound over placements.
//!
//! Functions are placed one after another, those of the most traffic first. What is recirculated at least, with the
//! remaining ones wherever it suits each flow, bounds a branch. The first plan to beat comes from [`first_fit`], or where
//! that has no room from a search that places the largest functions first, and from improvements by single moves and
//! exchanges. These also end the search: they make loads even among plans that recirculate equally much.

use crate::plan::{Plan, Room, TOLERANCE, first_fit};
use crate::problem::{Place, Problem};
use crate::routes::{self, Placement};

/// What was found.
#[derive(Clone, Debug, PartialEq)]
pub struct Solution {
    /// The best plan.
    pub plan: Plan,
    /// Whether no plan without overload recirculates less; otherwise the search ended early.
    pub is_proven: bool,
    /// Placements that were examined, in part or as a whole.
    pub looked_at: u64,
}

/// Why there is no plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unsolved {
    /// Whether there is none at all; otherwise the search ended early.
    pub is_proven: bool,
    /// Placements that were examined, in part or as a whole.
    pub looked_at: u64,
}

/// The best plan that is found within `looks_max` partial placements.
///
/// # Errors
/// When none is found.
pub fn solve(problem: &Problem, looks_max: u64) -> Result<Solution, Unsolved> {
    let mut search = Search::new(problem, by_traffic(problem), looks_max);
    search.best = match first_fit(problem) {
        Some(plan) => Some(improved(problem, plan)),
        None => any_plan(problem, looks_max)?.map(|plan| improved(problem, plan)),
    };
    search.place(0);
    let (is_proven, looked_at) = (search.looks_left > 0, looks_max - search.looks_left);
    match search.best {
        Some(best) => Ok(Solution {
            plan: improved(problem, best),
            is_proven,
            looked_at,
        }),
        None => Err(Unsolved { is_proven, looked_at }),
    }
}

/// A plan, whatever it recirculates: the largest functions are placed first. None when `looks_max` placements have not
/// led to any.
///
/// # Errors
/// When there is no plan at all.
fn any_plan(problem: &Problem, looks_max: u64) -> Result<Option<Plan>, Unsolved> {
    let mut search = Search::new(problem, by_size(problem), looks_max);
    search.ends_with_a_plan = true;
    search.place(0);
    let (is_proven, looked_at) = (search.looks_left > 0, looks_max - search.looks_left);
    match search.best {
        None if is_proven => Err(Unsolved { is_proven, looked_at }),
        best => Ok(best),
    }
}

struct Search<'a> {
    problem: &'a Problem,
    order: Vec<usize>,
    room: Room,
    placement: Placement,
    best: Option<Plan>,
    /// Whether any plan will do.
    ends_with_a_plan: bool,
    looks_left: u64,
}

impl<'a> Search<'a> {
    fn new(problem: &'a Problem, order: Vec<usize>, looks_max: u64) -> Search<'a> {
        Search {
            problem,
            order,
            room: Room::new(problem),
            placement: vec![None; problem.functions.len()],
            best: None,
            ends_with_a_plan: false,
            looks_left: looks_max,
        }
    }

    /// Places the functions from the given one of `order` on, in all ways that may be better than the best plan.
    fn place(&mut self, depth: usize) {
        if self.looks_left == 0 || !self.may_be_better() || !self.may_be_the_first(depth) {
            return;
        }
        self.looks_left -= 1;
        let Some(&function) = self.order.get(depth) else {
            self.complete();
            return;
        };
        for place in self.problem.places() {
            if self.room.take(self.problem, function, place) {
                self.placement[function] = Some(place);
                self.place(depth + 1);
                self.placement[function] = None;
                self.room.give(self.problem, function, place);
            }
        }
    }

    fn complete(&mut self) {
        let places: Vec<Place> = self.placement.iter().copied().flatten().collect();
        let Some(plan) = Plan::with(self.problem, &places) else {
            return;
        };
        if self.best.as_ref().is_none_or(|best| plan.is_better_than(best)) {
            self.best = Some(plan);
        }
    }

    /// Whether the search for a first plan goes on here: the functions from the given one of `order` on need room in
    /// halves that can take one of them.
    fn may_be_the_first(&self, depth: usize) -> bool {
        let stages = |function: &usize| u64::from(self.problem.functions[*function].stages);
        let left = &self.order[depth..];
        let smallest = left.iter().map(stages).min().unwrap_or(0);
        let needed: u64 = left.iter().map(stages).sum();
        !self.ends_with_a_plan || (self.best.is_none() && needed <= self.room.stages_in_parts_of(smallest))
    }

    /// Whether a plan with these functions where they are may be better: the least that it recirculates is compared.
    fn may_be_better(&self) -> bool {
        let Some(least) = least_recirculated(self.problem, &self.placement) else {
            return false;
        };
        match &self.best {
            None => true,
            Some(best) if best.is_overloaded() => least / capacity(self.problem) < best.utilisation,
            Some(best) => least < best.recirculated_gbps - TOLERANCE,
        }
    }
}

/// Functions by the traffic that takes them, most first.
fn by_traffic(problem: &Problem) -> Vec<usize> {
    let traffic = |function: usize| -> f64 {
        let flows = problem.chains.iter().zip(&problem.flows);
        let taking = flows.filter(|(chain, _)| chain.contains(&function));
        taking.map(|(_, flow)| flow.gbps).sum()
    };
    let mut order: Vec<usize> = (0..problem.functions.len()).collect();
    order.sort_by(|a, b| traffic(*b).total_cmp(&traffic(*a)));
    order
}

/// Functions by the share of a half's stages or of a pipeline's memory that they take, largest first.
fn by_size(problem: &Problem) -> Vec<usize> {
    let percent = |function: &usize| {
        let function = &problem.functions[*function];
        let of_stages = 100 * u64::from(function.stages) / u64::from(problem.chip.stages);
        (of_stages.max(function.memory_percent.into()), function.stages)
    };
    let mut order: Vec<usize> = (0..problem.functions.len()).collect();
    order.sort_by_key(|function| std::cmp::Reverse(percent(function)));
    order
}

/// A bound from below of recirculated bandwidth; none when a flow has no way.
fn least_recirculated(problem: &Problem, placement: &Placement) -> Option<f64> {
    let mut sum = 0.0;
    for (number, flow) in problem.flows.iter().enumerate() {
        sum += flow.gbps * routes::recirculations(problem, placement, number)? as f64;
    }
    Some(sum)
}

/// The bandwidth of all loopback ports, in Gbps.
fn capacity(problem: &Problem) -> f64 {
    (0..problem.chip.pipelines)
        .map(|pipeline| problem.capacity_gbps(pipeline))
        .sum()
}

/// The plan after single moves of functions and exchanges of two of them, as long as one makes it better.
fn improved(problem: &Problem, mut plan: Plan) -> Plan {
    loop {
        let better = neighbours(problem, &plan.places)
            .filter_map(|places| Plan::with(problem, &places))
            .find(|other| other.is_better_than(&plan));
        match better {
            Some(better) => plan = better,
            None => return plan,
        }
    }
}

/// Placements that fit and differ in one function, or in two whose places are exchanged.
fn neighbours(problem: &Problem, places: &[Place]) -> impl Iterator<Item = Vec<Place>> {
    let count = places.len();
    let moves = (0..count).flat_map(move |function| {
        problem.places().map(move |place| {
            let mut moved = places.to_vec();
            moved[function] = place;
            moved
        })
    });
    let exchanges = (0..count).flat_map(move |first| {
        (first + 1..count).map(move |second| {
            let mut exchanged = places.to_vec();
            exchanged.swap(first, second);
            exchanged
        })
    });
    moves
        .chain(exchanges)
        .filter(move |other| other != places && fits(problem, other))
}

fn fits(problem: &Problem, places: &[Place]) -> bool {
    let mut room = Room::new(problem);
    (0..places.len()).all(|function| room.take(problem, function, places[function]))
}
