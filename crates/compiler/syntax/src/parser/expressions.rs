//! Expressions, by precedence climbing (P4_16 specification, "Expressions").
//!
//! From loosest to tightest: `?:`, `||`, `&&`, `== !=`, `< > <= >=`, `|`, `^`, `&`, `<< >>`,
//! `+ - |+| |-| ++`, `* / %`, prefix operators and casts, `. [] ()`. Unlike in C the bitwise operators bind more
//! tightly than comparisons.

use super::{Parsed, ProgramParser};
use crate::ast::{Arg, BinaryOp, Expr, ExprKind, Ident, Link, Name, Type, TypeKind, UnaryOp};
use crate::codes::source as codes;
use crate::diagnostic::Diagnostic;
use crate::lexer::{IntegerError, parse_integer, unescape};
use crate::source::Span;
use crate::token::{Token, TokenKind};

impl ProgramParser<'_> {
    /// Reads an expression.
    pub(super) fn expression(&mut self) -> Parsed<Expr> {
        self.nested(Self::conditional)
    }

    /// Reads an expression between brackets, in which `>` is an operator again.
    pub(super) fn bracketed_expression(&mut self) -> Parsed<Expr> {
        self.in_brackets(Self::expression)
    }

    fn in_brackets<T>(&mut self, inner: impl FnOnce(&mut Self) -> Parsed<T>) -> Parsed<T> {
        let outer = std::mem::replace(&mut self.no_greater, false);
        let result = inner(self);
        self.no_greater = outer;
        result
    }

    /// `a ? b : c`
    fn conditional(&mut self) -> Parsed<Expr> {
        let condition = self.binary(0)?;
        if !self.eat(TokenKind::Question) {
            return Ok(condition);
        }
        let mut height = self.height;
        let then_value = self.bracketed_expression()?;
        height = height.max(self.height);
        self.expect(TokenKind::Colon, "between the two values of `?`")?;
        let else_value = self.expression()?;
        self.grow(height.max(self.height))?;
        let span = condition.span.to(else_value.span);
        let (condition, then_value, else_value) = (Box::new(condition), Box::new(then_value), Box::new(else_value));
        Ok(Expr {
            kind: ExprKind::Ternary {
                condition,
                then_value,
                else_value,
            },
            span,
        })
    }

    fn binary(&mut self, minimum: u8) -> Parsed<Expr> {
        let first = self.unary()?;
        let mut height = self.height;
        let mut links = Vec::new();
        while let Some((op, level, length)) = self.binary_operator().filter(|(_, level, _)| *level >= minimum) {
            forebay_budget::check();
            self.next += length;
            let right = self.binary(level + 1)?;
            height = height.max(self.height);
            let span = first.span.to(right.span);
            links.push(Link { op, right, span });
        }
        let Some(last) = links.last() else { return Ok(first) };
        self.grow(height)?;
        Ok(Expr {
            span: last.span,
            kind: ExprKind::Binary {
                first: Box::new(first),
                links,
            },
        })
    }

    /// The operator that comes next, how tightly it binds, and the number of its tokens.
    fn binary_operator(&self) -> Option<(BinaryOp, u8, usize)> {
        let (op, level) = match self.peek() {
            TokenKind::OrOr => (BinaryOp::Or, 0),
            TokenKind::AndAnd => (BinaryOp::And, 1),
            TokenKind::EqualEqual => (BinaryOp::Eq, 2),
            TokenKind::NotEqual => (BinaryOp::Ne, 2),
            TokenKind::RightAngle if self.no_greater => return None,
            TokenKind::RightAngle if self.is_joined(TokenKind::RightAngle) => return Some((BinaryOp::Shr, 7, 2)),
            TokenKind::RightAngle if self.is_joined(TokenKind::GreaterEqual) => return None,
            TokenKind::RightAngle => (BinaryOp::Gt, 3),
            TokenKind::LeftAngle => (BinaryOp::Lt, 3),
            TokenKind::LessEqual => (BinaryOp::Le, 3),
            TokenKind::GreaterEqual => (BinaryOp::Ge, 3),
            TokenKind::Pipe => (BinaryOp::BitOr, 4),
            TokenKind::Caret => (BinaryOp::BitXor, 5),
            TokenKind::Ampersand => (BinaryOp::BitAnd, 6),
            TokenKind::ShiftLeft => (BinaryOp::Shl, 7),
            TokenKind::Plus => (BinaryOp::Add, 8),
            TokenKind::Minus => (BinaryOp::Sub, 8),
            TokenKind::SaturatingAdd => (BinaryOp::SatAdd, 8),
            TokenKind::SaturatingSub => (BinaryOp::SatSub, 8),
            TokenKind::PlusPlus => (BinaryOp::Concat, 8),
            TokenKind::Star => (BinaryOp::Mul, 9),
            TokenKind::Slash => (BinaryOp::Div, 9),
            TokenKind::Percent => (BinaryOp::Mod, 9),
            _ => return None,
        };
        Some((op, level, 1))
    }

    /// Whether the token after this one is of a kind and stands right after it.
    pub(super) fn is_joined(&self, kind: TokenKind) -> bool {
        let next = self.token_at(1);
        next.kind == kind && !next.spaced && !next.starts_line
    }

    fn unary(&mut self) -> Parsed<Expr> {
        let op = match self.peek() {
            TokenKind::Minus => UnaryOp::Negate,
            TokenKind::Plus => UnaryOp::Plus,
            TokenKind::Not => UnaryOp::Not,
            TokenKind::Tilde => UnaryOp::Complement,
            TokenKind::LeftParen if self.at_cast() => return self.nested(Self::cast),
            _ => return self.postfix(false),
        };
        let start = self.bump().span;
        let operand = self.nested(Self::unary)?;
        self.grow(self.height)?;
        let span = start.to(operand.span);
        Ok(Expr {
            kind: ExprKind::Unary {
                op,
                operand: Box::new(operand),
            },
            span,
        })
    }

    fn cast(&mut self) -> Parsed<Expr> {
        let open = self.bump().span;
        let ty = self.in_brackets(Self::type_reference)?;
        let type_height = self.height;
        self.expect_close(TokenKind::RightParen, open, "the type of the cast")?;
        let operand = self.unary()?;
        self.grow(type_height.max(self.height))?;
        let span = open.to(operand.span);
        Ok(Expr {
            kind: ExprKind::Cast {
                ty: Box::new(ty),
                operand: Box::new(operand),
            },
            span,
        })
    }

    /// Reads a primary expression and the members, indices and calls that follow it.
    pub(super) fn postfix(&mut self, in_statement: bool) -> Parsed<Expr> {
        self.height = 0;
        let mut base = self.primary()?;
        let inner = self.height;
        self.grow(inner)?;
        loop {
            let height = self.height;
            let start = base.span;
            let kind = match self.peek() {
                TokenKind::Dot => self.member(base)?,
                TokenKind::LeftBracket => self.index(base)?,
                TokenKind::LeftParen => self.call(base, Vec::new())?,
                TokenKind::LeftAngle if self.at_type_arguments(in_statement) => {
                    let type_args = self.in_brackets(Self::type_arguments)?;
                    self.call(base, type_args)?
                }
                _ => return Ok(base),
            };
            self.grow(height.max(self.height))?;
            base = Expr {
                kind,
                span: self.since(start),
            };
        }
    }

    fn member(&mut self, base: Expr) -> Parsed<ExprKind> {
        self.bump();
        if matches!(base.kind, ExprKind::Int(_)) && self.at(TokenKind::Integer) {
            let message = "P4 has no floating-point numbers";
            let error = Diagnostic::error(codes::INVALID_INTEGER, base.span.to(self.span()), message);
            return Err(self.report(error.hint("scale the value: count in tenths, or in fractions of a power of 2")));
        }
        let member = self.name("the name of a member")?;
        Ok(ExprKind::Member {
            base: Box::new(base),
            member,
        })
    }

    /// `[i]`, `[hi:lo]` or `[lo +: width]`
    fn index(&mut self, base: Expr) -> Parsed<ExprKind> {
        let open = self.bump().span;
        let base = Box::new(base);
        let first = Box::new(self.bracketed_expression()?);
        let height = self.height;
        let kind = match self.peek() {
            TokenKind::Colon => {
                self.bump();
                ExprKind::Slice {
                    base,
                    hi: first,
                    lo: Box::new(self.bracketed_expression()?),
                }
            }
            TokenKind::PlusColon => {
                self.bump();
                ExprKind::PlusSlice {
                    base,
                    lo: first,
                    width: Box::new(self.bracketed_expression()?),
                }
            }
            _ => ExprKind::Index { base, index: first },
        };
        self.height = height.max(self.height);
        self.expect_close(TokenKind::RightBracket, open, "the index")?;
        Ok(kind)
    }

    fn call(&mut self, callee: Expr, type_args: Vec<Type>) -> Parsed<ExprKind> {
        let type_height = self.height;
        let args = self.arguments()?;
        self.height = type_height.max(self.height);
        Ok(ExprKind::Call {
            callee: Box::new(callee),
            type_args,
            args,
        })
    }

    /// Reads `(a, name = b, _)`.
    pub(super) fn arguments(&mut self) -> Parsed<Vec<Arg>> {
        let open = self.expect(TokenKind::LeftParen, "before arguments")?.span;
        let mut highest = 0;
        let arguments = self.in_brackets(|parser| {
            parser.comma_list(TokenKind::RightParen, "an argument", |parser| {
                let argument = parser.argument()?;
                highest = highest.max(parser.height);
                Ok(argument)
            })
        })?;
        self.expect_close(TokenKind::RightParen, open, "the arguments")?;
        self.height = highest;
        Ok(arguments)
    }

    fn argument(&mut self) -> Parsed<Arg> {
        let start = self.span();
        let is_named = self.is_name_at(0) && self.peek_at(1) == TokenKind::Assign;
        let name = if is_named {
            let name = self.name("the name of a parameter")?;
            self.bump();
            Some(name)
        } else {
            None
        };
        if self.at(TokenKind::Comma) {
            let message = "an argument is missing before this comma";
            let error = Diagnostic::error(codes::EXPECTED_EXPRESSION, self.span(), message);
            return Err(self.report(error.hint("give one argument for each parameter, or take the comma out")));
        }
        let value = if self.at(TokenKind::Underscore) {
            let span = self.bump().span;
            self.height = 1;
            Expr {
                kind: ExprKind::DontCare,
                span,
            }
        } else {
            self.expression()?
        };
        Ok(Arg {
            name,
            value,
            span: self.since(start),
        })
    }

    fn primary(&mut self) -> Parsed<Expr> {
        let token = self.token();
        if self.reported_address() {
            return Ok(Expr {
                kind: ExprKind::Error,
                span: self.since(token.span),
            });
        }
        let kind = match token.kind {
            TokenKind::Integer => self.integer()?,
            TokenKind::StringLiteral => ExprKind::String(unescape(self.text(self.token()))),
            TokenKind::True => ExprKind::Bool(true),
            TokenKind::False => ExprKind::Bool(false),
            TokenKind::This => ExprKind::This,
            TokenKind::Invalid => ExprKind::InvalidHeader,
            TokenKind::Dots => ExprKind::Default,
            TokenKind::LeftParen => return self.parenthesised(),
            TokenKind::LeftBrace => return self.nested(Self::braces),
            TokenKind::Error if self.peek_at(1) == TokenKind::Dot => ExprKind::Type(Box::new(Type {
                kind: TypeKind::Error,
                span: token.span,
            })),
            _ if self.begins_named_type() => return self.type_in_expression(),
            TokenKind::Dot => return self.absolute_name(),
            _ if self.is_plain_name_at(0) => ExprKind::Name(Name {
                absolute: false,
                ident: self.ident_of(token),
            }),
            // Something that was reported already.
            TokenKind::Unknown => ExprKind::Error,
            _ => return Err(self.expected_expression()),
        };
        self.bump();
        Ok(Expr { kind, span: token.span })
    }

    fn expected_expression(&mut self) -> super::Reported {
        let diagnostic = self.unexpected_diagnostic(codes::EXPECTED_EXPRESSION, "an expression");
        let before = self.next.checked_sub(1).map(|index| self.input.tokens[index].kind);
        let hint = match self.peek() {
            TokenKind::RightAngle if before == Some(TokenKind::Minus) => "P4 has no `->`: write `.`",
            TokenKind::RightAngle if before == Some(TokenKind::LeftAngle) => "P4 has no `<>`: write `!=`",
            TokenKind::Underscore | TokenKind::Default => "`_` and `default` stand only in keysets and arguments",
            TokenKind::Assign => "to compare, write `==`",
            _ if self.begins_type(0) => "to convert a value to a type, write `(TYPE) value`",
            _ => return self.report(diagnostic),
        };
        self.report(diagnostic.hint(hint))
    }

    fn integer(&mut self) -> Parsed<ExprKind> {
        let token = self.token();
        let (code, message) = match parse_integer(self.text(token)) {
            Ok(literal) => return Ok(ExprKind::Int(literal)),
            Err(IntegerError::NoDigits) => (codes::INVALID_INTEGER, "this integer literal has no digits".to_string()),
            Err(IntegerError::InvalidDigit { digit, base }) => (
                codes::INVALID_INTEGER,
                format!("`{digit}` is not a digit in base {base}"),
            ),
            Err(IntegerError::WidthTooLarge) => (
                codes::INVALID_INTEGER,
                "the width of this integer literal is too large".to_string(),
            ),
            Err(IntegerError::TooLong) => (codes::LITERAL_TOO_LONG, "this integer literal is too long".to_string()),
        };
        let diagnostic = Diagnostic::error(code, token.span, message);
        let diagnostic = self.with_macro_note(diagnostic, token);
        self.report(diagnostic);
        Ok(ExprKind::Error)
    }

    fn parenthesised(&mut self) -> Parsed<Expr> {
        let open = self.bump().span;
        let inner = self.bracketed_expression()?;
        self.expect_close(TokenKind::RightParen, open, "the expression")?;
        Ok(Expr {
            span: self.since(open),
            ..inner
        })
    }

    fn absolute_name(&mut self) -> Parsed<Expr> {
        let start = self.bump().span;
        let ident = self.name("a name after `.`")?;
        let span = self.since(start);
        Ok(Expr {
            kind: ExprKind::Name(Name { absolute: true, ident }),
            span,
        })
    }

    fn begins_named_type(&self) -> bool {
        self.is_type_name_at(0) || self.is_absolute_type_at(0)
    }

    /// The name of a type in an expression: before a member or the arguments of a constructor.
    fn type_in_expression(&mut self) -> Parsed<Expr> {
        let token: Token = self.token();
        let ty = self.nested(|parser| {
            let start = parser.span();
            let absolute = parser.eat(TokenKind::Dot);
            let ident = parser.name("the name of a type")?;
            parser.height = 0;
            let args = if parser.at(TokenKind::LeftAngle) {
                parser.type_arguments()?
            } else {
                Vec::new()
            };
            parser.grow(parser.height)?;
            let kind = TypeKind::Named {
                name: Name { absolute, ident },
                args,
            };
            Ok(Type {
                kind,
                span: parser.since(start),
            })
        })?;
        if !matches!(self.peek(), TokenKind::Dot | TokenKind::LeftParen) {
            let message = format!("`{}` is a type, but a value is expected here", self.text(token));
            let diagnostic = Diagnostic::error(codes::EXPECTED_EXPRESSION, ty.span, message);
            let diagnostic = diagnostic.hint("a type can be followed by `.` and a member, or by constructor arguments");
            return Err(self.report(diagnostic));
        }
        let span = ty.span;
        Ok(Expr {
            kind: ExprKind::Type(Box::new(ty)),
            span,
        })
    }

    /// `{ a, b }`, `{ f = a, g = b }`, each possibly with `...` at its end.
    fn braces(&mut self) -> Parsed<Expr> {
        let open = self.bump().span;
        let is_struct = self.is_name_at(0) && self.peek_at(1) == TokenKind::Assign;
        let mut highest = 0;
        let mut has_default = false;
        let kind = self.in_brackets(|parser| {
            if is_struct {
                let fields = parser.comma_list(TokenKind::RightBrace, "the field's value", |parser| {
                    parser.list_element(&mut has_default, &mut highest, Self::key_value)
                })?;
                Ok(ExprKind::Struct {
                    fields: fields.into_iter().flatten().collect(),
                    has_default,
                })
            } else {
                let elements = parser.comma_list(TokenKind::RightBrace, "the element", |parser| {
                    parser.list_element(&mut has_default, &mut highest, Self::expression)
                })?;
                Ok(ExprKind::List {
                    elements: elements.into_iter().flatten().collect(),
                    has_default,
                })
            }
        })?;
        self.expect_close(TokenKind::RightBrace, open, "the list")?;
        self.height = highest;
        Ok(Expr {
            kind,
            span: self.since(open),
        })
    }

    /// An element of a list, or `...`, which must be the last.
    fn list_element<T>(
        &mut self,
        has_default: &mut bool,
        highest: &mut usize,
        element: impl FnOnce(&mut Self) -> Parsed<T>,
    ) -> Parsed<Option<T>> {
        if *has_default {
            let message = "`...` must be the last element";
            return Err(self.report(Diagnostic::error(codes::UNEXPECTED_TOKEN, self.span(), message)));
        }
        if self.at(TokenKind::Dots) {
            self.bump();
            *has_default = true;
            return Ok(None);
        }
        let element = element(self)?;
        *highest = (*highest).max(self.height);
        Ok(Some(element))
    }

    /// `name = expression`
    pub(super) fn key_value(&mut self) -> Parsed<(Ident, Expr)> {
        let name = self.name("the name of a field")?;
        self.expect(TokenKind::Assign, "after the name")?;
        Ok((name, self.expression()?))
    }

    /// Reports an expression that stands where only something else has a meaning.
    pub(super) fn report_expression(&mut self, span: Span, message: &str, hint: &str) -> super::Reported {
        self.report(Diagnostic::error(codes::NOT_ASSIGNABLE_SYNTAX, span, message).hint(hint))
    }
}
