//! On which conditions the blocks of a control depend.
//!
//! A block depends on a branch when one of the ways from there leads through it for certain and another does not
//! (control dependence, after J. Ferrante, K. Ottenstein and J. Warren, "The program dependence graph", 1987).

use forebay_ir::{BlockId, Body, SlotId};
use std::collections::BTreeSet;

/// Order and conditions of a body's blocks.
pub(crate) struct Conditions {
    /// Blocks that can be reached, each before all that follow it.
    pub(crate) order: Vec<BlockId>,
    /// By block: what can be reached from it, itself excluded.
    reachable: Vec<Blocks>,
    /// By block: the slots in the conditions that decide whether it is executed.
    slots: Vec<BTreeSet<SlotId>>,
}

impl Conditions {
    /// The conditions of a body without loops.
    pub(crate) fn of(body: &Body) -> Conditions {
        let order = order(body);
        let certain = Certain::of(body, &order);
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
                for dependent in certain.of_branch(*block, next) {
                    slots[dependent.index()].extend(condition.iter().copied());
                }
            }
        }
        Conditions {
            reachable: reachable(body, &order),
            order,
            slots,
        }
    }

    /// The slots that decide whether a block is executed.
    pub(crate) fn slots(&self, block: BlockId) -> &BTreeSet<SlotId> {
        &self.slots[block.index()]
    }

    /// Whether a packet may come to one block and then to the other.
    pub(crate) fn leads(&self, from: BlockId, to: BlockId) -> bool {
        from == to || self.reachable[from.index()].contains(to)
    }
}

/// A set of a body's blocks, a bit for each.
#[derive(Clone, Default)]
struct Blocks(Vec<u64>);

impl Blocks {
    fn insert(&mut self, block: BlockId) {
        let word = block.index() / 64;
        self.0.resize(self.0.len().max(word + 1), 0);
        self.0[word] |= 1 << (block.index() % 64);
    }

    fn extend(&mut self, other: &Blocks) {
        self.0.resize(self.0.len().max(other.0.len()), 0);
        self.0.iter_mut().zip(&other.0).for_each(|(word, more)| *word |= more);
    }

    fn contains(&self, block: BlockId) -> bool {
        let word = self.0.get(block.index() / 64);
        word.is_some_and(|word| word >> (block.index() % 64) & 1 == 1)
    }
}

/// By block: what can be reached from it, itself excluded.
fn reachable(body: &Body, order: &[BlockId]) -> Vec<Blocks> {
    let mut reachable = vec![Blocks::default(); body.blocks.len()];
    for block in order.iter().rev() {
        let mut reached = Blocks::default();
        for next in successors(body, *block) {
            reached.insert(next);
            reached.extend(&reachable[next.index()]);
        }
        reachable[block.index()] = reached;
    }
    reachable
}

/// Which blocks a packet certainly comes to, as a tree: by block the next one that is certain, and how many follow.
struct Certain(Vec<(Option<BlockId>, usize)>);

impl Certain {
    fn of(body: &Body, order: &[BlockId]) -> Certain {
        let mut certain = Certain(vec![(None, 0); body.blocks.len()]);
        for block in order.iter().rev() {
            let mut successors = successors(body, *block).into_iter();
            let first = successors.next();
            let next = successors.fold(first, |common, other| certain.common(common?, other));
            let follow = next.map_or(0, |next| certain.follow(next) + 1);
            certain.0[block.index()] = (next, follow);
        }
        certain
    }

    fn next(&self, block: BlockId) -> Option<BlockId> {
        self.0[block.index()].0
    }

    fn follow(&self, block: BlockId) -> usize {
        self.0[block.index()].1
    }

    /// The first block that is certain from both.
    fn common(&self, mut one: BlockId, mut other: BlockId) -> Option<BlockId> {
        while one != other {
            if self.follow(one) < self.follow(other) {
                std::mem::swap(&mut one, &mut other);
            }
            one = self.next(one)?;
        }
        Some(one)
    }

    /// The blocks that are certain once a block has gone on to `next`, and were not before.
    fn of_branch(&self, block: BlockId, next: BlockId) -> impl Iterator<Item = BlockId> {
        let end = self.next(block);
        let from = move |block: BlockId| Some(block).filter(|block| Some(*block) != end);
        std::iter::successors(from(next), move |block| self.next(*block).and_then(from))
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
