//! Everything after the parser as one graph.
//!
//! ```text
//!   verify checksum ─► Verified ─► ingress ─► Decide ─► egress ─► Left ─► compute checksum ─► Deparse
//!                                               │
//!                                               └► Replicate ─► egress ─► ... once for each copy
//! ```
//!
//! A [`Joint`] stands where control goes from one body to the next, and where the architecture acts between bodies.
//! [`super::jump_threading`] then separates what is known to take different paths.

use super::Route;
use super::facts::Facts;
use crate::analysis::size;
use forebay_bits::Bits;
use forebay_ir::{Block, BlockId, Expr, Op, Program, SlotId, Statement, TableId, Terminator, Walk};

/// The graph; it begins at block 0.
#[derive(Clone, Debug, Default)]
pub(crate) struct Flow {
    pub(crate) blocks: Vec<FlowBlock>,
}

/// A block, and what is known about it.
#[derive(Clone, Debug)]
pub(crate) struct FlowBlock {
    /// The statements and the terminator. A block with a joint that does not end the path ends in a jump.
    pub(crate) block: Block,
    /// What the architecture does at its end.
    pub(crate) joint: Option<Joint>,
    /// For a block that applies a table: the successor after an action that exits.
    pub(crate) exit: Option<BlockId>,
    /// For a block that is executed for each copy of a packet: the block that begins to make copies.
    pub(crate) copies: Option<BlockId>,
    /// What is certain at the block's end, as far as it was needed.
    pub(crate) facts: Facts,
}

/// The stage to which a block belongs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stage {
    /// Checksums are being verified.
    Verification,
    /// The packet's destination has not been decided.
    Ingress,
    /// The packet's destination has been decided.
    Egress,
}

/// What the architecture does between bodies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Joint {
    /// Checksums have been verified.
    Verified,
    /// Ingress has ended: copies, drop, or egress. `replicate` is set if copies are possible here.
    Decide { replicate: Option<BlockId> },
    /// Copies are made: egress follows for each.
    Replicate,
    /// Egress has ended: the packet is dropped or continues.
    Left,
    /// The packet leaves.
    Deparse,
}

impl FlowBlock {
    /// Its statements and terminators, with those of the actions of the table that it applies.
    pub(super) fn size(&self, program: &Program) -> usize {
        let table = self.block.terminator.applied_table();
        let actions = table.into_iter().flat_map(|table| program.actions_of(table));
        self.block.statements.len() + 1 + actions.map(size).sum::<usize>()
    }

    pub(super) fn of(block: Block) -> FlowBlock {
        FlowBlock {
            block,
            joint: None,
            exit: None,
            copies: None,
            facts: Facts::default(),
        }
    }

    fn joint(joint: Joint, next: Option<BlockId>) -> FlowBlock {
        FlowBlock {
            joint: Some(joint),
            ..FlowBlock::of(Block::new(
                Vec::new(),
                next.map_or(Terminator::Return, Terminator::Jump),
            ))
        }
    }

    pub(super) fn applies(&self, table: TableId) -> bool {
        self.block.terminator.applied_table() == Some(table)
    }

    /// Renumbers the blocks that this one names.
    fn renumber(&mut self, number: impl Fn(BlockId) -> BlockId) {
        for successor in self.block.terminator.successors_mut() {
            *successor = number(*successor);
        }
        for id in self.exit.iter_mut().chain(&mut self.copies) {
            *id = number(*id);
        }
        if let Some(Joint::Decide {
            replicate: Some(replicate),
        }) = &mut self.joint
        {
            *replicate = number(*replicate);
        }
    }

    /// The blocks that may follow this one.
    pub(crate) fn successors(&self) -> Vec<BlockId> {
        let mut successors = self.block.terminator.successors();
        if let Some(Joint::Decide { replicate }) = self.joint {
            successors.extend(replicate);
        }
        successors.extend(self.exit);
        successors
    }
}

