//! Plans of small problems: against what one can see, and against every placement that there is.

use forebay_allocation::{Chip, Half, Mistake, Place, Plan, Problem, Unsolved, commands, first_fit, solve};

const CHIP: Chip = Chip {
    pipelines: 2,
    ports: 16,
    port_gbps: 100.0,
    stages: 12,
};

fn read(text: &str) -> Result<Problem, Mistake> {
    Problem::read(text, |name| match name {
        "small" => Ok(CHIP),
        _ => Err(format!("there is no chip {name}")),
    })
}

fn solved(text: &str) -> Plan {
    let solution = solve(&read(text).expect("a problem"), 1_000_000).expect("a plan");
    assert!(solution.is_proven);
    solution.plan
}

/// `passes` of each flow.
fn passes(plan: &Plan) -> Vec<usize> {
    plan.routes.iter().map(|route| route.hops.len()).collect()
}

const HEADER: &str = "chip = \"small\"\nloopback_ports = [6, 7, 14, 15]\n";

fn function(name: &str, stages: u32) -> String {
    format!("[[function]]\nname = \"{name}\"\nstages = {stages}\n")
}

fn flow(name: &str, from: u16, to: u16, gbps: f64, functions: &[&str]) -> String {
    format!("[[flow]]\nname = \"{name}\"\nfrom = {from}\nto = {to}\ngbps = {gbps:?}\nfunctions = {functions:?}\n")
}

#[test]
fn every_port_has_a_pipeline_when_they_cannot_be_shared_equally() {
    let chip = Chip {
        pipelines: 4,
        ports: 15,
        ..CHIP
    };
    let text = HEADER.replace("6, 7, 14, 15", "3, 13, 14") + &function("a", 12) + &flow("f", 0, 12, 10.0, &["a"]);
    let problem = Problem::read(&text, |_| Ok(chip)).expect("a problem");
    assert_eq!(problem.loopback_ports, [vec![3], vec![], vec![], vec![13, 14]]);
}

#[test]
fn functions_that_fit_on_the_way_need_no_recirculation() {
    let text = [
        HEADER.to_string(),
        function("a", 12),
        function("b", 12),
        flow("f", 0, 8, 100.0, &["a", "b"]),
    ];
    let plan = solved(&text.concat());
    assert_eq!(
        plan.places,
        [
            Place {
                pipeline: 0,
                half: Half::Ingress
            },
            Place {
                pipeline: 1,
                half: Half::Egress
            },
        ]
    );
    assert_eq!(plan.recirculated_gbps, 0.0);
    assert_eq!(plan.headroom(), f64::INFINITY);
}

#[test]
fn a_long_chain_is_folded_through_both_pipelines() {
    let functions = ["a", "b", "c", "d"];
    let mut text = HEADER.to_string();
    for name in functions {
        text.push_str(&function(name, 12));
    }
    text.push_str(&flow("f", 0, 0, 60.0, &functions));
    let plan = solved(&text);
    assert_eq!(passes(&plan), [2]);
    let halves: Vec<usize> = plan.routes[0]
        .hops
        .iter()
        .map(|hop| hop.in_ingress.len() + hop.in_egress.len())
        .collect();
    assert_eq!(halves, [2, 2]);
    assert_eq!(plan.recirculated_gbps, 60.0);
    let first = first_fit(&read(&text).unwrap()).unwrap();
    assert!(first.recirculated_gbps > 60.0, "{first:?}");
}

/// Of the ways through as many passes there are more than can be tried.
#[test]
fn a_chain_may_take_many_passes() {
    let text = [
        HEADER.to_string(),
        function("a", 3),
        function("b", 3),
        flow("f", 0, 0, 1.0, &["a", "b"].repeat(40)),
    ];
    let plan = solved(&text.concat());
    assert_eq!(passes(&plan), [40]);
    assert_eq!(plan.recirculated_gbps, 39.0);
}

#[test]
fn a_port_that_is_just_full_is_not_overloaded() {
    let functions = ["a", "b", "c", "d"];
    let mut text = "chip = \"small\"\nloopback_ports = [14]\n".to_string();
    for name in functions {
        text.push_str(&function(name, 12));
    }
    for (port, gbps) in [(0, 33.6), (1, 33.2), (2, 33.2)] {
        text.push_str(&flow(&format!("f{port}"), port, port, gbps, &functions));
    }
    let plan = solved(&text);
    assert_eq!(passes(&plan), [2, 2, 2]);
    assert!(plan.utilisation > 1.0, "the sum is rounded up: {plan:?}");
    assert!(!plan.is_overloaded());
}

#[test]
fn order_within_a_half_is_that_of_the_file() {
    let text = [
        "chip = \"small\"\nloopback_ports = [7]\n".to_string(),
        function("a", 6),
        function("b", 6),
        function("full", 12),
        flow("keeps its place", 8, 8, 100.0, &["full"]),
        flow("f", 0, 0, 1.0, &["b", "a"]),
    ];
    let problem = read(&text.concat()).unwrap();
    let places = |half| Place { pipeline: 0, half };
    let plan = solve(&problem, 1_000_000).unwrap().plan;
    assert_eq!(
        plan.places[..2],
        [places(Half::Egress), places(Half::Ingress)],
        "b in ingress, a in egress: one pass"
    );
    assert_eq!(passes(&plan), [1, 1]);
}

