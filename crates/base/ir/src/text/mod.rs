//! The text form of a program: for reading, for tests, for storage.
//!
//! [`read`] returns exactly the program that [`write()`] printed. Every index is printed as the name of what it
//! denotes:
//!
//! ```text
//! program v1model
//!
//! slot hdr.ipv4.ttl: bit<8> field hdr.ipv4
//! slot hdr.ipv4.$valid$: bit<1> valid hdr.ipv4
//! header hdr.ipv4 ipv4_t {
//!   valid hdr.ipv4.$valid$
//!   field ttl = hdr.ipv4.ttl
//! }
//!
//! body MyIngress control {
//! block0:
//!   branch hdr.ipv4.$valid$, block1, block2
//! block1:
//!   hdr.ipv4.ttl = hdr.ipv4.ttl - 8w0x1 @0:42
//!   apply MyIngress.ipv4_lpm hit MyIngress.tmp -> block2
//! block2:
//!   return
//! }
//! ```
//!
//! # Conventions
//!
//! * A **name** is written plainly when it looks like one (`hdr.mpls[2].label`) and is not a keyword; otherwise it is
//!   in quotes. When several things of one kind have the name, `#` and the index follow: `tmp#12`. `!57` is index 57,
//!   whatever its name. The writer uses this for an index that does not exist, so that a broken program can be
//!   printed, too.
//! * A **constant** has its width: `9w0x1ff`. So has a type: `bit<9>` or `int<9>`.
//! * An **operator** takes operands that are not operators. Nested operators are in parentheses, so there is no
//!   precedence. `<s`, `<=s`, `>>s`, `|+|s` and `|-|s` interpret their operands as signed.
//! * **Action data** is `$port` when the body belongs to one action with such a parameter, `$0:9` (index and width)
//!   otherwise.
//! * `@2:17` is line 17 of file 2. `//` begins a comment. White space and the order of declarations of different kinds
//!   have no meaning; declarations of one kind are numbered in order.
//! # Guarantees
//!
//! [`read`] never panics, and needs memory and stack in proportion to the text: nesting is limited to
//! [`crate::verify::MAX_EXPRESSION_DEPTH`]. It finds errors of form and unknown names; [`crate::verify`] checks
//! whether the program makes sense.

mod cursor;
mod lexer;
mod names;
mod read_body;
mod read_graph;
mod read_objects;
mod read_program;
mod write_body;
mod write_expr;
mod write_graph;
mod write_program;

pub use write_expr::ExprPrinter;

use crate::Program;
use std::fmt;

/// An error in a text that is not a program.
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

/// Whether a text appears to be a program in this form.
pub fn is_program(text: &str) -> bool {
    let rest = text.trim_start().strip_prefix("program ");
    rest.is_some_and(|rest| {
        let known = crate::Architecture::NAMES.iter();
        known
            .map(|(_, name)| name)
            .any(|name| rest.trim_start().starts_with(name))
    })
}

/// Prints a program. It need not be valid.
pub fn write(program: &Program) -> String {
    write_program::write(program)
}

/// Reads a program in the form that [`write()`] prints.
///
/// # Errors
/// At the first place where the text is not of this form, or names what it does not declare.
pub fn read(text: &str) -> Result<Program, ReadError> {
    read_program::read(text)
}
