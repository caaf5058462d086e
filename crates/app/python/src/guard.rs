//! Calls into the library crates: without the interpreter's lock, and so that no panic reaches Python.

use crate::errors::InternalError;
use pyo3::prelude::*;
use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Calls `what` without the interpreter's lock: other Python threads run meanwhile. A panic becomes an [`InternalError`]; what the panic may
/// have left half done is the caller's to lock away (`Switch` does).
pub(crate) fn detached<R: Send>(py: Python<'_>, what: impl FnOnce() -> PyResult<R> + Send) -> PyResult<R> {
    let called = py.detach(|| catch_unwind(AssertUnwindSafe(what)));
    called.unwrap_or_else(|panic| Err(internal(panic.as_ref())))
}

fn internal(panic: &(dyn Any + Send)) -> PyErr {
    let text = panic.downcast_ref::<&str>().copied();
    let text = text.or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    InternalError::new_err(format!(
        "a mistake of Forebay's, please report it: {}",
        text.unwrap_or("a panic")
    ))
}

/// Panics with this text: for the test of what becomes of a panic.
#[pyfunction]
pub(crate) fn panic(py: Python<'_>, text: &str) -> PyResult<()> {
    detached(py, || panic!("{text}"))
}
