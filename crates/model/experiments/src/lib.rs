//! Published tables and figures, beside what the timed model says.
//!
//! A folder of `experiments/` is one of them:
//!
//! | file | what it holds |
//! |---|---|
//! | `experiment.toml` | its [`Definition`]: what is compared, and how it is drawn |
//! | `scenario.toml` | what is simulated, with parameters |
//! | `cells.csv` | a row for each published value: parameters, metric, value, whether the model was calibrated with it |
//! | `result.md`, `result.json`, `*.svg`, `*.pdf` | what the command has written |
//!
//! [`Experiment::new`] reads the first three and [`Experiment::simulate`] does the work for one combination of
//! parameters, of which the caller may run several at a time; [`Experiment::report`] puts what was found beside what
//! was published.

#![cfg_attr(not(test), deny(clippy::disallowed_methods, clippy::disallowed_types))]
#![forbid(unsafe_code)]

mod cells;
mod charts;
mod definition;
mod formulas;
mod losses;
mod metrics;
mod provenance;
mod report;
mod sensitivity;
mod side_by_side;
mod unit_model;

pub use cells::{Basis, Bound, Cell};
pub use definition::{Assumed, Definition, Fitted};
pub use losses::{Counts, Losses, LowestLoss};
pub use provenance::{LiftedRule, Provenance};
pub use report::{Report, Row};
pub use sensitivity::Sensitivity;

use cells::Parameters;
use forebay_sim::{Library, Problem, Progress, Run, Search, Setup, expand, find_max, suggestion};
use metrics::{Found, Value};
use sensitivity::{Varied, compared, varied};

/// An experiment that can be run.
pub struct Experiment {
    definition: Definition,
    cells: Vec<Cell>,
    /// What is simulated: one for each combination of parameters in the cells.
    runs: Vec<Prepared>,
    /// Headlines with one thing changed, simulated after the others.
    varied: Vec<Varied>,
    /// Whether trials are shorter and cells fewer.
    quick: bool,
}

/// What is simulated for a combination of parameters.
struct Prepared {
    /// The parameters of the cells.
    parameters: Parameters,
    /// The parameters of the cells and of the scenario, with what is derived from them.
    values: Parameters,
    setup: Setup,
}

impl Experiment {
    /// Reads an experiment; `quick` puts the definition's quick parameters in. `ignore_fit` is a reason to time
    /// programs that do not fit their chip.
    ///
    /// # Errors
    /// What is wrong with its files, with their names.
    pub fn new(library: &dyn Library, quick: bool, ignore_fit: Option<&str>) -> Result<Experiment, String> {
        let definition = Definition::read(&library.text("experiment.toml")?)?;
        let cells = cells::read(&library.text("cells.csv")?)?;
        if let Some(first) = cells.first() {
            definition.check_axes(&first.parameters)?;
        }
        let cells: Vec<Cell> = cells
            .into_iter()
            .filter(|cell| !quick || !cell.skipped_when_quick)
            .collect();
        let scenario = library.text("scenario.toml")?;
        let mut runs: Vec<Prepared> = Vec::new();
        for cell in &cells {
            if runs.iter().all(|run| run.parameters != cell.parameters) {
                runs.push(prepare(&scenario, &definition, cell, quick, ignore_fit, library)?);
            }
        }
        let headlines = cells.iter().enumerate().filter(|(_, cell)| cell.is_headline && !quick);
        let of_headline = |(index, cell): (usize, &Cell)| {
            let run = runs.iter().find(|run| run.parameters == cell.parameters);
            run.into_iter()
                .flat_map(move |run| varied(index, &run.setup))
                .collect::<Vec<_>>()
        };
        let experiment = Experiment {
            varied: headlines.flat_map(of_headline).collect(),
            definition,
            cells,
            runs,
            quick,
        };
        experiment.check()?;
        Ok(experiment)
    }

