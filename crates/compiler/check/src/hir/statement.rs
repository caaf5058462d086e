//! Statements.

use super::{Annotations, Expr, InstanceId, VarId};
use forebay_syntax::source::Span;

/// A sequence of statements.
#[derive(Clone, Debug, Default)]
pub struct Block {
    /// In order.
    pub statements: Vec<Statement>,
    /// Annotations (`@atomic`).
    pub annotations: Annotations,
}

/// A statement.
#[derive(Clone, Debug)]
pub struct Statement {
    /// Which.
    pub kind: StatementKind,
    /// Where.
    pub span: Span,
}

/// A condition, and what is executed when it holds and none before it does.
#[derive(Clone, Debug)]
pub struct Branch {
    /// The condition, of type `bool`.
    pub condition: Expr,
    /// What it guards.
    pub body: Block,
    /// From `if` to the end of the body.
    pub span: Span,
}

/// Forms of statements. Compound assignments have become assignments.
#[derive(Clone, Debug)]
pub enum StatementKind {
    /// `target = value`; the types are equal.
    Assign {
        /// An l-value: variable, field, index, slice.
        target: Expr,
        /// Value.
        value: Expr,
        /// Whether it is written with an operator, `target op= e`: the value is `target op e`, whose first operand is
        /// the target, which is evaluated once.
        compound: bool,
    },
    /// A call whose result is not used.
    Call(Expr),
    /// `if`, with all of its `else if`
    If {
        /// In order; there is at least one.
        branches: Vec<Branch>,
        /// What follows the last `else`.
        otherwise: Block,
    },
    /// Nested block.
    Block(Block),
    /// `switch (t.apply().action_run)`
    SwitchAction {
        /// The apply call ([`Callee::TableApply`](super::Callee::TableApply)).
        apply: Expr,
        /// Index into [`Table::actions`](super::Table::actions) of each label (`None` for `default`) and what to do;
        /// fall-through labels share a case.
        cases: Vec<(Vec<Option<usize>>, Block)>,
    },
    /// `switch (e)`
    Switch {
        /// What is switched on.
        expr: Expr,
        /// Compile-time labels (`None` for `default`) and what to do.
        cases: Vec<(Vec<Option<Expr>>, Block)>,
    },
    /// `return`
    Return(Option<Expr>),
    /// `exit`
    Exit,
    /// `break`
    Break,
    /// `continue`
    Continue,
    /// `for (init; condition; update)`
    For {
        /// Before.
        init: Vec<Statement>,
        /// Condition.
        condition: Expr,
        /// After each round.
        update: Vec<Statement>,
        /// Body.
        body: Block,
    },
    /// `for (v in low .. high)`
    ForRange {
        /// Variable.
        variable: VarId,
        /// First value.
        low: Expr,
        /// Last value.
        high: Expr,
        /// Body.
        body: Block,
    },
    /// `for (v in collection)`: a stack, list or tuple.
    ForIn {
        /// Variable.
        variable: VarId,
        /// Collection.
        collection: Expr,
        /// Body.
        body: Block,
    },
    /// Declaration of a local variable.
    Var(VarId, Option<Expr>),
    /// Declaration of a local instance (in a parser state or block).
    Instance(InstanceId),
}
