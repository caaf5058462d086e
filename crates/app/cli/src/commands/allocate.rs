//! `forebay allocate`: which function stands in which pipeline of a switch chip.

mod chain;

use super::Status;
use crate::{files, output};
use anyhow::{Result, anyhow};
use forebay_allocation::{Chip, Hop, Mistake, Plan, Problem, Unsolved, commands, first_fit, solve};
use forebay_chip::ChipSpec;
use forebay_sim::{key_place, line_of, suggestion};
use forebay_stages::Machine;
use serde_json::{Value, json};
use std::path::PathBuf;

/// Arguments of `forebay allocate`.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  forebay allocate functions.toml                      what recirculates least
  forebay allocate functions.toml --first-fit          to compare with
  forebay allocate functions.toml --commands plan.stf  as entries too
Every key of the file: docs/allocation.md")]
pub struct Arguments {
    /// Chip, functions and flows
    #[arg(value_name = "FILE.toml")]
    file: PathBuf,
    /// Place functions in the order of the file, each in the first half of a pipeline where it fits
    #[arg(long)]
    first_fit: bool,
    /// Write the plan as table entries of programs/chain (STF)
    #[arg(long, value_name = "FILE.stf")]
    commands: Option<PathBuf>,
    /// End the search after this number of placements, with the best plan until then
    #[arg(
        long,
        value_name = "COUNT",
        default_value_t = 1_000_000,
        conflicts_with = "first_fit"
    )]
    looks: u64,
    /// Print the plan as JSON
    #[arg(long)]
    json: bool,
}

/// Solves, prints, writes.
pub fn run(arguments: &Arguments) -> Result<Status> {
    let path = &arguments.file;
    let text = files::text(path, "file of functions and flows")?;
    let wrong = |mistake| anyhow!("{}:{}", path.display(), located(&text, mistake));
    let problem = Problem::read(&text, chip).map_err(wrong)?;
    if let Some(mistake) = chain::wrong_action(&problem)? {
        return Err(wrong(mistake));
    }
    let found = if arguments.first_fit {
        first_fit(&problem)
            .map(|plan| (plan, None))
            .ok_or(BY_FIRST_FIT.to_string())
    } else {
        let solution = solve(&problem, arguments.looks).map_err(no_plan);
        solution.map(|found| (found.plan, Some((found.is_proven, found.looked_at))))
    };
    let (plan, search) = found.map_err(|why| anyhow!("{}: {why}", path.display()))?;
    if let Some(path) = &arguments.commands {
        let lines = commands(&problem, &plan).map_err(wrong)?;
        if let Some(mistake) = chain::wrong_line(&problem, &lines)? {
            return Err(wrong(mistake));
        }
        let text: String = lines.iter().map(|line| format!("{}\n", line.text)).collect();
        files::write(path, text)?;
    }
    if arguments.json {
        output::print_json(&to_json(&problem, &plan, search))?
    } else {
        output::print(&to_text(&problem, &plan, search))?
    }
    Ok(if plan.is_overloaded() {
        Status::Bad
    } else {
        Status::Good
    })
}

const BY_FIRST_FIT: &str = "no placement by first fit; more stages, memory or loopback ports are needed";

fn no_plan(Unsolved { is_proven, looked_at }: Unsolved) -> String {
    if is_proven {
        return "there is no placement; more stages, memory or loopback ports are needed".to_string();
    }
    format!("the search ended after {looked_at} placements and has found none that fits; there may be one (--looks)")
}

/// A mistake with its line, in the words of other files.
fn located(text: &str, mistake: Mistake) -> forebay_sim::Problem {
    if let Some(error) = mistake.toml {
        return forebay_sim::Problem::of_toml(text, &error);
    }
    let place = key_place(text, mistake.near, mistake.key).map_or(mistake.near, |place| place.start);
    forebay_sim::Problem::new(Some(line_of(text, place)), mistake.message)
}

