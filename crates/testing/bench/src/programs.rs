//! The P4 programs of the repository that are measured; they are part of this crate.

use crate::error::BenchError;
use forebay_driver::{Options, compile};
use forebay_ir::Program;
use forebay_syntax::render::render_all;
use forebay_syntax::source::MemorySources;

macro_rules! sources {
    ($($path:literal),+ $(,)?) => {
        &[$(($path, include_str!(concat!("../../../../", $path)))),+]
    };
}

const SOURCES: &[(&str, &str)] = sources![
    "programs/common/headers.p4",
    "programs/common/iot.p4",
    "programs/common/routing.p4",
    "programs/iot_aggregate/iot_aggregate.p4",
    "programs/iot_disaggregate/iot_disaggregate.p4",
    "programs/l2fwd/l2fwd.p4",
    "programs/l3fwd/l3fwd.p4",
    "programs/portfwd/portfwd.p4",
];

/// Compiles `programs/NAME/NAME.p4`.
///
/// # Errors
/// When it has errors, with these macros.
pub fn compiled(name: &str, defines: &[String]) -> Result<Program, BenchError> {
    let provider = SOURCES
        .iter()
        .fold(MemorySources::new(), |sources, (path, text)| sources.with(path, text));
    let mut options = Options::new(&provider);
    options.defines = defines;
    let compiled = compile(&format!("programs/{name}/{name}.p4"), &options);
    let messages = || render_all(&compiled.diagnostics, &compiled.sources);
    compiled.program.ok_or_else(|| BenchError::Program(messages()))
}
