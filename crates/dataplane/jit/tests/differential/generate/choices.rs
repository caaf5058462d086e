//! Writes to one of several registers, selected by the value of a slot.

use super::{Generator, NUMBER, block};
use forebay_bits::Bits;
use forebay_ir::{BinaryOp, Block, BlockId, Expr, Op, RegisterId, SlotId, Statement, Terminator};
use std::cmp::Ordering;

/// Registers of the same shape.
const REGISTERS: [u32; 3] = [2, 3, 4];

/// A slot of 7 bits that may be assigned a constant on a path.
const ASSIGNED: SlotId = SlotId(4);

impl Generator<'_> {
    /// Blocks with such a choice, followed by `behind`: mostly one among registers of the same shape, by consecutive
    /// numbers.
    pub(super) fn after_choice(&mut self, behind: Vec<Block>) -> Vec<Block> {
        let slot = self.pick(&[SlotId(5), SlotId(6)]);
        let mut arms = self.arms();
        let turn = self.below(arms.len());
        arms.rotate_left(turn);
        let first = arms.len() as u32 * 2;
        let mut blocks = Vec::new();
        for (number, statements) in (0..).zip(arms) {
            let (named, statements) = statements;
            let (arm, next) = (BlockId(2 * number + 1), BlockId(2 * number + 2));
            let named = Bits::new(self.program.slot(slot).width, named);
            let condition = Expr::Binary(BinaryOp::Eq, Box::new(Expr::Slot(slot)), Box::new(Expr::Const(named)));
            let test = Terminator::Branch {
                condition,
                then_block: arm,
                else_block: next,
            };
            let before = match number {
                0 => self.choosing(slot),
                _ => Vec::new(),
            };
            blocks.push(block(before, test));
            blocks.push(block(statements, Terminator::Jump(BlockId(first))));
        }
        blocks.extend(behind.into_iter().map(|mut block| {
            for successor in block.terminator.successors_mut() {
                successor.0 += first;
            }
            block
        }));
        blocks
    }

    /// Assigns the slot, and an index.
    fn choosing(&mut self, slot: SlotId) -> Vec<Statement> {
        let width = self.program.slot(slot).width;
        let (number, index) = (self.of_packet(width), self.of_packet(32));
        let few = |value: Expr, width| {
            let most = Box::new(Expr::Const(Bits::new(width, 7)));
            Expr::Binary(BinaryOp::And, Box::new(value), most)
        };
        let assign = |slot, value| Statement::new(Op::Assign { slot, value });
        vec![assign(slot, few(number, width)), assign(NUMBER, few(index, 32))]
    }

    /// A field of a header, as a value of some width.
    fn of_packet(&mut self, width: u32) -> Expr {
        let headers = self.program.headers.iter();
        let fields: Vec<SlotId> = headers
            .flat_map(|header| &header.fields)
            .map(|field| field.slot)
            .collect();
        let field = self.pick(&fields);
        let value = Box::new(Expr::Slot(field));
        match self.program.slot(field).width.cmp(&width) {
            Ordering::Less => Expr::ZeroExtend(width, value),
            Ordering::Equal => *value,
            Ordering::Greater => Expr::Truncate(width, value),
        }
    }

    /// Numbers, and the operations for each.
    fn arms(&mut self) -> Vec<(u128, Vec<Statement>)> {
        let width = self.program.registers[REGISTERS[0] as usize].width;
        let value = if self.chance(30) {
            Expr::ZeroExtend(width, Box::new(Expr::Slot(ASSIGNED)))
        } else {
            self.expr(width, 1)
        };
        let (first, constant, assigned) = (self.below(4) as u128, self.below(3) as u128, self.chance(50));
        let mut arms = Vec::new();
        for (number, register) in (first..).zip(REGISTERS) {
            let write = Op::RegisterWrite {
                register: RegisterId(register),
                index: Expr::Slot(NUMBER),
                value: value.clone(),
            };
            let mut ops = vec![write];
            if assigned {
                let odd = u128::from(self.chance(30));
                let value = Expr::Const(Bits::new(7, constant + odd));
                ops.insert(self.below(2), Op::Assign { slot: ASSIGNED, value });
            }
            arms.push((number, ops));
        }
        if self.chance(40) {
            let odd = (self.below(8) as u128, vec![self.assign()]);
            let place = self.below(arms.len() + 1);
            arms.insert(place, odd);
        }
        let statements = |ops: Vec<Op>| ops.into_iter().map(Statement::new).collect();
        arms.into_iter()
            .map(|(number, ops)| (number, statements(ops)))
            .collect()
    }
}
