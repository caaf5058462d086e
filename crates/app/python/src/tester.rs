//! The tester: traffic from a test file, every frame measured.

use crate::errors;
use crate::guard::{Interruption, detached};
use forebay_files::Folder;
use forebay_tester::{Overrides, Progress, Results, Session, report};
use pyo3::prelude::*;
use std::path::PathBuf;

/// A test that was read and checked.
#[pyclass(frozen, module = "forebay._native")]
pub(crate) struct Test {
    test: forebay_tester::Test,
    name: String,
}

#[pymethods]
impl Test {
    /// Reads a test file; what it names lies relative to `folder`.
    #[new]
    #[allow(clippy::too_many_arguments)]
    fn new(
        py: Python<'_>,
        text: &str,
        name: &str,
        folder: PathBuf,
        interfaces: Vec<String>,
        wire: bool,
        chip: Option<String>,
        ignore_fit: Option<String>,
    ) -> PyResult<Test> {
        let overrides = Overrides {
            interfaces,
            metrics: None,
            wire,
            chip,
            ignore_fit,
        };
        detached(py, || {
            let test = forebay_tester::Test::read(text, &Folder::new(folder), &overrides);
            let test = test.map_err(|problems| {
                let lines = problems.iter().map(|problem| format!("{name}:{problem}"));
                errors::test(lines.collect::<Vec<_>>().join("\n"))
            })?;
            Ok(Test {
                test,
                name: name.to_string(),
            })
        })
    }

    /// Sends the traffic; the results as JSON.
    fn run(&self, py: Python<'_>) -> PyResult<String> {
        self.measure(py, |session, progress| session.run(progress))
    }

    /// Searches the highest load for the goals of the file; the results as JSON.
    fn search(&self, py: Python<'_>) -> PyResult<String> {
        self.measure(py, |session, progress| session.search(progress))
    }

    /// The tests of RFC 2544; the results as JSON.
    fn rfc2544(&self, py: Python<'_>) -> PyResult<String> {
        self.measure(py, |session, progress| session.rfc2544(progress))
    }
}

impl Test {
    /// Does this with a session, without the interpreter's lock.
    fn measure(
        &self,
        py: Python<'_>,
        what: impl FnOnce(&mut Session<'_>, &mut dyn Progress) -> Result<Results, String> + Send,
    ) -> PyResult<String> {
        let mut interruption = EndsTest {
            interruption: Interruption::new(),
            error: None,
        };
        let results = detached(py, || {
            let opened = Session::open(&self.test);
            Ok(opened.and_then(|mut session| what(&mut session, &mut interruption)))
        })?;
        if let Some(error) = interruption.error {
            return Err(error);
        }
        let results = results.map_err(|error| errors::test(format!("{}: {error}", self.name)))?;
        serde_json::to_string(&results).map_err(errors::test)
    }
}

/// Ends a test when the user interrupts the interpreter.
struct EndsTest {
    interruption: Interruption,
    error: Option<PyErr>,
}

impl Progress for EndsTest {
    fn at(&mut self, _share: f64, _sent: u64, _received: u64) -> bool {
        self.error = self.error.take().or_else(|| self.interruption.look());
        self.error.is_none()
    }
}

/// Results in JSON as text for people, or as a page of HTML.
#[pyfunction]
pub(crate) fn test_report(py: Python<'_>, json: &str, html: bool) -> PyResult<String> {
    detached(py, || {
        let results = read(json)?;
        Ok(if html {
            report::html(&results)
        } else {
            report::text(&results)
        })
    })
}

/// Two results compared with confidence intervals: the differences as JSON, and as text.
#[pyfunction]
pub(crate) fn compare_tests(py: Python<'_>, before: &str, after: &str) -> PyResult<(String, String)> {
    detached(py, || {
        let differences = report::compare::differences(&read(before)?, &read(after)?);
        let json = serde_json::to_string(&differences).map_err(errors::test)?;
        Ok((json, report::difference::table(&differences)))
    })
}

fn read(json: &str) -> PyResult<Results> {
    serde_json::from_str(json).map_err(|error| errors::test(format!("this is no result of the tester: {error}")))
}
