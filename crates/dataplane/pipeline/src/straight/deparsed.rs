//! Splits deparsers into the list of headers that they emit, and everything else that they do.

use super::{Refusal, assign, ends, new_slot};
use forebay_ir::{Block, BlockId, Body, Expr, HeaderId, Op, Program, Role, SlotId, Statement, Terminator, Walk, build};
use std::collections::BTreeSet;

/// What a deparser does.
pub(super) struct Deparsed {
    /// The headers that it emits if they are valid, in order.
    pub(super) emitted: Vec<HeaderId>,
    /// Everything else that the deparser does. Headers that it emits on a condition become invalid where it does not
    /// emit them.
    pub(super) blocks: Vec<Block>,
}

impl Deparsed {
    /// The deparser of a role, which emits each header in one place, and does not change it afterwards. On each path
    /// through it the headers have the order of its blocks.
    pub(super) fn of(program: &mut Program, role: Role) -> Result<Deparsed, Refusal> {
        let body = program.stage(role).expect("the graph runs it").clone();
        let mut emitted = Vec::new();
        let mut conditional = Vec::new();
        let mut final_slots: BTreeSet<SlotId> = BTreeSet::new();
        let mut blocks = body.blocks.clone();
        let walk = Walk::over_body(&body);
        if let Some(head) = walk.loops.first() {
            let location = body.blocks[head.index()].location;
            return Err(Refusal::new(location, "is in a loop of a deparser"));
        }
        for index in walk.order.into_iter().map(BlockId::index) {
            for mut statement in std::mem::take(&mut blocks[index].statements) {
                if let Op::Emit { header } = statement.op {
                    if emitted.contains(&header) {
                        return Err(Refusal::new(statement.location, "emits a header twice"));
                    }
                    emitted.push(header);
                    final_slots.extend(program.headers[header.index()].slots());
                    if is_on_all_paths(&body, index) {
                        continue;
                    }
                    let header = Conditional::of(program, header);
                    statement.op = header.is_emitted_here();
                    conditional.push(header);
                } else if changes(program, &statement.op, &final_slots) {
                    return Err(Refusal::new(
                        statement.location,
                        "changes a header that is emitted already",
                    ));
                }
                blocks[index].statements.push(statement);
            }
        }
        decide(&mut blocks, &conditional);
        Ok(Deparsed { emitted, blocks })
    }
}

/// A header that is emitted on a condition.
struct Conditional {
    valid: SlotId,
    /// Whether it was emitted.
    is_emitted: SlotId,
}

impl Conditional {
    fn of(program: &mut Program, header: HeaderId) -> Conditional {
        let valid = program.headers[header.index()].valid;
        Conditional {
            valid,
            is_emitted: new_slot(program, "whether a header is emitted", 1),
        }
    }

    /// In place of the operation that emits it.
    fn is_emitted_here(&self) -> Op {
        Op::Assign {
            slot: self.is_emitted,
            value: Expr::Slot(self.valid),
        }
    }
}

/// Lets headers be valid in the end only if they were emitted.
fn decide(blocks: &mut Vec<Block>, conditional: &[Conditional]) {
    if conditional.is_empty() {
        return;
    }
    let end = BlockId(blocks.len() as u32);
    for block in blocks.iter_mut() {
        if matches!(block.terminator, Terminator::Return | Terminator::Exit) {
            block.terminator = Terminator::Jump(end);
        }
    }
    // A copy that goes through the deparser may come after another one.
    let not_yet = conditional
        .iter()
        .map(|header| assign(header.is_emitted, build::boolean(false)));
    let mut first: Vec<Statement> = not_yet.collect();
    first.append(&mut blocks[0].statements);
    blocks[0].statements = first;
    let validity = conditional
        .iter()
        .map(|header| assign(header.valid, Expr::Slot(header.is_emitted)));
    blocks.push(ends(validity.collect()));
}

/// Whether an operation changes one of these slots.
fn changes(program: &Program, op: &Op, slots: &BTreeSet<SlotId>) -> bool {
    op.slots_written(program).iter().any(|slot| slots.contains(slot))
}

/// Whether every path through a body without loops reaches a block.
fn is_on_all_paths(body: &Body, wanted: usize) -> bool {
    let mut seen = vec![false; body.blocks.len()];
    let mut pending = vec![0];
    while let Some(index) = pending.pop() {
        if index == wanted || std::mem::replace(&mut seen[index], true) {
            continue;
        }
        let terminator = &body.blocks[index].terminator;
        if matches!(terminator, Terminator::Return | Terminator::Exit) {
            return false;
        }
        pending.extend(terminator.successors().iter().map(|next| next.index()));
    }
    true
}
