//! Text format of protocol buffers, without a schema: text to a tree of fields and back.
//!
//! ```text
//! tables {
//!   preamble { id: 0x2000001 name: "t" }
//!   direct_resource_ids: [1, 2]
//! }
//! ```
//!
//! Everything that the [format](https://protobuf.dev/reference/protobuf/textformat-spec/) allows is read: comments,
//! either bracket, optional colons and separators, lists, adjacent strings, every escape, numbers in three bases,
//! bracketed names. Nesting ends at [`MAX_DEPTH`]; no text makes the parser panic.

mod parse;
mod write;

pub use parse::parse;
pub(crate) use write::scalar_text;
pub use write::write;

use std::fmt;

/// How deep messages may be nested.
pub const MAX_DEPTH: usize = 100;

/// The fields of a message in order. Repeated fields occur several times.
pub type Tree = Vec<Field>;

/// A field.
#[derive(Clone, Debug, PartialEq)]
pub struct Field {
    /// Its number in the schema, by which writers sort; 0 when it came from a text.
    pub number: u32,
    /// Its name.
    pub name: String,
    /// Its value.
    pub value: Value,
    /// Where it stands in the text, from 1; 0 when it came from none.
    pub line: u32,
    /// Column in characters, from 1.
    pub column: u32,
}

/// The value of a field.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// `"…"`: a string or bytes.
    Text(Vec<u8>),
    /// A number as it was written, sign included.
    Number(String),
    /// An enumerator, `true`, `false`.
    Word(String),
    /// `{ … }`
    Message(Tree),
}

/// A text that cannot be read, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReadError {
    /// Line, from 1.
    pub line: u32,
    /// Column in characters, from 1.
    pub column: u32,
    /// What is wrong.
    pub message: String,
}

impl fmt::Display for ReadError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}:{}: {}", self.line, self.column, self.message)
    }
}

impl std::error::Error for ReadError {}

impl Field {
    /// An error at this field.
    pub(crate) fn error<T>(&self, message: impl Into<String>) -> Result<T, ReadError> {
        Err(ReadError {
            line: self.line,
            column: self.column,
            message: message.into(),
        })
    }
}
