//! Statements and blocks.

use super::{Parsed, ProgramParser, Reported, misspelt};
use crate::ast::{
    Annotation, BinaryOp, Block, Branch, Declaration, DeclarationKind, Expr, ExprKind, Statement, StatementKind,
    SwitchCase,
};
use crate::codes::source as codes;
use crate::diagnostic::Diagnostic;
use crate::source::Span;
use crate::token::{Token, TokenKind};

impl ProgramParser<'_> {
    /// Reads `{ statements }`.
    pub(super) fn block(&mut self, annotations: Vec<Annotation>) -> Parsed<Block> {
        let start = annotations.first().map_or(self.span(), |annotation| annotation.span);
        let statements = self.scoped(|parser| parser.braced("the statements", Self::statement))?;
        Ok(Block {
            annotations,
            statements,
            span: self.since(start),
        })
    }

    /// Reads a statement or a local declaration.
    pub(super) fn statement(&mut self) -> Parsed<Statement> {
        self.nested(|parser| {
            let start = parser.span();
            let annotations = parser.annotations()?;
            let kind = parser.statement_kind(annotations)?;
            Ok(Statement {
                kind,
                span: parser.since(start),
            })
        })
    }

    fn statement_kind(&mut self, annotations: Vec<Annotation>) -> Parsed<StatementKind> {
        self.mend_keyword(misspelt::STATEMENTS);
        match self.peek() {
            TokenKind::LeftBrace => return self.block(annotations).map(StatementKind::Block),
            TokenKind::For => return self.for_statement(annotations),
            TokenKind::Const => return self.local(annotations, Self::constant),
            _ if self.at_local_declaration() => return self.local(annotations, Self::variable_or_instance),
            _ => {}
        }
        if let Some(annotation) = annotations.first() {
            let message = "annotations cannot stand before this statement";
            let diagnostic = Diagnostic::error(codes::MALFORMED_ANNOTATION, annotation.span, message);
            self.report(diagnostic.hint("annotate a block, a loop or a declaration"));
        }
        match self.peek() {
            TokenKind::Semicolon => {
                self.bump();
                Ok(StatementKind::Empty)
            }
            TokenKind::If => self.if_statement(),
            TokenKind::Switch => self.switch_statement(),
            TokenKind::Return => self.return_statement(),
            TokenKind::Exit => self.keyword_statement(StatementKind::Exit),
            TokenKind::Break => self.keyword_statement(StatementKind::Break),
            TokenKind::Continue => self.keyword_statement(StatementKind::Continue),
            TokenKind::Table | TokenKind::Action | TokenKind::ValueSet => Err(self.misplaced()),
            TokenKind::Else => {
                let message = "this `else` belongs to no `if`";
                let diagnostic = Diagnostic::error(codes::EXPECTED_STATEMENT, self.span(), message);
                Err(self.report(diagnostic))
            }
            _ if self.at_while() => {
                let message = format!("P4 has no `{}` loop", self.text(self.token()));
                let error = Diagnostic::error(codes::EXPECTED_STATEMENT, self.span(), message);
                let hint = "use `for (init; condition; update) { ... }` or `for (bit<8> i in 0 .. 9) { ... }`; parsers loop by their transitions";
                Err(self.report(error.hint(hint)))
            }
            _ => {
                let statement = self.assignment_or_call()?;
                self.expect_semicolon("the statement")?;
                Ok(statement)
            }
        }
    }

    /// Whether a loop of other languages begins here: `while (` or `do {`.
    fn at_while(&self) -> bool {
        let word = self.token();
        word.kind == TokenKind::Identifier
            && match self.text(word) {
                "while" => self.peek_at(1) == TokenKind::LeftParen,
                "do" => self.peek_at(1) == TokenKind::LeftBrace,
                _ => false,
            }
    }

    fn local(
        &mut self,
        annotations: Vec<Annotation>,
        read: impl FnOnce(&mut Self) -> Parsed<DeclarationKind>,
    ) -> Parsed<StatementKind> {
        let start = annotations.first().map_or(self.span(), |annotation| annotation.span);
        let kind = read(self)?;
        Ok(declaration(annotations, kind, self.since(start)))
    }

    fn keyword_statement(&mut self, kind: StatementKind) -> Parsed<StatementKind> {
        let keyword = self.bump();
        self.expect_semicolon(&format!("`{}`", keyword.kind.text()))?;
        Ok(kind)
    }

    fn return_statement(&mut self) -> Parsed<StatementKind> {
        self.bump();
        let value = if self.at(TokenKind::Semicolon) {
            None
        } else {
            Some(self.expression()?)
        };
        self.expect_semicolon("`return`")?;
        Ok(StatementKind::Return(value))
    }

    /// Reads `(e)` after a keyword.
    fn condition(&mut self, keyword: &str) -> Parsed<Expr> {
        let open = self.expect(TokenKind::LeftParen, &format!("after `{keyword}`"))?.span;
        let mut condition = self.expression()?;
        if self.at(TokenKind::Assign) {
            let diagnostic =
                Diagnostic::error(codes::UNEXPECTED_TOKEN, self.span(), "an assignment is not a condition");
            self.report(diagnostic.hint("to compare, write `==`"));
            self.bump();
            self.expression()?;
            condition.kind = ExprKind::Error;
        }
        self.expect_close(TokenKind::RightParen, open, "the condition")?;
        Ok(condition)
    }

    fn if_statement(&mut self) -> Parsed<StatementKind> {
        let mut branches = vec![self.guarded()?];
        let mut otherwise = None;
        while self.at_else() {
            if !self.at(TokenKind::If) {
                otherwise = Some(Box::new(self.branch()?));
                break;
            }
            branches.push(self.guarded()?);
        }
        Ok(StatementKind::If { branches, otherwise })
    }

    /// Reads `else`, or a word of other languages for `else if`, which is reported: it leaves `if` to be read.
    fn at_else(&mut self) -> bool {
        if self.eat(TokenKind::Else) {
            return true;
        }
        let word = self.token();
        let is_other = word.kind == TokenKind::Identifier
            && self.peek_at(1) == TokenKind::LeftParen
            && matches!(self.text(word), "elif" | "elsif" | "elseif");
        if is_other {
            let message = format!("`{}` is not a keyword", self.text(word));
            self.report(Diagnostic::error(codes::MISSPELT_KEYWORD, word.span, message).hint("write `else if`"));
            self.reread = Some((self.next, TokenKind::If));
        }
        is_other
    }

    /// Reads `if (condition) statement`, without `else`.
    fn guarded(&mut self) -> Parsed<Branch> {
        let start = self.bump().span;
        let condition = self.condition("if")?;
        let body = self.branch()?;
        Ok(Branch {
            condition,
            body,
            span: self.since(start),
        })
    }

    /// A statement that depends on a condition: a declaration would have no use there.
    fn branch(&mut self) -> Parsed<Statement> {
        let statement = self.statement()?;
        if matches!(statement.kind, StatementKind::Declaration(_)) {
            let message = "a declaration cannot be the branch of a condition or the body of a loop";
            let diagnostic = Diagnostic::error(codes::EXPECTED_STATEMENT, statement.span, message);
            self.report(diagnostic.hint("put it into a block"));
        }
        Ok(statement)
    }

    fn switch_statement(&mut self) -> Parsed<StatementKind> {
        self.bump();
        let expr = self.condition("switch")?;
        let cases = self.braced("the cases", Self::switch_case)?;
        Ok(StatementKind::Switch { expr, cases })
    }

    /// `label : { .. }`, or `label :` alone, which falls through to the next.
    fn switch_case(&mut self) -> Parsed<SwitchCase> {
        self.skip_case();
        let start = self.span();
        let label = if self.at(TokenKind::Default) {
            let span = self.bump().span;
            Expr {
                kind: ExprKind::Default,
                span,
            }
        } else {
            self.expression()?
        };
        self.expect(TokenKind::Colon, "after the label")?;
        let annotations = self.annotations()?;
        let body = if self.at(TokenKind::LeftBrace) {
            Some(self.block(annotations)?)
        } else if self.at_unbraced_statement() {
            Some(self.unbraced_case()?)
        } else {
            None
        };
        Ok(SwitchCase {
            label,
            body,
            span: self.since(start),
        })
    }

    /// Whether a statement begins after a label, and not the label of the next case.
    fn at_unbraced_statement(&self) -> bool {
        use TokenKind::{Assign, Colon, EndOfFile, Exit, For, If, LeftBrace, Return, RightBrace, Semicolon, Switch};
        if matches!(self.peek(), Exit | For | If | Return | Switch) {
            return true;
        }
        let rest = &self.input.tokens[self.next..];
        let end = rest.iter().find(|token| {
            matches!(
                token.kind,
                Assign | Colon | EndOfFile | LeftBrace | RightBrace | Semicolon
            )
        });
        end.is_some_and(|token| matches!(token.kind, Assign | Semicolon))
    }

    /// Reports the statements of a case that have no braces around them, and reads them.
    fn unbraced_case(&mut self) -> Parsed<Block> {
        let start = self.span();
        let message = "the statements of a case stand in braces";
        let diagnostic = Diagnostic::error(codes::UNEXPECTED_TOKEN, start, message);
        self.report(diagnostic.hint("write `LABEL: { ... }`").cause("cases without braces"));
        let mut statements = Vec::new();
        while self.at_unbraced_statement() {
            statements.push(self.statement()?);
        }
        Ok(Block {
            annotations: Vec::new(),
            statements,
            span: self.since(start),
        })
    }

    // ---- Assignments and calls

    /// `l = e`, `l op= e` or a call, without the `;`.
    fn assignment_or_call(&mut self) -> Parsed<StatementKind> {
        if !self.begins_left_value() {
            return Err(self.expected_statement());
        }
        let target = self.postfix(true)?;
        if let Some((op, length)) = self.assignment_operator() {
            if !is_left_value(&target) {
                let message = "this cannot be assigned to";
                let hint = "only variables, fields, array elements and slices can be assigned to";
                return Err(self.report_expression(target.span, message, hint));
            }
            self.next += length;
            let value = self.expression()?;
            return Ok(StatementKind::Assign { target, op, value });
        }
        match target.kind {
            ExprKind::Call { .. } => Ok(call_statement(target)),
            _ if matches!(self.peek(), TokenKind::Semicolon | TokenKind::RightBrace) => {
                Err(self.report_expression(target.span, "this expression has no effect", "assign it or call it"))
            }
            _ => {
                let token = self.token();
                if token.kind == TokenKind::Minus && self.is_joined(TokenKind::RightAngle) {
                    let error = Diagnostic::error(codes::EXPECTED_STATEMENT, token.span, "P4 has no `->`");
                    return Err(self.report(error.hint("write `.`")));
                }
                if ends_in_assignment(&self.input.tokens[self.next..]) {
                    let hint = "only variables, fields, array elements and slices can be assigned to";
                    return Err(self.report_expression(
                        target.span,
                        "an expression with operators cannot be assigned to",
                        hint,
                    ));
                }
                let message = format!("expected an assignment or a call, found {}", self.describe(token));
                let mut diagnostic = Diagnostic::error(codes::EXPECTED_STATEMENT, token.span, message);
                let twice = token.kind == self.peek_at(1);
                diagnostic = match token.kind {
                    TokenKind::EqualEqual => diagnostic.hint("to assign, write `=`"),
                    TokenKind::Minus if twice => diagnostic.hint("P4 has no `--`: write `-= 1`"),
                    TokenKind::PlusPlus => diagnostic.hint("P4 has no such increment: write `+= 1`"),
                    _ => diagnostic,
                };
                Err(self.report(self.with_macro_note(diagnostic, token)))
            }
        }
    }

    fn begins_left_value(&self) -> bool {
        self.is_plain_name_at(0) || matches!(self.peek(), TokenKind::Dot | TokenKind::This | TokenKind::LeftParen)
    }

    fn expected_statement(&mut self) -> Reported {
        let diagnostic = self.unexpected_diagnostic(codes::EXPECTED_STATEMENT, "a statement");
        let hint = "a state has one transition, at its end: branch by `transition select(...) { ... }`";
        self.report(if self.at(TokenKind::Transition) {
            diagnostic.hint(hint)
        } else {
            diagnostic
        })
    }

    /// The assignment operator that comes next, and the number of its tokens.
    fn assignment_operator(&self) -> Option<(Option<BinaryOp>, usize)> {
        let op = match self.peek() {
            TokenKind::Assign => return Some((None, 1)),
            TokenKind::RightAngle if self.is_joined(TokenKind::GreaterEqual) => return Some((Some(BinaryOp::Shr), 2)),
            TokenKind::StarAssign => BinaryOp::Mul,
            TokenKind::SlashAssign => BinaryOp::Div,
            TokenKind::PercentAssign => BinaryOp::Mod,
            TokenKind::PlusAssign => BinaryOp::Add,
            TokenKind::MinusAssign => BinaryOp::Sub,
            TokenKind::SaturatingAddAssign => BinaryOp::SatAdd,
            TokenKind::SaturatingSubAssign => BinaryOp::SatSub,
            TokenKind::ShiftLeftAssign => BinaryOp::Shl,
            TokenKind::AmpersandAssign => BinaryOp::BitAnd,
            TokenKind::PipeAssign => BinaryOp::BitOr,
            TokenKind::CaretAssign => BinaryOp::BitXor,
            _ => return None,
        };
        Some((Some(op), 1))
    }

    // ---- Loops

    /// `for (init; condition; update) body` or `for (T x in collection) body`
    fn for_statement(&mut self, annotations: Vec<Annotation>) -> Parsed<StatementKind> {
        self.bump();
        let open = self.expect(TokenKind::LeftParen, "after `for`")?.span;
        self.scoped(|parser| {
            if parser.is_plain_name_at(0) && parser.peek_at(1) == TokenKind::In {
                let variable = parser.name("the name of a variable")?;
                let message = "the variable of this loop has no type";
                let diagnostic = Diagnostic::error(codes::EXPECTED_TYPE, variable.span, message);
                parser.report(diagnostic.hint("such a loop declares its variable: `for (bit<8> i in 1 .. 6)`"));
                return parser.for_in(annotations, open, None, variable);
            }
            let start = parser.span();
            let first_annotations = parser.annotations()?;
            if !parser.at_local_declaration() {
                return parser.for_loop(annotations, open, Vec::new());
            }
            let ty = parser.type_reference()?;
            if parser.is_name_at(0) && parser.peek_at(1) == TokenKind::In {
                let variable = parser.declared_value("the name of a variable")?;
                return parser.for_in(annotations, open, Some(ty), variable);
            }
            let kind = parser.variable(ty)?;
            let span = parser.since(start);
            let first = Statement {
                kind: declaration(first_annotations, kind, span),
                span,
            };
            parser.for_loop(annotations, open, vec![first])
        })
    }

    fn for_in(
        &mut self,
        annotations: Vec<Annotation>,
        open: Span,
        ty: Option<crate::ast::Type>,
        variable: crate::ast::Ident,
    ) -> Parsed<StatementKind> {
        self.bump();
        let collection = self.range_or_mask()?;
        self.expect_close(TokenKind::RightParen, open, "the collection")?;
        let body = Box::new(self.branch()?);
        Ok(StatementKind::ForIn {
            annotations,
            ty,
            variable,
            collection,
            body,
        })
    }

    fn for_loop(
        &mut self,
        annotations: Vec<Annotation>,
        open: Span,
        mut init: Vec<Statement>,
    ) -> Parsed<StatementKind> {
        if init.is_empty() || self.eat(TokenKind::Comma) {
            init.extend(self.comma_list(TokenKind::Semicolon, "the initialisation", Self::for_init)?);
        }
        self.expect(TokenKind::Semicolon, "after the initialisation")?;
        let condition = self.expression()?;
        self.expect(TokenKind::Semicolon, "after the condition")?;
        let update = self.comma_list(TokenKind::RightParen, "the update", Self::for_update)?;
        self.expect_close(TokenKind::RightParen, open, "the update")?;
        let body = Box::new(self.branch()?);
        Ok(StatementKind::For {
            annotations,
            init,
            condition,
            update,
            body,
        })
    }

    fn for_init(&mut self) -> Parsed<Statement> {
        let start = self.span();
        let annotations = self.annotations()?;
        if !self.at_local_declaration() {
            return self.for_update();
        }
        let ty = self.type_reference()?;
        let kind = self.variable(ty)?;
        let span = self.since(start);
        Ok(Statement {
            kind: declaration(annotations, kind, span),
            span,
        })
    }

    fn for_update(&mut self) -> Parsed<Statement> {
        let start = self.span();
        let kind = self.assignment_or_call()?;
        Ok(Statement {
            kind,
            span: self.since(start),
        })
    }
}

