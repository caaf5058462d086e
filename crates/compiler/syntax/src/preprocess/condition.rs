//! The integer expressions of `#if` and `#elif`.
//!
//! Arithmetic is that of signed 64-bit numbers and wraps around. Names that are no macros count as 0.

use super::{MAX_MACRO_NESTING, Preprocessor};
use crate::codes::source as codes;
use crate::diagnostic::Diagnostic;
use crate::source::Span;
use crate::token::{Interner, Token, TokenKind};

impl Preprocessor<'_> {
    /// Evaluates a condition; a malformed one is reported and counts as false.
    pub(super) fn condition(&mut self, span: Span, tokens: &[Token]) -> bool {
        let resolved = match self.resolve_defined(tokens) {
            Ok(resolved) => self.expand_list(resolved),
            Err(error) => return self.invalid_condition(span, error),
        };
        let mut evaluator = Evaluator {
            tokens: &resolved,
            next: 0,
            interner: &self.interner,
            depth: 0,
            end: span.after(),
        };
        match evaluator.whole() {
            Ok(value) => value != 0,
            Err(error) => self.invalid_condition(span, error),
        }
    }

    fn invalid_condition(&mut self, span: Span, error: ConditionError) -> bool {
        let diagnostic = Diagnostic::error(codes::INVALID_CONDITION, error.span, error.message);
        self.diagnostics.push(diagnostic.secondary(span, "in this condition"));
        false
    }

    /// Replaces `defined NAME` and `defined(NAME)` by 1 or 0.
    fn resolve_defined(&mut self, tokens: &[Token]) -> Result<Vec<Token>, ConditionError> {
        let mut out = Vec::new();
        let mut rest = tokens;
        while let Some((first, tail)) = rest.split_first() {
            rest = tail;
            if first.kind != TokenKind::Identifier || self.interner.text(first.text) != "defined" {
                out.push(*first);
                continue;
            }
            let (name, tail) = match tail {
                [open, name, close, tail @ ..]
                    if open.kind == TokenKind::LeftParen && close.kind == TokenKind::RightParen =>
                {
                    (name, tail)
                }
                [name, tail @ ..] => (name, tail),
                [] => return Err(ConditionError::new(first.span, "`defined` needs the name of a macro")),
            };
            if !name.kind.is_word() {
                return Err(ConditionError::new(name.span, "`defined` needs the name of a macro"));
            }
            let known = self.macros.contains_key(&name.text) || self.is_builtin(name.text);
            let text = self.interner.intern(if known { "1" } else { "0" });
            out.push(Token {
                kind: TokenKind::Integer,
                text,
                ..*first
            });
            rest = tail;
        }
        Ok(out)
    }
}

/// What is wrong with a condition, and where.
struct ConditionError {
    span: Span,
    message: String,
}

impl ConditionError {
    fn new(span: Span, message: impl Into<String>) -> ConditionError {
        ConditionError {
            span,
            message: message.into(),
        }
    }
}

type Evaluated = Result<i64, ConditionError>;

struct Evaluator<'a> {
    tokens: &'a [Token],
    next: usize,
    interner: &'a Interner,
    depth: usize,
    end: Span,
}