#[test]
fn memory_of_a_pipeline_is_shared_by_its_halves() {
    let half_full = |name: &str| format!("{}memory_percent = 60\n", function(name, 1));
    let text = [
        HEADER.to_string(),
        half_full("a"),
        half_full("b"),
        flow("f", 0, 0, 10.0, &["a", "b"]),
    ];
    let plan = solved(&text.concat());
    assert_ne!(plan.places[0].pipeline, plan.places[1].pipeline);
    let too_much = [text.concat(), half_full("c")].concat();
    assert!(solve(&read(&too_much).unwrap(), 1_000_000).unwrap_err().is_proven);
}

#[test]
fn flows_share_loopback_ports_evenly() {
    let mut text = HEADER.to_string();
    for name in ["a", "b", "c", "d"] {
        text.push_str(&function(name, 12));
    }
    for number in 0..4 {
        text.push_str(&flow(&format!("f{number}"), number, number, 40.0, &["a", "b", "c"]));
    }
    let plan = solved(&text);
    assert_eq!(plan.recirculated_gbps, 160.0);
    assert!((plan.utilisation - 0.8).abs() < 1e-9, "{plan:?}");
}

#[test]
fn a_plan_that_overloads_is_better_than_none() {
    let mut text = HEADER.replace("[6, 7, 14, 15]", "[7, 15]");
    for name in ["a", "b", "c", "d"] {
        text.push_str(&function(name, 12));
    }
    text.push_str(&flow("f", 0, 0, 100.0, &["a", "b", "c"]));
    text.push_str(&flow("g", 1, 1, 100.0, &["a", "b", "c"]));
    text.push_str(&flow("h", 2, 2, 100.0, &["a", "b", "c"]));
    let solution = solve(&read(&text).unwrap(), 1_000_000).unwrap();
    assert!(solution.plan.utilisation > 1.0);
    assert!(solution.plan.headroom() < 1.0);
}

/// Numbers that look random, the same ones each time.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % limit
    }
}

fn random_problem(numbers: &mut Numbers) -> String {
    let names = ["a", "b", "c", "d"];
    let mut text = HEADER.to_string();
    for name in names {
        text.push_str(&function(name, 4 + numbers.below(9) as u32));
    }
    for number in 0..3 {
        let mut chain: Vec<&str> = names.into_iter().filter(|_| numbers.below(3) > 0).collect();
        if numbers.below(2) == 0 {
            chain.reverse();
        }
        let ports = [0, 1, 2, 8, 9, 10];
        let [from, to] = [(); 2].map(|()| ports[numbers.below(6) as usize]);
        text.push_str(&flow(
            &format!("f{number}"),
            from,
            to,
            1.0 + numbers.below(20) as f64,
            &chain,
        ));
    }
    text
}

/// The least recirculated bandwidth of all placements, which is found one by one: every function is pinned to one half
/// by leaving no room elsewhere.
fn least_of_all(problem: &Problem) -> Option<f64> {
    let halves: Vec<Place> = (0..2)
        .flat_map(|pipeline| [Half::Ingress, Half::Egress].map(|half| Place { pipeline, half }))
        .collect();
    let count = problem.functions.len();
    let mut least: Option<f64> = None;
    for number in 0..halves.len().pow(count as u32) {
        let places: Vec<Place> = (0..count)
            .map(|function| halves[number / halves.len().pow(function as u32) % halves.len()])
            .collect();
        let fits = halves.iter().all(|half| {
            let there = places
                .iter()
                .zip(&problem.functions)
                .filter(|(place, _)| *place == half);
            there.map(|(_, function)| function.stages).sum::<u32>() <= CHIP.stages
        });
        if !fits {
            continue;
        }
        let plan = Plan::with(problem, &places)?;
        least = Some(least.map_or(plan.recirculated_gbps, |so_far| so_far.min(plan.recirculated_gbps)));
    }
    least
}

#[test]
fn no_placement_is_better_than_the_plan() {
    let mut numbers = Numbers(1);
    let mut compared = 0;
    for _ in 0..60 {
        let problem = read(&random_problem(&mut numbers)).unwrap();
        let Some(least) = least_of_all(&problem) else { continue };
        let solution = solve(&problem, 1_000_000).expect("there is a placement");
        assert!(solution.is_proven);
        if solution.plan.utilisation <= 1.0 {
            assert!((solution.plan.recirculated_gbps - least).abs() < 1e-6, "{problem:?}");
            compared += 1;
        }
        if let Some(first) = first_fit(&problem) {
            assert!(first.recirculated_gbps >= least - 1e-6);
        }
    }
    assert!(compared > 40, "{compared}");
}

