//! Liveness of slots within a body, an action for example.
//!
//! Liveness is propagated backwards. Where one of several bodies may run (the actions of a table), a slot is live before
//! them if it is live before one of them. Every operation of a parser may end it with an error, so whatever is live
//! after a rejection is live throughout the parser.

use crate::analysis::solve;
use forebay_ir::{Block, Body, Expr, IndexSet, Op, Program, TableId, Terminator};

/// By the way in which a body ends: the slots that are live afterwards.
pub(crate) struct LiveAtEnds<'a> {
    pub(crate) returned: &'a IndexSet,
    pub(crate) exited: &'a IndexSet,
    /// For a parser.
    pub(crate) rejected: Option<&'a IndexSet>,
}

/// The slots that are live at the beginning of a body.
pub(crate) fn live_before(program: &Program, body: &Body, ends: &LiveAtEnds<'_>) -> IndexSet {
    let nothing = vec![IndexSet::new(program.slots.len()); body.blocks.len()];
    let before = |index: usize, at_start: &[IndexSet]| before_block(program, &body.blocks[index], at_start, ends);
    solve(nothing, before).swap_remove(0)
}

fn before_block(program: &Program, block: &Block, at_start: &[IndexSet], ends: &LiveAtEnds<'_>) -> IndexSet {
    let mut live = match &block.terminator {
        Terminator::Return => ends.returned.clone(),
        Terminator::Exit => ends.exited.clone(),
        Terminator::Reject(_) => ends.rejected.unwrap_or(ends.returned).clone(),
        Terminator::Apply { table, next, .. } => {
            let mut live = before_actions(program, *table, &at_start[next.index()], ends.exited);
            live.remove_slots(block.terminator.results());
            live
        }
        other => after_terminator(program, other, at_start),
    };
    read_by_terminator(program, &block.terminator, &mut live);
    for statement in block.statements.iter().rev() {
        step(program, &statement.op, &mut live);
    }
    ends.rejected.into_iter().for_each(|rejected| live.extend(rejected));
    live
}

/// The slots that are live between a look-up and the actions of its table. `next` are those that are live after an
/// action that returns, `exited` after one that exits.
pub(crate) fn before_actions(program: &Program, table: TableId, next: &IndexSet, exited: &IndexSet) -> IndexSet {
    let ends = LiveAtEnds {
        returned: next,
        exited,
        rejected: None,
    };
    let mut live = next.clone();
    for action in program.actions_of(table) {
        live.extend(&live_before(program, action, &ends));
    }
    live
}

/// The slots that are live after a terminator, from those at the start of each block.
pub(crate) fn after_terminator(program: &Program, terminator: &Terminator, at_start: &[IndexSet]) -> IndexSet {
    let mut live = IndexSet::new(program.slots.len());
    for successor in terminator.successors() {
        live.extend(&at_start[successor.index()]);
    }
    live
}

/// Adds what a terminator reads, the keys of a table included.
pub(crate) fn read_by_terminator(program: &Program, terminator: &Terminator, live: &mut IndexSet) {
    terminator.for_each_slot_read(program, &mut |slot| live.insert(slot.index()));
}

/// Updates the live slots from after an operation to before it.
pub(crate) fn step(program: &Program, op: &Op, live: &mut IndexSet) {
    match op {
        Op::Extract { header, .. } => live.remove_slots(program.headers[header.index()].slots()),
        Op::Emit { header } => live.insert_slots(program.headers[header.index()].slots()),
        _ => live.remove_slots(op.certain_target()),
    }
    op.for_each_slot_read(&mut |slot| live.insert(slot.index()));
}

/// Adds the slots that an expression reads.
pub(crate) fn read(expr: &Expr, live: &mut IndexSet) {
    expr.for_each_slot(&mut |slot| live.insert(slot.index()));
}
