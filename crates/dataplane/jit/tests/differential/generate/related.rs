//! Parts of programs whose behaviour depends on what was done shortly before: few slots, alternately read and written.

use super::{CONDITION, CONTROL, EGRESS_SPEC, Generator, NUMBER, block};
use forebay_bits::Bits;
use forebay_ir::{BinaryOp, Block, BlockId, Expr, Op, SlotId, Statement, TableId, Terminator};
use std::cmp::Ordering;

impl Generator<'_> {
    /// Consecutive tables whose keys and actions use the same slots. Some of these keys have not changed in between.
    pub(super) fn related_look_ups(&mut self) {
        (0..3).for_each(|action| self.short_action(action));
        for table in 0..2 {
            let slots = self.related_slots();
            let key = self.pick(&slots);
            let width = self.program.slot(key).width;
            let keys = &mut self.program.tables[table].keys;
            keys.truncate(1);
            keys[0].expr = Expr::Slot(key);
            keys[0].width = width;
        }
        let count = 2 + self.below(4);
        let mut blocks: Vec<Block> = Vec::new();
        for index in 0..count {
            let next = BlockId(index as u32 + 1);
            let terminator = match self.below(4) {
                0 => Terminator::Branch {
                    condition: self.decision(),
                    then_block: next,
                    else_block: BlockId((index + 1 + self.below(count - index)) as u32),
                },
                _ => Terminator::Apply {
                    table: TableId(self.below(8) as u32 * 3 / 8),
                    hit: self.chance(50).then_some(CONDITION),
                    action_run: self.chance(20).then_some(NUMBER),
                    next,
                },
            };
            blocks.push(block(self.assignments(0), terminator));
        }
        blocks.push(block(self.assignments(0), Terminator::Return));
        self.program.bodies[CONTROL.index()].blocks = blocks;
    }

    /// Gives an action a body of a few assignments.
    pub(super) fn short_action(&mut self, action: usize) {
        self.params = self.program.actions[action]
            .params
            .iter()
            .map(|param| param.width)
            .collect();
        let assignments = self.assignments(1);
        self.params.clear();
        let body = self.program.actions[action].body;
        self.program.bodies[body.index()].blocks = vec![block(assignments, Terminator::Return)];
    }

    /// Egress for copies that may all have the same look-up result: all of them look it up, on one path or two, or
    /// only some do.
    pub(super) fn short_egress(&mut self) -> Vec<Block> {
        let paths = 1 + self.below(2) as u32;
        let last = BlockId(paths + 1);
        let branch = Terminator::Branch {
            condition: self.decision(),
            then_block: BlockId(1),
            else_block: if self.chance(20) { BlockId(1) } else { BlockId(2) },
        };
        let mut blocks = vec![block(self.assignments(0), branch)];
        for _ in 0..paths {
            let apply = Terminator::Apply {
                table: TableId(2),
                hit: self.chance(30).then_some(CONDITION),
                action_run: self.chance(30).then_some(NUMBER),
                next: last,
            };
            blocks.push(block(self.assignments(0), apply));
        }
        blocks.push(block(self.assignments(0), Terminator::Return));
        if let Terminator::Branch { else_block, .. } = &mut blocks[0].terminator
            && paths == 2
        {
            *else_block = BlockId(2);
        }
        blocks
    }

    /// `least` assignments, or one or two more, among few slots.
    fn assignments(&mut self, least: usize) -> Vec<Statement> {
        let count = least + self.below(3);
        (0..count).map(|_| Statement::new(self.related_assignment())).collect()
    }

    /// Assigns a header field, or the port, a value close to another one.
    fn related_assignment(&mut self) -> Op {
        let slots = self.related_slots();
        let (slot, other) = (self.pick(&slots), self.pick(&slots));
        let [width, other_width] = [slot, other].map(|slot| self.program.slot(slot).width);
        let other = Box::new(Expr::Slot(other));
        let other = match other_width.cmp(&width) {
            Ordering::Less => Expr::ZeroExtend(width, other),
            Ordering::Equal => *other,
            Ordering::Greater => Expr::Truncate(width, other),
        };
        let little = Expr::Const(Bits::new(width, 1 + self.below(3) as u128));
        Op::Assign {
            slot,
            value: Expr::Binary(BinaryOp::Add, Box::new(other), Box::new(little)),
        }
    }

    fn related_slots(&self) -> Vec<SlotId> {
        let [first, second] = [0, 1].map(|header: usize| self.program.headers[header].fields.iter());
        let fields = first.chain(second).filter(|field| field.length.is_none());
        fields.map(|field| field.slot).take(4).chain([EGRESS_SPEC]).collect()
    }
}
