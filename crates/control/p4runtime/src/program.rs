//! From the blob that a controller pushes to a program.
//!
//! | blob | what it is |
//! |---|---|
//! | text that begins with the word `program` | the IR that `forebay build` writes |
//! | text that begins with `{` | the JSON that p4c writes for BMv2, or several files ([`Bundle`]) |
//! | any other text | P4_16 source; it may include what stands in `p4include/` |
//! | a `p4.tmp.P4DeviceConfig` | whatever of the above is in its `device_data` |

use crate::bundle::Bundle;
use crate::known::known;
use crate::status::Error;
use forebay_driver::{Compiled, Format, Options, compile, read_compiled};
use forebay_ir::Program;
use forebay_protocol::p4::config::v1::P4Info;
use forebay_protocol::p4::tmp::P4DeviceConfig;
use forebay_syntax::render;
use prost::Message;
use std::borrow::Cow;

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
    let blob = unwrapped(blob);
    if blob.is_empty() {
        return Err(Error::invalid(
            "p4_device_config is empty; it must hold P4_16 source, JSON of p4c for BMv2, or ir.txt of `forebay build`",
        ));
    }
    let text = std::str::from_utf8(&blob).map_err(|_| {
        Error::invalid(
            "p4_device_config is no text; it must hold P4_16 source, JSON of p4c for BMv2, or ir.txt of `forebay build`",
        )
    })?;
    if let Some(bundle) = Bundle::read(text) {
        return load_source(&bundle?);
    }
    match Format::of_text(text) {
        Format::P4 => {}
        Format::Ir => return load_compiled("p4_device_config: ir.txt", Format::Ir, text, None),
        Format::Bmv2 => return load_compiled("p4_device_config", Format::Bmv2, text, info),
    }
    load_source(&Bundle {
        main: SOURCE_NAME.to_string(),
        files: [(SOURCE_NAME.to_string(), text.to_string())].into(),
        ..Bundle::default()
    })
}

/// The program in a `p4.tmp.P4DeviceConfig`, or the blob itself. The first byte of the message is the number of a field
/// and so one that no text begins with.
fn unwrapped(blob: &[u8]) -> Cow<'_, [u8]> {
    const FIELDS: [u8; 3] = [0x08, 0x12, 0x1a];
    let message = blob
        .first()
        .filter(|first| FIELDS.contains(first))
        .and_then(|_| P4DeviceConfig::decode(blob).ok());
    message.map_or(Cow::Borrowed(blob), |message| Cow::Owned(message.device_data))
}

/// Reads a program that was compiled before. The P4Info of a JSON is derived unless `info` came with it.
fn load_compiled(name: &str, format: Format, text: &str, info: Option<&P4Info>) -> Result<Loaded, Error> {
    let known = info.map(known);
    let loaded = read_compiled(name, format, text, known.as_ref());
    // A controller is told the first problem only.
    let loaded = loaded.map_err(|problems| Error::invalid(problems.into_iter().next().unwrap_or_default()))?;
    Ok(Loaded {
        program: loaded.program,
        p4info: loaded.p4info.as_ref().map(forebay_protocol::p4info::from_compiler),
    })
}

fn load_source(bundle: &Bundle) -> Result<Loaded, Error> {
    let sources = bundle.sources();
    let options = Options {
        provider: &sources,
        include_paths: &bundle.include_paths,
        defines: &bundle.defines,
    };
    let Compiled {
        sources,
        program,
        p4info,
        diagnostics,
    } = compile(&bundle.main, &options);
    let program = program.ok_or_else(|| {
        let messages = render::render_all(&diagnostics, &sources);
        Error::invalid(format!("p4_device_config cannot be compiled:\n{messages}"))
    })?;
    Ok(Loaded {
        program,
        p4info: p4info.as_ref().map(forebay_protocol::p4info::from_compiler),
    })
}