    /// Names that mean nothing.
    fn check(&self) -> Result<(), String> {
        let Some(first) = self.runs.first() else {
            return Err("cells.csv has no cell".to_string());
        };
        let scenario = first.setup.scenario();
        for cell in &self.cells {
            let sampled = scenario.sample_us() > 0.0;
            let run = self.runs.iter().find(|run| run.parameters == cell.parameters);
            let measures = run.map_or(scenario.measures(), |run| run.setup.scenario().measures());
            metrics::check(&cell.metric, self.definition.search, sampled, measures)
                .map_err(|message| format!("cells.csv: {message}"))?;
        }
        if let Some(name) = self.definition.formulas.iter().find(|name| !formulas::is_known(name)) {
            let known = formulas::NAMES.into_iter().chain(["naive-30"]);
            return Err(format!(
                "experiment.toml: there is no formula {name:?}{}",
                suggestion(name, known)
            ));
        }
        for fitted in &self.definition.fitted {
            if !first.values.contains_key(&fitted.parameter) {
                let known = first.values.keys().map(String::as_str);
                return Err(format!(
                    "experiment.toml: scenario.toml has no parameter {}{}",
                    fitted.parameter,
                    suggestion(&fitted.parameter, known)
                ));
            }
        }
        if self.definition.search && scenario.search_is_missing() {
            return Err("scenario.toml: search = true in experiment.toml needs a table [search]".to_string());
        }
        Ok(())
    }

    /// What it is about.
    pub fn definition(&self) -> &Definition {
        &self.definition
    }

    /// How many simulations, or searches, it takes.
    pub fn runs(&self) -> usize {
        self.main_runs() + self.varied.len()
    }

    /// The simulations in which no constant is changed.
    fn main_runs(&self) -> usize {
        self.runs.len() * self.seeds()
    }

    /// How many of each.
    fn seeds(&self) -> usize {
        self.definition.seeds as usize
    }

    /// Does one of them.
    pub fn simulate(&self, run: usize, progress: &mut dyn Progress) -> Outcome {
        let (setup, seed) = match run.checked_sub(self.main_runs()) {
            None => (&self.runs[run / self.seeds()].setup, (run % self.seeds()) as u64),
            Some(varied) => (&self.varied[varied].setup, 0),
        };
        let seed = setup.scenario().seed + seed;
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
        let (main, varied) = outcomes.split_at(outcomes.len().min(self.main_runs()));
        let of_run: Vec<&[Outcome]> = main.chunks(self.seeds()).collect();
        let rows = self.cells.iter().map(|cell| {
            let place = self.runs.iter().position(|run| run.parameters == cell.parameters);
            let place = place.expect("each cell has a run");
            self.row(cell, &self.runs[place], of_run.get(place).copied().unwrap_or(&[]))
        });
        let runs = self.runs.iter().zip(&of_run);
        let losses = runs.flat_map(|(run, outcomes)| {
            let seeds = (0..).zip(outcomes.iter());
            seeds.map(|(seed, outcome)| Losses::of(&run.parameters, seed, &outcome.0))
        });
        let first = outcomes.first().and_then(|outcome| outcome.0.results.as_ref());
        let over_time = first.filter(|_| self.definition.over_time);
        let rows: Vec<Row> = rows.collect();
        let found: Vec<&Found> = varied.iter().map(|outcome| &outcome.0).collect();
        Report {
            sensitivities: compared(&self.varied, &found, &self.cells, self.definition.scale),
            rows,
            losses: losses.collect(),
            provenance: self.provenance(),
            quick: self.quick,
            over_time: over_time
                .and_then(|results| forebay_sim::plot::rates_over_time(&self.definition.title, results)),
            definition: self.definition.clone(),
        }
    }

    fn row(&self, cell: &Cell, run: &Prepared, outcomes: &[Outcome]) -> Row {
        let scale = self.definition.scale;
        let found = outcomes.iter().filter_map(|outcome| outcome.0.metric(&cell.metric));
        let found: Vec<Value> = found.collect();
        let values: Vec<f64> = found.iter().map(|found| found.value * scale).collect();
        let half_width = found.iter().map(|found| found.half_width * scale).fold(0.0, f64::max);
        let least = values.iter().copied().fold(f64::INFINITY, f64::min) - half_width;
        let most = values.iter().copied().fold(f64::NEG_INFINITY, f64::max) + half_width;
        // A seed for which nothing was found makes the mean of the others no result.
        let nothing_found = outcomes.iter().any(|outcome| outcome.0.nothing_found());
        let has_mean = !values.is_empty() && !nothing_found;
        let spec = run.setup.specs().next();
        let formula = |name: &String| formulas::value(name, &run.values, spec?);
        Row {
            parameters: cell.parameters.clone(),
            metric: cell.metric.clone(),
            published: cell.published,
            bound: cell.bound,
            model: has_mean.then(|| values.iter().sum::<f64>() / values.len() as f64),
            range: (has_mean && (least < most || self.seeds() > 1)).then_some((least, most)),
            at_least: found.iter().any(|found| found.at_least),
            is_line_rate: found.iter().any(|found| found.is_line_rate),
            nothing_found,
            formulas: self.definition.formulas.iter().map(formula).collect(),
            basis: cell.basis,
        }
    }

