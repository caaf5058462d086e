//! Which calls of a body may be executed.
//!
//! Code under a condition that is known to be false is not executed, so a table that is applied only there is not in
//! P4Info. Code after `exit` and `return` counts, as in p4c.

use forebay_check::hir::{Call, Expr, Node, Statement, StatementKind, walk};
use forebay_syntax::source::Span;

/// Whether a condition is known to be true or false.
pub type Known<'k> = &'k dyn Fn(&Expr) -> Option<bool>;

/// The calls in some statements that may be executed, in order.
pub fn calls<'a>(statements: &'a [Statement], known: Known) -> impl Iterator<Item = (&'a Call, Span)> {
    let nodes = walk(statements.iter().map(Node::Statement), |node| executed(node, known));
    nodes.filter_map(Node::call)
}

/// The parts of a node that may be executed.
fn executed<'a>(node: Node<'a>, known: Known) -> Vec<Node<'a>> {
    let Node::Statement(Statement {
        kind: StatementKind::If { branches, otherwise },
        ..
    }) = node
    else {
        return node.children();
    };
    let mut parts = Vec::new();
    for branch in branches {
        parts.push(Node::Expr(&branch.condition));
        let value = known(&branch.condition);
        if value != Some(false) {
            parts.push(Node::Block(&branch.body));
        }
        if value == Some(true) {
            return parts;
        }
    }
    parts.push(Node::Block(otherwise));
    parts
}
