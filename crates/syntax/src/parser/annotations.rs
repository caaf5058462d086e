//! Annotations (P4_16 specification, "Annotations").

use super::{Parsed, ProgramParser};
use crate::ast::{Annotation, AnnotationBody, AnnotationToken, AnnotationTokenKind, Ident};
use crate::codes::source as codes;
use crate::lexer::unescape;
use crate::token::{Token, TokenKind};

impl ProgramParser<'_> {
    /// Reads all annotations that stand here.
    pub(super) fn annotations(&mut self) -> Parsed<Vec<Annotation>> {
        let mut list = Vec::new();
        loop {
            match self.peek() {
                TokenKind::At => list.push(self.annotation()?),
                TokenKind::Pragma => list.push(self.pragma()?),
                _ => return Ok(list),
            }
        }
    }

    fn annotation(&mut self) -> Parsed<Annotation> {
        let start = self.bump().span;
        let name = self.annotation_name()?;
        let body = match self.peek() {
            TokenKind::LeftParen => self.unstructured_body()?,
            TokenKind::LeftBracket => self.structured_body()?,
            _ => AnnotationBody::Empty,
        };
        Ok(Annotation {
            name,
            body,
            span: self.since(start),
        })
    }

    /// Reads the name of an annotation, which may be any word.
    fn annotation_name(&mut self) -> Parsed<Ident> {
        if !self.peek().is_word() {
            return Err(self.unexpected(codes::MALFORMED_ANNOTATION, "the name of an annotation"));
        }
        let token = self.bump();
        Ok(self.ident_of(token))
    }

    /// `@pragma name tokens` up to the end of the line.
    fn pragma(&mut self) -> Parsed<Annotation> {
        let start = self.bump().span;
        let name = self.annotation_name()?;
        let mut tokens = Vec::new();
        while !matches!(self.peek(), TokenKind::EndOfPragma | TokenKind::EndOfFile) {
            let token = self.bump();
            tokens.push(self.annotation_token(token));
        }
        let span = self.since(start);
        self.eat(TokenKind::EndOfPragma);
        Ok(Annotation {
            name,
            body: AnnotationBody::Unstructured(tokens),
            span,
        })
    }

    /// `(tokens)`, in which parentheses must be balanced.
    fn unstructured_body(&mut self) -> Parsed<AnnotationBody> {
        let open = self.bump().span;
        let mut depth = 0_usize;
        let mut tokens = Vec::new();
        loop {
            match self.peek() {
                TokenKind::EndOfFile => {
                    self.expect_close(TokenKind::RightParen, open, "the annotation")?;
                }
                TokenKind::RightParen if depth == 0 => {
                    self.bump();
                    return Ok(AnnotationBody::Unstructured(tokens));
                }
                TokenKind::LeftParen => depth += 1,
                TokenKind::RightParen => depth -= 1,
                _ => {}
            }
            let token = self.bump();
            tokens.push(self.annotation_token(token));
        }
    }

    fn annotation_token(&self, token: Token) -> AnnotationToken {
        let text = self.text(token);
        let (kind, text) = match token.kind {
            TokenKind::StringLiteral => (AnnotationTokenKind::String, unescape(text)),
            TokenKind::Integer => (AnnotationTokenKind::Integer, text.to_string()),
            kind if kind.is_word() => (AnnotationTokenKind::Identifier, text.to_string()),
            _ => (AnnotationTokenKind::Punctuation, text.to_string()),
        };
        AnnotationToken {
            kind,
            text,
            span: token.span,
        }
    }

    /// `[e, ...]` or `[k = v, ...]`.
    fn structured_body(&mut self) -> Parsed<AnnotationBody> {
        let open = self.bump().span;
        let is_key_value = self.is_name_at(0) && self.peek_at(1) == TokenKind::Assign;
        let body = if is_key_value {
            let what = "the annotation's value";
            AnnotationBody::KeyValueList(self.comma_list(TokenKind::RightBracket, what, Self::key_value)?)
        } else {
            let what = "the annotation's expression";
            AnnotationBody::ExpressionList(self.comma_list(TokenKind::RightBracket, what, Self::expression)?)
        };
        self.expect_close(TokenKind::RightBracket, open, "the annotation")?;
        Ok(body)
    }
}
