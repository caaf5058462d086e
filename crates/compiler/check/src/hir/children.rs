//! What is inside a statement or expression: the one list of the parts of each form.
//!
//! An analysis matches the forms that mean something to it, and takes the parts of all others from here. One that
//! follows the program's structure calls [`Statement::children`] and [`Expr::operands`]; one that only looks for
//! something iterates over [`nodes`].

use super::{Argument, Block, Call, Callee, Expr, ExprKind, KeySet, Local, State, Statement};
use super::{StatementKind, Table, Transition, VarId, operands};
use forebay_syntax::source::Span;

/// A block, a statement or an expression.
#[derive(Clone, Copy, Debug)]
pub enum Node<'a> {
    /// A block.
    Block(&'a Block),
    /// A statement.
    Statement(&'a Statement),
    /// An expression.
    Expr(&'a Expr),
}

impl<'a> Node<'a> {
    /// The nodes directly inside, in the order of their execution.
    pub fn children(self) -> Vec<Node<'a>> {
        match self {
            Node::Block(block) => block.statements.iter().map(Node::Statement).collect(),
            Node::Statement(statement) => statement.children(),
            Node::Expr(expr) => expr.operands().into_iter().map(Node::Expr).collect(),
        }
    }

    /// The call that the node is, if it is one, and its place.
    pub fn call(self) -> Option<(&'a Call, Span)> {
        match self {
            Node::Expr(Expr {
                kind: ExprKind::Call(call),
                span,
                ..
            }) => Some((call, *span)),
            _ => None,
        }
    }
}

/// Some nodes and all nodes inside them, each before what is inside it. Functions and actions are not followed.
pub fn nodes<'a>(roots: impl IntoIterator<Item = Node<'a>>) -> impl Iterator<Item = Node<'a>> {
    walk(roots, Node::children)
}

/// As [`nodes`], of the part of a tree that `children` leads to.
pub fn walk<'a>(
    roots: impl IntoIterator<Item = Node<'a>>,
    children: impl Fn(Node<'a>) -> Vec<Node<'a>>,
) -> impl Iterator<Item = Node<'a>> {
    let mut pending: Vec<Node<'a>> = roots.into_iter().collect();
    pending.reverse();
    std::iter::from_fn(move || {
        let node = pending.pop()?;
        pending.extend(children(node).into_iter().rev());
        Some(node)
    })
}

/// The calls in some nodes, each before those in its arguments, and their places.
pub fn calls<'a>(roots: impl IntoIterator<Item = Node<'a>>) -> impl Iterator<Item = (&'a Call, Span)> {
    nodes(roots).filter_map(Node::call)
}

impl Statement {
    /// The blocks, statements and expressions directly inside, in the order of their execution.
    pub fn children(&self) -> Vec<Node<'_>> {
        match &self.kind {
            StatementKind::Assign { target, value, .. } => vec![Node::Expr(target), Node::Expr(value)],
            StatementKind::Call(call) => vec![Node::Expr(call)],
            StatementKind::If { branches, otherwise } => {
                let branches = branches.iter();
                let parts = branches.flat_map(|branch| [Node::Expr(&branch.condition), Node::Block(&branch.body)]);
                parts.chain([Node::Block(otherwise)]).collect()
            }
            StatementKind::Block(block) => vec![Node::Block(block)],
            StatementKind::SwitchAction { apply, cases } => {
                let blocks = cases.iter().map(|(_, block)| Node::Block(block));
                std::iter::once(Node::Expr(apply)).chain(blocks).collect()
            }
            StatementKind::Switch { expr, cases } => {
                let parts = cases.iter().flat_map(|(labels, block)| {
                    let labels = labels.iter().flatten().map(Node::Expr);
                    labels.chain([Node::Block(block)])
                });
                std::iter::once(Node::Expr(expr)).chain(parts).collect()
            }
            StatementKind::Return(value) | StatementKind::Var(_, value) => value.iter().map(Node::Expr).collect(),
            StatementKind::For {
                init,
                condition,
                update,
                body,
            } => {
                let round = [Node::Expr(condition), Node::Block(body)];
                let before = init.iter().map(Node::Statement);
                before.chain(round).chain(update.iter().map(Node::Statement)).collect()
            }
            StatementKind::ForRange { low, high, body, .. } => {
                vec![Node::Expr(low), Node::Expr(high), Node::Block(body)]
            }
            StatementKind::ForIn { collection, body, .. } => vec![Node::Expr(collection), Node::Block(body)],
            StatementKind::Exit | StatementKind::Break | StatementKind::Continue | StatementKind::Instance(_) => {
                Vec::new()
            }
        }
    }
}

