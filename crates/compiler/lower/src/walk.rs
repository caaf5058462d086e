//! Walks over statements and expressions of the typed program.

use forebay_check::hir::{Argument, Block, Call, Callee, Expr, ExprKind, Statement, StatementKind, operands};
use forebay_syntax::source::Span;

/// What a walk visits.
pub enum Node<'a> {
    /// A statement, before its contents.
    Statement(&'a Statement),
    /// A call, before its contents, and its location.
    Call(&'a Call, Span),
    /// Operators on two operands or an index, before their contents.
    Operation(&'a Expr),
}

/// Calls `visit` with every statement and every call in a block, in order.
pub fn block<'a>(block: &'a Block, visit: &mut dyn FnMut(Node<'a>)) {
    statements(&block.statements, visit);
}

/// Calls `visit` with every statement and every call in some statements.
pub fn statements<'a>(statements: &'a [Statement], visit: &mut dyn FnMut(Node<'a>)) {
    for statement in statements {
        visit(Node::Statement(statement));
        inside(statement, visit);
    }
}

fn inside<'a>(statement: &'a Statement, visit: &mut dyn FnMut(Node<'a>)) {
    match &statement.kind {
        StatementKind::Assign { target, value, .. } => {
            expr(target, visit);
            expr(value, visit);
        }
        StatementKind::Call(call) => expr(call, visit),
        StatementKind::If { branches, otherwise } => {
            for branch in branches {
                expr(&branch.condition, visit);
                block(&branch.body, visit);
            }
            block(otherwise, visit);
        }
        StatementKind::Block(inner) => block(inner, visit),
        StatementKind::SwitchAction { apply, cases } => {
            expr(apply, visit);
            cases.iter().for_each(|(_, body)| block(body, visit));
        }
        StatementKind::Switch { expr: switched, cases } => {
            expr(switched, visit);
            cases.iter().for_each(|(_, body)| block(body, visit));
        }
        StatementKind::Return(value) => value.iter().for_each(|value| expr(value, visit)),
        StatementKind::For {
            init,
            condition,
            update,
            body,
        } => {
            statements(init, visit);
            expr(condition, visit);
            statements(update, visit);
            block(body, visit);
        }
        StatementKind::ForRange { low, high, body, .. } => {
            expr(low, visit);
            expr(high, visit);
            block(body, visit);
        }
        StatementKind::ForIn { collection, body, .. } => {
            expr(collection, visit);
            block(body, visit);
        }
        StatementKind::Var(_, value) => value.iter().for_each(|value| expr(value, visit)),
        StatementKind::Exit | StatementKind::Break | StatementKind::Continue | StatementKind::Instance(_) => {}
    }
}

/// Calls `visit` with every call in an expression.
pub fn expr<'a>(expression: &'a Expr, visit: &mut dyn FnMut(Node<'a>)) {
    match &expression.kind {
        ExprKind::Field(base, _)
        | ExprKind::TupleElement(base, _)
        | ExprKind::StackNext(base)
        | ExprKind::StackLast(base)
        | ExprKind::StackLastIndex(base)
        | ExprKind::Slice(base, ..)
        | ExprKind::Unary(_, base)
        | ExprKind::Cast(base)
        | ExprKind::TableHit(base)
        | ExprKind::TableMiss(base) => expr(base, visit),
        ExprKind::Binary(first, links) => {
            visit(Node::Operation(expression));
            operands(first, links).for_each(|operand| expr(operand, visit));
        }
        ExprKind::Index(left, right) | ExprKind::PlusSlice(left, right, _) => {
            visit(Node::Operation(expression));
            expr(left, visit);
            expr(right, visit);
        }
        ExprKind::Ternary(condition, left, right) => {
            expr(condition, visit);
            expr(left, visit);
            expr(right, visit);
        }
        ExprKind::Aggregate(elements) | ExprKind::Reordered(elements, _) => {
            elements.iter().for_each(|element| expr(element, visit))
        }
        ExprKind::Call(call) => {
            visit(Node::Call(call, expression.span));
            inside_call(call, visit);
        }
        ExprKind::Construct(instance) => instance.args.iter().flatten().for_each(|arg| expr(arg, visit)),
        ExprKind::Int(_)
        | ExprKind::Bool(_)
        | ExprKind::String(_)
        | ExprKind::EnumMember(..)
        | ExprKind::Error(_)
        | ExprKind::MatchKind(_)
        | ExprKind::Var(_)
        | ExprKind::Instance(_)
        | ExprKind::Table(_)
        | ExprKind::ValueSet(_)
        | ExprKind::This
        | ExprKind::InvalidHeader
        | ExprKind::DefaultValue
        | ExprKind::Invalid => {}
    }
}

fn inside_call<'a>(call: &'a Call, visit: &mut dyn FnMut(Node<'a>)) {
    match &call.callee {
        Callee::Function(_) | Callee::Action(_) => {}
        Callee::Method { receiver, .. }
        | Callee::TableApply(receiver)
        | Callee::Apply(receiver)
        | Callee::IsValid(receiver)
        | Callee::SetValid(receiver)
        | Callee::SetInvalid(receiver)
        | Callee::PushFront(receiver, _)
        | Callee::PopFront(receiver, _) => expr(receiver, visit),
    }
    for arg in &call.args {
        if let Argument::Value(value) = arg {
            expr(value, visit);
        }
    }
}