impl Flow {
    /// The statements and terminators of all blocks: see [`FlowBlock::size`].
    pub(super) fn size(&self, program: &Program) -> usize {
        self.blocks.iter().map(|block| block.size(program)).sum()
    }

    /// The bodies of a route in sequence, without a joint at which copies are made.
    pub(super) fn of_bodies(program: &Program, route: &Route) -> Flow {
        let bodies = [
            (route.verify_checksum, Joint::Verified),
            (route.ingress, Joint::Decide { replicate: None }),
            (route.egress, Joint::Left),
            (route.compute_checksum, Joint::Deparse),
        ];
        let mut flow = Flow::default();
        for (body, joint) in bodies {
            let blocks = with_checksums_apart(&program.bodies[body.index()].blocks);
            let first = flow.blocks.len() as u32;
            let behind = BlockId(first + blocks.len() as u32);
            for mut block in blocks {
                for successor in block.terminator.successors_mut() {
                    successor.0 += first;
                }
                let exit = matches!(block.terminator, Terminator::Apply { .. }).then_some(behind);
                if matches!(block.terminator, Terminator::Return | Terminator::Exit) {
                    block.terminator = Terminator::Jump(behind);
                }
                flow.blocks.push(FlowBlock {
                    exit,
                    ..FlowBlock::of(block)
                });
            }
            let next = (joint != Joint::Deparse).then_some(BlockId(behind.0 + 1));
            flow.blocks.push(FlowBlock::joint(joint, next));
            if let (Joint::Verified, Some(slot)) = (joint, tested_result(program, route)) {
                flow.part_by(slot);
            }
        }
        flow
    }

    /// Branches on a slot of one bit, so that what depends on the slot is decided once.
    fn part_by(&mut self, slot: SlotId) {
        let first = self.blocks.len() as u32;
        let [set, clear, next] = [1, 2, 3].map(|index| BlockId(first + index));
        let block = |statements, terminator| FlowBlock::of(Block::new(statements, terminator));
        self.blocks.push(block(
            Vec::new(),
            Terminator::Branch {
                condition: Expr::Slot(slot),
                then_block: set,
                else_block: clear,
            },
        ));
        for value in [true, false].map(|bit| Expr::Const(Bits::from_bool(bit))) {
            let known = Statement::new(Op::Assign { slot, value });
            self.blocks.push(block(vec![known], Terminator::Jump(next)));
        }
    }

    /// The block at which packets continue when this block has found their checksum to be wrong. `None` unless this is
    /// the block's only verification and the last operation before ingress.
    pub(crate) fn failed_in(&self, route: &Route, block: BlockId) -> Option<BlockId> {
        let is_verification = |statement: &Statement| matches!(statement.op, Op::VerifyChecksum { .. });
        let (last, others) = self.block(block).block.statements.split_last()?;
        if !is_verification(last) || others.iter().any(is_verification) {
            return None;
        }
        let mut place = block;
        while self.block(place).joint.is_none() {
            let Terminator::Jump(next) = self.block(place).block.terminator else {
                return None;
            };
            if !self.block(next).block.statements.is_empty() {
                return None;
            }
            place = next;
        }
        let Terminator::Jump(behind) = self.block(place).block.terminator else {
            return None;
        };
        match self.block(behind).block.terminator {
            Terminator::Branch {
                condition: Expr::Slot(slot),
                then_block,
                ..
            } if route.checksum_error == Some(slot) => Some(then_block),
            _ => None,
        }
    }

    /// Adds copies: each [`Joint::Decide`] may be followed by some.
    pub(super) fn with_copies(mut self) -> Flow {
        let replicate = BlockId(self.blocks.len() as u32);
        let decide = self
            .blocks
            .iter_mut()
            .find(|block| matches!(block.joint, Some(Joint::Decide { .. })));
        let decide = decide.expect("every flow has one");
        decide.joint = Some(Joint::Decide {
            replicate: Some(replicate),
        });
        let egress = decide.block.terminator.successors()[0];
        self.blocks.push(FlowBlock::joint(Joint::Replicate, Some(egress)));
        self
    }

