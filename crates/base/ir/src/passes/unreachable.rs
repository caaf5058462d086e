//! Removes unreachable blocks, and orders the others.

use super::jumps;
use crate::{Block, BlockId, Body, Program, Walk};

/// Removes blocks that are not reachable from their body's entry, and an empty entry. The others are renumbered in
/// reverse post-order: except in loops, a block comes after all of its predecessors.
pub fn remove_unreachable_blocks(program: &mut Program) -> bool {
    let mut changed = false;
    for body in &mut program.bodies {
        changed |= remove_from(body);
    }
    changed
}

pub(super) fn remove_from(body: &mut Body) -> bool {
    forebay_budget::check();
    let order = Walk::over_body_from(jumps::destination(body, BlockId(0)), body).order;
    if order.len() == body.blocks.len() && order.is_sorted() {
        return false;
    }
    let mut numbers = vec![BlockId(0); body.blocks.len()];
    for (number, block) in order.iter().enumerate() {
        numbers[block.index()] = BlockId(number as u32);
    }
    let mut blocks: Vec<Option<Block>> = std::mem::take(&mut body.blocks).into_iter().map(Some).collect();
    for id in order {
        let mut block = blocks[id.index()].take().expect("the order names each block once");
        for target in block.terminator.successors_mut() {
            *target = numbers[target.index()];
        }
        body.blocks.push(block);
    }
    true
}
