//! Declarations at top level, and those that may also stand inside parsers, controls and blocks.

use super::{Inside, Parsed, ProgramParser, Reported, misspelt};
use crate::ast::{
    Action, Annotation, Constant, Declaration, DeclarationKind, Direction, Enum, Expr, ExternObject, Function,
    FunctionPrototype, Ident, Instantiation, Param, Program, Type, TypeKind, Typedef, TypedefTarget, Variable,
};
use crate::codes::source as codes;
use crate::diagnostic::Diagnostic;
use crate::token::TokenKind;

impl ProgramParser<'_> {
    /// Reads the whole program.
    pub(super) fn program(&mut self) -> Program {
        let mut declarations = Vec::new();
        while !self.at(TokenKind::EndOfFile) && !self.diagnostics.is_full() {
            let before = self.next;
            match self.top_level() {
                Ok(declaration) => declarations.extend(declaration),
                Err(Reported) => self.recover_at_top_level(before),
            }
        }
        Program {
            declarations,
            ..Program::default()
        }
    }

    fn recover_at_top_level(&mut self, before: usize) {
        self.recover(before);
        while self.next == before || self.at(TokenKind::RightBrace) {
            if self.at(TokenKind::EndOfFile) {
                return;
            }
            self.bump();
        }
    }

    /// Reads a declaration; none for a lone `;` or the announcement of an extern.
    fn top_level(&mut self) -> Parsed<Option<Declaration>> {
        if self.eat(TokenKind::Semicolon) {
            return Ok(None);
        }
        if self.skip_bare_directive() {
            return Ok(None);
        }
        let start = self.span();
        let annotations = self.annotations()?;
        self.mend_keyword(misspelt::TOP_LEVEL);
        let kind = self.top_level_kind(&annotations)?;
        Ok(kind.map(|kind| Declaration {
            annotations,
            kind,
            span: self.since(start),
        }))
    }

    fn top_level_kind(&mut self, annotations: &[Annotation]) -> Parsed<Option<DeclarationKind>> {
        let kind = match self.peek() {
            TokenKind::Const => self.constant()?,
            TokenKind::Extern => return self.extern_declaration(),
            TokenKind::Action => self.action()?,
            TokenKind::Parser => self.parser_declaration()?,
            TokenKind::Control => self.control_declaration()?,
            TokenKind::Package => self.package()?,
            TokenKind::Header | TokenKind::HeaderUnion | TokenKind::Struct => self.composite()?,
            TokenKind::Enum => self.enumeration()?,
            TokenKind::Typedef => self.typedef(false)?,
            TokenKind::Type => self.typedef(true)?,
            TokenKind::Error if self.peek_at(1) == TokenKind::LeftBrace => {
                self.bump();
                DeclarationKind::Error(self.identifiers("an error")?)
            }
            TokenKind::MatchKind if self.peek_at(1) == TokenKind::LeftBrace => {
                self.bump();
                DeclarationKind::MatchKind(self.identifiers("a match kind")?)
            }
            TokenKind::Table | TokenKind::State | TokenKind::ValueSet | TokenKind::Apply => {
                return Err(self.misplaced());
            }
            _ if self.at_function_or_instance() => self.function_or_instance()?,
            TokenKind::RightBrace => {
                let message = "this `}` closes nothing";
                return Err(self.report(Diagnostic::error(codes::UNCLOSED_DELIMITER, self.span(), message)));
            }
            _ => return Err(self.expected_declaration(annotations)),
        };
        Ok(Some(kind))
    }

    fn expected_declaration(&mut self, annotations: &[Annotation]) -> Reported {
        let expected = if annotations.is_empty() {
            "a declaration"
        } else {
            "a declaration after the annotation"
        };
        let diagnostic = self.unexpected_diagnostic(codes::EXPECTED_DECLARATION, expected);
        let options = [
            "const",
            "typedef",
            "type",
            "header",
            "header_union",
            "struct",
            "enum",
            "error",
            "match_kind",
            "extern",
            "parser",
            "control",
            "package",
            "action",
            "a function",
            "an instantiation",
        ];
        let word = self.token();
        let diagnostic = diagnostic.options(options);
        let text = self.text(word).to_string();
        let diagnostic = if word.kind == TokenKind::Identifier {
            diagnostic.did_you_mean(&text, options.into_iter().take(14))
        } else {
            diagnostic
        };
        self.report(diagnostic)
    }

    /// Reports a declaration of a kind that belongs somewhere else.
    pub(super) fn misplaced(&mut self) -> Reported {
        let token = self.token();
        let (what, place) = match token.kind {
            TokenKind::Table => ("a table", "in a control, before its apply block"),
            TokenKind::State => ("a state", "in a parser, after its local declarations"),
            TokenKind::ValueSet => ("a value set", "in a parser, before its states"),
            TokenKind::Action => ("an action", "at top level, or in a control before its apply block"),
            TokenKind::Apply => ("an apply block", "in a control, after its local declarations"),
            _ => ("this declaration", "at top level"),
        };
        let message = format!("{what} cannot be declared here");
        let diagnostic = Diagnostic::error(codes::MISPLACED_DECLARATION, token.span, message);
        self.report(
            self.with_macro_note(diagnostic, token)
                .hint(format!("{what} stands {place}")),
        )
    }

    /// `const T n = e;`
    pub(super) fn constant(&mut self) -> Parsed<DeclarationKind> {
        self.bump();
        self.require_type_before_name(TokenKind::Assign, "the constant")?;
        let base = self.type_reference()?;
        let (ty, name) = self.declarator(base, "the name of a constant")?;
        if !self.at(TokenKind::Assign) {
            return Err(self.unexpected(codes::UNEXPECTED_TOKEN, "`=` and the value of the constant"));
        }
        let value = self.initializer()?;
        self.expect_semicolon("the constant")?;
        Ok(DeclarationKind::Constant(Constant { ty, name, value }))
    }

    fn initializer(&mut self) -> Parsed<Expr> {
        self.bump();
        self.expression()
    }

    /// Reads a name with `[n]` after it, which declares an array as in C.
    fn declarator(&mut self, base: Type, what: &str) -> Parsed<(Type, Ident)> {
        let height = self.height;
        let name = self.declared_value(what)?;
        self.height = height;
        Ok((self.array_suffixes(base)?, name))
    }

    // ---- Functions, instances, variables

    /// Whether a type and a name, or an instantiation, may begin here.
    fn at_function_or_instance(&self) -> bool {
        if self.at(TokenKind::Void) || self.begins_type(0) {
            return true;
        }
        self.peek() == TokenKind::Identifier
            && (self.is_name_at(1) || matches!(self.peek_at(1), TokenKind::LeftParen | TokenKind::LeftAngle))
    }

    /// `T f(..) {..}`, `T(..) name;`, and, to say that it is wrong, `T name;`.
    pub(super) fn function_or_instance(&mut self) -> Parsed<DeclarationKind> {
        let first = self.token();
        let result = self.result_type()?;
        if self.at(TokenKind::LeftParen) {
            if first.kind == TokenKind::Identifier && !self.scopes.is_type(first.text) {
                self.report_unknown_type(first);
            }
            return self.instantiation(result);
        }
        let is_function = self.is_name_at(0) && matches!(self.peek_at(1), TokenKind::LeftParen | TokenKind::LeftAngle);
        if !is_function {
            let name = self.name("the name of a function or of an instance")?;
            let message = format!("the variable `{}` cannot be declared at top level", name.name);
            let diagnostic = Diagnostic::error(codes::MISPLACED_DECLARATION, name.span, message);
            return Err(self.report(diagnostic.hint("use `const`, or declare it in a parser, control or action")));
        }
        self.function(result)
    }

    fn function(&mut self, result: Type) -> Parsed<DeclarationKind> {
        self.scopes_for_prototype(result, |parser, prototype| {
            parser.no_assign_before_brace();
            if !parser.at(TokenKind::LeftBrace) {
                return Err(parser.unexpected(codes::UNEXPECTED_TOKEN, "`{` and the body of the function"));
            }
            let body = parser.block(Vec::new())?;
            Ok(DeclarationKind::Function(Function { prototype, body }))
        })
    }

    /// Reads a prototype after its result type, declares its name, and reads on with its parameters in scope.
    pub(super) fn scopes_for_prototype<T>(
        &mut self,
        result: Type,
        rest: impl FnOnce(&mut Self, FunctionPrototype) -> Parsed<T>,
    ) -> Parsed<T> {
        let name = self.declared_value("the name of a function")?;
        self.scoped(|parser| {
            let type_params = parser.type_parameters()?;
            parser.check_result_type(&result, &type_params);
            let params = parser.parameters()?;
            rest(
                parser,
                FunctionPrototype {
                    result: Some(result),
                    name,
                    type_params,
                    params,
                },
            )
        })
    }

    /// A result type may be a type parameter that is declared only after it; any other name must be a type.
    fn check_result_type(&mut self, result: &Type, type_params: &[Ident]) {
        let TypeKind::Named { name, .. } = &result.kind else {
            return;
        };
        if name.absolute || type_params.iter().any(|parameter| parameter.name == name.ident.name) {
            return;
        }
        let place = self.input.tokens[..self.next]
            .iter()
            .rposition(|token| token.span == name.ident.span);
        let token = place.map(|index| self.input.tokens[index]);
        if let Some(token) = token.filter(|token| !self.scopes.is_type(token.text)) {
            self.report_unknown_type(token);
        }
    }

    /// `T(args) name;` or `T(args) name = { .. };` after the type.
    fn instantiation(&mut self, ty: Type) -> Parsed<DeclarationKind> {
        let args = self.arguments()?;
        self.height = 1;
        let (ty, name) = self.declarator(ty, "the name of an instance")?;
        let initializer = if self.eat(TokenKind::Assign) {
            Some(self.scoped(|parser| parser.braced("the implementations", Self::object_declaration))?)
        } else {
            None
        };
        self.expect_semicolon("the instantiation")?;
        Ok(DeclarationKind::Instantiation(Instantiation {
            ty,
            args,
            name,
            initializer,
        }))
    }

    /// A function or instance between the braces of an instantiation.
    fn object_declaration(&mut self) -> Parsed<Declaration> {
        let start = self.span();
        let annotations = self.annotations()?;
        let kind = self.nested(Self::function_or_instance)?;
        Ok(Declaration {
            annotations,
            kind,
            span: self.since(start),
        })
    }

    /// `T v;`, `T v = e;` or `T(args) v;`
    pub(super) fn variable_or_instance(&mut self) -> Parsed<DeclarationKind> {
        let ty = self.type_reference()?;
        if self.at(TokenKind::LeftParen) {
            return self.instantiation(ty);
        }
        let variable = self.variable(ty)?;
        self.expect_semicolon("the variable")?;
        Ok(variable)
    }

    /// A variable after its type, without the `;`.
    pub(super) fn variable(&mut self, ty: Type) -> Parsed<DeclarationKind> {
        let (ty, name) = self.declarator(ty, "the name of a variable")?;
        if self.at(TokenKind::LeftBrace)
            && let Some(hint) = object_of_p4_14(&ty, &name)
        {
            let diagnostic = self.unexpected_diagnostic(codes::MISSING_SEMICOLON, "`;` after the variable");
            return Err(self.report(diagnostic.hint(hint)));
        }
        if self.at(TokenKind::LeftParen) {
            let diagnostic = self.unexpected_diagnostic(codes::MISSING_SEMICOLON, "`;` after the variable");
            let hint = format!(
                "the arguments of an instance stand before its name: `TYPE(...) {};`",
                name.name
            );
            return Err(self.report(diagnostic.hint(hint)));
        }
        let value = if self.at(TokenKind::Assign) {
            Some(self.initializer()?)
        } else {
            None
        };
        Ok(DeclarationKind::Variable(Variable { ty, name, value }))
    }

    /// Reports a name that stands alone where a type and a name must stand; `end` is the token after it.
    pub(super) fn require_type_before_name(&mut self, end: TokenKind, what: &str) -> Parsed<()> {
        let token = self.token();
        if token.kind != TokenKind::Identifier || self.peek_at(1) != end || self.scopes.is_type(token.text) {
            return Ok(());
        }
        let name = self.text(token);
        let message = format!("{what} `{name}` has no type");
        let hint = format!("write the type before the name, as in `bit<8> {name}`");
        self.scopes.declare_value(token.text);
        Err(self.report(Diagnostic::error(codes::EXPECTED_TYPE, token.span, message).hint(hint)))
    }

    // ---- Parameters

    /// Reads `(parameters)` and declares their names in the current scope.
    pub(super) fn parameters(&mut self) -> Parsed<Vec<Param>> {
        let open = self.expect(TokenKind::LeftParen, "before the parameters")?.span;
        let parameters = self.comma_list(TokenKind::RightParen, "a parameter", |parser| {
            let parameter = parser.parameter()?;
            parser.read_semicolon_as_comma();
            Ok(parameter)
        })?;
        self.expect_close(TokenKind::RightParen, open, "the parameters")?;
        Ok(parameters)
    }

    /// Reports `;` between two parameters, and lets it be read as a comma.
    fn read_semicolon_as_comma(&mut self) {
        let is_between = self.at(TokenKind::Semicolon)
            && (matches!(self.peek_at(1), TokenKind::In | TokenKind::Out | TokenKind::InOut) || self.begins_type(1));
        if is_between {
            let message = "parameters are separated by `,`, not by `;`";
            self.report(Diagnostic::error(codes::UNEXPECTED_TOKEN, self.span(), message));
            self.reread = Some((self.next, TokenKind::Comma));
        }
    }

    fn parameter(&mut self) -> Parsed<Param> {
        let start = self.span();
        let annotations = self.annotations()?;
        let direction = match self.peek() {
            TokenKind::In => Direction::In,
            TokenKind::Out => Direction::Out,
            TokenKind::InOut => Direction::InOut,
            _ => Direction::None,
        };
        if direction != Direction::None {
            self.bump();
        }
        self.require_type_before_name(TokenKind::Comma, "the parameter")?;
        self.require_type_before_name(TokenKind::RightParen, "the parameter")?;
        let base = self.type_reference()?;
        let (ty, name) = self.declarator(base, "the name of a parameter")?;
        let default = if self.at(TokenKind::Assign) {
            Some(self.initializer()?)
        } else {
            None
        };
        Ok(Param {
            annotations,
            direction,
            ty,
            name,
            default,
            span: self.since(start),
        })
    }

    /// `action a(..) {..}`
    pub(super) fn action(&mut self) -> Parsed<DeclarationKind> {
        self.bump();
        let name = self.name("the name of an action")?;
        self.scoped(|parser| {
            let params = parser.parameters()?;
            parser.no_assign_before_brace();
            if !matches!(parser.peek(), TokenKind::LeftBrace | TokenKind::At) {
                let reported = parser.unexpected(codes::UNEXPECTED_TOKEN, "`{` and the body of the action");
                if !parser.is_brace_missing() {
                    return Err(reported);
                }
            }
            let annotations = parser.annotations()?;
            let body = parser.within(Inside::Action, |parser| parser.block(annotations))?;
            Ok(DeclarationKind::Action(Action { name, params, body }))
        })
    }

    // ---- Types

    /// `typedef T n;` or `type T n;`
    fn typedef(&mut self, is_new: bool) -> Parsed<DeclarationKind> {
        self.bump();
        let start = self.span();
        let annotations = self.annotations()?;
        let derived = match self.peek() {
            _ if is_new => None,
            TokenKind::Header | TokenKind::HeaderUnion | TokenKind::Struct => Some(self.composite()?),
            TokenKind::Enum => Some(self.enumeration()?),
            _ => None,
        };
        let target = match derived {
            Some(kind) => {
                let declaration = Declaration {
                    annotations,
                    kind,
                    span: self.since(start),
                };
                TypedefTarget::Declaration(Box::new(declaration))
            }
            None => {
                self.require_type_first()?;
                TypedefTarget::Type(self.type_reference()?)
            }
        };
        let height = self.height;
        let name = self.declared_type("the name of a type")?;
        self.height = height;
        let ty = match target {
            TypedefTarget::Type(ty) => TypedefTarget::Type(self.array_suffixes(ty)?),
            declaration => declaration,
        };
        self.expect_semicolon("the type")?;
        Ok(DeclarationKind::Typedef(Typedef { is_new, ty, name }))
    }

    /// Reports a new name that stands before its type.
    fn require_type_first(&mut self) -> Parsed<()> {
        let name = self.token();
        let after_sign = 1 + usize::from(self.peek_at(1) == TokenKind::Assign);
        if name.kind != TokenKind::Identifier || self.scopes.is_type(name.text) || !self.begins_type(after_sign) {
            return Ok(());
        }
        self.scopes.declare_missing_type(name.text);
        let message = format!("the new name `{}` stands before its type", self.text(name));
        let hint = format!("write the name last: `typedef TYPE {};`", self.text(name));
        Err(self.report(Diagnostic::error(codes::EXPECTED_TYPE, name.span, message).hint(hint)))
    }

    /// `enum E { A, B }` or `enum T E { A = 1 }`
    fn enumeration(&mut self) -> Parsed<DeclarationKind> {
        self.bump();
        let is_plain = self.is_name_at(0) && self.peek_at(1) == TokenKind::LeftBrace;
        let representation = if is_plain { None } else { Some(self.type_reference()?) };
        let name = self.declared_type("the name of an enum")?;
        let has_values = self.is_name_at(1) && self.peek_at(2) == TokenKind::Assign;
        if representation.is_none() && has_values {
            self.report_values_without_type(&name);
        }
        let mut members = if representation.is_some() || has_values {
            let open = self.expect(TokenKind::LeftBrace, "before the members")?.span;
            let members = self.comma_list(TokenKind::RightBrace, "a member", |parser| {
                let name = parser.name("the name of a member")?;
                if !parser.at(TokenKind::Assign) {
                    return Err(parser.member_without_value(&name));
                }
                Ok((name, Some(parser.initializer()?)))
            })?;
            self.expect_close(TokenKind::RightBrace, open, "the members")?;
            members
        } else {
            self.identifiers("a member")?
                .into_iter()
                .map(|name| (name, None))
                .collect()
        };
        if representation.is_none() {
            members.iter_mut().for_each(|(_, value)| *value = None);
        }
        Ok(DeclarationKind::Enum(Enum {
            name,
            representation,
            members,
        }))
    }

    fn report_values_without_type(&mut self, name: &Ident) {
        let message = "the members of an enum without an underlying type have no values";
        let place = self.token_at(2).span;
        let diagnostic = Diagnostic::error(codes::UNEXPECTED_TOKEN, place, message);
        self.report(diagnostic.hint(format!("give the enum a type: `enum bit<8> {} {{ ... }}`", name.name)));
    }

    fn member_without_value(&mut self, name: &Ident) -> Reported {
        let message = format!("the member `{}` has no value", name.name);
        let hint = format!(
            "each member of an enum with an underlying type has one: `{} = 0`",
            name.name
        );
        self.report(Diagnostic::error(codes::UNEXPECTED_TOKEN, name.span, message).hint(hint))
    }

    // ---- Externs

    /// `extern E {..}`, `extern T f(..);`, or `extern E;`, which only announces a type.
    fn extern_declaration(&mut self) -> Parsed<Option<DeclarationKind>> {
        self.bump();
        let after_parameters = match self.peek_at(1) {
            TokenKind::LeftAngle => self.after_angles(1),
            _ => Some(1),
        };
        let next = after_parameters.map(|end| self.peek_at(end));
        match next {
            Some(TokenKind::LeftBrace) if self.is_name_at(0) => self.extern_object().map(Some),
            Some(TokenKind::Semicolon) if self.is_name_at(0) => {
                self.declared_type("the name of an extern")?;
                self.expect_semicolon("the extern")?;
                Ok(None)
            }
            _ => self.extern_function().map(Some),
        }
    }

    fn extern_function(&mut self) -> Parsed<DeclarationKind> {
        let result = self.result_type()?;
        self.scopes_for_prototype(result, |parser, prototype| {
            parser.expect_semicolon("the extern function")?;
            Ok(DeclarationKind::ExternFunction(prototype))
        })
    }

    fn extern_object(&mut self) -> Parsed<DeclarationKind> {
        let name = self.declared_type("the name of an extern")?;
        self.scoped(|parser| {
            let type_params = parser.type_parameters()?;
            let methods = parser.braced("the methods", |parser| parser.method(&name.name))?;
            Ok(DeclarationKind::ExternObject(ExternObject {
                name,
                type_params,
                methods,
            }))
        })
    }
}

/// How an object that is written as in P4_14, with its properties in braces, is written in P4_16.
fn object_of_p4_14(ty: &Type, name: &Ident) -> Option<String> {
    let TypeKind::Named { name: of_type, .. } = &ty.kind else {
        return None;
    };
    let instance = match of_type.ident.name.as_str() {
        "register" => "register<bit<32>>(SIZE)",
        "counter" => "counter(SIZE, CounterType.packets)",
        "meter" => "meter(SIZE, MeterType.packets)",
        _ => return None,
    };
    Some(format!("in P4_16 it is an instance: `{instance} {};`", name.name))
}
