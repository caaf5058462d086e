//! From the blob that a controller pushes to a program.
//!
//! | blob | what it is |
//! |---|---|
//! | text that begins with `program v1model` | the IR that `forebay build` writes |
//! | text that begins with `{` | the JSON that p4c writes for BMv2 |
//! | any other text | P4_16 source; it may include what stands in `p4include/` |

use crate::known::known;
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
    /// What the compiler says of it; none for a program that was compiled before, or whose P4Info came with it.
    pub p4info: Option<P4Info>,
}

/// Reads a blob that came without a P4Info.
///
/// # Errors
/// `INVALID_ARGUMENT` with the messages of the compiler when it is no program that can be executed.
pub fn load(blob: &[u8]) -> Result<Loaded, Error> {
    load_with(blob, None)
}

/// Reads a blob. The P4Info that came with it, if one did, says of a JSON what is not in it.
///
/// # Errors
/// See [`load`].
pub fn load_with(blob: &[u8], info: Option<&P4Info>) -> Result<Loaded, Error> {
    if blob.is_empty() {
        return Err(Error::invalid(
            "p4_device_config is empty; it must hold P4_16 source, JSON of p4c for BMv2, or ir.txt of `forebay build`",
        ));
    }
    let text = std::str::from_utf8(blob).map_err(|_| {
        Error::invalid(
            "p4_device_config is no text; it must hold P4_16 source, JSON of p4c for BMv2, or ir.txt of `forebay build`",
        )
    })?;
    if forebay_bmv2::is_json(text) {
        return load_json(text, info);
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

fn load_json(text: &str, info: Option<&P4Info>) -> Result<Loaded, Error> {
    let known = info.map(known).unwrap_or_default();
    let program = forebay_bmv2::read(text, &known);
    let program = program.map_err(|error| Error::invalid(format!("p4_device_config: {error}")))?;
    let derived = || forebay_protocol::p4info::from_compiler(&forebay_bmv2::derive_p4info(&program));
    Ok(Loaded {
        p4info: info.is_none().then(derived),
        program,
    })
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
