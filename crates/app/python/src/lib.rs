//! `forebay._native`: what the Python package `forebay` (in `python/`) calls.
//!
//! ```text
//!  python/src/forebay/*.py ─► _native ─┬► files ─► driver          Program
//!  classes with types,                 ├► switch, pipeline, trace  Switch
//!  documentation and defaults          ├► stf                      run_stf
//!                                      ├► sim                      Setup
//!                                      ├► tester                   Test
//!                                      └► experiments              Experiment
//! ```
//!
//! Nothing is computed here: values are converted, library crates are called, and their errors become the exceptions of
//! `forebay._errors` with the text that the command prints. Structured values cross as JSON, arrays as NumPy arrays.
//!
//! # Guarantees
//! * Calls of library crates release the interpreter's lock ([`guard::detached`]).
//! * A panic in them is an exception too, `InternalError`; a switch in which one occurred refuses every later packet.

#![deny(unsafe_code)]

mod describe;
mod errors;
mod experiment;
mod files;
mod frames;
mod guard;
mod objects;
mod program;
mod simulation;
mod stf;
mod switch;
mod tables;
mod tester;
mod values;

use pyo3::prelude::*;

/// The Rust part of the package. Everything that is public is in the modules beside it.
#[pymodule]
mod _native {
    #[pymodule_export]
    use crate::experiment::{Experiment, Outcome};
    #[pymodule_export]
    use crate::files::{make_folder, read_text};
    #[pymodule_export]
    use crate::guard::panic;
    #[pymodule_export]
    use crate::program::{Program, compile_file, compile_text};
    #[pymodule_export]
    use crate::simulation::{Setup, expand, rows};
    #[pymodule_export]
    use crate::stf::run_stf;
    #[pymodule_export]
    use crate::switch::Switch;
    #[pymodule_export]
    use crate::tester::{Test, compare_tests, test_report};

    use super::*;

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        module.add("VERSION", env!("CARGO_PKG_VERSION"))
    }
}
