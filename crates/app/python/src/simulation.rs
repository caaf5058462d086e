//! Scenarios on the timed model.

use crate::errors;
use crate::guard::{Interruption, detached};
use forebay_files::Folder;
use forebay_sim::{Case, Departure, Problem, Run, Search, find_max};
use numpy::ndarray::Array2;
use numpy::{IntoPyArray, PyArray1, PyArray2};
use pyo3::prelude::*;
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::PathBuf;

/// A scenario with one value for each parameter, read and checked.
#[pyclass(frozen, module = "forebay._native")]
pub(crate) struct Setup {
    setup: forebay_sim::Setup,
}

/// Every combination of a scenario's parameters: values by name, and the scenario's text. `given` replaces what the
/// text says.
#[pyfunction]
#[allow(clippy::type_complexity)]
pub(crate) fn expand(
    py: Python<'_>,
    text: &str,
    name: &str,
    given: Vec<(String, String)>,
) -> PyResult<Vec<(BTreeMap<String, String>, String)>> {
    detached(py, || {
        let cases = forebay_sim::expand(text, &given);
        let cases = cases.map_err(|problem| errors::scenario(format!("{name}:{problem}")))?;
        Ok(cases.into_iter().map(|case| (case.values, case.text)).collect())
    })
}

/// Results as JSON, names of ports and of sources, and a row for each frame.
type Recorded<'py> = (String, Vec<String>, Vec<String>, Bound<'py, PyArray2<i64>>);

#[pymethods]
impl Setup {
    /// Reads a scenario of which each parameter has one value; what it names lies relative to `folder`.
    #[new]
    fn new(
        py: Python<'_>,
        text: &str,
        name: &str,
        folder: PathBuf,
        given: Vec<(String, String)>,
        ignore_fit: Option<&str>,
    ) -> PyResult<Setup> {
        detached(py, || {
            let wrong = |problem: Problem| errors::scenario(format!("{name}:{problem}"));
            let cases = forebay_sim::expand(text, &given).map_err(wrong)?;
            let [case] = &cases[..] else {
                let message = format!(
                    "{name}: its parameters have {} combinations of values; choose one",
                    cases.len()
                );
                return Err(errors::scenario(message));
            };
            read(case, name, folder, ignore_fit)
        })
    }

    /// Simulates; the results as JSON.
    fn run(&self, py: Python<'_>, seed: Option<u64>, gbps: Option<f64>) -> PyResult<String> {
        detached(py, || {
            let run = self.with_rate(seed, gbps)?;
            Ok(json(&self.setup.run(run, &mut Interruption::new())))
        })
    }

    /// Simulates; the results as JSON, and every frame that left: names of ports and sources, then for each frame the
    /// indices of its names (-1 for no source), its sequence number, arrival (-1 when not known) and departure in
    /// picoseconds, and length.
    fn run_with_departures<'py>(
        &self,
        py: Python<'py>,
        seed: Option<u64>,
        gbps: Option<f64>,
    ) -> PyResult<Recorded<'py>> {
        let (results, names, table) = detached(py, || {
            let run = self.with_rate(seed, gbps)?;
            let (results, departures) = self.setup.run_with_departures(run, &mut Interruption::new());
            let (names, table) = columns(&departures);
            Ok((json(&results), names, table))
        })?;
        let [ports, sources] = names;
        Ok((results, ports, sources, table.into_pyarray(py)))
    }

    /// Searches the highest load without loss; the results as JSON.
    fn find_max(&self, py: Python<'_>, seed: Option<u64>) -> PyResult<String> {
        detached(py, || {
            let seed = seed.unwrap_or(self.setup.scenario().seed);
            let found = find_max(&self.setup, Search { seed }, &mut Interruption::new()).map(|found| json(&found));
            found.ok_or_else(|| errors::scenario("the scenario has no table [search], which says what loads to try"))
        })
    }

    /// Microseconds between samples.
    fn sample_us(&self) -> f64 {
        self.setup.scenario().sample_us()
    }
}

impl Setup {
    /// A run with this seed and rate, if the scenario can have the rate.
    fn with_rate(&self, seed: Option<u64>, gbps: Option<f64>) -> PyResult<Run> {
        if let Some(gbps) = gbps {
            self.setup.check_rate(gbps).map_err(errors::scenario)?;
        }
        let seed = seed.unwrap_or(self.setup.scenario().seed);
        Ok(Run { seed, gbps })
    }
}

fn read(case: &Case, name: &str, folder: PathBuf, ignore_fit: Option<&str>) -> PyResult<Setup> {
    let library = Folder::new(folder);
    let setup = forebay_sim::Setup::of_case(case, &library, ignore_fit).map_err(|problems| {
        let lines = problems.iter().map(|problem| format!("{name}:{problem}"));
        errors::scenario(lines.collect::<Vec<_>>().join("\n"))
    })?;
    Ok(Setup { setup })
}

/// Names of ports and of sources, and a row for each frame.
fn columns(departures: &[Departure]) -> ([Vec<String>; 2], Array2<i64>) {
    let mut names = [Vec::new(), Vec::new()];
    let mut index = |which: usize, name: &String| {
        let known: &mut Vec<String> = &mut names[which];
        let found = known.iter().position(|known| known == name);
        found.unwrap_or_else(|| {
            known.push(name.clone());
            known.len() - 1
        }) as i64
    };
    let mut table = Array2::zeros((departures.len(), 6));
    for (departure, mut row) in departures.iter().zip(table.rows_mut()) {
        row[0] = index(0, &departure.port);
        row[1] = departure.source.as_ref().map_or(-1, |source| index(1, source));
        row[2] = departure.sequence as i64;
        row[3] = departure.arrived_ps.map_or(-1, |time| time as i64);
        row[4] = departure.departed_ps as i64;
        row[5] = departure.bytes as i64;
    }
    (names, table)
}

fn json(results: &impl serde::Serialize) -> String {
    serde_json::to_string(results).expect("results are numbers and names")
}

/// Every number of some results in JSON: its place, which sample (-1 for none), and its value.
#[pyfunction]
#[allow(clippy::type_complexity)]
pub(crate) fn rows<'py>(
    py: Python<'py>,
    path: &str,
    json: &str,
) -> PyResult<(Vec<String>, Bound<'py, PyArray1<i64>>, Bound<'py, PyArray1<f64>>)> {
    let rows = detached(py, || {
        let value: Value = serde_json::from_str(json).map_err(errors::scenario)?;
        Ok(forebay_sim::rows(path, &value))
    })?;
    let samples: Vec<i64> = rows.iter().map(|row| row.sample.unwrap_or(-1)).collect();
    let values: Vec<f64> = rows.iter().map(|row| row.value).collect();
    let measures = rows.into_iter().map(|row| row.measure).collect();
    Ok((measures, samples.into_pyarray(py), values.into_pyarray(py)))
}
