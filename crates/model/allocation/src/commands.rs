//! A plan as table entries of `programs/chain`, in STF.

use crate::plan::{Hop, Plan};
use crate::problem::{Function, Problem};
use std::fmt::Write;

/// Functions that `programs/chain` takes in half of a pass.
const STEPS: usize = 4;

/// What the functions of `programs/chain` do.
pub const ACTIONS: [&str; 7] = [
    "set_tos",
    "decrement_ttl",
    "translate_source",
    "translate_destination",
    "count",
    "drop",
    "NoAction",
];

/// The entries of a plan.
///
/// # Errors
/// A function without an action, with one that the program does not have, or more functions in half of a pass than the program has
/// steps, in words.
pub fn commands(problem: &Problem, plan: &Plan) -> Result<String, String> {
    let mut text = String::new();
    for (number, flow) in problem.flows.iter().enumerate() {
        line(&mut text, &format!("# {}", flow.name));
        line(
            &mut text,
            &format!("add flows ingress_port:{} begin(flow:{number})", flow.from),
        );
        let hops = &plan.routes[number].hops;
        for (hop, pass) in hops.iter().enumerate() {
            let key = format!("hdr.chain.flow:{number} hdr.chain.hop:{hop}");
            steps(&mut text, problem, &flow.name, &key, pass)?;
            let verb = if hop + 1 < hops.len() {
                "come_back_by"
            } else {
                "leave_by"
            };
            line(&mut text, &format!("add routes {key} {verb}(port:{})", pass.port));
        }
    }
    Ok(text)
}

fn steps(text: &mut String, problem: &Problem, flow: &str, key: &str, pass: &Hop) -> Result<(), String> {
    for (half, functions) in [("ingress", &pass.in_ingress), ("egress", &pass.in_egress)] {
        if functions.len() > STEPS {
            return Err(format!(
                "flow {flow} takes {} functions in one {half}; programs/chain takes {STEPS}",
                functions.len()
            ));
        }
        for (step, function) in functions.iter().enumerate() {
            let function = &problem.functions[*function];
            let action = action(function)?;
            line(text, &format!("add {half}_step_{step} {key} {action}"));
        }
    }
    Ok(())
}

/// The action of a function, with its arguments.
fn action(function: &Function) -> Result<&str, String> {
    let name = &function.name;
    let action = function.action.as_deref();
    let action = action.ok_or_else(|| format!("function {name} has no action"))?;
    let called = action.split('(').next().unwrap_or(action).trim();
    match ACTIONS.contains(&called) {
        true => Ok(action),
        false => Err(format!(
            "function {name} has the action {called:?}, which programs/chain does not have; it has {}",
            ACTIONS.join(", ")
        )),
    }
}

fn line(text: &mut String, content: &str) {
    writeln!(text, "{content}").expect("a String takes everything");
}
