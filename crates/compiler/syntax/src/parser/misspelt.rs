//! Misspelt keywords: a word is taken for a keyword that it resembles when what follows makes sense only after that
//! keyword.
//!
//! The word is reported, and read as the keyword ([`ProgramParser::reread`]), so that no other message follows.

use super::ProgramParser;
use crate::codes::source as codes;
use crate::diagnostic::{Diagnostic, closest_name};
use crate::token::{Token, TokenKind};

/// What follows a keyword.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Follows {
    /// `NAME (` or `NAME <`
    NameAndParameters,
    /// `NAME {`
    NameAndBrace,
    /// A type and a name.
    TypeAndName,
    /// `{`
    Brace,
    /// `(...) {`
    Condition,
    /// `;`
    End,
    /// `NAME ;`
    NameAndEnd,
    /// `select`
    Select,
}

/// Keywords that may stand at a place, each with what follows it.
pub(super) type Candidates = [(TokenKind, Follows)];

/// At the top level.
pub(super) const TOP_LEVEL: &Candidates = &[
    (TokenKind::Parser, Follows::NameAndParameters),
    (TokenKind::Control, Follows::NameAndParameters),
    (TokenKind::Action, Follows::NameAndParameters),
    (TokenKind::Package, Follows::NameAndParameters),
    (TokenKind::Header, Follows::NameAndBrace),
    (TokenKind::HeaderUnion, Follows::NameAndBrace),
    (TokenKind::Struct, Follows::NameAndBrace),
    (TokenKind::Enum, Follows::NameAndBrace),
    (TokenKind::Enum, Follows::TypeAndName),
    (TokenKind::Extern, Follows::NameAndBrace),
    (TokenKind::Extern, Follows::TypeAndName),
    (TokenKind::Typedef, Follows::TypeAndName),
    (TokenKind::Const, Follows::TypeAndName),
];

/// In a control.
pub(super) const IN_CONTROL: &Candidates = &[
    (TokenKind::Action, Follows::NameAndParameters),
    (TokenKind::Table, Follows::NameAndBrace),
    (TokenKind::Apply, Follows::Brace),
    (TokenKind::Const, Follows::TypeAndName),
];

/// In a parser.
pub(super) const IN_PARSER: &Candidates = &[
    (TokenKind::State, Follows::NameAndBrace),
    (TokenKind::Const, Follows::TypeAndName),
];

/// Among statements.
pub(super) const STATEMENTS: &Candidates = &[
    (TokenKind::If, Follows::Condition),
    (TokenKind::Switch, Follows::Condition),
    (TokenKind::For, Follows::Condition),
    (TokenKind::Return, Follows::End),
    (TokenKind::Exit, Follows::End),
    (TokenKind::Const, Follows::TypeAndName),
];

/// At the end of a state.
pub(super) const TRANSITION: &Candidates = &[
    (TokenKind::Transition, Follows::Select),
    (TokenKind::Transition, Follows::NameAndEnd),
];

impl ProgramParser<'_> {
    /// Reports a misspelt keyword here, and reads it as the intended one.
    pub(super) fn mend_keyword(&mut self, candidates: &Candidates) {
        let word = self.token();
        if word.kind != TokenKind::Identifier || word.origin.is_some() {
            return;
        }
        let fitting = candidates.iter().filter(|(_, follows)| self.is_followed_by(*follows));
        let fitting: Vec<TokenKind> = fitting.map(|(kind, _)| *kind).collect();
        let Some(meant) = self.meant_keyword(word, &fitting) else {
            return;
        };
        let message = format!("`{}` is not a keyword", self.text(word));
        let diagnostic = Diagnostic::error(codes::MISSPELT_KEYWORD, word.span, message);
        self.report(diagnostic.hint(format!("did you mean `{}`?", meant.text())));
        self.reread = Some((self.next, meant));
    }

    /// The keyword that a word is close to. A name in scope is not misspelt, unless it differs from a keyword by case
    /// only and names a type: `Parser` of v1model.p4 is no result of a function.
    fn meant_keyword(&self, word: Token, fitting: &[TokenKind]) -> Option<TokenKind> {
        let written = self.text(word);
        let is_declared = self.scopes.is_type(word.text) || self.scopes.is_value(word.text);
        if is_declared {
            let same = fitting.iter().find(|kind| kind.text().eq_ignore_ascii_case(written));
            return same
                .copied()
                .filter(|_| self.is_followed_by(Follows::NameAndParameters));
        }
        if written == "goto" && fitting.contains(&TokenKind::Transition) {
            return Some(TokenKind::Transition);
        }
        let close = closest_name(written, fitting.iter().map(|kind| kind.text()))?;
        fitting.iter().find(|kind| kind.text() == close).copied()
    }

    fn is_followed_by(&self, follows: Follows) -> bool {
        use TokenKind::{LeftAngle, LeftBrace, LeftParen, Select, Semicolon};
        let name = self.is_name_at(1);
        match follows {
            Follows::NameAndParameters => name && matches!(self.peek_at(2), LeftParen | LeftAngle),
            Follows::NameAndBrace => name && self.peek_at(2) == LeftBrace,
            Follows::TypeAndName => self.begins_type(1) || name && self.is_name_at(2),
            Follows::Brace => self.peek_at(1) == LeftBrace,
            Follows::Condition => {
                let end = (self.peek_at(1) == LeftParen).then(|| self.after_group(1)).flatten();
                end.is_some_and(|end| self.peek_at(end) == LeftBrace)
            }
            Follows::End => self.peek_at(1) == Semicolon,
            Follows::NameAndEnd => name && self.peek_at(2) == Semicolon,
            Follows::Select => self.peek_at(1) == Select,
        }
    }

    /// Reports and skips the word `case` of other languages before a label.
    pub(super) fn skip_case(&mut self) {
        use TokenKind::{Default, Dot, Identifier, Integer, StringLiteral, Underscore};
        let word = self.token();
        let before_label =
            self.is_name_at(1) || matches!(self.peek_at(1), Default | Dot | Integer | StringLiteral | Underscore);
        if word.kind != Identifier || self.text(word) != "case" || !before_label {
            return;
        }
        let message = "labels have no `case` before them";
        let diagnostic = Diagnostic::error(codes::UNEXPECTED_TOKEN, word.span, message);
        self.report(diagnostic.hint("leave it out").cause("labels with `case`"));
        self.bump();
    }

    /// Reports a directive of the preprocessor without its `#`, and skips its line.
    pub(super) fn skip_bare_directive(&mut self) -> bool {
        let word = self.token();
        let is_directive = word.kind == TokenKind::Identifier
            && word.starts_line
            && !self.scopes.is_type(word.text)
            && match self.text(word) {
                "include" => matches!(self.peek_at(1), TokenKind::LeftAngle | TokenKind::StringLiteral),
                "define" | "undef" | "ifdef" | "ifndef" => self.is_name_at(1),
                _ => false,
            };
        if !is_directive {
            return false;
        }
        let message = format!("`{}` without `#` is no directive of the preprocessor", self.text(word));
        let hint = format!("write `#{}`", self.text(word));
        self.report(Diagnostic::error(codes::UNKNOWN_DIRECTIVE, word.span, message).hint(hint));
        self.bump();
        while !self.token().starts_line && !self.at(TokenKind::EndOfFile) {
            self.bump();
        }
        true
    }
}
