//! `switch` statements (§12.7).

use crate::context::Context;
use crate::expression;
use crate::graph;
use crate::statement;
use crate::storage;
use crate::table;
use crate::types::NAME_WIDTH;
use crate::value::Value;
use forebay_bits::Bits;
use forebay_check::hir::{self, Block};
use forebay_ir::{BlockId, Expr, KeySet, SelectCase, Terminator};

/// `switch (t.apply().action_run)`
pub fn on_action(cx: &mut Context, apply: &hir::Expr, cases: &[(Vec<Option<usize>>, Block)]) {
    let action_run = storage::temporary(cx, NAME_WIDTH);
    let hir::ExprKind::Call(call) = &apply.kind else { return };
    let hir::Callee::TableApply(table) = &call.callee else {
        return;
    };
    table::apply(cx, table, None, Some(action_run));
    let labels = cases.iter().map(|(labels, block)| {
        let labels = labels
            .iter()
            .map(|label| label.map(|index| KeySet::Exact(Bits::new(NAME_WIDTH, index as u128))));
        (labels.collect(), block)
    });
    let labels = labels.collect();
    select(cx, Expr::Slot(action_run), labels);
}

/// `switch (expr)`
pub fn on_value(cx: &mut Context, expr: &hir::Expr, cases: &[(Vec<Option<hir::Expr>>, Block)]) {
    let key = expression::scalar(cx, expr);
    let width = key.width(&cx.program);
    let mut labels = Vec::new();
    for (case_labels, block) in cases {
        let mut values = Vec::new();
        for label in case_labels {
            values.push(label.as_ref().map(|label| label_keyset(cx, label, width)));
        }
        labels.push((values, block));
    }
    select(cx, key, labels);
}

/// The value of a label. It is known only at run time where it is action data, or a parameter without direction of a
/// control that is applied more than once.
fn label_keyset(cx: &mut Context, label: &hir::Expr, width: u32) -> KeySet {
    match expression::expression(cx, label) {
        Value::Scalar(Expr::Const(bits)) => KeySet::Exact(bits),
        Value::Integer(number) => KeySet::Exact(Bits::from_bigint(width, &number)),
        value => KeySet::Equals(expression::scalar_of(cx, value, &label.ty, label.span)),
    }
}

/// Jumps to the block whose labels contain the key's value; the label `None` stands for all other values.
fn select(cx: &mut Context, key: Expr, cases: Vec<(Vec<Option<KeySet>>, &Block)>) {
    let after = graph::new_block(cx);
    let targets: Vec<BlockId> = cases.iter().map(|_| graph::new_block(cx)).collect();
    let mut default = after;
    let mut select_cases = Vec::new();
    for ((labels, _), target) in cases.iter().zip(&targets) {
        for label in labels {
            match label {
                Some(keyset) => {
                    select_cases.push(SelectCase {
                        keysets: vec![keyset.clone()],
                        target: *target,
                    });
                }
                None => default = *target,
            }
        }
    }
    terminate(cx, key, select_cases, default);
    for ((_, block), target) in cases.iter().zip(&targets) {
        graph::start(cx, *target);
        statement::block(cx, block);
        graph::jump(cx, after);
    }
    graph::start(cx, after);
}

fn terminate(cx: &mut Context, key: Expr, cases: Vec<SelectCase>, default: BlockId) {
    let are_exact = cases.iter().all(|case| matches!(case.keysets[0], KeySet::Exact(_)));
    if let (Expr::Const(key), true) = (&key, are_exact) {
        let hit = cases
            .iter()
            .find(|case| matches!(&case.keysets[0], KeySet::Exact(value) if value == key));
        let target = hit.map_or(default, |case| case.target);
        graph::jump(cx, target);
    } else if cases.is_empty() {
        graph::jump(cx, default);
    } else {
        graph::terminate(
            cx,
            Terminator::Select {
                keys: vec![key],
                cases,
                default,
            },
        );
    }
}
