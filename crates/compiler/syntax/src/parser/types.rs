//! Types (`typeRef`, `typeArg`, `typeParameters`).

use super::{Parsed, ProgramParser};
use crate::ast::{Expr, ExprKind, Ident, IntLiteral, Name, Type, TypeKind};
use crate::codes::source as codes;
use crate::diagnostic::Diagnostic;
use crate::library::included_architecture;
use crate::source::Span;
use crate::token::{Token, TokenKind};

/// What to do about a name that is not known to be a type.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum UnknownName {
    /// Report it.
    Report,
    /// Take it for a type: it may become one, as the result `T` of `T f<T>()`.
    Accept,
}

impl ProgramParser<'_> {
    /// Reads a type.
    pub(super) fn type_reference(&mut self) -> Parsed<Type> {
        self.type_with(UnknownName::Report)
    }

    /// Reads a type or `void`, as the result of a function.
    pub(super) fn result_type(&mut self) -> Parsed<Type> {
        if self.at(TokenKind::Void) {
            let span = self.bump().span;
            return Ok(Type {
                kind: TypeKind::Void,
                span,
            });
        }
        self.type_with(UnknownName::Accept)
    }

    fn type_with(&mut self, unknown: UnknownName) -> Parsed<Type> {
        self.nested(|parser| {
            let start = parser.span();
            parser.height = 0;
            let kind = parser.type_head(unknown)?;
            let inner = parser.height;
            parser.grow(inner)?;
            let ty = Type {
                kind,
                span: parser.since(start),
            };
            parser.array_suffixes(ty)
        })
    }

    /// Reads `[n]` as often as it follows a type.
    pub(super) fn array_suffixes(&mut self, mut ty: Type) -> Parsed<Type> {
        while self.at(TokenKind::LeftBracket) {
            let element_height = self.height;
            let open = self.bump().span;
            let size = self.bracketed_expression()?;
            self.expect_close(TokenKind::RightBracket, open, "the number of elements")?;
            self.grow(element_height.max(self.height))?;
            let span = self.since(ty.span);
            ty = Type {
                kind: TypeKind::Stack {
                    element: Box::new(ty),
                    size: Box::new(size),
                },
                span,
            };
        }
        Ok(ty)
    }

    fn type_head(&mut self, unknown: UnknownName) -> Parsed<TypeKind> {
        let token = self.token();
        match token.kind {
            TokenKind::Bool => self.simple_type(TypeKind::Bool),
            TokenKind::Error => self.simple_type(TypeKind::Error),
            TokenKind::MatchKind => self.simple_type(TypeKind::MatchKind),
            TokenKind::String => self.simple_type(TypeKind::String),
            TokenKind::Bit => Ok(TypeKind::Bit(self.width()?.unwrap_or_else(|| one(token.span)))),
            TokenKind::Int => Ok(self.width()?.map_or(TypeKind::Int, TypeKind::SignedInt)),
            TokenKind::Varbit => match self.width()? {
                Some(width) => Ok(TypeKind::Varbit(width)),
                None => Err(self.unexpected(codes::UNEXPECTED_TOKEN, "`<` and the largest width after `varbit`")),
            },
            TokenKind::Tuple => {
                self.bump();
                Ok(TypeKind::Tuple(self.type_arguments()?))
            }
            TokenKind::List if self.peek_at(1) == TokenKind::LeftAngle => self.list_type(),
            TokenKind::Identifier | TokenKind::Dot => self.named_type(unknown),
            _ => Err(self.expected_type()),
        }
    }

    fn expected_type(&mut self) -> super::Reported {
        let diagnostic = self.unexpected_diagnostic(codes::EXPECTED_TYPE, "a type");
        let options = [
            "bit<N>",
            "int<N>",
            "varbit<N>",
            "bool",
            "error",
            "string",
            "tuple<...>",
            "the name of a type",
        ];
        self.report(diagnostic.options(options))
    }

    fn simple_type(&mut self, kind: TypeKind) -> Parsed<TypeKind> {
        self.bump();
        Ok(kind)
    }

    /// Reads a keyword and the width in angle brackets that may follow it.
    fn width(&mut self) -> Parsed<Option<Box<Expr>>> {
        self.bump();
        if !self.at(TokenKind::LeftAngle) {
            return Ok(None);
        }
        let open = self.bump().span;
        let outer = std::mem::replace(&mut self.no_greater, true);
        let width = self.expression();
        self.no_greater = outer;
        let width = width?;
        self.expect_close(TokenKind::RightAngle, open, "the width")?;
        Ok(Some(Box::new(width)))
    }

    fn list_type(&mut self) -> Parsed<TypeKind> {
        let open = self.bump().span;
        let mut arguments = self.type_arguments()?;
        match (arguments.pop(), arguments.is_empty()) {
            (Some(element), true) => Ok(TypeKind::List(Box::new(element))),
            _ => {
                let message = "`list` has exactly one type argument";
                Err(self.report(Diagnostic::error(codes::EXPECTED_TYPE, self.since(open), message)))
            }
        }
    }

    /// Reads `N`, `.N`, `N<...>` or `.N<...>`.
    fn named_type(&mut self, unknown: UnknownName) -> Parsed<TypeKind> {
        let absolute = self.eat(TokenKind::Dot);
        let token = self.token();
        let ident = self.name("the name of a type")?;
        let known = if absolute {
            self.scopes.is_global_type(token.text)
        } else {
            self.scopes.is_type(token.text)
        };
        // The checker reports a value that stands in the place of a type.
        let is_value = !absolute && self.scopes.is_value(token.text);
        if !known && !is_value && unknown == UnknownName::Report {
            self.report_unknown_type(token);
        }
        let args = if self.at(TokenKind::LeftAngle) {
            self.type_arguments()?
        } else {
            Vec::new()
        };
        Ok(TypeKind::Named {
            name: Name { absolute, ident },
            args,
        })
    }

    /// Reports that a name is not a type; from then on it is taken for one.
    pub(super) fn report_unknown_type(&mut self, token: Token) {
        let name = self.text(token).to_string();
        let message = format!("the type `{name}` has not been declared");
        let types: Vec<&str> = self
            .scopes
            .types()
            .map(|symbol| self.input.interner.text(symbol))
            .collect();
        let architecture = included_architecture(|package| types.contains(&package));
        let mut diagnostic = Diagnostic::error(codes::UNKNOWN_TYPE_NAME, token.span, message)
            .did_you_mean(&name, types)
            .absent_here(&name, architecture);
        let later = self.later_type_declaration(token);
        if let Some(later) = later {
            let text = "it is declared here, but a type must be declared before it is used";
            diagnostic = diagnostic.declared_later(later, text);
        } else if let Some(number) = number_type(&name) {
            diagnostic = diagnostic.hint(format!("the type of such numbers is `{number}`"));
        }
        let diagnostic = self.with_macro_note(diagnostic, token);
        if !self.lost.contains(&token.text) {
            self.report(diagnostic);
        }
        self.scopes.declare_missing_type(token.text);
    }

    /// Where the rest of the program declares a type of this name.
    fn later_type_declaration(&self, name: Token) -> Option<Span> {
        use TokenKind::{
            Control, Enum, Extern, Header, HeaderUnion, Identifier, Package, Parser, Semicolon, Struct, Type, Typedef,
        };
        let rest = self.input.tokens.get(self.next..)?;
        let begins_typedef = |token: &Token| token.starts_line && matches!(token.kind, Typedef | Type);
        for (index, _) in rest.iter().enumerate().filter(|(_, token)| begins_typedef(token)) {
            let end = rest[index..].iter().position(|token| token.kind == Semicolon);
            let last = end.and_then(|length| rest.get(index + length - 1));
            if let Some(last) = last.filter(|last| last.kind == Identifier && last.text == name.text) {
                return Some(last.span);
            }
        }
        let declared = rest.windows(2).find(|pair| {
            let keyword = matches!(
                pair[0].kind,
                Control | Enum | Extern | Header | HeaderUnion | Package | Parser | Struct
            );
            keyword && pair[1].kind == Identifier && pair[1].text == name.text
        });
        declared.map(|pair| pair[1].span)
    }

    /// Reads `<T, ...>`. Every name may stand here, as may `void` and `_`.
    pub(super) fn type_arguments(&mut self) -> Parsed<Vec<Type>> {
        let open = self.expect(TokenKind::LeftAngle, "before type arguments")?.span;
        let mut highest = 0;
        let arguments = self.comma_list(TokenKind::RightAngle, "a type argument", |parser| {
            let argument = parser.type_argument()?;
            highest = highest.max(parser.height);
            Ok(argument)
        })?;
        self.expect_close(TokenKind::RightAngle, open, "the type arguments")?;
        self.height = highest;
        Ok(arguments)
    }

    fn type_argument(&mut self) -> Parsed<Type> {
        let token = self.token();
        let kind = match token.kind {
            TokenKind::Void => TypeKind::Void,
            TokenKind::Underscore => TypeKind::DontCare,
            _ if self.is_plain_name_at(0) && token.kind != TokenKind::Identifier => {
                let name = Name {
                    absolute: false,
                    ident: self.ident_of(token),
                };
                TypeKind::Named { name, args: Vec::new() }
            }
            _ => return self.type_with(UnknownName::Accept),
        };
        self.bump();
        self.height = 1;
        Ok(Type { kind, span: token.span })
    }

    /// Reads `<T, ...>` after the name of a declaration, if it is there; the names become types in the current scope.
    pub(super) fn type_parameters(&mut self) -> Parsed<Vec<Ident>> {
        if !self.at(TokenKind::LeftAngle) {
            return Ok(Vec::new());
        }
        let open = self.bump().span;
        let parameters = self.comma_list(TokenKind::RightAngle, "a type parameter", |parser| {
            parser.declared_type("the name of a type parameter")
        })?;
        self.expect_close(TokenKind::RightAngle, open, "the type parameters")?;
        Ok(parameters)
    }
}

/// The P4 type of what other languages call `uint32`, `u32`, `int8_t` or `byte`.
fn number_type(name: &str) -> Option<String> {
    if name == "byte" {
        return Some("bit<8>".to_string());
    }
    let name = name.strip_suffix("_t").unwrap_or(name);
    let prefixes = [("uint", "bit"), ("int", "int"), ("u", "bit"), ("i", "int")];
    let (digits, ty) = prefixes
        .iter()
        .find_map(|(prefix, ty)| Some((name.strip_prefix(prefix)?, ty)))?;
    let width: u32 = if digits.is_empty() { 32 } else { digits.parse().ok()? };
    (digits.is_empty() == (name == "uint")).then(|| format!("{ty}<{width}>"))
}

/// The width of `bit` without angle brackets.
fn one(span: Span) -> Box<Expr> {
    let literal = IntLiteral {
        value: 1.into(),
        width: None,
    };
    Box::new(Expr {
        kind: ExprKind::Int(literal),
        span,
    })
}