#[test]
fn a_search_that_is_cut_short_says_so() {
    let mut text = HEADER.to_string();
    for name in ["a", "b", "c", "d"] {
        text.push_str(&function(name, 12));
    }
    text.push_str(&flow("f", 0, 8, 1.0, &["d", "c", "b", "a"]));
    let solution = solve(&read(&text).unwrap(), 1).unwrap();
    assert!(!solution.is_proven);
}

/// The chip has four halves of twelve stages. First fit puts four of the small ones into one of them, and 48 stages into
/// no four halves any more.
#[test]
fn functions_that_just_fit_are_placed() {
    let sizes = [3, 3, 3, 3, 9, 9, 9, 9];
    let names: Vec<String> = (0..sizes.len()).map(|number| format!("f{number}")).collect();
    let functions = names.iter().zip(sizes).map(|(name, stages)| function(name, stages));
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let text = HEADER.to_string() + &functions.collect::<String>() + &flow("f", 0, 8, 1.0, &names);
    let problem = read(&text).unwrap();
    assert_eq!(first_fit(&problem), None);
    solve(&problem, 20).expect("a plan is found at once");
    let one_more = read(&format!("{text}{}", function("one more", 1))).unwrap();
    let unsolved = solve(&one_more, 20).unwrap_err();
    assert_eq!(
        unsolved,
        Unsolved {
            is_proven: true,
            looked_at: 0
        }
    );
}

#[test]
fn a_plan_becomes_entries_of_the_program() {
    let with_action = |name: &str, action: &str| format!("{}action = \"{action}\"\n", function(name, 12));
    let text = [
        HEADER.to_string(),
        with_action("ttl", "decrement_ttl()"),
        with_action("tos", "set_tos(tos:4)"),
        with_action("count", "count(index:1)"),
        flow("f", 0, 8, 1.0, &["ttl", "tos", "count"]),
    ];
    let problem = read(&text.concat()).unwrap();
    let plan = solve(&problem, 1_000_000).unwrap().plan;
    let lines = commands(&problem, &plan).unwrap();
    let entries: String = lines.iter().map(|line| format!("{}\n", line.text)).collect();
    assert!(
        entries.starts_with("# f\nadd flows ingress_port:0 begin(flow:0)\n"),
        "{entries}"
    );
    assert_eq!(entries.matches("come_back_by").count(), 1, "{entries}");
    assert_eq!(entries.matches("leave_by(port:8)").count(), 1, "{entries}");
    assert_eq!(entries.matches("_step_0").count(), 3, "{entries}");
    let without = read(&[HEADER.to_string(), function("ttl", 1), flow("f", 0, 8, 1.0, &["ttl"])].concat()).unwrap();
    let plan = solve(&without, 1_000_000).unwrap().plan;
    let mistake = commands(&without, &plan).unwrap_err();
    assert_eq!(
        (mistake.to_string().as_str(), mistake.key),
        ("function ttl has no action", "action")
    );
}

#[test]
fn mistakes_are_named() {
    let one = [function("a", 1), flow("f", 0, 8, 1.0, &["a"])].concat();
    let with = |header: &str| read(&format!("{header}{one}")).unwrap_err().to_string();
    assert_eq!(
        with("chip = \"large\"\nloopback_ports = []\n"),
        "there is no chip large"
    );
    assert_eq!(
        with("chip = \"small\"\nloopback_ports = [16]\n"),
        "loopback_ports: there is no port 16; the chip has 0 to 15"
    );
    assert_eq!(
        with("chip = \"small\"\nloopback_ports = [0]\n"),
        "flow f: from = 0 is a loopback port"
    );
    assert_eq!(
        with("chip = \"small\"\nloopback_ports = [1, 1]\n"),
        "loopback_ports: 1 is there twice"
    );
    let mistake = |text: String| read(&format!("{HEADER}{text}")).unwrap_err();
    let wrong = |text: String| mistake(text).to_string();
    assert_eq!(
        wrong([function("a", 13), flow("f", 0, 8, 1.0, &[])].concat()),
        "function a takes 13 stages; half of a pipeline has 12, and a function takes at least 1"
    );
    assert_eq!(
        wrong([function("a", 1), flow("f", 0, 8, 1.0, &["b"])].concat()),
        "flow f: there is no function b"
    );
    assert_eq!(
        wrong([function("a", 1), flow("f", 0, 8, 0.0, &["a"])].concat()),
        "flow f: gbps is more than 0 and at most 100, the rate of a port"
    );
    assert_eq!(
        wrong([function("a", 1), function("a", 2), flow("f", 0, 8, 1.0, &["a"])].concat()),
        "there are two functions a"
    );
    assert_eq!(
        wrong([function("a", 1), flow("f", 0, 8, 1.0, &[]), flow("f", 1, 8, 1.0, &[])].concat()),
        "there are two flows f"
    );
    assert!(wrong([function("a", 0), flow("f", 0, 8, 1.0, &["a"])].concat()).contains("takes 0 stages"));
    assert!(wrong([function("a", 1), flow("f", 0, 8, 1e308, &["a"])].concat()).contains("at most 100"));
    let mistake = mistake("[[function]]\nname = 1\n".to_string());
    assert!(mistake.toml.is_some() && mistake.near > HEADER.len());
}
