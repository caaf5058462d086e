//! Which calls of a body may be executed.
//!
//! Code under a condition that is known to be false is not executed, so a table that is applied only there is not in
//! P4Info. Code after `exit` and `return` counts, as in p4c.

use crate::walk::{self, Node};
use forebay_check::hir::{Block, Call, Expr, Statement, StatementKind};
use forebay_syntax::source::Span;

/// Whether a condition is known to be true or false.
pub type Known<'k> = &'k dyn Fn(&Expr) -> Option<bool>;

/// Calls `visit` with each call in some statements that may be executed, in order.
pub fn calls<'a>(statements: &'a [Statement], known: Known, visit: &mut dyn FnMut(&'a Call, Span)) {
    for statement in statements {
        inside(statement, known, visit);
    }
}

fn inside<'a>(statement: &'a Statement, known: Known, visit: &mut dyn FnMut(&'a Call, Span)) {
    let block = |block: &'a Block, visit: &mut dyn FnMut(&'a Call, Span)| calls(&block.statements, known, visit);
    match &statement.kind {
        StatementKind::Assign { target, value, .. } => {
            in_expression(target, visit);
            in_expression(value, visit);
        }
        StatementKind::Call(call) => in_expression(call, visit),
        StatementKind::If { branches, otherwise } => {
            for branch in branches {
                in_expression(&branch.condition, visit);
                let value = known(&branch.condition);
                if value != Some(false) {
                    block(&branch.body, visit);
                }
                if value == Some(true) {
                    return;
                }
            }
            block(otherwise, visit);
        }
        StatementKind::Block(inner) => block(inner, visit),
        StatementKind::SwitchAction { apply: switched, cases } => {
            in_expression(switched, visit);
            cases.iter().for_each(|(_, body)| block(body, visit));
        }
        StatementKind::Switch { expr: switched, cases } => {
            in_expression(switched, visit);
            cases.iter().for_each(|(_, body)| block(body, visit));
        }
        StatementKind::For {
            init,
            condition,
            update,
            body,
        } => {
            calls(init, known, visit);
            in_expression(condition, visit);
            block(body, visit);
            calls(update, known, visit);
        }
        StatementKind::ForRange { low, high, body, .. } => {
            in_expression(low, visit);
            in_expression(high, visit);
            block(body, visit);
        }
        StatementKind::ForIn { collection, body, .. } => {
            in_expression(collection, visit);
            block(body, visit);
        }
        StatementKind::Var(_, value) | StatementKind::Return(value) => {
            value.iter().for_each(|value| in_expression(value, visit));
        }
        StatementKind::Exit | StatementKind::Break | StatementKind::Continue | StatementKind::Instance(_) => {}
    }
}

/// Calls `visit` with each call in an expression.
pub fn in_expression<'a>(expr: &'a Expr, visit: &mut dyn FnMut(&'a Call, Span)) {
    walk::expr(expr, &mut |node| {
        if let Node::Call(call, span) = node {
            visit(call, span);
        }
    });
}
