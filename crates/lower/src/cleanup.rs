//! Tidying up a finished control-flow graph: empty blocks are skipped, unreachable ones dropped, chains joined, and what
//! is left is put in reverse post-order, the entry first. Blocks with a label (parser states) are never joined to the block
//! before them, so that every state keeps its name.

use forebay_ir::{Block, BlockId, Body, Location, Terminator};

/// Cleans a body.
pub fn clean(mut body: Body) -> Body {
    skip_empty_blocks(&mut body.blocks);
    join_chains(&mut body.blocks);
    reorder(body)
}

fn targets_mut(terminator: &mut Terminator) -> Vec<&mut BlockId> {
    match terminator {
        Terminator::Jump(next) | Terminator::Apply { next, .. } => vec![next],
        Terminator::Branch {
            then_block, else_block, ..
        } => vec![then_block, else_block],
        Terminator::Select { cases, default, .. } => cases
            .iter_mut()
            .map(|case| &mut case.target)
            .chain(std::iter::once(default))
            .collect(),
        Terminator::Return | Terminator::Exit | Terminator::Reject(_) => Vec::new(),
    }
}

/// Leads every jump to an empty block on to where that one goes.
fn skip_empty_blocks(blocks: &mut [Block]) {
    let next = |block: &Block| match block {
        Block {
            label: None,
            statements,
            terminator: Terminator::Jump(next),
            ..
        } if statements.is_empty() => Some(*next),
        _ => None,
    };
    let skips: Vec<Option<BlockId>> = blocks.iter().map(next).collect();
    let end = |from: BlockId| {
        let mut block = from;
        let mut steps = 0;
        while let Some(next) = skips[block.index()] {
            block = next;
            steps += 1;
            if steps > skips.len() {
                return from;
            }
        }
        block
    };
    for block in blocks.iter_mut() {
        for target in targets_mut(&mut block.terminator) {
            *target = end(*target);
        }
        if let Terminator::Branch {
            then_block, else_block, ..
        } = &block.terminator
            && then_block == else_block
        {
            block.terminator = Terminator::Jump(*then_block);
        }
    }
    for index in 0..blocks.len() {
        if let Some(terminator) = final_terminator(blocks, index) {
            blocks[index].terminator = terminator;
        }
    }
}

/// How the body ends after a block that jumps to an empty last block.
fn final_terminator(blocks: &[Block], index: usize) -> Option<Terminator> {
    let Terminator::Jump(next) = blocks[index].terminator else {
        return None;
    };
    let target = &blocks[next.index()];
    let is_end = matches!(target.terminator, Terminator::Return | Terminator::Exit);
    (is_end && target.label.is_none() && target.statements.is_empty()).then(|| target.terminator.clone())
}

/// Appends a block to the one that jumps to it, when nobody else does.
fn join_chains(blocks: &mut [Block]) {
    let mut predecessors = vec![0usize; blocks.len()];
    let reachable = reachable(blocks);
    for index in &reachable {
        for successor in blocks[*index].terminator.successors() {
            predecessors[successor.index()] += 1;
        }
    }
    predecessors[0] += 1;
    // From the front: a chain is appended to its head block by block.
    for index in reachable.into_iter().rev() {
        while let Terminator::Jump(next) = blocks[index].terminator {
            let next = next.index();
            if next == index || predecessors[next] != 1 || blocks[next].label.is_some() {
                break;
            }
            let empty = Block {
                label: None,
                statements: Vec::new(),
                terminator: Terminator::Return,
                location: Location::default(),
            };
            let joined = std::mem::replace(&mut blocks[next], empty);
            predecessors[next] = 0;
            blocks[index].statements.extend(joined.statements);
            blocks[index].terminator = joined.terminator;
            blocks[index].location = joined.location;
        }
    }
}

/// Reachable blocks in post-order.
fn reachable(blocks: &[Block]) -> Vec<usize> {
    let mut seen = vec![false; blocks.len()];
    let mut order = Vec::new();
    let mut pending = vec![(0, blocks[0].terminator.successors())];
    seen[0] = true;
    while let Some((block, successors)) = pending.last_mut() {
        match successors.pop() {
            Some(next) if !seen[next.index()] => {
                seen[next.index()] = true;
                pending.push((next.index(), blocks[next.index()].terminator.successors()));
            }
            Some(_) => {}
            None => {
                order.push(*block);
                pending.pop();
            }
        }
    }
    order
}

fn reorder(body: Body) -> Body {
    let mut order = reachable(&body.blocks);
    order.reverse();
    let entry_is_empty = |blocks: &[Block]| blocks[0].statements.is_empty() && blocks[0].label.is_none();
    if let (true, Terminator::Jump(next)) = (entry_is_empty(&body.blocks), &body.blocks[0].terminator) {
        let next = next.index();
        order.retain(|index| *index != 0 && *index != next);
        order.insert(0, next);
    }
    let mut numbers = vec![BlockId(0); body.blocks.len()];
    for (number, index) in order.iter().enumerate() {
        numbers[*index] = BlockId(number as u32);
    }
    let mut blocks: Vec<Option<Block>> = body.blocks.into_iter().map(Some).collect();
    let renumbered = order.into_iter().filter_map(|index| {
        let mut block = blocks[index].take()?;
        for target in targets_mut(&mut block.terminator) {
            *target = numbers[target.index()];
        }
        Some(block)
    });
    Body {
        name: body.name,
        kind: body.kind,
        blocks: renumbered.collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use forebay_ir::{BodyKind, Expr};

    fn block(label: Option<&str>, terminator: Terminator) -> Block {
        Block {
            label: label.map(str::to_string),
            statements: Vec::new(),
            terminator,
            location: Location::default(),
        }
    }

    #[test]
    fn empty_and_unreachable_blocks_disappear_and_states_stay() {
        let blocks = vec![
            block(None, Terminator::Jump(BlockId(2))),
            block(None, Terminator::Return),
            block(Some("start"), Terminator::Jump(BlockId(3))),
            block(None, Terminator::Jump(BlockId(4))),
            block(Some("next"), Terminator::Jump(BlockId(2))),
            block(None, Terminator::Reject(Expr::Const(forebay_bits::Bits::zero(32)))),
        ];
        let body = clean(Body {
            name: "p".to_string(),
            kind: BodyKind::Parser,
            blocks,
        });
        let labels: Vec<_> = body.blocks.iter().map(|block| block.label.as_deref()).collect();
        assert_eq!(labels, [Some("start"), Some("next")]);
        assert_eq!(body.blocks[1].terminator, Terminator::Jump(BlockId(0)));
    }
}
