//! Keysets: what `select` cases and table entries match.

use super::{Parsed, ProgramParser};
use crate::ast::{Expr, ExprKind};
use crate::codes::source as codes;
use crate::diagnostic::Diagnostic;
use crate::token::TokenKind;

impl ProgramParser<'_> {
    /// Reads a keyset: a simple one, or a tuple of them in parentheses.
    pub(super) fn keyset(&mut self) -> Parsed<Expr> {
        if !self.at(TokenKind::LeftParen) || !self.at_keyset_tuple() {
            return self.simple_keyset();
        }
        let open = self.bump().span;
        let mut elements = self.comma_list(TokenKind::RightParen, "the keyset", Self::simple_keyset)?;
        self.expect_close(TokenKind::RightParen, open, "the keysets")?;
        let span = self.since(open);
        match elements.pop() {
            Some(only) if elements.is_empty() => Ok(Expr { span, ..only }),
            last => {
                elements.extend(last);
                Ok(Expr {
                    kind: ExprKind::Tuple(elements),
                    span,
                })
            }
        }
    }

    /// Reads the `:` after a keyset; `place` says what else stands there.
    pub(super) fn colon_after_keyset(&mut self, place: &str) -> Parsed<()> {
        if !self.at(TokenKind::Comma) {
            self.expect(TokenKind::Colon, place)?;
            return Ok(());
        }
        let diagnostic = self.unexpected_diagnostic(codes::UNEXPECTED_TOKEN, &format!("`:` {place}"));
        let hint = "values of several keys stand in parentheses: `(a, b)`; each alternative has a line of its own";
        Err(self.report(diagnostic.hint(hint)))
    }

    /// `e`, `e &&& mask`, `low .. high`, `_` or `default`
    fn simple_keyset(&mut self) -> Parsed<Expr> {
        let token = self.token();
        let kind = match token.kind {
            TokenKind::Default => ExprKind::Default,
            TokenKind::Underscore => ExprKind::DontCare,
            _ => return self.range_or_mask(),
        };
        self.bump();
        Ok(Expr { kind, span: token.span })
    }

    /// `e`, `e &&& mask` or `low .. high`
    pub(super) fn range_or_mask(&mut self) -> Parsed<Expr> {
        let first = self.expression()?;
        let operator = self.peek();
        if !matches!(operator, TokenKind::Mask | TokenKind::Range) {
            return Ok(first);
        }
        self.bump();
        let second = self.expression()?;
        if matches!(self.peek(), TokenKind::Mask | TokenKind::Range) {
            let message = format!("`{}` cannot be chained", self.peek().text());
            return Err(self.report(Diagnostic::error(codes::NON_ASSOCIATIVE, self.span(), message)));
        }
        let span = first.span.to(second.span);
        let (first, second) = (Box::new(first), Box::new(second));
        let kind = if operator == TokenKind::Mask {
            ExprKind::Mask {
                value: first,
                mask: second,
            }
        } else {
            ExprKind::Range {
                low: first,
                high: second,
            }
        };
        Ok(Expr { kind, span })
    }
}
