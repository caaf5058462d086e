//! Programs that p4c has compiled for BMv2's simple_switch (`p4c-bm2-ss`, or `p4c --target bmv2 --arch v1model`).
//!
//! ```text
//!  x.json ─► cursor ─► model ─► translate ─► IR ─► p4info
//!            places    names    slots,             ids of objects, when
//!                               blocks             no P4Info came with it
//! ```
//!
//! The JSON is what controllers push to a switch that runs BMv2. It holds the program after p4c's middle end: headers
//! and actions by name, primitives instead of statements, tables and conditions that name what follows. Here it becomes
//! the same [`Program`] as P4 source does: whatever executes that one executes this one.
//!
//! * [`cursor`](self): a value of the JSON with its place, for messages. [`model`]: the format, as structures.
//! * [`translate`](self): to the IR. What a P4Info adds is in [`Known`].
//! * [`p4info`](self): a P4Info for a JSON that came without one.
//!
//! # What is not in a JSON
//!
//! Names of structs' fields in digests, which header goes to controllers, `@id`s, entries that may be changed, and
//! whether a key is `optional` or `ternary`. With a P4Info none of this is missing. A parser state that goes to
//! `reject` is not told from one that accepts, in BMv2 as here.
//!
//! Programs of P4_14 compilers (before version 2.0 of the format) are read too, as far as they use no more than p4c's.

#![cfg_attr(not(test), deny(clippy::disallowed_methods, clippy::disallowed_types))]
#![forbid(unsafe_code)]

mod cursor;
mod error;
mod known;
mod model;
mod p4info;
mod translate;

pub use error::Error;
pub use known::{Known, KnownField, KnownTable};
pub use p4info::derive as derive_p4info;

use cursor::Cursor;
use forebay_ir::Program;
use model::Json;
use serde_json::{Deserializer, Value};
use std::path::{Path, PathBuf};

/// How deep objects and lists may nest. Reading and translating them takes stack for each.
const MAX_NESTING: usize = 500;

/// Whether a text is JSON rather than P4 source or the text form of the IR.
pub fn is_json(text: &str) -> bool {
    text.trim_start().starts_with('{')
}

/// What the P4Info of a compiled program may be called: `l3.p4info.txtpb` for `l3.json`, or `p4info.txtpb` beside it.
pub fn p4info_paths(program: &Path) -> Vec<PathBuf> {
    let own = ["p4info.txtpb", "p4info.txt", "p4.p4info.txtpb", "p4.p4info.txt"];
    let own = own.map(|extension| program.with_extension(extension));
    let common = ["p4info.txtpb", "p4info.txt"].map(|name| program.with_file_name(name));
    own.into_iter().chain(common).collect()
}

/// Reads a program.
///
/// # Errors
/// When the text is no JSON of this format, or the program cannot be executed; the message says where and what would be
/// right.
pub fn read(text: &str, known: &Known) -> Result<Program, Error> {
    let value = parse(text)?;
    let json = Json::read(&Cursor::root(&value))?;
    translate::translate(&json, known)
}

fn parse(text: &str) -> Result<Value, Error> {
    if nesting(text) > MAX_NESTING {
        let message = format!("objects and lists are nested more than {MAX_NESTING} deep, which is not supported");
        return Err(Error::new(message));
    }
    let mut reader = Deserializer::from_str(text);
    reader.disable_recursion_limit();
    let mut values = reader.into_iter::<Value>();
    let first = values
        .next()
        .ok_or_else(|| Error::new("this is no JSON: it is empty"))?;
    let value = first.map_err(|error| Error::new(format!("this is no JSON: {error}")))?;
    match values.next() {
        None => Ok(value),
        Some(_) => Err(Error::new("this is no JSON: more follows after its end")),
    }
}

/// How deep objects and lists nest in a text, up to its first mistake at least.
fn nesting(text: &str) -> usize {
    let (mut depth, mut deepest) = (0usize, 0);
    let (mut in_string, mut is_escaped) = (false, false);
    for byte in text.bytes() {
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' if in_string => is_escaped = true,
            b'"' => in_string = !in_string,
            b'{' | b'[' if !in_string => {
                depth += 1;
                deepest = deepest.max(depth);
            }
            b'}' | b']' if !in_string => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    deepest
}
