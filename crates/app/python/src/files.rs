//! Files of users, with the messages of the command.

use crate::errors;
use crate::guard::detached;
use pyo3::prelude::*;
use std::path::PathBuf;

/// Reads a file of text; `what` it should be stands in the message when it cannot.
#[pyfunction]
pub(crate) fn read_text(py: Python<'_>, path: PathBuf, what: &str) -> PyResult<String> {
    detached(py, || forebay_files::text(&path, what).map_err(errors::file))
}

/// Makes a folder, and those around it, unless it exists.
#[pyfunction]
pub(crate) fn make_folder(py: Python<'_>, path: PathBuf) -> PyResult<()> {
    detached(py, || forebay_files::make_folder(&path).map_err(errors::file))
}
