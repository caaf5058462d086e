//! P4 source text to syntax tree: sources, diagnostics, preprocessor, lexer, parser.
//!
//! ```text
//!  text ─► lexer ─► preprocessor ─► parser ─► ast::Program
//!            (tokens with spans)              + SourceMap + Diagnostics
//! ```
//!
//! The crate is pure: it opens no file, but asks a [`source::SourceProvider`]; and it is total: whatever the
//! text, it returns a tree of what could be read and says in [`diagnostic::Diagnostics`] what was wrong. It does
//! not panic, its recursion is bounded ([`parser::NESTING_LIMIT`]), and so are the sizes of what it builds.

pub mod ast;
pub mod codes;
pub mod diagnostic;
pub mod render;
pub mod source;
