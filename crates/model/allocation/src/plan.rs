//! A placement, with a route for each flow and what loopback ports carry then.

use crate::problem::{Half, Place, Problem};
use crate::routes::{self, Egresses, Placement};

/// One pass of a flow.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hop {
    /// The pipeline of the ingress.
    pub ingress: u16,
    /// Functions there, by index.
    pub in_ingress: Vec<usize>,
    /// The pipeline of the egress.
    pub egress: u16,
    /// Functions there.
    pub in_egress: Vec<usize>,
    /// The port that it leaves by: one in loopback mode, but in the last pass.
    pub port: u16,
}

/// The passes of a flow.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Route {
    /// In order.
    pub hops: Vec<Hop>,
}

impl Route {
    /// How often the flow comes back.
    pub fn recirculations(&self) -> usize {
        self.hops.len() - 1
    }
}

/// Where functions stand, and how flows go.
#[derive(Clone, Debug, PartialEq)]
pub struct Plan {
    /// The place of each function.
    pub places: Vec<Place>,
    /// The route of each flow.
    pub routes: Vec<Route>,
    /// What each loopback port carries, by port.
    pub loads: Vec<(u16, f64)>,
    /// All recirculated bandwidth.
    pub recirculated_gbps: f64,
    /// The load of the fullest loopback port, as a share of its rate.
    pub utilisation: f64,
}

impl Plan {
    /// By which factor the rates of all flows may grow until a loopback port is full; infinite without recirculation.
    pub fn headroom(&self) -> f64 {
        1.0 / self.utilisation
    }

    /// Whether a loopback port has to carry more than its rate.
    pub fn is_overloaded(&self) -> bool {
        self.utilisation > 1.0 + TOLERANCE
    }

    /// Whether this is the better one: no overload, then less recirculated bandwidth, then ports that are more evenly
    /// loaded.
    pub(crate) fn is_better_than(&self, other: &Plan) -> bool {
        let rank = |plan: &Plan| {
            [
                (plan.utilisation - 1.0).max(0.0),
                plan.recirculated_gbps,
                plan.utilisation,
            ]
        };
        for (own, others) in rank(self).into_iter().zip(rank(other)) {
            if (own - others).abs() > TOLERANCE {
                return own < others;
            }
        }
        false
    }

    /// A plan with these places; none when a flow has no way.
    pub fn with(problem: &Problem, places: &[Place]) -> Option<Plan> {
        let placement: Placement = places.iter().copied().map(Some).collect();
        let count = problem.flows.len();
        let choices: Vec<Vec<Egresses>> = (0..count)
            .map(|flow| routes::shortest(problem, &placement, flow))
            .collect();
        if choices.iter().any(Vec::is_empty) {
            return None;
        }
        let chosen = balanced(problem, &choices);
        Some(assembled(problem, &placement, places, &chosen))
    }
}

/// Sums of rates differ by this for no other reason than rounding.
pub(crate) const TOLERANCE: f64 = 1e-9;

/// Rounds in which flows may change to other routes.
const ROUNDS: usize = 4;

/// A route for each flow, so that the pipelines' loopback ports are loaded evenly: large flows choose first, then each
/// may choose again.
fn balanced<'a>(problem: &Problem, choices: &'a [Vec<Egresses>]) -> Vec<&'a Egresses> {
    let mut order: Vec<usize> = (0..choices.len()).collect();
    order.sort_by(|a, b| problem.flows[*b].gbps.total_cmp(&problem.flows[*a].gbps));
    let mut loads = vec![0.0; problem.chip.pipelines.into()];
    let mut chosen: Vec<Option<&Egresses>> = vec![None; choices.len()];
    for _ in 0..ROUNDS {
        let before = chosen.clone();
        for &flow in &order {
            let gbps = problem.flows[flow].gbps;
            if let Some(route) = chosen[flow] {
                add(&mut loads, route, -gbps);
            }
            let fullest = |route: &&Egresses| {
                let mut with = loads.clone();
                add(&mut with, route, gbps);
                fullest_share(problem, &with)
            };
            let best = choices[flow].iter().min_by(|a, b| fullest(a).total_cmp(&fullest(b)));
            chosen[flow] = best;
            if let Some(route) = best {
                add(&mut loads, route, gbps);
            }
        }
        if chosen == before {
            break;
        }
    }
    chosen.into_iter().flatten().collect()
}

/// Every egress but the last one leads to a loopback port.
fn add(loads: &mut [f64], route: &Egresses, gbps: f64) {
    for &pipeline in &route[..route.len() - 1] {
        loads[usize::from(pipeline)] += gbps;
    }
}

fn fullest_share(problem: &Problem, loads: &[f64]) -> f64 {
    let shares = (0..problem.chip.pipelines).map(|pipeline| match problem.capacity_gbps(pipeline) {
        0.0 => 0.0,
        capacity => loads[usize::from(pipeline)] / capacity,
    });
    shares.fold(0.0, f64::max)
}

