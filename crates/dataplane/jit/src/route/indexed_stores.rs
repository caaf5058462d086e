//! Writes to one of several registers, selected by the value of a slot.
//!
//! A program that must also run on a chip has a register for each index of a batch, because there a packet can access
//! a register only once. It writes the register that a count selects:
//!
//! ```text
//!   count == 1 ── yes ─► place1.write(i, data) ─┐
//!       │ no                                    │
//!   count == 2 ── yes ─► place2.write(i, data) ─┼─►
//!       │ no                                    │
//!   count == 3 ── yes ─► place3.write(i, data) ─┘
//! ```
//!
//! It is hard to predict which path a packet takes. If the registers are adjacent in memory
//! ([`crate::register_groups`]), the chain becomes one write to a computed address. The paths may also assign
//! constants to slots, if all paths end with the same constants.

use super::flow::{Flow, FlowBlock};
use forebay_bits::Bits;
use forebay_ir::{BinaryOp, BlockId, Expr, Op, Program, RegisterId, SlotId, Terminator};
use std::collections::{BTreeMap, BTreeSet};

/// Shorter chains are not changed.
const ARMS_MIN: usize = 3;

/// Tests that are followed from one, so that the search takes a time in proportion to the length of a chain.
const TESTS_MAX: usize = 256;

/// A chain of tests that makes one of several writes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Choice {
    /// The slot whose value selects the write.
    pub(crate) slot: SlotId,
    /// At least [`ARMS_MIN`] arms in the order of their tests. Their numbers are consecutive.
    pub(crate) arms: Vec<Arm>,
}

/// A path with a write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Arm {
    /// The block that ends with the test for the number. The tests after the first are reached only if the previous
    /// tests fail.
    pub(crate) test: BlockId,
    pub(crate) number: u64,
    /// The block with the write, which is reached only from this test.
    pub(crate) block: BlockId,
    pub(crate) register: RegisterId,
}

/// The effects of the operations on a path.
#[derive(Clone, Debug, Default, PartialEq)]
struct Effects {
    constants: BTreeMap<SlotId, Bits>,
    write: Option<(Expr, Expr)>,
}

/// A test, and its successors.
#[derive(Clone, Copy)]
struct Test {
    slot: SlotId,
    number: u64,
    then_block: BlockId,
    else_block: BlockId,
}

/// The choices of a flow, whose blocks are in topological order.
pub(crate) fn choices(program: &Program, flow: &Flow) -> Vec<Choice> {
    let mut paths_in = vec![0; flow.blocks.len()];
    for successor in flow.blocks.iter().flat_map(FlowBlock::successors) {
        paths_in[successor.index()] += 1;
    }
    let search = Search {
        program,
        flow,
        paths_in,
    };
    let mut known = BTreeSet::new();
    let mut found: Vec<Choice> = Vec::new();
    for head in (0..flow.blocks.len() as u32).map(BlockId) {
        if known.contains(&head) {
            continue;
        }
        if let Some(choice) = search.choice(head) {
            known.extend(choice.arms.iter().map(|arm| arm.test));
            found.push(choice);
        }
    }
    found
}

struct Search<'a> {
    program: &'a Program,
    flow: &'a Flow,
    /// By block: the number of its predecessors.
    paths_in: Vec<u32>,
}

impl Search<'_> {
    /// The choice whose first test ends a block.
    fn choice(&self, head: BlockId) -> Option<Choice> {
        let slot = test_of(self.flow.block(head))?.slot;
        let mut arms: Vec<(Arm, Effects, BlockId)> = Vec::new();
        let mut before = Effects::default();
        let mut place = head;
        let mut tested = BTreeSet::new();
        while let Some(test) = test_of(self.flow.block(place)).filter(|test| test.slot == slot) {
            if tested.insert(test.number) {
                arms.extend(self.arm(place, test, &before));
            }
            if arms.is_empty() || tested.len() == TESTS_MAX {
                break;
            }
            match self.next_test(test.else_block, &mut before) {
                Some(next) => place = next,
                None => break,
            }
        }
        let (first, effects, end) = arms.first()?.clone();
        if first.test != head || !is_apart(slot, &effects) {
            return None;
        }
        let declared = |register: RegisterId| &self.program.registers[register.index()];
        let is_like = |arm: &Arm| {
            let (one, other) = (declared(first.register), declared(arm.register));
            (one.width, one.size) == (other.width, other.size)
        };
        arms.retain(|(arm, other, other_end)| is_like(arm) && *other == effects && *other_end == end);
        let arms: Vec<Arm> = arms.into_iter().map(|(arm, ..)| arm).collect();
        let mut numbers: Vec<u64> = arms.iter().map(|arm| arm.number).collect();
        numbers.sort_unstable();
        let is_gapless = numbers.windows(2).all(|pair| pair[0].checked_add(1) == Some(pair[1]));
        (arms.len() >= ARMS_MIN && is_gapless).then_some(Choice { slot, arms })
    }

    /// The path after a test that holds, its effects since the first test, and the first block on it that other paths
    /// reach, too.
    fn arm(&self, test_block: BlockId, test: Test, before: &Effects) -> Option<(Arm, Effects, BlockId)> {
        let mut effects = before.clone();
        let mut write = None;
        let mut place = test.then_block;
        while self.paths_in[place.index()] == 1 {
            if let Some(register) = self.pass(place, &mut effects)? {
                write = Some((place, register));
            }
            let Terminator::Jump(next) = self.flow.block(place).block.terminator else {
                return None;
            };
            place = next;
        }
        let (block, register) = write?;
        let arm = Arm {
            test: test_block,
            number: test.number,
            block,
            register,
        };
        Some((arm, effects, place))
    }

    /// The block with the next test, if it has no other predecessor.
    fn next_test(&self, behind: BlockId, effects: &mut Effects) -> Option<BlockId> {
        let mut place = behind;
        loop {
            let is_alone = self.paths_in[place.index()] == 1;
            if !is_alone || self.pass(place, effects)?.is_some() {
                return None;
            }
            match self.flow.block(place).block.terminator {
                Terminator::Jump(next) => place = next,
                _ => return Some(place),
            }
        }
    }

    /// Applies a block's effects. Returns the register that it writes, if any. `None` if it does anything else, or
    /// writes twice.
    fn pass(&self, place: BlockId, effects: &mut Effects) -> Option<Option<RegisterId>> {
        let block = self.flow.block(place);
        if block.joint.is_some() {
            return None;
        }
        let mut written = None;
        for statement in &block.block.statements {
            match &statement.op {
                Op::Assign {
                    slot,
                    value: Expr::Const(value),
                } => {
                    effects.constants.insert(*slot, value.clone());
                }
                Op::RegisterWrite { register, index, value } if effects.write.is_none() => {
                    effects.write = Some((index.clone(), value.clone()));
                    written = Some(*register);
                }
                _ => return None,
            }
        }
        Some(written)
    }
}

