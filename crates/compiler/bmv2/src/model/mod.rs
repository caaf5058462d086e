//! The JSON as structures: what is written, with all references still by name or number.
//!
//! Each structure reads itself from a [`Cursor`]. An attribute that has been added to the format over the years may be
//! missing; `docs/JSON_format.md` of behavioral-model says what each means.

mod control;
mod object;
mod operand;
mod parser;
mod storage;

pub use control::{
    Action, Conditional, DefaultEntry, DirectCall, Entry, KeyMatch, MatchSpec, Pipeline, Primitive, Table, TableKey,
};
pub use object::{Array, Calculation, Checksum, FieldList, Input, MeterArray};
pub use operand::{BinaryOp, Named, Operand, UnaryOp, VALID};
pub use parser::{
    Deparser, ExtractTarget, ParseState, Parser, ParserOp, ParserOpKind, Transition, TransitionWhen, ValueSet,
};
pub use storage::{FieldWidth, Header, HeaderType, Stack, Union, UnionStack};

use crate::cursor::Cursor;
use crate::error::{Error, Result};

/// A whole JSON.
#[derive(Debug)]
pub struct Json {
    /// Types of headers and of structs.
    pub header_types: Vec<HeaderType>,
    /// Instances of these types.
    pub headers: Vec<Header>,
    /// Stacks of headers.
    pub stacks: Vec<Stack>,
    /// Unions of headers.
    pub unions: Vec<Union>,
    /// Stacks of unions.
    pub union_stacks: Vec<UnionStack>,
    /// Members of each type of union.
    pub union_types: Vec<(String, Vec<String>)>,
    /// What clones and resubmitted packets keep.
    pub field_lists: Vec<FieldList>,
    /// What digests consist of.
    pub learn_lists: Vec<FieldList>,
    /// Errors and their numbers.
    pub errors: Vec<(String, u32)>,
    /// Parsers.
    pub parsers: Vec<Parser>,
    /// Value sets of parsers.
    pub value_sets: Vec<ValueSet>,
    /// Deparsers.
    pub deparsers: Vec<Deparser>,
    /// Actions of all tables.
    pub actions: Vec<Action>,
    /// Controls.
    pub pipelines: Vec<Pipeline>,
    /// Data of hashes and checksums.
    pub calculations: Vec<Calculation>,
    /// Checksums to verify and to update.
    pub checksums: Vec<Checksum>,
    /// Counters.
    pub counters: Vec<Array>,
    /// Meters.
    pub meters: Vec<MeterArray>,
    /// Registers.
    pub registers: Vec<Array>,
    /// Names that the switch knows for fields with other names: `("intrinsic_metadata.mcast_grp", header, field)`.
    pub aliases: Vec<(String, (String, String))>,
}

/// The major version of the format; JSON before 2.0 says none.
const MAJOR_VERSION: u64 = 2;

impl Json {
    /// Reads a JSON.
    pub fn read(root: &Cursor) -> Result<Json> {
        check_version(root)?;
        if !root.has("header_types") || !root.has("pipelines") {
            let message =
                "this is JSON, but no program: it has no `header_types` and `pipelines` as p4c writes them for BMv2";
            return Err(root.error(message));
        }
        check_architecture(root)?;
        Ok(Json {
            header_types: root.list("header_types", HeaderType::read)?,
            headers: root.list("headers", Header::read)?,
            stacks: root.list("header_stacks", Stack::read)?,
            unions: root.list("header_unions", Union::read)?,
            union_stacks: root.list("header_union_stacks", UnionStack::read)?,
            union_types: root.list("header_union_types", storage::union_type)?,
            field_lists: root.list("field_lists", FieldList::read)?,
            learn_lists: root.list("learn_lists", FieldList::read)?,
            errors: root.list("errors", |error| {
                let pair = error.tuple(2)?;
                Ok((pair[0].text()?, pair[1].small()?))
            })?,
            parsers: root.list("parsers", Parser::read)?,
            value_sets: root.list("parse_vsets", ValueSet::read)?,
            deparsers: root.list("deparsers", Deparser::read)?,
            actions: root.list("actions", Action::read)?,
            pipelines: root.list("pipelines", Pipeline::read)?,
            calculations: root.list("calculations", Calculation::read)?,
            checksums: root.list("checksums", Checksum::read)?,
            counters: root.list("counter_arrays", Array::read)?,
            meters: root.list("meter_arrays", MeterArray::read)?,
            registers: root.list("register_arrays", Array::read)?,
            aliases: root.list("field_aliases", |alias| {
                let pair = alias.tuple(2)?;
                Ok((pair[0].text()?, pair[1].names()?))
            })?,
        })
    }
}

fn check_version(root: &Cursor) -> Result<()> {
    let version = root.optional("__meta__").and_then(|meta| meta.optional("version"));
    let Some(version) = version else { return Ok(()) };
    let numbers = version.tuple(2)?;
    let (major, minor) = (numbers[0].number()?, numbers[1].number()?);
    match major {
        MAJOR_VERSION => Ok(()),
        _ => Err(version.error(format!(
            "version {major}.{minor} of the format is not known, expected {MAJOR_VERSION}.x"
        ))),
    }
}

/// Names of the controls of a v1model program.
const PIPELINES: [&str; 2] = ["ingress", "egress"];

/// A program for psa_switch has two parsers, one for pna_nic a control of another name. Read as a v1model program,
/// either would run without them.
fn check_architecture(root: &Cursor) -> Result<()> {
    let hint = "only programs for simple_switch (v1model) are executed as JSON; for PSA and PNA take the P4 source";
    for (key, what) in [("parsers", "parser"), ("deparsers", "deparser")] {
        let names = root.list(key, Cursor::name)?;
        if names.len() > 1 {
            let message = format!("there is more than one {what}: `{}`; {hint}", names.join("`, `"));
            return Err(Error::new(message).or_at(key));
        }
    }
    for name in root.list("pipelines", |each| each.field("name"))? {
        let text = name.text()?;
        if !PIPELINES.contains(&text.as_str()) {
            let known = PIPELINES.join("` or `");
            return Err(name.error(format!("the control `{text}` is not `{known}`; {hint}")));
        }
    }
    Ok(())
}

/// Where in the P4 source something comes from.
#[derive(Clone, Debug, Default)]
pub struct Source {
    /// File.
    pub file: String,
    /// Line, from 1; 0 when it is not known.
    pub line: u32,
    /// The text there.
    pub fragment: String,
}

impl Source {
    /// Reads `source_info`; compilers leave it away where there is none.
    pub fn read(cursor: &Cursor) -> Source {
        let info = cursor.optional("source_info");
        let text = |name: &str| {
            let value = info.as_ref().and_then(|info| info.optional(name));
            value.and_then(|value| value.text().ok()).unwrap_or_default()
        };
        let line = info.as_ref().and_then(|info| info.optional("line"));
        Source {
            file: text("filename"),
            line: line.and_then(|line| line.small().ok()).unwrap_or(0),
            fragment: text("source_fragment"),
        }
    }
}
