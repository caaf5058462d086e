//! P4 source text to syntax tree: sources, diagnostics, preprocessor, lexer, parser.
