//! Calls into the library crates: without the interpreter's lock, so that no panic reaches Python, and so that
//! simulations can be interrupted.

use crate::errors::InternalError;
use pyo3::prelude::*;
use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::time::{Duration, Instant};

/// The interval at which Python is checked for an interrupt of the user. Checking more often would disturb measurements
/// of the tester.
const INTERVAL: Duration = Duration::from_millis(250);

/// Calls `what` without the interpreter's lock: other Python threads run meanwhile. A panic becomes an
/// [`InternalError`]; what the panic may have left half done is the caller's to lock away (`Switch` does).
pub(crate) fn detached<R: Send>(py: Python<'_>, what: impl FnOnce() -> PyResult<R> + Send) -> PyResult<R> {
    let called = py.detach(|| catch_unwind(AssertUnwindSafe(what)));
    called.unwrap_or_else(|panic| match panic.downcast::<Interrupted>() {
        Ok(interrupted) => Err(interrupted.0),
        Err(panic) => Err(internal(panic.as_ref())),
    })
}

/// What unwinds a simulation that the user has interrupted, up to [`detached`]. The simulation is dropped on the way;
/// nothing else knows it.
struct Interrupted(PyErr);

/// Looks from time to time whether the user has interrupted the interpreter.
pub(crate) struct Interruption {
    looked: Instant,
}

impl Interruption {
    pub(crate) fn new() -> Interruption {
        Interruption { looked: Instant::now() }
    }

    /// The exception of an interrupt, if it is time to look and there is one.
    pub(crate) fn look(&mut self) -> Option<PyErr> {
        if self.looked.elapsed() < INTERVAL {
            return None;
        }
        self.looked = Instant::now();
        Python::attach(|py| py.check_signals().err())
    }
}

/// Ends a simulation within [`detached`].
impl forebay_sim::Progress for Interruption {
    fn at(&mut self, _now: forebay_sim::Picos, _end: forebay_sim::Picos, _events: u64) {
        if let Some(error) = self.look() {
            resume_unwind(Box::new(Interrupted(error)));
        }
    }
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