    /// Reorders the blocks so that each comes before its successors. Packets that wait at look-ups continue in this
    /// order.
    pub(super) fn in_order(self) -> Flow {
        let order = self.walk().order;
        let mut numbers = vec![BlockId(0); self.blocks.len()];
        for (id, number) in order.iter().zip(0..) {
            numbers[id.index()] = BlockId(number);
        }
        let mut blocks: Vec<Option<FlowBlock>> = self.blocks.into_iter().map(Some).collect();
        let mut take = |id: &BlockId| {
            let mut block = blocks[id.index()].take().expect("every block stands once in the order");
            block.renumber(|id| numbers[id.index()]);
            block
        };
        Flow {
            blocks: order.iter().map(&mut take).collect(),
        }
    }

    /// A walk over the blocks, of which none leads back to another.
    pub(super) fn walk(&self) -> Walk {
        Walk::from(BlockId(0), self.blocks.len(), |id| self.block(id).successors())
    }

    /// The stages of the blocks, which are in topological order.
    pub(crate) fn stages(&self) -> Vec<Stage> {
        let mut stages = vec![Stage::Verification; self.blocks.len()];
        for (index, block) in self.blocks.iter().enumerate() {
            let behind = match block.joint {
                Some(Joint::Verified) => Stage::Ingress,
                Some(Joint::Decide { .. }) => Stage::Egress,
                _ => stages[index],
            };
            for successor in block.successors() {
                stages[successor.index()] = behind;
            }
        }
        stages
    }

    /// Whether every packet that looks up table `then` has looked up table `first` before. The blocks are in
    /// topological order.
    pub(crate) fn always_after(&self, first: TableId, then: TableId) -> bool {
        // Whether a path leads to a block without the first table.
        let mut without = vec![false; self.blocks.len()];
        without[0] = true;
        for (index, block) in self.blocks.iter().enumerate() {
            if !without[index] || block.applies(first) {
                continue;
            }
            if block.applies(then) {
                return false;
            }
            for successor in block.successors() {
                without[successor.index()] = true;
            }
        }
        true
    }

    /// Whether no packet looks a table up twice. The blocks are in topological order.
    pub(crate) fn at_most_once(&self, table: TableId) -> bool {
        // Whether a path leads from the table to a block.
        let mut behind = vec![false; self.blocks.len()];
        for (index, block) in self.blocks.iter().enumerate() {
            if behind[index] && block.applies(table) {
                return false;
            }
            for successor in block.successors() {
                behind[successor.index()] |= behind[index] || block.applies(table);
            }
        }
        true
    }

    /// Whether a block may give a slot a value other than 0.
    pub(super) fn may_set(&self, slot: Option<SlotId>) -> bool {
        let Some(slot) = slot else { return false };
        let sets = |op: &Op| match op {
            Op::Assign {
                value: Expr::Const(value),
                ..
            } if value.is_zero() => false,
            op => op.target() == Some(slot),
        };
        let mut statements = self.blocks.iter().flat_map(|block| &block.block.statements);
        statements.any(|statement| sets(&statement.op))
    }

    /// The block with a number.
    pub(crate) fn block(&self, id: BlockId) -> &FlowBlock {
        &self.blocks[id.index()]
    }
}

/// The slot for the result of verification, if the program verifies checksums.
fn tested_result(program: &Program, route: &Route) -> Option<SlotId> {
    let mut statements = program.bodies[route.verify_checksum.index()].statements();
    let verifies = statements.any(|statement| matches!(statement.op, Op::VerifyChecksum { .. }));
    route
        .checksum_error
        .filter(|slot| verifies && program.slot(*slot).width == 1)
}

/// The blocks of a body, with the conditions of checksums turned into branches, so that their outcome is known
/// afterwards.
fn with_checksums_apart(blocks: &[Block]) -> Vec<Block> {
    let mut blocks = blocks.to_vec();
    let mut at = 0;
    while at < blocks.len() {
        let mut statements = blocks[at].statements.iter_mut();
        if let Some(index) = statements.position(|statement| checksum_condition(&mut statement.op).is_some()) {
            part(&mut blocks, at, index);
        }
        at += 1;
    }
    blocks
}

