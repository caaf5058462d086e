//! From the blob that a controller pushes to a program.
//!
//! | blob | what it is |
//! |---|---|
//! | text that begins with `program v1model` | the IR that `forebay build` writes |
//! | any other text | P4_16 source; it may include what stands in `p4include/` |

use crate::status::Error;
use forebay_frontend::{Compiled, Options, compile};
use forebay_ir::Program;
use forebay_protocol::p4::config::v1::P4Info;
use forebay_syntax::render;
use forebay_syntax::source::MemorySources;

/// Under which name the source is compiled; it stands in messages.
const SOURCE_NAME: &str = "p4_device_config.p4";

/// A program, and its P4Info if the blob says it.
#[derive(Debug)]
pub struct Loaded {
    /// What executes.
    pub program: Program,
    /// What the compiler says of it; none for a program that was compiled before.
    pub p4info: Option<P4Info>,
}

/// Reads a blob.
///
/// # Errors
/// `INVALID_ARGUMENT` with the messages of the compiler when it is no program that can be executed.
pub fn load(blob: &[u8]) -> Result<Loaded, Error> {
    if blob.is_empty() {
        return Err(Error::invalid(
            "p4_device_config is empty; it must hold P4_16 source or ir.txt of `forebay build`",
        ));
    }
    let text = std::str::from_utf8(blob).map_err(|_| {
        Error::invalid("p4_device_config is no text; it must hold P4_16 source or ir.txt of `forebay build`")
    })?;
    if text.trim_start().starts_with('{') {
        return Err(Error::invalid(
            "p4_device_config is JSON, as p4c writes it for BMv2, which is not read; push the P4_16 source instead",
        ));
    }
    if text.trim_start().starts_with("program v1model") {
        return load_ir(text);
    }
    load_source(text)
}

fn load_ir(text: &str) -> Result<Loaded, Error> {
    let program = forebay_ir::text::read(text);
    let program = program.map_err(|error| Error::invalid(format!("p4_device_config: ir.txt:{error}")))?;
    match forebay_ir::verify::verify(&program).first() {
        Some(problem) => Err(Error::invalid(format!("p4_device_config: ir.txt: {problem}"))),
        None => Ok(Loaded { program, p4info: None }),
    }
}

fn load_source(text: &str) -> Result<Loaded, Error> {
    let sources = MemorySources::new().with(SOURCE_NAME, text);
    let Compiled {
        sources,
        program,
        p4info,
        diagnostics,
    } = compile(SOURCE_NAME, &Options::new(&sources));
    let program = program.ok_or_else(|| {
        let messages = render::render_all(&diagnostics, &sources, false);
        Error::invalid(format!("p4_device_config cannot be compiled:\n{messages}"))
    })?;
    Ok(Loaded {
        program,
        p4info: p4info.as_ref().map(forebay_protocol::p4info::from_compiler),
    })
}