impl Evaluator<'_> {
    fn whole(&mut self) -> Evaluated {
        let value = self.conditional(true)?;
        match self.tokens.get(self.next) {
            None => Ok(value),
            Some(token) => Err(ConditionError::new(token.span, "this does not belong to the condition")),
        }
    }

    fn peek(&self) -> Option<TokenKind> {
        self.tokens.get(self.next).map(|token| token.kind)
    }

    fn eat(&mut self, kind: TokenKind) -> bool {
        let found = self.peek() == Some(kind);
        self.next += usize::from(found);
        found
    }

    fn span(&self) -> Span {
        self.tokens.get(self.next).map_or(self.end, |token| token.span)
    }

    /// `a ? b : c`; `live` is false in an operand whose value does not matter, where division by zero is no error.
    fn conditional(&mut self, live: bool) -> Evaluated {
        self.depth += 1;
        if self.depth > MAX_MACRO_NESTING {
            return Err(ConditionError::new(self.span(), "the condition is nested too deeply"));
        }
        let condition = self.binary(0, live)?;
        let value = if self.eat(TokenKind::Question) {
            let chosen = condition != 0;
            let first = self.conditional(live && chosen)?;
            if !self.eat(TokenKind::Colon) {
                return Err(ConditionError::new(self.span(), "expected `:`"));
            }
            let second = self.conditional(live && !chosen)?;
            if chosen { first } else { second }
        } else {
            condition
        };
        self.depth -= 1;
        Ok(value)
    }

    fn binary(&mut self, minimum: u8, live: bool) -> Evaluated {
        let mut left = self.unary(live)?;
        while let Some((operator, level, length)) = self.binary_operator().filter(|(_, level, _)| *level >= minimum) {
            let span = self.span();
            self.next += length;
            let live = live && !matches!((operator, left != 0), ("&&", false) | ("||", true));
            let right = self.binary(level + 1, live)?;
            left = match apply(operator, left, right) {
                Some(value) => value,
                None if live => return Err(ConditionError::new(span, "division by zero")),
                None => 0,
            };
        }
        Ok(left)
    }

    /// The operator that comes next, how tightly it binds, and of how many tokens it consists.
    fn binary_operator(&self) -> Option<(&'static str, u8, usize)> {
        let kind = self.peek()?;
        let shift = kind == TokenKind::RightAngle
            && self
                .tokens
                .get(self.next + 1)
                .is_some_and(|next| next.kind == TokenKind::RightAngle && !next.spaced);
        if shift {
            return Some((">>", 7, 2));
        }
        let level = match kind {
            TokenKind::OrOr => 0,
            TokenKind::AndAnd => 1,
            TokenKind::Pipe => 2,
            TokenKind::Caret => 3,
            TokenKind::Ampersand => 4,
            TokenKind::EqualEqual | TokenKind::NotEqual => 5,
            TokenKind::LeftAngle | TokenKind::RightAngle | TokenKind::LessEqual | TokenKind::GreaterEqual => 6,
            TokenKind::ShiftLeft => 7,
            TokenKind::Plus | TokenKind::Minus => 8,
            TokenKind::Star | TokenKind::Slash | TokenKind::Percent => 9,
            _ => return None,
        };
        Some((kind.text(), level, 1))
    }

    fn unary(&mut self, live: bool) -> Evaluated {
        let mut operators = Vec::new();
        while let Some(kind @ (TokenKind::Not | TokenKind::Tilde | TokenKind::Minus | TokenKind::Plus)) = self.peek() {
            operators.push(kind);
            self.next += 1;
        }
        let value = self.primary(live)?;
        Ok(operators.iter().rev().fold(value, |value, operator| match operator {
            TokenKind::Not => i64::from(value == 0),
            TokenKind::Tilde => !value,
            TokenKind::Minus => value.wrapping_neg(),
            _ => value,
        }))
    }

    fn primary(&mut self, live: bool) -> Evaluated {
        let span = self.span();
        let Some(token) = self.tokens.get(self.next) else {
            return Err(ConditionError::new(
                span,
                "the condition ends where a value is expected",
            ));
        };
        self.next += 1;
        match token.kind {
            TokenKind::Integer => number(self.interner.text(token.text))
                .ok_or_else(|| ConditionError::new(span, "this is not an integer that a condition can contain")),
            TokenKind::LeftParen => {
                let value = self.conditional(live)?;
                if !self.eat(TokenKind::RightParen) {
                    return Err(ConditionError::new(self.span(), "expected `)`"));
                }
                Ok(value)
            }
            kind if kind.is_word() => Ok(0),
            _ => {
                let text = token.spelling(self.interner);
                Err(ConditionError::new(
                    span,
                    format!("`{text}` cannot stand in a condition"),
                ))
            }
        }
    }
}

/// The result of an operator; none for a division by zero.
fn apply(operator: &str, left: i64, right: i64) -> Option<i64> {
    let shift = right.clamp(0, 63) as u32;
    Some(match operator {
        "||" => i64::from(left != 0 || right != 0),
        "&&" => i64::from(left != 0 && right != 0),
        "|" => left | right,
        "^" => left ^ right,
        "&" => left & right,
        "==" => i64::from(left == right),
        "!=" => i64::from(left != right),
        "<" => i64::from(left < right),
        ">" => i64::from(left > right),
        "<=" => i64::from(left <= right),
        ">=" => i64::from(left >= right),
        "<<" => left.wrapping_shl(shift),
        ">>" => left.wrapping_shr(shift),
        "+" => left.wrapping_add(right),
        "-" => left.wrapping_sub(right),
        "*" => left.wrapping_mul(right),
        "/" if right != 0 => left.wrapping_div(right),
        "%" if right != 0 => left.wrapping_rem(right),
        _ => return None,
    })
}

/// A number as C writes it: decimal, hexadecimal, octal with a leading 0, binary; the suffixes U and L are ignored.
fn number(text: &str) -> Option<i64> {
    let text = text.to_ascii_lowercase().replace('_', "");
    let digits = text.trim_end_matches(['u', 'l']);
    let value = if let Some(hexadecimal) = digits.strip_prefix("0x") {
        u64::from_str_radix(hexadecimal, 16)
    } else if let Some(binary) = digits.strip_prefix("0b") {
        u64::from_str_radix(binary, 2)
    } else if digits.len() > 1 && digits.starts_with('0') {
        u64::from_str_radix(&digits[1..], 8)
    } else {
        digits.parse()
    };
    value.ok().map(|value| value as i64)
}
