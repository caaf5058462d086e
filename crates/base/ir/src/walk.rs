//! Walks over graphs of blocks: those of bodies, and others with the same numbers.

use crate::{BlockId, Body};
use std::collections::BTreeSet;

/// A depth-first walk over blocks.
pub struct Walk {
    /// The reachable blocks. Each comes before those to which it leads, unless it leads back.
    pub order: Vec<BlockId>,
    /// The blocks at which loops begin: a path leads back to them.
    pub loops: BTreeSet<BlockId>,
}

impl Walk {
    /// Walks over `count` blocks, beginning at one of them.
    pub fn from(first: BlockId, count: usize, successors: impl Fn(BlockId) -> Vec<BlockId>) -> Walk {
        let (mut order, mut loops) = (Vec::new(), BTreeSet::new());
        // Whether a block is on the current path, if it has been visited; and the path, with what is left to visit.
        let mut is_open = vec![None; count];
        let mut path = vec![(first, successors(first))];
        is_open[first.index()] = Some(true);
        while let Some((id, pending)) = path.last_mut() {
            let Some(next) = pending.pop() else {
                is_open[id.index()] = Some(false);
                order.push(*id);
                path.pop();
                continue;
            };
            match is_open[next.index()] {
                None => {
                    is_open[next.index()] = Some(true);
                    path.push((next, successors(next)));
                }
                Some(true) => drop(loops.insert(next)),
                Some(false) => {}
            }
        }
        order.reverse();
        Walk { order, loops }
    }

    /// Walks over the blocks of a body, beginning at its entry.
    pub fn over_body(body: &Body) -> Walk {
        Walk::over_body_from(BlockId(0), body)
    }

    /// Walks over the blocks of a body, beginning at one of them.
    pub(crate) fn over_body_from(first: BlockId, body: &Body) -> Walk {
        let successors = |id: BlockId| body.blocks[id.index()].terminator.successors();
        Walk::from(first, body.blocks.len(), successors)
    }
}
