//! Programs.

use crate::guard::detached;
use crate::{describe, errors};
use forebay_files::{Compilation, CompileOptions};
use pyo3::prelude::*;
use std::path::{Path, PathBuf};

/// A compiled program.
#[pyclass(frozen, module = "forebay._native")]
pub(crate) struct Program {
    pub(crate) program: forebay_ir::Program,
    p4info: Option<String>,
    warnings: String,
    diagnostics: String,
}

#[pymethods]
impl Program {
    /// Its tables, actions, objects and headers as JSON.
    fn describe(&self, py: Python<'_>) -> PyResult<String> {
        detached(py, || Ok(describe::program(&self.program).to_string()))
    }

    /// Its P4Info in text form; none when it was compiled before without one.
    fn p4info(&self) -> Option<&str> {
        self.p4info.as_deref()
    }

    /// The text form of its IR.
    fn ir(&self, py: Python<'_>) -> PyResult<String> {
        detached(py, || Ok(forebay_ir::text::write(&self.program)))
    }

    /// Warnings of the compiler as text.
    fn warnings(&self) -> &str {
        &self.warnings
    }

    /// Messages of the compiler as JSON.
    fn diagnostics(&self) -> &str {
        &self.diagnostics
    }
}

/// Compiles a program in a file.
#[pyfunction]
pub(crate) fn compile_file(
    py: Python<'_>,
    path: PathBuf,
    include: Vec<String>,
    define: Vec<String>,
    strict: bool,
) -> PyResult<Program> {
    let options = options(include, define, strict);
    detached(py, || {
        let compiled = forebay_files::compile_file(&path, &options);
        program(compiled.map_err(errors::file)?)
    })
}

/// Compiles a program in a string; `name` stands for its file in messages.
#[pyfunction]
pub(crate) fn compile_text(
    py: Python<'_>,
    text: &str,
    name: PathBuf,
    include: Vec<String>,
    define: Vec<String>,
    strict: bool,
) -> PyResult<Program> {
    let options = options(include, define, strict);
    detached(py, || {
        program(forebay_files::compile_text(text, Path::new(&name), &options))
    })
}

fn options(include: Vec<String>, define: Vec<String>, strict: bool) -> CompileOptions {
    CompileOptions {
        include,
        define,
        strict,
        colour: false,
    }
}

fn program(compilation: Compilation) -> PyResult<Program> {
    let Compilation {
        program,
        p4info,
        report,
    } = compilation;
    let Some(program) = program else {
        return Err(errors::compile(&report));
    };
    Ok(Program {
        program,
        p4info: p4info.as_ref().map(forebay_p4info::write),
        warnings: report.messages,
        diagnostics: report.json.to_string(),
    })
}
