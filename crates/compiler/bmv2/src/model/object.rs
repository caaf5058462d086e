//! Field lists, calculations, checksums, and arrays of counters, meters and registers.

use super::Operand;
use crate::cursor::Cursor;
use crate::error::Result;
use num_bigint::BigInt;

/// A list of fields, which clones and resubmitted packets keep or digests send.
#[derive(Debug)]
pub struct FieldList {
    /// Where it stands.
    pub at: String,
    /// Name; for digests, that of the struct.
    pub name: String,
    /// By which primitives refer to it.
    pub id: u32,
    /// Elements, with the width of those that are constants.
    pub elements: Vec<(Operand, Option<u32>)>,
}

impl FieldList {
    pub(super) fn read(cursor: &Cursor) -> Result<FieldList> {
        Ok(FieldList {
            at: cursor.path().to_owned(),
            name: cursor.name()?,
            id: cursor.field("id")?.small()?,
            elements: cursor.list("elements", |element| Ok((Operand::read(element)?, bit_width(element)?)))?,
        })
    }
}

fn bit_width(cursor: &Cursor) -> Result<Option<u32>> {
    cursor.optional("bitwidth").map(|width| width.small()).transpose()
}

/// What a hash or checksum is computed over.
#[derive(Debug)]
pub struct Calculation {
    /// Where it stands.
    pub at: String,
    /// Name.
    pub name: String,
    /// Name of the algorithm.
    pub algorithm: String,
    /// Data in order.
    pub input: Vec<Input>,
}

/// A piece of data of a calculation.
#[derive(Debug)]
pub enum Input {
    /// A field, or all fields of a header.
    Data(Operand),
    /// A constant, and its width in bits.
    Constant(BigInt, u32),
    /// What the parser has left.
    Payload,
}

impl Calculation {
    pub(super) fn read(cursor: &Cursor) -> Result<Calculation> {
        Ok(Calculation {
            at: cursor.path().to_owned(),
            name: cursor.name()?,
            algorithm: cursor.field("algo")?.text()?,
            input: cursor.list("input", Input::read)?,
        })
    }
}

impl Input {
    fn read(cursor: &Cursor) -> Result<Input> {
        match cursor.field("type")?.text()?.as_str() {
            "payload" => Ok(Input::Payload),
            "hexstr" => {
                let width = cursor.field("bitwidth")?.small()?;
                Ok(Input::Constant(cursor.field("value")?.hexadecimal()?, width))
            }
            _ => Ok(Input::Data(Operand::read(cursor)?)),
        }
    }
}

/// A checksum.
#[derive(Debug)]
pub struct Checksum {
    /// Where it stands.
    pub at: String,
    /// Header and field that hold it.
    pub target: (String, String),
    /// Name of its calculation.
    pub calculation: String,
    /// Whether it is computed before the deparser.
    pub update: bool,
    /// Whether it is verified after the parser.
    pub verify: bool,
    /// On which condition; none means whenever its header is valid.
    pub condition: Option<Operand>,
}

impl Checksum {
    pub(super) fn read(cursor: &Cursor) -> Result<Checksum> {
        let kind = cursor.field("type")?;
        if kind.text()? != "generic" {
            return Err(kind.error("this type of checksum is not known, expected `generic`"));
        }
        let flag = |name: &str| cursor.optional(name).map_or(Ok(true), |flag| flag.flag());
        Ok(Checksum {
            at: cursor.path().to_owned(),
            target: cursor.field("target")?.names()?,
            calculation: cursor.field("calculation")?.text()?,
            update: flag("update")?,
            verify: flag("verify")?,
            condition: cursor
                .optional("if_cond")
                .map(|condition| Operand::read(&condition))
                .transpose()?,
        })
    }
}

/// An array of counters or registers.
#[derive(Debug)]
pub struct Array {
    /// Where it stands.
    pub at: String,
    /// Name.
    pub name: String,
    /// Number of elements; none for direct ones.
    pub size: Option<u64>,
    /// The table that a direct array belongs to.
    pub binding: Option<String>,
    /// Bits of an element of a register.
    pub width: Option<u32>,
}

impl Array {
    pub(super) fn read(cursor: &Cursor) -> Result<Array> {
        let is_direct = cursor.optional("is_direct").map_or(Ok(false), |flag| flag.flag())?;
        let size = if is_direct {
            None
        } else {
            Some(cursor.field("size")?.number()?)
        };
        Ok(Array {
            at: cursor.path().to_owned(),
            name: cursor.name()?,
            size,
            binding: cursor.optional("binding").map(|table| table.text()).transpose()?,
            width: bit_width(cursor)?,
        })
    }
}

/// An array of meters.
#[derive(Debug)]
pub struct MeterArray {
    /// What it has in common with others.
    pub array: Array,
    /// Whether bytes are measured, not packets.
    pub counts_bytes: bool,
    /// Header and field that a direct meter's colour is written to.
    pub target: Option<(String, String)>,
}

impl MeterArray {
    pub(super) fn read(cursor: &Cursor) -> Result<MeterArray> {
        let kind = cursor.field("type")?;
        let counts_bytes = match kind.text()?.as_str() {
            "bytes" => true,
            "packets" => false,
            other => {
                let message = format!("meters do not measure `{other}`; there is `bytes`, `packets`");
                return Err(kind.error(message));
            }
        };
        Ok(MeterArray {
            array: Array::read(cursor)?,
            counts_bytes,
            target: cursor
                .optional("result_target")
                .map(|target| target.names())
                .transpose()?,
        })
    }
}