/// The plan of these routes. A recirculated flow takes the emptiest loopback port of its pipeline; large flows come
/// first.
fn assembled(problem: &Problem, placement: &Placement, places: &[Place], chosen: &[&Egresses]) -> Plan {
    let mut loads: Vec<(u16, f64)> = problem
        .loopback_ports
        .iter()
        .flatten()
        .map(|port| (*port, 0.0))
        .collect();
    let mut order: Vec<usize> = (0..chosen.len()).collect();
    order.sort_by(|a, b| problem.flows[*b].gbps.total_cmp(&problem.flows[*a].gbps));
    let mut routes = vec![Route { hops: Vec::new() }; chosen.len()];
    for flow in order {
        routes[flow] = route(problem, placement, flow, chosen[flow], &mut loads);
    }
    let recirculated_gbps = loads.iter().map(|(_, gbps)| gbps).sum();
    let most = loads.iter().map(|(_, gbps)| *gbps).fold(0.0, f64::max);
    Plan {
        places: places.to_vec(),
        routes,
        loads,
        recirculated_gbps,
        utilisation: most / problem.chip.port_gbps,
    }
}

fn route(
    problem: &Problem,
    placement: &Placement,
    flow: usize,
    egresses: &Egresses,
    loads: &mut [(u16, f64)],
) -> Route {
    let chain = &problem.chains[flow];
    let mut ingress = problem.pipeline_of(problem.flows[flow].from);
    let mut done = 0;
    let mut hops = Vec::new();
    for (number, &egress) in egresses.iter().enumerate() {
        let mut take = |pipeline, half| {
            let before = done;
            done = routes::after(problem, placement, flow, Place { pipeline, half }, before);
            chain[before..done].to_vec()
        };
        let in_ingress = take(ingress, Half::Ingress);
        let in_egress = take(egress, Half::Egress);
        let port = if number + 1 == egresses.len() {
            problem.flows[flow].to
        } else {
            emptiest(problem, egress, problem.flows[flow].gbps, loads)
        };
        hops.push(Hop {
            ingress,
            in_ingress,
            egress,
            in_egress,
            port,
        });
        ingress = egress;
    }
    Route { hops }
}

/// Loads the emptiest loopback port of a pipeline.
fn emptiest(problem: &Problem, pipeline: u16, gbps: f64, loads: &mut [(u16, f64)]) -> u16 {
    let own = loads
        .iter_mut()
        .filter(|(port, _)| problem.pipeline_of(*port) == pipeline);
    let (port, load) = own
        .min_by(|a, b| a.1.total_cmp(&b.1))
        .expect("a route recirculates where there is a loopback port");
    *load += gbps;
    *port
}

/// What a placement takes of the chip.
pub(crate) struct Room {
    stages: Vec<u32>,
    memory_percent: Vec<u32>,
}

impl Room {
    pub(crate) fn new(problem: &Problem) -> Room {
        Room {
            stages: vec![problem.chip.stages; 2 * usize::from(problem.chip.pipelines)],
            memory_percent: vec![100; problem.chip.pipelines.into()],
        }
    }

    fn half(place: Place) -> usize {
        2 * usize::from(place.pipeline) + usize::from(place.half == Half::Egress)
    }

    /// Takes room for a function, if there is enough.
    pub(crate) fn take(&mut self, problem: &Problem, function: usize, place: Place) -> bool {
        let function = &problem.functions[function];
        let stages = &mut self.stages[Room::half(place)];
        let memory = &mut self.memory_percent[usize::from(place.pipeline)];
        if *stages < function.stages || *memory < function.memory_percent {
            return false;
        }
        *stages -= function.stages;
        *memory -= function.memory_percent;
        true
    }

    /// Free stages, together, of the halves that have at least this number.
    pub(crate) fn stages_in_parts_of(&self, least: u64) -> u64 {
        let stages = self.stages.iter().map(|stages| u64::from(*stages));
        stages.filter(|stages| *stages >= least).sum()
    }

    pub(crate) fn give(&mut self, problem: &Problem, function: usize, place: Place) {
        let function = &problem.functions[function];
        self.stages[Room::half(place)] += function.stages;
        self.memory_percent[usize::from(place.pipeline)] += function.memory_percent;
    }
}

/// Functions in the order of the file, each in the first half of a pipeline where it fits; none when one fits nowhere,
/// or a flow has no way.
pub fn first_fit(problem: &Problem) -> Option<Plan> {
    let mut room = Room::new(problem);
    let mut places = Vec::new();
    for function in 0..problem.functions.len() {
        let place = problem.places().find(|place| room.take(problem, function, *place))?;
        places.push(place);
    }
    Plan::with(problem, &places)
}
