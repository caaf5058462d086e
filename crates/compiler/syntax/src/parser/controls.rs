//! Declarations of parsers, controls and packages, and the bodies of controls.

use super::{Parsed, ProgramParser, Reported, misspelt};
use crate::ast::{
    Annotation, Block, Control, ControlBody, Declaration, DeclarationKind, Ident, Package, Param, Parser,
};
use crate::codes::source as codes;
use crate::diagnostic::Diagnostic;
use crate::source::Span;
use crate::token::TokenKind;

/// What the declarations of parsers and controls share.
struct BlockDeclaration<Body> {
    name: Ident,
    type_params: Vec<Ident>,
    params: Vec<Param>,
    constructor_params: Vec<Param>,
    /// None for a type.
    body: Option<Body>,
}

impl ProgramParser<'_> {
    /// Declares the name after the current keyword as a type, so that its own declaration can mention it.
    fn declare_next_as_type(&mut self) {
        let name = self.token_at(1);
        self.scopes.declare_type(name.text);
    }

    fn constructor_parameters(&mut self) -> Parsed<Vec<Param>> {
        if self.at(TokenKind::LeftParen) {
            self.parameters()
        } else {
            Ok(Vec::new())
        }
    }

    pub(super) fn parser_declaration(&mut self) -> Parsed<DeclarationKind> {
        let declared = self.block_declaration("the name of a parser", Self::parser_body)?;
        Ok(DeclarationKind::Parser(Parser {
            name: declared.name,
            type_params: declared.type_params,
            params: declared.params,
            constructor_params: declared.constructor_params,
            body: declared.body,
        }))
    }

    pub(super) fn control_declaration(&mut self) -> Parsed<DeclarationKind> {
        let declared = self.block_declaration("the name of a control", Self::control_body)?;
        Ok(DeclarationKind::Control(Control {
            name: declared.name,
            type_params: declared.type_params,
            params: declared.params,
            constructor_params: declared.constructor_params,
            body: declared.body,
        }))
    }

    /// Reads a parser or control from its keyword on; `what` is the name for messages. The name becomes a type.
    fn block_declaration<Body>(
        &mut self,
        what: &str,
        body: impl FnOnce(&mut Self, Span) -> Parsed<Body>,
    ) -> Parsed<BlockDeclaration<Body>> {
        self.declare_next_as_type();
        self.bump();
        self.scoped(|parser| {
            let mut declared = BlockDeclaration {
                name: parser.name(what)?,
                type_params: parser.type_parameters()?,
                params: parser.parameters()?,
                constructor_params: Vec::new(),
                body: None,
            };
            if !parser.eat(TokenKind::Semicolon) {
                declared.constructor_params = parser.constructor_parameters()?;
                declared.body = Some(body(parser, declared.name.span)?);
            }
            Ok(declared)
        })
    }

    /// `{ declarations apply { .. } }`
    fn control_body(&mut self, name: Span) -> Parsed<ControlBody> {
        let open = self.open_brace("and the body of the control, or `;`")?;
        let mut locals = Vec::new();
        let mut apply = None;
        while !self.at_end_of_list() || apply.is_none() && self.skip_early_end() {
            let before = self.next;
            match self.control_element(&mut locals, &mut apply) {
                Ok(()) => {}
                Err(Reported) => self.recover(before),
            }
        }
        if apply.is_none() && self.at(TokenKind::RightBrace) {
            let diagnostic = Diagnostic::error(codes::MISSING_APPLY, name, "this control has no apply block");
            self.report(diagnostic.hint("end its body with `apply { }`"));
        }
        let _ = self.expect_close(TokenKind::RightBrace, open, "the body of the control");
        let (apply_annotations, apply) = match apply {
            Some(apply) => apply,
            None => (
                Vec::new(),
                Block {
                    annotations: Vec::new(),
                    statements: Vec::new(),
                    span: name,
                },
            ),
        };
        Ok(ControlBody {
            locals,
            apply,
            apply_annotations,
        })
    }

    /// Reads a `}` that would end the control, although its tables and its apply block follow: one brace too many.
    fn skip_early_end(&mut self) -> bool {
        let Some(member) = self.member_after_end().filter(|_| self.at(TokenKind::RightBrace)) else {
            return false;
        };
        let message = "this `}` closes the control, but more of it follows";
        let diagnostic = Diagnostic::error(codes::UNCLOSED_DELIMITER, self.span(), message);
        self.report(
            diagnostic
                .secondary(member, "this belongs to a control")
                .hint("remove one `}`"),
        );
        self.bump();
        true
    }

    /// The first table or apply block that stands after the current `}` and before the next top-level declaration.
    fn member_after_end(&self) -> Option<Span> {
        use TokenKind::{Apply, Control, Extern, Header, LeftBrace, Package, Parser, RightBrace, Struct, Table};
        let rest = self.input.tokens.get(self.next + 1..)?;
        let mut depth = 0_usize;
        for (index, token) in rest.iter().enumerate() {
            match token.kind {
                LeftBrace => depth += 1,
                RightBrace => depth = depth.checked_sub(1)?,
                Control | Extern | Header | Package | Parser | Struct if token.starts_line => return None,
                Table if depth == 0 => return Some(token.span),
                Apply if depth == 0 && rest.get(index + 1).is_some_and(|next| next.kind == LeftBrace) => {
                    return Some(token.span);
                }
                _ => {}
            }
        }
        None
    }

    fn control_element(
        &mut self,
        locals: &mut Vec<Declaration>,
        apply: &mut Option<(Vec<Annotation>, Block)>,
    ) -> Parsed<()> {
        let start = self.span();
        let annotations = self.annotations()?;
        if apply.is_some() && self.at(TokenKind::Semicolon) {
            let message = "no `;` follows the apply block";
            let diagnostic = Diagnostic::error(codes::UNEXPECTED_TOKEN, self.span(), message);
            self.report(diagnostic.hint("leave it out"));
            self.bump();
            return Ok(());
        }
        if let Some((_, block)) = apply {
            let message = "nothing can follow the apply block of a control";
            let diagnostic = Diagnostic::error(codes::MISPLACED_DECLARATION, self.span(), message);
            return Err(self.report(
                diagnostic
                    .secondary(block.span, "the apply block")
                    .hint("move it before `apply`"),
            ));
        }
        self.mend_keyword(misspelt::IN_CONTROL);
        if self.at_apply_block() {
            self.bump();
            self.skip_parameters_of_apply();
            let block_annotations = self.annotations()?;
            *apply = Some((annotations, self.block(block_annotations)?));
            return Ok(());
        }
        let kind = match self.peek() {
            TokenKind::Const => self.constant()?,
            TokenKind::Action => self.action()?,
            TokenKind::Table => self.table()?,
            TokenKind::State | TokenKind::ValueSet => return Err(self.misplaced()),
            _ if self.at_local_declaration() || self.at_unknown_instance() => self.variable_or_instance()?,
            _ => {
                let expected = "a declaration or the apply block of the control";
                let diagnostic = self.unexpected_diagnostic(codes::UNEXPECTED_TOKEN, expected);
                let options = ["action", "table", "const", "a variable", "an instance", "apply"];
                return Err(self.report(diagnostic.options(options)));
            }
        };
        locals.push(Declaration {
            annotations,
            kind,
            span: self.since(start),
        });
        Ok(())
    }

    fn at_apply_block(&self) -> bool {
        use TokenKind::{Apply, At, LeftBrace, LeftParen, RightParen};
        let follows = [self.peek_at(1), self.peek_at(2), self.peek_at(3)];
        self.at(Apply) && matches!(follows, [LeftBrace | At, ..] | [LeftParen, RightParen, LeftBrace])
    }

    /// Reports and skips `()` between `apply` and its block.
    fn skip_parameters_of_apply(&mut self) {
        if self.at(TokenKind::LeftParen) {
            let message = "the apply block of a control has no parameters";
            let diagnostic = Diagnostic::error(codes::UNEXPECTED_TOKEN, self.span(), message);
            self.report(diagnostic.hint("write `apply {`"));
            self.next += 2;
        }
    }

    pub(super) fn package(&mut self) -> Parsed<DeclarationKind> {
        self.declare_next_as_type();
        self.bump();
        self.scoped(|parser| {
            let name = parser.name("the name of a package")?;
            let type_params = parser.type_parameters()?;
            let params = parser.parameters()?;
            parser.expect_semicolon("the package")?;
            Ok(DeclarationKind::Package(Package {
                name,
                type_params,
                params,
            }))
        })
    }
}
