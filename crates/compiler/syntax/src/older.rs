//! Recognises programs in P4_14 by constructs that P4_16 does not have.

use crate::codes::source as codes;
use crate::diagnostic::Diagnostic;
use crate::token::{Interner, Token, TokenKind};

/// Words that begin declarations of P4_14, each before a name and a brace.
const DECLARATIONS: &[&str] = &["header_type", "field_list", "field_list_calculation"];

/// The only error for a P4_14 program. Other messages about its tokens would mislead.
pub(crate) fn program_of_p4_14(tokens: &[Token], interner: &Interner) -> Option<Diagnostic> {
    let declaration = tokens.windows(3).find(|tokens| is_declaration(tokens, interner));
    let first = declaration.or_else(|| tokens.windows(4).find(|tokens| is_parser(tokens, interner)))?[0];
    let message = "this is a program of P4_14, an older language than P4_16";
    let diagnostic = Diagnostic::error(codes::OLDER_LANGUAGE, first.span, message);
    Some(diagnostic.hint("p4c translates it: p4test --std p4-14 --pp NEW.p4 OLD.p4"))
}

/// `header_type NAME {`
fn is_declaration(tokens: &[Token], interner: &Interner) -> bool {
    let [word, name, brace] = tokens else { return false };
    word.kind == TokenKind::Identifier
        && name.kind == TokenKind::Identifier
        && brace.kind == TokenKind::LeftBrace
        && DECLARATIONS.contains(&interner.text(word.text))
}

/// `parser NAME { return`, or `extract` or `set_metadata` in its place.
fn is_parser(tokens: &[Token], interner: &Interner) -> bool {
    let [word, name, brace, statement] = tokens else {
        return false;
    };
    word.kind == TokenKind::Parser
        && name.kind == TokenKind::Identifier
        && brace.kind == TokenKind::LeftBrace
        && (statement.kind == TokenKind::Return
            || statement.kind == TokenKind::Identifier
                && ["extract", "set_metadata"].contains(&interner.text(statement.text)))
}
