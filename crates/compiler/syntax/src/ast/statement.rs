//! Statements.

use super::{Annotation, Arg, BinaryOp, Declaration, Expr, Ident, Type};
use crate::source::Span;

/// `{ statements }`
#[derive(Clone, Debug)]
pub struct Block {
    /// Annotations before the brace (`@atomic`, ...).
    pub annotations: Vec<Annotation>,
    /// Statements and declarations in order.
    pub statements: Vec<Statement>,
    /// The whole of it.
    pub span: Span,
}

/// A statement.
#[derive(Clone, Debug)]
pub struct Statement {
    /// What it does.
    pub kind: StatementKind,
    /// The whole of it.
    pub span: Span,
}

/// Every kind of statement.
#[derive(Clone, Debug)]
pub enum StatementKind {
    /// `;`
    Empty,
    /// `l = e;` or `l op= e;`
    Assign {
        /// Left side.
        target: Expr,
        /// The operator of a compound assignment.
        op: Option<BinaryOp>,
        /// Right side.
        value: Expr,
    },
    /// A call as a statement; the expression is an [`ExprKind::Call`](super::ExprKind::Call).
    Call(Expr),
    /// `T.apply(args);` where T is a type: instantiated on the spot.
    DirectApply {
        /// Type of the control or parser.
        ty: Type,
        /// Arguments of `apply`.
        args: Vec<Arg>,
    },
    /// `if (c) s else if (c) s else s`. A chain of `else if` is one statement, so that long ones do not nest.
    If {
        /// In order; there is at least one.
        branches: Vec<Branch>,
        /// What follows the last `else`.
        otherwise: Option<Box<Statement>>,
    },
    /// `{ .. }`
    Block(Block),
    /// `switch (e) { cases }`
    Switch {
        /// What is switched on.
        expr: Expr,
        /// Cases in order.
        cases: Vec<SwitchCase>,
    },
    /// `return;` or `return e;`
    Return(Option<Expr>),
    /// `exit;`
    Exit,
    /// `break;`
    Break,
    /// `continue;`
    Continue,
    /// `for (init; cond; update) body`
    For {
        /// Annotations (`@unroll`).
        annotations: Vec<Annotation>,
        /// Initial statements and declarations.
        init: Vec<Statement>,
        /// Condition.
        condition: Expr,
        /// Updates.
        update: Vec<Statement>,
        /// Body.
        body: Box<Statement>,
    },
    /// `for (T x in collection) body`
    ForIn {
        /// Annotations.
        annotations: Vec<Annotation>,
        /// Type of a variable declared here; `None` when an existing one is named.
        ty: Option<Type>,
        /// Variable.
        variable: Ident,
        /// Range `a .. b`, list, stack.
        collection: Expr,
        /// Body.
        body: Box<Statement>,
    },
    /// A local constant, variable or instantiation.
    Declaration(Box<Declaration>),
}

/// A condition, and what is executed when it holds and none before it does.
#[derive(Clone, Debug)]
pub struct Branch {
    /// Condition.
    pub condition: Expr,
    /// What it guards.
    pub body: Statement,
    /// From `if` to the end of the body.
    pub span: Span,
}

/// A case of a `switch`: one label with its block; a label without block falls through to the next.
#[derive(Clone, Debug)]
pub struct SwitchCase {
    /// The label: an expression, [`ExprKind::Default`](super::ExprKind::Default) for `default`.
    pub label: Expr,
    /// The block; `None` when it falls through.
    pub body: Option<Block>,
    /// The whole of it.
    pub span: Span,
}
