//! What stands between the braces of composites, errors and extern objects.

use super::{Parsed, ProgramParser, Reported};
use crate::ast::{Composite, CompositeKind, DeclarationKind, Field, FunctionPrototype, Ident, Method};
use crate::codes::source as codes;
use crate::diagnostic::Diagnostic;
use crate::source::Span;
use crate::token::TokenKind;

impl ProgramParser<'_> {
    /// `struct S<..> { fields }`, `header`, `header_union`
    pub(super) fn composite(&mut self) -> Parsed<DeclarationKind> {
        let kind = match self.bump().kind {
            TokenKind::Header => CompositeKind::Header,
            TokenKind::HeaderUnion => CompositeKind::HeaderUnion,
            _ => CompositeKind::Struct,
        };
        let name = self.declared_type("the name of a type")?;
        self.scoped(|parser| {
            let type_params = parser.type_parameters()?;
            let errors_before = parser.diagnostics.error_count();
            let fields = parser.braced("the fields", Self::field)?;
            if parser.diagnostics.error_count() > errors_before {
                parser.incomplete.insert(name.name.clone());
            }
            Ok(DeclarationKind::Composite(Composite {
                kind,
                name,
                type_params,
                fields,
            }))
        })
    }

    fn field(&mut self) -> Parsed<Field> {
        let annotations = self.annotations()?;
        self.require_type_before_name(TokenKind::Semicolon, "the field")?;
        let ty = self.type_reference()?;
        let height = self.height;
        if self.at(TokenKind::Semicolon) {
            return Err(self.field_without_name(ty.span));
        }
        let name = self.field_name()?;
        self.height = height;
        let ty = self.array_suffixes(ty)?;
        self.skip_initial_value()?;
        self.expect_semicolon("the field")?;
        Ok(Field { annotations, ty, name })
    }

    /// Reports the value that variables may have, and fields have not.
    fn skip_initial_value(&mut self) -> Parsed<()> {
        if self.at(TokenKind::Assign) {
            let diagnostic = Diagnostic::error(codes::UNEXPECTED_TOKEN, self.span(), "a field has no initial value");
            self.report(diagnostic.hint("assign it where the program has a variable or parameter of the type"));
            self.bump();
            self.expression()?;
        }
        Ok(())
    }

    fn field_without_name(&mut self, ty: Span) -> Reported {
        let diagnostic = Diagnostic::error(codes::EXPECTED_NAME, ty, "this field has no name");
        self.report(diagnostic.hint("write a name after the type, as in `bit<8> ttl;`"))
    }

    /// The name of a field. A keyword is reported and taken for the name, so that the other fields are read.
    fn field_name(&mut self) -> Parsed<Ident> {
        let token = self.token();
        let is_name = self.is_name_at(0);
        match self.name("the name of a field") {
            Err(_) if !is_name && token.kind.is_keyword() && self.peek_at(1) == TokenKind::Semicolon => {
                self.bump();
                Ok(self.ident_of(token))
            }
            read => read,
        }
    }

    /// `{ A, B, C }`
    pub(super) fn identifiers(&mut self, what: &str) -> Parsed<Vec<Ident>> {
        let open = self.expect(TokenKind::LeftBrace, "before the names")?.span;
        let name = format!("the name of {what}");
        let first = self.name(&name)?;
        let mut names = vec![first];
        if self.eat(TokenKind::Comma) {
            names.extend(self.comma_list(TokenKind::RightBrace, what, |parser| parser.name(&name))?);
        }
        self.expect_close(TokenKind::RightBrace, open, what)?;
        Ok(names)
    }

    /// A method, abstract method or constructor of the extern object called `object`.
    pub(super) fn method(&mut self, object: &str) -> Parsed<Method> {
        let start = self.span();
        let annotations = self.annotations()?;
        let is_abstract = self.eat(TokenKind::Abstract);
        let is_constructor = self.peek_at(1) == TokenKind::LeftParen && self.text(self.token()) == object;
        let prototype = if is_constructor {
            self.constructor()?
        } else {
            self.method_prototype(object)?
        };
        Ok(Method {
            annotations,
            is_abstract,
            prototype,
            span: self.since(start),
        })
    }

    fn constructor(&mut self) -> Parsed<FunctionPrototype> {
        let name = self.name("the name of the constructor")?;
        let params = self.scoped(Self::parameters)?;
        self.expect_semicolon("the constructor")?;
        Ok(FunctionPrototype {
            result: None,
            name,
            type_params: Vec::new(),
            params,
        })
    }

    fn method_prototype(&mut self, object: &str) -> Parsed<FunctionPrototype> {
        let result = self.result_type()?;
        if self.at(TokenKind::LeftParen) {
            let diagnostic = Diagnostic::error(
                codes::EXPECTED_NAME,
                result.span,
                "a method needs a result type and a name",
            );
            let hint = format!("a constructor is called `{object}`, as its extern, and has no type parameters");
            return Err(self.report(diagnostic.hint(hint)));
        }
        self.scopes_for_prototype(result, |parser, prototype| {
            parser.expect_semicolon("the method")?;
            Ok(prototype)
        })
    }
}
