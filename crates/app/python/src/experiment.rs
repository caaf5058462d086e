//! Published tables and figures beside the model.

use crate::errors;
use crate::guard::{Interruption, detached};
use forebay_files::Folder;
use pyo3::prelude::*;
use std::path::PathBuf;

/// An experiment that was read.
#[pyclass(frozen, module = "forebay._native")]
pub(crate) struct Experiment {
    experiment: forebay_experiments::Experiment,
}

/// What one of its simulations has found.
#[pyclass(frozen, module = "forebay._native")]
pub(crate) struct Outcome {
    outcome: forebay_experiments::Outcome,
}

#[pymethods]
impl Experiment {
    #[new]
    fn new(py: Python<'_>, folder: PathBuf, quick: bool, ignore_fit: Option<&str>) -> PyResult<Experiment> {
        detached(py, || {
            let library = Folder::new(&folder);
            let experiment = forebay_experiments::Experiment::new(&library, quick, ignore_fit);
            let wrong = |problem| errors::scenario(format!("{}: {problem}", folder.display()));
            Ok(Experiment {
                experiment: experiment.map_err(wrong)?,
            })
        })
    }

    /// Its title and where it was published.
    fn title(&self) -> (String, String) {
        let definition = self.experiment.definition();
        (definition.title.clone(), definition.source.clone())
    }

    /// How many simulations it takes.
    fn runs(&self) -> usize {
        self.experiment.runs()
    }

    /// Does one of them.
    fn simulate(&self, py: Python<'_>, run: usize) -> PyResult<Outcome> {
        detached(py, || {
            let outcome = self.experiment.simulate(run, &mut Interruption::new());
            Ok(Outcome { outcome })
        })
    }

    /// The report of the outcomes of all, in order: as JSON and as Markdown.
    fn report(&self, py: Python<'_>, outcomes: Vec<PyRef<'_, Outcome>>, command: &str) -> PyResult<(String, String)> {
        let outcomes: Vec<_> = outcomes.iter().map(|outcome| outcome.outcome.clone()).collect();
        detached(py, || {
            let report = self.experiment.report(&outcomes);
            let json = serde_json::to_string(&report.json()).map_err(errors::scenario)?;
            Ok((json, report.markdown(command)))
        })
    }
}
