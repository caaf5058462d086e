//! P4 source text to syntax tree: sources, diagnostics, preprocessor, lexer, parser.
//!
//! ```text
//!  text ─► lexer ─► preprocessor ─► parser ─► ast::Program
//!            (tokens with spans)              + SourceMap + Diagnostics
//! ```
//!
//! The crate is pure: it opens no file, but reads through a [`source::SourceProvider`]; and it is total: whatever the
//! text, it returns a tree of what could be read and says in [`diagnostic::Diagnostics`] what was wrong. It does not
//! panic, its recursion is bounded ([`parser::NESTING_LIMIT`]), and so are the sizes of what it builds.
//!
//! [`parse_program`] is the way in.

#![cfg_attr(not(test), deny(clippy::disallowed_methods, clippy::disallowed_types))]
#![forbid(unsafe_code)]

pub mod ast;
pub mod codes;
pub mod diagnostic;
pub mod known;
pub mod lexer;
pub mod library;
mod older;
pub mod parser;
pub mod preprocess;
pub mod render;
pub mod source;
pub mod token;

use diagnostic::{Diagnostic, Diagnostics};
use source::{SourceMap, SourceProvider, SourceSearch, Span};

/// What is to be parsed, and how.
pub struct ParseOptions<'a> {
    /// Reads files.
    pub provider: &'a dyn SourceProvider,
    /// Folders in which `#include` looks (`-I`).
    pub include_paths: &'a [String],
    /// Macros defined from outside (`-D`), as `NAME` or `NAME=VALUE`.
    pub defines: &'a [String],
    /// How many errors are kept.
    pub error_limit: usize,
}

impl<'a> ParseOptions<'a> {
    /// Options with a provider and nothing else set.
    pub fn new(provider: &'a dyn SourceProvider) -> ParseOptions<'a> {
        let error_limit = diagnostic::DEFAULT_ERROR_LIMIT;
        ParseOptions {
            provider,
            include_paths: &[],
            defines: &[],
            error_limit,
        }
    }
}

/// The result: the tree of what could be read, the files it was read from, and messages about them.
#[derive(Debug)]
pub struct ParsedProgram {
    /// The syntax tree. It is complete if there are no errors.
    pub program: ast::Program,
    /// All files that were read; the program's own is the first.
    pub sources: SourceMap,
    /// The messages.
    pub diagnostics: Diagnostics,
}

/// Reads the program at a path, with all that it includes.
pub fn parse_program(path: &str, options: &ParseOptions) -> ParsedProgram {
    match options.provider.read(path) {
        Some(text) => parse_text(path, text, options),
        None => {
            let mut diagnostics = Diagnostics::with_limit(options.error_limit);
            let message = format!("the file `{path}` could not be read");
            diagnostics.push(Diagnostic::error(codes::source::SOURCE_NOT_FOUND, Span::NONE, message));
            ParsedProgram {
                program: ast::Program::default(),
                sources: SourceMap::new(),
                diagnostics,
            }
        }
    }
}

/// Reads a program whose text is at hand; `name` is what messages call it, and where its includes are relative to.
pub fn parse_text(name: &str, text: String, options: &ParseOptions) -> ParsedProgram {
    let mut sources = SourceMap::new();
    let mut diagnostics = Diagnostics::with_limit(options.error_limit);
    let main = sources.add(name, text, None);
    let search = SourceSearch {
        provider: options.provider,
        include_paths: options.include_paths,
    };
    let tokens = preprocess::preprocess(main, options.defines, &search, &mut sources, &mut diagnostics);
    let program = match older::program_of_p4_14(&tokens.tokens, &tokens.interner) {
        Some(message) => {
            diagnostics = Diagnostics::with_limit(options.error_limit);
            diagnostics.push(message);
            ast::Program::default()
        }
        None => parser::parse(&tokens, &mut diagnostics),
    };
    ParsedProgram {
        program,
        sources,
        diagnostics,
    }
}