/// Whether neither the tested slot nor the write depends on the constants.
fn is_apart(tested: SlotId, effects: &Effects) -> bool {
    let mut is_apart = !effects.constants.contains_key(&tested);
    for expr in effects.write.iter().flat_map(|(index, value)| [index, value]) {
        expr.for_each_slot(&mut |slot| is_apart &= !effects.constants.contains_key(&slot));
    }
    is_apart
}

/// The test of a slot for a number that ends a block.
fn test_of(block: &FlowBlock) -> Option<Test> {
    let Terminator::Branch {
        condition: Expr::Binary(BinaryOp::Eq, left, right),
        then_block,
        else_block,
    } = &block.block.terminator
    else {
        return None;
    };
    match (&**left, &**right) {
        (Expr::Slot(slot), Expr::Const(number)) if number.width() <= 64 && block.joint.is_none() => Some(Test {
            slot: *slot,
            number: number.to_u64(),
            then_block: *then_block,
            else_block: *else_block,
        }),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fmt::Write;

    /// A body that tests `n` for each number, and then executes the given operations. All paths end in one block.
    fn found(arms: &[(u32, &str)]) -> Vec<Choice> {
        let registers = ["a", "b", "c", "d"].map(|name| format!("register {name}: bit<32> size 10 initial 32w0x0\n"));
        let slots = ["i: bit<32>", "n: bit<8>", "v: bit<32>", "x: bit<8>"].map(|slot| format!("slot {slot} local\n"));
        let mut text = format!(
            "program v1model\n{}{}body B control {{\n",
            slots.concat(),
            registers.concat()
        );
        let end = 2 * arms.len();
        for (index, (number, statements)) in arms.iter().enumerate() {
            let (arm, next) = (2 * index + 1, 2 * index + 2);
            writeln!(
                text,
                "block{}:\n  branch n == 8w{number:#x}, block{arm}, block{next}",
                2 * index
            )
            .expect("memory");
            writeln!(text, "block{arm}:\n{statements}  jump block{end}").expect("memory");
        }
        writeln!(text, "block{end}:\n  return\n}}").expect("memory");
        let program = forebay_ir::text::read(&text).expect("it is a program");
        let flow = Flow {
            blocks: program.bodies[0].blocks.iter().cloned().map(FlowBlock::of).collect(),
        };
        choices(&program, &flow)
    }

    fn write(register: &str) -> String {
        format!("  register_write({register}, i, v)\n")
    }

    #[test]
    fn writes_for_numbers_in_a_row_are_a_choice() {
        let [a, b, c] = ["a", "b", "c"].map(write);
        let choice = &found(&[(5, &b), (9, "  n = 8w0x0\n"), (4, &a), (6, &c)])[0];
        let arms: Vec<(u32, u64, u32)> = choice
            .arms
            .iter()
            .map(|arm| (arm.test.0, arm.number, arm.register.0))
            .collect();
        assert_eq!(arms, [(0, 5, 1), (4, 4, 0), (6, 6, 2)]);
        assert_eq!(choice.arms.iter().map(|arm| arm.block.0).collect::<Vec<_>>(), [1, 5, 7]);
    }

    #[test]
    fn paths_that_give_the_same_constants_are_alike() {
        let with = |constant: &str| ["a", "b", "c"].map(|register| format!("  x = {constant}\n{}", write(register)));
        let [a, b, c] = with("8w0x1");
        assert_eq!(found(&[(1, &a), (2, &b), (3, &c)]).len(), 1);
        let [_, _, other] = with("8w0x2");
        assert_eq!(found(&[(1, &a), (2, &b), (3, &other)]), []);
    }

    #[test]
    fn what_is_no_choice() {
        let [a, b, c] = ["a", "b", "c"].map(write);
        assert_eq!(found(&[(1, &a), (2, &b)]), [], "too few");
        assert_eq!(found(&[(1, &a), (2, &b), (4, &c)]), [], "a gap");
        assert_eq!(
            found(&[(1, &a), (2, "  x = 8w0x1\n"), (2, &b), (3, &c)]),
            [],
            "the second has another path"
        );
        let [by_x, ..] = ["a", "b", "c"].map(|register| format!("  v = 32w0x7\n{}", write(register)));
        assert_eq!(
            found(&[(1, &by_x), (2, &by_x), (3, &by_x)]),
            [],
            "it writes what it assigns"
        );
    }
}