fn chip(name: &str) -> Result<Chip, String> {
    let stages = |spec: &ChipSpec| Machine::named(spec.stages.as_deref()?).ok();
    let has_stages = |name: &&str| ChipSpec::known(name).is_some_and(|spec| stages(&spec).is_some());
    let known: Vec<&str> = ChipSpec::known_names().filter(has_stages).collect();
    let spec = ChipSpec::known(name).ok_or_else(|| format!("there is no chip {name}{}", suggestion(name, known)))?;
    let machine = stages(&spec);
    let machine = machine.ok_or_else(|| format!("chip {name} has no stages that functions could fill"))?;
    Ok(Chip {
        pipelines: spec.pipelines.count,
        ports: spec.ports.count,
        port_gbps: spec.ports.bits_per_second as f64 / 1e9,
        stages: machine.stages as u32,
    })
}

fn to_text(problem: &Problem, plan: &Plan, search: Option<(bool, u64)>) -> String {
    let mut text = String::from("where functions stand\n");
    for (function, place) in problem.functions.iter().zip(&plan.places) {
        let stages = counted(function.stages, "stage");
        text.push_str(&format!(
            "  {:<20} {} {} ({stages})\n",
            function.name,
            place.half.name(),
            place.pipeline
        ));
    }
    text.push_str("how flows go\n");
    for (flow, route) in problem.flows.iter().zip(&plan.routes) {
        let times = counted(route.recirculations() as u32, "recirculation");
        text.push_str(&format!("  {} ({} Gbps): {times}\n", flow.name, flow.gbps));
        for hop in &route.hops {
            text.push_str(&format!("    {}\n", hop_text(problem, hop)));
        }
    }
    text.push_str(&format!(
        "recirculated: {:.1} Gbps; the fullest loopback port carries {:.1} % of its rate{}\n",
        plan.recirculated_gbps + 0.0,
        100.0 * plan.utilisation,
        headroom(plan)
    ));
    if let Some((is_proven, looked_at)) = search {
        text.push_str(&if is_proven {
            format!("no plan recirculates less ({looked_at} placements looked at)\n")
        } else {
            format!("the search ended after {looked_at} placements: there may be a better plan (--looks)\n")
        });
    }
    text
}

fn headroom(plan: &Plan) -> String {
    match plan.utilisation {
        0.0 => String::new(),
        _ if plan.is_overloaded() => format!(": overloaded, {:.0} % of each flow would pass", 100.0 * plan.headroom()),
        _ => format!(", so all flows may grow to {:.2} times their rates", plan.headroom()),
    }
}

fn hop_text(problem: &Problem, hop: &Hop) -> String {
    let names = |functions: &[usize]| match functions {
        [] => String::new(),
        some => {
            let names: Vec<&str> = some.iter().map(|i| problem.functions[*i].name.as_str()).collect();
            format!(" [{}]", names.join(", "))
        }
    };
    format!(
        "ingress {}{} -> egress {}{} -> port {}",
        hop.ingress,
        names(&hop.in_ingress),
        hop.egress,
        names(&hop.in_egress),
        hop.port
    )
}

fn counted(number: u32, what: &str) -> String {
    format!("{number} {what}{}", if number == 1 { "" } else { "s" })
}

fn to_json(problem: &Problem, plan: &Plan, search: Option<(bool, u64)>) -> Value {
    let name = |function: &usize| &problem.functions[*function].name;
    let places = problem.functions.iter().zip(&plan.places);
    let places = places.map(
        |(function, place)| json!({ "function": function.name, "pipeline": place.pipeline, "half": place.half.name() }),
    );
    let hop = |hop: &Hop| {
        json!({
            "ingress": hop.ingress,
            "in_ingress": hop.in_ingress.iter().map(name).collect::<Vec<_>>(),
            "egress": hop.egress,
            "in_egress": hop.in_egress.iter().map(name).collect::<Vec<_>>(),
            "port": hop.port,
        })
    };
    let routes = problem.flows.iter().zip(&plan.routes).map(|(flow, route)| {
        json!({ "flow": flow.name, "gbps": flow.gbps, "passes": route.hops.iter().map(hop).collect::<Vec<_>>() })
    });
    let loads = plan
        .loads
        .iter()
        .map(|(port, gbps)| json!({ "port": port, "gbps": gbps }));
    json!({
        "places": places.collect::<Vec<_>>(),
        "routes": routes.collect::<Vec<_>>(),
        "loopback_ports": loads.collect::<Vec<_>>(),
        "recirculated_gbps": plan.recirculated_gbps,
        "utilisation": plan.utilisation,
        "is_proven": search.map(|(is_proven, _)| is_proven),
        "looked_at": search.map(|(_, looked_at)| looked_at),
    })
}
