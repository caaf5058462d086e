//! Merges chains of blocks.

use crate::{BlockId, Body, Program, Terminator};

/// Appends a block to its only predecessor if that only jumps to it. Blocks with a label are parser states and stay.
/// The appended block is removed.
pub fn merge_blocks(program: &mut Program) -> bool {
    let mut changed = false;
    for body in &mut program.bodies {
        changed |= merge_body(body);
    }
    changed
}

pub(super) fn merge_body(body: &mut Body) -> bool {
    forebay_budget::check();
    let mut predecessors = vec![0u32; body.blocks.len()];
    for block in &body.blocks {
        for target in block.terminator.successors() {
            predecessors[target.index()] += 1;
        }
    }
    let mut changed = false;
    for index in 0..body.blocks.len() {
        while let Some(next) = mergeable(body, BlockId(index as u32), &predecessors) {
            append(body, index, next);
            changed = true;
        }
    }
    if changed {
        super::unreachable::remove_from(body);
    }
    changed
}

/// The block that can be appended to `from`.
fn mergeable(body: &Body, from: BlockId, predecessors: &[u32]) -> Option<BlockId> {
    let Terminator::Jump(next) = body.blocks[from.index()].terminator else {
        return None;
    };
    let is_entry = next == BlockId(0);
    let only_one = predecessors[next.index()] == 1;
    (only_one && !is_entry && next != from && body.blocks[next.index()].label.is_none()).then_some(next)
}

/// Moves the contents of `next` to the end of block `index`. `next` keeps an end without successors.
fn append(body: &mut Body, index: usize, next: BlockId) {
    let next = &mut body.blocks[next.index()];
    let statements = std::mem::take(&mut next.statements);
    let terminator = std::mem::replace(&mut next.terminator, Terminator::Return);
    let location = next.location;
    let block = &mut body.blocks[index];
    block.statements.extend(statements);
    block.terminator = terminator;
    block.location = location;
}
