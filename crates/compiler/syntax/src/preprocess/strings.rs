//! String literals that go over several lines.
//!
//! To a C preprocessor, which p4c runs over a program first, such a string is not one: a quotation mark without a
//! partner on its line takes the rest of this line with it, and the next lines are text like any other. So those that
//! begin with `#` are directives, macros in them are replaced, and comments stay. Constraints (`@entry_restriction`)
//! are written this way.
//!
//! The string is read as the tokens between its quotation marks: a *window* of the file. A branch that a condition
//! leaves out may contain the closing quotation mark; then the window is extended, and the string ends at the next
//! mark.

use super::Preprocessor;
use crate::codes::source as codes;
use crate::diagnostic::Diagnostic;
use crate::lexer::{BLANKS, tokenize_from, tokenize_window};
use crate::source::Span;
use crate::token::{Token, TokenKind};
use std::sync::Arc;

/// A string being read.
struct Reading {
    /// The text of the file.
    text: Arc<str>,
    /// What the string says so far.
    content: String,
    /// Tokens since the last directive.
    tokens: Vec<Token>,
    /// Where the text begins that has not been copied.
    from: usize,
}

impl Preprocessor<'_> {
    /// Whether a token is a string on several lines of the preprocessor: lines that a backslash joins are one.
    pub(super) fn has_lines(&self, token: &Token) -> bool {
        if token.kind != TokenKind::StringLiteral {
            return false;
        }
        let mut lines = self.interner.text(token.text).split('\n');
        lines.next_back();
        lines.any(|line| !line.trim_end_matches(BLANKS).ends_with('\\'))
    }

    /// Carries out the directives in a string, and replaces the macros.
    pub(super) fn read_lines(&mut self, string: Token) -> Token {
        let Some(frame) = self.frames.last_mut() else {
            return string;
        };
        let Some(source) = self.sources.file(frame.file) else {
            return string;
        };
        let (start, end) = (string.span.start as usize + 1, string.span.end as usize - 1);
        let mut reading = Reading {
            text: source.text.clone(),
            content: String::new(),
            tokens: Vec::new(),
            from: start,
        };
        let window = tokenize_window(frame.file, &reading.text, start..end, &mut self.interner);
        let rest = (std::mem::replace(&mut frame.tokens, window.into()), frame.next);
        frame.next = 0;
        frame.window = Some(string.span.end - 1);
        let close = self.read_window(&mut reading);
        self.resume(rest, close, string);
        let Some(close) = close else {
            return Token {
                kind: TokenKind::UnterminatedString,
                ..string
            };
        };
        if reading.content == reading.text[start..end] {
            return string;
        }
        let text = self.interner.intern(&format!("\"{}\"", reading.content));
        let span = Span::new(string.span.file, string.span.start, close + 1);
        Token { text, span, ..string }
    }

    /// Reads up to the closing quotation mark, whose offset it returns; none at the end of the file.
    fn read_window(&mut self, reading: &mut Reading) -> Option<u32> {
        loop {
            let token = self.advance()?;
            let is_window = self.frames.last().is_some_and(|frame| frame.window.is_some());
            match token.kind {
                TokenKind::Hash if token.starts_line => {
                    self.copy(reading, token.span.start as usize);
                    self.directive_inside(token);
                    reading.from = self.last_span.end as usize;
                }
                TokenKind::EndOfFile if !is_window => return None,
                TokenKind::EndOfFile => {
                    self.copy(reading, token.span.start as usize);
                    return Some(token.span.start);
                }
                TokenKind::StringLiteral | TokenKind::UnterminatedString if !is_window => {
                    self.copy(reading, token.span.start as usize);
                    return Some(token.span.start);
                }
                _ => reading.tokens.push(token),
            }
        }
    }

    fn directive_inside(&mut self, hash: Token) {
        let next = self.peek_file();
        if next.is_some_and(|name| self.interner.text(name.text) == "include") {
            let line = self.rest_of_line();
            let span = line.last().map_or(hash.span, |last| hash.span.to(last.span));
            let message = "a file cannot be included inside a string";
            return self
                .diagnostics
                .push(Diagnostic::error(codes::MALFORMED_DIRECTIVE, span, message));
        }
        self.directive(hash);
    }

    /// Goes on in the file after the string.
    fn resume(&mut self, rest: (std::rc::Rc<[Token]>, usize), close: Option<u32>, string: Token) {
        let Some(frame) = self.frames.last_mut() else { return };
        frame.window = None;
        if close == Some(string.span.end - 1) {
            (frame.tokens, frame.next) = rest;
            return;
        }
        let Some((close, source)) = close.zip(self.sources.file(frame.file)) else {
            return;
        };
        let mut tokens = tokenize_from(frame.file, &source.text, close as usize + 1, &mut self.interner);
        if let Some(first) = tokens.first_mut() {
            first.starts_line = false;
        }
        let count = tokens.len();
        (frame.tokens, frame.next) = (tokens.into(), 0);
        self.pay_reading(count);
    }

    /// Makes the innermost file go on after the window of a string; false if it is read to its end.
    pub(super) fn extend_window(&mut self) -> bool {
        let Some(frame) = self.frames.last_mut() else {
            return false;
        };
        let Some((end, source)) = frame.window.take().zip(self.sources.file(frame.file)) else {
            return false;
        };
        let tokens = tokenize_from(frame.file, &source.text, end as usize, &mut self.interner);
        let count = tokens.len();
        (frame.tokens, frame.next) = (tokens.into(), 0);
        self.pay_reading(count);
        true
    }

    /// Copies the text up to an offset, with macros replaced.
    fn copy(&mut self, reading: &mut Reading, to: usize) {
        let tokens = std::mem::take(&mut reading.tokens);
        let is_newline = |token: &Token| token.kind == TokenKind::Newline;
        let line_end = |from: usize| {
            tokens[from..]
                .iter()
                .position(is_newline)
                .map_or(tokens.len(), |end| from + end)
        };
        let mut index = if reading.content.is_empty() { line_end(0) } else { 0 };
        while let Some(token) = tokens.get(index) {
            if token.kind == TokenKind::Unknown && self.interner.text(token.text) == "'" {
                let end = line_end(index);
                let is_partner = |other: &Token| other.text == token.text && other.kind == token.kind;
                let partner = tokens[index + 1..end].iter().position(is_partner);
                index = partner.map_or(end, |distance| index + distance + 2);
                continue;
            }
            let length = self.call_length(&tokens[index..]);
            if length > 0 {
                let call = &tokens[index..index + length];
                reading.content += &reading.text[reading.from..token.span.start as usize];
                let expansion = self.expand_list(call.to_vec());
                self.spell(&expansion, &mut reading.content);
                reading.from = call.last().map_or(reading.from, |last| last.span.end as usize);
            }
            index += length.max(1);
        }
        reading.content += reading.text.get(reading.from..to).unwrap_or("");
        reading.from = to;
    }

    /// How many tokens the use of a macro takes that begins here; 0 if none does.
    fn call_length(&self, tokens: &[Token]) -> usize {
        let Some(name) = tokens.first().filter(|token| token.kind.is_word()) else {
            return 0;
        };
        let Some(definition) = self.macros.get(&name.text) else {
            return usize::from(self.is_builtin(name.text));
        };
        if definition.parameters.is_none() {
            return 1;
        }
        let mut depth = 0_usize;
        for (index, token) in tokens.iter().enumerate().skip(1) {
            match token.kind {
                TokenKind::LeftParen => depth += 1,
                TokenKind::RightParen if depth == 1 => return index + 1,
                TokenKind::RightParen => depth = depth.saturating_sub(1),
                TokenKind::Newline => {}
                _ if depth == 0 => return 0,
                _ => {}
            }
        }
        0
    }

    /// Appends tokens as they are written; a quotation mark does not end the string around it.
    fn spell(&self, tokens: &[Token], content: &mut String) {
        for (index, token) in tokens.iter().enumerate() {
            if index > 0 && token.spaced {
                content.push(' ');
            }
            *content += &token.spelling(&self.interner).replace('"', "\\\"");
        }
    }
}