    fn provenance(&self) -> Provenance {
        let specs: Vec<_> = self.runs.iter().flat_map(|run| run.setup.specs()).collect();
        let values: Vec<_> = self.runs.iter().map(|run| &run.values).collect();
        let mut provenance = Provenance::new(&self.definition, &specs, &values);
        for lifted in self.runs.iter().flat_map(|run| run.setup.lifted()) {
            provenance.lift(lifted);
        }
        provenance
    }
}

/// What a simulation or a search has found.
#[derive(Clone)]
pub struct Outcome(Found);

fn prepare(
    scenario: &str,
    definition: &Definition,
    cell: &Cell,
    quick: bool,
    ignore_fit: Option<&str>,
    library: &dyn Library,
) -> Result<Prepared, String> {
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
    let setup = Setup::of_case(case, library, ignore_fit).map_err(|problems| {
        let lines: Vec<String> = problems.iter().map(named).collect();
        lines.join("\n")
    })?;
    Ok(Prepared {
        parameters: cell.parameters.clone(),
        values: case.values.clone(),
        setup: if quick { setup.searching_once() } else { setup },
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::{Path, PathBuf};

    fn folders() -> Vec<PathBuf> {
        let all = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../experiments");
        let entries = std::fs::read_dir(all).expect("the folder of the experiments");
        let folders = entries.map(|entry| entry.expect("an entry").path());
        folders
            .filter(|folder| folder.join("experiment.toml").is_file())
            .collect()
    }

    fn text(folder: &Path, name: &str) -> String {
        let path = folder.join(name);
        std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
    }

    /// The files that the page shows, by what each begins with.
    #[test]
    fn the_example_of_the_page_can_be_read() {
        let page = include_str!("../../../../experiments/README.md");
        let of = |beginning: &str| {
            let blocks = page.split("```").skip(1).step_by(2);
            let mut blocks = blocks.filter_map(|block| block.split_once('\n'));
            let found = blocks.find(|(_, text)| text.starts_with(beginning));
            found.expect("an example").1
        };
        let definition = Definition::read(of("# experiment.toml")).expect("right");
        let cells = cells::read(of("LOAD,BYTES")).expect("right");
        for cell in &cells {
            assert_eq!(definition.check_axes(&cell.parameters), Ok(()));
            let given: Vec<(String, String)> = cell.parameters.clone().into_iter().collect();
            assert!(expand(of("# scenario.toml"), &given).is_ok());
        }
        assert_eq!(cells.len(), 4);
    }

    /// What can be checked without compiling programs; the command checks the rest before it simulates.
    #[test]
    fn every_experiment_of_the_repository_can_be_read() {
        let folders = folders();
        assert!(folders.len() >= 24);
        for folder in folders {
            let name = folder.display();
            let definition = Definition::read(&text(&folder, "experiment.toml"));
            let definition = definition.unwrap_or_else(|error| panic!("{name}: {error}"));
            let cells = cells::read(&text(&folder, "cells.csv")).unwrap_or_else(|error| panic!("{name}: {error}"));
            assert!(
                definition.formulas.iter().all(|formula| formulas::is_known(formula)),
                "{name}"
            );
            for cell in &cells {
                assert_eq!(definition.check_axes(&cell.parameters), Ok(()), "{name}");
                let given: Vec<(String, String)> = cell.parameters.clone().into_iter().collect();
                let cases = expand(&text(&folder, "scenario.toml"), &given);
                let cases = cases.unwrap_or_else(|problem| panic!("{name}: {problem}"));
                let values = &cases[0].values;
                assert!(
                    definition
                        .fitted
                        .iter()
                        .all(|fitted| values.contains_key(&fitted.parameter)),
                    "{name}: a fitted constant that is no parameter"
                );
            }
        }
    }
}
