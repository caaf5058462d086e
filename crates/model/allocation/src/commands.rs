//! A plan as table entries of `programs/chain`, in STF.

use crate::plan::{Hop, Plan};
use crate::problem::{Mistake, Of, Problem};

/// Functions that `programs/chain` takes in half of a pass.
const STEPS: usize = 4;

/// A line of a plan: an entry, or a comment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Command {
    /// As it is written.
    pub text: String,
    /// What it is there for.
    pub of: Of,
}

/// The entries of a plan. They are not checked against the tables of the program here.
///
/// # Errors
/// A function without an action, or more functions in half of a pass than the program has steps.
pub fn commands(problem: &Problem, plan: &Plan) -> Result<Vec<Command>, Mistake> {
    let mut lines = Vec::new();
    for (number, flow) in problem.flows.iter().enumerate() {
        let of = Of::Flow(number);
        let mut line = |text: String| lines.push(Command { text, of });
        line(format!("# {}", flow.name.replace('\n', " ")));
        line(format!("add flows ingress_port:{} begin(flow:{number})", flow.from));
        let hops = &plan.routes[number].hops;
        for (hop, pass) in hops.iter().enumerate() {
            let key = format!("hdr.chain.flow:{number} hdr.chain.hop:{hop}");
            lines.extend(steps(problem, number, &key, pass)?);
            let verb = if hop + 1 < hops.len() {
                "come_back_by"
            } else {
                "leave_by"
            };
            let text = format!("add routes {key} {verb}(port:{})", pass.port);
            lines.push(Command { text, of });
        }
    }
    Ok(lines)
}

/// The functions of a flow's pass.
fn steps(problem: &Problem, flow: usize, key: &str, pass: &Hop) -> Result<Vec<Command>, Mistake> {
    let mut lines = Vec::new();
    for (half, functions) in [("ingress", &pass.in_ingress), ("egress", &pass.in_egress)] {
        if functions.len() > STEPS {
            let message = format!(
                "flow {} takes {} functions in one {half}; programs/chain takes {STEPS}",
                problem.flows[flow].name,
                functions.len()
            );
            return Err(problem.mistake(Of::Flow(flow), message));
        }
        for (step, &index) in functions.iter().enumerate() {
            let (of, function) = (Of::Function(index), &problem.functions[index]);
            let action = function.action.as_deref().ok_or_else(|| {
                let message = format!("function {} has no action", function.name);
                problem.mistake(of, message)
            })?;
            let text = format!("add {half}_step_{step} {key} {action}");
            lines.push(Command { text, of });
        }
    }
    Ok(lines)
}
