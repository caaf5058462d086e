//! What the values of an experiment hang on: constants that were fitted or assumed, rules of chips that are lifted, and
//! which columns are evidence of their own.

use crate::definition::Definition;
use crate::formulas;
use crate::report::put;
use forebay_sim::{ChipSpec, Constant, Lifted};
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};

/// What the values of an experiment hang on.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Provenance {
    /// Constants that were fitted to published values: of chips (`tofino: parser.bits_per_second`) and of the scenario.
    pub fitted: Vec<Constant>,
    /// Constants that no publication gives.
    pub assumed: Vec<Constant>,
    /// Rules of chips that the scenario lifts, with how many simulations they concern.
    pub lifted: BTreeMap<String, LiftedRule>,
    /// What each formula reads: the constants that were fitted among them.
    pub formulas: BTreeMap<String, Vec<String>>,
}

/// A rule that is lifted.
#[derive(Clone, Debug, Default, Serialize)]
pub struct LiftedRule {
    /// Why, in the scenario's words.
    pub reason: String,
    /// Simulations that it concerns.
    pub simulations: usize,
}

impl Provenance {
    pub(crate) fn new(
        definition: &Definition,
        specs: &[&ChipSpec],
        values: &[&BTreeMap<String, String>],
    ) -> Provenance {
        let of_chips = |constants: fn(&ChipSpec) -> Vec<Constant>| {
            let named = |spec: &&ChipSpec| {
                let chip = spec.name.clone();
                let constants = constants(spec).into_iter();
                constants.map(move |constant| Constant {
                    name: format!("{chip}: {}", constant.name),
                    ..constant
                })
            };
            // Several chips of a kind have the same.
            let all: BTreeSet<Constant> = specs.iter().flat_map(named).collect();
            all.into_iter().collect::<Vec<Constant>>()
        };
        let mut fitted = of_chips(ChipSpec::fitted);
        fitted.extend(definition.fitted.iter().map(|fitted| Constant {
            name: format!("{} ({})", fitted.parameter, fitted.what),
            value: distinct(&fitted.parameter, values),
            because: fitted.to.clone(),
        }));
        let mut assumed = of_chips(ChipSpec::assumed);
        assumed.extend(definition.assumed.iter().map(|assumed| Constant {
            name: assumed.what.clone(),
            value: String::new(),
            because: assumed.because.clone(),
        }));
        let reads = |name: &String| {
            let constants = formulas::constants(name).iter();
            let fitted: BTreeSet<String> = specs.iter().flat_map(|spec| spec.fitted()).map(|c| c.name).collect();
            let read = constants.filter(|constant| fitted.contains(**constant));
            (name.clone(), read.map(|constant| constant.to_string()).collect())
        };
        Provenance {
            fitted,
            assumed,
            lifted: BTreeMap::new(),
            formulas: definition.formulas.iter().map(reads).collect(),
        }
    }

    /// A simulation lifts a rule.
    pub(crate) fn lift(&mut self, lifted: &Lifted) {
        let rule = self.lifted.entry(lifted.rule.clone()).or_default();
        rule.reason.clone_from(&lifted.reason);
        rule.simulations += 1;
    }

    /// How many constants were fitted, and which rules are lifted.
    pub(crate) fn sentence(&self) -> String {
        let names: Vec<&str> = self.fitted.iter().map(|constant| constant.name.as_str()).collect();
        let mut text = match names.len() {
            0 => "The model's values hang on no fitted constant.\n".to_string(),
            1 => format!("The model's values hang on 1 fitted constant: {}.\n", names[0]),
            count => format!(
                "The model's values hang on {count} fitted constants: {}.\n",
                names.join("; ")
            ),
        };
        for (rule, lifted) in &self.lifted {
            let simulations = match lifted.simulations {
                1 => "1 simulation".to_owned(),
                several => format!("{several} simulations"),
            };
            let line = format!("\nRule lifted in {simulations}: {rule}. Reason: {}.\n", lifted.reason);
            put(&mut text, &line);
        }
        text
    }

    /// The constants one by one, and which columns are evidence of their own.
    pub(crate) fn markdown(&self) -> String {
        let mut text = String::from("| constant | value | where it comes from |\n|---|---|---|\n");
        for (how, constants) in [("fitted to", &self.fitted), ("assumed:", &self.assumed)] {
            for Constant { name, value, because } in constants {
                put(&mut text, &format!("| {name} | {value} | {how} {because} |\n"));
            }
        }
        put(
            &mut text,
            "\nThe column `published` is independent of all others. `model` is a simulation with these constants.",
        );
        for (name, fitted) in &self.formulas {
            let line = if fitted.is_empty() {
                format!(
                    " The formula `{name}` reads no fitted constant: it is independent of the simulation but for the rate of a port, the framing and what is assumed."
                )
            } else {
                format!(
                    " The formula `{name}` reads {} of the same specification as the simulation: where both agree, the simulation computes what it should, which says nothing of the chip.",
                    fitted.join(", ")
                )
            };
            put(&mut text, &line);
        }
        text.push('\n');
        text
    }
}

/// The values that a parameter has in all simulations.
fn distinct(parameter: &str, values: &[&BTreeMap<String, String>]) -> String {
    let values: BTreeSet<&str> = values
        .iter()
        .filter_map(|values| values.get(parameter))
        .map(String::as_str)
        .collect();
    values.into_iter().collect::<Vec<_>>().join(", ")
}
