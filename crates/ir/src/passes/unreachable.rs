//! Removal of blocks that nothing leads to.

use crate::{BlockId, Body, Program};

/// Removes blocks that no path from their body's entry reaches, and numbers the others anew in the same order.
pub fn remove_unreachable_blocks(program: &mut Program) -> bool {
    let mut changed = false;
    for body in &mut program.bodies {
        changed |= remove_from(body);
    }
    changed
}

fn remove_from(body: &mut Body) -> bool {
    let reached = body.reachable_blocks();
    if reached.iter().all(|reached| *reached) {
        return false;
    }
    let mut numbers = Vec::with_capacity(reached.len());
    let mut next = 0;
    for reached in &reached {
        numbers.push(BlockId(next));
        next += u32::from(*reached);
    }
    let mut keep = reached.iter();
    body.blocks
        .retain(|_| *keep.next().expect("there is a mark for each block"));
    for block in &mut body.blocks {
        for target in block.terminator.successors_mut() {
            *target = numbers[target.index()];
        }
    }
    true
}