impl Expr {
    /// The expressions directly inside: of an aggregate in the order of its type, of a call the receiver and then the
    /// arguments in the order of the parameters.
    pub fn operands(&self) -> Vec<&Expr> {
        match &self.kind {
            ExprKind::Field(base, _)
            | ExprKind::TupleElement(base, _)
            | ExprKind::StackNext(base)
            | ExprKind::StackLast(base)
            | ExprKind::StackLastIndex(base)
            | ExprKind::Slice(base, ..)
            | ExprKind::Unary(_, base)
            | ExprKind::Cast(base)
            | ExprKind::TableHit(base)
            | ExprKind::TableMiss(base) => vec![base],
            ExprKind::Index(left, right) | ExprKind::PlusSlice(left, right, _) => vec![left, right],
            ExprKind::Ternary(condition, left, right) => vec![condition, left, right],
            ExprKind::Binary(first, links) => operands(first, links).collect(),
            ExprKind::Aggregate(elements) | ExprKind::Reordered(elements, _) => elements.iter().collect(),
            ExprKind::Call(call) => call.callee.operands().into_iter().chain(call.values()).collect(),
            ExprKind::Construct(instance) => instance.args.iter().flatten().collect(),
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
            | ExprKind::Invalid => Vec::new(),
        }
    }
}

impl Argument {
    /// The value that is given.
    pub fn value(&self) -> Option<&Expr> {
        match self {
            Argument::Value(value) => Some(value),
            Argument::Discard | Argument::Absent => None,
        }
    }
}

impl Call {
    /// The values among the arguments.
    pub fn values(&self) -> impl Iterator<Item = &Expr> {
        self.args.iter().filter_map(Argument::value)
    }
}

impl Callee {
    /// The object that is called, and for a stack by how many elements it is moved.
    pub fn operands(&self) -> Vec<&Expr> {
        match self {
            Callee::Function(_) | Callee::Action(_) => Vec::new(),
            Callee::Method { receiver, .. }
            | Callee::TableApply(receiver)
            | Callee::Apply(receiver)
            | Callee::IsValid(receiver)
            | Callee::SetValid(receiver)
            | Callee::SetInvalid(receiver) => vec![receiver],
            Callee::PushFront(stack, count) | Callee::PopFront(stack, count) => vec![stack, count],
        }
    }
}

impl Expr {
    /// What a place is a part of: the value whose field, element or slice it is.
    pub fn base(&self) -> Option<&Expr> {
        match &self.kind {
            ExprKind::Field(base, _)
            | ExprKind::TupleElement(base, _)
            | ExprKind::Index(base, _)
            | ExprKind::StackNext(base)
            | ExprKind::StackLast(base)
            | ExprKind::Slice(base, ..)
            | ExprKind::PlusSlice(base, ..) => Some(base),
            _ => None,
        }
    }

    /// The variable that a place is, or is a part of.
    pub fn variable(&self) -> Option<VarId> {
        match &self.kind {
            ExprKind::Var(id) => Some(*id),
            _ => self.base()?.variable(),
        }
    }
}

impl State {
    /// The statements, then what the transition evaluates.
    pub fn children(&self) -> impl Iterator<Item = Node<'_>> {
        let transition = self.transition.operands().into_iter();
        self.statements
            .iter()
            .map(Node::Statement)
            .chain(transition.map(Node::Expr))
    }
}

impl Local {
    /// The initial value of a variable.
    pub fn value(&self) -> Option<&Expr> {
        match self {
            Local::Var(_, value) => value.as_ref(),
            Local::Instance(_) | Local::ValueSet(_) | Local::Action(_) | Local::Table(_) => None,
        }
    }
}

impl KeySet {
    /// The values that make up the set.
    pub fn operands(&self) -> Vec<&Expr> {
        match self {
            KeySet::Any | KeySet::ValueSet(_) => Vec::new(),
            KeySet::Value(value) => vec![value],
            KeySet::Mask(left, right) | KeySet::Range(left, right) => vec![left, right],
        }
    }
}

