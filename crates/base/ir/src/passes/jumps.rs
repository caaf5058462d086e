//! Jump threading: a jump to a jump goes where that goes.

use crate::{Block, BlockId, Body, Program, Terminator};

/// Redirects every reference to an empty block that only jumps on, makes a jump to an empty end that end, and turns a
/// branch whose two targets are one into a jump. Blocks with a label are parser states: they stay, though they may be
/// empty.
pub fn thread_jumps(program: &mut Program) -> bool {
    let mut changed = false;
    for body in &mut program.bodies {
        changed |= thread_body(body);
    }
    changed
}

pub(super) fn thread_body(body: &mut Body) -> bool {
    forebay_budget::check();
    let destinations: Vec<BlockId> = (0..body.blocks.len() as u32)
        .map(|id| destination(body, BlockId(id)))
        .collect();
    let mut changed = false;
    for block in &mut body.blocks {
        for target in block.terminator.successors_mut() {
            changed |= *target != destinations[target.index()];
            *target = destinations[target.index()];
        }
        if let Terminator::Branch {
            then_block, else_block, ..
        } = block.terminator
            && then_block == else_block
        {
            block.terminator = Terminator::Jump(then_block);
            changed = true;
        }
    }
    for index in 0..body.blocks.len() {
        if let Some(end) = end_behind(body, &body.blocks[index]) {
            body.blocks[index].terminator = end;
            changed = true;
        }
    }
    changed
}

/// Where a jump to `start` ends up. A cycle of empty blocks is left as it is: the program says not to go on.
pub(super) fn destination(body: &Body, start: BlockId) -> BlockId {
    let mut at = start;
    for _ in 0..body.blocks.len() {
        let block = &body.blocks[at.index()];
        match block.terminator {
            Terminator::Jump(next) if is_empty(block) => at = next,
            _ => return at,
        }
    }
    start
}

/// How the body ends when the block only jumps to an empty block that ends it.
fn end_behind(body: &Body, block: &Block) -> Option<Terminator> {
    let Terminator::Jump(next) = block.terminator else {
        return None;
    };
    let next = &body.blocks[next.index()];
    let ends = matches!(next.terminator, Terminator::Return | Terminator::Exit);
    (ends && is_empty(next)).then(|| next.terminator.clone())
}

fn is_empty(block: &Block) -> bool {
    block.statements.is_empty() && block.label.is_none()
}
