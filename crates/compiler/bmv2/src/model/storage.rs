//! Types and instances of headers, stacks and unions.

use crate::cursor::Cursor;
use crate::error::Result;

/// A type of header, or of a struct.
#[derive(Debug)]
pub struct HeaderType {
    /// Where it stands.
    pub at: String,
    /// Name.
    pub name: String,
    /// Fields in order of the wire.
    pub fields: Vec<Field>,
    /// Longest header in bytes, for types with a field of variable length.
    pub max_length: Option<u32>,
}

/// A field of a type.
#[derive(Debug)]
pub struct Field {
    /// Name.
    pub name: String,
    /// Width.
    pub width: FieldWidth,
    /// Whether it is an `int<W>`.
    pub signed: bool,
}

/// How wide a field is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FieldWidth {
    /// In bits.
    Fixed(u32),
    /// As wide as the packet says.
    Variable,
}

impl HeaderType {
    pub(super) fn read(cursor: &Cursor) -> Result<HeaderType> {
        if cursor.optional("length_exp").is_some() {
            let message = "a header type with `length_exp` (P4_14) is not read; p4c writes `extract_VL` instead";
            return Err(cursor.error(message));
        }
        Ok(HeaderType {
            at: cursor.path().to_owned(),
            name: cursor.name()?,
            fields: cursor.list("fields", Field::read)?,
            max_length: cursor.optional("max_length").map(|length| length.small()).transpose()?,
        })
    }
}

impl Field {
    fn read(cursor: &Cursor) -> Result<Field> {
        let parts = cursor.items()?;
        let [name, width, rest @ ..] = parts.as_slice() else {
            return Err(cursor.error("a field has a name and a width"));
        };
        if rest.get(1).map(Cursor::flag).transpose()? == Some(true) {
            return Err(cursor.error("saturating fields (P4_14) are not supported"));
        }
        let width = match width.text() {
            Ok(star) if star == "*" => FieldWidth::Variable,
            _ => FieldWidth::Fixed(width.small()?),
        };
        Ok(Field {
            name: name.text()?,
            width,
            signed: rest.first().map(Cursor::flag).transpose()?.unwrap_or(false),
        })
    }
}

/// An instance of a type.
#[derive(Debug)]
pub struct Header {
    /// Where it stands.
    pub at: String,
    /// Name.
    pub name: String,
    /// By which stacks and unions refer to it.
    pub id: u32,
    /// Name of its type.
    pub header_type: String,
    /// Whether it is a struct and no header.
    pub is_metadata: bool,
}

impl Header {
    pub(super) fn read(cursor: &Cursor) -> Result<Header> {
        Ok(Header {
            at: cursor.path().to_owned(),
            name: cursor.name()?,
            id: cursor.field("id")?.small()?,
            header_type: cursor.field("header_type")?.text()?,
            is_metadata: cursor.field("metadata")?.flag()?,
        })
    }
}

/// A stack of headers.
#[derive(Debug)]
pub struct Stack {
    /// Where it stands.
    pub at: String,
    /// Name.
    pub name: String,
    /// Its elements, by [`Header::id`].
    pub headers: Vec<u32>,
}

impl Stack {
    pub(super) fn read(cursor: &Cursor) -> Result<Stack> {
        Ok(Stack {
            at: cursor.path().to_owned(),
            name: cursor.name()?,
            headers: cursor.list("header_ids", Cursor::small)?,
        })
    }
}

/// A union of headers.
#[derive(Debug)]
pub struct Union {
    /// Where it stands.
    pub at: String,
    /// Name.
    pub name: String,
    /// By which stacks refer to it.
    pub id: u32,
    /// Name of its type.
    pub union_type: String,
    /// Its members, by [`Header::id`].
    pub headers: Vec<u32>,
}

impl Union {
    pub(super) fn read(cursor: &Cursor) -> Result<Union> {
        Ok(Union {
            at: cursor.path().to_owned(),
            name: cursor.name()?,
            id: cursor.field("id")?.small()?,
            union_type: cursor.field("union_type")?.text()?,
            headers: cursor.list("header_ids", Cursor::small)?,
        })
    }
}

/// A stack of unions.
#[derive(Debug)]
pub struct UnionStack {
    /// Where it stands.
    pub at: String,
    /// Name.
    pub name: String,
    /// Its elements, by [`Union::id`].
    pub unions: Vec<u32>,
}

impl UnionStack {
    pub(super) fn read(cursor: &Cursor) -> Result<UnionStack> {
        Ok(UnionStack {
            at: cursor.path().to_owned(),
            name: cursor.name()?,
            unions: cursor.list("header_union_ids", Cursor::small)?,
        })
    }
}

/// A type of union: its name and those of its members.
pub(super) fn union_type(cursor: &Cursor) -> Result<(String, Vec<String>)> {
    let members = cursor.list("headers", |member| Ok(member.names()?.0))?;
    Ok((cursor.name()?, members))
}
