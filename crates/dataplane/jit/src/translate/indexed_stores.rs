//! Writes to one of several registers: see [`crate::route::indexed_stores`].

use super::Translator;
use crate::route::flow::Flow;
use crate::route::indexed_stores::{Choice, choices};
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{self, InstBuilder};
use forebay_ir::{BlockId, RegisterId, SlotId, Terminator};
use std::collections::{HashMap, HashSet};

/// What is done for choices at the blocks of a flow.
#[derive(Default)]
pub(super) struct Choices {
    /// By block with a test.
    tests: HashMap<BlockId, ChosenTest>,
    /// By block with the write of a first arm, which stands for the writes of all arms.
    writes: HashMap<BlockId, ChosenWrite>,
    /// The blocks that are no longer reachable, because tests cannot hold.
    unreached: HashSet<BlockId>,
}

/// What an arm's test becomes.
#[derive(Clone, Copy)]
pub(super) enum ChosenTest {
    /// One test for the numbers of all arms.
    First { slot: SlotId, least: u64, count: u64 },
    /// A test that cannot hold.
    Later,
}

/// A write to the register that a number names.
#[derive(Clone, Copy)]
pub(super) struct ChosenWrite {
    /// The register that the program names here, and its number.
    register: RegisterId,
    number: u64,
    /// The slot whose value selects the register.
    slot: SlotId,
    /// The distance to the register for the next number, in bytes.
    distance: i64,
}

impl Choices {
    pub(super) fn test_in(&self, block: BlockId) -> Option<ChosenTest> {
        self.tests.get(&block).copied()
    }

    pub(super) fn write_in(&self, block: BlockId) -> Option<ChosenWrite> {
        self.writes.get(&block).copied()
    }

    pub(super) fn is_reached(&self, block: BlockId) -> bool {
        !self.unreached.contains(&block)
    }

    /// The blocks that may follow a block.
    fn successors(&self, flow: &Flow, id: BlockId) -> Vec<BlockId> {
        let block = flow.block(id);
        match (&block.block.terminator, self.test_in(id)) {
            (Terminator::Branch { else_block, .. }, Some(ChosenTest::Later)) => vec![*else_block],
            _ => block.successors(),
        }
    }

    /// Finds the unreachable blocks of a flow, which is in topological order.
    fn find_unreached(&mut self, flow: &Flow) {
        let mut reached = HashSet::from([BlockId(0)]);
        for id in (0..flow.blocks.len() as u32).map(BlockId) {
            match reached.contains(&id) {
                true => reached.extend(self.successors(flow, id)),
                false => drop(self.unreached.insert(id)),
            }
        }
    }
}

impl Translator<'_, '_, '_> {
    /// The choices among registers at equal distances.
    pub(super) fn choices(&self, flow: &Flow) -> Choices {
        let mut found = Choices::default();
        for choice in choices(self.program, flow) {
            let Some(distance) = self.distance(&choice) else {
                continue;
            };
            let first = choice.arms[0];
            let write = ChosenWrite {
                register: first.register,
                number: first.number,
                slot: choice.slot,
                distance,
            };
            found.writes.insert(first.block, write);
            let later = choice.arms.iter().map(|arm| (arm.test, ChosenTest::Later));
            found.tests.extend(later);
            let least = choice.arms.iter().map(|arm| arm.number).min();
            let test = ChosenTest::First {
                slot: choice.slot,
                least: least.expect("there are arms"),
                count: choice.arms.len() as u64,
            };
            found.tests.insert(first.test, test);
        }
        if !found.tests.is_empty() {
            found.find_unreached(flow);
        }
        found
    }

    /// The distance in bytes between the registers for consecutive numbers, if all are in one bank and the distance is
    /// constant.
    fn distance(&self, choice: &Choice) -> Option<i64> {
        let mut places: Vec<(u64, RegisterId)> = choice.arms.iter().map(|arm| (arm.number, arm.register)).collect();
        places.sort_unstable();
        let place = |(_, register): (u64, RegisterId)| self.environment.banks.place(register);
        let between = |one, other| {
            let (one, other) = (place(one), place(other));
            let words = other.first_word as i64 - one.first_word as i64;
            (one.bank == other.bank).then_some(8 * words)
        };
        let distance = between(places[0], places[1])?;
        let mut pairs = places.windows(2);
        pairs
            .all(|pair| between(pair[0], pair[1]) == Some(distance))
            .then_some(distance)
    }

    /// Translates an arm's test.
    pub(super) fn choose(&mut self, test: ChosenTest, [then_block, else_block]: [ir::Block; 2]) {
        let ChosenTest::First { slot, least, count } = test else {
            self.builder.ins().jump(else_block, &[]);
            return;
        };
        let behind = self.number_behind(slot, least);
        let count = self.number(count as i64);
        let is_one = self.builder.ins().icmp(IntCC::UnsignedLessThan, behind, count);
        self.builder.ins().brif(is_one, then_block, &[], else_block, &[]);
    }

    /// The value of a slot minus `other`.
    fn number_behind(&mut self, slot: SlotId, other: u64) -> ir::Value {
        let number = self.read_slot(slot);
        let number = self.low_word(number);
        let other = self.number(other as i64);
        self.builder.ins().isub(number, other)
    }

    /// The address of the written element. `element` is the element of the register that the program names.
    pub(super) fn chosen_element(&mut self, register: RegisterId, element: ir::Value) -> ir::Value {
        let Some(write) = self.chosen_write.filter(|write| write.register == register) else {
            return element;
        };
        let behind = self.number_behind(write.slot, write.number);
        let distance = self.number(write.distance);
        let bytes = self.builder.ins().imul(behind, distance);
        self.builder.ins().iadd(element, bytes)
    }
}
