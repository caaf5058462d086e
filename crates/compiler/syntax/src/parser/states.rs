//! The bodies of parsers: local declarations, value sets, states, transitions.

use super::{Inside, Parsed, ProgramParser, Reported, misspelt};
use crate::ast::{
    Declaration, DeclarationKind, Ident, ParserBody, ParserState, Select, SelectCase, Statement, StatementKind,
    Transition, ValueSet,
};
use crate::codes::source as codes;
use crate::diagnostic::Diagnostic;
use crate::source::Span;
use crate::token::TokenKind;

/// A member of a parser's body.
enum ParserElement {
    Local(Declaration),
    State(ParserState),
}

impl ProgramParser<'_> {
    pub(super) fn parser_body(&mut self, name: Span) -> Parsed<ParserBody> {
        self.no_assign_before_brace();
        if !self.at(TokenKind::LeftBrace) {
            let reported = self.unexpected(codes::UNEXPECTED_TOKEN, "`{` and the body of the parser, or `;`");
            if !self.is_brace_missing() {
                return Err(reported);
            }
        }
        let errors_before = self.diagnostics.error_count();
        let mut has_states = false;
        let elements = self.braced("the body of the parser", |parser| {
            let element = parser.parser_element(has_states)?;
            has_states |= matches!(element, ParserElement::State(_));
            Ok(element)
        })?;
        let mut body = ParserBody {
            locals: Vec::new(),
            states: Vec::new(),
        };
        for element in elements {
            match element {
                ParserElement::Local(local) => body.locals.push(local),
                ParserElement::State(state) => body.states.push(state),
            }
        }
        if body.states.is_empty() && self.diagnostics.error_count() == errors_before {
            let diagnostic = Diagnostic::error(codes::PARSER_WITHOUT_STATES, name, "this parser has no states");
            self.report(diagnostic.hint("add `state start { transition accept; }`"));
        }
        Ok(body)
    }

    fn parser_element(&mut self, after_states: bool) -> Parsed<ParserElement> {
        let start = self.span();
        let annotations = self.annotations()?;
        self.mend_keyword(misspelt::IN_PARSER);
        if self.at(TokenKind::State) && self.is_name_at(1) {
            return self.state(start, annotations).map(ParserElement::State);
        }
        let place = self.span();
        let kind = match self.peek() {
            TokenKind::Const => self.constant()?,
            TokenKind::ValueSet => self.value_set()?,
            TokenKind::Table | TokenKind::Action | TokenKind::Apply => return Err(self.misplaced()),
            _ if self.at_local_declaration() || self.at_unknown_instance() => self.variable_or_instance()?,
            _ => {
                let expected = "a state or a declaration";
                let diagnostic = self.unexpected_diagnostic(codes::UNEXPECTED_TOKEN, expected);
                let options = ["state", "value_set", "const", "a variable", "an instance"];
                let is_state = self.is_name_at(0) && self.peek_at(1) == TokenKind::LeftBrace;
                let diagnostic = match self.text(self.token()) {
                    name if is_state => diagnostic.hint(format!("a state begins with its keyword: `state {name} {{`")),
                    _ => diagnostic,
                };
                return Err(self.report(diagnostic.options(options)));
            }
        };
        if after_states {
            let message = "local declarations stand before the states of a parser";
            self.report(Diagnostic::error(codes::MISPLACED_DECLARATION, place, message));
        }
        Ok(ParserElement::Local(Declaration {
            annotations,
            kind,
            span: self.since(start),
        }))
    }

    /// `value_set<T>(size) name;`
    fn value_set(&mut self) -> Parsed<DeclarationKind> {
        let open = self.bump().span;
        let mut types = self.type_arguments()?;
        let (Some(ty), true) = (types.pop(), types.is_empty()) else {
            let message = "`value_set` has exactly one type argument";
            return Err(self.report(Diagnostic::error(codes::EXPECTED_TYPE, self.since(open), message)));
        };
        let open = self.expect(TokenKind::LeftParen, "before the size")?.span;
        let size = self.expression()?;
        self.expect_close(TokenKind::RightParen, open, "the size")?;
        let name = self.declared_value("the name of a value set")?;
        self.expect_semicolon("the value set")?;
        Ok(DeclarationKind::ValueSet(ValueSet { ty, size, name }))
    }

    fn state(&mut self, start: Span, annotations: Vec<crate::ast::Annotation>) -> Parsed<ParserState> {
        self.bump();
        let name = self.name("the name of a state")?;
        let open = self.open_brace("before the body of the state")?;
        let (statements, transition) = self.within(Inside::State, |parser| parser.scoped(Self::state_body));
        let _ = self.expect_close(TokenKind::RightBrace, open, "the body of the state");
        Ok(ParserState {
            annotations,
            name,
            statements,
            transition,
            span: self.since(start),
        })
    }

    fn state_body(&mut self) -> (Vec<Statement>, Option<Transition>) {
        let mut statements = Vec::new();
        let mut transition = None;
        while !self.at_end_of_list() {
            let before = self.next;
            self.mend_keyword(misspelt::TRANSITION);
            let read = match self.peek() {
                TokenKind::Transition => self.transition().map(|read| {
                    transition.get_or_insert(read);
                }),
                _ if transition.is_some() => Err(self.report_after_transition()),
                _ => self.state_statement().map(|statement| statements.push(statement)),
            };
            if let Err(Reported) = read {
                self.recover(before);
            }
        }
        (statements, transition)
    }

    fn report_after_transition(&mut self) -> Reported {
        let message = "no statement can follow the transition of a state";
        self.report(Diagnostic::error(
            codes::STATEMENT_AFTER_TRANSITION,
            self.span(),
            message,
        ))
    }

    /// A statement of a state: fewer kinds are allowed than in a control.
    fn state_statement(&mut self) -> Parsed<Statement> {
        let statement = self.statement()?;
        let name = match statement.kind {
            StatementKind::Switch { .. } => "switch",
            StatementKind::Return(_) => "return",
            StatementKind::Exit => "exit",
            StatementKind::Break => "break",
            StatementKind::Continue => "continue",
            StatementKind::For { .. } | StatementKind::ForIn { .. } => "for",
            _ => return Ok(statement),
        };
        let message = format!("`{name}` cannot stand in a state of a parser");
        let diagnostic = Diagnostic::error(codes::EXPECTED_STATEMENT, statement.span, message);
        self.report(diagnostic.hint("branch and loop with `transition`"));
        Ok(statement)
    }

    fn transition(&mut self) -> Parsed<Transition> {
        self.bump();
        if self.at(TokenKind::Select) {
            return self.select().map(Transition::Select);
        }
        let state = self.target("the name of a state or `select`")?;
        self.expect_semicolon("the transition")?;
        Ok(Transition::Direct(state))
    }

    /// The name of the next state. Parentheses after it are reported, and skipped.
    fn target(&mut self, what: &str) -> Parsed<Ident> {
        let state = self.name(what)?;
        if self.at(TokenKind::LeftParen) && self.peek_at(1) == TokenKind::RightParen {
            let message = "a state is not called: its name stands alone";
            let diagnostic = Diagnostic::error(codes::UNEXPECTED_TOKEN, self.span(), message);
            self.report(diagnostic.hint(format!("write `{};`", state.name)));
            self.next += 2;
        }
        Ok(state)
    }

    fn select(&mut self) -> Parsed<Select> {
        let start = self.bump().span;
        if self.at(TokenKind::LeftBrace) {
            let diagnostic = self.unexpected_diagnostic(codes::UNEXPECTED_TOKEN, "`(` after `select`");
            let hint = "name what is selected on: `select (EXPRESSION) { ... }`";
            return Err(self.report(diagnostic.hint(hint)));
        }
        let open = self.expect(TokenKind::LeftParen, "after `select`")?.span;
        let keys = self.comma_list(TokenKind::RightParen, "the expression", Self::expression)?;
        self.expect_close(TokenKind::RightParen, open, "the expressions")?;
        let cases = self.braced("the cases", Self::select_case)?;
        Ok(Select {
            keys,
            cases,
            span: self.since(start),
        })
    }

    fn select_case(&mut self) -> Parsed<SelectCase> {
        self.skip_case();
        let start = self.span();
        let keyset = self.keyset()?;
        self.colon_after_keyset("after the keyset")?;
        let state = self.target("the name of a state")?;
        self.expect_semicolon("the case")?;
        Ok(SelectCase {
            keyset,
            state,
            span: self.since(start),
        })
    }
}
