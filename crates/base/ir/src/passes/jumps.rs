//! Jump threading: a jump to a jump becomes a jump to the latter's target.

use crate::{Block, BlockId, Body, Program, Terminator};

/// Redirects every reference to an empty block that only jumps, replaces a jump to an empty final block by that
/// block's end, and turns a branch whose two targets are equal into a jump. Blocks with a label are parser states:
/// they stay, even if they are empty.
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
        if let Some(end) = end_after(body, &body.blocks[index]) {
            body.blocks[index].terminator = end;
            changed = true;
        }
    }
    changed
}

/// The final target of a jump to `start`. A cycle of empty blocks is left as it is, because the program really loops
/// there.
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

/// How the body ends, if the block only jumps to an empty final block.
fn end_after(body: &Body, block: &Block) -> Option<Terminator> {
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