/// Splits a block at a checksum with a condition: what precedes it, the checksum, and what follows it.
fn part(blocks: &mut Vec<Block>, at: usize, index: usize) {
    let (checksum, behind) = (BlockId(blocks.len() as u32), BlockId(blocks.len() as u32 + 1));
    let block = &mut blocks[at];
    let location = block.location;
    let rest = block.statements.split_off(index + 1);
    let mut statement = block.statements.pop().expect("it is there");
    let truth = Expr::Const(Bits::from_bool(true));
    let condition = checksum_condition(&mut statement.op).expect("it has one");
    let condition = std::mem::replace(condition, truth);
    let branch = Terminator::Branch {
        condition,
        then_block: checksum,
        else_block: behind,
    };
    let terminator = std::mem::replace(&mut block.terminator, branch);
    let new = |statements, terminator| Block {
        label: None,
        statements,
        terminator,
        location,
    };
    blocks.push(new(vec![statement], Terminator::Jump(behind)));
    blocks.push(new(rest, terminator));
}

/// The condition of a checksum, unless it is constant.
fn checksum_condition(op: &mut Op) -> Option<&mut Expr> {
    match op {
        Op::VerifyChecksum { condition, .. } | Op::UpdateChecksum { condition, .. } => {
            (!matches!(condition, Expr::Const(_))).then_some(condition)
        }
        _ => None,
    }
}

/// The slots that decide a terminator's outcome.
pub(super) fn slots_of_decision(terminator: &Terminator) -> Vec<SlotId> {
    let mut slots = Vec::new();
    for expr in terminator.exprs() {
        slots_of(expr, &mut slots);
    }
    slots
}

/// Appends the slots that an expression reads.
pub(super) fn slots_of(expr: &Expr, slots: &mut Vec<SlotId>) {
    expr.for_each_slot(&mut |slot| slots.push(slot));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn flow(terminators: impl IntoIterator<Item = Terminator>) -> Flow {
        let block = |terminator| Block {
            label: None,
            statements: Vec::new(),
            terminator,
            location: Default::default(),
        };
        Flow {
            blocks: terminators
                .into_iter()
                .map(|terminator| FlowBlock::of(block(terminator)))
                .collect(),
        }
    }

    fn branch(then_block: u32, else_block: u32) -> Terminator {
        Terminator::Branch {
            condition: Expr::Const(Bits::from_bool(true)),
            then_block: BlockId(then_block),
            else_block: BlockId(else_block),
        }
    }

    fn apply(table: u32, next: u32) -> Terminator {
        Terminator::Apply {
            table: TableId(table),
            hit: None,
            action_run: None,
            next: BlockId(next),
        }
    }

    #[test]
    fn a_table_is_always_behind_another_one_or_not() {
        let both = |branches: [u32; 2]| {
            flow([
                branch(branches[0], branches[1]),
                apply(7, 2),
                apply(8, 3),
                Terminator::Return,
            ])
        };
        let [seven, eight] = [TableId(7), TableId(8)];
        assert!(both([1, 1]).always_after(seven, eight));
        assert!(both([1, 3]).always_after(seven, eight), "one path has neither");
        assert!(!both([1, 2]).always_after(seven, eight), "one path has only the second");
        assert!(!both([1, 1]).always_after(eight, seven));
    }

    #[test]
    fn a_table_is_looked_up_twice_or_not() {
        let seven = TableId(7);
        let in_turn = flow([apply(7, 1), branch(2, 3), apply(7, 3), Terminator::Return]);
        assert!(!in_turn.at_most_once(seven));
        let one_of_two = flow([branch(1, 2), apply(7, 3), apply(7, 3), Terminator::Return]);
        assert!(one_of_two.at_most_once(seven));
    }
}
