//! Passes of the machine-code compiler on the command line: leaving some out, and how long each takes.

use clap::builder::{PossibleValue, TypedValueParser};
use forebay_pipeline::{Pass, PassSet, Pipeline};
use serde_json::{Value, json};
use std::fmt::Write;
use std::time::{Duration, Instant};

/// Which passes are left out.
#[derive(clap::Args, Clone, Debug, Default)]
pub struct PassArguments {
    /// Compile the fast path without this pass, to measure it or to find a fault; may be given several times
    #[arg(long = "without-pass", value_name = "PASS", value_parser = pass_parser())]
    without: Vec<Pass>,
}

impl PassArguments {
    /// The passes that are left out.
    pub fn without(&self) -> PassSet {
        self.without.iter().copied().collect()
    }
}

fn pass_parser() -> impl TypedValueParser<Value = Pass> {
    let values = Pass::ALL
        .iter()
        .map(|pass| PossibleValue::new(pass.name()).help(pass.words()));
    clap::builder::PossibleValuesParser::new(values).map(|name| {
        let mut passes = Pass::ALL.iter().copied();
        passes
            .find(|pass| pass.name() == name)
            .expect("clap lets no other name through")
    })
}

/// A step of compilation.
pub struct Step {
    name: &'static str,
    /// How often it ran: most passes run once for each path through the parser.
    runs: u32,
    time: Duration,
}

/// Compiles the fast path of a program and measures each step. `None` when it has none.
pub fn times(pipeline: &Pipeline) -> Option<Vec<Step>> {
    let mut steps: Vec<Step> = Vec::new();
    let mut last = Instant::now();
    pipeline.watch_passes(&mut |name| {
        let now = Instant::now();
        let time = now - std::mem::replace(&mut last, now);
        match steps.iter_mut().find(|step| step.name == name) {
            Some(step) => {
                step.runs += 1;
                step.time += time;
            }
            None => steps.push(Step { name, runs: 1, time }),
        }
    })?;
    Some(steps)
}

/// The steps as a table.
pub fn table(steps: &[Step]) -> String {
    let total: Duration = steps.iter().map(|step| step.time).sum();
    let mut text = String::from("pass                 runs         ms  share\n");
    for Step { name, runs, time } in steps {
        let share = 100.0 * time.as_secs_f64() / total.as_secs_f64().max(f64::MIN_POSITIVE);
        let _ = writeln!(
            text,
            "{name:<18} {runs:>6} {:>10.3} {share:>5.1}%",
            1e3 * time.as_secs_f64()
        );
    }
    let _ = writeln!(text, "{:<18} {:>6} {:>10.3}", "all", "", 1e3 * total.as_secs_f64());
    text
}

/// The steps as JSON.
pub fn json(steps: &[Step]) -> Value {
    let step = |step: &Step| json!({ "pass": step.name, "runs": step.runs, "ms": 1e3 * step.time.as_secs_f64() });
    steps.iter().map(step).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_has_a_row_for_each_step_and_their_sum() {
        let step = |name, runs, ms| Step {
            name,
            runs,
            time: Duration::from_millis(ms),
        };
        let table = table(&[step("folding", 3, 1), step("code-generation", 1, 3)]);
        assert_eq!(
            table,
            "pass                 runs         ms  share\nfolding                 3      1.000  25.0%\n\
             code-generation         1      3.000  75.0%\nall                            4.000\n"
        );
    }
}