fn declaration(annotations: Vec<Annotation>, kind: DeclarationKind, span: Span) -> StatementKind {
    StatementKind::Declaration(Box::new(Declaration {
        annotations,
        kind,
        span,
    }))
}

/// Whether `=` comes before the end of the statement.
fn ends_in_assignment(tokens: &[Token]) -> bool {
    use TokenKind::{Assign, EndOfFile, LeftBrace, RightBrace, Semicolon};
    let end = tokens
        .iter()
        .find(|token| matches!(token.kind, Assign | EndOfFile | LeftBrace | RightBrace | Semicolon));
    end.is_some_and(|token| token.kind == Assign)
}

fn is_left_value(target: &Expr) -> bool {
    matches!(
        target.kind,
        ExprKind::Name(_)
            | ExprKind::Member { .. }
            | ExprKind::Index { .. }
            | ExprKind::Slice { .. }
            | ExprKind::PlusSlice { .. }
            | ExprKind::Error
    )
}

/// A call as a statement; `T.apply(args)` with a type T becomes a [`StatementKind::DirectApply`].
fn call_statement(mut call: Expr) -> StatementKind {
    if let ExprKind::Call {
        callee,
        type_args,
        args,
    } = &mut call.kind
        && type_args.is_empty()
        && let ExprKind::Member { base, member } = &mut callee.kind
        && member.name == "apply"
        && let ExprKind::Type(ty) = &base.kind
    {
        return StatementKind::DirectApply {
            ty: (**ty).clone(),
            args: std::mem::take(args),
        };
    }
    StatementKind::Call(call)
}
