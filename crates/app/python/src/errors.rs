//! Errors of the library crates as exceptions of `forebay._errors`.

use pyo3::prelude::*;
use std::fmt::Display;

mod imported {
    #![allow(missing_docs)]
    pyo3::import_exception!(forebay._errors, CompileError);
    pyo3::import_exception!(forebay._errors, ControlError);
    pyo3::import_exception!(forebay._errors, EndlessError);
    pyo3::import_exception!(forebay._errors, FileError);
    pyo3::import_exception!(forebay._errors, InternalError);
    pyo3::import_exception!(forebay._errors, LoadError);
    pyo3::import_exception!(forebay._errors, ScenarioError);
    pyo3::import_exception!(forebay._errors, StfError);
    pyo3::import_exception!(forebay._errors, TestError);
}

pub(crate) use imported::{
    CompileError, ControlError, EndlessError, FileError, InternalError, LoadError, ScenarioError, StfError, TestError,
};

/// A file that cannot be used.
pub(crate) fn file(error: forebay_files::Error) -> PyErr {
    FileError::new_err(error.to_string())
}

/// A program with mistakes: the messages, and as JSON.
pub(crate) fn compile(report: &forebay_files::Report) -> PyErr {
    CompileError::new_err((report.messages.trim_end().to_string(), report.json.to_string()))
}

/// What a program refuses.
pub(crate) fn control(error: impl Display) -> PyErr {
    ControlError::new_err(error.to_string())
}

/// What is wrong with a scenario or an experiment.
pub(crate) fn scenario(error: impl Display) -> PyErr {
    ScenarioError::new_err(error.to_string())
}

/// What is wrong with a test file, or what a test cannot do.
pub(crate) fn test(error: impl Display) -> PyErr {
    TestError::new_err(error.to_string())
}
