//! Which calls of a body can happen.
//!
//! What stands behind a condition that is known to be false, or behind `exit` or `return`, does not happen. So a table
//! that is applied only there has no place in P4Info.

use crate::walk::{self, Node};
use forebay_check::hir::{Block, Call, Expr, Statement, StatementKind};

/// Calls `visit` with each call that can happen, in order. `known` is the value of a condition, if it has one.
pub fn calls<'a>(statements: &'a [Statement], known: &dyn Fn(&Expr) -> Option<bool>, visit: &mut dyn FnMut(&'a Call)) {
    sequence(statements, known, visit);
}

/// Walks over statements; says whether what comes after them can happen.
fn sequence<'a>(
    statements: &'a [Statement],
    known: &dyn Fn(&Expr) -> Option<bool>,
    visit: &mut dyn FnMut(&'a Call),
) -> bool {
    statements.iter().all(|statement| one(statement, known, visit))
}

fn one<'a>(statement: &'a Statement, known: &dyn Fn(&Expr) -> Option<bool>, visit: &mut dyn FnMut(&'a Call)) -> bool {
    let mut block = |block: &'a Block, visit: &mut dyn FnMut(&'a Call)| sequence(&block.statements, known, visit);
    match &statement.kind {
        StatementKind::Assign { target, value } => {
            expression(target, visit);
            expression(value, visit);
        }
        StatementKind::Call(call) => expression(call, visit),
        StatementKind::If { condition, then_branch, else_branch } => {
            expression(condition, visit);
            return match known(condition) {
                Some(true) => block(then_branch, visit),
                Some(false) => block(else_branch, visit),
                None => block(then_branch, visit) | block(else_branch, visit),
            };
        }
        StatementKind::Block(inner) => return block(inner, visit),
        StatementKind::SwitchAction { apply: switched, cases } => {
            expression(switched, visit);
            cases.iter().for_each(|(_, body)| _ = block(body, visit));
        }
        StatementKind::Switch { expr: switched, cases } => {
            expression(switched, visit);
            cases.iter().for_each(|(_, body)| _ = block(body, visit));
        }
        StatementKind::Return(value) => {
            value.iter().for_each(|value| expression(value, visit));
            return false;
        }
        StatementKind::Exit | StatementKind::Break | StatementKind::Continue => return false,
        StatementKind::For { init, condition, update, body } => {
            sequence(init, known, visit);
            expression(condition, visit);
            block(body, visit);
            sequence(update, known, visit);
        }
        StatementKind::ForRange { low, high, body, .. } => {
            expression(low, visit);
            expression(high, visit);
            block(body, visit);
        }
        StatementKind::ForIn { collection, body, .. } => {
            expression(collection, visit);
            block(body, visit);
        }
        StatementKind::Var(_, value) => value.iter().for_each(|value| expression(value, visit)),
        StatementKind::Instance(_) => {}
    }
    true
}

fn expression<'a>(expr: &'a Expr, visit: &mut dyn FnMut(&'a Call)) {
    walk::expr(expr, &mut |node| {
        if let Node::Call(call) = node {
            visit(call);
        }
    });
}
