//! On which conditions the blocks of a control depend.
//!
//! A block depends on a branch when one of the ways from there leads through it for certain and another does not (control
//! dependence, after J. Ferrante, K. Ottenstein and J. Warren, "The program dependence graph", 1987).

use forebay_ir::{BlockId, Body, SlotId};
use std::collections::BTreeSet;

/// Order and conditions of a body's blocks.
pub(crate) struct Conditions {
    /// Blocks that can be reached, each before all that follow it.
    pub(crate) order: Vec<BlockId>,
    /// By block: what can be reached from it, itself excluded.
    reachable: Vec<BTreeSet<BlockId>>,
    /// By block: the slots in the conditions that decide whether it is executed.
    slots: Vec<BTreeSet<SlotId>>,
}

impl Conditions {
    /// Of a body without loops.
    pub(crate) fn of(body: &Body) -> Conditions {
        let order = order(body);
        let mut reachable = vec![BTreeSet::new(); body.blocks.len()];
        let mut certain: Vec<BTreeSet<BlockId>> = vec![BTreeSet::new(); body.blocks.len()];
        for block in order.iter().rev() {
            let successors = successors(body, *block);
            let mut reached = BTreeSet::new();
            for next in &successors {
                reached.insert(*next);
                reached.extend(reachable[next.index()].iter().copied());
            }
            let mut common = successors.iter().map(|next| certain[next.index()].clone());
            let first = common.next().unwrap_or_default();
            let mut always = common.fold(first, |all, other| &all & &other);
            always.insert(*block);
            reachable[block.index()] = reached;
            certain[block.index()] = always;
        }
        let mut slots = vec![BTreeSet::new(); body.blocks.len()];
        for block in &order {
            let mut condition = BTreeSet::new();
            for expr in body.blocks[block.index()].terminator.exprs() {
                expr.for_each_slot(&mut |slot| {
                    condition.insert(slot);
                });
            }
            // What the branch itself depends on decides as well.
            condition.extend(slots[block.index()].iter().copied());
            for next in successors(body, *block) {
                for dependent in certain[next.index()].difference(&certain[block.index()]) {
                    slots[dependent.index()].extend(condition.iter().copied());
                }
            }
        }
        Conditions {
            order,
            reachable,
            slots,
        }
    }

    /// The slots that decide whether a block is executed.
    pub(crate) fn slots(&self, block: BlockId) -> &BTreeSet<SlotId> {
        &self.slots[block.index()]
    }

    /// Whether a packet may come to one block and then to the other.
    pub(crate) fn leads(&self, from: BlockId, to: BlockId) -> bool {
        from == to || self.reachable[from.index()].contains(&to)
    }
}

fn successors(body: &Body, block: BlockId) -> BTreeSet<BlockId> {
    let all = body.blocks[block.index()].terminator.successors();
    all.into_iter().collect()
}

/// Reverse postorder from the first block.
fn order(body: &Body) -> Vec<BlockId> {
    let mut seen = BTreeSet::new();
    let mut postorder = Vec::new();
    let mut stack = vec![(BlockId(0), false)];
    while let Some((block, is_done)) = stack.pop() {
        if is_done {
            postorder.push(block);
        } else if seen.insert(block) {
            stack.push((block, true));
            stack.extend(successors(body, block).into_iter().map(|next| (next, false)));
        }
    }
    postorder.reverse();
    postorder
}
