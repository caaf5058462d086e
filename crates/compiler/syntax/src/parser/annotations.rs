//! Annotations (P4_16 specification, "Annotations").

use super::{Parsed, ProgramParser};
use crate::ast::{Annotation, AnnotationArgument, AnnotationBody, AnnotationToken, AnnotationTokenKind, Ident};
use crate::codes::source as codes;
use crate::known::{self, Body};
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
        let first = self.next + 1;
        let body = match self.peek() {
            TokenKind::LeftParen => self.unstructured_body()?,
            TokenKind::LeftBracket => self.structured_body()?,
            _ => AnnotationBody::Empty,
        };
        let arguments = match &body {
            AnnotationBody::Unstructured(tokens) if !tokens.is_empty() => {
                self.known_arguments(&name.name, first, TokenKind::RightParen)
            }
            _ => Vec::new(),
        };
        Ok(Annotation {
            name,
            body,
            arguments,
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
        let first = self.next;
        let mut tokens = Vec::new();
        while !matches!(self.peek(), TokenKind::EndOfPragma | TokenKind::EndOfFile) {
            let token = self.bump();
            tokens.push(self.annotation_token(token));
        }
        let span = self.since(start);
        let arguments = if tokens.is_empty() {
            Vec::new()
        } else {
            self.known_arguments(&name.name, first, TokenKind::EndOfPragma)
        };
        self.eat(TokenKind::EndOfPragma);
        Ok(Annotation {
            name,
            body: AnnotationBody::Unstructured(tokens),
            arguments,
            span,
        })
    }

    /// Reads the body of an annotation once more, from the token `first` to the one before `close`, if its name says
    /// what it means. A body that does not fit is reported, and has no values.
    fn known_arguments(&mut self, name: &str, first: usize, close: TokenKind) -> Vec<AnnotationArgument> {
        let Some(known) = known::find(name) else {
            return Vec::new();
        };
        let end = std::mem::replace(&mut self.next, first);
        let angles = std::mem::replace(&mut self.no_greater, false);
        let read = self.arguments_of(known.body, close);
        self.no_greater = angles;
        self.next = end;
        read.unwrap_or_default()
    }

    fn arguments_of(&mut self, body: Body, close: TokenKind) -> Parsed<Vec<AnnotationArgument>> {
        let what = "a value of the annotation";
        match body {
            Body::Nothing | Body::MatchKind | Body::Constraint | Body::Free => Ok(Vec::new()),
            Body::Text | Body::Texts | Body::Number(..) | Body::Numbers(..) => self.comma_list(close, what, |parser| {
                Ok(AnnotationArgument::Value(parser.expression()?))
            }),
            Body::Pairs(_) => self.comma_list(close, what, |parser| {
                let (key, value) = parser.key_value()?;
                Ok(AnnotationArgument::Keyed(key, value))
            }),
            Body::Translation => self.comma_list(close, what, Self::type_or_value),
        }
    }

    fn type_or_value(&mut self) -> Parsed<AnnotationArgument> {
        if self.begins_type(0) {
            return Ok(AnnotationArgument::Type(self.type_reference()?));
        }
        Ok(AnnotationArgument::Value(self.expression()?))
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
