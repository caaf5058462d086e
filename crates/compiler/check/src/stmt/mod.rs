//! Statements (§12).

mod assign;
mod loops;
mod switch;

use crate::checker::Checker;
use crate::hir::*;
use forebay_syntax::ast::{self, DeclarationKind};
use forebay_syntax::codes::check as codes;
use forebay_syntax::diagnostic::Diagnostic;
use forebay_syntax::known::Place;
use forebay_syntax::source::Span;

impl Checker {
    /// A block, in a scope of its own.
    pub(crate) fn check_block(&mut self, block: &ast::Block) -> Block {
        let annotations = self.annotations(Place::Block, &block.annotations);
        let statements = self.nested(block.span, |checker| {
            checker.scoped(|checker| {
                block
                    .statements
                    .iter()
                    .filter_map(|statement| checker.check_statement(statement))
                    .collect()
            })
        });
        Block {
            statements: statements.unwrap_or_default(),
            annotations,
        }
    }

    /// A statement as a block: a branch, or the body of a loop.
    pub(super) fn check_branch(&mut self, statement: &ast::Statement) -> Block {
        if let ast::StatementKind::Block(block) = &statement.kind {
            return self.check_block(block);
        }
        let statements = self.nested(statement.span, |checker| {
            checker.scoped(|checker| checker.check_statement(statement).into_iter().collect())
        });
        Block {
            statements: statements.unwrap_or_default(),
            annotations: self.annotations(Place::Block, &[]),
        }
    }

    fn check_guarded(&mut self, branch: &ast::Branch) -> Branch {
        Branch {
            condition: self.check_condition(&branch.condition),
            body: self.check_branch(&branch.body),
            span: branch.span,
        }
    }

    /// A statement; none when nothing of it is left to execute.
    pub(crate) fn check_statement(&mut self, statement: &ast::Statement) -> Option<Statement> {
        let span = statement.span;
        let kind = match &statement.kind {
            ast::StatementKind::Empty => return None,
            ast::StatementKind::Assign { target, op, value } => self.check_assignment(target, *op, value, span),
            ast::StatementKind::Call(call) => self.check_call_statement(call)?,
            ast::StatementKind::DirectApply { ty, args } => {
                let ty = self.resolve_for_instance(ty);
                if ty.is_unknown() {
                    return None;
                }
                StatementKind::Call(self.direct_apply(&ty, args, span))
            }
            ast::StatementKind::If { branches, otherwise } => StatementKind::If {
                branches: branches.iter().map(|branch| self.check_guarded(branch)).collect(),
                otherwise: otherwise
                    .as_ref()
                    .map(|branch| self.check_branch(branch))
                    .unwrap_or_default(),
            },
            ast::StatementKind::Block(block) => StatementKind::Block(self.check_block(block)),
            ast::StatementKind::Switch { expr, cases } => self.check_switch(expr, cases, span)?,
            ast::StatementKind::Return(value) => StatementKind::Return(self.check_return(value.as_ref(), span)),
            ast::StatementKind::Exit => self.check_exit(span),
            ast::StatementKind::Break => self.check_jump("break", StatementKind::Break, span),
            ast::StatementKind::Continue => self.check_jump("continue", StatementKind::Continue, span),
            ast::StatementKind::For {
                init,
                condition,
                update,
                body,
                annotations,
            } => {
                self.annotations(Place::Loop, annotations);
                self.check_for(init, condition, update, body)
            }
            ast::StatementKind::ForIn {
                ty,
                variable,
                collection,
                body,
                annotations,
            } => {
                self.annotations(Place::Loop, annotations);
                self.check_for_in(ty.as_ref(), variable, collection, body, span)?
            }
            ast::StatementKind::Declaration(declaration) => return self.check_local_declaration(declaration),
        };
        Some(Statement { kind, span })
    }

    fn check_call_statement(&mut self, call: &ast::Expr) -> Option<StatementKind> {
        self.context.statement_call = Some(call.span);
        let checked = self.check_expr(call);
        match checked.kind {
            ExprKind::Call(_) => Some(StatementKind::Call(checked)),
            ExprKind::Construct(_) => {
                let message = "a constructor call makes an instance that nothing can use";
                self.error(codes::MISPLACED_INSTANTIATION, call.span, message);
                None
            }
            // A call whose value is known at compile time does nothing.
            _ => None,
        }
    }

    fn check_return(&mut self, value: Option<&ast::Expr>, span: Span) -> Option<Expr> {
        if self.context.parser.is_some() && self.context.result.is_none() {
            self.error(codes::STATEMENT_NOT_ALLOWED, span, "return cannot be used in parsers");
        }
        match (self.context.result.clone(), value) {
            (None, Some(_)) => {
                let message = "only functions can return a value";
                self.error_with_hint(
                    codes::INVALID_RETURN,
                    span,
                    message,
                    "write `return;`, and give results through parameters",
                );
                None
            }
            (Some(Type::Void), Some(_)) => {
                self.error(
                    codes::INVALID_RETURN,
                    span,
                    "this function returns void, so it cannot return a value",
                );
                None
            }
            (Some(result), None) if result != Type::Void => {
                let message = format!("this function must return a value of type {}", self.show(&result));
                self.error(codes::INVALID_RETURN, span, message);
                None
            }
            (Some(result), Some(value)) => Some(self.check_as(value, &result)),
            (_, None) => None,
        }
    }

    fn check_exit(&mut self, span: Span) -> StatementKind {
        if self.context.result.is_some() {
            self.error(codes::STATEMENT_NOT_ALLOWED, span, "exit cannot be used in functions");
        } else if self.context.parser.is_some() {
            self.error(codes::STATEMENT_NOT_ALLOWED, span, "exit cannot be used in parsers");
        }
        StatementKind::Exit
    }

    fn check_jump(&mut self, word: &str, kind: StatementKind, span: Span) -> StatementKind {
        if self.context.loops == 0 {
            let message = format!("{word} can only be used in a loop");
            let diagnostic = Diagnostic::error(codes::STATEMENT_NOT_ALLOWED, span, message);
            let ends_case = self.context.in_switch && word == "break";
            self.report(if ends_case {
                diagnostic.hint("leave it out: a case of a `switch` ends with its block")
            } else {
                diagnostic
            });
        }
        kind
    }

    fn check_local_declaration(&mut self, declaration: &ast::Declaration) -> Option<Statement> {
        let span = declaration.span;
        let kind = match &declaration.kind {
            DeclarationKind::Constant(item) => {
                self.annotations(Place::Constant, &declaration.annotations);
                self.declare_constant(item);
                return None;
            }
            DeclarationKind::Variable(item) => {
                let (var, value) = self.declare_variable(item, &declaration.annotations);
                StatementKind::Var(var, value)
            }
            DeclarationKind::Instantiation(item) => {
                StatementKind::Instance(self.check_instantiation(item, &declaration.annotations, span)?)
            }
            _ => {
                self.error(
                    codes::MISPLACED_INSTANTIATION,
                    span,
                    "this cannot be declared among statements",
                );
                return None;
            }
        };
        Some(Statement { kind, span })
    }
}