impl Transition {
    /// The keys of a select, and the values of its cases.
    pub fn operands(&self) -> Vec<&Expr> {
        match self {
            Transition::Direct(_) => Vec::new(),
            Transition::Select { keys, cases, .. } => {
                let keysets = cases.iter().flat_map(|(keysets, ..)| keysets);
                keys.iter().chain(keysets.flat_map(KeySet::operands)).collect()
            }
        }
    }
}

impl Table {
    /// What applying the table evaluates: its key, and the arguments that it gives to actions.
    pub fn operands(&self) -> impl Iterator<Item = &Expr> {
        let keys = self.keys.iter().map(|key| &key.expr);
        keys.chain(self.actions.iter().flat_map(|listed| &listed.args))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hir::Program;
    use forebay_syntax::source::MemorySources;
    use forebay_syntax::{ParseOptions, parse_text};

    const EVERYTHING: &str = include_str!("../../tests/programs/everything.p4");

    fn program(text: &str) -> Program {
        let provider = MemorySources::new();
        let parsed = parse_text("test.p4", text.to_string(), &ParseOptions::new(&provider));
        crate::check(&parsed.program).0.expect("the program is valid")
    }

    /// The expressions in a tree, as its text for debugging has them.
    fn expressions(tree: &impl std::fmt::Debug) -> usize {
        format!("{tree:?}").matches("Expr { kind: ").count()
    }

    /// The same, as [`nodes`] has them.
    fn visited<'a>(roots: impl IntoIterator<Item = Node<'a>>) -> usize {
        nodes(roots).filter(|node| matches!(node, Node::Expr(_))).count()
    }

    #[test]
    fn no_expression_is_left_out() {
        let program = program(EVERYTHING);
        for body in program.functions.iter().filter_map(|function| function.body.as_ref()) {
            assert_eq!(visited([Node::Block(body)]), expressions(body));
        }
        for action in &program.actions {
            assert_eq!(
                visited([Node::Block(&action.body)]),
                expressions(&action.body),
                "{}",
                action.name
            );
        }
        for body in program.controls.iter().filter_map(|control| control.body.as_ref()) {
            let values = body.locals.iter().filter_map(Local::value).map(Node::Expr);
            assert_eq!(visited(values.chain([Node::Block(&body.apply)])), expressions(body));
        }
        for state in program
            .parsers
            .iter()
            .flat_map(|parser| &parser.body)
            .flat_map(|body| &body.states)
        {
            assert_eq!(visited(state.children()), expressions(state), "{}", state.name);
        }
    }

    #[test]
    fn nodes_come_in_the_order_of_execution() {
        let program = program(
            "extern bit<8> f(in bit<8> x);
             control c(inout bit<8> a) { apply {
                 for (bit<8> i = f(1); f(2) < i; i = f(5)) { if (f(3) == 0) { a = f(f(4)); } }
                 switch (f(6)) { 0: { a = f(7); } default: { f(8); } }
             } }",
        );
        let body = program.controls[0].body.as_ref().expect("it is no type");
        let args = calls([Node::Block(&body.apply)]).filter_map(|(call, _)| match &call.values().next()?.kind {
            ExprKind::Int(value) => Some(value.to_string()),
            _ => None,
        });
        assert_eq!(args.collect::<Vec<_>>(), ["1", "2", "3", "4", "5", "6", "7", "8"]);
    }

    #[test]
    fn a_place_is_a_part_of_a_variable() {
        let program = program(
            "header H { bit<8> f; } struct S { H[2] h; }
             control c(inout S s, in bit<1> i) { apply { s.h[i].f[3:0] = 1; } }",
        );
        let body = program.controls[0].body.as_ref().expect("it is no type");
        let places = nodes([Node::Block(&body.apply)]).filter_map(|node| match node {
            Node::Expr(expr) => Some(expr.variable().map(|var| program.vars[var.index()].name.clone())),
            _ => None,
        });
        let of_s = || Some("s".to_string());
        let expected = [of_s(), of_s(), of_s(), of_s(), of_s(), Some("i".to_string()), None];
        assert_eq!(places.collect::<Vec<_>>(), expected);
    }
}
