//! Published tables and figures, beside what the timed model says.
//!
//! A folder of `experiments/` is one of them:
//!
//! | file | what it holds |
//! |---|---|
//! | `experiment.toml` | its [`Definition`]: what is compared, and how it is drawn |
//! | `scenario.toml` | what is simulated, with parameters |
//! | `cells.csv` | a row for each published value: parameters, metric, value, whether the model was calibrated with it |
//! | `result.md`, `result.json`, `*.svg` | what the command has written |
//!
//! [`Experiment::new`] reads the first three and [`Experiment::simulate`] does the work for one combination of parameters,
//! of which the caller may run several at a time; [`Experiment::report`] puts what was found beside what was published.

#![forbid(unsafe_code)]

mod cells;
mod definition;
mod formulas;
mod metrics;
mod report;
mod side_by_side;
mod unit_model;

pub use cells::{Basis, Cell};
pub use definition::Definition;
pub use report::{Report, Row};

use cells::Parameters;
use forebay_sim::{Library, Problem, Progress, Run, Search, Setup, expand, find_max};
use metrics::Found;
use std::collections::BTreeMap;

/// An experiment that can be run.
pub struct Experiment {
    definition: Definition,
    cells: Vec<Cell>,
    /// What is simulated: one for each combination of parameters in the cells.
    runs: Vec<(Parameters, Setup)>,
}

impl Experiment {
    /// Reads an experiment; `quick` puts the definition's quick parameters in.
    ///
    /// # Errors
    /// What is wrong with its files, with their names.
    pub fn new(library: &dyn Library, quick: bool) -> Result<Experiment, String> {
        let definition = Definition::read(&library.text("experiment.toml")?)?;
        let cells = cells::read(&library.text("cells.csv")?)?;
        let cells: Vec<Cell> = cells
            .into_iter()
            .filter(|cell| !quick || !cell.skipped_when_quick)
            .collect();
        let scenario = library.text("scenario.toml")?;
        let mut runs: Vec<(Parameters, Setup)> = Vec::new();
        for cell in &cells {
            if runs.iter().all(|(parameters, _)| *parameters != cell.parameters) {
                let setup = setup(&scenario, &definition, cell, quick, library)?;
                runs.push((cell.parameters.clone(), setup));
            }
        }
        Ok(Experiment {
            definition,
            cells,
            runs,
        })
    }

    /// What it is about.
    pub fn definition(&self) -> &Definition {
        &self.definition
    }

    /// How many simulations, or searches, it takes.
    pub fn runs(&self) -> usize {
        self.runs.len()
    }

    /// Does one of them.
    pub fn simulate(&self, run: usize, progress: &mut dyn Progress) -> Outcome {
        let setup = &self.runs[run].1;
        let seed = setup.scenario().seed;
        let search = self
            .definition
            .search
            .then(|| find_max(setup, Search { seed }, progress))
            .flatten();
        let found = match search {
            Some(search) => Found::of_search(search),
            None => Found::of_run(setup.run(Run { seed, gbps: None }, progress)),
        };
        Outcome(found)
    }

    /// What was published beside what was found; `outcomes` are those of all runs, in order.
    pub fn report(&self, outcomes: &[Outcome]) -> Report {
        let by_parameters: BTreeMap<&Parameters, &Found> = self
            .runs
            .iter()
            .zip(outcomes)
            .map(|((parameters, _), outcome)| (parameters, &outcome.0))
            .collect();
        let rows = self.cells.iter().map(|cell| {
            let model = by_parameters
                .get(&cell.parameters)
                .and_then(|found| found.metric(&cell.metric));
            Row {
                parameters: cell.parameters.clone(),
                metric: cell.metric.clone(),
                published: cell.published,
                model: model.map(|value| value * self.definition.scale),
                formula: formulas::value(&self.definition.formula, &cell.parameters),
                basis: cell.basis,
            }
        });
        Report::new(&self.definition, rows.collect())
    }
}

/// What a simulation or a search has found.
pub struct Outcome(Found);

fn setup(
    scenario: &str,
    definition: &Definition,
    cell: &Cell,
    quick: bool,
    library: &dyn Library,
) -> Result<Setup, String> {
    let mut given: Parameters = cell.parameters.clone();
    if quick {
        given.extend(
            definition
                .quick
                .iter()
                .map(|(name, value)| (name.clone(), value.clone())),
        );
    }
    let named = |problem: &Problem| format!("scenario.toml:{problem}");
    let given: Vec<(String, String)> = given.into_iter().collect();
    let cases = expand(scenario, &given).map_err(|problem| named(&problem))?;
    let [case] = &cases[..] else {
        return Err("scenario.toml: a parameter that no cell gives has several values".to_string());
    };
    Setup::new(&case.text, library).map_err(|problems| {
        let lines: Vec<String> = problems.iter().map(named).collect();
        lines.join("\n")
    })
}
