//! What operations and expressions read and write, and how many stages they take.

use forebay_ir::{Action, BinaryOp, Body, Expr, Op, Program, SlotId};
use std::collections::{BTreeMap, BTreeSet};

/// Slots.
pub(crate) type Slots = BTreeSet<SlotId>;

/// Reads, writes and the time they take.
#[derive(Clone, Debug, Default)]
pub(crate) struct Effects {
    pub(crate) reads: Slots,
    pub(crate) writes: Slots,
    /// Stages one after the other, at least 1 when anything is written.
    pub(crate) stages: usize,
    /// Arithmetic that stages do not have.
    pub(crate) impossible: BTreeSet<&'static str>,
}

/// The slots in an expression.
pub(crate) fn slots_of(expr: &Expr) -> Slots {
    let mut slots = Slots::new();
    expr.for_each_slot(&mut |slot| {
        slots.insert(slot);
    });
    slots
}

/// The slots that an operation reads.
pub(crate) fn reads_of(op: &Op) -> Slots {
    let mut slots = Slots::new();
    op.for_each_slot_read(&mut |slot| {
        slots.insert(slot);
    });
    slots
}

/// Steps of arithmetic one after the other. Comparisons with constants are conditions, which are free.
pub(crate) fn depth(expr: &Expr) -> usize {
    match expr {
        Expr::Const(_) | Expr::Slot(_) | Expr::Param { .. } => 0,
        Expr::Slice { operand, .. }
        | Expr::ZeroExtend(_, operand)
        | Expr::SignExtend(_, operand)
        | Expr::Truncate(_, operand) => depth(operand),
        Expr::Concat(high, low) => depth(high).max(depth(low)),
        Expr::Unary(_, operand) => 1 + depth(operand),
        Expr::Binary(_, left, right) => 1 + depth(left).max(depth(right)),
        Expr::Mux {
            condition,
            then_value,
            else_value,
        } => depth(condition).max(depth(then_value)).max(depth(else_value)).max(1),
    }
}

/// What no stage computes.
fn impossible(expr: &Expr, found: &mut BTreeSet<&'static str>) {
    match expr {
        Expr::Const(_) | Expr::Slot(_) | Expr::Param { .. } => {}
        Expr::Slice { operand, .. }
        | Expr::ZeroExtend(_, operand)
        | Expr::SignExtend(_, operand)
        | Expr::Truncate(_, operand)
        | Expr::Unary(_, operand) => impossible(operand, found),
        Expr::Concat(left, right) => {
            impossible(left, found);
            impossible(right, found);
        }
        Expr::Binary(op, left, right) => {
            match op {
                BinaryOp::Mul => found.insert("multiplication"),
                BinaryOp::Div | BinaryOp::Mod => found.insert("division"),
                _ => false,
            };
            impossible(left, found);
            impossible(right, found);
        }
        Expr::Mux {
            condition,
            then_value,
            else_value,
        } => [condition, then_value, else_value]
            .into_iter()
            .for_each(|expr| impossible(expr, found)),
    }
}

impl Effects {
    /// The effects of operations that are executed one after another.
    pub(crate) fn of<'o>(program: &Program, ops: impl Iterator<Item = &'o Op>) -> Effects {
        let mut effects = Effects::default();
        // In which stage the latest value of a slot is computed.
        let mut computed: BTreeMap<SlotId, usize> = BTreeMap::new();
        for op in ops {
            let reads = reads_of(op);
            let steps = op.exprs().into_iter().map(depth).max().unwrap_or(0).max(1);
            let begin = reads.iter().filter_map(|slot| computed.get(slot)).max();
            let end = begin.copied().unwrap_or(0) + steps;
            let inputs = reads.into_iter().filter(|slot| !computed.contains_key(slot));
            effects.reads.extend(inputs);
            for expr in op.exprs() {
                impossible(expr, &mut effects.impossible);
            }
            for slot in op.slots_written(program) {
                computed.insert(slot, end);
                effects.writes.insert(slot);
            }
            effects.stages = effects.stages.max(end);
        }
        effects
    }

    /// The effects of an action.
    pub(crate) fn of_action(program: &Program, action: &Action) -> Effects {
        let body: &Body = &program.bodies[action.body.index()];
        let mut effects = Effects::of(program, body.statements().map(|statement| &statement.op));
        for expr in body.blocks.iter().flat_map(|block| block.terminator.exprs()) {
            effects.reads.extend(slots_of(expr));
        }
        effects
    }

    /// Together with others that are never executed for the same packet.
    pub(crate) fn or(mut self, other: Effects) -> Effects {
        self.reads.extend(other.reads);
        self.writes.extend(other.writes);
        self.impossible.extend(other.impossible);
        self.stages = self.stages.max(other.stages);
        self
    }
}
